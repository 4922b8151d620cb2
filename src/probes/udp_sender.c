/* The sender of the UDP ladder. */
#include "udp_sender.h"

#include <math.h>

double udp_sender_tells_bps(double asked_bps, double achieved_bps, double passed_bps,
                            enum udp_step_verdict *verdict)
{
    if (*verdict != UDP_STEP_SENDER_LIMIT || achieved_bps < UDP_SENT_NEARLY_RATIO * asked_bps ||
        achieved_bps <= passed_bps)
        return asked_bps;
    *verdict = UDP_STEP_PASSED;
    return achieved_bps;
}

bool udp_sender_was_held_up(struct udp_sender *sender, double rate_bps,
                            enum udp_step_verdict verdict)
{
    if (verdict != UDP_STEP_SENDER_LIMIT && verdict != UDP_STEP_BURSTS)
        return false;
    bool may_be = rate_bps <= sender->offered_bps || rate_bps > sender->missed_bps;
    sender->missed_bps = fmax(sender->missed_bps, rate_bps);
    return may_be && ++sender->void_steps <= UDP_VOID_STEPS_MAX;
}

void udp_sender_take(struct udp_sender *sender, double achieved_bps)
{
    sender->offered_bps = fmax(sender->offered_bps, achieved_bps);
}

/* What the sender of the UDP ladder is known to offer, and which steps it was kept from. Pure.
 * Private to the probes. */
#ifndef TL_PROBES_UDP_SENDER_H
#define TL_PROBES_UDP_SENDER_H

#include <stdbool.h>

#include "udp_step.h"

/* A sender that is held up now and then, as a hypervisor does, sends a little less than it was
 * asked for: what it did send passed. One at its limit stays far below, at the latest at twice the
 * rate. */
#define UDP_SENT_NEARLY_RATIO 0.85
/* Steps in which the sender was kept from sending, by other programs: tried again. */
#define UDP_VOID_STEPS_MAX 4

/* All zero at the begin. */
struct udp_sender {
    double offered_bps;  /* highest rate that it reached */
    double missed_bps;   /* highest rate that it did not reach, once */
    unsigned void_steps; /* in which it may have been held up: they tell nothing */
};

/* The rate that a step of asked_bps tells of, and what it says then: less than was asked for where
 * the sender hardly missed it and yet sent more than passed_bps, the highest that passed. */
double udp_sender_tells_bps(double asked_bps, double achieved_bps, double passed_bps,
                            enum udp_step_verdict *verdict);

/* Whether a step of that verdict is to be tried again. A sender that has offered more before is
 * not at its limit now, and one that falls behind for the first time may have been held up. */
bool udp_sender_was_held_up(struct udp_sender *sender, double rate_bps,
                            enum udp_step_verdict verdict);

/* After a step that counts. */
void udp_sender_take(struct udp_sender *sender, double achieved_bps);

#endif

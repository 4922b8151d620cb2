/* What the far end tells against what was seen here: ends.h. */
#include "ends.h"

#include <math.h>

#include "flow_facts.h"
#include "outcome.h"
#include "tightlink/base/units.h"

/* TCP's shortest round trip of a whole transfer is below the median of probes beside its load, but
 * for acknowledgements that wait (40 ms, TCP_DELACK_MIN) and paths of their own. */
#define RTT_RATIO    1.5
#define RTT_SLACK_NS (50.0 * 1000 * 1000)
/* So many losses at so many times leave a hole at the receiver, behind which something arrives: a
 * flight that is lost whole, and leaves none, is not lost five times of five. */
#define LOSSES_MIN 20
#define EVENTS_MIN 5

static void judge_round_trip(struct tl_probe_outcome *outcome, double told_ns, double seen_ns)
{
    char told[TL_UNIT_TEXT_SIZE], seen[TL_UNIT_TEXT_SIZE];
    if (told_ns > RTT_RATIO * seen_ns + RTT_SLACK_NS)
        tl_outcome_quality(
            outcome, TL_QUALITY_INVALID,
            "the far end tells of a shortest round trip of %s, while probes of this PC "
            "took %s beside the transfer",
            tl_format_ns(told_ns, told), tl_format_ns(seen_ns, seen));
}

static void judge_losses(struct tl_probe_outcome *outcome, const struct tl_flow_stats *sender,
                         const struct tl_receiver_stats *receiver)
{
    double lost_count = sender->retrans_count - fmax(sender->dsack_count, 0);
    if (receiver->ooo_count == 0 && lost_count >= LOSSES_MIN &&
        sender->loss_event_count >= EVENTS_MIN)
        tl_outcome_quality(
            outcome, TL_QUALITY_DEGRADED,
            "the far end tells of %.0f packets sent again, but none arrived out of "
            "order here: they were lost before a proxy on the way, or its figures are "
            "wrong",
            lost_count);
}

void tl_ends_judge(struct tl_probe_outcome *outcome, const struct tl_tcp_result *result,
                   const struct tl_echo_load *load)
{
    if (result->near_sends)
        return;
    judge_round_trip(outcome, result->steady.sender.rtt_min_ns, load->rtt_median_ns);
    judge_losses(outcome, &result->steady.sender, &result->steady.receiver);
}

void tl_ends_set(struct tl_facts *facts, enum tl_direction direction,
                 const struct tl_tcp_result *result)
{
    const struct tl_receiver_stats *receiver = &result->steady.receiver;
    bool known = !result->near_sends;
    tl_flow_set(facts, TL_FLOW(direction, receiver_offered_bytes),
                known ? receiver->rcv_wnd_max_bytes : (double)NAN,
                known ? "this kernel does not tell the window that it offers (Linux 6.2 does)"
                      : "of itself the far end may say what it likes");
}

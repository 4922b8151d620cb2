/* Judging whether a measurement can be trusted: trust.h. */
#include "tightlink/facts/trust.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/base/time.h"
#include "tightlink/base/units.h"

/* More than this between the two ends' counts is not a matter of data on the way. */
#define ENDS_DISAGREE_RATIO 0.02
/* Time that a hypervisor takes from a core: above this the rate is the host's, not the path's. */
#define STEAL_DEGRADED_RATIO 0.05
/* Of the traffic on our own interface that was not ours. */
#define OTHER_TRAFFIC_DEGRADED_RATIO 0.05
/* A receiver that waits for a core now and then, but for data most of the time, is not starved. */
#define STARVED_WAIT_RATIO 0.1
#define STARVED_WORK_RATIO 0.5
/* Longer than that without a turn, and the rate is that of this program's absence: the responder
 * stops sending after a second without our word (promise P4). */
#define HELD_UP_NS ((double)TL_NS_PER_S)
/* Long enough for every kernel to repeat itself often. */
#define STILL_NS (2500.0 * TL_NS_PER_MS)
/* TCP's shortest round trip of a whole transfer is below the median of probes beside its load, but
 * for acknowledgements that wait (40 ms, TCP_DELACK_MIN) and paths of their own. */
#define RTT_RATIO    1.5
#define RTT_SLACK_NS (50.0 * TL_NS_PER_MS)
/* So many losses at so many times leave a hole at the receiver, behind which something arrives: a
 * flight that is lost whole, and leaves none, is not lost five times of five. */
#define LOSSES_MIN 20
#define EVENTS_MIN 5

TL_PRINTF(3, 0)
static void set(struct tl_trust *trust, enum tl_quality quality, const char *fmt, va_list args)
{
    trust->quality = quality;
    vsnprintf(trust->reason, sizeof trust->reason, fmt, args);
}

void tl_trust_lower(struct tl_trust *trust, enum tl_quality quality, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (quality > trust->quality)
        set(trust, quality, fmt, args);
    va_end(args);
}

void tl_trust_explain(struct tl_trust *trust, enum tl_quality quality, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (quality != TL_QUALITY_VALID && quality >= trust->quality)
        set(trust, quality, fmt, args);
    va_end(args);
}

void tl_trust_lower_run(struct tl_run *run, enum tl_quality quality, const char *fmt, ...)
{
    char reason[sizeof run->reasons[0]];
    va_list args;
    bool worse = quality > run->quality;
    if (quality == TL_QUALITY_VALID)
        return;
    va_start(args, fmt);
    vsnprintf(reason, sizeof reason, fmt, args);
    va_end(args);
    if (worse)
        run->quality = quality;
    for (int i = 0; i < run->reason_count; i++)
        if (strcmp(run->reasons[i], reason) == 0)
            return;
    int at = worse ? 0 : run->reason_count;
    if (at == TL_RUN_REASONS_MAX)
        return;
    if (run->reason_count < TL_RUN_REASONS_MAX)
        run->reason_count++;
    memmove(run->reasons[at + 1], run->reasons[at],
            (size_t)(run->reason_count - 1 - at) * sizeof run->reasons[0]);
    memcpy(run->reasons[at], reason, sizeof reason);
}

bool tl_trust_is_starved(double run_ratio, double wait_ratio)
{
    return wait_ratio > STARVED_WAIT_RATIO && run_ratio + wait_ratio >= STARVED_WORK_RATIO;
}

static void judge_steal(struct tl_trust *trust, const char *where, double ratio)
{
    char text[TL_UNIT_TEXT_SIZE];
    if (ratio > STEAL_DEGRADED_RATIO)
        tl_trust_lower(trust, TL_QUALITY_DEGRADED, "a hypervisor took %s of a core's time from %s",
                       tl_format_ratio(ratio, text), where);
}

static void judge_starved(struct tl_trust *trust, const char *which, const struct tl_trust_end *end)
{
    char text[TL_UNIT_TEXT_SIZE];
    if (tl_trust_is_starved(end->run_ratio, end->wait_ratio))
        tl_trust_lower(trust, TL_QUALITY_DEGRADED,
                       "the %s program waited for a processor core %s of the time", which,
                       tl_format_ratio(end->wait_ratio, text));
}

/* Programs that took the cores, and other programs' traffic on our own interface: what the rules
 * make of more of it stands in rules/disturbed.c. */
static void judge_hosts(struct tl_trust *trust, const struct tl_trust_transfer *seen)
{
    char text[TL_UNIT_TEXT_SIZE];
    judge_steal(trust, "the sending host", seen->sender.steal_ratio);
    judge_steal(trust, "the receiving host", seen->receiver.steal_ratio);
    if (seen->other_traffic_ratio > OTHER_TRAFFIC_DEGRADED_RATIO)
        tl_trust_lower(trust, TL_QUALITY_DEGRADED,
                       "other programs made %s of the traffic on this PC's link",
                       tl_format_ratio(seen->other_traffic_ratio, text));
    judge_starved(trust, "sending", &seen->sender);
    judge_starved(trust, "receiving", &seen->receiver);
}

static bool broke_off(enum tl_tcp_end end)
{
    return end == TL_TCP_END_LOST || end == TL_TCP_END_FAILED;
}

static void judge_end(struct tl_trust *trust, const struct tl_trust_transfer *seen)
{
    char at[TL_UNIT_TEXT_SIZE], ratio[TL_UNIT_TEXT_SIZE];
    bool silent = seen->end == TL_TCP_END_SILENT;
    tl_format_ns(silent ? seen->last_arrival_ns : seen->elapsed_ns, at);
    if (silent && seen->host_answered)
        tl_trust_lower(trust, TL_QUALITY_ABORTED,
                       "the far end's program went dead %s into the transfer, while its host "
                       "acknowledged what was sent to it",
                       at);
    else if (silent)
        tl_trust_lower(trust, TL_QUALITY_ABORTED,
                       "the path or the far end went dead %s into the transfer", at);
    else if (seen->end == TL_TCP_END_UNHEARD)
        tl_trust_lower(trust, TL_QUALITY_INVALID,
                       "the far end heard nothing from this program %s into the transfer", at);
    else if (broke_off(seen->end))
        tl_trust_lower(trust, TL_QUALITY_INVALID, "the far end broke off %s into the transfer", at);
    else if (seen->end == TL_TCP_END_UNRULY)
        tl_trust_lower(trust, TL_QUALITY_INVALID,
                       "the far end did not keep to what was agreed: it said or sent more, or "
                       "something else, %s into the transfer",
                       at);
    else if (!seen->failed && !seen->end_signed)
        tl_trust_lower(trust, TL_QUALITY_INVALID,
                       "the far end ended the transfer without saying so");
    else if (!seen->failed && seen->ends_agree_ratio > ENDS_DISAGREE_RATIO)
        tl_trust_lower(trust, TL_QUALITY_INVALID,
                       "the two ends disagree by %s about what was transferred",
                       tl_format_ratio(seen->ends_agree_ratio, ratio));
}

bool tl_trust_transfer(struct tl_trust *trust, const struct tl_trust_transfer *seen)
{
    char text[TL_UNIT_TEXT_SIZE];
    if (seen->held_up_ns > HELD_UP_NS) {
        tl_trust_lower(trust, TL_QUALITY_INVALID,
                       "tightlink itself was held up for %s: it was stopped, or this PC is "
                       "overloaded",
                       tl_format_ns(seen->held_up_ns, text));
        return false;
    }
    judge_end(trust, seen);
    judge_hosts(trust, seen);
    return true;
}

bool tl_trust_stood_still(const struct tl_trust_transfer *seen)
{
    bool over = seen->end == TL_TCP_END_SILENT || seen->end == TL_TCP_END_FAILED ||
                seen->elapsed_ns >= STILL_NS;
    return seen->end_signed && over && seen->received_bytes < TL_TRUST_STILL_BYTES;
}

bool tl_trust_seems_still(const struct tl_trust_transfer *seen)
{
    return (seen->end == TL_TCP_END_SILENT || broke_off(seen->end) ||
            seen->end == TL_TCP_END_DEADLINE) &&
           seen->elapsed_ns >= STILL_NS && seen->received_bytes < TL_TRUST_STILL_BYTES;
}

void tl_trust_told(struct tl_trust *trust, const struct tl_trust_told *told)
{
    char by_them[TL_UNIT_TEXT_SIZE], by_us[TL_UNIT_TEXT_SIZE];
    if (told->rtt_min_ns > RTT_RATIO * told->beside_rtt_ns + RTT_SLACK_NS)
        tl_trust_lower(trust, TL_QUALITY_INVALID,
                       "the far end tells of a shortest round trip of %s, while probes of this PC "
                       "took %s beside the transfer",
                       tl_format_ns(told->rtt_min_ns, by_them),
                       tl_format_ns(told->beside_rtt_ns, by_us));
    if (told->ooo_count == 0 && told->lost_count >= LOSSES_MIN &&
        told->loss_event_count >= EVENTS_MIN)
        tl_trust_lower(trust, TL_QUALITY_DEGRADED,
                       "the far end tells of %.0f packets sent again, but none arrived out of "
                       "order here: they were lost before a proxy on the way, or its figures are "
                       "wrong",
                       told->lost_count);
}

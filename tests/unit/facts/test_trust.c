/* What each fault makes of a measurement, and in which words (doc/architecture.md, "Faults"). */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tightlink/base/time.h"
#include "tightlink/facts/trust.h"

static const double ms = (double)TL_NS_PER_MS, s = (double)TL_NS_PER_S;

/* A transfer of five seconds that nothing speaks against. */
static struct tl_trust_transfer whole(void)
{
    return (struct tl_trust_transfer){.end = TL_TCP_END_DEADLINE,
                                      .end_signed = true,
                                      .held_up_ns = 150 * ms,
                                      .elapsed_ns = 5 * s,
                                      .last_arrival_ns = 5 * s,
                                      .received_bytes = 60e6,
                                      .ends_agree_ratio = 0.001,
                                      .other_traffic_ratio = 0.01,
                                      .sender = {0.01, 0.3, 0.02},
                                      .receiver = {0.01, 0.4, 0.02}};
}

static void expect(const struct tl_trust *trust, enum tl_quality quality, const char *word)
{
    cr_expect_eq(trust->quality, quality, "%s: %s", word, tl_quality_name(trust->quality));
    cr_expect(strstr(trust->reason, word) != NULL && (*word || !trust->reason[0]),
              "\"%s\" lacks \"%s\"", trust->reason, word);
}

static void judged(const struct tl_trust_transfer *seen, enum tl_quality quality, const char *word)
{
    struct tl_trust trust = {0};
    cr_expect(tl_trust_transfer(&trust, seen));
    expect(&trust, quality, word);
}

Test(trust, the_first_reason_of_the_lowest_quality_stays)
{
    struct tl_trust trust = {0};
    tl_trust_lower(&trust, TL_QUALITY_VALID, "nothing");
    expect(&trust, TL_QUALITY_VALID, "");
    tl_trust_lower(&trust, TL_QUALITY_DEGRADED, "first %d", 1);
    tl_trust_lower(&trust, TL_QUALITY_DEGRADED, "second");
    expect(&trust, TL_QUALITY_DEGRADED, "first 1");
    tl_trust_explain(&trust, TL_QUALITY_DEGRADED, "why");
    expect(&trust, TL_QUALITY_DEGRADED, "why");
    tl_trust_lower(&trust, TL_QUALITY_ABORTED, "dead");
    tl_trust_explain(&trust, TL_QUALITY_INVALID, "less bad");
    tl_trust_explain(&trust, TL_QUALITY_VALID, "nothing");
    expect(&trust, TL_QUALITY_ABORTED, "dead");
}

Test(trust, a_run_is_as_good_as_its_worst_part_whose_reason_stands_first)
{
    struct tl_run run = {0};
    tl_trust_lower_run(&run, TL_QUALITY_VALID, "nothing");
    tl_trust_lower_run(&run, TL_QUALITY_DEGRADED, "stolen %d", 1);
    tl_trust_lower_run(&run, TL_QUALITY_DEGRADED, "starved");
    tl_trust_lower_run(&run, TL_QUALITY_INVALID, "asleep");
    tl_trust_lower_run(&run, TL_QUALITY_DEGRADED, "starved");
    cr_expect_eq(run.quality, TL_QUALITY_INVALID);
    cr_assert_eq(run.reason_count, 3, "%d: each once", run.reason_count);
    cr_expect_str_eq(run.reasons[0], "asleep");
    cr_expect_str_eq(run.reasons[1], "stolen 1");
    cr_expect_str_eq(run.reasons[2], "starved");
    for (int i = 0; i < TL_RUN_REASONS_MAX; i++)
        tl_trust_lower_run(&run, TL_QUALITY_INVALID, "more %d", i);
    tl_trust_lower_run(&run, TL_QUALITY_ABORTED, "dead");
    cr_expect_eq(run.reason_count, TL_RUN_REASONS_MAX);
    cr_expect_str_eq(run.reasons[0], "dead", "room is made for the worst");
    cr_expect_str_eq(run.reasons[1], "asleep");
}

Test(trust, what_nobody_told_speaks_against_nothing)
{
    struct tl_trust_transfer seen = whole();
    judged(&seen, TL_QUALITY_VALID, "");
    seen.ends_agree_ratio = seen.other_traffic_ratio = (double)NAN;
    seen.sender = seen.receiver = (struct tl_trust_end){(double)NAN, (double)NAN, (double)NAN};
    judged(&seen, TL_QUALITY_VALID, "");
}

Test(trust, how_a_transfer_ended)
{
    static const struct {
        enum tl_tcp_end end;
        bool failed, end_signed;
        enum tl_quality quality;
        const char *word;
    } cases[] = {
        {TL_TCP_END_SILENT, true, false, TL_QUALITY_ABORTED, "went dead 2 s into"},
        {TL_TCP_END_UNHEARD, false, true, TL_QUALITY_INVALID, "heard nothing from this program 3"},
        {TL_TCP_END_LOST, true, false, TL_QUALITY_INVALID, "the far end broke off 3 s into"},
        {TL_TCP_END_FAILED, false, true, TL_QUALITY_INVALID, "the far end broke off 3 s into"},
        {TL_TCP_END_UNRULY, true, false, TL_QUALITY_INVALID, "did not keep to what was agreed"},
        {TL_TCP_END_DEADLINE, false, false, TL_QUALITY_INVALID, "without saying so"},
        {TL_TCP_END_KNOWN, false, true, TL_QUALITY_VALID, ""},
        {TL_TCP_END_CANCELLED, true, false, TL_QUALITY_VALID, ""},
        {TL_TCP_END_NOT_RUN, true, false, TL_QUALITY_VALID, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tl_trust_transfer seen = whole();
        seen.end = cases[i].end;
        seen.failed = cases[i].failed;
        seen.end_signed = cases[i].end_signed;
        seen.elapsed_ns = 3 * s;
        seen.last_arrival_ns = 2 * s;
        judged(&seen, cases[i].quality, cases[i].word);
    }
}

Test(trust, a_silence_while_the_host_acknowledged_is_not_called_the_paths)
{
    struct tl_trust_transfer seen = whole();
    struct tl_trust trust = {0};
    seen.end = TL_TCP_END_SILENT;
    seen.failed = true;
    seen.host_answered = true;
    tl_trust_transfer(&trust, &seen);
    expect(&trust, TL_QUALITY_ABORTED, "while its host acknowledged");
    cr_expect_not(strstr(trust.reason, "the path"));
}

Test(trust, ends_that_counted_differently_are_not_averaged)
{
    struct tl_trust_transfer seen = whole();
    seen.ends_agree_ratio = 0.02;
    judged(&seen, TL_QUALITY_VALID, "");
    seen.ends_agree_ratio = 0.03;
    judged(&seen, TL_QUALITY_INVALID, "disagree by 3.0 %");
    seen.failed = true; /* what did not come to its end was still on the way */
    judged(&seen, TL_QUALITY_VALID, "");
}

Test(trust, what_else_the_hosts_did)
{
    struct tl_trust_transfer seen = whole();
    seen.sender.steal_ratio = 0.06;
    judged(&seen, TL_QUALITY_DEGRADED, "6.0 % of a core's time from the sending host");
    seen = whole();
    seen.receiver.steal_ratio = 0.06;
    judged(&seen, TL_QUALITY_DEGRADED, "from the receiving host");
    seen = whole();
    seen.other_traffic_ratio = 0.06;
    judged(&seen, TL_QUALITY_DEGRADED, "other programs made 6.0 % of the traffic");
    seen = whole();
    seen.receiver.wait_ratio = 0.2;
    judged(&seen, TL_QUALITY_DEGRADED, "the receiving program waited for a processor core 20");
    seen.sender.wait_ratio = 0.3;
    judged(&seen, TL_QUALITY_DEGRADED, "the sending program waited for a processor core 30");
    seen = whole();
    seen.receiver.run_ratio = 0.1; /* with nothing to do most of the time it starves of nothing */
    seen.receiver.wait_ratio = 0.2;
    judged(&seen, TL_QUALITY_VALID, "");
}

Test(trust, who_was_held_up_blames_nobody)
{
    struct tl_trust_transfer seen = whole();
    struct tl_trust trust = {0};
    seen.held_up_ns = 4 * s;
    seen.end = TL_TCP_END_SILENT;
    cr_expect_not(tl_trust_transfer(&trust, &seen));
    expect(&trust, TL_QUALITY_INVALID, "tightlink itself was held up for 4 s");
}

Test(trust, a_transfer_that_next_to_nothing_came_of_stood_still)
{
    struct tl_trust_transfer seen = whole();
    cr_expect_not(tl_trust_stood_still(&seen) || tl_trust_seems_still(&seen), "60 MB came");
    seen.received_bytes = TL_TRUST_STILL_BYTES - 1;
    cr_expect(tl_trust_stood_still(&seen) && tl_trust_seems_still(&seen));
    seen.elapsed_ns = 2 * s;
    cr_expect_not(tl_trust_stood_still(&seen) || tl_trust_seems_still(&seen), "too early to say");
    seen.end = TL_TCP_END_SILENT;
    cr_expect(tl_trust_stood_still(&seen), "the data connection died, the far end's word came");
    seen.elapsed_ns = 3 * s;
    seen.end_signed = false;
    cr_expect_not(tl_trust_stood_still(&seen), "the whole path may be dead");
    cr_expect(tl_trust_seems_still(&seen), "unless the hole held up that word: to be tried");
    seen.end = TL_TCP_END_KNOWN;
    cr_expect_not(tl_trust_seems_still(&seen));
}

/* --- What a far end tells of a download, against what this PC saw of it --------------------- */

static const struct tl_trust_told honest = {.rtt_min_ns = 20e6,
                                            .beside_rtt_ns = 25e6,
                                            .lost_count = 40,
                                            .loss_event_count = 30,
                                            .ooo_count = 35};

static void told(struct tl_trust_told told, enum tl_quality quality, const char *word)
{
    struct tl_trust trust = {0};
    tl_trust_told(&trust, &told);
    expect(&trust, quality, word);
}

Test(trust, what_fits_is_believed)
{
    struct tl_trust_told one = honest;
    told(one, TL_QUALITY_VALID, "");
    one.beside_rtt_ns = (double)NAN; /* no probe was answered */
    told(one, TL_QUALITY_VALID, "");
    one.beside_rtt_ns = 20 * ms;
    one.rtt_min_ns = 60 * ms; /* each acknowledgement was delayed */
    told(one, TL_QUALITY_VALID, "");
    one.rtt_min_ns = one.lost_count = (double)NAN; /* it tells nothing */
    told(one, TL_QUALITY_VALID, "");
}

Test(trust, a_round_trip_that_nobody_else_saw_is_not_believed)
{
    struct tl_trust_told one = honest;
    one.rtt_min_ns = 900 * ms;
    told(one, TL_QUALITY_INVALID, "shortest round trip of 900");
}

Test(trust, losses_without_a_hole_here_weigh_less)
{
    struct tl_trust_told one = honest;
    one.ooo_count = 0;
    told(one, TL_QUALITY_DEGRADED, "40 packets sent again");
    one.lost_count = 5; /* the others were sent again without need */
    told(one, TL_QUALITY_VALID, "");
    one.lost_count = 40;
    one.loss_event_count = 2; /* flights that were lost whole */
    told(one, TL_QUALITY_VALID, "");
    one.loss_event_count = 30;
    one.ooo_count = (double)NAN; /* this kernel does not tell */
    told(one, TL_QUALITY_VALID, "");
}

/* Interruptions in readings made by hand: what counts, and what only looks like one. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"

#define MS INT64_C(1000000)
#define S  (1000 * MS)

static struct tl_tcp_result result;

static void setup(void)
{
    result = (struct tl_tcp_result){.spec = {.direction = TL_WIRE_DOWNLOAD},
                                    .streams = 1,
                                    .data_rtt_ns = 20 * MS,
                                    .end_signed = true};
}

static void teardown(void)
{
    tl_tcp_result_finish(&result);
}

TestSuite(interrupt, .init = setup, .fini = teardown);

/* Readings every 100 ms to the end; no bytes between from and to. */
static void stream(unsigned index, int64_t end_ns, int64_t from_ns, int64_t to_ns)
{
    struct tl_tcp_sample sample = {.stream = index};
    for (int64_t now_ns = 0; now_ns <= end_ns; now_ns += 100 * MS) {
        sample.time_ns = now_ns;
        if (now_ns <= from_ns || now_ns > to_ns)
            tl_sample_set(&sample, TL_SF_app_bytes, sample.app_bytes + 100000);
        cr_assert(tl_sample_log_add(&result.receiver.logs[index], &sample, 10000) == TL_OK);
    }
    result.elapsed_ns = end_ns;
}

static struct tl_interruptions find(int64_t before_ns)
{
    struct tl_interruptions found;
    tl_interruptions_find(&result, before_ns, &found);
    return found;
}

static int64_t first_ns(const struct tl_interruptions *found)
{
    return found->at[0].from_ns;
}

static int64_t total_ns(const struct tl_interruptions *found)
{
    int64_t ns = 0;
    for (unsigned i = 0; i < found->count; i++)
        ns += found->at[i].to_ns - found->at[i].from_ns;
    return ns;
}

Test(interrupt, three_seconds_of_silence_are_one)
{
    stream(0, 8 * S, 2 * S, 5 * S);
    struct tl_interruptions found = find(0);
    cr_expect_eq(found.count, 1);
    cr_expect(first_ns(&found) == 2 * S);
    cr_expect(total_ns(&found) >= 2900 * MS && total_ns(&found) <= 3100 * MS);
}

Test(interrupt, a_timer_of_one_stream_is_none)
{
    stream(0, 8 * S, 2 * S, 3 * S);
    cr_expect_eq(find(0).count, 0);
}

Test(interrupt, long_round_trips_need_longer_silence)
{
    result.data_rtt_ns = 600 * MS;
    stream(0, 20 * S, 2 * S, 5 * S);
    cr_expect_eq(find(0).count, 0);
}

Test(interrupt, one_stream_of_two_that_goes_on_shows_the_path_alive)
{
    result.streams = 2;
    stream(0, 8 * S, 2 * S, 5 * S);
    stream(1, 8 * S, 7 * S, 7 * S);
    cr_expect_eq(find(0).count, 0);
}

Test(interrupt, two_streams_that_stand_together_are_one)
{
    result.streams = 2;
    stream(0, 8 * S, 2 * S, 5 * S);
    stream(1, 8 * S, 2200 * MS, 5 * S);
    struct tl_interruptions found = find(0);
    cr_expect_eq(found.count, 1);
    cr_expect(first_ns(&found) == 2200 * MS);
}

Test(interrupt, a_host_that_stood_still_is_none)
{
    stream(0, 2 * S, 2 * S, 2 * S);
    struct tl_sample_log *log = &result.receiver.logs[0];
    struct tl_tcp_sample sample = log->samples[log->count - 1];
    sample.time_ns = 6 * S;
    sample.app_bytes += 1;
    cr_assert(tl_sample_log_add(log, &sample, 10000) == TL_OK);
    result.elapsed_ns = 6 * S;
    cr_expect_eq(find(0).count, 0);
}

Test(interrupt, silence_before_a_late_end_is_one)
{
    stream(0, 900 * MS, S, S);
    result.elapsed_ns = 4500 * MS;
    struct tl_interruptions found = find(0);
    cr_expect_eq(found.count, 1);
    cr_expect(total_ns(&found) == 3600 * MS);
}

Test(interrupt, a_transfer_that_never_began_to_flow_is_none)
{
    stream(0, 8 * S, -1, 9 * S);
    cr_expect_eq(find(0).count, 0);
}

Test(interrupt, connections_that_took_long_to_open_are_one)
{
    stream(0, 5 * S, 6 * S, 6 * S);
    cr_expect_eq(find(S).count, 0, "a lost SYN takes a second");
    cr_expect_eq(find(3 * S).count, 1);
}

/* --- Brief ones ------------------------------------------------------------------------------ */

/* Probes every 40 ms to the end, answered after 20 ms, but for those sent from one time to
 * another. */
static const struct tl_echo_result *probes(int64_t end_ns, int64_t from_ns, int64_t to_ns)
{
    static struct tl_echo_result echo;
    echo = (struct tl_echo_result){.start_ns = 100 * S};
    for (int64_t at_ns = 0; at_ns < end_ns; at_ns += 40 * MS) {
        bool lost = at_ns >= from_ns && at_ns < to_ns;
        echo.probes[echo.sent_count++] =
            (struct tl_echo_probe){.sent_ns = at_ns, .rtt_ns = lost ? -1 : 20 * MS};
        echo.answered_count += !lost;
    }
    return &echo;
}

/* Readings every 20 ms. */
static void fine_stream(unsigned index, int64_t end_ns, int64_t from_ns, int64_t to_ns)
{
    struct tl_tcp_sample sample = {.stream = index};
    for (int64_t now_ns = 0; now_ns <= end_ns; now_ns += 20 * MS) {
        sample.time_ns = now_ns;
        if (now_ns <= from_ns || now_ns > to_ns)
            tl_sample_set(&sample, TL_SF_app_bytes, sample.app_bytes + 100000);
        cr_assert(tl_sample_log_add(&result.receiver.logs[index], &sample, 10000) == TL_OK);
    }
    result.elapsed_ns = end_ns;
}

static struct tl_interruptions find_brief(const struct tl_echo_result *echo)
{
    struct tl_interruptions found = find(0);
    tl_interruptions_find_brief(&result, echo, 100 * S, &found);
    return found;
}

Test(interrupt, half_a_second_without_bytes_and_answers_is_a_brief_one)
{
    fine_stream(0, 6 * S, 2 * S, 2700 * MS); /* TCP's own timer takes longer than the outage */
    struct tl_interruptions found = find_brief(probes(6 * S, 2 * S, 2500 * MS));
    cr_assert_eq(found.count, 1);
    cr_expect(llabs(first_ns(&found) - 2 * S) < 50 * MS);
    cr_expect(llabs(total_ns(&found) - 500 * MS) < 90 * MS, "as long as the path was dead");
}

/* The last answer is older than the last byte by what probes are apart, and by a way: they came
 * back. */
Test(interrupt, bytes_behind_the_last_answer_arrived_before_it_was_dead)
{
    result.near_sends = true;
    result.data_rtt_ns = 20 * MS;
    fine_stream(0, 6 * S, 2100 * MS, 2700 * MS);
    cr_expect_eq(find_brief(probes(6 * S, 2040 * MS, 2500 * MS)).count, 1);
}

Test(interrupt, a_timer_of_tcp_beside_answered_probes_is_no_brief_one)
{
    fine_stream(0, 6 * S, 2 * S, 2700 * MS);
    cr_expect_eq(find_brief(probes(6 * S, 7 * S, 7 * S)).count, 0);
}

Test(interrupt, lost_probes_beside_bytes_that_arrive_are_no_brief_one)
{
    fine_stream(0, 6 * S, 7 * S, 7 * S);
    cr_expect_eq(find_brief(probes(6 * S, 2 * S, 2500 * MS)).count, 0);
}

Test(interrupt, a_program_that_sent_no_probes_was_held_up_itself)
{
    fine_stream(0, 6 * S, 2 * S, 2500 * MS);
    struct tl_echo_result echo = *probes(6 * S, 7 * S, 7 * S);
    unsigned kept = 0;
    for (unsigned i = 0; i < echo.sent_count; i++)
        if (echo.probes[i].sent_ns < 2 * S || echo.probes[i].sent_ns >= 2500 * MS)
            echo.probes[kept++] = echo.probes[i];
    echo.sent_count = kept;
    cr_expect_eq(find_brief(&echo).count, 0);
}

Test(interrupt, a_long_one_is_not_counted_twice)
{
    fine_stream(0, 8 * S, 2 * S, 4200 * MS);
    cr_expect_eq(find_brief(probes(8 * S, 2 * S, 4 * S)).count, 1);
}

Test(interrupt, probes_alone_tell_when_a_row_of_them_is_lost)
{
    static const struct {
        int64_t from_ns, to_ns, tells_ns; /* lost; 0: no interruption */
    } cases[] = {
        {200 * MS, 600 * MS, 400 * MS}, /* the next is answered */
        {600 * MS, 2 * S, 900 * MS},    /* to the end */
        {200 * MS, 400 * MS, 0},        /* too short */
        {0, 2 * S, 0},                  /* none is answered: UDP may not get through at all */
        {2 * S, 2 * S, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tl_probe_outcome outcome = {0};
        const struct tl_echo_result *echo = probes(S, cases[i].from_ns, cases[i].to_ns);
        tl_interruptions_of_probes(echo, echo->start_ns + 1500 * MS, &outcome);
        cr_expect_eq(outcome.interrupted, cases[i].tells_ns > 0, "%zu", i);
        cr_expect_eq(outcome.interrupted_ns, cases[i].tells_ns, "%zu: %lld", i,
                     (long long)outcome.interrupted_ns);
    }
}

Test(interrupt, the_longest_part_without_any_gives_the_rate)
{
    fine_stream(0, 10 * S, 2 * S, 4 * S); /* 5 MB a second, then nothing, then as before */
    struct tl_interruptions found = find(0);
    struct tl_facts *facts = tl_facts_create();
    struct tl_probe_outcome outcome = {0};
    tl_interruptions_note(facts, &result, &found, &outcome);
    cr_expect(!outcome.interrupted, "six seconds are left");
    cr_expect_float_eq(result.steady.rate.goodput_bps / 40e6, 1, 0.02);
    cr_expect(result.steady.rate.start_ns >= 4 * S && result.steady.rate.end_ns > 9 * S);
    cr_expect_float_eq(tl_facts_number(facts, TL_FLOW(TL_DOWNLOAD, interrupted_longest_ns), 0), 2e9,
                       5e7);
    tl_facts_destroy(facts);
}

Test(interrupt, where_no_part_is_long_enough_the_rates_do_not_count)
{
    fine_stream(0, 6 * S, 2 * S, 4 * S);
    struct tl_interruptions found = find(0);
    struct tl_facts *facts = tl_facts_create();
    struct tl_probe_outcome outcome = {0};
    tl_interruptions_note(facts, &result, &found, &outcome);
    cr_expect(outcome.interrupted);
    tl_facts_destroy(facts);
}

/* --- Whose it is ------------------------------------------------------------------------------ */

/* The sender's readings every 100 ms; with nothing on its way between from and to, or none at all.
 */
static void sender(int64_t end_ns, int64_t from_ns, int64_t to_ns, bool read)
{
    struct tl_tcp_sample sample = {.stream = 0};
    for (int64_t now_ns = 0; now_ns <= end_ns; now_ns += 100 * MS) {
        bool idle = now_ns > from_ns && now_ns < to_ns;
        sample.time_ns = now_ns;
        tl_sample_set(&sample, TL_SF_unacked_count, idle ? 0 : 20);
        if (!idle || read)
            cr_assert(tl_sample_log_add(&result.sender.logs[0], &sample, 10000) == TL_OK);
    }
}

static enum tl_silence whose_of(const struct tl_echo_result *echo)
{
    struct tl_interruptions found = find(0);
    cr_assert_eq(found.count, 1);
    tl_interruptions_place(&result, echo, 100 * S, &found);
    return found.at[0].whose;
}

Test(interrupt, what_was_on_its_way_and_did_not_arrive_is_the_paths)
{
    stream(0, 8 * S, 2 * S, 5 * S);
    sender(8 * S, 9 * S, 9 * S, true);
    cr_expect_eq(whose_of(probes(8 * S, 2 * S, 5 * S)), TL_SILENCE_OF_PATH);
}

Test(interrupt, with_nothing_on_its_way_the_sender_paused)
{
    stream(0, 8 * S, 2 * S, 5 * S);
    sender(8 * S, 2 * S, 5 * S, true);
    cr_expect_eq(whose_of(NULL), TL_SILENCE_OF_PROGRAM);
}

Test(interrupt, a_sender_whose_socket_nobody_read_was_not_there)
{
    stream(0, 8 * S, 2 * S, 5 * S);
    sender(8 * S, 1800 * MS, 5 * S, false); /* its kernel still sent what it had */
    cr_expect_eq(whose_of(probes(8 * S, 2 * S, 5 * S)), TL_SILENCE_OF_PROGRAM,
                 "a responder that is stopped answers no probe either");
}

Test(interrupt, readings_that_were_dropped_are_no_absence)
{
    stream(0, 8 * S, 2 * S, 5 * S);
    sender(8 * S, 2 * S, 5 * S, false);
    result.sender.samples_dropped = 20;
    cr_expect_eq(whose_of(NULL), TL_SILENCE_OF_PATH);
}

Test(interrupt, a_stranger_that_answers_probes_meanwhile_paused_itself)
{
    stream(0, 8 * S, 2 * S, 5 * S);
    cr_expect_eq(whose_of(probes(8 * S, 9 * S, 9 * S)), TL_SILENCE_OF_PROGRAM);
    cr_expect_eq(whose_of(probes(8 * S, 2 * S, 5 * S)), TL_SILENCE_OF_PATH);
}

Test(interrupt, a_silence_that_outlasts_its_outage_is_the_paths)
{
    stream(0, 8 * S, 1 * S, 5 * S);
    cr_expect_eq(whose_of(probes(8 * S, 1600 * MS, 4600 * MS)), TL_SILENCE_OF_PATH,
                 "what is sent again waits for its timer, probes do not");
}

Test(interrupt, without_anybody_who_tells_nobody_is_named)
{
    stream(0, 8 * S, 2 * S, 5 * S);
    cr_expect_eq(whose_of(NULL), TL_SILENCE_OF_NOBODY);
    cr_expect_eq(whose_of(probes(8 * S, 0, 9 * S)), TL_SILENCE_OF_NOBODY,
                 "no probe is ever answered");
}

Test(interrupt, what_is_not_the_paths_is_no_fact_of_the_path)
{
    fine_stream(0, 10 * S, 2 * S, 4 * S);
    struct tl_interruptions found = find(0);
    struct tl_facts *facts = tl_facts_create();
    struct tl_probe_outcome outcome = {0};
    tl_interruptions_place(&result, NULL, 0, &found);
    tl_interruptions_trust(&result, &found, &outcome.trust);
    tl_interruptions_note(facts, &result, &found, &outcome);
    cr_expect_eq(tl_facts_number(facts, TL_FLOW(TL_DOWNLOAD, interrupted_count), -1), 0);
    cr_expect_eq(outcome.trust.quality, TL_QUALITY_DEGRADED);
    cr_expect(strstr(outcome.trust.reason, "is not known"));
    cr_expect(result.steady.rate.start_ns >= 4 * S, "the rate is still that of what is whole");
    tl_facts_destroy(facts);
}

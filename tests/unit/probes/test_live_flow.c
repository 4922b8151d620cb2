/* A connection of another program over some seconds: what its readings say of a queue. */
#include "tightlink/probes/live_flow.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define S  INT64_C(1000000000)
#define MS UINT64_C(1000000)

/* One second of a sender that the network holds. */
struct second {
    uint64_t bytes, rtt_ms;
};

/* Reads it at the end of second i, and closes that second; 0 is where it begins. */
static void read_second(struct tl_live *live, int i, const struct tl_host_socket *socket)
{
    struct tl_live_sum sum;
    tl_live_begin(live, i * S);
    cr_assert_eq(tl_live_take(live, socket), TL_OK);
    tl_live_end(live);
    if (i > 0)
        tl_live_close(live, i * S, &sum);
}

static struct tl_live *watch(const struct second *seconds, size_t count, uint64_t rtt_var_ns,
                             uint64_t busy_ns)
{
    struct tl_live *live = tl_live_create(0);
    struct tl_host_socket socket = {.cookie = 1,
                                    .remote_port = 443,
                                    .acked_bytes = 100000,
                                    .rtt_ns = seconds[0].rtt_ms * MS,
                                    .rtt_var_ns = rtt_var_ns,
                                    .rtt_min_ns = 40 * MS,
                                    .snd_mss_bytes = 1448,
                                    .cwnd_count = 100,
                                    .snd_wnd_bytes = 1000000};
    cr_assert_not_null(live);
    for (size_t i = 0; i <= count; i++) {
        if (i > 0) {
            socket.acked_bytes += seconds[i - 1].bytes;
            socket.rtt_ns = seconds[i - 1].rtt_ms * MS;
            socket.busy_ns += busy_ns;
        }
        read_second(live, (int)i, &socket);
    }
    return live;
}

static struct tl_facts *facts_of(const struct second *seconds, size_t count, uint64_t rtt_var_ns,
                                 uint64_t busy_ns)
{
    struct tl_live *live = watch(seconds, count, rtt_var_ns, busy_ns);
    struct tl_facts *facts = tl_facts_create();
    cr_assert_not_null(facts);
    tl_live_flow_facts(tl_live_find(live, 1), TL_LIVE_INTERVALS, NULL, facts);
    tl_live_destroy(live);
    return facts;
}

static double standing(const struct second *seconds, size_t count, uint64_t rtt_var_ns,
                       uint64_t busy_ns)
{
    struct tl_facts *facts = facts_of(seconds, count, rtt_var_ns, busy_ns);
    double ratio = tl_facts_number(facts, TL_FLOW(TL_UPLOAD, queue_standing_ratio), NAN);
    tl_facts_destroy(facts);
    return ratio;
}

static const struct second full[] = {{2500000, 90},  {2500000, 110}, {2480000, 130},
                                     {2510000, 150}, {2490000, 100}, {2500000, 120}};

Test(live_flow, a_queue_that_never_drains_stands)
{
    struct tl_fact fact;
    struct tl_facts *facts = facts_of(full, 6, 2 * MS, (uint64_t)S);
    tl_facts_get(facts, TL_FLOW(TL_UPLOAD, queue_standing_ratio), &fact);
    cr_expect_float_eq(fact.number, 1, 1e-9);
    tl_facts_get(facts, TL_FLOW(TL_UPLOAD, full_bps), &fact);
    cr_expect_float_eq(fact.number, 20e6, 1);
    cr_expect_float_eq(fact.low, 19.84e6, 1, "the slowest second, not a percentile");
    cr_expect_float_eq(fact.high, 20.08e6, 1);
    tl_facts_destroy(facts);
}

Test(live_flow, round_trips_that_scatter_are_no_queue)
{
    cr_expect_float_eq(standing(full, 6, 30 * MS, (uint64_t)S), 0, 1e-9,
                       "a radio link: the least is far below the mean, without any queue");
}

Test(live_flow, a_pause_may_have_drained_it)
{
    cr_expect_float_eq(standing(full, 6, 2 * MS, (uint64_t)S * 7 / 10), 0, 1e-9);
}

Test(live_flow, near_the_shortest_round_trip_nothing_stands)
{
    static const struct second flat[] = {{2500000, 42}, {2500000, 43}, {2480000, 41},
                                         {2510000, 44}, {2490000, 42}, {2500000, 47}};
    cr_expect_float_eq(standing(flat, 6, MS / 2, (uint64_t)S), 0, 1e-9);
}

Test(live_flow, some_seconds_are_too_few)
{
    cr_expect(isnan(standing(full, 3, 2 * MS, (uint64_t)S)));
}

/* Facts of a connection that stands before that window for five seconds. */
static struct tl_facts *facts_of_standing(uint64_t rwnd_ns)
{
    struct tl_live *live = tl_live_create(0);
    struct tl_host_socket socket = {.cookie = 1,
                                    .remote_port = 443,
                                    .acked_bytes = 100000,
                                    .received_bytes = 200000,
                                    .write_queue_bytes = 30000,
                                    .snd_mss_bytes = 1448,
                                    .cwnd_count = 10};
    struct tl_facts *facts = tl_facts_create();
    struct tl_live_interval joined;
    cr_assert(live && facts);
    for (int i = 0; i <= 5; i++) {
        read_second(live, i, &socket);
        socket.busy_ns += S;
        socket.rwnd_limited_ns += rwnd_ns;
    }
    tl_live_join(tl_live_find(live, 1), TL_LIVE_INTERVALS, &joined);
    cr_assert_eq(tl_live_flow_direction(tl_live_find(live, 1), &joined), TL_UPLOAD,
                 "what waits to be sent");
    tl_live_flow_facts(tl_live_find(live, 1), TL_LIVE_INTERVALS, NULL, facts);
    tl_live_destroy(live);
    return facts;
}

Test(live_flow, a_shut_window_is_told_with_its_time)
{
    struct tl_facts *facts = facts_of_standing(S);
    cr_expect_eq(tl_facts_number(facts, TL_FLOW(TL_UPLOAD, window_shut_ns), NAN), 5 * S);
    cr_expect_eq(tl_facts_number(facts, TL_FLOW(TL_UPLOAD, window_shut_ratio), NAN), 1);
    cr_expect_eq(tl_facts_number(facts, TL_FLOW(TL_UPLOAD, goodput_bps), NAN), 0);
    tl_facts_destroy(facts);
}

Test(live_flow, what_nobody_answers_has_no_rate)
{
    struct tl_facts *facts = facts_of_standing(0);
    struct tl_fact rate;
    tl_facts_get(facts, TL_FLOW(TL_UPLOAD, goodput_bps), &rate);
    cr_expect_eq(rate.state, TL_FACT_UNKNOWN);
    cr_expect_not_null(strstr(rate.reason, "nothing that was sent was answered"), "%s",
                       rate.reason);
    cr_expect_eq(tl_facts_number(facts, TL_FLOW(TL_UPLOAD, window_shut_ns), NAN), 0);
    tl_facts_destroy(facts);
}

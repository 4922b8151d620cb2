/* Whether a queue stood: made probes and readings whose truth is known. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tightlink/base/random.h"
#include "tightlink/engine/queue.h"

#define MS       INT64_C(1000000)
#define S        (1000 * MS)
#define READINGS 120 /* each 50 ms: 6 s */
#define PROBES   150 /* each 40 ms */

static struct tl_echo_result echo;
static struct tl_tcp_result *result;
static struct tl_tcp_sample sent[READINGS], arrived[READINGS];
static struct tl_random rng;

static double jitter_of(double most_ns)
{
    return most_ns * tl_random_unit(&rng);
}

/* A path of 20 ms; the delays that queues add are functions of time, here one value a half. */
struct path {
    double bps[2], data_ns[2], ack_ns[2], tcp_ns[2], jitter_ns;
    double burst_ns;   /* by which round trips grow within each 300 ms, and begin anew */
    double held_ratio; /* of the time, by a buffer */
    int64_t hole_ns;   /* for which, once in 700 ms, a lost packet holds back what is behind it */
};

static int half(int64_t time_ns)
{
    return time_ns >= 3 * S;
}

static void make_probes(const struct path *path)
{
    echo = (struct tl_echo_result){.start_ns = 1000 * S, .sent_count = PROBES};
    for (int i = 0; i < PROBES; i++) {
        int64_t at_ns = i * 40 * MS;
        bool idle = i < 3; /* before the load */
        double there_ns =
            10e6 + jitter_of(path->jitter_ns) + (idle ? 0 : path->ack_ns[half(at_ns)]);
        double back_ns =
            10e6 + jitter_of(path->jitter_ns) + (idle ? 0 : path->data_ns[half(at_ns)]);
        struct tl_echo_probe *probe = &echo.probes[i];
        *probe = (struct tl_echo_probe){
            .sent_ns = at_ns, .near_ns = at_ns, .rtt_ns = (int64_t)(there_ns + back_ns)};
        probe->far_ns = probe->near_ns + (int64_t)there_ns + 7000 * S;
    }
}

static void make_readings(const struct path *path)
{
    double bytes = 0, in_order = 0;
    for (int i = 0; i < READINGS; i++) {
        int64_t at_ns = i * 50 * MS;
        bytes += path->bps[half(at_ns)] / 8 * 0.05;
        double rtt_ns = 20e6 + path->tcp_ns[half(at_ns)] + jitter_of(path->jitter_ns) +
                        path->burst_ns * (i % 6) / 5;
        sent[i] = (struct tl_tcp_sample){.time_ns = at_ns};
        tl_sample_set(&sent[i], TL_SF_rtt_ns, (uint64_t)rtt_ns);
        arrived[i] = (struct tl_tcp_sample){.time_ns = at_ns};
        if (at_ns % (700 * MS) >= path->hole_ns)
            in_order = bytes;
        tl_sample_set(&arrived[i], TL_SF_app_bytes, (uint64_t)in_order);
        tl_sample_set(&arrived[i], TL_SF_data_segs_in_count, (uint64_t)(bytes / 1448));
    }
}

static struct tl_queue find_beside(const struct path *path, bool probes,
                                   const struct tl_queue_gap *gap)
{
    struct tl_queue queue;
    struct tl_queue_spec spec = {.echo = probes ? &echo : NULL,
                                 .start_ns = 1000 * S,
                                 .from_ns = 200 * MS,
                                 .to_ns = 5900 * MS,
                                 .scatter_ns = 2 * path->jitter_ns,
                                 .rtt_min_ns = 20e6,
                                 .gaps = gap,
                                 .gap_count = gap != NULL};
    tl_random_seed(&rng, 5);
    make_probes(path);
    make_readings(path);
    result->streams = 1;
    result->sender.logs[0] = (struct tl_sample_log){.samples = sent, .count = READINGS};
    result->receiver.logs[0] = (struct tl_sample_log){.samples = arrived, .count = READINGS};
    result->steady.sender.mss_bytes = 1448;
    result->steady.sender.ledger.sndbuf_ratio = path->held_ratio / 2;
    result->steady.sender.ledger.rwnd_ratio = path->held_ratio / 2;
    tl_queue_find(result, &spec, &queue);
    return queue;
}

static struct tl_queue find(const struct path *path, bool probes)
{
    return find_beside(path, probes, NULL);
}

static void setup(void)
{
    result = calloc(1, sizeof *result);
    cr_assert(result);
}

static void teardown(void)
{
    free(result);
}

TestSuite(queue, .init = setup, .fini = teardown);

Test(queue, a_link_whose_rate_changes_is_full_while_a_queue_stands)
{
    struct path path = {.bps = {40e6, 8e6}, .data_ns = {50e6, 250e6}, .tcp_ns = {50e6, 250e6}};
    struct tl_queue queue = find(&path, true);
    cr_assert_eq(queue.standing_ratio, 1);
    cr_assert_float_eq(queue.full_bps[0], 8e6, 0.2e6);
    cr_assert_float_eq(queue.full_bps[2], 40e6, 0.5e6);
}

Test(queue, what_was_interrupted_is_no_rate_of_a_link)
{
    struct path path = {.bps = {40e6, 0}, .data_ns = {50e6, 50e6}, .tcp_ns = {50e6, 50e6}};
    struct tl_queue_gap gap = {3000 * MS, 5900 * MS};
    struct tl_queue queue = find_beside(&path, true, &gap);
    cr_assert_eq(queue.pieces, 5);
    cr_assert_float_eq(queue.rate_bps[0], 40e6, 0.5e6);
    cr_assert_float_eq(queue.full_bps[0], 40e6, 0.5e6);
}

Test(queue, jitter_alone_is_no_queue)
{
    struct path path = {.bps = {20e6, 20e6}, .jitter_ns = 6e6};
    struct tl_queue queue = find(&path, true);
    cr_assert_eq(queue.standing, 0);
    cr_assert(isnan(queue.full_bps[1]));
    cr_assert_float_eq(queue.rate_bps[1], 20e6, 0.2e6);
}

Test(queue, a_queue_beyond_the_jitter_stands)
{
    struct path path = {
        .bps = {20e6, 20e6}, .data_ns = {15e6, 15e6}, .tcp_ns = {15e6, 15e6}, .jitter_ns = 6e6};
    cr_assert_eq(find(&path, true).standing_ratio, 1);
}

Test(queue, it_stands_for_the_part_of_the_time_in_which_it_does)
{
    struct path path = {.bps = {20e6, 10e6}, .data_ns = {15e6, 0}, .tcp_ns = {15e6, 0}};
    struct tl_queue queue = find(&path, true);
    cr_assert_float_eq(queue.standing_ratio, 0.5, 0.1);
    cr_assert_float_eq(queue.full_bps[1], 20e6, 0.2e6, "only the link's own rate counts");
}

Test(queue, one_for_acknowledgements_is_none_for_data)
{
    struct path path = {.bps = {20e6, 20e6}, .ack_ns = {80e6, 80e6}, .tcp_ns = {80e6, 80e6}};
    cr_assert_eq(find(&path, true).standing, 0);
}

Test(queue, a_queue_of_the_streams_own_is_seen_by_its_round_trips_alone)
{
    struct path path = {.bps = {20e6, 20e6}, .tcp_ns = {30e6, 30e6}};
    cr_assert_eq(find(&path, true).standing_ratio, 1, "the probes passed it by");
    cr_assert_eq(find(&path, false).standing_ratio, 1, "or there were none");
}

/* What a full buffer lets out at once waits behind itself, and the link is idle until the next. */
Test(queue, what_a_buffer_lets_out_in_bursts_keeps_none)
{
    struct path bursts = {
        .bps = {20e6, 20e6}, .tcp_ns = {10e6, 10e6}, .burst_ns = 60e6, .held_ratio = 0.6};
    cr_assert_eq(find(&bursts, true).standing, 0);
    struct path steady = bursts, lost = bursts;
    steady.burst_ns = 8e6; /* packets of its own wait as long all the time, as in fair queueing */
    lost.held_ratio = 0.4; /* windows that fall and grow let a queue of its own come and go */
    cr_assert_eq(find(&steady, true).standing_ratio, 1);
    cr_assert_eq(find(&lost, true).standing_ratio, 1);
    cr_assert_eq(find(&bursts, false).standing_ratio, 1, "no probe tells that the link was idle");
}

Test(queue, what_a_lost_packet_holds_back_has_arrived_all_the_same)
{
    struct path path = {
        .bps = {40e6, 40e6}, .data_ns = {50e6, 50e6}, .tcp_ns = {50e6, 50e6}, .hole_ns = 250 * MS};
    struct tl_queue queue = find(&path, true);
    cr_assert_float_eq(queue.full_bps[0], 40e6, 1.5e6);
    cr_assert_float_eq(queue.full_bps[2], 40e6, 1.5e6);
}

Test(queue, memory_tells_a_queue_from_jitter)
{
    struct tl_idle_delay idle;
    struct path path = {.jitter_ns = 5e6};
    tl_random_seed(&rng, 9);
    make_probes(&path);
    tl_idle_delay(&echo, &idle);
    cr_assert_lt(fabs(idle.memory_ratio), 0.3);
    cr_assert_float_eq(idle.backward.median_ns, 2.5e6, 1e6);
    cr_assert_gt(idle.backward.p75_ns, idle.backward.median_ns);
    for (int i = 0; i < PROBES; i++) /* a queue that fills and drains within a second */
        echo.probes[i].rtt_ns += (int64_t)(20e6 * (1 + sin(i * 0.25)));
    tl_idle_delay(&echo, &idle);
    cr_assert_gt(idle.memory_ratio, 0.8);
}

Test(queue, jitter_of_one_way_hides_no_queue_on_the_other)
{
    struct tl_idle_delay idle;
    struct path path = {.jitter_ns = 0};
    tl_random_seed(&rng, 11);
    make_probes(&path);
    for (int i = 0; i < PROBES; i++) {
        int64_t queue_ns = (int64_t)(5e6 * (1 + sin(i * 0.25)));
        int64_t jitter_ns = (int64_t)(30e6 * tl_random_unit(&rng));
        echo.probes[i].far_ns += queue_ns;
        echo.probes[i].rtt_ns += queue_ns + jitter_ns;
    }
    tl_idle_delay(&echo, &idle);
    cr_assert_gt(idle.memory_ratio, 0.8, "%.2f", idle.memory_ratio);
}

Test(queue, nothing_makes_no_statement)
{
    struct tl_idle_delay idle;
    struct tl_queue queue;
    struct tl_queue_spec spec = {.to_ns = 5 * S};
    echo = (struct tl_echo_result){0};
    tl_idle_delay(&echo, &idle);
    cr_assert(isnan(idle.memory_ratio) && isnan(idle.forward.median_ns));
    result->streams = 1;
    tl_queue_find(result, &spec, &queue);
    cr_assert_eq(queue.standing, 0);
}

/* Readings of a user's program, made by hand: a window of its own, and what is none. */
#include "tightlink/probes/mover.h"

#include <criterion/criterion.h>
#include <math.h>

#include "tightlink/base/time.h"

#define STEP_NS (5 * TL_NS_PER_MS)
#define RTT_NS  (100 * TL_NS_PER_MS)
#define WINDOW  (2u << 20)

static struct tl_mover_watch *watch;
static struct tl_facts *facts;
static double sleep_ratio;

static void make(void)
{
    watch = tl_mover_watch_create();
    facts = tl_facts_create();
    cr_assert(watch && facts);
    sleep_ratio = 0;
}

static void drop(void)
{
    tl_mover_watch_destroy(watch);
    tl_facts_destroy(facts);
}

TestSuite(mover, .init = make, .fini = drop);

/* A sender with room in every window. */
static struct tl_host_socket sender(uint64_t acked_bytes, uint32_t flight_bytes)
{
    return (struct tl_host_socket){.cookie = 7,
                                   .acked_bytes = acked_bytes,
                                   .write_queue_bytes = flight_bytes,
                                   .snd_mss_bytes = 1448,
                                   .cwnd_count = 4000,
                                   .snd_wnd_bytes = 8u << 20,
                                   .rtt_min_ns = RTT_NS};
}

static void judge(enum tl_direction direction)
{
    struct tl_flow_tree_sum processes = {.thread_cpu_ratio = 0.2,
                                         .cpu_wait_ratio = 0.05,
                                         .disk_wait_ratio = 0.1,
                                         .sleep_ratio = sleep_ratio};
    tl_mover_facts(watch, 7, &processes, direction, RTT_NS, facts);
}

static double number(struct tl_fact_key key)
{
    return tl_facts_number(facts, key, NAN);
}

/* `share` of each round trip a window goes through, then nothing moves. */
static void move_in_bursts(int64_t seconds, double share)
{
    uint64_t acked = 0;
    for (int64_t now = STEP_NS; now < seconds * TL_NS_PER_S; now += STEP_NS) {
        if ((double)(now % RTT_NS) < share * (double)RTT_NS)
            acked += (uint64_t)(WINDOW * (double)STEP_NS / (share * (double)RTT_NS));
        struct tl_host_socket socket = sender(acked, WINDOW);
        tl_mover_watch_take(watch, &socket, now);
    }
}

Test(mover, a_window_of_the_program_shows_as_an_even_amount_and_a_burst_a_round_trip)
{
    move_in_bursts(6, 0.4);
    judge(TL_UPLOAD);
    cr_expect_float_eq(number(TL_FLOW(TL_UPLOAD, mover_starved_ratio)), 1, 1e-9);
    cr_expect_float_eq(number(TL_FLOW(TL_UPLOAD, mover_flight_bytes)), WINDOW, 1);
    cr_expect_float_eq(number(TL_FLOW(TL_UPLOAD, mover_flight_spread_ratio)), 0, 1e-9);
    cr_expect_float_eq(number(TL_FLOW(TL_UPLOAD, mover_idle_ratio)), 0.6, 0.1);
    cr_expect_float_eq(number(TL_FLOW(TL_UPLOAD, mover_cycle_ns)), RTT_NS, 0.1 * RTT_NS);
    cr_expect_float_eq(number(TL_FLOW(TL_UPLOAD, sender_thread_cpu_ratio)), 0.2, 1e-9);
    cr_expect_float_eq(number(TL_FLOW(TL_UPLOAD, sender_cpu_wait_ratio)), 0.05, 1e-9);
    cr_expect_float_eq(number(TL_FLOW(TL_UPLOAD, mover_own_pause_ratio)), 1, 1e-9);
}

Test(mover, data_that_waits_in_the_send_buffer_is_no_window_of_the_program)
{
    uint64_t acked = 0;
    for (int64_t now = STEP_NS; now < 6 * TL_NS_PER_S; now += STEP_NS) {
        struct tl_host_socket socket = sender(acked += 50000, WINDOW);
        socket.notsent_bytes = 100000;
        tl_mover_watch_take(watch, &socket, now);
    }
    judge(TL_UPLOAD);
    cr_expect_float_eq(number(TL_FLOW(TL_UPLOAD, mover_starved_ratio)), 0, 1e-9);
    cr_expect(isnan(number(TL_FLOW(TL_UPLOAD, mover_flight_bytes))));
}

Test(mover, a_full_congestion_window_is_the_networks)
{
    uint64_t acked = 0;
    for (int64_t now = STEP_NS; now < 6 * TL_NS_PER_S; now += STEP_NS) {
        struct tl_host_socket socket = sender(acked += 50000, 1448 * 100);
        socket.cwnd_count = 100;
        tl_mover_watch_take(watch, &socket, now);
    }
    judge(TL_UPLOAD);
    cr_expect_float_eq(number(TL_FLOW(TL_UPLOAD, mover_starved_ratio)), 0, 1e-9);
}

Test(mover, what_ends_before_it_is_up_to_its_rate_says_nothing)
{
    move_in_bursts(1, 0.4);
    judge(TL_UPLOAD);
    cr_expect(isnan(number(TL_FLOW(TL_UPLOAD, mover_starved_ratio))));
    cr_expect(isnan(number(TL_FLOW(TL_UPLOAD, mover_idle_ratio))));
    cr_expect_eq(tl_mover_watch_settled_ns(watch, 7), 0);
}

Test(mover, time_in_which_nobody_read_is_no_pause)
{
    uint64_t acked = 0;
    for (int64_t now = STEP_NS; now < 6 * TL_NS_PER_S; now += 4 * STEP_NS) {
        struct tl_host_socket socket = sender(acked += 50000, WINDOW);
        tl_mover_watch_take(watch, &socket, now);
    }
    judge(TL_UPLOAD);
    cr_expect_float_eq(number(TL_FLOW(TL_UPLOAD, mover_idle_ratio)), 0, 1e-9);
}

Test(mover, readings_that_are_too_far_apart_do_not_say_that_nothing_paused)
{
    for (int64_t i = 1; i < 100; i++) {
        struct tl_host_socket socket = sender(2000 * (uint64_t)i, WINDOW);
        tl_mover_watch_take(watch, &socket, i * 60 * TL_NS_PER_MS);
    }
    judge(TL_UPLOAD);
    cr_expect(isnan(number(TL_FLOW(TL_UPLOAD, mover_idle_ratio))));
    cr_expect(isnan(number(TL_FLOW(TL_UPLOAD, mover_cycles_count))));
    cr_expect_float_eq(number(TL_FLOW(TL_UPLOAD, mover_starved_ratio)), 1, 1e-9);
}

Test(mover, a_receiver_sees_what_arrives_in_a_round_trip)
{
    uint64_t received = 0;
    for (int64_t now = STEP_NS; now < 6 * TL_NS_PER_S; now += STEP_NS) {
        struct tl_host_socket socket = {
            .cookie = 7, .received_bytes = received += WINDOW / 20, .rtt_min_ns = RTT_NS};
        tl_mover_watch_take(watch, &socket, now);
    }
    judge(TL_DOWNLOAD);
    cr_expect_float_eq(number(TL_FLOW(TL_DOWNLOAD, mover_flight_bytes)), WINDOW, WINDOW / 100.0);
    cr_expect(isnan(number(TL_FLOW(TL_DOWNLOAD, mover_starved_ratio))));
    cr_expect_float_eq(number(TL_FLOW(TL_DOWNLOAD, receiver_mover_disk_wait_ratio)), 0.1, 1e-9);
}

/* The far end answers all the time, as that of ssh does. */
static void move_answered(void)
{
    uint64_t acked = 0;
    for (int64_t now = STEP_NS; now < 6 * TL_NS_PER_S; now += STEP_NS) {
        struct tl_host_socket socket = sender(acked += 50000, 0);
        socket.data_segs_in_count = (uint32_t)(acked / 50000);
        tl_mover_watch_take(watch, &socket, now);
    }
    judge(TL_UPLOAD);
}

Test(mover, who_is_answered_may_wait_for_the_far_end)
{
    move_answered();
    cr_expect_float_eq(number(TL_FLOW(TL_UPLOAD, mover_starved_ratio)), 1, 1e-9);
    cr_expect(isnan(number(TL_FLOW(TL_UPLOAD, mover_own_pause_ratio))));
}

Test(mover, who_sleeps_holds_itself_back)
{
    sleep_ratio = 0.8;
    move_answered();
    cr_expect_float_eq(number(TL_FLOW(TL_UPLOAD, mover_own_pause_ratio)), 0.8, 1e-9);
}

Test(mover, a_receiver_that_leaves_data_lying_never_waits_for_it)
{
    uint64_t received = 0;
    for (int64_t now = STEP_NS; now < 6 * TL_NS_PER_S; now += STEP_NS) {
        struct tl_host_socket socket = {.cookie = 7,
                                        .received_bytes = received += 8000,
                                        .rtt_min_ns = RTT_NS,
                                        .rcvbuf_bytes = 1u << 20,
                                        .read_queue_bytes = now / STEP_NS % 4 ? 500000 : 0};
        tl_mover_watch_take(watch, &socket, now);
    }
    judge(TL_DOWNLOAD);
    cr_expect_float_eq(number(TL_FLOW(TL_DOWNLOAD, receiver_data_wait_ratio)), 0.25, 0.01);
}

Test(mover, what_was_measured_beside_it_stands_beside_its_own_rate)
{
    struct tl_facts *measured = tl_facts_create();
    tl_facts_set_number(measured, TL_FLOW(TL_UPLOAD, goodput_bps), 94e6, "");
    tl_facts_set_number(measured, TL_FLOW(TL_UPLOAD, streams_goodput_bps), 99e6, "");
    tl_facts_set_number(measured, TL_NEAR(disk_read_bps), 4e9, "");
    tl_facts_set_text(measured, TL_FAR(os), "linux", "");
    tl_facts_set_text(measured, TL_NEAR(os), "other", "");
    tl_mover_add_measured(facts, TL_UPLOAD, measured);
    tl_facts_destroy(measured);
    cr_expect_float_eq(number(TL_FLOW(TL_UPLOAD, mover_memory_bps)), 94e6, 1);
    cr_expect_float_eq(number(TL_FLOW(TL_UPLOAD, mover_streams_bps)), 99e6, 1);
    cr_expect_float_eq(number(TL_NEAR(disk_read_bps)), 4e9, 1);
    cr_expect(isnan(number(TL_FLOW(TL_UPLOAD, goodput_bps))), "the mover's own rate stays its own");
}

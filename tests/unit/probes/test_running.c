/* Readings of a connection that runs already, made by hand: rate, pauses, bursts, buffers. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "../key_of.h"
#include "running.h"
#include "tightlink/base/time.h"

#define MS   TL_NS_PER_MS
#define GAP  (12 * MS)
#define STEP (4 * MS)

static struct tl_running *running;
static struct tl_facts *facts;

static void set_up(void)
{
    running = calloc(1, sizeof *running);
    facts = tl_facts_create();
}

static void tear_down(void)
{
    free(running);
    tl_facts_destroy(facts);
}

TestSuite(running, .init = set_up, .fini = tear_down);

/* Two seconds in which `burst` bytes move at once every `period` ms. */
static void watch(unsigned burst, int64_t period, enum tl_direction direction)
{
    for (int64_t at = 0; at <= 2000; at += 4) {
        uint64_t moved = (uint64_t)(at / period) * burst;
        struct tl_host_socket socket = {.received_bytes = 1000 + moved,
                                        .acked_bytes = 500 + moved,
                                        .rcvbuf_bytes = 262144,
                                        .sndbuf_bytes = 87040,
                                        .rcv_wnd_bytes = 131072,
                                        .snd_wnd_bytes = 65535,
                                        .rcv_mss_bytes = 1448,
                                        .snd_mss_bytes = 1460,
                                        .rwnd_limited_ns = (uint64_t)at * MS / 2};
        tl_running_take(running, &socket, direction, 5000 * MS + at * MS, GAP);
    }
    tl_running_set(running, direction, facts);
}

static double number(const char *id)
{
    return tl_facts_number(facts, key_of(id), -1);
}

Test(running, pauses_between_bursts_are_measured)
{
    watch(10000, 60, TL_DOWNLOAD);
    cr_expect_float_eq(number("download.running_bps"), 33 * 10000 * 8 / 2.0, 1000);
    cr_expect_float_eq(number("download.running_pause_ns"), 60e6, 5e6);
    cr_expect_float_eq(number("download.running_burst_bytes"), 10000, 1);
    cr_expect_float_eq(number("download.running_pause_count"), 33, 0.1);
    cr_expect_gt(number("download.running_idle_ratio"), 0.9);
    cr_expect_eq(number("download.running_rcvbuf_bytes"), 262144);
    cr_expect_eq(number("download.running_window_bytes"), 131072);
    cr_expect_eq(number("download.running_mss_bytes"), 1448);
    cr_expect_eq(number("download.running_buffer_fixed"), 1);
    cr_expect_eq(number("download.running_sndbuf_bytes"), -1, "the sender's buffer is not seen");
}

Test(running, a_steady_flow_has_no_pauses)
{
    watch(50000, 4, TL_UPLOAD);
    cr_expect_eq(number("upload.running_pause_count"), 0);
    cr_expect_eq(number("upload.running_idle_ratio"), 0);
    cr_expect_eq(number("upload.running_pause_ns"), -1, "there is none to measure");
    cr_expect_eq(number("upload.running_sndbuf_bytes"), 87040);
    cr_expect_float_eq(number("upload.running_rwnd_ratio"), 0.5, 0.01);
}

Test(running, a_buffer_that_grows_is_not_fixed)
{
    struct tl_host_socket socket = {.received_bytes = 1, .rcvbuf_bytes = 131072};
    tl_running_take(running, &socket, TL_DOWNLOAD, 0, GAP);
    socket.rcvbuf_bytes = 262144;
    socket.received_bytes = 100000;
    tl_running_take(running, &socket, TL_DOWNLOAD, STEP, GAP);
    tl_running_set(running, TL_DOWNLOAD, facts);
    cr_expect_eq(number("download.running_buffer_fixed"), 0);
    cr_expect_eq(number("download.running_rcvbuf_bytes"), 262144);
}

Test(running, nothing_that_runs_is_a_fact_too)
{
    tl_running_set(NULL, TL_DOWNLOAD, facts);
    cr_expect_eq(number("download.running_count"), 0);
    cr_expect_eq(number("download.running_bps"), -1);
}

/* Data streams over real TCP on the loopback interface. */
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loopback.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "tightlink/engine/stream.h"

#define MS INT64_C(1000000)

static struct tl_streams *create(const struct tl_streams_spec *spec)
{
    struct tl_streams *streams;
    struct tl_error error;
    cr_assert_eq(tl_streams_create(spec, &streams, &error), TL_OK, "%s", error.text);
    return streams;
}

static void add(struct tl_streams *streams, int fd)
{
    struct tl_error error;
    cr_assert_eq(tl_streams_add(streams, fd, &error), TL_OK, "%s", error.text);
}

static void start(struct tl_streams *streams)
{
    struct tl_error error;
    cr_assert_eq(tl_streams_start(streams, &error), TL_OK, "%s", error.text);
}

/* Waits for the end; the time it took. */
static int64_t wait_done(struct tl_streams *streams, int timeout_ms)
{
    int64_t from_ns = tl_now_ns();
    struct pollfd done = {.fd = tl_streams_event_fd(streams), .events = POLLIN};
    /* A busy machine may take some of its time for others; a stream that hangs never ends. */
    cr_assert_eq(poll(&done, 1, 3 * timeout_ms), 1, "not done after %d ms", 3 * timeout_ms);
    cr_assert(tl_streams_done(streams));
    return tl_now_ns() - from_ns;
}

static struct tl_stream_result result_of(struct tl_streams *streams, uint32_t index)
{
    struct tl_stream_result result;
    tl_streams_result(streams, index, &result);
    return result;
}

/* count pairs, sender and receiver made but not started. */
static void make_both(const struct tl_streams_spec *send_spec,
                      const struct tl_streams_spec *recv_spec, uint32_t count,
                      const struct tl_stream_options *options, struct tl_streams **ret_sender,
                      struct tl_streams **ret_receiver)
{
    *ret_sender = create(send_spec);
    *ret_receiver = create(recv_spec);
    for (uint32_t i = 0; i < count; i++) {
        int fds[2];
        loopback_pair(options, options, fds);
        add(*ret_sender, fds[0]);
        add(*ret_receiver, fds[1]);
    }
}

Test(stream, one_stream_runs_its_time_and_both_ends_agree, .timeout = 240)
{
    struct tl_streams_spec send_spec = {
        .send = true, .duration_ns = 1000 * MS, .interval_ns = 20 * MS};
    struct tl_streams_spec recv_spec = {.duration_ns = 60000 * MS};
    static struct tl_tcp_sample samples[1000];
    /* reno: BBR, the default of some hosts, paces loopback to a third of its speed. */
    struct tl_stream_options options = {.congestion = "reno"};
    struct tl_streams *sender, *receiver;
    make_both(&send_spec, &recv_spec, 1, &options, &sender, &receiver);
    start(receiver);
    start(sender);
    wait_done(sender, 2000);
    wait_done(receiver, 1000);
    struct tl_stream_result sent = result_of(sender, 0), got = result_of(receiver, 0);
    cr_assert_eq(sent.end, TL_STREAM_END_DEADLINE, "%d", (int)sent.end);
    cr_assert_eq(got.end, TL_STREAM_END_PEER, "%d", (int)got.end);
    /* Between what the sender knows to have arrived (and the SYN) and what it wrote. */
    size_t count = tl_streams_drain(sender, samples, 1000);
    cr_assert(count > 0 && samples[count - 1].last);
    cr_assert_leq(got.bytes, sent.bytes);
    cr_assert_geq(got.bytes + 1, samples[count - 1].bytes_acked);
    cr_assert_gt(got.bytes, 0);
    cr_assert_gt(sent.cpu_ns, 0);
    cr_assert(sent.first_byte_ns >= 0 && sent.first_byte_ns < sent.end_ns);
    cr_assert_geq(sent.end_ns, 1000 * MS, "%lld", (long long)sent.end_ns);
    cr_assert(got.last_byte_ns >= got.first_byte_ns && got.last_byte_ns <= got.end_ns);
    char text[TL_UNIT_TEXT_SIZE];
    cr_log_info(
        "one stream on loopback: %s",
        tl_format_bps(tl_bps_from_bytes_ns((double)got.bytes, (double)got.last_byte_ns), text));
    tl_streams_destroy(sender);
    tl_streams_destroy(receiver);
}

Test(stream, samples_of_a_stream_are_in_order_and_end_with_the_last, .timeout = 240)
{
    struct tl_streams_spec send_spec = {
        .send = true, .duration_ns = 600 * MS, .interval_ns = 20 * MS};
    struct tl_streams_spec recv_spec = {.duration_ns = 60000 * MS, .discard = true};
    struct tl_streams *sender, *receiver;
    static struct tl_tcp_sample samples[1000];
    make_both(&send_spec, &recv_spec, 2, NULL, &sender, &receiver);
    int64_t from_ns = tl_now_ns();
    start(receiver);
    start(sender);
    wait_done(sender, 2000);
    size_t count = tl_streams_drain(sender, samples, 1000);
    /* Fewer where the sampler waits for a core; never more than one of each in 20 ms, and the last.
     */
    size_t most = 2 * (size_t)(tl_now_ns() - from_ns) / (20 * MS) + 4;
    cr_assert(count >= 2 && count <= most, "%zu samples of 2 streams, at most %zu", count, most);
    const struct tl_tcp_sample *before[2] = {NULL, NULL};
    for (size_t i = 0; i < count; i++) {
        const struct tl_tcp_sample *now = &samples[i], *old = before[now->stream];
        cr_assert_lt(now->stream, 2);
        before[now->stream] = now;
        cr_assert(tl_sample_has(now, TL_SF_app_bytes) && tl_sample_has(now, TL_SF_cpu_ns) &&
                  tl_sample_has(now, TL_SF_busy_ns) && tl_sample_has(now, TL_SF_rtt_ns));
        if (!old)
            continue;
        cr_assert_not(old->last);
        cr_assert_geq(now->time_ns, old->time_ns);
        cr_assert_geq(now->app_bytes, old->app_bytes);
        cr_assert_geq(now->bytes_acked, old->bytes_acked);
    }
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert(before[i]->last);
        cr_assert_eq(before[i]->app_bytes, result_of(sender, i).bytes);
    }
    cr_assert_eq(tl_streams_dropped(sender), 0);
    tl_streams_destroy(sender);
    tl_streams_destroy(receiver);
}

Test(stream, byte_cap_is_exact_on_eight_streams, .timeout = 240)
{
    const uint64_t cap = 3 * 1024 * 1024 + 7;
    struct tl_streams_spec send_spec = {.send = true, .duration_ns = 60000 * MS, .bytes_cap = cap};
    struct tl_streams_spec recv_spec = {.duration_ns = 60000 * MS};
    struct tl_streams *sender, *receiver;
    make_both(&send_spec, &recv_spec, 8, NULL, &sender, &receiver);
    start(receiver);
    start(sender);
    wait_done(sender, 8000);
    wait_done(receiver, 1000);
    for (uint32_t i = 0; i < 8; i++) {
        struct tl_stream_result sent = result_of(sender, i), got = result_of(receiver, i);
        cr_assert_eq(sent.end, TL_STREAM_END_CAP, "%d", (int)sent.end);
        cr_assert_eq(got.end, TL_STREAM_END_PEER);
        cr_assert_eq(got.errnum, 0, "an orderly close");
        cr_assert_eq(sent.bytes, cap);
        cr_assert_eq(got.bytes, cap);
    }
    cr_assert_eq(tl_streams_bytes(receiver), 8 * cap);
    tl_streams_destroy(sender);
    tl_streams_destroy(receiver);
}

/* Of a stop: until the wire is silent. */
static int64_t stop_one(void)
{
    int fds[2];
    loopback_pair(NULL, NULL, fds);
    struct tl_streams_spec spec = {.send = true, .duration_ns = 60000 * MS};
    struct tl_streams *sender = create(&spec);
    add(sender, fds[0]);
    start(sender);
    struct pollfd blocked = {.fd = tl_streams_event_fd(sender), .events = POLLIN};
    cr_assert_eq(poll(&blocked, 1, 200), 0, "a full window is no end");
    tl_streams_stop(sender);
    int64_t took_ns = wait_done(sender, 4000);
    cr_assert_eq(result_of(sender, 0).end, TL_STREAM_END_STOPPED);
    /* What was queued is not sent on: the peer sees an abort, not the rest. */
    struct pollfd reset = {.fd = fds[1], .events = POLLIN};
    cr_assert_eq(poll(&reset, 1, 20000), 1);
    cr_assert(reset.revents & POLLERR);
    close(fds[1]);
    tl_streams_destroy(sender);
    return took_ns;
}

#define ROUNDS 5

/* The quickest: a busy machine may hold up the others, and a stop that waits for something always
 * does. */
static int64_t quickest_of(int64_t (*round)(void))
{
    int64_t least_ns = INT64_MAX;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t took_ns = round();
        least_ns = took_ns < least_ns ? took_ns : least_ns;
    }
    return least_ns;
}

Test(stream, stop_is_quick_even_when_the_peer_does_not_read, .timeout = 240)
{
    cr_assert_lt(quickest_of(stop_one), TL_STREAM_STOP_NS);
}

static int64_t destroy_one(void)
{
    int fds[2];
    loopback_pair(NULL, NULL, fds);
    struct tl_streams_spec spec = {.duration_ns = 60000 * MS};
    struct tl_streams *receiver = create(&spec);
    add(receiver, fds[0]);
    start(receiver);
    int64_t from_ns = tl_now_ns();
    tl_streams_destroy(receiver);
    int64_t took_ns = tl_now_ns() - from_ns;
    close(fds[1]);
    return took_ns;
}

Test(stream, destroy_without_stop_does_not_hang, .timeout = 240)
{
    cr_assert_lt(quickest_of(destroy_one), TL_STREAM_STOP_NS);
    tl_streams_destroy(NULL);
}

Test(stream, a_peer_that_dies_ends_the_stream_with_its_time, .timeout = 240)
{
    int fds[2];
    loopback_pair(NULL, NULL, fds);
    struct tl_streams_spec spec = {.send = true, .duration_ns = 60000 * MS};
    struct tl_streams *sender = create(&spec);
    add(sender, fds[0]);
    int64_t begun_ns = tl_now_ns();
    start(sender);
    int64_t started_ns = tl_now_ns();
    struct pollfd running = {.fd = tl_streams_event_fd(sender), .events = POLLIN};
    cr_assert_eq(poll(&running, 1, 200), 0);
    int64_t closed_ns = tl_now_ns();
    close(fds[1]); /* with unread data: a reset */
    wait_done(sender, 1000);
    int64_t done_ns = tl_now_ns();
    struct tl_stream_result sent = result_of(sender, 0);
    cr_assert_eq(sent.end, TL_STREAM_END_PEER, "%d", (int)sent.end);
    cr_assert(sent.errnum == ECONNRESET || sent.errnum == EPIPE);
    cr_assert_geq(sent.end_ns, closed_ns - started_ns, "%lld", (long long)sent.end_ns);
    cr_assert_leq(sent.end_ns, done_ns - begun_ns, "%lld", (long long)sent.end_ns);
    tl_streams_destroy(sender);
}

Test(stream, a_silent_sender_ends_the_receiver_after_five_seconds, .timeout = 240)
{
    int fds[2];
    loopback_pair(NULL, NULL, fds);
    struct tl_streams_spec spec = {.duration_ns = 60000 * MS};
    struct tl_streams *receiver = create(&spec);
    add(receiver, fds[0]);
    start(receiver);
    wait_done(receiver, 7000);
    struct tl_stream_result got = result_of(receiver, 0);
    cr_assert_eq(got.end, TL_STREAM_END_TIMEOUT);
    cr_assert(got.end_ns >= TL_STREAM_USER_TIMEOUT_NS &&
              got.end_ns < 4 * TL_STREAM_USER_TIMEOUT_NS);
    cr_assert_eq(got.first_byte_ns, -1);
    close(fds[1]);
    tl_streams_destroy(receiver);
}

/* A far end that is short of processors serves its streams one after the other. */
Test(stream, a_stream_that_waits_while_others_are_served_is_not_silent, .timeout = 240)
{
    int served[2], late[2];
    loopback_pair(NULL, NULL, served);
    loopback_pair(NULL, NULL, late);
    struct tl_streams_spec spec = {.duration_ns = 60000 * MS};
    struct tl_streams *receiver = create(&spec);
    add(receiver, served[0]);
    add(receiver, late[0]);
    start(receiver);
    for (int64_t from_ns = tl_now_ns();
         tl_now_ns() - from_ns < TL_STREAM_USER_TIMEOUT_NS * 5 / 4;) {
        cr_assert_eq(send(served[1], "x", 1, 0), 1);
        (void)poll(NULL, 0, 50);
    }
    cr_assert_eq(send(late[1], "x", 1, MSG_NOSIGNAL), 1);
    close(served[1]);
    close(late[1]);
    wait_done(receiver, 7000);
    for (uint32_t i = 0; i < 2; i++)
        cr_expect_eq(result_of(receiver, i).end, TL_STREAM_END_PEER, "stream %u", i);
    cr_expect_eq(result_of(receiver, 1).bytes, 1);
    tl_streams_destroy(receiver);
}

static void set_loopback(bool up)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = up ? IFF_UP : 0};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    cr_assert_eq(ioctl(fd, SIOCSIFFLAGS, &request), 0);
    close(fd);
}

/* What a fast receiver waits for at once may never become whole. */
Test(stream, what_a_fast_sender_leaves_is_counted_at_once, .timeout = 240)
{
    static unsigned char piece[256 * 1024];
    struct tl_streams_spec spec = {.duration_ns = 60000 * MS};
    struct tl_stream_options options = {.congestion = "reno"};
    struct tl_streams *receiver = create(&spec);
    int fds[2];
    uint64_t sent = 0;
    loopback_pair(&options, &options, fds);
    add(receiver, fds[1]);
    start(receiver);
    for (int round = 0; round < 3; round++) {
        for (int64_t from_ns = tl_now_ns(); tl_now_ns() - from_ns < 150 * MS;) {
            ssize_t some = send(fds[0], piece, sizeof piece, 0);
            cr_assert_gt(some, 0);
            sent += (uint64_t)some;
        }
        cr_assert_eq(send(fds[0], piece, 1000, 0), 1000);
        sent += 1000;
        int64_t from_ns = tl_now_ns();
        while (tl_streams_bytes(receiver) < sent && tl_now_ns() - from_ns < 20000 * MS)
            (void)poll(NULL, 0, 1);
        cr_assert_eq(tl_streams_bytes(receiver), sent, "round %d", round);
    }
    int lowat = 0;
    socklen_t len = sizeof lowat;
    for (int i = 0; i < 4000 && lowat != 1; i++) {
        cr_assert_eq(getsockopt(fds[1], SOL_SOCKET, SO_RCVLOWAT, &lowat, &len), 0);
        (void)poll(NULL, 0, 1);
    }
    cr_assert_eq(lowat, 1, "it is slow now");
    tl_streams_destroy(receiver);
    close(fds[0]);
}

Test(stream, a_dead_link_ends_the_sender_by_user_timeout, .timeout = 120)
{
    if (unshare(CLONE_NEWNET) < 0)
        cr_skip_test("needs a network namespace of its own: %s", strerror(errno));
    set_loopback(true);
    struct tl_streams_spec send_spec = {.send = true, .duration_ns = 60000 * MS};
    struct tl_streams_spec recv_spec = {.duration_ns = 60000 * MS};
    struct tl_streams *sender, *receiver;
    make_both(&send_spec, &recv_spec, 1, NULL, &sender, &receiver);
    start(receiver);
    start(sender);
    struct pollfd running = {.fd = tl_streams_event_fd(sender), .events = POLLIN};
    cr_assert_eq(poll(&running, 1, 300), 0);
    set_loopback(false);
    wait_done(sender, 8000);
    struct tl_stream_result sent = result_of(sender, 0);
    cr_assert_eq(sent.end, TL_STREAM_END_TIMEOUT, "%d, %s", (int)sent.end, strerror(sent.errnum));
    cr_assert(sent.end_ns > 4000 * MS && sent.end_ns < 20000 * MS);
    wait_done(receiver, 3000);
    cr_assert_eq(result_of(receiver, 0).end, TL_STREAM_END_TIMEOUT);
    tl_streams_destroy(sender);
    tl_streams_destroy(receiver);
}

Test(stream, receive_buffer_set_before_connect_bounds_the_window, .timeout = 240)
{
    struct tl_stream_options options = {.rcvbuf_bytes = 32 * 1024};
    struct tl_streams_spec send_spec = {.send = true, .duration_ns = 600 * MS};
    struct tl_streams_spec recv_spec = {.duration_ns = 60000 * MS};
    struct tl_streams *sender, *receiver;
    static struct tl_tcp_sample samples[100];
    make_both(&send_spec, &recv_spec, 1, &options, &sender, &receiver);
    start(receiver);
    start(sender);
    wait_done(sender, 2000);
    cr_assert_eq(result_of(receiver, 0).rcvbuf_bytes, 64 * 1024, "the kernel doubles it");
    size_t count = tl_streams_drain(sender, samples, 100);
    cr_assert_gt(count, 0);
    for (size_t i = 0; i < count; i++)
        cr_assert(samples[i].snd_wnd_bytes <= 64 * 1024, "window %llu",
                  (unsigned long long)samples[i].snd_wnd_bytes);
    cr_assert_gt(samples[count - 1].rwnd_limited_ns, 0);
    tl_streams_destroy(sender);
    tl_streams_destroy(receiver);
}

Test(stream, congestion_control_is_set_or_refused_with_a_reason, .timeout = 240)
{
    struct tl_stream_options options = {.congestion = "reno"};
    struct tl_error error;
    char name[TL_STREAM_CONGESTION_SIZE];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(tl_stream_options_apply(fd, &options, &error), TL_OK, "%s", error.text);
    cr_assert_eq(tl_stream_congestion(fd, name), TL_OK);
    cr_assert_str_eq(name, "reno");
    strcpy(options.congestion, "nosuch");
    cr_assert_eq(tl_stream_options_apply(fd, &options, &error), TL_UNSUPPORTED);
    cr_assert(strstr(error.text, "nosuch"));
    memset(options.congestion, 'x', sizeof(options.congestion));
    cr_assert_eq(tl_stream_options_apply(fd, &options, &error), TL_RANGE);
    options = (struct tl_stream_options){.sndbuf_bytes = -1};
    cr_assert_eq(tl_stream_options_apply(fd, &options, &error), TL_RANGE);
    close(fd);
}

Test(stream, pacing_holds_the_rate, .timeout = 240)
{
    struct tl_stream_options options = {.max_pacing_bps = 80000000};
    struct tl_streams_spec send_spec = {.send = true, .duration_ns = 1500 * MS};
    struct tl_streams_spec recv_spec = {.duration_ns = 3000 * MS};
    struct tl_streams *sender, *receiver;
    make_both(&send_spec, &recv_spec, 1, &options, &sender, &receiver);
    start(receiver);
    start(sender);
    wait_done(sender, 3000);
    wait_done(receiver, 1000);
    double bps = tl_bps_from_bytes_ns((double)result_of(receiver, 0).bytes, 1.5e9);
    cr_assert(bps > 60e6 && bps < 100e6, "%.0f bit/s", bps);
    tl_streams_destroy(sender);
    tl_streams_destroy(receiver);
}

/* Ends by what was lost, not by a time: a busy machine samples as often as it can. */
Test(stream, an_undrained_ring_keeps_the_newest_and_counts_the_rest, .timeout = 240)
{
    struct tl_streams_spec send_spec = {
        .send = true, .duration_ns = 120000 * MS, .interval_ns = 5 * MS, .sample_count = 32};
    struct tl_streams_spec recv_spec = {.duration_ns = 120000 * MS};
    struct tl_streams *sender, *receiver;
    struct tl_tcp_sample samples[64];
    make_both(&send_spec, &recv_spec, 1, NULL, &sender, &receiver);
    start(receiver);
    start(sender);
    while (tl_streams_dropped(sender) <= 10 && !tl_streams_done(sender))
        usleep(5000);
    tl_streams_stop(sender);
    wait_done(sender, 2000);
    cr_assert_gt(tl_streams_dropped(sender), 10);
    cr_assert_eq(tl_streams_drain(sender, samples, 64), 32);
    cr_assert(samples[31].last);
    cr_assert_eq(tl_streams_drain(sender, samples, 64), 0);
    tl_streams_destroy(sender);
    tl_streams_destroy(receiver);
}

Test(stream, payload_is_noise_that_does_not_repeat, .timeout = 240)
{
    enum { TOTAL = 1 << 20 };
    static unsigned char got[TOTAL];
    unsigned histogram[256] = {0};
    int fds[2];
    loopback_pair(NULL, NULL, fds);
    struct tl_streams_spec spec = {.send = true, .duration_ns = 5000 * MS, .bytes_cap = TOTAL};
    struct tl_streams *sender = create(&spec);
    add(sender, fds[0]);
    start(sender);
    cr_assert_eq(recv(fds[1], got, TOTAL, MSG_WAITALL), TOTAL);
    close(fds[1]);
    for (size_t i = 0; i < TOTAL; i++)
        histogram[got[i]]++;
    for (int i = 0; i < 256; i++)
        cr_assert(histogram[i] > TOTAL / 256 * 8 / 10 && histogram[i] < TOTAL / 256 * 12 / 10);
    /* A piece begins at one of 65 places, drawn at random: two may be the same, not all four. */
    int different = 0;
    for (size_t i = TL_STREAM_SEND_BYTES; i < TOTAL; i += TL_STREAM_SEND_BYTES)
        different += memcmp(got, got + i, 64) != 0;
    cr_assert_gt(different, 0);
    tl_streams_destroy(sender);
}

Test(stream, a_spec_out_of_limits_is_refused)
{
    static const struct tl_streams_spec bad[] = {
        {.duration_ns = 0},
        {.duration_ns = -1},
        {.duration_ns = MS, .interval_ns = 1},
        {.duration_ns = MS, .interval_ns = 2000 * MS},
        {.duration_ns = MS, .sample_count = 1},
        {.duration_ns = MS, .sample_count = TL_STREAM_SAMPLE_COUNT_MAX + 1},
    };
    struct tl_streams *streams = NULL;
    struct tl_error error;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_assert_eq(tl_streams_create(&bad[i], &streams, &error), TL_RANGE);
    cr_assert_null(streams);
    struct tl_streams_spec good = {.duration_ns = MS};
    streams = create(&good);
    cr_assert_eq(tl_streams_start(streams, &error), TL_RANGE, "no stream to start");
    tl_streams_destroy(streams);
}

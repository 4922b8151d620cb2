/* Connections of other programs: from readings of counters to what each waited for. */
#include "tightlink/flow/live.h"

#include <criterion/criterion.h>
#include <math.h>

#define S INT64_C(1000000000)

/* A connection that has moved bytes for as long as `busy` of its time was busy. */
static struct tl_host_socket sender(uint64_t cookie, uint64_t acked, uint64_t busy_ns)
{
    return (struct tl_host_socket){.cookie = cookie,
                                   .remote_port = 443,
                                   .acked_bytes = acked,
                                   .busy_ns = busy_ns,
                                   .rtt_ns = 40000000,
                                   .snd_mss_bytes = 1448,
                                   .cwnd_count = 100,
                                   .snd_wnd_bytes = 65536,
                                   .rcvbuf_bytes = 131072};
}

static void read_one(struct tl_live *live, int64_t now_ns, const struct tl_host_socket *socket)
{
    tl_live_begin(live, now_ns);
    cr_assert_eq(tl_live_take(live, socket), TL_OK);
    tl_live_end(live);
}

Test(live, time_is_split_as_the_kernel_counted_it)
{
    struct tl_live *live = tl_live_create(0);
    struct tl_host_socket socket = sender(1, 1000000, 5 * S);
    struct tl_live_sum sum;
    read_one(live, 0, &socket);
    socket.acked_bytes += 3000000;
    socket.busy_ns += S * 8 / 10;
    socket.rwnd_limited_ns += S / 2;
    socket.sndbuf_limited_ns += S / 10;
    read_one(live, S, &socket);
    tl_live_close(live, S, &sum);
    const struct tl_live_interval *interval = tl_live_interval_at(tl_live_find(live, 1), 0);
    cr_assert_not_null(interval);
    cr_expect_float_eq(interval->parts_ratio[TL_LIVE_APP], 0.2, 1e-9);
    cr_expect_float_eq(interval->parts_ratio[TL_LIVE_RWND], 0.5, 1e-9);
    cr_expect_float_eq(interval->parts_ratio[TL_LIVE_SNDBUF], 0.1, 1e-9);
    cr_expect_float_eq(interval->parts_ratio[TL_LIVE_NETWORK], 0.2, 1e-9);
    cr_expect_eq(interval->sent_bytes, 3000000, "what it moved before it was watched is not ours");
    cr_expect_eq(sum.sent_bytes, 3000000);
    cr_expect_eq(sum.flows_count, 1);
    cr_expect_float_eq(tl_live_held_ratio(interval), 0.8, 1e-9);
    tl_live_destroy(live);
}

Test(live, chronometers_that_run_ahead_never_make_more_than_the_interval)
{
    struct tl_live *live = tl_live_create(0);
    struct tl_host_socket socket = sender(1, 0, 0);
    struct tl_live_sum sum;
    read_one(live, 0, &socket);
    socket.acked_bytes = 9000000;
    socket.busy_ns = 12 * S / 10;
    socket.rwnd_limited_ns = 11 * S / 10;
    socket.sndbuf_limited_ns = 3 * S / 10;
    read_one(live, S, &socket);
    tl_live_close(live, S, &sum);
    const struct tl_live_interval *interval = tl_live_interval_at(tl_live_find(live, 1), 0);
    double all = 0;
    for (int i = 0; i < TL_LIVE_PARTS; i++) {
        cr_expect_geq(interval->parts_ratio[i], 0);
        all += interval->parts_ratio[i];
    }
    cr_expect_float_eq(all, 1, 1e-9);
    tl_live_destroy(live);
}

Test(live, a_receiver_does_not_know_what_its_sender_waits_for)
{
    struct tl_live *live = tl_live_create(0);
    struct tl_host_socket socket = sender(1, 100, 0);
    struct tl_live_sum sum;
    read_one(live, 0, &socket);
    socket.received_bytes = 5000000;
    socket.read_queue_bytes = 131072 / 2;
    read_one(live, S, &socket);
    tl_live_close(live, S, &sum);
    const struct tl_live_interval *interval = tl_live_interval_at(tl_live_find(live, 1), 0);
    cr_expect(isnan(interval->parts_ratio[TL_LIVE_NETWORK]));
    cr_expect_eq(interval->received_bytes, 5000000);
    cr_expect_float_eq(interval->read_queue_ratio, 0.25, 1e-9, "empty once, half full once");
    tl_live_destroy(live);
}

Test(live, one_that_begins_while_watched_counts_from_its_first_byte)
{
    struct tl_live *live = tl_live_create(0);
    struct tl_host_socket old = sender(1, 0, 0), late = sender(2, 700000, S / 4);
    struct tl_live_sum sum;
    read_one(live, 0, &old);
    tl_live_begin(live, S / 2);
    cr_assert_eq(tl_live_take(live, &old), TL_OK);
    cr_assert_eq(tl_live_take(live, &late), TL_OK);
    tl_live_end(live);
    tl_live_close(live, S, &sum);
    cr_expect(tl_live_find(live, 2)->new_here);
    cr_expect_eq(tl_live_interval_at(tl_live_find(live, 2), 0)->sent_bytes, 700000);
    cr_expect_null(tl_live_interval_at(tl_live_find(live, 1), 0), "it moved nothing so far");
    tl_live_destroy(live);
}

Test(live, one_between_two_readings_is_in_the_sum)
{
    struct tl_live *live = tl_live_create(0);
    struct tl_host_socket old = sender(1, 0, 0), brief = sender(9, 300, 0);
    struct tl_live_sum sum;
    brief.received_bytes = 40000;
    read_one(live, 0, &old);
    tl_live_take_end(live, &brief);
    read_one(live, S, &old);
    tl_live_close(live, S, &sum);
    cr_expect_eq(sum.short_count, 1);
    cr_expect_eq(sum.sent_bytes, 300);
    cr_expect_eq(sum.received_bytes, 40000);
    cr_expect_eq(sum.flows_count, 1);
    cr_expect(sum.whole);
    tl_live_close(live, 2 * S, &sum);
    cr_expect_eq(sum.short_count, 0, "each once");
    tl_live_destroy(live);
}

Test(live, what_came_after_the_last_reading_is_told_at_the_end)
{
    struct tl_live *live = tl_live_create(0);
    struct tl_host_socket socket = sender(1, 1000, 0), end;
    struct tl_live_sum sum;
    read_one(live, 0, &socket);
    socket.acked_bytes = 500000;
    read_one(live, S / 2, &socket);
    end = socket;
    end.acked_bytes = 800000;
    tl_live_take_end(live, &end);
    tl_live_begin(live, S);
    tl_live_end(live);
    tl_live_close(live, S, &sum);
    cr_expect_eq(sum.sent_bytes, 799000);
    cr_expect_eq(sum.ended_count, 1);
    const struct tl_live_flow *flow = tl_live_find(live, 1);
    cr_assert_not_null(flow, "still there, to be seen");
    cr_expect(flow->ended);
    for (int i = 0; i < TL_LIVE_KEEP_ENDED; i++) {
        tl_live_close(live, (2 + i) * S, &sum);
        cr_expect_eq(sum.sent_bytes, 0);
        cr_expect_eq(sum.ended_count, 0, "once");
        cr_expect_eq(tl_live_find(live, 1)->interval_count, 1, "it has ended");
    }
    tl_live_close(live, 99 * S, &sum);
    cr_expect_null(tl_live_find(live, 1));
    tl_live_destroy(live);
}

Test(live, an_aborted_connection_keeps_what_was_read)
{
    struct tl_live *live = tl_live_create(0);
    struct tl_host_socket socket = sender(1, 1000, 0);
    struct tl_live_sum sum;
    read_one(live, 0, &socket);
    socket.acked_bytes = 500000;
    read_one(live, S / 2, &socket);
    struct tl_host_socket aborted = {.cookie = 1};
    tl_live_take_end(live, &aborted);
    tl_live_close(live, S, &sum);
    cr_expect_eq(sum.sent_bytes, 499000);
    tl_live_destroy(live);
}

Test(live, ends_that_the_kernel_dropped_are_admitted)
{
    struct tl_live *live = tl_live_create(0);
    struct tl_live_sum sum;
    tl_live_ends_lost(live);
    tl_live_close(live, S, &sum);
    cr_expect_not(sum.whole);
    tl_live_close(live, 2 * S, &sum);
    cr_expect(sum.whole);
    tl_live_destroy(live);
}

Test(live, thousands_are_found_again_and_dropped_when_gone)
{
    struct tl_live *live = tl_live_create(0);
    struct tl_live_sum sum;
    for (int turn = 0; turn < 2; turn++) {
        tl_live_begin(live, turn * S);
        for (uint64_t cookie = 1; cookie <= 5000; cookie++) {
            struct tl_host_socket socket = sender(cookie, cookie * (uint64_t)turn, 0);
            cr_assert_eq(tl_live_take(live, &socket), TL_OK);
        }
        tl_live_end(live);
    }
    cr_expect_eq(tl_live_count(live), 5000);
    tl_live_close(live, S, &sum);
    cr_expect_eq(sum.sent_bytes, UINT64_C(5000) * 5001 / 2);
    tl_live_begin(live, 2 * S);
    for (uint64_t cookie = 1; cookie <= 5000; cookie += 2) {
        struct tl_host_socket socket = sender(cookie, cookie, 0);
        cr_assert_eq(tl_live_take(live, &socket), TL_OK);
    }
    tl_live_end(live);
    tl_live_close(live, 2 * S, &sum);
    for (int i = 0; i <= TL_LIVE_KEEP_ENDED; i++)
        tl_live_close(live, (3 + i) * S, &sum);
    cr_expect_eq(tl_live_count(live), 2500);
    for (uint64_t cookie = 1; cookie <= 5000; cookie++)
        cr_expect_eq(tl_live_find(live, cookie) != NULL, cookie % 2 == 1);
    tl_live_destroy(live);
}

Test(live, several_intervals_make_one)
{
    struct tl_live *live = tl_live_create(0);
    struct tl_host_socket socket = sender(1, 0, 0);
    struct tl_live_interval joined;
    struct tl_live_sum sum;
    read_one(live, 0, &socket);
    for (int i = 1; i <= 4; i++) {
        socket.acked_bytes += 1000000;
        socket.busy_ns += i % 2 ? S : 0;
        socket.rtt_ns = (uint64_t)(i * 10) * 1000000;
        read_one(live, i * S, &socket);
        tl_live_close(live, i * S, &sum);
    }
    tl_live_join(tl_live_find(live, 1), 4, &joined);
    cr_expect_eq(joined.span_ns, 4 * S);
    cr_expect_eq(joined.sent_bytes, 4000000);
    cr_expect_float_eq(joined.parts_ratio[TL_LIVE_NETWORK], 0.5, 1e-9);
    cr_expect_float_eq(joined.rtt_mean_ns, 25e6, 6e6);
    cr_expect_float_eq(joined.rtt_max_ns, 40e6, 1);
    tl_live_join(tl_live_find(live, 1), 2, &joined);
    cr_expect_eq(joined.sent_bytes, 2000000);
    tl_live_destroy(live);
}

Test(live, a_full_window_and_a_full_send_buffer_are_told_apart)
{
    struct tl_live *live = tl_live_create(0);
    struct tl_host_socket window = sender(1, 10000, 0), buffer = sender(2, 10000, 0);
    struct tl_live_sum sum;
    window.write_queue_bytes = 200000;
    window.notsent_bytes = 200000 - 64000;
    buffer.write_queue_bytes = 30000;
    for (int i = 0; i < 2; i++) {
        tl_live_begin(live, i * S);
        cr_assert_eq(tl_live_take(live, &window), TL_OK);
        cr_assert_eq(tl_live_take(live, &buffer), TL_OK);
        tl_live_end(live);
        window.acked_bytes += 100000;
        buffer.acked_bytes += 100000;
    }
    tl_live_close(live, S, &sum);
    const struct tl_live_interval *of_window = tl_live_interval_at(tl_live_find(live, 1), 0);
    const struct tl_live_interval *of_buffer = tl_live_interval_at(tl_live_find(live, 2), 0);
    cr_expect_float_eq(of_window->window_full_ratio, 1, 1e-9);
    cr_expect_float_eq(of_window->sndbuf_full_ratio, 0, 1e-9);
    cr_expect_float_eq(of_buffer->window_full_ratio, 0, 1e-9);
    cr_expect_float_eq(of_buffer->sndbuf_full_ratio, 1, 1e-9);
    tl_live_destroy(live);
}

/* A program that writes every 15 ms over 20 ms: something is always on the way, and the kernel
 * counts it as busy; yet nobody but the program holds it. */
Test(live, a_program_that_writes_little_is_no_network)
{
    struct tl_live *live = tl_live_create(0);
    struct tl_host_socket idle = sender(1, 10000, 0), waits = sender(2, 10000, 0);
    struct tl_host_socket bulk = sender(3, 10000, 0), blocked = sender(4, 10000, 0);
    struct tl_live_sum sum;
    idle.sndbuf_bytes = waits.sndbuf_bytes = 87040;
    blocked.write_queue_bytes = 60000; /* of no more than that, whatever the program has */
    blocked.sndbuf_bytes = blocked.wmem_queued_bytes = 65536;
    blocked.app_limited = true;
    idle.write_queue_bytes = waits.write_queue_bytes = 30000;
    idle.app_limited = waits.app_limited = true;
    bulk.write_queue_bytes = 300000;
    bulk.notsent_bytes = 270000;
    for (int i = 0; i < 5; i++) {
        struct tl_host_socket *const all[] = {&idle, &waits, &bulk, &blocked};
        tl_live_begin(live, i * S / 4);
        for (int at = 0; at < 4; at++) {
            cr_assert_eq(tl_live_take(live, all[at]), TL_OK);
            all[at]->acked_bytes += 100000;
            all[at]->busy_ns += S / 4;
        }
        waits.sndbuf_limited_ns += S / 4; /* it has more, and waits for room */
        tl_live_end(live);
    }
    tl_live_close(live, S, &sum);
    const struct tl_live_interval *intervals[4];
    for (uint64_t at = 0; at < 4; at++)
        intervals[at] = tl_live_interval_at(tl_live_find(live, at + 1), 0);
    cr_expect_float_eq(intervals[0]->parts_ratio[TL_LIVE_APP], 1, 1e-9);
    cr_expect_float_eq(intervals[0]->parts_ratio[TL_LIVE_NETWORK], 0, 1e-9);
    cr_expect_float_eq(intervals[1]->parts_ratio[TL_LIVE_APP], 0, 1e-9);
    cr_expect_float_eq(intervals[1]->parts_ratio[TL_LIVE_SNDBUF], 1, 1e-9);
    cr_expect_float_eq(intervals[2]->parts_ratio[TL_LIVE_APP], 0, 1e-9);
    cr_expect_float_eq(intervals[2]->parts_ratio[TL_LIVE_NETWORK], 1, 1e-9);
    cr_expect_float_eq(intervals[3]->parts_ratio[TL_LIVE_APP], 0, 1e-9, "its buffer may be full");
    tl_live_destroy(live);
}

/* The same program on a kernel that does not tell its send buffer: it may have waited for room. */
Test(live, a_send_buffer_that_is_not_told_accuses_nobody)
{
    struct tl_live *live = tl_live_create(0);
    struct tl_host_socket silent = sender(1, 10000, 0);
    struct tl_live_sum sum;
    silent.write_queue_bytes = 30000;
    silent.app_limited = true;
    for (int i = 0; i < 5; i++) {
        read_one(live, i * S / 4, &silent);
        silent.acked_bytes += 100000;
        silent.busy_ns += S / 4;
    }
    tl_live_close(live, S, &sum);
    const struct tl_live_interval *interval = tl_live_interval_at(tl_live_find(live, 1), 0);
    cr_expect(isnan(interval->parts_ratio[TL_LIVE_APP]));
    cr_expect(isnan(interval->parts_ratio[TL_LIVE_NETWORK]));
    cr_expect(isnan(interval->behind_ratio));
    cr_expect_float_eq(interval->parts_ratio[TL_LIVE_SNDBUF], 0, 1e-9);
    cr_expect_float_eq(tl_live_held_ratio(interval), 0, 1e-9, "at least");
    tl_live_destroy(live);
}

/* A copy that began and ended within the look: its first and last second are not all its own. */
Test(live, begin_and_end_do_not_count_as_waiting)
{
    struct tl_live *live = tl_live_create(0);
    struct tl_host_socket other = sender(1, 0, 0), copy = sender(2, 0, 0);
    struct tl_live_interval joined;
    struct tl_live_sum sum;
    read_one(live, 0, &other);
    for (int i = 1; i <= 5; i++) {
        copy.acked_bytes += i == 1 ? 100000 : 1000000;
        copy.busy_ns += i == 1 ? S / 10 : S;
        tl_live_begin(live, i * S);
        cr_assert_eq(tl_live_take(live, &other), TL_OK);
        cr_assert_eq(tl_live_take(live, &copy), TL_OK);
        tl_live_end(live);
        tl_live_close(live, i * S, &sum);
    }
    tl_live_begin(live, 6 * S);
    cr_assert_eq(tl_live_take(live, &other), TL_OK);
    tl_live_end(live);
    tl_live_close(live, 6 * S, &sum);
    tl_live_join(tl_live_find(live, 2), 10, &joined);
    cr_expect_eq(joined.span_ns, 4 * S);
    cr_expect_eq(joined.sent_bytes, 4000000);
    cr_expect_float_eq(joined.parts_ratio[TL_LIVE_APP], 0, 1e-9);
    tl_live_destroy(live);
}

/* Five seconds of a connection that stands as it is, and counts what it waits for. */
static struct tl_live *stand(struct tl_host_socket socket, uint64_t busy_ns, uint64_t rwnd_ns)
{
    struct tl_live *live = tl_live_create(0);
    struct tl_live_sum sum;
    read_one(live, 0, &socket);
    for (int i = 1; i <= 5; i++) {
        socket.busy_ns += busy_ns;
        socket.rwnd_limited_ns += rwnd_ns;
        read_one(live, i * S, &socket);
        tl_live_close(live, i * S, &sum);
    }
    cr_expect_eq(sum.flows_count, 0, "it moved nothing");
    return live;
}

static struct tl_live_interval joined_of(struct tl_live *live)
{
    struct tl_live_interval joined;
    tl_live_join(tl_live_find(live, 1), 10, &joined);
    tl_live_destroy(live);
    return joined;
}

Test(live, a_sender_before_a_shut_window_stands)
{
    struct tl_host_socket socket = sender(1, 1000000, 0);
    socket.write_queue_bytes = socket.notsent_bytes = 300000;
    socket.snd_wnd_bytes = 0;
    struct tl_live_interval joined = joined_of(stand(socket, S, S));
    cr_expect_eq(joined.shut_ns, 5 * S);
    cr_expect_float_eq(joined.shut_ratio, 1, 1e-9);
    cr_expect_eq(joined.unanswered_ns, 0);
    cr_expect_float_eq(joined.parts_ratio[TL_LIVE_RWND], 1, 1e-9);
    cr_expect(tl_live_stood(&joined));
}

Test(live, a_program_that_leaves_all_unread_stands)
{
    struct tl_host_socket socket = sender(1, 100, 0);
    socket.read_queue_bytes = 60000;
    socket.rcv_mss_bytes = 1448;
    socket.rcv_wnd_known = true;
    struct tl_live_interval joined = joined_of(stand(socket, 0, 0));
    cr_expect_eq(joined.shut_ns, 5 * S);
    cr_expect_eq(joined.unanswered_ns, 0);
}

Test(live, what_nobody_answers_stands_before_no_window)
{
    struct tl_host_socket socket = sender(1, 1000000, 0);
    socket.write_queue_bytes = 30000;
    struct tl_live_interval joined = joined_of(stand(socket, S, 0));
    cr_expect_eq(joined.unanswered_ns, 5 * S);
    cr_expect_eq(joined.shut_ns, 0);
    cr_expect_float_eq(joined.shut_ratio, 0, 1e-9);
}

Test(live, what_has_nothing_to_move_stands_nowhere)
{
    struct tl_host_socket idle = sender(1, 1000000, 0), unread = idle, untold = idle;
    unread.read_queue_bytes = untold.read_queue_bytes = 60000;
    unread.rcv_mss_bytes = untold.rcv_mss_bytes = 1448;
    unread.rcv_wnd_known = true;
    unread.rcv_wnd_bytes = 30000; /* the sender may send, and does not */
    const struct tl_host_socket *const resting[] = {&idle, &unread, &untold};
    for (size_t i = 0; i < sizeof resting / sizeof *resting; i++) {
        struct tl_live *live = stand(*resting[i], 0, 0);
        cr_expect_null(tl_live_interval_at(tl_live_find(live, 1), 0), "%zu", i);
        tl_live_destroy(live);
    }
}

Test(live, the_longest_piece_of_standing_counts)
{
    struct tl_live *live = tl_live_create(0);
    struct tl_host_socket socket = sender(1, 1000000, 0);
    struct tl_live_sum sum;
    socket.write_queue_bytes = socket.notsent_bytes = 300000;
    read_one(live, 0, &socket);
    for (int i = 1; i <= 8; i++) {
        socket.acked_bytes += i == 3 ? 100000 : 0; /* two seconds, then five */
        socket.busy_ns += S;
        socket.rwnd_limited_ns += S;
        read_one(live, i * S, &socket);
        tl_live_close(live, i * S, &sum);
    }
    struct tl_live_interval joined = joined_of(live);
    cr_expect_eq(joined.shut_ns, 5 * S);
    cr_expect_float_eq(joined.shut_ratio, 7 / 8., 1e-9);
}

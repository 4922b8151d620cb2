/* Whole UDP tests over loopback, alone and through a hop that loses, doubles, damages and
 * delays by count: what the result says against what the hop did. */
#include <math.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "far_end.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/client_udp.h"
#include "udp_relay.h"

/* Over a client that lives on. */
static void run_over(struct tl_client *client, const struct tl_udp_spec *spec,
                     struct tl_udp_result *ret_result)
{
    struct tl_error error = {0};
    enum tl_status status = tl_client_udp_test(client, spec, NULL, NULL, ret_result, &error);
    cr_assert_eq(status, TL_OK, "%s: %s", tl_status_name(status), error.text);
}

/* Through the relay in one direction. */
static void run_through(struct relay *relay, struct tl_udp_spec spec, struct tl_udp_result *result,
                        enum tl_status wanted)
{
    struct far_end far;
    struct tl_error error = {0};
    start_far(&far, NULL);
    relay_start(relay, far.port);
    struct tl_client *client = dial(relay->port, -1);
    enum tl_status status = tl_client_udp_test(client, &spec, NULL, NULL, result, &error);
    cr_assert_eq(status, wanted, "%s: %s", tl_status_name(status), error.text);
    tl_client_close(client);
    relay_stop(relay);
    stop_far(&far);
}

static const enum tl_wire_direction both[] = {TL_WIRE_UPLOAD, TL_WIRE_DOWNLOAD};

Test(udp_test, a_clean_path_loses_nothing_in_either_direction, .timeout = 120)
{
    struct far_end far;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    for (int i = 0; i < 6; i++) { /* one after the other over one client */
        struct tl_udp_result result;
        struct tl_udp_spec spec = {.direction = both[i % 2],
                                   .duration_ns = 20000 * MS,
                                   .max_bytes = 138 * 1448,
                                   .rate_bps = 8000000,
                                   .dscp = 10};
        run_over(client, &spec, &result);
        cr_expect(result.valid && result.end == TL_UDP_END_BYTES, "%s",
                  tl_udp_end_text(result.end));
        cr_expect_eq(result.sender.sent_count, 138);
        cr_expect_eq(result.receiver.received_count, result.sender.sent_count);
        cr_expect_eq(result.receiver.missing_count, 0);
        cr_expect_eq(result.receiver.received_bytes, result.sender.sent_count * 1448);
        cr_expect(result.receiver.crc == TL_UDP_CRC_WHOLE);
        cr_expect(result.loss_ratio == 0 && result.loss_high_ratio > 0);
        cr_expect(result.receiver.delay.median_ns >= 0);
        cr_expect_gt(result.interval_count, 1);
        uint64_t sent = 0, received = 0, arrived = 0;
        for (unsigned k = 0; k < result.interval_count; k++) {
            sent += result.intervals[k].sent_count;
            received += result.intervals[k].received_count;
            arrived += result.intervals[k].arrived_bytes;
        }
        cr_expect_eq(sent, result.sender.sent_count);
        cr_expect_eq(received, result.receiver.received_count);
        cr_expect_eq(arrived, result.receiver.received_bytes);
        tl_udp_result_finish(&result);
    }
    tl_client_close(client);
    stop_far(&far);
}

Test(udp_test, counts_exactly_what_the_path_dropped, .timeout = 120)
{
    for (int i = 0; i < 2; i++) {
        struct relay relay = {.drop_each = 50, .drop_run = 3};
        struct tl_udp_result result;
        run_through(&relay,
                    (struct tl_udp_spec){.direction = both[i],
                                         .duration_ns = 20000 * MS,
                                         .max_bytes = 430 * 1448,
                                         .rate_bps = 10000000},
                    &result, TL_OK);
        cr_expect(result.valid);
        cr_expect_eq(result.sender.sent_count, 430);
        cr_expect_eq(result.sender.sent_count, relay.data_count);
        cr_expect_eq(result.receiver.missing_count, relay.dropped);
        cr_expect_eq(result.receiver.lost_count, relay.dropped);
        cr_expect_gt(relay.dropped, 3);
        cr_expect_eq(result.receiver.local_drop_count, 0);
        cr_expect_eq(result.receiver.runs.longest_count, 3);
        cr_expect_geq(result.receiver.runs.classes[1], result.receiver.runs.run_count - 2);
        cr_expect_eq(result.receiver.delay.gap_count, result.receiver.runs.run_count);
        cr_expect(result.loss_low_ratio < result.loss_ratio &&
                  result.loss_ratio < result.loss_high_ratio);
        cr_expect_eq(result.receiver.reordered_count + result.receiver.duplicate_count, 0);
        tl_udp_result_finish(&result);
    }
}

Test(udp_test, tells_twice_late_and_damaged_from_lost, .timeout = 120)
{
    for (int i = 0; i < 2; i++) {
        struct relay relay;
        struct tl_udp_result result;
        /* A hop that is itself held up for longer than the grace loses what it holds: again.
         * A count that is wrong by rule is wrong each time. */
        for (int attempt = 0; attempt < 4; attempt++) {
            relay = (struct relay){
                .twice_each = 20, .late_each = 31, .damage_each = 47, .spoof_each = 10};
            run_through(&relay,
                        (struct tl_udp_spec){.direction = both[i],
                                             .duration_ns = 20000 * MS,
                                             .max_bytes = 430 * 1448,
                                             .rate_bps = 10000000},
                        &result, TL_OK);
            if (result.receiver.lost_count == 0 || attempt == 3)
                break;
            tl_udp_result_finish(&result);
        }
        const struct tl_udp_receiver *receiver = &result.receiver;
        cr_expect(result.valid);
        cr_expect_gt(relay.delayed, 1);
        /* A damaged datagram that was sent twice is damaged twice; the counts have no such place
         * below 940. */
        cr_expect_eq(receiver->damaged_count, relay.damaged);
        cr_expect_eq(receiver->lost_count, 0);
        cr_expect_eq(receiver->duplicate_count, relay.doubled);
        cr_expect(receiver->reordered_count == relay.delayed ||
                      receiver->reordered_count + 1 == relay.delayed,
                  "%lu of %u; the last may not have come", (unsigned long)receiver->reordered_count,
                  relay.delayed);
        cr_expect_eq(receiver->reorder_extent_max_count, 2);
        cr_expect_gt(receiver->reorder_late_max_ns, 0);
        cr_expect_gt(relay.spoofed, 1, "strangers' datagrams were there and did not count");
        tl_udp_result_finish(&result);
    }
}

Test(udp_test, a_sender_that_hears_nothing_stops_within_a_second, .timeout = 240)
{
    for (int i = 0; i < 2; i++) {
        struct relay relay = {.deaf_at = 100};
        struct tl_udp_result result;
        run_through(&relay,
                    (struct tl_udp_spec){
                        .direction = both[i], .duration_ns = 30000 * MS, .rate_bps = 5000000},
                    &result, TL_CLOSED); /* by the responder, after its 5 s */
        /* Where the relay got no processor, the sender may have got none: it sends nothing in that
         * time, nor later for it. */
        int64_t went_on_ns = relay.last_data_ns - relay.deaf_ns, held_ns = relay.held_ns;
        cr_expect_leq(went_on_ns, 1000 * MS + held_ns, "%.3f s, held up for %.3f s",
                      (double)went_on_ns / 1e9, (double)held_ns / 1e9);
        cr_expect_geq(went_on_ns, 300 * MS - held_ns, "and not for any other reason");
        cr_expect(!result.valid && result.end == TL_UDP_END_LOST);
        tl_udp_result_finish(&result);
    }
}

Test(udp_test, a_sender_whose_datagrams_vanish_stops_too, .timeout = 240)
{
    for (int i = 0; i < 2; i++) {
        struct relay relay = {.hole_at = 100};
        struct tl_udp_result result;
        run_through(&relay,
                    (struct tl_udp_spec){
                        .direction = both[i], .duration_ns = 30000 * MS, .rate_bps = 5000000},
                    &result, TL_OK);
        cr_expect(result.end == TL_UDP_END_BLACKHOLE || result.end == TL_UDP_END_UNHEARD,
                  "the second where this machine is too busy for feedback: %s",
                  tl_udp_end_text(result.end));
        cr_expect(!result.valid && result.end_signed);
        cr_expect_eq(result.receiver.received_count, 99);
        cr_expect_lt(result.elapsed_ns, 10000 * MS, "long before its time");
        tl_udp_result_finish(&result);
    }
}

Test(udp_test, a_rebound_address_is_not_believed, .timeout = 120)
{
    for (int i = 0; i < 2; i++) {
        struct relay relay = {.rebind_at = 100};
        struct tl_udp_result result;
        run_through(&relay,
                    (struct tl_udp_spec){
                        .direction = both[i], .duration_ns = 30000 * MS, .rate_bps = 5000000},
                    &result, TL_OK);
        bool held_up = relay.held_ns > 300 * MS; /* then nobody's word came for long enough */
        cr_expect(result.end == TL_UDP_END_REBOUND || (held_up && result.end == TL_UDP_END_UNHEARD),
                  "%d: %s", i, tl_udp_end_text(result.end));
        cr_expect(!result.valid);
        cr_expect_lt(result.elapsed_ns, 10000 * MS);
        tl_udp_result_finish(&result);
    }
}

/* A burst of 512 into room for a few, from the first one on: the socket's loss, not the path's.
 * (Drops between the start and the receiver's first look were once taken for the path's.) */
Test(udp_test, a_small_receive_buffer_is_not_the_paths_loss, .timeout = 120)
{
    struct far_end far;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    for (int i = 0; i < 2; i++) {
        struct tl_udp_result result;
        struct tl_udp_spec spec = {.direction = both[i],
                                   .duration_ns = 500 * MS,
                                   .rate_bps = 50000000,
                                   .burst_count = 512,
                                   .rcvbuf_bytes = 4096};
        run_over(client, &spec, &result);
        cr_expect_gt(result.receiver.local_drop_count, 0);
        cr_expect_eq(result.receiver.lost_count, 0,
                     "%lu of %lu; socket %lu, host's buffers %lu, backlog %lu, burst %lu",
                     (unsigned long)result.receiver.lost_count,
                     (unsigned long)result.receiver.missing_count,
                     (unsigned long)result.receiver.local_drop_count,
                     (unsigned long)result.receiver.host_rcvbuf_error_count,
                     (unsigned long)result.receiver.host_softnet_drop_count,
                     (unsigned long)result.sender.largest_burst_count);
        cr_expect_lt(result.receiver.rcvbuf_bytes, 65536);
        /* More than one call takes, unless another program had the core between two calls. */
        cr_expect(result.sender.largest_burst_count > 64 ||
                      result.sender.run_delay_ns > (uint64_t)result.sender.elapsed_ns / 20,
                  "%lu, after a wait of %lu ns", (unsigned long)result.sender.largest_burst_count,
                  (unsigned long)result.sender.run_delay_ns);
        tl_udp_result_finish(&result);
    }
    tl_client_close(client);
    stop_far(&far);
}

Test(udp_test, keeps_to_the_cap_in_bytes_and_to_the_administrators_rate, .timeout = 120)
{
    struct far_end far;
    start_far(&far,
              &(struct tl_responder_options){.rate_cap_bps = 4000000, .daily_quota_bytes = 300000});
    struct tl_client *client = dial(far.port, -1);
    for (int i = 0; i < 2; i++) {
        struct tl_udp_result result;
        struct tl_udp_spec spec = {.direction = both[i],
                                   .duration_ns = 300 * MS,
                                   .rate_bps = 100000000,
                                   .max_bytes = 50000,
                                   .datagram_bytes = 1000};
        run_over(client, &spec, &result);
        cr_expect_eq(result.granted_rate_bps, 4000000);
        cr_expect_leq(result.sender.sent_bytes, 50000);
        cr_expect_leq(result.granted_bytes, 50000);
        tl_udp_result_finish(&result);
    }
    struct tl_udp_spec flat_out = {.direction = TL_WIRE_DOWNLOAD, .duration_ns = 60000 * MS};
    struct tl_udp_result result;
    run_over(client, &flat_out, &result);
    cr_expect_eq(result.end, TL_UDP_END_BYTES, "what is left of the quota");
    cr_expect_leq(result.sender.sent_bytes, 300000);
    tl_udp_result_finish(&result);
    tl_client_close(client);
    stop_far(&far);
}

Test(udp_test, trains_come_back_one_by_one, .timeout = 120)
{
    struct far_end far;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    for (int i = 0; i < 2; i++) {
        struct tl_udp_result result;
        struct tl_udp_spec spec = {.direction = both[i],
                                   .duration_ns = 20000 * MS,
                                   .train_length = 50,
                                   .train_count = 20,
                                   .train_gap_ns = 5 * MS};
        run_over(client, &spec, &result);
        cr_expect(result.valid && result.end == TL_UDP_END_BYTES);
        cr_assert_eq(result.train_count, 20);
        cr_expect_eq(result.sender.sent_count, 1000);
        /* A receiver that got no core lost some in its own buffer, and says so. */
        cr_expect_eq(result.receiver.received_count + result.receiver.local_drop_count, 1000);
        bool all_came = result.receiver.local_drop_count == 0;
        for (unsigned k = 0; k < 20; k++) {
            const struct tl_udp_train *train = &result.trains[k];
            cr_expect(train->sent_count == 50);
            cr_expect(train->received_count == 50 || !all_came);
            if (train->received_count < 50)
                continue;
            cr_expect(train->dispersion_ns > 0 && train->sent_ns > 0);
            cr_expect(train->gap_min_ns >= 0 && train->gap_median_ns >= train->gap_min_ns);
            cr_expect(train->bundle_count >= 1 && train->bundle_count <= 50);
        }
        double bps =
            tl_udp_train_rate(result.trains, result.train_count, TL_UDP_DATAGRAM_BYTES, NULL);
        cr_expect(bps > 1e6 || !all_came);
        tl_udp_result_finish(&result);
    }
    tl_client_close(client);
    stop_far(&far);
}

static void *cancel_soon(void *fd)
{
    struct timespec nap = {.tv_nsec = 300 * MS};
    nanosleep(&nap, NULL);
    (void)eventfd_write(*(int *)fd, 1);
    return NULL;
}

Test(udp_test, is_silent_at_once_when_cancelled, .timeout = 120)
{
    for (int i = 0; i < 2; i++) {
        struct far_end far;
        struct tl_udp_result result;
        struct tl_error error = {0};
        struct tl_udp_spec spec = {
            .direction = both[i], .duration_ns = 60000 * MS, .rate_bps = 5000000};
        pthread_t thread;
        int cancel_fd = eventfd(0, EFD_CLOEXEC);
        start_far(&far, NULL);
        struct tl_client *client = dial(far.port, cancel_fd);
        int64_t begin_ns = tl_now_ns();
        pthread_create(&thread, NULL, cancel_soon, &cancel_fd);
        cr_expect_eq(tl_client_udp_test(client, &spec, NULL, NULL, &result, &error), TL_CANCELLED);
        cr_expect_lt(tl_now_ns() - begin_ns, 20000 * MS, "long before its time");
        cr_expect(result.end == TL_UDP_END_CANCELLED && !result.valid);
        pthread_join(thread, NULL);
        tl_udp_result_finish(&result);
        tl_client_close(client);
        close(cancel_fd);
        stop_far(&far);
    }
}

Test(udp_test, gso_and_gro_carry_the_same_datagrams, .timeout = 120)
{
    struct far_end far;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    for (int i = 0; i < 2; i++) {
        struct tl_udp_result result;
        struct tl_udp_spec spec = {.direction = both[i],
                                   .duration_ns = 20000 * MS,
                                   .max_bytes = 4000000,
                                   .gso_segments = 40,
                                   .gro = true,
                                   .crc = TL_UDP_CRC_WHOLE};
        run_over(client, &spec, &result);
        cr_expect_eq(result.receiver.damaged_count + result.receiver.foreign_count, 0);
        cr_expect_eq(result.receiver.received_count + result.receiver.missing_count,
                     result.sender.sent_count);
        cr_expect_eq(result.sender.sent_count, 4000000 / 1448);
        cr_expect(result.sender.gso_segments == 40 || result.note[0]);
        tl_udp_result_finish(&result);
    }
    tl_client_close(client);
    stop_far(&far);
}

/* Fewer of them fit into the sender's pool than into one call. */
Test(udp_test, jumbo_datagrams_flat_out_keep_their_numbers, .timeout = 120)
{
    struct far_end far;
    start_far(&far, NULL);
    struct tl_client *client = dial(far.port, -1);
    for (int i = 0; i < 2; i++) {
        struct tl_udp_result result;
        struct tl_udp_spec spec = {.direction = both[i],
                                   .duration_ns = 20000 * MS,
                                   .max_bytes = 4000000,
                                   .datagram_bytes = 8948,
                                   .crc = TL_UDP_CRC_WHOLE};
        run_over(client, &spec, &result);
        cr_expect_eq(result.sender.sent_count, 4000000 / 8948);
        cr_expect_eq(result.receiver.duplicate_count, 0);
        cr_expect_eq(result.receiver.reordered_count, 0);
        cr_expect_eq(result.receiver.damaged_count, 0);
        cr_expect_eq(result.receiver.missing_count, result.receiver.local_drop_count);
        tl_udp_result_finish(&result);
    }
    tl_client_close(client);
    stop_far(&far);
}

/* The parts of a UDP test that are pure: CRC, sequence numbers, delays, trains, pace, messages. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data_datagram.h"
#include "tightlink/base/random.h"
#include "tightlink/engine/udp.h"
#include "tightlink/engine/udp_wire.h"
#include "udp_account.h"
#include "udp_crc.h"
#include "udp_delay.h"
#include "udp_pace.h"
#include "udp_track.h"

#define MS INT64_C(1000000)

/* --- CRC ------------------------------------------------------------------------------------- */

Test(udp_crc, knows_the_examples_of_rfc_3720)
{
    uint8_t bytes[32];
    memset(bytes, 0, sizeof bytes);
    cr_expect_eq(~udp_crc32c(UDP_CRC_BEGIN, bytes, 32), 0x8a9136aau);
    memset(bytes, 0xff, sizeof bytes);
    cr_expect_eq(~udp_crc32c(UDP_CRC_BEGIN, bytes, 32), 0x62a8ab43u);
    for (int i = 0; i < 32; i++)
        bytes[i] = (uint8_t)i;
    cr_expect_eq(~udp_crc32c(UDP_CRC_BEGIN, bytes, 32), 0x46dd794eu);
    cr_expect_eq(~udp_crc32c_by_table(UDP_CRC_BEGIN, bytes, 32), 0x46dd794eu);
}

Test(udp_crc, is_the_same_by_instruction_by_table_and_by_shifting)
{
    static uint8_t bytes[30000]; /* long enough for parts that go side by side */
    struct tl_random rng;
    tl_random_seed(&rng, 5);
    tl_random_fill(&rng, bytes, sizeof bytes);
    for (size_t len = 0; len < sizeof bytes; len += 1 + len / 7) {
        uint32_t whole = udp_crc32c(UDP_CRC_BEGIN, bytes, len);
        cr_assert_eq(whole, udp_crc32c_by_table(UDP_CRC_BEGIN, bytes, len), "%zu", len);
        size_t head = len < 40 ? len / 2 : 40;
        struct udp_crc_shift shift;
        udp_crc_shift_init(&shift, len - head);
        uint32_t begun = udp_crc32c(UDP_CRC_BEGIN, bytes, head);
        uint32_t rest = udp_crc32c(0, bytes + head, len - head);
        cr_assert_eq(whole, udp_crc_shift(&shift, begun) ^ rest, "%zu", len);
    }
}

/* --- Sequence numbers --------------------------------------------------------------------------
 */

static void arrive(struct udp_track *track, uint64_t sequence, int64_t at_ns)
{
    (void)udp_track_add(track, sequence, at_ns, (struct udp_point){at_ns, (int64_t)sequence});
}

Test(udp_track, counts_runs_of_missing_numbers)
{
    struct udp_track track;
    cr_assert_eq(udp_track_init(&track), TL_OK);
    for (uint64_t i = 0; i < 1000; i++)
        if (i != 10 && i != 64 && i != 65 && (i < 200 || i >= 300))
            arrive(&track, i, (int64_t)i);
    udp_track_close(&track, 1005);
    cr_expect_eq(track.unique_count, 1000 - 103);
    cr_expect_eq(track.runs.run_count, 4);
    cr_expect_eq(track.runs.longest_count, 100);
    cr_expect_eq(track.runs.classes[0], 1, "one alone");
    cr_expect_eq(track.runs.classes[1], 1, "a pair");
    cr_expect_eq(track.runs.classes[2], 1, "the five at the end");
    cr_expect_eq(track.runs.classes[6], 1, "the hundred");
    cr_expect_eq(track.losses_seen, 4);
    cr_expect_eq(track.losses[0].delay_ns, 9, "what came before the first gap");
    cr_expect_eq(track.losses[2].delay_ns, 199);
    cr_expect_eq(track.reordered_count + track.duplicate_count, 0);
    udp_track_finish(&track);
}

/* 2 comes behind 3, 4 and 5: extent 3, late by the time since 3 came. */
Test(udp_track, tells_late_from_lost_and_from_twice)
{
    static const uint64_t order[] = {0, 1, 3, 4, 5, 2, 6, 6, 8, 7, 2};
    struct udp_track track;
    cr_assert_eq(udp_track_init(&track), TL_OK);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        arrive(&track, order[i], (int64_t)i * MS);
    udp_track_close(&track, 9);
    cr_expect_eq(track.unique_count, 9);
    cr_expect_eq(track.duplicate_count, 2);
    cr_expect_eq(track.reordered_count, 2);
    cr_expect_eq(track.extent_max, 3);
    cr_expect_eq(track.extent_sum, 4);
    cr_expect_eq(track.late_max_ns, 3 * MS);
    cr_expect_eq(track.runs.run_count, 0);
    cr_expect_eq(track.losses_seen, 0);
    udp_track_finish(&track);
}

Test(udp_track, keeps_exact_counts_over_many_windows)
{
    struct udp_track track;
    struct tl_random rng;
    uint64_t lost = 0, runs = 0, end = 5 * UDP_TRACK_WINDOW + 12345;
    bool before = true;
    tl_random_seed(&rng, 9);
    cr_assert_eq(udp_track_init(&track), TL_OK);
    for (uint64_t i = 0; i < end; i++) {
        bool gone = tl_random_next(&rng) % 100 == 0;
        lost += gone;
        runs += gone && before;
        before = !gone;
        if (!gone)
            arrive(&track, i, (int64_t)i);
    }
    udp_track_close(&track, end);
    cr_expect_eq(track.unique_count, end - lost);
    cr_expect_eq(track.runs.run_count, runs);
    cr_expect_leq(track.loss_count, UDP_LOSSES_MAX);
    cr_expect_eq(track.losses_seen, runs);
    cr_expect_geq(track.loss_count, UDP_LOSSES_MAX / 4, "a fair sample of them is kept");
    udp_track_finish(&track);
}

Test(udp_track, a_hostile_jump_costs_no_time, .timeout = 5)
{
    struct udp_track track;
    cr_assert_eq(udp_track_init(&track), TL_OK);
    arrive(&track, 0, 0);
    arrive(&track, (UINT64_C(1) << 48) - 1, 1);
    arrive(&track, 5, 2);
    udp_track_close(&track, UINT64_C(1) << 48);
    cr_expect_eq(track.unique_count, 2, "5 is behind the window");
    cr_expect_eq(track.runs.run_count, 1);
    cr_expect_eq(track.runs.longest_count, (UINT64_C(1) << 48) - 2);
    udp_track_finish(&track);
}

/* --- Delays ------------------------------------------------------------------------------------
 */

/* Delays above a floor that drifts by ppm: 4 ms of noise, the floor itself every 16th. */
static void make_delays(struct udp_delays *delays, int64_t duration_ns, double ppm,
                        double growth_ns_per_s)
{
    struct tl_random rng;
    tl_random_seed(&rng, 3);
    cr_assert_eq(udp_delays_init(delays, duration_ns), TL_OK);
    for (int64_t at_ns = 0; at_ns < duration_ns; at_ns += MS) {
        double noise = tl_random_next(&rng) % 16 ? tl_random_unit(&rng) * 4e6 : 0;
        double delay = 7e6 + (double)at_ns * ppm / 1e6 + growth_ns_per_s * (double)at_ns / 1e9;
        udp_delays_add(delays, (struct udp_point){at_ns, (int64_t)(delay + noise)});
    }
}

Test(udp_delay, removes_the_skew_of_two_clocks)
{
    static const double skews[] = {-180, -20, 0, 35, 400};
    for (size_t i = 0; i < sizeof skews / sizeof *skews; i++) {
        struct udp_delays delays;
        struct udp_base base;
        struct tl_udp_delay delay;
        make_delays(&delays, 5000 * MS, skews[i], 0);
        udp_base_fit(delays.bins, UDP_DELAY_BINS, &base);
        udp_delays_analyse(&delays, &base, NULL, 0, &delay);
        cr_expect(base.skew_known && fabs(delay.skew_ppm - skews[i]) < 2, "%.1f for %.1f",
                  delay.skew_ppm, skews[i]);
        cr_expect(delay.median_ns > 1.6e6 && delay.median_ns < 2.1e6, "%.0f", delay.median_ns);
        cr_expect(delay.p99_ns > 3.8e6 && delay.p99_ns < 4.05e6, "%.0f", delay.p99_ns);
        cr_expect(delay.max_ns < 4.05e6, "%.0f", delay.max_ns);
        udp_delays_finish(&delays);
    }
}

/* 10 % too much for the link: the queue gains 100 ms a second, a hundred times any skew. */
Test(udp_delay, does_not_take_a_growing_queue_for_skew)
{
    struct udp_delays delays;
    struct udp_base base;
    struct tl_udp_delay delay;
    make_delays(&delays, 3000 * MS, 0, 100e6);
    udp_base_fit(delays.bins, UDP_DELAY_BINS, &base);
    udp_delays_analyse(&delays, &base, NULL, 0, &delay);
    cr_expect(!base.skew_known && base.slope == 0);
    cr_expect(isnan(delay.skew_ppm));
    cr_expect(delay.max_ns > 295e6, "%.0f", delay.max_ns);
    udp_delays_finish(&delays);
}

Test(udp_delay, a_short_test_keeps_its_slope)
{
    struct udp_delays delays;
    struct udp_base base;
    make_delays(&delays, 500 * MS, 50, 0);
    udp_base_fit(delays.bins, UDP_DELAY_BINS, &base);
    cr_expect(!base.skew_known && base.slope == 0);
    udp_delays_finish(&delays);
}

Test(udp_delay, tells_the_delay_before_losses_and_thins_out_evenly)
{
    struct udp_delays delays;
    struct udp_base base;
    struct tl_udp_delay delay;
    struct udp_point losses[50];
    cr_assert_eq(udp_delays_init(&delays, 1000 * MS), TL_OK);
    for (int64_t i = 0; i < 300000; i++)
        udp_delays_add(&delays, (struct udp_point){i * 3000, 1000000 + (i % 1000) * 1000});
    for (int i = 0; i < 50; i++)
        losses[i] = (struct udp_point){i * 20 * MS, 1000000 + 900000};
    udp_base_fit(delays.bins, UDP_DELAY_BINS, &base);
    udp_delays_analyse(&delays, &base, losses, 50, &delay);
    cr_expect_leq(delay.sample_count, TL_UDP_DELAYS_MAX);
    cr_expect_geq(delay.sample_count, TL_UDP_DELAYS_MAX / 2);
    cr_expect_float_eq(delay.median_ns, 499500, 2000);
    cr_expect_float_eq(delay.max_ns, 999000, 1, "the largest is never thinned out");
    cr_expect_float_eq(delay.before_loss_median_ns, 900000, 1);
    udp_delays_finish(&delays);
}

/* Alternating delays d, d + 1 ms: |D| is 1 ms, and J goes to it. */
Test(udp_delay, jitter_is_that_of_rfc_3550)
{
    struct udp_delays delays;
    cr_assert_eq(udp_delays_init(&delays, 1000 * MS), TL_OK);
    for (int64_t i = 0; i < 200; i++)
        udp_delays_add(&delays, (struct udp_point){i * MS, i % 2 * MS});
    cr_expect_float_eq(delays.jitter_ns, 1e6, 10);
    udp_delays_finish(&delays);
}

/* --- The account -------------------------------------------------------------------------------
 */

Test(udp_account, puts_each_datagram_into_its_interval_and_train)
{
    struct udp_account account;
    struct udp_account_spec spec = {
        .duration_ns = 1000 * MS, .interval_ns = 100 * MS, .train_length = 4, .train_count = 3};
    struct tl_udp_receiver receiver;
    struct tl_udp_interval *intervals = calloc(TL_UDP_INTERVALS_MAX, sizeof *intervals);
    struct tl_udp_train trains[3];
    unsigned count;
    cr_assert_eq(udp_account_init(&account, &spec), TL_OK);
    for (uint64_t i = 0; i < 12; i++) { /* a train each 150 ms, 1 ms apart there, 2 ms here */
        int64_t sent_ns = (int64_t)(i / 4) * 150 * MS + (int64_t)(i % 4) * MS;
        int64_t arrival_ns = sent_ns + 5000 * MS + (int64_t)(i % 4) * MS;
        if (i != 6)
            udp_account_add(&account, i, sent_ns, 1000, arrival_ns, true);
    }
    udp_account_close(&account, 12, &receiver, intervals, &count, trains);
    cr_expect_eq(receiver.received_count, 11);
    cr_expect_eq(receiver.missing_count, 1);
    cr_expect_eq(receiver.received_bytes, 11000);
    cr_expect_eq(receiver.span_ns, 306 * MS);
    cr_expect_float_eq(receiver.received_bps, 10000 * 8 / 0.306, 1);
    cr_expect_eq(count, 4);
    cr_expect_eq(intervals[0].received_count, 4);
    cr_expect_eq(intervals[1].received_count, 3);
    cr_expect_eq(intervals[2].received_count, 0);
    cr_expect_eq(intervals[3].received_bytes, 4000);
    cr_expect(isnan(intervals[2].delay_mean_ns));
    cr_expect_float_eq(intervals[0].delay_max_ns, 3e6, 1);
    cr_expect_eq(trains[0].dispersion_ns, 6 * MS);
    cr_expect_eq(trains[0].gap_min_ns, 2 * MS);
    cr_expect(trains[0].in_order && !trains[1].in_order);
    cr_expect_eq(trains[1].received_count, 3);
    cr_expect_eq(trains[0].delay_first_ns, 0);
    free(intervals);
    udp_account_finish(&account);
}

/* Datagrams 1 ms apart that a grant each 4 ms hands on, and one that came alone. */
Test(udp_account, counts_the_bundles_of_a_train)
{
    static const int64_t arrivals_ms[2][8] = {{4, 4, 4, 4, 8, 8, 8, 12}, {1, 2, 3, 4, 5, 6, 7, 8}};
    struct udp_account account;
    struct udp_account_spec spec = {
        .duration_ns = 1000 * MS, .interval_ns = 100 * MS, .train_length = 8, .train_count = 3};
    struct tl_udp_receiver receiver;
    struct tl_udp_interval intervals[TL_UDP_INTERVALS_MAX];
    struct tl_udp_train trains[3];
    unsigned count;
    cr_assert_eq(udp_account_init(&account, &spec), TL_OK);
    for (uint64_t i = 0; i < 16; i++)
        udp_account_add(&account, i, (int64_t)i * MS, 1000, arrivals_ms[i / 8][i % 8] * MS, true);
    udp_account_add(&account, 16, 16 * MS, 1000, 20 * MS, true);
    udp_account_close(&account, 17, &receiver, intervals, &count, trains);
    cr_expect_eq(trains[0].bundle_count, 3, "%u", trains[0].bundle_count);
    cr_expect_eq(trains[1].bundle_count, 8, "%u", trains[1].bundle_count);
    cr_expect_eq(trains[2].bundle_count, 0, "%u", trains[2].bundle_count);
    udp_account_finish(&account);
}

Test(udp_train, the_mode_is_what_most_trains_agree_on)
{
    struct tl_udp_train trains[40];
    struct tl_random rng;
    bool limited;
    tl_random_seed(&rng, 4);
    for (unsigned i = 0; i < 40; i++) { /* 1000 B at 100 Mb/s: 80 us; others' traffic in a third */
        int64_t gap_ns = 80000 + (int64_t)(tl_random_unit(&rng) * 400);
        if (i % 3 == 0)
            gap_ns += (int64_t)(tl_random_unit(&rng) * 200000);
        trains[i] = (struct tl_udp_train){.sent_count = 2,
                                          .received_count = 2,
                                          .sent_ns = 3000,
                                          .dispersion_ns = gap_ns,
                                          .in_order = i != 7};
    }
    double rate = tl_udp_train_rate(trains, 40, 1000, &limited);
    cr_expect_float_eq(rate, 100e6, 1e6, "%.0f", rate);
    cr_expect(!limited);
    for (unsigned i = 0; i < 40; i++)
        trains[i].sent_ns = trains[i].dispersion_ns;
    (void)tl_udp_train_rate(trains, 40, 1000, &limited);
    cr_expect(limited, "they left as slowly as they came");
    cr_expect(isnan(tl_udp_train_rate(trains, 4, 1000, NULL)), "four are not enough");
}

/* --- The pace ----------------------------------------------------------------------------------
 */

Test(udp_pace, is_absolute_and_catches_up_slowly)
{
    struct udp_pace pace;
    int64_t now_ns = 1000 * MS, due_ns, begin_ns = now_ns;
    udp_pace_init(&pace, 10000000, 1250, 1, now_ns); /* 1 ms each */
    for (uint64_t i = 0; i < 100; i++) {
        while (udp_pace_due(&pace, now_ns, &due_ns) == 0)
            now_ns = due_ns + 20000; /* always a little late */
        udp_pace_sent(&pace, 1, now_ns);
    }
    cr_expect_eq(now_ns - begin_ns, 99 * MS + 20000, "lateness does not add up");
    now_ns += 10 * MS; /* held up: ten behind */
    int64_t last_ns = now_ns - 10 * MS, least_ns = INT64_MAX;
    for (int i = 0; i < 150; i++) {
        unsigned count;
        while ((count = udp_pace_due(&pace, now_ns, &due_ns)) == 0)
            now_ns = due_ns;
        cr_assert_eq(count, 1, "no burst");
        udp_pace_sent(&pace, 1, now_ns);
        least_ns = now_ns - last_ns < least_ns ? now_ns - last_ns : least_ns;
        last_ns = now_ns;
    }
    cr_expect_geq(least_ns, (int64_t)(1e6 / UDP_CATCH_UP) - 1);
    cr_expect_eq(pace.sent_count, 250);
    cr_expect_eq(now_ns - begin_ns, 249 * MS, "and in the end on time");
    cr_expect_eq(pace.forfeited_ns, 0);
}

Test(udp_pace, gives_up_what_cannot_be_caught_up)
{
    struct udp_pace pace;
    int64_t due_ns;
    udp_pace_init(&pace, 10000000, 1250, 1, 0);
    cr_expect_eq(udp_pace_due(&pace, 500 * MS, &due_ns), 1);
    cr_expect_eq(pace.forfeited_ns, 500 * MS - UDP_DEBT_MAX_NS);
}

/* --- The spec ----------------------------------------------------------------------------------
 */

Test(udp_spec, refuses_what_cannot_be)
{
    struct tl_error error;
    struct tl_udp_spec good = {.duration_ns = 300 * MS, .rate_bps = 1000000};
    cr_expect_eq(tl_udp_spec_check(&good, &error), TL_OK);
    struct tl_udp_spec bad[] = {
        {.duration_ns = 99 * MS},
        {.duration_ns = 61000 * MS},
        {.duration_ns = 300 * MS, .datagram_bytes = 47},
        {.duration_ns = 300 * MS, .datagram_bytes = 9217},
        {.duration_ns = 300 * MS, .burst_count = TL_UDP_BURST_MAX + 1},
        {.duration_ns = 300 * MS, .gso_segments = 65},
        {.duration_ns = 300 * MS, .dscp = 64},
        {.duration_ns = 300 * MS, .rate_bps = 1},
        {.duration_ns = 300 * MS, .train_length = 1, .train_count = 1},
        {.duration_ns = 300 * MS, .train_length = 2},
        {.duration_ns = 300 * MS, .gro = true, .rate_bps = 1000000},
        {.duration_ns = 300 * MS, .interval_ns = 1},
        {.duration_ns = 300 * MS, .rcvbuf_bytes = -1},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_eq(tl_udp_spec_check(&bad[i], &error), TL_RANGE, "%zu", i);
}

Test(udp_spec, the_worst_is_known_ahead)
{
    struct tl_udp_spec spec = {
        .duration_ns = 1000 * MS, .rate_bps = 8000000, .datagram_bytes = 1000};
    cr_expect_eq(tl_udp_worst_bytes(&spec), 1002 * 1048);
    spec.max_bytes = 10500;
    cr_expect_eq(tl_udp_worst_bytes(&spec), 10 * 1048);
    spec = (struct tl_udp_spec){.duration_ns = 1000 * MS, .train_length = 50, .train_count = 20};
    cr_expect_eq(tl_udp_worst_bytes(&spec), 1000 * (1448 + 48));
    spec = (struct tl_udp_spec){.duration_ns = 1000 * MS};
    cr_expect_eq(tl_udp_worst_bytes(&spec), UINT64_MAX);
}

/* --- Messages ----------------------------------------------------------------------------------
 */

Test(udp_wire, messages_come_back_as_they_went)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_error error;
    struct tl_wire_test_udp
        ask = {TL_WIRE_UPLOAD, true, true, 1448, 9000, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
        asked;
    size_t len = tl_wire_encode_test_udp(&ask, frame);
    cr_assert_eq(tl_wire_decode_test_udp(frame + 4, len - 4, &asked, &error), TL_OK, "%s",
                 error.text);
    cr_expect(asked.direction == ask.direction && asked.gro && asked.head_crc);
    cr_expect(asked.rate_bps == 2 && asked.burst_count == 3 && asked.gso_segments == 4);
    cr_expect(asked.train_length == 8 && asked.train_count == 9 && asked.grace_ms == 11);
    static struct tl_wire_udp_report report, reported;
    report = (struct tl_wire_udp_report){.test_id = 1, .role = TL_UDP_ROLE_RECEIVER};
    for (unsigned i = 0; i < TL_UR_COUNT; i += 2)
        tl_udp_field_set(&report.fields, i, UINT64_MAX - i);
    len = tl_wire_encode_udp_report(&report, frame);
    cr_assert_eq(tl_wire_decode_udp_report(frame + 4, len - 4, &reported, &error), TL_OK);
    cr_expect_eq(memcmp(&report, &reported, sizeof report), 0);
    static struct tl_wire_udp_series series, read;
    series = (struct tl_wire_udp_series){
        .test_id = 1, .kind = TL_UDP_SERIES_TRAINS, .count = TL_UDP_SERIES_MAX};
    for (unsigned i = 0; i < TL_UDP_SERIES_MAX; i++)
        for (unsigned k = 0; k < TL_UT_COUNT; k++)
            tl_udp_field_set(&series.records[i], k, UINT64_MAX);
    len = tl_wire_encode_udp_series(&series, frame);
    cr_assert_leq(len, TL_WIRE_FRAME_MAX);
    cr_assert_eq(tl_wire_decode_udp_series(frame + 4, len - 4, &read, &error), TL_OK);
    cr_expect_eq(memcmp(&series, &read, sizeof series), 0);
}

Test(udp_wire, refuses_each_bad_byte_of_a_test)
{
    struct tl_wire_test_udp good = {.datagram_bytes = 1448, .duration_ms = 300}, out;
    static const struct {
        size_t at;
        uint8_t value;
    } bad[] = {{0, 2},  {1, 4},   {2, 255}, {24, 255}, {26, 65}, {27, 64},
               {37, 1}, {37, 65}, {39, 1},  {46, 1},   {47, 1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint8_t frame[TL_WIRE_FRAME_MAX];
        size_t len = tl_wire_encode_test_udp(&good, frame);
        frame[4 + bad[i].at] = bad[i].value;
        cr_expect_neq(tl_wire_decode_test_udp(frame + 4, len - 4, &out, NULL), TL_OK, "%zu",
                      bad[i].at);
    }
}

Test(udp_wire, one_flipped_bit_is_seen)
{
    uint8_t datagram[200];
    struct tl_random rng;
    struct tl_wire_udp_data data = {
        .bytes = 200, .cookie = 7, .test_id = 1, .sequence = 9, .sent_ns = 5};
    uint64_t sequence, sent_ns;
    struct udp_seal open_seal = {.on = false};
    tl_random_seed(&rng, 2);
    for (unsigned bit = 40; bit < 200 * 8; bit++) {
        tl_random_fill(&rng, datagram, sizeof datagram);
        seal_data(&data, datagram);
        cr_assert(udp_head_read(datagram, 200, &open_seal, &sequence, &sent_ns));
        cr_assert(sequence == 9 && sent_ns == 5);
        datagram[bit / 8] ^= (uint8_t)(1u << bit % 8);
        cr_assert_not(udp_head_read(datagram, 200, &open_seal, &sequence, &sent_ns), "bit %u", bit);
    }
    struct tl_wire_udp_feedback feedback = {.cookie = 7, .test_id = 1, .received_count = 3}, back;
    uint8_t bytes[TL_WIRE_UDP_FEEDBACK_SIZE];
    cr_assert_eq(tl_wire_encode_udp_feedback(&feedback, bytes), sizeof bytes);
    cr_assert_eq(tl_wire_decode_udp_feedback(bytes, sizeof bytes, &back, NULL), TL_OK);
    cr_expect(back.received_count == 3 && back.cookie == 7);
    bytes[30] ^= 1;
    cr_expect_eq(tl_wire_decode_udp_feedback(bytes, sizeof bytes, &back, NULL), TL_PROTOCOL);
}

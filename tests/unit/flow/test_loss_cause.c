/* Losses that a token bucket makes, and such that chance makes, from made directions. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tightlink/base/random.h"
#include "tightlink/flow/limits.h"

#define MS  INT64_C(1000000)
#define MSS 1448

/* A sender that sends a segment every step; whether one is lost the function decides. */
struct made {
    struct tl_packet_half half;
    struct tl_packet_bin bins[1000];
    struct tl_packet_loss losses[TL_PACKETS_LOSSES_MAX];
    uint32_t slots[TL_PACKETS_SLOTS_MAX];
};

static struct made *begin(void)
{
    struct made *made = calloc(1, sizeof *made);
    cr_assert(made);
    made->half = (struct tl_packet_half){.bins = made->bins,
                                         .bins_count = 1000,
                                         .bin_ns = 10 * MS,
                                         .losses = made->losses,
                                         .slots = made->slots,
                                         .slots_count = TL_PACKETS_SLOTS_MAX,
                                         .slot_shift = 21,
                                         .mss_bytes = MSS,
                                         .first_data_ns = 1,
                                         .loss_events_count = 20,
                                         .rtt_count = 100,
                                         .rtt_sum_ns = 100 * 30e6,
                                         .rtt_min_ns = 30e6};
    made->half.rtt_classes[8 * 15 - 1] = 100; /* some 30 ms */
    return made;
}

static void send(struct made *made, int64_t time_ns, uint32_t flight, bool lost)
{
    struct tl_packet_bin *bin = &made->bins[time_ns / made->half.bin_ns];
    bin->sent_bytes += MSS;
    made->slots[time_ns >> made->half.slot_shift] += MSS;
    if (!lost && time_ns + 30 * MS < 10000 * MS) /* a round trip later */
        made->bins[(time_ns + 30 * MS) / made->half.bin_ns].delivered_bytes += MSS;
    made->half.flight_classes[tl_packet_flight_class(flight)]++;
    if (lost && made->half.losses_count < TL_PACKETS_LOSSES_MAX)
        made->losses[made->half.losses_count++] = (struct tl_packet_loss){
            .time_ns = time_ns, .rtt_ns = 30000000, .flight_bytes = flight, .len_bytes = MSS};
}

/* The rate swings by half; what exceeds 8 Mb/s beyond 30 kB is dropped. */
Test(loss_cause, a_token_bucket_fits_and_its_rate_is_found)
{
    struct made *made = begin();
    double tokens = 30000;
    int64_t time_ns = 0, last_ns = 0;
    while (time_ns < 9900 * MS) {
        double phase = fmod((double)time_ns / 1e9, 1); /* a sawtooth a second */
        double rate_bps = 6e6 + 5e6 * phase;
        tokens = fmin(tokens + 8e6 / 8e9 * (double)(time_ns - last_ns), 30000);
        bool lost = tokens < MSS;
        tokens -= lost ? 0 : MSS;
        send(made, time_ns, (uint32_t)(rate_bps * 0.03 / 8), lost);
        last_ns = time_ns;
        time_ns += (int64_t)(MSS * 8e9 / rate_bps);
    }
    struct tl_packet_policer policer;
    struct tl_packet_loss_rank rank;
    tl_packet_policer(&made->half, &policer);
    tl_packet_loss_rank(&made->half, &rank);
    cr_expect_gt(policer.fit_ratio, 0.7);
    cr_expect_float_eq(policer.rate_bps, 8e6, 0.4e6);
    cr_expect_float_eq(policer.burst_bytes, 30e3, 10e3);
    cr_expect_gt(rank.low_ratio, 0.5);
    free(made);
}

/* Of a stream: `count` segments from that offset on, sent at that time. */
static void lose(struct made *made, int64_t time_ns, uint64_t offset, unsigned count, bool needless)
{
    for (unsigned i = 0; i < count; i++)
        made->losses[made->half.losses_count++] =
            (struct tl_packet_loss){.time_ns = time_ns + i,
                                    .offset_bytes = offset + (uint64_t)i * MSS,
                                    .len_bytes = MSS,
                                    .needless = needless};
}

/* Three, one, two and a joined packet of four: ten in four rows. What slow start lost once
 * and what had arrived do not count. */
Test(loss_cause, rows_of_losses_are_told_by_their_sequence_numbers)
{
    struct made *made = begin();
    lose(made, 500 * MS, 500 * MSS, 3, false);
    lose(made, 1000 * MS, 900 * MSS, 50, false);
    lose(made, 1500 * MS, 1500 * MSS, 2, true);
    lose(made, 2000 * MS, 2000 * MSS, 1, false);
    lose(made, 2000 * MS, 2002 * MSS, 2, false);
    cr_expect(isnan(tl_packet_loss_period(&made->half)), "three rows are too few");
    lose(made, 3000 * MS, 3000 * MSS, 1, false);
    made->losses[made->half.losses_count - 1].len_bytes = 4 * MSS;
    cr_expect_float_eq(tl_packet_loss_period(&made->half), 2.5, 1e-9);
    free(made);
}

/* Slow start overran a queue, and so did the window once more; what is lost else is one by one. */
Test(loss_cause, two_overruns_make_no_bursts_of_single_losses)
{
    struct made *made = begin();
    lose(made, 0, 0, 30, false);
    for (int i = 1; i <= 6; i++)
        lose(made, i * 500 * MS, (uint64_t)i * 500 * MSS, 1, false);
    lose(made, 4000 * MS, 4000 * MSS, 16, false);
    cr_expect_float_eq(tl_packet_loss_period(&made->half), 8.0 / 7, 1e-9);
    free(made);
}

/* The same swing, every thirtieth segment by chance. */
Test(loss_cause, chance_has_no_rank)
{
    struct made *made = begin();
    struct tl_random rng;
    struct tl_packet_loss_rank rank;
    tl_random_seed(&rng, 7);
    for (int64_t time_ns = 0; time_ns < 9900 * MS;) {
        double rate_bps = 6e6 + 5e6 * fmod((double)time_ns / 1e9, 1);
        send(made, time_ns, (uint32_t)(rate_bps * 0.03 / 8), tl_random_unit(&rng) < 1.0 / 60);
        time_ns += (int64_t)(MSS * 8e9 / rate_bps);
    }
    struct tl_packet_policer policer;
    tl_packet_policer(&made->half, &policer);
    cr_expect_lt(policer.fit_ratio, 0.5);
    tl_packet_loss_rank(&made->half, &rank);
    cr_expect_lt(rank.low_ratio, 0.5);
    cr_expect_gt(rank.high_ratio, 0.5);
    free(made);
}

/* The same amount is in flight at each loss as elsewhere; but what is lost is the end of what was
 * sent together: a short queue. */
Test(loss_cause, losses_at_the_end_of_trains_follow_the_load)
{
    struct made *made = begin();
    struct tl_packet_loss_rank rank;
    for (int train = 0; train < 200; train++) {
        unsigned len = train % 10 == 0 ? 20 : 4; /* segments */
        for (unsigned i = 0; i < len; i++) {
            bool lost = i == 15;
            send(made, train * 45 * MS + i, 100000, lost);
            made->half.backlog_classes[tl_packet_flight_class((i + 1) * MSS)]++;
            if (lost)
                made->losses[made->half.losses_count - 1].backlog_bytes = (i + 1) * MSS;
        }
    }
    tl_packet_loss_rank(&made->half, &rank);
    cr_expect_eq(rank.upstream_ratio, 0);
    cr_expect_gt(rank.low_ratio, 0.7);
    cr_expect_eq(rank.train_low_ratio, rank.low_ratio);
    for (uint32_t i = 0; i < made->half.losses_count; i++) { /* the first of each train */
        made->losses[i].backlog_bytes = MSS;
        made->losses[i].upstream = true;
    }
    tl_packet_loss_rank(&made->half, &rank);
    cr_expect_lt(rank.low_ratio, 0.5);
    cr_expect_eq(rank.upstream_ratio, 1);
    free(made);
}

/* Round-trip times above the low decile before most losses: a queue, no policer. */
Test(loss_cause, a_queue_before_losses_is_no_policer)
{
    struct made *made = begin();
    struct tl_packet_policer policer;
    for (int64_t time_ns = 0; time_ns < 9900 * MS; time_ns += 2 * MS)
        send(made, time_ns, 30000, time_ns % (200 * MS) == 0);
    for (uint32_t i = 0; i < made->half.losses_count; i++)
        made->losses[i].rtt_ns = 60000000;
    tl_packet_policer(&made->half, &policer);
    cr_expect_eq(policer.fit_ratio, 0);
    free(made);
}

Test(loss_cause, few_losses_fit_nothing)
{
    struct made *made = begin();
    struct tl_packet_policer policer;
    for (int64_t time_ns = 0; time_ns < 9900 * MS; time_ns += 2 * MS)
        send(made, time_ns, 30000, time_ns % (1000 * MS) == 0);
    tl_packet_policer(&made->half, &policer);
    cr_expect(isnan(policer.fit_ratio));
    free(made);
}

/* A bucket that has filled up lets more pass than its rate; a link with a short queue never does.
 */
Test(loss_cause, what_passes_at_most_tells_a_bucket_from_a_short_queue)
{
    struct tl_packet_policer policer[2];
    for (int is_link = 0; is_link < 2; is_link++) {
        struct made *made = begin();
        double room = is_link ? 10000 : 120000, tokens = room;
        int64_t time_ns = 0, last_ns = 0;
        while (time_ns < 9900 * MS) {
            double rate_bps = 5e6 + 8e6 * fmod((double)time_ns / 1e9, 1);
            if (is_link) /* what acknowledgements set off comes no faster than the link passes it */
                rate_bps = fmin(rate_bps, 8.3e6);
            tokens = fmin(tokens + 8e6 / 8e9 * (double)(time_ns - last_ns), room);
            bool lost = tokens < MSS;
            tokens -= lost ? 0 : MSS;
            send(made, time_ns, (uint32_t)(rate_bps * 0.03 / 8), lost);
            last_ns = time_ns;
            time_ns += (int64_t)(MSS * 8e9 / rate_bps);
        }
        tl_packet_policer(&made->half, &policer[is_link]);
        free(made);
    }
    cr_expect_gt(policer[0].peak_bps, 1.3 * policer[0].rate_bps);
    cr_expect_lt(policer[1].peak_bps, 1.2 * policer[1].rate_bps);
}

/* Behind the place of the losses what comes by has passed it: over a way of 200 ms a bucket that
 * passes as much as the link before it can for a while shows all the same. */
Test(loss_cause, what_arrives_at_once_counts_behind_the_place_of_the_losses)
{
    struct made *made = begin();
    struct tl_packet_policer policer[2];
    made->half.rtt_sum_ns = 100 * 200e6;
    for (int64_t time_ns = 0; time_ns < 9000 * MS; time_ns += 2 * MS)
        for (int i = time_ns % (1000 * MS) ? 0 : -40; i <= 0; i++) /* 41 at once each second */
            send(made, time_ns, 30000, false);
    for (int behind = 0; behind < 2; behind++) {
        for (uint32_t i = 0; i < 20; i++)
            made->losses[i] = (struct tl_packet_loss){
                .time_ns = (int64_t)(i + 1) * 400 * MS, .len_bytes = MSS, .upstream = behind};
        made->half.losses_count = 20;
        tl_packet_policer(&made->half, &policer[behind]);
    }
    cr_expect_float_eq(policer[0].peak_bps, 140 * MSS * 8 / 0.2, 1e6);
    cr_expect_float_eq(policer[1].peak_bps, 65 * MSS * 8 / 0.05, 1e6);
    free(made);
}

/* What is sent has bursts, and losses come in a few of them: a bucket that never fills again within
 * the capture explains nothing. */
Test(loss_cause, a_bucket_as_large_as_the_transfer_is_none)
{
    struct made *made = begin();
    struct tl_packet_policer policer;
    for (int64_t time_ns = 0; time_ns < 9900 * MS; time_ns += 3 * MS)
        send(made, time_ns, 30000, false);
    for (int event = 0; event < 2; event++) /* a second of much, lost at its end */
        for (int64_t i = 0; i < 1000; i++)
            send(made, (2000 + 5000 * event + i) * MS, 60000, i > 985);
    made->half.loss_events_count = 2;
    tl_packet_policer(&made->half, &policer);
    cr_expect(!(policer.fit_ratio > 0));
    free(made);
}

/* A window that is halved at each loss and grows by a segment each 10 ms, at a bucket of a few
 * segments: it is nearly empty all the time, and at losses alone quite. queue: packets wait. */
static void send_saws(struct made *made, bool queue)
{
    double tokens = 12000, window = 10;
    int64_t last_ns = 0;
    for (int64_t time_ns = 0; time_ns < 9900 * MS; time_ns += 10 * MS) {
        unsigned segments = (unsigned)window;
        window += 1;
        for (unsigned i = 0; i < segments; i++) {
            int64_t sent_ns = time_ns + i * 10 * MS / segments;
            tokens = fmin(tokens + 12e6 / 8e9 * (double)(sent_ns - last_ns), 12000);
            last_ns = sent_ns;
            bool lost = tokens < MSS;
            tokens -= lost ? 0 : MSS;
            send(made, sent_ns, segments * MSS, lost);
            window = lost ? segments / 2.0 : window;
        }
        struct tl_packet_bin *bin = &made->bins[(time_ns + 10 * MS) / made->half.bin_ns];
        bin->rtt_count = 1;
        bin->rtt_min_ns = queue ? (float)(10e6 + (12000 - tokens) * 8e9 / 12e6) : 10e6F;
    }
    made->half.rtt_sum_ns = 100 * 10e6;
    made->half.rtt_min_ns = 10e6;
}

Test(loss_cause, a_bucket_that_is_nearly_empty_all_the_time_is_empty_at_losses)
{
    struct made *made = begin();
    struct tl_packet_level level;
    send_saws(made, false);
    tl_packet_level(&made->half, &level);
    cr_expect_gt(level.low_ratio, 0.6, "%g", level.low_ratio);
    cr_expect_float_eq(level.rate_bps, 12e6, 1e6, "%g", level.rate_bps);
    cr_expect_gt(level.swing_ns, 3e6, "%g", level.swing_ns);
    cr_expect_lt(level.delay_ns, 0.1 * level.swing_ns, "%g", level.delay_ns);
    free(made);
}

Test(loss_cause, packets_wait_for_the_level_of_a_queue)
{
    struct made *made = begin();
    struct tl_packet_level level;
    send_saws(made, true);
    tl_packet_level(&made->half, &level);
    cr_expect_gt(level.low_ratio, 0.6);
    cr_expect_gt(level.delay_ns, 0.5 * level.swing_ns, "%g of %g", level.delay_ns, level.swing_ns);
    free(made);
}

Test(loss_cause, chance_knows_no_level)
{
    struct made *made = begin();
    struct tl_random rng;
    struct tl_packet_level level;
    tl_random_seed(&rng, 11);
    for (int64_t time_ns = 0; time_ns < 9900 * MS;) {
        double rate_bps = 6e6 + 5e6 * fmod((double)time_ns / 1e9, 1);
        send(made, time_ns, (uint32_t)(rate_bps * 0.03 / 8), tl_random_unit(&rng) < 1.0 / 60);
        time_ns += (int64_t)(MSS * 8e9 / rate_bps);
    }
    tl_packet_level(&made->half, &level);
    cr_expect_lt(level.low_ratio, 0.6);
    free(made);
}

#include "model.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tightlink/base/time.h"

#define PACKET 1500

static struct tl_lab_model model_of(const char *spec)
{
    struct tl_lab_config config;
    struct tl_error err = {0};
    struct tl_lab_model model;
    tl_lab_config_init(&config);
    cr_assert_eq(tl_lab_config_parse(spec, &config, &err), TL_OK, "%s", err.text);
    tl_lab_model_init(&model, &config.link[TL_LAB_DOWN], tl_lab_queue_bytes(&config, TL_LAB_DOWN));
    return model;
}

/* Passes n packets, each `gap` after the one before; counts each fate. */
static void pass_many(struct tl_lab_model *model, int n, int64_t gap_ns,
                      int ret_counts[TL_LAB_DROP_COUNT])
{
    memset(ret_counts, 0, sizeof(int) * TL_LAB_DROP_COUNT);
    for (int i = 0; i < n; i++)
        ret_counts[tl_lab_model_pass(model, i * gap_ns, PACKET).drop]++;
}

Test(lab_model, delay_comes_after_serialisation)
{
    struct tl_lab_model model = model_of("rate=12M delay=10ms"); /* 1500 B take 1 ms */
    struct tl_lab_fate fate = tl_lab_model_pass(&model, 0, PACKET);
    cr_assert_eq(fate.depart_ns, 11 * TL_NS_PER_MS);
    fate = tl_lab_model_pass(&model, 0, PACKET);
    cr_assert_eq(fate.depart_ns, 12 * TL_NS_PER_MS);
    /* After a pause the link is idle again. */
    fate = tl_lab_model_pass(&model, 50 * TL_NS_PER_MS, 750);
    cr_assert_eq(fate.depart_ns, 50 * TL_NS_PER_MS + TL_NS_PER_MS / 2 + 10 * TL_NS_PER_MS);
}

Test(lab_model, serialisation_does_not_drift)
{
    /* 1500 B at 7 Mb/s take 1714285.71.. ns: the fractions must add up. */
    struct tl_lab_model model = model_of("rate=7M queue=100MB");
    int64_t last = 0;
    for (int i = 0; i < 7000; i++)
        last = tl_lab_model_pass(&model, 0, PACKET).depart_ns;
    cr_assert_eq(last, 12 * TL_NS_PER_S); /* 7000 * 12000 bit / 7 Mb/s */
}

Test(lab_model, queue_drops_its_tail_in_bytes)
{
    struct tl_lab_model model = model_of("rate=12M queue=15kB");
    int counts[TL_LAB_DROP_COUNT];
    pass_many(&model, 30, 0, counts);
    cr_assert_eq(counts[TL_LAB_DROP_NONE], 10);
    cr_assert_eq(counts[TL_LAB_DROP_QUEUE], 20);
    /* One packet's time later there is room for one packet. */
    cr_assert_eq(tl_lab_model_pass(&model, TL_NS_PER_MS, PACKET).drop, TL_LAB_DROP_NONE);
    cr_assert_eq(tl_lab_model_pass(&model, TL_NS_PER_MS, PACKET).drop, TL_LAB_DROP_QUEUE);
    cr_assert_eq(tl_lab_model_pass(&model, TL_NS_PER_MS, 40).drop, TL_LAB_DROP_QUEUE);
}

Test(lab_model, empty_queue_takes_a_packet_larger_than_itself)
{
    struct tl_lab_model model = model_of("rate=12M queue=1000");
    cr_assert_eq(tl_lab_model_pass(&model, 0, PACKET).drop, TL_LAB_DROP_NONE);
    cr_assert_eq(tl_lab_model_pass(&model, 0, PACKET).drop, TL_LAB_DROP_QUEUE);
    cr_assert_eq(tl_lab_model_pass(&model, TL_NS_PER_MS, PACKET).drop, TL_LAB_DROP_NONE);
}

Test(lab_model, loss_ratio_holds_and_repeats_by_seed)
{
    struct tl_lab_model a = model_of("loss=1% seed=5"), b = model_of("loss=1% seed=5");
    struct tl_lab_model other = model_of("loss=1% seed=6");
    int lost = 0, same = 0, differ = 0;
    for (int i = 0; i < 100000; i++) {
        enum tl_lab_drop drop = tl_lab_model_pass(&a, i, PACKET).drop;
        lost += drop == TL_LAB_DROP_LOSS;
        /* The seed alone decides: neither time nor length matters. */
        same += drop == tl_lab_model_pass(&b, i * 1000, 100).drop;
        differ += drop != tl_lab_model_pass(&other, i, PACKET).drop;
    }
    cr_assert(lost > 850 && lost < 1150, "%d", lost); /* 1000 +- 4.8 sigma */
    cr_assert_eq(same, 100000);
    cr_assert_gt(differ, 1000);
}

Test(lab_model, one_impairment_does_not_move_another)
{
    struct tl_lab_model alone = model_of("loss=1%");
    struct tl_lab_model both = model_of("loss=1% jitter=1ms delay=5ms duplicate=10% reorder=5%/2ms "
                                        "corrupt=1%");
    for (int i = 0; i < 20000; i++)
        cr_assert_eq(tl_lab_model_pass(&alone, i, PACKET).drop,
                     tl_lab_model_pass(&both, i, PACKET).drop);
}

Test(lab_model, burst_loss_has_the_share_and_length_of_gilbert)
{
    struct tl_lab_model model = model_of("burst-loss=0.5%/25%");
    int lost = 0, bursts = 0, n = 400000;
    bool before = false;
    for (int i = 0; i < n; i++) {
        bool now = tl_lab_model_pass(&model, i, PACKET).drop == TL_LAB_DROP_BURST;
        lost += now;
        bursts += now && !before;
        before = now;
    }
    double share = (double)lost / n, length = (double)lost / bursts;
    cr_assert_float_eq(share, 0.005 / (0.005 + 0.25), 0.002, "%f", share);
    cr_assert_float_eq(length, 1 / 0.25, 0.3, "%f", length);
}

Test(lab_model, policer_passes_its_burst_then_its_rate)
{
    struct tl_lab_model model = model_of("policer=12M/15kB"); /* one packet a ms */
    int counts[TL_LAB_DROP_COUNT];
    pass_many(&model, 20, 0, counts);
    cr_assert_eq(counts[TL_LAB_DROP_NONE], 10);
    cr_assert_eq(counts[TL_LAB_DROP_POLICER], 10);
    int passed = 0;
    for (int i = 1; i <= 4000; i++) /* 48 Mb/s offered for one second */
        passed += tl_lab_model_pass(&model, i * TL_NS_PER_MS / 4, PACKET).drop == TL_LAB_DROP_NONE;
    cr_assert(passed >= 999 && passed <= 1001, "%d", passed);
}

Test(lab_model, policer_does_not_delay)
{
    struct tl_lab_model model = model_of("policer=12M/15kB delay=3ms");
    cr_assert_eq(tl_lab_model_pass(&model, 77, PACKET).depart_ns, 77 + 3 * TL_NS_PER_MS);
}

Test(lab_model, shaper_grants_its_burst_then_delays)
{
    struct tl_lab_model model = model_of("shaper=12M/30kB queue=1MB");
    for (int i = 0; i < 20; i++)
        cr_assert_eq(tl_lab_model_pass(&model, 0, PACKET).depart_ns, 0);
    for (int i = 1; i <= 100; i++)
        cr_assert_eq(tl_lab_model_pass(&model, 0, PACKET).depart_ns, i * TL_NS_PER_MS);
}

Test(lab_model, shaper_has_a_queue_with_an_end)
{
    struct tl_lab_model model = model_of("shaper=12M/1500 queue=15kB");
    int counts[TL_LAB_DROP_COUNT];
    pass_many(&model, 30, 0, counts);
    cr_assert_eq(counts[TL_LAB_DROP_NONE], 11); /* one from the bucket, ten wait */
    cr_assert_eq(counts[TL_LAB_DROP_QUEUE], 19);
}

Test(lab_model, jitter_stays_in_its_bounds_and_keeps_order)
{
    struct tl_lab_model model = model_of("delay=10ms jitter=3ms");
    int64_t last = 0, least = INT64_MAX, most = 0;
    for (int64_t i = 0; i < 10000; i++) {
        int64_t now = i * TL_NS_PER_MS;
        int64_t depart = tl_lab_model_pass(&model, now, PACKET).depart_ns;
        cr_assert_geq(depart, last);
        last = depart;
        least = depart - now < least ? depart - now : least;
        most = depart - now > most ? depart - now : most;
    }
    cr_assert(least >= 7 * TL_NS_PER_MS && least < 8 * TL_NS_PER_MS);
    cr_assert(most <= 13 * TL_NS_PER_MS && most > 12 * TL_NS_PER_MS);
}

Test(lab_model, reordered_packets_are_overtaken)
{
    struct tl_lab_model model = model_of("delay=10ms reorder=3%/5ms");
    int held = 0;
    for (int64_t i = 0; i < 20000; i++) {
        struct tl_lab_fate fate = tl_lab_model_pass(&model, i, PACKET);
        cr_assert_eq(fate.depart_ns - i, (fate.reordered ? 15 : 10) * TL_NS_PER_MS);
        held += fate.reordered;
    }
    cr_assert(held > 500 && held < 700, "%d", held); /* 600 +- 4.1 sigma */
}

Test(lab_model, duplicates_and_corruption_at_their_ratio)
{
    struct tl_lab_model model = model_of("duplicate=2% corrupt=1%");
    int twice = 0, flipped = 0;
    for (int i = 0; i < 50000; i++) {
        struct tl_lab_fate fate = tl_lab_model_pass(&model, i, PACKET);
        twice += fate.duplicated;
        flipped += fate.corrupt_at >= 0;
        cr_assert_lt(fate.corrupt_at, 1);
    }
    cr_assert(twice > 850 && twice < 1150, "%d", twice);
    cr_assert(flipped > 400 && flipped < 600, "%d", flipped);
}

Test(lab_model, long_packets_vanish)
{
    struct tl_lab_model model = model_of("maxlen=1300");
    cr_assert_eq(tl_lab_model_pass(&model, 0, 1300).drop, TL_LAB_DROP_NONE);
    cr_assert_eq(tl_lab_model_pass(&model, 0, 1301).drop, TL_LAB_DROP_MAXLEN);
}

Test(lab_model, outage_is_counted_from_the_mark)
{
    struct tl_lab_model model = model_of("outage=1s-2s outage=3s-4s");
    model.mark_ns = 100 * TL_NS_PER_S;
    const struct {
        int64_t at_ms;
        enum tl_lab_drop drop;
    } cases[] = {{0, TL_LAB_DROP_NONE},      {999, TL_LAB_DROP_NONE},  {1000, TL_LAB_DROP_OUTAGE},
                 {1999, TL_LAB_DROP_OUTAGE}, {2000, TL_LAB_DROP_NONE}, {3500, TL_LAB_DROP_OUTAGE},
                 {4000, TL_LAB_DROP_NONE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_assert_eq(
            tl_lab_model_pass(&model, model.mark_ns + cases[i].at_ms * TL_NS_PER_MS, PACKET).drop,
            cases[i].drop, "%d ms", (int)cases[i].at_ms);
}

Test(lab_model, chance_does_not_depend_on_the_queue)
{
    struct tl_lab_model wide = model_of("loss=5%"), narrow = model_of("loss=5% rate=1M queue=3kB");
    for (int i = 0; i < 20000; i++) {
        bool lost = tl_lab_model_pass(&wide, i, PACKET).drop == TL_LAB_DROP_LOSS;
        cr_assert_eq(lost, tl_lab_model_pass(&narrow, i, PACKET).drop == TL_LAB_DROP_LOSS);
    }
}

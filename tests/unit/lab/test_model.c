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
    cr_assert_eq(tl_lab_model_init(&model, &config.link[TL_LAB_DOWN],
                                   tl_lab_queue_bytes(&config, TL_LAB_DOWN), 1, &err),
                 TL_OK, "%s", err.text);
    return model;
}

/* Passes n packets, each `gap` after the one before; counts each fate. */
static void pass_many(struct tl_lab_model *model, int n, int64_t gap_ns,
                      int ret_counts[TL_LAB_DROP_COUNT])
{
    memset(ret_counts, 0, sizeof(int) * TL_LAB_DROP_COUNT);
    for (int i = 0; i < n; i++)
        ret_counts[tl_lab_model_pass(model, i * gap_ns, PACKET, NULL, 0).drop]++;
}

Test(lab_model, delay_comes_after_serialisation)
{
    struct tl_lab_model model = model_of("rate=12M delay=10ms"); /* 1500 B take 1 ms */
    struct tl_lab_fate fate = tl_lab_model_pass(&model, 0, PACKET, NULL, 0);
    cr_assert_eq(fate.depart_ns, 11 * TL_NS_PER_MS);
    fate = tl_lab_model_pass(&model, 0, PACKET, NULL, 0);
    cr_assert_eq(fate.depart_ns, 12 * TL_NS_PER_MS);
    /* After a pause the link is idle again. */
    fate = tl_lab_model_pass(&model, 50 * TL_NS_PER_MS, 750, NULL, 0);
    cr_assert_eq(fate.depart_ns, 50 * TL_NS_PER_MS + TL_NS_PER_MS / 2 + 10 * TL_NS_PER_MS);
}

Test(lab_model, serialisation_does_not_drift)
{
    /* 1500 B at 7 Mb/s take 1714285.71.. ns: the fractions must add up. */
    struct tl_lab_model model = model_of("rate=7M queue=100MB");
    int64_t last = 0;
    for (int i = 0; i < 7000; i++)
        last = tl_lab_model_pass(&model, 0, PACKET, NULL, 0).depart_ns;
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
    cr_assert_eq(tl_lab_model_pass(&model, TL_NS_PER_MS, PACKET, NULL, 0).drop, TL_LAB_DROP_NONE);
    cr_assert_eq(tl_lab_model_pass(&model, TL_NS_PER_MS, PACKET, NULL, 0).drop, TL_LAB_DROP_QUEUE);
    cr_assert_eq(tl_lab_model_pass(&model, TL_NS_PER_MS, 40, NULL, 0).drop, TL_LAB_DROP_QUEUE);
}

Test(lab_model, empty_queue_takes_a_packet_larger_than_itself)
{
    struct tl_lab_model model = model_of("rate=12M queue=1000");
    cr_assert_eq(tl_lab_model_pass(&model, 0, PACKET, NULL, 0).drop, TL_LAB_DROP_NONE);
    cr_assert_eq(tl_lab_model_pass(&model, 0, PACKET, NULL, 0).drop, TL_LAB_DROP_QUEUE);
    cr_assert_eq(tl_lab_model_pass(&model, TL_NS_PER_MS, PACKET, NULL, 0).drop, TL_LAB_DROP_NONE);
}

Test(lab_model, loss_ratio_holds_and_repeats_by_seed)
{
    struct tl_lab_model a = model_of("loss=1% seed=5"), b = model_of("loss=1% seed=5");
    struct tl_lab_model other = model_of("loss=1% seed=6");
    int lost = 0, same = 0, differ = 0;
    for (int i = 0; i < 100000; i++) {
        enum tl_lab_drop drop = tl_lab_model_pass(&a, i, PACKET, NULL, 0).drop;
        lost += drop == TL_LAB_DROP_LOSS;
        /* The seed alone decides: neither time nor length matters. */
        same += drop == tl_lab_model_pass(&b, i * 1000, 100, NULL, 0).drop;
        differ += drop != tl_lab_model_pass(&other, i, PACKET, NULL, 0).drop;
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
        cr_assert_eq(tl_lab_model_pass(&alone, i, PACKET, NULL, 0).drop,
                     tl_lab_model_pass(&both, i, PACKET, NULL, 0).drop);
}

Test(lab_model, burst_loss_has_the_share_and_length_of_gilbert)
{
    struct tl_lab_model model = model_of("burst-loss=0.5%/25%");
    int lost = 0, bursts = 0, n = 400000;
    bool before = false;
    for (int i = 0; i < n; i++) {
        bool now = tl_lab_model_pass(&model, i, PACKET, NULL, 0).drop == TL_LAB_DROP_BURST;
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
        passed += tl_lab_model_pass(&model, i * TL_NS_PER_MS / 4, PACKET, NULL, 0).drop ==
                  TL_LAB_DROP_NONE;
    cr_assert(passed >= 999 && passed <= 1001, "%d", passed);
}

Test(lab_model, policer_does_not_delay)
{
    struct tl_lab_model model = model_of("policer=12M/15kB delay=3ms");
    cr_assert_eq(tl_lab_model_pass(&model, 77, PACKET, NULL, 0).depart_ns, 77 + 3 * TL_NS_PER_MS);
}

Test(lab_model, shaper_grants_its_burst_then_delays)
{
    struct tl_lab_model model = model_of("shaper=12M/30kB queue=1MB");
    for (int i = 0; i < 20; i++)
        cr_assert_eq(tl_lab_model_pass(&model, 0, PACKET, NULL, 0).depart_ns, 0);
    for (int i = 1; i <= 100; i++)
        cr_assert_eq(tl_lab_model_pass(&model, 0, PACKET, NULL, 0).depart_ns, i * TL_NS_PER_MS);
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
        int64_t depart = tl_lab_model_pass(&model, now, PACKET, NULL, 0).depart_ns;
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
        struct tl_lab_fate fate = tl_lab_model_pass(&model, i, PACKET, NULL, 0);
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
        struct tl_lab_fate fate = tl_lab_model_pass(&model, i, PACKET, NULL, 0);
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
    cr_assert_eq(tl_lab_model_pass(&model, 0, 1300, NULL, 0).drop, TL_LAB_DROP_NONE);
    cr_assert_eq(tl_lab_model_pass(&model, 0, 1301, NULL, 0).drop, TL_LAB_DROP_MAXLEN);
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
        cr_assert_eq(tl_lab_model_pass(&model, model.mark_ns + cases[i].at_ms * TL_NS_PER_MS,
                                       PACKET, NULL, 0)
                         .drop,
                     cases[i].drop, "%d ms", (int)cases[i].at_ms);
}

Test(lab_model, chance_does_not_depend_on_the_queue)
{
    struct tl_lab_model wide = model_of("loss=5%"), narrow = model_of("loss=5% rate=1M queue=3kB");
    for (int i = 0; i < 20000; i++) {
        bool lost = tl_lab_model_pass(&wide, i, PACKET, NULL, 0).drop == TL_LAB_DROP_LOSS;
        cr_assert_eq(lost, tl_lab_model_pass(&narrow, i, PACKET, NULL, 0).drop == TL_LAB_DROP_LOSS);
    }
}

/* Connection number i: hashes differ, near ports go up by one. */
static struct tl_lab_flow flow_of(int i)
{
    return (struct tl_lab_flow){.hash = (uint64_t)(i + 1) * UINT64_C(0x9e3779b97f4a7c15),
                                .near_port = (uint16_t)(40000 + i)};
}

/* What one connection gets through in a second while `flows` send 48 Mb/s each. */
static int passed_of_first(struct tl_lab_model *model, int flows)
{
    int passed = 0;
    for (int i = 0; i < 4000; i++)
        for (int f = 0; f < flows; f++) {
            struct tl_lab_flow flow = flow_of(f);
            struct tl_lab_fate fate =
                tl_lab_model_pass(model, i * TL_NS_PER_MS / 4, PACKET, &flow, 0);
            passed += f == 0 && fate.drop == TL_LAB_DROP_NONE;
        }
    return passed;
}

Test(lab_model, flow_policer_holds_each_connection)
{
    struct tl_lab_model one = model_of("flow-policer=12M/15kB"); /* one packet a ms */
    struct tl_lab_model many = model_of("flow-policer=12M/15kB");
    int alone = passed_of_first(&one, 1), among = passed_of_first(&many, 20);
    cr_assert(alone >= 1008 && alone <= 1010, "%d", alone); /* 10 of burst, 1000 - 1 by rate */
    cr_assert_eq(among, alone, "%d", among);
}

Test(lab_model, flow_shaper_delays_its_own_connection_only)
{
    struct tl_lab_model model = model_of("rate=1.2G flow-shaper=12M/1500 queue=30kB");
    struct tl_lab_flow slow = flow_of(0), other = flow_of(1);
    for (int i = 0; i < 15; i++) {
        struct tl_lab_fate fate = tl_lab_model_pass(&model, 0, PACKET, &slow, 0);
        cr_assert_eq(fate.drop, TL_LAB_DROP_NONE);
        cr_assert_float_eq((double)fate.depart_ns, i * 1e6, 20e3, "%d: %ld", i,
                           (long)fate.depart_ns);
    }
    struct tl_lab_fate fate = tl_lab_model_pass(&model, 0, PACKET, &other, 0);
    cr_assert_lt(fate.depart_ns, TL_NS_PER_MS, "the other one waits for nobody");
    for (int i = 0; i < 20; i++) /* its own queue has an end */
        fate = tl_lab_model_pass(&model, 0, PACKET, &slow, 0);
    cr_assert_eq(fate.drop, TL_LAB_DROP_QUEUE);
}

Test(lab_model, bad_member_takes_its_connections_only)
{
    struct tl_lab_model odd = model_of("port-loss=odd:50%"), hash = model_of("port-loss=1/4:100%");
    int bad = 0;
    for (int f = 0; f < 400; f++) {
        struct tl_lab_flow flow = flow_of(f);
        int lost = 0, lost_by_hash = 0;
        for (int i = 0; i < 50; i++) {
            lost += tl_lab_model_pass(&odd, i, PACKET, &flow, 0).drop == TL_LAB_DROP_MEMBER;
            lost_by_hash +=
                tl_lab_model_pass(&hash, i, PACKET, &flow, 0).drop == TL_LAB_DROP_MEMBER;
        }
        cr_assert(f % 2 ? lost > 5 : lost == 0, "port %d lost %d", flow.near_port, lost);
        cr_assert(lost_by_hash == 0 || lost_by_hash == 50, "%d", lost_by_hash);
        bad += lost_by_hash == 50;
    }
    cr_assert(bad > 60 && bad < 140, "%d of 400", bad);
}

Test(lab_model, cross_traffic_takes_its_share)
{
    struct tl_lab_model model = model_of("rate=100M delay=10ms cross=60M");
    int counts[TL_LAB_DROP_COUNT];
    pass_many(&model, 50000, TL_NS_PER_MS / 10, counts); /* 120 Mb/s for 5 s */
    double bps = counts[TL_LAB_DROP_NONE] * PACKET * 8 / 5.0;
    /* 180 Mb/s want 100: each gets a good part, how much depends on who finds room. */
    cr_assert(bps > 50e6 && bps < 90e6, "%.1f Mb/s", bps / 1e6);
}

Test(lab_model, cross_traffic_leaves_the_rest_free)
{
    struct tl_lab_model model = model_of("rate=100M delay=10ms cross=60M");
    int counts[TL_LAB_DROP_COUNT];
    pass_many(&model, 10000, TL_NS_PER_MS / 3, counts); /* 36 Mb/s */
    cr_assert_eq(counts[TL_LAB_DROP_NONE], 10000);
}

Test(lab_model, bursts_of_cross_traffic_come_and_go)
{
    struct tl_lab_model model = model_of("rate=100M queue=1MB cross=90M cross-burst=100ms/100ms");
    int waited = 0, n = 100000;
    for (int i = 0; i < n; i++) { /* small packets see whether the wire is taken */
        int64_t now = (int64_t)i * TL_NS_PER_MS / 10;
        waited += tl_lab_model_pass(&model, now, 100, NULL, 0).depart_ns > now + 8100;
    }
    double share = (double)waited / n; /* half of the time, 0.9 of the wire or a little more */
    cr_assert(share > 0.35 && share < 0.6, "%.2f", share);
}

Test(lab_model, cross_flows_fill_the_link)
{
    struct tl_lab_model model = model_of("rate=100M delay=10ms cross-flows=2");
    int64_t wait_ns = 0, n = 0;
    for (int64_t now = 0; now < 20 * TL_NS_PER_S; now += TL_NS_PER_MS) {
        int64_t left = tl_lab_model_pass(&model, now, 100, NULL, 0).depart_ns;
        if (now > 5 * TL_NS_PER_S && left > 0) {
            wait_ns += left - now - 10 * TL_NS_PER_MS;
            n++;
        }
    }
    /* A queue of one BDP (20 ms) stands between half full and full most of the time. */
    double mean_ms = (double)wait_ns / (double)n / 1e6;
    cr_assert(mean_ms > 6 && mean_ms < 20, "%.1f ms", mean_ms);
}

Test(lab_model, cross_traffic_survives_a_long_pause)
{
    struct tl_lab_model model = model_of("rate=1G cross=600M cross-burst=50ms/10ms cross-flows=2");
    tl_lab_model_pass(&model, 0, PACKET, NULL, 0);
    int64_t later = 1000 * TL_NS_PER_S;
    struct tl_lab_fate fate = tl_lab_model_pass(&model, later, PACKET, NULL, 0);
    cr_assert(fate.drop == TL_LAB_DROP_QUEUE || fate.depart_ns < later + TL_NS_PER_S);
}

Test(lab_model, delay_steps_at_its_time)
{
    struct tl_lab_model model = model_of("delay=10ms delay-step=5s:+30ms delay-step=8s:-20ms");
    const struct {
        int64_t at_s, delay_ms;
    } cases[] = {{0, 10}, {4, 10}, {5, 40}, {7, 40}, {9, 20}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t now = cases[i].at_s * TL_NS_PER_S;
        cr_assert_eq(tl_lab_model_pass(&model, now, PACKET, NULL, 0).depart_ns,
                     now + cases[i].delay_ms * TL_NS_PER_MS, "%d s", (int)cases[i].at_s);
    }
}

Test(lab_model, collisions_need_both_directions)
{
    struct tl_lab_model model = model_of("rate=12M collision=50% queue=100MB");
    int counts[TL_LAB_DROP_COUNT];
    pass_many(&model, 2000, 0, counts);
    cr_assert_eq(counts[TL_LAB_DROP_COLLISION], 0);
    model.other_free_ns = INT64_MAX;
    pass_many(&model, 2000, 0, counts);
    cr_assert(counts[TL_LAB_DROP_COLLISION] > 880 && counts[TL_LAB_DROP_COLLISION] < 1120, "%d",
              counts[TL_LAB_DROP_COLLISION]);
}

Test(lab_model, half_duplex_serves_both_directions_in_turn)
{
    struct tl_lab_model down = model_of("rate=12M half-duplex=on queue=4500"), up = down;
    _Atomic int64_t medium_free_ns = 0;
    down.medium_free_ns = up.medium_free_ns = &medium_free_ns;
    for (int i = 1; i <= 2; i++) { /* 1500 B take 1 ms */
        struct tl_lab_fate there = tl_lab_model_pass(&down, 0, PACKET, NULL, 0);
        struct tl_lab_fate back = tl_lab_model_pass(&up, 0, PACKET, NULL, 0);
        cr_assert_eq(there.depart_ns, (2 * i - 1) * TL_NS_PER_MS);
        if (i == 1)
            cr_assert_eq(back.depart_ns, 2 * TL_NS_PER_MS);
        else
            cr_assert_eq(back.drop, TL_LAB_DROP_QUEUE, "what waits for the other waits, too");
    }
    cr_assert_eq(tl_lab_model_pass(&up, 50 * TL_NS_PER_MS, PACKET, NULL, 0).depart_ns,
                 51 * TL_NS_PER_MS);
}

Test(lab_model, filtered_icmp_vanishes_alone)
{
    struct tl_lab_model model = model_of("delay=1ms");
    struct tl_lab_flow icmp = {.hash = 1, .is_icmp = true}, other = {.hash = 2};
    model.icmp_filtered = true;
    cr_assert_eq(tl_lab_model_pass(&model, 0, 84, &icmp, 0).drop, TL_LAB_DROP_ICMP);
    cr_assert_eq(tl_lab_model_pass(&model, 0, 84, &other, 0).drop, TL_LAB_DROP_NONE);
}

Test(lab_model, scattered_packets_overtake_and_jittered_ones_do_not)
{
    struct tl_lab_model scattered = model_of("delay=10ms scatter=2ms");
    struct tl_lab_model wandering = model_of("delay=10ms wander=3ms/2ms jitter=1ms");
    int64_t last = 0, last_wandering = 0;
    int overtaken = 0;
    for (int64_t i = 0; i < 10000; i++) {
        int64_t now = i * TL_NS_PER_MS / 10;
        int64_t depart = tl_lab_model_pass(&scattered, now, PACKET, NULL, 0).depart_ns;
        cr_assert(depart - now >= 10 * TL_NS_PER_MS && depart - now <= 12 * TL_NS_PER_MS);
        overtaken += depart < last;
        last = depart;
        depart = tl_lab_model_pass(&wandering, now, PACKET, NULL, 0).depart_ns;
        cr_assert_geq(depart, last_wandering);
        last_wandering = depart;
    }
    cr_assert(overtaken > 3000, "%d", overtaken);
}

Test(lab_model, dropouts_come_again_and_again)
{
    struct tl_lab_model model = model_of("dropout=5s/1500ms");
    model.mark_ns = 100 * TL_NS_PER_S;
    const struct {
        int64_t at_ms;
        bool down;
    } cases[] = {{0, false},    {1000, false}, {4999, false},  {5000, true},  {6499, true},
                 {6500, false}, {10001, true}, {11600, false}, {21499, true}, {21501, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_assert_eq(tl_lab_model_pass(&model, model.mark_ns + cases[i].at_ms * TL_NS_PER_MS,
                                       PACKET, NULL, 0)
                             .drop == TL_LAB_DROP_OUTAGE,
                     cases[i].down, "%d ms", (int)cases[i].at_ms);
}

/* A managed link behind a policer: what waits is told later, with delay and order. */
Test(lab_model, what_waits_is_told_by_serving)
{
    struct tl_lab_config config;
    struct tl_lab_model model;
    struct tl_error err = {0};
    tl_lab_config_init(&config);
    cr_assert_eq(tl_lab_config_parse("rate=12M delay=10ms aqm=pie policer=1G/15kB", &config, &err),
                 TL_OK, "%s", err.text);
    cr_assert_eq(tl_lab_model_init(&model, &config.link[TL_LAB_DOWN], 100000, 64, &err), TL_OK);
    int policed = 0;
    for (uint32_t i = 0; i < 12; i++) {
        struct tl_lab_fate fate = tl_lab_model_pass(&model, 0, PACKET, NULL, i);
        policed += fate.drop == TL_LAB_DROP_POLICER;
        cr_assert_eq(fate.waits, fate.drop == TL_LAB_DROP_NONE);
    }
    cr_assert_eq(policed, 2);
    struct tl_lab_fate fate;
    uint32_t ticket, len;
    for (uint32_t i = 0; i < 10; i++) {
        int64_t turn = tl_lab_model_next_ns(&model);
        cr_assert_eq(turn, i * TL_NS_PER_MS);
        cr_assert(tl_lab_model_serve(&model, turn, &ticket, &len, &fate));
        cr_assert(ticket == i && len == PACKET);
        cr_assert_eq(fate.depart_ns, (i + 11) * TL_NS_PER_MS);
        cr_assert_not(tl_lab_model_serve(&model, turn, &ticket, &len, &fate));
    }
    cr_assert_eq(tl_lab_model_next_ns(&model), INT64_MAX);
    tl_lab_model_finish(&model);
}

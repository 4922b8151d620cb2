/* The figures of the field's own records, 1998 to 2010 (satellites, campus and research networks,
 * first 10 Gb/s workstations), against the models in the formula language: where a model explains
 * a figure, within the share named; where it is only a bound, as a bound. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "formula.h"

static struct tl_arena arena;
static struct tl_formula_scope scope;
static struct tl_facts *facts;

static void set_up(void)
{
    memset(&scope, 0, sizeof scope);
    facts = tl_facts_create();
}

static void tear_down(void)
{
    tl_facts_destroy(facts);
    tl_arena_finish(&arena);
}

TestSuite(heritage, .init = set_up, .fini = tear_down);

static enum tl_status compile(const char *text, struct tl_formula *ret_formula)
{
    struct tl_error error = {.text = ""};
    return tl_formula_compile(&arena, &scope, false, text, strlen(text), ret_formula, &error);
}

static double evaluate(const char *text)
{
    static struct tl_formula_env env;
    struct tl_formula formula = {0};
    cr_assert_eq(compile(text, &formula), TL_OK, "%s", text);
    tl_formula_env_init(&env, &scope, facts, TL_DOWNLOAD);
    struct tl_value value = tl_formula_evaluate(&formula, &env);
    cr_assert(value.known, "%s is unknown", text);
    return value.number;
}

static void expect_near(const char *text, double published, double share)
{
    double number = evaluate(text);
    cr_expect(fabs(number - published) <= share * published, "%s = %.6g, published %.6g", text,
              number, published);
}

static void expect_between(const char *text, double low, double high)
{
    double number = evaluate(text);
    cr_expect(number >= low && number <= high, "%s = %.6g, not in %.6g to %.6g", text, number, low,
              high);
}

/* Models whose units do not fit are refused before they can be wrong by a factor of 8e9. */
Test(heritage, models_with_wrong_units_do_not_load)
{
    static const char *const wrong[] = {
        "64KiB / 600ms",  "8 * 64KiB / 600ms + 1Mbps", "bps(600ms, 64KiB)",
        "1448B * 10Mbps", "bytes(64KiB, 600ms)",       "ns(600ms, 1Mbps)",
        "sqrt(1448B)",    "pow(600ms, 0.75)",          "bps(64KiB, 600ms) + 600ms",
        "max(1Mbps, 1ms)"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct tl_formula formula;
        cr_expect_neq(compile(wrong[i], &formula), TL_OK, "%s passed", wrong[i]);
    }
}

/* Trans-Pacific, two satellites: 15 Mb/s through a gateway were "over 65 times more" than the far
 * hosts' static windows gave: 230 kb/s, a window of 32 KiB over two hops of 560 ms. */
Test(heritage, static_windows_over_two_satellites)
{
    expect_near("bps(32KiB, 2 * 560ms)", 15e6 / 65, 0.05);
}

/* ACTS: 520 Mb/s over 540 ms need 35 MB in flight, 536 times what a header without scaling says. */
Test(heritage, acts_needs_window_scaling)
{
    expect_near("bytes(520Mbps, 540ms)", 35.1e6, 0.01);
    expect_between("bytes(520Mbps, 540ms) / 65535B", 500, 560);
    /* Scale factor 10 is enough: 65535 x 2^10. */
    expect_between("bps(65535B * pow(2, 10), 540ms)", 622e6, 1e9);
}

/* Haystack to GGAO, 15 ms: the far window of 1 MiB allows 559 Mb/s if all of it is window; Linux
 * of 2002 kept up to half for overhead. 350 Mb/s were seen. The 4 MiB in the other direction and
 * MSS 4418 are no limit on a gigabit path. */
Test(heritage, evlbi_with_a_window_of_one_mebibyte)
{
    expect_near("bps(1MiB, 15ms)", 559e6, 0.01);
    expect_between("350Mbps / bps(1MiB, 15ms)", 0.5, 1);
    expect_between("bps(4MiB, 15ms)", 1e9, 3e9);
}

/* ATM OC-12c, 1998, MTU 9180: 416 Mb/s of 622 with processors at 77 and 85 %. The processor rung
 * (rate over share) of the busier end stands below the link's payload rate of 542 Mb/s. */
Test(heritage, processors_near_their_limit)
{
    expect_near("416Mbps / 0.85", 489e6, 0.01);
    expect_near("416Mbps / 0.77", 540e6, 0.01);
    cr_expect_lt(evaluate("416Mbps / 0.85"), 542e6);
}

/* Campus backbone: 300 Mb/s with 1500 bytes, about three times as much with 9000. A cost of 30.7 us
 * a packet and 5.45 ns a byte makes both; per packet alone would make six times, per byte alone
 * nothing. */
#define CPU(payload) "bps(" payload ", 30.7us + " payload " / 1B * 5.45ns)"
Test(heritage, jumbo_frames_where_the_processor_limits)
{
    expect_near(CPU("1448B"), 300e6, 0.01);
    expect_near(CPU("8948B"), 900e6, 0.01);
    expect_near(CPU("8948B") " / (" CPU("1448B") ")", 3, 0.02);
    expect_near("bps(8948B, 30.7us) / bps(1448B, 30.7us)", 6.18, 0.01);
    /* PC cluster: 500 to 850 Mb/s by coalescing and jumbo frames: within what six times fewer
     * packets can bring. */
    expect_between("850Mbps / 500Mbps", 1, 3);
}

/* Abilene OC-3, window 512.5 KB: 83 Mb/s are that window over 51 ms. With 0.11 % of loss the square
 * root model gives 8.6 Mb/s, 10.1 were seen; 19 sockets cannot get more than 19 times that nor more
 * than the link, and got 40.7; a sender that does not heed loss 63.9. */
#define RENO(loss) "bps(1460B, 51ms) * 1.22 / sqrt(" loss ")"
Test(heritage, one_stream_under_loss_and_nineteen)
{
    expect_near("ns(512.5kB, 83Mbps)", 49.4e6, 0.01);
    expect_near(RENO("0.0011"), 10.1e6, 0.20);
    expect_between("19 * " RENO("0.0011"), 40.7e6, 2e8);
    cr_expect_gt(63.9e6, 4 * evaluate(RENO("0.0011")));
}

/* Trans-Atlantic OC-3: 0.01 and 2.3 % of loss, 58 and 14.9 Mb/s: the ratio of rates is far from
 * that of losses, because the root flattens it (15 times) and sockets add up. */
Test(heritage, loss_acts_by_its_square_root)
{
    expect_near("sqrt(0.023 / 0.0001)", 15.2, 0.01);
    expect_near("(" RENO("0.0001") ") / (" RENO("0.023") ")", 15.2, 0.01);
}

/* WAN service level: loss < 1e-7, RTT < 100 ms, MTU 9000. One Reno stream gets 2.8 Gb/s there, and
 * 450 Mb/s with 1500; 1 Gb/s over 100 ms with 1500 bytes wants one loss in 152 million packets. */
Test(heritage, what_a_service_level_carries)
{
    expect_near("bps(8948B, 100ms) * 1.22 / sqrt(1e-7)", 2.76e9, 0.01);
    expect_near("bps(1448B, 100ms) * 1.22 / sqrt(1e-7)", 447e6, 0.01);
    expect_near("pow(bytes(1Gbps, 100ms) / (0.7 * 1448B), 2)", 152e6, 0.01);
}

/* RFC 6928, section 1 and appendix A: ten segments at once, doubled each round trip: 10, 30, 70,
 * 150. With an acknowledgement for every second segment it grows by 1.5 (Allman, Paxson, Stevens,
 * RFC 2581 era): 10, 25, 47.5. The satellite's 2.25 MB take 7.3 round trips, with delayed ones
 * 12.4. */
#define SENT(n) "10 * (pow(2, " n ") - 1)"
Test(heritage, slow_start_from_ten_segments)
{
    expect_near(SENT("1"), 10, 1e-9);
    expect_near(SENT("3"), 70, 1e-9);
    expect_near(SENT("4"), 150, 1e-9);
    expect_near("10 * (pow(1.5, 3) - 1) / 0.5", 47.5, 1e-9);
    expect_near("10 * pow(2, 7.28)", 1554, 0.01);
    expect_near("bytes(30Mbps, 600ms) / 1448B", 1554, 0.001);
    expect_near("10 * pow(1.5, 12.44)", 1554, 0.01);
}

/* A link bundle of 4 x 10 Gb/s: 31.6 Gb/s by the kernel's hashing, 39.5 with one set of flows for
 * each: 80 %, which is what 4 flows over 4 links cannot do better than by chance (1 - (3/4)^4 = 68
 * % of the links in use) and many flows can. */
Test(heritage, uneven_hashing_of_a_bundle)
{
    expect_near("31.6 / 39.5", 0.80, 0.01);
    expect_near("1 - pow(3 / 4, 4)", 0.684, 0.01);
}

/* Small files: 10 kB each with two round trips of 30 ms over 1 Gb/s go at 1.33 Mb/s; the line's
 * rate hardly counts, the number of round trips does. */
Test(heritage, small_files)
{
    expect_near("bps(10kB, ns(10kB, 1Gbps) + 2 * 30ms)", 1.33e6, 0.01);
    expect_near("bps(10kB, ns(10kB, 10Gbps) + 2 * 30ms) / bps(10kB, ns(10kB, 1Gbps) + 2 * 30ms)", 1,
                0.01);
    expect_near("bps(10kB, ns(10kB, 1Gbps) + 1 * 30ms) / bps(10kB, ns(10kB, 1Gbps) + 2 * 30ms)", 2,
                0.01);
}

/* Two Reno streams at one queue lose alike, so their rates are as the inverse round trips; CUBIC's
 * response (RFC 9438, section 5.2) makes it the power of -1/4: ten times the round trip costs ten
 * times or 1.8 times. */
Test(heritage, fairness_between_round_trips)
{
    expect_near("(bps(1448B, 20ms) / sqrt(1e-4)) / (bps(1448B, 200ms) / sqrt(1e-4))", 10, 1e-6);
    expect_near("(pow(20ms / 1s, 0.75) * bps(1448B, 20ms)) / "
                "(pow(200ms / 1s, 0.75) * bps(1448B, 200ms))",
                1.778, 0.01);
}

/* Share of payload, from the layers' own standards: 1500 without timestamps 949 Mb/s of a gigabit,
 * with 802.1Q 938 with timestamps, IPv6 928, in WireGuard (60 bytes more) 1420. */
Test(heritage, payload_by_mtu_and_options)
{
    expect_near("1Gbps * (1460B / 1538B)", 949.3e6, 0.001);
    expect_near("1Gbps * (1448B / 1542B)", 939.0e6, 0.001);
    expect_near("1Gbps * (1428B / 1538B)", 928.5e6, 0.001);
    expect_near("1Gbps * ((1420B - 52B) / (1480B + 38B))", 901.2e6, 0.001);
}

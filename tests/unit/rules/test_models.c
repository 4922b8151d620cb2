/* The formula language against published numbers: what the models of the field say for figures
 * that were printed or measured by others. Each test names its source, and those of the satellite
 * of 2000 say which of its figures a window over a round-trip time does not explain. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "formula.h"
#include "tightlink/base/random.h"

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

TestSuite(models, .init = set_up, .fini = tear_down);

static double evaluate(const char *text)
{
    static struct tl_formula_env env;
    struct tl_formula formula = {0};
    struct tl_error error = {.text = ""};
    cr_assert_eq(tl_formula_compile(&arena, &scope, false, text, strlen(text), &formula, &error),
                 TL_OK, "%s: %s", text, error.text);
    tl_formula_env_init(&env, &scope, facts, TL_DOWNLOAD);
    struct tl_value value = tl_formula_evaluate(&formula, &env);
    cr_assert(value.known, "%s is unknown", text);
    return value.number;
}

/* Within a share of what was published. */
static void expect_near(const char *text, double published, double share)
{
    double number = evaluate(text);
    cr_expect(fabs(number - published) <= share * published, "%s = %.6g, published %.6g", text,
              number, published);
}

/* Satellite of 2000, round trip about 600 ms: 118, 646 and 2800 kb/s were measured with windows
 * of 8, 64 and 500 KB. The window explains the first. The others stay below their ceilings (74
 * and 41 %): there a window is an upper bound and the loss or the splitter is not in the record. */
Test(models, windows_over_a_satellite)
{
    expect_near("bps(8KiB, 600ms)", 118e3, 0.10);
    cr_expect_gt(evaluate("bps(64KiB, 600ms)"), 646e3);
    cr_expect_gt(evaluate("bps(500KiB, 600ms)"), 2.8e6);
    expect_near("646kbps / bps(64KiB, 600ms)", 0.74, 0.01);
    expect_near("2800kbps / bps(500KiB, 600ms)", 0.41, 0.01);
}

/* ACTS: 622 Mb/s over 540 ms are 42 MB. RFC 1323, section 1.1: without scaling a window ends at
 * 64 KiB, so this path stayed below 1 Mb/s. */
Test(models, bandwidth_delay_products)
{
    expect_near("bytes(622Mbps, 540ms)", 42e6, 0.01);
    cr_expect_lt(evaluate("bps(65535B, 540ms)"), 1e6);
}

/* Mathis, Semke, Mahdavi, Ott 1997: W = C / sqrt(p). RFC 3649, section 1: 10 Gb/s over 100 ms in
 * packets of 1500 bytes is a window of 83,333, at one loss in 5,000,000,000 packets. */
Test(models, square_root_of_loss)
{
    expect_near("bytes(10Gbps, 100ms) / 1500B", 83333, 0.001);
    expect_near("1.2 / sqrt(2e-10)", 83333, 0.02);
    /* RFC 3649, table 5, Reno at p = 1e-2 to 1e-8: 12, 38, 120, 379, 1200, 3795, 12000 */
    expect_near("1.2 / sqrt(1e-2)", 12, 0.01);
    expect_near("1.2 / sqrt(1e-3)", 38, 0.01);
    expect_near("1.2 / sqrt(1e-5)", 379, 0.01);
    expect_near("1.2 / sqrt(1e-8)", 12000, 0.01);
}

/* RFC 9438, section 5.2 and table 1: CUBIC with C = 0.4, beta = 0.7 over 100 ms. */
Test(models, response_of_cubic)
{
    expect_near("pow(0.4 * 3.7 / 1.2, 0.25) * pow(100ms / 1s, 0.75) / pow(1e-4, 0.75)", 187, 0.01);
    expect_near("pow(0.4 * 3.7 / 1.2, 0.25) * pow(100ms / 1s, 0.75) / pow(1e-5, 0.75)", 1054, 0.01);
    expect_near("pow(0.4 * 3.7 / 1.2, 0.25) * pow(100ms / 1s, 0.75) / pow(1e-6, 0.75)", 5926, 0.01);
    expect_near("pow(0.4 * 3.7 / 1.2, 0.25) * pow(100ms / 1s, 0.75) / pow(1e-8, 0.75)", 187400,
                0.01);
}

/* Padhye, Firoiu, Towsley, Kurose 1998, eq. 30, goes over into the square root as p goes to 0
 * (b = 2: sqrt(3 / 4p)), and lies far below it where timeouts rule. */
#define PFTK(p)                                                                                    \
    "1 / (sqrt(4 * " p " / 3) + 4 * min(1, 3 * sqrt(3 * " p " / 4)) * " p " * (1 + 32 * " p        \
    " * " p "))"
Test(models, timeouts_of_reno)
{
    double rare = evaluate(PFTK("1e-8")), heavy = evaluate(PFTK("0.1"));
    cr_expect_float_eq(rare / evaluate("sqrt(0.75 / 1e-8)"), 1, 0.01, "%g", rare);
    cr_expect_lt(heavy, 0.6 * evaluate("sqrt(0.75 / 0.1)"));
}

/* Gigabit Ethernet carries 941 Mb/s of TCP payload with timestamps at 1500 bytes and 990 at 9000:
 * 38 bytes of framing, 40 of headers, 12 of options. */
Test(models, share_of_payload)
{
    expect_near("1Gbps * ((1500B - 52B) / (1500B + 38B))", 941e6, 0.001);
    expect_near("1Gbps * ((9000B - 52B) / (9000B + 38B))", 990e6, 0.001);
}

/* N equal connections that each follow the square root get N times as much until the path is
 * full; over twice the round-trip time one gets half. */
Test(models, streams_and_round_trips)
{
    double one = evaluate("bps(1448B, 80ms) * 1.22 / sqrt(0.0001)");
    cr_expect_float_eq(evaluate("min(8 * bps(1448B, 80ms) * 1.22 / sqrt(0.0001), 1Gbps)") / one, 8,
                       1e-9);
    cr_expect_float_eq(evaluate("bps(1448B, 160ms) * 1.22 / sqrt(0.0001)") / one, 0.5, 1e-9);
}

/* A bucket of 10 MB before 100 Mb/s, fed with 1 Gb/s: full rate for 10 MB / 900 Mb/s = 88.9 ms. */
Test(models, a_token_bucket)
{
    expect_near("ns(10MB, 1Gbps - 100Mbps)", 88.9e6, 0.001);
}

/* Packets of eight Reno flows under independent loss, a round trip at a time, in steady state. */
struct chance_run {
    double packets, events;
};

static struct chance_run run_flows(struct tl_random *rng, double p, int rounds)
{
    struct chance_run run = {0};
    for (int flow = 0; flow < 8; flow++) {
        double window = 1.3 / sqrt(p);
        for (int round = -2 * rounds; round < rounds; round++) {
            bool lost = tl_random_unit(rng) > pow(1 - p, window);
            run.packets += round >= 0 ? window : 0;
            run.events += round >= 0 && lost;
            window = lost ? fmax(window / 2, 2) : window + 1;
        }
    }
    return run;
}

/* What the rules say of a trial under random loss: eight streams that met n loss events are
 * followed by eight others, and the range of n n / (n + n) events holds those 95 times in 100;
 * that of n events, the first ones' chance alone, does not. The formulas are the rules' own. */
Test(models, the_chance_of_a_trial_counts_like_that_of_the_measurement)
{
    enum { TRIES = 400 };
    static const struct {
        double p;
        int rounds;
    } paths[] = {{0.005, 200}, {0.002, 200}, {0.002, 400}};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct tl_random rng;
        int both = 0, one = 0;
        tl_random_seed(&rng, 11 + i);
        for (int try = 0; try < TRIES; try++) {
            struct chance_run first = run_flows(&rng, paths[i].p, paths[i].rounds),
                              trial = run_flows(&rng, paths[i].p, paths[i].rounds);
            for (int sides = 1; sides <= 2; sides++) {
                double n = first.events / sides,
                       many =
                           (n + 1) / n * pow(1 - 1 / (9 * (n + 1)) + 1.96 / (3 * sqrt(n + 1)), 3),
                       few = pow(1 - 1 / (9 * n) - 1.96 / (3 * sqrt(n)), 3);
                bool inside = trial.packets >= first.packets / sqrt(many) &&
                              trial.packets <= first.packets / sqrt(few);
                *(sides == 1 ? &one : &both) += inside;
            }
        }
        cr_expect(both >= 0.93 * TRIES, "p %g: %d of %d inside", paths[i].p, both, TRIES);
        cr_expect(one < 0.93 * TRIES, "p %g: %d of %d by one side's chance alone", paths[i].p, one,
                  TRIES);
    }
}

/* Formulas: numbers, units, errors that name the place, unknown instead of wrong. */
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
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), 25.3e6, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, rtt_min_ns), 50.1e6, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, snd_wnd_max_bytes), 162432, "");
    tl_facts_set_range(facts, TL_FLOW(TL_DOWNLOAD, retrans_ratio), 0.001, 0.0004, 0.002, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, retrans_count), 17, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, segments_count), 17000, "");
    tl_facts_set_number(facts, TL_NEAR(tcp_rmem_max_bytes), 262144, "");
    tl_facts_set_text(facts, TL_FLOW(TL_DOWNLOAD, cc), "cubic", "");
    tl_facts_set_bool(facts, TL_FLOW(TL_DOWNLOAD, sack_ok), true, "");
}

static void tear_down(void)
{
    tl_facts_destroy(facts);
    tl_arena_finish(&arena);
}

TestSuite(formula, .init = set_up, .fini = tear_down);

static struct tl_formula compile(const char *text)
{
    struct tl_formula formula = {0};
    struct tl_error error = {.text = ""};
    enum tl_status status =
        tl_formula_compile(&arena, &scope, false, text, strlen(text), &formula, &error);
    cr_assert_eq(status, TL_OK, "%s: %s", text, error.text);
    return formula;
}

static struct tl_value evaluate(const char *text)
{
    static struct tl_formula_env env;
    struct tl_formula formula = compile(text);
    tl_formula_env_init(&env, &scope, facts, TL_DOWNLOAD);
    return tl_formula_evaluate(&formula, &env);
}

static double doubt(const char *text)
{
    static struct tl_formula_env env;
    struct tl_formula formula = compile(text);
    tl_formula_env_init(&env, &scope, facts, TL_DOWNLOAD);
    return tl_formula_doubt(&formula, &env);
}

Test(formula, doubt_is_what_bounds_move_the_value_by)
{
    tl_facts_set_range(facts, TL_FLOW(TL_DOWNLOAD, rtt_mean_ns), 50e6, 47e6, 53e6, "");
    tl_facts_set_range(facts, TL_FLOW(TL_DOWNLOAD, rtt_max_ns), 60e6, 56e6, 64e6, "");
    cr_expect_eq(doubt("flow.goodput_bps"), 0);
    cr_expect_float_eq(doubt("2 * flow.retrans_ratio"), 0.0016, 1e-12);
    cr_expect_float_eq(doubt("flow.rtt_mean_ns - flow.rtt_max_ns"), 5e6, 1e-3,
                       "3 and 4, as independent errors add");
    cr_expect_float_eq(doubt("flow.rtt_mean_ns - flow.rtt_mean_ns"), 0, 1e-9);
}

static void expect_number(const char *text, double number)
{
    struct tl_value value = evaluate(text);
    cr_expect(value.known, "%s is unknown", text);
    cr_expect(fabs(value.number - number) <= 1e-9 * fabs(number), "%s = %.17g, expected %.17g",
              text, value.number, number);
}

static void expect_error(const char *text, enum tl_status status, const char *part)
{
    struct tl_formula formula = {0};
    struct tl_error error = {.text = ""};
    enum tl_status got =
        tl_formula_compile(&arena, &scope, false, text, strlen(text), &formula, &error);
    cr_expect_eq(got, status, "%s: %s, %s", text, tl_status_name(got), error.text);
    cr_expect(strstr(error.text, part), "\"%s\" lacks \"%s\"", error.text, part);
    cr_expect_null(formula.code, "the output was touched");
}

Test(formula, calculates_with_precedence_and_parentheses)
{
    expect_number("1 + 2 * 3", 7);
    expect_number("(1 + 2) * 3", 9);
    expect_number("10 - 4 - 3", 3);
    expect_number("16 / 4 / 2", 2);
    expect_number("-2 * -3", 6);
    expect_number("1e3 + 2.5", 1002.5);
}

Test(formula, reads_literals_with_units)
{
    expect_number("512KiB", 524288);
    expect_number("65535B", 65535);
    expect_number("1MB", 1e6);
    expect_number("10ms", 1e7);
    expect_number("1s", 1e9);
    expect_number("40Mbps", 4e7);
    expect_number("95%", 0.95);
    cr_expect_eq(compile("512KiB").unit, TL_UNIT_BYTES);
    cr_expect_eq(compile("10ms").unit, TL_UNIT_NS);
    cr_expect_eq(compile("40Mbps").unit, TL_UNIT_BPS);
    cr_expect_eq(compile("95%").unit, TL_UNIT_RATIO);
}

Test(formula, converts_between_amount_rate_and_time)
{
    expect_number("bps(125000B, 1s)", 1e6);
    expect_number("bytes(1Mbps, 1s)", 125000);
    expect_number("ns(125000B, 1Mbps)", 1e9);
    expect_number("bps(flow.snd_wnd_max_bytes, flow.rtt_min_ns)", 162432 * 8e9 / 50.1e6);
}

Test(formula, binds_roles_by_direction)
{
    expect_number("receiver.tcp_rmem_max_bytes", 262144);
    cr_expect_not(evaluate("sender.tcp_rmem_max_bytes").known);
}

Test(formula, has_roots_powers_and_extremes)
{
    expect_number("sqrt(2)", sqrt(2));
    expect_number("cbrt(27)", 3);
    expect_number("pow(2, 0.75)", pow(2, 0.75));
    expect_number("min(3, 1, 2)", 1);
    expect_number("max(3, 1, 2)", 3);
    expect_number("pow2ceil(65536)", 65536);
    expect_number("pow2ceil(65537)", 131072);
    expect_number("low(flow.retrans_ratio)", 0.0004);
    expect_number("high(flow.retrans_ratio)", 0.002);
}

/* RFC 9438, equation 5 with C = 0.4 and beta = 0.7: (C (3 + beta) / (4 (1 - beta)))^(1/4) = 1.0538;
 * equation 1 of Mathis et al. 1997 with C = sqrt(3/2). */
Test(formula, knows_the_constants_of_the_loss_models)
{
    expect_number("pow(0.4 * (3 + 0.7) / (4 * (1 - 0.7)), 0.25)", 1.0538289313722502);
    struct tl_value reno = evaluate("sqrt(3 / 2)");
    cr_expect_float_eq(reno.number, 1.2247, 1e-4);
}

Test(formula, keeps_track_of_units)
{
    cr_expect_eq(compile("flow.goodput_bps / 40Mbps").unit, TL_UNIT_NUMBER);
    cr_expect_eq(compile("0.5 * flow.goodput_bps").unit, TL_UNIT_BPS);
    cr_expect_eq(compile("flow.goodput_bps / 2").unit, TL_UNIT_BPS);
    cr_expect_eq(compile("flow.retrans_ratio * flow.segments_count").unit, TL_UNIT_COUNT);
    cr_expect_eq(compile("flow.retrans_count / flow.segments_count").unit, TL_UNIT_NUMBER);
    cr_expect_eq(compile("1 - flow.retrans_ratio").unit, TL_UNIT_RATIO);
}

Test(formula, refuses_units_that_do_not_go_together_and_names_the_place)
{
    expect_error("flow.goodput_bps * flow.rtt_min_ns", TL_SYNTAX, "column 18");
    expect_error("flow.goodput_bps * flow.rtt_min_ns", TL_SYNTAX, "use bytes(bps, ns)");
    expect_error("flow.snd_wnd_max_bytes / flow.rtt_min_ns", TL_SYNTAX, "use bps(bytes, ns)");
    expect_error("flow.snd_wnd_max_bytes / flow.goodput_bps", TL_SYNTAX, "use ns(bytes, bps)");
    expect_error("flow.goodput_bps + flow.rtt_min_ns", TL_SYNTAX, "bps plus ns");
    expect_error("flow.retrans_ratio - flow.retrans_count", TL_SYNTAX, "minus");
    expect_error("max(1s, 3B)", TL_SYNTAX, "max() mixes");
    expect_error("sqrt(flow.goodput_bps)", TL_SYNTAX, "without unit");
    expect_error("bps(1s, 1B)", TL_SYNTAX, "bps() needs bytes");
    expect_error("1 / 1s", TL_SYNTAX, "divided by");
    expect_error("flow.cc * 2", TL_SYNTAX, "only numbers");
    expect_error("flow.sack_ok + 1", TL_SYNTAX, "has no meaning");
    expect_error("-flow.cc", TL_SYNTAX, "sign");
    expect_error("low(flow.cc)", TL_SYNTAX, "bounds");
}

Test(formula, refuses_what_is_no_formula)
{
    expect_error("", TL_SYNTAX, "ends where");
    expect_error("1 +", TL_SYNTAX, "ends where");
    expect_error("(1", TL_SYNTAX, "\")\" expected");
    expect_error("1 2", TL_SYNTAX, "nothing more");
    expect_error("1..2", TL_SYNTAX, "column");
    expect_error("0x10", TL_UNKNOWN, "unit \"x\"");
    expect_error("inf", TL_UNKNOWN, "no function and no name");
    expect_error("3parsec", TL_UNKNOWN, "parsec");
    expect_error("1e999", TL_RANGE, "too large");
    expect_error("6e300s", TL_RANGE, "too large"); /* finite, but for its unit */
    expect_error("nope(1)", TL_UNKNOWN, "no function");
    expect_error("sqrt(1, 2)", TL_SYNTAX, "no more than 1");
    expect_error("min(1)", TL_SYNTAX, "takes 2");
    expect_error("flow.nope", TL_UNKNOWN, "there is no fact \"flow.nope\"");
    expect_error("near.tcp_rmem_max_bytes", TL_UNKNOWN, "there is no fact");
    expect_error("low(1)", TL_SYNTAX, "takes one fact");
    expect_error("ceiling", TL_UNKNOWN, "only after judging");
    expect_error("1 \x01", TL_SYNTAX, "nothing more");
}

Test(formula, is_unknown_instead_of_wrong)
{
    struct tl_value value = evaluate("1 / 0");
    cr_expect_not(value.known);
    cr_expect_str_eq(value.problem, "division by zero");
    cr_expect_not(evaluate("sqrt(-1)").known);
    cr_expect_not(evaluate("pow(-1, 0.5)").known);
    cr_expect_not(evaluate("1e308 * 1e308").known);
    cr_expect_not(evaluate("bps(1B, 0 * 1s)").known);
    cr_expect_not(evaluate("flow.retrans_count / (flow.segments_count - 17000)").known);
    cr_expect_eq(evaluate("1 / 0").missing, 0, "nothing is missing that could be measured");
}

Test(formula, names_all_missing_facts)
{
    struct tl_value value =
        evaluate("flow.goodput_bps / flow.streams_goodput_bps + 1s / flow.rtt_mean_ns");
    cr_expect_not(value.known);
    tl_fact_set expected = 0;
    for (size_t i = 0; i < scope.fact_count; i++)
        if (strcmp(scope.fact_ids[i], "flow.goodput_bps") != 0)
            expected |= TL_FACT_BIT(i);
    cr_expect_eq(value.missing, expected);
}

Test(formula, takes_the_first_that_is_known)
{
    expect_number("first(flow.streams_goodput_bps, flow.goodput_bps)", 25.3e6);
    expect_number("first(flow.goodput_bps, flow.streams_goodput_bps)", 25.3e6);
    expect_number("first(flow.sender_softirq_ratio, 0)", 0);
    cr_expect_not(evaluate("first(flow.streams_goodput_bps, flow.window_goodput_bps)").known);
}

/* A number of the rule in place of a fact that nobody measured is no evidence. */
Test(formula, tells_what_was_assumed)
{
    cr_expect(evaluate("if_known(flow.dsack_count, 5)").is_assumed);
    cr_expect(evaluate("2 * if_known(flow.dsack_count, 5) + 1").is_assumed);
    cr_expect_not(evaluate("if_known(flow.retrans_count, 5)").is_assumed);
    cr_expect_not(evaluate("if_known(flow.dsack_count, flow.retrans_count)").is_assumed,
                  "another fact says it, too");
    cr_expect_not(evaluate("5").is_assumed);
}

Test(formula, keeps_its_limits)
{
    char text[4096];
    memset(text, '(', sizeof text);
    expect_error(tl_arena_copy(&arena, text, 200), TL_LIMIT, "nested deeper");
    memset(text, '-', sizeof text);
    expect_error(tl_arena_copy(&arena, text, 200), TL_LIMIT, "nested deeper");
    text[0] = '\0';
    while (strlen(text) < 1500)
        strcat(text, "1+");
    strcat(text, "1");
    expect_error(text, TL_LIMIT, "longer than");
    memset(text, '1', sizeof text);
    expect_error(tl_arena_copy(&arena, text, 3000), TL_LIMIT, "characters");
    expect_error(tl_arena_copy(&arena, text, 100), TL_SYNTAX, "a number of more than");
}

Test(formula, says_what_an_unknown_value_means)
{
    expect_number("if_known(flow.retrans_count, 5)", 17);
    expect_number("if_known(flow.dsack_count, 5)", 5);
    expect_number("if_known(flow.cc, 1Mbps, 2Mbps)", 1e6);
    expect_number("if_known(flow.dsack_count, 1Mbps, 2Mbps)", 2e6);
    expect_number("when_known(flow.cc, 0)", 0);
    expect_number("max_known(flow.dsack_count, 3, flow.retrans_count)", 17);
    expect_number("max_known(flow.dsack_count, -3)", -3);
    cr_expect_not(evaluate("when_known(flow.dsack_count, 0)").known);
    cr_expect_not(evaluate("max_known(flow.dsack_count, flow.reord_seen_count)").known);
    expect_error("if_known(flow.retrans_count, 1Mbps)", TL_SYNTAX, "mixes count and bps");
    expect_error("if_known(flow.cc, 1Mbps, 1ms)", TL_SYNTAX, "mixes bps and ns");
    expect_error("if_known(flow.retrans_count)", TL_SYNTAX, "takes 2 arguments");
}

/* The first argument decides nothing but which of the others counts: what is missing is named. */
Test(formula, names_what_is_missing_behind_a_choice)
{
    static struct tl_formula_env env;
    struct tl_formula formula = compile("if_known(flow.dsack_count, 1, flow.reord_seen_count)");
    tl_formula_env_init(&env, &scope, facts, TL_DOWNLOAD);
    struct tl_value value = tl_formula_evaluate(&formula, &env);
    cr_expect_not(value.known);
    cr_expect_eq(value.missing, 3, "both facts would decide");
}

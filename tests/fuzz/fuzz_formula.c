/* Fuzz target: formulas of rules. One that is taken is evaluated over facts that are known, over
 * facts at the edges of what a double holds, and over none: a number comes out, or unknown with a
 * reason, never NaN, and the same each time. */
#include <math.h>
#include <string.h>

#include "formula.h"
#include "fuzz.h"

unsigned long fuzz_accepted;

static struct tl_facts *facts_of(double rate, double time, double count)
{
    struct tl_facts *facts = tl_facts_create();
    MUST(facts);
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), rate, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, rtt_min_ns), time, "");
    tl_facts_set_range(facts, TL_FLOW(TL_DOWNLOAD, retrans_ratio), 0.001, 0, 1, "");
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, segments_count), count, "");
    tl_facts_set_text(facts, TL_FLOW(TL_DOWNLOAD, cc), "cubic", "");
    tl_facts_set_bool(facts, TL_FLOW(TL_DOWNLOAD, sack_ok), true, "");
    return facts;
}

/* results: it may name what judging has not brought yet, which is unknown without a reason. */
static void evaluate(const struct tl_formula *formula, const struct tl_formula_scope *scope,
                     const struct tl_facts *facts, bool results)
{
    static struct tl_formula_env env;
    tl_formula_env_init(&env, scope, facts, TL_DOWNLOAD);
    struct tl_value value = tl_formula_evaluate(formula, &env);
    struct tl_value again = tl_formula_evaluate(formula, &env);
    if (!value.known) {
        MUST(value.missing || value.problem || results);
        MUST(!again.known);
        return;
    }
    MUST(value.missing == 0);
    MUST(value.text || isfinite(value.number));
    MUST(again.known && (value.text || again.number == value.number));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tl_formula_scope scope;
    static struct tl_facts *facts[3];
    if (!facts[0]) {
        facts[0] = tl_facts_create();
        facts[1] = facts_of(25.3e6, 50.1e6, 17000);
        facts[2] = facts_of(1.7e308, 5e-324, 0);
    }
    struct tl_arena arena = {0};
    struct tl_formula formula = {0};
    struct tl_error error = {0};
    char *text = malloc(size ? size : 1); /* so that a sanitizer sees one byte too many */
    MUST(text);
    memcpy(text, data, size);
    memset(&scope, 0, sizeof scope);
    if (tl_formula_compile(&arena, &scope, size & 1, text, size, &formula, &error) != TL_OK) {
        MUST(error.text[0] && !formula.code);
    } else {
        for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
            evaluate(&formula, &scope, facts[i], size & 1);
        fuzz_accepted++;
    }
    tl_arena_finish(&arena);
    free(text);
    return 0;
}

static const char *const seeds[] = {
    "2 * flow.goodput_bps",
    "bps(bytes(flow.goodput_bps, flow.rtt_min_ns), flow.rtt_min_ns) - 40Mbps",
    "low(flow.retrans_ratio) + 96% / max(1, flow.segments_count)",
    "if_known(flow.sack_ok, sqrt(flow.retrans_ratio), cbrt(-flow.retrans_ratio))",
    "when_known(flow.segments_count, bps(pow2ceil(512KiB), 10ms))",
    "min(flow.goodput_bps, first(receiver.link_speed_bps, 1Mbps))",
};
const unsigned fuzz_seed_count = sizeof seeds / sizeof *seeds;

size_t fuzz_seed(unsigned number, uint8_t *bytes)
{
    memcpy(bytes, seeds[number], strlen(seeds[number]));
    return strlen(seeds[number]);
}

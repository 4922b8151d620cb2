/* How long judging takes: all built-in rules, both directions, over the facts of a full path.
 * Prints the median of many runs; the target is 10 ms. */
#include <math.h>
#include <stdio.h>

#include "tightlink/base/stats.h"
#include "tightlink/base/time.h"
#include "tightlink/rules/rules.h"

#define RUNS 501

/* Every number known: no rule ends early. */
static struct tl_facts *all_known(void)
{
    struct tl_facts *facts = tl_facts_create();
    for (int i = 0; facts && i < TL_FACT_COUNT; i++) {
        const struct tl_fact_def *def = tl_fact_def((enum tl_fact_name)i);
        for (int scope = TL_SCOPE_NEAR; scope < TL_SCOPE_COUNT; scope++) {
            enum tl_subject subject = scope <= TL_SCOPE_FAR    ? TL_SUBJECT_HOST
                                      : scope == TL_SCOPE_PATH ? TL_SUBJECT_PATH
                                                               : TL_SUBJECT_FLOW;
            if (def->subject != subject)
                continue;
            struct tl_fact_key key = TL_KEY((enum tl_scope)scope, (enum tl_fact_name)i);
            if (def->unit == TL_UNIT_TEXT)
                tl_facts_set_text(facts, key, "cubic", "");
            else if (def->unit == TL_UNIT_BOOL)
                tl_facts_set_bool(facts, key, true, "");
            else
                tl_facts_set_number(facts, key, def->unit == TL_UNIT_NS ? 5e9 : 0.5, "");
        }
    }
    return facts;
}

int main(void)
{
    static int64_t took[RUNS];
    struct tl_rules *rules = NULL;
    struct tl_error error = {.text = ""};
    int64_t start = tl_now_ns();
    if (tl_rules_load_builtin(&rules, &error) != TL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    int64_t load = tl_now_ns() - start;
    struct tl_facts *facts = all_known();
    struct tl_question question = {.download = true,
                                   .upload = true,
                                   .goal_bps = NAN,
                                   .goal_rtt_ns = NAN,
                                   .quality_reason = ""};
    for (int i = 0; i < RUNS; i++) {
        struct tl_findings *findings = NULL;
        start = tl_now_ns();
        if (tl_rules_judge(rules, facts, &question, &findings, &error) != TL_OK) {
            fprintf(stderr, "%s\n", error.text);
            return 1;
        }
        took[i] = tl_now_ns() - start;
        tl_findings_destroy(findings);
    }
    tl_stats_sort_ns(took, RUNS);
    printf(
        "%zu rules: loaded in %.2f ms; judged both ways in %.3f ms (median of %d), %.3f ms p99\n",
        tl_rules_count(rules), (double)load / 1e6, (double)took[RUNS / 2] / 1e6, RUNS,
        (double)took[RUNS * 99 / 100] / 1e6);
    tl_facts_destroy(facts);
    tl_rules_destroy(rules);
    return 0;
}

/* What plan_made.h says. */
#include "plan_made.h"

#include <criterion/criterion.h>

struct tl_facts *facts;

void plan_made_setup(void)
{
    facts = tl_facts_create();
    cr_assert(facts != NULL);
}

void plan_made_teardown(void)
{
    tl_facts_destroy(facts);
}

#define MISSING(name)                                                                              \
    {                                                                                              \
        {                                                                                          \
            TL_SCOPE_DOWNLOAD, TL_FACT_FLOW_##name                                                 \
        }                                                                                          \
    }
struct tl_fact_key streams_missing[1] = MISSING(streams_goodput_bps),
                   paced_missing[1] = MISSING(paced_retrans_ratio),
                   window_missing[1] = MISSING(window_goodput_bps),
                   udp_missing[1] = MISSING(udp_delay_before_loss_ns);

/* Three tests: as many speak for the cause as asked. */
static struct tl_evidence *evidence(int speaking)
{
    static struct tl_evidence sets[4][3];
    for (int i = 0; i < 3; i++)
        sets[speaking][i] = (struct tl_evidence){.truth = i < speaking ? TL_TRUE : TL_UNKNOWN_TRUTH,
                                                 .is_for = i < speaking};
    return sets[speaking];
}

struct tl_finding open_cause(const char *cause, struct tl_fact_key *missing, int speaking)
{
    return (struct tl_finding){.cause = (char *)cause,
                               .result = TL_CANNOT_TELL,
                               .severity = TL_LIMITS,
                               .evidence = evidence(speaking),
                               .evidence_count = 3,
                               .missing = missing,
                               .missing_count = 1};
}

struct tl_findings findings_of(struct tl_finding *list, size_t count, struct tl_verdict verdict)
{
    return (struct tl_findings){.findings = list, .finding_count = count, .verdict = verdict};
}

struct tl_verdict unknown(void)
{
    return (struct tl_verdict){
        .state = TL_INCONCLUSIVE, .measured_bps = 5e7, .fixed_bps = NONE, .ceiling_bps = NONE};
}

struct tl_verdict limited(double confidence, double fixed_bps)
{
    return (struct tl_verdict){.state = TL_LIMITED,
                               .cause = (char *)"receive-window",
                               .confidence = confidence,
                               .measured_bps = 2.5e7,
                               .fixed_bps = fixed_bps};
}

struct tl_plan_state after_stream(const struct tl_findings *findings)
{
    struct tl_plan_state state = {.download = true,
                                  .have = TL_NEEDS_RESPONDER,
                                  .time_left_ns = 20000000000,
                                  .bytes_left = 1000000000,
                                  .facts = facts,
                                  .findings = findings};
    state.done[TL_PLAN_STREAM][TL_DOWNLOAD] = true;
    return state;
}

/* What a row of the history says of its run, in the words of the report: who limits and by how
 * much, and what that is. A row has no facts but its rate; the rest is not asked for. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text_parts.h"
#include "tightlink/present/report.h"

static void fill_run(const struct tl_report_kept *kept, struct tl_run *run)
{
    run->goal.bps = run->goal.rtt_ns = (double)NAN;
    snprintf(run->target_name, sizeof run->target_name, "%s", kept->target);
    snprintf(run->target_proxy, sizeof run->target_proxy, "%s", kept->proxy);
    snprintf(run->target_kind, sizeof run->target_kind, "%s", kept->kind);
}

/* The rate and what it may be off by, so that it has the digits that it has elsewhere. */
static void fill_facts(const struct tl_report_kept *kept, struct tl_facts *facts)
{
    double doubt = kept->doubt_bps > 0 ? kept->doubt_bps : 0, rate = kept->measured_bps;
    if (!isfinite(rate))
        return;
    tl_facts_set_range(facts, TL_KEY(tl_scope_of(kept->direction), TL_FACT_FLOW_goodput_bps), rate,
                       rate - doubt, rate + doubt, "kept");
}

void tl_report_kept(const struct tl_report_kept *kept, struct tl_buf *out)
{
    struct tl_run *run = calloc(1, sizeof *run);
    struct tl_facts *facts = tl_facts_create();
    bool promised = isfinite(kept->fixed_bps);
    struct tl_findings findings = {.verdict = {.state = TL_LIMITED,
                                               .direction = kept->direction,
                                               .cause = (char *)kept->cause,
                                               .segment = (char *)kept->segment,
                                               .sentence = (char *)kept->sentence,
                                               .confidence = kept->confidence,
                                               .measured_bps = kept->measured_bps,
                                               .fixed_bps = kept->fixed_bps,
                                               .fixed_promised = promised}};
    if (!run || !facts || !kept->cause[0]) {
        tl_buf_adds(out, kept->sentence);
    } else {
        fill_run(kept, run);
        fill_facts(kept, facts);
        tl_report_says(run, facts, &findings, out);
    }
    tl_facts_destroy(facts);
    free(run);
}

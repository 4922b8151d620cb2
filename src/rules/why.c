/* tl_why() and tl_why_not(): the trace of a judgement as pages. Reads findings only, so it
 * tells what was decided and cannot decide otherwise. */
#include "tightlink/rules/why.h"

#include <math.h>
#include <string.h>

#include "judge.h"
#include "tightlink/base/units.h"
#include "tightlink/base/utf8.h"
#include "tightlink/rules/verdict.h"

size_t tl_cause_list_count(void)
{
    return tl_cause_count;
}

const char *tl_cause_list_id(size_t index)
{
    return tl_causes[index].id;
}

const char *tl_cause_list_title(size_t index)
{
    return tl_causes[index].title;
}

/* A number no more exact than its fact is known. */
static void add_number(struct tl_buf *out, const struct tl_fact *fact, double number)
{
    double known = tl_round_known(number, (fact->high - fact->low) / 2);
    char text[TL_UNIT_TEXT_SIZE];
    switch (fact->unit) {
    case TL_UNIT_BPS:
        tl_buf_adds(out, tl_format_bps_bounded(number, fact->low, fact->high, text));
        return;
    case TL_UNIT_BYTES:
        tl_buf_adds(out, tl_format_bytes(number, text));
        return;
    case TL_UNIT_NS:
        tl_buf_adds(out, tl_format_ns_known(number, (fact->high - fact->low) / 2, text));
        return;
    case TL_UNIT_RATIO:
        tl_buf_adds(out, tl_format_ratio(known, text));
        return;
    case TL_UNIT_BOOL:
        tl_buf_adds(out, number != 0 ? "yes" : "no");
        return;
    default:
        tl_buf_addf(out, "%.6g", known);
    }
}

static void add_fact_number(struct tl_buf *out, const struct tl_facts *facts,
                            const struct tl_evidence_value *value)
{
    struct tl_fact fact;
    tl_facts_get(facts, value->key, &fact);
    add_number(out, &fact, value->number);
}

/* "download.ledger_rwnd_ratio = 3.1 %, far.os = linux" */
static void add_values(struct tl_buf *out, const struct tl_facts *facts,
                       const struct tl_evidence *evidence)
{
    for (size_t i = 0; i < evidence->value_count; i++) {
        const struct tl_evidence_value *value = &evidence->values[i];
        char id[TL_FACT_ID_SIZE];
        tl_buf_addf(out, "%s%s = ", i ? ", " : "", tl_fact_id(value->key, id));
        if (!value->known)
            tl_buf_adds(out, "unknown");
        else if (value->text)
            tl_buf_adds(out, value->text);
        else
            add_fact_number(out, facts, value);
    }
}

/* A line of its own; who shows it breaks it. */
static void add_line(struct tl_buf *out, unsigned indent, const char *text)
{
    tl_buf_addf(out, "%*s%s\n", (int)indent, "", text);
}

static void keep_line(struct tl_buf *out, unsigned indent, struct tl_buf *text)
{
    add_line(out, indent, tl_buf_text(text));
    if (text->status != TL_OK)
        out->status = text->status;
    tl_buf_finish(text);
}

/* The test as written, with the values it saw. */
static void add_test(struct tl_buf *out, const struct tl_facts *facts,
                     const struct tl_evidence *evidence)
{
    struct tl_buf line = TL_BUF_INIT;
    add_line(out, 6, evidence->say);
    tl_buf_addf(&line, "[%s] %s: ", tl_truth_name(evidence->truth), evidence->test);
    add_values(&line, facts, evidence);
    keep_line(out, 10, &line);
}

enum which { SPEAKS_FOR, SPEAKS_AGAINST, SPEAKS_NOT };

static enum which speaks(const struct tl_evidence *evidence)
{
    if (evidence->truth == TL_UNKNOWN_TRUTH || evidence->is_spare)
        return SPEAKS_NOT;
    return evidence->is_for ? SPEAKS_FOR : SPEAKS_AGAINST;
}

static void add_tests(struct tl_buf *out, const struct tl_facts *facts, const char *heading,
                      const struct tl_finding *finding, enum which which)
{
    bool any = false;
    for (size_t i = 0; i < finding->evidence_count; i++) {
        if (speaks(&finding->evidence[i]) != which)
            continue;
        if (!any)
            tl_buf_addf(out, "    %s\n", heading);
        any = true;
        add_test(out, facts, &finding->evidence[i]);
    }
}

/* "download.x: not measured; the stage streams measures it" */
static void add_missing(struct tl_buf *out, const struct tl_facts *facts,
                        const struct tl_fact_key *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct tl_fact fact;
        char id[TL_FACT_ID_SIZE];
        struct tl_buf line = TL_BUF_INIT;
        tl_facts_get(facts, keys[i], &fact);
        tl_buf_addf(&line, "%s: ", tl_fact_id(keys[i], id));
        tl_utf8_add_clean(&line, fact.state == TL_FACT_UNKNOWN ? fact.reason : "not measured",
                          false);
        if (strcmp(fact.stage, "derived") == 0)
            tl_buf_adds(&line, "; it is computed from other facts");
        else
            tl_buf_addf(&line, "; the stage %s measures it", fact.stage);
        keep_line(out, 6, &line);
    }
}

static void add_standing(struct tl_buf *out, const struct tl_finding *finding)
{
    if (finding->standing && *finding->standing)
        add_line(out, 4, finding->standing);
}

static void add_verdict(struct tl_buf *out, const struct tl_findings *findings,
                        const struct tl_facts *facts)
{
    const struct tl_verdict *verdict = &findings->verdict;
    const struct tl_finding *finding = tl_findings_verdict(findings);
    tl_buf_addf(out, "%s: %s", tl_direction_name(verdict->direction),
                tl_verdict_state_name(verdict->state));
    if (verdict->cause)
        tl_buf_addf(out, " by %s (%s), confidence %.2f", verdict->cause, verdict->segment,
                    verdict->confidence);
    tl_buf_adds(out, "\n");
    if (verdict->sentence)
        add_line(out, 2, verdict->sentence);
    if (verdict->confidence_reasons && *verdict->confidence_reasons) {
        struct tl_buf line = TL_BUF_INIT;
        tl_buf_addf(&line, "Confidence: %s", verdict->confidence_reasons);
        keep_line(out, 2, &line);
    }
    if (finding) {
        tl_buf_addf(out, "\nWhy %s (rule %s)\n", finding->cause, finding->rule);
        add_standing(out, finding);
        add_tests(out, facts, "speaks for it", finding, SPEAKS_FOR);
        add_tests(out, facts, "speaks against it", finding, SPEAKS_AGAINST);
        add_tests(out, facts, "not decided, or not needed", finding, SPEAKS_NOT);
    }
    if (verdict->deciding_count) {
        tl_buf_adds(out, "\nWhat could still change it\n");
        add_missing(out, facts, verdict->deciding, verdict->deciding_count);
    }
}

/* The finding behind a rung: of its cause, segment and ceiling. */
static const struct tl_finding *behind(const struct tl_findings *findings,
                                       const struct tl_rung *rung)
{
    const struct tl_finding *best = NULL;
    for (size_t i = 0; i < findings->finding_count; i++) {
        const struct tl_finding *finding = &findings->findings[i];
        if (finding->direction != rung->direction || strcmp(finding->cause, rung->cause) != 0 ||
            strcmp(finding->segment, rung->segment) != 0)
            continue;
        bool same =
            finding->ceiling_bps == rung->bps || (isnan(finding->ceiling_bps) && isnan(rung->bps));
        if (same && !best)
            best = finding;
    }
    return best;
}

static void add_rung(struct tl_buf *out, const struct tl_findings *findings,
                     const struct tl_facts *facts, const struct tl_rung *rung)
{
    const struct tl_finding *finding = behind(findings, rung);
    char rate[TL_UNIT_TEXT_SIZE];
    double doubt = tl_told_doubt(facts, &findings->verdict, rung->direction, rung->bps,
                                 rung->low_bps, rung->high_bps);
    tl_format_bps_known(rung->bps, doubt, rate);
    tl_buf_addf(out, "  %-12s %s: %s%s\n", rung->tested ? rate : "?", rung->cause, rung->label,
                rung->limits ? "  <- the verdict" : "");
    if (!rung->tested) {
        struct tl_buf line = TL_BUF_INIT;
        tl_buf_addf(&line, "no rung: %s", rung->why_not);
        keep_line(out, 6, &line);
    } else if (finding && !rung->limits) {
        struct tl_buf line = TL_BUF_INIT;
        tl_buf_addf(&line, "%s. %s", tl_result_name(finding->result),
                    finding->result == TL_FOUND ? finding->standing : finding->sentence);
        keep_line(out, 6, &line);
    }
}

static void add_ladder(struct tl_buf *out, const struct tl_findings *findings,
                       const struct tl_facts *facts, enum tl_direction direction)
{
    tl_buf_adds(out, "\nThe rungs, lowest first\n");
    for (size_t i = 0; i < findings->rung_count; i++)
        if (findings->ladder[i].direction == direction)
            add_rung(out, findings, facts, &findings->ladder[i]);
}

static void add_others(struct tl_buf *out, const struct tl_findings *findings,
                       const struct tl_finding *verdict, enum tl_direction direction)
{
    bool any = false;
    for (size_t i = 0; i < findings->finding_count; i++) {
        const struct tl_finding *finding = &findings->findings[i];
        if (finding == verdict || finding->direction != direction || finding->result != TL_FOUND)
            continue;
        if (!any)
            tl_buf_adds(out, "\nFound, and not the verdict\n");
        any = true;
        tl_buf_addf(out, "  %s (%s, %s)\n", finding->cause, finding->segment,
                    tl_severity_name(finding->severity));
        add_standing(out, finding);
    }
}

static void add_tally(struct tl_buf *out, const struct tl_findings *findings,
                      enum tl_direction direction)
{
    size_t tally[4] = {0}, count = 0;
    for (size_t i = 0; i < findings->finding_count; i++) {
        if (findings->findings[i].direction != direction)
            continue;
        tally[findings->findings[i].result]++;
        count++;
    }
    tl_buf_addf(out,
                "\n%zu rules were judged for the %s: %zu found, %zu ruled out, %zu cannot tell, "
                "%zu do not apply.\n",
                count, tl_direction_name(direction), tally[TL_FOUND], tally[TL_RULED_OUT],
                tally[TL_CANNOT_TELL], tally[TL_NOT_APPLICABLE]);
    tl_buf_adds(out, "tightlink why-not CAUSE FILE tells why another cause was not named.\n");
}

enum tl_status tl_why(const struct tl_findings *findings, const struct tl_facts *facts,
                      struct tl_buf *out)
{
    enum tl_direction direction = findings->verdict.direction;
    add_verdict(out, findings, facts);
    add_ladder(out, findings, facts, direction);
    add_others(out, findings, tl_findings_verdict(findings), direction);
    add_tally(out, findings, direction);
    return out->status;
}

static void add_result(struct tl_buf *out, const struct tl_finding *finding,
                       const struct tl_facts *facts)
{
    switch (finding->result) {
    case TL_FOUND:
        add_standing(out, finding);
        add_tests(out, facts, "speaks for it", finding, SPEAKS_FOR);
        add_tests(out, facts, "speaks against it", finding, SPEAKS_AGAINST);
        break;
    case TL_RULED_OUT:
        add_tests(out, facts, "ruled out by", finding, SPEAKS_AGAINST);
        add_standing(out, finding);
        break;
    case TL_CANNOT_TELL:
        add_tests(out, facts, "speaks for it", finding, SPEAKS_FOR);
        if (finding->missing_count)
            tl_buf_adds(out, "    would be decided by\n");
        add_missing(out, facts, finding->missing, finding->missing_count);
        add_standing(out, finding);
        break;
    case TL_NOT_APPLICABLE:
        add_tests(out, facts, "does not apply, as", finding, SPEAKS_AGAINST);
        break;
    }
}

static const char *headline(const struct tl_finding *finding, bool verdict)
{
    static const char *const words[] = {[TL_FOUND] = "found, and not the verdict",
                                        [TL_RULED_OUT] = "ruled out",
                                        [TL_CANNOT_TELL] = "cannot tell",
                                        [TL_NOT_APPLICABLE] = "does not apply"};
    return verdict ? "it is the verdict" : words[finding->result];
}

enum tl_status tl_why_not(const struct tl_findings *findings, const struct tl_facts *facts,
                          const char *cause, struct tl_buf *out)
{
    const struct tl_cause *known = tl_cause_find(cause);
    const struct tl_finding *verdict = tl_findings_verdict(findings);
    bool any = false;
    if (!known)
        return TL_UNKNOWN;
    tl_buf_addf(out, "%s: %s\n", known->id, known->title);
    for (size_t i = 0; i < findings->finding_count; i++) {
        const struct tl_finding *finding = &findings->findings[i];
        if (strcmp(finding->cause, cause) != 0)
            continue;
        any = true;
        tl_buf_addf(out, "\n%s, %s (rule %s): %s\n", tl_direction_name(finding->direction),
                    finding->segment, finding->rule, headline(finding, finding == verdict));
        if (finding->sentence && *finding->sentence)
            add_line(out, 2, finding->sentence);
        add_result(out, finding, facts);
    }
    if (!any)
        add_line(out, 2,
                 "No rule looks for this cause, so nothing was judged: it is neither found "
                 "nor ruled out.");
    return out->status;
}

/* What else was found, ruled out or left open; disturbances; the run itself. */
#include <stdio.h>
#include <string.h>

#include "text_parts.h"
#include "text_words.h"
#include "tightlink/base/units.h"
#include "tightlink/rules/verdict.h"

/* Of a stage's name: "disk-to-disk". */
#define STAGE_COLUMNS 12

static bool both(const struct text_source *source)
{
    return source->run->download && source->run->upload;
}

/* What a finding says; its title where the rule has no sentence for this result. */
static const char *said(const struct tl_finding *finding)
{
    return finding->sentence && *finding->sentence ? finding->sentence : finding->title;
}

/* Several rules may judge one cause. It is ruled out where each of them rules it out or does not
 * apply, and open where none of them says that it limits. */
static bool is_contradicted(const struct tl_findings *findings, const struct tl_finding *finding)
{
    for (size_t i = 0; i < findings->finding_count; i++) {
        const struct tl_finding *other = &findings->findings[i];
        if (other->direction != finding->direction || strcmp(other->cause, finding->cause) != 0 ||
            strcmp(other->segment, finding->segment) != 0)
            continue;
        if (finding->result == TL_RULED_OUT &&
            (other->result == TL_FOUND || other->result == TL_CANNOT_TELL))
            return true;
        if (finding->result == TL_CANNOT_TELL && other->result == TL_FOUND &&
            other->severity == TL_LIMITS)
            return true;
    }
    return false;
}

/* Whether the list has the same words already: of another rule, or where it names no direction of
 * the other direction. */
static bool is_repeated(const struct tl_findings *findings, size_t index)
{
    const struct tl_finding *finding = &findings->findings[index];
    for (size_t i = 0; i < index; i++) {
        const struct tl_finding *before = &findings->findings[i];
        if (before->result == finding->result && strcmp(said(before), said(finding)) == 0 &&
            (before->direction == finding->direction || finding->result == TL_FOUND))
            return true;
    }
    return false;
}

/* The next finding with this result besides the verdict's; NULL at the end. */
static const struct tl_finding *next_with(const struct text_source *source, size_t *index,
                                          enum tl_result result)
{
    const struct tl_findings *findings = source->findings;
    while (*index < findings->finding_count) {
        const struct tl_finding *finding = &findings->findings[(*index)++];
        bool told = result == TL_FOUND && !tl_findings_is_beside(findings, finding);
        if (finding->result == result && !told && !is_contradicted(findings, finding) &&
            !is_repeated(findings, *index - 1))
            return finding;
    }
    return NULL;
}

static void heading_once(struct text *t, const char *heading, bool *begun)
{
    if (*begun)
        return;
    *begun = true;
    text_heading(t, heading);
}

void text_also_found(struct text *t, const struct text_source *source)
{
    static const char *const labels[] = {
        [TL_LIMITS] = "limits too", [TL_CONTRIBUTES] = "contributes", [TL_NOTE] = "note"};
    const struct tl_finding *finding;
    bool begun = false, met = source->findings->verdict.state == TL_GOAL_MET;
    for (size_t i = 0; (finding = next_with(source, &i, TL_FOUND));) {
        heading_once(t, "Also found", &begun);
        bool next = met && finding->severity == TL_LIMITS; /* nothing limits below the goal */
        text_entry(t, next ? "limits next" : labels[finding->severity], 11, said(finding));
    }
}

void text_ruled_out(struct text *t, const struct text_source *source)
{
    const struct tl_finding *finding;
    bool begun = false;
    for (size_t i = 0; (finding = next_with(source, &i, TL_RULED_OUT));) {
        heading_once(t, "Ruled out", &begun);
        if (both(source))
            text_entry(t, tl_direction_name(finding->direction), 9, said(finding));
        else
            text_item(t, 4, said(finding));
    }
}

/* The stages that would tell what a finding lacks, each once: how many. */
static size_t add_stages(struct tl_buf *list, const struct text_source *source,
                         const struct tl_finding *finding)
{
    size_t count = 0;
    for (size_t m = 0; m < finding->missing_count; m++) {
        const char *stage = text_stage_of(source->facts, finding->missing[m]);
        bool wanted = *stage && !text_is_tried(source->facts, finding->missing[m]);
        for (size_t before = 0; wanted && before < m; before++)
            wanted = strcmp(text_stage_of(source->facts, finding->missing[before]), stage) != 0 ||
                     text_is_tried(source->facts, finding->missing[before]);
        if (wanted)
            tl_buf_addf(list, "%s%s", count++ ? ", " : "", stage);
    }
    return count;
}

void text_open(struct text *t, const struct text_source *source)
{
    const struct tl_finding *finding;
    bool begun = false;
    for (size_t i = 0; (finding = next_with(source, &i, TL_CANNOT_TELL));) {
        heading_once(t, "Could not be told", &begun);
        struct tl_buf stages = TL_BUF_INIT, line = TL_BUF_INIT;
        size_t count = add_stages(&stages, source, finding);
        if (both(source))
            tl_buf_addf(&line, "%s: ", tl_direction_name(finding->direction));
        tl_buf_adds(&line, said(finding));
        if (count)
            tl_buf_addf(&line, " %s %s would decide.", count > 1 ? "Stages" : "Stage",
                        tl_buf_text(&stages));
        text_item(t, 4, tl_buf_text(&line));
        text_keep_status(t, stages.status);
        text_keep_status(t, line.status);
        tl_buf_finish(&stages);
        tl_buf_finish(&line);
    }
}

/* The definition's sentence without its full stop, of which host, and why the fact is not there. */
static void print_deciding(struct text *t, const struct text_source *source, struct tl_fact_key key)
{
    const struct tl_facts *facts = source->facts;
    const char *place = key.scope == TL_SCOPE_NEAR  ? text_place(source->run, "near-host")
                        : key.scope == TL_SCOPE_FAR ? text_place(source->run, "far-host")
                                                    : "";
    const char *meaning = tl_fact_def(key.fact)->meaning;
    int len = (int)strlen(meaning);
    struct tl_fact fact;
    char text[768];
    tl_facts_get_lacking(facts, key, &fact); /* whose reason names no other fact */
    if (len && meaning[len - 1] == '.')
        len--;
    snprintf(text, sizeof text, "%s%s%.*s (%s)", place, place[0] ? ": " : "", len, meaning,
             fact.reason);
    text_entry(t, text_stage_of(facts, key), STAGE_COLUMNS, text);
}

/* As many are told; tightlink why has all of them. */
#define DECIDING_TOLD 8

void text_deciding(struct text *t, const struct text_source *source)
{
    const struct tl_verdict *verdict = &source->findings->verdict;
    if (!verdict->deciding_count)
        return;
    struct tl_buf why = TL_BUF_INIT;
    text_heading(t, "What would decide (stage, and what it measures)");
    text_add_why(source, &why);
    if (why.len)
        text_item(t, 2, tl_buf_text(&why));
    text_keep_status(t, why.status);
    tl_buf_finish(&why);
    for (size_t i = 0; i < verdict->deciding_count && i < DECIDING_TOLD; i++)
        print_deciding(t, source, verdict->deciding[i]);
    if (verdict->deciding_count > DECIDING_TOLD) {
        char rest[80];
        snprintf(rest, sizeof rest, "and %zu more: tightlink why RUN names them",
                 verdict->deciding_count - DECIDING_TOLD);
        text_item(t, 2, rest);
    }
}

/* --- how the run went --- */

/* Responders on the way: what one stream to each point got, and where the limit lies. */
void text_parts(struct text *t, const struct text_source *source)
{
    const struct tl_run *run = source->run;
    bool begun = false;
    for (int i = 0; i < run->segment_count; i++) {
        const struct tl_segment_record *part = &run->segments[i];
        if (strncmp(part->id, "path-", 5) != 0)
            continue;
        char rate[TL_UNIT_TEXT_SIZE] = "not measured", rtt[TL_UNIT_TEXT_SIZE] = "?", text[320];
        if (part->prefix_rate_bps > 0)
            tl_format_bps(part->prefix_rate_bps, rate);
        if (part->prefix_rtt_ns > 0)
            tl_format_ns(part->prefix_rtt_ns, rtt);
        heading_once(t, "Parts of the way (one stream from here to the end of each)", &begun);
        snprintf(text, sizeof text, "%s: %s, round trip %s%s", part->name, rate, rtt,
                 part->tight ? ": the limit lies here" : "");
        text_entry(t, part->tight ? "(!)" : part->id, 8, text);
    }
}

static void print_stages(struct text *t, const struct tl_run *run)
{
    static const char *const states[] = {[TL_STAGE_DONE] = "done",
                                         [TL_STAGE_LIMITED] = "shortened",
                                         [TL_STAGE_SKIPPED] = "skipped",
                                         [TL_STAGE_FAILED] = "failed",
                                         [TL_STAGE_NOT_POSSIBLE] = "not possible"};
    for (int i = 0; i < run->stage_count; i++) {
        const struct tl_stage_record *stage = &run->stages[i];
        if (stage->state == TL_STAGE_DONE)
            continue;
        char text[320];
        snprintf(text, sizeof text, "%s%s%s", states[stage->state], stage->reason[0] ? ": " : "",
                 stage->reason);
        text_entry(t, stage->id, STAGE_COLUMNS, text);
    }
}

void text_disturbances(struct text *t, const struct text_source *source)
{
    const struct tl_run *run = source->run;
    text_heading(t, "Disturbances");
    if (!run->reason_count)
        text_entry(t, tl_quality_name(run->quality), STAGE_COLUMNS,
                   run->quality == TL_QUALITY_VALID ? "nothing that was watched disturbed the run"
                                                    : "no reason was given");
    for (int i = 0; i < run->reason_count; i++)
        text_entry(t, tl_quality_name(run->quality), STAGE_COLUMNS, run->reasons[i]);
    print_stages(t, run);
    if (run->strange_facts) {
        char text[160];
        snprintf(text, sizeof text,
                 "%d facts of the file are not known to this version and were left out, first %s",
                 run->strange_facts, run->strange_fact);
        text_entry(t, "file", STAGE_COLUMNS, text);
    }
}

void text_footer(struct text *t, const struct text_source *source)
{
    const struct tl_run *run = source->run;
    char text[256], time[TL_UNIT_TEXT_SIZE], sent[TL_UNIT_TEXT_SIZE], received[TL_UNIT_TEXT_SIZE];
    text_newline(t);
    snprintf(text, sizeof text, "Run %s, %s, %s, %s received, %s sent, tightlink %s", run->id,
             run->started, tl_format_ns((double)run->duration_ns, time),
             tl_format_traffic((double)run->received_bytes, received),
             tl_format_traffic((double)run->sent_bytes, sent), run->tool_version);
    text_wrap(t, 2, text);
}

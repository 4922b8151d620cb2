/* The document of findings.schema.json. One function for each part of the schema, in
 * its order. */
#include <math.h>
#include <string.h>

#include "json_private.h"

#include "tightlink/base/json_write.h"
#include "tightlink/facts/save.h"
#include "tightlink/rules/goal.h"

/* A whole number of nanoseconds or bytes; absent when unknown. */
static void add_whole(struct tl_json_writer *w, const char *key, double value)
{
    if (isfinite(value) && fabs(value) < 9e18)
        tl_json_add_integer(w, key, llround(value));
}

/* A text that may be missing: absent then, and never "". */
static void add_text(struct tl_json_writer *w, const char *key, const char *text)
{
    if (text && *text)
        tl_json_add_string(w, key, text);
}

static void add_texts(struct tl_json_writer *w, const char *key, char *const *texts, size_t count)
{
    tl_json_begin_array(w, key);
    for (size_t i = 0; i < count; i++)
        tl_json_add_string(w, NULL, texts[i]);
    tl_json_end(w);
}

static void add_facts(struct tl_json_writer *w, const char *key, const struct tl_fact_key *facts,
                      size_t count)
{
    tl_json_begin_array(w, key);
    for (size_t i = 0; i < count; i++) {
        char id[TL_FACT_ID_SIZE];
        tl_json_add_string(w, NULL, tl_fact_id(facts[i], id));
    }
    tl_json_end(w);
}

/* --- run --- */

static void add_target(struct tl_json_writer *w, const struct tl_run *run)
{
    tl_json_begin_object(w, "target");
    tl_json_add_string(w, "name", run->target_name);
    add_text(w, "address", run->target_address);
    if (run->target_family)
        tl_json_add_integer(w, "family", run->target_family);
    tl_json_add_string(w, "kind", run->target_kind);
    tl_json_end(w);
}

static void add_given(struct tl_json_writer *w, const char *key, double value)
{
    if (value > 0)
        tl_json_add_number(w, key, value);
}

/* The goal's lines with their answers; absent where the goal has none. */
static void add_goal_lines(struct tl_json_writer *w, const struct tl_run *run,
                           const struct tl_facts *facts)
{
    tl_json_begin_array(w, "lines");
    for (int d = TL_DOWNLOAD; d <= TL_UPLOAD; d++) {
        struct tl_goal_line lines[TL_GOAL_LINES_MAX];
        size_t count = tl_goal_judge(run, facts, (enum tl_direction)d, lines);
        for (size_t i = 0; i < count; i++) {
            tl_json_begin_object(w, NULL);
            tl_json_add_string(w, "name", lines[i].name);
            tl_json_add_string(w, "direction", tl_direction_name(lines[i].direction));
            tl_json_add_string(w, "answer", tl_goal_answer_name(lines[i].answer));
            tl_json_add_string(w, "unit", tl_unit_name(lines[i].unit));
            tl_json_add_number(w, "wanted", lines[i].wanted);
            tl_json_add_number(w, "measured", lines[i].measured);
            tl_json_add_number(w, "low", lines[i].low);
            tl_json_add_number(w, "high", lines[i].high);
            tl_json_add_string(w, "text", lines[i].text);
            tl_json_end(w);
        }
    }
    tl_json_end(w);
}

static void add_goal(struct tl_json_writer *w, const struct tl_run *run,
                     const struct tl_facts *facts)
{
    if (!(run->goal_bps > 0) && !(run->goal_rtt_ns > 0) && !(run->goal_loss_ratio > 0) &&
        !(run->goal_rtt_max_ns > 0) && !(run->goal_mtu_bytes > 0)) {
        tl_json_add_null(w, "goal");
        return;
    }
    tl_json_begin_object(w, "goal");
    tl_json_add_number(w, "rate_bps", run->goal_bps);
    add_whole(w, "rtt_ns", run->goal_rtt_ns);
    if (run->goal_bytes > 0)
        add_whole(w, "bytes", run->goal_bytes);
    if (run->goal_time_ns > 0)
        add_whole(w, "time_ns", run->goal_time_ns);
    add_given(w, "loss_ratio", run->goal_loss_ratio);
    add_given(w, "rtt_max_ns", run->goal_rtt_max_ns);
    add_given(w, "mtu_bytes", run->goal_mtu_bytes);
    add_goal_lines(w, run, facts);
    tl_json_end(w);
}

static void add_quality(struct tl_json_writer *w, const struct tl_run *run)
{
    tl_json_begin_object(w, "quality");
    tl_json_add_string(w, "status", tl_quality_name(run->quality));
    tl_json_begin_array(w, "reasons");
    for (int i = 0; i < run->reason_count; i++)
        tl_json_add_string(w, NULL, run->reasons[i]);
    tl_json_end(w);
    tl_json_end(w);
}

static void add_run(struct tl_json_writer *w, const struct tl_run *run,
                    const struct tl_facts *facts)
{
    tl_json_begin_object(w, "run");
    tl_json_add_string(w, "id", run->id);
    add_text(w, "host_mark", run->host_mark);
    tl_json_add_string(w, "started", run->started);
    tl_json_add_integer(w, "duration_ns", run->duration_ns);
    tl_json_add_string(w, "tool_version", run->tool_version);
    add_target(w, run);
    tl_json_begin_array(w, "directions");
    if (run->download)
        tl_json_add_string(w, NULL, tl_direction_name(TL_DOWNLOAD));
    if (run->upload)
        tl_json_add_string(w, NULL, tl_direction_name(TL_UPLOAD));
    tl_json_end(w);
    add_goal(w, run, facts);
    if (run->complaint[0])
        tl_json_add_string(w, "complaint", run->complaint);
    else
        tl_json_add_null(w, "complaint");
    tl_json_add_integer(w, "sent_bytes", run->sent_bytes);
    tl_json_add_integer(w, "received_bytes", run->received_bytes);
    add_quality(w, run);
    tl_json_end(w);
}

/* --- verdict --- */

static void add_verdict(struct tl_json_writer *w, const struct tl_verdict *verdict)
{
    tl_json_begin_object(w, "verdict");
    tl_json_add_string(w, "state", tl_verdict_state_name(verdict->state));
    add_text(w, "cause", verdict->cause);
    add_text(w, "segment", verdict->segment);
    tl_json_add_string(w, "direction", tl_direction_name(verdict->direction));
    if (verdict->state == TL_LIMITED) {
        tl_json_add_number(w, "confidence", verdict->confidence);
        add_text(w, "confidence_reasons", verdict->confidence_reasons);
    }
    tl_json_add_string(w, "sentence", verdict->sentence ? verdict->sentence : "");
    tl_json_add_number(w, "measured_bps", verdict->measured_bps);
    tl_json_add_number(w, "ceiling_bps", verdict->ceiling_bps);
    tl_json_add_number(w, "fixed_bps", verdict->fixed_bps);
    if (verdict->fixed_at_least)
        tl_json_add_bool(w, "fixed_at_least", true);
    if (verdict->fixed_bps > 0)
        tl_json_add_bool(w, "fixed_promised", verdict->fixed_promised);
    add_text(w, "fixed_stage", verdict->fixed_stage);
    if (verdict->next_cause)
        tl_json_add_string(w, "next_cause", verdict->next_cause);
    else
        tl_json_add_null(w, "next_cause");
    add_text(w, "send_to", verdict->send_to);
    add_facts(w, "deciding", verdict->deciding, verdict->deciding_count);
    tl_json_end(w);
}

/* --- findings --- */

static void add_evidence(struct tl_json_writer *w, const struct tl_evidence *evidence)
{
    tl_json_begin_object(w, NULL);
    tl_json_add_string(w, "id", evidence->id);
    tl_json_add_string(w, "say", evidence->say);
    add_text(w, "test", evidence->test);
    tl_json_begin_object(w, "values");
    for (size_t i = 0; i < evidence->value_count; i++) {
        const struct tl_evidence_value *value = &evidence->values[i];
        char id[TL_FACT_ID_SIZE];
        tl_fact_id(value->key, id);
        if (!value->known)
            tl_json_add_null(w, id);
        else if (value->text)
            tl_json_add_string(w, id, value->text);
        else
            tl_json_add_number(w, id, value->number);
    }
    tl_json_end(w);
    tl_json_add_string(w, "result", tl_truth_name(evidence->truth));
    if (!evidence->is_spare)
        tl_json_add_bool(w, "for", evidence->is_for);
    tl_json_end(w);
}

static void add_prediction(struct tl_json_writer *w, const struct tl_prediction *prediction)
{
    tl_json_add_number(w, "predicted_bps", prediction->bps);
    tl_json_add_number(w, "predicted_low_bps", prediction->low_bps);
    if (isinf(prediction->high_bps))
        tl_json_add_bool(w, "predicted_at_least", true);
    else
        tl_json_add_number(w, "predicted_high_bps", prediction->high_bps);
}

static void add_remedy(struct tl_json_writer *w, const struct tl_remedy *remedy)
{
    tl_json_begin_object(w, NULL);
    tl_json_add_string(w, "where", remedy->where);
    add_text(w, "os", remedy->os);
    add_text(w, "needs", remedy->needs);
    tl_json_add_string(w, "do", remedy->does);
    add_text(w, "undo", remedy->undo);
    add_text(w, "persist", remedy->persist);
    add_text(w, "why", remedy->why);
    add_text(w, "risk", remedy->risk);
    add_prediction(w, &remedy->predicted);
    if (remedy->predicted.bps > 0)
        tl_json_add_bool(w, "promised", remedy->promised);
    tl_json_end(w);
}

static void add_verified(struct tl_json_writer *w, const struct tl_run *run,
                         const struct tl_finding *finding)
{
    for (int i = 0; i < run->verified_count; i++) {
        const struct tl_verified_record *verified = &run->verified[i];
        if (verified->direction != finding->direction || strcmp(verified->rule, finding->rule) != 0)
            continue;
        tl_json_begin_object(w, "verified");
        tl_json_add_string(w, "what", verified->what);
        add_prediction(w, &verified->predicted);
        tl_json_add_number(w, "measured_bps", verified->measured_bps);
        tl_json_add_bool(w, "hit", verified->score == TL_SCORE_HIT);
        tl_json_add_string(w, "score", tl_score_name(verified->score));
        tl_json_end(w);
        return;
    }
}

static void add_finding(struct tl_json_writer *w, const struct tl_run *run,
                        const struct tl_finding *finding)
{
    tl_json_begin_object(w, NULL);
    tl_json_add_string(w, "rule", finding->rule);
    tl_json_add_string(w, "cause", finding->cause);
    add_text(w, "title", finding->title);
    add_text(w, "segment", finding->segment);
    tl_json_add_string(w, "direction", tl_direction_name(finding->direction));
    tl_json_add_string(w, "result", tl_result_name(finding->result));
    if (finding->result == TL_FOUND) {
        tl_json_add_string(w, "severity", tl_severity_name(finding->severity));
        tl_json_add_number(w, "confidence", finding->confidence);
    }
    tl_json_add_number(w, "ceiling_bps", finding->ceiling_bps);
    tl_json_add_number(w, "ceiling_low_bps", finding->ceiling_low_bps);
    tl_json_add_number(w, "ceiling_high_bps", finding->ceiling_high_bps);
    add_text(w, "sentence", finding->sentence);
    add_text(w, "send_to", finding->send_to);
    add_text(w, "would_change", finding->would_change);
    tl_json_begin_array(w, "evidence");
    for (size_t i = 0; i < finding->evidence_count; i++)
        add_evidence(w, &finding->evidence[i]);
    tl_json_end(w);
    add_facts(w, "missing", finding->missing, finding->missing_count);
    tl_json_begin_array(w, "remedies");
    for (size_t i = 0; i < finding->remedy_count; i++)
        add_remedy(w, &finding->remedies[i]);
    tl_json_end(w);
    add_verified(w, run, finding);
    add_texts(w, "references", finding->references, finding->reference_count);
    tl_json_end(w);
}

/* --- ladder and ledger --- */

static void add_rung(struct tl_json_writer *w, const struct tl_rung *rung)
{
    tl_json_begin_object(w, NULL);
    tl_json_add_string(w, "cause", rung->cause);
    tl_json_add_string(w, "segment", rung->segment);
    tl_json_add_string(w, "direction", tl_direction_name(rung->direction));
    tl_json_add_bool(w, "tested", rung->tested);
    tl_json_add_number(w, "bps", rung->bps);
    tl_json_add_number(w, "low_bps", rung->low_bps);
    tl_json_add_number(w, "high_bps", rung->high_bps);
    add_text(w, "label", rung->label);
    add_text(w, "why_not", rung->why_not);
    tl_json_add_bool(w, "limits", rung->limits);
    tl_json_end(w);
}

/* The ledger is of the steady part, which begins where the warm-up ends. */
static void add_ledger_row(struct tl_json_writer *w, const struct tl_facts *facts,
                           const struct tl_ledger_row *row)
{
    double from = tl_facts_number(facts,
                                  row->direction == TL_DOWNLOAD ? TL_FLOW(TL_DOWNLOAD, warmup_ns)
                                                                : TL_FLOW(TL_UPLOAD, warmup_ns),
                                  (double)NAN);
    tl_json_begin_object(w, NULL);
    tl_json_add_string(w, "direction", tl_direction_name(row->direction));
    add_whole(w, "from_ns", from);
    add_whole(w, "to_ns", from + row->duration_ns);
    tl_json_add_number(w, "app_ratio", row->app_ratio);
    tl_json_add_number(w, "sndbuf_ratio", row->sndbuf_ratio);
    tl_json_add_number(w, "rwnd_ratio", row->rwnd_ratio);
    tl_json_add_number(w, "network_ratio", row->network_ratio);
    tl_json_end(w);
}

/* --- segments and stages --- */

static void add_segment(struct tl_json_writer *w, const struct tl_segment_record *segment)
{
    tl_json_begin_object(w, NULL);
    tl_json_add_string(w, "id", segment->id);
    tl_json_add_string(w, "kind", segment->kind);
    add_text(w, "name", segment->name);
    add_whole(w, "rtt_add_ns", segment->rtt_add_ns);
    add_whole(w, "mtu_bytes", segment->mtu_bytes);
    tl_json_add_number(w, "loss_ratio", segment->loss_ratio);
    add_whole(w, "loaded_rtt_add_ns", segment->loaded_rtt_add_ns);
    tl_json_add_number(w, "prefix_rate_bps", segment->prefix_rate_bps);
    tl_json_add_number(w, "prefix_ceiling_bps", segment->prefix_ceiling_bps);
    add_whole(w, "prefix_rtt_ns", segment->prefix_rtt_ns);
    if (segment->last_hop > 0) {
        tl_json_add_integer(w, "first_hop", segment->first_hop);
        tl_json_add_integer(w, "last_hop", segment->last_hop);
    }
    if (segment->tight)
        tl_json_add_bool(w, "tight", true);
    tl_json_end(w);
}

/* The routers on the way. */
static void add_hop(struct tl_json_writer *w, const struct tl_hop_record *hop)
{
    tl_json_begin_object(w, NULL);
    tl_json_add_integer(w, "hop", hop->hop);
    add_text(w, "address", hop->address);
    add_text(w, "name", hop->name);
    tl_json_add_integer(w, "sent_count", hop->sent_count);
    tl_json_add_integer(w, "answered_count", hop->answered_count);
    add_whole(w, "rtt_min_ns", hop->rtt_min_ns);
    add_whole(w, "rtt_mean_ns", hop->rtt_mean_ns);
    add_whole(w, "rtt_max_ns", hop->rtt_max_ns);
    add_whole(w, "loaded_rtt_ns", hop->loaded_rtt_ns);
    add_text(w, "note", hop->note);
    tl_json_end(w);
}

static void add_hops(struct tl_json_writer *w, const struct tl_run *run)
{
    if (run->hop_count == 0)
        return;
    tl_json_begin_array(w, "hops");
    for (int i = 0; i < run->hop_count; i++)
        add_hop(w, &run->hops[i]);
    tl_json_end(w);
}

static void add_stage(struct tl_json_writer *w, const struct tl_stage_record *stage)
{
    tl_json_begin_object(w, NULL);
    tl_json_add_string(w, "id", stage->id);
    tl_json_add_string(w, "state", tl_stage_state_name(stage->state));
    add_text(w, "reason", stage->reason);
    tl_json_add_integer(w, "duration_ns", stage->duration_ns);
    tl_json_add_integer(w, "sent_bytes", stage->sent_bytes);
    tl_json_add_integer(w, "received_bytes", stage->received_bytes);
    tl_json_end(w);
}

/* What the plan decided, in its order. */
static void add_decision(struct tl_json_writer *w, const struct tl_plan_record *record)
{
    tl_json_begin_object(w, NULL);
    tl_json_add_string(w, "stage", record->stage);
    if (record->has_direction)
        tl_json_add_string(w, "direction", tl_direction_name(record->direction));
    tl_json_add_bool(w, "chosen", record->chosen);
    tl_json_add_number(w, "worth", record->worth);
    tl_json_add_integer(w, "time_ns", record->time_ns);
    tl_json_add_integer(w, "bytes", record->bytes);
    add_text(w, "why", record->why);
    tl_json_end(w);
}

/* What was seen after the verdict. */
static void add_watch(struct tl_json_writer *w, const struct tl_watch_record *watch)
{
    long long listed =
        watch->outage_count < TL_WATCH_OUTAGES_MAX ? watch->outage_count : TL_WATCH_OUTAGES_MAX;
    if (!watch->ran)
        return;
    tl_json_begin_object(w, "watch");
    tl_json_add_integer(w, "duration_ns", watch->duration_ns);
    tl_json_add_integer(w, "bytes", watch->bytes);
    tl_json_add_integer(w, "seconds_count", watch->seconds_count);
    tl_json_add_number(w, "p5_bps", watch->p5_bps);
    tl_json_add_number(w, "p50_bps", watch->p50_bps);
    tl_json_add_number(w, "p95_bps", watch->p95_bps);
    tl_json_add_number(w, "least_bps", watch->least_bps);
    tl_json_add_number(w, "most_bps", watch->most_bps);
    tl_json_add_integer(w, "outage_count", watch->outage_count);
    tl_json_add_integer(w, "outage_ns", watch->outage_ns);
    tl_json_begin_array(w, "outages");
    for (long long i = 0; i < listed; i++) {
        tl_json_begin_object(w, NULL);
        tl_json_add_string(w, "start", watch->outages[i].start);
        tl_json_add_integer(w, "length_ns", watch->outages[i].length_ns);
        tl_json_add_bool(w, "open", watch->outages[i].open);
        tl_json_end(w);
    }
    tl_json_end(w);
    add_text(w, "samples", watch->path);
    add_text(w, "ended", watch->ended);
    tl_json_end(w);
}

static void add_lists(struct tl_json_writer *w, const struct tl_run *run,
                      const struct tl_facts *facts, const struct tl_findings *findings)
{
    tl_json_begin_array(w, "findings");
    for (size_t i = 0; i < findings->finding_count; i++)
        add_finding(w, run, &findings->findings[i]);
    tl_json_end(w);
    tl_json_begin_array(w, "ladder");
    for (size_t i = 0; i < findings->rung_count; i++)
        add_rung(w, &findings->ladder[i]);
    tl_json_end(w);
    tl_json_begin_array(w, "ledger");
    for (size_t i = 0; i < findings->ledger_count; i++)
        add_ledger_row(w, facts, &findings->ledger[i]);
    tl_json_end(w);
    tl_json_begin_array(w, "segments");
    for (int i = 0; i < run->segment_count; i++)
        add_segment(w, &run->segments[i]);
    tl_json_end(w);
    add_hops(w, run);
    tl_json_begin_array(w, "stages");
    for (int i = 0; i < run->stage_count; i++)
        add_stage(w, &run->stages[i]);
    tl_json_end(w);
    tl_json_begin_array(w, "plan");
    for (int i = 0; i < run->plan_count; i++)
        add_decision(w, &run->plan[i]);
    tl_json_end(w);
    add_watch(w, &run->watch);
}

/* Which masks stand in the document for what does not leave. */
static void add_privacy(struct tl_json_writer *w, void *context)
{
    const struct tl_redactor *redactor = *(const struct tl_redactor *const *)context;
    if (!redactor)
        return;
    tl_json_begin_object(w, "privacy");
    tl_json_begin_array(w, "masked");
    for (size_t i = 0; i < tl_redactor_count(redactor); i++)
        tl_json_add_string(w, NULL, tl_redactor_at(redactor, i).mask);
    tl_json_end(w);
    tl_json_end(w);
}

enum tl_status tl_document_write_with(const struct tl_run *run, const struct tl_facts *facts,
                                      const struct tl_findings *findings, bool pretty,
                                      tl_document_more *add, void *context, struct tl_buf *out)
{
    struct tl_json_writer writer;
    tl_json_writer_init(&writer, out, !pretty);
    tl_json_begin_object(&writer, NULL);
    tl_json_add_string(&writer, "format", "tightlink.findings/1");
    add_run(&writer, run, facts);
    add_verdict(&writer, &findings->verdict);
    add_lists(&writer, run, facts, findings);
    tl_facts_save(facts, &writer, "facts");
    add(&writer, context);
    tl_json_end(&writer);
    return out->status;
}

enum tl_status document_write_masked(const struct tl_run *run, const struct tl_facts *facts,
                                     const struct tl_findings *findings,
                                     const struct tl_redactor *redactor, bool pretty,
                                     struct tl_buf *out)
{
    return tl_document_write_with(run, facts, findings, pretty, add_privacy, &redactor, out);
}

enum tl_status tl_document_write(const struct tl_run *run, const struct tl_facts *facts,
                                 const struct tl_findings *findings, bool pretty,
                                 struct tl_buf *out)
{
    return document_write_masked(run, facts, findings, NULL, pretty, out);
}

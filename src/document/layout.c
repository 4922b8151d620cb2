/* The tables of the document, in the order of findings.schema.json: the order in which members
 * are written. */
#include "layout.h"

#include <string.h>

/* The place of a member, which must have the type. */
#define AT(type, record, member)                                                                   \
    (offsetof(struct record, member) + 0 * sizeof((type *)0 == &((struct record *)0)->member))
#define SIZE(record, member) sizeof(((struct record *)0)->member)
#define ITEMS(record, number)                                                                      \
    .count_offset = offsetof(struct record, number), .count_size = SIZE(record, number)

/* One row each: KIND(record, "key", member, what else holds) */
#define TEXT(record, name, member, ...)                                                            \
    {                                                                                              \
        .key = (name), .kind = LAYOUT_TEXT, .offset = offsetof(struct record, member),             \
        .size = SIZE(record, member), __VA_ARGS__                                                  \
    }
#define PLAIN(of, type, record, name, member, ...)                                                 \
    {                                                                                              \
        .key = (name), .kind = (of), .offset = AT(type, record, member), __VA_ARGS__               \
    }
#define STRING(record, name, member, ...)                                                          \
    PLAIN(LAYOUT_STRING, char *, record, name, member, __VA_ARGS__)
#define COUNT(record, name, member, ...)                                                           \
    PLAIN(LAYOUT_COUNT, long long, record, name, member, __VA_ARGS__)
#define NUMBER(record, name, member, ...)                                                          \
    PLAIN(LAYOUT_NUMBER, double, record, name, member, __VA_ARGS__)
#define WHOLE(record, name, member, ...)                                                           \
    PLAIN(LAYOUT_WHOLE, double, record, name, member, __VA_ARGS__)
#define INT(record, name, member, ...)  PLAIN(LAYOUT_INT, int, record, name, member, __VA_ARGS__)
#define BOOL(record, name, member, ...) PLAIN(LAYOUT_BOOL, bool, record, name, member, __VA_ARGS__)
#define WORD(record, key, member, of, ...)                                                         \
    PLAIN(LAYOUT_WORD, enum of, record, key, member, .name = name_of_##of,                         \
          .word_count = COUNT_OF_##of, __VA_ARGS__)
#define CHOICE(record, name, member, list)                                                         \
    {                                                                                              \
        .key = (name), .kind = LAYOUT_CHOICE, .flags = LAYOUT_NEEDED, .mask = LAYOUT_MASK_NONE,    \
        .offset = offsetof(struct record, member), .size = SIZE(record, member), .words = (list),  \
        .word_count = sizeof(list) / sizeof *(list)                                                \
    }
#define FACTS(record, name, member, number)                                                        \
    PLAIN(LAYOUT_FACTS, struct tl_fact_key *, record, name, member, ITEMS(record, number))
#define LIST(record, name, member, number, table, ...)                                             \
    {                                                                                              \
        .key = (name), .kind = LAYOUT_LIST, .offset = offsetof(struct record, member),             \
        ITEMS(record, number),                                                                     \
        .max = SIZE(record, member) / sizeof(((struct record *)0)->member[0]), .sub = &(table),    \
        __VA_ARGS__                                                                                \
    }
#define ARRAY(record, name, member, number, table)                                                 \
    {                                                                                              \
        .key = (name), .kind = LAYOUT_ARRAY, .offset = offsetof(struct record, member),            \
        ITEMS(record, number), .sub = &(table)                                                     \
    }
#define GROUP(name, table, ...)                                                                    \
    {                                                                                              \
        .key = (name), .kind = LAYOUT_GROUP, .sub = &(table), __VA_ARGS__                          \
    }
#define OTHER(name, ...)                                                                           \
    {                                                                                              \
        .key = (name), .kind = LAYOUT_OTHER, __VA_ARGS__                                           \
    }
#define NEEDED .flags = LAYOUT_NEEDED
#define SPARSE .flags = LAYOUT_SPARSE
#define OPEN   .mask = LAYOUT_MASK_NONE

#define LAYOUT_OF(table, record)                                                                   \
    {                                                                                              \
        (table), sizeof(table) / sizeof *(table), sizeof(struct record)                            \
    }

/* The words of an enum; the last of its values says how many there are. */
#define WORDS(of, function, last)                                                                  \
    enum { COUNT_OF_##of = (last) + 1 };                                                           \
    static const char *name_of_##of(size_t value)                                                  \
    {                                                                                              \
        return function((enum of)value);                                                           \
    }
WORDS(tl_direction, tl_direction_name, TL_UPLOAD)
WORDS(tl_quality, tl_quality_name, TL_QUALITY_ABORTED)
WORDS(tl_stage_state, tl_stage_state_name, TL_STAGE_NOT_POSSIBLE)
WORDS(tl_result, tl_result_name, TL_NOT_APPLICABLE)
WORDS(tl_severity, tl_severity_name, TL_NOTE)
WORDS(tl_truth, tl_truth_name, TL_TRUE)
WORDS(tl_verdict_state, tl_verdict_state_name, TL_VERDICT_INVALID)
WORDS(tl_score, tl_score_name, TL_SCORES - 1)

size_t layout_count(const struct layout_field *field, const void *record)
{
    const char *at = (const char *)record + field->count_offset;
    int small = 0;
    size_t count = 0;
    if (field->count_size == sizeof small) {
        memcpy(&small, at, sizeof small);
        count = (size_t)small;
    } else {
        memcpy(&count, at, sizeof count);
    }
    return field->max && count > field->max ? field->max : count;
}

/* --- run --- */

static bool has_goal(const void *record)
{
    const struct tl_run *run = record;
    return run->goal.bps > 0 || run->goal.rtt_ns > 0 || run->goal.loss_ratio > 0 ||
           run->goal.rtt_max_ns > 0 || run->goal.mtu_bytes > 0;
}

static const char *const target_kinds[] = {"tightlink", "iperf3",     "nuttcp", "ndt7",
                                           "http",      "pscheduler", "icmp",   "pcap",
                                           "live",      "self",       "mover",  "demo"};
static const struct layout_field target_fields[] = {
    TEXT(tl_run, "name", target_name, NEEDED, .mask = LAYOUT_MASK_HOST),
    TEXT(tl_run, "address", target_address, .mask = LAYOUT_MASK_HOST),
    TEXT(tl_run, "proxy", target_proxy, .mask = LAYOUT_MASK_HOST),
    INT(tl_run, "family", target_family, SPARSE),
    CHOICE(tl_run, "kind", target_kind, target_kinds),
    INT(tl_run, "port", target_port, SPARSE),
    INT(tl_run, "only_family", target_only, SPARSE),
    BOOL(tl_run, "http1", target_http1, SPARSE),
    BOOL(tl_run, "keyed", target_keyed, SPARSE),
    BOOL(tl_run, "login", target_login, SPARSE),
    TEXT(tl_run, "far", target_far, OPEN),
    TEXT(tl_run, "link", target_link),
};
static const struct layout target = LAYOUT_OF(target_fields, tl_run);

static const struct layout_field goal_fields[] = {
    NUMBER(tl_run, "rate_bps", goal.bps),
    WHOLE(tl_run, "rtt_ns", goal.rtt_ns),
    WHOLE(tl_run, "bytes", goal.bytes, SPARSE),
    WHOLE(tl_run, "time_ns", goal.time_ns, SPARSE),
    NUMBER(tl_run, "loss_ratio", goal.loss_ratio, SPARSE),
    NUMBER(tl_run, "rtt_max_ns", goal.rtt_max_ns, SPARSE),
    NUMBER(tl_run, "mtu_bytes", goal.mtu_bytes, SPARSE),
    OTHER("lines", .write = layout_write_goal_lines),
};
static const struct layout goal = LAYOUT_OF(goal_fields, tl_run);

static const struct layout_field quality_fields[] = {
    WORD(tl_run, "status", quality, tl_quality, NEEDED),
    {.key = "reasons",
     .kind = LAYOUT_TEXTS,
     NEEDED,
     .offset = offsetof(struct tl_run, reasons),
     .size = SIZE(tl_run, reasons[0]),
     ITEMS(tl_run, reason_count),
     .max = TL_RUN_REASONS_MAX},
};
static const struct layout quality = LAYOUT_OF(quality_fields, tl_run);

static const struct layout_field run_fields[] = {
    TEXT(tl_run, "id", id, NEEDED, OPEN),
    TEXT(tl_run, "host_mark", host_mark, OPEN),
    TEXT(tl_run, "started", started, NEEDED, OPEN),
    COUNT(tl_run, "duration_ns", duration_ns, NEEDED),
    TEXT(tl_run, "tool_version", tool_version, NEEDED),
    GROUP("target", target, NEEDED),
    OTHER("directions", .write = layout_write_directions, .read = layout_read_directions),
    GROUP("goal", goal, .flags = LAYOUT_NULLABLE, .when = has_goal),
    TEXT(tl_run, "complaint", complaint, .flags = LAYOUT_NULLABLE),
    COUNT(tl_run, "sent_bytes", sent_bytes, NEEDED),
    COUNT(tl_run, "received_bytes", received_bytes, NEEDED),
    GROUP("quality", quality, NEEDED),
};
const struct layout layout_run = LAYOUT_OF(run_fields, tl_run);

/* --- verdict --- */

static bool is_limited(const void *record)
{
    return ((const struct tl_verdict *)record)->state == TL_LIMITED;
}

static bool is_fixed(const void *record)
{
    return ((const struct tl_verdict *)record)->fixed_bps > 0;
}

static const struct layout_field verdict_fields[] = {
    WORD(tl_verdict, "state", state, tl_verdict_state),
    STRING(tl_verdict, "cause", cause),
    STRING(tl_verdict, "segment", segment, OPEN),
    WORD(tl_verdict, "direction", direction, tl_direction),
    NUMBER(tl_verdict, "confidence", confidence, .when = is_limited),
    STRING(tl_verdict, "confidence_reasons", confidence_reasons, .when = is_limited),
    STRING(tl_verdict, "sentence", sentence, NEEDED),
    NUMBER(tl_verdict, "measured_bps", measured_bps),
    NUMBER(tl_verdict, "ceiling_bps", ceiling_bps),
    NUMBER(tl_verdict, "fixed_bps", fixed_bps),
    BOOL(tl_verdict, "fixed_at_least", fixed_at_least, SPARSE),
    BOOL(tl_verdict, "fixed_promised", fixed_promised, .when = is_fixed),
    STRING(tl_verdict, "fixed_stage", fixed_stage),
    STRING(tl_verdict, "next_cause", next_cause, .flags = LAYOUT_NULLABLE),
    STRING(tl_verdict, "send_to", send_to),
    FACTS(tl_verdict, "deciding", deciding, deciding_count),
};
const struct layout layout_verdict = LAYOUT_OF(verdict_fields, tl_verdict);

/* --- findings --- */

#define PREDICTION(record, member)                                                                 \
    NUMBER(record, "predicted_bps", member.bps),                                                   \
        NUMBER(record, "predicted_low_bps", member.low_bps),                                       \
        NUMBER(record, "predicted_high_bps", member.high_bps),                                     \
        OTHER("predicted_at_least", .offset = AT(double, record, member.high_bps),                 \
              .write = layout_write_at_least, .read = layout_read_at_least)

static const struct layout_field verified_fields[] = {
    TEXT(tl_verified_record, NULL, rule), /* that of the finding */
    TEXT(tl_verified_record, "what", what, NEEDED),
    PREDICTION(tl_verified_record, predicted),
    NUMBER(tl_verified_record, "measured_bps", measured_bps),
    OTHER("hit", .offset = AT(enum tl_score, tl_verified_record, score), .write = layout_write_hit),
    WORD(tl_verified_record, "score", score, tl_score, .flags = LAYOUT_UNREAD),
};
const struct layout layout_verified = LAYOUT_OF(verified_fields, tl_verified_record);

static bool is_not_spare(const void *record)
{
    return !((const struct tl_evidence *)record)->is_spare;
}

static const struct layout_field value_fields[] = {
    STRING(tl_evidence_value, NULL, text),
};
static const struct layout value = LAYOUT_OF(value_fields, tl_evidence_value);

static const struct layout_field evidence_fields[] = {
    STRING(tl_evidence, "id", id, NEEDED),
    STRING(tl_evidence, "say", say, NEEDED),
    STRING(tl_evidence, "test", test),
    ARRAY(tl_evidence, NULL, values, value_count, value),
    OTHER("values", .write = layout_write_values),
    WORD(tl_evidence, "result", truth, tl_truth),
    BOOL(tl_evidence, "for", is_for, .when = is_not_spare),
};
static const struct layout evidence = LAYOUT_OF(evidence_fields, tl_evidence);

static bool is_predicted(const void *record)
{
    return ((const struct tl_remedy *)record)->predicted.bps > 0;
}

static const struct layout_field remedy_fields[] = {
    STRING(tl_remedy, "where", where, NEEDED, OPEN),
    STRING(tl_remedy, "os", os, OPEN),
    STRING(tl_remedy, "needs", needs, OPEN),
    STRING(tl_remedy, "do", does, NEEDED),
    STRING(tl_remedy, "undo", undo),
    STRING(tl_remedy, "persist", persist),
    STRING(tl_remedy, "why", why),
    STRING(tl_remedy, "risk", risk),
    PREDICTION(tl_remedy, predicted),
    BOOL(tl_remedy, "promised", promised, .when = is_predicted),
};
static const struct layout remedy = LAYOUT_OF(remedy_fields, tl_remedy);

static bool is_found(const void *record)
{
    return ((const struct tl_finding *)record)->result == TL_FOUND;
}

static const struct layout_field finding_fields[] = {
    STRING(tl_finding, "rule", rule, NEEDED),
    STRING(tl_finding, "cause", cause, NEEDED),
    STRING(tl_finding, "title", title),
    STRING(tl_finding, "segment", segment, OPEN),
    WORD(tl_finding, "direction", direction, tl_direction),
    WORD(tl_finding, "result", result, tl_result),
    WORD(tl_finding, "severity", severity, tl_severity, .when = is_found),
    NUMBER(tl_finding, "confidence", confidence, .when = is_found),
    NUMBER(tl_finding, "ceiling_bps", ceiling_bps),
    NUMBER(tl_finding, "ceiling_low_bps", ceiling_low_bps),
    NUMBER(tl_finding, "ceiling_high_bps", ceiling_high_bps),
    STRING(tl_finding, "sentence", sentence),
    STRING(tl_finding, "send_to", send_to),
    STRING(tl_finding, "would_change", would_change),
    STRING(tl_finding, NULL, standing),
    ARRAY(tl_finding, "evidence", evidence, evidence_count, evidence),
    FACTS(tl_finding, "missing", missing, missing_count),
    ARRAY(tl_finding, "remedies", remedies, remedy_count, remedy),
    {.key = "verified", .kind = LAYOUT_TRIED, .sub = &layout_verified},
    PLAIN(LAYOUT_STRINGS, char **, tl_finding, "references", references,
          ITEMS(tl_finding, reference_count)),
};
static const struct layout finding = LAYOUT_OF(finding_fields, tl_finding);

static const struct layout_field rung_fields[] = {
    STRING(tl_rung, "cause", cause, NEEDED),
    STRING(tl_rung, "segment", segment, NEEDED, OPEN),
    WORD(tl_rung, "direction", direction, tl_direction),
    BOOL(tl_rung, "tested", tested),
    NUMBER(tl_rung, "bps", bps),
    NUMBER(tl_rung, "low_bps", low_bps),
    NUMBER(tl_rung, "high_bps", high_bps),
    STRING(tl_rung, "label", label),
    STRING(tl_rung, "why_not", why_not),
    BOOL(tl_rung, "limits", limits),
    FACTS(tl_rung, NULL, missing, missing_count),
};
static const struct layout rung = LAYOUT_OF(rung_fields, tl_rung);

static const struct layout_field ledger_fields[] = {
    WORD(tl_ledger_row, "direction", direction, tl_direction),
    OTHER("from_ns", .write = layout_write_span), /* and to_ns */
    NUMBER(tl_ledger_row, "app_ratio", app_ratio),
    NUMBER(tl_ledger_row, "sndbuf_ratio", sndbuf_ratio),
    NUMBER(tl_ledger_row, "rwnd_ratio", rwnd_ratio),
    NUMBER(tl_ledger_row, "network_ratio", network_ratio),
};
static const struct layout ledger = LAYOUT_OF(ledger_fields, tl_ledger_row);

static const struct layout_field judged_fields[] = {
    ARRAY(tl_findings, "findings", findings, finding_count, finding),
    ARRAY(tl_findings, "ladder", ladder, rung_count, rung),
    ARRAY(tl_findings, "ledger", ledger, ledger_count, ledger),
};
const struct layout layout_judged = LAYOUT_OF(judged_fields, tl_findings);

/* --- segments, hops, stages, plan, watch --- */

static bool has_hops(const void *record)
{
    return ((const struct tl_segment_record *)record)->last_hop > 0;
}

static const char *const segment_kinds[] = {"near-host", "lan",      "path",
                                            "far-lan",   "far-host", "flow"};
static const struct layout_field segment_fields[] = {
    TEXT(tl_segment_record, "id", id, NEEDED, .mask = LAYOUT_MASK_SEGMENT_ID),
    CHOICE(tl_segment_record, "kind", kind, segment_kinds),
    TEXT(tl_segment_record, "name", name, .mask = LAYOUT_MASK_SEGMENT_NAME),
    WHOLE(tl_segment_record, "rtt_add_ns", rtt_add_ns, .flags = LAYOUT_SIGNED),
    WHOLE(tl_segment_record, "mtu_bytes", mtu_bytes),
    NUMBER(tl_segment_record, "loss_ratio", loss_ratio),
    WHOLE(tl_segment_record, "loaded_rtt_add_ns", loaded_rtt_add_ns, .flags = LAYOUT_SIGNED),
    NUMBER(tl_segment_record, "prefix_rate_bps", prefix_rate_bps),
    NUMBER(tl_segment_record, "prefix_ceiling_bps", prefix_ceiling_bps),
    WHOLE(tl_segment_record, "prefix_rtt_ns", prefix_rtt_ns),
    INT(tl_segment_record, "first_hop", first_hop, .when = has_hops),
    INT(tl_segment_record, "last_hop", last_hop, .when = has_hops),
    BOOL(tl_segment_record, "tight", tight, SPARSE),
};
static const struct layout segment = LAYOUT_OF(segment_fields, tl_segment_record);

static const struct layout_field hop_fields[] = {
    INT(tl_hop_record, "hop", hop),
    TEXT(tl_hop_record, "address", address, .mask = LAYOUT_MASK_HOST),
    TEXT(tl_hop_record, "name", name, .mask = LAYOUT_MASK_HOST),
    INT(tl_hop_record, "sent_count", sent_count),
    INT(tl_hop_record, "answered_count", answered_count),
    WHOLE(tl_hop_record, "rtt_min_ns", rtt_min_ns),
    WHOLE(tl_hop_record, "rtt_mean_ns", rtt_mean_ns),
    WHOLE(tl_hop_record, "rtt_max_ns", rtt_max_ns),
    WHOLE(tl_hop_record, "loaded_rtt_ns", loaded_rtt_ns),
    TEXT(tl_hop_record, "note", note),
};
static const struct layout hop = LAYOUT_OF(hop_fields, tl_hop_record);

static const struct layout_field stage_fields[] = {
    TEXT(tl_stage_record, "id", id, NEEDED),
    WORD(tl_stage_record, "state", state, tl_stage_state, NEEDED),
    TEXT(tl_stage_record, "reason", reason),
    COUNT(tl_stage_record, "duration_ns", duration_ns),
    COUNT(tl_stage_record, "sent_bytes", sent_bytes),
    COUNT(tl_stage_record, "received_bytes", received_bytes),
};
static const struct layout stage = LAYOUT_OF(stage_fields, tl_stage_record);

/* What the plan decided. */
static const struct layout_field decision_fields[] = {
    TEXT(tl_plan_record, "stage", stage, NEEDED),
    OTHER("direction", .write = layout_write_planned, .read = layout_read_planned),
    BOOL(tl_plan_record, "chosen", chosen),
    NUMBER(tl_plan_record, "worth", worth),
    COUNT(tl_plan_record, "time_ns", time_ns),
    COUNT(tl_plan_record, "bytes", bytes),
    TEXT(tl_plan_record, "why", why),
};
static const struct layout decision = LAYOUT_OF(decision_fields, tl_plan_record);

static const struct layout_field outage_fields[] = {
    TEXT(tl_watch_outage, "start", start, NEEDED),
    COUNT(tl_watch_outage, "length_ns", length_ns),
    BOOL(tl_watch_outage, "open", open),
};
static const struct layout outage = LAYOUT_OF(outage_fields, tl_watch_outage);

static bool was_watched(const void *record)
{
    return ((const struct tl_run *)record)->watch.ran;
}

static const struct layout_field watch_fields[] = {
    COUNT(tl_run, "duration_ns", watch.duration_ns),
    COUNT(tl_run, "bytes", watch.bytes),
    COUNT(tl_run, "seconds_count", watch.seconds_count),
    NUMBER(tl_run, "p5_bps", watch.p5_bps),
    NUMBER(tl_run, "p50_bps", watch.p50_bps),
    NUMBER(tl_run, "p95_bps", watch.p95_bps),
    NUMBER(tl_run, "least_bps", watch.least_bps),
    NUMBER(tl_run, "most_bps", watch.most_bps),
    COUNT(tl_run, "outage_count", watch.outage_count),
    COUNT(tl_run, "outage_ns", watch.outage_ns),
    LIST(tl_run, "outages", watch.outages, watch.outage_count, outage),
    TEXT(tl_run, "samples", watch.path, .mask = LAYOUT_MASK_PATH),
    TEXT(tl_run, "ended", watch.ended),
};
static const struct layout watch = LAYOUT_OF(watch_fields, tl_run);

/* Documents of older programs have no hops, plan or watch. */
static const struct layout_field measured_fields[] = {
    LIST(tl_run, "segments", segments, segment_count, segment, NEEDED),
    LIST(tl_run, "hops", hops, hop_count, hop, SPARSE),
    LIST(tl_run, "stages", stages, stage_count, stage, NEEDED),
    LIST(tl_run, "plan", plan, plan_count, decision),
    GROUP("watch", watch, .flags = LAYOUT_UNREAD, .when = was_watched),
};
const struct layout layout_measured = LAYOUT_OF(measured_fields, tl_run);

/* A saved run back from its document: the run, its stages and segments, its facts.
 * Verdict, findings, ladder and ledger are not read: they are judged again. Remedies that were
 * tried, and what the plan decided, are.
 *
 * Everything here may be hostile; every text has the room of its field, every list
 * that of its array, every number its range. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/json.h"
#include "tightlink/document/document.h"
#include "tightlink/facts/save.h"

/* A run has some 500 facts of at most 8 values each. */
#define VALUES_MAX 50000
#define DEPTH_MAX  16

/* Reads a member that may be absent; *ret_text stays as it is then. */
static enum tl_status read_text(const struct tl_json_at *object, const char *key, char *ret_text,
                                size_t size, struct tl_error *reterr)
{
    struct tl_json_at at;
    const char *text;
    if (!tl_json_find(object, key, &at) || tl_json_type(&at) == TL_JSON_NULL)
        return TL_OK;
    enum tl_status status = tl_json_string(&at, &text, reterr);
    if (status != TL_OK)
        return status;
    if (strlen(text) >= size)
        return tl_json_error(&at, reterr, TL_LIMIT, "longer than %zu bytes", size - 1);
    memcpy(ret_text, text, strlen(text) + 1);
    return TL_OK;
}

static enum tl_status need_text(const struct tl_json_at *object, const char *key, char *ret_text,
                                size_t size, struct tl_error *reterr)
{
    const char *text;
    enum tl_status status = tl_json_get_string(object, key, &text, reterr);
    return status == TL_OK ? read_text(object, key, ret_text, size, reterr) : status;
}

static enum tl_status need_count(const struct tl_json_at *object, const char *key,
                                 long long *ret_count, struct tl_error *reterr)
{
    int64_t count;
    enum tl_status status = tl_json_get_integer(object, key, 0, INT64_MAX, &count, reterr);
    if (status == TL_OK)
        *ret_count = count;
    return status;
}

/* A count that may be absent: 0 then. */
static enum tl_status read_count(const struct tl_json_at *object, const char *key,
                                 long long *ret_count, struct tl_error *reterr)
{
    struct tl_json_at at;
    return tl_json_find(object, key, &at) ? need_count(object, key, ret_count, reterr) : TL_OK;
}

/* A number that may be absent (NAN then), from least on. */
static enum tl_status read_number(const struct tl_json_at *object, const char *key, double least,
                                  double *ret_number, struct tl_error *reterr)
{
    struct tl_json_at at;
    double number;
    if (!tl_json_find(object, key, &at))
        return TL_OK;
    enum tl_status status = tl_json_number(&at, &number, reterr);
    if (status != TL_OK)
        return status;
    if (number < least)
        return tl_json_error(&at, reterr, TL_RANGE, "%g is below %g", number, least);
    *ret_number = number;
    return TL_OK;
}

/* A yes or no that may be absent: no then. */
static enum tl_status read_bool(const struct tl_json_at *object, const char *key, bool *ret_yes,
                                struct tl_error *reterr)
{
    struct tl_json_at at;
    if (!tl_json_find(object, key, &at))
        return TL_OK;
    return tl_json_bool(&at, ret_yes, reterr);
}

/* Which of the words the text at a required key is. */
static enum tl_status need_word(const struct tl_json_at *object, const char *key,
                                const char *const *words, size_t count, size_t *ret_index,
                                struct tl_error *reterr)
{
    struct tl_json_at at;
    const char *text;
    enum tl_status status = tl_json_get(object, key, &at, reterr);
    if (status == TL_OK)
        status = tl_json_string(&at, &text, reterr);
    if (status != TL_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], text) == 0) {
            *ret_index = i;
            return TL_OK;
        }
    }
    return tl_json_error(&at, reterr, TL_UNKNOWN, "this word is not known here");
}

#define NEED_WORD(object, key, words, ret_index, reterr)                                           \
    need_word(object, key, words, sizeof(words) / sizeof *(words), ret_index, reterr)

/* --- run --- */

/* Id, start and the host's mark are written again as they are: they must have their forms. */
static enum tl_status check_names(const struct tl_json_at *run_at, const struct tl_run *run,
                                  struct tl_error *reterr)
{
    struct tl_json_at at = *run_at;
    if (strlen(run->id) != 26 || strspn(run->id, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") != 26) {
        (void)tl_json_find(run_at, "id", &at);
        return tl_json_error(&at, reterr, TL_SYNTAX, "this is no ULID");
    }
    size_t digits = strlen(run->host_mark);
    if (digits > 0 && (digits != sizeof run->host_mark - 1 ||
                       strspn(run->host_mark, "0123456789abcdef") != digits)) {
        (void)tl_json_find(run_at, "host_mark", &at);
        return tl_json_error(&at, reterr, TL_SYNTAX, "this is no mark of a host");
    }
    if (strlen(run->started) < 20 || run->started[10] != 'T' ||
        strspn(run->started, "0123456789-:.+TZ") != strlen(run->started)) {
        (void)tl_json_find(run_at, "started", &at);
        return tl_json_error(&at, reterr, TL_SYNTAX, "this is no RFC 3339 time");
    }
    return TL_OK;
}

static enum tl_status read_target(const struct tl_json_at *run_at, struct tl_run *run,
                                  struct tl_error *reterr)
{
    static const char *const kinds[] = {"tightlink", "iperf3",     "nuttcp", "ndt7",
                                        "http",      "pscheduler", "icmp",   "pcap",
                                        "live",      "self",       "mover",  "demo"};
    struct tl_json_at target, at;
    size_t kind = 0;
    int64_t family = 0;
    enum tl_status status = tl_json_get_object(run_at, "target", &target, reterr);
    if (status == TL_OK)
        status = need_text(&target, "name", run->target_name, sizeof run->target_name, reterr);
    if (status == TL_OK)
        status =
            read_text(&target, "address", run->target_address, sizeof run->target_address, reterr);
    if (status == TL_OK)
        status = NEED_WORD(&target, "kind", kinds, &kind, reterr);
    if (status == TL_OK && tl_json_find(&target, "family", &at)) {
        status = tl_json_integer(&at, 4, 6, &family, reterr);
        if (status == TL_OK && family == 5)
            status = tl_json_error(&at, reterr, TL_RANGE, "the family is 4 or 6");
    }
    if (status != TL_OK)
        return status;
    snprintf(run->target_kind, sizeof run->target_kind, "%s", kinds[kind]);
    run->target_family = (int)family;
    return TL_OK;
}

static enum tl_status read_directions(const struct tl_json_at *run_at, struct tl_run *run,
                                      struct tl_error *reterr)
{
    struct tl_json_at directions;
    enum tl_status status = tl_json_get_array(run_at, "directions", &directions, reterr);
    for (size_t i = 0; status == TL_OK && i < tl_json_count(&directions); i++) {
        struct tl_json_at at = tl_json_item(&directions, i);
        const char *text;
        status = tl_json_string(&at, &text, reterr);
        if (status != TL_OK)
            break;
        if (strcmp(text, tl_direction_name(TL_DOWNLOAD)) == 0)
            run->download = true;
        else if (strcmp(text, tl_direction_name(TL_UPLOAD)) == 0)
            run->upload = true;
        else
            status = tl_json_error(&at, reterr, TL_UNKNOWN, "neither download nor upload");
    }
    if (status == TL_OK && !run->download && !run->upload)
        status = tl_json_error(&directions, reterr, TL_SYNTAX, "no direction");
    return status;
}

static enum tl_status read_goal(const struct tl_json_at *run_at, struct tl_run *run,
                                struct tl_error *reterr)
{
    struct tl_json_at goal;
    run->goal_bps = run->goal_rtt_ns = NAN;
    if (!tl_json_find(run_at, "goal", &goal) || tl_json_type(&goal) == TL_JSON_NULL)
        return TL_OK;
    enum tl_status status = tl_json_expect(&goal, TL_JSON_OBJECT, reterr);
    if (status == TL_OK)
        status = read_number(&goal, "rate_bps", 1, &run->goal_bps, reterr);
    if (status == TL_OK)
        status = read_number(&goal, "rtt_ns", 0, &run->goal_rtt_ns, reterr);
    if (status == TL_OK)
        status = read_number(&goal, "loss_ratio", 0, &run->goal_loss_ratio, reterr);
    if (status == TL_OK)
        status = read_number(&goal, "rtt_max_ns", 0, &run->goal_rtt_max_ns, reterr);
    if (status == TL_OK)
        status = read_number(&goal, "mtu_bytes", 0, &run->goal_mtu_bytes, reterr);
    if (status == TL_OK)
        status = read_number(&goal, "bytes", 0, &run->goal_bytes, reterr);
    if (status == TL_OK)
        status = read_number(&goal, "time_ns", 0, &run->goal_time_ns, reterr);
    return status;
}

static enum tl_status read_reasons(const struct tl_json_at *quality, struct tl_run *run,
                                   struct tl_error *reterr)
{
    struct tl_json_at reasons;
    enum tl_status status = tl_json_get_array(quality, "reasons", &reasons, reterr);
    if (status == TL_OK && tl_json_count(&reasons) > TL_RUN_REASONS_MAX)
        return tl_json_error(&reasons, reterr, TL_LIMIT, "more than %d", TL_RUN_REASONS_MAX);
    for (size_t i = 0; status == TL_OK && i < tl_json_count(&reasons); i++) {
        struct tl_json_at at = tl_json_item(&reasons, i);
        const char *text;
        status = tl_json_string(&at, &text, reterr);
        if (status != TL_OK)
            break;
        if (strlen(text) >= sizeof run->reasons[0])
            return tl_json_error(&at, reterr, TL_LIMIT, "longer than %zu bytes",
                                 sizeof run->reasons[0] - 1);
        memcpy(run->reasons[run->reason_count++], text, strlen(text) + 1);
    }
    return status;
}

static enum tl_status read_quality(const struct tl_json_at *run_at, struct tl_run *run,
                                   struct tl_error *reterr)
{
    static const char *const words[] = {"valid", "degraded", "invalid", "aborted"};
    struct tl_json_at quality;
    size_t index = 0;
    enum tl_status status = tl_json_get_object(run_at, "quality", &quality, reterr);
    if (status == TL_OK)
        status = NEED_WORD(&quality, "status", words, &index, reterr);
    if (status != TL_OK)
        return status;
    run->quality = (enum tl_quality)index;
    return read_reasons(&quality, run, reterr);
}

static enum tl_status read_run(const struct tl_json_at *root, struct tl_run *run,
                               struct tl_error *reterr)
{
    struct tl_json_at at;
    enum tl_status status = tl_json_get_object(root, "run", &at, reterr);
    if (status == TL_OK)
        status = need_text(&at, "id", run->id, sizeof run->id, reterr);
    if (status == TL_OK)
        status = read_text(&at, "host_mark", run->host_mark, sizeof run->host_mark, reterr);
    if (status == TL_OK)
        status = need_text(&at, "started", run->started, sizeof run->started, reterr);
    if (status == TL_OK)
        status = check_names(&at, run, reterr);
    if (status == TL_OK)
        status = need_count(&at, "duration_ns", &run->duration_ns, reterr);
    if (status == TL_OK)
        status =
            need_text(&at, "tool_version", run->tool_version, sizeof run->tool_version, reterr);
    if (status == TL_OK)
        status = read_target(&at, run, reterr);
    if (status == TL_OK)
        status = read_directions(&at, run, reterr);
    if (status == TL_OK)
        status = read_goal(&at, run, reterr);
    if (status == TL_OK)
        status = read_text(&at, "complaint", run->complaint, sizeof run->complaint, reterr);
    if (status == TL_OK)
        status = need_count(&at, "sent_bytes", &run->sent_bytes, reterr);
    if (status == TL_OK)
        status = need_count(&at, "received_bytes", &run->received_bytes, reterr);
    if (status == TL_OK)
        status = read_quality(&at, run, reterr);
    return status;
}

/* --- stages and segments --- */

static enum tl_status read_stage(const struct tl_json_at *at, struct tl_stage_record *stage,
                                 struct tl_error *reterr)
{
    static const char *const words[] = {"done", "limited", "skipped", "failed", "not-possible"};
    size_t state = 0;
    enum tl_status status = need_text(at, "id", stage->id, sizeof stage->id, reterr);
    if (status == TL_OK)
        status = NEED_WORD(at, "state", words, &state, reterr);
    if (status == TL_OK)
        status = read_text(at, "reason", stage->reason, sizeof stage->reason, reterr);
    if (status == TL_OK)
        status = read_count(at, "duration_ns", &stage->duration_ns, reterr);
    if (status == TL_OK)
        status = read_count(at, "sent_bytes", &stage->sent_bytes, reterr);
    if (status == TL_OK)
        status = read_count(at, "received_bytes", &stage->received_bytes, reterr);
    stage->state = (enum tl_stage_state)state;
    return status;
}

static enum tl_status read_small(const struct tl_json_at *at, const char *key, int *ret_number,
                                 struct tl_error *reterr)
{
    long long number = *ret_number;
    enum tl_status status = read_count(at, key, &number, reterr);
    if (status == TL_OK && number > 1000000)
        return tl_json_error(at, reterr, TL_RANGE, "%s is too large", key);
    if (status == TL_OK)
        *ret_number = (int)number;
    return status;
}

static enum tl_status read_segment(const struct tl_json_at *at, struct tl_segment_record *segment,
                                   struct tl_error *reterr)
{
    static const char *const kinds[] = {"near-host", "lan", "path", "far-lan", "far-host", "flow"};
    size_t kind = 0;
    segment->rtt_add_ns = segment->mtu_bytes = NAN;
    segment->loss_ratio = segment->loaded_rtt_add_ns = NAN;
    segment->prefix_rate_bps = segment->prefix_ceiling_bps = segment->prefix_rtt_ns = NAN;
    enum tl_status status = need_text(at, "id", segment->id, sizeof segment->id, reterr);
    if (status == TL_OK)
        status = NEED_WORD(at, "kind", kinds, &kind, reterr);
    if (status == TL_OK)
        status = read_text(at, "name", segment->name, sizeof segment->name, reterr);
    if (status == TL_OK)
        status = read_number(at, "rtt_add_ns", -INFINITY, &segment->rtt_add_ns, reterr);
    if (status == TL_OK)
        status = read_number(at, "mtu_bytes", 0, &segment->mtu_bytes, reterr);
    if (status == TL_OK)
        status = read_number(at, "loss_ratio", 0, &segment->loss_ratio, reterr);
    if (status == TL_OK)
        status =
            read_number(at, "loaded_rtt_add_ns", -INFINITY, &segment->loaded_rtt_add_ns, reterr);
    if (status == TL_OK)
        status = read_number(at, "prefix_rate_bps", 0, &segment->prefix_rate_bps, reterr);
    if (status == TL_OK)
        status = read_number(at, "prefix_ceiling_bps", 0, &segment->prefix_ceiling_bps, reterr);
    if (status == TL_OK)
        status = read_number(at, "prefix_rtt_ns", 0, &segment->prefix_rtt_ns, reterr);
    if (status == TL_OK)
        status = read_small(at, "first_hop", &segment->first_hop, reterr);
    if (status == TL_OK)
        status = read_small(at, "last_hop", &segment->last_hop, reterr);
    if (status == TL_OK)
        status = read_bool(at, "tight", &segment->tight, reterr);
    snprintf(segment->kind, sizeof segment->kind, "%s", kinds[kind]);
    return status;
}

static enum tl_status read_hop(const struct tl_json_at *at, struct tl_hop_record *hop,
                               struct tl_error *reterr)
{
    *hop = (struct tl_hop_record){
        .rtt_min_ns = NAN, .rtt_mean_ns = NAN, .rtt_max_ns = NAN, .loaded_rtt_ns = NAN};
    enum tl_status status = read_small(at, "hop", &hop->hop, reterr);
    if (status == TL_OK)
        status = read_text(at, "address", hop->address, sizeof hop->address, reterr);
    if (status == TL_OK)
        status = read_text(at, "name", hop->name, sizeof hop->name, reterr);
    if (status == TL_OK)
        status = read_small(at, "sent_count", &hop->sent_count, reterr);
    if (status == TL_OK)
        status = read_small(at, "answered_count", &hop->answered_count, reterr);
    if (status == TL_OK)
        status = read_number(at, "rtt_min_ns", 0, &hop->rtt_min_ns, reterr);
    if (status == TL_OK)
        status = read_number(at, "rtt_mean_ns", 0, &hop->rtt_mean_ns, reterr);
    if (status == TL_OK)
        status = read_number(at, "rtt_max_ns", 0, &hop->rtt_max_ns, reterr);
    if (status == TL_OK)
        status = read_number(at, "loaded_rtt_ns", 0, &hop->loaded_rtt_ns, reterr);
    return status == TL_OK ? read_text(at, "note", hop->note, sizeof hop->note, reterr) : status;
}

/* Documents of older programs have none. */
static enum tl_status read_hops(const struct tl_json_at *root, struct tl_run *run,
                                struct tl_error *reterr)
{
    struct tl_json_at hops;
    if (!tl_json_find(root, "hops", &hops))
        return TL_OK;
    enum tl_status status = tl_json_get_array(root, "hops", &hops, reterr);
    if (status == TL_OK && tl_json_count(&hops) > TL_RUN_HOPS_MAX)
        return tl_json_error(&hops, reterr, TL_LIMIT, "more than %d", TL_RUN_HOPS_MAX);
    for (size_t i = 0; status == TL_OK && i < tl_json_count(&hops); i++) {
        struct tl_json_at at = tl_json_item(&hops, i);
        status = read_hop(&at, &run->hops[run->hop_count++], reterr);
    }
    return status;
}

static enum tl_status read_lists(const struct tl_json_at *root, struct tl_run *run,
                                 struct tl_error *reterr)
{
    struct tl_json_at stages, segments, at;
    enum tl_status status = tl_json_get_array(root, "stages", &stages, reterr);
    if (status == TL_OK)
        status = tl_json_get_array(root, "segments", &segments, reterr);
    if (status != TL_OK)
        return status;
    if (tl_json_count(&stages) > TL_RUN_STAGES_MAX)
        return tl_json_error(&stages, reterr, TL_LIMIT, "more than %d", TL_RUN_STAGES_MAX);
    if (tl_json_count(&segments) > TL_RUN_SEGMENTS_MAX)
        return tl_json_error(&segments, reterr, TL_LIMIT, "more than %d", TL_RUN_SEGMENTS_MAX);
    for (size_t i = 0; status == TL_OK && i < tl_json_count(&stages); i++) {
        at = tl_json_item(&stages, i);
        status = read_stage(&at, &run->stages[run->stage_count++], reterr);
    }
    for (size_t i = 0; status == TL_OK && i < tl_json_count(&segments); i++) {
        at = tl_json_item(&segments, i);
        status = read_segment(&at, &run->segments[run->segment_count++], reterr);
    }
    return status == TL_OK ? read_hops(root, run, reterr) : status;
}

/* --- plan and verified remedies --- */

static enum tl_status read_decision(const struct tl_json_at *at, struct tl_plan_record *record,
                                    struct tl_error *reterr)
{
    static const char *const words[] = {"download", "upload"};
    struct tl_json_at found;
    size_t direction = 0;
    double time_ns = 0, bytes = 0;
    record->worth = NAN;
    enum tl_status status = need_text(at, "stage", record->stage, sizeof record->stage, reterr);
    record->has_direction = status == TL_OK && tl_json_find(at, "direction", &found);
    if (record->has_direction)
        status = NEED_WORD(at, "direction", words, &direction, reterr);
    if (status == TL_OK)
        status = read_bool(at, "chosen", &record->chosen, reterr);
    if (status == TL_OK)
        status = read_number(at, "worth", 0, &record->worth, reterr);
    if (status == TL_OK)
        status = read_number(at, "time_ns", 0, &time_ns, reterr);
    if (status == TL_OK)
        status = read_number(at, "bytes", 0, &bytes, reterr);
    if (status == TL_OK)
        status = read_text(at, "why", record->why, sizeof record->why, reterr);
    record->direction = (enum tl_direction)direction;
    record->time_ns = time_ns < 9e18 ? (long long)time_ns : 0;
    record->bytes = bytes < 9e18 ? (long long)bytes : 0;
    return status;
}

/* Absent in documents of versions that did not record it. */
static enum tl_status read_plan(const struct tl_json_at *root, struct tl_run *run,
                                struct tl_error *reterr)
{
    struct tl_json_at list, at;
    enum tl_status status = TL_OK;
    if (!tl_json_find(root, "plan", &list))
        return TL_OK;
    status = tl_json_get_array(root, "plan", &list, reterr);
    if (status != TL_OK)
        return status;
    if (tl_json_count(&list) > TL_RUN_PLAN_MAX)
        return tl_json_error(&list, reterr, TL_LIMIT, "more than %d", TL_RUN_PLAN_MAX);
    for (size_t i = 0; status == TL_OK && i < tl_json_count(&list); i++) {
        at = tl_json_item(&list, i);
        status = read_decision(&at, &run->plan[run->plan_count++], reterr);
    }
    return status;
}

static enum tl_status read_verified(const struct tl_json_at *finding, const struct tl_json_at *at,
                                    struct tl_verified_record *record, struct tl_error *reterr)
{
    static const char *const words[] = {"download", "upload"};
    size_t direction = 0;
    bool at_least = false, hit;
    struct tl_prediction *predicted = &record->predicted;
    *predicted = (struct tl_prediction){NAN, NAN, NAN};
    record->measured_bps = NAN;
    enum tl_status status = need_text(finding, "rule", record->rule, sizeof record->rule, reterr);
    if (status == TL_OK)
        status = NEED_WORD(finding, "direction", words, &direction, reterr);
    if (status == TL_OK)
        status = need_text(at, "what", record->what, sizeof record->what, reterr);
    if (status == TL_OK)
        status = read_number(at, "predicted_bps", 0, &predicted->bps, reterr);
    if (status == TL_OK)
        status = read_number(at, "predicted_low_bps", 0, &predicted->low_bps, reterr);
    if (status == TL_OK)
        status = read_number(at, "predicted_high_bps", 0, &predicted->high_bps, reterr);
    if (status == TL_OK)
        status = read_bool(at, "predicted_at_least", &at_least, reterr);
    if (at_least)
        predicted->high_bps = INFINITY;
    if (status == TL_OK)
        status = read_number(at, "measured_bps", 0, &record->measured_bps, reterr);
    if (status == TL_OK)
        status = read_bool(at, "hit", &hit, reterr);
    record->score = tl_prediction_score(predicted, record->measured_bps);
    record->direction = (enum tl_direction)direction;
    return status;
}

/* Findings are judged anew; what was tried is a measurement and stays. */
static enum tl_status read_all_verified(const struct tl_json_at *root, struct tl_run *run,
                                        struct tl_error *reterr)
{
    struct tl_json_at list, finding, at;
    enum tl_status status = tl_json_get_array(root, "findings", &list, reterr);
    for (size_t i = 0; status == TL_OK && i < tl_json_count(&list); i++) {
        finding = tl_json_item(&list, i);
        if (tl_json_type(&finding) != TL_JSON_OBJECT || !tl_json_find(&finding, "verified", &at) ||
            tl_json_type(&at) != TL_JSON_OBJECT || run->verified_count == TL_RUN_VERIFIED_MAX)
            continue;
        status = read_verified(&finding, &at, &run->verified[run->verified_count++], reterr);
    }
    return status;
}

/* --- the document --- */

static enum tl_status check_format(const struct tl_json_at *root, struct tl_error *reterr)
{
    const char *format;
    enum tl_status status = tl_json_get_string(root, "format", &format, reterr);
    if (status == TL_OK && strcmp(format, "tightlink.findings/1") != 0)
        status = tl_error_set(reterr, TL_VERSION,
                              "/format: this is no document of format tightlink.findings/1");
    return status;
}

static enum tl_status read_document(const struct tl_json_at *root, struct tl_run *run,
                                    struct tl_facts **ret_facts, struct tl_error *reterr)
{
    struct tl_json_at at;
    struct tl_facts_strange strange;
    enum tl_status status = check_format(root, reterr);
    if (status == TL_OK)
        status = read_run(root, run, reterr);
    if (status == TL_OK)
        status = read_lists(root, run, reterr);
    if (status == TL_OK)
        status = read_plan(root, run, reterr);
    if (status == TL_OK)
        status = read_all_verified(root, run, reterr);
    if (status == TL_OK)
        status = tl_json_get(root, "facts", &at, reterr);
    if (status == TL_OK)
        status = tl_facts_load(&at, ret_facts, &strange, reterr);
    if (status != TL_OK)
        return status;
    run->strange_facts = (int)strange.count;
    memcpy(run->strange_fact, strange.first, sizeof run->strange_fact);
    return TL_OK;
}

enum tl_status tl_document_read(const char *text, size_t len, struct tl_run *run,
                                struct tl_facts **ret_facts, struct tl_error *reterr)
{
    static const struct tl_json_limits limits = {TL_DOCUMENT_BYTES_MAX, VALUES_MAX, DEPTH_MAX};
    struct tl_json *doc;
    enum tl_status status = tl_json_parse(text, len, &limits, &doc, reterr);
    if (status != TL_OK)
        return status;
    struct tl_run *read = calloc(1, sizeof *read);
    struct tl_json_at root = tl_json_root(doc);
    if (read)
        status = read_document(&root, read, ret_facts, reterr);
    else
        status = tl_error_set(reterr, TL_NOMEM, "%s", tl_status_text(TL_NOMEM));
    if (status == TL_OK)
        *run = *read;
    free(read);
    tl_json_destroy(doc);
    return status;
}

/* Reading cases and comparing them with findings. */
#include "case_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum tl_status read_direction(const struct tl_json_at *object, enum tl_direction *ret,
                                     struct tl_error *reterr)
{
    struct tl_json_at at;
    const char *text = NULL;
    if (!tl_json_find(object, "direction", &at))
        return TL_OK;
    enum tl_status status = tl_json_string(&at, &text, reterr);
    if (status != TL_OK)
        return status;
    if (strcmp(text, "download") != 0 && strcmp(text, "upload") != 0)
        return tl_json_error(&at, reterr, TL_UNKNOWN, "download or upload is expected");
    *ret = text[0] == 'd' ? TL_DOWNLOAD : TL_UPLOAD;
    return TL_OK;
}

/* [value, low, high] */
static enum tl_status set_range(struct tl_facts *facts, struct tl_fact_key key,
                                const struct tl_json_at *at, struct tl_error *reterr)
{
    double numbers[3];
    if (tl_json_count(at) != 3)
        return tl_json_error(at, reterr, TL_SYNTAX, "[value, low, high] is expected");
    for (size_t i = 0; i < 3; i++) {
        struct tl_json_at item = tl_json_item(at, i);
        enum tl_status status = tl_json_number(&item, &numbers[i], reterr);
        if (status != TL_OK)
            return status;
    }
    tl_facts_set_range(facts, key, numbers[0], numbers[1], numbers[2], "case");
    return TL_OK;
}

static enum tl_status set_fact(struct tl_facts *facts, enum tl_direction direction,
                               const char *role_id, const struct tl_json_at *at,
                               struct tl_error *reterr)
{
    struct tl_role_fact fact;
    double number = 0;
    bool truth = false;
    const char *text = NULL;
    if (!tl_role_fact_parse(role_id, &fact))
        return tl_json_error(at, reterr, TL_UNKNOWN, "there is no fact \"%s\"", role_id);
    struct tl_fact_key key = tl_role_fact_key(fact, direction);
    const struct tl_fact_def *def = tl_fact_def(fact.fact);
    enum tl_json_type type = tl_json_type(at);
    bool number_given = type == TL_JSON_INTEGER || type == TL_JSON_NUMBER || type == TL_JSON_ARRAY;
    if (type == TL_JSON_NULL) {
        tl_facts_set_unknown(facts, key, "not measured");
        return TL_OK;
    }
    if ((def->unit == TL_UNIT_BOOL) != (type == TL_JSON_BOOL) ||
        (def->unit == TL_UNIT_TEXT) != (type == TL_JSON_STRING) ||
        (def->unit != TL_UNIT_BOOL && def->unit != TL_UNIT_TEXT && !number_given))
        return tl_json_error(at, reterr, TL_SYNTAX, "%s is %s", role_id, tl_unit_name(def->unit));
    enum tl_status status = TL_OK;
    if (type == TL_JSON_ARRAY)
        return set_range(facts, key, at, reterr);
    if (type == TL_JSON_BOOL) {
        status = tl_json_bool(at, &truth, reterr);
        tl_facts_set_bool(facts, key, truth, "case");
    } else if (type == TL_JSON_STRING) {
        status = tl_json_string(at, &text, reterr);
        tl_facts_set_text(facts, key, text, "case");
    } else {
        status = tl_json_number(at, &number, reterr);
        tl_facts_set_number(facts, key, number, "case");
    }
    return status;
}

/* Facts that a case does not take from the one that it is like. */
struct without {
    struct tl_json_at ids; /* a list */
    const struct without *next;
};

static bool is_left_out(const struct without *without, const char *id)
{
    struct tl_error error;
    for (; without; without = without->next) {
        for (size_t i = 0; i < tl_json_count(&without->ids); i++) {
            struct tl_json_at item = tl_json_item(&without->ids, i);
            const char *text = "";
            if (tl_json_string(&item, &text, &error) == TL_OK && strcmp(text, id) == 0)
                return true;
        }
    }
    return false;
}

static enum tl_status set_facts(struct tl_facts *facts, enum tl_direction direction,
                                const struct without *without, const struct tl_json_at *parent,
                                const char *key, struct tl_error *reterr)
{
    struct tl_json_at object, value;
    const char *id = NULL;
    enum tl_status status = TL_OK;
    if (!tl_json_find(parent, key, &object))
        return TL_OK;
    struct tl_json_members members = tl_json_members(&object);
    while (status == TL_OK && tl_json_next(&members, &id, &value))
        if (!is_left_out(without, id))
            status = set_fact(facts, direction, id, &value, reterr);
    return status;
}

static enum tl_status read_question(const struct tl_json_at *at, struct tl_case *test,
                                    struct tl_error *reterr)
{
    struct tl_question *question = &test->question;
    struct tl_json_at value;
    const char *quality = NULL;
    enum tl_status status = TL_OK;
    *question = (struct tl_question){.download = test->direction == TL_DOWNLOAD,
                                     .upload = test->direction == TL_UPLOAD,
                                     .goal_bps = NAN,
                                     .goal_rtt_ns = NAN,
                                     .quality = TL_QUALITY_VALID,
                                     .quality_reason = ""};
    if (tl_json_find(at, "goal_bps", &value))
        status = tl_json_number(&value, &question->goal_bps, reterr);
    if (status == TL_OK && tl_json_find(at, "goal_rtt_ns", &value))
        status = tl_json_number(&value, &question->goal_rtt_ns, reterr);
    if (status != TL_OK || !tl_json_find(at, "quality", &value))
        return status;
    status = tl_json_string(&value, &quality, reterr);
    for (int i = TL_QUALITY_VALID; status == TL_OK && i <= TL_QUALITY_ABORTED; i++)
        if (strcmp(tl_quality_name((enum tl_quality)i), quality) == 0)
            question->quality = (enum tl_quality)i;
    question->quality_reason = "the case says so";
    return status;
}

enum tl_status tl_case_open(const char *folder, const char *name, struct tl_json **ret_doc,
                            struct tl_error *reterr)
{
    static const struct tl_json_limits limits = {1 << 20, 100000, 16};
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    char *text = malloc(limits.bytes_max);
    enum tl_status status = tl_error_set(reterr, TL_IO, "%s cannot be read", path);
    if (file && text)
        status =
            tl_json_parse(text, fread(text, 1, limits.bytes_max, file), &limits, ret_doc, reterr);
    if (file)
        fclose(file);
    free(text);
    return status;
}

/* What a reading of facts needs to know. */
struct reading {
    struct tl_facts *facts;
    enum tl_direction direction;
    const struct tl_json_at *file;
    const struct tl_json *bases;
    struct tl_error *reterr;
};

/* {"on": "another base", "facts": {…}}: the other one's facts first. */
static enum tl_status set_base(const struct reading *r, const struct tl_json_at *at,
                               const char *name, unsigned depth)
{
    struct tl_json_at root, all, base, on;
    const char *other = NULL;
    if (!r->bases || depth > 4)
        return tl_json_error(at, r->reterr, TL_UNKNOWN, "no bases, or in a circle");
    root = tl_json_root(r->bases);
    enum tl_status status = tl_json_get_object(&root, "bases", &all, r->reterr);
    if (status == TL_OK && !tl_json_find(&all, name, &base))
        status = tl_json_error(at, r->reterr, TL_UNKNOWN, "there is no base \"%s\"", name);
    if (status == TL_OK && tl_json_find(&base, "on", &on)) {
        status = tl_json_string(&on, &other, r->reterr);
        if (status == TL_OK)
            status = set_base(r, &on, other, depth + 1);
    }
    return status == TL_OK ? set_facts(r->facts, r->direction, NULL, &base, "facts", r->reterr)
                           : status;
}

static enum tl_status set_case(const struct reading *r, size_t index,
                               const struct without *without);

/* The facts of the case above that this one is like. */
static enum tl_status set_like(const struct reading *r, const struct tl_json_at *cases,
                               size_t index, const struct without *without,
                               const struct tl_json_at *like)
{
    const char *wanted = NULL, *name = NULL;
    enum tl_status status = tl_json_string(like, &wanted, r->reterr);
    for (size_t i = 0; i < index && status == TL_OK; i++) {
        struct tl_json_at other = tl_json_item(cases, i);
        status = tl_json_get_string(&other, "name", &name, r->reterr);
        if (status == TL_OK && strcmp(name, wanted) == 0)
            return set_case(r, i, without);
    }
    return status != TL_OK ? status
                           : tl_json_error(like, r->reterr, TL_UNKNOWN,
                                           "no case above is named \"%s\"", wanted);
}

static enum tl_status set_case(const struct reading *r, size_t index, const struct without *without)
{
    struct tl_json_at cases, at, like;
    struct without more = {.next = without};
    enum tl_status status = tl_json_get_array(r->file, "cases", &cases, r->reterr);
    if (status != TL_OK)
        return status;
    at = tl_json_item(&cases, index);
    if (tl_json_find(&at, "like", &like)) {
        bool some = tl_json_find(&at, "without", &more.ids);
        status = set_like(r, &cases, index, some ? &more : without, &like);
    }
    return status == TL_OK ? set_facts(r->facts, r->direction, without, &at, "facts", r->reterr)
                           : status;
}

/* The named base, the file's own facts, those of the case that this one is like, its own. */
static enum tl_status set_all(const struct reading *r, size_t index)
{
    struct tl_json_at on;
    const char *name = NULL;
    enum tl_status status = TL_OK;
    if (tl_json_find(r->file, "on", &on)) {
        status = tl_json_string(&on, &name, r->reterr);
        if (status == TL_OK)
            status = set_base(r, &on, name, 0);
    }
    if (status == TL_OK)
        status = set_facts(r->facts, r->direction, NULL, r->file, "base", r->reterr);
    return status == TL_OK ? set_case(r, index, NULL) : status;
}

enum tl_status tl_case_read(const struct tl_json_at *file, const struct tl_json *bases,
                            size_t index, struct tl_case *ret_case, struct tl_error *reterr)
{
    static const char *const file_keys[] = {"format", "rule",  "direction", "on",
                                            "base",   "cases", NULL};
    static const char *const keys[] = {"name",     "like",        "without", "direction", "facts",
                                       "goal_bps", "goal_rtt_ns", "quality", "expect",    NULL};
    struct tl_case test = {.direction = TL_DOWNLOAD, .facts = tl_facts_create()};
    struct tl_json_at cases, at;
    enum tl_status status = test.facts ? TL_OK : tl_error_set(reterr, TL_NOMEM, "out of memory");
    if (status == TL_OK)
        status = tl_json_check_keys(file, file_keys, reterr);
    if (status == TL_OK)
        status = tl_json_get_string(file, "rule", &test.rule, reterr);
    if (status == TL_OK)
        status = tl_json_get_array(file, "cases", &cases, reterr);
    if (status == TL_OK) {
        at = tl_json_item(&cases, index);
        status = tl_json_check_keys(&at, keys, reterr);
    }
    if (status == TL_OK)
        status = tl_json_get_string(&at, "name", &test.name, reterr);
    if (status == TL_OK)
        status = tl_json_get_object(&at, "expect", &test.expect, reterr);
    if (status == TL_OK)
        status = read_direction(file, &test.direction, reterr);
    if (status == TL_OK)
        status = read_direction(&at, &test.direction, reterr);
    if (status == TL_OK)
        status = set_all(&(struct reading){test.facts, test.direction, file, bases, reterr}, index);
    if (status == TL_OK)
        status = read_question(&at, &test, reterr);
    if (status != TL_OK) {
        tl_facts_destroy(test.facts);
        return status;
    }
    tl_facts_derive(test.facts);
    *ret_case = test;
    return TL_OK;
}

void tl_case_finish(struct tl_case *test)
{
    tl_facts_destroy(test->facts);
    test->facts = NULL;
}

static bool differs(struct tl_error *ret_why, const char *what, const char *want, const char *have)
{
    (void)tl_error_set(ret_why, TL_INVALID, "%s: expected %s, is %s", what, want,
                       have ? have : "none");
    return false;
}

/* An expected word; absent means anything goes, null means none. */
static bool word_holds(const struct tl_json_at *expect, const char *key, const char *have,
                       struct tl_error *ret_why)
{
    struct tl_json_at at;
    const char *want = NULL;
    if (!tl_json_find(expect, key, &at))
        return true;
    if (tl_json_type(&at) == TL_JSON_NULL)
        return have ? differs(ret_why, key, "none", have) : true;
    if (tl_json_string(&at, &want, ret_why) != TL_OK)
        return false;
    return have && strcmp(want, have) == 0 ? true : differs(ret_why, key, want, have);
}

/* "expected part of a text" */
static bool part_holds(const struct tl_json_at *expect, const char *key, const char *have,
                       struct tl_error *ret_why)
{
    struct tl_json_at at;
    const char *want = NULL;
    if (!tl_json_find(expect, key, &at))
        return true;
    if (tl_json_string(&at, &want, ret_why) != TL_OK)
        return false;
    return have && strstr(have, want) ? true : differs(ret_why, key, want, have);
}

/* "a part that a text must not have" */
static bool part_lacks(const struct tl_json_at *expect, const char *key, const char *have,
                       struct tl_error *ret_why)
{
    struct tl_json_at at;
    const char *never = NULL;
    if (!tl_json_find(expect, key, &at))
        return true;
    if (tl_json_string(&at, &never, ret_why) != TL_OK)
        return false;
    return have && !strstr(have, never) ? true : differs(ret_why, key, never, have);
}

/* [low, high], or null for "no number". */
static bool range_holds(const struct tl_json_at *expect, const char *key, double have,
                        struct tl_error *ret_why)
{
    struct tl_json_at at;
    double bounds[2];
    if (!tl_json_find(expect, key, &at))
        return true;
    if (tl_json_type(&at) == TL_JSON_NULL)
        return isnan(have)
                   ? true
                   : (tl_error_set(ret_why, TL_INVALID, "%s: none expected, is %g", key, have),
                      false);
    for (size_t i = 0; i < 2; i++) {
        struct tl_json_at item = tl_json_item(&at, i);
        if (tl_json_number(&item, &bounds[i], ret_why) != TL_OK)
            return false;
    }
    if (have >= bounds[0] && have <= bounds[1])
        return true;
    (void)tl_error_set(ret_why, TL_INVALID, "%s: expected %g to %g, is %g", key, bounds[0],
                       bounds[1], have);
    return false;
}

/* The same set of ids; expected ones are role ids. */
static bool ids_hold(const struct tl_case *test, const struct tl_json_at *expect, const char *key,
                     const struct tl_fact_key *have, size_t have_count, struct tl_error *ret_why)
{
    struct tl_json_at list;
    char id[TL_FACT_ID_SIZE];
    if (!tl_json_find(expect, key, &list))
        return true;
    if (tl_json_count(&list) != have_count) {
        (void)tl_error_set(ret_why, TL_INVALID, "%s: expected %zu, are %zu (first %s)", key,
                           tl_json_count(&list), have_count,
                           have_count ? tl_fact_id(have[0], id) : "none");
        return false;
    }
    for (size_t i = 0; i < tl_json_count(&list); i++) {
        struct tl_json_at item = tl_json_item(&list, i);
        const char *role_id = NULL;
        struct tl_role_fact fact;
        bool found = false;
        if (tl_json_string(&item, &role_id, ret_why) != TL_OK)
            return false;
        if (!tl_role_fact_parse(role_id, &fact))
            return differs(ret_why, key, "a fact", role_id);
        for (size_t h = 0; h < have_count; h++)
            found |= tl_fact_key_is(have[h], tl_role_fact_key(fact, test->direction));
        if (!found)
            return differs(ret_why, key, role_id, have_count ? tl_fact_id(have[0], id) : NULL);
    }
    return true;
}

static bool verdict_holds(const struct tl_case *test, const struct tl_verdict *verdict,
                          struct tl_error *ret_why)
{
    static const char *const keys[] = {"state",     "cause",      "segment",    "ceiling_bps",
                                       "fixed_bps", "next_cause", "confidence", "sentence",
                                       "send_to",   "deciding",   NULL};
    struct tl_json_at expect;
    if (!tl_json_find(&test->expect, "verdict", &expect))
        return true;
    return tl_json_check_keys(&expect, keys, ret_why) == TL_OK &&
           word_holds(&expect, "state", tl_verdict_state_name(verdict->state), ret_why) &&
           word_holds(&expect, "cause", verdict->cause, ret_why) &&
           word_holds(&expect, "segment", verdict->segment, ret_why) &&
           word_holds(&expect, "next_cause", verdict->next_cause, ret_why) &&
           word_holds(&expect, "send_to", verdict->send_to, ret_why) &&
           part_holds(&expect, "sentence", verdict->sentence, ret_why) &&
           range_holds(&expect, "ceiling_bps", verdict->ceiling_bps, ret_why) &&
           range_holds(&expect, "fixed_bps", verdict->fixed_bps, ret_why) &&
           range_holds(&expect, "confidence", verdict->confidence, ret_why) &&
           ids_hold(test, &expect, "deciding", verdict->deciding, verdict->deciding_count, ret_why);
}

/* "others": the causes found besides this rule's, at least as contributing, and no more. */
static bool others_hold(const struct tl_case *test, const struct tl_findings *findings,
                        struct tl_error *ret_why)
{
    struct tl_json_at list;
    if (!tl_json_find(&test->expect, "others", &list))
        return true;
    for (size_t i = 0; i < findings->finding_count; i++) {
        const struct tl_finding *finding = &findings->findings[i];
        bool allowed = strcmp(finding->rule, test->rule) == 0 || finding->result != TL_FOUND ||
                       finding->severity == TL_NOTE;
        for (size_t k = 0; k < tl_json_count(&list) && !allowed; k++) {
            struct tl_json_at item = tl_json_item(&list, k);
            const char *cause = NULL;
            if (tl_json_string(&item, &cause, ret_why) != TL_OK)
                return false;
            allowed = strcmp(cause, finding->cause) == 0;
        }
        if (!allowed)
            return differs(ret_why, "others", "none further", finding->rule);
    }
    return true;
}

/* "tried": the prediction of the last remedy that a program can try in its own sockets; an open
 * upper end is null. */
static bool tried_holds(const struct tl_json_at *expect, const struct tl_finding *finding,
                        struct tl_error *ret_why)
{
    static const char *const keys[] = {"bps", "low_bps", "high_bps", NULL};
    struct tl_prediction none = {(double)NAN, (double)NAN, (double)NAN}, tried = none;
    struct tl_json_at at;
    if (!tl_json_find(expect, "tried", &at))
        return true;
    for (size_t i = 0; i < finding->remedy_count; i++)
        if (finding->remedies[i].trial.kind != TL_TRIAL_NONE)
            tried = finding->remedies[i].predicted;
    if (isinf(tried.high_bps))
        tried.high_bps = (double)NAN;
    return tl_json_check_keys(&at, keys, ret_why) == TL_OK &&
           range_holds(&at, "bps", tried.bps, ret_why) &&
           range_holds(&at, "low_bps", tried.low_bps, ret_why) &&
           range_holds(&at, "high_bps", tried.high_bps, ret_why);
}

static bool finding_holds(const struct tl_case *test, const struct tl_finding *finding,
                          struct tl_error *ret_why)
{
    const struct tl_json_at *expect = &test->expect;
    return word_holds(expect, "result", tl_result_name(finding->result), ret_why) &&
           word_holds(expect, "severity", tl_severity_name(finding->severity), ret_why) &&
           word_holds(expect, "segment", finding->segment, ret_why) &&
           range_holds(expect, "ceiling_bps", finding->ceiling_bps, ret_why) &&
           part_holds(expect, "sentence", finding->sentence, ret_why) &&
           part_lacks(expect, "unsaid", finding->sentence, ret_why) &&
           part_holds(expect, "remedy", finding->remedy_count ? finding->remedies[0].does : NULL,
                      ret_why) &&
           tried_holds(expect, finding, ret_why) &&
           ids_hold(test, expect, "missing", finding->missing, finding->missing_count, ret_why);
}

bool tl_case_holds(const struct tl_case *test, const struct tl_findings *findings,
                   struct tl_error *ret_why)
{
    static const char *const keys[] = {"result",   "severity", "segment", "ceiling_bps",
                                       "sentence", "missing",  "verdict", "others",
                                       "remedy",   "tried",    "unsaid",  NULL};
    if (tl_json_check_keys(&test->expect, keys, ret_why) != TL_OK)
        return false;
    for (size_t i = 0; i < findings->finding_count; i++)
        if (strcmp(findings->findings[i].rule, test->rule) == 0)
            return finding_holds(test, &findings->findings[i], ret_why) &&
                   verdict_holds(test, &findings->verdict, ret_why) &&
                   others_hold(test, findings, ret_why);
    return differs(ret_why, "rule", test->rule, "none of that name");
}

/* pScheduler's JSON: tasks out, runs in. What its state means and whether numbers can be is told
 * here; asking and waiting lives in pscheduler.c, each test's result in pscheduler_result.c. */
#include "pscheduler_text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "pscheduler_result.h"
#include "tightlink/base/json_write.h"
#include "tightlink/base/time.h"
#include "tightlink/base/utf8.h"

/* Round trips asked for: at pScheduler's one a second they take as long as a test of throughput. */
#define TRIPS       10
#define PROBE_BYTES 64

static const struct tl_json_limits limits = {
    .bytes_max = PSCHED_BODY_MAX, .values_max = 100000, .depth_max = 24};

const char *tl_psched_test_name(enum tl_psched_test test)
{
    static const char *const names[] = {"throughput", "rtt", "trace", "mtu"};
    return names[test];
}

/* --- Out -------------------------------------------------------------------------------------- */

static void add_throughput(struct tl_json_writer *w, const struct tl_psched_spec *spec)
{
    char duration[32];
    snprintf(duration, sizeof duration, "PT%dS", spec->seconds);
    tl_json_add_integer(w, "schema", 2);
    tl_json_add_string(w, "source", spec->source);
    tl_json_add_string(w, "source-node", spec->source_node);
    tl_json_add_string(w, "dest", spec->dest);
    tl_json_add_string(w, "duration", duration);
    if (spec->streams > 1)
        tl_json_add_integer(w, "parallel", spec->streams);
    if (spec->reverse)
        tl_json_add_bool(w, "reverse", true);
}

static void add_spec(struct tl_json_writer *w, const struct tl_psched_spec *spec)
{
    tl_json_begin_object(w, "spec");
    switch (spec->test) {
    case TL_PSCHED_THROUGHPUT:
        add_throughput(w, spec);
        break;
    case TL_PSCHED_RTT:
        tl_json_add_integer(w, "schema", 2);
        tl_json_add_string(w, "dest", spec->dest);
        tl_json_add_integer(w, "count", TRIPS);
        tl_json_add_integer(w, "length", PROBE_BYTES);
        break;
    case TL_PSCHED_TRACE:
        tl_json_add_integer(w, "schema", 1);
        tl_json_add_string(w, "dest", spec->dest);
        tl_json_add_string(w, "probe-type", "udp");
        break;
    default:
        tl_json_add_integer(w, "schema", 1);
        tl_json_add_string(w, "source", spec->source);
        tl_json_add_string(w, "dest", spec->dest);
    }
    tl_json_end(w);
}

void psched_write_task(const struct tl_psched_spec *spec, const char *key, struct tl_buf *out)
{
    struct tl_json_writer w;
    char slip[40];
    snprintf(slip, sizeof slip, "PT%lldS", (long long)(spec->wait_ns / TL_NS_PER_S));
    tl_json_writer_init(&w, out, true);
    tl_json_begin_object(&w, NULL);
    tl_json_add_integer(&w, "schema", 1);
    tl_json_begin_object(&w, "test");
    tl_json_add_string(&w, "type", tl_psched_test_name(spec->test));
    add_spec(&w, spec);
    tl_json_end(&w);
    if (spec->test == TL_PSCHED_THROUGHPUT) {
        tl_json_begin_array(&w, "tools");
        tl_json_add_string(&w, NULL, "iperf3");
        tl_json_end(&w);
    }
    tl_json_begin_object(&w, "schedule");
    tl_json_add_string(&w, "slip", slip);
    tl_json_end(&w);
    tl_json_add_string(&w, "_key", key);
    tl_json_end(&w);
}

/* --- In --------------------------------------------------------------------------------------- */

static enum tl_status parse(const struct tl_buf *body, struct tl_json **ret_doc,
                            struct tl_error *reterr)
{
    struct tl_error why = {0};
    const char *text = tl_buf_text(body);
    enum tl_status status = tl_json_parse(text, body->len, &limits, ret_doc, &why);
    if (status == TL_OK || status == TL_NOMEM)
        return status == TL_OK ? TL_OK : tl_error_set(reterr, TL_NOMEM, "out of memory");
    bool page = text[strspn(text, " \r\n\t")] == '<';
    return tl_error_set(reterr, TL_PROTOCOL,
                        page ? "a web page came where pScheduler answers JSON"
                             : "what came is not pScheduler's JSON (%.200s)",
                        why.text);
}

/* Eight, four, four, four and twelve hexadecimal digits. */
static bool is_uuid(const char *text)
{
    for (int i = 0; i < 36; i++)
        if (i == 8 || i == 13 || i == 18 || i == 23 ? text[i] != '-'
                                                    : !isxdigit((unsigned char)text[i]))
            return false;
    return text[36] == '\0';
}

static bool take_uuid(const char *url, char ret_id[40])
{
    const char *last = strrchr(url, '/');
    last = last ? last + 1 : url;
    if (!is_uuid(last))
        return false;
    snprintf(ret_id, 40, "%s", last);
    return true;
}

enum tl_status psched_read_task_id(const struct tl_buf *body, char ret_id[40],
                                   struct tl_error *reterr)
{
    struct tl_json *doc = NULL;
    const char *url = NULL;
    enum tl_status status = parse(body, &doc, reterr);
    if (status != TL_OK)
        return status;
    struct tl_json_at root = tl_json_root(doc);
    if (tl_json_string(&root, &url, NULL) != TL_OK || !take_uuid(url, ret_id))
        status = tl_error_set(reterr, TL_PROTOCOL, "a new task has no address");
    tl_json_destroy(doc);
    return status;
}

enum tl_status psched_read_level(const struct tl_buf *body, int64_t *ret_level,
                                 struct tl_error *reterr)
{
    struct tl_json *doc = NULL;
    enum tl_status status = parse(body, &doc, reterr);
    if (status != TL_OK)
        return status;
    struct tl_json_at root = tl_json_root(doc);
    if (tl_json_integer(&root, 0, 1000, ret_level, NULL) != TL_OK)
        status = tl_error_set(reterr, TL_PROTOCOL, "what came is no level of pScheduler's API");
    tl_json_destroy(doc);
    return status;
}

bool psched_clock_is_kept(const struct tl_buf *body)
{
    struct tl_json *doc = NULL;
    bool kept = true;
    if (parse(body, &doc, NULL) != TL_OK)
        return true;
    struct tl_json_at root = tl_json_root(doc);
    if (tl_json_get_bool(&root, "synchronized", &kept, NULL) != TL_OK)
        kept = true;
    tl_json_destroy(doc);
    return kept;
}

/* --- Runs ------------------------------------------------------------------------------------- */

static const struct {
    const char *word;
    enum psched_state state;
    enum tl_status status;
    const char *says;
} states[] = {
    {"pending", PSCHED_WAITS, TL_OK, ""},
    {"on-deck", PSCHED_WAITS, TL_OK, ""},
    {"running", PSCHED_WAITS, TL_OK, ""},
    {"cleanup", PSCHED_WAITS, TL_OK, ""},
    {"overdue", PSCHED_WAITS, TL_OK, ""},
    {"finished", PSCHED_FINISHED, TL_OK, ""},
    {"failed", PSCHED_OVER, TL_INVALID, "it failed there"},
    {"missed", PSCHED_OVER, TL_BUSY, "the node missed its time: it was down or overloaded then"},
    {"preempted", PSCHED_OVER, TL_BUSY, "a test of higher priority took its place"},
    {"nonstart", PSCHED_OVER, TL_BUSY, "no time for it was found on both nodes"},
    {"canceled", PSCHED_OVER, TL_BUSY, "somebody cancelled it there"},
    {"cancelled", PSCHED_OVER, TL_BUSY, "somebody cancelled it there"},
};

/* The clocks that both nodes told when a run failed: those who are not in step, in words. */
static void add_clocks(const struct tl_json_at *run, struct tl_buf *out)
{
    struct tl_json_at survey, clock;
    bool kept;
    if (!tl_json_find(run, "clock-survey", &survey))
        return;
    size_t loose = 0, count = tl_json_type(&survey) == TL_JSON_ARRAY ? tl_json_count(&survey) : 0;
    for (size_t i = 0; i < count; i++) {
        clock = tl_json_item(&survey, i);
        if (tl_json_get_bool(&clock, "synchronized", &kept, NULL) == TL_OK && !kept)
            loose++;
    }
    if (loose)
        tl_buf_addf(out, "; %zu of %zu nodes asked say that their clock is not synchronised", loose,
                    count);
}

/* "state: what it means; what the node wrote; clocks". */
static void tell_end(const struct tl_json_at *run, size_t state, struct psched_run *ret_run)
{
    struct tl_buf text = TL_BUF_INIT;
    char clean[160];
    const char *errors = NULL;
    struct tl_json_at at;
    tl_buf_addf(&text, "%s: %s", states[state].word, states[state].says);
    if (tl_json_find(run, "errors", &at) && tl_json_string(&at, &errors, NULL) == TL_OK &&
        errors[0]) {
        tl_utf8_clean(errors, strcspn(errors, "\r\n"), clean, sizeof clean);
        tl_buf_addf(&text, " (%s)", clean);
    }
    add_clocks(run, &text);
    ret_run->status = tl_error_set(&ret_run->error, states[state].status, "%s", tl_buf_text(&text));
    tl_buf_finish(&text);
}

static enum tl_status read_result(const struct tl_json_at *run, enum tl_psched_test test,
                                  struct psched_run *ret_run, struct tl_error *reterr)
{
    struct tl_json_at result;
    bool succeeded = true;
    /* A run is finished before its parts are joined, or that failed. */
    if (!tl_json_find(run, "result-merged", &result) || tl_json_type(&result) == TL_JSON_NULL) {
        ret_run->state = PSCHED_WAITS;
        return TL_OK;
    }
    struct tl_error why = {0};
    enum tl_status status = tl_json_expect(&result, TL_JSON_OBJECT, &why);
    struct tl_json_at at;
    if (status == TL_OK && tl_json_find(&result, "succeeded", &at))
        status = tl_json_bool(&at, &succeeded, &why);
    if (status == TL_OK && !succeeded) {
        ret_run->state = PSCHED_OVER;
        tell_end(run, 6, ret_run);
        return TL_OK;
    }
    if (status == TL_OK)
        status = psched_read_result(&result, test, &ret_run->result, &why);
    if (status == TL_OK)
        return TL_OK;
    return tl_error_set(reterr, TL_INVALID, "its result cannot be: %s", why.text);
}

static enum tl_status read_run(const struct tl_json_at *root, enum tl_psched_test test,
                               struct psched_run *ret_run, struct tl_error *reterr)
{
    const char *word, *href;
    size_t i = 0;
    if (tl_json_get_string(root, "state", &word, NULL) != TL_OK)
        return tl_error_set(reterr, TL_PROTOCOL, "a run without a state");
    while (i < sizeof states / sizeof *states && strcmp(states[i].word, word) != 0)
        i++;
    if (i == sizeof states / sizeof *states)
        return tl_error_set(reterr, TL_PROTOCOL, "a run in a state that is not known: \"%.40s\"",
                            word);
    ret_run->state = states[i].state;
    ret_run->overdue = strcmp(word, "overdue") == 0;
    if (tl_json_get_string(root, "href", &href, NULL) == TL_OK)
        (void)take_uuid(href, ret_run->id);
    if (ret_run->state == PSCHED_OVER)
        tell_end(root, i, ret_run);
    return ret_run->state == PSCHED_FINISHED ? read_result(root, test, ret_run, reterr) : TL_OK;
}

enum tl_status psched_read_run(const struct tl_buf *body, enum tl_psched_test test,
                               struct psched_run *ret_run, struct tl_error *reterr)
{
    struct tl_json *doc = NULL;
    struct psched_run run = {.result.test = test};
    enum tl_status status = parse(body, &doc, reterr);
    if (status != TL_OK)
        return status;
    struct tl_json_at root = tl_json_root(doc);
    status = read_run(&root, test, &run, reterr);
    tl_json_destroy(doc);
    if (status == TL_OK)
        *ret_run = run;
    return status;
}

/* --- Refusals --------------------------------------------------------------------------------- */

static enum tl_status other_refusal(const char *node, const char *test, long code,
                                    const char *words, struct tl_error *reterr)
{
    if (code >= 300 && code < 400)
        return tl_error_set(
            reterr, TL_PROTOCOL,
            "%s answered with a redirect (%ld), which is not followed: name the node "
            "itself",
            node, code);
    return tl_error_set(reterr, code > 500 ? TL_BUSY : TL_PROTOCOL,
                        "%s answered the %s test with status %ld%s%s", node, test, code,
                        words[0] ? ": " : "", words);
}

enum tl_status psched_refusal(const char *node, enum tl_psched_test test, long code,
                              const struct tl_buf *body, struct tl_error *reterr)
{
    const char *name = tl_psched_test_name(test), *text = tl_buf_text(body);
    char words[160] = "";
    text += strspn(text, " \r\n\t\"");
    if (*text != '<')
        tl_utf8_clean(text, strcspn(text, "\r\n"), words, sizeof words);
    const char *colon = words[0] ? ": " : "";
    switch (code) {
    case 400:
        return tl_error_set(reterr, TL_USAGE, "%s does not take this %s test (400)%s%s", node, name,
                            colon, words);
    case 401:
    case 403:
        return tl_error_set(reterr, TL_DENIED,
                            "the limits of %s do not permit a %s test from here (%ld): its "
                            "administrator can%s%s",
                            node, name, code, colon, words);
    case 404:
        return tl_error_set(
            reterr, TL_PROTOCOL,
            "%s has no such thing (404): it runs no pScheduler, or has forgotten the "
            "task",
            node);
    case 422:
        return tl_error_set(reterr, TL_UNSUPPORTED,
                            "the two nodes share no tool for a %s test (422)%s%s", name, colon,
                            words);
    case 500:
        return tl_error_set(reterr, TL_BUSY,
                            "%s could not arrange the %s test (500): the other node refused it, or "
                            "does not answer%s%s",
                            node, name, colon, words);
    default:
        return other_refusal(node, name, code, words, reterr);
    }
}

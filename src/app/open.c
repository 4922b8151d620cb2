/* Runs that were kept: found, read and judged again. */
#include "tightlink/app/open.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tightlink/app/files.h"
#include "tightlink/base/far.h"
#include "tightlink/document/bundle.h"
#include "tightlink/document/document.h"
#include "tightlink/document/kept.h"
#include "tightlink/flow/capture.h"
#include "tightlink/present/report.h"
#include "tightlink/probes/mark.h"
#include "tightlink/session/record.h"

/* --- rules --- */

/* More lines than that nobody reads; `rules check` prints them all. */
#define FAULTS_SAID_MAX 8

static void note_faults(const char *directory, const struct tl_buf *report, size_t refused,
                        struct tl_buf *notices)
{
    const char *line = tl_buf_text(report);
    for (size_t i = 0; i < FAULTS_SAID_MAX && *line; i++) {
        size_t len = strcspn(line, "\n");
        tl_buf_addf(notices, "%s/%.*s\n", directory, (int)len, line);
        line += len + (line[len] == '\n');
    }
    tl_buf_addf(notices,
                "%zu faults in rules of your own: what they are in is left out; see: tightlink "
                "rules check %s\n",
                refused, directory);
}

enum tl_status tl_app_load_rules(struct tl_rules **ret_rules, struct tl_buf *notices,
                                 struct tl_error *reterr)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    bool given = config && config[0] == '/';
    char directory[PATH_MAX];
    int n = -1;
    if (given || (home && home[0] == '/'))
        n = snprintf(directory, sizeof directory, "%s%s/tightlink/rules", given ? config : home,
                     given ? "" : "/.config");
    if (n < 0 || (size_t)n >= sizeof directory)
        return tl_rules_load_builtin(ret_rules, reterr);
    struct tl_buf report = TL_BUF_INIT;
    struct tl_own_rules own;
    enum tl_status status = tl_rules_load_over_builtin(directory, &report, ret_rules, &own, reterr);
    if (status == TL_OK && own.refused)
        note_faults(directory, &report, own.refused, notices);
    if (status == TL_OK && own.replaced + own.added + own.disabled)
        tl_buf_addf(notices, "rules of %s are in use: %zu replaced, %zu added, %zu disabled\n",
                    directory, own.replaced, own.added, own.disabled);
    tl_buf_finish(&report);
    return status;
}

/* --- the history --- */

enum tl_status tl_app_open_history(struct tl_history **ret_history, struct tl_buf *notices,
                                   struct tl_error *reterr)
{
    enum tl_status status = tl_history_open(NULL, ret_history, reterr);
    if (status == TL_OK && tl_history_notice(*ret_history)[0])
        tl_buf_addf(notices, "%s\n", tl_history_notice(*ret_history));
    return status;
}

static enum tl_status read_kept(const char *name, char **ret_text, size_t *ret_len,
                                struct tl_buf *notices, struct tl_error *reterr)
{
    struct tl_history *history = NULL;
    struct tl_error error = {0};
    char id[TL_HISTORY_ID_SIZE];
    enum tl_status status = tl_app_open_history(&history, notices, &error);
    if (status == TL_OK)
        status = tl_history_resolve(history, name, id, &error);
    if (status == TL_OK)
        status = tl_history_document(history, id, ret_text, ret_len, &error);
    if (!history && status != TL_NOMEM)
        return tl_error_set(reterr, TL_USAGE,
                            "%.100s is no file, and the history cannot be opened: %s", name,
                            error.text);
    tl_history_close(history);
    if (status == TL_UNKNOWN && strncmp(name, "last", 4) == 0 && (!name[4] || name[4] == '-'))
        return tl_error_set(reterr, TL_USAGE,
                            name[4] ? "no run is kept that is as old as %.20s; tightlink history "
                                      "lists what is kept"
                                    : "no run is kept yet; tightlink run HOST keeps one",
                            name);
    if (status == TL_UNKNOWN)
        return tl_error_set(reterr, TL_USAGE,
                            "%.100s is neither a file nor a run of the history (tightlink history "
                            "lists them)",
                            name);
    return status == TL_OK ? TL_OK : tl_error_set(reterr, status, "%s", error.text);
}

/* --- documents --- */

/* What does not begin like a document is told by its kind, not by the place where it fails. */
static enum tl_status check_kind(const char *name, const char *text, size_t len,
                                 struct tl_error *reterr)
{
    size_t at = 0;
    while (at < len && strchr(" \t\r\n", text[at]))
        at++;
    if (at < len && text[at] == '{')
        return TL_OK;
    if (tl_capture_is(text, len))
        return tl_error_set(reterr, TL_SYNTAX, "%.200s is a capture: tightlink pcap %.200s", name,
                            name);
    return tl_error_set(reterr, TL_SYNTAX, "%.200s is no saved run: %s", name,
                        at == len ? "it is empty" : "it does not begin like one");
}

/* Where the bytes of a file are a bundle, its document takes their place. */
static enum tl_status unpack(const char *name, char **text, size_t *len,
                             struct tl_samples *ret_samples, struct tl_error *reterr)
{
    struct tl_bundle bundle;
    if (!tl_bundle_is(*text, *len)) {
        tl_kept_read_samples(*text, *len, ret_samples);
        return TL_OK;
    }
    enum tl_status status = tl_bundle_read(*text, *len, &bundle, reterr);
    free(*text);
    *text = NULL;
    if (status != TL_OK) {
        tl_error_prefix(reterr, "%.200s", name);
        return status;
    }
    *text = bundle.document;
    *len = bundle.document_len;
    *ret_samples = bundle.samples;
    return TL_OK;
}

enum tl_status tl_app_read_document(const char *name, char **ret_text, size_t *ret_len,
                                    struct tl_samples *samples, struct tl_buf *notices,
                                    struct tl_error *reterr)
{
    bool file = strcmp(name, "-") == 0 || access(name, F_OK) == 0 || strchr(name, '/');
    struct tl_samples kept = {0};
    char *text = NULL;
    size_t len = 0;
    enum tl_status status = file
                                ? tl_app_read_file(name, TL_DOCUMENT_BYTES_MAX, &text, &len, reterr)
                                : read_kept(name, &text, &len, notices, reterr);
    if (status == TL_OK)
        status = unpack(name, &text, &len, &kept, reterr);
    if (status == TL_OK)
        status = check_kind(name, text, len, reterr);
    if (status != TL_OK) {
        tl_samples_finish(&kept);
        free(text);
        return status;
    }
    if (samples)
        *samples = kept;
    else
        tl_samples_finish(&kept);
    *ret_text = text;
    *ret_len = len;
    return TL_OK;
}

enum tl_status tl_app_judge(const struct tl_rules *rules, const char *text, size_t len,
                            struct tl_session_result *ret_result, struct tl_error *reterr)
{
    enum tl_status status =
        tl_document_read(text, len, &ret_result->run, &ret_result->facts, reterr);
    return status == TL_OK ? tl_record_judge(rules, ret_result, reterr) : status;
}

/* On the heap where there are any; without memory the run is what counts. */
static struct tl_samples *own_samples(struct tl_samples *samples)
{
    struct tl_samples *owned = samples->count ? malloc(sizeof *owned) : NULL;
    if (owned)
        *owned = *samples;
    else
        tl_samples_finish(samples);
    return owned;
}

enum tl_status tl_app_open(const char *name, struct tl_session_result *ret_result,
                           struct tl_buf *notices, struct tl_error *reterr)
{
    struct tl_samples samples = {0};
    struct tl_rules *rules = NULL;
    char *text = NULL;
    size_t len;
    enum tl_status status = tl_app_read_document(name, &text, &len, &samples, notices, reterr);
    if (status == TL_OK)
        status = tl_app_load_rules(&rules, notices, reterr);
    if (status == TL_OK) {
        status = tl_app_judge(rules, text, len, ret_result, reterr);
        if (status == TL_VERSION)
            (void)tl_error_set(reterr, status,
                               "%.200s is in another format than this tightlink reads "
                               "(tightlink.findings/1): was it written by a newer one?",
                               name);
        else if (status != TL_OK && !ret_result->facts)
            tl_error_prefix(reterr, "%.200s is no saved run", name);
    }
    ret_result->samples = own_samples(&samples);
    tl_rules_destroy(rules);
    free(text);
    return status;
}

enum tl_status tl_app_open_kept(struct tl_history *history, const char *id,
                                const struct tl_rules *rules, struct tl_session_result *ret_result,
                                struct tl_error *reterr)
{
    struct tl_samples samples = {0};
    char *text = NULL;
    size_t len;
    enum tl_status status = tl_history_document(history, id, &text, &len, reterr);
    if (status == TL_OK)
        status = tl_app_judge(rules, text, len, ret_result, reterr);
    if (status == TL_OK) {
        tl_kept_read_samples(text, len, &samples);
        ret_result->samples = own_samples(&samples);
    }
    free(text);
    return status;
}

enum tl_status tl_app_is_own_run(const struct tl_run *run, struct tl_error *reterr)
{
    static const char *const why[] = {
        [TL_HOST_MARK_OTHER] = "was made on another host (or this one has a new /etc/machine-id)",
        [TL_HOST_MARK_NONE] = "does not say which host made it: it was masked, comes from a "
                              "capture, or from an older tightlink",
        [TL_HOST_MARK_UNKNOWN] = "cannot be known as this host's, which has no /etc/machine-id",
    };
    enum tl_host_mark mark = tl_host_mark_check(run, "");
    if (mark == TL_HOST_MARK_OWN)
        return TL_OK;
    return tl_error_set(reterr, TL_DENIED, "run %.26s %s", run->id, why[mark]);
}

void tl_app_result_say(struct tl_session_result *result, char *ret_text, size_t size)
{
    struct tl_buf says = TL_BUF_INIT;
    result->run.target_name[0] = '\0';
    tl_report_says(&result->run, result->facts, result->findings, &says);
    snprintf(ret_text, size, "%s", tl_buf_text(&says));
    tl_buf_finish(&says);
}

void tl_app_result_finish(struct tl_session_result *result)
{
    tl_facts_destroy(result->facts);
    tl_findings_destroy(result->findings);
    if (result->samples)
        tl_samples_finish(result->samples);
    free(result->samples);
    *result = (struct tl_session_result){0};
}

/* The scheme that a kind needs: NULL for a responder, and for what is no far end (a capture). */
static const char *scheme_of(const char *kind_id)
{
    for (int i = TL_FAR_TIGHTLINK + 1; i < TL_FAR_KIND_COUNT; i++) {
        const struct tl_far_row *row = tl_far_row((enum tl_far_kind)i);
        bool discovered = !row->resource || i == TL_FAR_HTTP;
        if (discovered && strcmp(row->id, kind_id) == 0)
            return row->scheme;
    }
    return NULL;
}

void tl_app_target_of_run(const struct tl_run *run, const char *written,
                          struct tl_app_target *ret_target)
{
    const char *name = written ? written : run->target_name;
    const char *scheme = scheme_of(run->target_kind);
    const char *host = run->target_address[0] ? run->target_address : name;
    const char *colon = strchr(host, ':');
    if (strstr(name, "://"))
        snprintf(ret_target->text, sizeof ret_target->text, "%s", name);
    else if (scheme)
        snprintf(ret_target->text, sizeof ret_target->text, "%s://%s%s%s", scheme, colon ? "[" : "",
                 host, colon ? "]" : "");
    else
        snprintf(ret_target->text, sizeof ret_target->text, "%s", written ? written : host);
}

const char *tl_app_why_not_again(const struct tl_run *run)
{
    if (tl_run_is_watched(run))
        return "this is another program's transfer: tightlink run HOST tries a fix on its way";
    if (tl_run_is_of_others(run))
        return "this is a path between two other hosts: nothing here can try a fix on it";
    return NULL;
}

void tl_app_config_of_run(const struct tl_run *run, const struct tl_app_target *target,
                          struct tl_session_config *config)
{
    config->host = target->text;
    config->target_name = run->target_name;
    config->target_kind = "tightlink";
    if (run->target_port && (!config->port || config->port == tl_far_row(TL_FAR_TIGHTLINK)->port))
        config->port = (uint16_t)run->target_port;
    if (!config->family)
        config->family = run->target_only;
    config->http1 = config->http1 || run->target_http1;
    config->download = run->download;
    config->upload = run->upload;
    config->goal = run->goal;
}

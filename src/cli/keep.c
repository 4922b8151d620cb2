/* Runs go into the history, and come out of it by their names. */
#include "keep.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tightlink/document/bundle.h"
#include "tightlink/document/document.h"
#include "tightlink/document/kept.h"
#include "tightlink/store/compare.h"

enum tl_status cli_open_history(struct tl_history **ret_history, struct tl_error *reterr)
{
    enum tl_status status = tl_history_open(NULL, ret_history, reterr);
    if (status == TL_OK && tl_history_notice(*ret_history)[0])
        cli_complain("%s", tl_history_notice(*ret_history));
    return status;
}

static enum tl_status keep(struct tl_history *history, const struct tl_session_result *result,
                           struct tl_verdict_move *ret_move, struct tl_error *reterr)
{
    struct tl_buf json = TL_BUF_INIT;
    char before[512];
    snprintf(before, sizeof before, "%s", tl_history_notice(history));
    enum tl_status status =
        tl_kept_write(&result->run, result->facts, result->findings, result->samples, false, &json);
    if (status == TL_OK)
        status = tl_history_add(history, json.data, json.len, reterr);
    if (strcmp(before, tl_history_notice(history)) != 0)
        cli_complain("%s", tl_history_notice(history));
    if (status == TL_OK)
        status = tl_history_move(history, result->run.id, ret_move, reterr);
    tl_buf_finish(&json);
    return status;
}

bool cli_keep_run(const struct tl_session_result *result)
{
    struct tl_history *history = NULL;
    struct tl_verdict_move move = {0};
    struct tl_error error = {0};
    if (!result->findings || !result->answered)
        return false;
    enum tl_status status = cli_open_history(&history, &error);
    if (status == TL_OK)
        status = keep(history, result, &move, &error);
    tl_history_close(history);
    if (status != TL_OK)
        cli_complain("this run is not in the history: %s",
                     error.text[0] ? error.text : tl_status_text(status));
    else if (move.moved)
        cli_complain("%s", move.sentence);
    return move.moved;
}

/* On the heap where there are any; without memory there are none. */
static struct tl_samples *own_samples(struct tl_samples *samples)
{
    struct tl_samples *owned = samples->count ? malloc(sizeof *owned) : NULL;
    if (owned)
        *owned = *samples;
    else
        tl_samples_finish(samples);
    return owned;
}

/* Where the bytes of a file are a bundle, its document takes their place. */
static enum tl_status unpack(const char *name, char **text, size_t *len,
                             struct tl_samples **ret_samples, struct tl_error *reterr)
{
    struct tl_bundle bundle;
    struct tl_samples kept;
    *ret_samples = NULL;
    if (!tl_bundle_is(*text, *len)) {
        tl_kept_read_samples(*text, *len, &kept);
        *ret_samples = own_samples(&kept);
        return TL_OK;
    }
    enum tl_status status = tl_bundle_read(*text, *len, &bundle, reterr);
    free(*text);
    if (status != TL_OK) {
        tl_error_prefix(reterr, "%.200s", name);
        return status;
    }
    *text = bundle.document;
    *len = bundle.document_len;
    *ret_samples = own_samples(&bundle.samples);
    return TL_OK;
}

static enum tl_status read_stored(const char *name, char **ret_text, size_t *ret_len,
                                  struct tl_error *reterr)
{
    struct tl_history *history = NULL;
    struct tl_error error = {0};
    char id[TL_HISTORY_ID_SIZE];
    if (strcmp(name, "-") == 0 || access(name, F_OK) == 0 || strchr(name, '/'))
        return cli_read_file(name, TL_DOCUMENT_BYTES_MAX, ret_text, ret_len, reterr);
    enum tl_status status = cli_open_history(&history, &error);
    if (status == TL_OK)
        status = tl_history_resolve(history, name, id, &error);
    if (status == TL_OK)
        status = tl_history_document(history, id, ret_text, ret_len, &error);
    tl_history_close(history);
    if (status == TL_UNKNOWN)
        return tl_error_set(reterr, TL_USAGE,
                            "%.100s is neither a file nor a run of the history (tightlink history "
                            "lists them)",
                            name);
    return status == TL_OK ? TL_OK : tl_error_set(reterr, status, "%s", error.text);
}

enum tl_status cli_read_saved(const char *name, char **ret_text, size_t *ret_len,
                              struct tl_samples **ret_samples, struct tl_error *reterr)
{
    char *text;
    size_t len;
    enum tl_status status = read_stored(name, &text, &len, reterr);
    if (status == TL_OK)
        status = unpack(name, &text, &len, ret_samples, reterr);
    if (status == TL_OK) {
        *ret_text = text;
        *ret_len = len;
    }
    return status;
}

enum tl_status cli_read_document(const char *name, char **ret_text, size_t *ret_len,
                                 struct tl_error *reterr)
{
    struct tl_samples *samples = NULL;
    enum tl_status status = cli_read_saved(name, ret_text, ret_len, &samples, reterr);
    if (status == TL_OK && samples)
        tl_samples_finish(samples);
    if (status == TL_OK)
        free(samples);
    return status;
}

/* tightlink history export: documents as JSON lines, masked unless --unmask. */
#include "history.h"
#include "keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/app/leave.h"
#include "tightlink/app/open.h"

struct exporter {
    struct history_request *request;
    struct tl_redactor *redactor; /* NULL: --unmask */
    struct tl_rules *rules;
    FILE *out;
    struct tl_buf ids; /* of all runs, TL_HISTORY_ID_SIZE bytes each, newest first */
    size_t count;
};

static bool take_id(const struct tl_history_run *run, void *context)
{
    struct exporter *exporter = context;
    tl_buf_add(&exporter->ids, run->id, TL_HISTORY_ID_SIZE);
    return exporter->ids.status == TL_OK;
}

/* Masked: the copy of an export, judged by the rules of today. */
static enum tl_status masked(struct exporter *exporter, const char *text, size_t len,
                             struct tl_buf *out, struct tl_error *reterr)
{
    struct tl_session_result result = {0};
    struct tl_export *export = NULL;
    enum tl_status status = tl_app_judge(exporter->rules, text, len, &result, reterr);
    if (status == TL_OK)
        status = tl_app_leave_with(&result, exporter->redactor, &export, reterr);
    if (status == TL_OK)
        status = tl_export_write(export, TL_EXPORT_JSON_LINES, out);
    tl_export_destroy(export);
    tl_app_result_finish(&result);
    return status;
}

static enum tl_status export_one(struct exporter *exporter, const char *id, struct tl_error *reterr)
{
    struct tl_buf out = TL_BUF_INIT;
    char *text = NULL;
    size_t len;
    enum tl_status status =
        tl_history_document(exporter->request->history, id, &text, &len, reterr);
    if (status == TL_OK && exporter->redactor)
        status = masked(exporter, text, len, &out, reterr);
    else if (status == TL_OK)
        tl_buf_add(&out, text, len);
    if (status == TL_OK)
        status = out.status;
    if (status == TL_OK) {
        size_t end = out.len;
        while (end && out.data[end - 1] == '\n')
            end--;
        if (fwrite(out.data, 1, end, exporter->out) != end || fputc('\n', exporter->out) == EOF)
            status = tl_error_set(reterr, TL_IO, "writing failed: %s", strerror(errno));
    }
    free(text);
    tl_buf_finish(&out);
    return status;
}

static FILE *open_out(const char *path)
{
    if (!path)
        return stdout;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file && errno == EEXIST)
        (void)cli_refuse_taken(path);
    else if (!file)
        cli_complain("%s: %s", path, strerror(errno));
    return file;
}

static enum tl_status export_all(struct exporter *exporter, struct tl_error *reterr)
{
    struct history_request *request = exporter->request;
    enum tl_status status =
        tl_history_each(request->history, &request->filter, take_id, exporter, reterr);
    if (status == TL_OK)
        status = exporter->ids.status;
    for (size_t at = exporter->ids.len; status == TL_OK && at > 0; at -= TL_HISTORY_ID_SIZE) {
        status = export_one(exporter, exporter->ids.data + at - TL_HISTORY_ID_SIZE, reterr);
        exporter->count++;
    }
    if (status == TL_OK && fflush(exporter->out) != 0)
        status = tl_error_set(reterr, TL_IO, "writing failed: %s", strerror(errno));
    return status;
}

/* What became of it, and of the masks. A reader that has gone has had enough. */
static int tell(const struct exporter *exporter, enum tl_status status,
                const struct tl_error *error)
{
    bool masked = exporter->redactor;
    if (status == TL_OK) {
        cli_complain("%zu run%s written%s", exporter->count, exporter->count == 1 ? "" : "s",
                     masked ? "" : " with all names and addresses");
    } else if (exporter->request->out || !cli_reader_has_gone()) {
        (void)cli_fail(error);
        return CLI_EXIT_EXPORT;
    }
    cli_keep_masks(exporter->redactor, "history");
    return CLI_EXIT_OK;
}

int cli_history_export(const struct cli_command *command, struct history_request *request)
{
    struct exporter exporter = {.request = request, .out = open_out(request->out)};
    struct tl_error error = {0};
    enum tl_status status = TL_OK;
    if (!exporter.out)
        return CLI_EXIT_EXPORT;
    if (request->masks != TL_APP_MASKS_NONE) {
        status = tl_app_redactor(request->masks, &exporter.redactor, &error);
        if (status == TL_OK)
            status = cli_load_rules(&exporter.rules, &error);
    }
    if (status == TL_OK)
        status = export_all(&exporter, &error);
    if (request->out && fclose(exporter.out) != 0 && status == TL_OK)
        status = tl_error_set(&error, TL_IO, "%s: %s", request->out, strerror(errno));
    int exit_code = tell(&exporter, status, &error);
    tl_buf_finish(&exporter.ids);
    tl_redactor_destroy(exporter.redactor);
    tl_rules_destroy(exporter.rules);
    return exit_code;
}

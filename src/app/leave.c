/* Runs on their way out. */
#include "tightlink/app/leave.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#include "tightlink/app/files.h"

static enum tl_status masks_directory(char *ret_path, size_t size, struct tl_error *reterr)
{
    return tl_redactor_directory(ret_path, size)
               ? TL_OK
               : tl_error_set(reterr, TL_UNKNOWN,
                              "without a home directory there is no place to keep what stands for "
                              "what");
}

enum tl_status tl_app_redactor(enum tl_app_masks masks, struct tl_redactor **ret_redactor,
                               struct tl_error *reterr)
{
    char directory[PATH_MAX];
    uint8_t key[TL_REDACT_KEY_SIZE];
    bool of_site = masks == TL_APP_MASKS_SITE;
    enum tl_status status = TL_OK;
    *ret_redactor = NULL;
    if (masks == TL_APP_MASKS_NONE)
        return TL_OK;
    if (of_site)
        status = masks_directory(directory, sizeof directory, reterr);
    if (status == TL_OK && of_site)
        status = tl_redactor_site_key(directory, key, reterr);
    if (status == TL_OK)
        status = tl_redactor_create(of_site ? key : NULL, ret_redactor, reterr);
    explicit_bzero(key, sizeof key);
    if (status == TL_OK)
        tl_redactor_learn_here(*ret_redactor);
    return status;
}

enum tl_status tl_app_leave_with(const struct tl_session_result *result,
                                 struct tl_redactor *redactor, struct tl_export **ret_export,
                                 struct tl_error *reterr)
{
    struct tl_export *export = NULL;
    enum tl_status status =
        tl_export_create(redactor, &result->run, result->facts, result->findings, &export, reterr);
    if (status != TL_OK)
        return status;
    tl_export_set_rules(export, result->rules_version);
    if (result->samples)
        status = tl_export_add_samples(export, result->samples);
    if (status != TL_OK) {
        tl_export_destroy(export);
        return tl_error_set(reterr, status, "%s", tl_status_text(status));
    }
    *ret_export = export;
    return TL_OK;
}

enum tl_status tl_app_leave(const struct tl_session_result *result, enum tl_app_masks masks,
                            struct tl_app_leaving *ret_leaving, struct tl_error *reterr)
{
    struct tl_app_leaving leaving = {0};
    enum tl_status status = tl_app_redactor(masks, &leaving.redactor, reterr);
    if (status == TL_OK)
        status = tl_app_leave_with(result, leaving.redactor, &leaving.export, reterr);
    if (status == TL_OK)
        *ret_leaving = leaving;
    else
        tl_app_leaving_finish(&leaving);
    return status;
}

void tl_app_leaving_finish(struct tl_app_leaving *leaving)
{
    tl_export_destroy(leaving->export);
    tl_redactor_destroy(leaving->redactor);
    *leaving = (struct tl_app_leaving){0};
}

enum tl_status tl_app_keep_masks(const struct tl_redactor *redactor, const char *run_id,
                                 char *ret_path, size_t size, struct tl_error *reterr)
{
    char directory[PATH_MAX];
    ret_path[0] = '\0';
    if (!redactor || !tl_redactor_count(redactor))
        return TL_OK;
    enum tl_status status = masks_directory(directory, sizeof directory, reterr);
    if (status != TL_OK)
        return status;
    return tl_redactor_save(redactor, directory, run_id, ret_path, size, reterr);
}

enum tl_status tl_app_comparison_text(const struct tl_comparison *comparison, struct tl_buf *out,
                                      struct tl_error *reterr)
{
    struct tl_redactor *redactor = NULL;
    struct tl_buf text = TL_BUF_INIT;
    enum tl_status status = tl_app_redactor(TL_APP_MASKS_NEW, &redactor, reterr);
    if (status != TL_OK)
        return status;
    tl_redactor_learn(redactor, TL_MASK_HOST, comparison->a.target);
    tl_redactor_learn(redactor, TL_MASK_HOST, comparison->b.target);
    tl_compare_text(comparison, INT_MAX, &text);
    tl_redact_text(redactor, tl_buf_text(&text), out);
    status = text.status != TL_OK ? text.status : tl_redactor_status(redactor);
    tl_buf_finish(&text);
    tl_redactor_destroy(redactor);
    return status == TL_OK ? out->status : status;
}

bool tl_app_saves_document(const char *path)
{
    size_t len = strlen(path);
    return len > 5 && strcasecmp(path + len - 5, ".json") == 0;
}

enum tl_status tl_app_save_run(const char *path, const struct tl_session_result *result,
                               struct tl_error *reterr)
{
    struct tl_buf bytes = TL_BUF_INIT;
    enum tl_export_format format = tl_app_saves_document(path) ? TL_EXPORT_JSON : TL_EXPORT_BUNDLE;
    struct tl_export *export = NULL;
    enum tl_status status = tl_app_leave_with(result, NULL, &export, reterr);
    if (status == TL_OK)
        status = tl_export_write(export, format, &bytes);
    if (status != TL_OK)
        status = tl_error_set(reterr, status, "%s", tl_status_text(status));
    else if (!tl_app_replace_file(path, bytes.data, bytes.len, 0600))
        status = tl_error_set(reterr, TL_IO, "%s", strerror(errno));
    tl_export_destroy(export);
    tl_buf_finish(&bytes);
    return status;
}

/* A run as it may leave this machine, and its formats. */
#include "tightlink/report/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "documents.h"
#include "json_private.h"
#include "redact_run.h"
#include "text_parts.h"
#include "tightlink/base/utf8.h"
#include "tightlink/report/bundle.h"

#define TEXT_COLUMNS 80
#define TITLE_MAX    200

struct tl_export {
    const struct tl_redactor *redactor; /* borrowed; NULL: nothing is masked */
    struct copier copier;
    struct tl_run run;
    struct tl_facts *facts;
    struct tl_findings findings;
    struct tl_samples samples;
    char rules_version[TL_BUNDLE_VERSION_SIZE];
};

static const struct {
    const char *name, *type;
} formats[TL_EXPORT_BUNDLE + 1] = {
    [TL_EXPORT_TEXT] = {"text", "text/plain; charset=utf-8"},
    [TL_EXPORT_MARKDOWN] = {"markdown", "text/markdown; charset=utf-8"},
    [TL_EXPORT_HTML] = {"html", "text/html; charset=utf-8"},
    [TL_EXPORT_JSON] = {"json", "application/json"},
    [TL_EXPORT_JSON_LINES] = {"json-lines", "application/x-ndjson"},
    [TL_EXPORT_BUNDLE] = {"bundle", "application/zstd"},
};

const char *tl_export_format_name(enum tl_export_format format)
{
    return formats[format].name;
}

const char *tl_export_format_type(enum tl_export_format format)
{
    return formats[format].type;
}

bool tl_export_format_find(const char *name, enum tl_export_format *ret_format)
{
    for (int i = 0; i <= TL_EXPORT_BUNDLE; i++) {
        if (strcmp(formats[i].name, name) != 0)
            continue;
        *ret_format = (enum tl_export_format)i;
        return true;
    }
    return false;
}

enum tl_status tl_export_create(struct tl_redactor *redactor, const struct tl_run *run,
                                const struct tl_facts *facts, const struct tl_findings *findings,
                                struct tl_export **ret_export, struct tl_error *reterr)
{
    struct tl_export *export = calloc(1, sizeof *export);
    if (!export)
        return tl_error_set(reterr, TL_NOMEM, "%s", tl_status_text(TL_NOMEM));
    export->redactor = redactor;
    export->copier.redactor = redactor;
    if (redactor)
        tl_redactor_learn_run(redactor, run, facts);
    redact_copy_run(&export->copier, run, &export->run);
    export->facts = redact_copy_facts(&export->copier, facts);
    redact_copy_findings(&export->copier, findings, &export->findings);
    enum tl_status status = export->copier.status;
    if (status == TL_OK && redactor)
        status = tl_redactor_status(redactor);
    if (status == TL_OK) {
        *ret_export = export;
        return TL_OK;
    }
    tl_export_destroy(export);
    if (status == TL_LIMIT)
        return tl_error_set(reterr, status,
                            "this run names more hosts, addresses and files than %d: it is not "
                            "exported, because not all could be masked",
                            TL_REDACT_VALUES_MAX);
    return tl_error_set(reterr, status, "%s", tl_status_text(status));
}

void tl_export_destroy(struct tl_export *export)
{
    if (!export)
        return;
    tl_facts_destroy(export->facts);
    redact_copier_finish(&export->copier);
    tl_samples_finish(&export->samples);
    free(export);
}

enum tl_status tl_export_add_samples(struct tl_export *export, const struct tl_samples *samples)
{
    for (size_t i = 0; i < samples->count; i++) {
        struct tl_reading reading = samples->items[i];
        redact_copy_reading(&export->copier, &reading);
        tl_samples_add(&export->samples, &reading);
    }
    export->samples.cut = samples->cut;
    return export->samples.count == samples->count ? export->copier.status : TL_NOMEM;
}

const struct tl_samples *tl_export_samples(const struct tl_export *export)
{
    return &export->samples;
}

const struct tl_run *tl_export_run(const struct tl_export *export)
{
    return &export->run;
}

const struct tl_facts *tl_export_facts(const struct tl_export *export)
{
    return export->facts;
}

const struct tl_findings *tl_export_findings(const struct tl_export *export)
{
    return &export->findings;
}

void tl_export_set_rules(struct tl_export *export, const char *rules_version)
{
    snprintf(export->rules_version, sizeof export->rules_version, "%s", rules_version);
}

static enum tl_status write_json(const struct tl_export *export, bool pretty, struct tl_buf *out)
{
    return report_json_masked(&export->run, export->facts, &export->findings, export->redactor,
                              pretty, out);
}

static enum tl_status write_bundle(const struct tl_export *export, struct tl_buf *out)
{
    struct tl_buf document = TL_BUF_INIT;
    enum tl_status status = write_json(export, true, &document);
    if (status == TL_OK) {
        struct tl_bundle bundle = {
            .document = document.data, .document_len = document.len, .samples = export->samples};
        snprintf(bundle.tool_version, sizeof bundle.tool_version, "%s", export->run.tool_version);
        memcpy(bundle.rules_version, export->rules_version, sizeof bundle.rules_version);
        status = tl_bundle_write(&bundle, out, NULL); /* borrows all, owns nothing */
    }
    tl_buf_finish(&document);
    return status;
}

enum tl_status tl_export_write(const struct tl_export *export, enum tl_export_format format,
                               struct tl_buf *out)
{
    static const struct tl_text_style plain = {.width = TEXT_COLUMNS, .utf8 = true};
    const struct tl_run *run = &export->run;
    const struct text_source source = {run, export->facts, &export->findings};
    switch (format) {
    case TL_EXPORT_MARKDOWN:
        report_markdown(&source, out);
        return out->status;
    case TL_EXPORT_HTML:
        report_html(&source, &export->samples, out);
        return out->status;
    case TL_EXPORT_TEXT:
        return tl_report_text(run, export->facts, &export->findings, &plain, out);
    case TL_EXPORT_BUNDLE:
        return write_bundle(export, out);
    default:
        return write_json(export, format == TL_EXPORT_JSON, out);
    }
}

enum tl_status tl_export_title(const struct tl_export *export, struct tl_buf *out)
{
    const struct text_source source = {&export->run, export->facts, &export->findings};
    struct tl_buf line = TL_BUF_INIT;
    char title[TITLE_MAX + 1];
    tl_buf_addf(&line, "%s: ", export->run.target_name);
    text_add_headline(&source, &line);
    size_t len = tl_utf8_clean(tl_buf_text(&line), line.len, title, sizeof title);
    tl_buf_add(out, title, len);
    if (line.status != TL_OK)
        out->status = line.status;
    tl_buf_finish(&line);
    return out->status;
}

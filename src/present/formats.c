/* The formats in which a run leaves. */
#include "tightlink/present/formats.h"

#include <string.h>

#include "documents.h"
#include "text_parts.h"
#include "tightlink/base/utf8.h"

#define TEXT_COLUMNS 80
#define TITLE_MAX    200

static const char *const names[TL_EXPORT_BUNDLE + 1] = {
    [TL_EXPORT_TEXT] = "text", [TL_EXPORT_MARKDOWN] = "markdown",     [TL_EXPORT_HTML] = "html",
    [TL_EXPORT_JSON] = "json", [TL_EXPORT_JSON_LINES] = "json-lines", [TL_EXPORT_BUNDLE] = "bundle",
};

const char *tl_export_format_name(enum tl_export_format format)
{
    return names[format];
}

bool tl_export_format_find(const char *name, enum tl_export_format *ret_format)
{
    for (int i = 0; i <= TL_EXPORT_BUNDLE; i++) {
        if (strcmp(names[i], name) != 0)
            continue;
        *ret_format = (enum tl_export_format)i;
        return true;
    }
    return false;
}

/* Who reads it elsewhere asks first which run this is. */
static enum tl_status report_text(const struct text_source *source, bool utf8, struct tl_buf *out)
{
    const struct tl_text_style plain = {.width = TEXT_COLUMNS, .utf8 = utf8};
    struct tl_buf origin = TL_BUF_INIT;
    text_add_origin(source, &origin);
    tl_utf8_add_clean(out, tl_buf_text(&origin), !utf8);
    tl_buf_adds(out, origin.len ? "\n\n" : "");
    if (origin.status != TL_OK)
        out->status = origin.status;
    tl_buf_finish(&origin);
    return tl_report_text(source->run, source->facts, source->findings, &plain, out);
}

enum tl_status tl_export_write(const struct tl_export *export, enum tl_export_format format,
                               struct tl_buf *out)
{
    const struct tl_run *run = tl_export_run(export);
    const struct tl_facts *facts = tl_export_facts(export);
    const struct tl_findings *findings = tl_export_findings(export);
    const struct text_source source = {.run = run, .facts = facts, .findings = findings};
    switch (format) {
    case TL_EXPORT_MARKDOWN:
        report_markdown(&source, out);
        return out->status;
    case TL_EXPORT_HTML:
        report_html(&source, tl_export_samples(export), out);
        return out->status;
    case TL_EXPORT_TEXT:
        return report_text(&source, !tl_export_is_ascii(export), out);
    case TL_EXPORT_BUNDLE:
        return tl_export_bundle(export, out);
    default:
        return tl_export_document(export, format == TL_EXPORT_JSON, out);
    }
}

enum tl_status tl_export_title(const struct tl_export *export, struct tl_buf *out)
{
    const struct text_source source = {.run = tl_export_run(export),
                                       .facts = tl_export_facts(export),
                                       .findings = tl_export_findings(export)};
    struct tl_buf line = TL_BUF_INIT;
    char title[TITLE_MAX + 1];
    tl_buf_addf(&line, "%s: ", tl_export_run(export)->target_name);
    text_add_headline(&source, &line);
    size_t len = tl_utf8_clean(tl_buf_text(&line), line.len, title, sizeof title);
    tl_buf_add(out, title, len);
    if (line.status != TL_OK)
        out->status = line.status;
    tl_buf_finish(&line);
    return out->status;
}

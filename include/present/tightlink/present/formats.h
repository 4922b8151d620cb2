/* The formats in which a run leaves, each under one name, and the line that stands above it. */
#ifndef TL_PRESENT_FORMATS_H
#define TL_PRESENT_FORMATS_H

#include "tightlink/document/export.h"

enum tl_export_format {
    TL_EXPORT_TEXT,         /* 80 columns, UTF-8 (ASCII after tl_export_set_ascii) */
    TL_EXPORT_MARKDOWN,     /* for a ticket: CommonMark with tables */
    TL_EXPORT_HTML,         /* one page that needs nothing else: no script, no file, no network */
    TL_EXPORT_JSON,         /* the document of findings.schema.json, indented */
    TL_EXPORT_JSON_LINES,   /* the same on one line */
    TL_EXPORT_FORMAT_COUNT, /* those above are texts, which a screen can show */
    /* all of the run in one file, to be opened again (document/bundle.h) */
    TL_EXPORT_BUNDLE = TL_EXPORT_FORMAT_COUNT
};
/* "text", "json" ... as options name them. */
const char *tl_export_format_name(enum tl_export_format format);
/* False where no format has that name. */
bool tl_export_format_find(const char *name, enum tl_export_format *ret_format);

/* Adds the run in a format. TL_NOMEM, TL_IO. A bundle is no text. */
enum tl_status tl_export_write(const struct tl_export *export, enum tl_export_format format,
                               struct tl_buf *out) TL_WARN_UNUSED;

/* Adds one line that names the finding, for a subject or a title: "host-3fa9c1: This PC
 * limits the download: 96.1 Mb/s instead of about 930 Mb/s." No newline, at most 200 bytes. */
enum tl_status tl_export_title(const struct tl_export *export, struct tl_buf *out) TL_WARN_UNUSED;

#endif

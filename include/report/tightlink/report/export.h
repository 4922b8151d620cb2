/* The only way out: a run as it may leave this machine, and the formats in which it does.
 *
 * An export is a copy of run, facts and findings in which every text has passed the redactor
 * (report/redact.h), field by field, before any format is written: no format can forget it.
 * Files, tickets, telemetry and mail all begin with tl_export_create().
 *
 * Threads: an export does not change once it is made; any thread may write it. */
#ifndef TL_REPORT_EXPORT_H
#define TL_REPORT_EXPORT_H

#include "tightlink/facts/samples.h"
#include "tightlink/report/redact.h"
#include "tightlink/report/report.h"

struct tl_export;

/* Copies all; the originals are borrowed only during the call. redactor: borrowed, outlives the
 * export, and knows after the call what was masked; NULL: nothing is masked (--unmask).
 * TL_NOMEM, TL_LIMIT (more names than a run can have: nothing may leave). */
enum tl_status tl_export_create(struct tl_redactor *redactor, const struct tl_run *run,
                                const struct tl_facts *facts, const struct tl_findings *findings,
                                struct tl_export **ret_export,
                                struct tl_error *reterr) TL_WARN_UNUSED;
void tl_export_destroy(struct tl_export *export); /* takes NULL */

/* The readings of the run's transfers, for the plots of the page; copied, masked likewise. Without
 * them the page has no plots over time. TL_NOMEM. */
enum tl_status tl_export_add_samples(struct tl_export *export,
                                     const struct tl_samples *samples) TL_WARN_UNUSED;

/* Which rules judged (tl_rules_version), for the bundle. */
void tl_export_set_rules(struct tl_export *export, const char *rules_version);

/* What may leave. Borrowed from the export. */
const struct tl_run *tl_export_run(const struct tl_export *export);
const struct tl_facts *tl_export_facts(const struct tl_export *export);
const struct tl_findings *tl_export_findings(const struct tl_export *export);

const struct tl_samples *tl_export_samples(const struct tl_export *export); /* never NULL */

enum tl_export_format {
    TL_EXPORT_TEXT,       /* 80 columns, UTF-8 */
    TL_EXPORT_MARKDOWN,   /* for a ticket: CommonMark with tables */
    TL_EXPORT_HTML,       /* one page that needs nothing else: no script, no file, no network */
    TL_EXPORT_JSON,       /* the document of findings.schema.json, indented */
    TL_EXPORT_JSON_LINES, /* the same on one line */
    TL_EXPORT_FORMAT_COUNT, /* those above are texts, which a screen can show */
    /* all of the run in one file, to be opened again (report/bundle.h) */
    TL_EXPORT_BUNDLE = TL_EXPORT_FORMAT_COUNT
};
/* "text", "json" ... as options name them. */
const char *tl_export_format_name(enum tl_export_format format);
/* The media type, "application/json" ... */
const char *tl_export_format_type(enum tl_export_format format);
/* False where no format has that name. */
bool tl_export_format_find(const char *name, enum tl_export_format *ret_format);

/* Adds the run in a format. TL_NOMEM, TL_IO. A bundle is no text. */
enum tl_status tl_export_write(const struct tl_export *export, enum tl_export_format format,
                               struct tl_buf *out) TL_WARN_UNUSED;

/* Adds one line that names the finding, for a subject or a title: "host-3fa9c1: This PC
 * limits the download: 96.1 Mb/s instead of about 930 Mb/s." No newline, at most 200 bytes. */
enum tl_status tl_export_title(const struct tl_export *export, struct tl_buf *out) TL_WARN_UNUSED;

#endif

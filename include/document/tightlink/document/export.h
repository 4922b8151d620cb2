/* The only way out: a run as it may leave this machine, and the formats in which it does.
 *
 * An export is a copy of run, facts and findings in which every text has passed the redactor
 * (document/redact.h), field by field, before any format is written: no format can forget it.
 * Files, tickets, telemetry and mail all begin with tl_export_create().
 *
 * Threads: an export does not change once it is made; any thread may write it. */
#ifndef TL_DOCUMENT_EXPORT_H
#define TL_DOCUMENT_EXPORT_H

#include "tightlink/document/document.h"
#include "tightlink/document/redact.h"
#include "tightlink/facts/samples.h"

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

/* The text form shall be of ASCII alone, for a place that shows no more. */
void tl_export_set_ascii(struct tl_export *export);
bool tl_export_is_ascii(const struct tl_export *export);

/* What may leave. Borrowed from the export. */
const struct tl_run *tl_export_run(const struct tl_export *export);
const struct tl_facts *tl_export_facts(const struct tl_export *export);
const struct tl_findings *tl_export_findings(const struct tl_export *export);

const struct tl_samples *tl_export_samples(const struct tl_export *export); /* never NULL */

/* Adds the document of the run, with the list of its masks: indented where pretty, else on one
 * line. TL_NOMEM. */
enum tl_status tl_export_document(const struct tl_export *export, bool pretty,
                                  struct tl_buf *out) TL_WARN_UNUSED;

/* Adds all of the run in one file, to be opened again (document/bundle.h). TL_NOMEM, TL_IO. */
enum tl_status tl_export_bundle(const struct tl_export *export, struct tl_buf *out) TL_WARN_UNUSED;

#endif

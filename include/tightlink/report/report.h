/* Reports: what was found, as text for people and JSON for programs.
 *
 * Pure: reads a run and writes to a buffer; no files, no terminal. */
#ifndef TL_REPORT_REPORT_H
#define TL_REPORT_REPORT_H

#include "tightlink/base/buf.h"
#include "tightlink/facts/facts.h"
#include "tightlink/facts/run.h"
#include "tightlink/rules/findings.h"
#include "tightlink/rules/rules.h"

/* The document of findings.schema.json, format tightlink.findings/1, with all facts. */
enum tl_status tl_report_json(const struct tl_run *run, const struct tl_facts *facts,
                              const struct tl_findings *findings,
                              struct tl_buf *out) TL_WARN_UNUSED;

/* Reads such a document back: run and facts, so that it can be judged again.
 * *run is untouched on failure; the error names the place as a JSON pointer. */
enum tl_status tl_report_read_json(const char *text, size_t len, struct tl_run *run,
                                   struct tl_facts **ret_facts,
                                   struct tl_error *reterr) TL_WARN_UNUSED;

/* The verdict as text: first two lines for a person who knows no networking,
 * then ladder, ledger, evidence, fix, undo and whom to send it to. */
struct tl_text_style {
    int width;  /* columns, 60 to 200 */
    bool color; /* ANSI colour; never the only carrier of meaning */
    bool utf8;  /* block characters for bars; else + - | # */
};
enum tl_status tl_report_text(const struct tl_run *run, const struct tl_facts *facts,
                              const struct tl_findings *findings, const struct tl_text_style *style,
                              struct tl_buf *out) TL_WARN_UNUSED;

#endif

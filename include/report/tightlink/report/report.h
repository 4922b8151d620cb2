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

/* The JSON schema of the documents below, the text of src/report/findings.schema.json. */
const char *tl_report_schema(void);

/* Adds the document of that schema, format tightlink.findings/1, with all facts: indented
 * where pretty, else on one line. What is not known is absent or null, never 0. A run
 * without a ULID, a target or a direction gives a document that does not validate.
 * TL_NOMEM. */
enum tl_status tl_report_json(const struct tl_run *run, const struct tl_facts *facts,
                              const struct tl_findings *findings, bool pretty,
                              struct tl_buf *out) TL_WARN_UNUSED;

/* Saved runs are some 100 KiB; a larger file is refused (promise P13). */
#define TL_REPORT_BYTES_MAX ((size_t)8 << 20)

/* Reads such a document back: run and facts, so that it can be judged again. The text
 * may be hostile. Keys that this program does not know are skipped, because format 1
 * may grow; facts it does not know are left out and counted in run->strange_facts.
 * *run and *ret_facts are untouched on failure; the error names the place as a JSON
 * pointer (TL_SYNTAX, TL_RANGE, TL_LIMIT, TL_UNKNOWN, TL_VERSION for another format,
 * TL_NOMEM). The caller owns *ret_facts. */
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

/* The same report in parts, for screens that place them themselves: the same words and the
 * same order within each. Widths from TL_REPORT_PART_WIDTH_MIN. A part without content adds
 * nothing. */
enum tl_report_part {
    TL_PART_HEAD,         /* what limits, what it means, why, the rates */
    TL_PART_MEASUREMENTS, /* the goal line by line, what would decide, ladder and ledger */
    TL_PART_EVIDENCE,     /* for and against */
    TL_PART_FIX,          /* remedies, what comes after them, whom to send it to */
    TL_PART_WAY,          /* the routers on the way */
    TL_PART_OTHERS,       /* parts of the way, also found, ruled out, not told */
    TL_PART_RUN,          /* hours of watching, disturbances, the run itself */
    TL_PART_COUNT
};
#define TL_REPORT_PART_WIDTH_MIN 56
enum tl_status tl_report_part(const struct tl_run *run, const struct tl_facts *facts,
                              const struct tl_findings *findings, const struct tl_text_style *style,
                              enum tl_report_part part, struct tl_buf *out) TL_WARN_UNUSED;

/* What the plan decided: the stages in the order in which they were chosen and why, then those
 * left out and why. */
enum tl_status tl_report_plan(const struct tl_run *run, const struct tl_text_style *style,
                              struct tl_buf *out) TL_WARN_UNUSED;

#endif

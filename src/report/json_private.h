/* The document with the list of its masks; private to src/report. */
#ifndef TL_REPORT_JSON_PRIVATE_H
#define TL_REPORT_JSON_PRIVATE_H

#include "tightlink/report/redact.h"
#include "tightlink/report/report.h"

/* As tl_report_json; redactor NULL: nothing was masked, and nothing is said about it. */
enum tl_status report_json_masked(const struct tl_run *run, const struct tl_facts *facts,
                                  const struct tl_findings *findings,
                                  const struct tl_redactor *redactor, bool pretty,
                                  struct tl_buf *out) TL_WARN_UNUSED;

#endif

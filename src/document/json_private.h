/* The document with the list of its masks; private to src/document. */
#ifndef TL_DOCUMENT_JSON_PRIVATE_H
#define TL_DOCUMENT_JSON_PRIVATE_H

#include "tightlink/document/document.h"
#include "tightlink/document/redact.h"

/* As tl_document_write; redactor NULL: nothing was masked, and nothing is said about it. */
enum tl_status document_write_masked(const struct tl_run *run, const struct tl_facts *facts,
                                     const struct tl_findings *findings,
                                     const struct tl_redactor *redactor, bool pretty,
                                     struct tl_buf *out) TL_WARN_UNUSED;

#endif

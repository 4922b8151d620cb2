/* A run as a document: format tightlink.findings/1, written and read back.
 *
 * Pure: reads a run and writes to a buffer; no files. */
#ifndef TL_DOCUMENT_DOCUMENT_H
#define TL_DOCUMENT_DOCUMENT_H

#include "tightlink/base/buf.h"
#include "tightlink/base/json_write.h"
#include "tightlink/facts/facts.h"
#include "tightlink/facts/run.h"
#include "tightlink/rules/findings.h"
#include "tightlink/rules/rules.h"

/* The JSON schema of the documents below, the text of src/document/findings.schema.json. */
const char *tl_document_schema(void);

/* Adds the document of that schema, format tightlink.findings/1, with all facts: indented
 * where pretty, else on one line. What is not known is absent or null, never 0. A run
 * without a ULID, a target or a direction gives a document that does not validate.
 * TL_NOMEM. */
enum tl_status tl_document_write(const struct tl_run *run, const struct tl_facts *facts,
                                 const struct tl_findings *findings, bool pretty,
                                 struct tl_buf *out) TL_WARN_UNUSED;

/* The same with members of the caller's behind those of the schema: add is called once, inside the
 * document's object. */
typedef void tl_document_more(struct tl_json_writer *writer, void *context);
enum tl_status tl_document_write_with(const struct tl_run *run, const struct tl_facts *facts,
                                      const struct tl_findings *findings, bool pretty,
                                      tl_document_more *add, void *context,
                                      struct tl_buf *out) TL_WARN_UNUSED;

/* Saved runs are some 100 KiB; a larger file is refused (promise P13). */
#define TL_DOCUMENT_BYTES_MAX ((size_t)8 << 20)

/* Reads such a document back: run and facts, so that it can be judged again. The text
 * may be hostile. Keys that this program does not know are skipped, because format 1
 * may grow; facts it does not know are left out and counted in run->strange_facts.
 * *run and *ret_facts are untouched on failure; the error names the place as a JSON
 * pointer (TL_SYNTAX, TL_RANGE, TL_LIMIT, TL_UNKNOWN, TL_VERSION for another format,
 * TL_NOMEM). The caller owns *ret_facts. */
enum tl_status tl_document_read(const char *text, size_t len, struct tl_run *run,
                                struct tl_facts **ret_facts,
                                struct tl_error *reterr) TL_WARN_UNUSED;

#endif

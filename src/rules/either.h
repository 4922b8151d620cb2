/* A rule for either end: one file, two rules that differ by whose end they are about. Private to
 * the rules layer. */
#ifndef TL_RULES_EITHER_H
#define TL_RULES_EITHER_H

#include "tightlink/base/buf.h"
#include "tightlink/base/json.h"

#define TL_ENDS 2
extern const char *const tl_ends[TL_ENDS]; /* "sender", "receiver" */

/* Whether a rule file has the key "either". False for what is no JSON too. */
bool tl_either_asks(const struct tl_json *doc);

/* Adds the file as it reads for one end: "<end>" in its texts is the end's name, other words in
 * angle brackets are what "either" says for that end, and an object with the keys sender and
 * receiver is replaced by the value for it (in a list it may be left out). TL_SYNTAX or TL_UNKNOWN
 * with the place otherwise. */
enum tl_status tl_either_write(const struct tl_json *doc, const char *end, struct tl_buf *out,
                               struct tl_error *reterr) TL_WARN_UNUSED;

#endif

/* Facts in a file: the "facts" object of findings.schema.json, without loss.
 *
 * Every fact that was ever set becomes a member: state, value with unit and, where
 * they differ from it, low and high; or the reason why it is unknown; stage and
 * method. What was never set is absent and stays so. */
#ifndef TL_FACTS_SAVE_H
#define TL_FACTS_SAVE_H

#include "tightlink/base/json.h"
#include "tightlink/base/json_write.h"
#include "tightlink/facts/facts.h"

/* Longest text fact, reason or method that a file may hold, in bytes. */
#define TL_FACTS_TEXT_MAX 1024

/* Adds the object under key (NULL at the root). */
void tl_facts_save(const struct tl_facts *facts, struct tl_json_writer *writer, const char *key);

/* Ids of a file that this program does not know: written by a newer one, or mistyped.
 * They are left out; the caller says so. Facts of earlier versions that are no more are left out
 * without a word. */
struct tl_facts_strange {
    size_t count;
    char first[64]; /* the first of them, cleaned; "" when there is none */
};

/* Reads the object at *at into a new store that the caller owns. Derived facts are
 * taken as they were saved; call tl_facts_derive() to form them anew. A wrong unit, a
 * value of the wrong type, bounds that do not hold the value and texts above
 * TL_FACTS_TEXT_MAX are refused with their JSON pointer (TL_SYNTAX, TL_RANGE,
 * TL_LIMIT, TL_UNKNOWN); other keys of a fact are skipped, because format 1 may grow.
 * ret_strange may be NULL. */
enum tl_status tl_facts_load(const struct tl_json_at *at, struct tl_facts **ret_facts,
                             struct tl_facts_strange *ret_strange,
                             struct tl_error *reterr) TL_WARN_UNUSED;

#endif

/* What causes are called in a list: two or three words that people have. Their ids are for files,
 * options and engineers; rules/findings.h has the ids, src/rules/causes.json what each means. */
#ifndef TL_BASE_CAUSE_NAME_H
#define TL_BASE_CAUSE_NAME_H

#include <stddef.h>

/* No name is longer. */
#define TL_CAUSE_NAME_COLUMNS 18

/* "receive buffer" of "receive-window". A cause of the user's own rules has no name: its id. What
 * stands in a cause's place has words, too: "cause not known" of "inconclusive". Static or id
 * itself. */
const char *tl_cause_name(const char *id);

/* The id of what a user wrote, name or id; text itself where it is neither. */
const char *tl_cause_id_of(const char *text);

/* The next id whose name has that text in it, whatever the case, from *at on (0 at first); NULL: no
 * more. */
const char *tl_cause_named_like(const char *text, size_t *at);

#endif

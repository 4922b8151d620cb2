/* Plain words for every cause at every place, and for every state of a verdict in runs of every
 * kind: what no single case would reach. Complaints are lines that begin with "# ". */
#ifndef TL_TESTS_STATES_H
#define TL_TESTS_STATES_H

#include "case_file.h"

/* Reads the plain view, the first lines and what stays in a terminal, the first time that this
 * state is met. */
void states_read(const struct tl_case *test, const struct tl_findings *findings,
                 struct tl_buf *out);
/* The same measurement, had it been spoilt or stopped. Changes the case's question. */
void states_read_unusable(const struct tl_rules *rules, struct tl_case *test, struct tl_buf *out);
/* Says how many were read, and frees them; false where it were too few. */
bool states_tell(void);

#endif

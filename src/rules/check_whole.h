/* What `rules check` says about a whole set, beyond the faults of single files. Private. */
#ifndef TL_RULES_CHECK_WHOLE_H
#define TL_RULES_CHECK_WHOLE_H

#include "source.h"

/* Notes rules, remedies and ceilings that can never be reached, and rules that overlap without
 * an order, among those of the source and between them and those of the program. */
void tl_check_reach(struct tl_source *source);
void tl_check_overlaps(struct tl_source *source);

#endif

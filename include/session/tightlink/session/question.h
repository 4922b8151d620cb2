/* What a run asked of the rules, from its record: used by the session itself and
 * when a saved run is judged again, so that both ask the same. */
#ifndef TL_SESSION_QUESTION_H
#define TL_SESSION_QUESTION_H

#include "tightlink/facts/run.h"
#include "tightlink/rules/rules.h"

/* The question borrows its reason text from the run. */
void tl_question_of_run(const struct tl_run *run, struct tl_question *ret_question);

#endif

/* The trace of a judgement in words, for who doubts a verdict: why this cause, and why not
 * another. Pages of plain text; all numbers are those of the findings. */
#ifndef TL_RULES_WHY_H
#define TL_RULES_WHY_H

#include "tightlink/rules/findings.h"
#include "tightlink/rules/rules.h"

/* The closed list of causes that a verdict may name, in the order of causes.json. */
size_t tl_cause_list_count(void);
const char *tl_cause_list_id(size_t index);
const char *tl_cause_list_title(size_t index);

/* Adds why the verdict is the one named: its rules with their tests, the rungs below and above
 * it, what else was found, what is open. Facts give the reasons of what is missing. */
enum tl_status tl_why(const struct tl_findings *findings, const struct tl_facts *facts,
                      struct tl_buf *out) TL_WARN_UNUSED;

/* Adds why a cause was not named: ruled out by which test with which numbers; cannot tell for
 * want of which facts and which stage would measure them; found but higher, not agreeing,
 * yielding or overridden. Or that it was named. TL_UNKNOWN for a cause that is not in the list. */
enum tl_status tl_why_not(const struct tl_findings *findings, const struct tl_facts *facts,
                          const char *cause, struct tl_buf *out) TL_WARN_UNUSED;

#endif

/* What a verdict points at, asked in one place by reports, screens, trials and explanations. */
#ifndef TL_RULES_VERDICT_H
#define TL_RULES_VERDICT_H

#include "tightlink/rules/findings.h"

/* The finding that the verdict is about: found, of its cause, segment and direction. NULL where it
 * names no cause. */
const struct tl_finding *tl_findings_verdict(const struct tl_findings *findings);

/* Found, and not the verdict's cause there: what another rule of that cause says is no other. */
bool tl_findings_is_beside(const struct tl_findings *findings, const struct tl_finding *finding);

#endif

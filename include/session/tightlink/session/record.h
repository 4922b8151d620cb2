/* The record of a run at its beginning and at its end: the same for a diagnosis, for a transfer
 * that was only watched, and for a kept run that is judged again. */
#ifndef TL_SESSION_RECORD_H
#define TL_SESSION_RECORD_H

#include "tightlink/session/session.h"

/* Into a run that is zero: its id, when it began (wall clock), this program's version, the kind of
 * its target, no goal. */
void tl_record_begin(struct tl_run *run, const char *kind, int64_t begin_ns);

/* What the rules say of the result's run and facts, which are derived first. Findings that it had
 * are destroyed; after a failure they stay. TL_NOMEM. */
enum tl_status tl_record_judge(const struct tl_rules *rules, struct tl_session_result *result,
                               struct tl_error *reterr) TL_WARN_UNUSED;

#endif

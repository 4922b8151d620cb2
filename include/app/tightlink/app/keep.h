/* A run that was measured goes into the history. */
#ifndef TL_APP_KEEP_H
#define TL_APP_KEEP_H

#include "tightlink/base/buf.h"
#include "tightlink/session/session.h"
#include "tightlink/store/compare.h"
#include "tightlink/store/history.h"

/* Whether a run measured anything that is worth keeping: findings, and something that answered. */
bool tl_app_is_worth_keeping(const struct tl_session_result *result);

/* Keeps a run with its readings. *ret_move: how its verdict stands to that of the run before; NULL
 * where nobody asks. What the history has to say is added to notices. Errors of
 * tl_history_add(). */
enum tl_status tl_app_keep(struct tl_history *history, const struct tl_session_result *result,
                           struct tl_verdict_move *ret_move, struct tl_buf *notices,
                           struct tl_error *reterr) TL_WARN_UNUSED;

#endif

/* Runs into the history. */
#include "tightlink/app/keep.h"

#include <stdio.h>
#include <string.h>

#include "tightlink/document/kept.h"

bool tl_app_is_worth_keeping(const struct tl_session_result *result)
{
    return result->findings && result->answered;
}

enum tl_status tl_app_keep(struct tl_history *history, const struct tl_session_result *result,
                           struct tl_verdict_move *ret_move, struct tl_buf *notices,
                           struct tl_error *reterr)
{
    struct tl_buf json = TL_BUF_INIT;
    char before[512];
    snprintf(before, sizeof before, "%s", tl_history_notice(history));
    enum tl_status status =
        tl_kept_write(&result->run, result->facts, result->findings, result->samples, false, &json);
    if (status == TL_OK)
        status = tl_history_add(history, json.data, json.len, reterr);
    if (strcmp(before, tl_history_notice(history)) != 0)
        tl_buf_addf(notices, "%s\n", tl_history_notice(history));
    if (status == TL_OK && ret_move)
        status = tl_history_move(history, result->run.id, ret_move, reterr);
    tl_buf_finish(&json);
    return status;
}

/* Bookkeeping that all stages share. */
#include "outcome.h"

#include <stdarg.h>
#include <stdio.h>

#include "tightlink/base/time.h"

void tl_outcome_begin(struct tl_probe_outcome *outcome, const char *id)
{
    *outcome = (struct tl_probe_outcome){.record.state = TL_STAGE_DONE};
    snprintf(outcome->record.id, sizeof outcome->record.id, "%s", id);
    outcome->record.duration_ns = -tl_now_ns();
}

void tl_outcome_end(struct tl_probe_outcome *outcome)
{
    outcome->record.duration_ns += tl_now_ns();
}

void tl_outcome_add(struct tl_probe_outcome *outcome, const struct tl_probe_outcome *turn)
{
    outcome->record.sent_bytes += turn->record.sent_bytes;
    outcome->record.received_bytes += turn->record.received_bytes;
    outcome->record.duration_ns += turn->record.duration_ns;
}

void tl_outcome_state(struct tl_probe_outcome *outcome, enum tl_stage_state state, const char *fmt,
                      ...)
{
    va_list args;
    va_start(args, fmt);
    outcome->record.state = state;
    vsnprintf(outcome->record.reason, sizeof outcome->record.reason, fmt, args);
    va_end(args);
}

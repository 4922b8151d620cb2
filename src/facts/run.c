/* The words of a run's states, as findings.schema.json spells them. */
#include "tightlink/facts/run.h"

const char *tl_quality_name(enum tl_quality quality)
{
    static const char *const names[] = {"valid", "degraded", "invalid", "aborted"};
    return names[quality];
}

const char *tl_stage_state_name(enum tl_stage_state state)
{
    static const char *const names[] = {"done", "limited", "skipped", "failed", "not-possible"};
    return names[state];
}

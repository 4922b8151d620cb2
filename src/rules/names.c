/* The words of findings.schema.json. */
#include "tightlink/rules/findings.h"

const char *tl_result_name(enum tl_result result)
{
    static const char *const names[] = {[TL_FOUND] = "found",
                                        [TL_RULED_OUT] = "ruled-out",
                                        [TL_CANNOT_TELL] = "cannot-tell",
                                        [TL_NOT_APPLICABLE] = "not-applicable"};
    return names[result];
}

const char *tl_severity_name(enum tl_severity severity)
{
    static const char *const names[] = {
        [TL_LIMITS] = "limits", [TL_CONTRIBUTES] = "contributes", [TL_NOTE] = "note"};
    return names[severity];
}

const char *tl_truth_name(enum tl_truth truth)
{
    static const char *const names[] = {
        [TL_FALSE] = "false", [TL_UNKNOWN_TRUTH] = "unknown", [TL_TRUE] = "true"};
    return names[truth];
}

const char *tl_verdict_state_name(enum tl_verdict_state state)
{
    static const char *const names[] = {[TL_LIMITED] = "limited",
                                        [TL_GOAL_MET] = "goal-met",
                                        [TL_INCONCLUSIVE] = "inconclusive",
                                        [TL_VERDICT_INVALID] = "invalid"};
    return names[state];
}

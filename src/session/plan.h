/* The plan: which stage to run next, or none. Pure, so that it can be tested and
 * shown: it reads facts and findings and touches nothing else.
 *
 *   stream, for each direction asked for
 *   then, as long as time and bytes last, the stages that measure what a rule still
 *   misses: window (a larger buffer), streams (does the rate grow with their number?),
 *   paced (does loss stay at a low rate?); window first where a buffer limits
 *   and none once the verdict is sure and its next rung is known. */
#ifndef TL_SESSION_PLAN_H
#define TL_SESSION_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/facts/facts.h"
#include "tightlink/rules/findings.h"

enum tl_plan_stage {
    TL_PLAN_STREAM,
    TL_PLAN_WINDOW,
    TL_PLAN_STREAMS,
    TL_PLAN_PACED,
    TL_PLAN_COUNT
};
const char *tl_plan_stage_id(enum tl_plan_stage stage); /* the stage of the facts' table */

struct tl_plan_state {
    bool download, upload;              /* asked for */
    bool done[TL_PLAN_COUNT][2];        /* per direction, whatever came of it */
    int64_t time_left_ns, bytes_left;   /* of the budgets */
    const struct tl_facts *facts;       /* with derived facts */
    const struct tl_findings *findings; /* NULL before the first judging */
};

struct tl_plan_step {
    enum tl_plan_stage stage;
    enum tl_direction direction;
    int64_t duration_ns; /* at most, warm-up included */
    int64_t bytes;       /* at most */
    char why[160];       /* a sentence for the record and the screen */
};

/* A path with this RTT wants that long a stream: warm-up and 20 round trips. */
int64_t tl_plan_stream_ns(double rtt_ns);

/* False when nothing more is worth running; *ret_step.why says why then. */
bool tl_plan_next(const struct tl_plan_state *state, struct tl_plan_step *ret_step);

#endif

/* The plan: which stage to run next, or none, and why. Pure, so that it can be tested and
 * shown: it reads facts, findings and budgets, and touches nothing else. The same state
 * gives the same choice.
 *
 *   first   what every judgement rests on: one stream in each direction asked for
 *   then    of the stages that could change what the run says, the one with the most
 *           worth for its time and bytes, until none is left or the budgets are spent
 *
 * Worth (0 to 1) is the largest of what a stage's missing facts could do:
 *
 *   overturn  an open cause (cannot tell yet, and nothing known speaks against it) could
 *             become the verdict: what the present verdict lacks in confidence (the share of
 *             such verdicts that was not right, counted.json), times the share of the cause's
 *             tests that already speak for it
 *   confirm   a test of the verdict's own cause is still unknown
 *   next      nobody knows what a fix would bring: the next rung of the ladder is missing,
 *             or the stream was held by a buffer that only a larger one can lift
 *   explain   every cause is ruled out, one of them for want of a fact
 *   note      a cause that limits nothing but is worth a line
 *
 * A stage worth less than TL_PLAN_WORTH_MIN is left out: a sure verdict whose next rung is
 * known ends the run early. */
#ifndef TL_SESSION_PLAN_H
#define TL_SESSION_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stages.h"
#include "tightlink/base/far.h"
#include "tightlink/facts/facts.h"
#include "tightlink/rules/findings.h"

/* A verdict of confidence 0.85 and an open cause for which two tests in three speak: 0.15 x 0.67.
 */
#define TL_PLAN_WORTH_MIN 0.1

struct tl_plan_state {
    bool download, upload;              /* asked for */
    bool done[TL_PLAN_COUNT][2];        /* per direction, whatever came of it */
    bool skipped[TL_PLAN_COUNT];        /* the user does not want it */
    bool forced[TL_PLAN_COUNT];         /* the user wants it whatever it is worth */
    bool only_forced;                   /* nothing else is run */
    unsigned have;                      /* TL_NEEDS_* that are there */
    enum tl_far_kind far;               /* the far end's kind: its row says what it can do */
    unsigned far_cannot;                /* TL_FAR_* of it that this one far end has not */
    int64_t time_left_ns, bytes_left;   /* of the budgets */
    int64_t open_ns;                    /* of time_left_ns, what only an unsure run spends */
    const struct tl_facts *facts;       /* with derived facts */
    const struct tl_findings *findings; /* NULL before the first judging */
};

struct tl_plan_step {
    enum tl_plan_stage stage;
    enum tl_direction direction;
    int64_t duration_ns; /* at most, warm-up included */
    int64_t bytes;       /* at most */
    double worth;
    char why[200]; /* a sentence for the record and the screen */
};

/* One stage in one direction as the plan sees it. */
struct tl_plan_weight {
    enum tl_plan_stage stage;
    enum tl_direction direction; /* meaningful where the stage has one */
    bool eligible;               /* may be run at all: not done, not skipped, nothing lacks */
    double worth;                /* above 1: first or forced */
    double cost;                 /* shares of the time and the bytes that are left, together */
    struct tl_stage_cost most;
    char why[200]; /* what it could change, or why it is left out */
};

#define TL_PLAN_WEIGHTS_MAX (2 * TL_PLAN_COUNT)

/* Every stage that is not done, in the table's order; returns how many. */
size_t tl_plan_weigh(const struct tl_plan_state *state,
                     struct tl_plan_weight ret_weights[TL_PLAN_WEIGHTS_MAX]);

/* False when nothing more is worth running; ret_step->why says why then. */
bool tl_plan_next(const struct tl_plan_state *state, struct tl_plan_step *ret_step);

#endif

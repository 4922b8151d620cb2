/* What a stage's missing facts could change in what the rules say. Pure. */
#ifndef TL_SESSION_WORTH_H
#define TL_SESSION_WORTH_H

#include "plan.h"

struct tl_worth {
    double value;   /* 0 to 1 */
    char what[160]; /* what could change, a half sentence; "" where nothing could */
};

/* state->findings is not NULL. */
void tl_worth_of(const struct tl_plan_state *state, enum tl_plan_stage stage,
                 enum tl_direction direction, struct tl_worth *ret_worth);

#endif

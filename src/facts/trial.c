/* Scoring what came against what was predicted. */
#include "tightlink/facts/trial.h"

#include <math.h>
#include <stdbool.h>

/* Comparisons with NAN are false: a range that is not stated holds nothing. */
enum tl_score tl_prediction_score(const struct tl_prediction *prediction, double measured_bps)
{
    double bps = prediction->bps, low = prediction->low_bps, high = prediction->high_bps;
    if (fabs(measured_bps - bps) <= TL_HIT_RATIO * bps)
        return TL_SCORE_HIT;
    if (isinf(high))
        return measured_bps > bps ? TL_SCORE_BOUND : TL_SCORE_MISS;
    bool inside = measured_bps >= low && measured_bps <= high;
    bool narrow = high - bps <= TL_RANGE_RATIO * bps && bps - low <= TL_RANGE_RATIO * bps;
    return !inside ? TL_SCORE_MISS : narrow ? TL_SCORE_INSIDE : TL_SCORE_BOUND;
}

const char *tl_score_name(enum tl_score score)
{
    static const char *const names[TL_SCORES] = {[TL_SCORE_MISS] = "miss",
                                                 [TL_SCORE_HIT] = "hit",
                                                 [TL_SCORE_INSIDE] = "inside",
                                                 [TL_SCORE_BOUND] = "bound"};
    return names[score];
}

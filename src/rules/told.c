/* How exact a rate is told: one number has one doubt, in every sentence, ladder, table and plot. */
#include <math.h>

#include "tightlink/rules/findings.h"

double tl_told_doubt(const struct tl_facts *facts, const struct tl_verdict *verdict,
                     enum tl_direction direction, double bps, double low_bps, double high_bps)
{
    double doubt;
    if (tl_told_measured(facts, direction, bps, &doubt))
        return doubt;
    doubt = (high_bps - low_bps) / 2;
    bool after_fix = verdict && direction == verdict->direction && bps == verdict->fixed_bps &&
                     bps != verdict->ceiling_bps;
    return after_fix ? fmax(doubt, TL_PREDICTION_DOUBT * bps) : doubt; /* fmax passes over NAN */
}

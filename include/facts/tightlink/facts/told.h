/* How exact a rate is told, as far as facts know it: one number is written with the same digits
 * wherever it stands (base/units.h, tl_format_bps_known). */
#ifndef TL_FACTS_TOLD_H
#define TL_FACTS_TOLD_H

#include "tightlink/facts/facts.h"

/* What a fix brings is known to a tenth, the score of a prediction (HIT): a half width of 5 %. */
#define TL_PREDICTION_DOUBT 0.05

/* Rates that people are told as measured, and that of a transfer which broke. */
#define TL_TOLD_RATES 6
extern const enum tl_fact_name tl_told_rates[TL_TOLD_RATES];

/* Whether the rate is one that was measured; *ret_doubt is half of what it may be off by then, 0
 * without bounds. */
bool tl_told_measured(const struct tl_facts *facts, enum tl_direction direction, double bps,
                      double *ret_doubt);

/* Half of what a rate that was promised or tried may be off by: as it was measured, else as a
 * prediction is known. */
double tl_told_prediction_doubt(const struct tl_facts *facts, enum tl_direction direction,
                                double bps);

#endif

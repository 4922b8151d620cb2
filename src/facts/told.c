/* Rates that are told as measured, and how exactly each is known. */
#include "tightlink/facts/told.h"

const enum tl_fact_name tl_told_rates[TL_TOLD_RATES] = {
    TL_FACT_FLOW_goodput_bps,         TL_FACT_FLOW_file_goodput_bps,
    TL_FACT_FLOW_streams_goodput_bps, TL_FACT_FLOW_window_goodput_bps,
    TL_FACT_FLOW_goodput_whole_bps,   TL_FACT_FLOW_both_goodput_bps};

bool tl_told_measured(const struct tl_facts *facts, enum tl_direction direction, double bps,
                      double *ret_doubt)
{
    for (size_t i = 0; i < TL_TOLD_RATES; i++) {
        struct tl_fact fact;
        tl_facts_get(facts, TL_KEY(tl_scope_of(direction), tl_told_rates[i]), &fact);
        if (fact.state != TL_FACT_KNOWN || fact.number != bps)
            continue;
        *ret_doubt = (fact.high - fact.low) / 2;
        return true;
    }
    return false;
}

double tl_told_prediction_doubt(const struct tl_facts *facts, enum tl_direction direction,
                                double bps)
{
    double doubt;
    return tl_told_measured(facts, direction, bps, &doubt) ? doubt : TL_PREDICTION_DOUBT * bps;
}

/* What the one stream says to the stages behind it. */
#include "one_stream.h"

#include "tightlink/engine/steady.h"
#include "tightlink/probes/probes.h"

/* Of its time: what the network did to it says little. */
#define HELD_RATIO 0.5

double tl_probe_known_bps(const struct tl_facts *facts, enum tl_direction direction)
{
    struct tl_fact rate;
    tl_facts_get(facts, TL_FLOW(direction, goodput_bps), &rate);
    bool known = rate.state == TL_FACT_KNOWN &&
                 rate.high - rate.number <= TL_STEADY_AGREES_WITHIN * rate.number;
    return known ? rate.number : 0;
}

double tl_one_stream_most_bps(const struct tl_facts *facts, enum tl_direction direction)
{
    struct tl_fact rate;
    tl_facts_get(facts, TL_FLOW(direction, goodput_bps), &rate);
    return rate.state == TL_FACT_KNOWN ? rate.high : 0;
}

double tl_probe_held_bps(const struct tl_facts *facts, enum tl_direction direction)
{
    double held = tl_facts_number(facts, TL_FLOW(direction, ledger_rwnd_ratio), 0) +
                  tl_facts_number(facts, TL_FLOW(direction, ledger_sndbuf_ratio), 0);
    return held >= HELD_RATIO ? tl_one_stream_most_bps(facts, direction) : 0;
}

/* Two moments of a path that changes by itself look like one connection against several, and a link
 * whose rate changes like one that others fill: a second look some seconds later tells them apart.
 */
#include "streams_again.h"

#include <math.h>

#include "tightlink/probes/probes.h"

/* Rates further apart are to be explained, where the link had a queue for that share of the time:
 * else windows and losses held the one, not the link. */
#define APART_RATIO    1.3
#define APART_STANDING 0.5
/* A link that one connection kept full the whole time has nothing left for several: from the
 * scatter between two tests on the link has changed, or others had the rest. */
#define FULL_RATIO    1.15
#define FULL_STANDING 0.8
/* What trains pass far faster than is a link that changes, or what others leave of one that does
 * not. Less is enough where its rate swings: others who come and go leave nearly all of it at
 * times. */
#define WIDER_RATIO          1.25 /* than the median */
#define WIDER_SWINGING_RATIO 1.1
#define SWING_RATIO          0.15 /* 90th less 10th percentile, of the median */
/* A link that was as fast at its best moments needs no others. */
#define BEST_RATIO 0.95

static double number(const struct tl_facts *facts, struct tl_fact_key key)
{
    return tl_facts_number(facts, key, (double)NAN);
}

static double swing_of(const struct tl_fact *rate)
{
    return (rate->high - rate->low) / rate->number;
}

static bool is_below_trains(const struct tl_facts *facts, enum tl_direction direction)
{
    struct tl_fact one, many;
    tl_facts_get(facts, TL_FLOW(direction, full_bps), &one);
    if (one.state != TL_FACT_KNOWN) /* it kept no queue, as beside others that come in bursts */
        tl_facts_get(facts, TL_FLOW(direction, piece_bps), &one);
    tl_facts_get(facts, TL_FLOW(direction, streams_full_bps), &many);
    if (one.state != TL_FACT_KNOWN || many.state != TL_FACT_KNOWN)
        return false;
    double trains_bps = number(facts, TL_FLOW(direction, trains_bps));
    bool swings = fmax(swing_of(&one), swing_of(&many)) >= SWING_RATIO;
    double wider_ratio = swings ? WIDER_SWINGING_RATIO : WIDER_RATIO;
    return trains_bps >= wider_ratio * fmax(one.number, many.number) &&
           trains_bps >= BEST_RATIO * fmax(one.high, many.high);
}

bool tl_streams_want_again(const struct tl_facts *facts, enum tl_direction direction)
{
    double one_bps = number(facts, TL_FLOW(direction, goodput_bps));
    double many_bps = number(facts, TL_FLOW(direction, streams_goodput_bps));
    double standing = number(facts, TL_FLOW(direction, queue_standing_ratio));
    if (is_below_trains(facts, direction))
        return true;
    if (tl_probe_held_bps(facts, direction) > 0) /* its own bursts queued, and the link idled */
        return false;
    bool apart = many_bps > APART_RATIO * one_bps || one_bps > APART_RATIO * many_bps;
    return (apart && standing >= APART_STANDING) ||
           (many_bps > FULL_RATIO * one_bps && standing >= FULL_STANDING);
}

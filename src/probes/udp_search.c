/* The search for the highest rate that passes. */
#include "udp_search.h"

#include <math.h>

void udp_search_begin(struct udp_search *search, double start_bps, double max_bps)
{
    *search = (struct udp_search){.start_bps = start_bps, .max_bps = max_bps, .high_bps = INFINITY};
}

double udp_search_next(const struct udp_search *search)
{
    if (search->low_bps <= 0 && isinf(search->high_bps))
        return search->start_bps;
    if (search->low_bps <= 0)
        return search->high_bps < UDP_SEARCH_LEAST_BPS ? 0 : UDP_SEARCH_DOWN * search->high_bps;
    if (isinf(search->high_bps))
        return search->low_bps >= search->max_bps ? 0 : fmin(2 * search->low_bps, search->max_bps);
    if (search->high_bps <= UDP_SEARCH_WIDTH * search->low_bps)
        return 0;
    return sqrt(search->low_bps * search->high_bps);
}

void udp_search_take(struct udp_search *search, double rate_bps, bool passed)
{
    if (passed) {
        search->next_bps = fmax(search->next_bps, fmin(search->low_bps, rate_bps));
        search->low_bps = fmax(search->low_bps, rate_bps);
        return;
    }
    if (rate_bps <= search->low_bps)
        search->low_bps = 0;
    if (rate_bps <= search->next_bps)
        search->next_bps = 0;
    search->high_bps = fmin(search->high_bps, rate_bps);
}

void udp_search_settle(struct udp_search *search)
{
    if (search->low_bps <= 0)
        search->low_bps = search->next_bps;
}

bool udp_search_has_knee(const struct udp_search *search)
{
    return search->low_bps > 0 && isfinite(search->high_bps);
}

/* What the files that read a series share. */
#ifndef TL_ENGINE_SERIES_PRIVATE_H
#define TL_ENGINE_SERIES_PRIVATE_H

#include "tightlink/engine/series.h"

/* The first point at or after a time; count when there is none. */
size_t series_at(const struct tl_series *series, double time_ns);
/* Delivery rate between two points; NAN when no time lies between. */
double series_bps(const struct tl_series_point *from, const struct tl_series_point *to);
/* Whether a round-trip time shows no queue: within 20 % of the smallest, or within what round trips
 * scatter by without load. */
bool series_is_flat(const struct tl_series *series, double rtt_ns);
/* The most that was delivered above a rate in one stretch before point `end`: the deepest a token
 * bucket of that rate can have been. */
double series_burst_before(const struct tl_series *series, size_t end, double rate_bps);

#endif

/* The rate that people see while a test runs: over the shortest stretch that is steady enough
 * to look at. Private to the engine. */
#ifndef TL_ENGINE_LIVE_RATE_H
#define TL_ENGINE_LIVE_RATE_H

#include <stdint.h>

#define LIVE_RATE_NS (400 * INT64_C(1000000))

struct live_rate {
    int64_t time_ns; /* of the last look, on the receiver's clock */
    uint64_t bytes;
    double bps; /* begins as NAN */
};

/* What the receiver has, and when it had that. */
static inline void live_rate_update(struct live_rate *rate, int64_t time_ns, uint64_t bytes)
{
    if (time_ns - rate->time_ns < LIVE_RATE_NS || bytes < rate->bytes)
        return;
    rate->bps = (double)(bytes - rate->bytes) * 8e9 / (double)(time_ns - rate->time_ns);
    rate->bytes = bytes;
    rate->time_ns = time_ns;
}

#endif

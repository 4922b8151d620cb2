/* One-way delays between two clocks that are neither set nor running alike: jitter, skew,
 * queueing delay. Pure. The sources are named in tightlink/engine/udp.h. */
#ifndef TL_ENGINE_UDP_DELAY_H
#define TL_ENGINE_UDP_DELAY_H

#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/random.h"
#include "tightlink/base/status.h"
#include "tightlink/engine/udp.h"
#include "udp_track.h"

#define UDP_DELAY_BINS   2048                /* pieces of the test, each with its smallest delay */
#define UDP_SKEW_MIN_NS  INT64_C(1000000000) /* shorter tests: 100 ppm are below 0.1 ms */
#define UDP_SKEW_MAX_PPM 500.0

struct udp_delays {
    struct udp_point *points; /* a uniform sample (Vitter 1985, algorithm R), in no order */
    uint32_t count;
    uint64_t seen;
    struct tl_random rng;
    struct udp_point *bins; /* by departure, the smallest; delay INT64_MAX: none */
    struct udp_point *tops; /* the largest */
    int64_t bin_ns;
    int64_t last_ns; /* delay of the one before, for the jitter */
    double jitter_ns;
};

/* duration_ns: of the departures, for the width of the bins. */
enum tl_status udp_delays_init(struct udp_delays *ret_delays, int64_t duration_ns) TL_WARN_UNUSED;
void udp_delays_finish(struct udp_delays *delays);

void udp_delays_add(struct udp_delays *delays, struct udp_point point);

/* The line below all points: delay_ns = base_ns + slope * sent_ns. */
struct udp_base {
    double base_ns;
    double slope; /* receiver's clock against the sender's, less 1 */
    bool skew_known;
};

/* Fits the line through the lower convex hull of the bins (see udp.h); slope 0 where it
 * cannot be told from a queue that grows. points are in the order of departure, those with
 * delay INT64_MAX are left out. */
void udp_base_fit(const struct udp_point *points, size_t count, struct udp_base *ret_base);

/* Over the line, never below 0. */
double udp_queueing_ns(const struct udp_base *base, struct udp_point point);

/* Quantiles and what was before the losses. losses may be empty. */
void udp_delays_analyse(const struct udp_delays *delays, const struct udp_base *base,
                        const struct udp_point *losses, size_t loss_count,
                        struct tl_udp_delay *ret_delay);

#endif

/* What UDP probes beside a load say: round trips under load, and in which direction they grew.
 *
 * Pure functions over the probes of one train, which must have begun before the load. One-way
 * delays are differences of two clocks that nobody compared: only their growth within the train
 * means anything, median under load less the smallest of all. Clocks drift by some 50 ppm: 0.5 ms
 * in ten seconds. A train in which the far clock was stepped gives NAN. */
#ifndef TL_ENGINE_ECHO_LOAD_H
#define TL_ENGINE_ECHO_LOAD_H

#include <stdint.h>

#include "tightlink/engine/client.h"

/* Fewer answers within the window make no statement. */
#define TL_ECHO_LOAD_ANSWERS_MIN 5

/* NAN = cannot be told. */
struct tl_echo_load {
    double rtt_median_ns;
    double rtt_mean_ns;        /* without the longest twentieth: the draft's trimmed mean */
    double forward_growth_ns;  /* near to far */
    double backward_growth_ns; /* far to near */
    double forward_p75_ns,
        backward_p75_ns; /* the 75th percentile's growth instead of the median's */
};

/* from_ns and to_ns on the clock of tl_now_ns(). */
void tl_echo_load(const struct tl_echo_result *echo, int64_t from_ns, int64_t to_ns,
                  struct tl_echo_load *ret_load);

/* Round trips a minute (draft-ietf-ippm-responsiveness, section 4.3). */
double tl_rpm(double rtt_ns);

#endif

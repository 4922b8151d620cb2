/* What this host alone can do, without a network: one TCP stream over loopback, copying in
 * memory, waking up in time. Rungs of the ladder that no path can change.
 *
 * A transfer over a network leaves one end's work to another host. Loopback does both ends'
 * work here, side by side where there are two cores, so that what it carries is a floor for
 * what either end's processor can do: the rung says "at least". */
#ifndef TL_ENGINE_CALIBRATE_H
#define TL_ENGINE_CALIBRATE_H

#include <stdint.h>

#include "tightlink/base/status.h"

/* A stream over loopback has its rate within two hundredths of a second; the rung that it makes is
 * known to a factor of two anyway (rules/host/cpu.json). The later two thirds count, up to ten
 * times where nothing moves in them. */
#define TL_CALIBRATE_TCP_NS    (60 * INT64_C(1000000))
#define TL_CALIBRATE_MEMORY_NS (10 * INT64_C(1000000))
#define TL_CALIBRATE_TIMER_NS  (50 * INT64_C(1000000))
#define TL_CALIBRATE_NS        (150 * INT64_C(1000000)) /* all of it, about */

/* NAN where it could not be measured. */
struct tl_calibration {
    double tcp_bps;              /* payload that one stream moved; the receiver copied it */
    double tcp_cpu_ns_per_byte;  /* processor time of both its ends, kernel included */
    double memory_copy_bps;      /* bits copied from one place of memory to another */
    double timer_late_median_ns; /* a sleep of 1 ms ended that much late */
    double timer_late_max_ns;
};

/* Takes about TL_CALIBRATE_NS and up to two cores; cancel_fd (-1 = none) readable ends it
 * between its parts. TL_CANCELLED; TL_OK also where parts are NAN. Any thread; one at a time
 * in a process, or they measure each other. */
enum tl_status tl_calibrate(int cancel_fd, struct tl_calibration *ret_calibration) TL_WARN_UNUSED;

#endif

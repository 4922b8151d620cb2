/* One core's line of /proc/stat (Documentation/filesystems/proc.rst, 1.7). */
#ifndef TL_HOST_STAT_H
#define TL_HOST_STAT_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/status.h"

#define TL_STAT_ALL_CORES (-1)

/* Ticks of 1/USER_HZ (10 ms) since boot. guest time is inside user time and not counted
 * twice. total is user, nice, system, idle, iowait, irq, softirq and steal. */
struct tl_stat_core {
    uint64_t total, idle, softirq, steal; /* idle with iowait, softirq with irq */
};

/* "cpu3 …" or "cpu  …" (TL_STAT_ALL_CORES). False when the line is none of these or has
 * less than the eight columns that every kernel since 2.6.11 has. */
bool tl_stat_parse_line(const char *line, int *ret_number,
                        struct tl_stat_core *ret_core) TL_WARN_UNUSED;

#endif

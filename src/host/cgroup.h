/* The control group that limits this process's processor time, in version 1 and 2. */
#ifndef TL_HOST_CGROUP_H
#define TL_HOST_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "proc.h"
#include "tightlink/host/value.h"

/* Groups are nested; each level may have a quota, and the smallest one rules. Levels
 * above the mount point (outside a container) cannot be seen. */
struct tl_cgroup_cpu {
    struct tl_host_value quota;        /* cores' worth of time; NOT_SET without a limit */
    char stat_path[TL_PROC_PATH_SIZE]; /* cpu.stat of the ruling level, else of the own group;
                                          "" when there is none */
};

/* What cpu.stat tells (Documentation/admin-guide/cgroup-v2.rst, "CPU";
 * Documentation/scheduler/sched-bwc.rst for version 1). throttled_ns adds up the time of
 * every core that was stopped, so it may grow faster than the clock. */
struct tl_cgroup_stat {
    enum tl_host_why why;
    uint64_t periods_count, throttled_count, throttled_ns;
};

/* Finds the group of the calling process. */
void tl_cgroup_cpu_find(const char *root, struct tl_cgroup_cpu *ret_group);

void tl_cgroup_stat_read(const char *root, const char *stat_path, struct tl_cgroup_stat *ret_stat);

#endif

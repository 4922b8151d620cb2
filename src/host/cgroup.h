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

/* The smallest memory limit above this process in bytes, NOT_SET without one. Memory of
 * sockets counts against it. */
struct tl_host_value tl_cgroup_memory_limit(const char *root);

/* Calls level for the group of the calling process and each one above it, in version 1 (the
 * hierarchy with the controller) and then in version 2. dir is the group's directory, to be read
 * behind root. KNOWN, or why the groups could not be found. */
typedef void tl_cgroup_level_fn(void *context, int version, const char *dir);
enum tl_host_why tl_cgroup_each_level(const char *root, const char *controller,
                                      tl_cgroup_level_fn *level, void *context) TL_WARN_UNUSED;

void tl_cgroup_stat_read(const char *root, const char *stat_path, struct tl_cgroup_stat *ret_stat);

#endif

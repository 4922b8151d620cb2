/* CPU shares and disk rates of the two hosts: one cgroup each, where one was asked for.
 *
 * CPU shares in version 1 and 2, disk rates in version 1. A group is made below the caller's own,
 * or on version 2 in the nearest ancestor that hands the cpu controller to its children; nothing
 * that exists is changed. Whoever of the lab's processes survives removes it. */
#ifndef TL_LAB_CGROUP_H
#define TL_LAB_CGROUP_H

#include <sys/types.h>

#include "disk.h"
#include "tightlink/base/status.h"
#include "tightlink/lab/config.h"

#define TL_LAB_CGROUP_PATH 512

enum tl_lab_controller { TL_LAB_CPU, TL_LAB_BLKIO, TL_LAB_CONTROLLER_COUNT };

/* The groups of one controller. Plain data. A text is "" where there is no such group. */
struct tl_lab_cgroup_set {
    char path[TL_LAB_HOST_COUNT][TL_LAB_CGROUP_PATH]; /* directories made */
    char home[TL_LAB_CGROUP_PATH];                    /* where the caller was before */
};

/* Plain data, lies in shared memory. */
struct tl_lab_cgroups {
    struct tl_lab_cgroup_set sets[TL_LAB_CONTROLLER_COUNT];
    pid_t caller;
};

/* Makes what the configuration asks for, for a lab of this caller; disks have been made. On
 * failure nothing is left. TL_DENIED names what is missing. */
enum tl_status tl_lab_cgroups_make(struct tl_lab_cgroups *cgroups,
                                   const struct tl_lab_config *config,
                                   const struct tl_lab_disks *disks, pid_t caller,
                                   struct tl_error *reterr) TL_WARN_UNUSED;

/* Puts the calling process under a host's limits; TL_OK at once without any. */
enum tl_status tl_lab_cgroups_join(const struct tl_lab_cgroups *cgroups, enum tl_lab_host host,
                                   struct tl_error *reterr) TL_WARN_UNUSED;

/* Takes all in the near group back home, ends all in the far group, removes the
 * groups. Any process of the lab may call it, any number of times. */
void tl_lab_cgroups_remove(const struct tl_lab_cgroups *cgroups);

/* Takes the caller alone back home. */
enum tl_status tl_lab_cgroups_leave(const struct tl_lab_cgroups *cgroups,
                                    struct tl_error *reterr) TL_WARN_UNUSED;

#endif

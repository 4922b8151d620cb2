/* Processes that the guard started for the caller in a host of the path. */
#ifndef TL_LAB_CHILDREN_H
#define TL_LAB_CHILDREN_H

#include <stdbool.h>
#include <sys/types.h>

#include "cgroup.h"
#include "channel.h"
#include "ns.h"
#include "tightlink/base/status.h"

/* A lab is one measurement: a responder, a few traffic generators. */
#define TL_LAB_CHILDREN_MAX 64

struct tl_lab_children {
    struct tl_lab_child {
        pid_t pid; /* 0: a free place */
        bool exited;
        int wstatus;
    } all[TL_LAB_CHILDREN_MAX];
};

/* Starts request's command line on a host; stream_fds as sent along with it. */
enum tl_status
tl_lab_children_spawn(struct tl_lab_children *children, const struct tl_lab_request *request,
                      const int stream_fds[TL_LAB_CHANNEL_FDS], const struct tl_lab_ns *ns,
                      const struct tl_lab_cgroups *cgroups, const struct tl_lab_disks *disks,
                      pid_t *ret_pid, struct tl_error *reterr) TL_WARN_UNUSED;

/* Takes the exit of pid, if it is one of ours. */
void tl_lab_children_exited(struct tl_lab_children *children, pid_t pid, int wstatus);

/* The exit status, once: TL_TIMEOUT while it runs, TL_UNKNOWN when not ours. */
enum tl_status tl_lab_children_reap(struct tl_lab_children *children, pid_t pid, int *ret_wstatus,
                                    struct tl_error *reterr) TL_WARN_UNUSED;

/* Signals one of ours that still runs, and its process group. */
enum tl_status tl_lab_children_signal(const struct tl_lab_children *children, pid_t pid,
                                      int signal_number, struct tl_error *reterr) TL_WARN_UNUSED;

/* Ends and waits for all. */
void tl_lab_children_end(struct tl_lab_children *children);

#endif

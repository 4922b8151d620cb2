/* What the files of app/mover share.
 *
 *   mover.c        readings, and what they sum up to
 *   mover_child.c  the command itself: start, signals, its end
 *   mover_judge.c  facts and findings of the connection that moved most */
#ifndef TL_APP_MOVER_PRIVATE_H
#define TL_APP_MOVER_PRIVATE_H

#include <sys/types.h>

#include "tightlink/app/mover.h"
#include "tightlink/flow/tree.h"
#include "tightlink/flow/watch.h"
#include "tightlink/probes/mover.h"

/* Less is a login or a list of names: no transfer to judge. */
#define MOVER_LEAST_BYTES 65536

struct mover_child {
    pid_t pid;
    bool ended;
    int status; /* of waitpid() */
    int64_t start_ns, end_ns;
    char program[64];
};

/* What is kept of the connection that moved most, as it stood at its end. */
struct mover_best {
    uint64_t cookie;
    double bytes; /* 0: none yet */
    enum tl_direction direction;
    struct tl_run run;
    struct tl_facts *facts;
};

struct tl_app_mover {
    struct mover_child child;
    const struct tl_rules *rules;
    struct tl_flow_tree *tree;
    struct tl_flow_watch *watch;
    struct tl_mover_watch *readings;
    struct mover_best best;
    int64_t step_ns;                   /* to the next reading */
    int64_t read_all_ns, all_every_ns; /* those that look for new connections */
    int64_t looked_ns, closed_ns, moved_ns, last_moved_ns;
    uint64_t moving_bytes;               /* counters of all that are there, at the last reading */
    uint64_t seen_bytes;                 /* what all readings together saw moving */
    uint64_t sent_bytes, received_bytes; /* of all intervals that are closed */
    size_t connections_count, ended_count;
    bool marked, settled;
    bool hidden; /* in any look */
};

/* mover_child.c */
enum tl_status mover_child_start(const struct tl_app_mover_what *what, struct mover_child *child,
                                 bool *ret_missing, struct tl_error *reterr) TL_WARN_UNUSED;
/* Takes the ends of all children. */
void mover_child_reap(struct mover_child *child, int64_t now_ns);

/* mover_judge.c: what was read since the last interval becomes one, and what has ended is kept
 * where nothing before it moved more. */
enum tl_status mover_close_interval(struct tl_app_mover *mover, int64_t now_ns,
                                    struct tl_error *reterr) TL_WARN_UNUSED;

#endif

/* The processes of one command: which there are, which sockets they hold, what holds them up.
 *
 * Looked at again and again from outside, as any user may look at his own processes (proc(5)).
 * What began and ended between two looks is not seen. Changes nothing. One thread at a time. */
#ifndef TL_FLOW_TREE_H
#define TL_FLOW_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Processes, sockets and files of one command that are followed; the others are left out. */
#define TL_FLOW_TREE_PROCESSES_MAX 64
#define TL_FLOW_TREE_SOCKETS_MAX   4096
#define TL_FLOW_TREE_FILES_MAX     4096

struct tl_flow_tree;

/* Follows the descendants of a process, not itself. NULL: out of memory. root: put before each
 * path, "" for this machine. */
struct tl_flow_tree *tl_flow_tree_create(const char *root, pid_t ancestor);
void tl_flow_tree_destroy(struct tl_flow_tree *tree); /* takes NULL */

void tl_flow_tree_look(struct tl_flow_tree *tree);

/* Whether one of them holds that socket, or held it in an earlier look. */
bool tl_flow_tree_holds(const struct tl_flow_tree *tree, uint64_t inode);

/* Whether one of that name was ever met: the kernel's short name. */
bool tl_flow_tree_has(const struct tl_flow_tree *tree, const char *name);

/* Forgets what was counted so far: what tl_flow_tree_sum() tells begins now. */
void tl_flow_tree_mark(struct tl_flow_tree *tree, int64_t now_ns);

/* Since the mark, also of those that are gone. Names are the kernel's short names, printable ASCII;
 * "" without. */
struct tl_flow_tree_sum {
    size_t processes_count;  /* that are there now */
    bool hidden;             /* some belong to another user: their sockets are not seen */
    char busiest[64];        /* the process of the thread that had least time to spare */
    double thread_cpu_ratio; /* that one's share of a core; NAN before a second look */
    double cpu_wait_ratio;   /* share of time in which it was ready and got none; NAN: not told */
    double stopped_ratio;    /* share of time a processor quota stopped their group; NAN: none */
    char waiting[64];        /* the process that waited for a disk most */
    double disk_wait_ratio;  /* share of all looks in which it did, none of its threads running */
    double sleep_ratio;      /* share of all looks in which one of them let time pass by itself */
    size_t files_count;      /* regular files that were met, those of the system left out */
};
/* until_ns: what the processor's shares are taken of, from the mark on. */
void tl_flow_tree_sum(const struct tl_flow_tree *tree, int64_t until_ns,
                      struct tl_flow_tree_sum *ret_sum);

#endif

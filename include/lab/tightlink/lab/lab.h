/* A path of several hosts on one machine, held in network namespaces without
 * names, so that nothing of it outlives its processes.
 *
 *     c --- r1 ===== emulator ===== r2 --- s        (plain: c --- s)
 *
 * Processes: the caller; a guard (its child, single-threaded: builds the path,
 * starts processes in it, ends everything when the caller ends); an emulator
 * (the guard's child: one thread a direction of each emulated link; ends everything
 * when the guard ends); a proxy, where one was asked for; and what tl_lab_spawn
 * started. After SIGKILL of any one of them the
 * others remove every process, namespace, device and CPU cgroup. The caller
 * itself gets no thread, no signal handler and no setting, with one exception:
 * without CAP_SYS_ADMIN and CAP_NET_ADMIN it moves into a user namespace of its
 * own, in which it is root, for the rest of its life.
 *
 * Threads: one thread at a time calls functions on a lab; counters, mark,
 * address and pids may be called by any. */
#ifndef TL_LAB_LAB_H
#define TL_LAB_LAB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tightlink/base/status.h"
#include "tightlink/lab/config.h"

struct tl_lab;

/* Whether a lab could be made here, tried in a short-lived child; the caller
 * stays as it is. TL_DENIED with a sentence: what is missing, why it is needed,
 * what to do. TL_OK also tells by *ret_carrier (may be NULL) what would carry. */
enum tl_status tl_lab_probe(enum tl_lab_carrier *ret_carrier,
                            struct tl_error *reterr) TL_WARN_UNUSED;

/* Builds the path and returns once packets can cross it. The caller must be
 * single-threaded (TL_UNSUPPORTED otherwise). TL_DENIED names the permission
 * that is missing. *ret_lab is the caller's, for tl_lab_destroy. */
enum tl_status tl_lab_create(const struct tl_lab_config *config, struct tl_lab **ret_lab,
                             struct tl_error *reterr) TL_WARN_UNUSED;

/* Ends every process of the lab, takes the calling thread out of c and out of
 * the CPU cgroup, and returns when all is gone (some ms). NULL is fine. In a
 * user namespace the thread cannot return to its first network namespace and
 * stays in c, which then has no link. */
void tl_lab_destroy(struct tl_lab *lab);

/* Moves the calling thread, and the threads it will start, to host c; puts the
 * whole process under c's CPU share if there is one. With near.unprivileged the
 * process gives up its capabilities, and root becomes nobody, for the rest of its
 * life: it cannot leave again, tl_lab_destroy still ends the lab. /sys/class/net goes on to
 * show the first namespace: ask netlink instead. */
enum tl_status tl_lab_enter_near(struct tl_lab *lab, struct tl_error *reterr) TL_WARN_UNUSED;

/* Back from c and from its CPU share; the lab goes on. TL_DENIED in a user namespace. */
enum tl_status tl_lab_leave_near(struct tl_lab *lab, struct tl_error *reterr) TL_WARN_UNUSED;

/* Standard streams of a spawned process: descriptors of the caller, which it
 * keeps and may close after the call; -1 is /dev/null. */
struct tl_lab_stdio {
    int in, out, err;
};

/* Starts argv[0] (a path, or a name looked up in PATH) on a host, in a session
 * of its own. It is the guard's child, not the caller's; it dies with the lab.
 * stdio may be NULL (all /dev/null). TL_IO when it could not be executed. */
enum tl_status tl_lab_spawn(struct tl_lab *lab, enum tl_lab_host host, const char *const argv[],
                            const struct tl_lab_stdio *stdio, pid_t *ret_pid,
                            struct tl_error *reterr) TL_WARN_UNUSED;

/* The same on a router, 1 for r1: no disk, no share of a processor of its own. TL_RANGE when the
 * path has no such router. */
enum tl_status tl_lab_spawn_router(struct tl_lab *lab, int router, const char *const argv[],
                                   const struct tl_lab_stdio *stdio, pid_t *ret_pid,
                                   struct tl_error *reterr) TL_WARN_UNUSED;

/* The address that a router answers probes from the near host as, in one family (TL_LAB_IPV4 or
 * TL_LAB_IPV6). False when the path has no such router or family. */
#define TL_LAB_ROUTER_ADDRESS_SIZE 24
bool tl_lab_router_address(const struct tl_lab *lab, int router, enum tl_lab_family family,
                           char ret_text[TL_LAB_ROUTER_ADDRESS_SIZE]);

/* Waits for a spawned process; *ret_wstatus as of waitpid. TL_TIMEOUT when it
 * still runs after timeout_ns (0: just looks), TL_UNKNOWN when it is not ours
 * or was waited for already. */
enum tl_status tl_lab_wait(struct tl_lab *lab, pid_t pid, int64_t timeout_ns, int *ret_wstatus,
                           struct tl_error *reterr) TL_WARN_UNUSED;

/* Signals a spawned process and its process group. TL_UNKNOWN when it is not running. */
enum tl_status tl_lab_kill(struct tl_lab *lab, pid_t pid, int signal_number,
                           struct tl_error *reterr) TL_WARN_UNUSED;

/* The directory on a host's disk: near's for the caller, far's for a process that was spawned
 * there. NULL when the host has none. Lives as long as the lab. */
const char *tl_lab_disk_directory(struct tl_lab *lab, enum tl_lab_host host);

/* Address text of a host in one family (TL_LAB_IPV4 or TL_LAB_IPV6); NULL when
 * it has none. Lives as long as the lab. */
const char *tl_lab_address(const struct tl_lab *lab, enum tl_lab_host host,
                           enum tl_lab_family family);

/* The far end's address to dial: IPv4 if the lab has it, else IPv6. */
const char *tl_lab_far_address(const struct tl_lab *lab);

/* Starts the clock of the outage windows anew; it first starts with the lab. */
void tl_lab_mark(struct tl_lab *lab);

/* TL_OK while guard and emulator live, else TL_CLOSED with the one that ended. */
enum tl_status tl_lab_alive(const struct tl_lab *lab, struct tl_error *reterr) TL_WARN_UNUSED;

/* What carries packets: TUN or PACKET; AUTO on a plain path (nothing does). */
enum tl_lab_carrier tl_lab_carrier(const struct tl_lab *lab);

/* Guard and emulator, for tests. */
struct tl_lab_pids {
    pid_t guard;
    pid_t emulator;
};
struct tl_lab_pids tl_lab_pids(const struct tl_lab *lab);

/* Running totals of one direction of the main link since the lab was made. Each number is exact,
 * the set is not one instant. */
struct tl_lab_counters {
    uint64_t in_packets, in_bytes;   /* arrived at the link, IP bytes */
    uint64_t out_packets, out_bytes; /* left the link, duplicates included */
    uint64_t drops[TL_LAB_DROP_COUNT];
    uint64_t duplicated, reordered, corrupted;
    uint64_t marked;           /* congestion experienced, by the queue's management */
    uint64_t queue_peak_bytes; /* largest queue seen, service included */
    /* Delay error: when a packet left, against when it should have left. */
    uint64_t delay_samples;
    int64_t delay_error_p50_ns, delay_error_p99_ns, delay_error_max_ns;
};
void tl_lab_counters(const struct tl_lab *lab, enum tl_lab_direction direction,
                     struct tl_lab_counters *ret_counters);

/* The emulator is a program like others. Where they held it up - one packet in a hundred left more
 * than TL_LAB_LATE_NS late, or packets were dropped because it could not keep up - the path was not
 * what it is called: true and a sentence part, of both directions' counters. Pure, any thread. */
#define TL_LAB_LATE_NS      INT64_C(2000000) /* a tenth of a scenario's shortest round trip */
#define TL_LAB_HELD_UP_SIZE 192
bool tl_lab_held_up(const struct tl_lab_counters counters[TL_LAB_DIRECTION_COUNT],
                    char ret_reason[TL_LAB_HELD_UP_SIZE]);

#endif

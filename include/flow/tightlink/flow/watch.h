/* Watching this machine's connections: the kernel is read several times an interval, each
 * connection gets its interval (flow/live.h) and the program that holds it is looked at.
 *
 * Sends nothing and changes nothing. Needs no privilege; an ordinary user sees every connection,
 * but names, processor time and files only of his own programs. One thread at a time; the caller
 * waits between readings. */
#ifndef TL_FLOW_WATCH_H
#define TL_FLOW_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tightlink/base/status.h"
#include "tightlink/flow/live.h"
#include "tightlink/host/process.h"

/* A reading costs some 2 us a connection: four a second of 1,000 are below 1 % of a core, and catch
 * a queue that stands for a quarter of a second. */
#define TL_FLOW_WATCH_READINGS_PER_INTERVAL 4

/* Addresses that one name stands for. */
#define TL_FLOW_WATCH_REMOTES_MAX 16

/* Which connections: all that are set must fit. */
struct tl_flow_watch_filter {
    pid_t pid;        /* that holds it, or whose descendant does; 0: any */
    uint16_t port;    /* at either end; 0: any */
    bool pid_or_port; /* one of the two fits */
    unsigned char remotes[TL_FLOW_WATCH_REMOTES_MAX][16]; /* one of them; IPv4 mapped into IPv6 */
    size_t remote_count;                                  /* 0: any */
    bool loopback; /* also those that do not leave this machine */
    /* Whether a socket is wanted, by its inode; NULL: all. With it also those that stay here. */
    bool (*holds)(uint64_t inode, void *context);
    void *context; /* of holds, borrowed */
};

/* The program behind a connection, in the last interval. */
struct tl_flow_watch_program {
    struct tl_host_process process; /* known: false where it may not be read */
    double cpu_ratio;               /* cores' worth of all threads; NAN before the second reading */
    double busiest_thread_ratio;    /* of one core; NAN */
    double disk_read_bps, disk_write_bps; /* bits a second that reached storage; NAN */
    /* The file whose position moved most, "" where none did. */
    char file[256];
    bool file_written;
    double file_bps; /* bits a second by which its position moved */
};

struct tl_flow_watch;

/* Looks once, so that what runs already is told from what begins. TL_NOMEM; TL_IO with the
 * reason where the kernel does not tell its connections. */
enum tl_status tl_flow_watch_create(const struct tl_flow_watch_filter *filter, int64_t now_ns,
                                    struct tl_flow_watch **ret_watch,
                                    struct tl_error *reterr) TL_WARN_UNUSED;
void tl_flow_watch_destroy(struct tl_flow_watch *watch); /* takes NULL */

/* One reading. TL_IO where the kernel does not answer any more. */
enum tl_status tl_flow_watch_read(struct tl_flow_watch *watch, int64_t now_ns,
                                  struct tl_error *reterr) TL_WARN_UNUSED;
/* Between two readings: those of the last one that still move data, each by itself (some 10 us a
 * connection), without what has begun since. For a caller that reads a few of them often. */
void tl_flow_watch_read_known(struct tl_flow_watch *watch, int64_t now_ns);
/* Closes the interval; looks at the programs of those that moved a byte or had to. */
void tl_flow_watch_close(struct tl_flow_watch *watch, int64_t now_ns, struct tl_live_sum *ret_sum);

/* The connections; borrowed. */
const struct tl_live *tl_flow_watch_live(const struct tl_flow_watch *watch);
/* NULL where nothing is known of the program. Good until the next closing. */
const struct tl_flow_watch_program *tl_flow_watch_program(const struct tl_flow_watch *watch,
                                                          const struct tl_live_flow *flow);
/* Whether short connections are in the sums; else why not, a half sentence. */
bool tl_flow_watch_sees_ends(const struct tl_flow_watch *watch, const char **ret_why);

#endif

/* The user's own program moves data: what its connections show between one reading and the next,
 * and the facts of stage "mover".
 *
 * TCP's chronometers call a sender busy while anything is on the way (flow/live.h). A program that
 * keeps a window of its own (ssh's channels, sftp's requests, HTTP/2) has something on the way all
 * the time and yet holds the connection back. What gives it away: all that it wrote is on the way
 * although buffers and windows have room, the amount is the same each time, and within each round
 * trip nothing moves for a while. So the connections are read every few milliseconds.
 *
 * Pure: readings come from the caller. One thread at a time. */
#ifndef TL_PROBES_MOVER_H
#define TL_PROBES_MOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/status.h"
#include "tightlink/facts/facts.h"
#include "tightlink/flow/tree.h"
#include "tightlink/host/sockets.h"

/* Connections whose readings are kept; the others count in the sums of the caller only. */
#define TL_MOVER_CONNECTIONS_MAX 32

struct tl_mover_watch;

struct tl_mover_watch *tl_mover_watch_create(void);        /* NULL: out of memory */
void tl_mover_watch_destroy(struct tl_mover_watch *watch); /* takes NULL */

/* One reading of one connection of the command. */
void tl_mover_watch_take(struct tl_mover_watch *watch, const struct tl_host_socket *socket,
                         int64_t now_ns);

/* When the connection had got up to its rate: from there on it is looked at; 0 before. */
int64_t tl_mover_watch_settled_ns(const struct tl_mover_watch *watch, uint64_t cookie);

/* Facts of stage "mover" for the connection and the processes beside it, and what rules know of a
 * running transfer (stage "path", running_*). rtt_ns: the way without queues, NAN where it is not
 * known. */
void tl_mover_facts(const struct tl_mover_watch *watch, uint64_t cookie,
                    const struct tl_flow_tree_sum *processes, enum tl_direction direction,
                    double rtt_ns, struct tl_facts *facts);

/* What the command did as a whole. Texts are printable, borrowed. */
struct tl_mover_command {
    const char *program;      /* the name of the command, without its path and arguments */
    double bytes;             /* payload in the direction, of all its connections */
    double time_ns;           /* from its first byte to its last one */
    double connections_count; /* that moved something in the same interval, at most */
    bool keeps_ssh_window;    /* an OpenSSH client is among its processes */
};
void tl_mover_command_facts(const struct tl_mover_command *command, enum tl_direction direction,
                            struct tl_facts *facts);

/* What a test of the same path gave, as facts beside the mover's: rates from memory to memory in
 * this direction, the far end's settings, this end's disk. */
void tl_mover_add_measured(struct tl_facts *facts, enum tl_direction direction,
                           const struct tl_facts *measured);

#endif

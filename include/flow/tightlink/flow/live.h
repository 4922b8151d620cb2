/* Transfers that other programs run now, followed by the kernel's own records of them.
 *
 * A table of connections that readings go into; an interval is closed from time to time, and each
 * connection then has one more record of what it moved and waited for. Pure: no clock and no kernel
 * in here, so that recorded readings give the same answer. Where one end alone cannot tell (who
 * holds up what arrives here), the number is NAN and stays so.
 *
 *   reading: begin, take each socket, end     several times an interval
 *   ends:    take_end for each that is told   those too short for a reading are in the sum
 *   close                                     one interval
 *
 * One thread at a time. */
#ifndef TL_FLOW_LIVE_H
#define TL_FLOW_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/status.h"
#include "tightlink/host/sockets.h"

/* Connections that are followed at once; a machine with more has the others only in the sum. */
#define TL_LIVE_FLOWS_MAX 65536
/* Intervals that are kept of each: two minutes at one a second. */
#define TL_LIVE_INTERVALS 120
/* Closings for which a connection that moved something is kept after its end. */
#define TL_LIVE_KEEP_ENDED 30

/* What a sending connection waited for (from tcpi_busy_time and its parts: busy *includes* the
 * other two, so network = busy - rwnd - sndbuf and application = elapsed - busy). */
enum tl_live_part {
    TL_LIVE_APP,
    TL_LIVE_SNDBUF,
    TL_LIVE_RWND,
    TL_LIVE_NETWORK,
    TL_LIVE_PARTS,
};

/* What one connection did in one interval. Means and shares are over the readings in it. */
struct tl_live_interval {
    int64_t end_ns, span_ns; /* span 0: nothing was read */
    uint32_t readings_count;
    uint64_t sent_bytes, received_bytes; /* payload, acknowledged and arrived */
    double parts_ratio[TL_LIVE_PARTS];   /* sum 1; NAN where it sent nothing; APP and NETWORK also
                                            where the kernel hides whether SO_SNDBUF was full */
    double rtt_mean_ns, rtt_max_ns;      /* of what it sent; NAN without */
    double
        rtt_low_ns; /* the smallest of the kernel's smoothed round trips (tcpi_rtt); NAN without */
    double rtt_var_ns; /* mean of their mean deviation (tcpi_rttvar, RFC 6298); NAN without */
    double rcv_rtt_ns; /* as its receiver estimates it; NAN without */
    double cwnd_mean_bytes, inflight_mean_bytes;
    uint64_t inflight_max_bytes, snd_wnd_max_bytes, rcv_wnd_max_bytes;
    double window_full_ratio; /* >= 90 % of the peer's window in flight */
    double sndbuf_full_ratio; /* all that the send buffer takes is in flight, with room elsewhere */
    double read_queue_ratio;  /* share of the receive buffer that lies there unread */
    double behind_ratio;      /* of the program's part: with something on the way; NAN likewise */
    double delivery_rate_bps; /* largest that was not limited by the program; NAN without */
    /* It stood: less than a segment moved, although more was there to be moved. Of one interval its
     * span or 0, of several joined the longest time in one piece. */
    int64_t shut_ns;       /* the receiver's window was shut: its program took nothing */
    int64_t unanswered_ns; /* nothing of what was sent was acknowledged */
    double shut_ratio;     /* share of the time in which the window was shut */
    uint32_t segments_count, retrans_count, reord_seen_count, dsack_count;
    uint32_t delivered_count, delivered_ce_count, out_of_order_count, drops_count;
};

/* A buffer in all readings: one that a program sets stays, one that the kernel tunes grows. */
struct tl_live_buffer {
    uint32_t low_bytes, high_bytes; /* 0: not told */
};

struct tl_live_flow {
    struct tl_host_socket socket; /* the last reading */
    struct tl_live_buffer rcvbuf, sndbuf;
    uint64_t first_bytes;      /* that it had moved when it was first seen */
    int64_t first_ns, last_ns; /* readings */
    bool new_here;             /* began while it was watched: its counters began at 0 */
    bool ended;                /* told or gone: no interval is added any more */
    struct tl_live_interval
        *intervals;        /* a ring; NULL before it moved a byte or had to (or without memory) */
    size_t interval_count; /* that went into it */
};

/* It stood, or did within the intervals that were joined. */
bool tl_live_stood(const struct tl_live_interval *interval);
/* It moved a byte, or had to: what is idle does neither. */
bool tl_live_is_active(const struct tl_live_interval *interval);

/* The interval that was closed `back` closings ago (0: the last); NULL before the first. */
const struct tl_live_interval *tl_live_interval_at(const struct tl_live_flow *flow, size_t back);

/* The last `count` intervals at most, less those at either end in which the connection began or
 * ended, where others are left: they are not all its own. [from, to) counts backwards as
 * tl_live_interval_at() does; empty before the first. */
struct tl_live_range {
    size_t from, to;
};
struct tl_live_range tl_live_range(const struct tl_live_flow *flow, size_t count);

/* That range as one interval. span_ns 0: none. */
void tl_live_join(const struct tl_live_flow *flow, size_t count,
                  struct tl_live_interval *ret_joined);

/* Of all connections, in the interval that was closed last. */
struct tl_live_sum {
    uint64_t sent_bytes, received_bytes;
    size_t flows_count; /* that moved a byte */
    size_t short_count; /* of them: began and ended between two readings */
    size_t ended_count; /* met by a reading, and ended in it */
    bool whole;         /* false: more connections or ends than could be followed */
};

struct tl_live;

struct tl_live *tl_live_create(int64_t now_ns); /* NULL: out of memory */
void tl_live_destroy(struct tl_live *live);     /* takes NULL */

void tl_live_begin(struct tl_live *live, int64_t now_ns);
/* TL_NOMEM: this one is left out and the sum says so. */
enum tl_status tl_live_take(struct tl_live *live, const struct tl_host_socket *socket);
void tl_live_take_end(struct tl_live *live, const struct tl_host_socket *socket);
void tl_live_ends_lost(struct tl_live *live); /* the kernel dropped some */
void tl_live_end(struct tl_live *live);

/* Closes the interval. Connections that ended in it are still there until the
 * next closing, those that moved something for TL_LIVE_KEEP_ENDED of them. */
void tl_live_close(struct tl_live *live, int64_t now_ns, struct tl_live_sum *ret_sum);

/* In no order; pointers are good until the next call that changes the table. */
size_t tl_live_count(const struct tl_live *live);
const struct tl_live_flow *tl_live_at(const struct tl_live *live, size_t index);
const struct tl_live_flow *tl_live_find(const struct tl_live *live, uint64_t cookie);

/* Seconds a second that something else than its own program held the connection up: the order in
 * which people look for the one that crawls. 0 for one that moved nothing and wants nothing. */
double tl_live_held_ratio(const struct tl_live_interval *interval);

#endif

/* This machine's TCP connections as the kernel tells any user of them (sock_diag(7), what ss
 * shows): for a look at transfers that run already, of whatever program. */
#ifndef TL_HOST_SOCKETS_H
#define TL_HOST_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "tightlink/base/status.h"
#include "tightlink/host/value.h"

#define TL_HOST_SOCKETS_MAX 32 /* with one peer: more than a person's transfers with one host */

/* One connection that can still move data: established, or half closed. Plain data; 0 where the
 * kernel does not tell, except where another value is named. Counters run since the connection
 * began; times of the kernel's chronometers are of sending. Names after struct tcp_info. */
struct tl_host_socket {
    uint64_t cookie; /* the kernel's own number of it, never used again while the machine is up */
    unsigned char local[16], remote[16]; /* IPv4 as a mapped IPv6 address */
    uint16_t local_port, remote_port;
    uint32_t device_index; /* that it is bound to; 0: none */
    uint32_t uid;          /* of the owner */
    uint64_t inode;        /* what /proc/PID/fd shows; 0: no program holds it any more */
    uint32_t mark;         /* needs CAP_NET_ADMIN */
    bool mark_known;
    bool reader_gone; /* half closed: this end reads or writes no more */
    char cc[16];      /* congestion control; "" where not told */

    uint64_t received_bytes, acked_bytes; /* payload in, payload out and acknowledged; the kernel
                                           * counts a SYN and a FIN as a byte each */
    uint64_t sent_bytes, retrans_bytes;
    uint32_t data_segs_in_count, data_segs_out_count;
    uint32_t retrans_count, reord_seen_count, dsack_count, out_of_order_count;
    uint32_t delivered_count, delivered_ce_count; /* segments; with an ECN mark */

    uint32_t rcvbuf_bytes, sndbuf_bytes; /* SO_RCVBUF, SO_SNDBUF as they are now */
    uint32_t wmem_queued_bytes; /* of sndbuf_bytes in use: what packets cost, not payload */
    uint32_t read_queue_bytes,
        write_queue_bytes;                 /* arrived and unread; written, not acknowledged */
    uint32_t notsent_bytes;                /* of write_queue_bytes: not sent even once */
    uint32_t drops_count;                  /* segments the socket itself threw away */
    uint32_t rcv_wnd_bytes, snd_wnd_bytes; /* windows in force */
    bool rcv_wnd_known;                    /* from Linux 6.2: a window may be 0 */
    uint32_t snd_mss_bytes, rcv_mss_bytes, pmtu_bytes;
    uint32_t cwnd_count; /* segments */
    bool wscale_ok, sack_ok, timestamps_ok;

    uint64_t rtt_ns, rtt_var_ns, rtt_min_ns; /* of what this end sent; min 0 without a sample */
    uint64_t rcv_rtt_ns;                     /* as its receiver estimates it */
    uint64_t delivery_rate_bps;
    bool app_limited; /* delivery_rate_bps is what the program gave, not what the path takes */
    uint64_t busy_ns, rwnd_limited_ns, sndbuf_limited_ns;
};

/* The established connections with this address, any port, at most `max`; *ret_count tells how
 * many. KNOWN also when there is none; else the reason. */
enum tl_host_why tl_host_sockets(const struct sockaddr *peer, struct tl_host_socket *ret_sockets,
                                 size_t max, size_t *ret_count);

/* Every connection of this network namespace, one after the other, of both families; fn returns
 * false to be given no more. The record lives until fn returns. No order. KNOWN also when there
 * is none; else the reason. Any thread. */
typedef bool (*tl_host_socket_fn)(const struct tl_host_socket *socket, void *context);
enum tl_host_why tl_host_sockets_each(tl_host_socket_fn fn, void *context) TL_WARN_UNUSED;

/* One that a look at all has told, read again. Costs no look through the kernel's whole table,
 * which takes milliseconds on a machine with much memory. False where no program holds it any
 * more, or the kernel does not tell: the next look at all says which. Any thread. */
bool tl_host_socket_again(const struct tl_host_socket *known, struct tl_host_socket *ret_socket);

/* Connections that end, with their last counters: those too short to be met by a dump are not lost.
 * The kernel tells each once, when the connection's own socket is gone (before TIME-WAIT). One that
 * was aborted (RST, SO_LINGER of 0) may come with counters set back to 0. */
struct tl_host_socket_ends;

/* NULL with *ret_why where the kernel does not tell (Linux before 4.3, not permitted). */
struct tl_host_socket_ends *tl_host_socket_ends_create(enum tl_host_why *ret_why);
void tl_host_socket_ends_destroy(struct tl_host_socket_ends *ends); /* takes NULL */

/* Gives what was told since the last call; does not wait. False when the kernel had to drop some
 * because nobody read in time: sums are too low by an unknown amount then. */
bool tl_host_socket_ends_read(struct tl_host_socket_ends *ends, tl_host_socket_fn fn,
                              void *context) TL_WARN_UNUSED;

#endif

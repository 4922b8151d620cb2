/* One end of a UDP test while it runs, near or far alike: a connected socket, a thread that
 * sends or receives, live numbers, a result.
 *
 *   create -> start -> running -> done -> sender/receiver accounts -> destroy
 *
 * The owner (client: caller's thread; responder: control loop) never blocks in here but in
 * destroy, which joins the thread in <= 100 ms after a stop. The thread touches nothing but
 * its flow. Private to the engine.
 *
 *   udp_flow.c      the object
 *   udp_orders.c    what its owner and its thread tell each other
 *   udp_send.c      the sender's thread: pace, bursts, trains, GSO
 *   udp_receive.c   the receiver's thread: batches, GRO, feedback
 *   udp_arrivals.c  whose a datagram is
 *   udp_socket.c    the socket and its options
 *   udp_account.c   what a receiver counts */
#ifndef TL_ENGINE_UDP_FLOW_H
#define TL_ENGINE_UDP_FLOW_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "tightlink/engine/udp.h"
#include "tightlink/engine/udp_wire.h"
#include "tightlink/host/counters.h"
#include "udp_account.h"
#include "udp_seal.h"

#define UDP_FEEDBACK_NS  (100 * INT64_C(1000000)) /* between a receiver's words */
#define UDP_RCVBUF_BYTES (4 * 1024 * 1024)
#define UDP_GRACE_MIN_NS (100 * INT64_C(1000000))
#define UDP_GRACE_MAX_NS (3000 * INT64_C(1000000))

/* Of a socket that is not connected: the one peer, and the address to send from. */
struct udp_route {
    struct sockaddr_storage peer; /* in the socket's family */
    socklen_t peer_len;           /* 0: the socket is connected */
    uint8_t control[CMSG_SPACE(sizeof(struct in6_pktinfo))] __attribute__((aligned(8)));
    size_t control_len;
};

/* Addresses are IPv6, IPv4 as ::ffff:a.b.c.d; like: a socket of the family that is wanted. */
void udp_route_set(struct udp_route *ret_route, const struct sockaddr_in6 *peer,
                   const struct sockaddr_in6 *own, int like);
/* Whether a datagram came from the route's peer. */
bool udp_route_is_from(const struct udp_route *route, const struct sockaddr_storage *from);

/* What the datagrams look like, and what else the two ends say beside them. */
enum udp_dialect {
    UDP_DIALECT_TIGHTLINK, /* CRC, feedback: no datagrams without it (P4) */
    UDP_DIALECT_IPERF3     /* udp_iperf3.h; nothing comes back: the owner bounds the time */
};

struct udp_flow_spec {
    bool send;
    enum udp_dialect dialect;
    int fd; /* owned by the flow from create on, also when that fails, unless borrowed */
    bool borrowed;
    struct udp_route route;
    struct udp_pass pass;
    uint32_t test_id;
    int64_t duration_ns; /* of sending */
    uint64_t max_bytes;  /* a receiver ends when more has come */
    uint64_t rate_bps;   /* 0: as fast as possible */
    unsigned datagram_bytes, burst_count, gso_segments;
    unsigned train_length, train_count;
    int64_t train_gap_ns;
    int64_t interval_ns;
    int64_t grace_ns;    /* a receiver's, after its sender's end */
    int64_t patience_ns; /* a receiver's, for a sender that never says its end */
    int64_t rtt_ns;      /* of the control connection, 0: not known */
    bool gro, head_crc;
    int rcvbuf_bytes;
};

/* Wire numbers of TL_US_end. */
enum udp_sender_end {
    UDP_SENDER_TIME,
    UDP_SENDER_BYTES,
    UDP_SENDER_STOPPED,
    UDP_SENDER_UNHEARD,
    UDP_SENDER_BLACKHOLE,
    UDP_SENDER_FAILED,
    UDP_SENDER_ENDS
};

/* Of one interval at the sender. */
struct udp_sent_piece {
    uint64_t count, bytes;
};

/* What a receiver saw of its sender's numbers and clock: the lowest and highest number with the
 * times that they bear. */
struct udp_stamps {
    uint64_t first, last;
    int64_t first_ns, last_ns;
};

/* Of one train at the sender. */
struct udp_sent_train {
    unsigned count;
    int64_t first_ns, last_ns;
};

struct udp_flow {
    struct udp_flow_spec spec;
    int done_fd; /* eventfd: readable when the thread has ended */
    int stop_fd; /* likewise, for its poll: there are orders */
    pthread_t thread;
    bool started;
    _Atomic int64_t start_ns; /* CLOCK_MONOTONIC; a sender sets it anew when it is ready */
    /* Orders from the owner. */
    atomic_bool stop;
    _Atomic int64_t heard_ns;    /* sender: when anything of the far program came */
    _Atomic uint64_t sent_count; /* receiver: as its sender says; UINT64_MAX = not yet */
    /* Live, from the thread. */
    atomic_bool done;
    atomic_bool rebound; /* a datagram of the test came from elsewhere: ended by that */
    _Atomic uint64_t live_count, live_bytes; /* sent, or received */
    _Atomic int64_t live_ns;                 /* of the newest, since start */
    _Atomic uint64_t came_bytes;             /* receiver: whatever it was, repeated or damaged */
    /* The thread's alone until done. */
    struct tl_udp_sender sender;
    enum udp_sender_end sender_end;
    int errnum;
    struct udp_sent_piece *sent_pieces; /* TL_UDP_INTERVALS_MAX */
    struct udp_sent_train *sent_trains; /* train_count */
    unsigned sent_piece_count;
    struct tl_udp_receiver receiver;
    struct udp_account account;
    bool has_account;
    struct udp_stamps stamps; /* UDP_DIALECT_IPERF3 */
    /* A receiver's, from before its sender may know of the start: what is dropped from there on
     * is this test's, and this host's. */
    uint64_t drops_before;
    struct tl_host_counters counters_before;
    struct tl_udp_interval *intervals; /* TL_UDP_INTERVALS_MAX, receiver's part */
    unsigned interval_count;
    struct tl_udp_train *trains; /* train_count, receiver's part */
    bool overfed;                /* more than max_bytes came */
    char note[128];
};

/* TL_NOMEM, TL_IO. */
enum tl_status udp_flow_create(const struct udp_flow_spec *spec, struct udp_flow **ret_flow,
                               struct tl_error *reterr) TL_WARN_UNUSED;
/* A receiver's buffer and counters are ready when this returns; its thread need not be. */
enum tl_status udp_flow_start(struct udp_flow *flow, struct tl_error *reterr) TL_WARN_UNUSED;
/* Silent within 100 ms; returns at once. */
void udp_flow_stop(struct udp_flow *flow);
/* The far program lives. */
void udp_flow_heard(struct udp_flow *flow, int64_t now_ns);
/* The sender has ended after so many datagrams. */
void udp_flow_sender_ended(struct udp_flow *flow, uint64_t sent_count);
/* NULL is fine. */
void udp_flow_destroy(struct udp_flow *flow);

/* Thread mains. */
void *udp_send_main(void *flow);
void *udp_receive_main(void *flow);
/* What each thread does last. */
void udp_flow_ended(struct udp_flow *flow, uint64_t *ret_cpu_ns, uint64_t *ret_run_delay_ns);

/* udp_socket.c: a socket on local, connected to peer. For clients; a responder connects to
 * nobody. */
enum tl_status udp_socket_open(const struct sockaddr_storage *local,
                               const struct sockaddr_storage *peer, int *ret_fd,
                               struct tl_error *reterr) TL_WARN_UNUSED;
/* Never fragmented, nor limited to what the kernel believes of the path; with the kernel's
 * times of arrival; errors of the queueing discipline told (udp_send_skb hides ENOBUFS
 * otherwise). */
void udp_socket_options(int fd);
void udp_socket_dscp(int fd, unsigned dscp);
/* Grows or shrinks the receive buffer; returns what is in force. */
int udp_socket_rcvbuf(int fd, int bytes);
bool udp_socket_gro(int fd, bool on);
/* Datagrams that this socket dropped so far (no room, or a wrong checksum). */
uint64_t udp_socket_drops(int fd);

#endif

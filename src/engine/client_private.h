/* Inside of tl_client: what its files share. Nobody else includes this.
 *
 *   client.c          the object, ping, host
 *   client_resolve.c  the name
 *   client_connect.c  dialling, key, HELLO, who else may be listening there
 *   client_control.c  frames over the control connection
 *   client_data.c     opening the data connections of a test
 *   client_tcp.c      a TCP test from asking to END
 *   client_peers.c    a TCP test between two responders
 *   client_result.c   what becomes of its samples and readings
 *   client_syn.c      a connection that is opened only to be looked at
 *   client_udp.c      a UDP socket to the responder, its tuple proved
 *   client_disk.c     the far end's disk; disks and checksums of a TCP test
 *   udp_client.c      a UDP test
 *   client_echo.c     UDP probes */
#ifndef TL_ENGINE_CLIENT_PRIVATE_H
#define TL_ENGINE_CLIENT_PRIVATE_H

#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>

#include "secure.h"
#include "tightlink/engine/client.h"

struct tl_client {
    char host[256]; /* for sentences: cleaned */
    int port, cancel_fd;
    int64_t timeout_ns;
    char program[TL_WIRE_TEXT_SIZE];
    struct tl_client_info info;
    int fd;                         /* control, -1 = closed */
    struct secure_context *secured; /* NULL: plain */
    struct secure *secure;          /* of fd, NULL: plain */
    char key_name[TL_KEY_NAME_SIZE];
    /* Control frames and probes as they are on the link, headers included: our own traffic
     * beside a test's payload. tl_client_echo counts from another thread. */
    atomic_uint_least64_t beside_rx_bytes, beside_tx_bytes;
    uint8_t in[2 * TL_WIRE_FRAME_MAX];
    size_t in_len, in_used;     /* in_used: of the frame handed out last */
    int64_t heard_ns;           /* when the far end said anything */
    bool stale;                 /* in the middle of something that nobody waits for: dial again */
    pthread_mutex_t token_lock; /* tl_client_echo reads it from another thread */
    struct tl_wire_token token;
    int udp_fd;          /* of UDP tests, kept from one to the next; -1: none */
    uint64_t udp_cookie; /* its tuple's, proved at udp_proved_ns (0: not) in the session
                          * of udp_token */
    struct tl_wire_token udp_token;
    int64_t udp_proved_ns;
    struct tl_cpu_reader cpu_reader;
    struct tl_rate_point points[TL_STEADY_POINTS_MAX]; /* workspace of the analysis */
};

/* client_resolve.c: *ret_list is freed with freeaddrinfo(). */
enum tl_status client_resolve(const struct tl_client_options *options, struct addrinfo **ret_list,
                              int64_t *ret_ns, struct tl_error *reterr) TL_WARN_UNUSED;

/* client_connect.c */
enum tl_status client_dial(struct tl_client *client, const struct sockaddr *address, socklen_t len,
                           struct tl_error *reterr) TL_WARN_UNUSED;
/* Before a new request: the connection is alive and in order, or dialled again. */
enum tl_status client_wake(struct tl_client *client, struct tl_error *reterr) TL_WARN_UNUSED;

/* The most that a segment or datagram adds on a link: Ethernet 14, IPv6 40, TCP 32. */
#define CLIENT_HEADERS_BYTES 86

/* client_control.c */
bool client_cancelled(const struct tl_client *client);
void client_hang_up(struct tl_client *client);
/* Why the control connection ended, as a sentence; errnum 0: in order. */
enum tl_status client_closed(const struct tl_client *client, int errnum,
                             struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status client_send(struct tl_client *client, const uint8_t *frame, size_t len,
                           struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status client_send_ping(struct tl_client *client, struct tl_error *reterr) TL_WARN_UNUSED;
/* Takes the next frame if there is one, without waiting; it is valid until the next call.
 * Answers PING itself. ERROR becomes a status with the far end's sentence. */
enum tl_status client_next_frame(struct tl_client *client, struct tl_wire_frame *ret_frame,
                                 bool *ret_some, struct tl_error *reterr) TL_WARN_UNUSED;
/* Waits for input, for extra_fd (-1 = none), for cancel, at most until until_ns. */
enum tl_status client_wait(struct tl_client *client, int extra_fd, int64_t until_ns,
                           struct tl_error *reterr) TL_WARN_UNUSED;
/* The next frame; TL_TIMEOUT after until_ns, naming what was waited for. */
enum tl_status client_await(struct tl_client *client, int64_t until_ns, const char *what,
                            struct tl_wire_frame *ret_frame,
                            struct tl_error *reterr) TL_WARN_UNUSED;

/* client_udp.c: a socket from our address to the peer, connected, not blocking; the caller's. */
enum tl_status client_udp_open(const struct tl_client *client, int *ret_fd,
                               struct tl_error *reterr) TL_WARN_UNUSED;
/* Proves the socket's tuple. Takes the token under its lock: may run in another thread beside a
 * test. cancel_fd is looked at beside the client's own, -1 = none. TL_TIMEOUT: UDP does not get
 * through although TCP does. */
enum tl_status client_udp_prove(struct tl_client *client, int fd, int cancel_fd,
                                uint64_t *ret_cookie, struct tl_error *reterr) TL_WARN_UNUSED;

/* One direction of a TCP test while it runs. */
struct tcp_lane {
    struct tl_tcp_result *result; /* this direction's */
    struct tl_streams *near;
    struct tl_tcp_side *near_side, *far_side;
    unsigned first;       /* of the test's connections */
    int64_t start_ns;     /* near clock; 0 = not started */
    int64_t rate_time_ns; /* of the receiver, for the live rate */
    uint64_t rate_bytes;
    double rate_bps;
};

/* One TCP test while it runs: both ways, the first lane is the download. */
struct tcp_run {
    struct tl_client *client;
    const struct tl_tcp_spec *spec;
    struct tl_tcp_result *result; /* the caller's, and the first lane's */
    tl_tcp_live_fn *live;
    void *context;
    struct tl_wire_ready ready;
    struct tcp_lane lanes[2];
    unsigned lane_count;
    unsigned connections; /* of all lanes */
    int64_t interval_ns;  /* between samples */
    struct tl_cpu_reading cpu_before;
    uint64_t beside_rx_before, beside_tx_before; /* of the client, when the test began */
    struct tl_host_counters counters_before;
    size_t log_max;   /* samples a log */
    int64_t start_ns; /* near clock; of the first lane to start, and of the ping and live grids */
    int64_t ping_ns, live_ns, analysis_ns;
    bool stop_sent;
    int64_t stop_sent_ns;
    unsigned totals_count;        /* connections whose totals have come */
    bool ended;                   /* the last TEST_END came */
    struct transfer_check *check; /* of a file, which has one lane; NULL: none */
};

/* client_tcp.c: steps of a test that client_peers.c takes with two responders. */
enum tl_status client_check_spec(const struct tl_tcp_spec *spec,
                                 struct tl_error *reterr) TL_WARN_UNUSED;
/* TEST_TCP to READY, through the queue. */
enum tl_status client_ask(struct tcp_run *run, struct tl_error *reterr) TL_WARN_UNUSED;
/* START to STARTED. */
enum tl_status client_start_far(struct tcp_run *run, struct tl_error *reterr) TL_WARN_UNUSED;
/* What has come of a running test, without waiting. */
enum tl_status client_take_frames(struct tcp_run *run, struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status client_stop_far(struct tcp_run *run, struct tl_error *reterr) TL_WARN_UNUSED;

/* client_data.c: connects all streams of a granted test and adds them to their lanes. */
enum tl_status client_open_data(struct tcp_run *run, struct tl_error *reterr) TL_WARN_UNUSED;

/* client_disk.c: what a test with spec.file does beside what every test does. */
enum tl_status client_file_check(const struct tl_tcp_spec *spec,
                                 struct tl_error *reterr) TL_WARN_UNUSED;
size_t client_file_encode_ask(const struct tl_tcp_spec *spec, const struct tl_wire_test_tcp *ask,
                              uint8_t ret_frame[TL_WIRE_FRAME_MAX]);
/* How much longer the far end may take to grant: it may have to write first what it shall read. */
int64_t client_file_prepare_ns(const struct tcp_run *run);
enum tl_status client_file_begin(struct tcp_run *run, struct tl_error *reterr) TL_WARN_UNUSED;
/* To the stream that was added last. */
enum tl_status client_file_give_store(struct tcp_run *run, unsigned stream,
                                      struct tl_error *reterr) TL_WARN_UNUSED;
void client_file_drain(struct tcp_run *run);
enum tl_status client_file_take_sums(struct tcp_run *run, const struct tl_wire_frame *frame,
                                     struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status client_file_take_end(struct tcp_run *run, const struct tl_wire_frame *frame,
                                    struct tl_error *reterr) TL_WARN_UNUSED;
/* After the near streams are done. */
void client_file_complete(struct tcp_run *run);
enum tl_status client_file_judge(const struct tcp_run *run, enum tl_status status,
                                 struct tl_error *reterr) TL_WARN_UNUSED;

/* client_result.c */
void result_init(struct tl_tcp_result *result, const struct tl_tcp_spec *spec);
/* Adds a sentence to the notes; what does not fit is left out as a whole. */
void result_note(struct tl_tcp_result *result, const char *fmt, ...) TL_PRINTF(2, 3);
void result_drain_near(struct tcp_run *run);
enum tl_status result_take_samples(struct tcp_run *run, const struct tl_wire_frame *frame,
                                   struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status result_take_readings(struct tcp_run *run, const struct tl_wire_frame *frame,
                                    struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status result_take_end(struct tcp_run *run, const struct tl_wire_frame *frame,
                               struct tl_error *reterr) TL_WARN_UNUSED;
void result_analyse(struct tcp_run *run);
/* The bytes of both sides, and whether they agree. */
void result_sum(struct tl_tcp_result *result);
/* After the near streams are done: totals, processors, analysis. */
void result_complete(struct tcp_run *run);

#endif

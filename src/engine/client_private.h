/* Inside of tl_client: what its files share. Nobody else includes this.
 *
 *   client.c          the object, ping, host
 *   client_resolve.c  the name
 *   client_connect.c  dialling, HELLO, who else may be listening there
 *   client_control.c  frames over the control connection
 *   client_data.c     opening the data connections of a test
 *   client_tcp.c      a TCP test from asking to END
 *   client_result.c   what becomes of its samples and readings
 *   client_echo.c     UDP probes */
#ifndef TL_ENGINE_CLIENT_PRIVATE_H
#define TL_ENGINE_CLIENT_PRIVATE_H

#include <netdb.h>
#include <pthread.h>

#include "tightlink/engine/client.h"

struct tl_client {
    char host[256]; /* for sentences: cleaned */
    int port, cancel_fd;
    int64_t timeout_ns;
    char program[TL_WIRE_TEXT_SIZE];
    struct tl_client_info info;
    int fd; /* control, -1 = closed */
    uint8_t in[2 * TL_WIRE_FRAME_MAX];
    size_t in_len, in_used;     /* in_used: of the frame handed out last */
    int64_t heard_ns;           /* when the far end said anything */
    bool stale;                 /* in the middle of something that nobody waits for: dial again */
    pthread_mutex_t token_lock; /* tl_client_echo reads it from another thread */
    struct tl_wire_token token;
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

/* client_control.c */
bool client_cancelled(const struct tl_client *client);
void client_hang_up(struct tl_client *client);
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

/* One TCP test while it runs. */
struct tcp_run {
    struct tl_client *client;
    const struct tl_tcp_spec *spec;
    struct tl_tcp_result *result;
    tl_tcp_live_fn *live;
    void *context;
    struct tl_wire_ready ready;
    struct tl_streams *near;
    struct tl_tcp_side *near_side, *far_side;
    struct tl_cpu_reading cpu_before;
    size_t log_max;   /* samples a log */
    int64_t start_ns; /* near clock; also of the ping and live grids */
    int64_t ping_ns, live_ns, analysis_ns;
    int64_t rate_time_ns; /* of the receiver, for the live rate */
    uint64_t rate_bytes;
    double rate_bps;
    double low_bps, high_bps;
    bool stop_sent;
    int64_t stop_sent_ns;
    bool ended; /* TEST_END came */
};

/* client_data.c: connects all streams of a granted test and adds them to run->near. */
enum tl_status client_open_data(struct tcp_run *run, struct tl_error *reterr) TL_WARN_UNUSED;

/* client_result.c */
void result_init(struct tl_tcp_result *result, const struct tl_tcp_spec *spec);
void result_drain_near(struct tcp_run *run);
enum tl_status result_take_samples(struct tcp_run *run, const struct tl_wire_frame *frame,
                                   struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status result_take_readings(struct tcp_run *run, const struct tl_wire_frame *frame,
                                    struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status result_take_end(struct tcp_run *run, const struct tl_wire_frame *frame,
                               struct tl_error *reterr) TL_WARN_UNUSED;
void result_analyse(struct tcp_run *run);
/* After the near streams are done: totals, processors, analysis. */
void result_complete(struct tcp_run *run);

#endif

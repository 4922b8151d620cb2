/* Our half of a TCP test with a stranger: streams, samples, readings of this host, the rate. What a
 * protocol adds is how the test is agreed on and ended. Private to this room.
 *
 *   begin -> add (each connected socket) -> start -> step … -> finish
 *
 * A protocol whose payload the kernel's sockets do not hold as it is (WebSocket in TLS) moves it by
 * itself, on a few sockets: begin_by_hand -> add_hand -> start -> moved, far_sample, await,
 * step … -> finish.
 *
 * An upload's receiver says nothing while it runs: what was acknowledged to this end stands in for
 * it, which is what its kernel has, less what it lost. The far end's word about the bytes comes in
 * by near_half_take_total(). */
#ifndef TL_ENGINE_NEAR_HALF_H
#define TL_ENGINE_NEAR_HALF_H

#include <poll.h>

#include "client_parts.h"
#include "live_rate.h"
#include "tightlink/engine/far.h"

#define NEAR_HANDS_MAX 8

struct near_hand {
    int fd; /* borrowed */
    uint64_t moved_bytes;
    int64_t first_ns, last_ns; /* of its payload; -1 without */
};

struct near_half {
    const struct tl_tcp_spec *spec;
    const struct far_peer *peer;
    struct tl_tcp_result *result;
    tl_tcp_live_fn *live;
    void *context;
    struct tl_streams *streams; /* NULL: by hand */
    struct near_hand hands[NEAR_HANDS_MAX];
    unsigned hand_count;
    int64_t sample_ns;
    int64_t waited_ns;                            /* by hand: for the sockets, since the start */
    struct tl_cpu_thread_reading thread_at_start; /* likewise: the thread that moves payload */
    struct tl_cpu_reader cpu_reader;
    struct tl_cpu_reading cpu;
    struct tl_host_counters counters;
    int64_t start_ns, live_ns, analysis_ns;
    bool stopped;
    size_t log_max;               /* samples a stream */
    int kept_fds[TL_STREAMS_MAX]; /* of what sends: the streams close theirs when they end */
    unsigned kept_count;
    struct live_rate rate;
    struct tl_rate_point points[TL_STEADY_POINTS_MAX];
};

/* *ret_half is destroyed in every case that it is set. grace_ns: how much longer than the spec's
 * time the streams may run, until the far end has ended the test. */
enum tl_status near_half_begin(const struct far_peer *peer, const struct tl_tcp_spec *spec,
                               int64_t grace_ns, struct tl_tcp_result *result, tl_tcp_live_fn *live,
                               void *context, struct near_half **ret_half,
                               struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status near_half_begin_by_hand(const struct far_peer *peer, const struct tl_tcp_spec *spec,
                                       struct tl_tcp_result *result, tl_tcp_live_fn *live,
                                       void *context, struct near_half **ret_half,
                                       struct tl_error *reterr) TL_WARN_UNUSED;
void near_half_destroy(struct near_half *half);

/* By hand, before the start, at most NEAR_HANDS_MAX times: the socket of the next connection. An
 * upload's is cut off where it is closed. */
void near_half_add_hand(struct near_half *half, int fd);
/* So many more bytes of payload were sent or received on that connection. */
void near_half_moved(struct near_half *half, unsigned index, size_t bytes);
/* Until one of the sockets is ready or the next step is due; at once where `more` may be had of
 * them. fds has room for one more behind them. TL_CANCELLED. */
enum tl_status near_half_await(struct near_half *half, struct pollfd *fds, unsigned count,
                               bool more, struct tl_error *reterr) TL_WARN_UNUSED;
/* What the far end told of its own TCP; time_ns counts from its start. */
void near_half_far_sample(struct near_half *half, const struct tl_tcp_sample *sample);

/* By hand: samples that are due, the bytes so far, the totals at the end. For near_half.c. */
void near_hands_sample(struct near_half *half, int64_t now_ns);
uint64_t near_hands_bytes(const struct near_half *half);
void near_hands_complete(struct near_half *half);
/* A sample of this end: goes into the result, and of an upload what was acknowledged by then. */
void near_half_own_sample(struct near_half *half, const struct tl_tcp_sample *sample);

/* Dials data connection index at a port of the peer, with the options that the spec asks for, and
 * notes in the result its port here and the least round trip of a handshake. Errors as
 * far_peer_dial(). */
enum tl_status near_half_dial(const struct far_peer *peer, uint16_t port,
                              const struct tl_tcp_spec *spec, unsigned index,
                              struct tl_tcp_result *result, int *ret_fd,
                              struct tl_error *reterr) TL_WARN_UNUSED;
/* Takes the socket over, also on failure. */
enum tl_status near_half_add(struct near_half *half, int fd,
                             struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status near_half_start(struct near_half *half, struct tl_error *reterr) TL_WARN_UNUSED;

/* What is due now: samples, live numbers, the look whether the rate is known. True when the test
 * may end: its time, its bytes or the rate are there, or the streams are done. */
bool near_half_step(struct near_half *half);
/* Live numbers alone, while a protocol waits for an answer: for struct far_peer's tick. */
void near_half_tick(void *half);
/* When the next step is due. */
int64_t near_half_due_ns(const struct near_half *half);
/* Readable when every stream is done. */
int near_half_event_fd(const struct near_half *half);
/* An upload of which the far end shall read all that was sent: no more is written, the connections
 * stay until near_half_destroy(). */
void near_half_shut(struct near_half *half);
/* Stops the streams, waits for them and takes their totals; more than once is fine. */
void near_half_stop(struct near_half *half);
/* Of the far end's side, stream index: what it says it moved. */
void near_half_take_total(struct near_half *half, unsigned index, uint64_t bytes);
/* Of an upload that nobody counts at its end: stops it, and takes what was acknowledged for what
 * arrived. */
void near_half_take_acknowledged(struct near_half *half);
/* Says that a busy far end is asked again, and waits so long: TL_OK, TL_CANCELLED. */
enum tl_status near_half_wait_turn(struct near_half *half, int64_t wait_ns,
                                   struct tl_error *reterr) TL_WARN_UNUSED;
/* Stops what still runs, and makes the result of it: readings, sums, analysis, the end. status is
 * what the protocol came to, asked_ns when the test was asked for. Returns the test's own status.
 */
enum tl_status near_half_finish(struct near_half *half, int64_t asked_ns, enum tl_status status,
                                struct tl_error *reterr) TL_WARN_UNUSED;

#endif

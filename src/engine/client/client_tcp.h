/* A TCP test of the client while it runs: what its files share.
 *
 *   client_ask.c      asking, and what is granted
 *   client_data.c     opening the data connections
 *   client_tcp.c      from START to END, seen from the near end
 *   client_peers.c    the same between two responders
 *   client_result.c   what becomes of samples, readings and totals
 *   client_disk.c     disks and checksums of the test of a file */
#ifndef TL_ENGINE_CLIENT_TCP_H
#define TL_ENGINE_CLIENT_TCP_H

#include "client_test.h"

/* Until TEST_END, and how long its samples may come, after the granted time. */
#define TCP_END_NS     (7 * INT64_C(1000000000))
#define TCP_END_MAX_NS (20 * INT64_C(1000000000)) /* for one that keeps telling of the test */

/* One direction of a TCP test while it runs. */
struct tcp_lane {
    struct tl_tcp_result *result; /* this direction's */
    struct tl_streams *near;
    struct tl_tcp_side *near_side, *far_side;
    unsigned first;   /* of the test's connections */
    int64_t start_ns; /* near clock; 0 = not started */
    struct live_rate rate;
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
    struct client_readings before;
    uint64_t beside_rx_before, beside_tx_before; /* of the client, when the test began */
    size_t log_max;                              /* samples a log */
    int64_t start_ns; /* near clock; of the first lane to start, and of the ping and live grids */
    int64_t ping_ns, live_ns, analysis_ns;
    bool stop_sent;
    int64_t stop_sent_ns;
    int64_t told_ns;              /* when the far end told anything of the test */
    unsigned totals_count;        /* connections whose totals have come */
    bool ended;                   /* the last TEST_END came */
    struct transfer_check *check; /* of a file, which has one lane; NULL: none */
};

/* client_ask.c */
enum tl_status client_check_spec(const struct tl_tcp_spec *spec,
                                 struct tl_error *reterr) TL_WARN_UNUSED;
unsigned client_directions(const struct tl_tcp_spec *spec);
/* TEST_TCP to READY, through the queue. */
enum tl_status client_ask(struct tcp_run *run, struct tl_error *reterr) TL_WARN_UNUSED;

/* client_tcp.c: steps of a test that client_peers.c takes with two responders.
 * START to STARTED. */
enum tl_status client_start_far(struct tcp_run *run, struct tl_error *reterr) TL_WARN_UNUSED;
/* What has come of a running test, without waiting. */
enum tl_status client_take_frames(struct tcp_run *run, struct tl_error *reterr) TL_WARN_UNUSED;
/* Tells the far end and leaves the connection: a cancelled test owes nobody a word. */
void client_abandon(struct tcp_run *run);

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
void result_drain_near(struct tcp_run *run);
enum tl_status result_take_samples(struct tcp_run *run, const struct tl_wire_frame *frame,
                                   struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status result_take_readings(struct tcp_run *run, const struct tl_wire_frame *frame,
                                    struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status result_take_end(struct tcp_run *run, const struct tl_wire_frame *frame,
                               struct tl_error *reterr) TL_WARN_UNUSED;
/* Why the end that is waited for does not come: the far end is silent; or it answered all the time,
 * so that neither path nor host is (TL_PROTOCOL). */
enum tl_status result_overdue(const struct tcp_run *run, struct tl_error *reterr) TL_WARN_UNUSED;
/* At intervals, and where a request is not answered. */
void result_note_silence(const struct tcp_run *run, int64_t now_ns);
void result_analyse(struct tcp_run *run);
/* After the near streams are done: totals, processors, analysis. */
void result_complete(struct tcp_run *run);

#endif

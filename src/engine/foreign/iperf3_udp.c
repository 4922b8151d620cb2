/* UDP tests with iperf3 servers of 3.1 to 3.21.
 *
 *   asked for as a TCP test (iperf3_ask.c) -> our hello, the server's reply -> TEST_START,
 *   TEST_RUNNING -> datagrams -> we: TEST_END -> EXCHANGE_RESULTS -> our results, theirs
 *
 * One way, one stream. Where we receive, the account is ours, as with a responder: numbers, times
 * of departure and arrival, what this socket dropped; so trains can be asked for, as bursts. Where
 * we send, the server tells at the end how many bytes came, and the jitter: nothing of delays, nor
 * whether its own socket dropped them. A queue is then seen by the word behind the last datagram,
 * TEST_END: it waits in it.
 *
 * No datagram is sent twice but the hello, and that in a test of its own: a server that has taken
 * the first would count the second as payload. */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "iperf3_end.h"
#include "iperf3_json.h"
#include "live_rate.h"
#include "socket_address.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/sampler.h"
#include "udp_flow.h"
#include "udp_result.h"

#define HELLO_TRIES  3
#define HELLO_MIN_NS (500 * TL_NS_PER_MS)
/* Behind the last datagram: a card of several queues, or an aggregate, overtakes nothing by more;
 * what comes behind TEST_END the server counts no more. */
#define TAIL_NS   (20 * TL_NS_PER_MS)
#define LATE_NS   (2 * TL_NS_PER_S)
#define SERIES_NS (20 * TL_NS_PER_MS)

struct udp_test {
    struct iperf3_end *end;
    struct far_peer peer; /* the end's, with this test's tick */
    struct tl_udp_spec spec;
    struct tl_udp_result *result;
    tl_udp_live_fn *live;
    void *context;
    struct iperf3_control control;
    struct udp_flow *flow;
    struct live_rate rate;
    int64_t start_ns, live_ns;
    bool told; /* the server's results came */
};

static void tick(void *context)
{
    struct udp_test *test = context;
    bool sends = test->result->near_sends;
    int64_t now_ns = tl_now_ns();
    if (!test->flow || test->start_ns == 0 || now_ns < test->live_ns)
        return;
    test->live_ns = now_ns + TL_CLIENT_LIVE_NS;
    uint64_t count = atomic_load(&test->flow->live_count);
    uint64_t bytes = atomic_load(&test->flow->live_bytes);
    if (!sends)
        live_rate_update(&test->rate, now_ns - test->start_ns, bytes);
    struct tl_udp_live live = {.elapsed_ns = now_ns - test->start_ns,
                               .sent_count = sends ? count : 0,
                               .received_count = sends ? 0 : count,
                               .received_bytes = sends ? 0 : bytes,
                               .rate_bps = test->rate.bps};
    if (test->live)
        test->live(test->context, &live);
}

/* --- Agreeing ------------------------------------------------------------------------------- */

static void write_parameters(const void *spec, const char *token, struct tl_buf *ret_text)
{
    iperf3_write_udp_parameters(spec, token, ret_text);
}

static enum tl_status wait_turn(void *context, int64_t wait_ns, struct tl_error *reterr)
{
    struct udp_test *test = context;
    struct tl_udp_live live = {.queued = true, .place = 1, .wait_ns = wait_ns};
    struct pollfd cancel = {.fd = test->peer.cancel_fd, .events = POLLIN};
    if (test->live)
        test->live(test->context, &live);
    if (poll(&cancel, 1, (int)(wait_ns / TL_NS_PER_MS)) > 0)
        return tl_error_set(reterr, TL_CANCELLED, "cancelled");
    return TL_OK;
}

static enum tl_status ask(struct udp_test *test, struct tl_error *reterr)
{
    struct iperf3_ask ask = {.end = test->end,
                             .control = &test->control,
                             .queue_wait_ns = test->spec.queue_wait_ns,
                             .write = write_parameters,
                             .spec = &test->spec,
                             .wait_turn = wait_turn,
                             .wait_context = test};
    enum tl_status status = iperf3_ask(&ask, reterr);
    test->result->queued_ns += ask.queued_ns;
    return status;
}

/* --- The stream ------------------------------------------------------------------------------ */

/* "6789" in the servers of today; older ones wrote a number of their own byte order. */
static bool is_reply(const uint8_t *datagram, size_t len)
{
    uint32_t number;
    if (len != sizeof number)
        return false;
    memcpy(&number, datagram, sizeof number);
    return memcmp(datagram, "6789", sizeof number) == 0 || number == 987654321 ||
           number == htonl(987654321);
}

static enum tl_status await_reply(const struct udp_test *test, int fd, struct tl_error *reterr)
{
    int64_t patience_ns = 4 * test->peer.info.connect_rtt_ns;
    int64_t until_ns = tl_now_ns() + (patience_ns > HELLO_MIN_NS ? patience_ns : HELLO_MIN_NS);
    for (;;) {
        uint8_t datagram[16];
        enum tl_status status = far_await(&test->peer, fd, POLLIN, until_ns, reterr);
        if (status == TL_TIMEOUT)
            return tl_error_set(reterr, TL_TIMEOUT,
                                "UDP port %u of %s does not answer although TCP does: a firewall "
                                "on the way drops it",
                                test->peer.port, test->peer.host);
        if (status != TL_OK)
            return status;
        ssize_t got = recv(fd, datagram, sizeof datagram, MSG_DONTWAIT | MSG_TRUNC);
        if (got >= 0 && is_reply(datagram, (size_t)got))
            return TL_OK;
        if (got < 0 && errno == ECONNREFUSED)
            return tl_error_set(reterr, TL_REFUSED,
                                "UDP port %u of %s is closed although TCP is "
                                "open",
                                test->peer.port, test->peer.host);
    }
}

static enum tl_status create_flow(struct udp_test *test, int fd, struct tl_error *reterr)
{
    const struct tl_udp_spec *spec = &test->spec;
    /* A server hears of the end a round trip late. */
    uint64_t late_bytes = (uint64_t)((double)spec->rate_bps / 8e9 *
                                     (double)(2 * test->peer.info.connect_rtt_ns + LATE_NS));
    struct udp_flow_spec flow = {
        .send = test->result->near_sends,
        .dialect = UDP_DIALECT_IPERF3,
        .fd = fd,
        .duration_ns = spec->duration_ns,
        .max_bytes = spec->max_bytes > 0 ? spec->max_bytes : UINT64_MAX,
        .rate_bps = spec->rate_bps,
        .datagram_bytes = spec->datagram_bytes,
        .burst_count = spec->burst_count,
        .train_length = spec->train_length,
        .train_count = spec->train_count,
        .train_gap_ns = spec->train_gap_ns,
        .interval_ns = spec->interval_ns > 0 ? spec->interval_ns : SERIES_NS,
        .grace_ns = UDP_GRACE_MIN_NS + 2 * test->peer.info.connect_rtt_ns,
        .patience_ns = 3 * IPERF3_ANSWER_NS,
        .rtt_ns = test->peer.info.connect_rtt_ns,
        .rcvbuf_bytes = spec->rcvbuf_bytes,
    };
    if (!flow.send) /* four times what was asked for is a server that does as it pleases */
        flow.max_bytes = 4 * tl_udp_worst_bytes(spec) + late_bytes;
    udp_socket_dscp(fd, spec->dscp);
    return udp_flow_create(&flow, &test->flow, reterr);
}

/* A receiver listens before the server may send. */
static enum tl_status open_stream(struct udp_test *test, struct tl_error *reterr)
{
    struct sockaddr_storage local = test->peer.info.local, peer = test->peer.info.peer;
    int fd;
    socket_address_set_port(&local, 0);
    socket_address_set_port(&peer, test->peer.port);
    enum tl_status status = udp_socket_open(&local, &peer, &fd, reterr);
    if (status != TL_OK)
        return status;
    (void)!send(fd, "9876", 4, MSG_NOSIGNAL);
    status = await_reply(test, fd, reterr);
    if (status != TL_OK) {
        close(fd);
        return status;
    }
    status = create_flow(test, fd, reterr);
    if (status == TL_OK && !test->result->near_sends)
        status = udp_flow_start(test->flow, reterr);
    return status;
}

static enum tl_status ask_with_stream(struct udp_test *test, struct tl_error *reterr)
{
    enum tl_status status = TL_TIMEOUT;
    for (int i = 0; i < HELLO_TRIES && status == TL_TIMEOUT; i++) {
        iperf3_hang_up(&test->control, true);
        status = ask(test, reterr);
        if (status != TL_OK) /* also the server that is deaf to TCP */
            return status;
        status = open_stream(test, reterr);
    }
    return status;
}

static enum tl_status begin(struct udp_test *test, struct tl_error *reterr)
{
    int64_t until_ns = tl_now_ns() + IPERF3_ANSWER_NS;
    enum tl_status status = iperf3_expect(&test->control, IPERF3_TEST_START, until_ns, reterr);
    if (status == TL_OK)
        status = iperf3_expect(&test->control, IPERF3_TEST_RUNNING, until_ns, reterr);
    test->start_ns = test->rate.time_ns = tl_now_ns();
    if (status == TL_OK && test->result->near_sends)
        status = udp_flow_start(test->flow, reterr);
    return status;
}

/* --- Running --------------------------------------------------------------------------------- */

/* A word of the server's before until_ns is the end of the test; the flow's own end is, too, where
 * we send. */
static enum tl_status wait_until(struct udp_test *test, int64_t until_ns, struct tl_error *reterr)
{
    bool sends = test->result->near_sends;
    for (;;) {
        int64_t now_ns = tl_now_ns(), wait_ns = until_ns - now_ns;
        tick(test);
        if (wait_ns <= 0 || atomic_load(&test->flow->done))
            return TL_OK;
        wait_ns = wait_ns < TL_CLIENT_LIVE_NS ? wait_ns : TL_CLIENT_LIVE_NS;
        struct pollfd fds[3] = {{.fd = test->control.fd, .events = POLLIN},
                                {.fd = test->flow->done_fd, .events = POLLIN},
                                {.fd = test->peer.cancel_fd, .events = POLLIN}};
        struct timespec timeout = {.tv_sec = wait_ns / TL_NS_PER_S,
                                   .tv_nsec = wait_ns % TL_NS_PER_S};
        (void)ppoll(fds, 3, &timeout, NULL);
        if (fds[2].revents)
            return tl_error_set(reterr, TL_CANCELLED, "cancelled");
        if (fds[0].revents) {
            enum tl_status status = iperf3_expect(&test->control, IPERF3_EXCHANGE_RESULTS,
                                                  now_ns + IPERF3_ANSWER_NS, reterr);
            return status == TL_OK ? tl_error_set(reterr, TL_PROTOCOL,
                                                  "the iperf3 server at %s ended a test that was "
                                                  "not over",
                                                  test->peer.host)
                                   : status;
        }
        if (sends && fds[1].revents)
            return TL_OK;
    }
}

/* The server began to send a way before its word came, and hears of the end a way late. */
static enum tl_status move_payload(struct udp_test *test, struct tl_error *reterr)
{
    int64_t duration_ns = test->spec.duration_ns;
    if (test->result->near_sends) {
        enum tl_status status =
            wait_until(test, test->start_ns + duration_ns + IPERF3_ANSWER_NS, reterr);
        if (status == TL_OK && poll(&(struct pollfd){.fd = test->peer.cancel_fd, .events = POLLIN},
                                    1, (int)(TAIL_NS / TL_NS_PER_MS)) > 0)
            status = tl_error_set(reterr, TL_CANCELLED, "cancelled");
        return status;
    }
    enum tl_status status =
        wait_until(test, test->start_ns + duration_ns - test->peer.info.connect_rtt_ns, reterr);
    if (status == TL_OK && atomic_load(&test->flow->done))
        status = tl_error_set(reterr, TL_PROTOCOL,
                              "the iperf3 server at %s sends far more than was asked for",
                              test->peer.host);
    return status;
}

static uint64_t repeats_of(int fd)
{
    struct tl_tcp_sample sample = {0};
    tl_sample_read_socket(fd, &sample);
    return tl_sample_get(&sample, TL_SF_total_retrans_count);
}

/* A word that had to be said twice tells nothing of a queue. */
static enum tl_status end_payload(struct udp_test *test, struct tl_error *reterr)
{
    uint64_t repeats = repeats_of(test->control.fd);
    int64_t said_ns = tl_now_ns();
    enum tl_status status = iperf3_say(&test->control, IPERF3_TEST_END, reterr);
    if (status == TL_OK)
        status = iperf3_expect(&test->control, IPERF3_EXCHANGE_RESULTS, said_ns + IPERF3_ANSWER_NS,
                               reterr);
    double wait_ns = (double)(tl_now_ns() - said_ns - test->peer.info.connect_rtt_ns);
    if (status == TL_OK && test->result->near_sends && repeats_of(test->control.fd) == repeats)
        test->result->wait_behind_ns = fmax(wait_ns, 0);
    return status;
}

/* --- Ending ---------------------------------------------------------------------------------- */

static enum tl_status exchange_results(struct udp_test *test, struct tl_error *reterr)
{
    struct tl_buf ours = TL_BUF_INIT;
    struct iperf3_results *theirs = malloc(sizeof *theirs);
    if (!theirs)
        return tl_error_set(reterr, TL_NOMEM, "no memory for results");
    if (test->result->near_sends)
        udp_result_take_flow(test->result, test->flow);
    iperf3_write_udp_results(test->result, &ours);
    enum tl_status status = iperf3_exchange(&test->control, &ours, 1, theirs, reterr);
    if (status == TL_OK)
        status = iperf3_udp_take_total(test->result, test->flow, &theirs->totals[0],
                                       test->peer.host, reterr);
    test->told = status == TL_OK;
    tl_buf_finish(&ours);
    free(theirs);
    return status;
}

static enum tl_status run(struct udp_test *test, struct tl_error *reterr)
{
    enum tl_status status = ask_with_stream(test, reterr);
    if (status == TL_OK)
        status = begin(test, reterr);
    if (status == TL_OK)
        status = move_payload(test, reterr);
    if (status == TL_OK)
        status = end_payload(test, reterr);
    if (status == TL_OK)
        status = exchange_results(test, reterr);
    if (status == TL_OK) /* what it does afterwards is no longer ours */
        iperf3_part(&test->control);
    iperf3_hang_up(&test->control, status != TL_OK);
    return status;
}

/* Stragglers are waited for by the flow itself. */
static void await_flow(struct udp_test *test)
{
    struct pollfd done = {.fd = test->flow->done_fd, .events = POLLIN};
    if (!test->flow->started)
        return;
    if (!test->told || test->result->near_sends)
        udp_flow_stop(test->flow);
    while (!atomic_load(&test->flow->done))
        (void)poll(&done, 1, 100);
}

static enum tl_status failed_here(const struct udp_test *test, struct tl_error *reterr)
{
    int errnum = test->flow->errnum;
    if (errnum == EMSGSIZE)
        return tl_error_set(reterr, TL_RANGE,
                            "datagrams of %u bytes do not fit this host's interface",
                            test->spec.datagram_bytes);
    return tl_error_set(reterr, tl_status_from_errno(errnum), "datagrams to %s: %s",
                        test->peer.host, strerror(errnum));
}

/* What a responder tells of its trains: how many datagrams left, which is all but of the last
 * burst, and how fast, which they bear themselves. */
static void take_trains(struct udp_test *test)
{
    struct tl_udp_result *result = test->result;
    for (unsigned i = 0; i < result->train_count; i++) {
        uint64_t before = (uint64_t)i * test->spec.train_length, sent = result->sender.sent_count;
        uint64_t left = sent > before ? sent - before : 0;
        result->trains[i].sent_count =
            left < test->spec.train_length ? (unsigned)left : test->spec.train_length;
        result->trains[i].sent_ns = test->flow->trains[i].sent_ns;
    }
}

static enum tl_status conclude(struct udp_test *test, enum tl_status status,
                               struct tl_error *reterr)
{
    struct tl_udp_result *result = test->result;
    if (test->flow) {
        await_flow(test);
        result->elapsed_ns = test->start_ns > 0 ? tl_now_ns() - test->start_ns : 0;
        udp_result_take_flow(result, test->flow);
        if (!result->near_sends) {
            iperf3_udp_take_stamps(result, test->flow);
            take_trains(test);
        }
    }
    udp_result_merge(result, result->spec.interval_ns > 0 ? result->spec.interval_ns : SERIES_NS);
    if (status == TL_OK && test->flow->errnum != 0)
        status = failed_here(test, reterr);
    result->end_signed = status == TL_OK && test->told;
    result->valid = result->end_signed;
    result->end = status == TL_OK          ? TL_UDP_END_TIME
                  : status == TL_CANCELLED ? TL_UDP_END_CANCELLED
                  : test->start_ns == 0    ? TL_UDP_END_NOT_RUN
                                           : TL_UDP_END_LOST;
    return status;
}

enum tl_status iperf3_udp_test(void *context, const struct tl_udp_spec *spec, tl_udp_live_fn *live,
                               void *live_context, struct tl_udp_result *ret_result,
                               struct tl_error *reterr)
{
    struct iperf3_end *end = context;
    struct udp_test test = {.end = end,
                            .peer = end->peer,
                            .spec = *spec,
                            .result = ret_result,
                            .live = live,
                            .context = live_context,
                            .control = {.fd = -1},
                            .rate.bps = NAN};
    enum tl_status status = udp_result_init(ret_result, spec);
    if (status != TL_OK)
        return tl_error_set(reterr, status, "no memory for a UDP test");
    test.control.peer = &test.peer;
    test.peer.tick = tick;
    test.peer.tick_context = &test;
    status = iperf3_udp_check(&test.spec, reterr);
    if (status != TL_OK)
        return status;
    ret_result->granted_ns = spec->duration_ns;
    ret_result->granted_bytes = spec->max_bytes;
    ret_result->granted_rate_bps = spec->rate_bps;
    status = run(&test, reterr);
    status = conclude(&test, status, reterr);
    udp_flow_destroy(test.flow);
    return status;
}

/* nuttcp servers of 6.1 to 8.2 as far ends.
 *
 *   HELO <-> HELO -> the test as one line -> OK (or KO, reason lines, KO)
 *        -> our streams, one after the other, to the data ports -> payload
 *        -> we close the data and, where the server sends, the control's sending side
 *        -> the server's lines, the end of the connection
 *
 * The server reverses a download ("reverse"): we connect in both directions, so that no firewall at
 * this end is in the way. Each test has a control connection of its own. */
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "far_private.h"
#include "far_socket.h"
#include "near_half.h"
#include "nuttcp_text.h"
#include "stranger.h"
#include "tightlink/base/time.h"

#define STREAMS_MAX   128
#define DURATION_MAX  (60 * TL_NS_PER_S)
#define GRACE_NS      (10 * TL_NS_PER_S)
#define BEHIND_NS     (250 * TL_NS_PER_MS) /* our time is over first, or its end looks like a break */
#define ANSWER_NS     (10 * TL_NS_PER_S)
#define FIRST_WAIT_NS (2 * TL_NS_PER_S) /* for a busy server; doubled each time */
#define TRIES_MAX     5
#define RETRY_NS      (1 * TL_NS_PER_S) /* a data port may open a moment after the OK */
#define RETRY_MS      25
/* Streams open one after the other, and a server gives up on a test that takes long to begin. */
#define OPENING_NS (2 * TL_NS_PER_S)
#define LINES_MAX  400 /* some ten lines a stream; who says more says nothing */

struct nuttcp_end {
    struct far_peer peer; /* first: stranger.h */
    struct nuttcp_version version;
};

struct nuttcp_test {
    struct far_peer peer; /* the end's, with this test's tick */
    const struct nuttcp_end *end;
    const struct tl_tcp_spec *spec;
    struct tl_tcp_result *result;
    struct near_half *half;
    bool server_ends; /* the test, by its own clock: we read until it has closed */
    int fd;           /* control; -1: closed */
};

/* --- Reaching it ---------------------------------------------------------------------------- */

static enum tl_status greet(const struct far_peer *peer, int fd, struct nuttcp_version *ret_version,
                            struct tl_error *reterr)
{
    static const char hello[] = "HELO nuttcp " NUTTCP_CLAIM "\n";
    char line[NUTTCP_LINE_SIZE];
    int64_t until_ns = tl_now_ns() + (peer->timeout_ns < ANSWER_NS ? peer->timeout_ns : ANSWER_NS);
    enum tl_status status = far_send_all(peer, fd, hello, sizeof hello - 1, until_ns, reterr);
    if (status == TL_OK)
        status = far_receive_line(peer, fd, line, sizeof line, until_ns, reterr);
    if (status == TL_TIMEOUT) /* it serves one client at a time and lets others wait in silence */
        return tl_error_set(reterr, TL_BUSY,
                            "%s port %u takes connections and does not answer: a nuttcp server "
                            "with another client does so",
                            peer->host, peer->port);
    if (status == TL_OK && !nuttcp_read_hello(line, ret_version))
        return tl_error_set(reterr, TL_PROTOCOL, "%s port %u does not speak nuttcp", peer->host,
                            peer->port);
    return status;
}

static enum tl_status look(const struct tl_far_options *options, struct far_peer *ret_peer,
                           struct nuttcp_version *ret_version, struct tl_error *reterr)
{
    int fd;
    enum tl_status status = far_peer_reach(options, ret_peer, &fd, reterr);
    if (status != TL_OK)
        return status;
    status = greet(ret_peer, fd, ret_version, reterr);
    close(fd);
    return status;
}

static enum tl_status connect_end(const struct tl_far_options *options, void **ret_end,
                                  struct tl_error *reterr)
{
    struct nuttcp_end *end = calloc(1, sizeof *end);
    if (!end)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a connection");
    enum tl_status status = look(options, &end->peer, &end->version, reterr);
    if (status != TL_OK) {
        free(end);
        return status;
    }
    end->peer.info.max_streams = STREAMS_MAX;
    end->peer.info.max_duration_ns = DURATION_MAX;
    snprintf(end->peer.info.program, sizeof end->peer.info.program, "nuttcp %u.%u.%u",
             end->version.major, end->version.minor, end->version.patch);
    *ret_end = end;
    return TL_OK;
}

static void close_end(void *end)
{
    free(end);
}

/* One that is silent may be anything: only who greets is a nuttcp. */
static enum tl_status answers(const struct tl_far_options *options, struct tl_error *reterr)
{
    struct far_peer peer;
    struct nuttcp_version version;
    enum tl_status status = look(options, &peer, &version, reterr);
    return status == TL_BUSY ? TL_TIMEOUT : status;
}

/* --- One test -------------------------------------------------------------------------------- */

static void hang_up(struct nuttcp_test *test)
{
    if (test->fd >= 0)
        close(test->fd);
    test->fd = -1;
}

static enum tl_status dial_control(struct nuttcp_test *test, struct tl_error *reterr)
{
    struct nuttcp_version version;
    enum tl_status status =
        far_peer_dial(&test->peer, test->peer.port, NULL, &test->fd, NULL, reterr);
    if (status == TL_OK)
        status = greet(&test->peer, test->fd, &version, reterr);
    if (status != TL_OK)
        hang_up(test);
    return status;
}

/* A server serves one client: some tries with growing pauses, then it is left alone. */
static enum tl_status await_turn(struct nuttcp_test *test, struct tl_error *reterr)
{
    int64_t patience_ns =
        test->spec->queue_wait_ns > 0 ? test->spec->queue_wait_ns : TL_CLIENT_QUEUE_NS;
    int64_t begun_ns = tl_now_ns(), wait_ns = FIRST_WAIT_NS;
    enum tl_status status = dial_control(test, reterr);
    for (int i = 1; (status == TL_BUSY || status == TL_REFUSED) && i < TRIES_MAX; i++) {
        if (tl_now_ns() + wait_ns - begun_ns > patience_ns)
            break;
        status = near_half_wait_turn(test->half, wait_ns, reterr);
        if (status == TL_OK)
            status = dial_control(test, reterr);
        wait_ns *= 2;
        test->result->queued_ns = tl_now_ns() - begun_ns;
    }
    return status;
}

/* Behind "KO" stand reasons, a line each, and a "KO" again. */
static enum tl_status refuse(struct nuttcp_test *test, int64_t until_ns, struct tl_error *reterr)
{
    char line[NUTTCP_LINE_SIZE], clean[2 * NUTTCP_LINE_SIZE] = "no reason given";
    enum tl_status status =
        far_receive_line(&test->peer, test->fd, line, sizeof line, until_ns, NULL);
    if (status == TL_CANCELLED)
        return tl_error_set(reterr, TL_CANCELLED, "cancelled");
    if (status == TL_OK && strncmp(line, "KO", 2) != 0)
        tl_utf8_clean(line, strlen(line), clean, sizeof clean);
    return tl_error_set(reterr, TL_DENIED, "the nuttcp server at %s refuses the test: %.200s",
                        test->peer.host, clean);
}

static enum tl_status agree(struct nuttcp_test *test, struct tl_error *reterr)
{
    struct tl_buf text = TL_BUF_INIT;
    char line[NUTTCP_LINE_SIZE];
    int64_t until_ns = tl_now_ns() + ANSWER_NS;
    /* Else the server's own end lies behind ours, which it hears of by the closed connections. */
    int64_t grace_ns = test->server_ends ? BEHIND_NS : GRACE_NS;
    double seconds = (double)(test->spec->duration_ns + grace_ns) / 1e9;
    nuttcp_write_test(test->spec, nuttcp_data_port(&test->end->version), seconds, &text);
    enum tl_status status = text.status;
    if (status == TL_OK)
        status = far_send_all(&test->peer, test->fd, text.data, text.len, until_ns, reterr);
    tl_buf_finish(&text);
    if (status == TL_OK)
        status = far_receive_line(&test->peer, test->fd, line, sizeof line, until_ns, reterr);
    if (status == TL_OK && strncmp(line, "KO", 2) == 0)
        return refuse(test, until_ns, reterr);
    if (status == TL_OK && strncmp(line, "OK", 2) != 0)
        return tl_error_set(reterr, TL_PROTOCOL, "%s port %u does not speak nuttcp",
                            test->peer.host, test->peer.port);
    return status;
}

static enum tl_status open_stream(struct nuttcp_test *test, unsigned index, struct tl_error *reterr)
{
    uint16_t port = (uint16_t)(nuttcp_data_port(&test->end->version) + index);
    int64_t until_ns = tl_now_ns() + RETRY_NS + test->peer.info.connect_rtt_ns;
    int fd;
    enum tl_status status =
        near_half_dial(&test->peer, port, test->spec, index, test->result, &fd, reterr);
    while (status == TL_REFUSED && tl_now_ns() < until_ns) {
        struct pollfd cancel = {.fd = test->peer.cancel_fd, .events = POLLIN};
        if (poll(&cancel, 1, RETRY_MS) > 0)
            return tl_error_set(reterr, TL_CANCELLED, "cancelled");
        status = near_half_dial(&test->peer, port, test->spec, index, test->result, &fd, reterr);
    }
    return status == TL_OK ? near_half_add(test->half, fd, reterr) : status;
}

static enum tl_status begin(struct nuttcp_test *test, struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    for (unsigned i = 0; i < test->spec->streams && status == TL_OK; i++)
        status = open_stream(test, i, reterr);
    return status == TL_OK ? near_half_start(test->half, reterr) : status;
}

static enum tl_status move_payload(struct nuttcp_test *test, struct tl_error *reterr)
{
    while (!near_half_step(test->half)) {
        struct pollfd fds[2] = {{.fd = near_half_event_fd(test->half), .events = POLLIN},
                                {.fd = test->peer.cancel_fd, .events = POLLIN}};
        int64_t left_ns = near_half_due_ns(test->half) - tl_now_ns();
        (void)poll(fds, 2, left_ns > 0 ? (int)(left_ns / TL_NS_PER_MS) + 1 : 0);
        if (fds[1].revents)
            return tl_error_set(reterr, TL_CANCELLED, "cancelled");
    }
    return TL_OK;
}

/* The server's lines until it closes; the first that tells bytes counts. They are of all streams
 * together. */
static enum tl_status read_results(struct nuttcp_test *test, struct tl_error *reterr)
{
    int64_t until_ns = tl_now_ns() + ANSWER_NS;
    char line[NUTTCP_LINE_SIZE];
    uint64_t bytes = 0;
    bool told = false;
    enum tl_status status = TL_OK;
    for (int i = 0; i < LINES_MAX && status == TL_OK; i++) {
        status = far_receive_line(&test->peer, test->fd, line, sizeof line, until_ns, reterr);
        if (status == TL_OK && !told)
            told = nuttcp_read_total(line, &bytes);
    }
    if (status == TL_CANCELLED || status == TL_PROTOCOL)
        return status;
    if (!told)
        return tl_error_set(reterr, status == TL_OK ? TL_PROTOCOL : TL_CLOSED,
                            "the nuttcp server at %s did not tell what it counted",
                            test->peer.host);
    near_half_take_total(test->half, 0, bytes);
    test->result->end_signed = true;
    return TL_OK;
}

static enum tl_status await_end(struct nuttcp_test *test, struct tl_error *reterr)
{
    struct pollfd fds[2] = {{.fd = near_half_event_fd(test->half), .events = POLLIN},
                            {.fd = test->peer.cancel_fd, .events = POLLIN}};
    if (test->server_ends && test->result->end != TL_TCP_END_BYTES)
        (void)poll(fds, 2, (int)(GRACE_NS / TL_NS_PER_MS));
    return fds[1].revents ? tl_error_set(reterr, TL_CANCELLED, "cancelled") : TL_OK;
}

static enum tl_status run(struct nuttcp_test *test, struct tl_error *reterr)
{
    enum tl_status status = await_turn(test, reterr);
    if (status == TL_OK)
        status = agree(test, reterr);
    if (status == TL_OK)
        status = begin(test, reterr);
    if (status == TL_OK)
        status = move_payload(test, reterr);
    if (status != TL_OK)
        return status;
    if (test->result->near_sends) {
        near_half_shut(test->half); /* it counts what it reads: all that was sent */
    } else {
        status = await_end(test, reterr);
        near_half_stop(test->half);
        (void)shutdown(test->fd, SHUT_WR);
    }
    return status == TL_OK ? read_results(test, reterr) : status;
}

/* As many streams as open in time, with a note where they are fewer. */
static struct tl_tcp_spec grant(const struct nuttcp_end *end, const struct tl_tcp_spec *spec)
{
    struct tl_tcp_spec granted = *spec;
    int64_t rtt_ns = end->peer.info.connect_rtt_ns;
    int64_t most = rtt_ns > 0 ? OPENING_NS / rtt_ns : STREAMS_MAX;
    if (most < spec->streams)
        granted.streams = most > 1 ? (unsigned)most : 1;
    return granted;
}

static enum tl_status tcp_test(void *context, const struct tl_tcp_spec *spec, tl_tcp_live_fn *live,
                               void *live_context, struct tl_tcp_result *ret_result,
                               struct tl_error *reterr)
{
    const struct nuttcp_end *end = context;
    struct tl_tcp_spec granted = grant(end, spec);
    struct nuttcp_test test = {
        .peer = end->peer, .end = end, .spec = &granted, .result = ret_result, .fd = -1};
    test.server_ends =
        spec->direction == TL_WIRE_DOWNLOAD && nuttcp_waits_for_its_queue(&end->version);
    if (test.server_ends)
        granted.enough = (struct tl_steady_enough){.rate = false};
    int64_t asked_ns = tl_now_ns();
    result_init(ret_result, spec);
    enum tl_status status =
        stranger_check_spec(spec, "a nuttcp server", STRANGER_PACES, STREAMS_MAX, reterr);
    if (status == TL_OK)
        status = near_half_begin(&end->peer, &granted, GRACE_NS, ret_result, live, live_context,
                                 &test.half, reterr);
    if (status != TL_OK)
        return status;
    if (granted.streams < spec->streams)
        result_note(ret_result, "Only %u streams: nuttcp opens them one after the other.",
                    granted.streams);
    test.peer.tick = near_half_tick;
    test.peer.tick_context = test.half;
    status = run(&test, reterr);
    hang_up(&test);
    status = near_half_finish(test.half, asked_ns, status, reterr);
    near_half_destroy(test.half);
    return status;
}

_Static_assert(offsetof(struct nuttcp_end, peer) == 0, "stranger.h reads the peer there");

const struct far_ops far_nuttcp_ops = {
    .connect = connect_end,
    .close = close_end,
    .answers = answers,
    STRANGER_OPS,
    .tcp_test = tcp_test,
};

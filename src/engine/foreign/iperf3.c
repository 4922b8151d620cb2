/* iperf3 servers of 3.1 to 3.21 as far ends: reaching one, and TCP tests, one way or (from 3.7 on)
 * both at once.
 *
 *   cookie -> PARAM_EXCHANGE -> parameters -> CREATE_STREAMS -> our streams, each with the cookie
 *          -> TEST_START, TEST_RUNNING -> payload -> we: TEST_END -> EXCHANGE_RESULTS
 *          -> our results, theirs -> DISPLAY_RESULTS -> we: DONE
 *
 * The server ends nothing by itself within our time. Our streams stop when it has closed its data
 * sockets: a connection that is reset before that is an error to it. Every test has a control
 * connection of its own; between tests nothing is open, because an idle one wedges old servers. */
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "far_private.h"
#include "far_socket.h"
#include "iperf3_end.h"
#include "iperf3_json.h"
#include "near_half.h"
#include "stranger.h"
#include "tightlink/base/time.h"

#define STREAMS_MAX  128
#define DURATION_MAX (60 * TL_NS_PER_S)
#define GRACE_NS     (12 * TL_NS_PER_S)
#define SILENCE_NS   (2 * TL_NS_PER_S) /* for the server to close what it sends or takes */

/* --- Reaching it ---------------------------------------------------------------------------- */

/* One connection to greet, and close. */
static enum tl_status look(const struct tl_far_options *options, struct far_peer *ret_peer,
                           struct tl_error *reterr)
{
    struct iperf3_control control = {.peer = ret_peer, .fd = -1};
    enum tl_status status = far_peer_reach(options, ret_peer, &control.fd, reterr);
    if (status == TL_OK)
        status = iperf3_greet(&control, ret_peer->timeout_ns, reterr);
    iperf3_hang_up(&control, false);
    return status;
}

static enum tl_status connect_end(const struct tl_far_options *options, void **ret_end,
                                  struct tl_error *reterr)
{
    struct iperf3_end *end = calloc(1, sizeof *end);
    if (!end)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a connection");
    enum tl_status status = look(options, &end->peer, reterr);
    for (int i = 1; iperf3_may_reopen(status, i, options->reach.cancel_fd); i++)
        status = look(options, &end->peer, reterr);
    if (status != TL_OK && status != TL_BUSY) { /* a test waits for its turn */
        free(end);
        return status;
    }
    end->login = options->login;
    end->peer.info.max_streams = STREAMS_MAX;
    end->peer.info.max_duration_ns = DURATION_MAX;
    memcpy(end->peer.info.program, "iperf3", sizeof "iperf3");
    *ret_end = end;
    return TL_OK;
}

static void close_end(void *end)
{
    free(end);
}

static enum tl_status answers(const struct tl_far_options *options, struct tl_error *reterr)
{
    struct far_peer peer;
    return look(options, &peer, reterr);
}

/* --- One test -------------------------------------------------------------------------------- */

/* One direction of a test. Of both at once the client's senders come first, to the server as well.
 */
struct iperf3_lane {
    struct tl_tcp_spec spec;
    struct tl_tcp_result *result;
    struct near_half *half;
};

struct iperf3_test {
    struct iperf3_end *end;
    struct far_peer peer; /* the end's, with this test's tick */
    const struct tl_tcp_spec *spec;
    struct iperf3_lane lanes[2];
    unsigned lane_count;
    struct iperf3_control control;
};

/* The one that live numbers are of: the download, or the only one. */
static struct iperf3_lane *told_lane(struct iperf3_test *test)
{
    return &test->lanes[test->lane_count - 1];
}

/* One after the other: the server numbers them as they come. */
static enum tl_status open_stream(struct iperf3_test *test, struct iperf3_lane *lane,
                                  unsigned index, struct tl_error *reterr)
{
    const struct far_peer *peer = &test->peer;
    int fd;
    enum tl_status status =
        near_half_dial(peer, peer->port, &lane->spec, index, lane->result, &fd, reterr);
    if (status != TL_OK)
        return status;
    status = far_send_all(peer, fd, test->control.cookie, IPERF3_COOKIE_SIZE,
                          tl_now_ns() + IPERF3_ANSWER_NS, reterr);
    if (status == TL_OK)
        return near_half_add(lane->half, fd, reterr);
    close(fd);
    return status;
}

static enum tl_status begin(struct iperf3_test *test, struct tl_error *reterr)
{
    int64_t until_ns = tl_now_ns() + IPERF3_ANSWER_NS;
    enum tl_status status = TL_OK;
    for (unsigned i = 0; i < test->lane_count; i++)
        for (unsigned j = 0; j < test->spec->streams && status == TL_OK; j++)
            status = open_stream(test, &test->lanes[i], j, reterr);
    if (status == TL_OK)
        status = iperf3_expect(&test->control, IPERF3_TEST_START, until_ns, reterr);
    if (status == TL_OK)
        status = iperf3_expect(&test->control, IPERF3_TEST_RUNNING, until_ns, reterr);
    for (unsigned i = test->lane_count;
         i-- > 0 && status == TL_OK;) /* who receives is ready first */
        status = near_half_start(test->lanes[i].half, reterr);
    return status;
}

/* Whether the test may end: the rate of every lane is known, or one lane is at its end, and then
 * the others are. */
static bool is_over(struct iperf3_test *test)
{
    enum tl_tcp_end end = TL_TCP_END_NOT_RUN;
    unsigned over = 0;
    bool cut = false;
    for (unsigned i = 0; i < test->lane_count; i++) {
        const struct iperf3_lane *lane = &test->lanes[i];
        bool may_end = near_half_step(lane->half);
        over += may_end;
        cut = cut || (may_end && lane->result->end != TL_TCP_END_KNOWN);
        end = lane->result->end != TL_TCP_END_NOT_RUN ? lane->result->end : end;
    }
    if (over < test->lane_count && !cut)
        return false;
    for (unsigned i = 0; i < test->lane_count; i++)
        if (test->lanes[i].result->end == TL_TCP_END_NOT_RUN)
            test->lanes[i].result->end = end;
    return true;
}

static int64_t due_ns(const struct iperf3_test *test)
{
    int64_t least_ns = INT64_MAX;
    for (unsigned i = 0; i < test->lane_count; i++) {
        int64_t ns = near_half_due_ns(test->lanes[i].half);
        least_ns = ns < least_ns ? ns : least_ns;
    }
    return least_ns;
}

/* Until the test may end. A word of the server's in between is the end of it. */
static enum tl_status move_payload(struct iperf3_test *test, struct tl_error *reterr)
{
    while (!is_over(test)) {
        struct pollfd fds[4] = {{.fd = test->control.fd, .events = POLLIN},
                                {.fd = test->peer.cancel_fd, .events = POLLIN}};
        for (unsigned i = 0; i < test->lane_count; i++)
            fds[2 + i] =
                (struct pollfd){.fd = near_half_event_fd(test->lanes[i].half), .events = POLLIN};
        int64_t left_ns = due_ns(test) - tl_now_ns();
        (void)poll(fds, 2 + test->lane_count, left_ns > 0 ? (int)(left_ns / TL_NS_PER_MS) + 1 : 0);
        if (fds[1].revents)
            return tl_error_set(reterr, TL_CANCELLED, "cancelled");
        if (fds[0].revents && is_over(test) && test->lanes[0].result->end == TL_TCP_END_BYTES)
            return TL_OK;   /* our streams stopped at their cap, which it takes for a failure */
        if (fds[0].revents) /* it has nothing to say now but that it ends or fails */
            return iperf3_expect(&test->control, IPERF3_EXCHANGE_RESULTS,
                                 tl_now_ns() + IPERF3_ANSWER_NS, reterr) == TL_OK
                       ? tl_error_set(reterr, TL_PROTOCOL,
                                      "the iperf3 server at %s ended a test that was not over",
                                      test->peer.host)
                   : reterr ? reterr->status
                            : TL_CLOSED;
    }
    return TL_OK;
}

static void stop(struct iperf3_test *test)
{
    for (unsigned i = 0; i < test->lane_count; i++)
        near_half_stop(test->lanes[i].half);
}

/* The wire is silent soon, whether or not the server takes notice. */
static enum tl_status end_payload(struct iperf3_test *test, struct tl_error *reterr)
{
    int64_t until_ns = tl_now_ns() + IPERF3_ANSWER_NS;
    int64_t quiet_ns = tl_now_ns() + SILENCE_NS + 4 * test->peer.info.connect_rtt_ns;
    enum tl_status status = iperf3_say(&test->control, IPERF3_TEST_END, reterr);
    if (status == TL_OK)
        status = far_await(&test->peer, test->control.fd, POLLIN, quiet_ns, reterr);
    stop(test);
    return status == TL_OK || status == TL_TIMEOUT
               ? iperf3_expect(&test->control, IPERF3_EXCHANGE_RESULTS, until_ns, reterr)
               : status;
}

static void take_results(struct iperf3_test *test, const struct iperf3_results *theirs)
{
    for (unsigned i = 0; i < theirs->count; i++) {
        struct iperf3_lane *lane = &test->lanes[i / test->spec->streams];
        near_half_take_total(lane->half, i % test->spec->streams,
                             (uint64_t)theirs->totals[i].bytes);
    }
    for (unsigned i = 0; i < test->lane_count; i++) {
        struct tl_tcp_result *result = test->lanes[i].result;
        if (!result->near_sends)
            memcpy(result->sender.congestion, theirs->congestion, sizeof theirs->congestion);
        result->end_signed = true;
    }
}

static enum tl_status exchange_results(struct iperf3_test *test, struct tl_error *reterr)
{
    unsigned streams = test->lane_count * test->spec->streams;
    struct tl_buf ours = TL_BUF_INIT;
    struct iperf3_results *theirs = malloc(sizeof *theirs);
    if (!theirs)
        return tl_error_set(reterr, TL_NOMEM, "no memory for results");
    iperf3_write_results(test->lanes[0].result, test->lane_count > 1 ? test->lanes[1].result : NULL,
                         &ours);
    enum tl_status status = iperf3_exchange(&test->control, &ours, streams, theirs, reterr);
    if (status == TL_OK)
        take_results(test, theirs);
    tl_buf_finish(&ours);
    free(theirs);
    return status;
}

static void write_parameters(const void *spec, const char *token, struct tl_buf *ret_text)
{
    iperf3_write_parameters(spec, token, ret_text);
}

static enum tl_status wait_turn(void *half, int64_t wait_ns, struct tl_error *reterr)
{
    return near_half_wait_turn(half, wait_ns, reterr);
}

static enum tl_status ask(struct iperf3_test *test, struct tl_error *reterr)
{
    struct iperf3_ask ask = {.end = test->end,
                             .control = &test->control,
                             .queue_wait_ns = test->spec->queue_wait_ns,
                             .write = write_parameters,
                             .spec = test->spec,
                             .wait_turn = wait_turn,
                             .wait_context = told_lane(test)->half};
    enum tl_status status = iperf3_ask(&ask, reterr);
    for (unsigned i = 0; i < test->lane_count; i++)
        test->lanes[i].result->queued_ns = ask.queued_ns;
    return status;
}

static enum tl_status run(struct iperf3_test *test, struct tl_error *reterr)
{
    enum tl_status status = ask(test, reterr);
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
    return status;
}

static void tick(void *test)
{
    near_half_tick(told_lane(test)->half);
}

static enum tl_status add_lane(struct iperf3_test *test, enum tl_wire_direction direction,
                               struct tl_tcp_result *result, tl_tcp_live_fn *live, void *context,
                               struct tl_error *reterr)
{
    struct iperf3_lane *lane = &test->lanes[test->lane_count];
    bool both = test->spec->direction == TL_WIRE_BOTH;
    lane->spec = *test->spec;
    lane->spec.direction = direction;
    lane->spec.max_bytes /= both ? 2 : 1;
    lane->result = result;
    result_init(result, &lane->spec);
    enum tl_status status = near_half_begin(&test->end->peer, &lane->spec, GRACE_NS, result, live,
                                            context, &lane->half, reterr);
    test->lane_count += status == TL_OK;
    return status;
}

/* Both directions at once have two lanes, each with a result of its own. */
static enum tl_status add_lanes(struct iperf3_test *test, struct tl_tcp_result *result,
                                tl_tcp_live_fn *live, void *context, struct tl_error *reterr)
{
    enum tl_wire_direction direction = test->spec->direction;
    struct tl_tcp_result *upload = direction == TL_WIRE_BOTH ? calloc(1, sizeof *upload) : NULL;
    enum tl_status status = TL_OK;
    if (direction == TL_WIRE_BOTH && !upload)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a test");
    if (upload)
        status = add_lane(test, TL_WIRE_UPLOAD, upload, NULL, NULL, reterr);
    if (status == TL_OK)
        status =
            add_lane(test, upload ? TL_WIRE_DOWNLOAD : direction, result, live, context, reterr);
    result->upload = upload;
    return status;
}

/* A server of before 3.7 takes half of the connections, and hangs up on those that it was to send
 * on. */
static enum tl_status explain_both(const struct iperf3_test *test, enum tl_status status,
                                   struct tl_error *reterr)
{
    const struct tl_tcp_result *download = test->lanes[test->lane_count - 1].result;
    if (test->lane_count < 2 || status == TL_OK || status == TL_CANCELLED ||
        download->elapsed_ns == 0 || download->receiver.bytes > download->streams)
        return status;
    return tl_error_set(
        reterr, TL_UNSUPPORTED,
        "the iperf3 server at %s sends nothing while it receives: one of before 3.7 "
        "cannot run both directions in one test",
        test->peer.host);
}

static enum tl_status finish(struct iperf3_test *test, int64_t asked_ns, enum tl_status status,
                             struct tl_error *reterr)
{
    enum tl_status worst = test->lane_count > 0 ? TL_OK : status; /* a lane may know better */
    for (unsigned i = 0; i < test->lane_count; i++) {
        enum tl_status own =
            near_half_finish(test->lanes[i].half, asked_ns, status, worst == TL_OK ? reterr : NULL);
        worst = worst == TL_OK ? own : worst;
        near_half_destroy(test->lanes[i].half);
    }
    return worst;
}

static enum tl_status tcp_test(void *context, const struct tl_tcp_spec *spec, tl_tcp_live_fn *live,
                               void *live_context, struct tl_tcp_result *ret_result,
                               struct tl_error *reterr)
{
    struct iperf3_end *end = context;
    struct iperf3_test test = {.end = end, .peer = end->peer, .spec = spec, .control = {.fd = -1}};
    unsigned most = spec->direction == TL_WIRE_BOTH ? STREAMS_MAX / 2 : STREAMS_MAX;
    int64_t asked_ns = tl_now_ns();
    test.control.peer = &test.peer;
    result_init(ret_result, spec);
    enum tl_status status = stranger_check_spec(
        spec, "an iperf3 server", STRANGER_PACES | STRANGER_CHOOSES_CONGESTION | STRANGER_BOTH,
        most, reterr);
    if (status != TL_OK)
        return status;
    status = add_lanes(&test, ret_result, live, live_context, reterr);
    test.peer.tick = tick;
    test.peer.tick_context = &test;
    if (status == TL_OK)
        status = run(&test, reterr);
    iperf3_hang_up(&test.control, status != TL_OK);
    status = finish(&test, asked_ns, status, reterr);
    return explain_both(&test, status, reterr);
}

_Static_assert(offsetof(struct iperf3_end, peer) == 0, "stranger.h reads the peer there");

const struct far_ops far_iperf3_ops = {
    .connect = connect_end,
    .close = close_end,
    .answers = answers,
    STRANGER_OPS,
    .tcp_test = tcp_test,
    .udp_test = iperf3_udp_test,
};

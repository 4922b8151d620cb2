/* A session's UDP test at the responder: granted like every test (turn.c), begun
 * with a tuple that has proved itself, run by a thread of udp_flow.h, ended by reports.
 *
 * The test has a socket of its own on the port (udp_port.c). It sends to the tuple that proved
 * itself and nowhere else (P4); a datagram of the test from any other address ends it: the
 * client's address was changed on the way and has to be proved again, with the next test. */
#include "udp_test.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "address.h"
#include "disk_part.h"
#include "readings.h"
#include "responder_private.h"
#include "tightlink/base/time.h"
#include "turn.h"
#include "udp_flow.h"
#include "udp_report.h"
#include "udp_tuple.h"

#define GRACE_STANDARD_MS 100
#define PROGRESS_NS       (100 * TL_NS_PER_MS)

struct udp_test {
    struct tl_wire_test_udp asked;
    struct udp_flow *flow; /* NULL: not begun */
    int fd;                /* udp_port.c; -1: none */
    uint64_t cookie;
    int64_t told_ns; /* last report so far */
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* --- Asking ----------------------------------------------------------------------------------- */

static uint64_t train_bytes(const struct tl_wire_test_udp *asked)
{
    return (uint64_t)asked->train_length * asked->datagram_bytes;
}

/* What a test of this rate or these trains can send at most, for the quota and as a bound. */
static uint64_t worst_bytes(const struct tl_wire_test_udp *asked, uint64_t rate_bps,
                            uint32_t duration_ms)
{
    if (asked->train_length > 0)
        return (uint64_t)asked->train_length * asked->train_count * asked->datagram_bytes;
    if (rate_bps == 0)
        return (uint64_t)tl_limit_row(TL_LIMIT_TEST_BYTES)->max;
    double paced = (double)rate_bps / 8 * duration_ms / 1000;
    uint64_t burst = asked->burst_count > 1 ? asked->burst_count : 1;
    return (uint64_t)paced + (2 * burst + 4) * asked->datagram_bytes; /* time ends it, not this */
}

/* Every number from outside passes limits.h here, and then the administrator's. */
static void clamp_test(struct session *session)
{
    const struct tl_responder_options *options = &session->responder->options;
    struct tl_wire_ready *granted = &session->test.granted;
    struct tl_wire_test_udp *asked = &session->test.udp->asked;
    uint64_t duration_ms = (uint64_t)tl_limit_clamp(TL_LIMIT_DURATION_MS, asked->duration_ms);
    granted->duration_ms = (uint32_t)least(duration_ms, options->max_seconds * 1000);
    granted->streams = 1;
    uint64_t interval_us =
        (uint64_t)tl_limit_clamp(TL_LIMIT_SAMPLE_INTERVAL_US, asked->interval_us);
    uint64_t longest_us = granted->duration_ms * 1000 / (TL_UDP_INTERVALS_MAX - 10) + 1;
    interval_us = interval_us > longest_us ? interval_us : longest_us;
    granted->sample_interval_us =
        (uint32_t)tl_limit_clamp(TL_LIMIT_SAMPLE_INTERVAL_US, interval_us);
    uint64_t rate_bps = (uint64_t)tl_limit_clamp(TL_LIMIT_PACING_BPS, asked->rate_bps);
    uint64_t cap_bps = options->rate_cap_bps;
    if (cap_bps > 0 && asked->train_length == 0)
        rate_bps = rate_bps > 0 ? least(rate_bps, cap_bps) : cap_bps;
    granted->pacing_bps = asked->train_length > 0 ? 0 : rate_bps;
    granted->max_bytes = least((uint64_t)tl_limit_clamp(TL_LIMIT_TEST_BYTES, asked->max_bytes),
                               worst_bytes(asked, rate_bps, granted->duration_ms));
    if (cap_bps > 0) {
        uint64_t bytes = (uint64_t)((double)cap_bps / 8 * granted->duration_ms / 1000);
        granted->max_bytes = least(granted->max_bytes, bytes ? bytes : 1);
    }
    if (asked->train_gap_us < TL_UDP_TRAIN_GAP_MIN_US)
        asked->train_gap_us = TL_UDP_TRAIN_GAP_MIN_US;
    /* A train leaves at once, by its nature; trains together keep to the cap. */
    if (cap_bps > 0 && asked->train_length > 0) {
        uint64_t gap_us = train_bytes(asked) * 8 * 1000000 / cap_bps;
        if (asked->train_gap_us < gap_us)
            asked->train_gap_us = (uint32_t)least(gap_us, UINT32_MAX);
    }
    asked->rcvbuf_bytes = (uint32_t)tl_limit_clamp(TL_LIMIT_BUFFER_BYTES, asked->rcvbuf_bytes);
}

/* What leaves at the rate of the line, whatever the pace: a train, or the burst of a rate. */
static uint64_t at_once_bytes(const struct tl_wire_test_udp *asked)
{
    if (asked->train_length > 0)
        return train_bytes(asked);
    return asked->burst_count > 1 ? (uint64_t)asked->burst_count * asked->datagram_bytes : 0;
}

/* Under a rate cap that may be no more than may go at once, and the next such test waits until the
 * cap would have carried what this one sends so (turn_ready). */
static bool burst_fits(struct session *session)
{
    struct session_test *test = &session->test;
    uint64_t bytes = at_once_bytes(&test->udp->asked);
    double cap_bps = (double)session->responder->options.rate_cap_bps;
    double most = cap_bps / 8 * (double)TL_RATE_CAP_BURST_NS / TL_NS_PER_S;
    if (cap_bps <= 0 || bytes == 0)
        return true;
    if ((double)bytes > most) {
        session_error(session, TL_WIRE_E_REFUSED,
                      "%llu bytes would leave at once; under this responder's rate cap that may "
                      "be %.0f",
                      (unsigned long long)bytes, most);
        return false;
    }
    test->burst_ns = (int64_t)((double)bytes * 8e9 / cap_bps);
    return true;
}

/* Trains keep to the cap among themselves (clamp_test): the last one ends so much later. */
static void count_bursts(struct session *session)
{
    struct tl_responder *responder = session->responder;
    const struct session_test *test = &session->test;
    int64_t from_ns = responder->bursts_ns > test->start_ns ? responder->bursts_ns : test->start_ns;
    unsigned count = test->udp->asked.train_count;
    if (test->burst_ns > 0)
        responder->bursts_ns = from_ns + test->burst_ns * (count > 0 ? count : 1);
}

/* --- Starting --------------------------------------------------------------------------------- */

static void flow_done(struct watch *watch, uint32_t events);

/* Where to and from: the tuple, and our address that the client dialled. */
static enum tl_status set_route(const struct session *session, const struct udp_tuple *tuple,
                                struct udp_route *ret_route, struct tl_error *reterr)
{
    struct sockaddr_in6 own;
    socklen_t len = sizeof own;
    if (getsockname(session->watch.fd, (struct sockaddr *)&own, &len) < 0)
        return tl_error_set(reterr, TL_IO, "the control connection has no address");
    address_normalise(&own);
    udp_route_set(ret_route, &tuple->from, &own, udp_port_fd(session->responder->udp_port));
    return TL_OK;
}

static enum tl_status create_flow(struct session *session, const struct udp_route *route,
                                  struct tl_error *reterr)
{
    struct session_test *test = &session->test;
    const struct tl_wire_test_udp *asked = &test->udp->asked;
    struct udp_flow_spec spec = {
        .send = asked->direction == TL_WIRE_DOWNLOAD,
        .fd = test->udp->fd,
        .borrowed = true,
        .route = *route,
        .pass = {test->udp->cookie, session->udp_seal},
        .test_id = test->granted.test_id,
        .duration_ns = test->granted.duration_ms * TL_NS_PER_MS,
        .max_bytes = test->granted.max_bytes,
        .rate_bps = test->granted.pacing_bps,
        .datagram_bytes = asked->datagram_bytes,
        .burst_count = asked->burst_count,
        .gso_segments = asked->gso_segments,
        .train_length = asked->train_length,
        .train_count = asked->train_count,
        .train_gap_ns = asked->train_gap_us * TL_NS_PER_US,
        .interval_ns = test->granted.sample_interval_us * TL_NS_PER_US,
        .grace_ns = (asked->grace_ms ? asked->grace_ms : GRACE_STANDARD_MS) * TL_NS_PER_MS,
        .patience_ns = session_limit_ns(TL_LIMIT_GRACE_MS),
        .gro = asked->gro,
        .head_crc = asked->head_crc,
        .rcvbuf_bytes = (int)asked->rcvbuf_bytes,
    };
    if (spec.grace_ns > UDP_GRACE_MAX_NS)
        spec.grace_ns = UDP_GRACE_MAX_NS;
    udp_socket_dscp(test->udp->fd, asked->dscp);
    return udp_flow_create(&spec, &test->udp->flow, reterr);
}

static void begin(struct session *session, const struct udp_tuple *tuple)
{
    struct session_test *test = &session->test;
    struct udp_test *udp = test->udp;
    struct tl_error error = {0};
    struct udp_route route;
    udp->cookie = tuple->cookie;
    enum tl_status status = set_route(session, tuple, &route, &error);
    if (status == TL_OK)
        status = udp_port_join(session->responder->udp_port, udp->cookie, &udp->fd, &error);
    if (status == TL_OK)
        status = create_flow(session, &route, &error);
    if (status == TL_OK) {
        readings_begin(session);
        test->start_ns = tl_now_ns();
        status = udp_flow_start(udp->flow, &error);
    }
    if (status == TL_OK) {
        test->udp_done.fd = udp->flow->done_fd;
        status = loop_add(session->responder->loop, &test->udp_done, EPOLLIN, flow_done);
    }
    if (status != TL_OK) {
        test->udp_done.fd = -1;
        udp_flow_destroy(udp->flow);
        udp->flow = NULL;
        udp_port_leave(session->responder->udp_port, udp->fd);
        udp->fd = -1;
        session_error(session, TL_WIRE_E_INTERNAL, "the datagrams: %s", error.text);
        return;
    }
    count_bursts(session);
    test->running = true;
    session->state = SESSION_RUNNING;
    session->deadline_ns = INT64_MAX;
    udp->told_ns = test->start_ns;
    test->hard_end_ns = test->start_ns + test->granted.duration_ms * TL_NS_PER_MS +
                        session_limit_ns(TL_LIMIT_GRACE_MS);
    struct tl_wire_started started = {.test_id = test->granted.test_id,
                                      .responder_ns = (uint64_t)test->start_ns};
    uint8_t frame[TL_WIRE_FRAME_MAX];
    session_send(session, frame, tl_wire_encode_started(&started, frame));
}

static void start(struct session *session, const struct tl_wire_frame *frame)
{
    struct tl_wire_udp_start message;
    struct tl_error error;
    if (tl_wire_decode_udp_start(frame->payload, frame->payload_len, &message, &error) != TL_OK) {
        session_error(session, TL_WIRE_E_PROTOCOL, "%s", error.text);
        return;
    }
    if (session->state != SESSION_READY || !session->test.udp ||
        message.test_id != session->test.granted.test_id) {
        session_error(session, TL_WIRE_E_STATE, "UDP_START without READY");
        return;
    }
    const struct udp_tuple *tuple = udp_tuple_find_proven(session, message.cookie);
    if (tuple)
        begin(session, tuple);
    else
        session_error(session, TL_WIRE_E_REFUSED, "no address has proved itself by this cookie");
}

/* --- Running ---------------------------------------------------------------------------------- */

/* The client's account as a sender. One that crosses our own end is late, not wrong. */
static void take_report(struct session *session, const struct tl_wire_frame *frame)
{
    struct tl_wire_udp_report report;
    struct tl_error error;
    struct udp_test *udp = session->test.udp;
    if (tl_wire_decode_udp_report(frame->payload, frame->payload_len, &report, &error) != TL_OK) {
        session_error(session, TL_WIRE_E_PROTOCOL, "%s", error.text);
        return;
    }
    if (report.test_id > session->last_test_id || report.role != TL_UDP_ROLE_SENDER ||
        !tl_udp_field_has(&report.fields, TL_US_sent_count)) {
        session_error(session, TL_WIRE_E_STATE, "UDP_REPORT of test %u", report.test_id);
        return;
    }
    if (session->state == SESSION_RUNNING && udp && report.test_id == session->last_test_id &&
        udp->asked.direction == TL_WIRE_UPLOAD)
        udp_flow_sender_ended(udp->flow, report.fields.values[TL_US_sent_count]);
}

/* --- The end ---------------------------------------------------------------------------------- */

static void send_end(struct session *session)
{
    struct session_test *test = &session->test;
    struct udp_flow *flow = test->udp->flow;
    struct tl_wire_test_end end = {.token = session->token,
                                   .test_id = test->granted.test_id,
                                   .reason = (uint8_t)test->reason,
                                   .count = 1,
                                   .streams = 1};
    if (flow) {
        bool sends = flow->spec.send;
        int64_t last_ns = atomic_load(&flow->live_ns);
        end.duration_ns = (uint64_t)(tl_now_ns() - test->start_ns);
        end.totals[0] = (struct tl_wire_stream_total){
            .bytes = atomic_load(&flow->live_bytes),
            .duration_ns = last_ns > 0 ? (uint64_t)last_ns : 0,
            .cpu_ns = sends ? flow->sender.cpu_ns : flow->receiver.cpu_ns};
    }
    session_rest(session);
    uint8_t frame[TL_WIRE_FRAME_MAX];
    session_send(session, frame, tl_wire_encode_test_end(&end, frame));
}

static enum tl_wire_end_reason judge_end(const struct udp_flow *flow)
{
    if (atomic_load(&flow->rebound))
        return TL_WIRE_END_REBOUND;
    if (flow->errnum != 0 && (!flow->spec.send || flow->sender_end == UDP_SENDER_FAILED))
        return TL_WIRE_END_FAILED;
    if (!flow->spec.send)
        return flow->overfed ? TL_WIRE_END_BYTES : TL_WIRE_END_TIME;
    switch (flow->sender_end) {
    case UDP_SENDER_BYTES:
        return TL_WIRE_END_BYTES;
    case UDP_SENDER_UNHEARD:
    case UDP_SENDER_BLACKHOLE:
        return TL_WIRE_END_UNHEARD;
    default:
        return TL_WIRE_END_TIME;
    }
}

static void send_reports(struct session *session)
{
    struct udp_flow *flow = session->test.udp->flow;
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_udp_report *report = calloc(1, sizeof *report);
    struct tl_wire_udp_series *series = calloc(1, sizeof *series);
    if (report && series) {
        udp_report_from_flow(flow, report);
        session_send(session, frame, tl_wire_encode_udp_report(report, frame));
        for (unsigned at = 0; udp_series_from_flow(flow, TL_UDP_SERIES_INTERVALS, &at, series);)
            session_send(session, frame, tl_wire_encode_udp_series(series, frame));
        for (unsigned at = 0; udp_series_from_flow(flow, TL_UDP_SERIES_TRAINS, &at, series);)
            session_send(session, frame, tl_wire_encode_udp_series(series, frame));
    } else {
        session_error(session, TL_WIRE_E_INTERNAL, "out of memory");
    }
    free(report);
    free(series);
}

static void forget(struct session *session)
{
    struct session_test *test = &session->test;
    struct udp_test *udp = test->udp;
    uint64_t moved = 0;
    if (!udp)
        return;
    if (udp->flow) {
        (void)loop_release(session->responder->loop, &test->udp_done); /* the flow's own */
        moved = atomic_load(udp->flow->spec.send ? &udp->flow->live_bytes : &udp->flow->came_bytes);
        session->tests++;
    }
    turn_settle(session, moved);
    session->bytes += moved;
    udp_flow_destroy(udp->flow);
    udp_port_leave(session->responder->udp_port, udp->fd);
    free(udp);
    test->udp = NULL;
    test->running = false;
    session->responder->queue_dirty = true;
}

static void flow_done(struct watch *watch, uint32_t events)
{
    struct session *session =
        (struct session *)((char *)watch - offsetof(struct session, test.udp_done));
    /* From here on what the thread has left is ours; the descriptor alone orders nothing. */
    if (!atomic_load(&session->test.udp->flow->done))
        return;
    if (session->state == SESSION_RUNNING)
        session->test.reason = judge_end(session->test.udp->flow);
    if (session->state == SESSION_RUNNING || session->state == SESSION_ENDING) {
        send_reports(session);
        if (session->state < SESSION_CLOSING)
            readings_report(session, session->test.granted.test_id);
        if (session->state < SESSION_CLOSING)
            send_end(session);
    }
    forget(session);
    session_joined(session);
}

static void stop(struct session *session, enum tl_wire_end_reason reason)
{
    session->test.reason = reason;
    if (session->state == SESSION_READY) {
        send_end(session);
        forget(session);
        return;
    }
    session->state = SESSION_ENDING;
    udp_flow_stop(session->test.udp->flow);
}

static bool abandon(struct session *session)
{
    disk_part_abandon(session);
    session->responder->queue_dirty = true;
    if (!session->test.udp)
        return true;
    if (session->test.udp->flow) {
        udp_flow_stop(session->test.udp->flow);
        return false;
    }
    forget(session);
    return true;
}

/* --- While it runs -------------------------------------------------------------------------- */

static void report_progress(struct session *session, int64_t now_ns)
{
    struct udp_test *udp = session->test.udp;
    struct tl_wire_udp_report report = {.test_id = session->test.granted.test_id,
                                        .role = TL_UDP_ROLE_RECEIVER};
    if (udp->flow->spec.send || now_ns - udp->told_ns < PROGRESS_NS)
        return;
    udp->told_ns = now_ns;
    tl_udp_field_set(&report.fields, TL_UR_received_count, atomic_load(&udp->flow->live_count));
    tl_udp_field_set(&report.fields, TL_UR_received_bytes, atomic_load(&udp->flow->live_bytes));
    tl_udp_field_set(&report.fields, TL_UR_span_ns, (uint64_t)atomic_load(&udp->flow->live_ns));
    uint8_t frame[TL_WIRE_FRAME_MAX];
    session_send(session, frame, tl_wire_encode_udp_report(&report, frame));
}

static void tick(struct session *session, int64_t now_ns)
{
    struct session_test *test = &session->test;
    if (session->state != SESSION_RUNNING)
        return;
    udp_flow_heard(test->udp->flow, session->heard_ns);
    report_progress(session, now_ns);
    if (session->state == SESSION_RUNNING && now_ns >= test->hard_end_ns)
        stop(session, TL_WIRE_END_TIME);
}

/* --- Frames ----------------------------------------------------------------------------------- */

static const struct test_ops ops = {turn_ready, stop, tick, abandon, forget};

static void ask(struct session *session, const struct tl_wire_frame *frame)
{
    struct tl_wire_test_udp asked;
    struct tl_error error;
    if (tl_wire_decode_test_udp(frame->payload, frame->payload_len, &asked, &error) != TL_OK) {
        session_error(session, TL_WIRE_E_PROTOCOL, "%s", error.text);
        return;
    }
    if (!turn_is_idle(session) || !turn_may_load(session))
        return;
    struct udp_test *udp = calloc(1, sizeof *udp);
    if (!udp) {
        session_error(session, TL_WIRE_E_INTERNAL, "out of memory");
        return;
    }
    udp->asked = asked;
    udp->fd = -1;
    turn_reset(session, &ops);
    session->test.udp = udp;
    clamp_test(session);
    if (burst_fits(session))
        turn_ask(session);
    else
        forget(session);
}

void udp_test_frame(struct session *session, const struct tl_wire_frame *frame)
{
    if (frame->type == TL_WIRE_TEST_UDP)
        ask(session, frame);
    else if (frame->type == TL_WIRE_UDP_START)
        start(session, frame);
    else
        take_report(session, frame);
}

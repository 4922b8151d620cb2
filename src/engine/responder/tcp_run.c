/* A test of streams once it is granted: joined by its data connections, run by the threads of
 * stream.h, ended by totals.
 *
 * P4, "sending stops <= 1 s without feedback": a TCP sender whose segments nobody
 * acknowledges is stopped by the kernel's own retransmission timer, and by
 * TCP_USER_TIMEOUT after 5 s. What is left is a client whose kernel acknowledges while its
 * program is stopped or gone. So time counts as unheard while acknowledgements come and
 * control frames do not; after 1 s of it (and two round trips, since a lost control segment
 * needs one to be repaired) the test ends. */
#include "tcp_run.h"

#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "address.h"
#include "disk_part.h"
#include "file_part.h"
#include "light.h"
#include "peer_dial.h"
#include "readings.h"
#include "responder_private.h"
#include "tcp_end.h"
#include "tightlink/base/time.h"
#include "turn.h"

#define SAMPLES_RESERVE    16384       /* output kept free for what must not be dropped */
#define UNHEARD_RTT_MAX_NS TL_NS_PER_S /* of a bloated queue */

/* With both directions the first half of the connections are downloads. */
static bool sends_on(const struct session_test *test, unsigned connection)
{
    if (test->asked.direction == TL_WIRE_BOTH)
        return connection < test->granted.streams;
    return test->asked.direction == TL_WIRE_DOWNLOAD;
}

/* A receiver's options where we receive, a sender's where we send. */
enum tl_status tcp_run_prepare(const struct session_test *test, int fd, unsigned connection,
                               bool accepted, struct tl_error *reterr)
{
    const struct tl_wire_test_tcp *asked = &test->asked;
    struct tl_stream_options options = {.accepted = accepted, .dscp = asked->dscp};
    if (sends_on(test, connection)) {
        options.sndbuf_bytes = (int)tl_limit_clamp(TL_LIMIT_BUFFER_BYTES, asked->sndbuf_bytes);
        options.max_pacing_bps = test->granted.pacing_bps / test->granted.streams;
        options.notsent_lowat_bytes =
            (int)tl_limit_clamp(TL_LIMIT_NOTSENT_BYTES, asked->notsent_lowat_bytes);
        memcpy(options.congestion, asked->congestion, sizeof options.congestion);
    } else {
        options.rcvbuf_bytes = (int)tl_limit_clamp(TL_LIMIT_BUFFER_BYTES, asked->rcvbuf_bytes);
    }
    return tl_stream_options_apply(fd, &options, reterr);
}

typedef int address_fn(int fd, struct sockaddr *ret_address, socklen_t *len);

/* Whether two sockets have the same address at one end: getpeername or getsockname says which. */
static bool same_address(int a, int b, address_fn *read_address)
{
    struct sockaddr_in6 addresses[2] = {{0}, {0}};
    int fds[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        socklen_t len = sizeof addresses[i];
        if (read_address(fds[i], (struct sockaddr *)&addresses[i], &len) < 0)
            return false;
        address_normalise(&addresses[i]);
    }
    return IN6_ARE_ADDR_EQUAL(&addresses[0].sin6_addr, &addresses[1].sin6_addr);
}

bool tcp_run_join(struct session *session, int fd, bool dialled,
                  const struct tl_wire_data_hello *hello, enum tl_wire_error_code *ret_code,
                  struct tl_error *reterr)
{
    struct session_test *test = &session->test;
    *ret_code = TL_WIRE_E_TOKEN;
    if (!dialled && (!same_address(fd, session->watch.fd, getpeername) ||
                     !same_address(fd, session->watch.fd, getsockname))) {
        /* No longer than what came in (P4): the client says the rest. */
        (void)tl_error_set(reterr, TL_DENIED, "not your control's address");
        return false;
    }
    if (session->state != SESSION_READY || hello->test_id != test->granted.test_id ||
        hello->stream >= test->connections || test->fds[hello->stream] >= 0) {
        (void)tl_error_set(reterr, TL_PROTOCOL, "the test does not wait for this stream");
        return false;
    }
    *ret_code = TL_WIRE_E_INTERNAL;
    if (tcp_run_prepare(test, fd, hello->stream, true, reterr) != TL_OK)
        return false;
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_data_ok ok = {.test_id = hello->test_id, .stream = hello->stream};
    size_t len = tl_wire_encode_data_ok(&ok, frame);
    if (send(fd, frame, len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)len) {
        (void)tl_error_set(reterr, TL_CLOSED, "the data connection is closed");
        return false;
    }
    test->fds[hello->stream] = fd;
    test->joined++;
    return true;
}

static void forget_dials(struct session_test *test)
{
    peer_dials_forget(test->dials);
    test->dials = NULL;
}

static void close_joined(struct session_test *test)
{
    for (unsigned i = 0; i < TL_WIRE_STREAMS_MAX; i++) {
        if (test->fds[i] >= 0)
            close(test->fds[i]);
        test->fds[i] = -1;
    }
    test->joined = 0;
}

static enum tl_status create_lane(struct session *session, unsigned first, struct tl_error *reterr)
{
    struct session_test *test = &session->test;
    struct test_lane *lane = &test->lanes[test->lane_count++];
    test->running = true;
    int64_t granted_ns = test->granted.duration_ms * TL_NS_PER_MS;
    uint64_t share = test->granted.max_bytes / test->connections;
    lane->first = first;
    lane->sends = sends_on(test, first);
    struct tl_streams_spec spec = {
        .send = lane->sends,
        .send_path = (enum tl_send_path)test->asked.send_path,
        .discard = test->asked.discard,
        /* A receiver waits for its sender's end. */
        .duration_ns = granted_ns + (lane->sends ? 0 : session_limit_ns(TL_LIMIT_GRACE_MS)),
        .bytes_cap = share ? share : 1,
        /* The client was told to pace itself; one that does not is held, with a margin for bursts.
         */
        .receive_bps = session->responder->options.rate_cap_bps * 9 / 8 / test->connections,
        .interval_ns = test->granted.sample_interval_us * TL_NS_PER_US,
    };
    enum tl_status status = tl_streams_create(&spec, &lane->streams, reterr);
    for (unsigned i = first; i < first + test->granted.streams && status == TL_OK; i++) {
        status = tl_streams_add(lane->streams, test->fds[i], reterr);
        if (status == TL_OK)
            test->fds[i] = -1;
        if (status == TL_OK && test->is_file)
            status = file_part_give_store(session, i, reterr);
    }
    return status;
}

static void unwatch(struct test_lane *lane)
{
    (void)loop_release(lane->session->responder->loop, &lane->done); /* the streams' own */
}

void tcp_run_forget(struct session *session)
{
    struct session_test *test = &session->test;
    if (!test->running)
        return;
    uint64_t moved = 0;
    for (unsigned i = 0; i < test->lane_count; i++) {
        struct test_lane *lane = &test->lanes[i];
        unwatch(lane);
        if (lane->streams)
            moved += tl_streams_bytes(lane->streams);
    }
    turn_settle(session, moved);
    session->bytes += moved;
    session->tests++;
    for (unsigned i = 0; i < test->lane_count; i++) {
        tl_streams_destroy(test->lanes[i].streams);
        test->lanes[i] = (struct test_lane){.done = {.fd = -1}, .session = session};
    }
    test->lane_count = 0;
    test->running = false;
    close_joined(test); /* what no lane took over */
    session->responder->queue_dirty = true;
}

static void lane_done(struct watch *watch, uint32_t events);

static enum tl_status start_lanes(struct session *session, struct tl_error *reterr)
{
    struct session_test *test = &session->test;
    enum tl_status status = TL_OK;
    for (unsigned first = 0; first < test->connections && status == TL_OK;
         first += test->granted.streams)
        status = create_lane(session, first, reterr);
    if (status != TL_OK)
        return status;
    readings_begin(session);
    test->start_ns = tl_now_ns();
    for (unsigned i = 0; i < test->lane_count && status == TL_OK; i++) {
        struct test_lane *lane = &test->lanes[i];
        status = tl_streams_start(lane->streams, reterr);
        if (status != TL_OK)
            break;
        lane->done.fd = tl_streams_event_fd(lane->streams);
        status = loop_add(session->responder->loop, &lane->done, EPOLLIN, lane_done);
        if (status != TL_OK) {
            lane->done.fd = -1;
            (void)tl_error_set(reterr, status, "%s", tl_status_text(status));
        }
    }
    return status;
}

void tcp_run_start(struct session *session, uint32_t test_id)
{
    struct session_test *test = &session->test;
    if (test_id != test->granted.test_id || test->joined != test->connections) {
        session_error(session, TL_WIRE_E_STATE, "START of test %u with %u of %u streams", test_id,
                      test->joined, test->connections);
        return;
    }
    struct tl_error error = {0};
    if (start_lanes(session, &error) != TL_OK) {
        tcp_run_forget(session); /* nothing runs that would take long to join */
        session_error(session, TL_WIRE_E_INTERNAL, "the streams: %s", error.text);
        return;
    }
    session->state = SESSION_RUNNING;
    session->deadline_ns = INT64_MAX;
    test->hard_end_ns = test->start_ns + test->granted.duration_ms * TL_NS_PER_MS +
                        session_limit_ns(TL_LIMIT_GRACE_MS);
    struct tl_wire_started started = {.test_id = test_id, .responder_ns = (uint64_t)test->start_ns};
    uint8_t frame[TL_WIRE_FRAME_MAX];
    session_send(session, frame, tl_wire_encode_started(&started, frame));
}

/* Whether a stream's peer acknowledged, or sent, more than at its last sample. Who sends is there,
 * however long his control frames wait in the queue that his own data fill. */
static void note_progress(struct session *session, const struct tl_tcp_sample *sample, bool sends)
{
    struct session_test *test = &session->test;
    uint64_t moved = tl_sample_get(sample, sends ? TL_SF_bytes_acked : TL_SF_bytes_received);
    if (sample->stream >= TL_WIRE_STREAMS_MAX || moved <= test->moved_bytes[sample->stream])
        return;
    test->moved_bytes[sample->stream] = moved;
    if (sends)
        test->progress = true;
    else
        session->heard_ns = tl_now_ns();
}

static void send_batch(struct session *session, const struct tl_tcp_sample *batch, size_t count)
{
    struct session_test *test = &session->test;
    struct tl_wire_samples head = {.test_id = test->granted.test_id};
    struct tl_wire_writer writer = {0};
    uint8_t frame[TL_WIRE_FRAME_MAX];
    for (size_t i = 0; i < count; i++) {
        if (!session_out_has_room(session, SAMPLES_RESERVE) || !light_permits(session, 0, true)) {
            test->samples_dropped++;
            continue;
        }
        if (writer.frame && head.stream == batch[i].stream &&
            tl_wire_sample_add(&writer, &batch[i]))
            continue;
        if (writer.frame)
            session_send(session, frame, tl_wire_writer_end(&writer));
        head.stream = (uint16_t)batch[i].stream;
        tl_wire_samples_begin(&writer, &head, frame);
        (void)tl_wire_sample_add(&writer, &batch[i]); /* fits into an empty frame */
    }
    if (writer.frame)
        session_send(session, frame, tl_wire_writer_end(&writer));
}

/* Sends what the sampler read since the last time. Where the output is full samples are
 * dropped and counted: the test is not slowed by its report. */
static void send_samples(struct session *session)
{
    struct tl_tcp_sample *batch = session->responder->samples;
    /* A session that ends meanwhile drops what comes; its streams stay until they are joined. */
    for (unsigned lane = 0; lane < session->test.lane_count; lane++) {
        const struct test_lane *from = &session->test.lanes[lane];
        size_t count;
        while (from->streams &&
               (count = tl_streams_drain(from->streams, batch, SAMPLE_BATCH)) > 0) {
            for (size_t i = 0; i < count; i++) {
                batch[i].stream += from->first;
                note_progress(session, &batch[i], from->sends);
            }
            send_batch(session, batch, count);
        }
    }
    file_part_send_sums(session);
}

/* --- The end ------------------------------------------------------------------- */

static bool all_ended(const struct session_test *test)
{
    for (unsigned i = 0; i < test->lane_count; i++)
        if (!test->lanes[i].ended)
            return false;
    return true;
}

/* A test both ways goes on until the second direction has ended, too. */
static void lane_done(struct watch *watch, uint32_t events)
{
    struct test_lane *lane = (struct test_lane *)watch;
    struct session *session = lane->session;
    lane->ended = true;
    unwatch(lane);
    if (!all_ended(&session->test))
        return;
    if (session->state == SESSION_RUNNING)
        session->test.reason = tcp_end_reason(&session->test);
    if (session->state == SESSION_RUNNING || session->state == SESSION_ENDING) {
        send_samples(session);
        if (session->state != SESSION_GONE)
            readings_report(session, session->test.granted.test_id);
        if (session->state != SESSION_GONE)
            file_part_report(session);
        if (session->state != SESSION_GONE)
            tcp_end_report(session);
    }
    tcp_run_forget(session);
    session_joined(session);
}

static void stop_lanes(struct session_test *test)
{
    for (unsigned i = 0; i < test->lane_count; i++)
        tl_streams_stop(test->lanes[i].streams);
}

void tcp_run_stop(struct session *session, enum tl_wire_end_reason reason)
{
    struct session_test *test = &session->test;
    test->reason = reason;
    if (session->state == SESSION_READY) {
        forget_dials(test);
        close_joined(test);
        turn_settle(session, 0);
        session->responder->queue_dirty = true;
        tcp_end_report(session);
        return;
    }
    session->state = SESSION_ENDING;
    stop_lanes(test);
}

/* See the head of this file. */
static bool is_unheard(struct session *session, int64_t now_ns)
{
    struct session_test *test = &session->test;
    if (test->asked.direction == TL_WIRE_UPLOAD)
        return false;
    if (test->progress) {
        /* Since progress was seen last, which is a sample ago at most, or anything was heard. */
        int64_t sample_ns = test->granted.sample_interval_us * TL_NS_PER_US + TICK_NS;
        int64_t from_ns = now_ns - sample_ns;
        from_ns = from_ns > test->looked_ns ? from_ns : test->looked_ns;
        from_ns = from_ns > session->heard_ns ? from_ns : session->heard_ns;
        if (now_ns - session->heard_ns > TICK_NS)
            test->unheard_ns += now_ns - from_ns;
        test->looked_ns = now_ns;
    }
    test->progress = false;
    struct tcp_info info = {0};
    socklen_t len = sizeof info;
    int64_t rtt_ns = 0;
    if (getsockopt(session->watch.fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0)
        rtt_ns = 2 * info.tcpi_rtt * TL_NS_PER_US;
    if (rtt_ns > UNHEARD_RTT_MAX_NS)
        rtt_ns = UNHEARD_RTT_MAX_NS;
    return test->unheard_ns >= session_limit_ns(TL_LIMIT_UNHEARD_MS) + rtt_ns;
}

void tcp_run_tick(struct session *session, int64_t now_ns)
{
    struct session_test *test = &session->test;
    send_samples(session);
    if (session->state != SESSION_RUNNING)
        return;
    if (now_ns >= test->hard_end_ns)
        tcp_run_stop(session, TL_WIRE_END_TIME);
    else if (is_unheard(session, now_ns))
        tcp_run_stop(session, TL_WIRE_END_UNHEARD);
}

bool tcp_run_abandon(struct session *session)
{
    struct session_test *test = &session->test;
    disk_part_abandon(session);
    forget_dials(test);
    close_joined(test);
    session->responder->queue_dirty = true;
    if (test->running) {
        stop_lanes(test);
        return false;
    }
    turn_settle(session, 0);
    return true;
}

/* A session's test once it is granted: joined by its data connections, run by the threads
 * of stream.h, ended by totals. What comes before is in session_queue.c.
 *
 * P4, "sending stops <= 1 s without feedback": a TCP sender whose segments nobody
 * acknowledges is stopped by the kernel's own retransmission timer, and by
 * TCP_USER_TIMEOUT after 5 s. What is left is a client whose kernel acknowledges while its
 * program is stopped or gone. So time counts as unheard while acknowledgements come and
 * control frames do not; after 1 s of it (and two round trips, since a lost control segment
 * needs one to be repaired) the test ends. */
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "responder_private.h"
#include "tightlink/base/time.h"

#define SAMPLES_RESERVE    16384                /* output kept free for what must not be dropped */
#define EARLY_CLOSE_NS     (250 * TL_NS_PER_MS) /* a sender's deadline may be this much earlier */
#define HANDOVER_NS        TL_NS_PER_S          /* between two tests, for the estimate of BUSY */
#define UNHEARD_RTT_MAX_NS TL_NS_PER_S          /* of a bloated queue */

static int64_t limit_ns(enum tl_limit id)
{
    return tl_limit_row(id)->standard * TL_NS_PER_MS;
}

static enum tl_status prepare_socket(const struct session_test *test, int fd,
                                     struct tl_error *reterr)
{
    const struct tl_wire_test_tcp *asked = &test->asked;
    struct tl_stream_options options = {
        .rcvbuf_bytes = (int)tl_limit_clamp(TL_LIMIT_BUFFER_BYTES, asked->rcvbuf_bytes),
        .sndbuf_bytes = (int)tl_limit_clamp(TL_LIMIT_BUFFER_BYTES, asked->sndbuf_bytes),
        .max_pacing_bps = test->granted.pacing_bps / test->granted.streams,
    };
    memcpy(options.congestion, asked->congestion, sizeof options.congestion);
    return tl_stream_options_apply(fd, &options, reterr);
}

bool test_join(struct session *session, int fd, const struct tl_wire_data_hello *hello,
               enum tl_wire_error_code *ret_code, struct tl_error *reterr)
{
    struct session_test *test = &session->test;
    *ret_code = TL_WIRE_E_TOKEN;
    if (session->state != SESSION_READY || hello->test_id != test->granted.test_id ||
        hello->stream >= test->granted.streams || test->fds[hello->stream] >= 0) {
        (void)tl_error_set(reterr, TL_PROTOCOL, "the test does not wait for this stream");
        return false;
    }
    *ret_code = TL_WIRE_E_INTERNAL;
    if (prepare_socket(test, fd, reterr) != TL_OK)
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

static void close_joined(struct session_test *test)
{
    for (unsigned i = 0; i < TL_WIRE_STREAMS_MAX; i++) {
        if (test->fds[i] >= 0)
            close(test->fds[i]);
        test->fds[i] = -1;
    }
    test->joined = 0;
}

static enum tl_status create_streams(struct session_test *test, struct tl_error *reterr)
{
    bool send = test->asked.direction == TL_WIRE_DOWNLOAD;
    int64_t granted_ns = test->granted.duration_ms * TL_NS_PER_MS;
    uint64_t share = test->granted.max_bytes / test->granted.streams;
    struct tl_streams_spec spec = {
        .send = send,
        /* A receiver waits for its sender's end. */
        .duration_ns = granted_ns + (send ? 0 : limit_ns(TL_LIMIT_GRACE_MS)),
        .bytes_cap = share ? share : 1,
        .interval_ns = test->granted.sample_interval_us * TL_NS_PER_US,
    };
    enum tl_status status = tl_streams_create(&spec, &test->streams, reterr);
    for (unsigned i = 0; i < test->granted.streams && status == TL_OK; i++) {
        status = tl_streams_add(test->streams, test->fds[i], reterr);
        if (status == TL_OK)
            test->fds[i] = -1;
    }
    return status;
}

static void streams_done(struct watch *watch, uint32_t events);

void test_start(struct session *session, uint32_t test_id)
{
    struct session_test *test = &session->test;
    if (test_id != test->granted.test_id || test->joined != test->granted.streams) {
        session_error(session, TL_WIRE_E_STATE, "START of test %u with %u of %u streams", test_id,
                      test->joined, test->granted.streams);
        return;
    }
    struct tl_error error = {0};
    enum tl_status status = create_streams(test, &error);
    if (status == TL_OK) {
        tl_cpu_reading_take(&session->responder->cpu, &test->cpu_before);
        test->start_ns = tl_now_ns();
        status = tl_streams_start(test->streams, &error);
    }
    if (status == TL_OK) {
        test->done.fd = tl_streams_event_fd(test->streams);
        status = watch_add(session->responder, &test->done, EPOLLIN, streams_done);
    }
    if (status != TL_OK) {
        test->done.fd = -1;
        tl_streams_destroy(test->streams); /* nothing runs that would take long to join */
        test->streams = NULL;
        session_error(session, TL_WIRE_E_INTERNAL, "the streams: %s", error.text);
        return;
    }
    session->state = SESSION_RUNNING;
    session->deadline_ns = INT64_MAX;
    test->hard_end_ns =
        test->start_ns + test->granted.duration_ms * TL_NS_PER_MS + limit_ns(TL_LIMIT_GRACE_MS);
    struct tl_wire_started started = {.test_id = test_id, .responder_ns = (uint64_t)test->start_ns};
    uint8_t frame[TL_WIRE_FRAME_MAX];
    session_send(session, frame, tl_wire_encode_started(&started, frame));
}

/* Whether a stream's peer acknowledged more than at its last sample. */
static void note_progress(struct session_test *test, const struct tl_tcp_sample *sample)
{
    uint64_t acked = tl_sample_get(sample, TL_SF_bytes_acked);
    if (sample->stream < TL_WIRE_STREAMS_MAX && acked > test->acked_bytes[sample->stream]) {
        test->acked_bytes[sample->stream] = acked;
        test->progress = true;
    }
}

static void send_batch(struct session *session, const struct tl_tcp_sample *batch, size_t count)
{
    struct session_test *test = &session->test;
    struct tl_wire_samples head = {.test_id = test->granted.test_id};
    struct tl_wire_writer writer = {0};
    uint8_t frame[TL_WIRE_FRAME_MAX];
    for (size_t i = 0; i < count; i++) {
        if (!session_out_has_room(session, SAMPLES_RESERVE)) {
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
    size_t count;
    while (session->test.streams &&
           (count = tl_streams_drain(session->test.streams, batch, SAMPLE_BATCH)) > 0) {
        for (size_t i = 0; i < count; i++)
            note_progress(&session->test, &batch[i]);
        send_batch(session, batch, count);
    }
}

/* --- The end ------------------------------------------------------------------- */

static void free_streams(struct session *session)
{
    struct session_test *test = &session->test;
    if (!test->streams)
        return;
    if (test->done.fd >= 0)
        epoll_ctl(session->responder->epoll_fd, EPOLL_CTL_DEL, test->done.fd, NULL);
    test->done.fd = -1;
    test->done.ready = NULL;
    uint64_t moved = tl_streams_bytes(test->streams);
    quota_settle(session, moved);
    session->bytes += moved;
    session->tests++;
    tl_streams_destroy(test->streams);
    test->streams = NULL;
    session->responder->queue_dirty = true;
}

/* Why a test ended that nobody stopped: the worst that happened to a stream. */
static enum tl_wire_end_reason judge_end(const struct session_test *test)
{
    bool failed = false, closed = false, capped = false;
    int64_t on_time_ns = test->granted.duration_ms * TL_NS_PER_MS - EARLY_CLOSE_NS;
    for (uint32_t i = 0; i < tl_streams_count(test->streams); i++) {
        struct tl_stream_result result;
        tl_streams_result(test->streams, i, &result);
        bool early = result.end_ns < on_time_ns;
        bool uploads = test->asked.direction == TL_WIRE_UPLOAD;
        failed |= result.end == TL_STREAM_END_TIMEOUT || result.end == TL_STREAM_END_ERROR;
        capped |= result.end == TL_STREAM_END_CAP;
        if (result.end == TL_STREAM_END_PEER && early) {
            /* A client that has sent all it wanted closes in order. */
            capped |= uploads && result.errnum == 0;
            closed |= !uploads || result.errnum != 0;
        }
    }
    return failed   ? TL_WIRE_END_FAILED
           : closed ? TL_WIRE_END_CLOSED
           : capped ? TL_WIRE_END_BYTES
                    : TL_WIRE_END_TIME;
}

static void add_totals(const struct session_test *test, struct tl_wire_test_end *end)
{
    for (uint32_t i = 0; i < end->streams && test->streams; i++) {
        struct tl_stream_result result;
        tl_streams_result(test->streams, i, &result);
        uint64_t last_ns = result.last_byte_ns > 0 ? (uint64_t)result.last_byte_ns : 0;
        uint64_t end_ns = result.end_ns > 0 ? (uint64_t)result.end_ns : 0;
        end->totals[i] = (struct tl_wire_stream_total){.bytes = result.bytes,
                                                       .duration_ns = last_ns,
                                                       .cpu_ns = result.cpu_ns,
                                                       .run_delay_ns = result.run_delay_ns};
        if (end_ns > end->duration_ns)
            end->duration_ns = end_ns;
    }
}

/* Where the processors' time went during the test. */
static void report_cpu(struct session *session)
{
    struct tl_responder *responder = session->responder;
    struct session_test *test = &session->test;
    struct tl_cpu_usage usage;
    tl_cpu_reading_take(&responder->cpu, &responder->cpu_after);
    tl_cpu_usage_between(&responder->cpu, &test->cpu_before, &responder->cpu_after, &usage);
    struct tl_wire_readings head = {.test_id = test->granted.test_id,
                                    .phase = TL_WIRE_AFTER,
                                    .taken_ns = (uint64_t)responder->cpu_after.taken_ns};
    struct tl_wire_writer writer;
    uint8_t frame[TL_WIRE_FRAME_MAX];
    tl_wire_readings_begin(&writer, &head, frame);
    for (unsigned i = 0; i < tl_wire_cpu_record_count(); i++) {
        struct tl_wire_record record;
        tl_wire_cpu_record(&usage, i, &record);
        (void)tl_wire_record_add(&writer, &record); /* eleven short records fit */
    }
    session_send(session, frame, tl_wire_writer_end(&writer));
}

/* TEST_END, and the session may ask for the next test. */
static void report_end(struct session *session)
{
    struct session_test *test = &session->test;
    struct tl_wire_test_end end = {.token = session->token,
                                   .test_id = test->granted.test_id,
                                   .reason = (uint8_t)test->reason,
                                   .streams = (uint8_t)test->granted.streams,
                                   .samples_dropped = test->samples_dropped};
    if (test->streams)
        end.samples_dropped += (uint32_t)tl_streams_dropped(test->streams);
    add_totals(test, &end);
    session->state = SESSION_IDLE;
    session->deadline_ns = INT64_MAX;
    session->active_ns = tl_now_ns();
    uint8_t frame[TL_WIRE_FRAME_MAX];
    session_send(session, frame, tl_wire_encode_test_end(&end, frame));
}

static void streams_done(struct watch *watch, uint32_t events)
{
    struct session *session =
        (struct session *)((char *)watch - offsetof(struct session, test.done));
    if (session->state == SESSION_RUNNING)
        session->test.reason = judge_end(&session->test);
    if (session->state == SESSION_RUNNING || session->state == SESSION_ENDING) {
        send_samples(session);
        if (session->state != SESSION_GONE)
            report_cpu(session);
        if (session->state != SESSION_GONE)
            report_end(session);
    }
    test_forget(session);
    if (session->state == SESSION_GONE && !session->removed)
        session_remove(session);
}

void test_stop(struct session *session, enum tl_wire_end_reason reason)
{
    struct session_test *test = &session->test;
    test->reason = reason;
    if (session->state == SESSION_READY) {
        close_joined(test);
        quota_settle(session, 0);
        session->responder->queue_dirty = true;
        report_end(session);
        return;
    }
    session->state = SESSION_ENDING;
    tl_streams_stop(test->streams);
}

/* See the head of this file. */
static bool is_unheard(struct session *session, int64_t now_ns)
{
    struct session_test *test = &session->test;
    if (test->asked.direction != TL_WIRE_DOWNLOAD)
        return false;
    if (test->progress && now_ns - session->heard_ns > TICK_NS)
        test->unheard_ns += TICK_NS;
    test->progress = false;
    struct tcp_info info = {0};
    socklen_t len = sizeof info;
    int64_t rtt_ns = 0;
    if (getsockopt(session->watch.fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0)
        rtt_ns = 2 * info.tcpi_rtt * TL_NS_PER_US;
    if (rtt_ns > UNHEARD_RTT_MAX_NS)
        rtt_ns = UNHEARD_RTT_MAX_NS;
    return test->unheard_ns >= limit_ns(TL_LIMIT_UNHEARD_MS) + rtt_ns;
}

void test_tick(struct session *session, int64_t now_ns)
{
    struct session_test *test = &session->test;
    send_samples(session);
    if (session->state != SESSION_RUNNING)
        return;
    if (now_ns >= test->hard_end_ns)
        test_stop(session, TL_WIRE_END_TIME);
    else if (is_unheard(session, now_ns))
        test_stop(session, TL_WIRE_END_UNHEARD);
}

bool test_abandon(struct session *session)
{
    struct session_test *test = &session->test;
    close_joined(test);
    session->responder->queue_dirty = true;
    if (test->streams) {
        tl_streams_stop(test->streams);
        return false;
    }
    quota_settle(session, 0);
    return true;
}

void test_forget(struct session *session)
{
    free_streams(session);
}

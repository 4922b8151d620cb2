/* One TCP test, seen from the near end:
 *
 *   TEST_TCP -> (BUSY …) -> READY -> data connections -> START -> STARTED
 *            -> running: SAMPLES come, PINGs go -> TEST_END
 *
 * It runs on the caller's thread; payload moves in the threads of stream.h. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "client_private.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/limits.h"

#define ANALYSIS_NS   (500 * TL_NS_PER_MS)  /* between looks whether the rate is known */
#define LIVE_RATE_NS  (400 * TL_NS_PER_MS)  /* the shortest stretch of the live rate */
#define RECEIVE_NS    (1500 * TL_NS_PER_MS) /* a receiver's patience after its sender's end */
#define END_NS        (7 * TL_NS_PER_S)     /* for TEST_END after the granted time */
#define NEAR_DONE_NS  (500 * TL_NS_PER_MS)  /* for TEST_END after our streams, then STOP */
#define QUEUE_PING_NS TL_NS_PER_S

const char *tl_tcp_end_text(enum tl_tcp_end end)
{
    switch (end) {
#define TL_TCP_END_CASE(name, text)                                                                \
    case TL_TCP_END_##name:                                                                        \
        return text;
        TL_TCP_END_MAP(TL_TCP_END_CASE)
#undef TL_TCP_END_CASE
    }
    return "for an unknown reason";
}

/* --- Asking ---------------------------------------------------------------------------- */

static enum tl_status check_spec(const struct tl_client *client, const struct tl_tcp_spec *spec,
                                 struct tl_error *reterr)
{
    if (spec->streams < 1 || spec->streams > TL_STREAMS_MAX)
        return tl_error_set(reterr, TL_RANGE, "a test has 1 to %d streams", TL_STREAMS_MAX);
    if (spec->streams > client->info.max_streams)
        return tl_error_set(reterr, TL_LIMIT, "%s permits %u streams a test", client->host,
                            client->info.max_streams);
    if (spec->duration_ns < 100 * TL_NS_PER_MS || spec->duration_ns > 3600 * TL_NS_PER_S)
        return tl_error_set(reterr, TL_RANGE, "a test lasts 0.1 s to 1 h");
    if (spec->rcvbuf_bytes < 0 || spec->sndbuf_bytes < 0 || spec->maxseg_bytes < 0)
        return tl_error_set(reterr, TL_RANGE, "a socket buffer or segment size is negative");
    if (spec->interval_ns != 0 && (spec->interval_ns < TL_STREAM_INTERVAL_MIN_NS ||
                                   spec->interval_ns > TL_STREAM_INTERVAL_MAX_NS))
        return tl_error_set(reterr, TL_RANGE, "the sampling interval must be 5 ms to 1 s");
    return TL_OK;
}

static enum tl_status send_ask(struct tcp_run *run, struct tl_error *reterr)
{
    const struct tl_tcp_spec *spec = run->spec;
    int64_t interval_ns = spec->interval_ns ? spec->interval_ns : TL_STREAM_INTERVAL_NS;
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_test_tcp ask = {
        .direction = spec->direction,
        .streams = (uint16_t)spec->streams,
        .duration_ms = (uint32_t)(spec->duration_ns / TL_NS_PER_MS),
        .max_bytes = spec->max_bytes,
        .pacing_bps = spec->pacing_bps,
        .sample_interval_us = (uint32_t)(interval_ns / TL_NS_PER_US),
    };
    if (run->result->near_sends) {
        ask.rcvbuf_bytes = (uint32_t)spec->rcvbuf_bytes;
    } else {
        ask.sndbuf_bytes = (uint32_t)spec->sndbuf_bytes;
        memcpy(ask.congestion, spec->congestion, sizeof(ask.congestion));
    }
    return client_send(run->client, frame, tl_wire_encode_test_tcp(&ask, frame), reterr);
}

static enum tl_status take_busy(struct tcp_run *run, const struct tl_wire_frame *frame,
                                struct tl_error *reterr)
{
    struct tl_wire_busy busy;
    enum tl_status status = tl_wire_decode_busy(frame->payload, frame->payload_len, &busy, reterr);
    struct tl_tcp_live live = {.queued = true,
                               .place = busy.place,
                               .wait_ns = busy.wait_ms * TL_NS_PER_MS,
                               .rate_bps = NAN,
                               .rtt_ns = NAN,
                               .low_bps = NAN,
                               .high_bps = NAN};
    if (status == TL_OK && run->live)
        run->live(run->context, &live);
    return status;
}

static enum tl_status take_ready(struct tcp_run *run, const struct tl_wire_frame *frame,
                                 struct tl_error *reterr)
{
    struct tl_tcp_result *result = run->result;
    enum tl_status status =
        tl_wire_decode_ready(frame->payload, frame->payload_len, &run->ready, reterr);
    if (status != TL_OK)
        return status;
    if (run->ready.streams != run->spec->streams)
        return tl_error_set(reterr, TL_PROTOCOL, "%s granted another number of streams",
                            run->client->host);
    result->streams = run->ready.streams;
    result->granted_ns = run->ready.duration_ms * TL_NS_PER_MS;
    if (result->granted_ns > run->spec->duration_ns)
        result->granted_ns = run->spec->duration_ns;
    if (run->ready.max_bytes < (uint64_t)tl_limit_row(TL_LIMIT_TEST_BYTES)->max)
        result->granted_bytes = run->ready.max_bytes;
    memcpy(run->far_side->congestion, run->ready.congestion, sizeof(run->far_side->congestion));
    int64_t far_interval_ns = run->ready.sample_interval_us * TL_NS_PER_US;
    int64_t interval_ns = run->spec->interval_ns ? run->spec->interval_ns : TL_STREAM_INTERVAL_NS;
    if (far_interval_ns > 0 && far_interval_ns < interval_ns)
        interval_ns = far_interval_ns;
    run->log_max = (size_t)((result->granted_ns + END_NS) / interval_ns) + 64;
    return TL_OK;
}

/* Waits for READY, through BUSY and its queue. */
static enum tl_status await_ready(struct tcp_run *run, struct tl_error *reterr)
{
    struct tl_client *client = run->client;
    int64_t asked_ns = tl_now_ns(), until_ns = asked_ns + client->timeout_ns;
    int64_t ping_ns = asked_ns + QUEUE_PING_NS;
    int64_t patience_ns =
        run->spec->queue_wait_ns > 0 ? run->spec->queue_wait_ns : TL_CLIENT_QUEUE_NS;
    bool queued = false;
    for (;;) {
        struct tl_wire_frame frame;
        bool some;
        enum tl_status status = client_next_frame(client, &frame, &some, reterr);
        if (status == TL_OK && some && frame.type == TL_WIRE_BUSY) {
            queued = true;
            until_ns = asked_ns + patience_ns;
            status = take_busy(run, &frame, reterr);
        } else if (status == TL_OK && some && frame.type == TL_WIRE_READY) {
            run->result->queued_ns = queued ? tl_now_ns() - asked_ns : 0;
            return take_ready(run, &frame, reterr);
        }
        if (status != TL_OK)
            return status;
        if (some)
            continue;
        int64_t now_ns = tl_now_ns();
        if (now_ns >= until_ns)
            return tl_error_set(reterr, queued ? TL_BUSY : TL_TIMEOUT,
                                queued ? "%s is busy with other tests: try again later"
                                       : "%s did not answer the request for a test",
                                client->host);
        if (now_ns >= ping_ns) {
            ping_ns = now_ns + QUEUE_PING_NS;
            status = client_send_ping(client, reterr);
        }
        if (status == TL_OK)
            status = client_wait(client, -1, ping_ns < until_ns ? ping_ns : until_ns, reterr);
        if (status != TL_OK)
            return status;
    }
}

/* --- Starting ---------------------------------------------------------------------------- */

static enum tl_status create_near(struct tcp_run *run, struct tl_error *reterr)
{
    const struct tl_tcp_result *result = run->result;
    struct tl_streams_spec spec = {
        .send = result->near_sends,
        .discard = run->spec->discard,
        .duration_ns = result->granted_ns,
        .interval_ns = run->spec->interval_ns,
    };
    if (!result->near_sends)
        spec.duration_ns += RECEIVE_NS + 2 * run->client->info.connect_rtt_ns;
    else if (result->granted_bytes > 0)
        spec.bytes_cap = (result->granted_bytes + result->streams - 1) / result->streams;
    return tl_streams_create(&spec, &run->near, reterr);
}

static enum tl_status start_near(struct tcp_run *run, struct tl_error *reterr)
{
    tl_cpu_reading_take(&run->client->cpu_reader, &run->cpu_before);
    run->start_ns = tl_now_ns();
    run->ping_ns = run->live_ns = run->analysis_ns = run->start_ns;
    return tl_streams_start(run->near, reterr);
}

static enum tl_status take_frame(struct tcp_run *run, const struct tl_wire_frame *frame,
                                 struct tl_error *reterr)
{
    switch (frame->type) {
    case TL_WIRE_SAMPLES:
        return result_take_samples(run, frame, reterr);
    case TL_WIRE_READINGS:
        return result_take_readings(run, frame, reterr);
    case TL_WIRE_TEST_END:
        return result_take_end(run, frame, reterr);
    default: /* PONG, and what newer responders may tell */
        return TL_OK;
    }
}

static enum tl_status await_started(struct tcp_run *run, struct tl_error *reterr)
{
    int64_t until_ns = tl_now_ns() + run->client->timeout_ns;
    for (;;) {
        struct tl_wire_frame frame;
        enum tl_status status =
            client_await(run->client, until_ns, "the start of the test", &frame, reterr);
        if (status == TL_OK && frame.type == TL_WIRE_STARTED)
            return TL_OK;
        if (status == TL_OK)
            status = take_frame(run, &frame, reterr);
        if (status != TL_OK || run->ended)
            return status;
    }
}

/* A receiver is ready before its sender is told; a sender begins when its receiver runs. */
static enum tl_status start(struct tcp_run *run, struct tl_error *reterr)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_start message = {.test_id = run->ready.test_id};
    enum tl_status status = TL_OK;
    if (!run->result->near_sends)
        status = start_near(run, reterr);
    if (status == TL_OK)
        status = client_send(run->client, frame, tl_wire_encode_start(&message, frame), reterr);
    if (status == TL_OK)
        status = await_started(run, reterr);
    if (status == TL_OK && run->result->near_sends)
        status = start_near(run, reterr);
    return status;
}

/* --- Running ------------------------------------------------------------------------------- */

static enum tl_status send_stop(struct tcp_run *run, struct tl_error *reterr)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_stop stop = {.test_id = run->ready.test_id};
    run->stop_sent_ns = tl_now_ns();
    return client_send(run->client, frame, tl_wire_encode_stop(&stop, frame), reterr);
}

/* Bytes at the receiver and that receiver's time. */
static void look_at_receiver(const struct tcp_run *run, uint64_t *ret_bytes, int64_t *ret_time_ns)
{
    *ret_bytes = 0;
    *ret_time_ns = 0;
    if (!run->result->near_sends) {
        *ret_bytes = tl_streams_bytes(run->near);
        *ret_time_ns = tl_streams_elapsed_ns(run->near);
        return;
    }
    for (unsigned i = 0; i < run->ready.streams; i++) {
        const struct tl_sample_log *log = &run->far_side->logs[i];
        if (log->count == 0)
            continue;
        *ret_bytes += log->samples[log->count - 1].app_bytes;
        *ret_time_ns = log->samples[log->count - 1].time_ns;
    }
}

static double newest_rtt_ns(const struct tcp_run *run)
{
    const struct tl_sample_log *log = &run->result->sender.logs[0];
    const struct tl_tcp_sample *last = log->count > 0 ? &log->samples[log->count - 1] : NULL;
    return last && tl_sample_has(last, TL_SF_rtt_ns) ? (double)last->rtt_ns : NAN;
}

static void tell_live(struct tcp_run *run, int64_t now_ns)
{
    uint64_t bytes;
    int64_t time_ns;
    look_at_receiver(run, &bytes, &time_ns);
    if (time_ns - run->rate_time_ns >= LIVE_RATE_NS && bytes >= run->rate_bytes) {
        run->rate_bps =
            (double)(bytes - run->rate_bytes) * 8e9 / (double)(time_ns - run->rate_time_ns);
        run->rate_bytes = bytes;
        run->rate_time_ns = time_ns;
    }
    struct tl_tcp_live live = {.elapsed_ns = now_ns - run->start_ns,
                               .received_bytes = bytes,
                               .rate_bps = run->rate_bps,
                               .rtt_ns = newest_rtt_ns(run),
                               .low_bps = run->low_bps,
                               .high_bps = run->high_bps};
    if (run->live)
        run->live(run->context, &live);
}

/* Ends the test when its rate is known. */
static enum tl_status look_whether_known(struct tcp_run *run, struct tl_error *reterr)
{
    result_analyse(run);
    const struct tl_steady *steady = &run->result->steady;
    if (steady->rate.valid) {
        run->low_bps = steady->rate.low_bps;
        run->high_bps = steady->rate.high_bps;
    }
    if (!run->spec->stop_when_known || !steady->known || run->stop_sent)
        return TL_OK;
    run->stop_sent = true;
    enum tl_status status = send_stop(run, reterr);
    /* STOP went first, on a path that is first in, first out. */
    if (run->result->near_sends)
        tl_streams_stop(run->near);
    return status;
}

/* What has to happen at intervals. */
static enum tl_status keep_time(struct tcp_run *run, int64_t now_ns, struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    if (now_ns >= run->ping_ns) {
        run->ping_ns = now_ns + TL_CLIENT_PING_NS;
        status = client_send_ping(run->client, reterr);
    }
    if (status == TL_OK && now_ns >= run->live_ns) {
        run->live_ns = now_ns + TL_CLIENT_LIVE_NS;
        result_drain_near(run);
        tell_live(run, now_ns);
    }
    if (status == TL_OK && now_ns >= run->analysis_ns + ANALYSIS_NS) {
        run->analysis_ns = now_ns;
        status = look_whether_known(run, reterr);
    }
    return status;
}

/* Deadlines of the whole and of the far end's answers. */
static enum tl_status check_patience(struct tcp_run *run, int64_t now_ns, int64_t *near_done_ns,
                                     struct tl_error *reterr)
{
    const char *host = run->client->host;
    if (*near_done_ns == 0 && tl_streams_done(run->near))
        *near_done_ns = now_ns;
    int64_t slack_ns = NEAR_DONE_NS + 2 * run->client->info.connect_rtt_ns;
    if (*near_done_ns > 0 && run->stop_sent_ns == 0 && now_ns > *near_done_ns + slack_ns)
        return send_stop(run, reterr);
    if (now_ns - run->client->heard_ns > TL_CLIENT_SILENT_NS ||
        now_ns - run->start_ns > run->result->granted_ns + END_NS)
        return tl_error_set(reterr, TL_TIMEOUT,
                            "%s stopped answering %.1f s after the start: the path or the "
                            "responder is dead",
                            host, (double)(run->client->heard_ns - run->start_ns) / 1e9);
    return TL_OK;
}

static enum tl_status take_frames(struct tcp_run *run, struct tl_error *reterr)
{
    bool some = true;
    enum tl_status status = TL_OK;
    while (status == TL_OK && some && !run->ended) {
        struct tl_wire_frame frame;
        status = client_next_frame(run->client, &frame, &some, reterr);
        if (status == TL_OK && some)
            status = take_frame(run, &frame, reterr);
    }
    return status;
}

static enum tl_status run_until_end(struct tcp_run *run, struct tl_error *reterr)
{
    int64_t near_done_ns = 0;
    for (;;) {
        enum tl_status status = take_frames(run, reterr);
        if (status != TL_OK || run->ended)
            return status;
        int64_t now_ns = tl_now_ns();
        status = keep_time(run, now_ns, reterr);
        if (status == TL_OK)
            status = check_patience(run, now_ns, &near_done_ns, reterr);
        int64_t until_ns = run->ping_ns < run->live_ns ? run->ping_ns : run->live_ns;
        int near_fd = near_done_ns > 0 ? -1 : tl_streams_event_fd(run->near);
        if (status == TL_OK)
            status = client_wait(run->client, near_fd, until_ns, reterr);
        if (status != TL_OK)
            return status;
    }
}

/* --- Ending -------------------------------------------------------------------------------- */

static void await_near(struct tcp_run *run, int64_t wait_ns)
{
    struct pollfd done = {.fd = tl_streams_event_fd(run->near), .events = POLLIN};
    (void)poll(&done, 1, (int)(wait_ns / TL_NS_PER_MS));
}

/* Silences the near end. A receiver may still hold unread payload when END has come. */
static void stop_near(struct tcp_run *run, enum tl_status status)
{
    if (!run->near || run->start_ns == 0)
        return;
    if (status == TL_OK && !tl_streams_done(run->near))
        await_near(run, 200 * TL_NS_PER_MS);
    run->result->elapsed_ns = tl_now_ns() - run->start_ns;
    if (!tl_streams_done(run->near)) {
        tl_streams_stop(run->near);
        await_near(run, 2 * TL_STREAM_STOP_NS);
    }
}

/* Puts the status and the ends of the streams into words; may turn a signed but failed
 * end into an error. */
static enum tl_status judge_end(struct tcp_run *run, enum tl_status status, struct tl_error *reterr)
{
    struct tl_tcp_result *result = run->result;
    bool silent = false;
    for (unsigned i = 0; i < result->streams; i++)
        silent = silent || run->near_side->streams[i].end == TL_STREAM_END_TIMEOUT;
    if (status == TL_CANCELLED)
        result->end = TL_TCP_END_CANCELLED;
    else if (run->start_ns == 0)
        result->end = TL_TCP_END_NOT_RUN;
    else if (status == TL_TIMEOUT || (silent && result->end == TL_TCP_END_FAILED))
        result->end = TL_TCP_END_SILENT;
    else if (status != TL_OK)
        result->end = TL_TCP_END_LOST;
    if (status == TL_OK && result->end == TL_TCP_END_SILENT)
        return tl_error_set(reterr, TL_TIMEOUT, "the path to %s died %.1f s after the start",
                            run->client->host, (double)result->elapsed_ns / 1e9);
    if (status == TL_OK && result->end == TL_TCP_END_FAILED)
        return tl_error_set(reterr, TL_CLOSED, "%s ended the test early: a data connection broke",
                            run->client->host);
    return status;
}

static enum tl_status run_test(struct tcp_run *run, struct tl_error *reterr)
{
    enum tl_status status = send_ask(run, reterr);
    if (status == TL_OK)
        status = await_ready(run, reterr);
    if (status == TL_OK)
        status = create_near(run, reterr);
    if (status == TL_OK)
        status = client_open_data(run, reterr);
    if (status == TL_OK)
        status = start(run, reterr);
    if (status == TL_OK && !run->ended)
        status = run_until_end(run, reterr);
    return status;
}

/* Tells the far end and leaves the connection: a cancelled test owes nobody a word. */
static void abandon(struct tcp_run *run)
{
    if (run->ready.test_id != 0 && run->client->fd >= 0)
        (void)send_stop(run, NULL);
    client_hang_up(run->client);
}

enum tl_status tl_client_tcp_test(struct tl_client *client, const struct tl_tcp_spec *spec,
                                  tl_tcp_live_fn *live, void *context,
                                  struct tl_tcp_result *ret_result, struct tl_error *reterr)
{
    result_init(ret_result, spec);
    enum tl_status status = check_spec(client, spec, reterr);
    if (status == TL_OK)
        status = client_wake(client, reterr);
    if (status != TL_OK)
        return status;
    struct tcp_run *run = calloc(1, sizeof(*run));
    if (!run)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a test");
    *run = (struct tcp_run){.client = client,
                            .spec = spec,
                            .result = ret_result,
                            .live = live,
                            .context = context,
                            .rate_bps = NAN,
                            .low_bps = NAN,
                            .high_bps = NAN};
    run->near_side = ret_result->near_sends ? &ret_result->sender : &ret_result->receiver;
    run->far_side = ret_result->near_sends ? &ret_result->receiver : &ret_result->sender;
    status = run_test(run, reterr);
    bool refused = status == TL_UNSUPPORTED || status == TL_DENIED || status == TL_LIMIT;
    if (status != TL_OK && !(refused && run->ready.test_id == 0))
        abandon(run);
    stop_near(run, status);
    result_complete(run);
    status = judge_end(run, status, reterr);
    tl_streams_destroy(run->near);
    free(run);
    return status;
}

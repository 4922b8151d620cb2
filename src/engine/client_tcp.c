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
#define END_MAX_NS    (20 * TL_NS_PER_S)    /* for one that keeps talking */
#define TALKING_NS    (2 * TL_NS_PER_S)     /* heard that recently */
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

enum tl_status client_check_spec(const struct tl_tcp_spec *spec, struct tl_error *reterr)
{
    if (spec->streams < 1)
        return tl_error_set(reterr, TL_RANGE, "a test has at least one stream");
    if (spec->duration_ns < 100 * TL_NS_PER_MS || spec->duration_ns > 3600 * TL_NS_PER_S)
        return tl_error_set(reterr, TL_RANGE, "a test lasts 0.1 s to 1 h");
    if (spec->rcvbuf_bytes < 0 || spec->sndbuf_bytes < 0 || spec->maxseg_bytes < 0 ||
        spec->notsent_lowat_bytes < 0)
        return tl_error_set(reterr, TL_RANGE, "a socket buffer or segment size is negative");
    if (spec->dscp > 63)
        return tl_error_set(reterr, TL_RANGE, "DSCP %u is not 0 to 63", spec->dscp);
    if (spec->direction > TL_WIRE_BOTH || spec->send_path >= TL_SEND_PATH_COUNT)
        return tl_error_set(reterr, TL_RANGE, "no such direction or way of sending");
    if (spec->interval_ns != 0 && (spec->interval_ns < TL_STREAM_INTERVAL_MIN_NS ||
                                   spec->interval_ns > TL_STREAM_INTERVAL_MAX_NS))
        return tl_error_set(reterr, TL_RANGE, "the sampling interval must be 5 ms to 1 s");
    return client_file_check(spec, reterr);
}

static unsigned directions_of(const struct tl_tcp_spec *spec)
{
    return spec->direction == TL_WIRE_BOTH ? 2 : 1;
}

/* As many streams as both ends can have. The responder clamps, too; what it told in WELCOME
 * says so before a connection is wasted. */
static unsigned streams_to_ask(const struct tcp_run *run)
{
    unsigned most = TL_WIRE_STREAMS_MAX;
    if (run->client->info.max_streams < most)
        most = run->client->info.max_streams;
    most /= directions_of(run->spec);
    if (most == 0)
        most = 1; /* the responder says why that cannot be */
    return run->spec->streams < most ? run->spec->streams : most;
}

static enum tl_status send_ask(struct tcp_run *run, struct tl_error *reterr)
{
    const struct tl_tcp_spec *spec = run->spec;
    unsigned streams = streams_to_ask(run);
    bool few = streams * directions_of(spec) <= TL_TCP_FEW_STREAMS;
    run->interval_ns = spec->interval_ns
                           ? spec->interval_ns
                           : (few ? TL_STREAM_INTERVAL_NS : 2 * TL_STREAM_INTERVAL_NS);
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_test_tcp ask = {
        .direction = spec->direction,
        .discard = spec->discard,
        .streams = (uint16_t)streams,
        .duration_ms = (uint32_t)(spec->duration_ns / TL_NS_PER_MS),
        .max_bytes = spec->max_bytes,
        .pacing_bps = spec->pacing_bps,
        .sample_interval_us = (uint32_t)(run->interval_ns / TL_NS_PER_US),
        .dscp = (uint8_t)spec->dscp,
    };
    if (spec->direction != TL_WIRE_DOWNLOAD)
        ask.rcvbuf_bytes = (uint32_t)spec->rcvbuf_bytes;
    if (spec->direction != TL_WIRE_UPLOAD) {
        ask.sndbuf_bytes = (uint32_t)spec->sndbuf_bytes;
        ask.notsent_lowat_bytes = (uint32_t)spec->notsent_lowat_bytes;
        ask.send_path = (uint8_t)spec->send_path;
        memcpy(ask.congestion, spec->congestion, sizeof(ask.congestion));
    }
    size_t len = spec->file ? client_file_encode_ask(spec, &ask, frame)
                            : tl_wire_encode_test_tcp(&ask, frame);
    return client_send(run->client, frame, len, reterr);
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
                               .high_bps = NAN,
                               .upload_bps = NAN};
    if (status == TL_OK && run->live)
        run->live(run->context, &live);
    return status;
}

/* The lanes and what is granted to each. */
static void take_grant(struct tcp_run *run)
{
    int64_t granted_ns = run->ready.duration_ms * TL_NS_PER_MS;
    if (granted_ns > run->spec->duration_ns)
        granted_ns = run->spec->duration_ns;
    run->connections = run->ready.streams * run->lane_count;
    for (unsigned i = 0; i < run->lane_count; i++) {
        struct tcp_lane *lane = &run->lanes[i];
        struct tl_tcp_result *result = lane->result;
        lane->first = i * run->ready.streams;
        result->streams = run->ready.streams;
        result->granted_ns = granted_ns;
        if (run->ready.max_bytes < (uint64_t)tl_limit_row(TL_LIMIT_TEST_BYTES)->max)
            result->granted_bytes = run->ready.max_bytes / run->lane_count;
        memcpy(lane->far_side->congestion, run->ready.congestion,
               sizeof(lane->far_side->congestion));
    }
    int64_t far_interval_ns = run->ready.sample_interval_us * TL_NS_PER_US;
    if (far_interval_ns > run->interval_ns || far_interval_ns <= 0)
        far_interval_ns = run->interval_ns;
    run->log_max = (size_t)((granted_ns + END_NS) / far_interval_ns) + 64;
}

static enum tl_status take_ready(struct tcp_run *run, const struct tl_wire_frame *frame,
                                 struct tl_error *reterr)
{
    enum tl_status status =
        tl_wire_decode_ready(frame->payload, frame->payload_len, &run->ready, reterr);
    if (status != TL_OK)
        return status;
    if (run->ready.streams > streams_to_ask(run))
        return tl_error_set(reterr, TL_PROTOCOL, "%s granted more streams than were asked for",
                            run->client->host);
    if (run->ready.streams < run->spec->streams)
        result_note(run->result, "%u streams each way were run, not %u: more are not permitted.",
                    run->ready.streams, run->spec->streams);
    take_grant(run);
    if (run->result->granted_ns < run->spec->duration_ns)
        result_note(run->result, "The test was granted %.1f s, not %.1f s.",
                    (double)run->result->granted_ns / 1e9, (double)run->spec->duration_ns / 1e9);
    return TL_OK;
}

/* Waits for READY, through BUSY and its queue. */
static enum tl_status await_ready(struct tcp_run *run, struct tl_error *reterr)
{
    struct tl_client *client = run->client;
    int64_t asked_ns = tl_now_ns(),
            until_ns = asked_ns + client->timeout_ns + client_file_prepare_ns(run);
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
            until_ns = asked_ns + patience_ns + client_file_prepare_ns(run);
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

enum tl_status client_ask(struct tcp_run *run, struct tl_error *reterr)
{
    enum tl_status status = send_ask(run, reterr);
    return status == TL_OK ? await_ready(run, reterr) : status;
}

/* --- Starting ---------------------------------------------------------------------------- */

static enum tl_status create_lane(struct tcp_run *run, struct tcp_lane *lane,
                                  struct tl_error *reterr)
{
    const struct tl_tcp_result *result = lane->result;
    struct tl_streams_spec spec = {
        .send = result->near_sends,
        .send_path = run->spec->send_path,
        .discard = run->spec->discard,
        .duration_ns = result->granted_ns,
        .interval_ns = run->interval_ns,
    };
    if (!result->near_sends)
        spec.duration_ns += RECEIVE_NS + 2 * run->client->info.connect_rtt_ns;
    else if (result->granted_bytes > 0)
        spec.bytes_cap = (result->granted_bytes + result->streams - 1) / result->streams;
    enum tl_status status = tl_streams_create(&spec, &lane->near, reterr);
    return status == TL_OK && run->spec->file ? client_file_begin(run, reterr) : status;
}

static enum tl_status create_near(struct tcp_run *run, struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    for (unsigned i = 0; i < run->lane_count && status == TL_OK; i++)
        status = create_lane(run, &run->lanes[i], reterr);
    return status;
}

/* Starts the lanes that send, or those that receive. */
static enum tl_status start_near(struct tcp_run *run, bool senders, struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    for (unsigned i = 0; i < run->lane_count && status == TL_OK; i++) {
        struct tcp_lane *lane = &run->lanes[i];
        if (lane->result->near_sends != senders)
            continue;
        if (run->start_ns == 0) {
            const struct sockaddr *peer = (const struct sockaddr *)&run->client->info.peer;
            tl_host_counters_read(&run->counters_before, "", tl_host_link_index(peer));
            run->beside_rx_before = run->client->beside_rx_bytes;
            run->beside_tx_before = run->client->beside_tx_bytes;
            tl_cpu_reading_take(&run->client->cpu_reader, &run->cpu_before);
            run->start_ns = tl_now_ns();
            run->ping_ns = run->live_ns = run->analysis_ns = run->start_ns;
        }
        lane->start_ns = tl_now_ns();
        status = tl_streams_start(lane->near, reterr);
    }
    return status;
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
    case TL_WIRE_SUMS:
        return client_file_take_sums(run, frame, reterr);
    case TL_WIRE_FILE_END:
        return client_file_take_end(run, frame, reterr);
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

enum tl_status client_start_far(struct tcp_run *run, struct tl_error *reterr)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_start message = {.test_id = run->ready.test_id};
    enum tl_status status =
        client_send(run->client, frame, tl_wire_encode_start(&message, frame), reterr);
    return status == TL_OK ? await_started(run, reterr) : status;
}

/* A receiver is ready before its sender is told; a sender begins when its receiver runs. */
static enum tl_status start(struct tcp_run *run, struct tl_error *reterr)
{
    enum tl_status status = start_near(run, false, reterr);
    if (status == TL_OK)
        status = client_start_far(run, reterr);
    if (status == TL_OK && !run->ended)
        status = start_near(run, true, reterr);
    return status;
}

/* --- Running ------------------------------------------------------------------------------- */

enum tl_status client_stop_far(struct tcp_run *run, struct tl_error *reterr)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_stop stop = {.test_id = run->ready.test_id};
    run->stop_sent_ns = tl_now_ns();
    return client_send(run->client, frame, tl_wire_encode_stop(&stop, frame), reterr);
}

/* Bytes at the receiver and that receiver's time. */
static void look_at_receiver(const struct tcp_run *run, const struct tcp_lane *lane,
                             uint64_t *ret_bytes, int64_t *ret_time_ns)
{
    *ret_bytes = 0;
    *ret_time_ns = 0;
    if (!lane->result->near_sends) {
        *ret_bytes = tl_streams_bytes(lane->near);
        *ret_time_ns = tl_streams_elapsed_ns(lane->near);
        return;
    }
    for (unsigned i = 0; i < run->ready.streams; i++) {
        const struct tl_sample_log *log = &lane->far_side->logs[i];
        if (log->count == 0)
            continue;
        *ret_bytes += log->samples[log->count - 1].app_bytes;
        *ret_time_ns = log->samples[log->count - 1].time_ns;
    }
}

static const struct tl_tcp_sample *newest_of_sender(const struct tcp_lane *lane)
{
    const struct tl_sample_log *log = &lane->result->sender.logs[0];
    return log->count > 0 ? &log->samples[log->count - 1] : NULL;
}

/* The bytes so far; lane->rate_bps follows. */
static uint64_t update_rate(const struct tcp_run *run, struct tcp_lane *lane)
{
    uint64_t bytes;
    int64_t time_ns;
    look_at_receiver(run, lane, &bytes, &time_ns);
    if (time_ns - lane->rate_time_ns >= LIVE_RATE_NS && bytes >= lane->rate_bytes) {
        lane->rate_bps =
            (double)(bytes - lane->rate_bytes) * 8e9 / (double)(time_ns - lane->rate_time_ns);
        lane->rate_bytes = bytes;
        lane->rate_time_ns = time_ns;
    }
    return bytes;
}

static void tell_live(struct tcp_run *run, int64_t now_ns)
{
    const struct tl_tcp_sample *sender = newest_of_sender(&run->lanes[0]);
    bool has_rtt = sender && tl_sample_has(sender, TL_SF_rtt_ns);
    const struct tl_steady_rate *rate = &run->result->steady.rate;
    struct tl_tcp_live live = {.elapsed_ns = now_ns - run->start_ns,
                               .received_bytes = update_rate(run, &run->lanes[0]),
                               .rate_bps = run->lanes[0].rate_bps,
                               .rtt_ns = has_rtt ? (double)sender->rtt_ns : NAN,
                               .sender = sender,
                               .low_bps = rate->valid ? rate->low_bps : NAN,
                               .high_bps = rate->valid ? rate->high_bps : NAN,
                               .upload_bps = NAN};
    if (run->lane_count > 1) {
        (void)update_rate(run, &run->lanes[1]);
        live.upload_bps = run->lanes[1].rate_bps;
    }
    if (run->live)
        run->live(run->context, &live);
}

/* Ends the test when its rate is known, in every direction. */
static enum tl_status look_whether_known(struct tcp_run *run, struct tl_error *reterr)
{
    bool known = true;
    result_analyse(run);
    for (unsigned i = 0; i < run->lane_count; i++)
        known = known && run->lanes[i].result->steady.known;
    if (!run->spec->stop_when_known || !known || run->stop_sent)
        return TL_OK;
    run->stop_sent = true;
    enum tl_status status = client_stop_far(run, reterr);
    /* STOP went first, on a path that is first in, first out. */
    for (unsigned i = 0; i < run->lane_count; i++)
        if (run->lanes[i].result->near_sends)
            tl_streams_stop(run->lanes[i].near);
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
        client_file_drain(run);
        tell_live(run, now_ns);
    }
    if (status == TL_OK && now_ns >= run->analysis_ns + ANALYSIS_NS) {
        run->analysis_ns = now_ns;
        status = look_whether_known(run, reterr);
    }
    return status;
}

/* The first lane whose streams still run; NULL when none does. */
static const struct tcp_lane *running_lane(const struct tcp_run *run)
{
    for (unsigned i = 0; i < run->lane_count; i++)
        if (run->lanes[i].start_ns > 0 && !tl_streams_done(run->lanes[i].near))
            return &run->lanes[i];
    return NULL;
}

/* Deadlines of the whole and of the far end's answers. */
static enum tl_status check_patience(struct tcp_run *run, int64_t now_ns, int64_t *near_done_ns,
                                     struct tl_error *reterr)
{
    const char *host = run->client->host;
    if (*near_done_ns == 0 && !running_lane(run))
        *near_done_ns = now_ns;
    int64_t slack_ns = NEAR_DONE_NS + 2 * run->client->info.connect_rtt_ns;
    if (*near_done_ns > 0 && run->stop_sent_ns == 0 && now_ns > *near_done_ns + slack_ns)
        return client_stop_far(run, reterr);
    int64_t silent_ns = now_ns - run->client->heard_ns;
    int64_t late_ns = now_ns - run->start_ns - run->result->granted_ns;
    /* A far end that still tells its readings is alive: behind a small window they take long. */
    if (silent_ns > TL_CLIENT_SILENT_NS || (late_ns > END_NS && silent_ns > TALKING_NS) ||
        late_ns > END_MAX_NS)
        return tl_error_set(reterr, TL_TIMEOUT,
                            "%s stopped answering %.1f s after the start: the path or the "
                            "responder is dead",
                            host, (double)(run->client->heard_ns - run->start_ns) / 1e9);
    return TL_OK;
}

enum tl_status client_take_frames(struct tcp_run *run, struct tl_error *reterr)
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
        enum tl_status status = client_take_frames(run, reterr);
        if (status != TL_OK || run->ended)
            return status;
        int64_t now_ns = tl_now_ns();
        status = keep_time(run, now_ns, reterr);
        if (status == TL_OK)
            status = check_patience(run, now_ns, &near_done_ns, reterr);
        int64_t until_ns = run->ping_ns < run->live_ns ? run->ping_ns : run->live_ns;
        const struct tcp_lane *running = running_lane(run);
        int near_fd = running ? tl_streams_event_fd(running->near) : -1;
        if (status == TL_OK)
            status = client_wait(run->client, near_fd, until_ns, reterr);
        if (status != TL_OK)
            return status;
    }
}

/* --- Ending -------------------------------------------------------------------------------- */

/* Until every lane is done, at most wait_ns. */
static void await_near(const struct tcp_run *run, int64_t wait_ns)
{
    int64_t until_ns = tl_now_ns() + wait_ns;
    const struct tcp_lane *lane;
    while ((lane = running_lane(run)) && tl_now_ns() < until_ns) {
        struct pollfd done = {.fd = tl_streams_event_fd(lane->near), .events = POLLIN};
        (void)poll(&done, 1, (int)((until_ns - tl_now_ns()) / TL_NS_PER_MS) + 1);
    }
}

/* Silences the near end. A receiver may still hold unread payload when END has come. */
static void stop_near(struct tcp_run *run, enum tl_status status)
{
    if (run->start_ns == 0)
        return;
    if (status == TL_OK)
        await_near(run, 200 * TL_NS_PER_MS);
    for (unsigned i = 0; i < run->lane_count; i++)
        run->lanes[i].result->elapsed_ns = tl_now_ns() - run->start_ns;
    for (unsigned i = 0; i < run->lane_count; i++)
        if (run->lanes[i].near)
            tl_streams_stop(run->lanes[i].near);
    await_near(run, 2 * TL_STREAM_STOP_NS);
}

static bool went_silent(const struct tcp_lane *lane)
{
    for (unsigned i = 0; i < lane->result->streams; i++)
        if (lane->near_side->streams[i].end == TL_STREAM_END_TIMEOUT)
            return true;
    return false;
}

static enum tl_tcp_end end_of(const struct tcp_run *run, const struct tcp_lane *lane,
                              enum tl_status status)
{
    enum tl_tcp_end end = lane->result->end;
    if (status == TL_CANCELLED)
        return TL_TCP_END_CANCELLED;
    if (run->start_ns == 0)
        return TL_TCP_END_NOT_RUN;
    if (status == TL_TIMEOUT || (end == TL_TCP_END_FAILED && went_silent(lane)))
        return TL_TCP_END_SILENT;
    return status != TL_OK ? TL_TCP_END_LOST : end;
}

/* Puts the status and the ends of the streams into words; may turn a signed but failed
 * end into an error. */
static enum tl_status judge_end(struct tcp_run *run, enum tl_status status, struct tl_error *reterr)
{
    bool silent = false, failed = false;
    for (unsigned i = 0; i < run->lane_count; i++) {
        struct tl_tcp_result *result = run->lanes[i].result;
        result->end = end_of(run, &run->lanes[i], status);
        silent = silent || result->end == TL_TCP_END_SILENT;
        failed = failed || result->end == TL_TCP_END_FAILED;
    }
    if (status == TL_OK && silent)
        return tl_error_set(reterr, TL_TIMEOUT, "the path to %s died %.1f s after the start",
                            run->client->host, (double)run->result->elapsed_ns / 1e9);
    if (status == TL_OK && failed)
        return tl_error_set(reterr, TL_CLOSED, "%s ended the test early: a data connection broke",
                            run->client->host);
    return status;
}

static enum tl_status run_test(struct tcp_run *run, struct tl_error *reterr)
{
    enum tl_status status = client_ask(run, reterr);
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
        (void)!client_stop_far(run, NULL);
    client_hang_up(run->client);
}

static void init_lane(struct tcp_lane *lane, struct tl_tcp_result *result)
{
    lane->result = result;
    lane->near_side = result->near_sends ? &result->sender : &result->receiver;
    lane->far_side = result->near_sends ? &result->receiver : &result->sender;
    lane->rate_bps = NAN;
}

/* The lanes and, for both ways, the upload's result. */
static enum tl_status init_lanes(struct tcp_run *run, struct tl_error *reterr)
{
    run->lane_count = directions_of(run->spec);
    init_lane(&run->lanes[0], run->result);
    if (run->lane_count == 1)
        return TL_OK;
    run->result->upload = malloc(sizeof(*run->result->upload));
    if (!run->result->upload)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a test");
    result_init(run->result->upload, run->spec);
    run->result->upload->near_sends = true;
    init_lane(&run->lanes[1], run->result->upload);
    return TL_OK;
}

static enum tl_status run_and_judge(struct tcp_run *run, struct tl_error *reterr)
{
    enum tl_status status = run_test(run, reterr);
    bool refused = status == TL_UNSUPPORTED || status == TL_DENIED || status == TL_LIMIT;
    if (status != TL_OK && !(refused && run->ready.test_id == 0))
        abandon(run);
    stop_near(run, status);
    result_complete(run);
    client_file_complete(run);
    return client_file_judge(run, judge_end(run, status, reterr), reterr);
}

enum tl_status tl_client_tcp_test(struct tl_client *client, const struct tl_tcp_spec *spec,
                                  tl_tcp_live_fn *live, void *context,
                                  struct tl_tcp_result *ret_result, struct tl_error *reterr)
{
    result_init(ret_result, spec);
    enum tl_status status = client_check_spec(spec, reterr);
    if (status == TL_OK)
        status = client_wake(client, reterr);
    if (status != TL_OK)
        return status;
    struct tcp_run *run = calloc(1, sizeof(*run));
    if (!run)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a test");
    *run = (struct tcp_run){
        .client = client, .spec = spec, .result = ret_result, .live = live, .context = context};
    status = init_lanes(run, reterr);
    if (status == TL_OK)
        status = run_and_judge(run, reterr);
    for (unsigned i = 0; i < run->lane_count; i++)
        tl_streams_destroy(run->lanes[i].near);
    free(run);
    return status;
}

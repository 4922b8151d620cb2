/* One TCP test, seen from the near end:
 *
 *   client_ask() -> data connections -> START -> STARTED
 *                -> running: SAMPLES come, PINGs go -> TEST_END
 *
 * It runs on the caller's thread; payload moves in the threads of stream.h. */
#include <math.h>
#include <poll.h>
#include <stdlib.h>

#include "client_tcp.h"
#include "tightlink/base/time.h"

#define ANALYSIS_NS  TL_STEADY_BATCH_NS    /* between looks whether the rate is known */
#define RECEIVE_NS   (1500 * TL_NS_PER_MS) /* a receiver's patience after its sender's end */
#define TALKING_NS   (2 * TL_NS_PER_S)     /* told of the test that recently */
#define NEAR_DONE_NS (500 * TL_NS_PER_MS)  /* for TEST_END after our streams, then STOP */

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
    if (result->granted_bytes > 0) {
        spec.bytes_cap = result->granted_bytes / result->streams;
        if (spec.bytes_cap == 0 || !result->near_sends)
            spec.bytes_cap++; /* a receiver sees by one byte more that its sender keeps to nothing
                               */
    }
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
            run->beside_rx_before = run->client->beside_rx_bytes;
            run->beside_tx_before = run->client->beside_tx_bytes;
            client_readings_begin(run->client, &run->before);
            run->start_ns = tl_now_ns();
            run->ping_ns = run->live_ns = run->analysis_ns = run->start_ns;
        }
        lane->start_ns = tl_now_ns();
        status = tl_streams_start(lane->near, reterr);
    }
    return status;
}

static enum tl_status take_frame(void *test, const struct tl_wire_frame *frame,
                                 struct tl_error *reterr)
{
    struct tcp_run *run = test;
    if (frame->type != TL_WIRE_PONG)
        run->told_ns = tl_now_ns();
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

static struct client_running running_of(struct tcp_run *run)
{
    return (struct client_running){run->client, take_frame, run, &run->ended};
}

enum tl_status client_start_far(struct tcp_run *run, struct tl_error *reterr)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_start message = {.test_id = run->ready.test_id};
    struct client_running running = running_of(run);
    enum tl_status status =
        client_send(run->client, frame, tl_wire_encode_start(&message, frame), reterr);
    return status == TL_OK ? client_await_started(&running, reterr) : status;
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

static enum tl_status stop_far(struct tcp_run *run, struct tl_error *reterr)
{
    run->stop_sent_ns = tl_now_ns();
    return client_send_stop(run->client, run->ready.test_id, reterr);
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

/* The bytes so far; lane->rate follows. */
static uint64_t update_rate(const struct tcp_run *run, struct tcp_lane *lane)
{
    uint64_t bytes;
    int64_t time_ns;
    look_at_receiver(run, lane, &bytes, &time_ns);
    live_rate_update(&lane->rate, time_ns, bytes);
    return bytes;
}

static void tell_live(struct tcp_run *run, int64_t now_ns)
{
    const struct tl_tcp_sample *sender = newest_of_sender(&run->lanes[0]);
    bool has_rtt = sender && tl_sample_has(sender, TL_SF_rtt_ns);
    const struct tl_steady_rate *rate = &run->result->steady.rate;
    struct tl_tcp_live live = {.elapsed_ns = now_ns - run->start_ns,
                               .received_bytes = update_rate(run, &run->lanes[0]),
                               .rate_bps = run->lanes[0].rate.bps,
                               .rtt_ns = has_rtt ? (double)sender->rtt_ns : NAN,
                               .sender = sender,
                               .low_bps = rate->valid ? rate->low_bps : NAN,
                               .high_bps = rate->valid ? rate->high_bps : NAN};
    tl_ledger_so_far(sender, &live.ledger);
    if (run->live)
        run->live(run->context, &live);
}

/* In every direction. */
static bool is_known(const struct tcp_run *run)
{
    bool known = true;
    for (unsigned i = 0; i < run->lane_count; i++)
        known = known && tl_steady_settles(&run->lanes[i].result->steady, &run->spec->enough,
                                           run->ready.streams);
    return known;
}

static bool stands_still(const struct tcp_run *run, int64_t now_ns)
{
    const struct tl_tcp_spec *spec = run->spec;
    uint64_t bytes, all_bytes = 0;
    int64_t time_ns;
    if (spec->still_ns == 0 || now_ns - run->start_ns < spec->still_ns)
        return false;
    for (unsigned i = 0; i < run->lane_count; i++) {
        look_at_receiver(run, &run->lanes[i], &bytes, &time_ns);
        all_bytes += bytes;
    }
    return all_bytes < spec->still_bytes;
}

/* Ends the test when more of it would tell no more. */
static enum tl_status look_whether_known(struct tcp_run *run, int64_t now_ns,
                                         struct tl_error *reterr)
{
    result_analyse(run);
    if (run->stop_sent || (!is_known(run) && !stands_still(run, now_ns)))
        return TL_OK;
    run->stop_sent = true;
    enum tl_status status = stop_far(run, reterr);
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
        result_note_silence(run, now_ns);
    }
    if (status == TL_OK && now_ns >= run->live_ns) {
        run->live_ns = now_ns + TL_CLIENT_LIVE_NS;
        result_drain_near(run);
        client_file_drain(run);
        tell_live(run, now_ns);
    }
    if (status == TL_OK && now_ns >= run->analysis_ns + ANALYSIS_NS) {
        run->analysis_ns = now_ns;
        status = look_whether_known(run, now_ns, reterr);
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

/* A receiver of ours took its last byte, and one more. */
static bool overfed(const struct tcp_run *run)
{
    for (unsigned i = 0; i < run->lane_count; i++) {
        const struct tcp_lane *lane = &run->lanes[i];
        if (lane->start_ns == 0 || lane->result->near_sends)
            continue;
        for (uint32_t stream = 0; stream < tl_streams_count(lane->near); stream++) {
            struct tl_stream_result result;
            tl_streams_result(lane->near, stream, &result);
            if (result.end == TL_STREAM_END_CAP)
                return true;
        }
    }
    return false;
}

/* Deadlines of the whole and of the far end's answers. */
static enum tl_status check_patience(struct tcp_run *run, int64_t now_ns, int64_t *near_done_ns,
                                     struct tl_error *reterr)
{
    if (*near_done_ns == 0 && !running_lane(run))
        *near_done_ns = now_ns;
    int64_t slack_ns = NEAR_DONE_NS + 2 * run->client->info.connect_rtt_ns;
    if (*near_done_ns > 0 && run->stop_sent_ns == 0 && now_ns > *near_done_ns + slack_ns)
        return stop_far(run, reterr);
    if (overfed(run))
        return tl_error_set(reterr, TL_PROTOCOL,
                            "%s sent more than the %.0f MB that were asked for", run->client->host,
                            (double)run->result->granted_bytes / 1e6);
    int64_t silent_ns = now_ns - run->client->heard_ns;
    int64_t late_ns = now_ns - run->start_ns - run->result->granted_ns;
    /* A far end that still tells its readings is alive, however long they take behind a queue. */
    int64_t talking_ns = TALKING_NS + 2 * client_rtt_ns(run->client);
    if (silent_ns > TL_CLIENT_SILENT_NS ||
        (late_ns > TCP_END_NS && now_ns - run->told_ns > talking_ns) || late_ns > TCP_END_MAX_NS)
        return result_overdue(run, reterr);
    return TL_OK;
}

enum tl_status client_take_frames(struct tcp_run *run, struct tl_error *reterr)
{
    struct client_running running = running_of(run);
    return client_take_all(&running, reterr);
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
    if (status == TL_PROTOCOL)
        return TL_TCP_END_UNRULY;
    if (status == TL_TIMEOUT || (end == TL_TCP_END_FAILED && went_silent(lane)))
        return TL_TCP_END_SILENT;
    return status != TL_OK ? TL_TCP_END_LOST : end;
}

/* Puts the status and the ends of the streams into words; may turn a signed but failed
 * end into an error. */
static enum tl_status judge_end(struct tcp_run *run, enum tl_status status, struct tl_error *reterr)
{
    bool silent = false, failed = false, unheard = false;
    for (unsigned i = 0; i < run->lane_count; i++) {
        struct tl_tcp_result *result = run->lanes[i].result;
        result->end = end_of(run, &run->lanes[i], status);
        silent = silent || result->end == TL_TCP_END_SILENT;
        failed = failed || result->end == TL_TCP_END_FAILED;
        unheard = unheard || result->end == TL_TCP_END_UNHEARD;
    }
    if (silent && (status == TL_OK || status == TL_TIMEOUT) &&
        tl_tcp_result_program_silent(run->result))
        return tl_error_set(reterr, TL_TIMEOUT,
                            "the responder at %s said nothing for %.1f s, while its host "
                            "acknowledged what was sent: it was stopped, or got no processor",
                            run->client->host, (double)run->result->unheard_ns / 1e9);
    if (status == TL_OK && silent)
        return tl_error_set(reterr, TL_TIMEOUT, "the path to %s died %.1f s after the start",
                            run->client->host, (double)run->result->elapsed_ns / 1e9);
    if (status == TL_OK && unheard)
        return tl_error_set(
            reterr, TL_CLOSED,
            "%s ended the test early: it heard nothing from this program, which got "
            "no processor, or whose words were lost on the way",
            run->client->host);
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

void client_abandon(struct tcp_run *run)
{
    if (run->ready.test_id != 0 && run->client->fd >= 0)
        (void)!stop_far(run, NULL);
    client_hang_up(run->client);
}

static void init_lane(struct tcp_lane *lane, struct tl_tcp_result *result)
{
    lane->result = result;
    lane->near_side = result->near_sends ? &result->sender : &result->receiver;
    lane->far_side = result->near_sends ? &result->receiver : &result->sender;
    lane->rate.bps = NAN;
}

/* The lanes and, for both ways, the upload's result. */
static enum tl_status init_lanes(struct tcp_run *run, struct tl_error *reterr)
{
    run->lane_count = client_directions(run->spec);
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
    if (status != TL_OK && !client_refused(status, &run->ready))
        client_abandon(run);
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

/* What becomes of a test's samples and readings: the result of both ends. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client_tcp.h"
#include "tightlink/base/time.h"

#define FAR_CLOCK_SLACK_NS (10 * TL_NS_PER_S) /* a far sample may be that much after the end */
#define UNHEARD_NS         (3 * TL_NS_PER_S) /* silence of a program that is asked 5 times a second */
#define ACKED_NS                                                                                   \
    (1500 * TL_NS_PER_MS)                   /* acknowledgements at least that often: two of the    \
                                             * kernel's own timeouts */
#define EARLY_CLOSE_NS (250 * TL_NS_PER_MS) /* a deadline of the other end may be earlier */

static void init_side(struct tl_tcp_side *side)
{
    *side = (struct tl_tcp_side){.bytes = 0};
    for (unsigned i = 0; i < TL_STREAMS_MAX; i++)
        side->streams[i] =
            (struct tl_stream_result){.first_byte_ns = -1, .last_byte_ns = -1, .end_ns = -1};
    for (unsigned i = 0; i < TL_CPU_USAGE_COUNT; i++)
        side->cpu.values[i] = tl_host_unknown(TL_HOST_WHY_NOT_READ);
    for (unsigned i = 0; i < TL_HOST_COUNTER_COUNT; i++)
        side->counters.values[i] = tl_host_unknown(TL_HOST_WHY_NOT_READ);
}

void result_init(struct tl_tcp_result *result, const struct tl_tcp_spec *spec)
{
    memset(result, 0, sizeof(*result));
    result->spec = *spec;
    result->near_sends = spec->direction == TL_WIRE_UPLOAD;
    init_side(&result->sender);
    init_side(&result->receiver);
    result->data_rtt_ns = result->unacked_ns = -1;
    result->ends_agree_ratio = NAN;
    result->http2_window_bytes = result->http2_held_ratio = NAN;
    result->steady.fairness_ratio = NAN;
    tl_steady_rate(NULL, 0, 0, &result->steady.rate);
    tl_flow_stats_sum(NULL, 0, &result->steady.sender);
    tl_flow_stats_sum(NULL, 0, &result->steady.sender_whole);
    tl_receiver_stats_sum(NULL, 0, &result->steady.receiver);
}

void tl_tcp_result_finish(struct tl_tcp_result *result)
{
    for (unsigned i = 0; i < TL_STREAMS_MAX; i++) {
        tl_sample_log_finish(&result->sender.logs[i]);
        tl_sample_log_finish(&result->receiver.logs[i]);
    }
    if (result->upload)
        tl_tcp_result_finish(result->upload);
    free(result->upload);
    result->upload = NULL;
}

/* Which of the two is silent: the far kernel, and so the path, or the far program alone. */
void result_note_silence(const struct tcp_run *run, int64_t now_ns)
{
    int64_t unacked_ns = run->client->info.unacked_ns;
    int64_t unheard_ns = now_ns - run->client->heard_ns;
    if (unacked_ns > run->result->unacked_ns)
        run->result->unacked_ns = unacked_ns;
    if (unheard_ns > run->result->unheard_ns)
        run->result->unheard_ns = unheard_ns;
}

/* A path that comes back after seconds lets the far kernel's own timers hold its words for seconds
 * more: only who acknowledged all the time was reached all the time. */
bool tl_tcp_result_program_silent(const struct tl_tcp_result *result)
{
    return result->unheard_ns >= UNHEARD_NS && result->unacked_ns >= 0 &&
           result->unacked_ns < ACKED_NS;
}

enum tl_status result_overdue(const struct tcp_run *run, struct tl_error *reterr)
{
    const struct tl_tcp_result *result = run->result;
    bool reached = result->unacked_ns >= 0 && result->unacked_ns < ACKED_NS;
    if (!reached || result->unheard_ns >= UNHEARD_NS)
        return client_fell_silent(run->client, run->start_ns, reterr);
    return tl_error_set(reterr, TL_PROTOCOL,
                        "%s answers, but did not end the test when its time was over",
                        run->client->host);
}

void result_note(struct tl_tcp_result *result, const char *fmt, ...)
{
    size_t used = strlen(result->notes), from = used > 0 ? used + 1 : 0;
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(result->notes + from, sizeof(result->notes) - from, fmt, args);
    va_end(args);
    if (len < 0 || from + (size_t)len >= sizeof(result->notes))
        result->notes[used] = '\0';
    else if (used > 0)
        result->notes[used] = ' ';
}

static void add_sample(struct tcp_run *run, struct tl_tcp_side *side,
                       const struct tl_tcp_sample *sample)
{
    if (tl_sample_log_add(&side->logs[sample->stream], sample, run->log_max) != TL_OK)
        side->samples_dropped++;
}

void result_drain_near(struct tcp_run *run)
{
    struct tl_tcp_sample batch[16];
    for (unsigned lane = 0; lane < run->lane_count; lane++) {
        size_t count;
        if (run->lanes[lane].start_ns == 0)
            continue;
        while ((count = tl_streams_drain(run->lanes[lane].near, batch, 16)) > 0)
            for (size_t i = 0; i < count; i++)
                add_sample(run, run->lanes[lane].near_side, &batch[i]);
    }
}

enum tl_status result_take_samples(struct tcp_run *run, const struct tl_wire_frame *frame,
                                   struct tl_error *reterr)
{
    struct tl_wire_samples head;
    static const int64_t no_time = 0;
    struct tl_tcp_sample *batch = malloc(TL_WIRE_SAMPLES_MAX * sizeof(*batch));
    if (!batch)
        return tl_error_set(reterr, TL_NOMEM, "no memory for samples");
    enum tl_status status =
        tl_wire_decode_samples(frame->payload, frame->payload_len, &head, batch, reterr);
    if (status == TL_OK && head.test_id == run->ready.test_id && head.stream < run->connections) {
        struct tcp_lane *lane = &run->lanes[head.stream / run->ready.streams];
        int64_t latest_ns = run->result->granted_ns + FAR_CLOCK_SLACK_NS;
        for (unsigned i = 0; i < head.count; i++) {
            batch[i].stream = head.stream - lane->first;
            if (batch[i].time_ns >= no_time && batch[i].time_ns <= latest_ns)
                add_sample(run, lane->far_side, &batch[i]);
            else
                lane->far_side->samples_dropped++;
        }
    }
    free(batch);
    return status;
}

/* The places of both lanes' readings, of this end or the far one; how many there are. */
static unsigned readings_places(const struct tcp_run *run, bool near,
                                struct client_readings_place ret_places[2])
{
    for (unsigned i = 0; i < run->lane_count; i++) {
        const struct tcp_lane *lane = &run->lanes[i];
        struct tl_tcp_side *side = near ? lane->near_side : lane->far_side;
        ret_places[i] = (struct client_readings_place){&side->cpu, &side->counters};
    }
    return run->lane_count;
}

enum tl_status result_take_readings(struct tcp_run *run, const struct tl_wire_frame *frame,
                                    struct tl_error *reterr)
{
    struct client_readings_place places[2];
    unsigned count = readings_places(run, false, places);
    return client_take_readings(frame, run->ready.test_id, places, count, reterr);
}

static void take_totals(struct tcp_run *run, const struct tl_wire_test_end *end)
{
    for (unsigned i = 0; i < end->count; i++) {
        unsigned connection = end->first + i;
        struct tcp_lane *lane = &run->lanes[connection / run->ready.streams];
        struct tl_stream_result *stream = &lane->far_side->streams[connection - lane->first];
        const struct tl_wire_stream_total *total = &end->totals[i];
        stream->bytes = total->bytes;
        stream->last_byte_ns = (int64_t)(total->duration_ns & INT64_MAX);
        stream->cpu_ns = total->cpu_ns;
        stream->run_delay_ns = total->run_delay_ns;
    }
}

/* Whether every stream of ours came to its own end, or to its sender's in time. One of several on
 * which nothing came back is no fault of the test: the others ran on. */
static bool near_ended_in_time(const struct tcp_lane *lane)
{
    bool any = false;
    for (uint32_t i = 0; lane->near && i < tl_streams_count(lane->near); i++) {
        struct tl_stream_result stream;
        tl_streams_result(lane->near, i, &stream);
        bool late = stream.end_ns >= lane->result->granted_ns - EARLY_CLOSE_NS;
        if (stream.end == TL_STREAM_END_TIMEOUT)
            continue;
        if (stream.end != TL_STREAM_END_DEADLINE && stream.end != TL_STREAM_END_CAP &&
            !(stream.end == TL_STREAM_END_PEER && late))
            return false;
        any = true;
    }
    return any;
}

/* A far end whose processors were taken is told to stop when our streams are long done, or notices
 * only that we hung up: then the time was over, and nothing broke. */
static enum tl_tcp_end end_of_reason(const struct tcp_run *run, const struct tcp_lane *lane,
                                     unsigned reason)
{
    if (run->stop_sent)
        return TL_TCP_END_KNOWN;
    switch (reason) {
    case TL_WIRE_END_TIME:
        return TL_TCP_END_DEADLINE;
    case TL_WIRE_END_BYTES:
        return TL_TCP_END_BYTES;
    case TL_WIRE_END_UNHEARD:
        return TL_TCP_END_UNHEARD;
    case TL_WIRE_END_STOPPED:
    case TL_WIRE_END_CLOSED:
        return near_ended_in_time(lane) ? TL_TCP_END_DEADLINE : TL_TCP_END_FAILED;
    default:
        return TL_TCP_END_FAILED;
    }
}

enum tl_status result_take_end(struct tcp_run *run, const struct tl_wire_frame *frame,
                               struct tl_error *reterr)
{
    struct tl_wire_test_end end;
    bool ours;
    enum tl_status status =
        client_decode_end(run->client, frame, run->ready.test_id, &end, &ours, reterr);
    if (status != TL_OK || !ours)
        return status;
    if (end.streams != run->connections || end.first != run->totals_count)
        return tl_error_set(reterr, TL_PROTOCOL, "the end of the test has totals of other streams");
    take_totals(run, &end);
    run->totals_count += end.count;
    if (run->totals_count < run->connections)
        return TL_OK;
    run->ended = true;
    for (unsigned i = 0; i < run->lane_count; i++) {
        struct tcp_lane *lane = &run->lanes[i];
        lane->result->end_signed = true;
        lane->result->end = end_of_reason(run, lane, end.reason);
        lane->far_side->samples_dropped += end.samples_dropped;
        if (lane->result->near_sends)
            lane->far_side->discarded = end.discarded;
        else
            lane->far_side->send_path = (enum tl_send_path)end.send_path;
    }
    return TL_OK;
}

void result_analyse(struct tcp_run *run)
{
    for (unsigned i = 0; i < run->lane_count; i++) {
        struct tl_tcp_result *result = run->lanes[i].result;
        tl_steady_analyse(result->sender.logs, result->receiver.logs, result->streams,
                          result->sender.congestion, run->client->points, &result->steady);
    }
}

void result_complete_near(struct tl_tcp_result *result, struct tl_streams *near)
{
    struct tl_tcp_side *side = result->near_sends ? &result->sender : &result->receiver;
    bool copied;
    side->samples_dropped += tl_streams_dropped(near);
    for (uint32_t i = 0; i < tl_streams_count(near); i++)
        tl_streams_result(near, i, &side->streams[i]);
    memcpy(side->congestion, side->streams[0].congestion, sizeof(side->congestion));
    unsigned placed = tl_streams_placed(near);
    if (placed > 0)
        result_note(result, "Threads here kept to the %u processors of the card's NUMA node.",
                    placed);
    side->call_bytes = tl_streams_call_bytes(near);
    if (!result->near_sends) {
        side->discarded = result->spec.discard;
        return;
    }
    side->send_path = tl_streams_send_path(near, &copied);
    if (copied && result->spec.send_path == TL_SEND_ZEROCOPY)
        result_note(result, "MSG_ZEROCOPY spares no copy on this interface: plain send() was "
                            "used.");
}

static void read_near(struct tcp_run *run)
{
    struct client_readings_place places[2];
    client_readings_end(run->client, &run->before, places, readings_places(run, true, places));
    for (unsigned i = 0; i < run->lane_count; i++) {
        struct tl_tcp_result *result = run->lanes[i].result;
        result->beside_bytes = result->near_sends
                                   ? run->client->beside_tx_bytes - run->beside_tx_before
                                   : run->client->beside_rx_bytes - run->beside_rx_before;
    }
}

static void complete_near(struct tcp_run *run)
{
    read_near(run);
    result_drain_near(run);
    for (unsigned i = 0; i < run->lane_count; i++)
        if (run->lanes[i].start_ns > 0)
            result_complete_near(run->lanes[i].result, run->lanes[i].near);
}

/* How far the received bytes lie outside of what the sender knows to be acknowledged and
 * sent. The last ACKs of an aborted connection never arrive, so there is room between. */
static double ends_agree(const struct tl_tcp_result *result)
{
    double acked = 0, sent = 0, received = (double)result->receiver.bytes;
    for (unsigned i = 0; i < result->streams; i++) {
        const struct tl_sample_log *log = &result->sender.logs[i];
        const struct tl_tcp_sample *last = log->count > 0 ? &log->samples[log->count - 1] : NULL;
        if (!last || !last->last || !tl_sample_has(last, TL_SF_bytes_retrans) ||
            !tl_sample_has(last, TL_SF_bytes_acked))
            return NAN;
        acked += (double)last->bytes_acked;
        sent += (double)last->bytes_sent - (double)last->bytes_retrans;
    }
    sent = fmax(sent, 0); /* a far end may tell anything */
    double off = received > sent ? received - sent : received < acked ? acked - received : 0;
    double larger = fmax(fmax(received, sent), acked);
    return larger > 0 ? off / larger : NAN;
}

void result_sum(struct tl_tcp_result *result)
{
    for (unsigned i = 0; i < result->streams; i++) {
        result->sender.bytes += result->sender.streams[i].bytes;
        result->receiver.bytes += result->receiver.streams[i].bytes;
    }
    if (result->end_signed)
        result->ends_agree_ratio = ends_agree(result);
}

void result_complete(struct tcp_run *run)
{
    if (run->start_ns > 0)
        complete_near(run);
    result_analyse(run);
    for (unsigned i = 0; i < run->lane_count; i++) {
        run->lanes[i].result->data_rtt_ns = run->result->data_rtt_ns;
        run->lanes[i].result->queued_ns = run->result->queued_ns;
        result_sum(run->lanes[i].result);
    }
}

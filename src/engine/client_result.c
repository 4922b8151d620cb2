/* What becomes of a test's samples and readings: the result of both ends. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client_private.h"
#include "tightlink/base/time.h"

#define FAR_CLOCK_SLACK_NS (10 * TL_NS_PER_S) /* a far sample may be that much after the end */

static void init_side(struct tl_tcp_side *side)
{
    *side = (struct tl_tcp_side){.bytes = 0};
    for (unsigned i = 0; i < TL_STREAMS_MAX; i++)
        side->streams[i] =
            (struct tl_stream_result){.first_byte_ns = -1, .last_byte_ns = -1, .end_ns = -1};
    for (unsigned i = 0; i < TL_CPU_USAGE_COUNT; i++)
        side->cpu.values[i] = tl_host_unknown(TL_HOST_WHY_NOT_READ);
}

void result_init(struct tl_tcp_result *result, const struct tl_tcp_spec *spec)
{
    memset(result, 0, sizeof(*result));
    result->spec = *spec;
    result->near_sends = spec->direction == TL_WIRE_UPLOAD;
    init_side(&result->sender);
    init_side(&result->receiver);
    result->data_rtt_ns = -1;
    result->ends_agree_ratio = NAN;
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
    size_t count;
    while ((count = tl_streams_drain(run->near, batch, 16)) > 0)
        for (size_t i = 0; i < count; i++)
            add_sample(run, run->near_side, &batch[i]);
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
    if (status == TL_OK && head.test_id == run->ready.test_id && head.stream < run->ready.streams) {
        int64_t latest_ns = run->result->granted_ns + FAR_CLOCK_SLACK_NS;
        for (unsigned i = 0; i < head.count; i++) {
            batch[i].stream = head.stream;
            if (batch[i].time_ns >= no_time && batch[i].time_ns <= latest_ns)
                add_sample(run, run->far_side, &batch[i]);
            else
                run->far_side->samples_dropped++;
        }
    }
    free(batch);
    return status;
}

enum tl_status result_take_readings(struct tcp_run *run, const struct tl_wire_frame *frame,
                                    struct tl_error *reterr)
{
    struct tl_wire_readings head;
    struct tl_wire_cursor cursor;
    enum tl_status status =
        tl_wire_decode_readings(frame->payload, frame->payload_len, &head, &cursor, reterr);
    if (status != TL_OK || head.test_id != run->ready.test_id)
        return status;
    for (unsigned count = 0; count < TL_WIRE_RECORDS_MAX; count++) {
        struct tl_wire_record record;
        bool more;
        status = tl_wire_record_next(&cursor, &record, &more, reterr);
        if (status != TL_OK || !more)
            return status;
        (void)tl_wire_cpu_store(&run->far_side->cpu, &record); /* false: not known here */
    }
    return TL_OK;
}

enum tl_status result_take_end(struct tcp_run *run, const struct tl_wire_frame *frame,
                               struct tl_error *reterr)
{
    struct tl_wire_test_end end;
    enum tl_status status =
        tl_wire_decode_test_end(frame->payload, frame->payload_len, &end, reterr);
    if (status != TL_OK || end.test_id != run->ready.test_id)
        return status;
    if (!tl_wire_token_equal(&end.token, &run->client->token))
        return tl_error_set(reterr, TL_PROTOCOL, "the end of the test is not signed by %s",
                            run->client->host);
    run->ended = run->result->end_signed = true;
    run->far_side->samples_dropped += end.samples_dropped;
    for (unsigned i = 0; i < end.streams && i < run->ready.streams; i++) {
        struct tl_stream_result *stream = &run->far_side->streams[i];
        const struct tl_wire_stream_total *total = &end.totals[i];
        stream->bytes = total->bytes;
        stream->last_byte_ns = (int64_t)(total->duration_ns & INT64_MAX);
        stream->cpu_ns = total->cpu_ns;
        stream->run_delay_ns = total->run_delay_ns;
    }
    if (run->stop_sent)
        run->result->end = TL_TCP_END_KNOWN;
    else if (end.reason == TL_WIRE_END_TIME)
        run->result->end = TL_TCP_END_DEADLINE;
    else if (end.reason == TL_WIRE_END_BYTES)
        run->result->end = TL_TCP_END_BYTES;
    else
        run->result->end = TL_TCP_END_FAILED;
    return TL_OK;
}

void result_analyse(struct tcp_run *run)
{
    tl_steady_analyse(run->result->sender.logs, run->result->receiver.logs, run->ready.streams,
                      run->result->sender.congestion, run->client->points, &run->result->steady);
}

static void complete_near(struct tcp_run *run)
{
    struct tl_cpu_reading *after = malloc(sizeof(*after));
    result_drain_near(run);
    run->near_side->samples_dropped += tl_streams_dropped(run->near);
    for (uint32_t i = 0; i < tl_streams_count(run->near); i++)
        tl_streams_result(run->near, i, &run->near_side->streams[i]);
    memcpy(run->near_side->congestion, run->near_side->streams[0].congestion,
           sizeof(run->near_side->congestion));
    if (!after)
        return; /* usage stays unknown */
    tl_cpu_reading_take(&run->client->cpu_reader, after);
    tl_cpu_usage_between(&run->client->cpu_reader, &run->cpu_before, after, &run->near_side->cpu);
    free(after);
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
    double off = received > sent ? received - sent : received < acked ? acked - received : 0;
    double larger = fmax(received, sent);
    return larger > 0 ? off / larger : NAN;
}

void result_complete(struct tcp_run *run)
{
    struct tl_tcp_result *result = run->result;
    if (run->near && run->start_ns > 0)
        complete_near(run);
    for (unsigned i = 0; i < result->streams; i++) {
        result->sender.bytes += result->sender.streams[i].bytes;
        result->receiver.bytes += result->receiver.streams[i].bytes;
    }
    result_analyse(run);
    if (result->end_signed)
        result->ends_agree_ratio = ends_agree(result);
}

/* What becomes of a UDP test's accounts: the result of both ends, and how it ended. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/time.h"
#include "udp_client.h"

static enum tl_status take_report(struct udp_run *run, const struct tl_wire_frame *frame,
                                  struct tl_error *reterr)
{
    struct tl_wire_udp_report report;
    enum tl_status status =
        tl_wire_decode_udp_report(frame->payload, frame->payload_len, &report, reterr);
    bool far_sends = !run->result->near_sends;
    if (status != TL_OK || report.test_id != run->ready.test_id ||
        (report.role == TL_UDP_ROLE_SENDER) != far_sends)
        return status;
    const uint64_t *values = report.fields.values;
    if (!report.is_final) {
        run->far_count = values[TL_UR_received_count];
        run->far_bytes = values[TL_UR_received_bytes];
        run->far_ns = (int64_t)(values[TL_UR_span_ns] & INT64_MAX);
        return TL_OK;
    }
    run->far_told = true;
    if (far_sends) {
        udp_sender_from_fields(&report.fields, &run->result->sender);
        run->far_end = (unsigned)values[TL_US_end];
        run->far_errnum = (int)(values[TL_US_errnum] & 4095);
        if (run->flow)
            udp_flow_sender_ended(run->flow, run->result->sender.sent_count);
    } else {
        udp_receiver_from_fields(&report.fields, &run->result->receiver);
    }
    return TL_OK;
}

static enum tl_status take_series(struct udp_run *run, const struct tl_wire_frame *frame,
                                  struct tl_error *reterr)
{
    struct tl_udp_result *result = run->result;
    struct tl_wire_udp_series *series = malloc(sizeof *series);
    if (!series)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a series");
    enum tl_status status =
        tl_wire_decode_udp_series(frame->payload, frame->payload_len, series, reterr);
    int64_t interval_ns = run->ready.sample_interval_us * TL_NS_PER_US;
    bool far_sends = !result->near_sends;
    for (unsigned i = 0;
         status == TL_OK && series->test_id == run->ready.test_id && i < series->count;
         i++) { /* what lies outside of our tables is not believed */
        if (series->kind == TL_UDP_SERIES_INTERVALS)
            (void)udp_interval_merge(&series->records[i], far_sends, interval_ns, result->intervals,
                                     TL_UDP_INTERVALS_MAX, &result->interval_count);
        else
            (void)udp_train_merge(&series->records[i], far_sends, result->trains,
                                  result->train_count);
    }
    free(series);
    return status;
}

/* Where the readings of this end or the far one go. */
static struct client_readings_place readings_place(struct tl_udp_result *result, bool near)
{
    if (result->near_sends == near)
        return (struct client_readings_place){&result->sender_cpu, &result->sender_counters};
    return (struct client_readings_place){&result->receiver_cpu, &result->receiver_counters};
}

static enum tl_status take_end(struct udp_run *run, const struct tl_wire_frame *frame,
                               struct tl_error *reterr)
{
    struct tl_wire_test_end end;
    bool ours;
    enum tl_status status =
        client_decode_end(run->client, frame, run->ready.test_id, &end, &ours, reterr);
    if (status == TL_OK && ours) {
        run->ended = true;
        run->reason = end.reason;
    }
    return status;
}

enum tl_status udp_client_take(void *test, const struct tl_wire_frame *frame,
                               struct tl_error *reterr)
{
    struct udp_run *run = test;
    struct client_readings_place far = readings_place(run->result, false);
    switch (frame->type) {
    case TL_WIRE_UDP_REPORT:
        return take_report(run, frame, reterr);
    case TL_WIRE_UDP_SERIES:
        return take_series(run, frame, reterr);
    case TL_WIRE_READINGS:
        return client_take_readings(frame, run->ready.test_id, &far, 1, reterr);
    case TL_WIRE_TEST_END:
        return take_end(run, frame, reterr);
    default: /* PONG, and what newer responders may tell */
        return TL_OK;
    }
}

void udp_client_take_near(struct udp_run *run)
{
    struct tl_udp_result *result = run->result;
    udp_result_take_flow(result, run->flow);
    struct client_readings_place place = readings_place(result, true);
    client_readings_end(run->client, &run->before, &place, 1);
}

/* How the sender says that it ended, wherever it is. */
static enum tl_udp_end end_of_sender(unsigned end)
{
    switch (end) {
    case UDP_SENDER_TIME:
        return TL_UDP_END_TIME;
    case UDP_SENDER_BYTES:
        return TL_UDP_END_BYTES;
    case UDP_SENDER_UNHEARD:
        return TL_UDP_END_UNHEARD;
    case UDP_SENDER_BLACKHOLE:
        return TL_UDP_END_BLACKHOLE;
    default:
        return TL_UDP_END_FAILED;
    }
}

static enum tl_status judge_failure(const struct udp_run *run, struct tl_error *reterr)
{
    const char *host = run->client->host;
    int errnum = run->result->near_sends ? run->flow->errnum : run->far_errnum;
    if (errnum == EMSGSIZE)
        return tl_error_set(reterr, TL_RANGE,
                            "datagrams of %u bytes do not fit the sender's interface: ask for "
                            "smaller ones",
                            run->datagram_bytes);
    if (errnum != 0)
        return tl_error_set(reterr, tl_status_from_errno(errnum),
                            "the sender's datagrams to or from %s: %s", host, strerror(errnum));
    return tl_error_set(reterr, TL_CLOSED, "%s ended the test early", host);
}

enum tl_status udp_client_judge(struct udp_run *run, enum tl_status status, struct tl_error *reterr)
{
    struct tl_udp_result *result = run->result;
    if (status == TL_CANCELLED) {
        result->end = TL_UDP_END_CANCELLED;
    } else if (!run->flow || run->start_ns == 0) {
        result->end = TL_UDP_END_NOT_RUN;
    } else if (status != TL_OK) {
        result->end = TL_UDP_END_LOST;
    } else {
        result->end =
            end_of_sender(result->near_sends ? (unsigned)run->flow->sender_end : run->far_end);
        if (run->reason == TL_WIRE_END_REBOUND)
            result->end = TL_UDP_END_REBOUND;
        result->end_signed = run->far_told;
        result->valid =
            run->far_told && (result->end == TL_UDP_END_TIME || result->end == TL_UDP_END_BYTES);
        if (result->end == TL_UDP_END_FAILED)
            status = judge_failure(run, reterr);
    }
    return status;
}

/* One UDP test, seen from the near end:
 *
 *   TEST_UDP -> (BUSY …) -> READY -> UDP_START -> STARTED -> datagrams, FEEDBACK, PINGs
 *            -> UDP_REPORT, UDP_SERIES, READINGS, TEST_END
 *
 * It runs on the caller's thread; datagrams move in the thread of udp_flow.h. The socket and
 * the proof of its tuple are kept from test to test: a further test costs two round trips, and
 * all take the same way through whatever hashes flows. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client_private.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/limits.h"
#include "tightlink/host/counters.h"
#include "udp_flow.h"
#include "udp_result.h"

#define PROOF_NS        (15 * TL_NS_PER_S) /* a NAT forgets a tuple in 30 s or more */
#define LIVE_RATE_NS    (400 * TL_NS_PER_MS)
#define PING_NS         (100 * TL_NS_PER_MS) /* feedback over TCP, beside that over UDP */
#define END_NS          (9 * TL_NS_PER_S)    /* for all that comes after the granted time */
#define QUEUE_PING_NS   TL_NS_PER_S
#define INTERVAL_MIN_NS (10 * TL_NS_PER_MS)
#define INTERVAL_MAX_NS (100 * TL_NS_PER_MS)

struct udp_run {
    struct tl_client *client;
    const struct tl_udp_spec *spec;
    struct tl_udp_result *result;
    tl_udp_live_fn *live;
    void *context;
    struct tl_wire_ready ready;
    bool head_crc;
    unsigned datagram_bytes;
    struct udp_flow *flow;
    struct tl_cpu_reading cpu_before;
    struct tl_host_counters counters_before;
    int64_t asked_ns, start_ns, ping_ns, live_ns;
    bool told_end;   /* our account as a sender is sent */
    bool far_told;   /* the far end's final account came */
    bool ended;      /* TEST_END came */
    unsigned reason; /* of TEST_END */
    unsigned far_end;
    int far_errnum;
    uint64_t far_count, far_bytes; /* far receiver so far */
    int64_t far_ns;
    int64_t rate_ns; /* live rate */
    uint64_t rate_bytes;
    double rate_bps;
};

/* --- Asking ----------------------------------------------------------------------------------- */

static int64_t wanted_interval_ns(const struct tl_udp_spec *spec)
{
    int64_t ns = spec->interval_ns ? spec->interval_ns : spec->duration_ns / 20;
    return ns < INTERVAL_MIN_NS ? INTERVAL_MIN_NS : ns > INTERVAL_MAX_NS ? INTERVAL_MAX_NS : ns;
}

static int64_t grace_ns(const struct udp_run *run)
{
    int64_t ns = 2 * run->client->info.connect_rtt_ns;
    ns = ns > UDP_GRACE_MIN_NS ? ns : UDP_GRACE_MIN_NS;
    return ns < UDP_GRACE_MAX_NS ? ns : UDP_GRACE_MAX_NS;
}

static enum tl_status send_ask(struct udp_run *run, struct tl_error *reterr)
{
    const struct tl_udp_spec *spec = run->spec;
    uint8_t frame[TL_WIRE_FRAME_MAX];
    int64_t gap_ns = spec->train_gap_ns ? spec->train_gap_ns : 10 * TL_NS_PER_MS;
    struct tl_wire_test_udp ask = {
        .direction = spec->direction,
        .gro = spec->gro,
        .head_crc = run->head_crc,
        .datagram_bytes = (uint16_t)run->datagram_bytes,
        .duration_ms = (uint32_t)(spec->duration_ns / TL_NS_PER_MS),
        .max_bytes = spec->max_bytes,
        .rate_bps = spec->rate_bps,
        .burst_count = (uint16_t)spec->burst_count,
        .gso_segments = (uint8_t)spec->gso_segments,
        .dscp = (uint8_t)spec->dscp,
        .interval_us = (uint32_t)(wanted_interval_ns(spec) / TL_NS_PER_US),
        .rcvbuf_bytes = (uint32_t)spec->rcvbuf_bytes,
        .train_length = (uint16_t)spec->train_length,
        .train_count = (uint16_t)spec->train_count,
        .train_gap_us = spec->train_length > 0 ? (uint32_t)(gap_ns / TL_NS_PER_US) : 0,
        .grace_ms = (uint16_t)(grace_ns(run) / TL_NS_PER_MS),
    };
    return client_send(run->client, frame, tl_wire_encode_test_udp(&ask, frame), reterr);
}

static enum tl_status take_busy(struct udp_run *run, const struct tl_wire_frame *frame,
                                struct tl_error *reterr)
{
    struct tl_wire_busy busy;
    enum tl_status status = tl_wire_decode_busy(frame->payload, frame->payload_len, &busy, reterr);
    struct tl_udp_live live = {.queued = true,
                               .place = busy.place,
                               .wait_ns = busy.wait_ms * TL_NS_PER_MS,
                               .rate_bps = NAN};
    if (status == TL_OK && run->live)
        run->live(run->context, &live);
    return status;
}

/* The responder may grant less, never more. */
static enum tl_status take_ready(struct udp_run *run, const struct tl_wire_frame *frame,
                                 struct tl_error *reterr)
{
    struct tl_udp_result *result = run->result;
    const struct tl_udp_spec *spec = run->spec;
    enum tl_status status =
        tl_wire_decode_ready(frame->payload, frame->payload_len, &run->ready, reterr);
    if (status != TL_OK)
        return status;
    if (run->ready.streams != 1)
        return tl_error_set(reterr, TL_PROTOCOL, "%s granted another kind of test",
                            run->client->host);
    result->granted_ns = run->ready.duration_ms * TL_NS_PER_MS;
    if (result->granted_ns > spec->duration_ns)
        result->granted_ns = spec->duration_ns;
    if (run->ready.max_bytes < (uint64_t)tl_limit_row(TL_LIMIT_TEST_BYTES)->max)
        result->granted_bytes = run->ready.max_bytes;
    result->granted_rate_bps = spec->train_length > 0 ? 0 : run->ready.pacing_bps;
    if (spec->rate_bps > 0 && result->granted_rate_bps > spec->rate_bps)
        result->granted_rate_bps = spec->rate_bps;
    return TL_OK;
}

/* Waits for READY, through BUSY and its queue. */
static enum tl_status await_ready(struct udp_run *run, struct tl_error *reterr)
{
    struct tl_client *client = run->client;
    int64_t until_ns = run->asked_ns + client->timeout_ns;
    int64_t ping_ns = run->asked_ns + QUEUE_PING_NS;
    int64_t patience_ns =
        run->spec->queue_wait_ns > 0 ? run->spec->queue_wait_ns : TL_CLIENT_QUEUE_NS;
    bool queued = false;
    for (;;) {
        struct tl_wire_frame frame;
        bool some;
        enum tl_status status = client_next_frame(client, &frame, &some, reterr);
        if (status == TL_OK && some && frame.type == TL_WIRE_BUSY) {
            queued = true;
            until_ns = run->asked_ns + patience_ns;
            status = take_busy(run, &frame, reterr);
        } else if (status == TL_OK && some && frame.type == TL_WIRE_READY) {
            run->result->queued_ns = queued ? tl_now_ns() - run->asked_ns : 0;
            return take_ready(run, &frame, reterr);
        }
        int64_t now_ns = tl_now_ns();
        if (status == TL_OK && !some && now_ns >= until_ns)
            return tl_error_set(reterr, queued ? TL_BUSY : TL_TIMEOUT,
                                queued ? "%s is busy with other tests: try again later"
                                       : "%s did not answer the request for a test",
                                client->host);
        if (status == TL_OK && now_ns >= ping_ns) {
            ping_ns = now_ns + QUEUE_PING_NS;
            status = client_send_ping(client, reterr);
        }
        if (status == TL_OK && !some)
            status = client_wait(client, -1, ping_ns < until_ns ? ping_ns : until_ns, reterr);
        if (status != TL_OK)
            return status;
    }
}

/* --- The tuple -------------------------------------------------------------------------------- */

static void forget_tuple(struct tl_client *client)
{
    if (client->udp_fd >= 0)
        close(client->udp_fd);
    client->udp_fd = -1;
    client->udp_proved_ns = 0;
}

static enum tl_status open_tuple(struct tl_client *client, struct tl_error *reterr)
{
    if (client->udp_fd >= 0)
        return TL_OK;
    struct sockaddr_storage local = client->info.local;
    if (local.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&local)->sin6_port = 0;
    else
        ((struct sockaddr_in *)&local)->sin_port = 0;
    client->udp_proved_ns = 0;
    return udp_socket_open(&local, &client->info.peer, &client->udp_fd, reterr);
}

static bool is_proved(const struct tl_client *client)
{
    return client->udp_proved_ns > 0 && tl_now_ns() - client->udp_proved_ns < PROOF_NS &&
           tl_wire_token_equal(&client->udp_token, &client->token);
}

/* The next tests over this tuple need no proof for a while. */
static enum tl_status prove(struct tl_client *client, struct tl_error *reterr)
{
    enum tl_status status =
        client_udp_prove(client, client->udp_fd, -1, &client->udp_cookie, reterr);
    client->udp_proved_ns = status == TL_OK ? tl_now_ns() : 0;
    client->udp_token = client->token;
    return status;
}

/* --- Starting --------------------------------------------------------------------------------- */

static enum tl_status create_flow(struct udp_run *run, struct tl_error *reterr)
{
    const struct tl_udp_spec *spec = run->spec;
    const struct tl_udp_result *result = run->result;
    struct udp_flow_spec flow = {
        .send = result->near_sends,
        .fd = dup(run->client->udp_fd),
        .cookie = run->client->udp_cookie,
        .test_id = run->ready.test_id,
        .duration_ns = result->granted_ns,
        .max_bytes = run->ready.max_bytes,
        .rate_bps = result->granted_rate_bps,
        .datagram_bytes = run->datagram_bytes,
        .burst_count = spec->burst_count,
        .gso_segments = spec->gso_segments,
        .train_length = spec->train_length,
        .train_count = spec->train_count,
        .train_gap_ns = spec->train_gap_ns ? spec->train_gap_ns : 10 * TL_NS_PER_MS,
        .interval_ns = run->ready.sample_interval_us * TL_NS_PER_US,
        .grace_ns = grace_ns(run),
        .patience_ns = END_NS,
        .rtt_ns = run->client->info.connect_rtt_ns,
        .gro = spec->gro,
        .head_crc = run->head_crc,
        .rcvbuf_bytes = spec->rcvbuf_bytes,
    };
    if (flow.fd < 0)
        return tl_error_set(reterr, tl_status_from_errno(errno), "a UDP socket: %s",
                            strerror(errno));
    udp_socket_dscp(flow.fd, spec->dscp);
    return udp_flow_create(&flow, &run->flow, reterr);
}

static enum tl_status start_near(struct udp_run *run, struct tl_error *reterr)
{
    run->start_ns = run->rate_ns = tl_now_ns();
    run->ping_ns = run->live_ns = run->start_ns;
    return udp_flow_start(run->flow, reterr);
}

static enum tl_status send_start(struct udp_run *run, struct tl_error *reterr)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_udp_start start = {run->ready.test_id, run->client->udp_cookie};
    return client_send(run->client, frame, tl_wire_encode_udp_start(&start, frame), reterr);
}

static enum tl_status take_frame(struct udp_run *run, const struct tl_wire_frame *frame,
                                 struct tl_error *reterr);

static enum tl_status await_started(struct udp_run *run, struct tl_error *reterr)
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

/* Readings before a flow starts, and after: of this host. */
static void read_before(struct udp_run *run)
{
    const struct sockaddr *peer = (const struct sockaddr *)&run->client->info.peer;
    tl_host_counters_read(&run->counters_before, "", tl_host_link_index(peer));
    tl_cpu_reading_take(&run->client->cpu_reader, &run->cpu_before);
}

static enum tl_status start(struct udp_run *run, bool was_proved, struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    if (!run->result->near_sends)
        status = start_near(run, reterr);
    if (status == TL_OK)
        status = send_start(run, reterr);
    if (status == TL_OK)
        status = await_started(run, reterr);
    /* The responder has room for few tuples: others of ours may have taken this one's place. */
    if (status == TL_DENIED && was_proved) {
        status = prove(run->client, reterr);
        if (status == TL_OK && run->client->udp_cookie != run->flow->spec.cookie)
            status = tl_error_set(reterr, TL_INVALID, "the address was proved anew: try again");
        if (status == TL_OK)
            status = send_start(run, reterr);
        if (status == TL_OK)
            status = await_started(run, reterr);
    }
    run->result->setup_ns = tl_now_ns() - run->asked_ns - run->result->queued_ns;
    if (status == TL_OK && run->result->near_sends)
        status = start_near(run, reterr);
    return status;
}

/* --- Running ---------------------------------------------------------------------------------- */

static enum tl_status send_stop(struct udp_run *run, struct tl_error *reterr)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_stop stop = {.test_id = run->ready.test_id};
    return client_send(run->client, frame, tl_wire_encode_stop(&stop, frame), reterr);
}

/* Our account as a sender, once. */
static enum tl_status tell_end(struct udp_run *run, struct tl_error *reterr)
{
    struct tl_wire_udp_report report;
    uint8_t frame[TL_WIRE_FRAME_MAX];
    udp_report_from_flow(run->flow, &report);
    run->told_end = true;
    return client_send(run->client, frame, tl_wire_encode_udp_report(&report, frame), reterr);
}

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

static enum tl_status take_readings(struct udp_run *run, const struct tl_wire_frame *frame,
                                    struct tl_error *reterr)
{
    struct tl_udp_result *result = run->result;
    struct tl_cpu_usage *cpu = result->near_sends ? &result->receiver_cpu : &result->sender_cpu;
    struct tl_host_counters_growth *growth =
        result->near_sends ? &result->receiver_counters : &result->sender_counters;
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
        if (!tl_wire_cpu_store(cpu, &record))
            (void)tl_wire_counters_store(growth, &record); /* or unknown here */
    }
    return TL_OK;
}

static enum tl_status take_end(struct udp_run *run, const struct tl_wire_frame *frame,
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
    run->ended = true;
    run->reason = end.reason;
    return TL_OK;
}

static enum tl_status take_frame(struct udp_run *run, const struct tl_wire_frame *frame,
                                 struct tl_error *reterr)
{
    switch (frame->type) {
    case TL_WIRE_UDP_REPORT:
        return take_report(run, frame, reterr);
    case TL_WIRE_UDP_SERIES:
        return take_series(run, frame, reterr);
    case TL_WIRE_READINGS:
        return take_readings(run, frame, reterr);
    case TL_WIRE_TEST_END:
        return take_end(run, frame, reterr);
    default: /* PONG, and what newer responders may tell */
        return TL_OK;
    }
}

static void tell_live(struct udp_run *run, int64_t now_ns)
{
    bool sends = run->result->near_sends;
    uint64_t count = atomic_load(&run->flow->live_count);
    uint64_t bytes = sends ? run->far_bytes : atomic_load(&run->flow->live_bytes);
    int64_t at_ns = sends ? run->far_ns : now_ns - run->start_ns;
    if (at_ns - run->rate_ns >= LIVE_RATE_NS && bytes >= run->rate_bytes) {
        run->rate_bps = (double)(bytes - run->rate_bytes) * 8e9 / (double)(at_ns - run->rate_ns);
        run->rate_bytes = bytes;
        run->rate_ns = at_ns;
    }
    struct tl_udp_live live = {.elapsed_ns = now_ns - run->start_ns,
                               .sent_count = sends ? count : 0,
                               .received_count = sends ? run->far_count : count,
                               .received_bytes = bytes,
                               .rate_bps = run->rate_bps};
    if (run->live)
        run->live(run->context, &live);
}

static enum tl_status keep_time(struct udp_run *run, int64_t now_ns, struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    udp_flow_heard(run->flow, run->client->heard_ns);
    if (now_ns >= run->ping_ns) {
        run->ping_ns = now_ns + PING_NS;
        status = client_send_ping(run->client, reterr);
    }
    if (now_ns >= run->live_ns) {
        run->live_ns = now_ns + TL_CLIENT_LIVE_NS;
        tell_live(run, now_ns);
    }
    if (status == TL_OK && run->result->near_sends && !run->told_end &&
        atomic_load(&run->flow->done))
        status = tell_end(run, reterr);
    if (status == TL_OK && (now_ns - run->client->heard_ns > TL_CLIENT_SILENT_NS ||
                            now_ns - run->start_ns > run->result->granted_ns + END_NS))
        return tl_error_set(reterr, TL_TIMEOUT,
                            "%s stopped answering %.1f s after the start: the path or the "
                            "responder is dead",
                            run->client->host,
                            (double)(run->client->heard_ns - run->start_ns) / 1e9);
    return status;
}

static enum tl_status run_until_end(struct udp_run *run, struct tl_error *reterr)
{
    for (;;) {
        bool some = true;
        enum tl_status status = TL_OK;
        while (status == TL_OK && some && !run->ended) {
            struct tl_wire_frame frame;
            status = client_next_frame(run->client, &frame, &some, reterr);
            if (status == TL_OK && some)
                status = take_frame(run, &frame, reterr);
        }
        bool near_done = atomic_load(&run->flow->done);
        if (status != TL_OK || (run->ended && near_done))
            return status;
        if (run->ended && (run->result->near_sends || !run->far_told)) {
            udp_flow_stop(run->flow); /* STOPPED or FAILED over there: nothing will come */
        }
        int64_t now_ns = tl_now_ns();
        status = keep_time(run, now_ns, reterr);
        int64_t until_ns = run->ping_ns < run->live_ns ? run->ping_ns : run->live_ns;
        if (status == TL_OK)
            status =
                client_wait(run->client, near_done ? -1 : run->flow->done_fd, until_ns, reterr);
        if (status != TL_OK)
            return status;
    }
}

/* --- Ending ----------------------------------------------------------------------------------- */

static void await_near(struct udp_run *run)
{
    struct pollfd done = {.fd = run->flow->done_fd, .events = POLLIN};
    if (!run->flow->started)
        return;
    udp_flow_stop(run->flow);
    while (!atomic_load(&run->flow->done))
        (void)poll(&done, 1, 100);
}

/* The near end's account into the result. */
static void take_near(struct udp_run *run)
{
    struct tl_udp_result *result = run->result;
    const struct udp_flow *flow = run->flow;
    unsigned pieces = result->near_sends ? flow->sent_piece_count : flow->interval_count;
    if (result->near_sends)
        result->sender = flow->sender;
    else
        result->receiver = flow->receiver;
    for (unsigned i = 0; i < pieces; i++) {
        struct tl_udp_interval *to = &result->intervals[i];
        if (result->near_sends) {
            to->sent_count = flow->sent_pieces[i].count;
            to->sent_bytes = flow->sent_pieces[i].bytes;
            continue;
        }
        uint64_t count = to->sent_count, bytes = to->sent_bytes;
        *to = flow->intervals[i];
        to->sent_count = count;
        to->sent_bytes = bytes;
    }
    if (pieces > result->interval_count)
        result->interval_count = pieces;
    for (unsigned i = 0; i < result->train_count; i++) {
        struct tl_udp_train *to = &result->trains[i];
        unsigned count = to->sent_count;
        int64_t sent_ns = to->sent_ns;
        if (!result->near_sends)
            *to = flow->trains[i];
        else
            sent_ns = flow->sent_trains[i].last_ns - flow->sent_trains[i].first_ns;
        to->sent_count = result->near_sends ? flow->sent_trains[i].count : count;
        to->sent_ns = sent_ns;
    }
    (void)snprintf(result->note, sizeof result->note, "%s", flow->note);
}

static void read_after(struct udp_run *run)
{
    struct tl_udp_result *result = run->result;
    struct tl_cpu_reading *cpu = malloc(sizeof *cpu);
    struct tl_host_counters *counters = malloc(sizeof *counters);
    if (cpu && counters) { /* else usage and growth stay unknown */
        struct tl_cpu_usage *usage =
            result->near_sends ? &result->sender_cpu : &result->receiver_cpu;
        tl_cpu_reading_take(&run->client->cpu_reader, cpu);
        tl_cpu_usage_between(&run->client->cpu_reader, &run->cpu_before, cpu, usage);
        tl_host_counters_read(counters, "", run->counters_before.ifindex);
        tl_host_counters_between(&run->counters_before, counters,
                                 result->near_sends ? &result->sender_counters
                                                    : &result->receiver_counters);
    }
    free(counters);
    free(cpu);
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

static enum tl_status judge_end(struct udp_run *run, enum tl_status status, struct tl_error *reterr)
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

static enum tl_status run_test(struct udp_run *run, struct tl_error *reterr)
{
    struct tl_client *client = run->client;
    enum tl_status status = open_tuple(client, reterr);
    bool was_proved = status == TL_OK && is_proved(client);
    read_before(run);
    run->asked_ns = tl_now_ns();
    if (status == TL_OK)
        status = send_ask(run, reterr);
    if (status == TL_OK && !was_proved)
        status = prove(client, reterr);
    if (status == TL_OK)
        status = await_ready(run, reterr);
    if (status == TL_OK)
        status = create_flow(run, reterr);
    if (status == TL_OK)
        status = start(run, was_proved, reterr);
    if (status == TL_OK)
        status = run_until_end(run, reterr);
    return status;
}

static enum tl_status conclude(struct udp_run *run, enum tl_status status, struct tl_error *reterr)
{
    struct tl_client *client = run->client;
    bool refused = status == TL_UNSUPPORTED || status == TL_DENIED || status == TL_LIMIT;
    if (status != TL_OK && !(refused && run->ready.test_id == 0)) {
        if (run->flow)
            udp_flow_stop(run->flow);
        if (client->fd >= 0)
            (void)send_stop(run, NULL);
        client_hang_up(client); /* a cancelled test owes nobody a word */
        forget_tuple(client);
    }
    if (run->flow) {
        await_near(run);
        run->result->elapsed_ns = run->start_ns > 0 ? tl_now_ns() - run->start_ns : 0;
        take_near(run);
        read_after(run);
    }
    udp_result_merge(run->result, run->ready.sample_interval_us * TL_NS_PER_US);
    status = judge_end(run, status, reterr);
    if (!run->result->valid)
        forget_tuple(client);
    else
        client->udp_proved_ns = tl_now_ns();
    return status;
}

enum tl_status tl_client_udp_test(struct tl_client *client, const struct tl_udp_spec *spec,
                                  tl_udp_live_fn *live, void *context,
                                  struct tl_udp_result *ret_result, struct tl_error *reterr)
{
    enum tl_status status = udp_result_init(ret_result, spec);
    if (status != TL_OK)
        return tl_error_set(reterr, status, "no memory for a UDP test");
    status = tl_udp_spec_check(spec, reterr);
    if (status == TL_OK)
        status = client_wake(client, reterr);
    if (status != TL_OK)
        return status;
    struct udp_run *run = calloc(1, sizeof *run);
    if (!run)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a UDP test");
    *run = (struct udp_run){
        .client = client,
        .spec = spec,
        .result = ret_result,
        .live = live,
        .context = context,
        .rate_bps = NAN,
        .head_crc =
            spec->crc == TL_UDP_CRC_HEAD ||
            (spec->crc == TL_UDP_CRC_AUTO && spec->rate_bps == 0 && spec->train_length == 0),
        .datagram_bytes = spec->datagram_bytes ? spec->datagram_bytes : TL_UDP_DATAGRAM_BYTES};
    status = run_test(run, reterr);
    status = conclude(run, status, reterr);
    udp_flow_destroy(run->flow);
    free(run);
    return status;
}

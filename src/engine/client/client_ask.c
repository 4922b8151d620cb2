/* Asking for a TCP test: TEST_TCP -> (BUSY …) -> READY, and what both ends grant each other. */
#include <math.h>
#include <string.h>

#include "client_tcp.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/limits.h"

/* SAMPLES of one sample whose every field is there, at its longest (doc/wire.md). */
#define SAMPLE_FRAME_BYTES                                                                         \
    (TL_WIRE_HEADER_SIZE + 8 + 10 + (TL_SAMPLE_FIELD_COUNT + 7) / 8 + 10 * TL_SAMPLE_FIELD_COUNT)
#define SMALL_FRAME_BYTES     64 /* PONG; SUMS of one checksum */
#define FILE_MOST_BYTES_PER_S (INT64_C(100000000000) / 8)

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

unsigned client_directions(const struct tl_tcp_spec *spec)
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
    most /= client_directions(run->spec);
    if (most == 0)
        most = 1; /* the responder says why that cannot be */
    return run->spec->streams < most ? run->spec->streams : most;
}

static enum tl_status send_ask(struct tcp_run *run, struct tl_error *reterr)
{
    const struct tl_tcp_spec *spec = run->spec;
    unsigned streams = streams_to_ask(run);
    bool few = streams * client_directions(spec) <= TL_TCP_FEW_STREAMS;
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

static void tell_queued(void *test, const struct tl_wire_busy *busy)
{
    struct tcp_run *run = test;
    struct tl_tcp_live live = {.queued = true,
                               .place = busy->place,
                               .wait_ns = busy->wait_ms * TL_NS_PER_MS,
                               .rate_bps = NAN,
                               .rtt_ns = NAN,
                               .low_bps = NAN,
                               .high_bps = NAN};
    if (run->live)
        run->live(run->context, &live);
}

/* 0: as many as the time allows. */
static uint64_t granted_bytes(const struct tcp_run *run)
{
    uint64_t most = (uint64_t)tl_limit_row(TL_LIMIT_TEST_BYTES)->max;
    uint64_t granted = run->ready.max_bytes < most ? run->ready.max_bytes : 0;
    return client_smaller(run->spec->max_bytes, granted);
}

/* All that a far end has to tell of a test: each connection's samples, at worst one a frame; an
 * answer to each ping; the checksums of a file, at worst one a frame. */
static void expect_frames(struct tcp_run *run, int64_t granted_ns, uint64_t bytes)
{
    uint64_t pings = (uint64_t)((granted_ns + TCP_END_MAX_NS) / TL_CLIENT_PING_NS);
    uint64_t samples = run->connections * (uint64_t)run->log_max, sums = 0;
    if (run->spec->file) {
        uint64_t most = (uint64_t)granted_ns / TL_NS_PER_S * FILE_MOST_BYTES_PER_S;
        sums = (bytes > 0 && bytes < most ? bytes : most) / TL_TRANSFER_BLOCK_BYTES;
    }
    client_expect(run->client, samples + sums + pings,
                  samples * SAMPLE_FRAME_BYTES + (sums + pings) * SMALL_FRAME_BYTES);
}

/* The lanes and what is granted to each. */
static void take_grant(struct tcp_run *run)
{
    int64_t granted_ns = run->ready.duration_ms * TL_NS_PER_MS;
    uint64_t bytes = granted_bytes(run);
    if (granted_ns > run->spec->duration_ns)
        granted_ns = run->spec->duration_ns;
    run->connections = run->ready.streams * run->lane_count;
    for (unsigned i = 0; i < run->lane_count; i++) {
        struct tcp_lane *lane = &run->lanes[i];
        struct tl_tcp_result *result = lane->result;
        lane->first = i * run->ready.streams;
        result->streams = run->ready.streams;
        result->granted_ns = granted_ns;
        result->granted_bytes = bytes / run->lane_count;
        memcpy(lane->far_side->congestion, run->ready.congestion,
               sizeof(lane->far_side->congestion));
    }
    run->log_max = (size_t)((granted_ns + TCP_END_NS) / run->interval_ns) + 64;
    expect_frames(run, granted_ns, bytes);
}

static enum tl_status take_ready(struct tcp_run *run, struct tl_error *reterr)
{
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

enum tl_status client_ask(struct tcp_run *run, struct tl_error *reterr)
{
    enum tl_status status = send_ask(run, reterr);
    struct client_request request = {.asked_ns = tl_now_ns(),
                                     .patience_ns = run->spec->queue_wait_ns,
                                     .prepare_ns = client_file_prepare_ns(run),
                                     .queued = tell_queued,
                                     .test = run};
    if (status == TL_OK)
        status =
            client_await_ready(run->client, &request, &run->ready, &run->result->queued_ns, reterr);
    if (status != TL_OK)
        result_note_silence(run, tl_now_ns());
    return status == TL_OK ? take_ready(run, reterr) : status;
}

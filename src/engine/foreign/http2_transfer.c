/* A TCP test by HTTP/2: http2_transfer.h. */
#include "http2_transfer.h"

#include <math.h>
#include <stdlib.h>

#include "http2.h"
#include "http_upload.h"
#include "near_half.h"
#include "tightlink/base/time.h"

/* An answer that is over sooner is no file to measure by, and one request after the other would be
 * all that is sent. */
#define BODY_LEAST 1000000

struct lane {
    struct transfer *transfer;
    unsigned index;
    struct http_connection connection;
    struct http2 *http2;
};

struct transfer {
    struct far_peer peer; /* the end's, with this test's tick */
    const struct http_server *server;
    const struct tl_tcp_spec *spec;
    struct tl_tcp_result *result;
    struct near_half *half;
    struct lane lanes[NEAR_HANDS_MAX];
    unsigned lane_count;            /* that were begun */
    char place[HTTP_RESOURCE_SIZE]; /* that is posted to */
    uint8_t *noise;
    struct tl_error error; /* of what a lane was answered */
};

/* --- Requests --------------------------------------------------------------------------------- */

static enum tl_status begin_request(struct lane *lane, struct tl_error *reterr)
{
    const struct transfer *transfer = lane->transfer;
    char range[HTTP_RANGE_SIZE];
    if (transfer->result->near_sends)
        return http2_post(lane->http2, transfer->place, HTTP_BODY_BYTES, reterr);
    http_range_of(transfer->server, transfer->spec->streams, lane->index, range);
    return http2_get(lane->http2, range, reterr);
}

static void take_payload(void *context, size_t bytes)
{
    struct lane *lane = context;
    near_half_moved(lane->transfer->half, lane->index, bytes);
}

static void take_answer(void *context, const struct http_reply *reply)
{
    const struct lane *lane = context;
    struct transfer *transfer = lane->transfer;
    if (transfer->error.status != TL_OK)
        return;
    if (transfer->result->near_sends)
        (void)!http_check_posted(transfer->peer.host, reply, &transfer->error);
    else if (reply->status != 200 && !(transfer->server->ranges && reply->status == 206))
        (void)!tl_error_set(&transfer->error, TL_DENIED,
                            "%s answers %d to connection %u of the test", transfer->peer.host,
                            reply->status, lane->index + 1);
}

/* The next one, where there is time for it. */
static void take_end(void *context, uint64_t bytes)
{
    struct lane *lane = context;
    struct transfer *transfer = lane->transfer;
    if (transfer->error.status != TL_OK)
        return;
    if (bytes < BODY_LEAST)
        (void)!tl_error_set(&transfer->error, TL_CLOSED, "%s ended the file after %llu bytes",
                            transfer->peer.host, (unsigned long long)bytes);
    else
        (void)!begin_request(lane, &transfer->error);
}

/* --- Connections ------------------------------------------------------------------------------ */

static enum tl_status open_lane(struct transfer *transfer, unsigned index, struct tl_error *reterr)
{
    struct lane *lane = &transfer->lanes[index];
    const struct http2_listener listener = {take_payload, take_answer, take_end, lane};
    *lane = (struct lane){.transfer = transfer, .index = index, .connection = {.fd = -1}};
    transfer->lane_count = index + 1;
    enum tl_status status = near_half_dial(&transfer->peer, transfer->peer.port, transfer->spec,
                                           index, transfer->result, &lane->connection.fd, reterr);
    if (status == TL_OK)
        status = http_open(&transfer->peer, transfer->server, &lane->connection, reterr);
    if (status == TL_OK)
        status = http2_create(&transfer->peer, transfer->server, &lane->connection, transfer->noise,
                              &listener, &lane->http2, reterr);
    if (status == TL_OK)
        status = begin_request(lane, reterr);
    if (status == TL_OK)
        near_half_add_hand(transfer->half, lane->connection.fd);
    return status;
}

static enum tl_status open_all(struct transfer *transfer, struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    if (transfer->result->near_sends) {
        http_upload_place(transfer->server->resource, transfer->place);
        transfer->noise = http_noise(HTTP2_NOISE_BYTES);
        if (!transfer->noise)
            return tl_error_set(reterr, TL_NOMEM, "no memory for an upload");
    }
    for (unsigned i = 0; i < transfer->spec->streams && status == TL_OK; i++)
        status = open_lane(transfer, i, reterr);
    return status == TL_OK ? near_half_start(transfer->half, reterr) : status;
}

static void close_all(struct transfer *transfer)
{
    for (unsigned i = 0; i < transfer->lane_count; i++) {
        http2_destroy(transfer->lanes[i].http2);
        http_close(&transfer->lanes[i].connection);
    }
    free(transfer->noise);
}

/* --- Payload ---------------------------------------------------------------------------------- */

static enum tl_status step_lane(struct lane *lane, bool *ret_more, struct tl_error *reterr)
{
    const struct transfer *transfer = lane->transfer;
    enum http2_turn turn = http2_step(lane->http2);
    if (transfer->error.status != TL_OK)
        return tl_error_set(reterr, transfer->error.status, "%s", transfer->error.text);
    *ret_more = *ret_more || turn == HTTP2_MORE;
    return turn == HTTP2_BAD || turn == HTTP2_OVER ? http2_why(lane->http2, reterr) : TL_OK;
}

static enum tl_status move_payload(struct transfer *transfer, struct tl_error *reterr)
{
    struct pollfd fds[NEAR_HANDS_MAX + 1];
    enum tl_status status = TL_OK;
    while (status == TL_OK && !near_half_step(transfer->half)) {
        bool more = false;
        for (unsigned i = 0; i < transfer->lane_count && status == TL_OK; i++) {
            struct lane *lane = &transfer->lanes[i];
            status = step_lane(lane, &more, reterr);
            fds[i] =
                (struct pollfd){.fd = lane->connection.fd, .events = http2_events(lane->http2)};
        }
        if (status == TL_OK)
            status = near_half_await(transfer->half, fds, transfer->lane_count, more, reterr);
    }
    return status;
}

/* The most that any connection was allowed, and for how long they were held on average. */
static void take_credit(const struct transfer *transfer)
{
    struct tl_tcp_result *result = transfer->result;
    double window_bytes = 0, held_ns = 0;
    for (unsigned i = 0; i < transfer->lane_count; i++) {
        struct http2_credit credit;
        http2_credit(transfer->lanes[i].http2, &credit);
        window_bytes = fmax(window_bytes, (double)credit.window_bytes);
        held_ns += (double)credit.held_ns / transfer->lane_count;
    }
    result->http2_window_bytes = window_bytes > 0 ? window_bytes : (double)NAN;
    result->http2_held_ratio =
        result->elapsed_ns > 0 ? fmin(held_ns / (double)result->elapsed_ns, 1) : (double)NAN;
}

static enum tl_status run(struct transfer *transfer, struct tl_error *reterr)
{
    enum tl_status status = open_all(transfer, reterr);
    if (status == TL_OK)
        status = move_payload(transfer, reterr);
    if (status != TL_OK)
        return status;
    near_half_take_acknowledged(transfer->half);
    if (transfer->result->near_sends)
        take_credit(transfer);
    transfer->result->end_signed = true; /* nobody ends it but we */
    return TL_OK;
}

enum tl_status http2_transfer(const struct far_peer *peer, const struct http_server *server,
                              const struct tl_tcp_spec *spec, tl_tcp_live_fn *live, void *context,
                              struct tl_tcp_result *result, struct tl_error *reterr)
{
    int64_t asked_ns = tl_now_ns();
    struct transfer *transfer = calloc(1, sizeof *transfer);
    if (!transfer)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a test");
    *transfer = (struct transfer){.peer = *peer, .server = server, .spec = spec, .result = result};
    enum tl_status status =
        near_half_begin_by_hand(peer, spec, result, live, context, &transfer->half, reterr);
    if (status == TL_OK) {
        transfer->peer.tick = near_half_tick;
        transfer->peer.tick_context = transfer->half;
        status = run(transfer, reterr);
        status = near_half_finish(transfer->half, asked_ns, status, reterr);
    }
    near_half_destroy(transfer->half);
    close_all(transfer);
    free(transfer);
    return status;
}

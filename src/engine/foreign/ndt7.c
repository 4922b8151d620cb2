/* NDT servers that speak ndt7 as far ends: the one that was named, or the nearest one that M-Lab's
 * Locate service names (ndt7_locate.h).
 *
 *   connect -> TLS -> GET /ndt/v7/download or upload, upgraded to a WebSocket -> payload, with the
 *   server's measurements as texts between it -> either end closes
 *
 * A connection is a test of the server's and lasts ten seconds at most; several are as many tests
 * at once, which M-Lab's own servers are not asked for. The server tells its TCP_INFO some times
 * a second: of a download that is the sender's own account, from a server that anybody runs.
 * Payload is counted inside of frames and TLS; what TCP_INFO counts is up to 0.3 % more. */
#include <openssl/evp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "far_private.h"
#include "ndt7_frames.h"
#include "ndt7_greet.h"
#include "ndt7_locate.h"
#include "near_half.h"
#include "stranger.h"
#include "tightlink/base/random.h"
#include "tightlink/base/time.h"

#define DURATION_MAX (10 * TL_NS_PER_S)
/* A server that closes in order after so much of the time has run its test. */
#define WHOLE_RATIO 0.8

struct ndt7_end {
    struct far_peer peer; /* first: stranger.h */
    struct http_server server;
    /* With their question marks; "" without. */
    char download[NDT7_QUERY_SIZE], upload[NDT7_QUERY_SIZE];
};

struct ndt7_lane {
    struct ndt7_test *test;
    unsigned index;
    struct http_connection connection;
    struct ndt7_frames *frames;
};

struct ndt7_test {
    struct far_peer peer; /* the end's, with this test's tick */
    struct ndt7_end *end;
    const struct tl_tcp_spec *spec;
    struct tl_tcp_result *result;
    struct ndt7_lane lanes[NEAR_HANDS_MAX];
    unsigned lane_count; /* that were begun */
    struct near_half *half;
    struct tl_error text_error; /* of a text that made no sense */
    bool bbr;
};

/* --- Reaching it ------------------------------------------------------------------------------ */

static void close_end(void *context)
{
    struct ndt7_end *end = context;
    http_server_finish(&end->server);
    free(end);
}

/* TCP and TLS: an upgrade would begin a test. */
static enum tl_status look(struct ndt7_end *end, const struct tl_far_options *options,
                           struct tl_error *reterr)
{
    struct http_connection connection = {.fd = -1};
    enum tl_status status = far_peer_race(options, &end->peer, &connection.fd, reterr);
    if (status == TL_OK)
        status = http_open(&end->peer, &end->server, &connection, reterr);
    http_close(&connection);
    return status;
}

/* The place that was named. */
static enum tl_status look_there(struct ndt7_end *end, const struct tl_far_options *options,
                                 struct tl_error *reterr)
{
    const char *query = options->resource ? strchr(options->resource, '?') : NULL;
    snprintf(end->download, sizeof end->download, "%s", query ? query : "");
    snprintf(end->upload, sizeof end->upload, "%s", query ? query : "");
    enum tl_status status = http_server_init(&end->server, options, true, reterr);
    return status == TL_OK ? look(end, options, reterr) : status;
}

/* The nearest place that answers, of those that a directory names: its tokens are good for that one
 * alone. */
static enum tl_status look_around(struct ndt7_end *end, const struct tl_far_options *options,
                                  struct tl_error *reterr)
{
    unsigned count = 0;
    struct ndt7_place *places = calloc(NDT7_PLACES_MAX, sizeof *places);
    if (!places)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a list of servers");
    enum tl_status status = ndt7_locate(options, places, &count, reterr), found = TL_NOHOST;
    for (unsigned i = 0; status == TL_OK && found != TL_OK && found != TL_CANCELLED && i < count;
         i++) {
        struct tl_far_options at = *options;
        at.reach.host = places[i].host;
        at.reach.port = places[i].port;
        at.resource = "";
        http_server_finish(&end->server);
        found = look_there(end, &at, reterr);
        memcpy(end->download, places[i].download, sizeof end->download);
        memcpy(end->upload, places[i].upload, sizeof end->upload);
    }
    free(places);
    return status == TL_OK ? found : status;
}

static enum tl_status connect_end(const struct tl_far_options *options, void **ret_end,
                                  struct tl_error *reterr)
{
    const char *resource = options->resource ? options->resource : "";
    struct ndt7_end *end = calloc(1, sizeof *end);
    if (!end)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a connection");
    bool directory = strncmp(resource, NDT7_LOCATE_PATH, strlen(NDT7_LOCATE_PATH)) == 0;
    enum tl_status status =
        directory ? look_around(end, options, reterr) : look_there(end, options, reterr);
    if (status != TL_OK) {
        close_end(end);
        return status;
    }
    end->peer.info.max_streams = directory ? 1 : NEAR_HANDS_MAX;
    end->peer.info.max_duration_ns = DURATION_MAX;
    snprintf(end->peer.info.program, sizeof end->peer.info.program, "ndt7%s%.100s",
             directory ? " at " : "", directory ? end->peer.host : "");
    *ret_end = end;
    return TL_OK;
}

/* Of a server that a directory named a token is good for one test. */
static unsigned cannot(const void *context)
{
    const struct ndt7_end *end = context;
    return end->peer.info.max_streams == 1 ? TL_FAR_STREAMS : 0;
}

/* --- Agreeing --------------------------------------------------------------------------------- */

static enum tl_status check_reply(const struct ndt7_test *test, const struct http_reply *reply,
                                  const char *wanted, struct tl_error *reterr)
{
    const char *host = test->peer.host;
    if (reply->status == 503 || reply->status == 429)
        return tl_error_set(reterr, TL_BUSY, "the NDT server at %s is busy (%d)", host,
                            reply->status);
    if (reply->status == 401 || reply->status == 403)
        return tl_error_set(reterr, TL_AUTH,
                            "%s answers %d: it wants an access token: "
                            "ndt7://HOST/?access_token=…",
                            host, reply->status);
    if (reply->status != 101)
        return tl_error_set(reterr, TL_PROTOCOL,
                            "%s port %u is no NDT server: it answers %d to ndt7", host,
                            test->peer.port, reply->status);
    if (strcmp(reply->accept, wanted) != 0 || strcmp(reply->protocol, NDT7_SUBPROTOCOL) != 0)
        return tl_error_set(reterr, TL_PROTOCOL, "%s agrees to something that is not ndt7", host);
    return TL_OK;
}

static enum tl_status upgrade(struct ndt7_lane *lane, struct tl_error *reterr)
{
    struct ndt7_test *test = lane->test;
    char text[NDT7_QUERY_SIZE + 1024], host[HTTP_HOST_SIZE];
    char key[NDT7_KEY_SIZE], wanted[NDT7_KEY_SIZE];
    bool upload = test->result->near_sends;
    uint8_t nonce[16];
    struct http_reply reply;
    if (tl_random_secure(nonce, sizeof nonce) != TL_OK)
        return tl_error_set(reterr, TL_IO, "no random numbers for a key");
    EVP_EncodeBlock((unsigned char *)key, nonce, sizeof nonce);
    ndt7_accept_of(key, wanted);
    http_host_header(&test->end->server, host);
    int len =
        snprintf(text, sizeof text,
                 "GET /ndt/v7/%s%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: tightlink\r\n"
                 "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                 "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Protocol: " NDT7_SUBPROTOCOL "\r\n\r\n",
                 upload ? "upload" : "download", upload ? test->end->upload : test->end->download,
                 host, key);
    if (len < 0 || (size_t)len >= sizeof text)
        return tl_error_set(reterr, TL_USAGE, "that URL is too long");
    enum tl_status status =
        http_exchange(&test->peer, &lane->connection, text, (size_t)len, &reply, reterr);
    return status == TL_OK ? check_reply(test, &reply, wanted, reterr) : status;
}

/* --- One test --------------------------------------------------------------------------------- */

static void take_payload(void *context, size_t bytes)
{
    struct ndt7_lane *lane = context;
    near_half_moved(lane->test->half, lane->index, bytes);
}

/* Of an upload the server's TCP is a receiver's, and this end's own account says more. */
static void take_text(void *context, const char *text, size_t len)
{
    struct ndt7_lane *lane = context;
    struct ndt7_test *test = lane->test;
    struct ndt7_measurement measurement;
    if (ndt7_read_measurement(text, len, &measurement, &test->text_error) != TL_OK)
        return;
    measurement.sample.stream = lane->index;
    if (measurement.has_sample && !test->result->near_sends)
        near_half_far_sample(test->half, &measurement.sample);
    test->bbr = test->bbr || measurement.bbr;
}

static enum tl_status open_lane(struct ndt7_test *test, unsigned index, struct tl_error *reterr)
{
    struct ndt7_lane *lane = &test->lanes[index];
    struct ndt7_listener listener = {take_payload, take_text, lane};
    *lane = (struct ndt7_lane){.test = test, .index = index, .connection = {.fd = -1}};
    test->lane_count = index + 1;
    enum tl_status status = near_half_dial(&test->peer, test->peer.port, test->spec, index,
                                           test->result, &lane->connection.fd, reterr);
    if (status == TL_OK)
        status = http_open(&test->peer, &test->end->server, &lane->connection, reterr);
    if (status == TL_OK)
        status = upgrade(lane, reterr);
    if (status == TL_OK)
        status = ndt7_frames_create(&lane->connection, test->result->near_sends, &listener,
                                    &lane->frames, reterr);
    if (status == TL_OK)
        near_half_add_hand(test->half, lane->connection.fd);
    return status;
}

static enum tl_status open_test(struct ndt7_test *test, tl_tcp_live_fn *live, void *context,
                                struct tl_error *reterr)
{
    enum tl_status status = near_half_begin_by_hand(&test->end->peer, test->spec, test->result,
                                                    live, context, &test->half, reterr);
    for (unsigned i = 0; i < test->spec->streams && status == TL_OK; i++)
        status = open_lane(test, i, reterr);
    return status == TL_OK ? near_half_start(test->half, reterr) : status;
}

static void close_test(struct ndt7_test *test)
{
    near_half_destroy(test->half);
    for (unsigned i = 0; i < test->lane_count; i++) {
        ndt7_frames_destroy(test->lanes[i].frames);
        http_close(&test->lanes[i].connection);
    }
}

static enum tl_status closed(const struct ndt7_lane *lane, struct tl_error *reterr)
{
    const struct ndt7_test *test = lane->test;
    double passed_ns = (double)(tl_now_ns() - test->half->start_ns);
    if (ndt7_frames_closed_in_order(lane->frames) &&
        passed_ns >= WHOLE_RATIO * (double)DURATION_MAX) {
        test->result->end = TL_TCP_END_DEADLINE;
        return TL_OK;
    }
    return tl_error_set(reterr, TL_CLOSED, "%s ended the test after %.1f s", test->peer.host,
                        passed_ns / 1e9);
}

/* What goes without waiting. *ret_more: there may be more at once. */
static enum tl_status step_lane(struct ndt7_lane *lane, bool *ret_more, bool *ret_over,
                                struct tl_error *reterr)
{
    const struct ndt7_test *test = lane->test;
    enum ndt7_turn turn = ndt7_frames_step(lane->frames);
    if (test->text_error.status != TL_OK)
        return tl_error_set(reterr, TL_PROTOCOL, "%s", test->text_error.text);
    if (turn == NDT7_BAD)
        return tl_error_set(reterr, TL_PROTOCOL, "the NDT server at %s %s", test->peer.host,
                            ndt7_frames_fault(lane->frames));
    *ret_more = *ret_more || turn == NDT7_MORE;
    *ret_over = turn == NDT7_CLOSED;
    return turn == NDT7_CLOSED ? closed(lane, reterr) : TL_OK;
}

static enum tl_status await_lanes(const struct ndt7_test *test, bool more, struct tl_error *reterr)
{
    struct pollfd fds[NEAR_HANDS_MAX + 1];
    for (unsigned i = 0; i < test->lane_count; i++)
        fds[i] = (struct pollfd){.fd = test->lanes[i].connection.fd,
                                 .events = ndt7_frames_events(test->lanes[i].frames)};
    return near_half_await(test->half, fds, test->lane_count, more, reterr);
}

static enum tl_status move_payload(struct ndt7_test *test, struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    bool over = false;
    while (status == TL_OK && !over && !near_half_step(test->half)) {
        bool more = false;
        for (unsigned i = 0; i < test->lane_count && status == TL_OK && !over; i++)
            status = step_lane(&test->lanes[i], &more, &over, reterr);
        if (status == TL_OK && !over)
            status = await_lanes(test, more, reterr);
    }
    return status;
}

static enum tl_status tcp_test(void *context, const struct tl_tcp_spec *spec, tl_tcp_live_fn *live,
                               void *live_context, struct tl_tcp_result *ret_result,
                               struct tl_error *reterr)
{
    struct ndt7_end *end = context;
    struct tl_tcp_spec bounded = *spec;
    struct ndt7_test test = {.end = end, .peer = end->peer, .spec = &bounded, .result = ret_result};
    int64_t asked_ns = tl_now_ns();
    if (bounded.duration_ns > DURATION_MAX)
        bounded.duration_ns = DURATION_MAX;
    result_init(ret_result, spec);
    enum tl_status status =
        stranger_check_spec(spec, "an NDT server", 0, end->peer.info.max_streams, reterr);
    if (status == TL_OK)
        status = open_test(&test, live, live_context, reterr);
    if (status == TL_OK)
        status = move_payload(&test, reterr);
    if (status == TL_OK) {
        near_half_take_acknowledged(test.half);
        ret_result->end_signed = true; /* nobody has to end it but who wants to */
    }
    if (test.bbr)
        memcpy(ret_result->sender.congestion, "bbr", sizeof "bbr");
    if (test.half)
        status = near_half_finish(test.half, asked_ns, status, reterr);
    close_test(&test);
    return status;
}

_Static_assert(offsetof(struct ndt7_end, peer) == 0, "stranger.h reads the peer there");

const struct far_ops far_ndt7_ops = {
    .connect = connect_end,
    .close = close_end,
    .answers = ndt7_greet,
    STRANGER_OPS,
    .cannot = cannot,
    .tcp_test = tcp_test,
};

/* Web servers as far ends: any URL of a big file, read by connections of our own.
 *
 *   connect -> TLS where the scheme has it -> GET, one byte asked for -> status, length, redirects
 *   test:      each stream: connect, TLS, GET of the file, from a place of its own where the server
 *              answers with parts -> headers -> payload
 *
 * Through a proxy of the environment each connection goes to that proxy, and with TLS on through a
 * tunnel of it: the far end of what is measured, and of all that is said, is the proxy.
 *
 * The sockets are this end's own, so that TCP_INFO, windows and buffers are read and set as with
 * any other far end. Of a TLS connection the payload is counted as it arrives, in records (22 bytes
 * of 16 KiB are theirs), and is not decrypted: it is somebody's file and nobody looks at it. */
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "far_private.h"
#include "http2.h"
#include "http2_transfer.h"
#include "http_greet.h"
#include "http_place.h"
#include "http_request.h"
#include "http_upload.h"
#include "near_half.h"
#include "stranger.h"
#include "tightlink/base/time.h"

#define STREAMS_MAX   8 /* a public server is a guest's place */
#define DURATION_MAX  (60 * TL_NS_PER_S)
#define GRACE_NS      (2 * TL_NS_PER_S)
#define REDIRECTS_MAX 5
/* A file that is over in a moment tells nothing of a rate: three seconds at 10 Mb/s. */
#define LENGTH_LEAST 3000000
/* What any way carries, in packets of 1200 bytes (RFC 8899), and how long such an answer may take.
 */
#define SMALL_SEGMENT_BYTES 1160
#define SMALL_ANSWER_NS     (2 * TL_NS_PER_S)

struct http_end {
    struct far_peer peer; /* first: stranger.h */
    struct http_server server;
};

struct http_test {
    struct far_peer peer; /* the end's, with this test's tick */
    const struct http_end *end;
    const struct tl_tcp_spec *spec;
    struct tl_tcp_result *result;
    struct near_half *half;
    bool connected; /* to one stream at least */
};

/* --- Reaching it ---------------------------------------------------------------------------- */

static enum tl_status check_file(const struct http_end *end, const struct http_reply *reply,
                                 struct tl_error *reterr)
{
    char host[TL_UTF8_NAME_SIZE];
    tl_utf8_clean_name(end->server.host, host);
    if (reply->status == 407 && end->server.proxied)
        return tl_error_set(reterr, TL_AUTH, HTTP_WANTS_LOGIN, end->peer.host);
    if (reply->status != 200 && reply->status != 206)
        return tl_error_set(reterr, TL_DENIED, "%s answers %d%s%s%s%s: name a file that it serves",
                            host, reply->status, reply->reason[0] ? " " : "", reply->reason,
                            end->server.proxied ? " through the proxy " : "",
                            end->server.proxied ? end->peer.host : "");
    if (reply->is_page)
        return tl_error_set(reterr, TL_UNSUPPORTED,
                            "%s answers with a page (HTML), no file: name the URL of a big file",
                            host);
    if (reply->length >= 0 && reply->length < LENGTH_LEAST)
        return tl_error_set(reterr, TL_UNSUPPORTED,
                            "the file at %s has only %lld bytes: name one that takes some seconds, "
                            "100 MB or more",
                            host, (long long)reply->length);
    return TL_OK;
}

/* The widest place that it was sent on from, and who was named at first. */
struct sent_from {
    const char *named;
    struct http_where where;
};

/* Sent on to a narrower place it says nothing: a request alone can do harm there. */
static enum tl_status open_first(struct http_end *end, const struct tl_far_options *options,
                                 const struct sent_from *from, struct http_connection *connection,
                                 struct tl_error *reterr)
{
    enum tl_status status = far_peer_race(options, &end->peer, &connection->fd, reterr);
    static const char *const words[] = {[HTTP_PRIVATE] = "a private network",
                                        [HTTP_THIS_LINK] = "addresses of one link alone",
                                        [HTTP_THIS_HOST] = "this host itself"};
    if (status != TL_OK)
        return status;
    struct http_where where = http_where(&end->server, &end->peer);
    if (!http_may_send_on(&from->where, &where)) {
        char host[TL_UTF8_NAME_SIZE];
        tl_utf8_clean_name(end->server.host, host);
        return tl_error_set(reterr, TL_DENIED,
                            "%s redirects into %s: not followed; name %s yourself if you mean it",
                            from->named, words[where.place], host);
    }
    return http_open(&end->peer, &end->server, connection, reterr);
}

static enum tl_status ask_for_a_byte(const struct far_peer *peer, const struct http_server *server,
                                     struct http_connection *connection,
                                     struct http_reply *ret_reply, struct tl_error *reterr)
{
    return server->http2 ? http2_ask(peer, server, connection, "0-0", ret_reply, reterr)
                         : http_ask(peer, server, connection, "0-0", ret_reply, reterr);
}

/* Of who sends a whole file behind one byte's question (LibreSpeed's garbage.php) the head of the
 * answer lies in a packet of full size. Where those vanish it seems silent, and what it answers in
 * smaller segments is the proof that it is not: the tests then find the size. */
static bool answers_in_small_segments(const struct http_end *end, struct http_reply *ret_reply)
{
    struct far_peer peer = end->peer;
    struct tl_stream_options options = {.maxseg_bytes = SMALL_SEGMENT_BYTES};
    struct http_connection connection = {.fd = -1, .offers_http2 = end->server.http2};
    struct http_reply reply = {0};
    int64_t rtt_ns;
    peer.timeout_ns = peer.timeout_ns < SMALL_ANSWER_NS ? peer.timeout_ns : SMALL_ANSWER_NS;
    bool answers =
        far_peer_dial(&peer, peer.port, &options, &connection.fd, &rtt_ns, NULL) == TL_OK &&
        http_open(&peer, &end->server, &connection, NULL) == TL_OK &&
        http_chose_http2(&connection) == end->server.http2 &&
        ask_for_a_byte(&peer, &end->server, &connection, &reply, NULL) == TL_OK;
    http_close(&connection);
    if (answers)
        *ret_reply = reply;
    return answers;
}

/* One look: where it leads is in *ret_reply. HTTP/2 is spoken to a server that chooses it, unless
 * the user wants HTTP/1.1, which takes a second connection. */
static enum tl_status look(struct http_end *end, const struct tl_far_options *options,
                           const struct sent_from *from, struct http_reply *ret_reply,
                           struct tl_error *reterr)
{
    struct http_connection connection = {.fd = -1, .offers_http2 = true};
    struct http_server *server = &end->server;
    server->http2 = false; /* who was asked before may be another */
    enum tl_status status = open_first(end, options, from, &connection, reterr);
    bool is_silent = false, knows_http2 = status == TL_OK && http_chose_http2(&connection);
    server->http2 = knows_http2 && !options->http1;
    if (knows_http2 && !server->http2) {
        http_close(&connection); /* and its offer with it */
        status = open_first(end, options, from, &connection, reterr);
    }
    end->peer.info.http_spoken = server->http2 ? "HTTP/2" : "HTTP/1.1";
    end->peer.info.http_offered = knows_http2 ? "HTTP/2" : NULL;
    if (status == TL_OK) {
        status = ask_for_a_byte(&end->peer, server, &connection, ret_reply, reterr);
        is_silent = status == TL_TIMEOUT;
    }
    http_close(&connection);
    return is_silent && answers_in_small_segments(end, ret_reply) ? TL_OK : status;
}

/* Follows redirects: to the same scheme, and not from a public place into a private network, from
 * one private network into another, nor from any to this host. */
static enum tl_status find_file(struct http_end *end, const struct tl_far_options *options,
                                struct http_reply *ret_reply, struct tl_error *reterr)
{
    struct tl_far_options at = *options;
    struct sent_from from = {options->reach.host, {.place = HTTP_THIS_HOST}};
    for (int i = 0; i <= REDIRECTS_MAX; i++) {
        at.reach.host = options->proxy ? options->proxy->host : end->server.host;
        at.reach.port = options->proxy ? options->proxy->port : end->server.port;
        enum tl_status status = look(end, &at, &from, ret_reply, reterr);
        if (status != TL_OK)
            return status;
        struct http_where where = http_where(&end->server, &end->peer);
        from.where = where.place < from.where.place ? where : from.where;
        if (ret_reply->status < 300 || ret_reply->status > 399 || !ret_reply->location[0])
            return check_file(end, ret_reply, reterr);
        status = http_redirect(&end->server, ret_reply->location, reterr);
        if (status != TL_OK)
            return status;
    }
    return tl_error_set(reterr, TL_PROTOCOL, "%s redirects more than %d times", options->reach.host,
                        REDIRECTS_MAX);
}

/* LibreSpeed alone takes data of strangers. */
static unsigned cannot(const void *context)
{
    const struct http_end *end = context;
    return http_is_librespeed(end->server.resource) ? 0 : TL_FAR_UPLOADS;
}

static void close_end(void *context)
{
    struct http_end *end = context;
    http_server_finish(&end->server);
    free(end);
}

static enum tl_status connect_end(const struct tl_far_options *options, bool tls, void **ret_end,
                                  struct tl_error *reterr)
{
    struct http_reply reply = {0};
    struct http_end *end = calloc(1, sizeof *end);
    if (!end)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a connection");
    enum tl_status status = http_server_init(&end->server, options, tls, reterr);
    if (status == TL_OK)
        status = find_file(end, options, &reply, reterr);
    if (status != TL_OK) {
        close_end(end);
        return status;
    }
    end->server.length = reply.length;
    end->server.ranges = reply.status == 206;
    end->peer.info.max_streams = STREAMS_MAX;
    end->peer.info.max_duration_ns = DURATION_MAX;
    snprintf(end->peer.info.program, sizeof end->peer.info.program, "%.*s",
             (int)sizeof end->peer.info.program - 1, reply.program);
    *ret_end = end;
    return TL_OK;
}

static enum tl_status connect_plain(const struct tl_far_options *options, void **ret_end,
                                    struct tl_error *reterr)
{
    return connect_end(options, false, ret_end, reterr);
}

static enum tl_status connect_tls(const struct tl_far_options *options, void **ret_end,
                                  struct tl_error *reterr)
{
    return connect_end(options, true, ret_end, reterr);
}

/* --- One test -------------------------------------------------------------------------------- */

static enum tl_status check_spec(const struct http_end *end, const struct tl_tcp_spec *spec,
                                 struct tl_error *reterr)
{
    if (spec->direction == TL_WIRE_UPLOAD && !http_is_librespeed(end->server.resource))
        return tl_error_set(reterr, TL_UNSUPPORTED,
                            "a web server cannot receive from this PC: " TL_FAR_WOULD);
    return stranger_check_spec(spec, "a web server", 0, STREAMS_MAX, reterr);
}

static enum tl_status open_stream(struct http_test *test, unsigned index, struct tl_error *reterr)
{
    struct http_connection connection = {.fd = -1};
    struct http_reply reply;
    char range[HTTP_RANGE_SIZE];
    enum tl_status status = near_half_dial(&test->peer, test->peer.port, test->spec, index,
                                           test->result, &connection.fd, reterr);
    if (status != TL_OK)
        return status;
    test->connected = true;
    status = http_open(&test->peer, &test->end->server, &connection, reterr);
    http_range_of(&test->end->server, test->spec->streams, index, range);
    if (status == TL_OK)
        status = http_ask(&test->peer, &test->end->server, &connection, range, &reply, reterr);
    if (status == TL_OK && reply.status != 200 && !(range[0] && reply.status == 206))
        status = tl_error_set(reterr, TL_DENIED, "%s answers %d to connection %u of the test",
                              test->peer.host, reply.status, index + 1);
    int fd = http_release(&connection);
    if (status == TL_OK)
        return near_half_add(test->half, fd, reterr);
    http_close_fd(fd);
    return status;
}

static enum tl_status run(struct http_test *test, struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    for (unsigned i = 0; i < test->spec->streams && status == TL_OK; i++)
        status = open_stream(test, i, reterr);
    if (status == TL_OK)
        status = near_half_start(test->half, reterr);
    while (status == TL_OK && !near_half_step(test->half)) {
        int64_t due_ns = near_half_due_ns(test->half);
        status = far_await(&test->peer, near_half_event_fd(test->half), POLLIN, due_ns, NULL);
        if (status == TL_CANCELLED)
            return tl_error_set(reterr, TL_CANCELLED, "cancelled");
        status = TL_OK;
    }
    if (status != TL_OK)
        return status;
    near_half_stop(test->half);
    test->result->end_signed = true; /* nobody ends it but we */
    return TL_OK;
}

/* A connection that is taken and an answer that does not come: its head may lie in a packet of full
 * size, as with TLS, so that this is a transfer that stood still from its begin. */
static void note_silence(const struct http_test *test, int64_t asked_ns)
{
    struct tl_tcp_result *result = test->result;
    if (!test->connected || result->elapsed_ns > 0)
        return;
    result->end = TL_TCP_END_SILENT;
    result->elapsed_ns = tl_now_ns() - asked_ns;
    result->exchange_ns = 0;
}

/* Where nobody told how long the answer is, its end is no fault of the server's. */
static enum tl_status note_end(const struct http_test *test, enum tl_status status,
                               struct tl_error *reterr)
{
    const struct http_server *server = &test->end->server;
    struct tl_tcp_result *result = test->result;
    if (status != TL_CLOSED || result->end != TL_TCP_END_FAILED || server->length >= 0)
        return status;
    result->end = TL_TCP_END_BYTES;
    return tl_error_set(reterr, TL_CLOSED,
                        "the answer of %s was over before the test, and its length is not told: "
                        "name a larger file%s",
                        test->peer.host,
                        http_is_librespeed(server->resource) ? " (garbage.php?ckSize=1024)" : "");
}

static enum tl_status tcp_test(void *context, const struct tl_tcp_spec *spec, tl_tcp_live_fn *live,
                               void *live_context, struct tl_tcp_result *ret_result,
                               struct tl_error *reterr)
{
    const struct http_end *end = context;
    struct tl_tcp_spec bounded = *spec;
    struct http_test test = {.peer = end->peer, .end = end, .spec = &bounded, .result = ret_result};
    int64_t asked_ns = tl_now_ns();
    /* No stream gets to the end of the file: together they read no more than one would. */
    if (spec->direction == TL_WIRE_DOWNLOAD && end->server.length > 0 &&
        (bounded.max_bytes == 0 || bounded.max_bytes > (uint64_t)end->server.length))
        bounded.max_bytes = (uint64_t)end->server.length;
    result_init(ret_result, spec);
    enum tl_status status = check_spec(end, spec, reterr);
    if (status == TL_OK && end->server.http2)
        return http2_transfer(&end->peer, &end->server, &bounded, live, live_context, ret_result,
                              reterr);
    if (status == TL_OK && spec->direction == TL_WIRE_UPLOAD)
        return http_upload(&end->peer, &end->server, spec, live, live_context, ret_result, reterr);
    if (status == TL_OK)
        status = near_half_begin(&end->peer, &bounded, GRACE_NS, ret_result, live, live_context,
                                 &test.half, reterr);
    if (status != TL_OK)
        return status;
    test.peer.tick = near_half_tick;
    test.peer.tick_context = test.half;
    if (spec->maxseg_bytes > 0) /* a short look whether such segments pass: no longer than that */
        test.peer.timeout_ns = spec->duration_ns / 2;
    status = run(&test, reterr);
    status = near_half_finish(test.half, asked_ns, status, reterr);
    if (status == TL_TIMEOUT)
        note_silence(&test, asked_ns);
    status = note_end(&test, status, reterr);
    near_half_destroy(test.half);
    return status;
}

_Static_assert(offsetof(struct http_end, peer) == 0, "stranger.h reads the peer there");

const struct far_ops far_http_ops = {
    .connect = connect_plain,
    .close = close_end,
    .answers = http_greet_plain,
    STRANGER_OPS,
    .cannot = cannot,
    .tcp_test = tcp_test,
};

const struct far_ops far_https_ops = {
    .connect = connect_tls,
    .close = close_end,
    .answers = http_greet_tls,
    STRANGER_OPS,
    .cannot = cannot,
    .tcp_test = tcp_test,
};

/* HTTP/2 in one connection to a web server: http2.h. */
#include "http2.h"

#include <inttypes.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/time.h"

#define STEP_BYTES  (1u << 20)
#define PIECE_BYTES (1u << 14) /* a TLS record, and the largest frame unless both ends say more */
#define WINDOW_MAX  INT32_MAX  /* RFC 9113, section 6.9.1 */
#define WORDS_AHEAD 100        /* that may come at once */
#define HEADERS_MAX 65536      /* bytes of an answer's */

struct request {
    int32_t id; /* 0: none */
    bool answered;
    uint64_t left_bytes; /* still to be posted */
    uint64_t moved_bytes;
    struct http_reply reply;
};

struct http2 {
    struct http_connection *connection;
    const struct http_server *server;
    struct far_peer peer; /* for sentences */
    struct http2_listener listener;
    nghttp2_session *session;
    const uint8_t *noise;
    int64_t start_ns;
    bool hung_up, leaving; /* leaving: it said so (GOAWAY) */
    char fault[128];       /* "": none */
    struct request requests[HTTP2_REQUESTS_MAX];
    uint64_t payload_bytes, word_count;
    struct http2_credit credit;
    int64_t held_since_ns; /* 0: it is not */
    bool out_stuck;
    size_t out_at, out_len;
    uint8_t in[PIECE_BYTES], out[4 * PIECE_BYTES + 4096];
};

static void blame(struct http2 *http2, const char *what, const char *code)
{
    if (!http2->fault[0])
        snprintf(http2->fault, sizeof http2->fault, "%s%s%s%s", what, code ? " (HTTP/2: " : "",
                 code ? code : "", code ? ")" : "");
}

/* --- Requests --------------------------------------------------------------------------------- */

static struct request *find(struct http2 *http2, int32_t id)
{
    for (size_t i = 0; i < HTTP2_REQUESTS_MAX; i++)
        if (http2->requests[i].id == id)
            return &http2->requests[i];
    return NULL;
}

static ssize_t give_body(nghttp2_session *session, int32_t id, uint8_t *into, size_t room,
                         uint32_t *flags, nghttp2_data_source *source, void *context)
{
    struct http2 *http2 = context;
    struct request *request = find(http2, id);
    if (!request || http2->hung_up)
        return NGHTTP2_ERR_DEFERRED;
    size_t len = request->left_bytes < room ? (size_t)request->left_bytes : room;
    size_t from = (size_t)(request->moved_bytes % (HTTP2_NOISE_BYTES / 2));
    if (len > HTTP2_NOISE_BYTES / 2)
        len = HTTP2_NOISE_BYTES / 2;
    memcpy(into, http2->noise + from, len);
    request->left_bytes -= len;
    request->moved_bytes += len;
    http2->payload_bytes += len;
    http2->listener.payload(http2->listener.context, len);
    if (request->left_bytes == 0)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)len;
}

static nghttp2_nv pair(const char *name, const char *value)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                        .value = (uint8_t *)(uintptr_t)value,
                        .namelen = strlen(name),
                        .valuelen = strlen(value)};
}

static enum tl_status submit(struct http2 *http2, const nghttp2_nv *pairs, size_t count,
                             uint64_t body_bytes, struct tl_error *reterr)
{
    nghttp2_data_provider body = {.read_callback = give_body};
    struct request *request = find(http2, 0);
    if (!request)
        return tl_error_set(reterr, TL_LIMIT, "at most %d requests at once", HTTP2_REQUESTS_MAX);
    int32_t id = http2->leaving ? NGHTTP2_ERR_START_STREAM_NOT_ALLOWED
                                : nghttp2_submit_request(http2->session, NULL, pairs, count,
                                                         body_bytes > 0 ? &body : NULL, NULL);
    if (id == NGHTTP2_ERR_NOMEM)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a request");
    if (id < 0)
        return tl_error_set(reterr, TL_CLOSED, "%s takes no further request in its connection",
                            http2->peer.host);
    *request = (struct request){.id = id, .left_bytes = body_bytes};
    return TL_OK;
}

enum tl_status http2_get(struct http2 *http2, const char *range, struct tl_error *reterr)
{
    char host[HTTP_HOST_SIZE], part[HTTP_RANGE_SIZE + 8];
    http_host_header(http2->server, host);
    snprintf(part, sizeof part, "bytes=%s", range);
    const nghttp2_nv pairs[] = {pair(":method", "GET"),
                                pair(":scheme", "https"),
                                pair(":authority", host),
                                pair(":path", http2->server->resource),
                                pair("user-agent", "tightlink"),
                                pair("accept", "*/*"),
                                pair("accept-encoding", "identity"),
                                pair("range", part)};
    size_t count = sizeof pairs / sizeof *pairs;
    return submit(http2, pairs, range[0] ? count : count - 1, 0, reterr);
}

enum tl_status http2_post(struct http2 *http2, const char *resource, uint64_t bytes,
                          struct tl_error *reterr)
{
    char host[HTTP_HOST_SIZE], length[24];
    http_host_header(http2->server, host);
    snprintf(length, sizeof length, "%" PRIu64, bytes);
    const nghttp2_nv pairs[] = {pair(":method", "POST"),
                                pair(":scheme", "https"),
                                pair(":authority", host),
                                pair(":path", resource),
                                pair("user-agent", "tightlink"),
                                pair("content-type", "application/octet-stream"),
                                pair("content-encoding", "identity"),
                                pair("content-length", length)};
    return submit(http2, pairs, sizeof pairs / sizeof *pairs, bytes, reterr);
}

/* --- What comes ------------------------------------------------------------------------------- */

/* A frame that carries no payload. */
static void count_word(struct http2 *http2)
{
    uint64_t seconds_ns = (uint64_t)(tl_now_ns() - http2->start_ns);
    uint64_t allowed = WORDS_AHEAD + HTTP2_WORDS_PER_S * seconds_ns / TL_NS_PER_S +
                       http2->payload_bytes / HTTP2_BYTES_PER_WORD;
    if (++http2->word_count > allowed)
        blame(http2, "says more than anybody can read", NULL);
}

static int begin_frame(nghttp2_session *session, const nghttp2_frame_hd *head, void *context)
{
    if (head->type != NGHTTP2_DATA || head->length == 0)
        count_word(context);
    return 0;
}

/* 1xx, then the answer itself, then trailers, which nobody asked for. */
static int take_field(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                      size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                      void *context)
{
    struct request *request = find(context, frame->hd.stream_id);
    const char *text = (const char *)value;
    if (!request || request->answered)
        return 0;
    if (name_len == 7 && memcmp(name, ":status", name_len) == 0)
        request->reply = (struct http_reply){.status = atoi(text), .length = -1};
    else
        http_take_field((const char *)name, name_len, text, &request->reply);
    return 0;
}

static void take_answer(struct http2 *http2, int32_t id)
{
    struct request *request = find(http2, id);
    if (!request || request->answered || request->reply.status < 200)
        return;
    request->answered = true;
    http2->listener.answered(http2->listener.context, &request->reply);
}

/* How much may be sent of that request now; -1: it has not begun. */
static int64_t credit_of(const struct http2 *http2, const struct request *request)
{
    int32_t whole = nghttp2_session_get_remote_window_size(http2->session);
    int32_t own = nghttp2_session_get_stream_remote_window_size(http2->session, request->id);
    return own < whole ? own : whole;
}

static void note_window(struct http2 *http2)
{
    for (size_t i = 0; i < HTTP2_REQUESTS_MAX; i++) {
        const struct request *request = &http2->requests[i];
        int64_t credit = request->left_bytes > 0 ? credit_of(http2, request) : 0;
        if (credit > 0 && (uint64_t)credit > http2->credit.window_bytes)
            http2->credit.window_bytes = (uint64_t)credit;
    }
}

static int take_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct http2 *http2 = context;
    if (frame->hd.type == NGHTTP2_HEADERS)
        take_answer(http2, frame->hd.stream_id);
    if (frame->hd.type == NGHTTP2_DATA && frame->hd.length > 0 &&
        frame->hd.length <= frame->data.padlen)
        count_word(http2); /* nothing but padding */
    if (frame->hd.type == NGHTTP2_WINDOW_UPDATE || frame->hd.type == NGHTTP2_SETTINGS)
        note_window(http2);
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        http2->leaving = true;
        if (frame->goaway.error_code != NGHTTP2_NO_ERROR)
            blame(http2, "ends the connection", nghttp2_http2_strerror(frame->goaway.error_code));
    }
    return 0;
}

static int take_payload(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                        size_t len, void *context)
{
    struct http2 *http2 = context;
    struct request *request = find(http2, id);
    if (!request)
        return 0;
    request->moved_bytes += len;
    http2->payload_bytes += len;
    http2->listener.payload(http2->listener.context, len);
    return 0;
}

/* This end breaks off what breaks the rules. */
static int look_at_sent(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct http2 *http2 = context;
    if (frame->hd.type == NGHTTP2_RST_STREAM && frame->rst_stream.error_code != NGHTTP2_NO_ERROR)
        blame(http2, "sends an answer that breaks its rules or is not as long as it says",
              nghttp2_http2_strerror(frame->rst_stream.error_code));
    if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR)
        blame(http2, "breaks the rules", nghttp2_http2_strerror(frame->goaway.error_code));
    if (frame->hd.type == NGHTTP2_HEADERS)
        note_window(http2);
    return 0;
}

static int close_request(nghttp2_session *session, int32_t id, uint32_t code, void *context)
{
    struct http2 *http2 = context;
    struct request *request = find(http2, id);
    if (!request)
        return 0;
    bool whole = code == NGHTTP2_NO_ERROR && request->answered && request->left_bytes == 0;
    uint64_t bytes = request->moved_bytes;
    *request = (struct request){0};
    if (whole)
        http2->listener.ended(http2->listener.context, bytes);
    else
        blame(http2, "breaks off a request", nghttp2_http2_strerror(code));
    return 0;
}

/* --- The connection --------------------------------------------------------------------------- */

static nghttp2_session *make_session(struct http2 *http2)
{
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_MAX},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEADERS_MAX},
    };
    nghttp2_session_callbacks *callbacks;
    nghttp2_session *session = NULL;
    if (nghttp2_session_callbacks_new(&callbacks) != 0)
        return NULL;
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, begin_frame);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, take_field);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, take_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, take_payload);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, look_at_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, close_request);
    int code = nghttp2_session_client_new(&session, callbacks, http2);
    nghttp2_session_callbacks_del(callbacks);
    if (code == 0)
        code = nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings,
                                       sizeof settings / sizeof *settings);
    if (code == 0)
        code = nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, WINDOW_MAX);
    if (code == 0)
        return session;
    nghttp2_session_del(session);
    return NULL;
}

enum tl_status http2_create(const struct far_peer *peer, const struct http_server *server,
                            struct http_connection *connection, const uint8_t *noise,
                            const struct http2_listener *listener, struct http2 **ret_http2,
                            struct tl_error *reterr)
{
    if (!http_chose_http2(connection))
        return tl_error_set(reterr, TL_PROTOCOL,
                            "%s chose HTTP/2 before and does not in a further connection",
                            peer->host);
    struct http2 *http2 = calloc(1, sizeof *http2);
    if (!http2)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a connection");
    http2->connection = connection;
    http2->server = server;
    http2->peer = *peer;
    http2->noise = noise;
    http2->listener = *listener;
    http2->start_ns = tl_now_ns();
    http2->session = make_session(http2);
    if (!http2->session) {
        free(http2);
        return tl_error_set(reterr, TL_NOMEM, "no memory for a connection");
    }
    SSL_set_mode(connection->ssl,
                 SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    *ret_http2 = http2;
    return TL_OK;
}

void http2_destroy(struct http2 *http2)
{
    if (!http2)
        return;
    nghttp2_session_del(http2->session);
    free(http2);
}

/* False when there is no more now. */
static bool receive_piece(struct http2 *http2, size_t *bytes)
{
    ssize_t got = http_take(http2->connection, http2->in, sizeof http2->in);
    http2->hung_up = http2->hung_up || got < 0;
    if (got <= 0)
        return false;
    *bytes += (size_t)got;
    ssize_t taken = nghttp2_session_mem_recv(http2->session, http2->in, (size_t)got);
    if (taken < 0)
        blame(http2,
              taken == NGHTTP2_ERR_FLOODED ? "says more than anybody can answer"
                                           : "sends what is no HTTP/2",
              NULL);
    return !http2->fault[0];
}

/* Frames, as many as make a few TLS records: a record for each would cost a call more. */
static void fill_out(struct http2 *http2)
{
    const uint8_t *frame;
    http2->out_at = http2->out_len = 0;
    while (http2->out_len + PIECE_BYTES + 1024 <= sizeof http2->out) {
        ssize_t len = nghttp2_session_mem_send(http2->session, &frame);
        if (len < 0)
            blame(http2, "sends what is no HTTP/2", NULL);
        if (len <= 0)
            return;
        if ((size_t)len > sizeof http2->out - http2->out_len) { /* a question of ours: no */
            blame(http2, "makes frames larger than agreed on", NULL);
            return;
        }
        memcpy(http2->out + http2->out_len, frame, (size_t)len);
        http2->out_len += (size_t)len;
    }
}

/* False when there is nothing to say, or no room for it. */
static bool send_piece(struct http2 *http2, size_t *bytes)
{
    http2->out_stuck = false;
    if (http2->out_at == http2->out_len)
        fill_out(http2);
    if (http2->out_at == http2->out_len)
        return false;
    ssize_t sent =
        http_put(http2->connection, http2->out + http2->out_at, http2->out_len - http2->out_at);
    http2->hung_up = http2->hung_up || sent < 0;
    http2->out_stuck = sent == 0;
    if (sent <= 0)
        return false;
    http2->out_at += (size_t)sent;
    *bytes += (size_t)sent;
    return true;
}

/* There is more to post, room in the socket, and no credit for any of it. */
static bool is_held(const struct http2 *http2)
{
    bool posting = false, may_go = http2->out_stuck || http2->out_at < http2->out_len;
    for (size_t i = 0; i < HTTP2_REQUESTS_MAX && !may_go; i++) {
        const struct request *request = &http2->requests[i];
        if (request->left_bytes == 0)
            continue;
        posting = true;
        may_go = credit_of(http2, request) != 0;
    }
    return posting && !may_go;
}

static void count_held(struct http2 *http2)
{
    int64_t now_ns = tl_now_ns();
    if (http2->held_since_ns > 0)
        http2->credit.held_ns += now_ns - http2->held_since_ns;
    http2->held_since_ns = is_held(http2) ? now_ns : 0;
}

/* Says first: nobody answers a question that was not sent. */
enum http2_turn http2_step(struct http2 *http2)
{
    size_t received = 0, sent = 0;
    bool more_in = true, more_out = true;
    while (more_out && sent < STEP_BYTES && !http2->fault[0])
        more_out = send_piece(http2, &sent);
    while (more_in && received < STEP_BYTES && !http2->fault[0])
        more_in = receive_piece(http2, &received);
    count_held(http2);
    if (http2->hung_up)
        fill_out(http2); /* libnghttp2 says there why it reads no further */
    if (http2->fault[0])
        return HTTP2_BAD;
    if (http2->hung_up)
        return HTTP2_OVER;
    return received > 0 || more_out ? HTTP2_MORE : HTTP2_WAIT;
}

short http2_events(const struct http2 *http2)
{
    return http2->out_stuck ? POLLIN | POLLOUT : POLLIN;
}

const char *http2_fault(const struct http2 *http2)
{
    return http2->fault[0] ? http2->fault : "closed the connection";
}

enum tl_status http2_why(const struct http2 *http2, struct tl_error *reterr)
{
    return tl_error_set(reterr, http2->fault[0] ? TL_PROTOCOL : TL_CLOSED, "%s port %u %s",
                        http2->peer.host, http2->peer.port, http2_fault(http2));
}

void http2_credit(const struct http2 *http2, struct http2_credit *ret_credit)
{
    *ret_credit = http2->credit;
}

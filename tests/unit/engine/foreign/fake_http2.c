/* A web server that speaks HTTP/2 for tests: fake_http2.h. */
#include "fake_http2.h"

#include <criterion/criterion.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/time.h"

#define FILE_BYTES 1000000000
#define BREAKS_MS  150
#define LAST_MS    60000
#define REQUESTS   64
#define LATER_NS   (200 * TL_NS_PER_MS)

struct asked {
    int32_t id; /* 0: none */
    bool posts, ranged;
    uint64_t left;
    char path[256], host[64], method[8];
};

struct session {
    struct fake_http2 *fake;
    SSL *ssl;
    int fd;
    nghttp2_session *session;
    struct asked asked[REQUESTS];
    int64_t begun_ns, consumed_ns;
    size_t unconsumed;
    int32_t consumed_id;
    bool over;
};

static struct asked *find(struct session *s, int32_t id)
{
    for (size_t i = 0; i < REQUESTS; i++)
        if (s->asked[i].id == id)
            return &s->asked[i];
    return NULL;
}

static bool put(struct session *s, const void *data, size_t len)
{
    return SSL_write(s->ssl, data, (int)len) == (int)len;
}

/* --- Answers ---------------------------------------------------------------------------------- */

/* What it says behind a body's begin it says frame by frame (break_it). */
static bool goes_on_by_itself(enum fake_http2_mood mood)
{
    return mood == HTTP2_TOO_LONG || mood == HTTP2_EMPTY_DATA || mood == HTTP2_PADDING ||
           mood == HTTP2_WINDOWS;
}

static ssize_t give_body(nghttp2_session *session, int32_t id, uint8_t *into, size_t room,
                         uint32_t *flags, nghttp2_data_source *source, void *context)
{
    struct session *s = context;
    struct asked *asked = find(s, id);
    size_t len = asked->left < room ? (size_t)asked->left : room;
    memset(into, 0x5a, len);
    asked->left -= len;
    if (asked->left == 0)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (asked->left == 0 && goes_on_by_itself(s->fake->mood))
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    return (ssize_t)len;
}

static nghttp2_nv pair(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
                        strlen(value), NGHTTP2_NV_FLAG_NONE};
}

static uint64_t body_of(const struct session *s)
{
    enum fake_http2_mood mood = s->fake->mood;
    bool first = s->fake->connections == 1;
    return mood == HTTP2_IN_BODIES               ? 4000000
           : mood == HTTP2_TINY_BODIES && !first ? 100
           : mood == HTTP2_TOO_SHORT             ? 100000
           : mood == HTTP2_TOO_LONG              ? 2990000
           : goes_on_by_itself(mood)             ? 10000
                                                 : FILE_BYTES;
}

static void answer(struct session *s, struct asked *asked)
{
    enum fake_http2_mood mood = s->fake->mood;
    nghttp2_data_provider body = {.read_callback = give_body};
    const char *status = asked->posts            ? (mood == HTTP2_REFUSES ? "413" : "200")
                         : mood == HTTP2_MISSING ? "404"
                         : asked->ranged         ? "206"
                                                 : "200";
    char length[32];
    const char *type = mood == HTTP2_PAGE ? "text/html" : "application/octet-stream";
    snprintf(length, sizeof length, "%d", mood == HTTP2_TOO_LONG ? 3000000 : FILE_BYTES);
    nghttp2_nv pairs[] = {pair(":status", status), pair("server", "fake/2"),
                          pair("content-type", type),
                          asked->ranged ? pair("content-range", "bytes 0-0/1000000000")
                                        : pair("content-length", length)};
    bool told = mood != HTTP2_IN_BODIES && mood != HTTP2_TINY_BODIES;
    asked->left = body_of(s);
    if (asked->posts || mood == HTTP2_MISSING)
        cr_assert_eq(nghttp2_submit_response(s->session, asked->id, pairs, 3, NULL), 0);
    else
        cr_assert_eq(nghttp2_submit_response(s->session, asked->id, pairs, told ? 4 : 3, &body), 0);
}

/* --- Requests --------------------------------------------------------------------------------- */

static int take_begin(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct session *s = context;
    struct asked *asked = find(s, 0);
    int open = 1;
    for (size_t i = 0; i < REQUESTS; i++)
        open += s->asked[i].id != 0;
    if (open > s->fake->most_at_once)
        s->fake->most_at_once = open;
    if (asked)
        asked->id = frame->hd.stream_id;
    return 0;
}

static int take_field(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                      size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                      void *context)
{
    struct session *s = context;
    struct asked *asked = find(s, frame->hd.stream_id);
    const char *text = (const char *)value;
    if (!asked)
        return 0;
    if (strcmp((const char *)name, ":path") == 0)
        snprintf(asked->path, sizeof asked->path, "%s", text);
    else if (strcmp((const char *)name, ":authority") == 0)
        snprintf(asked->host, sizeof asked->host, "%s", text);
    else if (strcmp((const char *)name, ":method") == 0)
        snprintf(asked->method, sizeof asked->method, "%s", text);
    else if (strcmp((const char *)name, "range") == 0) {
        asked->ranged = true;
        s->fake->last_from = strtoull(text + strlen("bytes="), NULL, 10);
    }
    return 0;
}

static int take_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct session *s = context;
    struct asked *asked = find(s, frame->hd.stream_id);
    char host[64];
    if (!asked || (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
        return 0;
    asked->posts = strcmp(asked->method, "POST") == 0;
    bool whole = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (frame->hd.type == NGHTTP2_HEADERS) {
        snprintf(host, sizeof host, "127.0.0.1:%d", s->fake->port);
        s->fake->requests++;
        s->fake->request_fine = strcmp(asked->host, host) == 0 &&
                                (!asked->posts || strcmp(asked->path, "/b/empty.php") == 0);
    }
    bool early = asked->posts && s->fake->mood == HTTP2_REFUSES;
    if (asked->posts && whole)
        s->fake->posts++;
    if (early ? frame->hd.type == NGHTTP2_HEADERS : whole)
        answer(s, asked);
    return 0;
}

static int take_payload(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                        size_t len, void *context)
{
    struct session *s = context;
    s->fake->received_bytes += len;
    if (s->unconsumed == 0)
        s->consumed_ns = tl_now_ns() + LATER_NS;
    s->unconsumed += len;
    s->consumed_id = id;
    return 0;
}

static int close_asked(nghttp2_session *session, int32_t id, uint32_t code, void *context)
{
    struct asked *asked = find(context, id);
    if (asked)
        *asked = (struct asked){0};
    return 0;
}

/* What was read opens the window again: at once, or later. */
static void open_window(struct session *s)
{
    bool later = s->fake->mood == HTTP2_SMALL_WINDOW;
    if (s->unconsumed == 0 || (later && tl_now_ns() < s->consumed_ns))
        return;
    (void)nghttp2_session_consume(s->session, s->consumed_id, s->unconsumed);
    s->unconsumed = 0;
}

/* --- What it does wrong ----------------------------------------------------------------------- */

static bool put_frame(struct session *s, uint8_t type, uint8_t flags, uint32_t id, const void *data,
                      size_t len)
{
    uint8_t frame[9 + 16384] = {
        (uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len, type, flags, 0, 0, 0, (uint8_t)id};
    memcpy(frame + 9, data, len);
    return put(s, frame, 9 + len);
}

static bool put_long_headers(struct session *s, uint32_t id)
{
    static const uint8_t literal[] = {0x00, 0x01, 'x', 0x7f, 0x81, 0x7f}; /* a value of 16,384 */
    static uint8_t block[16384];
    bool goes_on = true;
    memset(block, 'v', sizeof block);
    memcpy(block, "\x88", 1); /* :status 200 */
    memcpy(block + 1, literal, sizeof literal);
    goes_on = put_frame(s, NGHTTP2_HEADERS, 0, id, block, sizeof block);
    for (int i = 0; i < 64 && goes_on; i++)
        goes_on = put_frame(s, NGHTTP2_CONTINUATION, 0, id, block + 1, sizeof block - 1);
    return goes_on;
}

/* False when there is nothing more to say. */
static bool break_it(struct session *s)
{
    static const uint8_t nothing[16] = {0}, padding[256] = {255}, body[4096] = {0};
    static const uint8_t window[4] = {0, 0, 0, 1}, calm[8] = {0, 0, 0, 0, 0, 0, 0, 11};
    static const uint8_t push[] = {0, 0, 0, 2, 0x82, 0x87, 0x84};
    uint32_t id = (uint32_t)(s->asked[0].id > 0 ? s->asked[0].id : 1);
    switch (s->fake->mood) {
    case HTTP2_PINGS:
        return put_frame(s, NGHTTP2_PING, 0, 0, nothing, 8);
    case HTTP2_SETTINGS:
        return put_frame(s, NGHTTP2_SETTINGS, 0, 0, nothing, 0);
    case HTTP2_EMPTY_DATA:
        return put_frame(s, NGHTTP2_DATA, 0, id, nothing, 0);
    case HTTP2_PADDING:
        return put_frame(s, NGHTTP2_DATA, NGHTTP2_FLAG_PADDED, id, padding, 256);
    case HTTP2_WINDOWS:
        return put_frame(s, NGHTTP2_WINDOW_UPDATE, 0, 0, window, 4);
    case HTTP2_PUSHES:
        return put_frame(s, NGHTTP2_PUSH_PROMISE, NGHTTP2_FLAG_END_HEADERS, id, push, sizeof push);
    case HTTP2_RESETS:
        return put_frame(s, NGHTTP2_RST_STREAM, 0, id, calm + 4, 4);
    case HTTP2_GOES_AWAY:
        return put_frame(s, NGHTTP2_GOAWAY, 0, 0, calm, 8);
    case HTTP2_TOO_LONG:
        return put_frame(s, NGHTTP2_DATA, 0, id, body, sizeof body);
    case HTTP2_CONTINUES:
        return put_frame(s, NGHTTP2_HEADERS, 0, id, "\x88", 1) &&
               put_frame(s, NGHTTP2_CONTINUATION, 0, id, nothing, 0);
    case HTTP2_LONG_HEADERS:
        return put_long_headers(s, id);
    default:
        return false;
    }
}

/* In place of an answer, or in the middle of one. */
static bool breaks_now(const struct session *s)
{
    enum fake_http2_mood mood = s->fake->mood;
    bool wrong = mood == HTTP2_TOO_LONG || (mood >= HTTP2_PINGS && mood <= HTTP2_HANGS_UP);
    bool second = s->fake->connections > 1 && s->asked[0].id != 0;
    bool at_once = mood == HTTP2_CONTINUES || mood == HTTP2_LONG_HEADERS;
    return wrong && second && (at_once || tl_now_ns() - s->begun_ns > BREAKS_MS * TL_NS_PER_MS);
}

/* --- One connection --------------------------------------------------------------------------- */

static nghttp2_session *make_session(struct session *s)
{
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    nghttp2_session *session;
    cr_assert_eq(nghttp2_session_callbacks_new(&callbacks), 0);
    cr_assert_eq(nghttp2_option_new(&option), 0);
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, take_begin);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, take_field);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, take_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, take_payload);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, close_asked);
    cr_assert_eq(nghttp2_session_server_new2(&session, callbacks, s, option), 0);
    cr_assert_eq(nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, NULL, 0), 0);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    return session;
}

static bool say(struct session *s)
{
    const uint8_t *data;
    for (int i = 0; i < 16; i++) {
        ssize_t len = nghttp2_session_mem_send(s->session, &data);
        if (len < 0 || (len > 0 && !put(s, data, (size_t)len)))
            return false;
        if (len == 0)
            break;
    }
    return true;
}

static bool hear(struct session *s)
{
    uint8_t data[16384];
    struct pollfd fd = {.fd = s->fd, .events = POLLIN};
    bool busy = s->fake->mood != HTTP2_SILENT && nghttp2_session_want_write(s->session);
    if (SSL_pending(s->ssl) == 0 && poll(&fd, 1, busy ? 0 : 5) == 0)
        return true;
    int got = SSL_read(s->ssl, data, sizeof data);
    return got > 0 && nghttp2_session_mem_recv(s->session, data, (size_t)got) == got;
}

static void move(struct session *s)
{
    bool goes_on = true;
    s->begun_ns = tl_now_ns();
    s->session = make_session(s);
    while (goes_on && tl_now_ns() - s->begun_ns < LAST_MS * TL_NS_PER_MS) {
        goes_on = hear(s);
        open_window(s);
        if (s->fake->mood == HTTP2_SILENT)
            continue;
        if (goes_on && breaks_now(s))
            for (int i = 0; i < 64 && goes_on; i++)
                goes_on = break_it(s);
        else if (goes_on)
            goes_on = say(s);
    }
    nghttp2_session_del(s->session);
}

static void speak_http1(struct session *s)
{
    char text[4096];
    static const char reply[] = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes "
                                "0-0/1000000000\r\nServer: fake/1\r\n\r\nx";
    if (SSL_read(s->ssl, text, sizeof text) > 0)
        (void)!put(s, reply, sizeof reply - 1);
}

static void serve(void *context, SSL *ssl, int fd)
{
    struct fake_http2 *fake = context;
    struct session *s = calloc(1, sizeof *s);
    const unsigned char *chosen;
    unsigned len;
    cr_assert(s);
    s->fake = fake;
    s->fd = fd;
    s->ssl = ssl;
    fake->connections++;
    SSL_get0_alpn_selected(ssl, &chosen, &len);
    if (len == 2 && fake->mood != HTTP2_NO_FRAMES)
        move(s);
    else
        speak_http1(s);
    free(s);
}

static int choose(SSL *ssl, const unsigned char **ret_out, unsigned char *ret_len,
                  const unsigned char *in, unsigned in_len, void *context)
{
    const struct fake_http2 *fake = context;
    const unsigned char *wanted = fake->mood == HTTP2_ONLY_OLD
                                      ? (const unsigned char *)"\x08http/1.1"
                                      : (const unsigned char *)"\x02h2";
    unsigned char *out;
    if (SSL_select_next_proto(&out, ret_len, wanted, wanted[0] + 1u, in, in_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *ret_out = out;
    return SSL_TLSEXT_ERR_OK;
}

void fake_http2_start(struct fake_http2 *fake, enum fake_http2_mood mood)
{
    memset(fake, 0, sizeof *fake);
    fake->mood = mood;
    tls_server_begin(&fake->server);
    SSL_CTX_set_alpn_select_cb(fake->server.context, choose, fake);
    fake->port = fake->server.port;
    tls_server_open(&fake->server, serve, fake);
}

void fake_http2_stop(struct fake_http2 *fake)
{
    tls_server_stop(&fake->server);
}

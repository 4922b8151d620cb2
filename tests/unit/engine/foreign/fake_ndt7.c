/* A strict ndt7 server for tests: fake_ndt7.h. */
#include "fake_ndt7.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "ndt7_frames.h"
#include "tightlink/base/time.h"

#define PAYLOAD 8192
#define TEXT_MS 50
/* And after as many bytes of payload, however slow a busy machine is; some times only, so that a
 * fast one does not say more than a client listens to. */
#define TEXT_BYTES     4000000
#define TEXTS_BY_BYTES 8
#define BREAKS_MS      150
#define LAST_MS        60000

/* --- Frames ----------------------------------------------------------------------------------- */

struct session {
    struct fake_ndt7 *fake;
    SSL *ssl;
    int fd;
    bool upload;
    uint64_t moved, told_at; /* of payload: now, and when it said something last */
    int told_count;
};

static bool put(struct session *s, const void *data, size_t len)
{
    return SSL_write(s->ssl, data, (int)len) == (int)len;
}

static bool put_frame(struct session *s, unsigned first, uint64_t announced, const void *data,
                      size_t len)
{
    uint8_t head[10] = {(uint8_t)first};
    size_t size = announced < 126 ? 2 : announced < 65536 ? 4 : 10;
    uint8_t mask = s->fake->mood == NDT7_MASKED ? 0x80 : 0;
    head[1] = (uint8_t)((size == 2 ? announced : size == 4 ? 126 : 127) | mask);
    for (size_t i = 2; i < size; i++)
        head[i] = (uint8_t)(announced >> 8 * (size - 1 - i));
    return put(s, head, size) && put(s, data, len);
}

static bool take(struct session *s, void *into, size_t len)
{
    for (size_t at = 0; at < len;) {
        int got = SSL_read(s->ssl, (char *)into + at, (int)(len - at));
        if (got <= 0)
            return false;
        at += (size_t)got;
    }
    return true;
}

/* One frame of the client's. */
static bool take_frame(struct session *s)
{
    static _Thread_local uint8_t data[1 << 20];
    uint8_t head[2], more[8] = {0}, key[4];
    if (!take(s, head, sizeof head))
        return false;
    uint64_t len = head[1] & 0x7f;
    size_t size = len == 126 ? 2 : len == 127 ? 8 : 0;
    if (!take(s, more, size))
        return false;
    for (size_t i = 0; i < size; i++)
        len = (i ? len << 8 : 0) | more[i];
    if (!(head[1] & 0x80))
        s->fake->masked_all = false;
    if (len > sizeof data || !take(s, key, sizeof key) || !take(s, data, (size_t)len))
        return false;
    for (size_t i = 0; i < 4 && i < len; i++)
        data[i] ^= key[i];
    if (head[0] == 0x8a)
        s->fake->pong_fine = len == 4 && memcmp(data, "ping", 4) == 0;
    if (head[0] == 0x82) {
        s->fake->received_bytes += len;
        s->moved += len;
    }
    return true;
}

/* --- One test --------------------------------------------------------------------------------- */

static bool put_text(struct session *s, int64_t elapsed_us, uint64_t bytes)
{
    char text[512];
    long long us = elapsed_us;
    unsigned long long sent = bytes;
    int len = s->fake->mood == NDT7_ODD_NUMBERS
                  ? snprintf(text, sizeof text,
                             "{\"TCPInfo\":{\"ElapsedTime\":%lld,\"RTT\":-5,\"MinRTT\":\"low\","
                             "\"BytesAcked\":9e300,\"SndCwnd\":10,\"PacingRate\":-1},"
                             "\"AppInfo\":{\"NumBytes\":%llu}}",
                             us, sent)
                  : snprintf(text, sizeof text,
                             "{\"AppInfo\":{\"ElapsedTime\":1,\"NumBytes\":%llu},"
                             "\"Origin\":\"server\",\"TCPInfo\":{\"ElapsedTime\":%lld,"
                             "\"RTT\":42000,\"BusyTime\":1000,\"RWndLimited\":600,\"SndCwnd\":77,"
                             "\"DeliveryRate\":125},\"BBRInfo\":{\"BW\":9}}",
                             sent, us);
    if (s->fake->mood == NDT7_NO_JSON)
        return put_frame(s, 0x81, 5, "<htm>", 5);
    if (s->fake->mood != NDT7_IN_PIECES)
        return put_frame(s, 0x81, (size_t)len, text, (size_t)len);
    return put_frame(s, 0x01, 10, text, 10) && put_frame(s, 0x89, 4, "ping", 4) &&
           put_frame(s, 0x00, 10, text + 10, 10) &&
           put_frame(s, 0x80, (size_t)len - 20, text + 20, (size_t)len - 20);
}

static bool break_it(struct session *s)
{
    static char text[4096];
    memset(text, 'x', sizeof text);
    switch (s->fake->mood) {
    case NDT7_HUGE_FRAME:
        return put_frame(s, 0x82, UINT64_C(1) << 40, text, sizeof text);
    case NDT7_LONG_TEXT:
        return put_frame(s, 0x81, 1 << 20, text, sizeof text);
    case NDT7_SENDS_BACK:
        return put_frame(s, 0x82, sizeof text, text, sizeof text);
    default:
        return false;
    }
}

static bool is_breaking(enum fake_ndt7_mood mood)
{
    return mood == NDT7_HUGE_FRAME || mood == NDT7_LONG_TEXT || mood == NDT7_HANGS_UP ||
           mood == NDT7_SENDS_BACK;
}

static void move(struct session *s)
{
    static char payload[PAYLOAD];
    int64_t begun_ns = tl_now_ns(), text_ns = begun_ns;
    bool goes_on = put_frame(s, 0x89, 4, "ping", 4);
    while (goes_on && tl_now_ns() - begun_ns < LAST_MS * TL_NS_PER_MS) {
        int64_t now_ns = tl_now_ns();
        struct pollfd fd = {.fd = s->fd, .events = POLLIN};
        if (is_breaking(s->fake->mood) && now_ns - begun_ns > BREAKS_MS * TL_NS_PER_MS) {
            goes_on = break_it(s);
            continue;
        }
        bool due = s->moved >= s->told_at + TEXT_BYTES && s->told_count < TEXTS_BY_BYTES;
        if (now_ns >= text_ns || due || s->fake->mood == NDT7_CHATTER) {
            s->told_count++;
            text_ns = now_ns + TEXT_MS * TL_NS_PER_MS;
            s->told_at = s->moved;
            goes_on = put_text(s, (now_ns - begun_ns) / TL_NS_PER_US, s->upload ? 0 : s->moved);
        }
        if (goes_on && !s->upload) {
            goes_on = put_frame(s, 0x82, sizeof payload, payload, sizeof payload);
            s->moved += sizeof payload;
        }
        bool waiting = SSL_pending(s->ssl) > 0 || poll(&fd, 1, s->upload ? 5 : 0) > 0;
        if (goes_on && waiting)
            goes_on = take_frame(s);
    }
}

/* As the Locate service has it; the scheme is the first of each key, too. */
static void name_servers(struct session *s)
{
    char body[1024], text[2048];
    enum fake_ndt7_mood mood = s->fake->mood;
    const char *scheme = mood == NDT7_DIRECTORY_PLAIN ? "ws" : "wss";
    int port = s->fake->port;
    int len = snprintf(body, sizeof body,
                       "{\"next_request\":{},\"results\":[{\"machine\":\"m\",\"urls\":{}},"
                       "{\"machine\":\"mlab1\",\"location\":{\"city\":\"X\"},\"urls\":{"
                       "\"%s:///ndt/v7/download\":\"%s://127.0.0.1:%d/ndt/v7/download?t=down\","
                       "\"%s:///ndt/v7/upload\":\"%s://127.0.0.1:%d/ndt/v7/upload?t=up\"}}]}",
                       scheme, scheme, port, scheme, scheme, port);
    bool endless = mood == NDT7_DIRECTORY_ENDLESS;
    int all = snprintf(text, sizeof text, "HTTP/1.0 %s\r\nContent-Type: application/json\r\n\r\n%s",
                       mood == NDT7_DIRECTORY_FULL ? "204 No Content" : "200 OK",
                       mood == NDT7_DIRECTORY_FULL ? "" : body);
    bool goes_on = len > 0 && put(s, text, (size_t)all);
    while (endless && goes_on)
        goes_on = put(s, body, (size_t)len);
    (void)SSL_shutdown(s->ssl);
}

/* As RFC 6455, section 4.4, has it; where no WebSocket is spoken nobody looks at its version. */
static void refuse_version(struct session *s, const char *request)
{
    bool place = strncmp(request, "GET /ndt/v7/download HTTP/1.1\r\n", 31) == 0;
    bool web = s->fake->mood == NDT7_WEB_PAGE;
    bool spoken = !web && (place || s->fake->mood == NDT7_GATE);
    char text[256];
    int len = snprintf(text, sizeof text, "HTTP/1.1 %s\r\n%sContent-Length: 0\r\n\r\n",
                       web      ? "200 OK"
                       : spoken ? "400 Bad Request"
                                : "404 Not Found",
                       spoken ? "Sec-Websocket-Version: 13\r\n" : "");
    s->fake->greetings++;
    (void)!put(s, text, (size_t)len);
}

/* A request for a test; false also for one that was answered here. */
static bool take_request(struct session *s, char key[64])
{
    char text[2048], line[64];
    size_t len = 0;
    bool token = s->fake->mood == NDT7_DIRECTORY;
    while (len < sizeof text - 1 && take(s, text + len, 1)) {
        text[++len] = '\0';
        if (strstr(text, "\r\n\r\n"))
            break;
    }
    if (strncmp(text, "GET /v2/nearest/ndt/ndt7?client_name=tightlink HTTP/1.0\r\n", 57) == 0) {
        name_servers(s);
        return false;
    }
    if (!strstr(text, "Sec-WebSocket-Version: 13\r\n")) {
        refuse_version(s, text);
        return false;
    }
    s->upload = strncmp(text, "GET /ndt/v7/upload", 18) == 0;
    int size = snprintf(line, sizeof line, "GET /ndt/v7/%s%s HTTP/1.1\r\n",
                        s->upload ? "upload" : "download",
                        !token      ? ""
                        : s->upload ? "?t=up"
                                    : "?t=down");
    const char *at = strstr(text, "Sec-WebSocket-Key: ");
    s->fake->request_fine = at && strncmp(text, line, (size_t)size) == 0 &&
                            strstr(text, "Sec-WebSocket-Protocol: net.measurementlab.ndt.v7\r\n") &&
                            strstr(text, "Sec-WebSocket-Version: 13\r\n") &&
                            strstr(text, "Upgrade: websocket\r\n") && strstr(text, "User-Agent: ");
    return at && sscanf(at, "Sec-WebSocket-Key: %63s", key) == 1;
}

static void answer(struct session *s, const char *key)
{
    char accept[NDT7_KEY_SIZE], text[512];
    enum fake_ndt7_mood mood = s->fake->mood;
    ndt7_accept_of(mood == NDT7_OTHER_ACCEPT ? "another" : key, accept);
    int len = mood == NDT7_WEB_PAGE || mood == NDT7_WANTS_TOKEN
                  ? snprintf(text, sizeof text, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n",
                             mood == NDT7_WEB_PAGE ? "200 OK" : "403 Forbidden")
                  : snprintf(text, sizeof text,
                             "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                             "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n"
                             "Sec-WebSocket-Protocol: net.measurementlab.ndt.v7\r\n\r\n",
                             accept);
    if (put(s, text, (size_t)len) && strncmp(text, "HTTP/1.1 101", 12) == 0)
        move(s);
}

static void serve(void *context, SSL *ssl, int fd)
{
    char key[64];
    struct session session = {.fake = context, .fd = fd, .ssl = ssl};
    if (take_request(&session, key))
        answer(&session, key);
}

void fake_ndt7_start(struct fake_ndt7 *fake, enum fake_ndt7_mood mood)
{
    memset(fake, 0, sizeof *fake);
    fake->mood = mood;
    fake->masked_all = true;
    tls_server_begin(&fake->server);
    fake->port = fake->server.port;
    tls_server_open(&fake->server, serve, fake);
}

void fake_ndt7_stop(struct fake_ndt7 *fake)
{
    tls_server_stop(&fake->server);
}

/* Fuzz target: what an NDT server says, behind TLS: frames of its WebSocket and the measurements in
 * their texts. The first byte says who sends payload, whether a text stands alone, and in what
 * pieces it comes. OpenSSL's calls are this file's own (--wrap at link time). */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ndt7_frames.h"

unsigned long fuzz_accepted;

enum { SENDS = 1, TEXT = 2, STEPS_MAX = 64 };

static struct {
    const uint8_t *bytes;
    size_t len, piece;
} server;

int __wrap_SSL_read(SSL *ssl, void *into, int len);
int __wrap_SSL_write(SSL *ssl, const void *from, int len);
int __wrap_SSL_get_error(const SSL *ssl, int code);
long __wrap_SSL_ctrl(SSL *ssl, int what, long value, void *more);

int __wrap_SSL_read(SSL *ssl, void *into, int len)
{
    size_t some = server.len < server.piece ? server.len : server.piece;
    some = some < (size_t)len ? some : (size_t)len;
    memcpy(into, server.bytes, some);
    server.bytes += some;
    server.len -= some;
    return some ? (int)some : -1;
}

int __wrap_SSL_write(SSL *ssl, const void *from, int len)
{
    static uint8_t gone[1 << 20]; /* a sanitizer sees a byte that is not there */
    MUST(len > 0 && (size_t)len <= sizeof gone);
    memcpy(gone, from, (size_t)len);
    return len;
}

int __wrap_SSL_get_error(const SSL *ssl, int code)
{
    return server.len ? SSL_ERROR_WANT_READ : SSL_ERROR_ZERO_RETURN;
}

long __wrap_SSL_ctrl(SSL *ssl, int what, long value, void *more)
{
    return 0; /* SSL_set_mode() */
}

static void read_text(const char *text, size_t len)
{
    struct ndt7_measurement measurement;
    struct tl_error error = {0};
    char *copy = malloc(len ? len : 1);
    MUST(copy);
    memcpy(copy, text, len);
    memset(&measurement, 0x5a, sizeof measurement);
    if (ndt7_read_measurement(copy, len, &measurement, &error) != TL_OK) {
        MUST(error.text[0]);
    } else {
        MUST(!measurement.has_sample || measurement.sample.time_ns >= 0);
        fuzz_accepted++;
    }
    free(copy);
}

static void take_payload(void *context, size_t bytes)
{
    *(size_t *)context += bytes;
}

static void take_text(void *context, const char *text, size_t len)
{
    MUST(len <= NDT7_TEXT_MAX);
    read_text(text, len);
}

static void frames(bool sends)
{
    size_t payload = 0, all = server.len;
    struct http_connection connection = {.fd = -1};
    struct ndt7_listener listener = {take_payload, take_text, &payload};
    struct ndt7_frames *frames = NULL;
    enum ndt7_turn turn = NDT7_MORE;
    MUST(ndt7_frames_create(&connection, sends, &listener, &frames, NULL) == TL_OK);
    for (int i = 0; i < STEPS_MAX && (turn == NDT7_MORE || turn == NDT7_WAIT); i++)
        turn = ndt7_frames_step(frames);
    MUST((turn == NDT7_BAD) == (ndt7_frames_fault(frames) != NULL));
    MUST(sends || payload <= all); /* nothing is counted that did not come */
    fuzz_accepted += turn == NDT7_CLOSED;
    ndt7_frames_destroy(frames);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    server.bytes = data + 1;
    server.len = size - 1;
    server.piece = (size_t)(data[0] >> 2) * 16 + 1;
    if (data[0] & TEXT)
        read_text((const char *)data + 1, size - 1);
    else
        frames(data[0] & SENDS && size < 200); /* what we send is a megabyte a step */
    return 0;
}

static const char text[] =
    "{\"AppInfo\":{\"ElapsedTime\":250131,\"NumBytes\":17825792},\"BBRInfo\":"
    "{\"BW\":94371840,\"MinRTT\":20113},\"TCPInfo\":{\"ElapsedTime\":250131,"
    "\"RTT\":21876,\"MinRTT\":20113,\"SndCwnd\":312,\"SndMSS\":1448,"
    "\"BusyTime\":248000,\"RWndLimited\":0,\"BytesRetrans\":2896},"
    "\"Test\":\"download\",\"Origin\":\"server\"}";
const unsigned fuzz_seed_count = 4;

static size_t add_frame(uint8_t *bytes, uint8_t first, const void *payload, size_t len)
{
    size_t head = len < 126 ? 2 : 4;
    bytes[0] = first;
    bytes[1] = (uint8_t)(len < 126 ? len : 126);
    if (head == 4) {
        bytes[2] = (uint8_t)(len >> 8);
        bytes[3] = (uint8_t)len;
    }
    memcpy(bytes + head, payload, len);
    return head + len;
}

size_t fuzz_seed(unsigned number, uint8_t *bytes)
{
    static const uint8_t noise[600];
    size_t at = 1, len = strlen(text);
    bytes[0] = number == 0 ? TEXT : number == 3 ? SENDS | 4 : 0x40;
    if (number == 0) {
        memcpy(bytes + 1, text, len);
        return 1 + len;
    }
    if (number == 2) { /* a text in two pieces with a ping between them */
        at += add_frame(bytes + at, 0x01, text, 100);
        at += add_frame(bytes + at, 0x89, "ping", 4);
        at += add_frame(bytes + at, 0x80, text + 100, len - 100);
    } else if (number == 1) {
        at += add_frame(bytes + at, 0x82, noise, sizeof noise);
        at += add_frame(bytes + at, 0x81, text, len);
    } else {
        at += add_frame(bytes + at, 0x89, "ping", 4);
    }
    return at + add_frame(bytes + at, 0x88, "\x03\xe8", 2);
}

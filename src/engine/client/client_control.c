/* Frames over the control connection: sending, waiting, the far end's errors. */
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client_private.h"
#include "tightlink/base/time.h"
#include "tightlink/base/utf8.h"

#define SEND_NS (1000 * TL_NS_PER_MS) /* a control frame that does not go out: dead */

/* Of any exchange: 1024 records of a host, one a frame, 200 bytes each; and a few frames a second,
 * for the minutes that a turn in the queue or a far disk may take. */
#define EXCHANGE_FRAMES 4096
#define EXCHANGE_BYTES  (512 << 10)
/* While an answer is awaited: no less often than the kernel repeats what is not acknowledged. */
#define LOOK_NS (200 * TL_NS_PER_MS)

bool client_cancelled(const struct tl_client *client)
{
    struct pollfd cancel = {.fd = client->cancel_fd, .events = POLLIN};
    return client->cancel_fd >= 0 && poll(&cancel, 1, 0) > 0;
}

void client_hang_up(struct tl_client *client)
{
    secure_destroy(client->secure);
    client->secure = NULL;
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
    client->in_len = client->in_used = 0;
}

enum tl_status client_closed(const struct tl_client *client, int errnum, struct tl_error *reterr)
{
    if (errnum == EKEYREJECTED)
        return tl_error_set(reterr, TL_AUTH,
                            "%s port %d does not take the key %s: is the same line in the key "
                            "file there?",
                            client->host, client->port, client->key_name);
    if (client->secure && !secure_established(client->secure) && (errnum == EPROTO || errnum == 0))
        return tl_error_set(reterr, TL_AUTH,
                            "%s port %d answers, but takes no key: leave out --key when it runs "
                            "with --open only, or see that it is tightlink",
                            client->host, client->port);
    if (errnum == ETIMEDOUT || errnum == EHOSTUNREACH || errnum == ENETUNREACH)
        return tl_error_set(reterr, TL_TIMEOUT,
                            "%s does not answer any more: the path or the host is down",
                            client->host);
    return tl_error_set(reterr, TL_CLOSED,
                        "the far end closed the connection: the responder at %s port %d ended, or "
                        "was ended",
                        client->host, client->port);
}

enum tl_status client_gone(const struct tl_client *client, struct tl_error *reterr)
{
    return tl_error_set(reterr, TL_CLOSED,
                        "the far end went away: the responder at %s port %d ended, or was ended",
                        client->host, client->port);
}

enum tl_status client_send(struct tl_client *client, const uint8_t *frame, size_t len,
                           struct tl_error *reterr)
{
    int64_t until_ns = tl_now_ns() + SEND_NS;
    while (len > 0) {
        ssize_t sent = channel_send(client->secure, client->fd, frame, len);
        if (sent > 0) {
            client->beside_tx_bytes += (uint64_t)sent + CLIENT_HEADERS_BYTES;
            frame += sent;
            len -= (size_t)sent;
            continue;
        }
        if (errno != EAGAIN && errno != EINTR)
            return client_closed(client, errno, reterr);
        if (tl_now_ns() >= until_ns)
            return client_closed(client, ETIMEDOUT, reterr);
        struct pollfd fds[2] = {{.fd = client->fd, .events = POLLOUT},
                                {.fd = client->cancel_fd, .events = POLLIN}};
        (void)poll(fds, 2, (int)(SEND_NS / TL_NS_PER_MS));
        if (fds[1].revents)
            return tl_error_set(reterr, TL_CANCELLED, "cancelled");
    }
    return TL_OK;
}

void client_note_silence(struct tl_client *client)
{
    struct tcp_info info = {0};
    socklen_t len = sizeof(info);
    if (client->fd < 0 || getsockopt(client->fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0 ||
        info.tcpi_unacked == 0)
        return;
    /* What was acknowledged last may be older than what is asked now. */
    int64_t unacked_ns = info.tcpi_last_ack_recv * TL_NS_PER_MS;
    int64_t asked_ns = tl_now_ns() - client->expect_ns;
    unacked_ns = unacked_ns < asked_ns ? unacked_ns : asked_ns;
    if (unacked_ns > client->info.unacked_ns)
        client->info.unacked_ns = unacked_ns;
}

enum tl_status client_send_ping(struct tl_client *client, struct tl_error *reterr)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_ping ping = {.cookie = (uint64_t)tl_now_ns()};
    client_note_silence(client);
    return client_send(client, frame, tl_wire_encode_ping(&ping, frame), reterr);
}

enum tl_status client_keep_alive(struct tl_client *client, struct tl_error *reterr)
{
    struct tl_wire_frame frame;
    bool some = true;
    enum tl_status status = client_send_ping(client, reterr);
    while (status == TL_OK && some) /* the PONGs */
        status = client_next_frame(client, &frame, &some, reterr);
    return status;
}

int64_t client_rtt_ns(const struct tl_client *client)
{
    struct tcp_info info = {0};
    socklen_t len = sizeof(info);
    if (client->fd < 0 || getsockopt(client->fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0)
        return 0;
    return info.tcpi_rtt * TL_NS_PER_US;
}

/* The far end's error codes as ours. */
static enum tl_status status_of_code(unsigned code)
{
    switch (code) {
    case TL_WIRE_E_VERSION:
        return TL_VERSION;
    case TL_WIRE_E_SESSIONS:
        return TL_BUSY;
    case TL_WIRE_E_TIMEOUT:
        return TL_TIMEOUT;
    case TL_WIRE_E_CONGESTION:
        return TL_UNSUPPORTED;
    case TL_WIRE_E_QUOTA:
        return TL_LIMIT;
    case TL_WIRE_E_REFUSED:
        return TL_DENIED;
    case TL_WIRE_E_KEY:
        return TL_AUTH;
    case TL_WIRE_E_GOING:
    case TL_WIRE_E_INTERNAL:
        return TL_CLOSED;
    default:
        return TL_PROTOCOL;
    }
}

static enum tl_status take_error(struct tl_client *client, const struct tl_wire_frame *frame,
                                 struct tl_error *reterr)
{
    struct tl_wire_error error;
    char text[2 * TL_WIRE_ERROR_SIZE];
    enum tl_status status =
        tl_wire_decode_error(frame->payload, frame->payload_len, &error, reterr);
    if (status != TL_OK)
        return status;
    if (tl_wire_error_is_final(error.code))
        client->stale = true;
    tl_utf8_clean(error.text, strnlen(error.text, sizeof(error.text)), text, sizeof(text));
    return tl_error_set(reterr, status_of_code(error.code), "%s: %s", client->host, text);
}

static enum tl_status answer_ping(struct tl_client *client, const struct tl_wire_frame *frame,
                                  struct tl_error *reterr)
{
    struct tl_wire_ping ping;
    uint8_t answer[TL_WIRE_FRAME_MAX];
    enum tl_status status = tl_wire_decode_ping(frame->payload, frame->payload_len, &ping, reterr);
    if (status != TL_OK)
        return status;
    struct tl_wire_pong pong = {ping.cookie, (uint64_t)tl_now_ns()};
    return client_send(client, answer, tl_wire_encode_pong(&pong, answer), reterr);
}

void client_expect(struct tl_client *client, uint64_t frames, uint64_t bytes)
{
    client->expect_ns = tl_now_ns();
    client->info.unacked_ns = 0;
    client->frames_left = EXCHANGE_FRAMES + frames;
    client->frame_bytes_left = EXCHANGE_BYTES + bytes;
}

/* Every frame, whatever it says, is one less. */
static enum tl_status charge(struct tl_client *client, const struct tl_wire_frame *frame,
                             struct tl_error *reterr)
{
    if (client->frames_left == 0 || client->frame_bytes_left < frame->frame_len) {
        client->stale = true;
        return tl_error_set(reterr, TL_PROTOCOL,
                            "%s does not stop talking: it said more than a test has to tell",
                            client->host);
    }
    client->frames_left--;
    client->frame_bytes_left -= frame->frame_len;
    return TL_OK;
}

/* Reads what is there. Zero bytes read and no error is "nothing yet". */
static enum tl_status fill_input(struct tl_client *client, struct tl_error *reterr)
{
    ssize_t got = channel_recv(client->secure, client->fd, client->in + client->in_len,
                               sizeof(client->in) - client->in_len);
    if (got == 0)
        return client_closed(client, 0, reterr);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? TL_OK : client_closed(client, errno, reterr);
    client->in_len += (size_t)got;
    client->beside_rx_bytes += (uint64_t)got + CLIENT_HEADERS_BYTES;
    client->heard_ns = tl_now_ns();
    return TL_OK;
}

enum tl_status client_next_frame(struct tl_client *client, struct tl_wire_frame *ret_frame,
                                 bool *ret_some, struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    bool filled = false;
    *ret_some = false;
    if (client_cancelled(client))
        return tl_error_set(reterr, TL_CANCELLED, "cancelled");
    for (;;) {
        client->in_len -= client->in_used;
        memmove(client->in, client->in + client->in_used, client->in_len);
        client->in_used = 0;
        status = tl_wire_peek(client->in, client->in_len, ret_frame, reterr);
        if (status != TL_OK)
            return status;
        if (ret_frame->frame_len == 0) {
            /* One read a call: a far end that never stops talking must not hold us here. */
            if (filled)
                return TL_OK;
            filled = true;
            status = fill_input(client, reterr);
            if (status != TL_OK)
                return status;
            continue;
        }
        client->in_used = ret_frame->frame_len;
        status = charge(client, ret_frame, reterr);
        if (status != TL_OK)
            return status;
        if (ret_frame->type == TL_WIRE_ERROR)
            return take_error(client, ret_frame, reterr);
        if (ret_frame->type != TL_WIRE_PING) {
            *ret_some = true;
            return TL_OK;
        }
        status = answer_ping(client, ret_frame, reterr);
        if (status != TL_OK)
            return status;
    }
}

enum tl_status client_wait(struct tl_client *client, int extra_fd, int64_t until_ns,
                           struct tl_error *reterr)
{
    struct pollfd fds[3] = {{.fd = client->fd, .events = POLLIN},
                            {.fd = extra_fd, .events = POLLIN},
                            {.fd = client->cancel_fd, .events = POLLIN}};
    int64_t wait_ns = until_ns - tl_now_ns();
    if (wait_ns > 0) {
        struct timespec timeout = {.tv_sec = wait_ns / TL_NS_PER_S,
                                   .tv_nsec = wait_ns % TL_NS_PER_S};
        (void)ppoll(fds, 3, &timeout, NULL);
        if (fds[2].revents)
            return tl_error_set(reterr, TL_CANCELLED, "cancelled");
    } else if (client_cancelled(client)) {
        return tl_error_set(reterr, TL_CANCELLED, "cancelled");
    }
    return TL_OK;
}

enum tl_status client_await(struct tl_client *client, int64_t until_ns, const char *what,
                            struct tl_wire_frame *ret_frame, struct tl_error *reterr)
{
    bool late = tl_now_ns() >= until_ns;
    while (!late) {
        bool some;
        late = tl_now_ns() >= until_ns; /* then this is the last look: we may have been held up */
        enum tl_status status = client_next_frame(client, ret_frame, &some, reterr);
        if (status != TL_OK || some)
            return status;
        int64_t look_ns = tl_now_ns() + LOOK_NS;
        if (!late)
            status = client_wait(client, -1, look_ns < until_ns ? look_ns : until_ns, reterr);
        if (status != TL_OK)
            return status;
        client_note_silence(client);
    }
    return tl_error_set(reterr, TL_TIMEOUT, "%s did not send %s in time", client->host, what);
}

enum tl_status tl_client_ping(struct tl_client *client, int64_t *ret_rtt_ns,
                              struct tl_error *reterr)
{
    uint8_t bytes[TL_WIRE_FRAME_MAX];
    struct tl_wire_frame frame;
    struct tl_wire_pong pong;
    if (client->fd < 0)
        return tl_error_set(reterr, TL_CLOSED, "the connection to %s is closed", client->host);
    client_expect(client, 0, 0);
    int64_t start_ns = tl_now_ns();
    struct tl_wire_ping ping = {.cookie = (uint64_t)start_ns};
    enum tl_status status = client_send(client, bytes, tl_wire_encode_ping(&ping, bytes), reterr);
    while (status == TL_OK) {
        status = client_await(client, start_ns + client->timeout_ns, "its PONG", &frame, reterr);
        if (status != TL_OK || frame.type != TL_WIRE_PONG)
            continue; /* another frame: late, of something before */
        status = tl_wire_decode_pong(frame.payload, frame.payload_len, &pong, reterr);
        if (status != TL_OK || pong.cookie != ping.cookie)
            continue;
        if (ret_rtt_ns)
            *ret_rtt_ns = tl_now_ns() - start_ns;
        return TL_OK;
    }
    if (status != TL_CANCELLED)
        client->stale = true;
    return status;
}

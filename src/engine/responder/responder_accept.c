/* Strangers: connections that have not sent their first frame.
 *
 * They wait in the order of their age, which is the order of their deadlines. A full
 * table costs the oldest its place: who comes with a purpose speaks within a round trip. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "path_syn.h"
#include "responder_private.h"
#include "tightlink/base/time.h"

#define ACCEPTS_PER_WAKEUP 64 /* the others have their turn in between */

static_assert(sizeof(struct half) <= 256, "P6: bytes of an unproven peer");

static void unlink_half(struct half *half)
{
    struct tl_responder *responder = half->responder;
    if (half->older)
        half->older->newer = half->newer;
    else
        responder->oldest = half->newer;
    if (half->newer)
        half->newer->older = half->older;
    else
        responder->newest = half->older;
    responder->half_count--;
}

/* Ends the half's TLS channel, or lets it go to its new owner. */
static struct secure *take_channel(struct half *half)
{
    struct secure *secure = half->secure;
    if (secure)
        half->responder->handshake_count--;
    half->secure = NULL;
    return secure;
}

static void drop_half(struct half *half)
{
    secure_destroy(take_channel(half));
    unlink_half(half);
    watch_bury(half->responder, &half->watch);
}

/* Lets the descriptor go to its new owner. */
static int release_half(struct half *half)
{
    int fd = half->watch.fd;
    epoll_ctl(half->responder->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    half->watch.fd = -1;
    drop_half(half);
    return fd;
}

/* Says why and closes. P4: the answer is cut to what came in. What else has come is read
 * first, since closing over unread bytes is a reset, which may overtake the answer. */
static void refuse(struct half *half, enum tl_wire_error_code code, const char *text)
{
    struct tl_wire_error error = {.code = (uint16_t)code};
    uint8_t scratch[2048];
    ssize_t more = channel_recv(half->secure, half->watch.fd, scratch, sizeof scratch);
    size_t room = half->len + (more > 0 ? (size_t)more : 0);
    if (room >= TL_WIRE_HEADER_SIZE + 2) {
        size_t len = strnlen(text, sizeof error.text - 1);
        room -= TL_WIRE_HEADER_SIZE + 2;
        memcpy(error.text, text, len < room ? len : room);
        len = tl_wire_encode_error(&error, half->responder->frame);
        (void)!channel_send(half->secure, half->watch.fd, half->responder->frame, len);
    }
    drop_half(half);
}

static void greet(struct half *half, const struct tl_wire_frame *frame)
{
    struct tl_responder *responder = half->responder;
    struct tl_wire_hello hello;
    struct tl_error error = {0};
    enum tl_status status =
        tl_wire_decode_hello(frame->payload, frame->payload_len, &hello, &error);
    if (status != TL_OK) {
        refuse(half, status == TL_VERSION ? TL_WIRE_E_VERSION : TL_WIRE_E_PROTOCOL, error.text);
        return;
    }
    if (!half->secure && responder->secured && !responder->options.open) {
        refuse(half, TL_WIRE_E_KEY, "this responder serves with a key only: give --key FILE");
        return;
    }
    /* session_create duplicates nothing: it owns descriptor and channel only on success. */
    int fd = half->watch.fd;
    epoll_ctl(responder->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    status = session_create(responder, fd, half->secure, &hello, &error);
    if (status != TL_OK) {
        refuse(half, status == TL_LIMIT ? TL_WIRE_E_SESSIONS : TL_WIRE_E_INTERNAL, error.text);
        return;
    }
    (void)take_channel(half);
    half->watch.fd = -1;
    drop_half(half);
}

static enum tl_status decode_hello(const struct tl_wire_frame *frame,
                                   struct tl_wire_data_hello *ret_hello, struct tl_error *reterr)
{
    struct tl_wire_peer_hello peer;
    if (frame->type == TL_WIRE_DATA_HELLO)
        return tl_wire_decode_data_hello(frame->payload, frame->payload_len, ret_hello, reterr);
    enum tl_status status =
        tl_wire_decode_peer_hello(frame->payload, frame->payload_len, &peer, reterr);
    if (status == TL_OK)
        *ret_hello = peer.hello;
    return status;
}

/* DATA_HELLO of the session's client, or PEER_HELLO of a responder that it told to dial us. */
static void join_test(struct half *half, const struct tl_wire_frame *frame)
{
    struct tl_wire_data_hello hello;
    struct tl_error error = {0};
    enum tl_status status = decode_hello(frame, &hello, &error);
    if (status != TL_OK) {
        refuse(half, status == TL_VERSION ? TL_WIRE_E_VERSION : TL_WIRE_E_PROTOCOL, error.text);
        return;
    }
    enum tl_wire_error_code code = TL_WIRE_E_TOKEN;
    struct session *session = session_by_token(half->responder, &hello.token);
    if (half->secure)
        refuse(half, TL_WIRE_E_PROTOCOL, "data connections are plain");
    else if (!session || half->len != frame->frame_len)
        refuse(half, code, "no session has this token");
    else if (frame->type == TL_WIRE_PEER_HELLO && !peer_may_join(session, &half->address))
        refuse(half, TL_WIRE_E_REFUSED, "this responder permits no test with yours");
    else if (test_join(session, half->watch.fd, frame->type == TL_WIRE_PEER_HELLO, &hello, &code,
                       &error))
        release_half(half);
    else
        refuse(half, code, error.text);
}

/* A connection that came only to be looked at. */
static void report_syn(struct half *half, const struct tl_wire_frame *frame)
{
    struct tl_wire_syn_query query;
    struct tl_wire_syn_report report;
    struct tl_error error = {0};
    enum tl_status status =
        tl_wire_decode_syn_query(frame->payload, frame->payload_len, &query, &error);
    if (status != TL_OK) {
        refuse(half, status == TL_VERSION ? TL_WIRE_E_VERSION : TL_WIRE_E_PROTOCOL, error.text);
        return;
    }
    if (!session_by_token(half->responder, &query.token)) {
        refuse(half, TL_WIRE_E_TOKEN, "no session has this token");
        return;
    }
    path_syn_read(half->watch.fd, &report);
    size_t len = tl_wire_encode_syn_report(&report, half->responder->frame);
    (void)!send(half->watch.fd, half->responder->frame, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    drop_half(half);
}

static bool may_come_first(uint8_t type)
{
    return type == TL_WIRE_HELLO || type == TL_WIRE_DATA_HELLO || type == TL_WIRE_PEER_HELLO ||
           type == TL_WIRE_SYN_QUERY;
}

/* A connection whose first byte is TLS's gets a channel, where there are keys. A full house
 * costs the oldest handshake its place. False when the half is gone. */
static bool open_channel(struct half *half)
{
    struct tl_responder *responder = half->responder;
    uint8_t first;
    if (half->secure || half->len > 0 || !responder->secured ||
        recv(half->watch.fd, &first, 1, MSG_DONTWAIT | MSG_PEEK) != 1 || first != SECURE_FIRST_BYTE)
        return true;
    struct half *oldest = responder->oldest;
    while (oldest && !oldest->secure)
        oldest = oldest->newer;
    if (responder->handshake_count >= tl_limit_row(TL_LIMIT_HANDSHAKES)->standard && oldest)
        drop_half(oldest);
    half->secure = secure_create(responder->secured, half->watch.fd);
    if (!half->secure) {
        drop_half(half);
        return false;
    }
    responder->handshake_count++;
    return true;
}

static void half_ready(struct watch *watch, uint32_t events)
{
    struct half *half = (struct half *)watch;
    if (!open_channel(half))
        return;
    ssize_t got = channel_recv(half->secure, watch->fd, half->bytes + half->len,
                               sizeof half->bytes - half->len);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        drop_half(half);
        return;
    }
    half->len = (uint8_t)(half->len + got);
    struct tl_wire_frame frame;
    if (tl_wire_peek(half->bytes, half->len, &frame, NULL) != TL_OK) {
        refuse(half, TL_WIRE_E_PROTOCOL, "this is tightlinkd, these bytes are none of its frames");
        return;
    }
    if (half->len > 2 && !may_come_first(half->bytes[2]))
        refuse(half, TL_WIRE_E_TYPE, "the first frame must be HELLO, DATA_HELLO or SYN_QUERY");
    else if (frame.frame_len == 0 && half->len == sizeof half->bytes)
        refuse(half, TL_WIRE_E_PROTOCOL, "the first frame is too long");
    else if (frame.frame_len && frame.type == TL_WIRE_HELLO)
        greet(half, &frame);
    else if (frame.frame_len && frame.type == TL_WIRE_SYN_QUERY)
        report_syn(half, &frame);
    else if (frame.frame_len)
        join_test(half, &frame);
}

static void add_half(struct tl_responder *responder, int fd, const struct in6_addr *address,
                     int64_t now_ns)
{
    struct half *half = calloc(1, sizeof *half);
    if (!half) {
        close(fd);
        return;
    }
    half->watch.fd = fd;
    half->responder = responder;
    half->address = *address;
    half->deadline_ns = now_ns + tl_limit_row(TL_LIMIT_HELLO_MS)->standard * TL_NS_PER_MS;
    if (watch_add(responder, &half->watch, EPOLLIN | EPOLLRDHUP, half_ready) != TL_OK) {
        close(fd);
        free(half);
        return;
    }
    half->older = responder->newest;
    if (responder->newest)
        responder->newest->newer = half;
    else
        responder->oldest = half;
    responder->newest = half;
    responder->half_count++;
    responder_need_tick(responder);
}

void accept_ready(struct watch *watch, uint32_t events)
{
    struct tl_responder *responder =
        (struct tl_responder *)((char *)watch - offsetof(struct tl_responder, listener));
    int64_t now_ns = tl_now_ns();
    for (int i = 0; i < ACCEPTS_PER_WAKEUP; i++) {
        if (responder->half_count >= responder->half_max)
            drop_half(responder->oldest);
        struct sockaddr_in6 peer;
        socklen_t len = sizeof peer;
        int fd = accept4(watch->fd, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE) && responder->oldest) {
            drop_half(responder->oldest);
            continue;
        }
        if (fd < 0)
            return; /* EAGAIN; or the peer's own fault (accept(2): treat as EAGAIN) */
        address_normalise(&peer);
        if (accept_guard_allows(&responder->guard, &peer.sin6_addr, now_ns))
            add_half(responder, fd, &peer.sin6_addr, now_ns);
        else
            close(fd);
    }
}

void accept_tick(struct tl_responder *responder, int64_t now_ns)
{
    while (responder->oldest && responder->oldest->deadline_ns <= now_ns)
        drop_half(responder->oldest);
}

void accept_finish(struct tl_responder *responder)
{
    while (responder->oldest)
        drop_half(responder->oldest);
}

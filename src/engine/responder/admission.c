/* Strangers: connections that have not sent their first frame.
 *
 * They wait in the order of their age, which is the order of their deadlines. Who comes is turned
 * away, at random first, where its network has its share of the places already (share.h); nobody
 * who is in loses a place to who comes. */
#include "admission.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "address.h"
#include "client_hello.h"
#include "path_syn.h"
#include "places.h"
#include "responder_private.h"
#include "session.h"
#include "share.h"
#include "tcp_dial.h"
#include "tcp_run.h"
#include "tightlink/base/time.h"
#include "turn.h"

#define ACCEPTS_PER_WAKEUP 64 /* the others have their turn in between */

/* A connection that has not said who it is: P6 allows it 256 bytes. */
struct half {
    struct watch watch;
    struct admission *admission;
    struct half *older, *newer;
    struct secure *secure; /* owned; NULL: plain, or nothing said yet */
    int64_t deadline_ns;
    struct in6_addr address;
    bool kept; /* a place kept for clients with a key */
    uint8_t len;
    uint8_t bytes[TL_WIRE_HEADER_SIZE + 88]; /* a whole HELLO, nothing behind it */
};

struct admission {
    struct tl_responder *responder;
    struct half *oldest, *newest;
    struct share_pool *halves;     /* all of them */
    struct share_pool *handshakes; /* of them in a TLS handshake: each costs some 30 KB */
    bool paused;                   /* nobody can be accepted: the listener is not looked at */
    /* What is logged of those that fail: a line a second at most. */
    int64_t logged_ns;
    unsigned unlogged;
};

static_assert(sizeof(struct half) <= 256, "P6: bytes of an unproven peer");

static void unlink_half(struct half *half)
{
    struct admission *admission = half->admission;
    if (half->older)
        half->older->newer = half->newer;
    else
        admission->oldest = half->newer;
    if (half->newer)
        half->newer->older = half->older;
    else
        admission->newest = half->older;
    share_pool_remove(admission->halves, &half->address);
}

/* Ends the half's TLS channel, or lets it go to its new owner. */
static struct secure *take_channel(struct half *half)
{
    struct secure *secure = half->secure;
    if (secure)
        share_pool_remove(half->admission->handshakes, &half->address);
    half->secure = NULL;
    return secure;
}

static void drop_half(struct half *half)
{
    secure_destroy(take_channel(half));
    unlink_half(half);
    loop_bury(half->admission->responder->loop, &half->watch);
}

/* Lets the descriptor go to its new owner. */
static void release_half(struct half *half)
{
    (void)loop_release(half->admission->responder->loop, &half->watch);
    drop_half(half);
}

/* Somebody without the key, or with noise: an administrator sees from where, and a flood does not
 * fill the log. The address itself is nobody's business: its network is. */
static void log_failure(struct half *half, const char *why)
{
    struct admission *admission = half->admission;
    int64_t now_ns = tl_now_ns();
    char network[INET6_ADDRSTRLEN + 4];
    admission->unlogged++;
    if (admission->logged_ns != 0 && now_ns - admission->logged_ns < TL_NS_PER_S)
        return;
    address_network_text(&half->address, network);
    responder_log(admission->responder, "%s: %s (%u such since the last line)", network, why,
                  admission->unlogged);
    admission->logged_ns = now_ns;
    admission->unlogged = 0;
}

/* Says why and closes. P4: the answer is cut to what came in. What else has come is read
 * first, since closing over unread bytes is a reset, which may overtake the answer. */
static void refuse(struct half *half, enum tl_wire_error_code code, const char *text)
{
    struct tl_wire_error error = {.code = (uint16_t)code};
    uint8_t scratch[2048], frame[TL_WIRE_FRAME_MAX];
    ssize_t more = channel_recv(half->secure, half->watch.fd, scratch, sizeof scratch);
    size_t room = half->len + (more > 0 ? (size_t)more : 0);
    if (room >= TL_WIRE_HEADER_SIZE + 2) {
        size_t len = strnlen(text, sizeof error.text - 1);
        room -= TL_WIRE_HEADER_SIZE + 2;
        memcpy(error.text, text, len < room ? len : room);
        len = tl_wire_encode_error(&error, frame);
        (void)!channel_send(half->secure, half->watch.fd, frame, len);
    }
    drop_half(half);
}

/* --- First frames --------------------------------------------------------------------------- */

static void send_welcome(struct session *session, const struct tl_wire_hello *hello)
{
    struct tl_responder *responder = session->responder;
    struct tl_wire_welcome welcome = {
        .version = TL_WIRE_VERSION,
        .flags = session->secure ? TL_WIRE_WELCOME_KEYED : 0,
        .token = session->token,
        .nonce = hello->nonce,
        .max_seconds = (uint16_t)responder->options.max_seconds,
        .max_streams = (uint16_t)responder->options.max_streams,
        .rate_cap_bps = responder->options.rate_cap_bps,
        .quota_left_bytes = turn_bytes_left(session),
    };
    memcpy(welcome.program, responder->program, sizeof welcome.program);
    uint8_t frame[TL_WIRE_FRAME_MAX];
    session_send(session, frame, tl_wire_encode_welcome(&welcome, frame));
}

/* With keys a quarter of the places is for those who begin a handshake, and soon: a flood of silent
 * strangers has these places for a third of the time that the others have. */
static bool is_kept_place(const struct admission *admission)
{
    uint32_t room = share_pool_room(admission->halves);
    return admission->responder->secured && share_pool_count(admission->halves) >= room - room / 4;
}

#define KEPT_NS TL_NS_PER_S

static void greet(struct half *half, const struct tl_wire_frame *frame)
{
    struct tl_responder *responder = half->admission->responder;
    struct session *session;
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
    if (half->kept && !half->secure) {
        refuse(half, TL_WIRE_E_SESSIONS, PLACES_KEPT_TEXT);
        return;
    }
    if (places_find(responder, &half->address, places_class(half->secure), &error) != TL_OK) {
        refuse(half, TL_WIRE_E_SESSIONS, error.text);
        return;
    }
    int fd = loop_release(responder->loop, &half->watch);
    status = session_create(responder, fd, half->secure, &session);
    if (status != TL_OK) {
        half->watch.fd = fd;
        refuse(half, TL_WIRE_E_INTERNAL, "this responder is out of memory");
        return;
    }
    (void)take_channel(half);
    drop_half(half);
    send_welcome(session, &hello);
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
    bool dialled = frame->type == TL_WIRE_PEER_HELLO;
    struct session *session = sessions_by_token(&half->admission->responder->sessions,
                                                dialled ? SECURE_PEER : SECURE_DATA, hello.test_id,
                                                dialled ? 0 : hello.stream, &hello.token);
    if (half->secure)
        refuse(half, TL_WIRE_E_PROTOCOL, "data connections are plain");
    else if (!session || half->len != frame->frame_len)
        refuse(half, code, "no session has this token");
    else if (dialled && !tcp_dial_may_join(session, &half->address))
        refuse(half, TL_WIRE_E_REFUSED, "this responder permits no test with yours");
    else if (tcp_run_join(session, half->watch.fd, dialled, &hello, &code, &error))
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
    if (!sessions_by_token(&half->admission->responder->sessions, SECURE_SYN, 0, 0, &query.token)) {
        refuse(half, TL_WIRE_E_TOKEN, "no session has this token");
        return;
    }
    path_syn_read(half->watch.fd, &report);
    uint8_t answer[TL_WIRE_FRAME_MAX];
    size_t len = tl_wire_encode_syn_report(&report, answer);
    (void)!send(half->watch.fd, answer, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    drop_half(half);
}

static bool may_come_first(uint8_t type)
{
    return type == TL_WIRE_HELLO || type == TL_WIRE_DATA_HELLO || type == TL_WIRE_PEER_HELLO ||
           type == TL_WIRE_SYN_QUERY;
}

/* A connection whose first byte is TLS's gets a channel, where there are keys and its network has
 * not its share of the handshakes. False when there is nothing to be read yet, or the half is gone.
 */
static bool open_channel(struct half *half, uint32_t events)
{
    struct admission *admission = half->admission;
    struct secure_context *secured = admission->responder->secured;
    if (half->secure || half->len > 0 || !secured)
        return true;
    switch (client_hello_look(half->watch.fd, events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))) {
    case CLIENT_HELLO_OTHER:
        return true;
    case CLIENT_HELLO_PART:
        return false;
    case CLIENT_HELLO_BROKEN:
        log_failure(half, "what began like a handshake is none");
        drop_half(half);
        return false;
    case CLIENT_HELLO_WHOLE:
        break;
    }
    bool admitted = share_pool_admits(admission->handshakes, &half->address);
    if (admitted)
        half->secure = secure_create(secured, half->watch.fd);
    if (!half->secure) {
        log_failure(half, admitted ? "no memory for a handshake" : "too many handshakes at once");
        drop_half(half);
        return false;
    }
    share_pool_add(admission->handshakes, &half->address);
    return true;
}

static void log_handshake(struct half *half)
{
    const struct tl_key *key = secure_kept_out(half->secure);
    char why[TL_KEY_NAME_SIZE + 40] = "a handshake failed: another key, or none";
    if (key)
        snprintf(why, sizeof why, "the key %s is not for this network", key->name);
    log_failure(half, why);
}

static void half_ready(struct watch *watch, uint32_t events)
{
    struct half *half = (struct half *)watch;
    if (!open_channel(half, events))
        return;
    ssize_t got = channel_recv(half->secure, watch->fd, half->bytes + half->len,
                               sizeof half->bytes - half->len);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        if (half->secure && !secure_established(half->secure))
            log_handshake(half);
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

static void add_half(struct admission *admission, int fd, const struct in6_addr *address,
                     int64_t now_ns)
{
    struct half *half = calloc(1, sizeof *half);
    if (!half) {
        close(fd);
        return;
    }
    half->watch.fd = fd;
    half->admission = admission;
    half->address = *address;
    half->kept = is_kept_place(admission);
    half->deadline_ns = now_ns + tl_limit_row(TL_LIMIT_HELLO_MS)->standard * TL_NS_PER_MS;
    if (loop_add(admission->responder->loop, &half->watch, EPOLLIN | EPOLLRDHUP, half_ready) !=
        TL_OK) {
        close(fd);
        free(half);
        return;
    }
    half->older = admission->newest;
    if (admission->newest)
        admission->newest->newer = half;
    else
        admission->oldest = half;
    admission->newest = half;
    share_pool_add(admission->halves, address);
    loop_need_tick(admission->responder->loop);
}

/* Without descriptors or memory, or forbidden to accept, the listener stays readable, and would
 * wake the loop at once, over and over: until the next tick it is not looked at. */
static void pause_where_it_failed(struct admission *admission, int errnum)
{
    struct tl_responder *responder = admission->responder;
    if (errnum == EAGAIN || errnum == EINTR || errnum == ECONNABORTED)
        return;
    admission->paused = true;
    loop_change(responder->loop, &responder->listener, 0);
    loop_need_tick(responder->loop);
}

void admission_accept(struct admission *admission)
{
    struct tl_responder *responder = admission->responder;
    int64_t now_ns = tl_now_ns();
    for (int i = 0; i < ACCEPTS_PER_WAKEUP; i++) {
        struct sockaddr_in6 peer;
        socklen_t len = sizeof peer;
        int fd = accept4(responder->listener.fd, (struct sockaddr *)&peer, &len,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            pause_where_it_failed(admission, errno);
            return;
        }
        address_normalise(&peer);
        if (accept_guard_allows(&responder->guard, &peer.sin6_addr, now_ns) &&
            share_pool_admits(admission->halves, &peer.sin6_addr))
            add_half(admission, fd, &peer.sin6_addr, now_ns);
        else
            close(fd);
    }
}

/* Those in kept places that have not begun a handshake. The newest stand at the end of the list, so
 * that who is not due yet ends the walk from the oldest kept one on. */
static void drop_silent_kept(struct admission *admission, int64_t now_ns)
{
    int64_t spent_ns = session_limit_ns(TL_LIMIT_HELLO_MS) - KEPT_NS;
    for (struct half *half = admission->oldest, *newer; half; half = newer) {
        newer = half->newer;
        if (half->deadline_ns - spent_ns > now_ns)
            return;
        if (half->kept && !half->secure)
            drop_half(half);
    }
}

bool admission_tick(struct admission *admission, int64_t now_ns)
{
    while (admission->oldest && admission->oldest->deadline_ns <= now_ns)
        drop_half(admission->oldest);
    drop_silent_kept(admission, now_ns);
    if (admission->paused) {
        admission->paused = false;
        loop_change(admission->responder->loop, &admission->responder->listener, EPOLLIN);
        return true; /* it may be paused again at once */
    }
    return admission->oldest != NULL;
}

enum tl_status admission_create(struct tl_responder *responder, uint32_t half_max,
                                struct admission **ret_admission)
{
    struct admission *admission = calloc(1, sizeof *admission);
    if (!admission)
        return TL_NOMEM;
    admission->responder = responder;
    enum tl_status status = share_pool_create(half_max, true, &admission->halves);
    if (status == TL_OK)
        status = share_pool_create((uint32_t)tl_limit_row(TL_LIMIT_HANDSHAKES)->standard, true,
                                   &admission->handshakes);
    if (status != TL_OK) {
        admission_destroy(admission);
        return status;
    }
    *ret_admission = admission;
    return TL_OK;
}

uint32_t admission_count(const struct admission *admission)
{
    return share_pool_count(admission->halves);
}

uint32_t admission_handshakes(const struct admission *admission)
{
    return share_pool_count(admission->handshakes);
}

void admission_clear(struct admission *admission)
{
    while (admission->oldest)
        drop_half(admission->oldest);
}

void admission_destroy(struct admission *admission)
{
    if (!admission)
        return;
    admission_clear(admission);
    share_pool_destroy(admission->halves);
    share_pool_destroy(admission->handshakes);
    free(admission);
}

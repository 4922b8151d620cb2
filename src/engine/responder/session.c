/* A control connection of the responder: frames in, frames out, deadlines, its end. */
#include "session.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "address.h"
#include "host_reader.h"
#include "light.h"
#include "responder_private.h"
#include "tightlink/base/address.h"
#include "tightlink/base/random.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"

#define CONTROL_SNDBUF (128 * 1024) /* kernel memory that one peer may hold */
#define CLOSING_NS     TL_NS_PER_S
/* Of a wakeup: some 80 questions, so that a turn round many who ask without end is short. */
#define READ_BYTES ((size_t)1024)

int64_t session_limit_ns(enum tl_limit id)
{
    return tl_limit_row(id)->standard * TL_NS_PER_MS;
}

bool session_out_has_room(const struct session *session, size_t bytes)
{
    return session->out_size - session->out_len >= bytes;
}

static void want_events(struct session *session)
{
    uint32_t events = (session->held ? 0u : EPOLLIN) | (session->out_len > 0 ? EPOLLOUT : 0u);
    loop_change(session->responder->loop, &session->watch, events);
}

/* Writes what the kernel takes. */
static void flush(struct session *session)
{
    while (session->out_len > 0) {
        ssize_t sent = channel_send(session->secure, session->watch.fd,
                                    session->out + session->out_at, session->out_len);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN)
            return;
        if (sent < 0) {
            session_end(session, errno == ETIMEDOUT ? "nothing came back" : "connection lost");
            return;
        }
        session->out_at += (size_t)sent;
        session->out_len -= (size_t)sent;
    }
    session->out_at = 0;
    if (session->state == SESSION_CLOSING)
        (void)shutdown(session->watch.fd, SHUT_WR);
}

static void flush_and_wait(struct session *session)
{
    flush(session);
    if (session->state != SESSION_GONE && session->out_len > 0)
        want_events(session);
}

void session_send(struct session *session, const uint8_t *frame, size_t len)
{
    if (session->state == SESSION_GONE || session->state == SESSION_CLOSING)
        return;
    if (!session_out_has_room(session, len)) {
        session_end(session, "does not read what it asked for");
        return;
    }
    if (session->out_at + session->out_len + len > session->out_size) {
        memmove(session->out, session->out + session->out_at, session->out_len);
        session->out_at = 0;
    }
    light_charge(session, len);
    bool waiting = session->out_len > 0;
    memcpy(session->out + session->out_at + session->out_len, frame, len);
    session->out_len += len;
    if (!waiting && !session->corked)
        flush_and_wait(session);
}

/* True when nothing is left to be joined. */
static bool abandon_test(struct session *session)
{
    return !session->test.ops || session->test.ops->abandon(session);
}

void session_error(struct session *session, enum tl_wire_error_code code, const char *fmt, ...)
{
    struct tl_wire_error error = {.code = (uint16_t)code};
    uint8_t frame[TL_WIRE_FRAME_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(error.text, sizeof error.text, fmt, args);
    va_end(args);
    session_send(session, frame, tl_wire_encode_error(&error, frame));
    if (!tl_wire_error_is_final(code) || session->state == SESSION_GONE)
        return;
    session->state = SESSION_CLOSING;
    session->ended = tl_wire_error_name(code);
    session->deadline_ns = tl_now_ns() + CLOSING_NS;
    (void)abandon_test(session);
    if (session->out_len == 0)
        flush(session);
}

static void log_end(struct session *session)
{
    struct tl_responder *responder = session->responder;
    if (!responder_may_log(responder, session->tests > 0 ? LOG_TESTED_SESSION : LOG_SESSION)) {
        responder->unlogged_sessions++;
        return;
    }
    if (responder->unlogged_sessions > 0)
        responder_log(responder, "sessions that are not listed: %u", responder->unlogged_sessions);
    responder->unlogged_sessions = 0;
    const char *key = session->secure ? secure_key_name(session->secure) : "";
    char address[INET6_ADDRSTRLEN], lasted[TL_UNIT_TEXT_SIZE], moved[TL_UNIT_TEXT_SIZE];
    tl_address_text(&session->peer.sin6_addr, address);
    responder_log(responder, "%s%s%s: %s, %llu test%s, %s, ended: %s", address,
                  key[0] ? ", key " : "", key,
                  tl_format_ns((double)(tl_now_ns() - session->since_ns), lasted),
                  (unsigned long long)session->tests, session->tests == 1 ? "" : "s",
                  tl_format_traffic((double)session->bytes, moved), session->ended);
}

static void remove_session(struct session *session)
{
    struct tl_responder *responder = session->responder;
    sessions_remove(&responder->sessions, session);
    session->removed = true;
    free(session->out);
    session->out = NULL;
    loop_bury(responder->loop, &session->watch);
}

void session_end(struct session *session, const char *why)
{
    if (session->state == SESSION_GONE)
        return;
    if (session->state != SESSION_CLOSING)
        session->ended = why;
    session->state = SESSION_GONE;
    session->deadline_ns = INT64_MAX;
    host_job_forget(session->job);
    session->job = NULL;
    loop_close(session->responder->loop, &session->watch);
    bool nothing_left = abandon_test(session);
    log_end(session);
    secure_destroy(session->secure);
    session->secure = NULL;
    if (nothing_left)
        remove_session(session);
}

void session_rest(struct session *session)
{
    session->state = SESSION_IDLE;
    session->deadline_ns = INT64_MAX;
    session->active_ns = tl_now_ns();
}

void session_joined(struct session *session)
{
    if (session->state == SESSION_GONE && !session->removed)
        remove_session(session);
}

void session_finish(struct session *session)
{
    session_end(session, "shut down");
    if (session->test.ops)
        session->test.ops->forget(session);
    if (!session->removed)
        remove_session(session);
}

/* Frames for whose answers the rate cap has no room now wait for a tick, and the client for them.
 * All answers leave by one call: who asks without end, some 80 times a read, costs others no call
 * each. */
static void handle_input(struct session *session)
{
    size_t used = 0;
    bool was_held = session->held, was_waiting = session->out_len > 0;
    session->held = false;
    session->corked = true;
    while (session->state < SESSION_CLOSING) {
        struct tl_wire_frame frame;
        struct tl_error error;
        if (tl_wire_peek(session->in + used, session->in_len - used, &frame, &error) != TL_OK) {
            session_error(session, TL_WIRE_E_PROTOCOL, "%s", error.text);
            break;
        }
        if (frame.frame_len == 0)
            break;
        session->held = !light_permits(session, 0, false);
        if (session->held)
            break;
        used += frame.frame_len;
        session->responder->take_frame(session, &frame);
    }
    session->in_len -= used;
    memmove(session->in, session->in + used, session->in_len);
    session->corked = false;
    if (!was_waiting && session->out_len > 0 && session->state != SESSION_GONE)
        flush_and_wait(session);
    if ((session->held || was_held) && session->state != SESSION_GONE)
        want_events(session);
}

/* One read. True when the channel holds more, of which no wakeup would tell. */
static bool read_once(struct session *session)
{
    if (session->state == SESSION_CLOSING)
        session->in_len = 0;
    size_t room = sizeof session->in - session->in_len;
    ssize_t got = channel_recv(session->secure, session->watch.fd, session->in + session->in_len,
                               room < READ_BYTES ? room : READ_BYTES);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (got == 0)
        session_end(session, "closed by the peer");
    else if (got < 0)
        session_end(session, errno == ETIMEDOUT ? "nothing came back" : "reset by the peer");
    if (got <= 0)
        return false;
    if (session->state != SESSION_CLOSING) {
        session->heard_ns = tl_now_ns();
        session->test.unheard_ns = 0;
        session->in_len += (size_t)got;
        handle_input(session);
    }
    return session->state != SESSION_GONE && !session->held && secure_pending(session->secure);
}

/* One read a wakeup, or one record of TLS: a talkative peer waits for the others. */
static void session_ready(struct watch *watch, uint32_t events)
{
    struct session *session = (struct session *)watch;
    if (events & EPOLLOUT) {
        flush(session);
        if (session->state == SESSION_GONE)
            return;
        want_events(session);
    }
    if (session->held && events & (EPOLLHUP | EPOLLERR))
        session_end(session, "reset by the peer");
    if (session->held || !(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        return;
    while (read_once(session))
        continue;
}

/* Goes on with what was held, and with what the channel holds, of which no wakeup would tell. */
static void go_on(struct session *session)
{
    handle_input(session);
    bool more = session->state != SESSION_GONE && !session->held && secure_pending(session->secure);
    while (more)
        more = read_once(session);
}

void session_tick(struct session *session, int64_t now_ns)
{
    if (session->held && session->state < SESSION_CLOSING)
        go_on(session);
    if (session->state == SESSION_GONE)
        return;
    if (session->state == SESSION_CLOSING) {
        if (now_ns >= session->deadline_ns)
            session_end(session, session->ended);
        return;
    }
    if (now_ns - session->heard_ns >= session_limit_ns(TL_LIMIT_SILENT_MS))
        session_error(session, TL_WIRE_E_TIMEOUT, "nothing was heard for 5 s");
    else if (now_ns >= session->deadline_ns)
        session_error(session, TL_WIRE_E_TIMEOUT, "the test was not started in time");
    else if (session->state == SESSION_IDLE &&
             now_ns - session->active_ns >= session_limit_ns(TL_LIMIT_IDLE_MS))
        session_error(session, TL_WIRE_E_TIMEOUT, "no test was asked for");
    else if (session->state == SESSION_QUEUED && session->test.held_back)
        session->responder->queue_dirty = true;
    else if (session->state >= SESSION_RUNNING)
        session->test.ops->tick(session, now_ns);
}

static void set_control_options(int fd)
{
    int on = 1, bytes = CONTROL_SNDBUF;
    /* Behind a queue that an upload fills, acknowledgements of what we say take seconds, and more
     * where some are dropped: whose peer is gone is told by what is heard of him (session_tick). */
    int timeout_ms = 2 * (int)tl_limit_row(TL_LIMIT_SILENT_MS)->standard;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof timeout_ms);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

static bool make_secrets(struct session *session, struct secure *secure)
{
    uint8_t key[UDP_SEAL_KEY_SIZE];
    bool made = tl_random_secure(&session->token, sizeof session->token) == TL_OK &&
                tl_random_secure(key, sizeof key) == TL_OK &&
                secure_token(secure, &session->token, SECURE_UDP, 0, 0, &session->udp_token) &&
                secure_seal(secure, &session->udp_seal);
    if (made)
        udp_seal_init(&session->udp_secret, key);
    return made;
}

static struct session *allocate(struct tl_responder *responder, int fd, struct secure *secure)
{
    struct session *session = calloc(1, sizeof *session);
    if (!session)
        return NULL;
    session->responder = responder;
    session->out_size = (size_t)tl_limit_row(TL_LIMIT_OUTPUT_BYTES)->standard;
    session->out = malloc(session->out_size);
    socklen_t len = sizeof session->peer;
    if (!session->out || !make_secrets(session, secure) ||
        getpeername(fd, (struct sockaddr *)&session->peer, &len) < 0) {
        free(session->out);
        free(session);
        return NULL;
    }
    address_normalise(&session->peer);
    session->since_ns = session->heard_ns = session->active_ns = tl_now_ns();
    session->deadline_ns = INT64_MAX;
    session->ended = "?";
    light_begin(session);
    return session;
}

enum tl_status session_create(struct tl_responder *responder, int fd, struct secure *secure,
                              struct session **ret_session)
{
    struct session *session = allocate(responder, fd, secure);
    if (!session)
        return TL_NOMEM;
    session->watch.fd = fd;
    enum tl_status status = loop_add(responder->loop, &session->watch, EPOLLIN, session_ready);
    if (status != TL_OK) {
        free(session->out);
        free(session);
        return status;
    }
    session->secure = secure;
    set_control_options(fd);
    sessions_add(&responder->sessions, session);
    loop_need_tick(responder->loop);
    *ret_session = session;
    return TL_OK;
}

/* A control connection of the responder: frames in, frames out, deadlines, its end.
 * The test that it may run is in session_test.c; the states are drawn in
 * responder_private.h. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "responder_private.h"
#include "tightlink/base/random.h"
#include "tightlink/base/time.h"

#define CONTROL_SNDBUF (128 * 1024) /* kernel memory that one peer may hold */
#define CLOSING_NS     TL_NS_PER_S

static int64_t limit_ns(enum tl_limit id)
{
    return tl_limit_row(id)->standard * TL_NS_PER_MS;
}

bool session_out_has_room(const struct session *session, size_t bytes)
{
    return session->out_size - session->out_len >= bytes;
}

static void want_events(struct session *session)
{
    uint32_t events = EPOLLIN | (session->out_len > 0 ? EPOLLOUT : 0u);
    watch_change(session->responder, &session->watch, events);
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
    bool waiting = session->out_len > 0;
    memcpy(session->out + session->out_at + session->out_len, frame, len);
    session->out_len += len;
    if (waiting)
        return;
    flush(session);
    if (session->state != SESSION_GONE && session->out_len > 0)
        want_events(session);
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
    (void)test_abandon(session);
    if (session->out_len == 0)
        flush(session);
}

static void log_end(struct session *session)
{
    const char *key = session->secure ? secure_key_name(session->secure) : "";
    char address[INET6_ADDRSTRLEN], lasted[TL_UNIT_TEXT_SIZE], moved[TL_UNIT_TEXT_SIZE];
    address_text(&session->peer.sin6_addr, address);
    responder_log(session->responder, "%s%s%s: %s, %llu tests, %s, ended: %s", address,
                  key[0] ? ", key " : "", key,
                  tl_format_ns((double)(tl_now_ns() - session->since_ns), lasted),
                  (unsigned long long)session->tests,
                  tl_format_traffic((double)session->bytes, moved), session->ended);
}

void session_remove(struct session *session)
{
    struct tl_responder *responder = session->responder;
    for (uint32_t i = 0; i < responder->session_count; i++) {
        if (responder->sessions[i] != session)
            continue;
        responder->sessions[i] = responder->sessions[--responder->session_count];
        break;
    }
    session->removed = true;
    free(session->out);
    session->out = NULL;
    watch_bury(responder, &session->watch);
}

void session_end(struct session *session, const char *why)
{
    if (session->state == SESSION_GONE)
        return;
    if (session->state != SESSION_CLOSING)
        session->ended = why;
    session->state = SESSION_GONE;
    session->deadline_ns = INT64_MAX;
    host_reader_forget(session);
    close(session->watch.fd);
    session->watch.fd = -1;
    session->watch.ready = NULL;
    bool nothing_left = test_abandon(session);
    log_end(session);
    secure_destroy(session->secure);
    session->secure = NULL;
    if (nothing_left)
        session_remove(session);
}

struct session *session_by_token(struct tl_responder *responder, const struct tl_wire_token *token)
{
    for (uint32_t i = 0; i < responder->session_count; i++) {
        struct session *session = responder->sessions[i];
        if (session->state < SESSION_CLOSING && tl_wire_token_equal(&session->token, token))
            return session;
    }
    return NULL;
}

static void answer_ping(struct session *session, const struct tl_wire_frame *frame)
{
    struct tl_wire_ping ping;
    struct tl_error error;
    if (tl_wire_decode_ping(frame->payload, frame->payload_len, &ping, &error) != TL_OK) {
        session_error(session, TL_WIRE_E_PROTOCOL, "%s", error.text);
        return;
    }
    struct tl_wire_pong pong = {ping.cookie, (uint64_t)tl_now_ns()};
    uint8_t answer[TL_WIRE_FRAME_MAX];
    session_send(session, answer, tl_wire_encode_pong(&pong, answer));
}

static void query_host(struct session *session, const struct tl_wire_frame *frame)
{
    bool fits = session->state == SESSION_IDLE || session->state == SESSION_QUEUED;
    if (frame->payload_len != 0)
        session_error(session, TL_WIRE_E_PROTOCOL, "HOST_QUERY has no payload");
    else if (!fits || session->job)
        session_error(session, TL_WIRE_E_STATE, "HOST_QUERY in the middle of something else");
    else if (++session->host_queries > tl_limit_row(TL_LIMIT_HOST_QUERIES)->standard)
        session_error(session, TL_WIRE_E_REFUSED, "the host was asked often enough");
    else if (!host_reader_submit(session->responder, session))
        session_error(session, TL_WIRE_E_INTERNAL, "out of memory");
    session->active_ns = session->heard_ns;
}

void session_host_done(struct session *session, const struct tl_host_settings *settings)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_writer writer;
    struct tl_wire_record record;
    tl_wire_host_begin(&writer, frame);
    unsigned count = tl_wire_host_record_count();
    for (unsigned i = 0; i < count; i++) {
        tl_wire_host_record(settings, i, &record);
        if (tl_wire_record_add(&writer, &record))
            continue;
        session_send(session, frame, tl_wire_writer_end(&writer));
        tl_wire_host_begin(&writer, frame);
        (void)tl_wire_record_add(&writer, &record); /* fits into an empty frame */
    }
    session_send(session, frame, tl_wire_writer_end(&writer));
    struct tl_wire_host_end end = {.records = (uint16_t)count};
    session_send(session, frame, tl_wire_encode_host_end(&end, frame));
}

static void handle_test(struct session *session, const struct tl_wire_frame *frame)
{
    struct tl_wire_test_tcp asked;
    struct tl_error error;
    if (session->state != SESSION_IDLE)
        session_error(session, TL_WIRE_E_STATE, "a test was asked for before the last one ended");
    else if (tl_wire_decode_test_tcp(frame->payload, frame->payload_len, &asked, &error) != TL_OK)
        session_error(session, TL_WIRE_E_PROTOCOL, "%s", error.text);
    else
        test_ask(session, &asked);
}

static void handle_test_file(struct session *session, const struct tl_wire_frame *frame)
{
    struct tl_wire_test_file asked;
    struct tl_error error;
    if (session->state != SESSION_IDLE)
        session_error(session, TL_WIRE_E_STATE, "a test was asked for before the last one ended");
    else if (tl_wire_decode_test_file(frame->payload, frame->payload_len, &asked, &error) != TL_OK)
        session_error(session, TL_WIRE_E_PROTOCOL, "%s", error.text);
    else
        test_ask_file(session, &asked);
}

static void handle_test_disk(struct session *session, const struct tl_wire_frame *frame)
{
    struct tl_wire_test_disk asked;
    struct tl_error error;
    if (session->state != SESSION_IDLE)
        session_error(session, TL_WIRE_E_STATE, "a test was asked for before the last one ended");
    else if (tl_wire_decode_test_disk(frame->payload, frame->payload_len, &asked, &error) != TL_OK)
        session_error(session, TL_WIRE_E_PROTOCOL, "%s", error.text);
    else
        session_disk_ask(session, &asked);
}

static void handle_start(struct session *session, const struct tl_wire_frame *frame)
{
    struct tl_wire_start start;
    struct tl_error error;
    if (tl_wire_decode_start(frame->payload, frame->payload_len, &start, &error) != TL_OK)
        session_error(session, TL_WIRE_E_PROTOCOL, "%s", error.text);
    else if (session->state != SESSION_READY)
        session_error(session, TL_WIRE_E_STATE, "START without READY");
    else
        test_start(session, start.test_id);
}

/* A STOP may cross our TEST_END on its way; then it means nothing any more. */
static void handle_stop(struct session *session, const struct tl_wire_frame *frame)
{
    struct tl_wire_stop stop;
    struct tl_error error;
    bool in_test = session->state == SESSION_READY || session->state == SESSION_RUNNING;
    if (tl_wire_decode_stop(frame->payload, frame->payload_len, &stop, &error) != TL_OK)
        session_error(session, TL_WIRE_E_PROTOCOL, "%s", error.text);
    else if (stop.test_id > session->last_test_id)
        session_error(session, TL_WIRE_E_STATE, "STOP of a test that was not granted");
    else if (in_test && stop.test_id == session->last_test_id)
        test_stop(session, TL_WIRE_END_STOPPED);
}

static void handle_frame(struct session *session, const struct tl_wire_frame *frame)
{
    switch (frame->type) {
    case TL_WIRE_PING:
        answer_ping(session, frame);
        return;
    case TL_WIRE_PONG: /* of no question of ours; no harm */
        return;
    case TL_WIRE_HOST_QUERY:
        query_host(session, frame);
        return;
    case TL_WIRE_TEST_TCP:
        handle_test(session, frame);
        return;
    case TL_WIRE_TEST_FILE:
        handle_test_file(session, frame);
        return;
    case TL_WIRE_TEST_DISK:
        handle_test_disk(session, frame);
        return;
    case TL_WIRE_TEST_UDP:
    case TL_WIRE_UDP_START:
    case TL_WIRE_UDP_REPORT:
        udp_test_frame(session, frame);
        return;
    case TL_WIRE_DIAL:
        peer_dial(session, frame);
        return;
    case TL_WIRE_START:
        handle_start(session, frame);
        return;
    case TL_WIRE_STOP:
        handle_stop(session, frame);
        return;
    case TL_WIRE_BYE:
        session_end(session, "bye");
        return;
    default:
        session_error(session, TL_WIRE_E_TYPE, "a frame of type %u is not for the responder",
                      frame->type);
    }
}

static void handle_input(struct session *session)
{
    size_t used = 0;
    while (session->state < SESSION_CLOSING) {
        struct tl_wire_frame frame;
        struct tl_error error;
        if (tl_wire_peek(session->in + used, session->in_len - used, &frame, &error) != TL_OK) {
            session_error(session, TL_WIRE_E_PROTOCOL, "%s", error.text);
            break;
        }
        if (frame.frame_len == 0)
            break;
        used += frame.frame_len;
        handle_frame(session, &frame);
    }
    session->in_len -= used;
    memmove(session->in, session->in + used, session->in_len);
}

/* One read. True when the channel holds more, of which no wakeup would tell. */
static bool read_once(struct session *session)
{
    if (session->state == SESSION_CLOSING)
        session->in_len = 0;
    ssize_t got = channel_recv(session->secure, session->watch.fd, session->in + session->in_len,
                               sizeof session->in - session->in_len);
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
    return session->state != SESSION_GONE && secure_pending(session->secure);
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
    if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        return;
    while (read_once(session))
        continue;
}

void session_tick(struct session *session, int64_t now_ns)
{
    if (session->state == SESSION_GONE)
        return;
    if (session->state == SESSION_CLOSING) {
        if (now_ns >= session->deadline_ns)
            session_end(session, session->ended);
        return;
    }
    if (now_ns - session->heard_ns >= limit_ns(TL_LIMIT_SILENT_MS))
        session_error(session, TL_WIRE_E_TIMEOUT, "nothing was heard for 5 s");
    else if (now_ns >= session->deadline_ns)
        session_error(session, TL_WIRE_E_TIMEOUT, "the test was not started in time");
    else if (session->state == SESSION_IDLE &&
             now_ns - session->active_ns >= limit_ns(TL_LIMIT_IDLE_MS))
        session_error(session, TL_WIRE_E_TIMEOUT, "no test was asked for");
    else if (session->state >= SESSION_RUNNING)
        test_tick(session, now_ns);
}

/* The session that can best be done without, among those of one peer (or of all, NULL):
 * idle, and silent for the longest. */
static struct session *weakest(struct tl_responder *responder, const struct in6_addr *peer,
                               int64_t now_ns)
{
    struct session *best = NULL;
    for (uint32_t i = 0; i < responder->session_count; i++) {
        struct session *session = responder->sessions[i];
        if (session->state != SESSION_IDLE ||
            now_ns - session->heard_ns < limit_ns(TL_LIMIT_EVICT_MS) ||
            (peer && !same_peer(peer, &session->peer.sin6_addr)))
            continue;
        if (!best || session->heard_ns < best->heard_ns)
            best = session;
    }
    return best;
}

static uint32_t count_sessions(const struct tl_responder *responder, const struct in6_addr *peer)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < responder->session_count; i++) {
        const struct session *session = responder->sessions[i];
        count +=
            session->state != SESSION_GONE && (!peer || same_peer(peer, &session->peer.sin6_addr));
    }
    return count;
}

/* Makes room for one more, at the cost of a session that seems to be dead. */
static enum tl_status find_place(struct tl_responder *responder, const struct in6_addr *peer,
                                 struct tl_error *reterr)
{
    int64_t now_ns = tl_now_ns();
    uint32_t per_peer = (uint32_t)tl_limit_row(TL_LIMIT_SESSIONS_PER_PEER)->standard;
    if (count_sessions(responder, peer) >= per_peer) {
        struct session *old = weakest(responder, peer, now_ns);
        if (!old)
            return tl_error_set(reterr, TL_LIMIT,
                                "your address has %u sessions here already: wait until one ends",
                                per_peer);
        session_end(old, "its peer came again");
    }
    if (count_sessions(responder, NULL) >= responder->session_max) {
        struct session *old = weakest(responder, NULL, now_ns);
        if (!old)
            return tl_error_set(reterr, TL_LIMIT,
                                "this responder serves %u sessions already: try again later",
                                responder->session_max);
        session_end(old, "silent, and its place was needed");
    }
    if (responder->session_count >= 2 * responder->session_max)
        return tl_error_set(reterr, TL_LIMIT, "this responder is still tidying up: try again");
    return TL_OK;
}

static void set_control_options(int fd)
{
    int on = 1, bytes = CONTROL_SNDBUF;
    int timeout_ms = (int)tl_limit_row(TL_LIMIT_SILENT_MS)->standard;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof timeout_ms);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

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
        .quota_left_bytes =
            responder->options.daily_quota_bytes ? quota_left(responder) : UINT64_MAX,
    };
    memcpy(welcome.program, responder->program, sizeof welcome.program);
    uint8_t frame[TL_WIRE_FRAME_MAX];
    session_send(session, frame, tl_wire_encode_welcome(&welcome, frame));
}

static struct session *allocate(struct tl_responder *responder, int fd)
{
    struct session *session = calloc(1, sizeof *session);
    if (!session)
        return NULL;
    session->responder = responder;
    session->out_size = (size_t)tl_limit_row(TL_LIMIT_OUTPUT_BYTES)->standard;
    session->out = malloc(session->out_size);
    socklen_t len = sizeof session->peer;
    if (!session->out || tl_random_secure(&session->token, sizeof session->token) != TL_OK ||
        getpeername(fd, (struct sockaddr *)&session->peer, &len) < 0) {
        free(session->out);
        free(session);
        return NULL;
    }
    address_normalise(&session->peer);
    session->since_ns = session->heard_ns = session->active_ns = tl_now_ns();
    session->deadline_ns = INT64_MAX;
    test_reset(session, TEST_OF_TCP);
    session->disk.done.fd = -1;
    session->ended = "?";
    return session;
}

enum tl_status session_create(struct tl_responder *responder, int fd, struct secure *secure,
                              const struct tl_wire_hello *hello, struct tl_error *reterr)
{
    struct session *session = allocate(responder, fd);
    if (!session)
        return tl_error_set(reterr, TL_NOMEM, "this responder is out of memory");
    enum tl_status status = find_place(responder, &session->peer.sin6_addr, reterr);
    session->watch.fd = fd;
    if (status == TL_OK)
        status = watch_add(responder, &session->watch, EPOLLIN, session_ready);
    if (status != TL_OK) {
        free(session->out);
        free(session);
        return status;
    }
    session->secure = secure;
    set_control_options(fd);
    responder->sessions[responder->session_count++] = session;
    responder_need_tick(responder);
    send_welcome(session, hello);
    return TL_OK;
}

/* All at once; the streams' threads need up to 250 ms to end. */
void sessions_finish(struct tl_responder *responder)
{
    for (uint32_t i = responder->session_count; i-- > 0;)
        if (i < responder->session_count)
            session_error(responder->sessions[i], TL_WIRE_E_GOING, "this responder is shut down");
    while (responder->session_count > 0) {
        struct session *session = responder->sessions[responder->session_count - 1];
        session_end(session, "shut down");
        test_forget(session);
        if (!session->removed)
            session_remove(session);
    }
}

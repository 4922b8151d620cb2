/* One text for each who asks over the local socket; addresses as networks alone, as in the log of
 * failures: a status is pasted into tickets. */
#include "status.h"

#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "address.h"
#include "admission.h"
#include "responder_private.h"
#include "session.h"
#include "tightlink/base/buf.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"

#define ANSWERS_PER_WAKEUP 8

static const char *state_word(const struct session *session)
{
    static const char *const words[] = {
        [SESSION_IDLE] = "idle",       [SESSION_QUEUED] = "queued",
        [SESSION_PREPARING] = "disk",  [SESSION_READY] = "about to test",
        [SESSION_RUNNING] = "testing", [SESSION_ENDING] = "ending its test",
        [SESSION_CLOSING] = "closing", [SESSION_GONE] = "gone",
    };
    return words[session->state];
}

static void add_session(struct tl_buf *out, const struct session *session, int64_t now_ns)
{
    char network[INET6_ADDRSTRLEN + 4], lasted[TL_UNIT_TEXT_SIZE], moved[TL_UNIT_TEXT_SIZE];
    address_network_text(&session->peer.sin6_addr, network);
    tl_buf_addf(
        out, "  %s%s%s: %s, for %s, %llu tests, %s\n", network, session->secure ? ", key " : "",
        session->secure ? secure_key_name(session->secure) : "", state_word(session),
        tl_format_ns((double)(now_ns - session->since_ns), lasted),
        (unsigned long long)session->tests, tl_format_traffic((double)session->bytes, moved));
}

static void compose(struct tl_responder *responder, struct tl_buf *out)
{
    const struct sessions *sessions = &responder->sessions;
    const struct quota *quota = &responder->quota;
    int64_t now_ns = tl_now_ns();
    char text[TL_UNIT_TEXT_SIZE], all[TL_UNIT_TEXT_SIZE];
    uint32_t count = sessions_count(sessions), plain = sessions_count_plain(sessions);
    tl_buf_addf(out, "%s on port %d, for %s\n", responder->program, responder->port,
                tl_format_ns((double)(now_ns - responder->since_ns), text));
    tl_buf_addf(out,
                "sessions: %u of %u, %u with a key; connections that have not said who they "
                "are: %u, of them in a handshake: %u; turned away: %llu\n",
                count, responder->session_max, count - plain, admission_count(responder->admission),
                admission_handshakes(responder->admission),
                (unsigned long long)responder->guard.refused);
    if (responder->keys)
        tl_buf_addf(out, "keys in force: %zu\n", tl_keys_count(responder->keys));
    if (responder->options.rate_cap_bps)
        tl_buf_addf(out, "rate cap: %s\n",
                    tl_format_bps((double)responder->options.rate_cap_bps, text));
    if (quota->all_bytes)
        tl_buf_addf(out, "bytes of today: %s moved of %s\n",
                    tl_format_traffic((double)quota->moved_bytes, text),
                    tl_format_traffic((double)quota->all_bytes, all));
    for (uint32_t i = 0; i < sessions->count; i++)
        add_session(out, sessions->list[i], now_ns);
}

static void answer(struct tl_responder *responder, int fd)
{
    struct tl_buf text = TL_BUF_INIT;
    struct ucred who = {.uid = (uid_t)-1};
    socklen_t len = sizeof who;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 &&
        (who.uid == 0 || who.uid == responder->options.status_uid)) {
        compose(responder, &text);
        /* 64 sessions take some 6 KB, a socket's buffer more than 200; what does not fit is cut. */
        if (text.status == TL_OK)
            (void)!send(fd, tl_buf_text(&text), text.len, MSG_DONTWAIT | MSG_NOSIGNAL);
        tl_buf_finish(&text);
    }
    close(fd);
}

/* Who asks wakes the loop once (EPOLLET): out of descriptors he waits, and the loop does not spin.
 * Who asks without end waits for the others in between: the loop is told again that somebody is
 * there. */
static void status_ready(struct watch *watch, uint32_t events)
{
    struct tl_responder *responder =
        (struct tl_responder *)((char *)watch - offsetof(struct tl_responder, status));
    for (int i = 0; i < ANSWERS_PER_WAKEUP; i++) {
        int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        answer(responder, fd);
    }
    loop_change(responder->loop, watch, EPOLLIN | EPOLLET);
}

enum tl_status status_open(struct tl_responder *responder)
{
    responder->since_ns = tl_now_ns();
    responder->status.fd = responder->options.status_fd;
    if (responder->status.fd <= 0)
        return TL_OK;
    return loop_add(responder->loop, &responder->status, EPOLLIN | EPOLLET, status_ready);
}

/* A test between two responders: on the client's word this one dials the data connections to
 * the other. Only for keyed sessions, and only to peers that the administrator named: nobody
 * else's ports are touched, whatever a client asks for.
 *
 *   READY -- DIAL --> connecting -> PEER_HELLO sent -> DATA_OK came: the test's connection
 *                         all of them: DIALLED -> (START as ever)
 *
 * A failure closes what was opened and is told; the session then waits for STOP, or for its
 * deadline of 5 s. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "responder_private.h"

#define ANSWER_SIZE (TL_WIRE_HEADER_SIZE + 8) /* a DATA_OK */

struct peer_dial {
    struct watch watch;
    struct session *session;
    unsigned connection;
    bool greeted;
    uint8_t in[ANSWER_SIZE];
    size_t in_len;
};

struct session_dials {
    struct tl_wire_dial asked;
    struct peer_dial *list[TL_WIRE_STREAMS_MAX]; /* NULL: not begun, or the test's now */
    unsigned open_count;
};

static bool is_peer(const struct tl_responder *responder, const struct in6_addr *address)
{
    for (size_t i = 0; i < responder->options.peer_count; i++)
        if (IN6_ARE_ADDR_EQUAL(&responder->options.peers[i], address))
            return true;
    return false;
}

bool peer_may_join(const struct session *session, const struct in6_addr *from)
{
    return session->secure && is_peer(session->responder, from);
}

void peer_forget(struct session *session)
{
    struct session_dials *dials = session->test.dials;
    if (!dials)
        return;
    for (unsigned i = 0; i < TL_WIRE_STREAMS_MAX; i++)
        if (dials->list[i])
            watch_bury(session->responder, &dials->list[i]->watch);
    free(dials);
    session->test.dials = NULL;
}

static void fail(struct session *session, const char *why)
{
    char address[INET6_ADDRSTRLEN];
    struct in6_addr peer;
    memcpy(&peer, session->test.dials->asked.peer_address, sizeof peer);
    address_text(&peer, address);
    peer_forget(session);
    session_error(session, TL_WIRE_E_REFUSED, "the other responder, %s: %s", address, why);
}

/* The connection is the test's from here on; its watch goes, its descriptor stays. */
static void hand_over(struct peer_dial *dial)
{
    struct session *session = dial->session;
    struct session_dials *dials = session->test.dials;
    int fd = dial->watch.fd;
    epoll_ctl(session->responder->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    dial->watch.fd = -1;
    dials->list[dial->connection] = NULL;
    watch_bury(session->responder, &dial->watch);
    test_adopt(session, dial->connection, fd);
    if (++dials->open_count < session->test.connections)
        return;
    struct tl_wire_dialled dialled = {.test_id = session->test.granted.test_id};
    uint8_t frame[TL_WIRE_FRAME_MAX];
    peer_forget(session);
    session_send(session, frame, tl_wire_encode_dialled(&dialled, frame));
}

static void greet(struct peer_dial *dial)
{
    const struct tl_wire_dial *asked = &dial->session->test.dials->asked;
    struct tl_wire_peer_hello hello = {{.version = TL_WIRE_VERSION,
                                        .stream = (uint16_t)dial->connection,
                                        .test_id = asked->peer_test_id,
                                        .token = asked->peer_token}};
    uint8_t frame[TL_WIRE_FRAME_MAX];
    int errnum = 0;
    socklen_t error_len = sizeof errnum;
    (void)getsockopt(dial->watch.fd, SOL_SOCKET, SO_ERROR, &errnum, &error_len);
    size_t len = tl_wire_encode_peer_hello(&hello, frame);
    if (errnum == 0 &&
        send(dial->watch.fd, frame, len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)len)
        errnum = errno;
    if (errnum != 0) {
        fail(dial->session, strerror(errnum));
        return;
    }
    dial->greeted = true;
    watch_change(dial->session->responder, &dial->watch, EPOLLIN);
}

/* Reads no byte beyond DATA_OK: what follows is payload. */
static void take_answer(struct peer_dial *dial)
{
    struct tl_wire_frame frame;
    struct tl_wire_data_ok ok;
    ssize_t got =
        recv(dial->watch.fd, dial->in + dial->in_len, sizeof dial->in - dial->in_len, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        fail(dial->session, "it closed a data connection");
        return;
    }
    dial->in_len += (size_t)got;
    if (tl_wire_peek(dial->in, dial->in_len, &frame, NULL) != TL_OK ||
        (dial->in_len > 2 && frame.frame_len == 0 && dial->in[2] != TL_WIRE_DATA_OK)) {
        fail(dial->session, "it does not take our data connections: it must name this host with "
                            "--third-party, and have a keyed session");
        return;
    }
    if (frame.frame_len == 0)
        return;
    if (frame.type == TL_WIRE_DATA_OK &&
        tl_wire_decode_data_ok(frame.payload, frame.payload_len, &ok, NULL) == TL_OK &&
        ok.test_id == dial->session->test.dials->asked.peer_test_id &&
        ok.stream == dial->connection)
        hand_over(dial);
    else
        fail(dial->session, "it refused a data connection");
}

static void dial_ready(struct watch *watch, uint32_t events)
{
    struct peer_dial *dial = (struct peer_dial *)watch;
    if (dial->greeted)
        take_answer(dial);
    else
        greet(dial);
}

static void plain_address(const struct tl_wire_dial *asked, struct sockaddr_storage *ret_address,
                          socklen_t *ret_len)
{
    struct in6_addr peer;
    memcpy(&peer, asked->peer_address, sizeof peer);
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(asked->peer_port)};
    struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(asked->peer_port), .sin6_addr = peer};
    bool is_v4 = IN6_IS_ADDR_V4MAPPED(&peer);
    memcpy(&v4.sin_addr, &peer.s6_addr[12], sizeof v4.sin_addr);
    *ret_len = is_v4 ? sizeof v4 : sizeof v6;
    memcpy(ret_address, is_v4 ? (void *)&v4 : (void *)&v6, *ret_len);
}

/* False after a failure, which is told. */
static bool begin(struct session *session, unsigned connection)
{
    struct session_dials *dials = session->test.dials;
    struct sockaddr_storage address;
    socklen_t len;
    struct tl_error error = {0};
    plain_address(&dials->asked, &address, &len);
    struct peer_dial *dial = calloc(1, sizeof *dial);
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (!dial || fd < 0 || test_prepare(session, connection, fd, &error) != TL_OK ||
        (connect(fd, (struct sockaddr *)&address, len) < 0 && errno != EINPROGRESS)) {
        const char *why = error.text[0] ? error.text : strerror(errno);
        if (fd >= 0)
            close(fd);
        free(dial);
        fail(session, why);
        return false;
    }
    *dial = (struct peer_dial){.watch = {.fd = fd}, .session = session, .connection = connection};
    if (watch_add(session->responder, &dial->watch, EPOLLOUT, dial_ready) != TL_OK) {
        close(fd);
        free(dial);
        fail(session, "out of memory");
        return false;
    }
    dials->list[connection] = dial;
    return true;
}

/* The refusals are for people who may not know what their administrators said. */
static bool may_dial(struct session *session, const struct tl_wire_dial *dial)
{
    struct in6_addr peer;
    memcpy(&peer, dial->peer_address, sizeof peer);
    if (session->state != SESSION_READY || dial->test_id != session->test.granted.test_id ||
        session->test.dials || session->test.joined > 0 || session->test.kind != TEST_OF_TCP)
        session_error(session, TL_WIRE_E_STATE, "DIAL without a test that waits for connections");
    else if (!session->secure)
        session_error(session, TL_WIRE_E_REFUSED, "tests between responders need a key");
    else if (!is_peer(session->responder, &peer))
        session_error(session, TL_WIRE_E_REFUSED,
                      "this responder dials only those that its administrator named with "
                      "--third-party");
    else
        return true;
    return false;
}

void peer_dial(struct session *session, const struct tl_wire_frame *frame)
{
    struct tl_wire_dial dial;
    struct tl_error error;
    if (tl_wire_decode_dial(frame->payload, frame->payload_len, &dial, &error) != TL_OK) {
        session_error(session, TL_WIRE_E_PROTOCOL, "%s", error.text);
        return;
    }
    if (!may_dial(session, &dial))
        return;
    session->test.dials = calloc(1, sizeof *session->test.dials);
    if (!session->test.dials) {
        session_error(session, TL_WIRE_E_INTERNAL, "out of memory");
        return;
    }
    session->test.dials->asked = dial;
    for (unsigned i = 0; i < session->test.connections; i++)
        if (!begin(session, i))
            return;
}

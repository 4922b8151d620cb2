/* A test between two responders, seen by the one that dials; peer_dial.c does it. */
#include "tcp_dial.h"

#include <string.h>

#include "peer_dial.h"
#include "responder_private.h"
#include "tcp_run.h"
#include "tightlink/base/address.h"

/* On the client's word, in keyed sessions, and only to peers that the administrator named: nobody
 * else's ports are touched, whatever a client asks for. After a failure the session waits for STOP,
 * or for its deadline of 5 s. */
static bool is_peer(const struct tl_responder *responder, const struct in6_addr *address)
{
    for (size_t i = 0; i < responder->options.peer_count; i++)
        if (IN6_ARE_ADDR_EQUAL(&responder->options.peers[i], address))
            return true;
    return false;
}

bool tcp_dial_may_join(const struct session *session, const struct in6_addr *from)
{
    return session->secure && is_peer(session->responder, from);
}

static void forget_dials(struct session *session)
{
    peer_dials_forget(session->test.dials);
    session->test.dials = NULL;
}

static struct in6_addr dialled_peer(const struct tl_wire_dial *dial)
{
    struct in6_addr peer;
    memcpy(&peer, dial->peer_address, sizeof peer);
    return peer;
}

static enum tl_status prepare_dial(void *owner, unsigned connection, int fd,
                                   struct tl_error *reterr)
{
    struct session *session = owner;
    return tcp_run_prepare(&session->test, fd, connection, false, reterr);
}

static void adopt_dial(void *owner, unsigned connection, int fd)
{
    struct session *session = owner;
    session->test.fds[connection] = fd;
    session->test.joined++;
}

static void dials_done(void *owner)
{
    struct session *session = owner;
    struct tl_wire_dialled dialled = {.test_id = session->test.granted.test_id};
    uint8_t frame[TL_WIRE_FRAME_MAX];
    forget_dials(session);
    session_send(session, frame, tl_wire_encode_dialled(&dialled, frame));
}

static void dials_failed(void *owner, const char *why)
{
    struct session *session = owner;
    char address[INET6_ADDRSTRLEN];
    struct in6_addr peer = dialled_peer(&session->test.dial);
    tl_address_text(&peer, address);
    forget_dials(session);
    session_error(session, TL_WIRE_E_REFUSED, "the other responder, %s: %s", address, why);
}

/* The refusals are for people who may not know what their administrators said. */
static bool may_dial(struct session *session, const struct tl_wire_dial *dial)
{
    const struct session_test *test = &session->test;
    struct in6_addr peer = dialled_peer(dial);
    if (session->state != SESSION_READY || dial->test_id != test->granted.test_id || test->dials ||
        test->joined > 0 || test->is_file)
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

void tcp_dial(struct session *session, const struct tl_wire_dial *dial)
{
    const struct peer_dials_owner owner = {session, prepare_dial, adopt_dial, dials_done,
                                           dials_failed};
    struct tl_error error = {0};
    if (!may_dial(session, dial))
        return;
    session->test.dial = *dial;
    if (peer_dials_begin(session->responder->loop, dial, session->test.connections, &owner,
                         &session->test.dials, &error) != TL_OK)
        dials_failed(session, error.text);
}

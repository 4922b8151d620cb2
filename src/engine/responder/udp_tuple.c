/* Proof of a UDP tuple.
 *
 * P4: HELLO is answered only with the token of a live session and from the address of its control
 * connection, by an answer no longer than the question. Everything else is met with silence, also
 * what is not sealed where datagrams are (udp_seal.h). */
#include "udp_tuple.h"

#include <string.h>

#include "address.h"
#include "gcra.h"
#include "responder_private.h"
#include "sessions.h"
#include "tightlink/base/time.h"
#include "udp_datagram.h"

static struct udp_tuple *find_tuple(struct session *session, const struct sockaddr_in6 *from)
{
    for (size_t i = 0; i < SESSION_TUPLES; i++) {
        struct udp_tuple *tuple = &session->tuples[i];
        if (tuple->proven && tuple->from.sin6_port == from->sin6_port &&
            IN6_ARE_ADDR_EQUAL(&tuple->from.sin6_addr, &from->sin6_addr))
            return tuple;
    }
    return NULL;
}

/* Makes a tuple that has proved itself known, in a free place or that of the one which proved
 * itself longest ago. */
static void keep_tuple(struct session *session, const struct sockaddr_in6 *from,
                       const struct tl_wire_token *challenge)
{
    struct udp_tuple *place = session->tuples;
    if (find_tuple(session, from)) /* its PROVEN was lost */
        return;
    for (size_t i = 1; i < SESSION_TUPLES && place->proven; i++) {
        struct udp_tuple *other = &session->tuples[i];
        if (!other->proven || other->since_ns < place->since_ns)
            place = other;
    }
    *place = (struct udp_tuple){.proven = true,
                                .from = *from,
                                .cookie = tl_wire_udp_cookie(challenge),
                                .since_ns = tl_now_ns()};
}

/* Of the session's secret and the tuple, so that a question keeps no place: who asks without being
 * able to answer takes none from who has answered. */
static struct tl_wire_token challenge_of(const struct session *session,
                                         const struct sockaddr_in6 *from)
{
    struct tl_wire_token challenge;
    uint8_t what[sizeof from->sin6_addr + sizeof from->sin6_port + 1];
    memcpy(what, &from->sin6_addr, sizeof from->sin6_addr);
    memcpy(what + sizeof from->sin6_addr, &from->sin6_port, sizeof from->sin6_port);
    for (uint8_t half = 0; half < 2; half++) {
        what[sizeof what - 1] = half;
        uint64_t random = udp_seal_of(&session->udp_secret, what, sizeof what);
        memcpy(challenge.bytes + half * sizeof random, &random, sizeof random);
    }
    return challenge;
}

bool udp_tuple_take_token(struct session *session)
{
    int64_t step_ns = TL_NS_PER_S / tl_limit_row(TL_LIMIT_UDP_PROBES_PER_S)->standard;
    return gcra_take(&session->udp_full_ns, tl_now_ns(), step_ns, TL_NS_PER_S / 4);
}

/* The session whose client sent it, for all that can be seen; NULL. */
static struct session *find_asker(struct tl_responder *responder, const struct arrival *arrival,
                                  const struct sockaddr_in6 *from,
                                  const struct tl_wire_udp_prove *prove)
{
    struct session *session =
        sessions_by_token(&responder->sessions, SECURE_UDP, 0, 0, &prove->token);
    bool good = session && IN6_ARE_ADDR_EQUAL(&session->peer.sin6_addr, &from->sin6_addr) &&
                udp_seal_fits_prove(&session->udp_seal, prove, arrival->bytes);
    return good ? session : NULL;
}

void udp_tuple_answer(struct tl_responder *responder, const struct arrival *arrival)
{
    struct tl_wire_udp_prove prove, answer = {.type = TL_WIRE_UDP_CHALLENGE};
    struct sockaddr_in6 from = arrival->from;
    uint8_t datagram[TL_WIRE_UDP_HELLO_SIZE];
    address_normalise(&from);
    if (tl_wire_decode_udp_prove(arrival->bytes, arrival->len, &prove, NULL) != TL_OK)
        return;
    struct session *session = find_asker(responder, arrival, &from, &prove);
    if (!session || !udp_tuple_take_token(session))
        return;
    answer.challenge = challenge_of(session, &from);
    if (prove.type == TL_WIRE_UDP_PROVE) {
        if (!tl_wire_token_equal(&answer.challenge, &prove.challenge))
            return;
        keep_tuple(session, &from, &answer.challenge);
        answer.type = TL_WIRE_UDP_PROVEN;
    }
    (void)udp_port_reply(responder->udp_port, arrival, NULL, datagram,
                         udp_seal_encode_prove(&session->udp_seal, &answer, datagram));
}

struct udp_tuple *udp_tuple_find_prover(struct tl_responder *responder,
                                        const struct sockaddr_in6 *from, uint64_t cookie,
                                        struct session **ret_session)
{
    for (uint32_t i = 0; i < responder->sessions.count; i++) {
        struct session *session = responder->sessions.list[i];
        struct udp_tuple *tuple =
            session->state < SESSION_CLOSING ? find_tuple(session, from) : NULL;
        if (tuple && tuple->cookie == cookie) {
            *ret_session = session;
            return tuple;
        }
    }
    return NULL;
}

struct udp_tuple *udp_tuple_open(struct tl_responder *responder, const struct arrival *arrival,
                                 struct session **ret_session)
{
    struct sockaddr_in6 from = arrival->from;
    address_normalise(&from);
    struct udp_tuple *tuple =
        udp_tuple_find_prover(responder, &from, udp_get64(arrival->bytes + 8), ret_session);
    if (tuple)
        udp_seal_turn(&(*ret_session)->udp_seal, arrival->bytes, arrival->len);
    return tuple;
}

const struct udp_tuple *udp_tuple_find_proven(const struct session *session, uint64_t cookie)
{
    for (size_t i = 0; i < SESSION_TUPLES; i++)
        if (session->tuples[i].proven && session->tuples[i].cookie == cookie)
            return &session->tuples[i];
    return NULL;
}

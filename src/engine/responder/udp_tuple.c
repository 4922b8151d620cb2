/* Proof of a UDP tuple.
 *
 * P4: HELLO is answered only with the token of a live session and from the address of its control
 * connection, by an answer no longer than the question. Everything else is met with silence. */
#include "udp_tuple.h"

#include "address.h"
#include "responder_private.h"
#include "sessions.h"
#include "tightlink/base/random.h"
#include "tightlink/base/time.h"

#define PROOF_NS (5 * TL_NS_PER_S) /* after that a tuple will not be proven */

static bool same_tuple(const struct udp_tuple *tuple, const struct sockaddr_in6 *from)
{
    return tuple->used && tuple->from.sin6_port == from->sin6_port &&
           IN6_ARE_ADDR_EQUAL(&tuple->from.sin6_addr, &from->sin6_addr);
}

static struct udp_tuple *find_tuple(struct session *session, const struct sockaddr_in6 *from)
{
    for (size_t i = 0; i < sizeof session->tuples / sizeof *session->tuples; i++)
        if (same_tuple(&session->tuples[i], from))
            return &session->tuples[i];
    return NULL;
}

/* A free place, else one that was not proven in time, else the oldest: several threads of a client
 * prove theirs at the same time, and what is in the middle of its proof is no leftover. */
static struct udp_tuple *new_tuple(struct session *session)
{
    int64_t late_ns = tl_now_ns() - PROOF_NS;
    struct udp_tuple *best = NULL;
    bool best_late = false;
    for (size_t i = 0; i < sizeof session->tuples / sizeof *session->tuples; i++) {
        struct udp_tuple *tuple = &session->tuples[i];
        if (!tuple->used)
            return tuple;
        bool late = !tuple->proven && tuple->since_ns < late_ns;
        if (!best || (late != best_late ? late : tuple->since_ns < best->since_ns)) {
            best = tuple;
            best_late = late;
        }
    }
    return best;
}

bool udp_tuple_take_token(struct session *session)
{
    int64_t now_ns = tl_now_ns();
    int64_t step_ns = TL_NS_PER_S / tl_limit_row(TL_LIMIT_UDP_PROBES_PER_S)->standard;
    int64_t full_ns = session->udp_full_ns > now_ns ? session->udp_full_ns : now_ns;
    if (full_ns + step_ns > now_ns + TL_NS_PER_S / 4)
        return false;
    session->udp_full_ns = full_ns + step_ns;
    return true;
}

void udp_tuple_answer(struct tl_responder *responder, const struct arrival *arrival)
{
    struct tl_wire_udp_prove prove, answer = {0};
    struct sockaddr_in6 from = arrival->from;
    address_normalise(&from);
    if (tl_wire_decode_udp_prove(arrival->bytes, arrival->len, &prove, NULL) != TL_OK)
        return;
    struct session *session =
        sessions_by_token(&responder->sessions, SECURE_UDP, 0, 0, &prove.token);
    if (!session || !IN6_ARE_ADDR_EQUAL(&session->peer.sin6_addr, &from.sin6_addr) ||
        !udp_tuple_take_token(session))
        return;
    struct udp_tuple *tuple = find_tuple(session, &from);
    if (prove.type == TL_WIRE_UDP_HELLO) {
        if (!tuple) {
            tuple = new_tuple(session);
            *tuple = (struct udp_tuple){.used = true, .from = from, .since_ns = tl_now_ns()};
            if (tl_random_secure(&tuple->challenge, sizeof tuple->challenge) != TL_OK) {
                tuple->used = false;
                return;
            }
        }
        answer.type = TL_WIRE_UDP_CHALLENGE;
    } else if (prove.type == TL_WIRE_UDP_PROVE && tuple &&
               tl_wire_token_equal(&tuple->challenge, &prove.challenge)) {
        tuple->proven = true;
        answer.type = TL_WIRE_UDP_PROVEN;
    } else {
        return;
    }
    answer.challenge = tuple->challenge;
    uint8_t datagram[TL_WIRE_UDP_HELLO_SIZE];
    (void)udp_port_reply(responder->udp_port, arrival, NULL, datagram,
                         tl_wire_encode_udp_prove(&answer, datagram));
}

struct udp_tuple *udp_tuple_find_prover(struct tl_responder *responder,
                                        const struct sockaddr_in6 *from, uint64_t cookie,
                                        struct session **ret_session)
{
    for (uint32_t i = 0; i < responder->sessions.count; i++) {
        struct session *session = responder->sessions.list[i];
        struct udp_tuple *tuple =
            session->state < SESSION_CLOSING ? find_tuple(session, from) : NULL;
        if (tuple && tuple->proven && tl_wire_udp_cookie(&tuple->challenge) == cookie) {
            *ret_session = session;
            return tuple;
        }
    }
    return NULL;
}

const struct udp_tuple *udp_tuple_find_proven(const struct session *session, uint64_t cookie)
{
    for (size_t i = 0; i < sizeof session->tuples / sizeof *session->tuples; i++) {
        const struct udp_tuple *tuple = &session->tuples[i];
        if (tuple->used && tuple->proven && tl_wire_udp_cookie(&tuple->challenge) == cookie)
            return tuple;
    }
    return NULL;
}

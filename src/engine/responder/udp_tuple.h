/* The UDP addresses of a session's client, proved by echoing a challenge (P4). */
#ifndef TL_ENGINE_UDP_TUPLE_H
#define TL_ENGINE_UDP_TUPLE_H

#include "session.h"
#include "udp_port.h"

/* A HELLO or PROVE: answered where the token and the address are a live session's. */
void udp_tuple_answer(struct tl_responder *responder, const struct arrival *arrival);
/* The proven tuple at this address (normalised) with this cookie, and its session; NULL. */
struct udp_tuple *udp_tuple_find_prover(struct tl_responder *responder,
                                        const struct sockaddr_in6 *from, uint64_t cookie,
                                        struct session **ret_session);
/* The same for a probe as it came, whose seal is taken off; what it says is not checked. */
struct udp_tuple *udp_tuple_open(struct tl_responder *responder, const struct arrival *arrival,
                                 struct session **ret_session);
/* The session's proven tuple with this cookie; NULL. */
const struct udp_tuple *udp_tuple_find_proven(const struct session *session, uint64_t cookie);
/* Every answered datagram of a session costs one token: GCRA, as in accept_guard.c. */
bool udp_tuple_take_token(struct session *session);

#endif

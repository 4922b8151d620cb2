/* Tests of streams between two responders: on its client's word one of them dials the other. */
#ifndef TL_ENGINE_TCP_DIAL_H
#define TL_ENGINE_TCP_DIAL_H

#include "session.h"

/* DIAL. The session has a test of streams. */
void tcp_dial(struct session *session, const struct tl_wire_dial *dial);
/* Whether a PEER_HELLO from that address may join a test of this session. */
bool tcp_dial_may_join(const struct session *session, const struct in6_addr *from);

#endif

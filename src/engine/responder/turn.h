/* A session's test before it is granted: asked for, queued behind others of its interface,
 * counted against the quota. */
#ifndef TL_ENGINE_TURN_H
#define TL_ENGINE_TURN_H

#include "session.h"

/* Whether the session may ask for a test now, and for one that loads the path: bytes of today are
 * left. Else the client is told. */
bool turn_is_idle(struct session *session);
bool turn_may_load(struct session *session);
/* A new test of the session, nothing granted yet. */
void turn_reset(struct session *session, const struct test_ops *ops);
/* All is clamped: its place is behind those that came before. */
void turn_ask(struct session *session);
/* Its turn has come and all is prepared: READY. */
void turn_ready(struct session *session);
/* Grants and tells places after anything changed in the queue. */
void turns_serve(struct tl_responder *responder);
/* The reservation of the session's test becomes what was really moved. */
void turn_settle(struct session *session, uint64_t moved_bytes);
/* Of today's, for that session; UINT64_MAX without a quota. */
uint64_t turn_bytes_left(const struct session *session);
/* Whether an answer of so many bytes may go out beside the tests: it counts against the rate cap
 * and the day's bytes as all else does. False: silence. */
bool turn_may_answer(struct session *session, size_t bytes);

#endif

/* How a test of streams ended. */
#ifndef TL_ENGINE_TCP_END_H
#define TL_ENGINE_TCP_END_H

#include "session.h"

/* Why a test ended that nobody stopped: the worst that happened to a stream. */
enum tl_wire_end_reason tcp_end_reason(const struct session_test *test);

/* TEST_END, in as many frames as it needs, and the session may ask for the next test. */
void tcp_end_report(struct session *session);

#endif

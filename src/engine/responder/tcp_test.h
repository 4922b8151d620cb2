/* A session's tests of streams: TEST_TCP, TEST_FILE, DIAL, START. */
#ifndef TL_ENGINE_TCP_TEST_H
#define TL_ENGINE_TCP_TEST_H

#include "session.h"

/* One of its frames, in whatever state; may end the session. */
void tcp_test_frame(struct session *session, const struct tl_wire_frame *frame);

#endif

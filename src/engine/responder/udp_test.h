/* A session's tests of datagrams: TEST_UDP, UDP_START, UDP_REPORT. */
#ifndef TL_ENGINE_UDP_TEST_H
#define TL_ENGINE_UDP_TEST_H

#include "session.h"

/* One of its frames, in whatever state; may end the session. */
void udp_test_frame(struct session *session, const struct tl_wire_frame *frame);

#endif

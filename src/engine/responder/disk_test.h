/* A session's tests of the disk: TEST_DISK. */
#ifndef TL_ENGINE_DISK_TEST_H
#define TL_ENGINE_DISK_TEST_H

#include "session.h"

/* One of its frames, in whatever state; may end the session. */
void disk_test_frame(struct session *session, const struct tl_wire_frame *frame);

#endif

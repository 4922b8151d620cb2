/* What a client's frames mean: each goes to the file of its test. */
#ifndef TL_ENGINE_FRAMES_H
#define TL_ENGINE_FRAMES_H

#include "session.h"
#include "tightlink/host/host.h"

/* A whole frame; may end the session. */
void frames_take(struct session *session, const struct tl_wire_frame *frame);
/* The answer to HOST_QUERY; a host_read_fn whose owner is the session. */
void frames_host_done(void *session, const struct tl_host_settings *settings);

#endif

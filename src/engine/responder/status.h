/* What the responder serves now, for this machine's administrator. */
#ifndef TL_ENGINE_RESPONDER_STATUS_H
#define TL_ENGINE_RESPONDER_STATUS_H

#include "tightlink/base/status.h"

struct tl_responder;

/* Answers each connection to options.status_fd of root, or of the user that started us, with one
 * text, and closes it. TL_OK without such a descriptor. */
enum tl_status status_open(struct tl_responder *responder) TL_WARN_UNUSED;

#endif

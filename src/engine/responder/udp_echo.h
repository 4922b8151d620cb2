/* What comes in at the responder's UDP port. */
#ifndef TL_ENGINE_UDP_ECHO_H
#define TL_ENGINE_UDP_ECHO_H

#include "loop.h"

/* Of the responder's watch `udp`. */
void udp_ready(struct watch *watch, uint32_t events);

#endif

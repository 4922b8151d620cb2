/* Datagrams that measure the path. */
#ifndef TL_ENGINE_UDP_PATH_H
#define TL_ENGINE_UDP_PATH_H

#include "udp_port.h"

struct tl_responder;

/* A PATH_PROBE of a proven tuple. */
void udp_answer_path(struct tl_responder *responder, const struct arrival *arrival);
/* Reads what routers told about our answers and passes it on to whom it concerns. */
void udp_path_errors(struct tl_responder *responder);

#endif

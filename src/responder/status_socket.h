/* The local socket over which tightlinkd tells what it serves: no file, a name of this network
 * namespace made of the port. Who may ask is checked by who answers, and the other way round. */
#ifndef TL_RESPONDER_STATUS_SOCKET_H
#define TL_RESPONDER_STATUS_SOCKET_H

#include <stdbool.h>

#include "tightlink/base/status.h"

/* Gives a new local stream socket its name and listens. On failure (somebody has taken the name) it
 * is closed. */
bool status_socket_listen(int fd, int port);
/* Asks the tightlinkd on that port and prints what it says. TL_UNREACHABLE, TL_DENIED. */
enum tl_status status_socket_print(int port, struct tl_error *reterr) TL_WARN_UNUSED;

#endif

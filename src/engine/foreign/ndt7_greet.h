/* Whether an NDT server listens, without a test: it is asked in a version of WebSocket that there
 * is not, which RFC 6455 (section 4.4) has a server refuse by naming those that it knows. Private
 * to this room. */
#ifndef TL_ENGINE_NDT7_GREET_H
#define TL_ENGINE_NDT7_GREET_H

#include "http_request.h"

#define NDT7_SUBPROTOCOL "net.measurementlab.ndt.v7"

/* TL_OK: WebSockets are spoken at ndt7's own place, and not wherever one asks, as before a web
 * server a gate may do that knows no places. TL_REFUSED: it is something else. Within
 * options->reach.timeout_ns and a little more; other errors as of http_open() and
 * http_exchange(). */
enum tl_status ndt7_greet(const struct tl_far_options *options,
                          struct tl_error *reterr) TL_WARN_UNUSED;

#endif

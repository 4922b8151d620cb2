/* A TCP test with a web server by HTTP/2: a big file read, or bodies posted to a LibreSpeed back
 * end. Private to this room.
 *
 * Each connection has one request at a time, as curl has for one file. Where an answer ends before
 * the test does, the next request follows in the same connection; posts follow one another without
 * waiting for answers in between, as far as the server lets them. */
#ifndef TL_ENGINE_HTTP2_TRANSFER_H
#define TL_ENGINE_HTTP2_TRANSFER_H

#include "http_server.h"

/* server->http2. spec: either direction, up to NEAR_HANDS_MAX connections. An upload's result tells
 * how far the server's own windows let it go. TL_DENIED: it refuses what is asked for or posted;
 * TL_PROTOCOL: it breaks HTTP/2; TL_CLOSED. */
enum tl_status http2_transfer(const struct far_peer *peer, const struct http_server *server,
                              const struct tl_tcp_spec *spec, tl_tcp_live_fn *live, void *context,
                              struct tl_tcp_result *result, struct tl_error *reterr) TL_WARN_UNUSED;

#endif

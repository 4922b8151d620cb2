/* From where a web server can be reached, and where it may send its clients on to: a request alone
 * can do harm in a place that the server itself cannot reach. Private to this room. */
#ifndef TL_ENGINE_HTTP_PLACE_H
#define TL_ENGINE_HTTP_PLACE_H

#include "http_request.h"

/* The widest first. */
enum http_place { HTTP_PUBLIC, HTTP_PRIVATE, HTTP_THIS_LINK, HTTP_THIS_HOST };

struct http_where {
    enum http_place place;
    unsigned char network[16]; /* a private network, or an address of one link; else zeros */
};

/* By the peer's address, which is this host's where the connection comes from it as well; behind a
 * proxy, which alone knows it, by the server's name where that is an address, else public. */
struct http_where http_where(const struct http_server *server, const struct far_peer *peer);
/* To a wider place, or within the same one: of private networks (RFC 1918, 6598, 4193) the same, of
 * addresses of one link the same. */
bool http_may_send_on(const struct http_where *from, const struct http_where *to);

#endif

/* Whether a web server listens: http_greet.h. */
#include "http_greet.h"

/* Of the whole time, for the connection; twice that for TLS and for an answer (http_request.c). */
#define PARTS 4

static enum tl_status greet(const struct tl_far_options *options, bool tls, struct tl_error *reterr)
{
    struct http_connection connection = {.fd = -1};
    struct tl_far_options at = *options;
    struct http_server server;
    struct http_reply reply = {0};
    struct far_peer peer;
    at.reach.timeout_ns /= PARTS;
    enum tl_status status = http_server_init(&server, &at, tls, reterr);
    if (status == TL_OK)
        status = far_peer_race(&at, &peer, &connection.fd, reterr);
    if (status == TL_OK)
        status = http_open(&peer, &server, &connection, reterr);
    if (status == TL_OK)
        status = http_ask(&peer, &server, &connection, "0-0", &reply, reterr);
    http_close(&connection);
    http_server_finish(&server);
    return status;
}

enum tl_status http_greet_plain(const struct tl_far_options *options, struct tl_error *reterr)
{
    return greet(options, false, reterr);
}

enum tl_status http_greet_tls(const struct tl_far_options *options, struct tl_error *reterr)
{
    return greet(options, true, reterr);
}

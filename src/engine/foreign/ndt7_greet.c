/* Whether an NDT server listens: ndt7_greet.h. */
#include "ndt7_greet.h"

#include <stdio.h>
#include <string.h>

#define NDT7_PLACE    "/ndt/v7/download"
#define NOBODYS_PLACE "/ndt/v0/tightlink"
/* Of the whole time, for each connection; twice that for an answer (http_request.c). */
#define PARTS 4

static enum tl_status ask(struct http_connection *connection, const struct far_peer *peer,
                          const struct http_server *server, const char *place,
                          struct http_reply *ret_reply, struct tl_error *reterr)
{
    char text[512 + HTTP_HOST_SIZE], host[HTTP_HOST_SIZE];
    http_host_header(server, host);
    int len = snprintf(text, sizeof text,
                       "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: tightlink\r\n"
                       "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 0\r\n"
                       "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
                       "Sec-WebSocket-Protocol: " NDT7_SUBPROTOCOL "\r\n\r\n",
                       place, host);
    return http_exchange(peer, connection, text, (size_t)len, ret_reply, reterr);
}

/* Whether WebSockets are spoken at that place. */
static enum tl_status look(const struct tl_far_options *options, const struct http_server *server,
                           const char *place, bool *ret_spoken, struct tl_error *reterr)
{
    struct http_connection connection = {.fd = -1};
    struct http_reply reply = {0};
    struct far_peer peer;
    enum tl_status status = far_peer_race(options, &peer, &connection.fd, reterr);
    if (status == TL_OK)
        status = http_open(&peer, server, &connection, reterr);
    if (status == TL_OK)
        status = ask(&connection, &peer, server, place, &reply, reterr);
    http_close(&connection);
    *ret_spoken = (reply.status == 400 || reply.status == 426) && strcmp(reply.versions, "13") == 0;
    return status;
}

enum tl_status ndt7_greet(const struct tl_far_options *options, struct tl_error *reterr)
{
    struct tl_far_options at = *options;
    struct http_server server;
    bool here = false, anywhere = false;
    at.reach.timeout_ns /= PARTS;
    enum tl_status status = http_server_init(&server, &at, true, reterr);
    if (status == TL_OK)
        status = look(&at, &server, NDT7_PLACE, &here, reterr);
    if (status == TL_OK && here)
        status = look(&at, &server, NOBODYS_PLACE, &anywhere, reterr);
    http_server_finish(&server);
    if (status == TL_OK && (!here || anywhere))
        return tl_error_set(reterr, TL_REFUSED, "no NDT server answers there");
    return status;
}

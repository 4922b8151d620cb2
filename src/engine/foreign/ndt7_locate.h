/* Which NDT servers are near: the question to M-Lab's Locate service (its API, version 2), whose
 * answer names some servers with a token for each direction. Private to this room.
 *
 *   GET /v2/nearest/ndt/ndt7  ->  {"results": [{"urls": {"wss:///ndt/v7/download": "wss://…?…",
 *                                                       "wss:///ndt/v7/upload": "wss://…?…"}}, …]}
 *
 * Whatever it says is bounded, and only names of hosts, ports and queries are taken from it. */
#ifndef TL_ENGINE_NDT7_LOCATE_H
#define TL_ENGINE_NDT7_LOCATE_H

#include "http_request.h"

#define NDT7_PLACES_MAX  4    /* as many as it names */
#define NDT7_QUERY_SIZE  2048 /* tokens are some 800 bytes */
#define NDT7_LOCATE_PATH "/v2/nearest/ndt/ndt7"

/* One server. A query begins with its question mark, or is "" where the server wants none. */
struct ndt7_place {
    char host[256];
    uint16_t port;
    char download[NDT7_QUERY_SIZE], upload[NDT7_QUERY_SIZE];
};

/* Asks the service at options->reach, by TLS. TL_BUSY: it has no server to spare, or we asked too
 * often; TL_PROTOCOL: it is no such service. */
enum tl_status ndt7_locate(const struct tl_far_options *options,
                           struct ndt7_place ret_places[NDT7_PLACES_MAX], unsigned *ret_count,
                           struct tl_error *reterr) TL_WARN_UNUSED;

/* Its answer. A result that lacks a direction, or names no host of TLS, is left out; TL_PROTOCOL
 * where none is left. Pure. */
enum tl_status ndt7_read_places(const char *text, size_t len,
                                struct ndt7_place ret_places[NDT7_PLACES_MAX], unsigned *ret_count,
                                struct tl_error *reterr) TL_WARN_UNUSED;

#endif

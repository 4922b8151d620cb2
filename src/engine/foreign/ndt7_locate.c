/* M-Lab's Locate service: ndt7_locate.h. */
#include "ndt7_locate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/far.h"
#include "tightlink/base/json.h"

#define ANSWER_MAX 65536 /* four servers with two tokens each are some 8 kB */
#define SECURE     "wss://"

/* --- Its answer ------------------------------------------------------------------------------- */

/* "wss://host[:port]PATH[?query]". False: something else, or too long. */
static bool take_url(const char *url, const char *path, struct tl_target *ret_target,
                     char ret_query[NDT7_QUERY_SIZE])
{
    char authority[300];
    if (strncmp(url, SECURE, strlen(SECURE)) != 0 || !http_is_one_word(url))
        return false;
    const char *host = url + strlen(SECURE), *rest = host + strcspn(host, "/?#");
    const char *query = rest + strlen(path);
    if (strncmp(rest, path, strlen(path)) != 0 || (*query != '\0' && *query != '?'))
        return false;
    int len = snprintf(authority, sizeof authority, "ndt7://%.*s", (int)(rest - host), host);
    int query_len = snprintf(ret_query, NDT7_QUERY_SIZE, "%s", query);
    return len < (int)sizeof authority && query_len < NDT7_QUERY_SIZE && rest > host &&
           tl_target_parse(authority, ret_target, NULL) == TL_OK;
}

static bool take_way(const struct tl_json_at *urls, const char *key, const char *path,
                     struct tl_target *ret_target, char ret_query[NDT7_QUERY_SIZE])
{
    const char *url;
    return tl_json_get_string(urls, key, &url, NULL) == TL_OK &&
           take_url(url, path, ret_target, ret_query);
}

/* Both directions of one server. */
static bool take_place(const struct tl_json_at *result, struct ndt7_place *place)
{
    struct tl_target down, up;
    struct tl_json_at urls;
    if (tl_json_get_object(result, "urls", &urls, NULL) != TL_OK ||
        !take_way(&urls, "wss:///ndt/v7/download", "/ndt/v7/download", &down, place->download) ||
        !take_way(&urls, "wss:///ndt/v7/upload", "/ndt/v7/upload", &up, place->upload))
        return false;
    if (strcmp(down.host, up.host) != 0 || down.port != up.port)
        return false;
    memcpy(place->host, down.host, sizeof place->host);
    place->port = down.port ? down.port : tl_far_row(TL_FAR_NDT7)->port;
    return true;
}

enum tl_status ndt7_read_places(const char *text, size_t len,
                                struct ndt7_place ret_places[NDT7_PLACES_MAX], unsigned *ret_count,
                                struct tl_error *reterr)
{
    static const struct tl_json_limits limits = {
        .bytes_max = ANSWER_MAX, .values_max = 512, .depth_max = 8};
    struct tl_error why = {0};
    struct tl_json *doc = NULL;
    struct tl_json_at root, results;
    unsigned count = 0;
    enum tl_status status = tl_json_parse(text, len, &limits, &doc, &why);
    if (status == TL_NOMEM)
        return tl_error_set(reterr, status, "no memory for a list of servers");
    if (status == TL_OK) {
        root = tl_json_root(doc);
        status = tl_json_get_array(&root, "results", &results, &why);
    }
    if (status != TL_OK) {
        tl_json_destroy(doc);
        return tl_error_set(reterr, TL_PROTOCOL, "the list of NDT servers makes no sense: %.300s",
                            why.text);
    }
    for (size_t i = 0; i < tl_json_count(&results) && count < NDT7_PLACES_MAX; i++) {
        struct tl_json_at result = tl_json_item(&results, i);
        count += take_place(&result, &ret_places[count]);
    }
    tl_json_destroy(doc);
    if (count == 0)
        return tl_error_set(reterr, TL_PROTOCOL, "the list names no NDT server that uses TLS");
    *ret_count = count;
    return TL_OK;
}

/* --- The question ----------------------------------------------------------------------------- */

static enum tl_status check_reply(const struct far_peer *peer, const struct http_reply *reply,
                                  struct tl_error *reterr)
{
    if (reply->status == 200)
        return TL_OK;
    if (reply->status == 204 || reply->status == 429 || reply->status == 503)
        return tl_error_set(reterr, TL_BUSY,
                            "%s has no NDT server to spare now (%d): try again in some minutes, or "
                            "name one: ndt7://HOST",
                            peer->host, reply->status);
    return tl_error_set(reterr, TL_PROTOCOL, "%s answers %d to the question for NDT servers",
                        peer->host, reply->status);
}

/* HTTP/1.0, so that the answer comes in one piece and ends with the connection. */
static enum tl_status ask(const struct http_server *server, const struct far_peer *peer,
                          struct http_connection *connection, struct http_reply *ret_reply,
                          struct tl_error *reterr)
{
    char text[1536], host[HTTP_HOST_SIZE];
    http_host_header(server, host);
    int len = snprintf(text, sizeof text,
                       "GET %s%sclient_name=tightlink HTTP/1.0\r\nHost: %s\r\n"
                       "User-Agent: tightlink\r\nAccept: application/json\r\n\r\n",
                       server->resource, strchr(server->resource, '?') ? "&" : "?", host);
    if (len < 0 || (size_t)len >= sizeof text)
        return tl_error_set(reterr, TL_USAGE, "that URL is too long");
    enum tl_status status = http_exchange(peer, connection, text, (size_t)len, ret_reply, reterr);
    return status == TL_OK ? check_reply(peer, ret_reply, reterr) : status;
}

enum tl_status ndt7_locate(const struct tl_far_options *options,
                           struct ndt7_place ret_places[NDT7_PLACES_MAX], unsigned *ret_count,
                           struct tl_error *reterr)
{
    struct http_server server;
    struct http_connection connection = {.fd = -1};
    struct http_reply reply = {0};
    struct far_peer peer;
    char *text = NULL;
    size_t len = 0;
    enum tl_status status = http_server_init(&server, options, true, reterr);
    if (status == TL_OK)
        status = far_peer_race(options, &peer, &connection.fd, reterr);
    if (status == TL_OK)
        status = http_open(&peer, &server, &connection, reterr);
    if (status == TL_OK)
        status = ask(&server, &peer, &connection, &reply, reterr);
    if (status == TL_OK)
        status = http_receive_body(&peer, &connection, &reply, ANSWER_MAX, &text, &len, reterr);
    if (status == TL_OK)
        status = ndt7_read_places(text, len, ret_places, ret_count, reterr);
    free(text);
    http_close(&connection);
    http_server_finish(&server);
    return status;
}

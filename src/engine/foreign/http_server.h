/* A web server, and the resource there that a test asks for. Private to this room.
 *
 * Three words, which HTTP/1.1 and HTTP/2 have in common here:
 *   connection  one TCP connection with its TLS: one socket, one TCP_INFO, one congestion window.
 *               What struct tl_tcp_spec counts as a stream is a connection.
 *   request     a question and its answer, in one connection. HTTP/1.1 has one at a time in it,
 *               HTTP/2 several: each is what RFC 9113 calls a stream.
 *   server      who is asked, by as many connections as a test has. */
#ifndef TL_ENGINE_HTTP_SERVER_H
#define TL_ENGINE_HTTP_SERVER_H

#include <openssl/ssl.h>

#include "far_socket.h"

#define HTTP_HOST_SIZE     272
#define HTTP_RESOURCE_SIZE 1024
#define HTTP_RANGE_SIZE    32

struct http_server {
    bool tls;
    bool proxied; /* the peer is a proxy, which is asked for it */
    bool http2;   /* it chose HTTP/2 (ALPN, RFC 7301), and that is spoken to it */
    char host[256];
    uint16_t port;
    char resource[HTTP_RESOURCE_SIZE]; /* begins with a slash */
    int64_t length;                    /* of the file; -1: not told */
    bool ranges;                       /* it answers with parts of it */
    SSL_CTX *context;                  /* NULL without TLS */
    BIO_METHOD *method;                /* of its connections' sockets; likewise */
};

/* From a target: port and path as given, else those of the scheme; the proxy of the options is used
 * by whoever connects. TL_NOMEM. */
enum tl_status http_server_init(struct http_server *server, const struct tl_far_options *options,
                                bool tls, struct tl_error *reterr) TL_WARN_UNUSED;
void http_server_finish(struct http_server *server);

/* Requests go to the proxy itself, with the whole URL (RFC 9112, section 3.2.2). */
static inline bool http_to_proxy(const struct http_server *server)
{
    return server->proxied && !server->tls;
}

/* The place that a redirect names. TL_DENIED: another scheme; TL_PROTOCOL. */
enum tl_status http_redirect(struct http_server *server, const char *location,
                             struct tl_error *reterr) TL_WARN_UNUSED;
/* Without a blank or a control character, which would make another request of ours. */
bool http_is_one_word(const char *text);
/* host, [address] or host:port as a request's Host header has it. */
void http_host_header(const struct http_server *server, char ret_text[HTTP_HOST_SIZE]);
/* Where connection `index` of so many begins to read: each its own part, as those do who fetch a
 * file by several connections. Of what is asked for none reads more than its part and a byte
 * (near_half_begin): one that the server ends would look like a broken connection. "" is the whole.
 */
void http_range_of(const struct http_server *server, unsigned streams, unsigned index,
                   char ret_range[HTTP_RANGE_SIZE]);

#endif

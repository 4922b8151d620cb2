/* One request to a web server: connection, TLS, the question, the headers of the answer. Private to
 * this room. Whatever the server says is bounded and cleaned. */
#ifndef TL_ENGINE_HTTP_REQUEST_H
#define TL_ENGINE_HTTP_REQUEST_H

#include <openssl/ssl.h>
#include <sys/socket.h>

#include "far_socket.h"

#define HTTP_HOST_SIZE 272
/* %s: the proxy. */
#define HTTP_WANTS_LOGIN                                                                           \
    "the proxy %s wants a login (407), which is not given to it: measure from a host that it "     \
    "knows, "                                                                                      \
    "or name the server in no_proxy where there is a straight way to it"

struct http_server {
    bool tls;
    bool proxied; /* the peer is a proxy, which is asked for it */
    char host[256];
    uint16_t port;
    char resource[1024]; /* begins with a slash */
    int64_t length;      /* of the file; -1: not told */
    bool ranges;         /* it answers with parts of it */
    SSL_CTX *context;    /* NULL without TLS */
};

struct http_connection {
    int fd;
    SSL *ssl;          /* NULL without TLS */
    bool offers_http2; /* to the server, within TLS, beside HTTP/1.1 (ALPN, RFC 7301) */
};

/* What an answer's headers say. */
struct http_reply {
    int status;
    char reason[64], program[64]; /* cleaned; "" without */
    char location[1024];          /* as it came; "" without */
    char accept[40];              /* of a WebSocket; as it came, "" without */
    char protocol[64];            /* likewise */
    char versions[16];            /* of WebSocket that it knows; likewise */
    int64_t length;               /* of the whole file; -1: not told */
    bool is_page;                 /* text/html */
};

/* From a target: port and path as given, else those of the scheme; the proxy of the options is used
 * by whoever connects. TL_NOMEM. */
enum tl_status http_server_init(struct http_server *server, const struct tl_far_options *options,
                                bool tls, struct tl_error *reterr) TL_WARN_UNUSED;
/* Requests go to the proxy itself, with the whole URL (RFC 9112, section 3.2.2). */
static inline bool http_to_proxy(const struct http_server *server)
{
    return server->proxied && !server->tls;
}

void http_server_finish(struct http_server *server);
/* The place that a redirect names. TL_DENIED: another scheme; TL_PROTOCOL. */
enum tl_status http_redirect(struct http_server *server, const char *location,
                             struct tl_error *reterr) TL_WARN_UNUSED;

/* TLS on a socket that is connected, through a tunnel where the peer is a proxy, the certificate
 * checked against the host's name. TL_AUTH with a sentence where it is not to be trusted, TL_DENIED
 * where the proxy makes no tunnel; errors of far_await(). */
enum tl_status http_open(const struct far_peer *peer, const struct http_server *server,
                         struct http_connection *connection,
                         struct tl_error *reterr) TL_WARN_UNUSED;
/* Whether the server chose HTTP/2, which is spoken by nobody here: to be closed, and opened again
 * without that offer. */
bool http_chose_http2(const struct http_connection *connection);
/* Asks for the file, or where range is not "" for that part of it (RFC 9110, 14.2: "0-0", "4096-"),
 * and reads the headers, nothing behind them but what one TLS record holds. TL_PROTOCOL: no HTTP.
 */
enum tl_status http_ask(const struct far_peer *peer, const struct http_server *server,
                        struct http_connection *connection, const char *range,
                        struct http_reply *ret_reply, struct tl_error *reterr) TL_WARN_UNUSED;

/* Sends a request that is ready and reads the headers of its answer, as http_ask(). */
enum tl_status http_exchange(const struct far_peer *peer, struct http_connection *connection,
                             const char *text, size_t len, struct http_reply *ret_reply,
                             struct tl_error *reterr) TL_WARN_UNUSED;
/* What follows the headers of reply: the length that they tell, or until the server closes. At most
 * max bytes, with a NUL behind them; *ret_text is the caller's. TL_PROTOCOL: more than that. */
enum tl_status http_receive_body(const struct far_peer *peer, struct http_connection *connection,
                                 const struct http_reply *reply, size_t max, char **ret_text,
                                 size_t *ret_len, struct tl_error *reterr) TL_WARN_UNUSED;
/* Without a blank or a control character, which would make another request of ours. */
bool http_is_one_word(const char *text);
/* host, [address] or host:port as a request's Host header has it. */
void http_host_header(const struct http_server *server, char ret_text[HTTP_HOST_SIZE]);

/* The socket without its TLS: the caller's. */
int http_release(struct http_connection *connection);
void http_close(struct http_connection *connection);
void http_close_fd(int fd); /* -1 is fine */

/* The status line as text, already without its line end. Pure; false for one that is none. */
bool http_take_status(const char *line, struct http_reply *reply);

#endif

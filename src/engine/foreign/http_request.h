/* A connection to a web server and its TLS; one request in it by HTTP/1.1: the question, the
 * headers of the answer. Private to this room. Whatever the server says is bounded and cleaned. */
#ifndef TL_ENGINE_HTTP_REQUEST_H
#define TL_ENGINE_HTTP_REQUEST_H

#include <openssl/ssl.h>
#include <sys/socket.h>

#include "http_server.h"

/* %s: the proxy. */
#define HTTP_WANTS_LOGIN                                                                           \
    "the proxy %s wants a login (407), which is not given to it: measure from a host that it "     \
    "knows, "                                                                                      \
    "or name the server in no_proxy where there is a straight way to it"

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

/* TLS on a socket that is connected, through a tunnel where the peer is a proxy, the certificate
 * checked against the host's name. TL_AUTH with a sentence where it is not to be trusted, TL_DENIED
 * where the proxy makes no tunnel; errors of far_await(). */
enum tl_status http_open(const struct far_peer *peer, const struct http_server *server,
                         struct http_connection *connection,
                         struct tl_error *reterr) TL_WARN_UNUSED;
/* Whether the server chose HTTP/2 of what it was offered: http2.h speaks it, and nothing below. */
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
/* The socket without its TLS: the caller's. */
int http_release(struct http_connection *connection);
void http_close(struct http_connection *connection);
void http_close_fd(int fd); /* -1 is fine */

/* Until when an answer is waited for. */
int64_t http_answer_due_ns(const struct far_peer *peer);
/* What goes without waiting: so many bytes; 0: none now, -1: the connection is gone. */
ssize_t http_put(struct http_connection *connection, const void *from, size_t len);
ssize_t http_take(struct http_connection *connection, void *into, size_t len);

/* A header of an answer, its name in any case; what nobody asks for is left out. Pure. */
void http_take_field(const char *name, size_t name_len, const char *value,
                     struct http_reply *reply);
/* The status line as text, already without its line end. Pure; false for one that is none. */
bool http_take_status(const char *line, struct http_reply *reply);

#endif

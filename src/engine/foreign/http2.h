/* HTTP/2 in one connection to a web server (RFC 9113): requests, their answers' headers, payload
 * that is counted and dropped or made up. Private to this room; one thread.
 *
 * libnghttp2 reads and writes the frames; the socket and its TLS stay http_request.h's, so that
 * TCP_INFO tells what it tells of any far end. A connection, a request: http_server.h.
 *
 * Flow control (section 5.2). This end lets 2 GiB be on the way, in the connection and in each
 * request, and says so at once: its own windows limit no path, and cost nothing, as no body is
 * held. The server's windows do limit an upload: http2_credit() tells how far.
 *
 * Whatever the server sends is bounded: frames without payload HTTP2_WORDS_PER_S and one for each
 * HTTP2_BYTES_PER_WORD of payload; libnghttp2 bounds a header block (64 KiB), what continues one,
 * and answers of ours that wait to be sent. Nothing is pushed. */
#ifndef TL_ENGINE_HTTP2_H
#define TL_ENGINE_HTTP2_H

#include "http_request.h"

#define HTTP2_REQUESTS_MAX 8 /* at once, in one connection */
#define HTTP2_WORDS_PER_S  100
/* An upload's server may open its window for every 4 KiB that it has read. */
#define HTTP2_BYTES_PER_WORD 2048
#define HTTP2_NOISE_BYTES    (1u << 18)

struct http2;

enum http2_turn {
    HTTP2_MORE, /* there may be more at once */
    HTTP2_WAIT, /* nothing to read, or no room to write: see http2_events() */
    HTTP2_OVER, /* the server hung up, or takes no further request */
    HTTP2_BAD   /* it broke the protocol, or a request off: http2_fault() */
};

struct http2_listener {
    /* Of bodies, sent or received. */
    void (*payload)(void *context, size_t bytes);
    /* The headers of an answer are there; borrowed. */
    void (*answered)(void *context, const struct http_reply *reply);
    /* An answer is whole, and so is what was posted, if anything: so many bytes of bodies. Another
     * request may be begun here. */
    void (*ended)(void *context, uint64_t bytes);
    void *context;
};

/* The most that the server allowed to be on the way at once, and for how long there was more to
 * send than that. */
struct http2_credit {
    uint64_t window_bytes; /* 0: nothing was posted */
    int64_t held_ns;
};

/* connection: open, borrowed; server likewise. noise: HTTP2_NOISE_BYTES of what is posted,
 * borrowed; NULL where nothing is. TL_PROTOCOL: it did not choose HTTP/2; TL_NOMEM. */
enum tl_status http2_create(const struct far_peer *peer, const struct http_server *server,
                            struct http_connection *connection, const uint8_t *noise,
                            const struct http2_listener *listener, struct http2 **ret_http2,
                            struct tl_error *reterr) TL_WARN_UNUSED;
void http2_destroy(struct http2 *http2); /* NULL is fine */

/* Begins a request for the server's resource, or that part of it (http_ask()). TL_LIMIT: as many as
 * there may be run; TL_CLOSED: the server takes no more in this connection. */
enum tl_status http2_get(struct http2 *http2, const char *range,
                         struct tl_error *reterr) TL_WARN_UNUSED;
/* Likewise one that posts so many bytes there. */
enum tl_status http2_post(struct http2 *http2, const char *resource, uint64_t bytes,
                          struct tl_error *reterr) TL_WARN_UNUSED;

/* Takes and sends what goes without waiting, up to about 1 MB each. */
enum http2_turn http2_step(struct http2 *http2);
/* What to poll for after HTTP2_WAIT. */
short http2_events(const struct http2 *http2);
/* What it did, as the rest of "… it". */
const char *http2_fault(const struct http2 *http2);
/* Likewise as a status with its sentence, after HTTP2_OVER or HTTP2_BAD. */
enum tl_status http2_why(const struct http2 *http2, struct tl_error *reterr) TL_WARN_UNUSED;
void http2_credit(const struct http2 *http2, struct http2_credit *ret_credit);

/* One question in a connection that has none, and its answer's headers, as http_ask(). */
enum tl_status http2_ask(const struct far_peer *peer, const struct http_server *server,
                         struct http_connection *connection, const char *range,
                         struct http_reply *ret_reply, struct tl_error *reterr) TL_WARN_UNUSED;

#endif

/* TCP connections to strangers: every wait has an end, and a cancel ends it at once. Private to
 * this room; one thread at a time. */
#ifndef TL_ENGINE_FAR_SOCKET_H
#define TL_ENGINE_FAR_SOCKET_H

#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>

#include "client_parts.h"
#include "tightlink/base/utf8.h"
#include "tightlink/engine/far.h"

/* Where a stranger listens, and how it is reached. */
struct far_peer {
    struct tl_client_info info;
    char host[TL_UTF8_NAME_SIZE]; /* for sentences: cleaned */
    uint16_t port;
    int cancel_fd;
    int64_t timeout_ns; /* of a connect and of an answer */
    /* Called about every TL_CLIENT_LIVE_NS of waiting, so that whoever watches sees a program that
     * is alive; NULL: nobody does. */
    void (*tick)(void *context);
    void *tick_context;
};

/* Resolves and connects, each address in turn; *ret_fd does not block and is the caller's. Errors
 * as tl_client_connect. */
enum tl_status far_peer_reach(const struct tl_far_options *options, struct far_peer *ret_peer,
                              int *ret_fd, struct tl_error *reterr) TL_WARN_UNUSED;

/* The same, but the addresses are raced as programs race them (RFC 8305): each has 250 ms before
 * the next is tried beside it, and who is connected first is taken. Only for servers of many
 * clients: one that serves a single client would see two. */
enum tl_status far_peer_race(const struct tl_far_options *options, struct far_peer *ret_peer,
                             int *ret_fd, struct tl_error *reterr) TL_WARN_UNUSED;

/* The race alone: addresses with their port, one at least; peer has host, port, cancel_fd and
 * timeout_ns (of each address), and gets the address that won and its round trip. Errors as of the
 * last address that failed, TL_CANCELLED. */
enum tl_status far_race(struct far_peer *peer, const struct addrinfo *list, int *ret_fd,
                        struct tl_error *reterr) TL_WARN_UNUSED;

/* Another connection to the same address, at any port. options NULL: the hosts' own. The
 * handshake's round trip comes back where ret_rtt_ns is not NULL. TL_REFUSED, TL_TIMEOUT,
 * TL_CANCELLED … */
enum tl_status far_peer_dial(const struct far_peer *peer, uint16_t port,
                             const struct tl_stream_options *options, int *ret_fd,
                             int64_t *ret_rtt_ns, struct tl_error *reterr) TL_WARN_UNUSED;

/* Until one of count is ready, as far_await(); fds has room for one more behind them. */
enum tl_status far_await_any(const struct far_peer *peer, struct pollfd *fds, unsigned count,
                             int64_t until_ns, struct tl_error *reterr) TL_WARN_UNUSED;
/* Until fd is ready for events, or until_ns, or cancelled: TL_OK, TL_TIMEOUT without a sentence of
 * its own, TL_CANCELLED. */
enum tl_status far_await(const struct far_peer *peer, int fd, short events, int64_t until_ns,
                         struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status far_send_all(const struct far_peer *peer, int fd, const void *data, size_t len,
                            int64_t until_ns, struct tl_error *reterr) TL_WARN_UNUSED;
/* Exactly len bytes. TL_CLOSED: it hung up before; TL_TIMEOUT. */
enum tl_status far_receive_all(const struct far_peer *peer, int fd, void *ret_data, size_t len,
                               int64_t until_ns, struct tl_error *reterr) TL_WARN_UNUSED;
/* A line up to '\n', which is cut off, with a NUL; of at most size - 1 bytes. TL_PROTOCOL: a longer
 * one. Reads byte by byte, so that nothing behind it is taken. */
enum tl_status far_receive_line(const struct far_peer *peer, int fd, char *ret_line, size_t size,
                                int64_t until_ns, struct tl_error *reterr) TL_WARN_UNUSED;

#endif

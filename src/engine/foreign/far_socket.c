/* Connections to strangers: far_socket.h. */
#include "far_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "socket_address.h"
#include "tightlink/base/time.h"
#include "tightlink/base/utf8.h"
#include "tightlink/engine/sampler.h"

enum tl_status far_await(const struct far_peer *peer, int fd, short events, int64_t until_ns,
                         struct tl_error *reterr)
{
    for (;;) {
        struct pollfd fds[2] = {{.fd = fd, .events = events},
                                {.fd = peer->cancel_fd, .events = POLLIN}};
        int64_t left_ns = until_ns - tl_now_ns();
        if (peer->tick && left_ns > TL_CLIENT_LIVE_NS)
            left_ns = TL_CLIENT_LIVE_NS;
        int ready = poll(fds, 2, left_ns > 0 ? (int)(left_ns / TL_NS_PER_MS) + 1 : 0);
        if (peer->tick)
            peer->tick(peer->tick_context);
        if (ready > 0 && fds[1].revents)
            return tl_error_set(reterr, TL_CANCELLED, "cancelled");
        if (ready > 0 && fds[0].revents)
            return TL_OK;
        if (tl_now_ns() >= until_ns)
            return tl_error_set(reterr, TL_TIMEOUT, "%s port %u does not answer", peer->host,
                                peer->port);
    }
}

static enum tl_status closed(const struct far_peer *peer, int errnum, struct tl_error *reterr)
{
    if (errnum == 0 || errnum == ECONNRESET || errnum == EPIPE)
        return tl_error_set(reterr, TL_CLOSED, "%s port %u closed the connection", peer->host,
                            peer->port);
    return tl_error_set(reterr, tl_status_from_errno(errnum), "%s port %u: %s", peer->host,
                        peer->port, strerror(errnum));
}

enum tl_status far_send_all(const struct far_peer *peer, int fd, const void *data, size_t len,
                            int64_t until_ns, struct tl_error *reterr)
{
    const char *from = data;
    while (len > 0) {
        ssize_t sent = send(fd, from, len, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return closed(peer, errno, reterr);
        if (sent > 0) {
            from += sent;
            len -= (size_t)sent;
            continue;
        }
        enum tl_status status = far_await(peer, fd, POLLOUT, until_ns, reterr);
        if (status != TL_OK)
            return status;
    }
    return TL_OK;
}

enum tl_status far_receive_all(const struct far_peer *peer, int fd, void *ret_data, size_t len,
                               int64_t until_ns, struct tl_error *reterr)
{
    char *into = ret_data;
    while (len > 0) {
        ssize_t got = recv(fd, into, len, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            return closed(peer, got == 0 ? 0 : errno, reterr);
        if (got > 0) {
            into += got;
            len -= (size_t)got;
            continue;
        }
        enum tl_status status = far_await(peer, fd, POLLIN, until_ns, reterr);
        if (status != TL_OK)
            return status;
    }
    return TL_OK;
}

enum tl_status far_receive_line(const struct far_peer *peer, int fd, char *ret_line, size_t size,
                                int64_t until_ns, struct tl_error *reterr)
{
    for (size_t len = 0; len < size; len++) {
        enum tl_status status = far_receive_all(peer, fd, ret_line + len, 1, until_ns, reterr);
        if (status != TL_OK)
            return status;
        if (ret_line[len] == '\n') {
            ret_line[len] = '\0';
            return TL_OK;
        }
    }
    return tl_error_set(reterr, TL_PROTOCOL, "%s port %u sent a line without an end", peer->host,
                        peer->port);
}

/* --- Dialling -------------------------------------------------------------------------------- */

/* As the kernel timed it where it tells, which is never more than what this thread saw. */
static int64_t handshake_ns(int fd, int64_t begun_ns)
{
    struct tl_tcp_sample sample = {0};
    int64_t seen_ns = tl_now_ns() - begun_ns, kernel_ns;
    tl_sample_read_socket(fd, &sample);
    kernel_ns = (int64_t)tl_sample_get(&sample, TL_SF_rtt_ns);
    return kernel_ns > 0 && kernel_ns < seen_ns ? kernel_ns : seen_ns;
}

static enum tl_status refused(const struct far_peer *peer, uint16_t port, int errnum,
                              struct tl_error *reterr)
{
    return tl_error_set(reterr, tl_status_from_errno(errnum), "%s port %u: %s", peer->host, port,
                        errnum == ECONNREFUSED ? "nothing listens there" : strerror(errnum));
}

static enum tl_status finish_dial(const struct far_peer *peer, uint16_t port, int fd,
                                  struct tl_error *reterr)
{
    int errnum = 0;
    socklen_t len = sizeof errnum;
    enum tl_status status = far_await(peer, fd, POLLOUT, tl_now_ns() + peer->timeout_ns, reterr);
    if (status != TL_OK)
        return status;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &errnum, &len) < 0)
        errnum = errno;
    return errnum ? refused(peer, port, errnum, reterr) : TL_OK;
}

enum tl_status far_peer_dial(const struct far_peer *peer, uint16_t port,
                             const struct tl_stream_options *options, int *ret_fd,
                             int64_t *ret_rtt_ns, struct tl_error *reterr)
{
    struct sockaddr_storage address = peer->info.peer;
    enum tl_status status = TL_OK;
    socket_address_set_port(&address, port);
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return tl_error_set(reterr, TL_IO, "a socket: %s", strerror(errno));
    if (options)
        status = tl_stream_options_apply(fd, options, reterr);
    int64_t begun_ns = tl_now_ns();
    if (status == TL_OK &&
        connect(fd, (struct sockaddr *)&address, socket_address_len(&address)) < 0)
        status = errno == EINPROGRESS ? finish_dial(peer, port, fd, reterr)
                                      : refused(peer, port, errno, reterr);
    if (status == TL_OK && ret_rtt_ns)
        *ret_rtt_ns = handshake_ns(fd, begun_ns);
    if (status == TL_OK)
        *ret_fd = fd;
    else
        close(fd);
    return status;
}

static void describe(struct far_peer *peer, int fd)
{
    struct tl_client_info *info = &peer->info;
    socklen_t len = sizeof info->local;
    const void *address = info->peer.ss_family == AF_INET6
                              ? (const void *)&((struct sockaddr_in6 *)&info->peer)->sin6_addr
                              : (const void *)&((struct sockaddr_in *)&info->peer)->sin_addr;
    info->family = info->peer.ss_family == AF_INET6 ? 6 : 4;
    (void)inet_ntop(info->peer.ss_family, address, info->address, sizeof info->address);
    (void)getsockname(fd, (struct sockaddr *)&info->local, &len);
    info->quota_left_bytes = UINT64_MAX;
}

enum tl_status far_peer_reach(const struct tl_far_options *options, struct far_peer *ret_peer,
                              int *ret_fd, struct tl_error *reterr)
{
    const struct tl_client_options *reach = &options->reach;
    struct far_peer peer = {.port = (uint16_t)reach->port,
                            .cancel_fd = reach->cancel_fd,
                            .timeout_ns =
                                reach->timeout_ns > 0 ? reach->timeout_ns : TL_CLIENT_TIMEOUT_NS};
    struct addrinfo *list;
    tl_utf8_clean_name(reach->host, peer.host);
    enum tl_status status = client_resolve(reach, &list, &peer.info.resolve_ns, reterr);
    if (status != TL_OK)
        return status;
    status = TL_NOHOST;
    for (const struct addrinfo *a = list; a && status != TL_OK && status != TL_CANCELLED;
         a = a->ai_next) {
        memcpy(&peer.info.peer, a->ai_addr, a->ai_addrlen);
        status = far_peer_dial(&peer, peer.port, NULL, ret_fd, &peer.info.connect_rtt_ns, reterr);
    }
    freeaddrinfo(list);
    if (status != TL_OK)
        return status;
    describe(&peer, *ret_fd);
    *ret_peer = peer;
    return TL_OK;
}

uint16_t far_local_port(int fd)
{
    struct sockaddr_storage local = {.ss_family = AF_UNSPEC};
    socklen_t len = sizeof local;
    if (getsockname(fd, (struct sockaddr *)&local, &len) < 0)
        return 0;
    return local.ss_family == AF_INET6  ? ntohs(((struct sockaddr_in6 *)&local)->sin6_port)
           : local.ss_family == AF_INET ? ntohs(((struct sockaddr_in *)&local)->sin_port)
                                        : 0;
}

/* Connections to strangers: far_socket.h. */
#include "far_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "socket_address.h"
#include "tightlink/base/time.h"
#include "tightlink/base/utf8.h"
#include "tightlink/engine/sampler.h"

enum tl_status far_await_any(const struct far_peer *peer, struct pollfd *fds, unsigned count,
                             int64_t until_ns, struct tl_error *reterr)
{
    fds[count] = (struct pollfd){.fd = peer->cancel_fd, .events = POLLIN};
    for (;;) {
        int64_t left_ns = until_ns - tl_now_ns();
        if (peer->tick && left_ns > TL_CLIENT_LIVE_NS)
            left_ns = TL_CLIENT_LIVE_NS;
        int ready = poll(fds, count + 1, left_ns > 0 ? (int)(left_ns / TL_NS_PER_MS) + 1 : 0);
        if (peer->tick)
            peer->tick(peer->tick_context);
        if (ready > 0 && fds[count].revents)
            return tl_error_set(reterr, TL_CANCELLED, "cancelled");
        if (ready > 0)
            return TL_OK;
        if (tl_now_ns() >= until_ns)
            return tl_error_set(reterr, TL_TIMEOUT, "%s port %u does not answer", peer->host,
                                peer->port);
    }
}

enum tl_status far_await(const struct far_peer *peer, int fd, short events, int64_t until_ns,
                         struct tl_error *reterr)
{
    struct pollfd fds[2] = {{.fd = fd, .events = events}};
    return far_await_any(peer, fds, 1, until_ns, reterr);
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
                        errnum == ECONNREFUSED
                            ? "nothing listens there; check the port, and whether the server runs"
                        : errnum == ETIMEDOUT
                            ? "it does not answer; a firewall may drop what is sent there"
                            : strerror(errnum));
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

/* Each address in turn. */
static enum tl_status dial_in_turn(struct far_peer *peer, const struct addrinfo *list, int *ret_fd,
                                   struct tl_error *reterr)
{
    enum tl_status status = TL_NOHOST;
    for (const struct addrinfo *a = list; a && status != TL_OK && status != TL_CANCELLED;
         a = a->ai_next) {
        memcpy(&peer->info.peer, a->ai_addr, a->ai_addrlen);
        status = far_peer_dial(peer, peer->port, NULL, ret_fd, &peer->info.connect_rtt_ns, reterr);
    }
    return status;
}

/* --- Racing ---------------------------------------------------------------------------------- */

/* RFC 8305, section 5: the next address is tried beside the others after this, or as soon as all of
 * them have failed. */
#define HEAD_START_NS (250 * TL_NS_PER_MS)
#define RACERS_MAX    8 /* client_resolve() keeps four of each family */

struct racer {
    const struct addrinfo *address;
    int fd; /* -1: not begun, or failed */
    int64_t begun_ns;
};

struct race {
    const struct far_peer *peer;
    struct racer racers[RACERS_MAX];
    unsigned count, begun;
    enum tl_status status; /* why the last one failed, and its sentence */
    struct tl_error error;
};

/* The resolver's order, but the families take turns (RFC 8305, section 4). */
static void line_up(struct race *race, const struct addrinfo *list)
{
    const struct addrinfo *next[2] = {list, list};
    for (unsigned turn = 0; race->count < RACERS_MAX && (next[0] || next[1]); turn++) {
        const struct addrinfo **at = &next[turn % 2];
        while (*at && ((*at)->ai_family == list->ai_family) != (turn % 2 == 0))
            *at = (*at)->ai_next;
        if (!*at)
            continue;
        race->racers[race->count++] = (struct racer){.address = *at, .fd = -1};
        *at = (*at)->ai_next;
    }
}

static void drop(struct race *race, struct racer *racer, int errnum)
{
    if (racer->fd >= 0)
        close(racer->fd);
    racer->fd = -1;
    race->status = refused(race->peer, race->peer->port, errnum, &race->error);
}

static void begin_next(struct race *race)
{
    struct racer *racer = &race->racers[race->begun++];
    const struct addrinfo *to = racer->address;
    racer->begun_ns = tl_now_ns();
    racer->fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (racer->fd < 0 ||
        (connect(racer->fd, to->ai_addr, to->ai_addrlen) < 0 && errno != EINPROGRESS))
        drop(race, racer, errno);
}

/* Until one of those that run is ready, or until_ns. *ret_winner: the first that is connected, NULL
 * without. */
static enum tl_status await_one(struct race *race, int64_t until_ns, struct racer **ret_winner,
                                struct tl_error *reterr)
{
    struct pollfd fds[RACERS_MAX + 1];
    int64_t left_ns = until_ns - tl_now_ns();
    for (unsigned i = 0; i < race->begun; i++)
        fds[i] = (struct pollfd){.fd = race->racers[i].fd, .events = POLLOUT};
    fds[race->begun] = (struct pollfd){.fd = race->peer->cancel_fd, .events = POLLIN};
    (void)poll(fds, race->begun + 1, left_ns > 0 ? (int)(left_ns / TL_NS_PER_MS) + 1 : 0);
    if (fds[race->begun].revents)
        return tl_error_set(reterr, TL_CANCELLED, "cancelled");
    for (unsigned i = 0; i < race->begun; i++) {
        int errnum = 0;
        socklen_t len = sizeof errnum;
        if (fds[i].fd < 0 || !fds[i].revents)
            continue;
        if (getsockopt(fds[i].fd, SOL_SOCKET, SO_ERROR, &errnum, &len) < 0)
            errnum = errno;
        if (!errnum) {
            *ret_winner = &race->racers[i];
            return TL_OK;
        }
        drop(race, &race->racers[i], errnum);
    }
    return TL_OK;
}

/* Ends those that had their time; true while one runs. *ret_due_ns: when the next one's is over. */
static bool look_at_clock(struct race *race, int64_t *ret_due_ns)
{
    int64_t now_ns = tl_now_ns();
    bool runs = false;
    *ret_due_ns = INT64_MAX;
    for (unsigned i = 0; i < race->begun; i++) {
        int64_t due_ns = race->racers[i].begun_ns + race->peer->timeout_ns;
        if (race->racers[i].fd >= 0 && now_ns >= due_ns)
            drop(race, &race->racers[i], ETIMEDOUT);
        if (race->racers[i].fd < 0)
            continue;
        runs = true;
        *ret_due_ns = due_ns < *ret_due_ns ? due_ns : *ret_due_ns;
    }
    return runs;
}

static enum tl_status run_race(struct race *race, struct racer **ret_winner,
                               struct tl_error *reterr)
{
    int64_t due_ns, next_ns = INT64_MIN;
    enum tl_status status = TL_OK;
    while (status == TL_OK && !*ret_winner) {
        bool runs = look_at_clock(race, &due_ns);
        if (race->begun < race->count && (!runs || tl_now_ns() >= next_ns)) {
            begin_next(race);
            next_ns = tl_now_ns() + HEAD_START_NS;
            continue;
        }
        if (!runs)
            return tl_error_set(reterr, race->status, "%s", race->error.text);
        if (race->begun < race->count && next_ns < due_ns)
            due_ns = next_ns;
        status = await_one(race, due_ns, ret_winner, reterr);
    }
    return status;
}

enum tl_status far_race(struct far_peer *peer, const struct addrinfo *list, int *ret_fd,
                        struct tl_error *reterr)
{
    struct race race = {.peer = peer, .status = TL_NOHOST};
    struct racer *winner = NULL;
    line_up(&race, list);
    enum tl_status status = run_race(&race, &winner, reterr);
    for (unsigned i = 0; i < race.begun; i++)
        if (&race.racers[i] != winner && race.racers[i].fd >= 0)
            close(race.racers[i].fd);
    if (status != TL_OK)
        return status;
    memcpy(&peer->info.peer, winner->address->ai_addr, winner->address->ai_addrlen);
    peer->info.connect_rtt_ns = handshake_ns(winner->fd, winner->begun_ns);
    *ret_fd = winner->fd;
    return TL_OK;
}

/* --- Reaching -------------------------------------------------------------------------------- */

typedef enum tl_status dial_fn(struct far_peer *peer, const struct addrinfo *list, int *ret_fd,
                               struct tl_error *reterr);

static enum tl_status reach_by(dial_fn *dial, const struct tl_far_options *options,
                               struct far_peer *ret_peer, int *ret_fd, struct tl_error *reterr)
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
    status = dial(&peer, list, ret_fd, reterr);
    freeaddrinfo(list);
    if (status != TL_OK)
        return status;
    describe(&peer, *ret_fd);
    *ret_peer = peer;
    return TL_OK;
}

enum tl_status far_peer_reach(const struct tl_far_options *options, struct far_peer *ret_peer,
                              int *ret_fd, struct tl_error *reterr)
{
    return reach_by(dial_in_turn, options, ret_peer, ret_fd, reterr);
}

enum tl_status far_peer_race(const struct tl_far_options *options, struct far_peer *ret_peer,
                             int *ret_fd, struct tl_error *reterr)
{
    return reach_by(far_race, options, ret_peer, ret_fd, reterr);
}

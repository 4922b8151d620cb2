/* Probes of given size, class and reach, and what comes back: from the far end, and from
 * routers by the socket's error queue. */
#include "path_socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tightlink/base/time.h"

#define LATE_MAX 256         /* events at once */
#define ALIVE_NS TL_NS_PER_S /* a session that says nothing for 5 s is ended */

enum tl_status path_socket_open(const struct path_end *end, int cancel_fd, bool prove,
                                struct path_socket *ret_socket, struct tl_error *reterr)
{
    int on = 1;
    memset(ret_socket, 0, sizeof *ret_socket);
    ret_socket->end = end;
    ret_socket->fd = -1;
    ret_socket->cancel_fd = cancel_fd;
    ret_socket->header_bytes = end->ipv6 ? 48 : 28;
    ret_socket->ping_ns = end->keep_alive ? tl_now_ns() + ALIVE_NS : INT64_MAX;
    enum tl_status status =
        end->open(end->owner, prove, cancel_fd, &ret_socket->fd, &ret_socket->pass, reterr);
    if (status != TL_OK)
        return status;
    path_error_enable(ret_socket->fd);
    (void)setsockopt(ret_socket->fd, IPPROTO_IP, IP_RECVTOS, &on, sizeof on);
    (void)setsockopt(ret_socket->fd, IPPROTO_IP, IP_RECVTTL, &on, sizeof on);
    (void)setsockopt(ret_socket->fd, IPPROTO_IPV6, IPV6_RECVTCLASS, &on, sizeof on);
    (void)setsockopt(ret_socket->fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, &on, sizeof on);
    return TL_OK;
}

void path_socket_close(struct path_socket *socket)
{
    if (socket->fd >= 0)
        close(socket->fd);
    socket->fd = -1;
}

static void count(const struct path_socket *socket, uint64_t sent_bytes, uint64_t received_bytes)
{
    if (socket->end->count)
        socket->end->count(socket->end->owner, sent_bytes, received_bytes);
}

/* --- Sending ----------------------------------------------------------------------------- */

static void add_int(struct msghdr *msg, int level, int type, int value)
{
    struct cmsghdr *c = (struct cmsghdr *)((char *)msg->msg_control + msg->msg_controllen);
    c->cmsg_level = level;
    c->cmsg_type = type;
    c->cmsg_len = CMSG_LEN(sizeof value);
    memcpy(CMSG_DATA(c), &value, sizeof value);
    msg->msg_controllen += CMSG_SPACE(sizeof value);
}

static size_t payload_bytes(const struct path_socket *socket, int packet_bytes)
{
    int bytes = packet_bytes - socket->header_bytes;
    return bytes < TL_WIRE_UDP_PATH_SIZE      ? TL_WIRE_UDP_PATH_SIZE
           : bytes > TL_WIRE_UDP_DATAGRAM_MAX ? TL_WIRE_UDP_DATAGRAM_MAX
                                              : (size_t)bytes;
}

int path_socket_send(struct path_socket *socket, const struct path_probe *probe)
{
    union {
        struct cmsghdr align;
        char bytes[2 * CMSG_SPACE(sizeof(int))];
    } control = {0};
    bool v6 = socket->header_bytes == 48;
    size_t len = payload_bytes(socket, probe->packet_bytes);
    struct tl_wire_udp_path_probe message = {
        .cookie = socket->pass.cookie,
        .sequence = probe->sequence,
        .client_ns = (uint64_t)tl_now_ns(),
        .answer_bytes = (uint16_t)payload_bytes(socket, probe->answer_bytes),
        .answer_class = probe->answer_class,
        .answer_ttl = probe->answer_ttl,
        .silent = probe->silent,
    };
    tl_wire_seal_udp_path_probe(&message, socket->datagram, len);
    udp_seal_turn(&socket->pass.seal, socket->datagram, len);
    struct iovec iov = {socket->datagram, len};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control};
    if (probe->ttl)
        add_int(&msg, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_HOPLIMIT : IP_TTL, probe->ttl);
    if (probe->traffic_class)
        add_int(&msg, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_TCLASS : IP_TOS,
                probe->traffic_class);
    if (msg.msg_controllen == 0)
        msg.msg_control = NULL;
    /* The first error may be what a router said of an earlier probe, told once; the message
     * itself stays in the error queue. */
    ssize_t sent = -1;
    for (int i = 0; i < 3 && sent < 0; i++)
        sent = sendmsg(socket->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0)
        return errno;
    socket->sent_bytes += len + (size_t)socket->header_bytes;
    count(socket, len + (size_t)socket->header_bytes, 0);
    return 0;
}

/* --- Receiving --------------------------------------------------------------------------- */

static void read_control(struct msghdr *msg, struct path_event *event)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec at;
            memcpy(&at, CMSG_DATA(c), sizeof at);
            event->realtime_ns = at.tv_sec * TL_NS_PER_S + at.tv_nsec;
        } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
            event->traffic_class = *CMSG_DATA(c);
        } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
            memcpy(&event->traffic_class, CMSG_DATA(c), sizeof event->traffic_class);
        } else if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL) ||
                   (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT)) {
            memcpy(&event->ttl, CMSG_DATA(c), sizeof event->ttl);
        }
    }
}

/* A datagram of the far end; false when none of ours is there. */
static bool take_datagram(struct path_socket *socket, struct path_event *event)
{
    union {
        struct cmsghdr align;
        char bytes[256];
    } control;
    struct iovec iov = {socket->datagram, sizeof socket->datagram};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof control};
    ssize_t got = recvmsg(socket->fd, &msg, MSG_DONTWAIT);
    if (got < 0 || msg.msg_flags & MSG_TRUNC)
        return false;
    *event = (struct path_event){.at_ns = tl_now_ns(),
                                 .realtime_ns = tl_realtime_ns(),
                                 .traffic_class = -1,
                                 .ttl = -1,
                                 .packet_bytes = (int)got + socket->header_bytes};
    read_control(&msg, event);
    socket->received_bytes += (uint64_t)event->packet_bytes;
    count(socket, 0, (uint64_t)event->packet_bytes);
    udp_seal_turn(&socket->pass.seal, socket->datagram, (size_t)got);
    if (tl_wire_decode_udp_path_answer(socket->datagram, (size_t)got, &event->answer, NULL) ==
        TL_OK) {
        event->kind = PATH_ANSWER;
        event->sequence = event->answer.sequence;
        event->matched = event->answer.cookie == socket->pass.cookie;
    } else if (tl_wire_decode_udp_path_report(socket->datagram, (size_t)got, &event->report,
                                              NULL) == TL_OK) {
        event->kind = PATH_REPORT;
        event->sequence = event->report.sequence;
        event->matched = event->report.cookie == socket->pass.cookie;
    }
    return event->kind != PATH_NOTHING && event->matched;
}

static bool take_error(struct path_socket *socket, struct path_event *event)
{
    uint64_t cookie, sent_ns;
    *event = (struct path_event){.kind = PATH_ROUTER, .at_ns = tl_now_ns()};
    if (!path_error_read(socket->fd, &event->error) || !event->error.is_icmp)
        return false;
    event->realtime_ns = event->error.realtime_ns;
    count(socket, 0, event->error.quote_len + (size_t)socket->header_bytes);
    event->matched = tl_wire_udp_path_quote(event->error.quote, event->error.quote_len, &cookie,
                                            &event->sequence, &sent_ns) &&
                     cookie == socket->pass.cookie;
    return true;
}

/* The session has to be heard on its control connection, or the tuple goes with it. */
static enum tl_status keep_alive(struct path_socket *socket, struct tl_error *reterr)
{
    if (tl_now_ns() < socket->ping_ns)
        return TL_OK;
    socket->ping_ns = tl_now_ns() + ALIVE_NS;
    return socket->end->keep_alive(socket->end->owner, reterr);
}

/* Whether events keep coming behind the time for them. What waited while we were held up is still
 * taken; who sends without end holds nobody. */
static bool is_flooded(struct path_socket *socket, int64_t until_ns)
{
    if (tl_now_ns() < until_ns)
        socket->late_count = 0;
    else
        socket->late_count++;
    return socket->late_count > LATE_MAX;
}

enum tl_status path_socket_wait(struct path_socket *socket, int64_t until_ns,
                                struct path_event *ret_event, struct tl_error *reterr)
{
    for (;;) {
        struct path_event event;
        struct pollfd fds[3] = {{.fd = socket->fd, .events = POLLIN},
                                {.fd = socket->end->cancel_fd, .events = POLLIN},
                                {.fd = socket->cancel_fd, .events = POLLIN}};
        (void)poll(fds, 3, 0);
        if (fds[1].revents || fds[2].revents)
            return tl_error_set(reterr, TL_CANCELLED, "cancelled");
        if (is_flooded(socket, until_ns)) {
            *ret_event = (struct path_event){.kind = PATH_NOTHING};
            return TL_OK;
        }
        if ((fds[0].revents & POLLERR && take_error(socket, &event)) ||
            (fds[0].revents & (POLLIN | POLLERR) && take_datagram(socket, &event))) {
            *ret_event = event;
            return TL_OK;
        }
        enum tl_status status = keep_alive(socket, reterr);
        if (status != TL_OK)
            return status;
        if (fds[0].revents)
            continue;
        int64_t end_ns = until_ns < socket->ping_ns ? until_ns : socket->ping_ns;
        int64_t wait_ns = end_ns - tl_now_ns();
        if (tl_now_ns() >= until_ns) {
            *ret_event = (struct path_event){.kind = PATH_NOTHING};
            return TL_OK;
        }
        struct timespec timeout = {.tv_sec = wait_ns > 0 ? wait_ns / TL_NS_PER_S : 0,
                                   .tv_nsec = wait_ns > 0 ? wait_ns % TL_NS_PER_S : 0};
        (void)ppoll(fds, 3, &timeout, NULL); /* what it was shows the next turn */
    }
}

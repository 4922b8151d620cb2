/* The responder's UDP port, shared between its loop and the tests that run: each test has a
 * socket of its own on the same address and port, and a filter hands each datagram to the one
 * whose cookie it carries, all else to the loop.
 *
 * That is done by a group of SO_REUSEPORT with a program that looks into the payload
 * (SO_ATTACH_REUSEPORT_CBPF, Linux 4.5), and not by connect(): this program opens no
 * connections and its sandbox holds it to that. What a test's socket gets may come from any
 * address; who reads it compares (udp_receive.c, udp_send.c).
 *
 * The order in the group is that of net/core/sock_reuseport.c: the loop's socket first, then
 * the others as they came; who leaves has its place taken by the last one. The program always
 * names sockets that are there: it changes after one has come and before one goes. */
#include "udp_port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "path_error.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/wire.h"
#include "udp_flow.h"

#define PER_TEST   7  /* instructions */
#define SHARES_MAX 16 /* one test an interface */

/* A running test's socket on the port. */
struct share {
    int fd;
    uint64_t cookie;
};

struct udp_port {
    int fd, number;
    struct share shares[SHARES_MAX];
    unsigned share_count;
    uint8_t datagram[TL_WIRE_UDP_DATAGRAM_MAX + 1];
};

/* Answers leave from the address that was asked, unfragmented; the kernel's time of arrival,
 * the class and the TTL of what comes are known, and what routers say of answers. Options of the
 * other family fail, which is right. */
static void set_options(int fd)
{
    int on = 1;
    path_error_enable(fd);
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_IP, IP_RECVTTL, &on, sizeof on);
}

static int port_number(int fd)
{
    struct sockaddr_in6 own;
    socklen_t len = sizeof own;
    if (getsockname(fd, (struct sockaddr *)&own, &len) < 0)
        return 0;
    return ntohs(own.sin6_port); /* where IPv4 has it, too */
}

enum tl_status udp_port_create(int fd, struct udp_port **ret_port)
{
    struct udp_port *port = calloc(1, sizeof *port);
    if (!port)
        return TL_NOMEM;
    port->fd = fd;
    port->number = port_number(fd);
    set_options(fd);
    *ret_port = port;
    return TL_OK;
}

void udp_port_destroy(struct udp_port *port)
{
    free(port);
}

int udp_port_fd(const struct udp_port *port)
{
    return port->fd;
}

/* --- Datagrams ------------------------------------------------------------------------------ */

static void read_control(struct msghdr *msg, struct arrival *arrival)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec at;
            memcpy(&at, CMSG_DATA(c), sizeof at);
            arrival->realtime_ns = at.tv_sec * TL_NS_PER_S + at.tv_nsec;
        } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
            memcpy(&arrival->to6, CMSG_DATA(c), sizeof arrival->to6);
            arrival->has_to6 = true;
        } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
            memcpy(&arrival->to4, CMSG_DATA(c), sizeof arrival->to4);
            arrival->has_to4 = true;
        } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
            arrival->traffic_class = *CMSG_DATA(c); /* the one option that is a byte */
        } else if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL) ||
                   (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT)) {
            memcpy(&arrival->ttl, CMSG_DATA(c), sizeof arrival->ttl);
        } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
            memcpy(&arrival->traffic_class, CMSG_DATA(c), sizeof arrival->traffic_class);
        }
    }
}

bool udp_port_receive(struct udp_port *port, struct arrival *ret_arrival)
{
    union {
        struct cmsghdr align;
        char bytes[256];
    } control;
    struct arrival arrival = {.bytes = port->datagram, .traffic_class = -1, .ttl = -1};
    struct iovec iov = {port->datagram, sizeof port->datagram};
    struct msghdr msg = {.msg_name = &arrival.from,
                         .msg_namelen = sizeof arrival.from,
                         .msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof control};
    ssize_t got = recvmsg(port->fd, &msg, MSG_DONTWAIT);
    if (got < 0 && errno != EAGAIN) /* what a router told of an earlier answer, told once */
        got = recvmsg(port->fd, &msg, MSG_DONTWAIT);
    if (got < 0)
        return false;
    arrival.len = (size_t)got;
    arrival.realtime_ns = tl_realtime_ns();
    read_control(&msg, &arrival);
    *ret_arrival = arrival;
    return true;
}

static void add_control(struct msghdr *msg, int level, int type, const void *value, size_t len)
{
    struct cmsghdr *c = (struct cmsghdr *)((char *)msg->msg_control + msg->msg_controllen);
    c->cmsg_level = level;
    c->cmsg_type = type;
    c->cmsg_len = CMSG_LEN(len);
    memcpy(CMSG_DATA(c), value, len);
    msg->msg_controllen += CMSG_SPACE(len);
}

/* With both families on one socket an IPv4 destination comes as IPV6_PKTINFO of a mapped
 * address, and goes out so. */
static void add_source(struct msghdr *msg, const struct arrival *to)
{
    if (to->has_to6) {
        struct in6_pktinfo info = {.ipi6_addr = to->to6.ipi6_addr};
        if (IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr))
            info.ipi6_ifindex = to->to6.ipi6_ifindex;
        add_control(msg, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof info);
    } else if (to->has_to4) {
        struct in_pktinfo info = {.ipi_spec_dst = to->to4.ipi_spec_dst};
        add_control(msg, IPPROTO_IP, IP_PKTINFO, &info, sizeof info);
    }
}

static void add_departure(struct msghdr *msg, const struct sockaddr_in6 *peer,
                          const struct departure *how)
{
    bool v4 = peer->sin6_family == AF_INET || IN6_IS_ADDR_V4MAPPED(&peer->sin6_addr);
    int traffic_class = how->traffic_class, ttl = how->ttl;
    if (traffic_class)
        add_control(msg, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TOS : IPV6_TCLASS, &traffic_class,
                    sizeof traffic_class);
    if (ttl)
        add_control(msg, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TTL : IPV6_HOPLIMIT, &ttl,
                    sizeof ttl);
}

int udp_port_reply(struct udp_port *port, const struct arrival *to, const struct departure *how,
                   const uint8_t *bytes, size_t len)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo)) + 2 * CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct sockaddr_in6 peer = to->from;
    struct iovec iov = {(void *)bytes, len};
    struct msghdr msg = {.msg_name = &peer,
                         .msg_namelen = sizeof peer,
                         .msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control};
    if (to->from.sin6_family == AF_INET)
        msg.msg_namelen = sizeof(struct sockaddr_in);
    add_source(&msg, to);
    if (how)
        add_departure(&msg, &peer, how);
    if (msg.msg_controllen == 0)
        msg.msg_control = NULL;
    /* The first error may be what a router told of an earlier answer; then it goes out now. Too
     * large for the path, or no buffer: the answer is lost, as on any path. */
    ssize_t sent = sendmsg(port->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN)
        sent = sendmsg(port->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent < 0 ? errno : 0;
}

/* --- Sockets of tests ------------------------------------------------------------------------ */

/* ld [8] == cookie's first half, ld [12] == its second, ldb [4] == DATA or FEEDBACK: index. A
 * load behind the end of the payload returns 0, which is the loop's. */
static bool attach(const struct udp_port *port)
{
    struct sock_filter code[SHARES_MAX * PER_TEST + 1];
    unsigned n = 0;
    for (unsigned i = 0; i < port->share_count; i++) {
        uint64_t cookie = port->shares[i].cookie;
        const struct sock_filter test[PER_TEST] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 8),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(cookie >> 32), 0, 5),
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 12),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)cookie, 0, 3),
            BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 4),
            BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, TL_WIRE_UDP_DATA, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, i + 1),
        };
        memcpy(code + n, test, sizeof test);
        n += PER_TEST;
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
    struct sock_fprog program = {.len = (unsigned short)n, .filter = code};
    return setsockopt(port->fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program) ==
           0;
}

/* A socket like the loop's, on the same address. */
static int open_twin(const struct udp_port *port)
{
    struct sockaddr_storage at;
    socklen_t len = sizeof at;
    int on = 1, v6only = 0;
    socklen_t size = sizeof v6only;
    if (getsockname(port->fd, (struct sockaddr *)&at, &len) < 0)
        return -1;
    int fd = socket(at.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (getsockopt(port->fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, &size) == 0)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof v6only);
    udp_socket_options(fd);
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0 &&
        bind(fd, (struct sockaddr *)&at, len) == 0)
        return fd;
    int errnum = errno;
    close(fd);
    errno = errnum;
    return -1;
}

enum tl_status udp_port_join(struct udp_port *port, uint64_t cookie, int *ret_fd,
                             struct tl_error *reterr)
{
    if (port->share_count == SHARES_MAX)
        return tl_error_set(reterr, TL_LIMIT, "too many UDP tests at once");
    /* The program is there before the second socket: nothing goes astray in between. */
    int fd = attach(port) ? open_twin(port) : -1;
    if (fd < 0)
        return tl_error_set(reterr, tl_status_from_errno(errno), "a second socket on port %d: %s",
                            port->number, strerror(errno));
    port->shares[port->share_count++] = (struct share){.fd = fd, .cookie = cookie};
    if (!attach(port)) {
        int errnum = errno;
        port->share_count--;
        close(fd);
        return tl_error_set(reterr, tl_status_from_errno(errnum), "a filter on port %d: %s",
                            port->number, strerror(errnum));
    }
    *ret_fd = fd;
    return TL_OK;
}

/* While the socket is still there its datagrams go to the loop, which knows them not. */
void udp_port_leave(struct udp_port *port, int fd)
{
    struct share *shares = port->shares;
    unsigned count = port->share_count, at = 0;
    while (at < count && shares[at].fd != fd)
        at++;
    if (at == count)
        return;
    uint64_t cookie = shares[at].cookie, last = shares[count - 1].cookie;
    shares[at].cookie = UINT64_MAX ^ cookie; /* nobody's */
    (void)attach(port);
    close(fd);
    shares[at] = shares[count - 1];
    shares[at].cookie = at + 1 == count ? 0 : last;
    port->share_count--;
    (void)attach(port);
}

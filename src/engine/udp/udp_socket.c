/* The socket of one end of a UDP test. */
#include <errno.h>
#include <linux/sock_diag.h>
#include <netinet/udp.h>
#include <string.h>
#include <unistd.h>

#include "udp_flow.h"

/* Debian 12's headers have both; older ones need not. */
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

static void set_flag(int fd, int level, int option, int value)
{
    (void)setsockopt(fd, level, option, &value, sizeof value);
}

/* Options of the other family fail, or serve IPv4 on an IPv6 socket. */
void udp_socket_options(int fd)
{
    set_flag(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);
    set_flag(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
    set_flag(fd, IPPROTO_IP, IP_RECVERR, 1);
    set_flag(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
    set_flag(fd, IPPROTO_IPV6, IPV6_RECVERR, 1);
}

enum tl_status udp_socket_open(const struct sockaddr_storage *local,
                               const struct sockaddr_storage *peer, int *ret_fd,
                               struct tl_error *reterr)
{
    socklen_t len =
        local->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    int fd = socket(local->ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0) {
        udp_socket_options(fd);
        if (bind(fd, (const struct sockaddr *)local, len) == 0 &&
            connect(fd, (const struct sockaddr *)peer, len) == 0) {
            *ret_fd = fd;
            return TL_OK;
        }
    }
    int errnum = errno;
    if (fd >= 0)
        close(fd);
    return tl_error_set(reterr, tl_status_from_errno(errnum), "a UDP socket: %s", strerror(errnum));
}

void udp_route_set(struct udp_route *ret_route, const struct sockaddr_in6 *peer,
                   const struct sockaddr_in6 *own, int like)
{
    struct udp_route route = {0};
    int family = AF_INET6;
    socklen_t len = sizeof family;
    (void)getsockopt(like, SOL_SOCKET, SO_DOMAIN, &family, &len);
    bool v4 = family == AF_INET;
    struct in6_pktinfo from6 = {.ipi6_addr = own->sin6_addr};
    struct in_pktinfo from4 = {0};
    struct cmsghdr *c = (struct cmsghdr *)route.control;
    if (IN6_IS_ADDR_LINKLOCAL(&own->sin6_addr))
        from6.ipi6_ifindex = own->sin6_scope_id;
    memcpy(&from4.ipi_spec_dst, &own->sin6_addr.s6_addr[12], 4);
    c->cmsg_level = v4 ? IPPROTO_IP : IPPROTO_IPV6;
    c->cmsg_type = v4 ? IP_PKTINFO : IPV6_PKTINFO;
    c->cmsg_len = v4 ? CMSG_LEN(sizeof from4) : CMSG_LEN(sizeof from6);
    memcpy(CMSG_DATA(c), v4 ? (void *)&from4 : (void *)&from6, v4 ? sizeof from4 : sizeof from6);
    route.control_len = v4 ? CMSG_SPACE(sizeof from4) : CMSG_SPACE(sizeof from6);
    if (v4) {
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = peer->sin6_port};
        memcpy(&to.sin_addr, &peer->sin6_addr.s6_addr[12], 4);
        memcpy(&route.peer, &to, sizeof to);
        route.peer_len = sizeof to;
    } else {
        memcpy(&route.peer, peer, sizeof *peer);
        route.peer_len = sizeof *peer;
    }
    *ret_route = route;
}

bool udp_route_is_from(const struct udp_route *route, const struct sockaddr_storage *from)
{
    if (route->peer_len == 0)
        return true;
    if (from->ss_family != route->peer.ss_family)
        return false;
    if (from->ss_family == AF_INET) {
        const struct sockaddr_in *a = (const void *)from, *b = (const void *)&route->peer;
        return a->sin_port == b->sin_port && a->sin_addr.s_addr == b->sin_addr.s_addr;
    }
    const struct sockaddr_in6 *a = (const void *)from, *b = (const void *)&route->peer;
    return a->sin6_port == b->sin6_port && IN6_ARE_ADDR_EQUAL(&a->sin6_addr, &b->sin6_addr);
}

void udp_socket_dscp(int fd, unsigned dscp)
{
    set_flag(fd, IPPROTO_IP, IP_TOS, (int)(dscp << 2));
    set_flag(fd, IPPROTO_IPV6, IPV6_TCLASS, (int)(dscp << 2));
}

int udp_socket_rcvbuf(int fd, int bytes)
{
    int got = 0;
    socklen_t len = sizeof got;
    set_flag(fd, SOL_SOCKET, SO_RCVBUF, bytes);
    (void)getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &got, &len);
    return got;
}

bool udp_socket_gro(int fd, bool on)
{
    int value = on;
    return setsockopt(fd, IPPROTO_UDP, UDP_GRO, &value, sizeof value) == 0;
}

uint64_t udp_socket_drops(int fd)
{
    uint32_t info[SK_MEMINFO_VARS] = {0};
    socklen_t len = sizeof info;
    if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len) < 0 ||
        len < (SK_MEMINFO_DROPS + 1) * sizeof info[0])
        return UINT64_MAX;
    return info[SK_MEMINFO_DROPS];
}

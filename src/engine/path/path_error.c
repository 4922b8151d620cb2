/* The error queue of a UDP socket. */
#include "path_error.h"

#include <time.h> /* before errqueue.h, which needs it */

#include <errno.h>
#include <linux/errqueue.h>
#include <linux/icmpv6.h>
#include <netinet/ip_icmp.h>
#include <string.h>

#include "tightlink/base/time.h"

void path_error_enable(int fd)
{
    int on = 1, probe = IP_PMTUDISC_PROBE;
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &probe, sizeof probe);
    (void)setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &probe, sizeof probe);
    (void)setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
}

/* The sockaddr behind a sock_extended_err, inside its control message. */
static void take_offender(const struct cmsghdr *c, struct in6_addr *ret_address)
{
    const uint8_t *at = CMSG_DATA(c) + sizeof(struct sock_extended_err);
    size_t room = c->cmsg_len - CMSG_LEN(0) - sizeof(struct sock_extended_err);
    struct sockaddr_in6 v6;
    struct sockaddr_in v4;
    memset(ret_address, 0, sizeof *ret_address);
    if (room >= sizeof v4)
        memcpy(&v4, at, sizeof v4);
    if (room >= sizeof v6)
        memcpy(&v6, at, sizeof v6);
    if (room >= sizeof v6 && v6.sin6_family == AF_INET6) {
        *ret_address = v6.sin6_addr;
    } else if (room >= sizeof v4 && v4.sin_family == AF_INET) {
        ret_address->s6_addr[10] = ret_address->s6_addr[11] = 0xff;
        memcpy(ret_address->s6_addr + 12, &v4.sin_addr, 4);
    }
}

static void take_icmp(const struct sock_extended_err *ee, struct path_error *error)
{
    bool v6 = ee->ee_origin == SO_EE_ORIGIN_ICMP6;
    error->is_icmp = true;
    error->icmp_type = ee->ee_type;
    error->icmp_code = ee->ee_code;
    error->time_exceeded = ee->ee_type == (v6 ? ICMPV6_TIME_EXCEED : ICMP_TIME_EXCEEDED);
    error->too_big = v6 ? ee->ee_type == ICMPV6_PKT_TOOBIG
                        : ee->ee_type == ICMP_DEST_UNREACH && ee->ee_code == ICMP_FRAG_NEEDED;
    error->port_closed =
        v6 ? ee->ee_type == ICMPV6_DEST_UNREACH && ee->ee_code == ICMPV6_PORT_UNREACH
           : ee->ee_type == ICMP_DEST_UNREACH && ee->ee_code == ICMP_PORT_UNREACH;
    error->mtu_bytes = error->too_big ? ee->ee_info : 0;
}

/* A firewall on the way refuses in its own name: then nothing has arrived. */
static bool is_of_destination(const struct path_error *error)
{
    struct in6_addr to = error->to.sin6_addr;
    if (error->to.sin6_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, &error->to, sizeof v4);
        memset(&to, 0, sizeof to);
        to.s6_addr[10] = to.s6_addr[11] = 0xff;
        memcpy(to.s6_addr + 12, &v4.sin_addr, 4);
    }
    return IN6_ARE_ADDR_EQUAL(&to, &error->offender);
}

bool path_error_parse(struct msghdr *msg, size_t len, int64_t now_ns, struct path_error *ret_error)
{
    struct path_error error = {.realtime_ns = now_ns};
    bool found = false;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        bool is_error = (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
                        (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR);
        if (is_error && c->cmsg_len >= CMSG_LEN(sizeof(struct sock_extended_err))) {
            struct sock_extended_err ee;
            memcpy(&ee, CMSG_DATA(c), sizeof ee);
            error.errnum = (int)ee.ee_errno;
            found = ee.ee_origin == SO_EE_ORIGIN_LOCAL || ee.ee_origin == SO_EE_ORIGIN_ICMP ||
                    ee.ee_origin == SO_EE_ORIGIN_ICMP6;
            if (found && ee.ee_origin != SO_EE_ORIGIN_LOCAL) {
                take_icmp(&ee, &error);
                take_offender(c, &error.offender);
            } else if (found && ee.ee_errno == EMSGSIZE) {
                error.mtu_bytes = ee.ee_info;
            }
        } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS &&
                   c->cmsg_len >= CMSG_LEN(sizeof(struct timespec))) {
            struct timespec at;
            memcpy(&at, CMSG_DATA(c), sizeof at);
            if (at.tv_sec > 0 && at.tv_sec < INT64_MAX / TL_NS_PER_S - 1)
                error.realtime_ns = at.tv_sec * TL_NS_PER_S + at.tv_nsec;
        }
    }
    if (!found)
        return false;
    if (msg->msg_name && msg->msg_namelen >= sizeof(struct sockaddr_in))
        memcpy(&error.to, msg->msg_name,
               msg->msg_namelen < sizeof error.to ? msg->msg_namelen : sizeof error.to);
    error.port_closed = error.port_closed && is_of_destination(&error);
    error.quote_len = len < sizeof error.quote ? len : sizeof error.quote;
    if (msg->msg_iovlen > 0)
        memcpy(error.quote, msg->msg_iov[0].iov_base, error.quote_len);
    *ret_error = error;
    return true;
}

bool path_error_read(int fd, struct path_error *ret_error)
{
    union {
        struct cmsghdr align;
        char bytes[512];
    } control;
    uint8_t quote[PATH_ERROR_QUOTE];
    struct sockaddr_in6 to;
    for (;;) {
        struct iovec iov = {quote, sizeof quote};
        struct msghdr msg = {.msg_name = &to,
                             .msg_namelen = sizeof to,
                             .msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
        ssize_t got = recvmsg(fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT);
        if (got < 0)
            return false;
        if (path_error_parse(&msg, (size_t)got, tl_realtime_ns(), ret_error))
            return true;
    }
}

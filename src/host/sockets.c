/* Established TCP connections over sock_diag (man 7 sock_diag). */
#include "tightlink/host/sockets.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

#include "netlink.h"

#define TCP_STATE_ESTABLISHED 1
/* Behind tcpi_snd_wnd since Linux 6.2; headers of the build machine may not have it. */
#define RCV_WND_OFFSET (offsetof(struct tcp_info, tcpi_snd_wnd) + sizeof(uint32_t))

struct wanted {
    unsigned char address[16]; /* IPv4 as a mapped IPv6 address */
    struct tl_host_socket *sockets;
    size_t max, count;
};

static void map_address(int family, const void *address, unsigned char ret_mapped[16])
{
    static const unsigned char prefix[12] = {[10] = 0xff, [11] = 0xff};

    if (family == AF_INET6) {
        memcpy(ret_mapped, address, 16);
        return;
    }
    memcpy(ret_mapped, prefix, sizeof(prefix));
    memcpy(ret_mapped + sizeof(prefix), address, 4);
}

/* The attribute may be shorter than our struct (an older kernel) or longer. */
static void take_info(const struct nlattr *attr, struct tl_host_socket *socket)
{
    struct tcp_info info = {0};
    size_t len = attr ? mnl_attr_get_payload_len(attr) : 0;

    if (!attr)
        return;
    memcpy(&info, mnl_attr_get_payload(attr), len < sizeof(info) ? len : sizeof(info));
    if (len >= RCV_WND_OFFSET + sizeof(uint32_t))
        memcpy(&socket->rcv_wnd_bytes, (const char *)mnl_attr_get_payload(attr) + RCV_WND_OFFSET,
               sizeof(uint32_t));
    socket->received_bytes = info.tcpi_bytes_received;
    socket->acked_bytes = info.tcpi_bytes_acked;
    socket->snd_wnd_bytes = info.tcpi_snd_wnd;
    socket->snd_mss_bytes = info.tcpi_snd_mss;
    socket->rcv_mss_bytes = info.tcpi_rcv_mss;
    socket->busy_ns = info.tcpi_busy_time * 1000;
    socket->rwnd_limited_ns = info.tcpi_rwnd_limited * 1000;
}

static void take_memory(const struct nlattr *attr, struct tl_host_socket *socket)
{
    uint32_t memory[SK_MEMINFO_VARS] = {0};
    size_t len = attr ? mnl_attr_get_payload_len(attr) : 0;

    if (!attr)
        return;
    memcpy(memory, mnl_attr_get_payload(attr), len < sizeof(memory) ? len : sizeof(memory));
    socket->rcvbuf_bytes = memory[SK_MEMINFO_RCVBUF];
    socket->sndbuf_bytes = memory[SK_MEMINFO_SNDBUF];
}

/* Every connection of the machine passes here; those with others are left. */
static bool take_socket(const struct nlmsghdr *msg, void *context)
{
    const struct nlattr *table[INET_DIAG_MAX + 1];
    struct wanted *wanted = context;
    const struct inet_diag_msg *diag = mnl_nlmsg_get_payload(msg);
    unsigned char address[16];

    if (mnl_nlmsg_get_payload_len(msg) < sizeof(*diag) || wanted->count == wanted->max)
        return true;
    map_address(diag->idiag_family, diag->id.idiag_dst, address);
    if (memcmp(address, wanted->address, sizeof(address)) != 0 ||
        !tl_netlink_attributes(msg, sizeof(*diag), table, INET_DIAG_MAX))
        return true;
    struct tl_host_socket *socket = &wanted->sockets[wanted->count++];
    *socket = (struct tl_host_socket){.cookie = (uint64_t)diag->id.idiag_cookie[1] << 32 |
                                                diag->id.idiag_cookie[0],
                                      .local_port = ntohs(diag->id.idiag_sport),
                                      .remote_port = ntohs(diag->id.idiag_dport)};
    take_info(table[INET_DIAG_INFO], socket);
    take_memory(table[INET_DIAG_SKMEMINFO], socket);
    return true;
}

static enum tl_host_why ask_family(struct tl_netlink *diag, unsigned char family,
                                   struct wanted *wanted)
{
    _Alignas(struct nlmsghdr) char buf[TL_NETLINK_ASK_SIZE] = {0};
    struct nlmsghdr *msg = mnl_nlmsg_put_header(buf);
    struct inet_diag_req_v2 *request;

    msg->nlmsg_type = SOCK_DIAG_BY_FAMILY;
    msg->nlmsg_flags = NLM_F_DUMP;
    request = mnl_nlmsg_put_extra_header(msg, sizeof(*request));
    request->sdiag_family = family;
    request->sdiag_protocol = IPPROTO_TCP;
    request->idiag_ext = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_SKMEMINFO - 1);
    request->idiag_states = 1 << TCP_STATE_ESTABLISHED;
    enum tl_host_why why = tl_netlink_ask(diag, msg, take_socket, wanted);
    /* No message at all is an answer here: there is no connection. */
    return why == TL_HOST_WHY_MALFORMED ? TL_HOST_WHY_KNOWN : why;
}

enum tl_host_why tl_host_sockets(const struct sockaddr *peer, struct tl_host_socket *ret_sockets,
                                 size_t max, size_t *ret_count)
{
    const struct sockaddr_in *in4 = (const void *)peer;
    const struct sockaddr_in6 *in6 = (const void *)peer;
    struct wanted wanted = {.sockets = ret_sockets, .max = max};
    struct tl_netlink diag;
    enum tl_host_why why;

    *ret_count = 0;
    if (peer->sa_family != AF_INET && peer->sa_family != AF_INET6)
        return TL_HOST_WHY_NO_ROUTE;
    map_address(peer->sa_family,
                peer->sa_family == AF_INET ? (const void *)&in4->sin_addr
                                           : (const void *)&in6->sin6_addr,
                wanted.address);
    tl_netlink_init(&diag, NETLINK_SOCK_DIAG);
    why = ask_family(&diag, AF_INET, &wanted);
    if (why == TL_HOST_WHY_KNOWN)
        why = ask_family(&diag, AF_INET6, &wanted);
    tl_netlink_finish(&diag);
    *ret_count = wanted.count;
    return why;
}

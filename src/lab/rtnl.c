/* A namespace, its links, addresses, routes and rules, by rtnetlink (rtnetlink(7)). */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "ns.h"

/* Every request here is well below this. */
#define REQUEST_SIZE 1024

struct request {
    _Alignas(struct nlmsghdr) char bytes[REQUEST_SIZE];
    struct nlmsghdr *head;
};

static void *begin(struct request *request, uint16_t type, uint16_t flags, size_t header_size)
{
    request->head = mnl_nlmsg_put_header(request->bytes);
    request->head->nlmsg_type = type;
    request->head->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
    return mnl_nlmsg_put_extra_header(request->head, header_size);
}

/* Sends and waits for the acknowledgement; `what` completes "cannot ...". */
static enum tl_status commit(struct tl_lab_ns *ns, struct request *request, const char *what,
                             const char *object, struct tl_error *reterr)
{
    char answer[4096];
    request->head->nlmsg_seq = ++ns->sequence;
    int result = -1;
    if (mnl_socket_sendto(ns->netlink, request->head, request->head->nlmsg_len) >= 0) {
        ssize_t len = mnl_socket_recvfrom(ns->netlink, answer, sizeof answer);
        if (len > 0)
            result = mnl_cb_run(answer, (size_t)len, ns->sequence,
                                mnl_socket_get_portid(ns->netlink), NULL, NULL);
    }
    if (result >= 0)
        return TL_OK;
    int errnum = errno;
    if (errnum == EPERM || errnum == EACCES)
        return tl_error_set(reterr, TL_DENIED,
                            "cannot %s %s in host %s: CAP_NET_ADMIN is missing there; run as root",
                            what, object, ns->name);
    return tl_error_set(reterr, tl_status_from_errno(errnum), "cannot %s %s in host %s: %s", what,
                        object, ns->name, strerror(errnum));
}

static enum tl_status index_of(struct tl_lab_ns *ns, const char *link, unsigned *ret_index,
                               struct tl_error *reterr)
{
    enum tl_status status = tl_lab_ns_enter(ns, reterr);
    if (status != TL_OK)
        return status;
    unsigned index = if_nametoindex(link);
    if (index == 0)
        return tl_error_set(reterr, TL_UNKNOWN, "host %s has no link %s", ns->name, link);
    *ret_index = index;
    return TL_OK;
}

enum tl_status tl_lab_ns_veth(struct tl_lab_ns *a, const char *name_a, struct tl_lab_ns *b,
                              const char *name_b, struct tl_error *reterr)
{
    struct request request;
    begin(&request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, sizeof(struct ifinfomsg));
    mnl_attr_put_strz(request.head, IFLA_IFNAME, name_a);
    struct nlattr *info = mnl_attr_nest_start(request.head, IFLA_LINKINFO);
    mnl_attr_put_strz(request.head, IFLA_INFO_KIND, "veth");
    struct nlattr *data = mnl_attr_nest_start(request.head, IFLA_INFO_DATA);
    struct nlattr *peer = mnl_attr_nest_start(request.head, VETH_INFO_PEER);
    mnl_nlmsg_put_extra_header(request.head, sizeof(struct ifinfomsg));
    mnl_attr_put_strz(request.head, IFLA_IFNAME, name_b);
    mnl_attr_put_u32(request.head, IFLA_NET_NS_FD, (uint32_t)b->fd);
    mnl_attr_nest_end(request.head, peer);
    mnl_attr_nest_end(request.head, data);
    mnl_attr_nest_end(request.head, info);
    return commit(a, &request, "make the veth pair of", name_a, reterr);
}

/* The kernel would give the link an fe80:: address and speak about it on the wire. */
static void put_no_link_local(struct nlmsghdr *head)
{
    if (access("/proc/sys/net/ipv6", F_OK) != 0)
        return; /* a kernel without IPv6 refuses the attribute */
    struct nlattr *families = mnl_attr_nest_start(head, IFLA_AF_SPEC);
    struct nlattr *inet6 = mnl_attr_nest_start(head, AF_INET6);
    mnl_attr_put_u8(head, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
    mnl_attr_nest_end(head, inet6);
    mnl_attr_nest_end(head, families);
}

enum tl_status tl_lab_ns_link(struct tl_lab_ns *ns, const char *link,
                              const struct tl_lab_link_settings *settings, struct tl_error *reterr)
{
    unsigned index;
    enum tl_status status = index_of(ns, link, &index, reterr);
    if (status != TL_OK)
        return status;
    struct request request;
    struct ifinfomsg *message = begin(&request, RTM_SETLINK, 0, sizeof *message);
    message->ifi_index = (int)index;
    if (settings->up)
        message->ifi_flags |= IFF_UP;
    if (settings->no_arp)
        message->ifi_flags |= IFF_NOARP;
    message->ifi_change = message->ifi_flags;
    if (settings->mtu)
        mnl_attr_put_u32(request.head, IFLA_MTU, (uint32_t)settings->mtu);
    if (settings->tx_queue_packets)
        mnl_attr_put_u32(request.head, IFLA_TXQLEN, settings->tx_queue_packets);
    if (settings->gso_max_segs)
        mnl_attr_put_u32(request.head, IFLA_GSO_MAX_SEGS, settings->gso_max_segs);
    if (settings->mac)
        mnl_attr_put(request.head, IFLA_ADDRESS, 6, settings->mac);
    if (settings->no_arp)
        put_no_link_local(request.head);
    return commit(ns, &request, "configure link", link, reterr);
}

enum tl_status tl_lab_ns_init(struct tl_lab_ns *ns, const char *name, struct tl_error *reterr)
{
    if (unshare(CLONE_NEWNET) != 0)
        return tl_lab_ns_denied(errno, "making a network namespace", reterr);
    struct tl_lab_ns made = {.name = name};
    made.fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (made.fd < 0)
        return tl_lab_ns_denied(errno, "opening /proc/thread-self/ns/net", reterr);
    made.netlink = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
    if (!made.netlink || mnl_socket_bind(made.netlink, 0, MNL_SOCKET_AUTOPID) != 0) {
        int errnum = errno;
        tl_lab_ns_finish(&made);
        return tl_lab_ns_denied(errnum, "opening rtnetlink", reterr);
    }
    struct tl_lab_link_settings up = {.up = true};
    enum tl_status status = tl_lab_ns_link(&made, "lo", &up, reterr);
    if (status != TL_OK)
        tl_lab_ns_finish(&made);
    else
        *ns = made;
    return status;
}

static int take_stats(const struct nlmsghdr *head, void *ret_count)
{
    struct rtnl_link_stats64 stats;
    const struct nlattr *attribute;
    mnl_attr_for_each(
        attribute, head,
        sizeof(struct ifinfomsg)) if (mnl_attr_get_type(attribute) == IFLA_STATS64 &&
                                      mnl_attr_get_payload_len(attribute) >=
                                          offsetof(struct rtnl_link_stats64, multicast))
    {
        memcpy(&stats, mnl_attr_get_payload(attribute),
               offsetof(struct rtnl_link_stats64, multicast));
        *(uint64_t *)ret_count = stats.tx_dropped;
    }
    return MNL_CB_STOP;
}

enum tl_status tl_lab_ns_tx_dropped(struct tl_lab_ns *ns, const char *link, uint64_t *ret_count)
{
    unsigned index;
    enum tl_status status = index_of(ns, link, &index, NULL);
    if (status != TL_OK)
        return status;
    struct request request;
    char answer[16384];
    struct ifinfomsg *message = begin(&request, RTM_GETLINK, 0, sizeof *message);
    message->ifi_index = (int)index;
    request.head->nlmsg_flags = NLM_F_REQUEST; /* the answer is the acknowledgement */
    request.head->nlmsg_seq = ++ns->sequence;
    if (mnl_socket_sendto(ns->netlink, request.head, request.head->nlmsg_len) < 0)
        return TL_IO;
    ssize_t len = mnl_socket_recvfrom(ns->netlink, answer, sizeof answer);
    if (len <= 0)
        return TL_IO;
    return mnl_cb_run(answer, (size_t)len, ns->sequence, mnl_socket_get_portid(ns->netlink),
                      take_stats, ret_count) < 0
               ? TL_IO
               : TL_OK;
}

struct address {
    int family; /* AF_INET or AF_INET6 */
    size_t len;
    unsigned char bytes[16];
};

static struct address address_of(const char *text)
{
    struct address address = {.family = strchr(text, ':') ? AF_INET6 : AF_INET};
    address.len = address.family == AF_INET6 ? 16 : 4;
    inet_pton(address.family, text, address.bytes);
    return address;
}

enum tl_status tl_lab_ns_address(struct tl_lab_ns *ns, const char *link, const char *text,
                                 unsigned prefix_bits, struct tl_error *reterr)
{
    unsigned index;
    enum tl_status status = index_of(ns, link, &index, reterr);
    if (status != TL_OK)
        return status;
    struct address address = address_of(text);
    struct request request;
    struct ifaddrmsg *message =
        begin(&request, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, sizeof *message);
    message->ifa_family = (unsigned char)address.family;
    message->ifa_prefixlen = (unsigned char)prefix_bits;
    message->ifa_index = index;
    message->ifa_scope = RT_SCOPE_UNIVERSE;
    /* Nobody else is on this wire: no second of duplicate address detection. */
    if (address.family == AF_INET6)
        message->ifa_flags = IFA_F_NODAD;
    mnl_attr_put(request.head, IFA_LOCAL, address.len, address.bytes);
    mnl_attr_put(request.head, IFA_ADDRESS, address.len, address.bytes);
    return commit(ns, &request, "give the address", text, reterr);
}

enum tl_status tl_lab_ns_route(struct tl_lab_ns *ns, const char *link, const char *to,
                               unsigned prefix_bits, const char *via, const char *cc,
                               struct tl_error *reterr)
{
    unsigned index;
    enum tl_status status = index_of(ns, link, &index, reterr);
    if (status != TL_OK)
        return status;
    struct address target = address_of(to ? to : via);
    struct request request;
    struct rtmsg *message =
        begin(&request, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, sizeof *message);
    message->rtm_family = (unsigned char)target.family;
    message->rtm_dst_len = (unsigned char)(to ? prefix_bits : 0);
    message->rtm_table = RT_TABLE_MAIN;
    message->rtm_protocol = RTPROT_STATIC;
    message->rtm_scope = via ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK;
    message->rtm_type = RTN_UNICAST;
    if (to)
        mnl_attr_put(request.head, RTA_DST, target.len, target.bytes);
    if (via) {
        struct address gateway = address_of(via);
        mnl_attr_put(request.head, RTA_GATEWAY, gateway.len, gateway.bytes);
    }
    mnl_attr_put_u32(request.head, RTA_OIF, index);
    if (cc) {
        struct nlattr *metrics = mnl_attr_nest_start(request.head, RTA_METRICS);
        mnl_attr_put_strz(request.head, RTAX_CC_ALGO, cc);
        mnl_attr_nest_end(request.head, metrics);
    }
    status = commit(ns, &request, "add the route to", to ? to : "everywhere", reterr);
    if (status != TL_OK && cc)
        tl_error_prefix(reterr, "with congestion control %s, which this kernel may lack", cc);
    return status;
}

enum tl_status tl_lab_ns_silence(struct tl_lab_ns *ns, int family, struct tl_error *reterr)
{
    struct request request;
    struct fib_rule_hdr *rule =
        begin(&request, RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, sizeof *rule);
    rule->family = (unsigned char)family;
    rule->action = FR_ACT_BLACKHOLE;
    /* What a host sends itself looks up its route as if it had come in by lo. */
    mnl_attr_put_strz(request.head, FRA_IIFNAME, "lo");
    mnl_attr_put_u8(request.head, FRA_IP_PROTO, family == AF_INET6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
    mnl_attr_put_u32(request.head, FRA_PRIORITY, 1);
    return commit(ns, &request, "silence", "ICMP", reterr);
}

/* Any table that nothing else here uses. */
#define DIVERT_TABLE 100

static enum tl_status deliver_here(struct tl_lab_ns *ns, int family, struct tl_error *reterr)
{
    unsigned index;
    enum tl_status status = index_of(ns, "lo", &index, reterr);
    if (status != TL_OK)
        return status;
    struct request request;
    /* CREATE without EXCL: a second port may ask for the same. */
    struct rtmsg *message =
        begin(&request, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, sizeof *message);
    message->rtm_family = (unsigned char)family;
    message->rtm_table = DIVERT_TABLE;
    message->rtm_protocol = RTPROT_STATIC;
    message->rtm_scope = RT_SCOPE_HOST;
    message->rtm_type = RTN_LOCAL;
    mnl_attr_put_u32(request.head, RTA_OIF, index);
    return commit(ns, &request, "deliver everything", "by the table of the proxy", reterr);
}

enum tl_status tl_lab_ns_divert(struct tl_lab_ns *ns, int family, const char *link, uint16_t port,
                                enum tl_lab_ns_port which, struct tl_error *reterr)
{
    enum tl_status status = deliver_here(ns, family, reterr);
    if (status != TL_OK)
        return status;
    struct request request;
    struct fib_rule_hdr *rule =
        begin(&request, RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, sizeof *rule);
    struct fib_rule_port_range range = {port, port};
    rule->family = (unsigned char)family;
    rule->action = FR_ACT_TO_TBL;
    rule->table = DIVERT_TABLE;
    mnl_attr_put_strz(request.head, FRA_IIFNAME, link);
    mnl_attr_put_u8(request.head, FRA_IP_PROTO, IPPROTO_TCP);
    mnl_attr_put(request.head, which == TL_LAB_NS_TO_PORT ? FRA_DPORT_RANGE : FRA_SPORT_RANGE,
                 sizeof range, &range);
    /* Before the table of local addresses would be looked at in vain, and behind nothing. */
    mnl_attr_put_u32(request.head, FRA_PRIORITY, which == TL_LAB_NS_TO_PORT ? 2 : 3);
    return commit(ns, &request, "divert to the proxy what comes by", link, reterr);
}

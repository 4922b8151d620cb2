/* Which interface and gateway lead to a peer, and what the route asks TCP to do. */
#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>

#include "link.h"

static const struct {
    unsigned metric; /* RTAX_*, all u32 */
    enum tl_host_number_id id;
} metric_rows[] = {
    {RTAX_MTU, TL_HOST_ROUTE_MTU},           {RTAX_ADVMSS, TL_HOST_ROUTE_ADVMSS},
    {RTAX_WINDOW, TL_HOST_ROUTE_WINDOW},     {RTAX_INITCWND, TL_HOST_ROUTE_INITCWND},
    {RTAX_INITRWND, TL_HOST_ROUTE_INITRWND}, {RTAX_CWND, TL_HOST_ROUTE_CWND_CLAMP},
};
#define METRIC_ROWS (sizeof(metric_rows) / sizeof(metric_rows[0]))

static void set_unknown(struct tl_host_settings *settings, enum tl_host_why why)
{
    for (size_t i = 0; i < METRIC_ROWS; i++)
        settings->numbers[metric_rows[i].id] = tl_host_unknown(why);
    tl_host_text_unknown(&settings->texts[TL_HOST_TEXT_ROUTE_CC], why);
    tl_host_text_unknown(&settings->texts[TL_HOST_TEXT_ROUTE_PEER], why);
    tl_host_text_unknown(&settings->texts[TL_HOST_TEXT_ROUTE_VIA], why);
}

/* An address as `ip route` takes it: one of IPv4 in IPv6's clothes is one of IPv4. */
static void take_address(struct tl_host_text *ret_text, int family, const void *address)
{
    char text[INET6_ADDRSTRLEN];

    if (inet_ntop(family, address, text, sizeof(text)))
        tl_host_text_set(ret_text, text);
}

static void take_peer(struct tl_host_settings *settings, const struct sockaddr *peer)
{
    const struct sockaddr_in *in4 = (const void *)peer;
    const struct sockaddr_in6 *in6 = (const void *)peer;
    struct tl_host_text *text = &settings->texts[TL_HOST_TEXT_ROUTE_PEER];

    if (peer->sa_family == AF_INET)
        take_address(text, AF_INET, &in4->sin_addr);
    else if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
        take_address(text, AF_INET, in6->sin6_addr.s6_addr + 12);
    else
        take_address(text, AF_INET6, &in6->sin6_addr);
}

static void take_metrics(const struct nlattr *attr, struct tl_host_settings *settings)
{
    const struct nlattr *table[RTAX_MAX + 1];
    const char *cc;

    set_unknown(settings, TL_HOST_WHY_NOT_SET);
    if (!tl_netlink_nested(attr, table, RTAX_MAX))
        return; /* a route without metrics */
    for (size_t i = 0; i < METRIC_ROWS; i++) {
        uint64_t number;

        if (tl_netlink_number(table[metric_rows[i].metric], &number) && number > 0)
            settings->numbers[metric_rows[i].id] = tl_host_known((double)number);
    }
    cc = tl_netlink_text(table[RTAX_CC_ALGO]);
    if (cc)
        tl_host_text_set(&settings->texts[TL_HOST_TEXT_ROUTE_CC], cc);
}

static void copy_address(unsigned char ret_address[16], const struct nlattr *attr)
{
    size_t len = attr ? mnl_attr_get_payload_len(attr) : 0;

    memcpy(ret_address, len ? mnl_attr_get_payload(attr) : "", len < 16 ? len : 16);
}

/* Behind take_metrics, which makes all texts of the route NOT_SET. */
static void take_gateway(struct tl_host_settings *settings, const struct nlattr *gateway)
{
    size_t len = gateway ? mnl_attr_get_payload_len(gateway) : 0;

    if (len == 4 || len == 16)
        take_address(&settings->texts[TL_HOST_TEXT_ROUTE_VIA], len == 4 ? AF_INET : AF_INET6,
                     mnl_attr_get_payload(gateway));
}

bool tl_route_parse(const struct nlmsghdr *msg, void *route_context)
{
    const struct nlattr *table[RTA_MAX + 1];
    struct tl_route_context *context = route_context;
    uint64_t ifindex;

    if (msg->nlmsg_type != RTM_NEWROUTE ||
        !tl_netlink_attributes(msg, sizeof(struct rtmsg), table, RTA_MAX) ||
        !tl_netlink_number(table[RTA_OIF], &ifindex) || ifindex == 0 || ifindex > INT32_MAX)
        return false;
    memset(&context->way, 0, sizeof(context->way));
    context->way.ifindex = (int)ifindex;
    /* RTA_VIA: a gateway of the other family (RFC 5549). */
    context->way.has_gateway = table[RTA_GATEWAY] || table[RTA_VIA];
    copy_address(context->way.gateway, table[RTA_GATEWAY] ? table[RTA_GATEWAY] : table[RTA_VIA]);
    copy_address(context->way.source, table[RTA_PREFSRC]);
    if (!context->settings)
        return true;
    context->settings->numbers[TL_HOST_ROUTE_GATEWAY] = tl_host_known(context->way.has_gateway);
    take_metrics(table[RTA_METRICS], context->settings);
    take_gateway(context->settings, table[RTA_GATEWAY]);
    return true;
}

/* Adds the destination; false for a family that has no routes. */
static bool put_destination(struct nlmsghdr *msg, struct rtmsg *head, const struct sockaddr *peer)
{
    const struct sockaddr_in *in4 = (const void *)peer;
    const struct sockaddr_in6 *in6 = (const void *)peer;

    head->rtm_family = (unsigned char)peer->sa_family;
    switch (peer->sa_family) {
    case AF_INET:
        head->rtm_dst_len = 32;
        mnl_attr_put(msg, RTA_DST, sizeof(in4->sin_addr), &in4->sin_addr);
        return true;
    case AF_INET6:
        if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
            head->rtm_family = AF_INET;
            head->rtm_dst_len = 32;
            mnl_attr_put(msg, RTA_DST, 4, in6->sin6_addr.s6_addr + 12);
            return true;
        }
        head->rtm_dst_len = 128;
        mnl_attr_put(msg, RTA_DST, sizeof(in6->sin6_addr), &in6->sin6_addr);
        if (in6->sin6_scope_id != 0)
            mnl_attr_put_u32(msg, RTA_OIF, in6->sin6_scope_id);
        return true;
    default:
        return false;
    }
}

enum tl_host_why tl_route_ask(struct tl_netlink *route, const struct sockaddr *peer,
                              struct tl_host_settings *settings, struct tl_route_way *ret_way)
{
    _Alignas(struct nlmsghdr) char buf[TL_NETLINK_ASK_SIZE] = {0};
    struct tl_route_context context = {.settings = settings};
    struct nlmsghdr *msg = mnl_nlmsg_put_header(buf);
    struct rtmsg *head;
    enum tl_host_why why = TL_HOST_WHY_NO_ROUTE;

    msg->nlmsg_type = RTM_GETROUTE;
    head = mnl_nlmsg_put_extra_header(msg, sizeof(*head));
    if (put_destination(msg, head, peer))
        why = tl_netlink_ask(route, msg, tl_route_parse, &context);
    if (why == TL_HOST_WHY_KNOWN) {
        *ret_way = context.way;
        if (settings)
            take_peer(settings, peer);
    } else if (settings) {
        settings->numbers[TL_HOST_ROUTE_GATEWAY] = tl_host_unknown(why);
        set_unknown(settings, why);
    }
    return why;
}

/* What the interface's queueing discipline dropped and held back (rtnetlink(7), tc(8)). */
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "counters.h"

bool tl_counters_parse_qdisc(const struct nlmsghdr *msg, void *context)
{
    const struct nlattr *table[TCA_MAX + 1], *stats[TCA_STATS_MAX + 1];
    struct tl_host_counters *counters = context;
    const struct tcmsg *head = mnl_nlmsg_get_payload(msg);
    struct gnet_stats_queue queue = {0};
    size_t len;

    if (msg->nlmsg_type != RTM_NEWQDISC ||
        !tl_netlink_attributes(msg, sizeof(struct tcmsg), table, TCA_MAX))
        return false;
    if (head->tcm_ifindex != counters->ifindex || head->tcm_parent != TC_H_ROOT)
        return true; /* a dump tells of all interfaces */
    if (!tl_netlink_nested(table[TCA_STATS2], stats, TCA_STATS_MAX) || !stats[TCA_STATS_QUEUE])
        return false;
    len = mnl_attr_get_payload_len(stats[TCA_STATS_QUEUE]);
    if (len < sizeof(queue))
        return false;
    memcpy(&queue, mnl_attr_get_payload(stats[TCA_STATS_QUEUE]), sizeof(queue));
    tl_counters_set(counters, TL_HOST_COUNTER_QDISC_DROPPED, queue.drops);
    tl_counters_set(counters, TL_HOST_COUNTER_QDISC_REQUEUES, queue.requeues);
    tl_counters_set(counters, TL_HOST_COUNTER_QDISC_OVERLIMITS, queue.overlimits);
    return true;
}

static enum tl_host_why ask(struct tl_netlink *route, uint16_t flags,
                            struct tl_host_counters *counters)
{
    _Alignas(struct nlmsghdr) char buf[TL_NETLINK_ASK_SIZE] = {0};
    struct nlmsghdr *msg = mnl_nlmsg_put_header(buf);
    struct tcmsg *head;

    msg->nlmsg_type = RTM_GETQDISC;
    msg->nlmsg_flags = flags;
    head = mnl_nlmsg_put_extra_header(msg, sizeof(*head));
    head->tcm_family = AF_UNSPEC;
    head->tcm_ifindex = counters->ifindex;
    head->tcm_parent = TC_H_ROOT;
    return tl_netlink_ask(route, msg, tl_counters_parse_qdisc, counters);
}

/* The root alone: it adds up what its children (one a transmit queue) count. A discipline that
 * nobody chose (handle 0) is told by a dump only: asked for alone, Linux 6.18 acknowledges and
 * says nothing. An interface without a queue (veth, loopback) has none that could drop. */
enum tl_host_why tl_counters_read_qdisc(struct tl_netlink *route, struct tl_host_counters *counters)
{
    enum tl_host_why why = ask(route, 0, counters);

    if (why != TL_HOST_WHY_KNOWN)
        why = ask(route, NLM_F_DUMP, counters);
    return why == TL_HOST_WHY_MALFORMED ? TL_HOST_WHY_ABSENT : why; /* none in the namespace */
}

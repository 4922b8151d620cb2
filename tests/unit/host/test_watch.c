/* The watch, in a network namespace of its own where links may be pulled. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tightlink/base/time.h"
#include "watch.h"

TestSuite(host_watch);

static struct tl_netlink route;
static struct tl_host_watch *watch;
static struct tl_host_event events[8];

/* What the kernel answers to a change; criterion reports where. */
static bool ignore(const struct nlmsghdr *msg, void *context)
{
    return true;
}

static void change(struct nlmsghdr *msg)
{
    enum tl_host_why why = tl_netlink_ask(&route, msg, ignore, NULL);

    /* An acknowledgement alone has nothing to parse. */
    cr_assert(why == TL_HOST_WHY_MALFORMED || why == TL_HOST_WHY_KNOWN, "%s",
              tl_host_why_text(why));
}

static _Alignas(struct nlmsghdr) char buf[TL_NETLINK_ASK_SIZE];

static struct nlmsghdr *begin(uint16_t type, uint16_t flags, void *ret_head, size_t size)
{
    struct nlmsghdr *msg;

    memset(buf, 0, sizeof(buf));
    msg = mnl_nlmsg_put_header(buf);
    msg->nlmsg_type = type;
    msg->nlmsg_flags = flags;
    *(void **)ret_head = mnl_nlmsg_put_extra_header(msg, size);
    return msg;
}

static void set_link(const char *name, bool up)
{
    struct ifinfomsg *head;
    struct nlmsghdr *msg = begin(RTM_NEWLINK, 0, &head, sizeof(*head));

    head->ifi_index = (int)if_nametoindex(name);
    head->ifi_change = IFF_UP;
    head->ifi_flags = up ? IFF_UP : 0;
    change(msg);
}

static void add_veth(void)
{
    struct nlattr *info, *data, *peer;
    struct ifinfomsg *head;
    struct nlmsghdr *msg = begin(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &head, sizeof(*head));

    mnl_attr_put_strz(msg, IFLA_IFNAME, "a");
    info = mnl_attr_nest_start(msg, IFLA_LINKINFO);
    mnl_attr_put_strz(msg, IFLA_INFO_KIND, "veth");
    data = mnl_attr_nest_start(msg, IFLA_INFO_DATA);
    peer = mnl_attr_nest_start(msg, VETH_INFO_PEER);
    mnl_nlmsg_put_extra_header(msg, sizeof(struct ifinfomsg));
    mnl_attr_put_strz(msg, IFLA_IFNAME, "b");
    mnl_attr_nest_end(msg, peer);
    mnl_attr_nest_end(msg, data);
    mnl_attr_nest_end(msg, info);
    change(msg);
}

static void add_address(const char *name, const char *text)
{
    struct ifaddrmsg *head;
    struct nlmsghdr *msg = begin(RTM_NEWADDR, NLM_F_CREATE, &head, sizeof(*head));

    head->ifa_family = AF_INET;
    head->ifa_prefixlen = 24;
    head->ifa_index = if_nametoindex(name);
    mnl_attr_put_u32(msg, IFA_LOCAL, inet_addr(text));
    mnl_attr_put_u32(msg, IFA_ADDRESS, inet_addr(text));
    change(msg);
}

static void add_route(const char *to, unsigned char len, const char *gateway)
{
    struct rtmsg *head;
    struct nlmsghdr *msg = begin(RTM_NEWROUTE, NLM_F_CREATE, &head, sizeof(*head));

    head->rtm_family = AF_INET;
    head->rtm_dst_len = len;
    head->rtm_table = RT_TABLE_MAIN;
    head->rtm_protocol = RTPROT_STATIC;
    head->rtm_type = RTN_UNICAST;
    mnl_attr_put_u32(msg, RTA_DST, inet_addr(to));
    mnl_attr_put_u32(msg, RTA_GATEWAY, inet_addr(gateway));
    change(msg);
}

/* a (192.0.2.1) - b, and a watch on the way to 198.51.100.7 by 192.0.2.9 */
static void setup(void)
{
    struct sockaddr_in peer = {.sin_family = AF_INET};
    struct tl_error error;

    /* A user namespace of its own is refused to a process with threads, such as this one. */
    if (unshare(CLONE_NEWNET) < 0)
        cr_skip_test("no network namespace (%s): run as root or under \"unshare -Urn\"",
                     strerror(errno));
    tl_netlink_init(&route, NETLINK_ROUTE);
    add_veth();
    set_link("a", true);
    set_link("b", true);
    add_address("a", "192.0.2.1");
    add_route("198.51.100.0", 24, "192.0.2.9");
    peer.sin_addr.s_addr = inet_addr("198.51.100.7");
    cr_assert_eq(tl_host_watch_create((const struct sockaddr *)&peer, &watch, &error), TL_OK, "%s",
                 error.text);
    while (tl_host_watch_drain(watch, events, 8) > 0)
        ; /* what setting up still echoes */
}

static void teardown(void)
{
    tl_host_watch_destroy(watch);
    tl_netlink_finish(&route);
}

/* Events of the next two seconds until one of that kind. */
static bool wait_for(enum tl_host_event_kind kind, struct tl_host_event *ret_event)
{
    struct pollfd pollfd = {.fd = tl_host_watch_fd(watch), .events = POLLIN};
    int64_t until = tl_now_ns() + 2 * TL_NS_PER_S;

    while (tl_now_ns() < until && poll(&pollfd, 1, 2000) == 1) {
        size_t count = tl_host_watch_drain(watch, events, 8);

        for (size_t i = 0; i < count; i++)
            if (events[i].kind == kind) {
                *ret_event = events[i];
                return true;
            }
    }
    return false;
}

Test(host_watch, a_pulled_link_and_its_return, .init = setup, .fini = teardown)
{
    int64_t before_ns = tl_now_ns();
    struct tl_host_event event;

    set_link("b", false);
    cr_assert(wait_for(TL_HOST_EVENT_LINK_DOWN, &event));
    cr_expect_eq(event.ifindex, (int)if_nametoindex("a"));
    cr_expect_geq(event.at_ns, before_ns);
    cr_expect_leq(event.at_ns, tl_now_ns());
    set_link("b", true);
    cr_assert(wait_for(TL_HOST_EVENT_LINK_UP, &event));
}

Test(host_watch, another_gateway_is_a_route_change, .init = setup, .fini = teardown)
{
    struct tl_host_event event;

    add_route("198.51.100.7", 32, "192.0.2.8");
    cr_assert(wait_for(TL_HOST_EVENT_ROUTE_CHANGE, &event));
    cr_expect_eq(event.ifindex, (int)if_nametoindex("a"));
}

Test(host_watch, losing_every_route_is_a_route_change, .init = setup, .fini = teardown)
{
    struct tl_host_event event;

    set_link("a", false);
    cr_assert(wait_for(TL_HOST_EVENT_ROUTE_CHANGE, &event));
    cr_expect_eq(event.ifindex, 0);
    set_link("a", true); /* comes up without its routes */
    cr_assert(wait_for(TL_HOST_EVENT_LINK_UP, &event), "still watched without a route");
}

Test(host_watch, routes_and_addresses_elsewhere_are_no_events, .init = setup, .fini = teardown)
{
    struct pollfd pollfd = {.fd = tl_host_watch_fd(watch), .events = POLLIN};

    add_route("203.0.113.0", 24, "192.0.2.7");
    add_address("b", "198.18.0.1");
    cr_assert_eq(poll(&pollfd, 1, 2000), 1, "the kernel told the watch");
    cr_expect_eq(tl_host_watch_drain(watch, events, 8), 0);
}

Test(host_watch, sleep_is_seen_once, .init = setup, .fini = teardown)
{
    watch->sleep_ns -= 5 * TL_NS_PER_S; /* as if it had been 5 s less when we began */
    cr_assert_eq(tl_host_watch_drain(watch, events, 8), 1);
    cr_expect_eq(events[0].kind, TL_HOST_EVENT_SUSPEND);
    cr_expect_float_eq((double)events[0].amount_ns, 5e9, 1e7);
    cr_expect_eq(tl_host_watch_drain(watch, events, 8), 0);
}

Test(host_watch, a_step_of_the_clock_has_its_size_and_sign, .init = setup, .fini = teardown)
{
    watch->realtime_offset_ns += 30 * TL_NS_PER_S;
    tl_watch_check_step(watch);
    cr_assert_eq(tl_host_watch_drain(watch, events, 8), 1);
    cr_expect_eq(events[0].kind, TL_HOST_EVENT_CLOCK_STEP);
    cr_expect_float_eq((double)events[0].amount_ns, -30e9, 1e7);
    tl_watch_check_step(watch);
    cr_expect_eq(tl_host_watch_drain(watch, events, 8), 0, "no step, no event");
}

Test(host_watch, a_flood_ends_in_one_overflow, .init = setup, .fini = teardown)
{
    size_t seen = 0, overflows = 0, count;

    for (unsigned i = 0; i < 2 * EVENTS_MAX; i++) {
        watch->realtime_offset_ns += TL_NS_PER_S;
        tl_watch_check_step(watch);
    }
    while ((count = tl_host_watch_drain(watch, events, 8)) > 0) {
        seen += count;
        for (size_t i = 0; i < count; i++)
            overflows += events[i].kind == TL_HOST_EVENT_OVERFLOW;
    }
    cr_expect_eq(seen, EVENTS_MAX);
    cr_expect_eq(overflows, 1);
}

Test(host_watch, an_address_family_without_routes_is_refused)
{
    struct sockaddr strange = {.sa_family = AF_UNIX};
    struct tl_host_watch *untouched = NULL;
    struct tl_error error;

    cr_expect_eq(tl_host_watch_create(&strange, &untouched, &error), TL_UNSUPPORTED);
    cr_expect_null(untouched);
    tl_host_watch_destroy(NULL);
}

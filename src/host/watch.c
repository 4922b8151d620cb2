/* Watches for what spoils a measurement.
 *
 * Three sources:
 *   timerfd with TFD_TIMER_CANCEL_ON_SET: read fails with ECANCELED when CLOCK_REALTIME
 *     was set (timerfd_create(2)); by how much, the offset between the clocks tells
 *   CLOCK_BOOTTIME less CLOCK_MONOTONIC: grows only while the machine sleeps
 *   rtnetlink groups for links, addresses and routes (rtnetlink(7)) */
#include "watch.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "tightlink/base/time.h"

const char *tl_host_event_text(enum tl_host_event_kind kind)
{
    static const char *const texts[] = {
#define TL_HOST_EVENT_TEXT(name, text) text,
        TL_HOST_EVENT_MAP(TL_HOST_EVENT_TEXT)
#undef TL_HOST_EVENT_TEXT
    };

    return (unsigned)kind < TL_HOST_EVENT_KINDS ? texts[kind] : "something changed";
}

static void add_event(struct tl_host_watch *watch, enum tl_host_event_kind kind, int64_t amount_ns,
                      int ifindex)
{
    size_t place;

    /* The last place is kept for saying that there was no more room. */
    if (watch->count == EVENTS_MAX)
        return;
    if (watch->count == EVENTS_MAX - 1)
        kind = TL_HOST_EVENT_OVERFLOW;
    place = (watch->first + watch->count++) % EVENTS_MAX;
    watch->events[place] = (struct tl_host_event){
        .kind = kind, .at_ns = tl_now_ns(), .amount_ns = amount_ns, .ifindex = ifindex};
}

/* Far enough ahead never to fire, so that only setting the clock wakes it. */
static bool arm_timer(int fd)
{
    struct itimerspec never = {.it_value.tv_sec = INT32_MAX};

    never.it_value.tv_sec += tl_realtime_ns() / TL_NS_PER_S;
    return timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) == 0;
}

/* How far one clock is ahead of another. They are read one after the other, so being
 * scheduled away in between would look like a lead: the least of three pairs counts. */
static int64_t ahead_ns(int64_t (*clock_ns)(void), int64_t (*other_ns)(void))
{
    int64_t least = INT64_MAX;

    for (unsigned i = 0; i < 3; i++) {
        int64_t other = other_ns(), ahead = clock_ns() - other;

        if (ahead < least)
            least = ahead;
    }
    return least;
}

/* Compare the clocks with what is remembered, and add an event when they parted. */
static void check_sleep(struct tl_host_watch *watch)
{
    int64_t slept_ns = ahead_ns(tl_boottime_ns, tl_now_ns) - watch->sleep_ns;

    if (slept_ns < TL_HOST_SUSPEND_MIN_NS)
        return;
    add_event(watch, TL_HOST_EVENT_SUSPEND, slept_ns, 0);
    watch->sleep_ns += slept_ns;
}

void tl_watch_check_step(struct tl_host_watch *watch)
{
    int64_t stepped_ns = ahead_ns(tl_realtime_ns, tl_boottime_ns) - watch->realtime_offset_ns;

    watch->realtime_offset_ns += stepped_ns;
    if (stepped_ns >= TL_HOST_STEP_MIN_NS || stepped_ns <= -TL_HOST_STEP_MIN_NS)
        add_event(watch, TL_HOST_EVENT_CLOCK_STEP, stepped_ns, 0);
}

static void check_clocks(struct tl_host_watch *watch)
{
    uint64_t expirations;

    check_sleep(watch);
    if (read(watch->timer_fd, &expirations, sizeof(expirations)) >= 0 || errno != ECANCELED)
        return;
    arm_timer(watch->timer_fd);
    tl_watch_check_step(watch);
}

static bool is_up(unsigned flags)
{
    return (flags & IFF_UP) && (flags & IFF_RUNNING);
}

static void take_link(struct tl_host_watch *watch, const struct nlmsghdr *msg)
{
    const struct ifinfomsg *head = mnl_nlmsg_get_payload(msg);
    bool up;

    if (mnl_nlmsg_get_payload_len(msg) < sizeof(*head) || head->ifi_index != watch->link_ifindex ||
        head->ifi_family != AF_UNSPEC) /* a bridge's port tells its own state */
        return;
    if (msg->nlmsg_type == RTM_DELLINK) {
        add_event(watch, TL_HOST_EVENT_LINK_GONE, 0, head->ifi_index);
        watch->link_up = false;
        watch->look_again = true;
        return;
    }
    up = is_up(head->ifi_flags);
    if (up != watch->link_up)
        add_event(watch, up ? TL_HOST_EVENT_LINK_UP : TL_HOST_EVENT_LINK_DOWN, 0, head->ifi_index);
    watch->link_up = up;
}

static int take_change(const struct nlmsghdr *msg, void *context)
{
    struct tl_host_watch *watch = context;

    switch (msg->nlmsg_type) {
    case RTM_NEWLINK:
    case RTM_DELLINK:
        take_link(watch, msg);
        break;
    case RTM_NEWADDR:
    case RTM_DELADDR:
    case RTM_NEWROUTE:
    case RTM_DELROUTE:
        watch->look_again = true;
        break;
    default:
        break;
    }
    return MNL_CB_OK;
}

static void read_changes(struct tl_host_watch *watch)
{
    _Alignas(struct nlmsghdr) char buf[TL_NETLINK_ANSWER_SIZE];
    int fd = mnl_socket_get_fd(watch->changes);

    for (;;) {
        ssize_t got = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == ENOBUFS) { /* the kernel dropped messages */
            add_event(watch, TL_HOST_EVENT_OVERFLOW, 0, 0);
            watch->look_again = true;
            continue;
        }
        if (got <= 0)
            return;
        mnl_cb_run(buf, (size_t)got, 0, 0, take_change, watch);
    }
}

/* Also learns whether the link is up: RTM_GETLINK through the audit's parser. */
static bool ask_link_up(struct tl_host_watch *watch, int ifindex)
{
    struct tl_host_settings settings;
    struct tl_link_context link = {.settings = &settings};

    tl_host_settings_init(&settings);
    return tl_netlink_ask_link(&watch->questions, ifindex, tl_link_parse, &link) ==
               TL_HOST_WHY_KNOWN &&
           is_up(link.flags);
}

static struct tl_route_way find_way(struct tl_host_watch *watch)
{
    struct tl_route_way way = {0};

    if (tl_route_ask(&watch->questions, (const struct sockaddr *)&watch->peer, NULL, &way) !=
        TL_HOST_WHY_KNOWN)
        way.ifindex = 0;
    return way;
}

static void look_again(struct tl_host_watch *watch)
{
    struct tl_route_way way = find_way(watch);
    bool same_hop = way.ifindex == watch->way.ifindex &&
                    way.has_gateway == watch->way.has_gateway &&
                    memcmp(way.gateway, watch->way.gateway, sizeof(way.gateway)) == 0;

    watch->look_again = false;
    if (!same_hop)
        add_event(watch, TL_HOST_EVENT_ROUTE_CHANGE, 0, way.ifindex);
    else if (memcmp(way.source, watch->way.source, sizeof(way.source)) != 0)
        add_event(watch, TL_HOST_EVENT_ADDRESS_CHANGE, 0, 0);
    watch->way = way;
    /* Without a route the last interface is still watched: it may come up again. */
    if (way.ifindex != 0 && way.ifindex != watch->link_ifindex) {
        watch->link_ifindex = way.ifindex;
        watch->link_up = ask_link_up(watch, way.ifindex);
    }
}

static enum tl_status copy_peer(struct tl_host_watch *watch, const struct sockaddr *peer,
                                struct tl_error *reterr)
{
    size_t len;

    if (peer->sa_family == AF_INET)
        len = sizeof(struct sockaddr_in);
    else if (peer->sa_family == AF_INET6)
        len = sizeof(struct sockaddr_in6);
    else
        return tl_error_set(reterr, TL_UNSUPPORTED, "address family %d has no routes to watch",
                            (int)peer->sa_family);
    memcpy(&watch->peer, peer, len);
    return TL_OK;
}

static bool add_to_epoll(struct tl_host_watch *watch, int fd)
{
    struct epoll_event readable = {.events = EPOLLIN};

    return epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, fd, &readable) == 0;
}

static enum tl_status open_sources(struct tl_host_watch *watch, struct tl_error *reterr)
{
    unsigned groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE |
                      RTMGRP_IPV6_ROUTE;

    watch->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    watch->timer_fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    watch->changes = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
    if (watch->epoll_fd < 0 || watch->timer_fd < 0 || !watch->changes ||
        mnl_socket_bind(watch->changes, groups, MNL_SOCKET_AUTOPID) < 0 ||
        !arm_timer(watch->timer_fd) || !add_to_epoll(watch, watch->timer_fd) ||
        !add_to_epoll(watch, mnl_socket_get_fd(watch->changes)))
        return tl_error_set(reterr, tl_status_from_errno(errno), "cannot watch clock and links: %s",
                            strerror(errno));
    tl_netlink_init(&watch->questions, NETLINK_ROUTE);
    if (!watch->questions.socket)
        return tl_error_set(reterr, TL_IO, "cannot ask for routes: %s",
                            tl_host_why_text(watch->questions.why));
    return TL_OK;
}

enum tl_status tl_host_watch_create(const struct sockaddr *peer, struct tl_host_watch **ret_watch,
                                    struct tl_error *reterr)
{
    struct tl_host_watch *watch = calloc(1, sizeof(*watch));
    enum tl_status status;

    if (!watch)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    watch->epoll_fd = watch->timer_fd = -1;
    status = copy_peer(watch, peer, reterr);
    if (status == TL_OK)
        status = open_sources(watch, reterr);
    if (status != TL_OK) {
        tl_host_watch_destroy(watch);
        return status;
    }
    watch->realtime_offset_ns = ahead_ns(tl_realtime_ns, tl_boottime_ns);
    watch->sleep_ns = ahead_ns(tl_boottime_ns, tl_now_ns);
    /* The groups are joined already: what changes from here on is seen. */
    watch->way = find_way(watch);
    watch->link_ifindex = watch->way.ifindex;
    watch->link_up = watch->link_ifindex != 0 && ask_link_up(watch, watch->link_ifindex);
    *ret_watch = watch;
    return TL_OK;
}

void tl_host_watch_destroy(struct tl_host_watch *watch)
{
    if (!watch)
        return;
    tl_netlink_finish(&watch->questions);
    if (watch->changes)
        mnl_socket_close(watch->changes);
    if (watch->timer_fd >= 0)
        close(watch->timer_fd);
    if (watch->epoll_fd >= 0)
        close(watch->epoll_fd);
    free(watch);
}

int tl_host_watch_fd(const struct tl_host_watch *watch)
{
    return watch->epoll_fd;
}

size_t tl_host_watch_drain(struct tl_host_watch *watch, struct tl_host_event *ret_events,
                           size_t max)
{
    size_t taken = 0;

    check_clocks(watch);
    read_changes(watch);
    if (watch->look_again)
        look_again(watch);
    for (; taken < max && watch->count > 0; taken++, watch->count--) {
        ret_events[taken] = watch->events[watch->first];
        watch->first = (watch->first + 1) % EVENTS_MAX;
    }
    return taken;
}

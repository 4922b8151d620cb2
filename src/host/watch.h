/* What a watch remembers, for watch.c and its test, which cannot make a machine sleep. */
#ifndef TL_HOST_WATCH_PRIVATE_H
#define TL_HOST_WATCH_PRIVATE_H

#include <stdbool.h>

#include "link.h"
#include "tightlink/host/watch.h"

/* Events kept between two drains. Anything more is told as one OVERFLOW. */
#define EVENTS_MAX 64

struct tl_host_watch {
    struct sockaddr_storage peer;
    int epoll_fd, timer_fd;
    struct mnl_socket *changes;  /* multicast */
    struct tl_netlink questions; /* for looking the way up again */
    struct tl_route_way way;     /* as last seen; ifindex 0: none */
    int link_ifindex;            /* whose link state is watched; 0: none yet */
    bool link_up;
    bool look_again;            /* a route or address changed */
    int64_t realtime_offset_ns; /* CLOCK_REALTIME less CLOCK_BOOTTIME */
    int64_t sleep_ns;           /* CLOCK_BOOTTIME less CLOCK_MONOTONIC */
    struct tl_host_event events[EVENTS_MAX];
    size_t first, count; /* a ring */
};

void tl_watch_check_step(struct tl_host_watch *watch);

#endif

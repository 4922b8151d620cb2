/* Watches for what spoils a measurement: the clock was set, the machine slept, the link
 * went down, the address or the route to the peer changed.
 *
 *   init -> [descriptor readable -> drain]* -> drain -> finish
 *
 * The owner waits on one descriptor among its own and drains when it is readable, and
 * once more at the end: a suspend is noticed by drain alone. Route messages of other
 * programs (a container starts, an address far away expires) are no events: after each
 * the way to the peer is looked up again, and only another way is an event. No privilege
 * is needed. One thread at a time; the network namespace is the one of the thread that
 * called init. */
#ifndef TL_HOST_WATCH_H
#define TL_HOST_WATCH_H

#include <net/if.h>
#include <stdint.h>
#include <sys/socket.h>

#include "tightlink/base/status.h"

/* name, sentence for people */
#define TL_HOST_EVENT_MAP(X)                                                                       \
    X(CLOCK_STEP, "the clock was set")                                                             \
    X(SUSPEND, "the machine slept")                                                                \
    X(LINK_DOWN, "the network link went down")                                                     \
    X(LINK_UP, "the network link came up")                                                         \
    X(LINK_GONE, "the network interface was removed")                                              \
    X(ADDRESS_CHANGE, "this machine's address changed")                                            \
    X(ROUTE_CHANGE, "the route to the other end changed")                                          \
    X(OVERFLOW, "so much changed at once that some changes were not seen")

enum tl_host_event_kind {
#define TL_HOST_EVENT_ENUM(name, text) TL_HOST_EVENT_##name,
    TL_HOST_EVENT_MAP(TL_HOST_EVENT_ENUM)
#undef TL_HOST_EVENT_ENUM
        TL_HOST_EVENT_KINDS
};

struct tl_host_event {
    enum tl_host_event_kind kind;
    int64_t at_ns;     /* CLOCK_MONOTONIC when it was noticed */
    int64_t amount_ns; /* CLOCK_STEP: forward, negative back; SUSPEND: how long; else 0 */
    int ifindex;       /* LINK_*, ROUTE_CHANGE (the new one, 0: no route any more); else 0 */
};

/* The sentence, never NULL. */
const char *tl_host_event_text(enum tl_host_event_kind kind);

/* Smaller steps of the clock are what NTP does all day; a longer pause between two
 * clocks that should run alike is sleep. */
#define TL_HOST_STEP_MIN_NS    INT64_C(1000000)
#define TL_HOST_SUSPEND_MIN_NS INT64_C(10000000)

struct tl_host_watch;

/* Watches the way to peer (copied). *ret_watch is owned by the caller. TL_IO, TL_DENIED
 * or TL_NOMEM; a peer without a route is watched too, until it gets one. */
enum tl_status tl_host_watch_create(const struct sockaddr *peer, struct tl_host_watch **ret_watch,
                                    struct tl_error *reterr) TL_WARN_UNUSED;
void tl_host_watch_destroy(struct tl_host_watch *watch); /* takes NULL */

/* For poll or epoll: readable when drain may have an event. Owned by the watch. */
int tl_host_watch_fd(const struct tl_host_watch *watch);

/* Moves up to max events to ret_events, oldest first, and returns their number; never
 * blocks. As long as it returns max there may be more. */
size_t tl_host_watch_drain(struct tl_host_watch *watch, struct tl_host_event *ret_events,
                           size_t max);

#endif

/* A session's test before it is granted. */
#include "turn.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include "address.h"
#include "keys.h"
#include "light.h"
#include "responder_private.h"
#include "share.h"
#include "tightlink/base/address.h"
#include "tightlink/base/time.h"

#define HANDOVER_NS TL_NS_PER_S /* between two tests, for the estimate of BUSY */

/* Whose share of the day a session's bytes are; holders of a key have none to keep to. */
static const struct in6_addr *sharer(const struct session *session)
{
    return session->secure ? NULL : &session->peer.sin6_addr;
}

static bool is_spent(const struct session *session)
{
    return quota_is_spent(&session->responder->quota, tl_boottime_ns(), sharer(session));
}

uint64_t turn_bytes_left(const struct session *session)
{
    return quota_left(&session->responder->quota, tl_boottime_ns(), sharer(session));
}

void turn_settle(struct session *session, uint64_t moved_bytes)
{
    quota_settle(&session->responder->quota, sharer(session), session->test.reserved_bytes,
                 moved_bytes);
    session->test.reserved_bytes = 0;
    session->responder->queue_dirty = true; /* somebody may wait for these bytes */
}

bool turn_may_answer(struct session *session, size_t bytes)
{
    struct quota *quota = &session->responder->quota;
    if (!quota_permits(quota, tl_boottime_ns(), sharer(session), bytes) ||
        !light_permits(session, bytes, false))
        return false;
    light_charge(session, bytes);
    quota_spend(quota, sharer(session), bytes);
    return true;
}

/* --- Asking --------------------------------------------------------------------------------- */

bool turn_is_idle(struct session *session)
{
    session->active_ns = session->heard_ns;
    if (!keys_demand(session))
        return false;
    if (session->state == SESSION_IDLE)
        return true;
    session_error(session, TL_WIRE_E_STATE, "a test was asked for before the last one ended");
    return false;
}

bool turn_may_load(struct session *session)
{
    struct quota *quota = &session->responder->quota;
    if (!is_spent(session))
        return true;
    session_error(session, TL_WIRE_E_QUOTA,
                  quota_is_spent(quota, tl_boottime_ns(), NULL)
                      ? "this responder's bytes of today are used up; ask its administrator, or "
                        "come again tomorrow"
                      : "your network has had its share of this responder's bytes of today; ask "
                        "its administrator, or come again tomorrow");
    return false;
}

void turn_reset(struct session *session, const struct test_ops *ops)
{
    struct session_test *test = &session->test;
    *test = (struct session_test){.ops = ops, .udp_done = {.fd = -1}};
    for (unsigned i = 0; i < TL_WIRE_STREAMS_MAX; i++)
        test->fds[i] = -1;
    for (unsigned i = 0; i < TEST_LANES; i++)
        test->lanes[i] = (struct test_lane){.done = {.fd = -1}, .session = session};
}

/* The interface that has the connection's own address; 0 where none has (all of these
 * share one turn). Loopback is an interface like any other. */
static unsigned interface_of(int fd)
{
    struct sockaddr_in6 own;
    socklen_t len = sizeof own;
    if (getsockname(fd, (struct sockaddr *)&own, &len) < 0)
        return 0;
    address_normalise(&own);
    if (tl_address_is_loopback(&own.sin6_addr))
        return if_nametoindex("lo");
    struct ifaddrs *list;
    if (getifaddrs(&list) < 0)
        return 0;
    unsigned index = 0;
    for (struct ifaddrs *entry = list; entry && !index; entry = entry->ifa_next) {
        if (!entry->ifa_addr)
            continue;
        struct sockaddr_in6 address = {.sin6_family = AF_UNSPEC};
        if (entry->ifa_addr->sa_family == AF_INET)
            memcpy(&address, entry->ifa_addr, sizeof(struct sockaddr_in));
        else if (entry->ifa_addr->sa_family == AF_INET6)
            memcpy(&address, entry->ifa_addr, sizeof address);
        address_normalise(&address);
        if (address.sin6_family == AF_INET6 &&
            IN6_ARE_ADDR_EQUAL(&address.sin6_addr, &own.sin6_addr))
            index = if_nametoindex(entry->ifa_name);
    }
    freeifaddrs(list);
    return index;
}

void turn_ask(struct session *session)
{
    session->test.interface = interface_of(session->watch.fd);
    session->test.queue_ticket = ++session->responder->tickets;
    session->state = SESSION_QUEUED;
    session->responder->queue_dirty = true;
}

/* --- Granting ------------------------------------------------------------------------------- */

static void tell_place(struct session *session, uint16_t place, int64_t wait_ns)
{
    if (session->test.told_place == place)
        return;
    session->test.told_place = place;
    uint64_t wait_ms = (uint64_t)(wait_ns / TL_NS_PER_MS) + 1;
    struct tl_wire_busy busy = {
        .place = place, .wait_ms = (uint32_t)tl_limit_clamp(TL_LIMIT_QUEUE_WAIT_MS, wait_ms)};
    uint8_t frame[TL_WIRE_FRAME_MAX];
    session_send(session, frame, tl_wire_encode_busy(&busy, frame));
}

/* How long a test that holds its interface may still hold it. */
static int64_t remaining_ns(const struct session *session, int64_t now_ns)
{
    int64_t granted_ns = session->test.granted.duration_ms * TL_NS_PER_MS;
    if (session->state == SESSION_READY || session->state == SESSION_PREPARING)
        return granted_ns + HANDOVER_NS;
    int64_t left_ns = session->test.start_ns + granted_ns - now_ns;
    return (left_ns > 0 ? left_ns : 0) + HANDOVER_NS;
}

/* Until the first of those that have reserved something gives back what it did not move. */
static int64_t reservation_ns(const struct tl_responder *responder, int64_t now_ns)
{
    int64_t wait_ns = session_limit_ns(TL_LIMIT_QUEUE_WAIT_MS);
    for (uint32_t i = 0; i < responder->sessions.count; i++) {
        const struct session *other = responder->sessions.list[i];
        if (other->test.reserved_bytes > 0 && remaining_ns(other, now_ns) < wait_ns)
            wait_ns = remaining_ns(other, now_ns);
    }
    return wait_ns;
}

/* It keeps its turn until wait_ns are over; the queue is looked at again with each tick. */
static void hold_back(struct session *session, int64_t wait_ns)
{
    session->state = SESSION_QUEUED;
    session->deadline_ns = INT64_MAX;
    session->test.held_back = true;
    tell_place(session, 1, wait_ns);
}

void turn_ready(struct session *session)
{
    struct session_test *test = &session->test;
    int64_t now_ns = tl_now_ns(), rest_ns = session->responder->bursts_ns - now_ns;
    uint64_t left = turn_bytes_left(session);
    test->held_back = false;
    if (!keys_demand(session)) /* taken away while it waited */
        return;
    if (left == 0 && !is_spent(session)) {
        /* A test over another interface has reserved what is left. */
        hold_back(session, reservation_ns(session->responder, now_ns));
        return;
    }
    if (test->burst_ns > 0 && rest_ns > 0) {
        hold_back(session, rest_ns);
        return;
    }
    if (left == 0) {
        session->state = SESSION_IDLE;
        test->ops->forget(session);
        (void)turn_may_load(session); /* says why not */
        return;
    }
    if (test->granted.max_bytes > left)
        test->granted.max_bytes = left;
    test->reserved_bytes = quota_reserve(&session->responder->quota, test->granted.max_bytes);
    test->granted.test_id = ++session->last_test_id;
    session->state = SESSION_READY;
    session->deadline_ns = tl_now_ns() + session_limit_ns(TL_LIMIT_STATE_MS);
    uint8_t frame[TL_WIRE_FRAME_MAX];
    session_send(session, frame, tl_wire_encode_ready(&test->granted, frame));
}

static bool holds_interface(const struct session *session)
{
    return (session->state >= SESSION_PREPARING && session->state <= SESSION_ENDING) ||
           session->test.running;
}

/* Over the same interface, or for the one disk. */
static bool compete(const struct session_test *a, const struct session_test *b)
{
    return a->interface == b->interface || (a->with_disk && b->with_disk);
}

/* How many of its own neighbours stand before it: the first of each network has its turn before
 * the second of any, so that who sends many waits behind himself. */
static unsigned rank_of(const struct session *session)
{
    const struct tl_responder *responder = session->responder;
    unsigned rank = 0;
    for (uint32_t i = 0; i < responder->sessions.count; i++) {
        const struct session *other = responder->sessions.list[i];
        rank += other->state == SESSION_QUEUED &&
                other->test.queue_ticket < session->test.queue_ticket &&
                compete(&other->test, &session->test) &&
                share_same_neighbours(&other->peer.sin6_addr, &session->peer.sin6_addr);
    }
    return rank;
}

static bool stands_before(const struct session *other, const struct session *session)
{
    unsigned a = rank_of(other), b = rank_of(session);
    return a != b ? a < b : other->test.queue_ticket < session->test.queue_ticket;
}

static void serve_one(struct session *session, int64_t now_ns)
{
    const struct tl_responder *responder = session->responder;
    uint16_t place = 1;
    int64_t wait_ns = 0;
    bool held = false;
    for (uint32_t i = 0; i < responder->sessions.count; i++) {
        const struct session *other = responder->sessions.list[i];
        if (other == session || !compete(&other->test, &session->test))
            continue;
        if (holds_interface(other)) {
            held = true;
            wait_ns += remaining_ns(other, now_ns);
        } else if (other->state == SESSION_QUEUED && stands_before(other, session)) {
            place++;
            wait_ns += other->test.granted.duration_ms * TL_NS_PER_MS + HANDOVER_NS;
        }
    }
    if (held || place > 1)
        tell_place(session, place, wait_ns);
    else
        session->test.ops->begin(session);
}

void turns_serve(struct tl_responder *responder)
{
    int64_t now_ns = tl_now_ns();
    /* A grant or a full output changes the queue again: until it is quiet. Each round
     * grants or ends at least one session, so that there are few. */
    do {
        responder->queue_dirty = false;
        for (uint32_t i = 0; i < responder->sessions.count; i++)
            if (responder->sessions.list[i]->state == SESSION_QUEUED)
                serve_one(responder->sessions.list[i], now_ns);
    } while (responder->queue_dirty);
}

/* A session's test before it is granted: clamped, queued behind others of its interface,
 * counted against the quota. What comes after is in session_test.c. */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "responder_private.h"
#include "tightlink/base/time.h"

#define QUOTA_DAY_NS (24 * 3600 * TL_NS_PER_S)
#define HANDOVER_NS  TL_NS_PER_S /* between two tests, for the estimate of BUSY */

static bool holds_interface(const struct session *session)
{
    const struct session_test *test = &session->test;
    return session->state == SESSION_PREPARING || session->state == SESSION_READY ||
           session->state == SESSION_RUNNING || session->state == SESSION_ENDING ||
           test_has_streams(test) || (test->udp && session->state > SESSION_QUEUED);
}

/* --- Quota ------------------------------------------------------------------- */

uint64_t quota_left(struct tl_responder *responder)
{
    if (responder->options.daily_quota_bytes == 0)
        return UINT64_MAX;
    int64_t now_ns = tl_boottime_ns();
    if (responder->quota_day_ns == 0)
        responder->quota_day_ns = now_ns;
    if (now_ns - responder->quota_day_ns >= QUOTA_DAY_NS) {
        responder->quota_day_ns = now_ns;
        responder->quota_used_bytes = 0;
        /* Tests that run over midnight count for the new day. */
        for (uint32_t i = 0; i < responder->session_count; i++)
            responder->quota_used_bytes += responder->sessions[i]->test.reserved_bytes;
    }
    uint64_t all = responder->options.daily_quota_bytes;
    return responder->quota_used_bytes < all ? all - responder->quota_used_bytes : 0;
}

void quota_settle(struct session *session, uint64_t moved)
{
    struct tl_responder *responder = session->responder;
    uint64_t reserved = session->test.reserved_bytes;
    responder->quota_used_bytes -=
        reserved < responder->quota_used_bytes ? reserved : responder->quota_used_bytes;
    responder->quota_used_bytes += moved;
    session->test.reserved_bytes = 0;
}

/* --- Asking and queueing --------------------------------------------------------- */

static bool is_loopback(const struct in6_addr *address)
{
    return IN6_IS_ADDR_LOOPBACK(address) ||
           (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127);
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
    if (is_loopback(&own.sin6_addr))
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

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Every number from outside passes limits.h here, and then the administrator's. */
static void clamp_test(struct session *session)
{
    const struct tl_responder_options *options = &session->responder->options;
    const struct tl_wire_test_tcp *asked = &session->test.asked;
    struct tl_wire_ready *granted = &session->test.granted;
    uint64_t duration_ms = (uint64_t)tl_limit_clamp(TL_LIMIT_DURATION_MS, asked->duration_ms);
    granted->duration_ms = (uint32_t)least(duration_ms, options->max_seconds * 1000);
    uint64_t directions = asked->direction == TL_WIRE_BOTH ? 2 : 1;
    uint64_t most = options->max_streams / directions;
    if (session->test.kind == TEST_OF_FILE)
        most = least(most, (uint64_t)tl_limit_row(TL_LIMIT_DISK_STREAMS)->max);
    granted->streams =
        (uint16_t)least((uint64_t)tl_limit_clamp(TL_LIMIT_STREAMS, asked->streams), most);
    session->test.connections = (unsigned)(granted->streams * directions);
    granted->sample_interval_us =
        (uint32_t)tl_limit_clamp(TL_LIMIT_SAMPLE_INTERVAL_US, asked->sample_interval_us);
    granted->pacing_bps = (uint64_t)tl_limit_clamp(TL_LIMIT_PACING_BPS, asked->pacing_bps);
    granted->max_bytes = (uint64_t)tl_limit_clamp(TL_LIMIT_TEST_BYTES, asked->max_bytes);
    uint64_t cap = options->rate_cap_bps;
    if (cap) {
        /* Pacing holds our own sending; the bytes hold what the client sends. */
        uint64_t share = cap / directions;
        granted->pacing_bps = granted->pacing_bps ? least(granted->pacing_bps, share) : share;
        uint64_t bytes = (uint64_t)((double)cap / 8 * granted->duration_ms / 1000);
        granted->max_bytes = least(granted->max_bytes, bytes ? bytes : 1);
    }
}

/* A name that this host refuses is told now, with the list, and not after the dialling. The
 * session's own socket shows what the host (or the route to this peer) would take: it is asked
 * to try the name, and gets its own back where that is permitted. */
static bool check_congestion(struct session *session)
{
    struct tl_wire_ready *granted = &session->test.granted;
    const char *name = session->test.asked.congestion;
    struct tl_stream_options own = {0}, options = {0};
    struct tl_error error = {0};
    if (tl_stream_congestion(session->watch.fd, own.congestion) != TL_OK)
        return false;
    memcpy(granted->congestion, name[0] ? name : own.congestion, sizeof granted->congestion);
    if (!name[0])
        return true;
    memcpy(options.congestion, name, sizeof options.congestion);
    enum tl_status status = tl_stream_options_apply(session->watch.fd, &options, &error);
    if (status == TL_OK && tl_stream_options_apply(session->watch.fd, &own, NULL) != TL_OK)
        responder_log(session->responder, "a control connection keeps %s", name);
    else if (status != TL_OK)
        session_error(session, TL_WIRE_E_CONGESTION, "at the responder: %s", error.text);
    return status == TL_OK;
}

void test_reset(struct session *session, enum test_kind kind)
{
    struct session_test *test = &session->test;
    *test = (struct session_test){.kind = kind};
    for (unsigned i = 0; i < TL_WIRE_STREAMS_MAX; i++)
        test->fds[i] = -1;
    for (unsigned i = 0; i < TEST_LANES; i++)
        test->lanes[i] = (struct test_lane){.done = {.fd = -1}, .session = session};
}

void test_enqueue(struct session *session)
{
    session->test.interface = interface_of(session->watch.fd);
    session->test.queue_ticket = ++session->responder->tickets;
    session->state = SESSION_QUEUED;
    session->responder->queue_dirty = true;
}

/* What is refused whatever the settings; the client is told. */
static bool may_ask(struct session *session)
{
    if (quota_left(session->responder) > 0)
        return true;
    session_error(session, TL_WIRE_E_QUOTA,
                  "this responder's bytes of today are used up; ask its administrator, or "
                  "come again tomorrow");
    return false;
}

static void take_ask(struct session *session, enum test_kind kind,
                     const struct tl_wire_test_tcp *asked)
{
    test_reset(session, kind);
    session->test.asked = *asked;
    clamp_test(session);
}

void test_ask(struct session *session, const struct tl_wire_test_tcp *asked)
{
    session->active_ns = session->heard_ns;
    if (asked->direction == TL_WIRE_BOTH && session->responder->options.max_streams < 2) {
        session_error(session, TL_WIRE_E_REFUSED,
                      "this responder gives one stream a test, and both ways need two: ask for "
                      "one direction after the other");
        return;
    }
    if (!may_ask(session))
        return;
    take_ask(session, TEST_OF_TCP, asked);
    if (check_congestion(session))
        test_enqueue(session);
}

void test_ask_file(struct session *session, const struct tl_wire_test_file *asked)
{
    bool far_disk = asked->flags & TL_WIRE_FILE_DISK;
    session->active_ns = session->heard_ns;
    if (asked->tcp.direction == TL_WIRE_BOTH) {
        session_error(session, TL_WIRE_E_REFUSED, "a file goes one way in a test");
        return;
    }
    if (!may_ask(session) || (far_disk && !session_disk_is_open(session)))
        return;
    take_ask(session, TEST_OF_FILE, &asked->tcp);
    session->test.far_disk = far_disk;
    session->test.disk = (struct tl_wire_test_disk){
        .threads = (uint8_t)tl_limit_clamp(TL_LIMIT_DISK_THREADS, asked->threads),
        .duration_ms = (uint32_t)tl_limit_row(TL_LIMIT_DISK_MS)->standard};
    if (check_congestion(session))
        test_enqueue(session);
}

void test_ready(struct session *session)
{
    struct session_test *test = &session->test;
    uint64_t left = quota_left(session->responder);
    if (left == 0) {
        session->state = SESSION_IDLE;
        udp_test_forget(session);
        session_error(session, TL_WIRE_E_QUOTA, "this responder's bytes of today are used up");
        return;
    }
    if (left != UINT64_MAX) {
        test->granted.max_bytes = least(test->granted.max_bytes, left);
        test->reserved_bytes = test->granted.max_bytes;
        session->responder->quota_used_bytes += test->reserved_bytes;
    }
    test->granted.test_id = ++session->last_test_id;
    session->state = SESSION_READY;
    session->deadline_ns = tl_now_ns() + tl_limit_row(TL_LIMIT_STATE_MS)->standard * TL_NS_PER_MS;
    uint8_t frame[TL_WIRE_FRAME_MAX];
    session_send(session, frame, tl_wire_encode_ready(&test->granted, frame));
}

static void grant(struct session *session)
{
    if (session->test.kind == TEST_OF_DISK || session->test.far_disk)
        session_disk_begin(session);
    else
        test_ready(session);
}

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

/* Over the same interface, or for the one disk. */
static bool compete(const struct session_test *a, const struct session_test *b)
{
    bool disk_a = a->kind == TEST_OF_DISK || a->far_disk;
    bool disk_b = b->kind == TEST_OF_DISK || b->far_disk;
    return a->interface == b->interface || (disk_a && disk_b);
}

static void serve_one(struct session *session, int64_t now_ns)
{
    const struct tl_responder *responder = session->responder;
    uint16_t place = 1;
    int64_t wait_ns = 0;
    bool held = false;
    for (uint32_t i = 0; i < responder->session_count; i++) {
        const struct session *other = responder->sessions[i];
        if (other == session || !compete(&other->test, &session->test))
            continue;
        if (holds_interface(other)) {
            held = true;
            wait_ns += remaining_ns(other, now_ns);
        } else if (other->state == SESSION_QUEUED &&
                   other->test.queue_ticket < session->test.queue_ticket) {
            place++;
            wait_ns += other->test.granted.duration_ms * TL_NS_PER_MS + HANDOVER_NS;
        }
    }
    if (held || place > 1)
        tell_place(session, place, wait_ns);
    else
        grant(session);
}

void queue_serve(struct tl_responder *responder)
{
    int64_t now_ns = tl_now_ns();
    /* A grant or a full output changes the queue again: until it is quiet. Each round
     * grants or ends at least one session, so that there are few. */
    do {
        responder->queue_dirty = false;
        for (uint32_t i = 0; i < responder->session_count; i++)
            if (responder->sessions[i]->state == SESSION_QUEUED)
                serve_one(responder->sessions[i], now_ns);
    } while (responder->queue_dirty);
}

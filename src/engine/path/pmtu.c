/* The path MTU search on a real path: both directions at once, through one socket.
 *
 * Upwards a probe has the size and its answer is small; downwards a small probe asks the
 * responder for an answer of the size. What a router reports comes by the error queue, ours or
 * the responder's. */
#include "tightlink/engine/pmtu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "path_socket.h"
#include "tightlink/base/time.h"

#define TTL           64 /* what arrives tells how many routers there were */
#define PROBES_MAX    2048
#define PACE_BPS      8e6 /* a search is no load: 12 packets of 1500 bytes in 18 ms */
#define COPY_MIN_NS   (10 * TL_NS_PER_MS)
#define COPY_MAX_NS   (60 * TL_NS_PER_MS)
#define SETTLE_MIN_NS (120 * TL_NS_PER_MS) /* beyond the round trip, for queues and slow ends */
#define LOCATE_NS     (150 * TL_NS_PER_MS) /* routers answer at leisure */
#define SEARCH_NS     (6 * TL_NS_PER_S)    /* and 12 round trips: the end, whatever was found */
#define HOPS_MAX      30
#define CLASS_COPIES  3

enum purpose { SIZE_UP, SIZE_DOWN, CLASS_EF, CLASS_ECT, LOCATE_UP, LOCATE_DOWN };

struct sent {
    enum purpose purpose;
    int bytes;  /* of the packet that is looked at */
    int hop;    /* LOCATE: where it dies */
    bool large; /* LOCATE: of a size that vanishes */
};

/* What is known of the hops of one direction: which answer to packets of which size. */
struct reach {
    bool small[HOPS_MAX + 1], large[HOPS_MAX + 1];
};

struct run {
    struct path_socket socket;
    struct tl_pmtu_search search[2]; /* up, down */
    struct tl_pmtu_way *way[2];
    bool told[2]; /* a router reported what is of full size, perhaps without a number */
    struct reach reach[2];
    struct sent sent[PROBES_MAX];
    uint32_t sent_count;
    int64_t rtt_ns, next_ns, active_ns, end_ns;
    int64_t classes_ns; /* until then answers of traffic classes may come */
};

/* --- What comes back ----------------------------------------------------------------------- */

static void take_report(struct run *run, int direction, const struct sent *sent, uint32_t mtu_bytes,
                        const void *address)
{
    int full = run->search[direction].max_bytes, bytes = sent ? sent->bytes : full;
    /* A switch lets some bytes more than its MTU through, so that a router behind it sees and
     * reports what is a little too long; real traffic is of full size, and dies unreported. */
    run->told[direction] |= bytes == full;
    int before = run->search[direction].reported_bytes;
    if (mtu_bytes <= INT32_MAX)
        tl_pmtu_search_reported(&run->search[direction], bytes, (int)mtu_bytes);
    if (run->search[direction].reported_bytes != before || before == 0)
        memcpy(&run->way[direction]->reporter, address, sizeof(struct in6_addr));
}

static void take_answer(struct run *run, const struct path_event *event, const struct sent *sent)
{
    const struct tl_wire_udp_path_answer *answer = &event->answer;
    int came_up = answer->probe_bytes + run->socket.header_bytes;
    if (answer->ttl_known && answer->probe_ttl <= TTL)
        run->way[0]->hops_count = TTL - answer->probe_ttl + 1;
    if (event->ttl > 0 && event->ttl <= TTL)
        run->way[1]->hops_count = TTL - event->ttl + 1;
    if (sent->purpose == SIZE_UP && came_up == sent->bytes)
        tl_pmtu_search_passed(&run->search[0], sent->bytes);
    else if (sent->purpose == SIZE_DOWN && event->packet_bytes == sent->bytes)
        tl_pmtu_search_passed(&run->search[1], sent->bytes);
    if (sent->purpose == CLASS_EF) {
        run->way[0]->class_known |= answer->class_known;
        run->way[0]->class_received = answer->probe_class & 0xfc;
        run->way[1]->class_known |= event->traffic_class >= 0;
        run->way[1]->class_received = (uint8_t)(event->traffic_class & 0xfc);
    } else if (sent->purpose == CLASS_ECT) {
        run->way[0]->ecn_known |= answer->class_known;
        run->way[0]->ecn_received = answer->probe_class & 3;
        run->way[1]->ecn_known |= event->traffic_class >= 0;
        run->way[1]->ecn_received = (uint8_t)(event->traffic_class & 3);
    }
}

static void mark_hop(struct run *run, int direction, const struct sent *sent)
{
    struct reach *reach = &run->reach[direction];
    if (sent->large)
        reach->large[sent->hop] = true;
    else
        reach->small[sent->hop] = true;
}

/* A router's words about what we sent. One that quotes too little to tell the probe is still
 * heard for "too big": only probes of this search can have been that. */
static void take_router(struct run *run, const struct path_event *event, const struct sent *sent)
{
    const struct path_error *error = &event->error;
    if (error->too_big && (!sent || sent->purpose == SIZE_UP || sent->purpose == LOCATE_UP))
        take_report(run, 0, sent, error->mtu_bytes, &error->offender);
    else if (error->time_exceeded && sent && sent->purpose == LOCATE_UP)
        mark_hop(run, 0, sent);
}

/* And about what the responder sent. ICMP types: 3/4 and 11 of RFC 792, 2 and 3 of RFC 4443. */
static void take_far_router(struct run *run, const struct path_event *event,
                            const struct sent *sent)
{
    const struct tl_wire_udp_path_report *report = &event->report;
    bool v6 = run->socket.header_bytes == 48;
    bool too_big = v6 ? report->icmp_type == 2 : report->icmp_type == 3 && report->icmp_code == 4;
    bool exceeded = report->icmp_type == (v6 ? 3 : 11);
    if (sent->purpose != SIZE_DOWN && sent->purpose != LOCATE_DOWN)
        return;
    if (report->kind == TL_WIRE_UDP_REPORT_LOCAL)
        tl_pmtu_search_too_long(&run->search[1], sent->bytes);
    else if (too_big)
        take_report(run, 1, sent, report->mtu_bytes, report->address);
    else if (exceeded && sent->purpose == LOCATE_DOWN)
        mark_hop(run, 1, sent);
}

static void take_event(struct run *run, const struct path_event *event)
{
    const struct sent *sent = NULL;
    if (event->matched && event->sequence < run->sent_count)
        sent = &run->sent[event->sequence];
    run->active_ns = event->at_ns;
    if (event->kind == PATH_ROUTER)
        take_router(run, event, sent);
    else if (sent && event->kind == PATH_ANSWER)
        take_answer(run, event, sent);
    else if (sent && event->kind == PATH_REPORT)
        take_far_router(run, event, sent);
}

/* Takes events until until_ns. */
static enum tl_status listen_until(struct run *run, int64_t until_ns, struct tl_error *reterr)
{
    for (;;) {
        struct path_event event;
        enum tl_status status = path_socket_wait(&run->socket, until_ns, &event, reterr);
        if (status != TL_OK || event.kind == PATH_NOTHING)
            return status;
        take_event(run, &event);
    }
}

/* --- What goes out ------------------------------------------------------------------------- */

/* Sends one probe in its turn. */
static enum tl_status send_probe(struct run *run, const struct sent *sent, struct path_probe *probe,
                                 struct tl_error *reterr)
{
    if (run->sent_count == PROBES_MAX)
        return TL_OK;
    enum tl_status status = listen_until(run, run->next_ns, reterr);
    if (status != TL_OK)
        return status;
    probe->sequence = run->sent_count;
    run->sent[run->sent_count++] = *sent;
    if (path_socket_send(&run->socket, probe) == EMSGSIZE && sent->purpose == SIZE_UP)
        tl_pmtu_search_too_long(&run->search[0], sent->bytes);
    int larger =
        probe->packet_bytes > probe->answer_bytes ? probe->packet_bytes : probe->answer_bytes;
    run->next_ns = tl_now_ns() + (int64_t)((double)larger * 8e9 / PACE_BPS);
    return TL_OK;
}

static enum tl_status send_size(struct run *run, int direction, int bytes, struct tl_error *reterr)
{
    struct sent sent = {.purpose = direction ? SIZE_DOWN : SIZE_UP, .bytes = bytes};
    struct path_probe probe = {.packet_bytes = direction ? 0 : bytes,
                               .answer_bytes = direction ? bytes : 0,
                               .ttl = TTL,
                               .answer_ttl = TTL};
    return send_probe(run, &sent, &probe, reterr);
}

static enum tl_status send_class(struct run *run, enum purpose purpose, uint8_t traffic_class,
                                 struct tl_error *reterr)
{
    struct sent sent = {.purpose = purpose};
    struct path_probe probe = {.ttl = TTL,
                               .answer_ttl = TTL,
                               .traffic_class = traffic_class,
                               .answer_class = traffic_class};
    return send_probe(run, &sent, &probe, reterr);
}

/* --- Search -------------------------------------------------------------------------------- */

struct round {
    size_t count[2];
    int sizes[2][TL_PMTU_ROUND_MAX];
};

static enum tl_status send_copy(struct run *run, const struct round *round, int copy,
                                struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    for (size_t i = 0; i < TL_PMTU_ROUND_MAX; i++)
        for (int d = 0; d < 2 && status == TL_OK; d++)
            if (i < round->count[d] &&
                (copy == 0 || tl_pmtu_search_wants(&run->search[d], round->sizes[d][i])))
                status = send_size(run, d, round->sizes[d][i], reterr);
    return status;
}

static bool is_settled(const struct run *run)
{
    return tl_pmtu_search_is_settled(&run->search[0]) && tl_pmtu_search_is_settled(&run->search[1]);
}

/* Until nothing can change any more, or nothing has come for a round trip and some. A slow link
 * hands its answers over one by one: each one prolongs the wait. */
static enum tl_status await_round(struct run *run, struct tl_error *reterr)
{
    int64_t patience_ns = run->rtt_ns + run->rtt_ns / 2;
    if (patience_ns < run->rtt_ns + SETTLE_MIN_NS)
        patience_ns = run->rtt_ns + SETTLE_MIN_NS;
    run->active_ns = tl_now_ns();
    while (!is_settled(run)) {
        struct path_event event;
        int64_t until_ns = run->active_ns + patience_ns;
        if (until_ns > run->end_ns)
            until_ns = run->end_ns;
        enum tl_status status = path_socket_wait(&run->socket, until_ns, &event, reterr);
        if (status != TL_OK || event.kind == PATH_NOTHING)
            return status;
        take_event(run, &event);
    }
    return TL_OK;
}

static enum tl_status search_sizes(struct run *run, struct tl_error *reterr)
{
    int64_t gap_ns = run->rtt_ns + run->rtt_ns / 4;
    gap_ns = gap_ns < COPY_MIN_NS ? COPY_MIN_NS : gap_ns > COPY_MAX_NS ? COPY_MAX_NS : gap_ns;
    enum tl_status status = TL_OK;
    while (status == TL_OK && tl_now_ns() < run->end_ns) {
        struct round round;
        for (int d = 0; d < 2; d++)
            round.count[d] = tl_pmtu_search_round(&run->search[d], round.sizes[d]);
        if (round.count[0] + round.count[1] == 0)
            return TL_OK;
        for (int copy = 0; copy < TL_PMTU_TRIES && status == TL_OK; copy++) {
            status = send_copy(run, &round, copy, reterr);
            bool last = copy == TL_PMTU_TRIES - 1;
            if (status == TL_OK && !last && !is_settled(run))
                status = listen_until(run, tl_now_ns() + gap_ns, reterr);
        }
        if (status == TL_OK)
            status = await_round(run, reterr);
        if (status == TL_OK)
            for (int d = 0; d < 2; d++)
                tl_pmtu_search_round_over(&run->search[d]);
    }
    return status;
}

/* --- Traffic class ------------------------------------------------------------------------- */

/* They go out with the first sizes, so that their answers come in the same round trip. */
static enum tl_status send_classes(struct run *run, struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    for (int i = 0; i < CLASS_COPIES && status == TL_OK; i++) {
        status = send_class(run, CLASS_EF, TL_PMTU_CLASS, reterr);
        if (status == TL_OK)
            status = send_class(run, CLASS_ECT, TL_PMTU_ECT0, reterr);
    }
    run->classes_ns = tl_now_ns() + run->rtt_ns + SETTLE_MIN_NS;
    return status;
}

static enum tl_status await_classes(struct run *run, struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    while (status == TL_OK && !(run->way[1]->class_known && run->way[1]->ecn_known)) {
        struct path_event event;
        status = path_socket_wait(&run->socket, run->classes_ns, &event, reterr);
        if (status != TL_OK || event.kind == PATH_NOTHING)
            break;
        take_event(run, &event);
    }
    return status;
}

/* --- Where large packets vanish -------------------------------------------------------------- */

static enum tl_status send_locate(struct run *run, int direction, int hop, bool large,
                                  struct tl_error *reterr)
{
    const struct tl_pmtu_way *way = run->way[direction];
    int full = run->told[direction] && way->reported_bytes ? way->reported_bytes : way->tried_bytes;
    int bytes = large ? full : 0;
    struct sent sent = {
        .purpose = direction ? LOCATE_DOWN : LOCATE_UP, .bytes = bytes, .hop = hop, .large = large};
    struct path_probe probe = {.packet_bytes = direction ? 0 : bytes,
                               .answer_bytes = direction ? bytes : 0,
                               .ttl = direction ? TTL : (uint8_t)hop,
                               .answer_ttl = direction ? (uint8_t)hop : TTL,
                               .silent = direction == 0};
    return send_probe(run, &sent, &probe, reterr);
}

/* Large packets that die at each router in turn, and small ones behind them: a router that
 * answers the small one had not run out of permission to answer the large ones. */
static enum tl_status send_hops(struct run *run, int direction, struct tl_error *reterr)
{
    int hops = run->way[direction]->hops_count - 1;
    enum tl_status status = TL_OK;
    for (int copy = 0; copy < 3; copy++)
        for (int hop = 1; hop <= hops && hop <= HOPS_MAX && status == TL_OK; hop++)
            if (!run->reach[direction].large[hop])
                status = send_locate(run, direction, hop, copy < 2, reterr);
    return status;
}

static void settle_hole(struct run *run, int direction)
{
    struct tl_pmtu_way *way = run->way[direction];
    const struct reach *reach = &run->reach[direction];
    way->hole_first_hop = 0;
    way->hole_last_hop = way->hops_count > 0 ? way->hops_count : HOPS_MAX;
    for (int hop = 1; hop <= HOPS_MAX && hop < way->hops_count; hop++)
        if (reach->large[hop])
            way->hole_first_hop = hop;
    for (int hop = way->hole_last_hop - 1; hop > way->hole_first_hop; hop--)
        if (hop <= HOPS_MAX && reach->small[hop])
            way->hole_last_hop = hop;
}

static bool has_hole(const struct run *run, int direction)
{
    return run->way[direction]->black_hole && run->way[direction]->hops_count > 0;
}

static enum tl_status locate_holes(struct run *run, struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    bool routers = false;
    for (int d = 0; d < 2 && status == TL_OK; d++) {
        if (!has_hole(run, d))
            continue;
        status = send_hops(run, d, reterr);
        routers |= run->way[d]->hops_count > 1;
    }
    if (status == TL_OK && routers)
        status = listen_until(run, tl_now_ns() + run->rtt_ns + LOCATE_NS, reterr);
    for (int d = 0; d < 2 && status == TL_OK; d++)
        if (has_hole(run, d))
            settle_hole(run, d);
    return status;
}

/* --- The whole ------------------------------------------------------------------------------ */

static void settle_way(struct run *run, int direction)
{
    const struct tl_pmtu_search *search = &run->search[direction];
    struct tl_pmtu_way *way = run->way[direction];
    way->mtu_bytes = search->passed_bytes;
    way->tried_bytes = search->max_bytes;
    way->failed_bytes = search->failed_bytes > search->max_bytes ? 0 : search->failed_bytes;
    way->reported_bytes = search->reported_bytes;
    bool explained = run->told[direction] && search->passed_bytes >= search->reported_bytes;
    /* Only a border that is known is a finding: a search that was cut short is not. */
    way->black_hole =
        tl_pmtu_search_is_over(search) && way->failed_bytes > 0 && way->mtu_bytes > 0 && !explained;
}

static int clamp_max(int bytes)
{
    return bytes <= 0 ? 1500 : bytes > PATH_PACKET_MAX - 20 ? PATH_PACKET_MAX - 20 : bytes;
}

static enum tl_status run_all(struct run *run, struct tl_error *reterr)
{
    enum tl_status status = send_classes(run, reterr);
    if (status == TL_OK)
        status = search_sizes(run, reterr);
    for (int d = 0; d < 2; d++)
        settle_way(run, d);
    if (status == TL_OK)
        status = await_classes(run, reterr);
    return status == TL_OK ? locate_holes(run, reterr) : status;
}

enum tl_status path_pmtu(const struct path_end *end, const struct tl_pmtu_spec *spec,
                         struct tl_pmtu_result *ret_result, struct tl_error *reterr)
{
    struct tl_pmtu_result result = {.up = {.hole_first_hop = -1, .hole_last_hop = -1},
                                    .down = {.hole_first_hop = -1, .hole_last_hop = -1}};
    struct run *run = calloc(1, sizeof *run);
    if (!run)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a search of packet sizes");
    run->way[0] = &result.up;
    run->way[1] = &result.down;
    tl_pmtu_search_init(&run->search[0], clamp_max(spec->up_max_bytes));
    tl_pmtu_search_init(&run->search[1], clamp_max(spec->down_max_bytes));
    enum tl_status status = path_socket_open(end, spec->cancel_fd, true, &run->socket, reterr);
    if (status == TL_OK) {
        run->rtt_ns = spec->rtt_ns > 0 ? spec->rtt_ns : end->handshake_rtt_ns;
        run->end_ns = tl_now_ns() + SEARCH_NS + 12 * run->rtt_ns;
        status = run_all(run, reterr);
    }
    path_socket_close(&run->socket);
    result.sent_bytes = run->socket.sent_bytes;
    result.received_bytes = run->socket.received_bytes;
    free(run);
    if (status == TL_OK)
        *ret_result = result;
    return status;
}

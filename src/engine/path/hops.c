/* Probes whose TTL ends at each router in turn. */
#include "tightlink/engine/hops.h"

#include <stdlib.h>

#include "path_socket.h"
#include "tightlink/base/time.h"

#define TTL          64 /* of what is to arrive */
#define GUESS        16 /* hops that are tried where their number is not known */
#define PROBES_MAX   4096
#define GAP_NS       (3 * TL_NS_PER_MS)   /* between two probes */
#define ROUND_NS     (120 * TL_NS_PER_MS) /* between idle rounds, beyond the round trip */
#define ROUND_MAX_NS (400 * TL_NS_PER_MS)
#define SETTLE_NS    (200 * TL_NS_PER_MS) /* for the last answers, beyond the round trip */
#define IDLE_ROUNDS  3
#define COUNT_TRIES  3
#define BATCH        5 /* hops at a time where their number is looked for */

struct probe {
    int hop;
    int64_t sent_ns, realtime_ns;
    bool answered;
};

struct run {
    struct path_socket socket;
    const struct tl_hops_spec *spec;
    struct tl_hops_result *result;
    struct probe probes[PROBES_MAX];
    uint32_t probe_count;
    int64_t rtt_ns, next_ns;
    int round_count;
    bool stopped;
};

/* The time by the kernel's clock where it is sound: on a loaded host this thread reads late. A
 * clock that was stepped in between gives nonsense, and the monotonic one is taken. */
static double round_trip_ns(const struct probe *probe, const struct path_event *event,
                            uint32_t held_ns)
{
    int64_t read_ns = event->at_ns - probe->sent_ns;
    int64_t kernel_ns = event->realtime_ns - probe->realtime_ns;
    int64_t rtt_ns = kernel_ns > 0 && kernel_ns <= read_ns + TL_NS_PER_MS ? kernel_ns : read_ns;
    return (double)(held_ns < rtt_ns ? rtt_ns - held_ns : rtt_ns);
}

/* Of a far end that is no responder: it says that nobody listens there. */
static bool is_refusal(const struct run *run, const struct path_event *event)
{
    return run->socket.end->stranger && event->kind == PATH_ROUTER && event->error.port_closed;
}

static void add_sample(struct run *run, struct probe *probe, const struct path_event *event)
{
    struct tl_hop *hop = &run->result->hops[probe->hop];
    bool far = event->kind == PATH_ANSWER;
    if (probe->answered)
        return;
    probe->answered = true;
    hop->answered_count++;
    if (!far)
        hop->address = event->error.offender;
    if (hop->sample_count == TL_HOPS_SAMPLES)
        return;
    hop->rtt_ns[hop->sample_count] = round_trip_ns(probe, event, far ? event->answer.held_ns : 0);
    hop->sent_ns[hop->sample_count++] = probe->sent_ns;
}

static void take_event(struct run *run, const struct path_event *event)
{
    if (!event->matched || event->sequence >= run->probe_count)
        return;
    struct probe *probe = &run->probes[event->sequence];
    struct tl_hops_result *result = run->result;
    if (is_refusal(run, event)) {
        if (!result->count_known || probe->hop < result->count)
            result->count = probe->hop;
        result->count_known = true;
        add_sample(run, probe, event);
    } else if (event->kind == PATH_ROUTER && event->error.time_exceeded && probe->hop > 0) {
        add_sample(run, probe, event);
    } else if (event->kind == PATH_ANSWER && event->answer.ttl_known && probe->hop == 0 &&
               event->answer.probe_ttl <= TTL) {
        int count = TTL - event->answer.probe_ttl + 1;
        if (count <= TL_HOPS_MAX) {
            result->count = count;
            result->count_known = true;
        }
    } else if (event->kind == PATH_ANSWER && probe->hop > 0) {
        add_sample(run, probe, event);
    }
}

/* The next event; *ret_more false when there was none until until_ns, or the run is at its end. One
 * that may be cut short ends without an error. */
static enum tl_status take_next(struct run *run, int64_t until_ns, bool *ret_more,
                                struct tl_error *reterr)
{
    struct path_event event;
    enum tl_status status = path_socket_wait(&run->socket, until_ns, &event, reterr);
    *ret_more = status == TL_OK && event.kind != PATH_NOTHING;
    if (*ret_more)
        take_event(run, &event);
    if (status != TL_CANCELLED || run->spec->duration_ns == 0)
        return status;
    run->stopped = true;
    return TL_OK;
}

static enum tl_status listen_until(struct run *run, int64_t until_ns, struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    for (bool more = true; more && !run->stopped && status == TL_OK;)
        status = take_next(run, until_ns, &more, reterr);
    return status;
}

static bool is_all_answered(const struct run *run)
{
    for (uint32_t i = 0; i < run->probe_count; i++)
        if (run->probes[i].hop > 0 && !run->probes[i].answered)
            return false;
    return true;
}

/* The last answers: until all are there. */
static enum tl_status await_answers(struct run *run, int64_t until_ns, struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    for (bool more = !is_all_answered(run); more && !run->stopped && status == TL_OK;
         more = more && !is_all_answered(run))
        status = take_next(run, until_ns, &more, reterr);
    return status;
}

/* hop 0: a probe that is to arrive, for the number of hops. */
static enum tl_status send_probe(struct run *run, int hop, struct tl_error *reterr)
{
    enum tl_status status = listen_until(run, run->next_ns, reterr);
    if (status != TL_OK || run->stopped || run->probe_count == PROBES_MAX)
        return status;
    bool far = hop == 0 || hop == run->result->count;
    struct path_probe probe = {
        .sequence = run->probe_count, .ttl = far ? TTL : (uint8_t)hop, .silent = !far};
    run->probes[run->probe_count++] =
        (struct probe){.hop = hop, .sent_ns = tl_now_ns(), .realtime_ns = tl_realtime_ns()};
    run->result->hops[hop].sent_count++;
    (void)path_socket_send(&run->socket, &probe); /* what does not leave is not answered */
    run->next_ns = tl_now_ns() + GAP_NS;
    return TL_OK;
}

/* There and back in turn: where flows are served in turn (RFC 8290) the first packet of a round
 * passes at once and the ones behind it wait, which would look like a queue behind that hop. */
static enum tl_status send_round(struct run *run, struct tl_error *reterr)
{
    int count = run->result->count_known ? run->result->count : GUESS;
    bool back = run->result->count_known && run->round_count++ % 2 == 1;
    enum tl_status status = TL_OK;
    for (int i = 1; i <= count && status == TL_OK && !run->stopped; i++)
        status = send_probe(run, back ? count + 1 - i : i, reterr);
    return status;
}

static enum tl_status find_count(struct run *run, struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    for (int i = 0; i < COUNT_TRIES && status == TL_OK && !run->result->count_known; i++) {
        status = send_probe(run, 0, reterr);
        int64_t until_ns = tl_now_ns() + run->rtt_ns + SETTLE_NS;
        bool more = true;
        while (more && status == TL_OK && !run->result->count_known && !run->stopped)
            status = take_next(run, until_ns, &more, reterr);
    }
    return status;
}

/* At a stranger the number of hops is the smallest TTL that reaches it. A few at a time, as it
 * answers few; and the one before once more, whose answer may have been lost. */
static enum tl_status find_stranger(struct run *run, struct tl_error *reterr)
{
    struct tl_hops_result *result = run->result;
    enum tl_status status = TL_OK;
    for (int hop = 1; hop <= TL_HOPS_MAX && status == TL_OK && !result->count_known; hop++) {
        status = send_probe(run, hop, reterr);
        if (status == TL_OK && hop % BATCH == 0)
            status = listen_until(run, tl_now_ns() + run->rtt_ns + SETTLE_NS, reterr);
    }
    for (int i = 0; i < 2 && status == TL_OK && result->count_known && result->count > 1 &&
                    result->hops[result->count - 1].answered_count == 0;
         i++) {
        status = send_probe(run, result->count - 1, reterr);
        if (status == TL_OK)
            status = listen_until(run, tl_now_ns() + run->rtt_ns + SETTLE_NS, reterr);
    }
    return status;
}

static enum tl_status idle_rounds(struct run *run, struct tl_error *reterr)
{
    int64_t round_ns = run->rtt_ns / 2 + ROUND_NS;
    enum tl_status status = TL_OK;
    for (int i = 0; i < IDLE_ROUNDS && status == TL_OK; i++) {
        int64_t begun_ns = tl_now_ns();
        status = send_round(run, reterr);
        if (status == TL_OK && i + 1 < IDLE_ROUNDS)
            status = listen_until(
                run, begun_ns + (round_ns < ROUND_MAX_NS ? round_ns : ROUND_MAX_NS), reterr);
    }
    return status;
}

static enum tl_status timed_rounds(struct run *run, struct tl_error *reterr)
{
    int64_t begun_ns = tl_now_ns(), end_ns = begun_ns + run->spec->duration_ns;
    enum tl_status status = TL_OK;
    for (int64_t at_ns = begun_ns; status == TL_OK && !run->stopped && at_ns < end_ns;
         at_ns += run->spec->interval_ns) {
        status = listen_until(run, at_ns, reterr);
        if (status == TL_OK)
            status = send_round(run, reterr);
    }
    if (status == TL_OK && !run->stopped)
        status = listen_until(run, end_ns + run->rtt_ns, reterr);
    return status;
}

/* --- Other flows --------------------------------------------------------------------------- */

struct flow {
    struct run run;
    struct tl_hops_result found;
};

/* One probe a hop from another port. */
static enum tl_status begin_flow(const struct run *run, struct flow *flow, struct tl_error *reterr)
{
    flow->found.count = run->result->count;
    flow->found.count_known = true;
    flow->run = (struct run){.spec = run->spec, .result = &flow->found, .rtt_ns = run->rtt_ns};
    enum tl_status status =
        path_socket_open(run->socket.end, run->spec->cancel_fd, false, &flow->run.socket, reterr);
    /* A router that told nothing before has no address to be told from another's. */
    for (int hop = 1; hop < flow->found.count && status == TL_OK; hop++)
        if (run->result->hops[hop].answered_count > 0)
            status = send_probe(&flow->run, hop, reterr);
    return status;
}

/* Where another router answers, flows take several ways. */
static bool takes_another_way(const struct tl_hops_result *result, const struct flow *flow)
{
    for (int hop = 1; hop < result->count; hop++) {
        const struct tl_hop *a = &result->hops[hop], *b = &flow->found.hops[hop];
        if (a->answered_count > 0 && b->answered_count > 0 &&
            !IN6_ARE_ADDR_EQUAL(&a->address, &b->address))
            return true;
    }
    return false;
}

/* All at once: their answers take one round trip together. */
static enum tl_status run_flows(struct run *run, struct flow *flows, size_t count,
                                struct tl_error *reterr)
{
    struct tl_hops_result *result = run->result;
    enum tl_status status = TL_OK;
    for (size_t i = 0; i < count && status == TL_OK; i++)
        status = begin_flow(run, &flows[i], reterr);
    int64_t until_ns = tl_now_ns() + run->rtt_ns + SETTLE_NS / 2;
    for (size_t i = 0; i < count && status == TL_OK; i++)
        status = await_answers(&flows[i].run, until_ns, reterr);
    for (size_t i = 0; i < count && status == TL_OK; i++)
        result->ways_count += takes_another_way(result, &flows[i]);
    return status;
}

static enum tl_status probe_flows(struct run *run, struct tl_error *reterr)
{
    struct flow *flows;
    size_t count = TL_HOPS_FLOWS_MAX - 1;
    bool some = false;
    for (int hop = 1; hop < run->result->count; hop++)
        some |= run->result->hops[hop].answered_count > 0;
    if (!some || !run->result->count_known)
        return TL_OK;
    flows = calloc(count, sizeof *flows);
    if (!flows)
        return tl_error_set(reterr, TL_NOMEM, "no memory for probes");
    for (size_t i = 0; i < count; i++)
        flows[i].run.socket.fd = -1;
    run->result->ways_count = 1;
    enum tl_status status = run_flows(run, flows, count, reterr);
    for (size_t i = 0; i < count; i++) {
        path_socket_close(&flows[i].run.socket);
        run->result->sent_bytes += flows[i].run.socket.sent_bytes;
    }
    free(flows);
    return status;
}

/* --- The whole ------------------------------------------------------------------------------ */

/* Other flows ask the routers that have answered a round so far, while the last round's answers are
 * on their way: these wait in the socket, with the time at which they came. */
static enum tl_status look_idle(struct run *run, struct tl_error *reterr)
{
    enum tl_status status = idle_rounds(run, reterr);
    int64_t until_ns = tl_now_ns() + run->rtt_ns + SETTLE_NS;
    if (status == TL_OK)
        status = probe_flows(run, reterr);
    return status == TL_OK ? await_answers(run, until_ns, reterr) : status;
}

/* Where the far end told no TTL the last router that answered is all that is known. */
static void settle(struct run *run)
{
    struct tl_hops_result *result = run->result;
    for (int hop = 1; hop <= TL_HOPS_MAX && !result->count_known; hop++)
        if (result->hops[hop].answered_count > 0)
            result->count = hop;
}

static enum tl_status run_all(struct run *run, struct tl_error *reterr)
{
    enum tl_status status =
        run->socket.end->stranger ? find_stranger(run, reterr) : find_count(run, reterr);
    if (status == TL_OK && run->socket.end->stranger && !run->result->count_known)
        return tl_error_set(reterr, TL_TIMEOUT,
                            "the far end does not answer datagrams to a closed port: how many hops "
                            "there are is not known");
    if (status == TL_OK && run->spec->duration_ns > 0)
        return timed_rounds(run, reterr);
    return status == TL_OK ? look_idle(run, reterr) : status;
}

enum tl_status path_hops(const struct path_end *end, const struct tl_hops_spec *spec,
                         struct tl_hops_result *ret_result, struct tl_error *reterr)
{
    struct run *run = calloc(1, sizeof *run);
    struct tl_hops_result *result = calloc(1, sizeof *result);
    if (!run || !result) {
        free(run);
        free(result);
        return tl_error_set(reterr, TL_NOMEM, "no memory for probes of the way");
    }
    *run = (struct run){.spec = spec, .result = result};
    if (end->hops_count > 0 && end->hops_count <= TL_HOPS_MAX) {
        result->count = end->hops_count;
        result->count_known = true;
    }
    run->rtt_ns = spec->rtt_ns > 0 ? spec->rtt_ns : end->handshake_rtt_ns;
    enum tl_status proof = path_socket_open(end, spec->cancel_fd, true, &run->socket, reterr);
    enum tl_status status = proof;
    if (proof == TL_TIMEOUT || proof == TL_REFUSED) /* routers may answer what the end does not */
        path_error_enable(run->socket.fd);
    if (proof == TL_OK || ((proof == TL_TIMEOUT || proof == TL_REFUSED) && run->socket.fd >= 0 &&
                           spec->duration_ns == 0))
        status = proof == TL_OK ? run_all(run, reterr) : look_idle(run, NULL);
    settle(run);
    path_socket_close(&run->socket);
    result->sent_bytes += run->socket.sent_bytes;
    result->received_bytes += run->socket.received_bytes;
    *ret_result = *result;
    free(result);
    free(run);
    return status == TL_OK ? proof : status;
}

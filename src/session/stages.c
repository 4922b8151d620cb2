/* The stage table, and what each stage costs at most. */
#include "stages.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plan.h"
#include "tightlink/base/time.h"

#define STREAM_MAX_NS (60 * TL_NS_PER_S) /* what a responder grants at most */
/* Behind several streams: packet trains. */
#define TRAINS_NS     (1200 * TL_NS_PER_MS)
#define STREAM_MIN_NS (6 * TL_NS_PER_S)
#define LONG_PATH_NS  150e6 /* satellites, and the other side of the earth */

/* Losses that a paced stream should expect to see, were the loss independent of
 * load: with 8, seeing none has a probability of 0.0003. */
#define PACED_LOSSES_WANTED 8.0
#define PACED_MAX_NS        (10 * TL_NS_PER_S)

/* 20 round trips of steady state (never under 3 s); slow start from ten segments to a thousand
 * times that (ten round trips), and a receive buffer that opens behind it (some more); two
 * seconds to settle; on long paths the queue that it fills adds some. The stream ends by itself
 * once its rate is known. */
int64_t tl_plan_stream_ns(double rtt_ns)
{
    if (!(rtt_ns > 0))
        rtt_ns = 100e6;
    double ns = 42 * rtt_ns + 2e9;
    if (ns < (double)STREAM_MIN_NS)
        ns = (double)STREAM_MIN_NS;
    return ns > (double)STREAM_MAX_NS ? STREAM_MAX_NS : (int64_t)ns;
}

int64_t tl_plan_trial_ns(double rtt_ns)
{
    int64_t ns = tl_plan_stream_ns(rtt_ns) * 5 / 2;
    return ns > STREAM_MAX_NS ? STREAM_MAX_NS : ns;
}

/* Both at once as long as the one stream, and each alone again for two thirds of that. */
int64_t tl_plan_both_ways_ns(double rtt_ns)
{
    return tl_plan_stream_ns(rtt_ns) / 3 * 7;
}

static double path_rtt_ns(const struct tl_plan_state *state)
{
    return tl_facts_number(state->facts, TL_PATH(rtt_min_ns), (double)NAN);
}

static double number(const struct tl_plan_state *state, struct tl_fact_key key)
{
    return tl_facts_number(state->facts, key, (double)NAN);
}

/* A loading stage may find more room than any before it: its bytes are bounded by the budget
 * alone, never by a guess at the rate. */
static void loading(const struct tl_plan_state *state, int64_t time_ns,
                    struct tl_stage_cost *ret_cost)
{
    *ret_cost = (struct tl_stage_cost){.time_ns = time_ns,
                                       .bytes = state->bytes_left > 0 ? state->bytes_left : 0};
}

static void cost_hosts(const struct tl_plan_state *state, enum tl_direction direction,
                       struct tl_stage_cost *ret_cost)
{
    *ret_cost = (struct tl_stage_cost){.time_ns = TL_NS_PER_S / 2, .bytes = 16 * 1024};
}

static void cost_path(const struct tl_plan_state *state, enum tl_direction direction,
                      struct tl_stage_cost *ret_cost)
{
    *ret_cost = (struct tl_stage_cost){.time_ns = TL_NS_PER_S, .bytes = 16 * 1024};
}

/* Light stages that search: a few probes at a time, each waiting for an answer. */
static void cost_search(const struct tl_plan_state *state, enum tl_direction direction,
                        struct tl_stage_cost *ret_cost)
{
    double rtt_ns = path_rtt_ns(state);
    int64_t more_ns = rtt_ns > 0 ? (int64_t)(10 * rtt_ns) : TL_NS_PER_S;
    *ret_cost = (struct tl_stage_cost){.time_ns = 3 * TL_NS_PER_S + more_ns, .bytes = 1000 * 1000};
}

static void cost_stream(const struct tl_plan_state *state, enum tl_direction direction,
                        struct tl_stage_cost *ret_cost)
{
    loading(state, tl_plan_stream_ns(path_rtt_ns(state)), ret_cost);
}

/* Where a test bears out the one before it, or gets far more than a buffer let that have: two and a
 * quarter seconds, slow start, the probes' lead, and trains behind several. */
#define COMPARED_NS   (2500 * TL_NS_PER_MS)
#define COMPARED_RTTS 18

static void expect_comparison(const struct tl_plan_state *state, int64_t trains_ns,
                              struct tl_stage_cost *cost)
{
    int64_t ns = COMPARED_NS + (int64_t)(COMPARED_RTTS * fmax(path_rtt_ns(state), 0)) + trains_ns;
    if (ns < cost->time_ns)
        cost->expected_ns = ns;
}

/* A stream with larger buffers is compared, not judged by itself: slow start to a far larger
 * window, and some round trips behind it. On long paths the receive buffer opens for many round
 * trips more; a rate that is still rising would be a promise far too small. */
static void cost_window(const struct tl_plan_state *state, enum tl_direction direction,
                        struct tl_stage_cost *ret_cost)
{
    double rtt_ns = fmax(path_rtt_ns(state), 0); /* NAN: fmax gives 0 */
    int64_t ns = tl_plan_stream_ns(path_rtt_ns(state)) -
                 (rtt_ns < LONG_PATH_NS ? (int64_t)(22 * rtt_ns) : 0);
    loading(state, ns > STREAM_MIN_NS ? ns : STREAM_MIN_NS, ret_cost);
    if (tl_probe_held_bps(state->facts, direction) > 0)
        expect_comparison(state, 0, ret_cost);
}

/* Several streams get to the top together and are compared with the one: some round trips of
 * steady state do, fewer where they say the same. */
static void cost_streams(const struct tl_plan_state *state, enum tl_direction direction,
                         struct tl_stage_cost *ret_cost)
{
    double rtt_ns = path_rtt_ns(state);
    int64_t ns = tl_plan_stream_ns(rtt_ns) - (int64_t)(24 * fmax(rtt_ns, 0));
    loading(state, (ns > STREAM_MIN_NS ? ns : STREAM_MIN_NS) + TRAINS_NS, ret_cost);
    if (tl_probe_known_bps(state->facts, direction) > 0)
        expect_comparison(state, TRAINS_NS, ret_cost);
}

/* Of its time. */
#define QUEUE_STOOD 0.8

bool tl_plan_queue_stood(const struct tl_plan_state *state, enum tl_direction direction)
{
    return number(state, TL_FLOW(direction, queue_standing_ratio)) >= QUEUE_STOOD;
}

/* What tells how likely a slow stream is to lose packets, were that independent of the load: those
 * that are lost together are one chance, but for what one's own queue lost of them. */
static double loss_chance(const struct tl_plan_state *state, enum tl_direction direction)
{
    double lost = number(state, TL_FLOW(direction, retrans_ratio));
    if (tl_plan_queue_stood(state, direction))
        return lost;
    return tl_facts_number(state->facts, TL_FLOW(direction, loss_event_ratio), lost);
}

/* As many segments at half the rate as make the wanted losses likely. */
static void cost_paced(const struct tl_plan_state *state, enum tl_direction direction,
                       struct tl_stage_cost *ret_cost)
{
    double loss = loss_chance(state, direction);
    double bps = number(state, TL_FLOW(direction, goodput_bps)) / 2;
    double mss = number(state, TL_FLOW(direction, mss_bytes));
    double ns = PACED_LOSSES_WANTED / loss * mss * 8e9 / bps;
    if (!(ns > (double)TL_STAGE_WORTH_NS))
        ns = (double)TL_STAGE_WORTH_NS;
    loading(state, ns > (double)PACED_MAX_NS ? PACED_MAX_NS : (int64_t)ns, ret_cost);
    ret_cost->expected_ns = tl_probe_paced_ns(state->facts, direction, ret_cost->time_ns);
}

/* Once it is known the rate ends the trial. Until then it lasts, where many streams fall from slow
 * start to what losses leave them, for some sixty round trips and more. */
static void cost_verify(const struct tl_plan_state *state, enum tl_direction direction,
                        struct tl_stage_cost *ret_cost)
{
    loading(state, tl_plan_trial_ns(path_rtt_ns(state)), ret_cost);
}

static void cost_short(const struct tl_plan_state *state, enum tl_direction direction,
                       struct tl_stage_cost *ret_cost)
{
    loading(state, STREAM_MIN_NS, ret_cost);
}

static void cost_both_ways(const struct tl_plan_state *state, enum tl_direction direction,
                           struct tl_stage_cost *ret_cost)
{
    loading(state, tl_plan_both_ways_ns(path_rtt_ns(state)), ret_cost);
}

/* Most often less than the most: what was learnt of the rate spares steps. */
#define UDP_EXPECTED_NS   (8 * TL_NS_PER_S)
#define UDP_EXPECTED_RTTS 25

/* Some twenty steps of a third of a second with two round trips and a grace each; a stranger takes
 * eight to agree on a test and to end it. */
static void cost_udp(const struct tl_plan_state *state, enum tl_direction direction,
                     struct tl_stage_cost *ret_cost)
{
    double rtt_ns = path_rtt_ns(state);
    double rtts = state->far == TL_FAR_TIGHTLINK ? 50 : 170;
    loading(state, 9 * TL_NS_PER_S + (int64_t)(rtts * (rtt_ns > 0 ? rtt_ns : 0)), ret_cost);
    if (state->far == TL_FAR_TIGHTLINK && rtt_ns > 0)
        ret_cost->expected_ns = UDP_EXPECTED_NS + (int64_t)(UDP_EXPECTED_RTTS * rtt_ns);
}

/* Disks cost time; nothing goes over the wire. */
static void cost_disk(const struct tl_plan_state *state, enum tl_direction direction,
                      struct tl_stage_cost *ret_cost)
{
    *ret_cost = (struct tl_stage_cost){.time_ns = TL_PROBE_DISK_NS};
}

/* Up to four transfers, behind the writing of what is to be read. */
static void cost_disk_to_disk(const struct tl_plan_state *state, enum tl_direction direction,
                              struct tl_stage_cost *ret_cost)
{
    loading(state, 4 * tl_plan_stream_ns(path_rtt_ns(state)), ret_cost);
}

/* What a transfer needs of the far end, whichever end sends. */
#define MOVES                                                                                      \
    {                                                                                              \
        [TL_DOWNLOAD] = TL_FAR_DOWNLOADS, [TL_UPLOAD] = TL_FAR_UPLOADS                             \
    }
/* … and more: of a far end that sends, and of one that receives. */
#define MOVES_AND(sends, receives)                                                                 \
    {                                                                                              \
        [TL_DOWNLOAD] = TL_FAR_DOWNLOADS | (sends), [TL_UPLOAD] = TL_FAR_UPLOADS | (receives)      \
    }
#define ALWAYS(ability)                                                                            \
    {                                                                                              \
        (ability), (ability)                                                                       \
    }

/* clang-format off */
static const struct tl_stage table[TL_PLAN_COUNT] = {
    [TL_PLAN_HOSTS] = {
        .id = "hosts", .when = TL_WHEN_ALWAYS, .needs = TL_NEEDS_RESPONDER,
        .cost = cost_hosts, .light = tl_probe_hosts,
        .why = "the settings of both hosts"},
    /* Small packets both, a few milliseconds apart. */
    [TL_PLAN_PATH] = {
        .id = "path", .when = TL_WHEN_ALWAYS, .needs = TL_NEEDS_RESPONDER,
        .cost = cost_path, .light = tl_probe_path, .companion = TL_PLAN_HOPS,
        .why = "the round-trip time without load"},
    /* Its packets are large: beside idle delays they would be a load. What this machine can do takes
     * a processor, and no packet on the way. */
    [TL_PLAN_MTU] = {
        .id = "mtu", .when = TL_WHEN_ALWAYS, .needs = TL_NEEDS_RESPONDER,
        .far = ALWAYS(TL_FAR_MTU),
        .cost = cost_search, .light = tl_probe_mtu, .companion = TL_PLAN_CALIBRATE,
        .why = "which packet sizes get through"},
    [TL_PLAN_HOPS] = {
        .id = "hops", .when = TL_WHEN_ALWAYS, .needs = TL_NEEDS_RESPONDER,
        .far = ALWAYS(TL_FAR_HOPS),
        .cost = cost_search, .light = tl_probe_hops,
        .why = "the routers on the way"},
    [TL_PLAN_STREAM] = {
        .id = "stream", .when = TL_WHEN_FIRST, .needs = TL_NEEDS_RESPONDER,
        .loads = true, .per_direction = true,
        .far = MOVES,
        .cost = cost_stream, .load = tl_probe_stream,
        .why = "one stream with the hosts' own settings comes first"},
    [TL_PLAN_WINDOW] = {
        .id = "window", .when = TL_WHEN_WANTED, .needs = TL_NEEDS_RESPONDER,
        .loads = true, .per_direction = true,
        .far = MOVES_AND(0, TL_FAR_RCVBUF),
        .cost = cost_window, .load = tl_probe_window,
        .why = "a buffer limits: a larger one shows what it would bring"},
    [TL_PLAN_STREAMS] = {
        .id = "streams", .when = TL_WHEN_WANTED, .needs = TL_NEEDS_RESPONDER,
        .loads = true, .per_direction = true,
        .far = MOVES_AND(TL_FAR_STREAMS, TL_FAR_STREAMS),
        .cost = cost_streams, .load = tl_probe_streams,
        .why = "several streams show whether the limit is per stream"},
    [TL_PLAN_PACED] = {
        .id = "paced", .when = TL_WHEN_WANTED, .needs = TL_NEEDS_RESPONDER,
        .loads = true, .per_direction = true,
        .far = MOVES_AND(TL_FAR_PACING | TL_FAR_SENDER, 0),
        .cost = cost_paced, .load = tl_probe_paced,
        .why = "a slow, paced stream shows whether loss stays without load"},
    [TL_PLAN_MICROSCOPE] = {
        .id = "microscope", .when = TL_WHEN_WANTED, .needs = TL_NEEDS_RESPONDER,
        .loads = true, .per_direction = true,
        .far = MOVES_AND(TL_FAR_CONGESTION | TL_FAR_SENDER, 0),
        .cost = cost_stream, .load = tl_probe_microscope,
        .why = "a congestion control that heeds loss shows what the host's own one hides"},
    [TL_PLAN_UDP] = {
        .id = "udp", .when = TL_WHEN_WANTED, .needs = TL_NEEDS_RESPONDER,
        .loads = true, .per_direction = true,
        .far = ALWAYS(TL_FAR_UDP),
        .cost = cost_udp, .load = tl_probe_udp,
        .why = "datagrams at rising rates show where loss and delay begin"},
    [TL_PLAN_SPLIT] = {
        .id = "split", .when = TL_WHEN_WANTED, .needs = TL_NEEDS_RESPONDER,
        .far = ALWAYS(TL_FAR_SYN),
        .cost = cost_search, .light = tl_probe_split,
        .why = "whether something on the way answers in the far end's place"},
    [TL_PLAN_FAMILY] = {
        .id = "family", .when = TL_WHEN_WANTED, .needs = TL_NEEDS_RESPONDER,
        .loads = true, .per_direction = true,
        .far = MOVES_AND(TL_FAR_FAMILY, TL_FAR_FAMILY),
        .cost = cost_short, .load = tl_probe_family,
        .why = "whether the other address family goes another way"},
    [TL_PLAN_BOTH_WAYS] = {
        .id = "both-ways", .when = TL_WHEN_ASKED, .needs = TL_NEEDS_RESPONDER,
        .loads = true,
        .far = ALWAYS(TL_FAR_BOTH),
        .cost = cost_both_ways, .load = tl_probe_both_ways,
        .why = "whether the two directions take from one another"},
    [TL_PLAN_DISK] = {
        .id = "disk", .when = TL_WHEN_ASKED, .needs = TL_NEEDS_DISK,
        .cost = cost_disk, .load = tl_probe_disk,
        .why = "what the disks can read and write"},
    [TL_PLAN_DISK_TO_DISK] = {
        .id = "disk-to-disk", .when = TL_WHEN_ASKED,
        .needs = TL_NEEDS_RESPONDER | TL_NEEDS_DISK,
        .loads = true, .per_direction = true,
        .far = ALWAYS(TL_FAR_DISK),
        .cost = cost_disk_to_disk, .load = tl_probe_disk_to_disk,
        .why = "disks and network together, as a file transfer has them"},
    [TL_PLAN_CALIBRATE] = {
        .id = "calibrate", .when = TL_WHEN_ALWAYS,
        .cost = cost_hosts, .light = tl_probe_calibrate,
        .why = "what this machine can do without a network"},
    [TL_PLAN_VERIFY] = {
        .id = "verify", .when = TL_WHEN_ASKED, .needs = TL_NEEDS_RESPONDER,
        .loads = true, .per_direction = true,
        .far = MOVES,
        .cost = cost_verify,
        .why = "the remedy, tried in our own sockets"},
};
/* clang-format on */

const struct tl_stage *tl_stage_at(enum tl_plan_stage stage)
{
    return &table[stage];
}

/* Routers report few packets a second, so that sizes come before hops. A host that is no responder
 * answers few as well: there its round trip comes first, and one stage at a time. */
const enum tl_plan_stage *tl_stage_light_order(enum tl_far_kind far)
{
    static const enum tl_plan_stage responder[] = {TL_PLAN_HOSTS, TL_PLAN_MTU,       TL_PLAN_PATH,
                                                   TL_PLAN_HOPS,  TL_PLAN_CALIBRATE, TL_PLAN_COUNT},
                                    stranger[] = {TL_PLAN_HOSTS, TL_PLAN_PATH,      TL_PLAN_MTU,
                                                  TL_PLAN_HOPS,  TL_PLAN_CALIBRATE, TL_PLAN_COUNT};
    return far == TL_FAR_TIGHTLINK ? responder : stranger;
}

enum tl_plan_stage tl_stage_companion(enum tl_plan_stage stage, enum tl_far_kind far)
{
    enum tl_plan_stage companion = table[stage].companion;
    bool asks = table[companion].needs & TL_NEEDS_RESPONDER;
    return companion && (far == TL_FAR_TIGHTLINK || !asks) ? companion : TL_PLAN_COUNT;
}

const char *tl_plan_stage_id(enum tl_plan_stage stage)
{
    return table[stage].id;
}

enum tl_plan_stage tl_stage_find(const char *id)
{
    int stage = 0;
    while (stage < TL_PLAN_COUNT && strcmp(table[stage].id, id) != 0)
        stage++;
    return (enum tl_plan_stage)stage;
}

bool tl_plan_lacks(const struct tl_plan_state *state, enum tl_plan_stage stage,
                   enum tl_direction direction, char ret_why[TL_PLAN_LACK_SIZE])
{
    const struct tl_stage *row = tl_stage_at(stage);
    const struct tl_far_row *far = tl_far_row(state->far);
    unsigned lacks = row->needs & ~state->have,
             far_lacks = row->far[direction] & ~(far->can & ~state->far_cannot);
    const char *why = lacks & TL_NEEDS_RESPONDER ? "needs a responder at the far end"
                      : lacks & TL_NEEDS_DISK
                          ? "needs a directory: --disk DIR here, --far-disk at the far end"
                      : lacks & TL_NEEDS_RAW ? "needs CAP_NET_RAW"
                                             : NULL;
    if (why)
        snprintf(ret_why, TL_PLAN_LACK_SIZE, "%s", why);
    else if (far_lacks)
        snprintf(ret_why, TL_PLAN_LACK_SIZE, "%s cannot %s: " TL_FAR_WOULD, far->what,
                 tl_far_lack_text(far_lacks));
    return why || far_lacks;
}

/* Whose time it was: the ledger of a sender from its packets, and where it was seen from. */
#include "tightlink/flow/limits.h"

#include <math.h>

#include "held.h"

/* An end is near the capture where its part of the way is a tenth or less of the whole. */
#define NEAR_SHARE 0.1
/* What leaves at once when a connection begins (RFC 6928): less than that in all is no transfer. */
#define INITIAL_SEGMENTS 10
/* Shorter ways than this are the hosts' own delays. */
#define SHORT_NS 300e3
/* Share of trains that acknowledgements set off, beyond chance: most of a window- or buffer-limited
 * sender's, few of a program's with its own clock. Between the two nothing is said. */
#define CLOCKED 0.6
/* A full send buffer is refilled by nothing but acknowledgements: 0.94 to 1 in nine captures of
 * this kernel; programs whose clock fell into step with them had 0.63 and 0.74. */
#define HELD_CLOCKED 0.8
#define UNCLOCKED    0.3
#define TRAINS_MIN   20
/* A kernel that paces sends a millisecond's worth at a time, and at least two segments
 * (tcp_tso_autosize): trains like that follow its clock, not the program's. */
#define PACED_SEGMENTS 2.5
#define PACED_NS       1.5e6
#define STILL_NS       300e3 /* no more than what lies between two trains (account.c) */
#define IN_TURN        0.8   /* of the trains, by judgement */
#define PIECE_NS       INT64_C(500000000)
#define PIECES_MIN     4
#define STANDING       0.5 /* of the time: more than a sawtooth's upper half at a deep queue */
#define IDLE_MOST      0.1 /* of the time, at a link that is full */
#define CALM           0.2 /* of the time, at most, a queue stands */
#define WAITED         1.2 /* of the shortest round trip, at losses, and as much as jitter makes */
#define WAITED_NS      5e6
#define AT_PEAK        0.85 /* of what passes at most: all but the start */
#define LOSSY_EVENTS   3
#define DISTURBED      0.05 /* of the trains, at most, may come behind a loss or something late */
/* Parts that cannot be told from one another may make up this much before nothing is said. */
#define BLUR_MAX 0.15
/* Share of the waiting behind segments that were not full, beyond that of such segments, from which
 * on they mark where what was written ended. Some systems begin a segment with each write, so that
 * segments that are not full stand anywhere. */
#define SPENT      0.3
#define SPENT_SOME 0.1 /* behind a full send buffer there is next to none */
/* Of the time: 0.73 and more beside 14 of 17 senders whose programs wrote now and then, none beside
 * 92 others. */
#define RAN_DRY        0.5
#define ASKED          0.1  /* data packets of the other end for each train */
#define IDLE_LEAST     0.05 /* of the time with nothing in flight: no full send buffer */
#define CLOSED_PLAINLY 0.5

const char *tl_packet_place_name(enum tl_packet_place place)
{
    static const char *const names[] = {"at an unknown place", "at the sender", "on the way",
                                        "at the receiver"};
    return names[place];
}

int tl_packet_sender(const struct tl_packet_flow *flow)
{
    const struct tl_packet_half *client = &flow->halves[TL_CLIENT],
                                *server = &flow->halves[TL_SERVER];
    uint64_t from_client = client->payload_bytes ? client->payload_bytes : client->acked_bytes;
    uint64_t from_server = server->payload_bytes ? server->payload_bytes : server->acked_bytes;
    return from_server > from_client ? TL_SERVER : TL_CLIENT;
}

enum tl_packet_place tl_packet_place(const struct tl_packet_flow *flow, int sender)
{
    double near_ns = flow->near_rtt_ns[sender], far_ns = flow->near_rtt_ns[1 - sender];
    double whole_ns = near_ns + far_ns;
    if (!isfinite(whole_ns) || whole_ns < SHORT_NS)
        return TL_PLACE_UNKNOWN;
    if (near_ns <= fmax(NEAR_SHARE * whole_ns, SHORT_NS / 2))
        return TL_PLACE_SENDER;
    return far_ns <= fmax(NEAR_SHARE * whole_ns, SHORT_NS / 2) ? TL_PLACE_RECEIVER
                                                               : TL_PLACE_MIDDLE;
}

/* Of half seconds with data, those in which every round trip was longer than the shortest by a
 * tenth and half a millisecond: a queue that never drained. */
static double standing(const struct tl_packet_half *half)
{
    double floor_ns = half->rtt_min_ns, clear_ns = 1.1 * floor_ns + 500e3;
    unsigned pieces = 0, stood = 0;
    float least = INFINITY;
    int64_t piece = 0;
    for (uint32_t i = 0; i < half->bins_count; i++) {
        if ((int64_t)i * half->bin_ns / PIECE_NS != piece) {
            pieces += isfinite(least);
            stood += isfinite(least) && least > clear_ns;
            least = INFINITY;
            piece = (int64_t)i * half->bin_ns / PIECE_NS;
        }
        least = fminf(least, half->bins[i].rtt_min_ns);
    }
    return pieces >= PIECES_MIN ? (double)stood / pieces : (double)NAN;
}

static double clocked(const struct tl_packet_half *half)
{
    double trains = (double)half->trains_count;
    double chance = half->clocked_by_chance / trains;
    if (half->trains_count < TRAINS_MIN || chance > 0.7) /* acknowledgements are everywhere */
        return (double)NAN;
    return ((double)half->clocked_count / trains - chance) / (1 - chance);
}

/* Largest flight of a stretch of the bins, in quarters. */
static double flight_of(const struct tl_packet_half *half, unsigned quarter)
{
    double most = 0;
    for (uint32_t i = half->bins_count * quarter / 4; i < half->bins_count * (quarter + 1) / 4; i++)
        most = fmax(most, half->bins[i].flight_max_bytes);
    return most;
}

/* It grows from quarter to quarter, and is used: slow start, or congestion avoidance. */
static bool window_grows(const struct tl_packet_half *half)
{
    double first = flight_of(half, 1), second = flight_of(half, 2), third = flight_of(half, 3);
    return half->slack_ns < 0.3 * (half->slack_ns + half->wait_ns) && first > 0 &&
           second > 1.1 * first && third > 1.1 * second;
}

/* Nothing on the way disturbs the acknowledgements: without that trains that none of them set off
 * are no sign of a program's own clock. */
static bool is_calm(const struct tl_packet_half *half, double standing_ratio)
{
    return (double)(half->loss_events_count + half->late_count) <=
               DISTURBED * (double)half->trains_count &&
           !(standing_ratio >= CALM);
}

/* From afar a link has drawn out what was sent together: there trains are what rests in between. */
static bool may_be_paced(const struct tl_packet_half *half, enum tl_packet_place place,
                         double total_ns)
{
    double bursts = (double)(place == TL_PLACE_SENDER ? half->bursts_count : half->trains_count);
    return (double)half->segments_count < PACED_SEGMENTS * bursts || total_ns < PACED_NS * bursts;
}

/* The window, by the handshake; or it was full to the last segment for half of the time, under the
 * least scale that what was sent allows: only beside the sender that is seen to the segment, and a
 * flight that another cause holds at a power of two of the announced number is a rare chance. */
static bool window_known(const struct tl_packet_half *half, enum tl_packet_place place,
                         double closed_ratio)
{
    return half->window_scale_known ||
           (place == TL_PLACE_SENDER && closed_ratio >= CLOSED_PLAINLY &&
            half->loss_events_count < LOSSY_EVENTS);
}

/* Timed by the sender's own echoes, the way takes the same time always: what comes by here has left
 * the sender in the same order and at the same distance. */
static bool is_still(const struct tl_packet_half *half)
{
    return half->echoes_count >= TRAINS_MIN && half->rtt_count > 0 &&
           half->rtt_sum_ns / (double)half->rtt_count - half->rtt_min_ns <= STILL_NS;
}

/* Each train answers the other end, which nothing else was in flight to: it waits for its turn. */
static bool takes_turns(const struct tl_packet_half *half)
{
    return half->trains_count >= TRAINS_MIN &&
           (double)half->turns_count >= IN_TURN * (double)half->trains_count;
}

static enum tl_packet_wait host_wait(enum tl_packet_place place, double clocked_ratio,
                                     bool own_clock, bool calm, bool held)
{
    if (place == TL_PLACE_UNKNOWN || !isfinite(clocked_ratio))
        return TL_WAIT_UNKNOWN;
    /* A congestion window would look the same. From afar what follows an acknowledgement by its
     * round trip was set off by it; but what does not may have waited on the way, and what is
     * overtaken or sent again releases more at once. */
    bool undisturbed = place == TL_PLACE_SENDER || calm;
    if (clocked_ratio >= CLOCKED)
        return held && undisturbed && clocked_ratio >= HELD_CLOCKED ? TL_WAIT_SNDBUF
                                                                    : TL_WAIT_UNKNOWN;
    return clocked_ratio <= UNCLOCKED && calm && own_clock ? TL_WAIT_APP : TL_WAIT_UNKNOWN;
}

/* Away from the sender what was lost before is not seen: the wait for its timer looks like a pause
 * of the program, and so do the round trips of the slow start behind it. */
static bool may_be_timers(const struct tl_packet_half *half, enum tl_packet_place place)
{
    return place != TL_PLACE_SENDER && half->loss_events_count > 0 &&
           2 * half->long_pauses_ns >= half->idle_ns;
}

/* Share of the waiting behind segments that were not full, beyond that of such segments. */
static double spent_share(const struct tl_packet_half *half)
{
    double waited_ns = half->slack_ns + half->wait_ns,
           chance = (double)half->partial_count / fmax((double)half->segments_count, 1),
           spent = (half->spent_slack_ns + half->spent_wait_ns) / fmax(waited_ns, 1);
    return (spent - chance) / fmax(1 - chance, 0.01);
}

/* What was written ended with a segment that was not full, and the sender waited for more. A full
 * send buffer may end within a segment, too; but then something is always in flight, and seen
 * beside the sender acknowledgements set it off. */
static bool writes_show(const struct tl_packet_half *half, enum tl_packet_place place,
                        const struct tl_packet_ledger *ledger)
{
    bool buffered = ledger->idle_ratio < IDLE_LEAST && place != TL_PLACE_SENDER;
    return spent_share(half) >= SPENT && !buffered && !(ledger->clocked_ratio >= CLOCKED);
}

/* What it sends answers the other end, or waits for its answer. */
static bool is_asked(const struct tl_packet_half *half, const struct tl_packet_half *other)
{
    return (double)other->data_packets_count > ASKED * (double)half->trains_count;
}

/* The same, by all that the half shows. */
static enum tl_packet_wait find_host_wait(const struct tl_packet_flow *flow, int sender,
                                          double total, const struct tl_packet_ledger *ledger)
{
    const struct tl_packet_half *half = &flow->halves[sender];
    enum tl_packet_place place = tl_packet_place(flow, sender);
    bool held = flight_is_held(half, total);
    bool own_clock =
        !may_be_paced(half, place, total) &&
        (place == TL_PLACE_SENDER || (is_still(half) && spent_share(half) >= SPENT_SOME));
    if (takes_turns(half))
        return TL_WAIT_APP;
    enum tl_packet_wait host = host_wait(place, ledger->clocked_ratio, own_clock,
                                         is_calm(half, ledger->standing_ratio), held);
    /* Writes may come in step with the acknowledgements of those before; and where it leaves unused
     * what a train takes, the window may be what it fills. */
    bool blurred = spent_share(half) >= SPENT_SOME || is_asked(half, &flow->halves[1 - sender]) ||
                   half->brim_ns > BLUR_MAX * total;
    return host == TL_WAIT_SNDBUF && blurred ? TL_WAIT_UNKNOWN : host;
}

static void add_part(struct tl_packet_ledger *ledger, enum tl_packet_wait wait, double share,
                     double *unknown)
{
    switch (wait) {
    case TL_WAIT_NETWORK:
        ledger->network_ratio += share;
        break;
    case TL_WAIT_SNDBUF:
        ledger->sndbuf_ratio += share;
        break;
    case TL_WAIT_APP:
        ledger->app_ratio += share;
        break;
    default:
        *unknown += share;
    }
}

static void fail(struct tl_packet_ledger *ledger, const char *why)
{
    ledger->known = false;
    ledger->why = why;
    ledger->app_ratio = ledger->sndbuf_ratio = ledger->rwnd_ratio = ledger->network_ratio =
        (double)NAN;
}

static bool is_marked(const struct tl_packet_half *half)
{
    return half->ece_count >= LOSSY_EVENTS;
}

/* More was offered than passes: what was lost or marked had waited before, and all the time as much
 * passes as ever did. A sender that measures the link (BBR) then keeps to its rate with hardly a
 * queue. */
static bool takes_no_more(const struct tl_packet_half *half)
{
    double time_ns = (double)(half->last_data_ns - half->first_data_ns),
           passed_bps = (double)half->acked_bytes * 8e9 / time_ns;
    unsigned known = 0, waited = 0;
    for (uint32_t i = 0; i < half->losses_count; i++) {
        bool counts = !half->losses[i].needless && half->losses[i].rtt_ns > 0;
        known += counts;
        waited += counts && half->losses[i].rtt_ns > WAITED * half->rtt_min_ns + WAITED_NS;
    }
    struct tl_packet_policer policer;
    if (2 * waited <= known && !is_marked(half))
        return false;
    tl_packet_policer(half, &policer);
    return passed_bps >= AT_PEAK * policer.peak_bps;
}

double tl_packet_dry_ratio(const struct tl_packet_half *half)
{
    bool often = 4 * half->dry_count >= half->partial_count;
    return often ? half->dry_ns / (double)(half->last_data_ns - half->first_data_ns) : 0;
}

/* Counts each part of the time; what cannot be told is returned. */
static double split(const struct tl_packet_half *half, double total, enum tl_packet_wait host,
                    struct tl_packet_ledger *ledger)
{
    bool many = half->loss_events_count >= LOSSY_EVENTS,
         lossy = (many && host != TL_WAIT_SNDBUF) || is_marked(half);
    /* With nothing in flight no queue stands, whatever the round trips look like. */
    bool stands = ledger->standing_ratio >= STANDING && ledger->idle_ratio < IDLE_MOST;
    bool full = ledger->idle_ratio < IDLE_MOST && takes_no_more(half),
         network = lossy || stands || full || window_grows(half);
    double unknown = 0, wait = half->wait_ns / total, slack = half->slack_ns / total;
    ledger->wait = network ? TL_WAIT_NETWORK : host;
    /* What a loss has taken from the window looks like slack. */
    ledger->slack = many && host == TL_WAIT_SNDBUF ? TL_WAIT_NETWORK : host;
    if (stands || full) /* a link that has a queue waits for nobody */
        ledger->slack = TL_WAIT_NETWORK;
    if (tl_packet_dry_ratio(half) >= RAN_DRY) /* whatever shaped that on its way */
        ledger->wait = ledger->slack = TL_WAIT_APP;
    ledger->spent = ledger->spent && !stands;
    ledger->app_ratio = ledger->idle_ratio;
    ledger->rwnd_ratio = ledger->window_known ? ledger->closed_ratio : 0;
    unknown += ledger->closed_ratio - ledger->rwnd_ratio;
    ledger->network_ratio = half->recovery_ns / total;
    if (ledger->spent) {
        ledger->app_ratio += (half->spent_slack_ns + half->spent_wait_ns) / total;
        wait -= half->spent_wait_ns / total;
        slack -= half->spent_slack_ns / total;
    }
    add_part(ledger, ledger->wait, wait, &unknown);
    add_part(ledger, ledger->slack, slack, &unknown);
    return unknown;
}

/* Why whose time it was cannot be said; NULL: it can. unknown: share of it that was left. */
static const char *why_unknown(const struct tl_packet_half *half, enum tl_packet_place place,
                               enum tl_packet_wait host, const struct tl_packet_ledger *ledger,
                               double unknown)
{
    bool small = 2 * half->small_count > half->data_packets_count;
    if (ledger->idle_ratio > BLUR_MAX && !ledger->spent && may_be_timers(half, place))
        return "only a capture at the sender tells its program's pause from the wait for a timer "
               "after a loss";
    if (small && host != TL_WAIT_APP && ledger->idle_ratio < 0.5)
        return "it sends small pieces, each once the one before was acknowledged";
    bool blind = place == TL_PLACE_UNKNOWN && !half->window_scale_known;
    if (blind || (!ledger->window_known && ledger->closed_ratio > BLUR_MAX))
        return "the handshake was not captured: the scale of the receive window is not known";
    double most =
        fmax(ledger->spent ? ledger->app_ratio : ledger->idle_ratio, ledger->closed_ratio);
    if (unknown <= BLUR_MAX || unknown <= most)
        return NULL; /* a known part outweighs it, whatever it is */
    return place == TL_PLACE_SENDER
               ? "its packets do not tell whether the send buffer, the program or the congestion "
                 "window held the sender back"
               : "only a capture at the sender tells whether its send buffer, its program or the "
                 "network held it back";
}

void tl_packet_ledger(const struct tl_packet_flow *flow, int sender,
                      struct tl_packet_ledger *ret_ledger)
{
    const struct tl_packet_half *half = &flow->halves[sender];
    enum tl_packet_place place = tl_packet_place(flow, sender);
    double total =
        half->idle_ns + half->slack_ns + half->rwnd_ns + half->recovery_ns + half->wait_ns;
    *ret_ledger = (struct tl_packet_ledger){.known = true,
                                            .why = "",
                                            .idle_ratio = half->idle_ns / total,
                                            .closed_ratio = half->rwnd_ns / total,
                                            .clocked_ratio = clocked(half),
                                            .standing_ratio = standing(half)};
    struct tl_packet_ledger *ledger = ret_ledger;
    if (!(total > 0) || half->acked_bytes == 0) {
        fail(ledger, "the capture has no acknowledgements of this data");
        return;
    }
    if (half->payload_bytes < INITIAL_SEGMENTS * (uint64_t)half->mss_bytes) {
        fail(ledger, "too little moved to tell");
        return;
    }
    if (half->window_scale_known && !isfinite(flow->near_rtt_ns[sender])) {
        fail(ledger, "neither the handshake nor timestamps tell how far the sender is, and with it "
                     "when an acknowledgement reached it");
        return;
    }
    ledger->window_known = window_known(half, place, ledger->closed_ratio);
    enum tl_packet_wait host = find_host_wait(flow, sender, total, ledger);
    ledger->spent = writes_show(half, place, ledger);
    double unknown = split(half, total, host, ledger);
    const char *why = why_unknown(half, place, host, ledger, unknown);
    if (why)
        fail(ledger, why);
    else
        ledger->network_ratio += unknown;
}

/* Standing queues and the rates beside them; queue.h tells the idea. */
#include "tightlink/engine/queue.h"

#include <math.h>

#include "tightlink/base/stats.h"
#include "tightlink/base/units.h"

/* A queue of less than two packets' time may be the packet itself, on its way onto the link. */
#define PACKETS_LEAST 2
/* A queue that adds less than this to a round trip neither hides nor shows anything. */
#define RTT_SHARE_LEAST 0.02
/* Probes in a piece below which its smallest delay may be chance. */
#define PROBES_MIN 4
/* Growth of the sender's round trips that the probes do not explain. */
#define UNEXPLAINED_RATIO 0.5
/* What a buffer that holds the sender lets out at once waits behind itself: the round trips of such
 * a burst grow from next to nothing, and then the link is idle. Those of a queue that stands keep
 * that share of their growth all the time. */
#define HELD_RATIO   0.5 /* of the time, by a buffer */
#define STEADY_RATIO 0.5

#define MEMORY_MIN 10
#define HEADERS    52 /* IPv4, TCP and timestamps */

/* --- Without load --------------------------------------------------------------------------- */

static struct tl_delay_spread spread_of(double *values, size_t count)
{
    double least = tl_stats_min(values, count);
    return (struct tl_delay_spread){tl_stats_quantile(values, count, 0.5) - least,
                                    tl_stats_quantile(values, count, 0.75) - least};
}

/* How many values are smaller, ties by half: a rank about the middle of all. */
static double rank_of(const double *values, size_t count, double value)
{
    double rank = 0.5;
    for (size_t i = 0; i < count; i++)
        rank += values[i] < value ? 1 : values[i] == value ? 0.5 : 0;
    return rank - 0.5 - (double)count / 2;
}

/* Lag-1 autocorrelation of the ranks in the order of sending, before the values are sorted. Ranks,
 * so that one hiccup of a host, which delays three probes in a row, is no memory. */
static double memory_of(const double *values, size_t count)
{
    double products = 0, squares = 0, before = 0;
    if (count < MEMORY_MIN)
        return NAN;
    for (size_t i = 0; i < count; i++) {
        double rank = rank_of(values, count, values[i]);
        squares += rank * rank;
        products += i > 0 ? rank * before : 0;
        before = rank;
    }
    return squares > 0 ? products / squares : NAN;
}

void tl_idle_delay(const struct tl_echo_result *echo, struct tl_idle_delay *ret_idle)
{
    double round_trip[TL_ECHO_MAX], forward[TL_ECHO_MAX], backward[TL_ECHO_MAX];
    size_t count = 0;
    for (unsigned i = 0; i < echo->sent_count && i < TL_ECHO_MAX; i++) {
        const struct tl_echo_probe *probe = &echo->probes[i];
        if (probe->rtt_ns < 0)
            continue;
        round_trip[count] = (double)probe->rtt_ns;
        forward[count] = (double)(probe->far_ns - probe->near_ns);
        backward[count] = round_trip[count] - forward[count];
        count++;
    }
    *ret_idle = (struct tl_idle_delay){{NAN, NAN}, {NAN, NAN}, {NAN, NAN}, NAN};
    if (count == 0)
        return;
    /* Jitter of the one way must not hide a queue on the other. */
    ret_idle->memory_ratio = fmax(memory_of(round_trip, count),
                                  fmax(memory_of(forward, count), memory_of(backward, count)));
    ret_idle->round_trip = spread_of(round_trip, count);
    if (echo->one_way_unknown)
        return;
    ret_idle->forward = spread_of(forward, count);
    ret_idle->backward = spread_of(backward, count);
}

/* --- Under load ----------------------------------------------------------------------------- */

struct view {
    const struct tl_tcp_result *result;
    const struct tl_queue_spec *spec;
    double base_ns;         /* smallest round trip */
    double data_ns, ack_ns; /* smallest delays of the probes, each with its clock's offset */
    double clear_ns;        /* growth from which a queue stands */
    bool held;              /* by a buffer, for most of the time */
    double segment_bytes[TL_STREAMS_MAX]; /* payload of one on the whole; NAN: not counted */
};

static bool forward_is_data(const struct view *view)
{
    return view->result->near_sends;
}

static double data_delay(const struct view *view, const struct tl_echo_probe *probe)
{
    double forward_ns = (double)(probe->far_ns - probe->near_ns);
    return forward_is_data(view) ? forward_ns : (double)probe->rtt_ns - forward_ns;
}

/* Of all probes, those before the load as well. */
static void find_least(struct view *view)
{
    const struct tl_echo_result *echo = view->spec->echo;
    view->base_ns = view->spec->rtt_min_ns;
    view->data_ns = view->ack_ns = NAN;
    for (unsigned i = 0; echo && i < echo->sent_count && i < TL_ECHO_MAX; i++) {
        const struct tl_echo_probe *probe = &echo->probes[i];
        if (probe->rtt_ns < 0)
            continue;
        double data_ns = data_delay(view, probe);
        view->base_ns = fmin(view->base_ns, (double)probe->rtt_ns); /* fmin passes over NAN */
        view->data_ns = fmin(view->data_ns, data_ns);
        view->ack_ns = fmin(view->ack_ns, (double)probe->rtt_ns - data_ns);
    }
    double tcp_ns = view->result->steady.sender_whole.rtt_min_ns;
    if (tcp_ns > 0)
        view->base_ns = fmin(view->base_ns, tcp_ns);
}

/* The smallest growth of the probes' round trips in a piece, and of each direction. */
struct growth {
    unsigned probes;
    double rtt_ns, data_ns, ack_ns;
};

static struct growth probes_growth(const struct view *view, int64_t from_ns, int64_t to_ns)
{
    const struct tl_echo_result *echo = view->spec->echo;
    struct growth growth = {0, NAN, NAN, NAN};
    for (unsigned i = 0; echo && i < echo->sent_count && i < TL_ECHO_MAX; i++) {
        const struct tl_echo_probe *probe = &echo->probes[i];
        int64_t at_ns = echo->start_ns + probe->sent_ns - view->spec->start_ns;
        if (probe->rtt_ns < 0 || at_ns < from_ns || at_ns >= to_ns)
            continue;
        double data_ns = data_delay(view, probe);
        double ack_ns = (double)probe->rtt_ns - data_ns;
        growth.probes++;
        growth.rtt_ns = fmin(growth.rtt_ns, (double)probe->rtt_ns - view->base_ns);
        growth.data_ns = fmin(growth.data_ns, data_ns - view->data_ns);
        growth.ack_ns = fmin(growth.ack_ns, ack_ns - view->ack_ns);
    }
    return growth;
}

/* The smallest and the largest smoothed round trip of a stream's readings in a piece. */
struct round_trips {
    double least_ns, most_ns;
};

static struct round_trips stream_rtts(const struct tl_sample_log *log, int64_t from_ns,
                                      int64_t to_ns)
{
    struct round_trips rtts = {NAN, NAN};
    for (size_t i = 0; i < log->count; i++) {
        const struct tl_tcp_sample *sample = &log->samples[i];
        if (sample->time_ns < from_ns || sample->time_ns >= to_ns ||
            !tl_sample_has(sample, TL_SF_rtt_ns) || sample->rtt_ns == 0)
            continue;
        rtts.least_ns = fmin(rtts.least_ns, (double)sample->rtt_ns);
        rtts.most_ns = fmax(rtts.most_ns, (double)sample->rtt_ns);
    }
    return rtts;
}

/* Their growth. Of several streams the one in the middle: one may stand still with a reading of
 * long ago. */
static struct round_trips tcp_growth(const struct view *view, int64_t from_ns, int64_t to_ns)
{
    double least[TL_STREAMS_MAX], most[TL_STREAMS_MAX];
    unsigned streams = view->result->streams;
    for (unsigned i = 0; i < streams; i++) {
        struct round_trips rtts = stream_rtts(&view->result->sender.logs[i], from_ns, to_ns);
        least[i] = rtts.least_ns - view->base_ns;
        most[i] = rtts.most_ns - view->base_ns;
    }
    return (struct round_trips){tl_stats_median(least, streams), tl_stats_median(most, streams)};
}

static bool stands(const struct view *view, int64_t from_ns, int64_t to_ns)
{
    struct growth probes = probes_growth(view, from_ns, to_ns);
    struct round_trips tcp = tcp_growth(view, from_ns, to_ns);
    bool known = probes.probes >= PROBES_MIN;
    if (known && probes.rtt_ns > view->clear_ns)
        return view->spec->echo->one_way_unknown || probes.data_ns >= probes.ack_ns;
    bool explained = known && probes.rtt_ns > UNEXPLAINED_RATIO * tcp.least_ns;
    bool bursts = known && view->held && tcp.least_ns < STEADY_RATIO * tcp.most_ns;
    return tcp.least_ns > view->clear_ns && !explained && !bursts;
}

/* --- Rates ---------------------------------------------------------------------------------- */

/* What a stream's receiver counts: bytes in order, which stand still for a round trip behind a lost
 * packet and then leap, or segments as they arrive. */
enum counted { BYTES_IN_ORDER, SEGMENTS };

static bool reading(const struct tl_tcp_sample *sample, enum counted counted, double *ret_count)
{
    bool segments = counted == SEGMENTS;
    *ret_count = (double)(segments ? sample->data_segs_in_count : sample->app_bytes);
    return tl_sample_has(sample, segments ? TL_SF_data_segs_in_count : TL_SF_app_bytes);
}

/* The count at a time, between two readings linearly. */
static double count_at(const struct tl_sample_log *log, enum counted counted, int64_t time_ns)
{
    double before_ns = 0, before = 0;
    for (size_t i = 0; i < log->count; i++) {
        const struct tl_tcp_sample *sample = &log->samples[i];
        double at_ns = (double)sample->time_ns, count = 0;
        if (!reading(sample, counted, &count) || at_ns <= before_ns || count < before)
            continue;
        if (sample->time_ns >= time_ns)
            return before + (count - before) * ((double)time_ns - before_ns) / (at_ns - before_ns);
        before_ns = at_ns;
        before = count;
    }
    return before;
}

static double between(const struct tl_sample_log *log, enum counted counted, int64_t from_ns,
                      int64_t to_ns)
{
    return count_at(log, counted, to_ns) - count_at(log, counted, from_ns);
}

static void find_segments(struct view *view)
{
    for (unsigned i = 0; i < view->result->streams; i++) {
        const struct tl_sample_log *log = &view->result->receiver.logs[i];
        double segments = count_at(log, SEGMENTS, INT64_MAX);
        view->segment_bytes[i] =
            segments > 0 ? count_at(log, BYTES_IN_ORDER, INT64_MAX) / segments : (double)NAN;
    }
}

/* By what arrived in a piece of time: segments, where they are counted. */
static double rate_of(const struct view *view, int64_t from_ns, int64_t to_ns)
{
    double bytes = 0;
    for (unsigned i = 0; i < view->result->streams; i++) {
        const struct tl_sample_log *log = &view->result->receiver.logs[i];
        double segment_bytes = view->segment_bytes[i];
        bytes += isnan(segment_bytes) ? between(log, BYTES_IN_ORDER, from_ns, to_ns)
                                      : between(log, SEGMENTS, from_ns, to_ns) * segment_bytes;
    }
    return tl_bps_from_bytes_ns(bytes, (double)(to_ns - from_ns));
}

static void percentiles(double *rates, unsigned count, double ret[3])
{
    static const double shares[3] = {0.1, 0.5, 0.9};
    for (int i = 0; i < 3; i++)
        ret[i] = count < TL_QUEUE_PIECES_MIN ? NAN : tl_stats_quantile(rates, count, shares[i]);
}

static double clear_from(const struct view *view, double rate_bps)
{
    double packet_ns = (view->result->steady.sender.mss_bytes + HEADERS) * 8e9 / rate_bps;
    double least_ns = RTT_SHARE_LEAST * view->base_ns;
    return view->spec->scatter_ns +
           (packet_ns > 0 ? fmax(PACKETS_LEAST * packet_ns, least_ns) : least_ns);
}

static double held_ratio(const struct tl_tcp_result *result)
{
    const struct tl_ledger *ledger = &result->steady.sender.ledger;
    return ledger->sndbuf_ratio + ledger->rwnd_ratio;
}

static bool in_gap(const struct tl_queue_spec *spec, int64_t from_ns, int64_t to_ns)
{
    for (unsigned i = 0; i < spec->gap_count; i++)
        if (from_ns < spec->gaps[i].to_ns && to_ns > spec->gaps[i].from_ns)
            return true;
    return false;
}

void tl_queue_find(const struct tl_tcp_result *result, const struct tl_queue_spec *spec,
                   struct tl_queue *ret_queue)
{
    static const struct tl_queue none = {0, 0, NAN, {NAN, NAN, NAN}, {NAN, NAN, NAN}};
    double rates[TL_QUEUE_PIECES_MAX], full[TL_QUEUE_PIECES_MAX];
    struct view view = {.result = result, .spec = spec};
    *ret_queue = none;
    if (result->streams == 0 || spec->to_ns <= spec->from_ns)
        return;
    find_least(&view);
    find_segments(&view);
    view.held = held_ratio(result) >= HELD_RATIO;
    view.clear_ns = clear_from(&view, rate_of(&view, spec->from_ns, spec->to_ns));
    for (int64_t at_ns = spec->from_ns, end_ns;
         (end_ns = at_ns + TL_QUEUE_PIECE_NS) <= spec->to_ns &&
         ret_queue->pieces < TL_QUEUE_PIECES_MAX;
         at_ns = end_ns) {
        if (in_gap(spec, at_ns, end_ns))
            continue;
        double rate_bps = rate_of(&view, at_ns, end_ns);
        rates[ret_queue->pieces++] = rate_bps;
        if (stands(&view, at_ns, end_ns))
            full[ret_queue->standing++] = rate_bps;
    }
    percentiles(rates, ret_queue->pieces, ret_queue->rate_bps);
    percentiles(full, ret_queue->standing, ret_queue->full_bps);
    if (ret_queue->pieces >= TL_QUEUE_PIECES_MIN)
        ret_queue->standing_ratio = (double)ret_queue->standing / ret_queue->pieces;
}

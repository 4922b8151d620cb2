/* From readings of one connection to one interval, and several intervals to one. */
#include "live_interval.h"

#include <math.h>

#define WINDOW_FULL 0.9
/* Less than this was sent: the connection was listening, not sending (a request, acknowledgements).
 */
#define SENDS_AT_LEAST_BYTES 4096

/* snd_nxt - snd_una: what was written and not acknowledged, less what was never sent. */
static uint64_t in_flight(const struct tl_host_socket *socket)
{
    return socket->write_queue_bytes > socket->notsent_bytes
               ? socket->write_queue_bytes - socket->notsent_bytes
               : 0;
}

static uint64_t cwnd_bytes(const struct tl_host_socket *socket)
{
    return (uint64_t)socket->cwnd_count * socket->snd_mss_bytes;
}

/* All that was written is in flight, although congestion window and receive window have room for
 * another segment. Who holds it: the send buffer where the program had more to give; the program
 * where the kernel notes that nothing was there to be sent (app_limited). */
static bool has_all_in_flight(const struct tl_host_socket *socket)
{
    uint64_t flight = in_flight(socket);
    return flight > 0 && socket->notsent_bytes < socket->snd_mss_bytes &&
           flight + socket->snd_mss_bytes < cwnd_bytes(socket) &&
           flight + socket->snd_mss_bytes < socket->snd_wnd_bytes;
}

static bool is_sndbuf_full(const struct tl_host_socket *socket)
{
    return has_all_in_flight(socket) && !socket->app_limited;
}

/* A program waits for room from when SO_SNDBUF is used up until two thirds of it are in use
 * (sk_stream_memory_free() and sk_stream_is_writeable() of Linux), and uses it up again. With less
 * in use it does not wait; with more it may, unless no reading finds all of it in use. */
#define SNDBUF_USED_UP 1.0
#define SNDBUF_WAKES   (2.0 / 3)

/* NAN where the kernel does not tell SO_SNDBUF. */
static double sndbuf_used(const struct tl_host_socket *socket)
{
    return socket->sndbuf_bytes ? (double)socket->wmem_queued_bytes / socket->sndbuf_bytes : NAN;
}

/* The connection waits for its program. tcpi_busy_time counts this as busy, because something is on
 * the way: a program that writes more often than once a round trip never leaves the connection
 * idle, however little it writes. */
static bool is_program_behind(const struct tl_host_socket *socket)
{
    return has_all_in_flight(socket) && socket->app_limited;
}

void live_span_start(struct live_span *span, const struct tl_host_socket *socket, int64_t now_ns)
{
    *span = (struct live_span){.from = *socket, .from_ns = now_ns, .closed = span->closed};
}

void live_span_from_zero(struct live_span *span)
{
    struct tl_host_socket zero = {.cookie = span->from.cookie};
    span->from = zero;
}

static void raise_to(uint64_t *most, uint64_t value)
{
    if (value > *most)
        *most = value;
}

void live_span_read(struct live_span *span, const struct tl_host_socket *socket)
{
    uint64_t flight = in_flight(socket);

    span->readings++;
    if (socket->rtt_ns && socket->acked_bytes > 1) { /* 1: the SYN alone */
        span->rtt_readings++;
        span->rtt_sum += (double)socket->rtt_ns;
        span->rtt_var_sum += (double)socket->rtt_var_ns;
        span->rtt_low = span->rtt_readings == 1 ? (double)socket->rtt_ns
                                                : fmin(span->rtt_low, (double)socket->rtt_ns);
        span->rtt_max = fmax(span->rtt_max, (double)socket->rtt_ns);
    }
    if (socket->rcv_rtt_ns)
        span->rcv_rtt = (double)socket->rcv_rtt_ns;
    if (socket->rcvbuf_bytes)
        span->queue_sum += fmin(1, (double)socket->read_queue_bytes / socket->rcvbuf_bytes);
    if (!socket->app_limited)
        span->delivery_max = fmax(span->delivery_max, (double)socket->delivery_rate_bps);
    span->cwnd_sum += (double)cwnd_bytes(socket);
    span->inflight_sum += (double)flight;
    span->full_windows +=
        socket->snd_wnd_bytes && (double)flight >= WINDOW_FULL * socket->snd_wnd_bytes;
    span->full_sndbufs += is_sndbuf_full(socket);
    span->unread_full += socket->read_queue_bytes > 0 && socket->rcv_wnd_known &&
                         socket->rcv_wnd_bytes < socket->rcv_mss_bytes;
    bool behind = is_program_behind(socket);
    double used = sndbuf_used(socket);
    span->behind += behind;
    span->behind_unknown += behind && isnan(used);
    span->behind_with_room += behind && used < SNDBUF_WAKES;
    span->sndbuf_used_max = fmax(span->sndbuf_used_max, used);
    raise_to(&span->inflight_max, flight);
    raise_to(&span->snd_wnd_max, socket->snd_wnd_bytes);
    raise_to(&span->rcv_wnd_max, socket->rcv_wnd_bytes);
}

void live_take_counters(struct tl_host_socket *last, const struct tl_host_socket *told)
{
    last->acked_bytes = told->acked_bytes;
    last->received_bytes = told->received_bytes;
    last->sent_bytes = told->sent_bytes;
    last->retrans_bytes = told->retrans_bytes;
    last->data_segs_out_count = told->data_segs_out_count;
    last->retrans_count = told->retrans_count;
    last->busy_ns = told->busy_ns;
    last->rwnd_limited_ns = told->rwnd_limited_ns;
    last->sndbuf_limited_ns = told->sndbuf_limited_ns;
}

/* --- Closing ---------------------------------------------------------------------------------- */

static uint64_t grown(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static uint32_t grown32(uint32_t now, uint32_t before)
{
    return now > before ? now - before : 0;
}

/* Each part within the interval, the sum exactly 1: the kernel's clock and ours differ a little.
 * What the kernel counts as busy while the program was behind is the program's, by the share of the
 * readings that met it so; what it waited for room in the send buffer is not. Where nobody knows
 * whether there was room, neither the program's part is known nor the network's. */
static void split_time(const struct live_span *span, const struct tl_host_socket *last,
                       double span_ns, struct tl_live_interval *interval)
{
    double *ret_parts = interval->parts_ratio;
    double busy = fmin(span_ns, (double)grown(last->busy_ns, span->from.busy_ns));
    double rwnd = fmin(busy, (double)grown(last->rwnd_limited_ns, span->from.rwnd_limited_ns));
    double sndbuf =
        fmin(busy - rwnd, (double)grown(last->sndbuf_limited_ns, span->from.sndbuf_limited_ns));

    double network = busy - rwnd - sndbuf;
    bool may_wait = span->sndbuf_used_max >= SNDBUF_USED_UP;
    double readings = may_wait ? span->behind_with_room : span->behind;
    double behind = span->readings ? span_ns * readings / span->readings - sndbuf : 0;
    behind = fmin(network, fmax(0, behind));
    if (behind > 0 && span->behind_unknown)
        behind = NAN;

    interval->behind_ratio = behind / span_ns;
    ret_parts[TL_LIVE_APP] = 1 - (busy - behind) / span_ns;
    ret_parts[TL_LIVE_RWND] = rwnd / span_ns;
    ret_parts[TL_LIVE_SNDBUF] = sndbuf / span_ns;
    ret_parts[TL_LIVE_NETWORK] = (network - behind) / span_ns;
}

static void count_events(const struct tl_host_socket *from, const struct tl_host_socket *last,
                         struct tl_live_interval *interval)
{
    interval->sent_bytes = grown(last->acked_bytes, from->acked_bytes);
    interval->received_bytes = grown(last->received_bytes, from->received_bytes);
    interval->segments_count = grown32(last->data_segs_out_count, from->data_segs_out_count);
    interval->retrans_count = grown32(last->retrans_count, from->retrans_count);
    interval->reord_seen_count = grown32(last->reord_seen_count, from->reord_seen_count);
    interval->dsack_count = grown32(last->dsack_count, from->dsack_count);
    interval->delivered_count = grown32(last->delivered_count, from->delivered_count);
    interval->delivered_ce_count = grown32(last->delivered_ce_count, from->delivered_ce_count);
    interval->out_of_order_count = grown32(last->out_of_order_count, from->out_of_order_count);
    interval->drops_count = grown32(last->drops_count, from->drops_count);
}

static double per_reading(double sum, uint32_t readings)
{
    return readings ? sum / readings : NAN;
}

static void add_means(const struct live_span *span, struct tl_live_interval *interval)
{
    interval->readings_count = span->readings;
    interval->rtt_mean_ns = per_reading(span->rtt_sum, span->rtt_readings);
    interval->rtt_max_ns = span->rtt_readings ? span->rtt_max : NAN;
    interval->rtt_low_ns = span->rtt_readings ? span->rtt_low : NAN;
    interval->rtt_var_ns = per_reading(span->rtt_var_sum, span->rtt_readings);
    interval->rcv_rtt_ns = span->rcv_rtt > 0 ? span->rcv_rtt : NAN;
    interval->cwnd_mean_bytes = per_reading(span->cwnd_sum, span->readings);
    interval->inflight_mean_bytes = per_reading(span->inflight_sum, span->readings);
    interval->inflight_max_bytes = span->inflight_max;
    interval->snd_wnd_max_bytes = span->snd_wnd_max;
    interval->rcv_wnd_max_bytes = span->rcv_wnd_max;
    interval->window_full_ratio = per_reading(span->full_windows, span->readings);
    interval->sndbuf_full_ratio = per_reading(span->full_sndbufs, span->readings);
    interval->read_queue_ratio = per_reading(span->queue_sum, span->readings);
    interval->delivery_rate_bps = span->delivery_max > 0 ? span->delivery_max : NAN;
}

/* Where less than a segment moved although more was there: who was waited for. A window that opens
 * for less than a segment is shut (RFC 9293, section 3.8.6.2.2). */
#define STOOD_RATIO 0.9

bool tl_live_stood(const struct tl_live_interval *interval)
{
    return interval->shut_ns > 0 || interval->unanswered_ns > 0;
}

bool tl_live_is_active(const struct tl_live_interval *interval)
{
    return interval->sent_bytes + interval->received_bytes > 0 || tl_live_stood(interval);
}

static void see_standing(const struct live_span *span, const struct tl_host_socket *last,
                         struct tl_live_interval *interval)
{
    const double *parts = interval->parts_ratio;
    bool sends = last->write_queue_bytes > 0 && interval->sent_bytes < last->snd_mss_bytes;
    bool receives = span->readings > 0 && span->unread_full == span->readings &&
                    interval->received_bytes < last->rcv_mss_bytes;
    bool shut = receives || (sends && parts[TL_LIVE_RWND] >= STOOD_RATIO);
    interval->shut_ns = shut ? interval->span_ns : 0;
    interval->shut_ratio = shut;
    interval->unanswered_ns =
        sends && interval->sent_bytes == 0 && parts[TL_LIVE_NETWORK] >= STOOD_RATIO
            ? interval->span_ns
            : 0;
}

void live_span_close(struct live_span *span, const struct tl_host_socket *last, int64_t now_ns,
                     struct tl_live_interval *ret_interval)
{
    double span_ns = (double)(now_ns - span->from_ns);

    *ret_interval = (struct tl_live_interval){
        .end_ns = now_ns, .span_ns = now_ns - span->from_ns, .behind_ratio = NAN};
    count_events(&span->from, last, ret_interval);
    add_means(span, ret_interval);
    bool sends = ret_interval->sent_bytes >= SENDS_AT_LEAST_BYTES || last->write_queue_bytes > 0;
    if (span_ns > 0 && sends)
        split_time(span, last, span_ns, ret_interval);
    else
        for (int i = 0; i < TL_LIVE_PARTS; i++)
            ret_interval->parts_ratio[i] = NAN;
    see_standing(span, last, ret_interval);
    live_span_start(span, last, now_ns);
}

/* --- Several as one --- */

/* Adds a mean, weighed by its time; unknown ones do not count. */
static void weigh(double *sum, double *weight, double value, double by)
{
    if (isnan(value))
        return;
    *sum += value * by;
    *weight += by;
}

#define WEIGHED 10

/* The members of an interval that are means. */
static double *mean_of(struct tl_live_interval *interval, size_t index)
{
    double *const means[WEIGHED] = {&interval->rtt_mean_ns,       &interval->rcv_rtt_ns,
                                    &interval->cwnd_mean_bytes,   &interval->inflight_mean_bytes,
                                    &interval->window_full_ratio, &interval->sndbuf_full_ratio,
                                    &interval->read_queue_ratio,  &interval->behind_ratio,
                                    &interval->rtt_var_ns,        &interval->shut_ratio};
    return means[index];
}

static void add_counts(struct tl_live_interval *joined, const struct tl_live_interval *interval)
{
    joined->span_ns += interval->span_ns;
    joined->readings_count += interval->readings_count;
    joined->sent_bytes += interval->sent_bytes;
    joined->received_bytes += interval->received_bytes;
    joined->segments_count += interval->segments_count;
    joined->retrans_count += interval->retrans_count;
    joined->reord_seen_count += interval->reord_seen_count;
    joined->dsack_count += interval->dsack_count;
    joined->delivered_count += interval->delivered_count;
    joined->delivered_ce_count += interval->delivered_ce_count;
    joined->out_of_order_count += interval->out_of_order_count;
    joined->drops_count += interval->drops_count;
    raise_to(&joined->inflight_max_bytes, interval->inflight_max_bytes);
    raise_to(&joined->snd_wnd_max_bytes, interval->snd_wnd_max_bytes);
    raise_to(&joined->rcv_wnd_max_bytes, interval->rcv_wnd_max_bytes);
    joined->rtt_max_ns = fmax(joined->rtt_max_ns, interval->rtt_max_ns);
    joined->rtt_low_ns = fmin(joined->rtt_low_ns, interval->rtt_low_ns);
    joined->delivery_rate_bps = fmax(joined->delivery_rate_bps, interval->delivery_rate_bps);
}

/* A piece of whole intervals, one after the other. */
static void extend_piece(int64_t *piece_ns, int64_t interval_ns, int64_t *longest_ns)
{
    *piece_ns = interval_ns > 0 ? *piece_ns + interval_ns : 0;
    *longest_ns = *piece_ns > *longest_ns ? *piece_ns : *longest_ns;
}

struct tl_live_range tl_live_range(const struct tl_live_flow *flow, size_t count)
{
    struct tl_live_range range = {.to = count};
    bool has_begin;

    if (range.to > TL_LIVE_INTERVALS)
        range.to = TL_LIVE_INTERVALS;
    has_begin = range.to >= flow->interval_count;
    if (has_begin)
        range.to = flow->interval_count;
    if (range.to > 2 && flow->ended)
        range.from++;
    if (range.to > range.from + 1 && has_begin && flow->new_here)
        range.to--;
    return range;
}

void tl_live_join(const struct tl_live_flow *flow, size_t count,
                  struct tl_live_interval *ret_joined)
{
    double sums[WEIGHED] = {0}, weights[WEIGHED] = {0};
    double parts[TL_LIVE_PARTS] = {0}, parts_ns[TL_LIVE_PARTS] = {0};
    int64_t shut_ns = 0, unanswered_ns = 0;
    struct tl_live_range range = tl_live_range(flow, count);

    *ret_joined =
        (struct tl_live_interval){.rtt_max_ns = NAN, .rtt_low_ns = NAN, .delivery_rate_bps = NAN};
    for (size_t back = range.from; back < range.to; back++) {
        const struct tl_live_interval *interval = tl_live_interval_at(flow, back);
        struct tl_live_interval copy = *interval;
        if (back == range.from)
            ret_joined->end_ns = interval->end_ns;
        add_counts(ret_joined, interval);
        extend_piece(&shut_ns, interval->shut_ns, &ret_joined->shut_ns);
        extend_piece(&unanswered_ns, interval->unanswered_ns, &ret_joined->unanswered_ns);
        for (size_t i = 0; i < WEIGHED; i++)
            weigh(&sums[i], &weights[i], *mean_of(&copy, i), (double)interval->span_ns);
        for (int i = 0; i < TL_LIVE_PARTS; i++)
            weigh(&parts[i], &parts_ns[i], interval->parts_ratio[i], (double)interval->span_ns);
    }
    for (size_t i = 0; i < WEIGHED; i++)
        *mean_of(ret_joined, i) = weights[i] > 0 ? sums[i] / weights[i] : NAN;
    for (int i = 0; i < TL_LIVE_PARTS; i++)
        ret_joined->parts_ratio[i] = parts_ns[i] > 0 ? parts[i] / parts_ns[i] : NAN;
}

double tl_live_held_ratio(const struct tl_live_interval *interval)
{
    const double *parts = interval->parts_ratio;
    if (!isnan(parts[TL_LIVE_APP]))
        return 1 - parts[TL_LIVE_APP];
    if (!isnan(parts[TL_LIVE_RWND]))
        return parts[TL_LIVE_RWND] + parts[TL_LIVE_SNDBUF]; /* the network's part is not known */
    /* A receiver cannot see what its sender waits for: all but the time its own program slept. */
    if (interval->received_bytes == 0 || isnan(interval->read_queue_ratio))
        return 0;
    return 1 - interval->read_queue_ratio;
}

const struct tl_live_interval *tl_live_interval_at(const struct tl_live_flow *flow, size_t back)
{
    if (back >= flow->interval_count || back >= TL_LIVE_INTERVALS)
        return NULL;
    return &flow->intervals[(flow->interval_count - 1 - back) % TL_LIVE_INTERVALS];
}

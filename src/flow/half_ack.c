/* One direction of a connection: the acknowledgements that come back for its data. */
#include <math.h>

#include "half.h"

#define LATE_NS        5e6  /* no host that has the time takes that long; by judgement */
#define DELAYED_ACK_NS 35e6 /* Linux delays by 40 ms, other systems by more */
/* Queues on the sender's side grow and drain: the least sample of this and the last window. */
#define ECHO_WINDOW_NS INT64_C(50000000)
#define STEADY_GAP_NS  INT64_C(3000000)
#define SCALE_MAX      14 /* RFC 7323, section 2.3 */
#define RAW_WINDOW_MIN 16 /* below, what the scale cuts off is much of it */
#define BEYOND_MIN     2  /* one may have been overtaken */

static void add_rtt(struct half *half, int64_t time_ns, double near_rtt_ns)
{
    struct tl_packet_half *out = half->out;
    double way = isfinite(half->near_rtt_ns) ? half->near_rtt_ns : near_rtt_ns;
    double rtt_ns = half->far_rtt_ns + way;
    if (!isfinite(rtt_ns))
        return;
    half->last_rtt_ns = rtt_ns < UINT32_MAX ? (uint32_t)rtt_ns : UINT32_MAX;
    half->last_far_ns = half->far_rtt_ns < UINT32_MAX ? (uint32_t)half->far_rtt_ns : UINT32_MAX;
    out->rtt_min_ns = rtt_ns < out->rtt_min_ns ? rtt_ns : out->rtt_min_ns;
    out->rtt_sum_ns += rtt_ns;
    out->rtt_count++;
    bins_add_class(out->rtt_classes, rtt_ns);
    struct tl_packet_bin *bin = bins_at(half, time_ns);
    if (!bin)
        return;
    bin->rtt_min_ns = (float)rtt_ns < bin->rtt_min_ns ? (float)rtt_ns : bin->rtt_min_ns;
    bin->rtt_sum_ns += (float)rtt_ns;
    bin->rtt_count++;
}

/* Marks the loss of that byte as none: what was sent first had arrived. */
static void take_back(struct half *half, uint64_t byte)
{
    struct tl_packet_half *out = half->out;
    uint64_t offset = byte - half->first;
    for (uint32_t back = 1; back <= out->losses_count && back <= 256; back++) {
        struct tl_packet_loss *loss = &out->losses[out->losses_count - back];
        if (loss->offset_bytes != offset)
            continue;
        loss->needless = true;
        bins_restore_loss(out, loss);
        return;
    }
}

/* One piece that is acknowledged now. */
static void count_piece(struct half *half, const struct tl_segment *segment,
                        const struct piece *piece, uint64_t sacked_before)
{
    struct tl_packet_half *out = half->out;
    if (piece->state & PIECE_HOLE)
        out->unseen_bytes += piece->len;
    else if (piece->sent_count == 1 && !(piece->state & PIECE_SACKED) &&
             piece->begin + piece->len <= sacked_before)
        half_count_late(half, segment->time_ns);
    if (!(piece->state & PIECE_HOLE) && piece->packet_bytes > out->largest_acked_packet &&
        piece->len <= half_mss(half))
        out->largest_acked_packet = piece->packet_bytes;
}

/* From the newest segment that is acknowledged, of so many bytes with it; small: less than one MSS.
 */
static void take_sample(struct half *half, int64_t time_ns, int64_t newest_ns, bool small,
                        uint64_t bytes)
{
    struct tl_packet_half *out = half->out;
    double sample = (double)(time_ns - newest_ns);
    bool alone = bytes <= half_mss(half) && half->piece_ring.count == 0;
    if (alone && sample > DELAYED_ACK_NS && isfinite(half->far_rtt_ns) &&
        sample > half->far_rtt_ns + 30e6) {
        out->nagle_count += small;
        return; /* the receiver's timer, not the way */
    }
    half->far_rtt_ns = sample;
    half->far_least_ns = fmin(half->far_least_ns, sample);
    bins_time_passed(out, newest_ns, BINS_FAR, sample);
    dispersion_add(half, time_ns, newest_ns, bytes);
}

/* What is acknowledged is no longer in flight. Behind a hole that was filled the newest piece has
 * waited for the hole: that is no sample of the way. Returns how much of it had been acknowledged
 * selectively. */
static uint64_t forget_below(struct half *half, const struct tl_segment *segment, uint64_t ack,
                             uint64_t sacked_before)
{
    int64_t newest_ns = 0;
    uint64_t told_bytes = 0;
    bool first = true, small = false, fills_hole = half->una < sacked_before;
    while (half->piece_ring.count > 0) {
        const struct piece *piece = half_piece(half, 0);
        bool once = piece->sent_count == 1 && !(piece->state & (PIECE_SACKED | PIECE_HOLE));
        if (piece->begin + piece->len > ack) {
            if (once && piece->begin < ack) { /* the front of what was captured as one packet */
                newest_ns = piece->first_ns;
                small = false;
            }
            break;
        }
        if (piece->begin + piece->len <= half->una) {
            pieces_drop_first(half); /* split off one that was acknowledged in part: told already */
            continue;
        }
        if (once) {
            newest_ns = piece->first_ns;
            small = piece->len < half_mss(half);
        } else if (first && piece->sent_count > 1 && !(piece->state & PIECE_HOLE) &&
                   segment->has_timestamps && piece->state & PIECE_STAMPED &&
                   (int32_t)(segment->tsecr - piece->tsval) < 0) {
            take_back(half, piece->begin); /* Eifel detection, RFC 3522 */
        }
        count_piece(half, segment, piece, sacked_before);
        told_bytes += piece->state & PIECE_SACKED ? piece->len : 0;
        first = false;
        pieces_drop_first(half);
    }
    if (newest_ns && !fills_hole)
        take_sample(half, segment->time_ns, newest_ns, small, ack - half->una);
    else
        half->timed_ns = 0;
    return told_bytes;
}

/* Where the part of a block begins that no block before it marked; that part counts as marked. */
static uint64_t unmarked_from(struct half *half, uint64_t begin, uint64_t end)
{
    for (int i = 0; i < TL_SEGMENT_SACKS_MAX; i++) {
        uint64_t before = half->sacked[i].end;
        if (begin < half->sacked[i].begin || begin > before)
            continue;
        half->sacked[i].end = end > before ? end : before;
        return end > before ? before : end;
    }
    half->sacked[half->sacked_next].begin = begin;
    half->sacked[half->sacked_next].end = end;
    half->sacked_next = (half->sacked_next + 1) % TL_SEGMENT_SACKS_MAX;
    return begin;
}

/* Returns how much is new. */
static uint64_t sack_pieces(struct half *half, uint64_t begin, uint64_t end)
{
    uint64_t new_bytes = 0;
    if (end > half->next)
        return 0;
    pieces_split(half, begin);
    pieces_split(half, end);
    begin = unmarked_from(half, begin, end);
    for (uint32_t i = pieces_find(half, begin); i < half->piece_ring.count; i++) {
        half->steps_count++;
        struct piece *piece = half_piece(half, i);
        if (piece->begin + piece->len > end)
            break;
        new_bytes += piece->state & PIECE_SACKED ? 0 : piece->len;
        piece->state |= PIECE_SACKED;
    }
    half->sacked_bytes += new_bytes;
    if (end > half->sacked_to)
        half->sacked_to = end;
    return new_bytes;
}

static void count_delivered(struct half *half, int64_t time_ns, uint64_t bytes)
{
    struct tl_packet_bin *bin = half->out->bin_ns && bytes ? bins_at(half, time_ns) : NULL;
    if (bin)
        bin->delivered_bytes += bytes;
}

/* A block below the acknowledgement, or within the second one, reports a duplicate (RFC 2883). */
static void take_sacks(struct half *half, const struct tl_segment *segment, uint64_t ack)
{
    for (unsigned i = 0; i < segment->sack_count; i++) {
        uint64_t begin = half_unwrap(ack, segment->sacks[i].begin),
                 end = half_unwrap(ack, segment->sacks[i].end);
        bool within = i == 0 && segment->sack_count > 1 &&
                      begin >= half_unwrap(ack, segment->sacks[1].begin) &&
                      end <= half_unwrap(ack, segment->sacks[1].end);
        if (i == 0 && (end <= ack || within)) {
            struct tl_packet_bin *bin = bins_at(half, segment->time_ns);
            half->out->dsack_count++;
            if (bin)
                bin->dsack_count++;
            take_back(half, begin);
        } else if (end > begin && begin >= ack) {
            count_delivered(half, segment->time_ns, sack_pieces(half, begin, end));
        }
    }
}

/* The window that stood until now, by its time. */
static void count_window(struct half *half, int64_t time_ns)
{
    struct tl_packet_half *out = half->out;
    double span_ns = (double)(time_ns - half->window_since_ns);
    if (half->window_since_ns && span_ns > 0) {
        bool open = half->window + 3 * half_mss(half) >= out->window_max_bytes;
        out->window_bytes_ns += (double)half->window * span_ns;
        out->window_ns += span_ns;
        out->window_open_ns += open ? span_ns : 0;
    }
    half->window_since_ns = time_ns;
    out->window_count++;
}

static void take_window(struct half *half, const struct tl_segment *segment, uint64_t window)
{
    struct tl_packet_half *out = half->out;
    if (segment->flags & TL_TCP_SYN) /* unscaled, and what many begin with: it shows no buffer */
        return;
    if (window == 0 && half->zero_since_ns == 0) {
        out->zero_window_count++;
        half->zero_since_ns = segment->time_ns;
    } else if (window > 0) {
        half_end_shut(half, segment->time_ns);
    }
    count_window(half, segment->time_ns);
    half->window = window;
    if (window > out->window_max_bytes) {
        /* A window that grows is no buffer that fills: count from its largest on. */
        if (window > out->window_max_bytes + out->window_max_bytes / 8)
            out->window_bytes_ns = out->window_ns = out->window_open_ns = 0;
        out->window_max_bytes = window;
    }
    struct tl_packet_bin *bin = out->bin_ns ? bins_at(half, segment->time_ns) : NULL;
    if (!bin)
        return;
    uint32_t bytes = window < UINT32_MAX ? (uint32_t)window : UINT32_MAX - 1;
    if (bytes > bin->window_max_bytes)
        bin->window_max_bytes = bytes;
    if (bytes < bin->window_min_bytes)
        bin->window_min_bytes = bytes;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* When more than two segments had come, of which one is acknowledged at once (RFC 5681, section
 * 4.2): a last one that came alone waits for the receiver's timer. */
static int64_t owed_since(const struct half *half)
{
    uint64_t two = half->una + 2 * half_mss(half);
    for (uint32_t i = 0; i < half->piece_ring.count; i++) {
        const struct piece *piece = half_piece(half, i);
        if (piece->begin + piece->len > two)
            return piece->first_ns;
    }
    return INT64_MAX;
}

/* How long the oldest data waited without progress, and how long an acknowledgement was owed: with
 * no gap among more than two segments, it is the host beside the capture that is late. */
static void count_stall(struct half *half, int64_t time_ns, uint64_t ack, bool fills)
{
    if (half->piece_ring.count == 0)
        return;
    const struct piece *oldest = half_piece(half, 0);
    int64_t since = later(oldest->first_ns, half->last_move_ns);
    double stall_ns = (double)(time_ns - since);
    if (stall_ns > half->out->stall_longest_ns)
        half->out->stall_longest_ns = stall_ns;
    if (fills || oldest->state & PIECE_HOLE)
        return;
    int64_t owed = owed_since(half);
    if (owed >= time_ns)
        return;
    double late_ns = (double)(time_ns - later(later(since, oldest->last_ns), owed));
    half->out->ack_late_ns += late_ns >= LATE_NS ? late_ns : 0;
    double beyond_ns = late_ns - half->far_least_ns;
    half->out->ack_bout_ns += ack == half->next && beyond_ns >= LATE_NS ? beyond_ns : 0;
}

/* Beside the sender all of it is what the host took to answer, the handshake not always least: what
 * leaves at once behind an acknowledgement was set off by it. */
static double way_to_sender_ns(const struct half *half, double near_rtt_ns)
{
    if (near_rtt_ns <= (double)half->reach_ns)
        return 0;
    if (isfinite(half->near_rtt_ns))
        return half->near_rtt_ns;
    return isfinite(near_rtt_ns) ? near_rtt_ns : 0;
}

/* Without a handshake the scale of the window is not known; but what was seen on its way before an
 * acknowledgement passed lies within the window that this one announces, since windows do not
 * shrink but by what the scale cuts off (RFC 7323, section 2.4). The least scale for which that
 * holds makes the least window: time that is open under it was open. */
static bool is_beyond(const struct half *half, uint64_t ack, uint64_t window)
{
    return half->next > ack + ((window + 1) << half->scale);
}

static void learn_scale(struct half *half, const struct tl_segment *segment, uint64_t ack)
{
    struct tl_packet_half *out = half->out;
    if (out->window_scale_known || segment->flags & (TL_TCP_SYN | TL_TCP_RST) || ack < half->una ||
        segment->window < RAW_WINDOW_MIN)
        return;
    if (!is_beyond(half, ack, segment->window)) {
        half->beyond_count = 0;
        return;
    }
    if (++half->beyond_count < BEYOND_MIN || half->scale == SCALE_MAX)
        return;
    uint8_t before = half->scale;
    while (half->scale < SCALE_MAX && is_beyond(half, ack, segment->window))
        half->scale++;
    out->window_scaled = true;
    half->window <<= half->scale - before;
    half->filled = false;
    bins_open_window(out, half->scale - before);
}

/* It acknowledges more in order than the one before. */
static void make_progress(struct half *half, const struct tl_segment *segment, uint64_t ack,
                          uint64_t sacked_before, double near_rtt_ns)
{
    struct tl_packet_half *out = half->out;
    bool fills = half->una < sacked_before;
    count_stall(half, segment->time_ns, ack, fills);
    uint64_t told_bytes = forget_below(half, segment, ack, sacked_before);
    if (told_bytes < ack - half->una)
        count_delivered(half, segment->time_ns, ack - half->una - told_bytes);
    out->acked_bytes += ack - half->una;
    struct tl_packet_bin *bin = out->bin_ns ? bins_at(half, segment->time_ns) : NULL;
    if (bin)
        bin->acked_bytes += ack - half->una;
    half->una = ack;
    half->last_move_ns = segment->time_ns;
    if (!fills)
        add_rtt(half, segment->time_ns, near_rtt_ns);
}

void half_ack(struct half *half, const struct tl_segment *segment, double near_rtt_ns)
{
    struct tl_packet_half *out = half->out;
    half_begin_in_middle(half, segment->ack);
    uint64_t ack = half_unwrap(half->next, segment->ack);
    learn_scale(half, segment, ack);
    uint64_t window =
        segment->flags & TL_TCP_SYN ? segment->window : (uint64_t)segment->window << half->scale;
    if (half->fin && ack == half->fin)
        ack = half->fin - 1;
    if (ack > half->next) { /* of data that the capture has not */
        if (ack - half->next > HALF_GAP_MAX)
            return;
        out->unseen_bytes += ack - half->next;
        half->next = ack;
    }
    half->ack_delay_ns = way_to_sender_ns(half, near_rtt_ns);
    /* What this acknowledgement reports behind a new gap says nothing of what it takes itself. */
    uint64_t sacked_before = half->sacked_to;
    if (segment->sack_count)
        take_sacks(half, segment, ack);
    if (ack > half->una)
        make_progress(half, segment, ack, sacked_before, near_rtt_ns);
    if (!(segment->flags & TL_TCP_RST)) {
        take_window(half, segment, window);
        account_ack(half, (struct pending_ack){.time_ns = segment->time_ns,
                                               .ack = ack,
                                               .right = ack + window,
                                               .sacked_bytes = half->sacked_bytes,
                                               .has_data = segment->payload_bytes > 0});
    }
}

/* A sender that paused may have waited for its program or a window before it echoed, at most since
 * it had sent before: behind a slow link, where every packet comes after a pause, what is left of
 * the sample is the way's. */
static double less_pause(double sample_ns, double pause_ns, double least_ns)
{
    return fmax(sample_ns - pause_ns, least_ns);
}

void half_echo(struct half *half, int64_t time_ns, double sample_ns, double least_ns)
{
    int64_t pause_ns = time_ns - half->last_data_ns;
    half->out->echoes_count++;
    half->echo_ns = time_ns;
    half->echo_sample_ns = sample_ns;
    if (pause_ns <= STEADY_GAP_NS)
        half->echo_steady_ns = time_ns;
    else if (time_ns - half->echo_steady_ns < 2 * ECHO_WINDOW_NS) {
        /* There are better ones, but the way is no longer than this: behind a train that waits
         * for itself the better ones are those of its end. */
        half->echo_least_ns = fmin(half->echo_least_ns, sample_ns);
        half->near_rtt_ns = fmin(half->near_rtt_ns, sample_ns);
        return;
    } else
        sample_ns = less_pause(sample_ns, (double)pause_ns, least_ns);
    if (time_ns - half->echo_begin_ns > ECHO_WINDOW_NS) {
        half->echo_last_ns = half->echo_begin_ns ? half->echo_least_ns : sample_ns;
        half->echo_least_ns = sample_ns;
        half->echo_begin_ns = time_ns;
    }
    half->echo_least_ns = fmin(half->echo_least_ns, sample_ns);
    half->near_rtt_ns = fmin(half->echo_least_ns, half->echo_last_ns);
}

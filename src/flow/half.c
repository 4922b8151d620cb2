/* One direction of a connection: its data packets until they are acknowledged. */
#include "half.h"

#include <math.h>
#include <stdlib.h>

#define PAUSE_NS INT64_C(12000000)
/* The least retransmission timer of Linux; RFC 6298 wants a second. */
#define RTO_MIN_NS INT64_C(200000000)
/* Into a window that closed so long ago nothing is on its way any more: its sender asks whether it
 * is open (RFC 9293, section 3.8.6.1), which it does after 200 ms and more. */
#define TRIES_NS INT64_C(150000000)
/* The oldest data was sent so often without an answer. */
#define UNANSWERED_TIMES 3
#define REACH_NS         INT64_C(200000)
/* A segment that comes again sooner than this share of a round trip was overtaken, not lost: the
 * sender cannot have known yet. */
#define OVERTAKEN_SHARE 0.8
#define ETHER_MSS       1460u
#define ETHER_MSS_LEAST 1340u
#define JUMBO_MSS       8960u
#define JOINED_MAX      48u /* segments of 1340 bytes in 64 KiB */
/* For what is sent again: it is counted by time four times over, and looked up there. */
#define STEPS_AGAIN 16u

void half_init(struct half *half, struct tl_packet_half *out)
{
    *half = (struct half){.out = out,
                          .near_rtt_ns = (double)NAN,
                          .far_rtt_ns = (double)NAN,
                          .far_least_ns = (double)NAN,
                          .reach_ns = REACH_NS};
    *out = (struct tl_packet_half){.rtt_min_ns = INFINITY};
}

void half_finish(struct half *half)
{
    free(half->pieces);
    free(half->acks);
    half->pieces = NULL;
    half->acks = NULL;
}

void half_begin(struct half *half, uint32_t first_seq)
{
    half->started = true;
    half->first = half->next = HALF_UNWRAP_BASE + first_seq;
    half->una = half->sender_una = half->sender_gone = half->data_gone = half->first;
    half->sender_right = 0;
    half->right_known = false;
}

/* --- What is sent ----------------------------------------------------------------------------- */

/* One segment of a packet, which offload may have joined of several: then it divides by one of the
 * sizes that Ethernet leaves for segments. */
static uint32_t one_segment(uint32_t payload_bytes)
{
    for (uint32_t count = 2; payload_bytes > ETHER_MSS && count <= JOINED_MAX; count++)
        if (payload_bytes % count == 0 && payload_bytes / count >= ETHER_MSS_LEAST &&
            payload_bytes / count <= ETHER_MSS)
            return payload_bytes / count;
    return payload_bytes;
}

/* The segment size in use where no SYN was captured, or none tells it (as simulators' do not): the
 * largest that is seen; a jumbo frame's counts where two follow each other, as the end of what
 * offload joined has any size. */
static void learn_mss(struct half *half, const struct tl_segment *segment)
{
    struct tl_packet_half *out = half->out;
    uint32_t bytes = one_segment(segment->payload_bytes);
    bool again = bytes == half->last_segment_bytes;
    half->last_segment_bytes = bytes;
    if (bytes > out->mss_bytes && (bytes <= ETHER_MSS || (again && bytes <= JUMBO_MSS)))
        out->mss_bytes = bytes;
}

/* Its last segment is less than a full one. On a path that takes less than the MSS all are smaller:
 * one that follows another of its size is full. */
static bool is_partial(struct half *half, uint32_t payload_bytes)
{
    uint32_t before = half->odd_segment_bytes;
    half->odd_segment_bytes = 0;
    if (payload_bytes % half_mss(half) == 0)
        return false;
    half->odd_segment_bytes = one_segment(payload_bytes);
    return half->odd_segment_bytes > ETHER_MSS || half->odd_segment_bytes != before;
}

static void count_pause(struct half *half, int64_t gap_ns)
{
    struct tl_packet_half *out = half->out;
    if (gap_ns <= PAUSE_NS)
        return;
    out->pauses_count++;
    out->pauses_ns += (double)gap_ns;
    if (gap_ns >= RTO_MIN_NS)
        out->long_pauses_ns += (double)gap_ns;
    bins_add_class(out->pause_classes, (double)gap_ns);
}

static void add_passed(struct half *half, int64_t time_ns, uint32_t len)
{
    bins_add_passed(half->out, time_ns, len);
    if (half->echo_ns == time_ns)
        bins_time_passed(half->out, time_ns, BINS_NEAR, half->echo_sample_ns);
}

static void count_new(struct half *half, int64_t time_ns, uint32_t len)
{
    struct tl_packet_half *out = half->out;
    uint32_t segments = half_segments(half, len);
    half->last_data_ns = out->last_data_ns = time_ns;
    if (!out->first_data_ns)
        out->first_data_ns = time_ns;
    out->payload_bytes += len;
    out->segments_count += segments;
    struct tl_packet_bin *bin = bins_at(half, time_ns);
    if (bin) {
        bin->sent_bytes += len;
        bin->segments_count += segments;
        add_passed(half, time_ns, len);
    }
}

static uint8_t stamped(const struct tl_segment *segment)
{
    return segment->has_timestamps ? PIECE_STAMPED : 0;
}

static void send_new(struct half *half, const struct tl_segment *segment, uint64_t begin,
                     uint64_t end)
{
    struct tl_packet_half *out = half->out;
    uint32_t len = (uint32_t)(end - begin), segments = half_segments(half, len);
    if (half->last_data_ns)
        count_pause(half, segment->time_ns - half->last_data_ns);
    if (half->last_was_small) /* more follows it */
        out->small_count++;
    half->last_was_small = len < half_mss(half);
    account_sent(half, segment->time_ns, begin, end);
    half->spent = is_partial(half, segment->payload_bytes);
    out->partial_count += half->spent;
    uint32_t backlog = pieces_queue(half, segment->time_ns, len);
    if (backlog)
        out->backlog_classes[tl_packet_flight_class(backlog)] += segments;
    struct piece *piece = pieces_append(half);
    if (piece)
        *piece = (struct piece){.begin = begin,
                                .len = len,
                                .first_ns = segment->time_ns,
                                .last_ns = segment->time_ns,
                                .tsval = segment->tsval,
                                .rtt_ns = half->last_rtt_ns,
                                .far_rtt_ns = half->last_far_ns,
                                .flight_bytes = (uint32_t)half_flight(end, half->sender_gone),
                                .next_flight_bytes = (uint32_t)half_flight(end, half->sender_gone),
                                .backlog_bytes = backlog,
                                .ip_id = segment->ip_id,
                                .checksum = segment->checksum,
                                .sent_count = 1,
                                .state = stamped(segment),
                                .packet_bytes = segment->packet_bytes};
    half->next = end;
    half->data_gone = half->sender_gone;
    count_new(half, segment->time_ns, len);
}

static void add_loss(struct half *half, const struct piece *piece, bool upstream, bool needless)
{
    struct tl_packet_loss loss = {.time_ns = upstream ? piece->last_ns : piece->first_ns,
                                  .offset_bytes = piece->begin - half->first,
                                  .rtt_ns = piece->rtt_ns,
                                  .far_rtt_ns = piece->far_rtt_ns,
                                  .flight_bytes = piece->flight_bytes,
                                  .next_flight_bytes = piece->next_flight_bytes,
                                  .backlog_bytes = piece->backlog_bytes,
                                  .len_bytes = piece->len,
                                  .upstream = upstream,
                                  .needless = needless};
    bins_add_loss(half->out, &loss);
    if (!needless)
        account_loss(half);
}

/* What was sent again had been lost once more. */
static void add_vain(struct half *half, const struct piece *piece)
{
    struct tl_packet_bin *bin = bins_at(half, piece->last_ns);
    if (bin)
        bin->vain_bytes += piece->len;
    bins_take_passed(half->out, piece->last_ns, piece->len);
}

/* A copy of a packet that was seen already, as mirror ports and several interfaces make them. */
static bool is_copy(const struct piece *piece, const struct tl_segment *segment)
{
    return piece->sent_count > 0 && piece->checksum == segment->checksum &&
           piece->ip_id == segment->ip_id && piece->tsval == segment->tsval &&
           segment->time_ns - piece->last_ns < half_copy_ns(segment);
}

void half_count_late(struct half *half, int64_t time_ns)
{
    half->out->late_count++;
    struct tl_packet_bin *bin = bins_at(half, time_ns);
    if (bin)
        bin->late_count++;
}

static void count_again(struct half *half, const struct tl_segment *segment, uint32_t bytes)
{
    uint32_t segments = half_segments(half, bytes);
    half->out->retrans_count += segments;
    half->out->retrans_bytes += bytes;
    half->out->segments_count += segments;
    struct tl_packet_bin *bin = bins_at(half, segment->time_ns);
    if (bin) {
        bin->retrans_count += segments;
        bin->segments_count += segments;
        add_passed(half, segment->time_ns, bytes);
    }
}

/* A missing piece comes: it was sent again, or only overtaken on its way here. */
static void fill_hole(struct half *half, struct piece *piece, const struct tl_segment *segment,
                      double rtt_ns)
{
    bool late =
        isfinite(rtt_ns) && (double)(segment->time_ns - piece->first_ns) < OVERTAKEN_SHARE * rtt_ns;
    piece->state &= (uint8_t)~PIECE_HOLE;
    piece->sent_count = late ? 1 : 2;
    half->out->payload_bytes += piece->len;
    if (late) {
        half_count_late(half, segment->time_ns);
    } else {
        count_again(half, segment, piece->len);
        add_loss(half, piece, true, false);
    }
}

static void resend(struct half *half, struct piece *piece, const struct tl_segment *segment,
                   bool is_first)
{
    struct tl_packet_half *out = half->out;
    (void)pieces_queue(half, segment->time_ns, piece->len);
    count_again(half, segment, piece->len);
    if (piece->sent_count == 1)
        add_loss(half, piece, false, (piece->state & PIECE_SACKED) != 0);
    else if (!(piece->state & PIECE_SACKED))
        add_vain(half, piece);
    if (piece->sent_count < UINT8_MAX)
        piece->sent_count++;
    if (is_first && piece->sent_count > out->stuck_count &&
        piece->packet_bytes > out->largest_acked_packet) {
        out->stuck_count = piece->sent_count;
        out->smallest_stuck_packet = piece->packet_bytes;
        out->stuck_ns = segment->time_ns - piece->first_ns;
    }
}

/* Bytes below what was sent already. False: a copy, which counts as nothing. */
static bool send_old(struct half *half, const struct tl_segment *segment, uint64_t begin,
                     uint64_t end, double rtt_ns)
{
    bool acked = begin < half->una;
    pieces_split(half, begin);
    pieces_split(half, end);
    for (uint32_t index = pieces_find(half, begin); index < half->piece_ring.count; index++) {
        struct piece *piece = half_piece(half, index);
        half->steps_count += STEPS_AGAIN;
        if (piece->begin >= end)
            break;
        if (piece->state & PIECE_HOLE) {
            fill_hole(half, piece, segment, rtt_ns);
        } else if (is_copy(piece, segment)) {
            return false;
        } else {
            resend(half, piece, segment, index == 0);
        }
        piece->last_ns = segment->time_ns;
        piece->tsval = segment->tsval;
        piece->state = (uint8_t)((piece->state & ~PIECE_STAMPED) | stamped(segment));
        piece->ip_id = segment->ip_id;
        piece->checksum = segment->checksum;
    }
    if (acked) /* it had arrived: the acknowledgement has already passed here */
        count_again(half, segment, (uint32_t)(end < half->una ? end - begin : half->una - begin));
    return true;
}

/* A probe of an idle connection, or of a closed window: one byte before what comes next. */
static bool is_probe(const struct half *half, const struct tl_segment *segment, uint64_t begin)
{
    return segment->payload_bytes <= 1 && begin + 1 == half->next && half->next != half->first &&
           !(segment->flags & (TL_TCP_FIN | TL_TCP_SYN | TL_TCP_RST));
}

/* Nothing between was captured: of no use as a list of what is missing. */
static bool is_gap(const struct half *half, uint64_t bytes)
{
    uint64_t room = HALF_HOLES_FIRST + HALF_HOLES_EACH * half->out->data_packets_count;
    return bytes > HALF_GAP_MAX || half->holes_count + bytes / half_mss(half) > room;
}

void half_data(struct half *half, const struct tl_segment *segment, double near_rtt_ns,
               double far_rtt_ns)
{
    struct tl_packet_half *out = half->out;
    half_begin_in_middle(half, segment->seq);
    uint64_t begin = half_unwrap(half->next, segment->seq), end = begin + segment->payload_bytes;
    bool probe = is_probe(half, segment, begin);
    if (half->zero_since_ns && segment->time_ns - half->zero_since_ns > TRIES_NS)
        half->tried |= probe || segment->payload_bytes > 0;
    if (probe)
        return;
    if (segment->flags & TL_TCP_FIN)
        half->fin = end + 1;
    if (segment->payload_bytes == 0)
        return;
    if (!half->mss_told)
        learn_mss(half, segment);
    out->data_packets_count++;
    account_until(half, segment->time_ns);
    if (begin > half->next) {
        if (is_gap(half, begin - half->next)) {
            out->unseen_bytes += begin - half->next;
            half->piece_ring.count = 0;
            half->sacked_bytes = 0;
            half->next = half->una = half->sender_una = begin;
            half->sender_gone = half->data_gone = begin;
        } else {
            pieces_append_holes(half, segment->time_ns, begin);
        }
    }
    if (begin < half->next) {
        uint64_t old_end = end < half->next ? end : half->next;
        if (!send_old(half, segment, begin, old_end, near_rtt_ns + far_rtt_ns))
            return;
        begin = old_end;
    }
    if (end > begin)
        send_new(half, segment, begin, end);
}

void half_end_shut(struct half *half, int64_t time_ns)
{
    int64_t shut_ns = time_ns - half->zero_since_ns;
    if (half->zero_since_ns && half->tried && shut_ns > half->out->shut_longest_ns)
        half->out->shut_longest_ns = shut_ns;
    half->zero_since_ns = 0;
    half->tried = false;
}

/* Nothing of the other end came since the oldest data was sent first, however often it was. */
static int64_t unanswered_ns(struct half *half, int64_t other_last_ns)
{
    const struct piece *oldest = half->piece_ring.count ? half_piece(half, 0) : NULL;
    bool again = oldest && !(oldest->state & PIECE_HOLE) && oldest->sent_count >= UNANSWERED_TIMES;
    return again && other_last_ns <= oldest->first_ns ? oldest->last_ns - oldest->first_ns : 0;
}

void half_end(struct half *half, int64_t last_ns, int64_t other_last_ns)
{
    account_until(half, half->last_data_ns > half->last_move_ns ? half->last_data_ns
                                                                : half->last_move_ns);
    half_end_shut(half, last_ns);
    half->out->window_scale = half->scale;
    half->out->unanswered_ns = unanswered_ns(half, other_last_ns);
}

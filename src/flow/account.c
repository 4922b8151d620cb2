/* What kept the sender from sending, at the sender's own place and time.
 *
 * Between two events there (an acknowledgement arrives, a segment leaves) nothing changes, so that
 * the time between them has one reason:
 *
 *   nothing in flight, window open           idle: nothing to send
 *   no full segment fits into the window     rwnd
 *   what was lost is not yet acknowledged    recovery
 *   far less in flight than it had before    slack: the congestion window has room
 *   else                                     wait: congestion window, send buffer or program
 *
 * Slack and wait behind a segment that was not full are counted once more as spent: a sender with
 * more to send would have filled it. So are those at the window's brim: it has room, but perhaps
 * less than the sender would send together.
 *
 * (T-RAT, Zhang et al. 2002; root cause analysis, Siekkinen et al. 2005.) */
#include "half.h"

#include <math.h>
#include <stdlib.h>

/* A send buffer wakes its program once a third is free (sk_stream_write_space), so that flight
 * falls to two thirds; below this share of the peak a program has nothing more to send. */
#define SLACK_SHARE 0.6
#define BREAK_NS    INT64_C(300000)
/* After this long without data the congestion window starts anew (RFC 2861; Linux: one RTO). */
#define RESTART_NS INT64_C(200000000)
/* A peak counts for one to two of these: what a sender had in flight at its start says nothing of
 * what holds it later. */
#define PEAK_NS INT64_C(1000000000)
/* A capture farther from the sender does not see what left it together. */
#define AFAR_NS  1e6
#define TRAIN_NS INT64_C(50000)
/* Of two moments without data so close to each other what was sent between them is what was written
 * between them: a delay of some round trips, by judgement. */
#define DRY_NS INT64_C(500000000)

/* Whether the window holds the sender: no full segment fits; or what was sent last left no room for
 * another such packet, and the sender waits until a third of it is open (tcp_tso_should_defer). */
static bool is_closed(const struct half *half)
{
    uint64_t room = half->sender_right > half->next ? half->sender_right - half->next : 0;
    if (!half->right_known)
        return false;
    bool filled = half->filled && half->out->window_scale_known;
    return room < half_mss(half) || (filled && room < half->window / 3);
}

static float *reason(struct half *half, struct tl_packet_bin *bin, double **ret_sum)
{
    struct tl_packet_half *out = half->out;
    uint64_t flight = half->next - half->sender_una;
    uint32_t mss = half_mss(half);
    if (is_closed(half)) {
        *ret_sum = &out->rwnd_ns;
        return &bin->rwnd_ns;
    }
    if (flight == 0) {
        *ret_sum = &out->idle_ns;
        return &bin->idle_ns;
    }
    if (half->in_recovery) {
        *ret_sum = &out->recovery_ns;
        return &bin->recovery_ns;
    }
    if ((double)flight < SLACK_SHARE * (double)half->peak && flight + 2 * mss < half->peak) {
        *ret_sum = &out->slack_ns;
        return &bin->slack_ns;
    }
    *ret_sum = &out->wait_ns;
    return &bin->wait_ns;
}

/* A sender may leave up to a third of the window unused for the sake of a larger packet
 * (tcp_tso_should_defer). Beside it the trains that it sends are seen, unless its link or pacing
 * has drawn them out, and the next one is hardly twice as long. */
static bool is_at_brim(const struct half *half)
{
    uint64_t room = half->sender_right > half->next ? half->sender_right - half->next : 0,
             most = half->window / 3, trains = half->window / 8;
    if (trains < 2 * half->train_bytes)
        trains = 2 * half->train_bytes;
    if (half->ack_delay_ns <= AFAR_NS && trains < most)
        most = trains;
    return half->right_known && room < most;
}

/* Of slack or wait: what was sent last left nothing to send; or the window may have been too full.
 */
static void add_spent(struct half *half, struct tl_packet_bin *bin, const float *part,
                      int64_t span_ns)
{
    struct tl_packet_half *out = half->out;
    bool waits = part == &bin->slack_ns || part == &bin->wait_ns;
    if (waits && is_at_brim(half))
        out->brim_ns += (double)span_ns;
    if (!half->spent)
        return;
    if (part == &bin->slack_ns) {
        bin->spent_slack_ns += (float)span_ns;
        out->spent_slack_ns += (double)span_ns;
    } else if (part == &bin->wait_ns) {
        bin->spent_wait_ns += (float)span_ns;
        out->spent_wait_ns += (double)span_ns;
    }
}

/* The part of [from, to) that lies within reach of the last acknowledgement. */
static void add_reach(struct half *half, int64_t from, int64_t to)
{
    int64_t end = half->last_ack_ns + half->reach_ns;
    half->clock_ns += (double)(to - from);
    if (half->last_ack_ns && end > from)
        half->reached_ns += (double)((end < to ? end : to) - from);
}

static void add_time(struct half *half, int64_t to)
{
    int64_t from = half->now_ns;
    half->now_ns = to;
    if (from == 0 || to <= from)
        return;
    uint64_t flight = half->next - half->sender_una;
    half->out->flight_bytes_ns += flight ? (double)flight * (double)(to - from) : 0;
    half->out->flight_ns += flight ? (double)(to - from) : 0;
    add_reach(half, from, to);
    while (from < to) { /* a bin at a time; bins widen, so that there are not many */
        struct tl_packet_bin *bin = bins_at_place(half->out, &half->bin_there, from);
        if (!bin)
            return;
        int64_t bin_end = half->bin_there.begin_ns + half->bin_there.bin_ns;
        int64_t end = bin_end > from && bin_end < to ? bin_end : to;
        double *sum;
        float *part = reason(half, bin, &sum);
        *part += (float)(end - from);
        *sum += (double)(end - from);
        add_spent(half, bin, part, end - from);
        from = end;
    }
}

static void leave_recovery(struct half *half)
{
    uint64_t flight = half->next - half->sender_una;
    half->in_recovery = false;
    half->peak = half->peak_next = flight;
    if (half->peak_before == 0)
        return;
    /* The acknowledgement that ends it has taken some segments, which the sender is about to
     * replace: two on average. */
    double share = (double)(flight + 2 * half_mss(half)) / (double)half->peak_before;
    unsigned step = (unsigned)(share * (TL_PACKETS_SHARES - 1) + 0.5);
    half->out->backoff_shares[step < TL_PACKETS_SHARES ? step : TL_PACKETS_SHARES - 1]++;
}

static void arrive(struct half *half, const struct pending_ack *ack)
{
    add_time(half, ack->time_ns > half->now_ns ? ack->time_ns : half->now_ns);
    if (ack->ack > half->sender_una) {
        half->sender_una = ack->ack < half->next ? ack->ack : half->next;
        half->last_ack_ns = ack->time_ns;
    }
    half->sender_gone = half->sender_una + ack->sacked_bytes;
    half->answered |= ack->has_data;
    if (ack->right && (ack->ack >= half->sender_una || ack->right > half->sender_right)) {
        half->sender_right = ack->right;
        half->right_known = true;
    }
    if (half->in_recovery && half->sender_una >= half->recovery_to)
        leave_recovery(half);
}

void account_until(struct half *half, int64_t time_ns)
{
    while (half->ack_ring.count > 0) {
        const struct pending_ack *ack = &half->acks[half->ack_ring.head];
        if (ack->time_ns > time_ns)
            break;
        arrive(half, ack);
        half->ack_ring.head = (half->ack_ring.head + 1) & (half->ack_ring.room - 1);
        half->ack_ring.count--;
    }
    if (time_ns > half->now_ns)
        add_time(half, time_ns);
}

static bool grow_acks(struct half *half)
{
    struct ring *ring = &half->ack_ring;
    uint32_t room = ring->room ? 2 * ring->room : 16;
    struct pending_ack *acks = malloc(room * sizeof *acks);
    if (!acks)
        return false;
    for (uint32_t i = 0; i < ring->count; i++)
        acks[i] = half->acks[(ring->head + i) & (ring->room - 1)];
    free(half->acks);
    half->acks = acks;
    half->out->held_bytes += (room - ring->room) * sizeof *acks;
    ring->head = 0;
    ring->room = room;
    return true;
}

void account_ack(struct half *half, struct pending_ack pending)
{
    struct ring *ring = &half->ack_ring;
    int64_t time_ns = pending.time_ns;
    pending.time_ns += (int64_t)half->ack_delay_ns;
    if (pending.time_ns <= time_ns) {
        account_until(half, time_ns);
        arrive(half, &pending);
        return;
    }
    if (ring->count == ring->room && (ring->room == HALF_ACKS_MAX || !grow_acks(half)))
        account_until(half, half->acks[ring->head].time_ns); /* the oldest makes room */
    uint32_t last = (ring->head + ring->count - 1) & (ring->room - 1);
    if (ring->count && pending.time_ns < half->acks[last].time_ns)
        pending.time_ns = half->acks[last].time_ns; /* the delay was corrected: none overtakes */
    half->acks[(ring->head + ring->count++) & (ring->room - 1)] = pending;
}

/* That much is in flight now. */
static void note_peak(struct half *half, int64_t time_ns, uint64_t flight)
{
    if (half->in_recovery)
        return;
    if (time_ns - half->peak_ns > PEAK_NS) {
        half->peak = half->peak_next;
        half->peak_next = 0;
        half->peak_ns = time_ns;
    }
    if (flight > half->peak_next)
        half->peak_next = flight;
    if (flight > half->peak)
        half->peak = flight;
}

/* What the sender would send next, if the window let it: a packet for offload as large as the last
 * one, which it does not begin with less (tcp_tso_should_defer). Where it was captured cut, a train
 * is one only if the window is full at times. Seen from afar the size is not the sender's, and what
 * was sent and what was acknowledged meet a little apart. */
static uint64_t next_bytes(const struct half *half, uint64_t begin, uint64_t end)
{
    uint64_t mss = half_mss(half);
    if (half->ack_delay_ns > AFAR_NS)
        return mss + half->window / 16;
    if (half->out->window_scale_known && end - begin <= mss && half->peak + 2 * mss >= half->window)
        return half->train_bytes;
    return end - begin > mss ? end - begin : mss;
}

/* What leaves in no time, and without an acknowledgement in between, is one train. */
static void note_train(struct half *half, int64_t time_ns, uint64_t begin, uint64_t end)
{
    if (begin != half->train_end || time_ns - half->last_data_ns > TRAIN_NS ||
        half->last_ack_ns > half->last_data_ns) {
        half->train_bytes = 0;
        half->out->bursts_count++;
    }
    half->train_bytes += end - begin;
    half->train_end = end;
}

/* How much later than the acknowledgement's way what it set off may come: from afar by what the
 * packet takes on the slowest link, at most what the flow's own rate has it take. A quarter of the
 * way bounds it for a flow that rested. */
static int64_t set_off_within_ns(const struct half *half, int64_t time_ns, uint64_t begin,
                                 uint64_t end)
{
    if (half->ack_delay_ns <= (double)half->reach_ns || begin == half->first)
        return half->reach_ns;
    double ns_per_byte =
        (double)(time_ns - half->out->first_data_ns) / (double)(begin - half->first);
    double most_ns = fmin((double)(end - begin) * ns_per_byte, half->ack_delay_ns / 4);
    return half->reach_ns + (int64_t)most_ns;
}

/* From afar it is known only to what scatters on the way when an acknowledgement reached the
 * sender: it has run dry where half of what was in flight behind its last segment has gone since. A
 * send buffer wakes its program once a third of it is free (sk_stream_write_space). */
static bool has_fallen(const struct half *half, uint64_t begin)
{
    uint64_t flight = half_flight(begin, half->sender_gone);
    return half->ack_delay_ns <= (double)half->reach_ns || 2 * flight <= half->flight_behind;
}

/* What comes now had not been written when an acknowledgement let the sender go on: its last
 * segment was not full, and nothing followed. Not where it was the other end's turn. */
static void note_dry(struct half *half, int64_t time_ns, uint64_t begin, uint64_t end)
{
    if (!half->spent || half->in_recovery || half->filled)
        return;
    bool waited = half->last_ack_ns > half->last_data_ns &&
                  time_ns - half->last_ack_ns > set_off_within_ns(half, time_ns, begin, end),
         turn = half->answered && begin == half->sender_una;
    if (!waited || turn || !has_fallen(half, begin))
        return;
    if (half->dry_ns && time_ns - half->dry_ns <= DRY_NS)
        half->out->dry_ns += (double)(time_ns - half->dry_ns);
    half->dry_ns = time_ns;
    half->out->dry_count++;
}

void account_sent(struct half *half, int64_t time_ns, uint64_t begin, uint64_t end)
{
    struct tl_packet_half *out = half->out;
    if (begin == half->sender_una && half->last_data_ns &&
        time_ns - half->last_data_ns > RESTART_NS) /* nothing was in flight */
        half->peak = half->peak_next = 0;
    if (half->last_ack_ns && half->last_data_ns && half->clock_ns > 0 &&
        time_ns - half->last_data_ns > BREAK_NS) {
        out->trains_count++;
        out->turns_count += half->answered && begin == half->sender_una;
        out->clocked_count += time_ns - half->last_ack_ns <= half->reach_ns;
        out->clocked_by_chance += half->reached_ns / half->clock_ns;
    }
    note_dry(half, time_ns, begin, end);
    half->answered = false;
    note_train(half, time_ns, begin, end);
    uint64_t flight = half_flight(end, half->sender_gone);
    note_peak(half, time_ns, flight);
    half->flight_behind = flight;
    half->filled = half->right_known && half->sender_right < end + next_bytes(half, begin, end);
    out->flight_classes[tl_packet_flight_class(flight)] +=
        half_segments(half, (uint32_t)(end - begin));
    if (flight > out->flight_max_bytes)
        out->flight_max_bytes = flight;
    struct tl_packet_bin *bin = bins_at(half, time_ns);
    if (bin && flight > bin->flight_max_bytes)
        bin->flight_max_bytes = (uint32_t)(flight < UINT32_MAX ? flight : UINT32_MAX);
}

void account_loss(struct half *half)
{
    if (half->in_recovery)
        return;
    half->in_recovery = true;
    half->recovery_to = half->next;
    half->peak_before = half->peak;
    half->out->loss_events_count++;
}

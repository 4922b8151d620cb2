/* A direction over time in bounded memory: bins that widen, losses, classes of round trips. */
#include "half.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BIN_NS         INT64_C(10000000)
#define BINS_FIRST     8u
#define SLOT_SHIFT     20 /* about 1 ms */
#define SLOTS_FIRST    64u
#define PASSAGES_FIRST 16u
#define PASSAGES_CALM  2048u /* at most, while nothing was lost */

static void clear_bin(struct tl_packet_bin *bin)
{
    *bin = (struct tl_packet_bin){.rtt_min_ns = INFINITY, .window_min_bytes = UINT32_MAX};
}

static void join_bins(struct tl_packet_bin *into, const struct tl_packet_bin *other)
{
    into->sent_bytes += other->sent_bytes;
    into->acked_bytes += other->acked_bytes;
    into->delivered_bytes += other->delivered_bytes;
    into->segments_count += other->segments_count;
    into->retrans_count += other->retrans_count;
    into->dsack_count += other->dsack_count;
    into->late_count += other->late_count;
    into->vain_bytes += other->vain_bytes;
    into->rtt_min_ns = fminf(into->rtt_min_ns, other->rtt_min_ns);
    into->rtt_sum_ns += other->rtt_sum_ns;
    into->rtt_count += other->rtt_count;
    if (other->flight_max_bytes > into->flight_max_bytes)
        into->flight_max_bytes = other->flight_max_bytes;
    if (other->window_max_bytes > into->window_max_bytes)
        into->window_max_bytes = other->window_max_bytes;
    if (other->window_min_bytes < into->window_min_bytes)
        into->window_min_bytes = other->window_min_bytes;
    into->idle_ns += other->idle_ns;
    into->slack_ns += other->slack_ns;
    into->rwnd_ns += other->rwnd_ns;
    into->recovery_ns += other->recovery_ns;
    into->wait_ns += other->wait_ns;
    into->spent_slack_ns += other->spent_slack_ns;
    into->spent_wait_ns += other->spent_wait_ns;
}

/* Two bins become one, until that index fits. */
static uint64_t widen(struct tl_packet_half *out, uint64_t index)
{
    while (index >= TL_PACKETS_BINS_MAX) {
        for (uint32_t i = 0; i < out->bins_count; i += 2) {
            struct tl_packet_bin joined = out->bins[i];
            if (i + 1 < out->bins_count)
                join_bins(&joined, &out->bins[i + 1]);
            out->bins[i / 2] = joined;
        }
        out->bins_count = (out->bins_count + 1) / 2;
        out->bin_ns *= 2;
        index /= 2;
    }
    return index;
}

void *bins_with_room(struct tl_packet_half *out, void *list, uint32_t has, uint32_t count,
                     uint32_t first, size_t size)
{
    uint32_t room = first, wanted = first;
    while (room < has)
        room *= 2;
    while (wanted < count)
        wanted *= 2;
    if (list && wanted <= room)
        return list;
    void *larger = realloc(list, wanted * size);
    if (larger)
        out->held_bytes += (wanted - (list ? room : 0)) * size;
    return larger;
}

struct tl_packet_bin *bins_find(struct tl_packet_half *out, struct bin_place *place,
                                int64_t time_ns)
{
    if (out->bin_ns == 0) {
        out->bin_ns = BIN_NS;
        out->bins_begin_ns = time_ns;
    }
    uint64_t index = time_ns <= out->bins_begin_ns
                         ? 0
                         : (uint64_t)(time_ns - out->bins_begin_ns) / (uint64_t)out->bin_ns;
    if (index >= out->bins_count) {
        index = widen(out, index);
        struct tl_packet_bin *bins = bins_with_room(out, out->bins, out->bins_count,
                                                    (uint32_t)index + 1, BINS_FIRST, sizeof *bins);
        if (!bins)
            return NULL;
        out->bins = bins;
        while (out->bins_count <= index)
            clear_bin(&out->bins[out->bins_count++]);
    }
    *place = (struct bin_place){.begin_ns = out->bins_begin_ns + (int64_t)index * out->bin_ns,
                                .bin_ns = out->bin_ns,
                                .index = (uint32_t)index};
    return &out->bins[index];
}

static uint32_t shifted(uint32_t bytes, unsigned bits)
{
    return bytes <= UINT32_MAX >> bits ? bytes << bits : UINT32_MAX - 1;
}

void bins_open_window(struct tl_packet_half *out, unsigned bits)
{
    for (uint32_t i = 0; i < out->bins_count; i++) {
        struct tl_packet_bin *bin = &out->bins[i];
        bin->wait_ns += bin->rwnd_ns;
        bin->rwnd_ns = 0;
        if (bin->window_min_bytes == UINT32_MAX)
            continue;
        bin->window_min_bytes = shifted(bin->window_min_bytes, bits);
        bin->window_max_bytes = shifted(bin->window_max_bytes, bits);
    }
    out->wait_ns += out->rwnd_ns;
    out->rwnd_ns = out->brim_ns = 0;
    out->window_max_bytes <<= bits;
    out->window_bytes_ns = out->window_ns = out->window_open_ns = 0;
}

/* The last passage at that time or before; NULL: none, or behind the end of a list that is full. */
static struct tl_packet_passage *passage_at(struct tl_packet_half *out, int64_t time_ns)
{
    int64_t time_us = (time_ns - out->bins_begin_ns) / 1000;
    uint32_t begin = 0, end = out->passages_count, last = out->passages_found;
    if (last < end && out->passages[last].time_us == time_us)
        return &out->passages[last];
    if (end == TL_PACKETS_PASSAGES_MAX && time_us > (int64_t)out->passages[end - 1].time_us)
        return NULL;
    while (begin < end) {
        uint32_t middle = begin + (end - begin) / 2;
        if ((int64_t)out->passages[middle].time_us <= time_us)
            begin = middle + 1;
        else
            end = middle;
    }
    out->passages_found = begin > 0 ? begin - 1 : 0;
    return begin > 0 ? &out->passages[begin - 1] : NULL;
}

/* What was missing was in no count. */
static void lose_passage(struct tl_packet_half *out, int64_t time_ns, uint32_t bytes, bool missing)
{
    struct tl_packet_passage *passage = passage_at(out, time_ns);
    if (!passage)
        return;
    passage->lost_bytes += bytes;
    if (!missing)
        passage->passed_bytes -= bytes < passage->passed_bytes ? bytes : passage->passed_bytes;
}

void bins_restore_loss(struct tl_packet_half *out, const struct tl_packet_loss *loss)
{
    struct tl_packet_passage *passage = passage_at(out, loss->time_ns);
    if (!passage || passage->lost_bytes < loss->len_bytes)
        return;
    passage->lost_bytes -= loss->len_bytes;
    passage->passed_bytes += loss->upstream ? 0 : loss->len_bytes;
}

/* Without a loss nothing is told of what lies long ago. */
static void forget_half(struct tl_packet_half *out)
{
    uint32_t kept = out->passages_count / 2;
    memmove(out->passages, out->passages + out->passages_count - kept,
            kept * sizeof *out->passages);
    out->passages_count = kept;
}

static bool grow_passages(struct tl_packet_half *out)
{
    uint32_t room = out->passages_room ? 2 * out->passages_room : PASSAGES_FIRST;
    struct tl_packet_passage *larger = realloc(out->passages, room * sizeof *larger);
    if (!larger)
        return false;
    out->held_bytes += (room - out->passages_room) * sizeof *larger;
    out->passages = larger;
    out->passages_room = room;
    return true;
}

static void add_passage(struct tl_packet_half *out, int64_t time_ns, uint32_t bytes)
{
    uint32_t count = out->passages_count;
    int64_t time_us = (time_ns - out->bins_begin_ns) / 1000;
    if (count == PASSAGES_CALM && out->losses_count == 0) {
        forget_half(out);
        count = out->passages_count;
    }
    struct tl_packet_passage *last = count > 0 ? &out->passages[count - 1] : NULL;
    if (last && time_us <= last->time_us) {
        last->passed_bytes += bytes;
        return;
    }
    if (count == TL_PACKETS_PASSAGES_MAX || time_us < 0 || time_us > UINT32_MAX)
        return;
    if (count == out->passages_room && !grow_passages(out))
        return;
    out->passages[out->passages_count++] =
        (struct tl_packet_passage){.time_us = (uint32_t)time_us, .passed_bytes = bytes};
}

void bins_time_passed(struct tl_packet_half *out, int64_t time_ns, enum bins_side side, double ns)
{
    struct tl_packet_passage *passage = passage_at(out, time_ns);
    if (!passage || ns < 0 || ns > 1e3 * UINT32_MAX ||
        passage->time_us != (time_ns - out->bins_begin_ns) / 1000)
        return;
    *(side == BINS_NEAR ? &passage->near_us : &passage->far_us) = (uint32_t)(ns / 1000) + 1;
}

void bins_add_loss(struct tl_packet_half *out, const struct tl_packet_loss *loss)
{
    uint32_t count = out->losses_count;
    if (count == TL_PACKETS_LOSSES_MAX)
        return;
    if ((count & (count - 1)) == 0) { /* 0, 1, 2, 4 … are full */
        uint32_t room = count ? 2 * count : 1;
        struct tl_packet_loss *losses = realloc(out->losses, room * sizeof *losses);
        if (!losses)
            return;
        out->held_bytes += (room - count) * sizeof *losses;
        out->losses = losses;
    }
    out->losses[out->losses_count++] = *loss;
    if (!loss->needless)
        lose_passage(out, loss->time_ns, loss->len_bytes, loss->upstream);
}

/* Two slots become one, until that index fits. */
static uint64_t widen_slots(struct tl_packet_half *out, uint64_t index)
{
    for (; index >= TL_PACKETS_SLOTS_MAX; index /= 2) {
        for (uint32_t i = 0; i < out->slots_count; i += 2)
            out->slots[i / 2] = out->slots[i] + (i + 1 < out->slots_count ? out->slots[i + 1] : 0);
        out->slots_count = (out->slots_count + 1) / 2;
        out->slot_shift++;
    }
    return index;
}

static uint64_t slot_of(const struct tl_packet_half *out, int64_t time_ns)
{
    return time_ns > out->bins_begin_ns
               ? (uint64_t)(time_ns - out->bins_begin_ns) >> out->slot_shift
               : 0;
}

void bins_add_passed(struct tl_packet_half *out, int64_t time_ns, uint32_t bytes)
{
    if (!out->slots)
        out->slot_shift = SLOT_SHIFT;
    uint64_t index = slot_of(out, time_ns);
    if (index >= out->slots_count) {
        index = widen_slots(out, index);
        uint32_t *slots = bins_with_room(out, out->slots, out->slots_count, (uint32_t)index + 1,
                                         SLOTS_FIRST, sizeof *slots);
        if (!slots)
            return;
        out->slots = slots;
        while (out->slots_count <= index)
            out->slots[out->slots_count++] = 0;
    }
    out->slots[index] += bytes;
    add_passage(out, time_ns, bytes);
}

void bins_take_passed(struct tl_packet_half *out, int64_t time_ns, uint32_t bytes)
{
    uint64_t index = slot_of(out, time_ns);
    if (index < out->slots_count && out->slots[index] >= bytes)
        out->slots[index] -= bytes;
    lose_passage(out, time_ns, bytes, false);
}

double bins_sent_ns(const struct tl_packet_half *half, uint32_t index)
{
    double rtt_ns = (double)half->bins[index].rtt_min_ns;
    if (half->bins[index].rtt_count == 0 || !isfinite(rtt_ns))
        return (double)NAN;
    return (index + 0.5) * (double)half->bin_ns - rtt_ns;
}

void bins_add_class(uint32_t classes[TL_PACKETS_RTT_CLASSES], double value_ns)
{
    /* 8 log2(value / 1 us) without a logarithm: the octave, and the eighth of it by comparison. */
    static const double eighths[8] = {0.5,
                                      0.54525386633262884,
                                      0.59460355750136053,
                                      0.64841977732550483,
                                      0.70710678118654752,
                                      0.77110541270397041,
                                      0.84089641525371454,
                                      0.91700404320467122};
    int octave;
    double part = frexp(value_ns > 1000 ? value_ns / 1000 : 1, &octave);
    unsigned eighth = part >= eighths[4] ? 4 : 0;
    eighth += part >= eighths[eighth + 2] ? 2 : 0;
    eighth += part >= eighths[eighth + 1] ? 1 : 0;
    unsigned class = 8 * (unsigned)(octave - 1) + eighth;
    classes[class < TL_PACKETS_RTT_CLASSES - 1 ? class : TL_PACKETS_RTT_CLASSES - 1]++;
}

/* By the highest bit and the three below it. */
unsigned tl_packet_flight_class(uint64_t bytes)
{
    if (bytes < 8)
        return (unsigned)bytes;
    unsigned high = 63 - (unsigned)__builtin_clzll(bytes);
    unsigned class = 8 * (high - 2) + (unsigned)(bytes >> (high - 3) & 7);
    return class < TL_PACKETS_RTT_CLASSES ? class : TL_PACKETS_RTT_CLASSES - 1;
}

double tl_packet_classes_quantile(const uint32_t classes[TL_PACKETS_RTT_CLASSES], double share)
{
    double total = 0, before = 0;
    for (int i = 0; i < TL_PACKETS_RTT_CLASSES; i++)
        total += classes[i];
    for (int i = 0; i < TL_PACKETS_RTT_CLASSES && total > 0; i++) {
        if (before + classes[i] >= share * total && classes[i] > 0)
            return 1000 * exp2((i + (share * total - before) / classes[i]) / 8);
        before += classes[i];
    }
    return (double)NAN;
}

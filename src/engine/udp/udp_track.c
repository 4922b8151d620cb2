/* Sequence numbers: a ring of bits, a ring of gaps. */
#include "udp_track.h"

#include <stdlib.h>

#define WORDS (UDP_TRACK_WINDOW / 64)

enum tl_status udp_track_init(struct udp_track *ret_track)
{
    *ret_track = (struct udp_track){.loss_stride = 1};
    ret_track->bits = calloc(WORDS, sizeof *ret_track->bits);
    ret_track->gaps = calloc(UDP_GAPS_OPEN, sizeof *ret_track->gaps);
    ret_track->losses = calloc(UDP_LOSSES_MAX, sizeof *ret_track->losses);
    if (ret_track->bits && ret_track->gaps && ret_track->losses)
        return TL_OK;
    udp_track_finish(ret_track);
    return TL_NOMEM;
}

void udp_track_finish(struct udp_track *track)
{
    free(track->bits);
    free(track->gaps);
    free(track->losses);
    track->bits = NULL;
    track->gaps = NULL;
    track->losses = NULL;
}

static void end_run(struct udp_track *track)
{
    if (track->run == 0)
        return;
    int class = 63 - __builtin_clzll(track->run);
    if (class >= TL_UDP_RUN_CLASSES)
        class = TL_UDP_RUN_CLASSES - 1;
    track->runs.classes[class]++;
    track->runs.run_count++;
    if (track->run > track->runs.longest_count)
        track->runs.longest_count = track->run;
    track->run = 0;
}

/* Counts the first `count` numbers of the word at base and clears it. */
static void close_word(struct udp_track *track, unsigned count)
{
    uint64_t *word = &track->bits[track->base / 64 % WORDS];
    if (*word == UINT64_MAX && count == 64) {
        end_run(track);
    } else if (*word == 0) {
        track->run += count;
    } else {
        for (unsigned i = 0; i < count; i++) {
            if (*word >> i & 1)
                end_run(track);
            else
                track->run++;
        }
    }
    *word = 0;
    track->base += count;
}

/* Makes room for numbers below `end`. Behind next all bits are zero: a jump of any width
 * costs a window at most. */
static void advance(struct udp_track *track, uint64_t end)
{
    while (end - track->base > UDP_TRACK_WINDOW) {
        if (track->base >= track->next) {
            uint64_t base = (end - UDP_TRACK_WINDOW + 63) / 64 * 64;
            track->run += base - track->base;
            track->base = base;
            return;
        }
        close_word(track, 64);
    }
}

/* A uniform sample of the gaps that stayed: when the table is full every other one goes. */
static void close_gap(struct udp_track *track, const struct udp_gap *gap)
{
    if (gap->missing_count == 0 || track->losses_seen++ % track->loss_stride != 0)
        return;
    if (track->loss_count == UDP_LOSSES_MAX) {
        for (uint32_t i = 0; i < UDP_LOSSES_MAX / 2; i++)
            track->losses[i] = track->losses[2 * i];
        track->loss_count = UDP_LOSSES_MAX / 2;
        track->loss_stride *= 2;
        if ((track->losses_seen - 1) % track->loss_stride != 0)
            return;
    }
    track->losses[track->loss_count++] = gap->before;
}

static struct udp_gap *gap_at(const struct udp_track *track, uint32_t i)
{
    return &track->gaps[(track->gap_first + i) % UDP_GAPS_OPEN];
}

static void open_gap(struct udp_track *track, uint64_t sequence, int64_t arrival_ns)
{
    if (track->gap_count == UDP_GAPS_OPEN) {
        close_gap(track, gap_at(track, 0));
        track->gap_first = (track->gap_first + 1) % UDP_GAPS_OPEN;
        track->gap_count--;
    }
    *gap_at(track, track->gap_count++) = (struct udp_gap){
        .first = track->next,
        .end = sequence,
        .missing_count = sequence - track->next,
        .arrival_number = track->unique_count,
        .arrival_ns = arrival_ns,
        /* Before the very first one nothing is known; its own delay is the nearest. */
        .before = track->newest,
    };
}

static struct udp_gap *find_gap(const struct udp_track *track, uint64_t sequence)
{
    uint32_t low = 0, high = track->gap_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (gap_at(track, middle)->end <= sequence)
            low = middle + 1;
        else
            high = middle;
    }
    struct udp_gap *gap = low < track->gap_count ? gap_at(track, low) : NULL;
    return gap && gap->first <= sequence ? gap : NULL;
}

/* RFC 4737: the first datagram with a greater number that came before this one is the one
 * that jumped over it. */
static void count_late(struct udp_track *track, uint64_t sequence, int64_t arrival_ns)
{
    struct udp_gap *gap = find_gap(track, sequence);
    track->reordered_count++;
    if (!gap) { /* so long ago that its gap is forgotten: the oldest one is a lower bound */
        if (track->gap_count == 0)
            return;
        gap = gap_at(track, 0);
    } else {
        gap->missing_count--;
    }
    uint64_t extent = track->unique_count - gap->arrival_number;
    int64_t late_ns = arrival_ns - gap->arrival_ns;
    track->extent_sum += extent;
    if (extent > track->extent_max)
        track->extent_max = extent;
    if (late_ns > track->late_max_ns)
        track->late_max_ns = late_ns;
}

enum udp_fate udp_track_out_of_order(struct udp_track *track, uint64_t sequence, int64_t arrival_ns,
                                     struct udp_point point)
{
    if (sequence >= track->next) {
        if (sequence > track->next) {
            if (track->unique_count == 0)
                track->newest = point;
            open_gap(track, sequence, arrival_ns);
        }
        advance(track, sequence + 1);
        track->next = sequence + 1;
        track->newest = point;
    } else {
        uint64_t bit = UINT64_C(1) << sequence % 64;
        if (sequence < track->base || track->bits[sequence / 64 % WORDS] & bit) {
            track->duplicate_count++;
            return UDP_DUPLICATE;
        }
        count_late(track, sequence, arrival_ns);
    }
    bool late = sequence + 1 != track->next;
    track->bits[sequence / 64 % WORDS] |= UINT64_C(1) << sequence % 64;
    track->unique_count++;
    return late ? UDP_LATE : UDP_NEW;
}

void udp_track_close(struct udp_track *track, uint64_t sent_count)
{
    uint64_t end = sent_count > track->next ? sent_count : track->next;
    uint64_t known = track->next;
    if (sent_count > track->next)
        open_gap(track, sent_count, track->gap_count ? gap_at(track, 0)->arrival_ns : 0);
    while (track->base + 64 <= known)
        close_word(track, 64);
    if (track->base < known)
        close_word(track, (unsigned)(known - track->base));
    track->run += end - track->base;
    track->base = end;
    end_run(track);
    for (uint32_t i = 0; i < track->gap_count; i++)
        close_gap(track, gap_at(track, i));
    track->gap_count = 0;
}

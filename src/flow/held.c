/* What is in flight, as a course in time: level, as a full send buffer keeps it, or as a congestion
 * window moves. */
#include "held.h"

#include <math.h>

#include "tightlink/base/stats.h"

#define PIECE_NS   INT64_C(500000000)
#define PIECES_MIN 4
#define PIECES_MAX 64
/* A full send buffer holds the flight at one level: a tenth of the time it may be below this share
 * of what it is at most in another tenth. A window that CUBIC cuts falls to 0.7. */
#define LEVEL 0.8
/* From the first third of the pieces to the last: a window that opens. */
#define GROWS 0.1
/* What a window that nothing cuts gains: C t^3 segments by CUBIC (RFC 9438, equation 1), 0.53 a
 * round trip as Reno would (equation 4), between the middles of these thirds, which begin behind
 * the first quarter of the time. */
#define CUBIC_GAIN   0.4
#define RENO_GAIN    0.53
#define FIRST_MIDDLE 0.375
#define LAST_MIDDLE  0.875
/* Of the time, at most, in which CUBIC may have kept the window where it was. */
#define PLATEAUS_MOST 0.15
/* Where losses leave CUBIC time for more than that, a full buffer shows by how long as much is in
 * flight to the segment. Between two losses a window is within one segment of one level for so
 * long: twice the cube root of 1 / C (RFC 9438, equation 1). By judgement a quarter of all time
 * must remain. */
#define PEGGED_EACH_NS 2.72e9
#define PEGGED_LEAST   0.25

/* The mean flight of pieces of many round trips each, behind the first quarter; how many. */
static unsigned flight_pieces(const struct tl_packet_half *half, double ret_means[PIECES_MAX])
{
    unsigned counts[PIECES_MAX] = {0};
    uint32_t begin = half->bins_count / 4, count = half->bins_count - begin;
    unsigned pieces =
        (unsigned)fmin(PIECES_MAX, ceil((double)count * (double)half->bin_ns /
                                        fmax((double)PIECE_NS, 4 * half->rtt_min_ns)));
    for (unsigned i = 0; i < pieces; i++)
        ret_means[i] = 0;
    for (uint32_t i = 0; i < count && pieces; i++) {
        uint64_t piece = (uint64_t)i * pieces / count;
        ret_means[piece] += half->bins[begin + i].flight_max_bytes;
        counts[piece] += half->bins[begin + i].flight_max_bytes > 0;
    }
    for (unsigned i = 0; i < pieces; i++)
        ret_means[i] /= fmax(counts[i], 1);
    return pieces;
}

/* Slow start is over: the flight has come near what it is on average. */
static double opened_ns(const struct tl_packet_half *half, double mean_bytes)
{
    uint32_t i = 0;
    while (i < half->bins_count && half->bins[i].flight_max_bytes < LEVEL * mean_bytes)
        i++;
    return (double)i * (double)half->bin_ns;
}

/* Share of itself by which a congestion window that nothing cuts would have grown since slow start,
 * which may end without a loss. Where the beginning was not captured a queue may have stood since
 * before that, which keeps all round trips alike: there a window is level that grows as slowly as
 * Reno's. */
static double expected_growth(const struct tl_packet_half *half, double total_ns)
{
    double mean_bytes = half->flight_bytes_ns / half->flight_ns;
    double opened = opened_ns(half, mean_bytes),
           first_s = fmax(FIRST_MIDDLE * total_ns - opened, 0) / 1e9,
           last_s = fmax(LAST_MIDDLE * total_ns - opened, 0) / 1e9;
    double cubic = CUBIC_GAIN * (pow(last_s, 3) - pow(first_s, 3)),
           reno = RENO_GAIN * (last_s - first_s) * 1e9 / half->rtt_min_ns;
    double gain = half->window_scale_known ? fmax(cubic, reno) : fmin(cubic, reno);
    return gain * fmax(half->mss_bytes, 1) / mean_bytes;
}

/* It neither swings nor grows, by half of what a window would have: one that has not had the time
 * to grow is as level as a full send buffer. */
static bool is_level(const struct tl_packet_half *half, double total_ns)
{
    double means[PIECES_MAX], first = 0, last = 0, growth = expected_growth(half, total_ns);
    unsigned pieces = flight_pieces(half, means), third = (pieces + 2) / 3;
    if (!(growth >= GROWS))
        return false;
    if (pieces < PIECES_MIN)
        return true; /* too short for a window to be seen to move */
    for (unsigned i = 0; i < third; i++) {
        first += means[i];
        last += means[pieces - 1 - i];
    }
    tl_stats_sort(means, pieces);
    return last <= (1 + fmin(GROWS, growth / 2)) * first &&
           means[pieces / 10] >= LEVEL * means[pieces - 1 - pieces / 10];
}

/* What cut a window: losses, and marks. */
static double cuts_count(const struct tl_packet_half *half)
{
    return (double)half->loss_events_count + (double)half->ece_count;
}

/* Time in which CUBIC (RFC 9438, section 4.2) keeps the window near what it was at a loss, on
 * either side of it: twice the K of its equation 2, for C = 0.4 and beta = 0.7. */
static double plateaus_ns(const struct tl_packet_half *half)
{
    double segments = (double)half->flight_max_bytes / fmax(half->mss_bytes, 1);
    return cuts_count(half) * 2e9 * cbrt(segments * (1 - 0.7) / 0.4);
}

/* Share of the time behind the first quarter, as far as anything was sent then, in which to a
 * segment as much is in flight as hardly ever more is. */
static double pegged_ratio(const struct tl_packet_half *half)
{
    double means[PIECES_MAX];
    unsigned pieces = flight_pieces(half, means), count = 0, pegged = 0;
    if (pieces < PIECES_MIN)
        return 0;
    tl_stats_sort(means, pieces);
    double peg_bytes = means[pieces - 1 - pieces / 10];
    for (uint32_t i = half->bins_count / 4; i < half->bins_count; i++) {
        double bytes = half->bins[i].flight_max_bytes;
        count += bytes > 0;
        pegged += fabs(bytes - peg_bytes) <= half->mss_bytes;
    }
    return (double)pegged / fmax(count, 1);
}

/* For longer than the windows between its losses would have been. */
static bool is_pegged(const struct tl_packet_half *half, double total_ns)
{
    double pegged_ns = 0.75 * total_ns * pegged_ratio(half);
    return pegged_ns >= cuts_count(half) * PEGGED_EACH_NS + PEGGED_LEAST * total_ns;
}

bool flight_is_held(const struct tl_packet_half *half, double total_ns)
{
    return is_level(half, total_ns) &&
           (plateaus_ns(half) <= PLATEAUS_MOST * total_ns || is_pegged(half, total_ns));
}

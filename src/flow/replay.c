/* Losses played back through a token bucket, packet by packet; see limits.h.
 *
 * The level is how much of the bucket is gone, or how full a queue is, less its depth: 0 where the
 * next packet is dropped, -depth where the bucket is full or the queue empty. */
#include <math.h>
#include <stdlib.h>

#include "tightlink/flow/limits.h"
#include "waits.h"

#define EVENTS_LEAST   4
#define LOSSES_LEAST   8
#define PASSAGES_MOST  16384u /* from the first loss on: some thousand buckets are tried on them */
#define RATE_LEAST     0.9    /* of what passed between the first loss and the last */
#define RATE_STEP      1.03
#define RATES          74 /* to nine times the mean: a short queue may leave its link that idle */
#define RATE_FINE      1.005
#define DEPTH_LEAST    3 /* segments */
#define DEPTH_BEHIND   6 /* where what is lost was not seen: see SLACK */
#define DEPTH_STEP     1.3
#define DEPTH_FINE     1.05
#define DEPTHS         48   /* to some 200,000 times the least */
#define FINE_STEPS     5    /* to the next of the wider ones */
#define DEPTH_MOST     0.25 /* of all that passed: it has to be filled and emptied again and again */
#define AS_GOOD        0.01
#define NEARLY_AS_GOOD 0.03
/* Segments below empty at a loss: what passed last was one of them, and what comes behind a loss
 * may come a little later. */
#define SLACK 1.5

struct play {
    const struct tl_packet_passage *passages;
    uint32_t first, end; /* from the first loss to behind the last one */
    double mss, rtt_us, packets;
    uint32_t events, quiet_rounds; /* loss events behind the first; round trips without a loss */
    bool upstream;                 /* most losses lie before the capturing machine */
};

/* How a bucket does. */
struct outcome {
    uint32_t told, alarmed_rounds;
    double amiss_packets; /* that passed without a token, or were lost beside as many */
};

static uint32_t round_of(const struct play *play, uint32_t index)
{
    uint32_t begin_us = play->passages[play->first].time_us;
    return (uint32_t)((play->passages[index].time_us - begin_us) / play->rtt_us);
}

/* Losses within a round trip of the one before are one event. */
static bool begins_event(const struct play *play, uint32_t index, uint32_t last_loss)
{
    return play->passages[index].time_us - play->passages[last_loss].time_us > play->rtt_us;
}

/* Levels: at each passage, behind what passed; NULL: not wanted. */
static void run(const struct play *play, double rate, double depth, double *levels,
                struct outcome *outcome)
{
    double level = 0;
    uint32_t last_loss = play->first, alarm_round = UINT32_MAX, loss_round = UINT32_MAX;
    *outcome = (struct outcome){0};
    for (uint32_t i = play->first; i < play->end; i++) {
        const struct tl_packet_passage *passage = &play->passages[i];
        if (i > play->first)
            level = fmax(level - rate * (passage->time_us - play->passages[i - 1].time_us), -depth);
        level += passage->passed_bytes;
        if (passage->lost_bytes > 0) {
            outcome->told += begins_event(play, i, last_loss) && level > -SLACK * play->mss;
            last_loss = i;
            loss_round = round_of(play, i);
            outcome->alarmed_rounds -= alarm_round == loss_round;
            alarm_round = alarm_round == loss_round ? UINT32_MAX : alarm_round;
            outcome->amiss_packets += fmax(-level / play->mss - 1, 0);
            level = fmin(fmax(level, -play->mss), 0);
        } else if (level > play->mss / 2) {
            uint32_t round = round_of(play, i);
            outcome->alarmed_rounds += round != alarm_round && round != loss_round;
            alarm_round = round != loss_round ? round : alarm_round;
            outcome->amiss_packets += level / play->mss;
            level = 0;
        }
        if (levels)
            levels[i] = fmin(level, 0);
    }
}

static double score(const struct play *play, const struct outcome *outcome)
{
    return (double)outcome->told / play->events -
           (double)outcome->alarmed_rounds / fmax(play->quiet_rounds, 1) -
           outcome->amiss_packets / play->packets;
}

/* Wilson score interval of the events told, less what is no matter of theirs. */
static void bound(const struct play *play, const struct outcome *outcome,
                  struct tl_packet_replay *replay)
{
    double z = 1.96, n = play->events, p = outcome->told / n, false_ratio = p - replay->told_ratio;
    double middle = (p + z * z / (2 * n)) / (1 + z * z / n),
           half = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    replay->low_ratio = fmax(middle - half - false_ratio, 0);
    replay->high_ratio = fmin(middle + half - false_ratio, 1);
}

/* The best so far. */
struct found {
    double score, rate, depth;
    struct outcome outcome;
};

static void try(const struct play *play, double rate, double depth, double margin,
                struct found *best)
{
    struct found found = {.rate = rate, .depth = depth};
    run(play, rate, depth, NULL, &found.outcome);
    found.score = score(play, &found.outcome);
    if (found.score > best->score + margin)
        *best = found;
}

static double least_depth(const struct play *play)
{
    return (play->upstream ? DEPTH_BEHIND : DEPTH_LEAST) * play->mss;
}

/* The depth that does best at that rate. */
static struct found try_depths(const struct play *play, double rate, double passed)
{
    struct found best = {.score = -INFINITY};
    for (int i = 0; i < DEPTHS; i++) {
        double depth = least_depth(play) * pow(DEPTH_STEP, i);
        if (depth < DEPTH_MOST * passed)
            try(play, rate, depth, AS_GOOD, &best);
    }
    return best;
}

/* Between those steps: a depth that is a little less lets a higher rate do as well. */
static void refine(const struct play *play, struct found *best)
{
    const struct found about = *best;
    for (int i = -FINE_STEPS; i <= FINE_STEPS; i++)
        for (int j = -FINE_STEPS; j <= FINE_STEPS; j++)
            try(play, about.rate * pow(RATE_FINE, i),
                fmax(about.depth * pow(DEPTH_FINE, j), least_depth(play)), 0, best);
}

/* The rate (bytes a us) and depth that foretell best: of those as good the lowest, and the least.
 * Its lowest and highest rate are those of all that foretell nearly as well. */
static struct found search(const struct play *play, double passed, double *ret_low,
                           double *ret_high)
{
    const struct tl_packet_passage *passages = play->passages;
    double time_us = passages[play->end - 1].time_us - (double)passages[play->first].time_us;
    struct found best = {.score = -INFINITY}, each[RATES];
    for (int i = 0; i < RATES; i++) {
        each[i] = try_depths(play, RATE_LEAST * passed / time_us * pow(RATE_STEP, i), passed);
        if (each[i].score > best.score + AS_GOOD)
            best = each[i];
    }
    *ret_low = *ret_high = best.rate;
    for (int i = 0; i < RATES; i++) {
        if (each[i].score < best.score - NEARLY_AS_GOOD)
            continue;
        *ret_low = fmin(*ret_low, each[i].rate);
        *ret_high = fmax(*ret_high, each[i].rate);
    }
    if (isfinite(best.score))
        refine(play, &best);
    return best;
}

/* Whether packets wait for the level, on the side where they are lost. */
static void time_waits(const struct play *play, double rate, struct tl_packet_replay *replay)
{
    double swing;
    double *room = malloc(3 * (size_t)play->end * sizeof *room);
    if (!room)
        return;
    double *levels = room, *timed = levels + play->end, *waits_ns = timed + play->end;
    struct outcome outcome;
    uint32_t count = 0;
    run(play, rate, replay->depth_bytes, levels, &outcome);
    for (uint32_t i = play->first; i < play->end; i++) {
        uint32_t wait_us = play->upstream ? play->passages[i].near_us : play->passages[i].far_us;
        if (wait_us == 0)
            continue;
        timed[count] = levels[i];
        waits_ns[count++] = 1e3 * wait_us;
    }
    if (waits_compare(timed, waits_ns, count, &swing, &replay->delay_ns))
        replay->swing_ns = swing / rate * 1e3;
    free(room);
}

/* False with too few losses. Returns what passed between the first loss and the last. */
static bool gather(const struct tl_packet_half *half, struct play *play, double *ret_passed)
{
    double lost = 0, passed = 0;
    uint32_t last = 0, rounds_lossy = 0, loss_round = UINT32_MAX;
    *play = (struct play){.passages = half->passages,
                          .mss = half->mss_bytes,
                          .first = half->passages_count,
                          .rtt_us = fmax(tl_packet_rtt_mean_ns(half) / 1e3, 1)};
    for (uint32_t i = 0; i < half->passages_count && i < play->first + PASSAGES_MOST; i++) {
        if (half->passages[i].lost_bytes == 0)
            continue;
        if (play->first == half->passages_count)
            play->first = last = i;
        lost += half->passages[i].lost_bytes;
        play->events += begins_event(play, i, last);
        rounds_lossy += round_of(play, i) != loss_round;
        loss_round = round_of(play, i);
        play->end = i + 1;
        last = i;
    }
    for (uint32_t i = play->first; i < play->end; i++)
        passed += half->passages[i].passed_bytes;
    play->packets = fmax(passed / play->mss, 1);
    *ret_passed = passed;
    if (play->events < EVENTS_LEAST || lost < (LOSSES_LEAST - 0.5) * play->mss)
        return false;
    play->quiet_rounds = round_of(play, play->end - 1) + 1 - rounds_lossy;
    return true;
}

void tl_packet_replay(const struct tl_packet_half *half, bool upstream,
                      struct tl_packet_replay *ret_replay)
{
    struct play play;
    double passed;
    *ret_replay =
        (struct tl_packet_replay){(double)NAN, (double)NAN, (double)NAN, (double)NAN, (double)NAN,
                                  (double)NAN, (double)NAN, (double)NAN, (double)NAN};
    if (!half->rtt_count || !half->mss_bytes || !half->losses_count ||
        !gather(half, &play, &passed))
        return;
    play.upstream = upstream;
    double low, high;
    struct found best = search(&play, passed, &low, &high);
    if (!isfinite(best.score))
        return;
    ret_replay->told_ratio = fmax(best.score, 0);
    ret_replay->rate_bps = best.rate * 8e6;
    ret_replay->rate_low_bps = fmin(low, best.rate) * 8e6;
    ret_replay->rate_high_bps = fmax(high, best.rate) * 8e6;
    ret_replay->depth_bytes = best.depth;
    bound(&play, &best.outcome, ret_replay);
    time_waits(&play, best.rate, ret_replay);
}

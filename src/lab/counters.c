/* Live counters of one direction: the emulator writes, anybody reads. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shared.h"
#include "tightlink/base/units.h"

#define STEPS_PER_OCTAVE 4
#define FIRST_NS         1000.0

static int bucket_of(int64_t error_ns)
{
    double size = fabs((double)error_ns);
    if (size < FIRST_NS)
        return 0;
    int bucket = 1 + (int)(log2(size / FIRST_NS) * STEPS_PER_OCTAVE);
    return bucket < TL_LAB_ERROR_BUCKETS ? bucket : TL_LAB_ERROR_BUCKETS - 1;
}

/* The upper edge: a percentile is never reported better than it was. */
static int64_t bucket_edge_ns(int bucket)
{
    return (int64_t)(FIRST_NS * exp2((double)bucket / STEPS_PER_OCTAVE));
}

void tl_lab_live_delay_error(struct tl_lab_live *live, int64_t error_ns)
{
    tl_lab_count(&live->delay_errors[bucket_of(error_ns)], 1);
    if (error_ns > atomic_load_explicit(&live->delay_error_max_ns, memory_order_relaxed))
        atomic_store_explicit(&live->delay_error_max_ns, error_ns, memory_order_relaxed);
}

static uint64_t get(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static int64_t percentile_ns(const uint64_t *counts, uint64_t total, double share)
{
    uint64_t seen = 0;
    for (int i = 0; i < TL_LAB_ERROR_BUCKETS; i++) {
        seen += counts[i];
        if ((double)seen >= share * (double)total && seen > 0)
            return bucket_edge_ns(i);
    }
    return 0;
}

void tl_lab_live_read(const struct tl_lab_live *live, struct tl_lab_counters *ret_counters)
{
    struct tl_lab_counters counters = {
        .in_packets = get(&live->in_packets),
        .in_bytes = get(&live->in_bytes),
        .out_packets = get(&live->out_packets),
        .out_bytes = get(&live->out_bytes),
        .duplicated = get(&live->duplicated),
        .reordered = get(&live->reordered),
        .corrupted = get(&live->corrupted),
        .marked = get(&live->marked),
        .queue_peak_bytes = get(&live->queue_peak_bytes),
    };
    for (int i = 0; i < TL_LAB_DROP_COUNT; i++)
        counters.drops[i] = get(&live->drops[i]);
    counters.drops[TL_LAB_DROP_EMULATOR] += get(&live->overruns);
    uint64_t errors[TL_LAB_ERROR_BUCKETS];
    for (int i = 0; i < TL_LAB_ERROR_BUCKETS; i++)
        counters.delay_samples += errors[i] = get(&live->delay_errors[i]);
    counters.delay_error_p50_ns = percentile_ns(errors, counters.delay_samples, 0.50);
    counters.delay_error_p99_ns = percentile_ns(errors, counters.delay_samples, 0.99);
    counters.delay_error_max_ns =
        atomic_load_explicit(&live->delay_error_max_ns, memory_order_relaxed);
    *ret_counters = counters;
}

bool tl_lab_held_up(const struct tl_lab_counters counters[TL_LAB_DIRECTION_COUNT],
                    char ret_reason[TL_LAB_HELD_UP_SIZE])
{
    uint64_t dropped = 0;
    int64_t late_ns = 0;
    char late[TL_UNIT_TEXT_SIZE], what[TL_LAB_HELD_UP_SIZE / 2] = "";
    for (int way = 0; way < TL_LAB_DIRECTION_COUNT; way++) {
        dropped += counters[way].drops[TL_LAB_DROP_EMULATOR];
        if (counters[way].delay_error_p99_ns > late_ns)
            late_ns = counters[way].delay_error_p99_ns;
    }
    if (late_ns <= TL_LAB_LATE_NS && dropped == 0)
        return false;
    bool is_late = late_ns > TL_LAB_LATE_NS;
    if (is_late)
        snprintf(what, sizeof what, "one packet in a hundred left it %s late or later",
                 tl_format_ns((double)late_ns, late));
    size_t used = strlen(what);
    if (dropped)
        snprintf(what + used, sizeof what - used, "%s%llu packets were dropped for that",
                 is_late ? ", " : "", (unsigned long long)dropped);
    snprintf(ret_reason, TL_LAB_HELD_UP_SIZE, "this machine was too busy to emulate that path: %s",
             what);
    return true;
}

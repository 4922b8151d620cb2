/* The memory that the lab's processes share: mapped before the first fork, gone
 * with the last process. Every field but one has one writer; readers see each number
 * whole (lock-free atomics). */
#ifndef TL_LAB_SHARED_H
#define TL_LAB_SHARED_H

#include <stdatomic.h>
#include <stdint.h>

#include "cgroup.h"
#include "tightlink/lab/lab.h"

/* Delay errors in buckets of a quarter octave: 1 us to 1 s in 80 steps; one
 * below, the last one for all above. */
#define TL_LAB_ERROR_BUCKETS 82

/* Written by one emulator thread. */
struct tl_lab_live {
    _Atomic uint64_t in_packets, in_bytes;
    _Atomic uint64_t out_packets, out_bytes;
    _Atomic uint64_t drops[TL_LAB_DROP_COUNT];
    _Atomic uint64_t overruns; /* lost in front of the emulator; written by its main thread */
    _Atomic uint64_t duplicated, reordered, corrupted, marked;
    _Atomic uint64_t queue_peak_bytes;
    _Atomic uint64_t delay_errors[TL_LAB_ERROR_BUCKETS];
    _Atomic int64_t delay_error_max_ns;
    _Atomic int64_t link_free_ns; /* until when the wire is busy; kept up for collisions only */
};

struct tl_lab_shared {
    _Atomic int64_t mark_ns;                          /* written by the caller */
    _Atomic int32_t emulator_pid;                     /* written by the guard, then by nobody */
    _Atomic int32_t carrier;                          /* the same; enum tl_lab_carrier */
    _Atomic int64_t medium_free_ns[TL_LAB_LINKS_MAX]; /* half duplex; written by both directions */
    struct tl_lab_cgroups cgroups;                    /* written by the guard before "ready" */
    struct tl_lab_live live[TL_LAB_LINKS_MAX][TL_LAB_DIRECTION_COUNT];
};

/* Adds to a counter that only this thread writes: no locked instruction needed. */
static inline void tl_lab_count(_Atomic uint64_t *counter, uint64_t add)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + add,
                          memory_order_relaxed);
}

/* Records how late (or early, if negative) a packet left. */
void tl_lab_live_delay_error(struct tl_lab_live *live, int64_t error_ns);

/* Totals and percentiles of one direction for the public interface. */
void tl_lab_live_read(const struct tl_lab_live *live, struct tl_lab_counters *ret_counters);

#endif

/* Packets on their way: slots of memory for them, and the order in which they
 * leave. All memory is taken at the start; nothing is allocated per packet.
 * One thread. */
#ifndef TL_LAB_SCHEDULE_H
#define TL_LAB_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/status.h"

struct tl_lab_entry {
    int64_t depart_ns;
    uint64_t order; /* arrivals with one time of departure leave in their order */
    uint32_t slot;
    uint32_t len_bytes;
};

struct tl_lab_schedule {
    unsigned char *memory; /* slot_count x slot_size, mapped, touched only when used */
    size_t slot_size;
    uint32_t slot_count;
    uint32_t free_count;
    uint32_t *free_slots; /* a stack, so that recently used memory is used again */
    struct tl_lab_entry *heap;
    uint32_t heap_count;
    uint64_t next_order;
};

enum tl_status tl_lab_schedule_init(struct tl_lab_schedule *schedule, uint32_t slot_count,
                                    size_t slot_size) TL_WARN_UNUSED;
void tl_lab_schedule_finish(struct tl_lab_schedule *schedule);

/* A free slot, or UINT32_MAX when all are taken. */
uint32_t tl_lab_schedule_take(struct tl_lab_schedule *schedule);
void tl_lab_schedule_release(struct tl_lab_schedule *schedule, uint32_t slot);
void *tl_lab_schedule_memory(const struct tl_lab_schedule *schedule, uint32_t slot);

/* Puts a taken slot in line; it always fits, there is a place for each slot. */
void tl_lab_schedule_push(struct tl_lab_schedule *schedule, uint32_t slot, uint32_t len_bytes,
                          int64_t depart_ns);

/* When the next packet leaves; INT64_MAX when there is none. */
int64_t tl_lab_schedule_next_ns(const struct tl_lab_schedule *schedule);

/* Takes the next packet out of line; its slot is the caller's until released. */
struct tl_lab_entry tl_lab_schedule_pop(struct tl_lab_schedule *schedule);

#endif

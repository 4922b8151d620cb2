/* A binary heap over fixed slots; see schedule.h. */
#include "schedule.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum tl_status tl_lab_schedule_init(struct tl_lab_schedule *schedule, uint32_t slot_count,
                                    size_t slot_size)
{
    memset(schedule, 0, sizeof *schedule);
    void *memory = mmap(NULL, (size_t)slot_count * slot_size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    schedule->free_slots = calloc(slot_count, sizeof *schedule->free_slots);
    schedule->heap = calloc(slot_count, sizeof *schedule->heap);
    schedule->memory = memory == MAP_FAILED ? NULL : memory;
    schedule->slot_size = slot_size;
    schedule->slot_count = slot_count;
    if (!schedule->memory || !schedule->free_slots || !schedule->heap) {
        tl_lab_schedule_finish(schedule);
        return TL_NOMEM;
    }
    for (uint32_t i = 0; i < slot_count; i++)
        schedule->free_slots[i] = slot_count - 1 - i;
    schedule->free_count = slot_count;
    return TL_OK;
}

void tl_lab_schedule_finish(struct tl_lab_schedule *schedule)
{
    if (schedule->memory)
        munmap(schedule->memory, (size_t)schedule->slot_count * schedule->slot_size);
    free(schedule->free_slots);
    free(schedule->heap);
    memset(schedule, 0, sizeof *schedule);
}

uint32_t tl_lab_schedule_take(struct tl_lab_schedule *schedule)
{
    return schedule->free_count ? schedule->free_slots[--schedule->free_count] : UINT32_MAX;
}

void tl_lab_schedule_release(struct tl_lab_schedule *schedule, uint32_t slot)
{
    assert(schedule->free_count < schedule->slot_count);
    schedule->free_slots[schedule->free_count++] = slot;
}

void *tl_lab_schedule_memory(const struct tl_lab_schedule *schedule, uint32_t slot)
{
    return schedule->memory + (size_t)slot * schedule->slot_size;
}

static bool before(const struct tl_lab_entry *a, const struct tl_lab_entry *b)
{
    return a->depart_ns < b->depart_ns || (a->depart_ns == b->depart_ns && a->order < b->order);
}

void tl_lab_schedule_push(struct tl_lab_schedule *schedule, uint32_t slot, uint32_t len_bytes,
                          int64_t depart_ns)
{
    assert(schedule->heap_count < schedule->slot_count);
    struct tl_lab_entry entry = {depart_ns, schedule->next_order++, slot, len_bytes};
    struct tl_lab_entry *heap = schedule->heap;
    uint32_t at = schedule->heap_count++;
    /* Packets mostly leave in the order of arrival: this loop then ends at once. */
    while (at > 0 && before(&entry, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = entry;
}

int64_t tl_lab_schedule_next_ns(const struct tl_lab_schedule *schedule)
{
    return schedule->heap_count ? schedule->heap[0].depart_ns : INT64_MAX;
}

struct tl_lab_entry tl_lab_schedule_pop(struct tl_lab_schedule *schedule)
{
    assert(schedule->heap_count > 0);
    struct tl_lab_entry *heap = schedule->heap;
    struct tl_lab_entry first = heap[0];
    struct tl_lab_entry last = heap[--schedule->heap_count];
    uint32_t count = schedule->heap_count;
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= count)
            break;
        if (child + 1 < count && before(&heap[child + 1], &heap[child]))
            child++;
        if (!before(&heap[child], &last))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return first;
}

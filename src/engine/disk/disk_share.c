/* What all areas of this program hold of a file system, together (P8). Areas are few (64 sessions
 * and those that a hung disk keeps), so that a list is gone through. */
#include <pthread.h>

#include "disk_private.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tl_disk_area *first;

static uint64_t held_of(dev_t device)
{
    uint64_t bytes = 0;
    for (const struct tl_disk_area *area = first; area; area = area->next_holder)
        if (area->device == device)
            bytes += area->held_bytes;
    return bytes;
}

uint64_t disk_share_take(struct tl_disk_area *area, dev_t device, uint64_t permitted,
                         uint64_t wanted, bool shared)
{
    pthread_mutex_lock(&lock);
    uint64_t held = held_of(device);
    uint64_t bytes = permitted > held ? permitted - held : 0;
    if (shared && bytes / 2 >= (uint64_t)TL_DISK_BYTES_MIN)
        bytes /= 2;
    if (bytes > wanted)
        bytes = wanted;
    bytes -= bytes % TL_DISK_BLOCK_BYTES;
    if (bytes < (uint64_t)TL_DISK_BYTES_MIN)
        bytes = 0;
    area->device = device;
    area->held_bytes = bytes;
    if (bytes > 0) {
        area->next_holder = first;
        first = area;
    }
    pthread_mutex_unlock(&lock);
    return bytes;
}

void disk_share_give_back(struct tl_disk_area *area)
{
    pthread_mutex_lock(&lock);
    struct tl_disk_area **at = &first;
    while (*at && *at != area)
        at = &(*at)->next_holder;
    if (*at)
        *at = area->next_holder;
    area->held_bytes = 0;
    pthread_mutex_unlock(&lock);
}

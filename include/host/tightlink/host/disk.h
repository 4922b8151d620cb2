/* What is under a directory: file system, device, and what holds it back.
 *
 * A row's name is the fact's id behind "disk_", and behind "disk." on the wire. Nothing here
 * needs privilege or fails: what cannot be read is unknown with its reason. */
#ifndef TL_HOST_DISK_H
#define TL_HOST_DISK_H

#include <stdint.h>

#include "tightlink/host/value.h"

/* id, name, unit, where from */
#define TL_HOST_DISK_NUMBER_MAP(X)                                                                 \
    X(IN_MEMORY, in_memory, "bool", "type of the file system")                                     \
    X(OVER_NETWORK, over_network, "bool", "type of the file system")                               \
    X(MOUNTED_SYNC, mounted_sync, "bool", "mount options")                                         \
    X(READ_AHEAD, read_ahead_bytes, "bytes", "queue/read_ahead_kb")                                \
    X(QUEUE, queue_count, "count", "queue/nr_requests")                                            \
    X(ROTATIONAL, rotational, "bool", "queue/rotational")                                          \
    X(VIRTUAL, virtual, "bool", "name and vendor of the device")                                   \
    X(WRITE_THROUGH, write_through, "bool", "queue/write_cache")                                   \
    /* of the tightest control group above this process; NOT_SET without a limit */                \
    X(THROTTLE_READ, throttle_read_bps, "bps", "cgroup blkio.throttle or io.max")                  \
    X(THROTTLE_WRITE, throttle_write_bps, "bps", "cgroup blkio.throttle or io.max")

/* id, name */
#define TL_HOST_DISK_TEXT_MAP(X)                                                                   \
    X(DEVICE, device)         /* of the whole disk: "nvme0n1" */                                   \
    X(FILESYSTEM, filesystem) /* "ext4" */                                                         \
    X(SCHEDULER, scheduler)   /* "mq-deadline" */

enum tl_host_disk_number {
#define TL_HOST_DISK_ENUM(id, ...) TL_HOST_DISK_##id,
    TL_HOST_DISK_NUMBER_MAP(TL_HOST_DISK_ENUM) TL_HOST_DISK_NUMBER_COUNT
};

enum tl_host_disk_text {
    TL_HOST_DISK_TEXT_MAP(TL_HOST_DISK_ENUM) TL_HOST_DISK_TEXT_COUNT
#undef TL_HOST_DISK_ENUM
};

struct tl_host_disk {
    struct tl_host_value numbers[TL_HOST_DISK_NUMBER_COUNT];
    struct tl_host_text texts[TL_HOST_DISK_TEXT_COUNT];
};

/* NULL outside the tables. */
const char *tl_host_disk_number_name(unsigned id);
const char *tl_host_disk_number_unit(unsigned id);
const char *tl_host_disk_text_name(unsigned id);

/* Everything unknown, NOT_READ. */
void tl_host_disk_init(struct tl_host_disk *ret_disk);

/* How the kernel names a place. */
struct tl_host_disk_place {
    unsigned major, minor; /* of the file system's device; major 0: it has none of its own */
    int mount_id;          /* /proc/self/fdinfo, -1 = not known */
    uint64_t type;         /* f_type of statfs(2) */
};

/* Reads what is under the place; root as in the other readers, "" for this machine. */
void tl_host_disk_read_place(const char *root, const struct tl_host_disk_place *place,
                             struct tl_host_disk *ret_disk);

/* The directory itself, opened by its name. A network file system that is gone may hold the
 * caller for as long as the kernel waits. */
void tl_host_disk_read(const char *directory, struct tl_host_disk *ret_disk);

#endif

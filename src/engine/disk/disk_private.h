/* Inside of the disk engine: what its files and the disk side of a transfer share.
 *
 *   disk.c        the area: a file without a name in a directory that was named
 *   disk_share.c  what all areas hold of a file system, together
 *   disk_job.c    reads or writes it block by block, by threads or …
 *   disk_ring.c   … by one thread and io_uring
 *   disk_test.c   a test: a job, its times and its rate
 *   disk_times.c  how long operations took, as a histogram
 *
 * An area is held by everybody who may still be inside a read or write of it; the last one
 * closes it. */
#ifndef TL_ENGINE_DISK_PRIVATE_H
#define TL_ENGINE_DISK_PRIVATE_H

#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>

#include "tightlink/engine/disk.h"

struct tl_disk_area {
    atomic_uint holds;
    int fd;
    struct tl_disk_area_info info;
    _Atomic uint64_t written_bytes;
    bool in_memory; /* tmpfs, ramfs: there is no disk behind the cache */
    /* disk_share.c's, under its lock. */
    struct tl_disk_area *next_holder;
    dev_t device;
    uint64_t held_bytes; /* of the device; 0: not counted */
};

/* --- Share -----------------------------------------------------------------------------
 * Counts the area with what it may take: `permitted` for all areas of the device together, less
 * what the others hold, of which shared areas leave half to who comes next; `wanted` at most, a
 * multiple of TL_DISK_BLOCK_BYTES. 0 where less than TL_DISK_BYTES_MIN is left. Any thread. */
uint64_t disk_share_take(struct tl_disk_area *area, dev_t device, uint64_t permitted,
                         uint64_t wanted, bool shared);
/* No harm where it holds nothing. */
void disk_share_give_back(struct tl_disk_area *area);

/* Sets or clears O_DIRECT; nobody reads or writes meanwhile. False where it cannot be set. */
bool disk_area_set_direct(struct tl_disk_area *area, bool direct);

/* Whole reads and writes, over EINTR and short ones. 0 or an errno; a read behind the end of
 * the file is EIO. */
int disk_read_block(int fd, void *block, size_t bytes, uint64_t offset);
int disk_write_block(int fd, const void *block, size_t bytes, uint64_t offset);

/* Aligned for O_DIRECT; free(). */
void *disk_block_alloc(size_t bytes);

/* --- Times of operations ---------------------------------------------------------------
 * Logarithmic: 16 steps to the doubling, so that a quantile is right to 4.4 %; the longest
 * one is kept exactly. Plain data, zero-initialised is empty. */
#define DISK_TIMES_STEPS 16
#define DISK_TIMES_COUNT (40 * DISK_TIMES_STEPS) /* up to 2^40 ns, 18 minutes */

struct disk_times {
    uint32_t counts[DISK_TIMES_COUNT];
    uint64_t total;
    int64_t max_ns;
};

void disk_times_add(struct disk_times *times, int64_t ns);
void disk_times_merge(struct disk_times *times, const struct disk_times *other);
/* q from 0 to 1; -1 when empty. */
int64_t disk_times_quantile(const struct disk_times *times, double q);

/* --- Job ---------------------------------------------------------------------------------
 * Reads or writes an area from its start, block after block, over and over. */
struct disk_job;

struct disk_job_spec {
    struct tl_disk_area *area;
    enum tl_disk_operation operation;
    bool sync_each;
    bool no_ring;   /* a thread for each operation under way, whatever the kernel permits */
    unsigned depth; /* operations under way */
    int64_t duration_ns;
    uint64_t max_bytes;  /* 0 = none */
    uint64_t span_bytes; /* of the area that is gone through, > 0 */
};

/* Starts the threads. */
enum tl_status disk_job_start(const struct disk_job_spec *spec, struct disk_job **ret_job,
                              struct tl_error *reterr) TL_WARN_UNUSED;
/* Readable once every thread has ended. */
int disk_job_event_fd(const struct disk_job *job);
uint64_t disk_job_bytes(const struct disk_job *job);
/* How long the oldest operation under way has lasted; 0 = none. */
int64_t disk_job_stuck_ns(const struct disk_job *job);
void disk_job_stop(struct disk_job *job);

/* What came of it, after the event. */
struct disk_job_result {
    uint64_t bytes;
    int64_t elapsed_ns;
    uint64_t cpu_ns;
    int errnum; /* of the first operation that failed, 0 */
    bool ring;  /* io_uring did it */
    struct disk_times times;
};
void disk_job_result(const struct disk_job *job, struct disk_job_result *ret_result);

/* Gives the caller's hold back, also while threads are inside: they free it. */
void disk_job_release(struct disk_job *job);

/* An errno of a disk as a sentence about the directory. */
enum tl_status disk_error(const char *directory, const char *doing, int errnum,
                          struct tl_error *reterr);

#endif

/* Inside of a disk job: what its ways of reading and writing share. Private to disk_job.c,
 * disk_ring.c and disk_worker.c. */
#ifndef TL_ENGINE_DISK_JOB_H
#define TL_ENGINE_DISK_JOB_H

#include "disk_private.h"

/* One block under way; a thread of its own has it, or a place in the ring. */
struct disk_worker {
    struct disk_job *job;
    unsigned char *block;
    uint64_t number, offset;  /* of the block, in the job and in the area */
    _Atomic int64_t since_ns; /* when it began, 0 = none is under way */
    uint64_t cpu_ns;          /* of its thread, at its end; so is: */
    struct disk_times times;
};

struct disk_ring;

struct disk_job {
    atomic_uint holds;
    struct disk_job_spec spec;
    struct disk_worker *workers; /* spec.depth */
    struct disk_ring *ring;      /* NULL: a thread for each worker */
    uint64_t stamp;              /* makes every page that is written another one */
    int done_fd;
    int64_t start_ns;
    atomic_uint alive; /* threads */
    atomic_bool stopping;
    atomic_int errnum;
    _Atomic uint64_t next_block, bytes;
    _Atomic uint64_t failed_block; /* the lowest one, UINT64_MAX = none */
    _Atomic int64_t last_ns;       /* the end of the last operation, since start */
};

/* Gives the worker its next block, ready to be moved; false when it shall end. */
bool disk_worker_next(struct disk_worker *worker);
/* Moves what is left of the block behind its first `done` bytes, and waits for it; 0 or an errno.
 */
int disk_worker_move(struct disk_worker *worker, size_t done);
/* Counts the block; false when it failed and the worker shall end. */
bool disk_worker_done(struct disk_worker *worker, int errnum);

/* NULL where the kernel, a sandbox or the build does not permit it, or memory is short. */
struct disk_ring *disk_ring_create(unsigned depth);
void disk_ring_destroy(struct disk_ring *ring); /* NULL is fine */
/* Moves blocks for all workers until none has another, and nothing is under way. */
void disk_ring_run(struct disk_ring *ring, struct disk_worker *workers, unsigned depth);

#endif

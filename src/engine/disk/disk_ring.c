/* One thread that keeps a number of reads or writes under way (io_uring): the same depth as with a
 * thread for each, without their switches. Where io_uring is not to be had (a sandbox, the sysctl
 * kernel.io_uring_disabled, a kernel before 5.6) there is no ring, and disk_job.c takes threads. */
#include "disk_job.h"

#include <stdlib.h>

#if TL_WITH_URING

#include <liburing.h>

struct disk_ring {
    struct io_uring uring;
};

struct disk_ring *disk_ring_create(unsigned depth)
{
    struct disk_ring *ring = malloc(sizeof *ring);
    if (!ring || io_uring_queue_init(depth, &ring->uring, 0) < 0) {
        free(ring);
        return NULL;
    }
    return ring;
}

void disk_ring_destroy(struct disk_ring *ring)
{
    if (ring)
        io_uring_queue_exit(&ring->uring);
    free(ring);
}

/* Whether the worker has another block; it leaves with the next submission. The ring has a place
 * for each worker. */
static bool prepare(struct disk_ring *ring, struct disk_worker *worker)
{
    const struct disk_job_spec *spec = &worker->job->spec;
    if (!disk_worker_next(worker))
        return false;
    struct io_uring_sqe *entry = io_uring_get_sqe(&ring->uring);
    if (spec->operation == TL_DISK_WRITE)
        io_uring_prep_write(entry, spec->area->fd, worker->block, TL_DISK_BLOCK_BYTES,
                            worker->offset);
    else
        io_uring_prep_read(entry, spec->area->fd, worker->block, TL_DISK_BLOCK_BYTES,
                           worker->offset);
    io_uring_sqe_set_data(entry, worker);
    return true;
}

/* What the kernel did not take at once, or cut short, is moved as a thread would do it: that also
 * tells the error. */
static bool finish(struct disk_worker *worker, int moved_bytes)
{
    int errnum = 0;
    if (moved_bytes != TL_DISK_BLOCK_BYTES)
        errnum = disk_worker_move(worker, moved_bytes > 0 ? (size_t)moved_bytes : 0);
    return disk_worker_done(worker, errnum);
}

void disk_ring_run(struct disk_ring *ring, struct disk_worker *workers, unsigned depth)
{
    unsigned under_way = 0;
    for (unsigned i = 0; i < depth; i++)
        under_way += prepare(ring, &workers[i]);
    /* Nothing that is under way may be left: the kernel writes into its block. A submission that
     * the kernel cannot take now (EAGAIN, EBUSY, EINTR) is made again. */
    while (under_way > 0) {
        struct io_uring_cqe *done;
        (void)io_uring_submit_and_wait(&ring->uring, 1);
        while (io_uring_peek_cqe(&ring->uring, &done) == 0) {
            struct disk_worker *worker = io_uring_cqe_get_data(done);
            int moved_bytes = done->res;
            io_uring_cqe_seen(&ring->uring, done);
            under_way--;
            if (finish(worker, moved_bytes))
                under_way += prepare(ring, worker);
        }
    }
}

#else

struct disk_ring *disk_ring_create(unsigned depth)
{
    return NULL;
}

void disk_ring_destroy(struct disk_ring *ring)
{
}

void disk_ring_run(struct disk_ring *ring, struct disk_worker *workers, unsigned depth)
{
}

#endif

/* Reading or writing an area, block after block, over and over: by threads, or by one thread with a
 * ring of operations under way (disk_ring.c).
 *
 * The threads are detached and hold the job, since a thread inside a read or write of a disk
 * that does not answer cannot be ended by anybody: the last one to let go frees it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "disk_job.h"
#include "tightlink/base/random.h"
#include "tightlink/base/thread.h"
#include "tightlink/base/time.h"
#include "tightlink/base/wake.h"

static void job_release(struct disk_job *job)
{
    if (atomic_fetch_sub(&job->holds, 1) != 1)
        return;
    for (unsigned i = 0; job->workers && i < job->spec.depth; i++)
        free(job->workers[i].block);
    free(job->workers);
    disk_ring_destroy(job->ring);
    if (job->done_fd >= 0)
        close(job->done_fd);
    tl_disk_area_release(job->spec.area);
    free(job);
}

void disk_job_release(struct disk_job *job)
{
    if (job)
        job_release(job);
}

/* What was written without a gap, once nobody writes any more. */
static void note_written(struct disk_job *job)
{
    const struct disk_job_spec *spec = &job->spec;
    if (spec->operation != TL_DISK_WRITE)
        return;
    uint64_t failed = atomic_load(&job->failed_block);
    uint64_t bytes = failed != UINT64_MAX ? failed * TL_DISK_BLOCK_BYTES : atomic_load(&job->bytes);
    if (bytes > spec->span_bytes)
        bytes = spec->span_bytes;
    if (bytes > atomic_load(&spec->area->written_bytes))
        atomic_store(&spec->area->written_bytes, bytes);
}

/* One block; false when the thread shall end. */
static bool move_block(struct disk_worker *worker)
{
    if (!disk_worker_next(worker))
        return false;
    int errnum = disk_worker_move(worker, 0);
    if (errnum == 0 && worker->job->spec.sync_each && fdatasync(worker->job->spec.area->fd) < 0)
        errnum = errno;
    return disk_worker_done(worker, errnum);
}

static void *worker_main(void *context)
{
    struct disk_worker *worker = context;
    struct disk_job *job = worker->job;
    if (job->ring)
        disk_ring_run(job->ring, job->workers, job->spec.depth);
    else
        while (move_block(worker))
            ;
    worker->cpu_ns = (uint64_t)tl_thread_cpu_ns();
    if (atomic_fetch_sub(&job->alive, 1) == 1) {
        note_written(job);
        tl_wake(job->done_fd);
    }
    job_release(job);
    return NULL;
}

static enum tl_status allocate(struct disk_job *job)
{
    struct tl_random random;
    uint64_t seed;
    enum tl_status status = tl_random_secure(&seed, sizeof seed);
    job->workers = calloc(job->spec.depth, sizeof *job->workers);
    job->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (status != TL_OK || !job->workers || job->done_fd < 0)
        return status != TL_OK ? status : TL_NOMEM;
    tl_random_seed(&random, seed);
    job->stamp = tl_random_next(&random);
    for (unsigned i = 0; i < job->spec.depth; i++) {
        job->workers[i].job = job;
        job->workers[i].block = disk_block_alloc(TL_DISK_BLOCK_BYTES);
        if (!job->workers[i].block)
            return TL_NOMEM;
        tl_random_fill(&random, job->workers[i].block, TL_DISK_BLOCK_BYTES);
    }
    return TL_OK;
}

static int start_threads(struct disk_job *job)
{
    int errnum = 0;
    unsigned started = 0, threads = job->ring ? 1 : job->spec.depth;
    atomic_store(&job->alive, threads);
    atomic_fetch_add(&job->holds, threads);
    job->start_ns = tl_now_ns();
    for (; started < threads && errnum == 0; started += errnum == 0)
        errnum = tl_thread_start(NULL, worker_main, &job->workers[started]);
    if (errnum == 0)
        return 0;
    /* Those that never began; the caller's hold keeps the job while the others end. */
    atomic_store(&job->stopping, true);
    unsigned missing = threads - started;
    atomic_fetch_sub(&job->holds, missing);
    atomic_fetch_sub(&job->alive, missing);
    return errnum;
}

enum tl_status disk_job_start(const struct disk_job_spec *spec, struct disk_job **ret_job,
                              struct tl_error *reterr)
{
    struct disk_job *job = calloc(1, sizeof *job);
    if (!job)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    job->spec = *spec;
    job->done_fd = -1;
    atomic_init(&job->holds, 1);
    atomic_init(&job->failed_block, UINT64_MAX);
    tl_disk_area_hold(spec->area);
    enum tl_status status = allocate(job);
    if (status != TL_OK)
        (void)tl_error_set(reterr, status, "a disk test's buffers: %s", tl_status_text(status));
    /* What waits for the platter after each block has no depth, and the page cache no need of it.
     */
    if (status == TL_OK && spec->area->info.direct && !spec->sync_each && !spec->no_ring)
        job->ring = disk_ring_create(spec->depth);
    int errnum = status == TL_OK ? start_threads(job) : 0;
    if (errnum != 0)
        status = tl_error_set(reterr, TL_IO, "starting a thread: %s", strerror(errnum));
    if (status == TL_OK)
        *ret_job = job;
    else
        job_release(job);
    return status;
}

int disk_job_event_fd(const struct disk_job *job)
{
    return job->done_fd;
}

uint64_t disk_job_bytes(const struct disk_job *job)
{
    return atomic_load(&job->bytes);
}

int64_t disk_job_stuck_ns(const struct disk_job *job)
{
    int64_t now_ns = tl_now_ns(), longest_ns = 0;
    for (unsigned i = 0; i < job->spec.depth; i++) {
        int64_t since_ns = atomic_load(&job->workers[i].since_ns);
        if (since_ns > 0 && now_ns - since_ns > longest_ns)
            longest_ns = now_ns - since_ns;
    }
    return longest_ns;
}

void disk_job_stop(struct disk_job *job)
{
    atomic_store(&job->stopping, true);
}

void disk_job_result(const struct disk_job *job, struct disk_job_result *ret_result)
{
    memset(ret_result, 0, sizeof *ret_result);
    ret_result->bytes = atomic_load(&job->bytes);
    ret_result->elapsed_ns = atomic_load(&job->last_ns);
    ret_result->errnum = atomic_load(&job->errnum);
    ret_result->ring = job->ring != NULL;
    if (atomic_load(&job->alive) > 0)
        return; /* a thread that hangs still owns its times */
    for (unsigned i = 0; i < job->spec.depth; i++) {
        disk_times_merge(&ret_result->times, &job->workers[i].times);
        ret_result->cpu_ns += job->workers[i].cpu_ns;
    }
}

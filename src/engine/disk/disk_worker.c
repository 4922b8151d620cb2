/* One block of a disk job after the other, whoever moves them: a thread each, or a ring. */
#include <string.h>

#include "disk_job.h"
#include "tightlink/base/time.h"

/* Noise, and a number in each page that no other page has: a disk that compresses or finds
 * equal blocks gets no help. */
static void stamp_block(struct disk_job *job, unsigned char *block, uint64_t number)
{
    for (size_t at = 0; at < TL_DISK_BLOCK_BYTES; at += TL_DISK_ALIGN_BYTES) {
        uint64_t mark = job->stamp + number * (TL_DISK_BLOCK_BYTES / TL_DISK_ALIGN_BYTES) +
                        at / TL_DISK_ALIGN_BYTES;
        memcpy(block + at, &mark, sizeof mark);
    }
}

static void note_failure(struct disk_job *job, uint64_t number, int errnum)
{
    int none = 0;
    atomic_compare_exchange_strong(&job->errnum, &none, errnum);
    uint64_t lowest = atomic_load(&job->failed_block);
    while (number < lowest && !atomic_compare_exchange_weak(&job->failed_block, &lowest, number))
        ;
    atomic_store(&job->stopping, true);
}

bool disk_worker_next(struct disk_worker *worker)
{
    struct disk_job *job = worker->job;
    const struct disk_job_spec *spec = &job->spec;
    int64_t now_ns = tl_now_ns();
    if (atomic_load(&job->stopping) || now_ns - job->start_ns >= spec->duration_ns)
        return false;
    worker->number = atomic_fetch_add(&job->next_block, 1);
    if (spec->max_bytes > 0 && (worker->number + 1) * TL_DISK_BLOCK_BYTES > spec->max_bytes)
        return false;
    worker->offset = worker->number * TL_DISK_BLOCK_BYTES % spec->span_bytes;
    if (spec->operation == TL_DISK_WRITE)
        stamp_block(job, worker->block, worker->number);
    atomic_store(&worker->since_ns, tl_now_ns());
    return true;
}

int disk_worker_move(struct disk_worker *worker, size_t done)
{
    const struct disk_job_spec *spec = &worker->job->spec;
    unsigned char *rest = worker->block + done;
    size_t bytes = TL_DISK_BLOCK_BYTES - done;
    return spec->operation == TL_DISK_WRITE
               ? disk_write_block(spec->area->fd, rest, bytes, worker->offset + done)
               : disk_read_block(spec->area->fd, rest, bytes, worker->offset + done);
}

bool disk_worker_done(struct disk_worker *worker, int errnum)
{
    struct disk_job *job = worker->job;
    int64_t done_ns = tl_now_ns(), from_ns = atomic_exchange(&worker->since_ns, 0);
    if (errnum != 0) {
        note_failure(job, worker->number, errnum);
        return false;
    }
    disk_times_add(&worker->times, done_ns - from_ns);
    atomic_fetch_add(&job->bytes, TL_DISK_BLOCK_BYTES);
    int64_t last_ns = atomic_load(&job->last_ns), since_ns = done_ns - job->start_ns;
    while (since_ns > last_ns && !atomic_compare_exchange_weak(&job->last_ns, &last_ns, since_ns))
        ;
    return true;
}

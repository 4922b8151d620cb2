/* One test of an area: a job, watched by the caller's thread, and what its times say. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "disk_private.h"
#include "tightlink/base/libc.h"
#include "tightlink/base/stats.h"
#include "tightlink/base/thread.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "tightlink/base/wake.h"

#define LOOK_NS      (50 * TL_NS_PER_MS)
#define LIVE_NS      (100 * TL_NS_PER_MS)
#define PARTS        10                    /* of the time, for the interval of the rate */
#define POINTS_MAX   2048                  /* looks that are kept: 100 s */
#define CANCEL_NS    (200 * TL_NS_PER_MS)  /* for the operations under way after a cancel */
#define SYNC_HANG_NS (6 * TL_DISK_HANG_NS) /* making much durable is not hanging yet */

const char *tl_disk_cache_text(enum tl_disk_cache cache)
{
    switch (cache) {
    case TL_DISK_CACHE_NONE:
        return "past the page cache; a cache in the device or in the host of a virtual machine "
               "may have answered";
    case TL_DISK_CACHE_DROPPED:
        return "through the page cache, which was emptied of it first";
    case TL_DISK_CACHE_POSSIBLE:
        return "memory may have answered in the disk's place";
    }
    return "";
}

/* A look at the running job. */
struct point {
    int64_t time_ns;
    uint64_t bytes;
};

struct test {
    struct tl_disk_area *area;
    struct tl_disk_spec spec; /* defaults filled in */
    tl_disk_live_fn *live;
    void *context;
    struct tl_disk_result *result;
    struct disk_job *job;
    int64_t start_ns, live_ns;
    uint64_t live_bytes;
    struct point points[POINTS_MAX];
    size_t point_count;
};

/* --- fdatasync, in a thread of its own: it may hang ----------------------------------------- */

struct syncing {
    atomic_uint holds; /* of the thread and its caller */
    struct tl_disk_area *area;
    int done_fd;
    atomic_bool done; /* from here on errnum and took_ns are the caller's */
    int errnum;
    int64_t took_ns;
};

static void syncing_release(struct syncing *syncing)
{
    if (atomic_fetch_sub(&syncing->holds, 1) != 1)
        return;
    tl_disk_area_release(syncing->area);
    if (syncing->done_fd >= 0)
        close(syncing->done_fd);
    free(syncing);
}

static void *sync_main(void *context)
{
    struct syncing *syncing = context;
    int64_t from_ns = tl_now_ns();
    syncing->errnum = fdatasync(syncing->area->fd) == 0 ? 0 : errno;
    syncing->took_ns = tl_now_ns() - from_ns;
    atomic_store(&syncing->done, true);
    tl_wake(syncing->done_fd);
    syncing_release(syncing);
    return NULL;
}

/* 0 or an errno; ETIMEDOUT where it hangs, ECANCELED. *ret_ns is untouched without success. */
static int sync_area(struct tl_disk_area *area, int cancel_fd, int64_t *ret_ns)
{
    struct syncing *syncing = calloc(1, sizeof *syncing);
    if (!syncing)
        return ENOMEM;
    atomic_init(&syncing->holds, 2);
    syncing->area = tl_disk_area_hold(area);
    syncing->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (syncing->done_fd < 0 || tl_thread_start(NULL, sync_main, syncing) != 0) {
        syncing_release(syncing);
        syncing_release(syncing);
        return EAGAIN;
    }
    struct pollfd fds[2] = {{.fd = syncing->done_fd, .events = POLLIN},
                            {.fd = cancel_fd, .events = POLLIN}};
    int64_t until_ns = tl_now_ns() + SYNC_HANG_NS;
    int count;
    do
        count = poll(fds, 2, (int)((until_ns - tl_now_ns()) / TL_NS_PER_MS));
    while (count < 0 && errno == EINTR);
    bool done = atomic_load(&syncing->done);
    int errnum = done ? syncing->errnum : fds[1].revents ? ECANCELED : ETIMEDOUT;
    if (errnum == 0)
        *ret_ns = syncing->took_ns;
    syncing_release(syncing);
    return errnum;
}

/* --- The cache ------------------------------------------------------------------------------- */

/* Whether the first block is in the page cache: a read that may not wait for a disk gets it
 * (preadv2(2), RWF_NOWAIT). Kernels and file systems without that count as cached. */
static bool is_cached(const struct tl_disk_area *area)
{
    char bytes[512];
    struct iovec vector = {.iov_base = bytes, .iov_len = sizeof bytes};
    ssize_t got = preadv2(area->fd, &vector, 1, 0, RWF_NOWAIT);
    return !(got < 0 && errno == EAGAIN);
}

/* Before a read through the page cache: only what is on the disk can be dropped. */
static enum tl_disk_cache drop_cache(struct test *test)
{
    int64_t ns;
    if (sync_area(test->area, test->spec.cancel_fd, &ns) != 0 || test->area->in_memory)
        return TL_DISK_CACHE_POSSIBLE;
    (void)posix_fadvise(test->area->fd, 0, 0, POSIX_FADV_DONTNEED);
    return is_cached(test->area) ? TL_DISK_CACHE_POSSIBLE : TL_DISK_CACHE_DROPPED;
}

/* --- Watching -------------------------------------------------------------------------------- */

static void look(struct test *test)
{
    int64_t now_ns = tl_now_ns() - test->start_ns;
    uint64_t bytes = disk_job_bytes(test->job);
    if (test->point_count < POINTS_MAX)
        test->points[test->point_count++] = (struct point){now_ns, bytes};
    if (!test->live || now_ns - test->live_ns < LIVE_NS)
        return;
    struct tl_disk_live live = {
        .elapsed_ns = now_ns,
        .bytes = bytes,
        .rate_bps = tl_bps_from_bytes_ns((double)(bytes - test->live_bytes),
                                         (double)(now_ns - test->live_ns)),
    };
    test->live_ns = now_ns;
    test->live_bytes = bytes;
    test->live(test->context, &live);
}

/* Until the job is over: its own end, a cancel, or a disk that hangs. */
static enum tl_disk_end watch(struct test *test)
{
    struct pollfd fds[2] = {{.fd = disk_job_event_fd(test->job), .events = POLLIN},
                            {.fd = test->spec.cancel_fd, .events = POLLIN}};
    for (;;) {
        fds[0].revents = fds[1].revents = 0;
        (void)poll(fds, 2, (int)(LOOK_NS / TL_NS_PER_MS));
        look(test);
        if (fds[0].revents)
            return TL_DISK_END_TIME;
        if (fds[1].revents) {
            disk_job_stop(test->job);
            (void)poll(fds, 1, (int)(CANCEL_NS / TL_NS_PER_MS));
            return TL_DISK_END_CANCELLED;
        }
        if (disk_job_stuck_ns(test->job) > TL_DISK_HANG_NS) {
            disk_job_stop(test->job);
            return TL_DISK_END_HUNG;
        }
    }
}

/* --- What it says --- */

/* Bytes by a time, between two looks. */
static double bytes_at(const struct test *test, double time_ns)
{
    const struct point *before = NULL;
    for (size_t i = 0; i < test->point_count; i++) {
        const struct point *point = &test->points[i];
        if ((double)point->time_ns >= time_ns) {
            double from_ns = before ? (double)before->time_ns : 0;
            double from = before ? (double)before->bytes : 0;
            double span_ns = (double)point->time_ns - from_ns;
            double share = span_ns > 0 ? (time_ns - from_ns) / span_ns : 1;
            return from + share * ((double)point->bytes - from);
        }
        before = point;
    }
    return before ? (double)before->bytes : 0;
}

/* The mean of the rates of ten parts of the time, with Student's 95 % interval. The bounds are
 * those of the mean, whatever the last part's rounding did to the rate itself. */
static void set_interval(struct test *test)
{
    struct tl_disk_result *result = test->result;
    double rates[PARTS], part_ns = (double)result->elapsed_ns / PARTS;
    result->low_bps = result->high_bps = result->rate_bps;
    if (test->point_count < PARTS)
        return;
    for (int i = 0; i < PARTS; i++)
        rates[i] = tl_bps_from_bytes_ns(
            bytes_at(test, (i + 1) * part_ns) - bytes_at(test, i * part_ns), part_ns);
    double half =
        tl_stats_student_t(0.975, PARTS - 1) * tl_stats_stddev(rates, PARTS) / sqrt((double)PARTS);
    if (!isfinite(half))
        return;
    result->low_bps = fmax(0, result->rate_bps - half);
    result->high_bps = result->rate_bps + half;
}

static void take_result(struct test *test, enum tl_disk_end end)
{
    struct disk_job_result job;
    struct tl_disk_result *result = test->result;
    disk_job_result(test->job, &job);
    result->bytes = job.bytes;
    result->operations = job.times.total;
    result->p50_ns = disk_times_quantile(&job.times, 0.5);
    result->p95_ns = disk_times_quantile(&job.times, 0.95);
    result->p99_ns = disk_times_quantile(&job.times, 0.99);
    result->max_ns = job.times.total > 0 ? job.times.max_ns : -1;
    result->elapsed_ns = job.elapsed_ns;
    result->cpu_ns = job.cpu_ns;
    result->errnum = job.errnum;
    result->ring = job.ring;
    result->end = end;
    if (end == TL_DISK_END_TIME && job.errnum != 0)
        result->end =
            job.errnum == ENOSPC || job.errnum == EDQUOT ? TL_DISK_END_FULL : TL_DISK_END_ERROR;
    else if (end == TL_DISK_END_TIME && test->spec.max_bytes > 0 &&
             job.bytes + TL_DISK_BLOCK_BYTES > test->spec.max_bytes)
        result->end = TL_DISK_END_BYTES;
}

static void set_rate(struct test *test)
{
    struct tl_disk_result *result = test->result;
    bool waits_for_sync = result->operation == TL_DISK_WRITE &&
                          result->mode == TL_DISK_MODE_BUFFERED && result->sync_ns > 0;
    int64_t ns = result->elapsed_ns + (waits_for_sync ? result->sync_ns : 0);
    if (result->bytes == 0)
        return;
    result->rate_bps = tl_bps_from_bytes_ns((double)result->bytes, (double)ns);
    if (waits_for_sync)
        result->low_bps = result->high_bps = result->rate_bps; /* the parts say nothing of it */
    else
        set_interval(test);
}

/* --- The test --- */

static enum tl_status check_spec(const struct tl_disk_area *area, struct tl_disk_spec *spec,
                                 struct tl_error *reterr)
{
    if (spec->threads == 0)
        spec->threads = TL_DISK_THREADS;
    if (spec->threads > TL_DISK_THREADS_MAX)
        return tl_error_set(reterr, TL_RANGE, "a disk test has 1 to %d threads",
                            TL_DISK_THREADS_MAX);
    if (spec->duration_ns <= 0)
        return tl_error_set(reterr, TL_RANGE, "a disk test needs a duration");
    if (spec->operation == TL_DISK_READ && spec->mode == TL_DISK_MODE_SYNC)
        return tl_error_set(reterr, TL_RANGE, "only writes can be made durable one by one");
    if (spec->operation == TL_DISK_READ && tl_disk_area_written_bytes(area) < TL_DISK_BLOCK_BYTES)
        return tl_error_set(reterr, TL_RANGE,
                            "there is nothing to read in %s: a read test reads what a write test "
                            "left",
                            area->info.directory);
    return TL_OK;
}

/* The mode that is possible, the state of the cache, and how far the file is gone through. */
static void prepare(struct test *test, struct disk_job_spec *job)
{
    struct tl_disk_spec *spec = &test->spec;
    struct tl_disk_area *area = test->area;
    struct tl_disk_result *result = test->result;
    bool direct = spec->mode == TL_DISK_MODE_DIRECT && area->info.direct;
    if (spec->mode == TL_DISK_MODE_DIRECT && !direct) {
        spec->mode = TL_DISK_MODE_BUFFERED;
        snprintf(result->note, sizeof result->note, "%s", area->info.note);
    }
    (void)disk_area_set_direct(area, direct);
    *job = (struct disk_job_spec){
        .area = area,
        .operation = spec->operation,
        .sync_each = spec->mode == TL_DISK_MODE_SYNC,
        .no_ring = spec->no_ring,
        .depth = spec->threads,
        .duration_ns = spec->duration_ns,
        .max_bytes = spec->max_bytes,
        .span_bytes =
            spec->operation == TL_DISK_WRITE ? area->info.bytes : tl_disk_area_written_bytes(area),
    };
    result->mode = spec->mode;
    result->threads = spec->threads;
    /* The second time round the page cache would answer, or take what it had taken before. */
    if (!direct && (job->max_bytes == 0 || job->max_bytes > job->span_bytes))
        spec->max_bytes = job->max_bytes = job->span_bytes;
    if (spec->operation == TL_DISK_WRITE)
        return;
    result->cache = area->in_memory ? TL_DISK_CACHE_POSSIBLE
                    : direct        ? TL_DISK_CACHE_NONE
                                    : drop_cache(test);
}

static enum tl_status judge(const struct test *test, struct tl_error *reterr)
{
    const struct tl_disk_result *result = test->result;
    const char *directory = test->area->info.directory;
    const char *doing = result->operation == TL_DISK_WRITE ? "write" : "read";
    switch (result->end) {
    case TL_DISK_END_CANCELLED:
        return tl_error_set(reterr, TL_CANCELLED, "cancelled");
    case TL_DISK_END_HUNG:
        return tl_error_set(reterr, TL_TIMEOUT,
                            "the disk of %s did not answer for %.0f s: is a network file system "
                            "gone, or a device broken? See \"dmesg\"",
                            directory, (double)TL_DISK_HANG_NS / 1e9);
    case TL_DISK_END_FULL:
        if (result->bytes > 0)
            return TL_OK;
        return disk_error(directory, doing, result->errnum, reterr);
    case TL_DISK_END_ERROR:
        return disk_error(directory, doing, result->errnum, reterr);
    default:
        if (result->bytes > 0)
            return TL_OK;
        return tl_error_set(reterr, TL_TIMEOUT, "the disk of %s moved nothing in its time",
                            directory);
    }
}

static enum tl_status run(struct test *test, const struct disk_job_spec *job,
                          struct tl_error *reterr)
{
    test->start_ns = tl_now_ns();
    enum tl_status status = disk_job_start(job, &test->job, reterr);
    if (status != TL_OK)
        return status;
    enum tl_disk_end end = watch(test);
    take_result(test, end);
    bool ran = test->result->end != TL_DISK_END_CANCELLED && test->result->end != TL_DISK_END_HUNG;
    if (ran && test->result->operation == TL_DISK_WRITE && test->result->bytes > 0) {
        int errnum = sync_area(test->area, test->spec.cancel_fd, &test->result->sync_ns);
        if (errnum == ECANCELED)
            test->result->end = TL_DISK_END_CANCELLED;
        else if (errnum == ETIMEDOUT)
            test->result->end = TL_DISK_END_HUNG;
        else if (errnum == EIO || errnum == ENOSPC || errnum == EDQUOT) {
            test->result->end = errnum == EIO ? TL_DISK_END_ERROR : TL_DISK_END_FULL;
            test->result->errnum = errnum;
        }
    }
    set_rate(test);
    disk_job_release(test->job);
    return judge(test, reterr);
}

enum tl_status tl_disk_test(struct tl_disk_area *area, const struct tl_disk_spec *spec,
                            tl_disk_live_fn *live, void *context, struct tl_disk_result *ret_result,
                            struct tl_error *reterr)
{
    struct disk_job_spec job;
    *ret_result = (struct tl_disk_result){.operation = spec->operation,
                                          .mode = spec->mode,
                                          .p50_ns = -1,
                                          .p95_ns = -1,
                                          .p99_ns = -1,
                                          .max_ns = -1,
                                          .sync_ns = -1,
                                          .rate_bps = NAN,
                                          .low_bps = NAN,
                                          .high_bps = NAN};
    struct test *test = calloc(1, sizeof *test);
    if (!test)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    test->area = area;
    test->spec = *spec;
    test->live = live;
    test->context = context;
    test->result = ret_result;
    enum tl_status status = check_spec(area, &test->spec, reterr);
    if (status == TL_OK) {
        prepare(test, &job);
        status = run(test, &job, reterr);
    }
    free(test);
    return status;
}

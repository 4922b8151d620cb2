/* A session and the disk: the directory which the administrator opened, and no other; nothing
 * that came over the wire names a file.
 *
 *   TEST_DISK    queued like every test, then an errand: write, read -> DISK_RESULT
 *   TEST_FILE    with the disk: an errand makes the area and, where it is to be read, writes it;
 *                then READY, and all goes on as in any test (session_test.c)
 *
 * An errand is a thread of its own, since a disk may take any time to answer. It is detached and
 * shares its record with the session: whoever lets go last frees it, so that the loop never
 * waits for a disk. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "responder_private.h"
#include "tightlink/base/time.h"
#include "transfer_worker.h"

#define SUMS_RESERVE 24576 /* output kept free for samples and what must not be dropped */

struct disk_errand {
    atomic_uint holds;         /* of the thread and the session */
    char *directory;           /* owned: the thread may outlive the responder */
    struct tl_disk_area *area; /* NULL: to be made */
    bool write, read;
    struct tl_disk_spec spec;
    int done_fd, cancel_fd;
    atomic_bool done;
    /* The answer, the session's after done. */
    enum tl_status status;
    struct tl_error error;
    struct tl_disk_result written, red;
    struct tl_host_disk host;
};

static void errand_release(struct disk_errand *errand)
{
    if (atomic_fetch_sub(&errand->holds, 1) != 1)
        return;
    tl_disk_area_release(errand->area);
    if (errand->done_fd >= 0)
        close(errand->done_fd);
    if (errand->cancel_fd >= 0)
        close(errand->cancel_fd);
    free(errand->directory);
    free(errand);
}

static enum tl_status run_tests(struct disk_errand *errand)
{
    enum tl_status status = TL_OK;
    struct tl_disk_spec spec = errand->spec;
    if (errand->write) {
        spec.operation = TL_DISK_WRITE;
        status = tl_disk_test(errand->area, &spec, NULL, NULL, &errand->written, &errand->error);
    }
    if (status == TL_OK && errand->read) {
        spec.operation = TL_DISK_READ;
        status = tl_disk_test(errand->area, &spec, NULL, NULL, &errand->red, &errand->error);
    }
    return status;
}

static void *errand_main(void *context)
{
    struct disk_errand *errand = context;
    struct tl_disk_area_spec spec = {.directory = errand->directory};
    errand->status = TL_OK;
    if (!errand->area)
        errand->status = tl_disk_area_create(&spec, &errand->area, &errand->error);
    if (errand->status == TL_OK)
        errand->status = run_tests(errand);
    if (errand->read)
        tl_host_disk_read(errand->directory, &errand->host);
    atomic_store(&errand->done, true);
    (void)eventfd_write(errand->done_fd, 1);
    errand_release(errand);
    return NULL;
}

static bool start_thread(struct disk_errand *errand)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, NULL, errand_main, errand) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        pthread_detach(thread);
    return started;
}

/* --- The answer --------------------------------------------------------------------------- */

static uint8_t fault_of(int errnum)
{
    return errnum == 0        ? TL_WIRE_DISK_FINE
           : errnum == ENOSPC ? TL_WIRE_DISK_FULL
           : errnum == EDQUOT ? TL_WIRE_DISK_QUOTA
                              : TL_WIRE_DISK_ERROR;
}

static double known(double bps)
{
    return isfinite(bps) ? bps : 0;
}

static void put_times(const struct tl_disk_result *result, struct tl_wire_disk_times *ret_times)
{
    *ret_times = (struct tl_wire_disk_times){
        .end = (uint8_t)result->end,
        .mode = (uint8_t)result->mode,
        .cache = (uint8_t)result->cache,
        .fault = fault_of(result->errnum),
        .threads = (uint8_t)result->threads,
        .bytes = result->bytes,
        .operations = result->operations,
        .p50_ns = result->p50_ns,
        .p95_ns = result->p95_ns,
        .p99_ns = result->p99_ns,
        .max_ns = result->max_ns,
        .elapsed_ns = result->elapsed_ns,
        .sync_ns = result->sync_ns,
        .cpu_ns = result->cpu_ns,
        .rate_bps = known(result->rate_bps),
        .low_bps = known(result->low_bps),
        .high_bps = known(result->high_bps),
    };
}

static void send_host(struct session *session, const struct tl_host_disk *host)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_writer writer;
    tl_wire_host_begin(&writer, frame);
    for (unsigned i = 0; i < tl_wire_disk_record_count(); i++) {
        struct tl_wire_record record;
        tl_wire_disk_record(host, i, &record);
        (void)tl_wire_record_add(&writer, &record); /* thirteen short records fit */
    }
    session_send(session, frame, tl_wire_writer_end(&writer));
}

static void send_result(struct session *session, const struct disk_errand *errand)
{
    const struct tl_disk_area_info *info = tl_disk_area_info(errand->area);
    struct tl_wire_disk_result message = {.token = session->token,
                                          .direct = info->direct,
                                          .area_bytes = info->bytes,
                                          .free_bytes = info->free_bytes};
    put_times(&errand->written, &message.write);
    put_times(&errand->red, &message.read);
    uint8_t frame[TL_WIRE_FRAME_MAX];
    send_host(session, &errand->host);
    session_send(session, frame, tl_wire_encode_disk_result(&message, frame));
}

/* What a stranger is told: what to do, and not which directory it is. */
static void refuse(struct session *session, const struct disk_errand *errand)
{
    static const char *const text[TL_STATUS_COUNT] = {
        [TL_NOSPACE] = "the directory for disk tests is full, or over its quota",
        [TL_LIMIT] = "there is too little space in the directory for disk tests",
        [TL_TIMEOUT] = "the disk of the directory for disk tests does not answer",
        [TL_DENIED] = "the responder may not write in its directory for disk tests",
        [TL_NOMEM] = "the responder is out of memory for a disk test",
    };
    const char *told = text[errand->status];
    responder_log(session->responder, "disk test: %s", errand->error.text);
    session->state = SESSION_IDLE;
    session->active_ns = tl_now_ns();
    session_error(session, TL_WIRE_E_REFUSED, "%s; its administrator finds more in the log",
                  told ? told : "the responder's disk test failed");
}

static void let_go(struct session *session)
{
    struct session_disk *disk = &session->disk;
    if (!disk->errand)
        return;
    epoll_ctl(session->responder->epoll_fd, EPOLL_CTL_DEL, disk->done.fd, NULL);
    disk->done = (struct watch){.fd = -1};
    errand_release(disk->errand);
    disk->errand = NULL;
    session->responder->queue_dirty = true;
}

static void errand_done(struct watch *watch, uint32_t events)
{
    struct session *session =
        (struct session *)((char *)watch - offsetof(struct session, disk.done));
    struct disk_errand *errand = session->disk.errand;
    if (!atomic_load(&errand->done)) /* the descriptor alone orders nothing */
        return;
    atomic_fetch_add(&errand->holds, 1); /* sending may end the session, which lets it go */
    if (errand->status == TL_OK && !session->disk.area)
        session->disk.area = tl_disk_area_hold(errand->area);
    if (errand->status != TL_OK) {
        refuse(session, errand);
    } else if (session->test.kind == TEST_OF_DISK) {
        session->state = SESSION_IDLE;
        session->active_ns = tl_now_ns();
        session->tests++;
        send_result(session, errand);
    } else {
        test_ready(session);
    }
    let_go(session); /* nothing, where the session has ended meanwhile */
    errand_release(errand);
}

/* --- Asking ---------------------------------------------------------------------------------- */

bool session_disk_is_open(struct session *session)
{
    if (session->responder->options.disk_directory)
        return true;
    session_error(session, TL_WIRE_E_REFUSED,
                  "this responder has no directory for disk tests: its administrator opens one "
                  "with --disk DIR");
    return false;
}

void session_disk_ask(struct session *session, const struct tl_wire_test_disk *asked)
{
    struct tl_responder *responder = session->responder;
    struct session_test *test = &session->test;
    session->active_ns = session->heard_ns;
    if (!session_disk_is_open(session))
        return;
    uint64_t ms = (uint64_t)tl_limit_clamp(TL_LIMIT_DISK_MS, asked->duration_ms);
    uint64_t most = responder->options.max_seconds * 1000;
    ms = ms < most ? ms : most;
    test_reset(session, TEST_OF_DISK);
    test->disk = *asked;
    test->disk.threads = (uint8_t)tl_limit_clamp(TL_LIMIT_DISK_THREADS, asked->threads);
    test->disk.duration_ms = (uint32_t)ms;
    test->granted.duration_ms = (uint32_t)(2 * ms); /* for the wait that others are told */
    test_enqueue(session);
}

static struct disk_errand *make_errand(struct session *session)
{
    const struct session_test *test = &session->test;
    bool is_test = test->kind == TEST_OF_DISK;
    struct disk_errand *errand = calloc(1, sizeof *errand);
    if (!errand)
        return NULL;
    atomic_init(&errand->holds, 1);
    errand->directory = strdup(session->responder->options.disk_directory);
    errand->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    errand->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (session->disk.area)
        errand->area = tl_disk_area_hold(session->disk.area);
    errand->write = is_test || test->asked.direction == TL_WIRE_DOWNLOAD;
    errand->read = is_test;
    errand->spec = (struct tl_disk_spec){
        .threads = test->disk.threads,
        .duration_ns = test->disk.duration_ms * TL_NS_PER_MS,
        .max_bytes = test->disk.max_bytes,
        .cancel_fd = errand->cancel_fd,
    };
    tl_host_disk_init(&errand->host);
    return errand;
}

/* What is there already need not be made again. */
static bool has_area(const struct session *session)
{
    const struct tl_disk_area *area = session->disk.area;
    bool source = session->test.asked.direction == TL_WIRE_DOWNLOAD;
    return session->test.kind == TEST_OF_FILE && area &&
           (!source || tl_disk_area_written_bytes(area) >= (uint64_t)TL_DISK_BYTES_MIN);
}

void session_disk_begin(struct session *session)
{
    if (has_area(session)) {
        test_ready(session);
        return;
    }
    struct disk_errand *errand = make_errand(session);
    bool started = errand && errand->directory && errand->done_fd >= 0 && errand->cancel_fd >= 0;
    if (started) {
        session->disk.errand = errand;
        session->disk.done.fd = errand->done_fd;
        started = watch_add(session->responder, &session->disk.done, EPOLLIN, errand_done) == TL_OK;
    }
    if (started) {
        atomic_fetch_add(&errand->holds, 1);
        started = start_thread(errand);
        if (!started)
            errand_release(errand);
    }
    session->state = SESSION_PREPARING;
    session->deadline_ns = INT64_MAX;
    if (started)
        return;
    if (session->disk.errand)
        let_go(session);
    else if (errand)
        errand_release(errand);
    session_error(session, TL_WIRE_E_INTERNAL, "no thread for a disk test");
}

/* --- In a test of a file ------------------------------------------------------------------------
 */

enum tl_status session_disk_give_store(struct session *session, unsigned stream,
                                       struct tl_error *reterr)
{
    const struct session_test *test = &session->test;
    struct transfer_store *store = NULL;
    struct transfer_store_spec spec = {.area = test->far_disk ? session->disk.area : NULL,
                                       .source = test->asked.direction == TL_WIRE_DOWNLOAD,
                                       .streams = test->granted.streams,
                                       .index = stream,
                                       .threads = test->disk.threads};
    enum tl_status status = transfer_store_create(&spec, &store, reterr);
    if (status == TL_OK)
        tl_streams_give_store(test->lanes[0].streams, store);
    return status;
}

static void send_sums_of(struct session *session, uint16_t stream, struct transfer_store *store)
{
    struct transfer_sum sums[TL_WIRE_SUMS_MAX];
    struct tl_wire_sums message = {.test_id = session->test.granted.test_id, .stream = stream};
    uint8_t frame[TL_WIRE_FRAME_MAX];
    size_t count;
    while (session_out_has_room(session, SUMS_RESERVE) &&
           (count = transfer_store_drain(store, sums, TL_WIRE_SUMS_MAX)) > 0) {
        message.count = (uint16_t)count;
        for (size_t i = 0; i < count; i++)
            message.sums[i] = (struct tl_wire_sum){sums[i].block, sums[i].bytes, sums[i].crc};
        session_send(session, frame, tl_wire_encode_sums(&message, frame));
    }
}

void session_disk_send_sums(struct session *session)
{
    const struct session_test *test = &session->test;
    if (test->kind != TEST_OF_FILE || !test->lanes[0].streams)
        return;
    for (uint32_t i = 0; i < tl_streams_count(test->lanes[0].streams); i++)
        if (tl_streams_store(test->lanes[0].streams, i))
            send_sums_of(session, (uint16_t)i, tl_streams_store(test->lanes[0].streams, i));
}

void session_disk_report(struct session *session)
{
    const struct session_test *test = &session->test;
    struct tl_transfer_side side = {0};
    if (test->kind != TEST_OF_FILE || !test->lanes[0].streams)
        return;
    session_disk_send_sums(session);
    for (uint32_t i = 0; i < tl_streams_count(test->lanes[0].streams); i++)
        if (tl_streams_store(test->lanes[0].streams, i))
            transfer_store_add_to(tl_streams_store(test->lanes[0].streams, i), &side);
    struct tl_wire_file_end message = {.test_id = test->granted.test_id,
                                       .disk = side.disk,
                                       .fault = fault_of(side.errnum),
                                       .disk_bytes = side.disk_bytes,
                                       .disk_ns = side.disk_ns,
                                       .wait_ns = side.wait_ns};
    uint8_t frame[TL_WIRE_FRAME_MAX];
    session_send(session, frame, tl_wire_encode_file_end(&message, frame));
}

void session_disk_abandon(struct session *session)
{
    if (session->disk.errand)
        (void)eventfd_write(session->disk.errand->cancel_fd, 1);
    let_go(session);
    tl_disk_area_release(session->disk.area);
    session->disk.area = NULL;
}

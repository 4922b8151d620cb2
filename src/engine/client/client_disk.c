/* The far end's disk, and the file side of a TCP test: asking, checksums, what both disks did. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "client_tcp.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/client_disk.h"
#include "tightlink/engine/limits.h"
#include "transfer_check.h"
#include "transfer_worker.h"

#define PING_NS    TL_NS_PER_S
#define SUMS_BATCH 64

int64_t client_file_prepare_ns(const struct tcp_run *run)
{
    return run->spec->far_disk ? run->client->disk_ns : 0;
}

/* --- The far end's disk -------------------------------------------------------------------- */

static int errnum_of_fault(unsigned fault)
{
    switch (fault) {
    case TL_WIRE_DISK_FULL:
        return ENOSPC;
    case TL_WIRE_DISK_QUOTA:
        return EDQUOT;
    case TL_WIRE_DISK_ERROR:
        return EIO;
    default:
        return 0;
    }
}

static void take_times(const struct tl_wire_disk_times *times, enum tl_disk_operation operation,
                       struct tl_disk_result *ret_result)
{
    bool measured = times->rate_bps > 0;
    *ret_result = (struct tl_disk_result){
        .operation = operation,
        .mode = (enum tl_disk_mode)times->mode,
        .cache = (enum tl_disk_cache)times->cache,
        .end = (enum tl_disk_end)times->end,
        .errnum = errnum_of_fault(times->fault),
        .threads = times->threads,
        .bytes = times->bytes,
        .operations = times->operations,
        .p50_ns = times->p50_ns,
        .p95_ns = times->p95_ns,
        .p99_ns = times->p99_ns,
        .max_ns = times->max_ns,
        .elapsed_ns = times->elapsed_ns,
        .sync_ns = times->sync_ns,
        .cpu_ns = times->cpu_ns,
        .rate_bps = measured ? times->rate_bps : (double)NAN,
        .low_bps = measured ? times->low_bps : (double)NAN,
        .high_bps = measured ? times->high_bps : (double)NAN,
    };
}

static enum tl_status take_result(struct tl_client *client, const struct tl_wire_frame *frame,
                                  struct tl_disk_far *far, struct tl_error *reterr)
{
    struct tl_wire_disk_result message;
    enum tl_status status =
        tl_wire_decode_disk_result(frame->payload, frame->payload_len, &message, reterr);
    if (status != TL_OK)
        return status;
    if (!tl_wire_token_equal(&message.token, &client->token))
        return tl_error_set(reterr, TL_PROTOCOL, "the disk test's result is not signed by %s",
                            client->host);
    far->area_bytes = message.area_bytes;
    far->free_bytes = message.free_bytes;
    far->direct = message.direct;
    take_times(&message.write, TL_DISK_WRITE, &far->write);
    take_times(&message.read, TL_DISK_READ, &far->read);
    return TL_OK;
}

static enum tl_status take_facts(const struct tl_wire_frame *frame, struct tl_disk_far *far,
                                 struct tl_error *reterr)
{
    struct tl_wire_cursor cursor = {frame->payload, frame->payload + frame->payload_len};
    for (;;) {
        struct tl_wire_record record;
        bool more;
        enum tl_status status = tl_wire_record_next(&cursor, &record, &more, reterr);
        if (status != TL_OK || !more)
            return status;
        (void)tl_wire_disk_store(&far->host, &record);
    }
}

static enum tl_status ask(struct tl_client *client, const struct tl_disk_spec *spec,
                          struct tl_error *reterr)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_test_disk message = {.threads = (uint8_t)spec->threads,
                                        .duration_ms = (uint32_t)(spec->duration_ns / TL_NS_PER_MS),
                                        .max_bytes = spec->max_bytes};
    return client_send(client, frame, tl_wire_encode_test_disk(&message, frame), reterr);
}

/* Until the result or an ERROR, with pings, so that both ends know of each other. For its turn it
 * waits where it is told to alone. */
static enum tl_status await_result(struct tl_client *client, struct tl_disk_far *far,
                                   struct tl_error *reterr)
{
    int64_t asked_ns = tl_now_ns(), until_ns = asked_ns + client->disk_ns;
    int64_t ping_ns = asked_ns + PING_NS;
    for (;;) {
        struct tl_wire_frame frame;
        bool some;
        enum tl_status status = client_next_frame(client, &frame, &some, reterr);
        int64_t now_ns = tl_now_ns();
        if (status == TL_OK && some && frame.type == TL_WIRE_DISK_RESULT)
            return take_result(client, &frame, far, reterr);
        if (status == TL_OK && some && frame.type == TL_WIRE_HOST)
            status = take_facts(&frame, far, reterr);
        if (status == TL_OK && some && frame.type == TL_WIRE_BUSY)
            until_ns = asked_ns + client->disk_ns + TL_CLIENT_QUEUE_NS;
        if (status == TL_OK && now_ns >= ping_ns) {
            ping_ns = now_ns + PING_NS;
            status = client_send_ping(client, reterr);
        }
        if (status == TL_OK &&
            (now_ns >= until_ns || now_ns - client->heard_ns > TL_CLIENT_SILENT_NS))
            status = tl_error_set(reterr, TL_TIMEOUT, "%s did not answer the disk test in time",
                                  client->host);
        if (status == TL_OK && !some)
            status = client_wait(client, -1, ping_ns < until_ns ? ping_ns : until_ns, reterr);
        if (status != TL_OK)
            return status;
    }
}

enum tl_status tl_client_disk_test(struct tl_client *client, const struct tl_disk_spec *spec,
                                   struct tl_disk_far *ret_far, struct tl_error *reterr)
{
    struct tl_disk_far far = {.write.end = TL_DISK_END_NOT_RUN, .read.end = TL_DISK_END_NOT_RUN};
    tl_host_disk_init(&far.host);
    if (spec->threads > TL_DISK_THREADS_MAX || spec->duration_ns <= 0 ||
        spec->duration_ns > 3600 * TL_NS_PER_S)
        return tl_error_set(reterr, TL_RANGE, "a disk test has 1 to %d threads and lasts up to 1 h",
                            TL_DISK_THREADS_MAX);
    enum tl_status status = client_wake(client, reterr);
    if (status == TL_OK)
        status = ask(client, spec, reterr);
    if (status == TL_OK)
        status = await_result(client, &far, reterr);
    if (status == TL_OK)
        *ret_far = far;
    else if (status != TL_DENIED && status != TL_LIMIT)
        client_hang_up(client); /* what it still sends belongs to nobody */
    return status;
}

/* --- The file side of a test --- */

enum tl_status client_file_check(const struct tl_tcp_spec *spec, struct tl_error *reterr)
{
    unsigned most = (unsigned)tl_limit_row(TL_LIMIT_DISK_STREAMS)->max;
    if (!spec->file && (spec->near_disk || spec->far_disk))
        return tl_error_set(reterr, TL_RANGE, "a test with a disk is the test of a file");
    if (spec->file && spec->streams > most)
        return tl_error_set(reterr, TL_RANGE, "the test of a file has 1 to %u streams", most);
    if (spec->file && spec->direction == TL_WIRE_BOTH)
        return tl_error_set(reterr, TL_RANGE, "a file goes one way in a test");
    if (spec->disk_threads > TL_DISK_THREADS_MAX)
        return tl_error_set(reterr, TL_RANGE, "a disk gets 1 to %d threads", TL_DISK_THREADS_MAX);
    return TL_OK;
}

size_t client_file_encode_ask(const struct tl_tcp_spec *spec, const struct tl_wire_test_tcp *ask,
                              uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    struct tl_wire_test_file message = {.flags = spec->far_disk ? TL_WIRE_FILE_DISK : 0,
                                        .threads = (uint8_t)spec->disk_threads,
                                        .tcp = *ask};
    return tl_wire_encode_test_file(&message, ret_frame);
}

enum tl_status client_file_begin(struct tcp_run *run, struct tl_error *reterr)
{
    run->check = transfer_check_create(run->ready.streams);
    return run->check ? TL_OK : tl_error_set(reterr, TL_NOMEM, "no memory for checksums");
}

enum tl_status client_file_give_store(struct tcp_run *run, unsigned stream, struct tl_error *reterr)
{
    struct transfer_store *store = NULL;
    struct transfer_store_spec spec = {.area = run->spec->near_disk,
                                       .source = run->result->near_sends,
                                       .streams = run->ready.streams,
                                       .index = stream,
                                       .threads = run->spec->disk_threads};
    enum tl_status status = transfer_store_create(&spec, &store, reterr);
    if (status == TL_OK)
        tl_streams_give_store(run->lanes[0].near, store);
    return status;
}

void client_file_drain(struct tcp_run *run)
{
    struct transfer_sum sums[SUMS_BATCH];
    for (uint32_t i = 0;
         run->check && run->lanes[0].near && i < tl_streams_count(run->lanes[0].near); i++) {
        struct transfer_store *store = tl_streams_store(run->lanes[0].near, i);
        size_t count;
        while (store && (count = transfer_store_drain(store, sums, SUMS_BATCH)) > 0)
            for (size_t n = 0; n < count; n++)
                transfer_check_add(run->check, i, true, &sums[n]);
    }
}

enum tl_status client_file_take_sums(struct tcp_run *run, const struct tl_wire_frame *frame,
                                     struct tl_error *reterr)
{
    struct tl_wire_sums message;
    enum tl_status status =
        tl_wire_decode_sums(frame->payload, frame->payload_len, &message, reterr);
    if (status != TL_OK || !run->check || message.test_id != run->ready.test_id)
        return status;
    for (unsigned i = 0; i < message.count; i++) {
        struct transfer_sum sum = {message.sums[i].block, message.sums[i].bytes,
                                   message.sums[i].crc};
        transfer_check_add(run->check, message.stream, false, &sum);
    }
    return TL_OK;
}

enum tl_status client_file_take_end(struct tcp_run *run, const struct tl_wire_frame *frame,
                                    struct tl_error *reterr)
{
    struct tl_wire_file_end message;
    enum tl_status status =
        tl_wire_decode_file_end(frame->payload, frame->payload_len, &message, reterr);
    if (status != TL_OK || message.test_id != run->ready.test_id)
        return status;
    run->result->far_disk = (struct tl_transfer_side){.disk = message.disk,
                                                      .disk_bytes = message.disk_bytes,
                                                      .disk_ns = message.disk_ns,
                                                      .wait_ns = message.wait_ns,
                                                      .errnum = errnum_of_fault(message.fault)};
    return TL_OK;
}

void client_file_complete(struct tcp_run *run)
{
    if (!run->check)
        return;
    client_file_drain(run);
    for (uint32_t i = 0; i < tl_streams_count(run->lanes[0].near); i++)
        if (tl_streams_store(run->lanes[0].near, i))
            transfer_store_add_to(tl_streams_store(run->lanes[0].near, i), &run->result->near_disk);
    transfer_check_result(run->check, &run->result->check);
    transfer_check_destroy(run->check);
    run->check = NULL;
}

/* A disk that failed ended the test: that is the reason to tell, not the connection it broke. */
enum tl_status client_file_judge(const struct tcp_run *run, enum tl_status status,
                                 struct tl_error *reterr)
{
    const struct tl_transfer_side *near = &run->result->near_disk, *far = &run->result->far_disk;
    int errnum = near->errnum ? near->errnum : far->errnum;
    const char *where = near->errnum ? "here" : "at the far end";
    const char *what =
        run->result->near_sends == (near->errnum != 0) ? "reading from" : "writing to";
    if (errnum == 0 || status == TL_CANCELLED)
        return status;
    return tl_error_set(reterr, errnum == ENOSPC || errnum == EDQUOT ? TL_NOSPACE : TL_IO,
                        "%s the disk %s failed: %s", what, where,
                        errnum == EDQUOT ? "the quota is used up" : strerror(errnum));
}

/* A session's test of the disk.
 *
 *   TEST_DISK    queued like every test, then an errand: write, read -> DISK_RESULT */
#include "disk_test.h"

#include <math.h>

#include "disk_part.h"
#include "responder_private.h"
#include "turn.h"

/* --- The answer --------------------------------------------------------------------------- */

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
        .fault = disk_part_fault(result->errnum),
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

static void send_result(struct session *session, const struct disk_answer *answer)
{
    const struct tl_disk_area_info *info = tl_disk_area_info(answer->area);
    struct tl_wire_disk_result message = {.token = session->token,
                                          .direct = info->direct,
                                          .area_bytes = info->bytes,
                                          .free_bytes = info->free_bytes};
    put_times(&answer->write, &message.write);
    put_times(&answer->red, &message.read);
    uint8_t frame[TL_WIRE_FRAME_MAX];
    send_host(session, &answer->host);
    session_send(session, frame, tl_wire_encode_disk_result(&message, frame));
}

static void errand_done(void *owner, const struct disk_answer *answer)
{
    struct session *session = owner;
    if (disk_part_take(session, answer)) {
        session_rest(session);
        session->tests++;
        send_result(session, answer);
    }
    disk_part_let_go(session); /* nothing, where the session has ended meanwhile */
}

/* --- The test ------------------------------------------------------------------------------- */

static void begin(struct session *session)
{
    disk_part_prepare(session, true, true, errand_done);
}

/* Neither READY nor RUNNING: there is nothing to stop and nothing to watch. */
static void stop(struct session *session, enum tl_wire_end_reason reason)
{
}

static void tick(struct session *session, int64_t now_ns)
{
}

static bool abandon(struct session *session)
{
    disk_part_abandon(session);
    session->responder->queue_dirty = true;
    return true;
}

static void forget(struct session *session)
{
}

static const struct test_ops ops = {begin, stop, tick, abandon, forget};

void disk_test_frame(struct session *session, const struct tl_wire_frame *frame)
{
    struct tl_wire_test_disk asked;
    struct tl_error error;
    if (tl_wire_decode_test_disk(frame->payload, frame->payload_len, &asked, &error) != TL_OK) {
        session_error(session, TL_WIRE_E_PROTOCOL, "%s", error.text);
        return;
    }
    if (!turn_is_idle(session) || !disk_part_is_open(session))
        return;
    uint64_t ms = (uint64_t)tl_limit_clamp(TL_LIMIT_DISK_MS, asked.duration_ms);
    uint64_t most = session->responder->options.max_seconds * 1000;
    ms = ms < most ? ms : most;
    turn_reset(session, &ops);
    struct session_test *test = &session->test;
    test->with_disk = true;
    test->disk = asked;
    test->disk.threads = (uint8_t)tl_limit_clamp(TL_LIMIT_DISK_THREADS, asked.threads);
    test->disk.duration_ms = (uint32_t)ms;
    test->granted.duration_ms = (uint32_t)(2 * ms); /* for the wait that others are told */
    turn_ask(session);
}

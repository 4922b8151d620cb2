/* A session's test of streams: asked for, prepared; its frames. */
#include "tcp_test.h"

#include <string.h>

#include "disk_part.h"
#include "responder_private.h"
#include "tcp_dial.h"
#include "tcp_run.h"
#include "turn.h"

/* --- Its turn ------------------------------------------------------------------------------- */

static void errand_done(void *owner, const struct disk_answer *answer)
{
    struct session *session = owner;
    if (disk_part_take(session, answer))
        turn_ready(session);
    disk_part_let_go(session); /* nothing, where the session has ended meanwhile */
}

/* With the disk: the area, and what is to be read from it, unless they are there already. */
static void begin(struct session *session)
{
    const struct session_test *test = &session->test;
    const struct tl_disk_area *area = session->disk.area;
    bool source = test->asked.direction == TL_WIRE_DOWNLOAD;
    bool there =
        area && (!source || tl_disk_area_written_bytes(area) >= (uint64_t)TL_DISK_BYTES_MIN);
    if (test->with_disk && !there)
        disk_part_prepare(session, source, false, errand_done);
    else
        turn_ready(session);
}

static const struct test_ops ops = {begin, tcp_run_stop, tcp_run_tick, tcp_run_abandon,
                                    tcp_run_forget};

/* --- Asking --------------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Every number from outside passes limits.h here, and then the administrator's. */
static void clamp_test(struct session *session)
{
    const struct tl_responder_options *options = &session->responder->options;
    const struct tl_wire_test_tcp *asked = &session->test.asked;
    struct tl_wire_ready *granted = &session->test.granted;
    uint64_t duration_ms = (uint64_t)tl_limit_clamp(TL_LIMIT_DURATION_MS, asked->duration_ms);
    granted->duration_ms = (uint32_t)least(duration_ms, options->max_seconds * 1000);
    uint64_t directions = asked->direction == TL_WIRE_BOTH ? 2 : 1;
    uint64_t most = options->max_streams / directions;
    if (session->test.is_file)
        most = least(most, (uint64_t)tl_limit_row(TL_LIMIT_DISK_STREAMS)->max);
    granted->streams =
        (uint16_t)least((uint64_t)tl_limit_clamp(TL_LIMIT_STREAMS, asked->streams), most);
    session->test.connections = (unsigned)(granted->streams * directions);
    granted->sample_interval_us =
        (uint32_t)tl_limit_clamp(TL_LIMIT_SAMPLE_INTERVAL_US, asked->sample_interval_us);
    granted->pacing_bps = (uint64_t)tl_limit_clamp(TL_LIMIT_PACING_BPS, asked->pacing_bps);
    granted->max_bytes = (uint64_t)tl_limit_clamp(TL_LIMIT_TEST_BYTES, asked->max_bytes);
    uint64_t cap = options->rate_cap_bps;
    if (cap) {
        /* Pacing holds our own sending; the bytes hold what the client sends. */
        uint64_t share = cap / directions;
        granted->pacing_bps = granted->pacing_bps ? least(granted->pacing_bps, share) : share;
        uint64_t bytes = (uint64_t)((double)cap / 8 * granted->duration_ms / 1000);
        granted->max_bytes = least(granted->max_bytes, bytes ? bytes : 1);
    }
}

/* A name that this host refuses is told now, with the list, and not after the dialling. The
 * session's own socket shows what the host (or the route to this peer) would take: it is asked
 * to try the name, and gets its own back where that is permitted. */
static bool check_congestion(struct session *session)
{
    struct tl_wire_ready *granted = &session->test.granted;
    const char *name = session->test.asked.congestion;
    struct tl_stream_options own = {0}, options = {0};
    struct tl_error error = {0};
    if (tl_stream_congestion(session->watch.fd, own.congestion) != TL_OK)
        return false;
    memcpy(granted->congestion, name[0] ? name : own.congestion, sizeof granted->congestion);
    if (!name[0])
        return true;
    memcpy(options.congestion, name, sizeof options.congestion);
    enum tl_status status = tl_stream_options_apply(session->watch.fd, &options, &error);
    if (status == TL_OK && tl_stream_options_apply(session->watch.fd, &own, NULL) != TL_OK)
        responder_log(session->responder, "a control connection keeps %s", name);
    else if (status != TL_OK)
        session_error(session, TL_WIRE_E_CONGESTION, "at the responder: %s", error.text);
    return status == TL_OK;
}

static void take_ask(struct session *session, const struct tl_wire_test_tcp *asked, bool is_file)
{
    turn_reset(session, &ops);
    session->test.asked = *asked;
    session->test.is_file = is_file;
    clamp_test(session);
}

static void ask_tcp(struct session *session, const struct tl_wire_test_tcp *asked)
{
    if (asked->direction == TL_WIRE_BOTH && session->responder->options.max_streams < 2) {
        session_error(session, TL_WIRE_E_REFUSED,
                      "this responder gives one stream a test, and both ways need two: ask for "
                      "one direction after the other");
        return;
    }
    if (!turn_may_load(session))
        return;
    take_ask(session, asked, false);
    if (check_congestion(session))
        turn_ask(session);
}

static void ask_file(struct session *session, const struct tl_wire_test_file *asked)
{
    bool far_disk = asked->flags & TL_WIRE_FILE_DISK;
    if (asked->tcp.direction == TL_WIRE_BOTH) {
        session_error(session, TL_WIRE_E_REFUSED, "a file goes one way in a test");
        return;
    }
    if (!turn_may_load(session) || (far_disk && !disk_part_is_open(session)))
        return;
    take_ask(session, &asked->tcp, true);
    session->test.with_disk = far_disk;
    session->test.disk = (struct tl_wire_test_disk){
        .threads = (uint8_t)tl_limit_clamp(TL_LIMIT_DISK_THREADS, asked->threads),
        .duration_ms = (uint32_t)tl_limit_row(TL_LIMIT_DISK_MS)->standard};
    if (check_congestion(session))
        turn_ask(session);
}

/* --- Frames --------------------------------------------------------------------------------- */

static bool is_ready(const struct session *session)
{
    return session->state == SESSION_READY && session->test.ops == &ops;
}

static void take_test_tcp(struct session *session, const struct tl_wire_frame *frame)
{
    struct tl_wire_test_tcp asked;
    struct tl_error error;
    if (tl_wire_decode_test_tcp(frame->payload, frame->payload_len, &asked, &error) != TL_OK)
        session_error(session, TL_WIRE_E_PROTOCOL, "%s", error.text);
    else if (turn_is_idle(session))
        ask_tcp(session, &asked);
}

static void take_test_file(struct session *session, const struct tl_wire_frame *frame)
{
    struct tl_wire_test_file asked;
    struct tl_error error;
    if (tl_wire_decode_test_file(frame->payload, frame->payload_len, &asked, &error) != TL_OK)
        session_error(session, TL_WIRE_E_PROTOCOL, "%s", error.text);
    else if (turn_is_idle(session))
        ask_file(session, &asked);
}

static void take_dial(struct session *session, const struct tl_wire_frame *frame)
{
    struct tl_wire_dial dial;
    struct tl_error error;
    if (tl_wire_decode_dial(frame->payload, frame->payload_len, &dial, &error) != TL_OK)
        session_error(session, TL_WIRE_E_PROTOCOL, "%s", error.text);
    else if (!is_ready(session))
        session_error(session, TL_WIRE_E_STATE, "DIAL without a test that waits for connections");
    else
        tcp_dial(session, &dial);
}

static void take_start(struct session *session, const struct tl_wire_frame *frame)
{
    struct tl_wire_start message;
    struct tl_error error;
    if (tl_wire_decode_start(frame->payload, frame->payload_len, &message, &error) != TL_OK)
        session_error(session, TL_WIRE_E_PROTOCOL, "%s", error.text);
    else if (!is_ready(session))
        session_error(session, TL_WIRE_E_STATE, "START without READY");
    else
        tcp_run_start(session, message.test_id);
}

void tcp_test_frame(struct session *session, const struct tl_wire_frame *frame)
{
    if (frame->type == TL_WIRE_TEST_TCP)
        take_test_tcp(session, frame);
    else if (frame->type == TL_WIRE_TEST_FILE)
        take_test_file(session, frame);
    else if (frame->type == TL_WIRE_DIAL)
        take_dial(session, frame);
    else
        take_start(session, frame);
}

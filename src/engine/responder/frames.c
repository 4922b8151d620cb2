/* What a client's frame means to its session. */
#include "frames.h"

#include "disk_test.h"
#include "host_reader.h"
#include "keys.h"
#include "responder_private.h"
#include "tcp_test.h"
#include "tightlink/base/time.h"
#include "udp_test.h"

static void answer_ping(struct session *session, const struct tl_wire_frame *frame)
{
    struct tl_wire_ping ping;
    struct tl_error error;
    if (tl_wire_decode_ping(frame->payload, frame->payload_len, &ping, &error) != TL_OK) {
        session_error(session, TL_WIRE_E_PROTOCOL, "%s", error.text);
        return;
    }
    struct tl_wire_pong pong = {ping.cookie, (uint64_t)tl_now_ns()};
    uint8_t answer[TL_WIRE_FRAME_MAX];
    session_send(session, answer, tl_wire_encode_pong(&pong, answer));
}

static void query_host(struct session *session, const struct tl_wire_frame *frame)
{
    bool fits = session->state == SESSION_IDLE || session->state == SESSION_QUEUED;
    if (frame->payload_len != 0)
        session_error(session, TL_WIRE_E_PROTOCOL, "HOST_QUERY has no payload");
    else if (!fits || session->job)
        session_error(session, TL_WIRE_E_STATE, "HOST_QUERY in the middle of something else");
    else if (!keys_demand(session))
        return;
    else if (++session->host_queries > tl_limit_row(TL_LIMIT_HOST_QUERIES)->standard)
        session_error(session, TL_WIRE_E_REFUSED, "the host was asked often enough");
    else if (!(session->job = host_reader_submit(session->responder->host, &session->peer,
                                                 session->secure != NULL, session)))
        session_error(session, TL_WIRE_E_INTERNAL, "out of memory");
    session->active_ns = session->heard_ns;
}

void frames_host_done(void *owner, const struct tl_host_settings *settings)
{
    struct session *session = owner;
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_writer writer;
    struct tl_wire_record record;
    session->job = NULL;
    tl_wire_host_begin(&writer, frame);
    unsigned count = tl_wire_host_record_count();
    for (unsigned i = 0; i < count; i++) {
        tl_wire_host_record(settings, i, &record);
        if (tl_wire_record_add(&writer, &record))
            continue;
        session_send(session, frame, tl_wire_writer_end(&writer));
        tl_wire_host_begin(&writer, frame);
        (void)tl_wire_record_add(&writer, &record); /* fits into an empty frame */
    }
    session_send(session, frame, tl_wire_writer_end(&writer));
    struct tl_wire_host_end end = {.records = (uint16_t)count};
    session_send(session, frame, tl_wire_encode_host_end(&end, frame));
}

/* A STOP may cross our TEST_END on its way; then it means nothing any more. */
static void handle_stop(struct session *session, const struct tl_wire_frame *frame)
{
    struct tl_wire_stop stop;
    struct tl_error error;
    bool in_test = session->state == SESSION_READY || session->state == SESSION_RUNNING;
    if (tl_wire_decode_stop(frame->payload, frame->payload_len, &stop, &error) != TL_OK)
        session_error(session, TL_WIRE_E_PROTOCOL, "%s", error.text);
    else if (stop.test_id > session->last_test_id)
        session_error(session, TL_WIRE_E_STATE, "STOP of a test that was not granted");
    else if (in_test && stop.test_id == session->last_test_id)
        session->test.ops->stop(session, TL_WIRE_END_STOPPED);
}

void frames_take(struct session *session, const struct tl_wire_frame *frame)
{
    switch (frame->type) {
    case TL_WIRE_PING:
        answer_ping(session, frame);
        return;
    case TL_WIRE_PONG: /* of no question of ours; no harm */
        return;
    case TL_WIRE_HOST_QUERY:
        query_host(session, frame);
        return;
    case TL_WIRE_TEST_TCP:
    case TL_WIRE_TEST_FILE:
    case TL_WIRE_DIAL:
    case TL_WIRE_START:
        tcp_test_frame(session, frame);
        return;
    case TL_WIRE_TEST_DISK:
        disk_test_frame(session, frame);
        return;
    case TL_WIRE_TEST_UDP:
    case TL_WIRE_UDP_START:
    case TL_WIRE_UDP_REPORT:
        udp_test_frame(session, frame);
        return;
    case TL_WIRE_STOP:
        handle_stop(session, frame);
        return;
    case TL_WIRE_BYE:
        session_end(session, "bye");
        return;
    default:
        session_error(session, TL_WIRE_E_TYPE, "a frame of type %u is not for the responder",
                      frame->type);
    }
}

/* How a test of streams ended: the reason and the totals of its data connections. */
#include "tcp_end.h"

#include <string.h>

#include "tightlink/base/time.h"

#define EARLY_CLOSE_NS (250 * TL_NS_PER_MS) /* a sender's deadline may be this much earlier */

/* What happened to the streams of one test, put together. */
struct endings {
    bool failed, closed, capped;
};

/* A path that carries nothing fails all of them. On one of several alone nothing may come back for
 * as long where acknowledgements are dropped on a full way back: that is its rate, and no fault. */
static void judge_lane(const struct session_test *test, const struct test_lane *lane,
                       struct endings *endings)
{
    int64_t on_time_ns = test->granted.duration_ms * TL_NS_PER_MS - EARLY_CLOSE_NS;
    uint32_t silent = 0, count = tl_streams_count(lane->streams);
    for (uint32_t i = 0; i < count; i++) {
        struct tl_stream_result result;
        tl_streams_result(lane->streams, i, &result);
        silent += result.end == TL_STREAM_END_TIMEOUT;
        endings->failed |= result.end == TL_STREAM_END_ERROR;
        endings->capped |= result.end == TL_STREAM_END_CAP;
        if (result.end == TL_STREAM_END_PEER && result.end_ns < on_time_ns) {
            /* A client that has sent all it wanted closes in order. */
            endings->capped |= !lane->sends && result.errnum == 0;
            endings->closed |= lane->sends || result.errnum != 0;
        }
    }
    endings->failed |= silent > 0 && silent == count;
}

enum tl_wire_end_reason tcp_end_reason(const struct session_test *test)
{
    struct endings endings = {0};
    for (unsigned i = 0; i < test->lane_count; i++)
        judge_lane(test, &test->lanes[i], &endings);
    return endings.failed   ? TL_WIRE_END_FAILED
           : endings.closed ? TL_WIRE_END_CLOSED
           : endings.capped ? TL_WIRE_END_BYTES
                            : TL_WIRE_END_TIME;
}

static const struct test_lane *lane_of(const struct session_test *test, unsigned connection)
{
    for (unsigned i = 0; i < test->lane_count; i++) {
        const struct test_lane *lane = &test->lanes[i];
        if (connection >= lane->first && connection < lane->first + test->granted.streams)
            return lane;
    }
    return NULL;
}

/* Fills the totals of end->first and the following; a test that never started has none. */
static void add_totals(const struct session_test *test, struct tl_wire_test_end *end)
{
    memset(end->totals, 0, sizeof end->totals);
    for (unsigned i = 0; i < end->count; i++) {
        const struct test_lane *lane = lane_of(test, end->first + i);
        if (!lane)
            continue;
        struct tl_stream_result result;
        tl_streams_result(lane->streams, end->first + i - lane->first, &result);
        end->totals[i] = (struct tl_wire_stream_total){
            .bytes = result.bytes,
            .duration_ns = result.last_byte_ns > 0 ? (uint64_t)result.last_byte_ns : 0,
            .cpu_ns = result.cpu_ns,
            .run_delay_ns = result.run_delay_ns};
    }
}

/* What concerns the test as a whole. */
static void describe_end(const struct session_test *test, struct tl_wire_test_end *end)
{
    for (unsigned i = 0; i < test->lane_count; i++) {
        const struct test_lane *lane = &test->lanes[i];
        bool copied;
        end->samples_dropped += (uint32_t)tl_streams_dropped(lane->streams);
        if (lane->sends)
            end->send_path = (uint8_t)tl_streams_send_path(lane->streams, &copied);
        else
            end->discarded = test->asked.discard;
        for (uint32_t j = 0; j < tl_streams_count(lane->streams); j++) {
            struct tl_stream_result result;
            tl_streams_result(lane->streams, j, &result);
            uint64_t end_ns = result.end_ns > 0 ? (uint64_t)result.end_ns : 0;
            if (end_ns > end->duration_ns)
                end->duration_ns = end_ns;
        }
    }
}

void tcp_end_report(struct session *session)
{
    struct session_test *test = &session->test;
    struct tl_wire_test_end end = {.token = session->token,
                                   .test_id = test->granted.test_id,
                                   .reason = (uint8_t)test->reason,
                                   .streams = (uint16_t)test->connections,
                                   .samples_dropped = test->samples_dropped};
    uint8_t frame[TL_WIRE_FRAME_MAX];
    describe_end(test, &end);
    session_rest(session);
    for (unsigned first = 0; first < test->connections; first += TL_WIRE_TOTALS_MAX) {
        unsigned left = test->connections - first;
        end.first = (uint16_t)first;
        end.count = (uint8_t)(left < TL_WIRE_TOTALS_MAX ? left : TL_WIRE_TOTALS_MAX);
        add_totals(test, &end);
        session_send(session, frame, tl_wire_encode_test_end(&end, frame));
    }
}

/* Messages of a TCP test: asked for, granted or queued, started, stopped, ended. */
#include "wire_layout.h"

#define MSG tl_wire_test_tcp
static const struct wire_field test_tcp_fields[] = {
    UINT(direction, 1, 0, TL_WIRE_BOTH,
         "direction: 0 download (the responder sends), 1 upload, 2 both at once"),
    UINT(discard, 1, 0, 1,
         "flags: bit 0 = the responder drops what it receives without a copy (MSG_TRUNC); others "
         "zero"),
    UINT(
        streams, 2, 1, UINT16_MAX,
        "streams each way, not 0; moved into the limits and WELCOME's number, READY says how many"),
    ANY(duration_ms, 4, "longest duration, ms; 0 = 10 s; moved into the limits"),
    ANY(max_bytes, 8, "most bytes, all streams together; 0 = no cap of the client's"),
    ANY(rcvbuf_bytes, 4,
        "SO_RCVBUF of the data sockets on which the responder receives, bytes; 0 = the kernel's "
        "own "
        "tuning"),
    ANY(sndbuf_bytes, 4, "SO_SNDBUF of those on which it sends, likewise"),
    ANY(pacing_bps, 8, "pacing at the responder, bit/s, all streams together; 0 = none"),
    ANY(sample_interval_us, 4, "time between samples, us; 0 = 50,000"),
    UINT(dscp, 1, 0, 63,
         "DSCP of the packets that the responder sends, 0 to 63; 0 = its host's own"),
    UINT(send_path, 1, 0, TL_SEND_PATH_COUNT - 1,
         "how the responder sends: 0 as it finds best, 1 send(), 2 splice() of pages by reference, "
         "3 "
         "MSG_ZEROCOPY"),
    ZERO(2),
    ANY(notsent_lowat_bytes, 4,
        "TCP_NOTSENT_LOWAT where the responder sends, bytes; 0 = its host's own"),
    ZERO(4),
    NAME(congestion,
         "congestion control of the responder's sending, `a-z 0-9 _ -` and zeros; empty "
         "= the responder host's own"),
};
WIRE_FRAME(test_tcp, TEST_TCP, NULL)
#undef MSG

#define MSG tl_wire_ready
static const struct wire_field ready_fields[] = {
    UINT(test_id, 4, 1, UINT32_MAX, "test id, not 0"),
    LIMITED(streams, 2, 1, STREAMS, "streams each way, at most as many as asked for"),
    ZERO(2),
    LIMITED(duration_ms, 4, 1, DURATION_MS, "granted duration, ms"),
    LIMITED(sample_interval_us, 4, 1, SAMPLE_INTERVAL_US, "time between samples, us"),
    LIMITED(max_bytes, 8, 1, TEST_BYTES,
            "granted bytes, all streams together; each connection gets an equal share"),
    LIMITED(pacing_bps, 8, 0, PACING_BPS, "pacing, bit/s; 0 = none"),
    NAME(congestion, "congestion control in effect at the responder"),
};
WIRE_FRAME(ready, READY, NULL)
#undef MSG

#define MSG tl_wire_busy
static const struct wire_field busy_fields[] = {
    LIMITED(place, 2, 1, SESSIONS, "place in the queue, 1 = next"),
    ZERO(2),
    LIMITED(wait_ms, 4, 0, QUEUE_WAIT_MS, "it will take at most about so many ms"),
};
WIRE_FRAME(busy, BUSY, NULL)
#undef MSG

#define MSG tl_wire_start
static const struct wire_field start_fields[] = {UINT(test_id, 4, 1, UINT32_MAX, "test id")};
WIRE_FRAME(start, START, NULL)
#undef MSG

#define MSG tl_wire_stop
static const struct wire_field stop_fields[] = {UINT(test_id, 4, 1, UINT32_MAX, "test id")};
WIRE_FRAME(stop, STOP, NULL)
#undef MSG

#define MSG tl_wire_started
static const struct wire_field started_fields[] = {
    UINT(test_id, 4, 1, UINT32_MAX, "test id"),
    ANY(responder_ns, 8, "responder's CLOCK_MONOTONIC at time 0 of the test, ns"),
};
WIRE_FRAME(started, STARTED, NULL)
#undef MSG

/* --- The end -------------------------------------------------------------------------------- */

/* No test lasts longer than its grant and the grace behind it, with room for clocks. */
static uint64_t longest_ns(void)
{
    return (uint64_t)(tl_limit_row(TL_LIMIT_DURATION_MS)->max +
                      2 * tl_limit_row(TL_LIMIT_GRACE_MS)->max) *
           1000000;
}

#define MSG tl_wire_stream_total
static const char *refuse_total(const void *msg)
{
    const struct MSG *total = msg;
    return total->duration_ns > longest_ns() || total->cpu_ns > longest_ns() ? "lasted too long"
                                                                             : NULL;
}

static const struct wire_field total_fields[] = {
    UINT(bytes, 8, 0, WIRE_BYTES_MAX, "payload moved by the responder's application, bytes"),
    ANY(duration_ns, 8, "time of its last byte, ns"),
    ANY(cpu_ns, 8, "CPU time of its thread, ns"),
    ANY(run_delay_ns, 8, "that this thread waited for a CPU, ns"),
};
WIRE_LAYOUT(total, 0, "a total of TEST_END", refuse_total)
#undef MSG

#define MSG tl_wire_test_end
static const char *refuse_test_end(const void *msg)
{
    const struct MSG *end = msg;
    if (end->first + end->count > end->streams)
        return "has totals of more streams than there are";
    return end->duration_ns > longest_ns() ? "lasted too long" : NULL;
}

static const struct wire_field test_end_fields[] = {
    BYTES(token, "token of the session"),
    UINT(test_id, 4, 1, UINT32_MAX, "test id"),
    UINT(reason, 1, 0, TL_WIRE_END_REBOUND, "reason"),
    UINT(count, 1, 1, TL_WIRE_TOTALS_MAX, "totals in this frame, 1 to 64"),
    ANY(first, 2, "connection of the first of them"),
    ANY(duration_ns, 8, "duration, ns; 0 when the test was stopped before START"),
    ANY(samples_dropped, 4, "samples that were not sent since the control connection was full"),
    UINT(streams, 2, 0, TL_WIRE_STREAMS_MAX, "connections of the test"),
    UINT(send_path, 1, 0, TL_SEND_PATH_COUNT - 1,
         "how the responder sent, as in TEST_TCP; 0 where it did not"),
    FLAG(discarded, "1: it dropped what it received without a copy"),
    LIST(totals, count, wire_layout_total, "the totals of that many connections"),
};
WIRE_FRAME(test_end, TEST_END, refuse_test_end)
#undef MSG

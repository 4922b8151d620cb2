/* Whose time it was where it does not show at once: no handshake, writes that overlap. */
#include "script.h"

/* Ten segments in each round trip of 20 ms, seen beside the sender, without the handshake; each
 * acknowledgement announces so much. */
static struct tl_packet_ledger without_handshake(uint16_t window, uint8_t *ret_times)
{
    struct script script = script_begin();
    script.window = window;
    for (uint32_t round = 0; round < 100; round++) {
        uint32_t seq = 1000 + round * 10 * MSS;
        struct tl_segment data = script_segment(&script, SERVER, TL_TCP_ACK, seq, 1000, MSS);
        for (uint32_t i = 0; i < 10; i++) {
            data = script_segment(&script, SERVER, TL_TCP_ACK, seq + i * MSS, 1000, MSS);
            data.has_timestamps = true;
            data.tsval = 1000 + round;
            data.tsecr = 5000 + round;
            script_add(&script, &data);
        }
        script.time_ns += 20 * MS;
        for (uint32_t i = 2; i <= 10; i += 2) {
            struct tl_segment ack =
                script_segment(&script, CLIENT, TL_TCP_ACK, 1000, seq + i * MSS, 0);
            ack.has_timestamps = true;
            ack.tsval = 5001 + round;
            ack.tsecr = 1000 + round;
            script_add(&script, &ack);
        }
    }
    const struct tl_packet_flow *flow = script_end(&script);
    struct tl_packet_ledger ledger;
    tl_packet_ledger(flow, TL_SERVER, &ledger);
    cr_expect_eq(tl_packet_place(flow, TL_SERVER), TL_PLACE_SENDER);
    *ret_times = (uint8_t)(flow->halves[TL_SERVER].window_max_bytes / window);
    tl_packets_destroy(script.packets);
    return ledger;
}

/* What was sent before an acknowledgement passed lies within the window that it announces: 14480
 * bytes need a scale of 3 for 1810 and of 4 for 1000. */
Test(packets, what_was_sent_bounds_a_window_of_unknown_scale)
{
    uint8_t times;
    struct tl_packet_ledger ledger = without_handshake(1810, &times);
    cr_expect_eq(times, 8);
    cr_expect_gt(ledger.closed_ratio, 0.9);
    cr_expect(ledger.known && ledger.window_known, "%s", ledger.why); /* full to the last byte */
    ledger = without_handshake(1000, &times);
    cr_expect_eq(times, 16);
    cr_expect_lt(ledger.closed_ratio, 0.05);
    cr_expect(!ledger.window_known);
}

/* A write of ten segments and a half each 15 to 19 ms over a round trip of 40 ms, and a pause
 * behind four, seen at the receiver: each ends with what was left of it. */
static struct tl_packet_ledger writes_of(uint32_t last_bytes)
{
    struct script script = script_begin();
    script_shake(&script, 0, 40 * MS);
    uint32_t seq = 1000;
    for (int number = 0; number < 200; number++) {
        for (uint32_t i = 0; i <= 10; i++) {
            uint32_t len = i < 10 ? MSS : last_bytes;
            script_send(&script, SERVER, seq, 1000, len);
            seq += len;
        }
        script_send(&script, CLIENT, 1000, seq, 0);
        script.time_ns += number % 4 == 3 ? 60 * MS : (15 + number % 5) * MS;
    }
    const struct tl_packet_flow *flow = script_end(&script);
    struct tl_packet_ledger ledger;
    tl_packet_ledger(flow, TL_SERVER, &ledger);
    cr_expect_eq(tl_packet_place(flow, TL_SERVER), TL_PLACE_RECEIVER);
    tl_packets_destroy(script.packets);
    return ledger;
}

Test(packets, what_is_written_ends_with_a_segment_that_is_not_full)
{
    struct tl_packet_ledger ledger = writes_of(MSS / 2);
    cr_expect(ledger.known && ledger.spent, "%s", ledger.why);
    cr_expect_gt(ledger.app_ratio, 0.9);
    cr_expect(!writes_of(MSS).spent);
}

/* On a path that takes less than the MSS of the handshake every segment is smaller: those are full.
 */
Test(packets, smaller_segments_throughout_are_no_ends_of_writes)
{
    cr_expect(!writes_of(MSS).spent);
    struct script script = script_begin();
    script_shake(&script, 0, 40 * MS);
    uint32_t seq = 1000;
    for (uint32_t number = 0; number < 400; number++) {
        uint32_t len = (5 + number % 7) * 1388;
        script_send(&script, SERVER, seq, 1000, len);
        seq += len;
        script_send(&script, CLIENT, 1000, seq, 0);
        script.time_ns += 5 * MS;
    }
    struct tl_packet_ledger ledger;
    tl_packet_ledger(script_end(&script), TL_SERVER, &ledger);
    cr_expect(!ledger.spent);
    tl_packets_destroy(script.packets);
}

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

/* A receiver that has read nothing announces a right edge that does not move, cut off to a multiple
 * of the scale: one that stands back by that is no larger scale (RFC 7323, section 2.4). */
Test(packets, a_right_edge_that_the_scale_cuts_off_is_no_larger_scale)
{
    struct script script = script_begin();
    for (uint32_t round = 0; round < 100; round++) {
        uint32_t seq = 1000 + round * 10 * MSS;
        for (uint32_t i = 0; i < 10; i++)
            script_send(&script, SERVER, seq + i * MSS, 1000, MSS);
        script.time_ns += 20 * MS;
        for (uint32_t i = 1; i <= 10; i++) {
            uint32_t room = (10 - i) * MSS + (i == 10 ? 10 * MSS : 0);
            script.window = (uint16_t)(room / 128);
            script_send(&script, CLIENT, 1000, seq + i * MSS, 0);
        }
    }
    const struct tl_packet_flow *flow = script_end(&script);
    uint64_t window = flow->halves[TL_SERVER].window_max_bytes;
    cr_expect_eq(window, 10 * MSS / 128 * 128, "%llu", (unsigned long long)window);
    tl_packets_destroy(script.packets);
}

/* Single segments a millisecond and a half apart, seen beside the sender that acknowledgements do
 * not set off; or writes of as much as makes the same rate, each six of them at once. */
static struct tl_packet_ledger trains_of(unsigned segments)
{
    struct script script = script_begin();
    script_shake(&script, 40 * MS, 0);
    uint32_t seq = 1000, acked = 1000;
    for (uint32_t i = 0; i < 3000 / segments; i++) {
        for (unsigned k = 0; k < segments; k++, seq += MSS)
            script_send(&script, SERVER, seq, 1000, MSS);
        script.time_ns += segments * MS * 3 / 4;
        if (seq - acked > 26 * MSS) { /* each 40 ms later, in the middle between two trains */
            acked = seq - 26 * MSS;
            script_send(&script, CLIENT, 1000, acked, 0);
        }
        script.time_ns += segments * MS * 3 / 4;
    }
    struct tl_packet_ledger ledger;
    const struct tl_packet_flow *flow = script_end(&script);
    cr_expect_eq(tl_packet_place(flow, TL_SERVER), TL_PLACE_SENDER);
    tl_packet_ledger(flow, TL_SERVER, &ledger);
    tl_packets_destroy(script.packets);
    return ledger;
}

/* The kernel's own clock, where it paces, is no program's. */
Test(packets, single_segments_by_a_clock_are_no_programs)
{
    struct tl_packet_ledger paced = trains_of(1), written = trains_of(6);
    cr_expect(!(paced.app_ratio > 0.5), "%g", paced.app_ratio);
    cr_expect_gt(written.app_ratio, 0.5, "%s %g", written.why, written.clocked_ratio);
}

/* Segments over 40 ms: in what time each follows the one before, and the first of so many; a moment
 * in the train at which an acknowledgement of one comes, so long before. The host answers the SYN
 * within 20 us. */
static struct tl_packet_ledger beside_sender(uint32_t train, int64_t step_ns, int64_t first_ns,
                                             uint32_t moment, int64_t before_ns)
{
    struct script script = script_begin();
    script_shake(&script, 40 * MS, 20000);
    for (uint32_t i = 0; i < 500 * train; i++) {
        script.time_ns += (i % train ? step_ns : first_ns) - before_ns;
        if (i % train == moment && i > 5 * train)
            script_send(&script, CLIENT, 1000, 1000 + (i - 4 * train) * MSS, 0);
        script.time_ns += before_ns;
        script_send(&script, SERVER, 1000 + i * MSS, 1000, MSS);
    }
    const struct tl_packet_flow *flow = script_end(&script);
    struct tl_packet_ledger ledger;
    cr_expect_eq(tl_packet_place(flow, TL_SERVER), TL_PLACE_SENDER);
    tl_packet_ledger(flow, TL_SERVER, &ledger);
    tl_packets_destroy(script.packets);
    return ledger;
}

/* What follows an acknowledgement sooner than its host answered a SYN was set off by it. */
Test(packets, an_acknowledgement_sets_off_what_follows_it_at_once)
{
    struct tl_packet_ledger ledger = beside_sender(8, 6000, 10 * MS, 0, 6000);
    cr_expect_gt(ledger.clocked_ratio, 0.9, "%g", ledger.clocked_ratio);
    cr_expect_neq(ledger.wait, TL_WAIT_APP);
}

/* A kernel that paces sends its segments one by one, a tenth of a millisecond apart. */
Test(packets, segments_one_by_one_are_paced_however_close)
{
    struct tl_packet_ledger paced = beside_sender(50, 100000, 400000, 20, 30000),
                            written = beside_sender(8, 6000, 10 * MS, 4, 0);
    cr_expect_neq(paced.wait, TL_WAIT_APP);
    cr_expect_eq(written.wait, TL_WAIT_APP, "%d %g", written.wait, written.clocked_ratio);
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

/* Packets of ten segments, captured whole or cut, eight of them in flight: each acknowledgement of
 * ten sets one off, eight times in a round trip of 40 ms. So many of these lie between the capture
 * and the sender. */
static struct tl_packet_ledger eighty_into(uint16_t window, uint32_t near, bool cut)
{
    struct script script = script_begin();
    script.window = window;
    script_shake(&script, (8 - near) * 5 * MS, near * 5 * MS);
    for (uint32_t i = 0; i < 2000; i++) {
        uint32_t seq = 1000 + i * 10 * MSS;
        if (i >= 8)
            script_send(&script, CLIENT, 1000, seq - (7 - near) * 10 * MSS, 0);
        for (uint32_t k = 0; k < (cut ? 10 : 1); k++)
            script_send(&script, SERVER, seq + k * MSS, 1000, cut ? MSS : 10 * MSS);
        script.time_ns += 5 * MS;
    }
    struct tl_packet_ledger ledger;
    tl_packet_ledger(script_end(&script), TL_SERVER, &ledger);
    tl_packets_destroy(script.packets);
    return ledger;
}

/* The sender does not begin another packet of ten with what a window of 88 or 81 has left. */
Test(packets, a_window_without_room_for_another_packet_of_offload_is_closed)
{
    cr_expect_gt(eighty_into(88 * MSS / 128, 0, false).closed_ratio, 0.95);
    cr_expect_gt(eighty_into(81 * MSS / 128, 0, true).closed_ratio, 0.95);
}

/* What the window has left may be too little for what is sent together. */
Test(packets, a_send_buffer_is_none_where_the_window_is_nearly_full)
{
    cr_expect_eq(eighty_into(400 * MSS / 128, 0, true).wait, TL_WAIT_SNDBUF);
    cr_expect_eq(eighty_into(400 * MSS / 128, 7, true).wait, TL_WAIT_SNDBUF);
    cr_expect_neq(eighty_into(88 * MSS / 128, 0, true).wait, TL_WAIT_SNDBUF);
    cr_expect_neq(eighty_into(100 * MSS / 128, 7, true).wait, TL_WAIT_SNDBUF);
}

/* Thirty packets of ten segments in flight the whole time; each acknowledgement sets one off, and
 * one comes each thirtieth of 40 ms. So many of these lie between the capture and the sender; of so
 * many packets one is overtaken on its way (0: none). */
static struct tl_packet_ledger level_for(uint32_t rounds, uint32_t near, uint32_t overtaken_each)
{
    const int64_t step_ns = 40 * MS / 30;
    struct script script = script_begin();
    script.window = 30000;
    script_shake(&script, (30 - near) * step_ns, near * step_ns);
    for (uint32_t i = 0; i < 30 * rounds; i++) {
        uint32_t seq = 1000 + i * 10 * MSS;
        bool overtaken = overtaken_each && i % overtaken_each == 0;
        if (i >= 30)
            script_send(&script, CLIENT, 1000, seq - (29 - near) * 10 * MSS, 0);
        if (overtaken) /* the first of ten comes last */
            script_send(&script, SERVER, seq + MSS, 1000, 9 * MSS);
        script_send(&script, SERVER, seq, 1000, overtaken ? MSS : 10 * MSS);
        script.time_ns += step_ns;
    }
    struct tl_packet_ledger ledger;
    tl_packet_ledger(script_end(&script), TL_SERVER, &ledger);
    tl_packets_destroy(script.packets);
    return ledger;
}

/* Slow start may end without a loss; CUBIC then adds 0.4 t^3 segments: seven in three seconds. */
Test(packets, a_level_window_is_a_buffer_only_once_it_would_have_grown)
{
    cr_expect(!level_for(75, 0, 0).known);
    struct tl_packet_ledger ledger = level_for(250, 0, 0);
    cr_expect(ledger.known, "%s", ledger.why);
    cr_expect_gt(ledger.sndbuf_ratio, 0.9);
}

/* Two writes of 1500 bytes, the second's end behind the acknowledgement of the first (RFC 896);
 * then a byte that answers both. */
Test(packets, what_waits_for_answers_is_no_full_send_buffer)
{
    struct script script = script_begin();
    script_shake(&script, 40 * MS, 20000);
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t seq = 1000 + i * 3000;
        script_send(&script, SERVER, seq, 1000 + i, 1500);
        script_send(&script, SERVER, seq + 1500, 1000 + i, MSS);
        script.time_ns += 40 * MS;
        script_send(&script, CLIENT, 1000 + i, seq + 1500, 0);
        script_send(&script, SERVER, seq + 1500 + MSS, 1000 + i, 1500 - MSS);
        script.time_ns += 40 * MS;
        script_send(&script, CLIENT, 1000 + i, seq + 3000, 1);
    }
    struct tl_packet_ledger ledger;
    tl_packet_ledger(script_end(&script), TL_SERVER, &ledger);
    cr_expect_neq(ledger.wait, TL_WAIT_SNDBUF);
    tl_packets_destroy(script.packets);
}

/* From afar the trains that overtaking makes look as those of a full send buffer do. */
Test(packets, overtaking_is_no_full_send_buffer_from_afar)
{
    cr_expect_eq(level_for(250, 15, 0).wait, TL_WAIT_SNDBUF);
    cr_expect_neq(level_for(250, 15, 10).wait, TL_WAIT_SNDBUF);
}

#define TRAIN 40

/* A packet each gap arrives beside the receiver and is acknowledged at once; it echoes what was
 * acknowledged so long before. Behind each TRAIN the sender rests. The mean round trip. */
static double echoed_after(int64_t gap_ns, int64_t rest_ns, int64_t (*delay_ns)(int packet))
{
    struct script script = script_begin();
    struct tl_segment segment;
    script_shake(&script, 0, 40 * MS);
    for (int i = 0; i < 400; i++) {
        uint32_t seq = 1000 + (uint32_t)i * MSS;
        for (int from = SERVER; from >= CLIENT; from--) {
            bool data = from == SERVER;
            segment = script_segment(&script, from, TL_TCP_ACK, data ? seq : 1000,
                                     data ? 1000 : seq + MSS, data ? MSS : 0);
            segment.has_timestamps = true;
            segment.tsval = (uint32_t)(script.time_ns / MS);
            if (data)
                segment.tsecr = (uint32_t)((script.time_ns - delay_ns(i)) / gap_ns * gap_ns / MS);
            script_add(&script, &segment);
        }
        script.time_ns += gap_ns + (i % TRAIN == TRAIN - 1 ? rest_ns : 0);
    }
    const struct tl_packet_flow *flow = script_end(&script);
    const struct tl_packet_half *half = &flow->halves[TL_SERVER];
    double mean_ns = half->rtt_sum_ns / (double)half->rtt_count;
    tl_packets_destroy(script.packets);
    return mean_ns;
}

static int64_t growing(int packet)
{
    return (40 + 2 * packet) * MS;
}

static int64_t waiting(int packet)
{
    (void)packet;
    return 58 * MS;
}

/* 2.3 Mb/s: each packet comes 5 ms behind the one before. */
Test(packets, a_queue_before_a_slow_link_shows_at_the_receiver)
{
    double mean = echoed_after(5 * MS, 0, growing);
    cr_expect_float_eq(mean, 400 * MS, 20 * MS, "%g", mean);
}

/* A program that writes each 20 ms echoes up to that much later. */
Test(packets, what_a_sender_waited_for_its_program_is_no_queue)
{
    cr_expect_leq(echoed_after(20 * MS, 0, waiting), 45 * MS);
}

/* All of a train left at once, but for its end, which left 1 ms later. */
static int64_t behind_its_train(int packet)
{
    int place = packet % TRAIN;
    return (40 + place - (place == TRAIN - 1)) * MS;
}

/* The end of each train waits 38 ms behind its own, but its head did not wait. */
Test(packets, a_train_that_waits_for_itself_is_no_standing_queue)
{
    double mean = echoed_after(1 * MS, 31 * MS, behind_its_train);
    cr_expect_leq(mean, 45 * MS, "%g", mean);
}

/* A link that takes a segment each millisecond, 40.5 ms long. A sender offers twice that at first,
 * so that its segment 100 is lost behind a queue of 50; then it sends one each so many
 * microseconds. */
static struct tl_packet_ledger overran_and_paced(int64_t step_us)
{
    enum { COUNT = 6000, LOST = 400, FIRST = 420 };
    static int64_t sent[COUNT], acked[COUNT];
    struct script script = script_begin();
    script_shake(&script, 40500000, 20000);
    int64_t begin = script.time_ns, out = 0, repaired = 0;
    for (int i = 0; i < COUNT; i++) {
        sent[i] = begin + (i < FIRST ? i * MS * 4 / 5 : 424 * MS + (i - FIRST) * step_us * 1000);
        if (i != LOST)
            out = sent[i] + 20 * MS > out + MS ? sent[i] + 20 * MS : out + MS;
        acked[i] = out + 20500000;
    }
    repaired = acked[LOST + 3] + 41 * MS;
    bool again = false;
    for (int next = 0, come = 0; next < COUNT;) {
        bool is_ack = come < next && acked[come] < sent[next];
        script.time_ns = is_ack ? acked[come] : sent[next];
        if (!again && script.time_ns > acked[LOST + 3]) {
            again = true;
            script_send(&script, SERVER, 1000 + LOST * MSS, 1000, MSS);
        }
        int whole = is_ack && come >= LOST && script.time_ns < repaired ? LOST : come + 1;
        if (is_ack)
            script_send(&script, CLIENT, 1000, 1000 + (uint32_t)whole * MSS, 0);
        else
            script_send(&script, SERVER, 1000 + (uint32_t)next * MSS, 1000, MSS);
        come += is_ack;
        next += !is_ack;
    }
    struct tl_packet_ledger ledger;
    tl_packet_ledger(script_end(&script), TL_SERVER, &ledger);
    tl_packets_destroy(script.packets);
    return ledger;
}

/* As BBR does: at the link's rate with no queue to speak of, or at half of it for its program. */
Test(packets, a_sender_that_keeps_to_what_its_link_takes_is_held_by_it)
{
    struct tl_packet_ledger full = overran_and_paced(1000), half = overran_and_paced(2000);
    cr_expect(full.known, "%s", full.why);
    cr_expect_eq(full.wait, TL_WAIT_NETWORK);
    cr_expect_gt(full.network_ratio, 0.9);
    cr_expect_neq(half.wait, TL_WAIT_NETWORK);
}

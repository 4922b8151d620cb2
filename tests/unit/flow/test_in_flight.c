/* Connections from made segments: what is on the way, and which end is late. */
#include "script.h"

/* Eight segments are in flight, the first of them is lost; each that arrives behind it lets one
 * more leave. What has arrived is no longer on the way, so that never more than eight are. */
Test(in_flight, what_arrived_behind_a_gap_is_not_in_flight)
{
    struct script script = script_begin();
    script_shake(&script, 0, 20 * MS);
    for (uint32_t i = 0; i < 8; i++)
        script_send(&script, CLIENT, 1000 + i * MSS, 1000, MSS);
    script.time_ns += 20 * MS;
    for (uint32_t i = 1; i < 8; i++) {
        struct tl_segment ack = script_segment(&script, SERVER, TL_TCP_ACK, 1000, 1000, 0);
        ack.sack_count = 1;
        ack.sacks[0].begin = 1000 + MSS;
        ack.sacks[0].end = 1000 + (i + 1) * MSS;
        script_add(&script, &ack);
        script.time_ns += MS;
        script_send(&script, CLIENT, 1000 + (7 + i) * MSS, 1000, MSS);
        script.time_ns += MS;
    }
    script_send(&script, CLIENT, 1000, 1000, MSS);
    script.time_ns += 20 * MS;
    script_send(&script, SERVER, 1000, 1000 + 15 * MSS, 0);
    script_send(&script, CLIENT, 1000 + 15 * MSS, 1000, MSS);
    const struct tl_packet_half *half = &script_end(&script)->halves[TL_CLIENT];
    cr_expect_eq(half->flight_max_bytes, 8 * MSS);
    cr_expect_eq(half->losses_count, 1);
    tl_packets_destroy(script.packets);
}

/* Beside the receiver: ten segments arrive in each round of 50 ms, and wait so long. */
static double late_share(int64_t wait_ns, bool gap)
{
    struct script script = script_begin();
    script_shake(&script, 0, 0);
    for (uint32_t i = 0; i < 20; i++) {
        for (uint32_t k = gap; k < 10; k++)
            script_send(&script, CLIENT, 1000 + (10 * i + k) * MSS, 1000, MSS);
        script.time_ns += wait_ns;
        if (gap)
            script_send(&script, CLIENT, 1000 + 10 * i * MSS, 1000, MSS);
        script_send(&script, SERVER, 1000, 1000 + 10 * (i + 1) * MSS, 0);
        script.time_ns += 50 * MS - wait_ns;
    }
    const struct tl_packet_half *half = &script_end(&script)->halves[TL_CLIENT];
    double share = half->ack_late_ns / (double)(half->last_data_ns - half->first_data_ns);
    tl_packets_destroy(script.packets);
    return share;
}

Test(in_flight, a_receiver_that_leaves_data_waiting_is_late)
{
    cr_expect_float_eq(late_share(30 * MS, false), 0.6, 0.05);
    cr_expect_eq(late_share(2 * MS, false), 0);
    cr_expect_eq(late_share(30 * MS, true), 0, "it waits for what was lost");
}

/* Each train ends with a segment that came alone, which is acknowledged with the first ones of the
 * next train; the capture sees two more of that pass before. */
Test(in_flight, a_last_segment_alone_waits_for_no_late_receiver)
{
    struct script script = script_begin();
    script_shake(&script, 0, 0);
    for (uint32_t i = 0; i < 20; i++) {
        uint32_t first = 1000 + 8 * i * MSS;
        for (uint32_t k = 0; k < 8; k++)
            script_send(&script, CLIENT, first + k * MSS, 1000, MSS);
        script.time_ns += MS;
        for (uint32_t k = 1; k < 8; k += 2)
            script_send(&script, SERVER, 1000, first + k * MSS, 0);
        script.time_ns += 38 * MS;
    }
    cr_expect_eq(script_end(&script)->halves[TL_CLIENT].ack_late_ns, 0);
    tl_packets_destroy(script.packets);
}

/* Beside the sender, over 40 ms: every other window of ten segments is acknowledged so much later,
 * all of it at once or in two parts. Share of the time. */
static double bout_share(int64_t late_ns, bool in_parts)
{
    struct script script = script_begin();
    script_shake(&script, 0, 40 * MS);
    for (uint32_t i = 0; i < 50; i++) {
        for (uint32_t k = 0; k < 10; k++)
            script_send(&script, CLIENT, 1000 + (10 * i + k) * MSS, 1000, MSS);
        script.time_ns += 40 * MS + (i % 2 ? late_ns : 0);
        if (in_parts)
            script_send(&script, SERVER, 1000, 1000 + (10 * i + 5) * MSS, 0);
        script_send(&script, SERVER, 1000, 1000 + 10 * (i + 1) * MSS, 0);
    }
    const struct tl_packet_half *half = &script_end(&script)->halves[TL_CLIENT];
    double share = half->ack_bout_ns / (double)(half->last_data_ns - half->first_data_ns);
    tl_packets_destroy(script.packets);
    return share;
}

Test(in_flight, what_is_acknowledged_late_and_all_at_once_is_read_in_bouts)
{
    cr_expect_float_eq(bout_share(40 * MS, false), 1.0 / 3, 0.03, "%g", bout_share(40 * MS, false));
    cr_expect_eq(bout_share(3 * MS, false), 0);
    cr_expect_eq(bout_share(40 * MS, true), 0, "the way may be what is late");
}

/* Packets that are in the capture twice, or a moment out of order. */
#include "script.h"

/* Both ways, as a mirror port hands them over; the copy so long behind. */
static void add_twice(struct script *script, struct tl_segment segment, int64_t later_ns)
{
    script_add(script, &segment);
    segment.time_ns += later_ns;
    segment.ttl--;
    script_add(script, &segment);
}

static void shake_twice(struct script *script)
{
    struct tl_segment syn = script_segment(script, CLIENT, TL_TCP_SYN, 999, 0, 0);
    add_twice(script, syn, 3000);
    script->time_ns += 20 * MS;
    add_twice(script, script_segment(script, SERVER, TL_TCP_SYN | TL_TCP_ACK, 999, 1000, 0), 3000);
    script->time_ns += 1 * MS;
    add_twice(script, script_segment(script, CLIENT, TL_TCP_ACK, 1000, 1000, 0), 3000);
}

Test(copies, of_a_syn_are_no_repeats)
{
    struct script script = script_begin();
    shake_twice(&script);
    const struct tl_packet_flow *flow = script_end(&script);
    cr_expect_eq(flow->halves[CLIENT].syn_count, 1);
    cr_expect_eq(flow->halves[SERVER].syn_count, 1);
    cr_expect_eq(flow->near_rtt_ns[SERVER], 20 * MS);
    cr_expect_eq(flow->handshake_rtt_ns, 21 * MS);
    tl_packets_destroy(script.packets);
}

/* Beside the receiver, which answers before the mirror port does. */
Test(copies, behind_an_acknowledgement_are_no_repeats)
{
    struct script script = script_begin();
    script_shake(&script, 0, 20 * MS);
    for (uint32_t i = 0; i < 20; i++) {
        struct tl_segment data =
            script_segment(&script, SERVER, TL_TCP_ACK, 1000 + i * MSS, 1000, MSS);
        script_add(&script, &data);
        script.time_ns += 10000;
        script_send(&script, CLIENT, 1000, 1000 + (i + 1) * MSS, 0);
        data.time_ns = script.time_ns + 20000;
        script_add(&script, &data);
        script.time_ns += 1 * MS;
    }
    const struct tl_packet_half *half = &script_end(&script)->halves[SERVER];
    cr_expect_eq(half->retrans_count, 0);
    cr_expect_eq(half->payload_bytes, 20 * MSS);
    tl_packets_destroy(script.packets);
}

/* What is sent again has a number of its own, however soon. */
Test(copies, have_the_number_of_the_first)
{
    struct script script = script_begin();
    script_shake(&script, 1 * MS, 0);
    script_send(&script, SERVER, 1000, 1000, MSS);
    script.time_ns += 2 * MS;
    script_send(&script, SERVER, 1000, 1000, MSS);
    cr_expect_eq(script_end(&script)->halves[SERVER].retrans_count, 1);
    tl_packets_destroy(script.packets);
}

/* A kernel with several processors stamps packets before it puts them into one order. */
Test(copies, a_moment_out_of_order_is_no_clock_that_was_set)
{
    struct script script = script_begin();
    script_shake(&script, 20 * MS, 0);
    script_send(&script, SERVER, 1000, 1000, MSS);
    script.time_ns -= MS / 2;
    script_send(&script, SERVER, 1000 + MSS, 1000, MSS);
    const struct tl_packet_flow *flow = script_end(&script);
    cr_expect(!flow->backwards);
    cr_expect_eq(flow->halves[SERVER].payload_bytes, 2 * MSS);
    tl_packets_destroy(script.packets);
}

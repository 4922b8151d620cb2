/* Connections from made segments: what is counted as what. */
#include "script.h"

#include <math.h>

/* Data from the server, seen at that share of the way: the client acknowledges each segment. */
static void transfer(struct script *script, uint32_t first, int count)
{
    for (int i = 0; i < count; i++) {
        script_send(script, SERVER, first + (uint32_t)i * MSS, 1000, MSS);
        script->time_ns += MS / 10;
    }
}

Test(packets, the_handshake_tells_options_and_the_place)
{
    struct script script = script_begin();
    script_shake(&script, 40 * MS, MS / 10);
    transfer(&script, 1000, 1);
    const struct tl_packet_flow *flow = script_end(&script);
    cr_expect(flow->client_known);
    cr_expect_float_eq(flow->near_rtt_ns[TL_CLIENT], 40e6, 1);
    cr_expect_float_eq(flow->near_rtt_ns[TL_SERVER], 0.1e6, 1);
    cr_expect_eq(tl_packet_sender(flow), TL_SERVER);
    cr_expect_eq(tl_packet_place(flow, TL_SERVER), TL_PLACE_SENDER);
    cr_expect_eq(tl_packet_place(flow, TL_CLIENT), TL_PLACE_RECEIVER);
    const struct tl_packet_half *half = &flow->halves[TL_SERVER];
    cr_expect(half->window_scale_known);
    cr_expect_eq(half->mss_bytes, MSS);
    cr_expect_eq(half->window_max_bytes, 1000u << 7);
    tl_packets_destroy(script.packets);
}

Test(packets, a_segment_sent_again_is_one_loss_even_of_a_joined_packet)
{
    struct script script = script_begin();
    script_shake(&script, 20 * MS, 0);
    script_send(&script, SERVER, 1000, 1000, 4 * MSS);
    script.time_ns += 25 * MS;
    script_send(&script, SERVER, 1000 + MSS, 1000, MSS);
    script.time_ns += 20 * MS;
    script_send(&script, CLIENT, 1000, 1000 + 4 * MSS, 0);
    const struct tl_packet_half *half = &script_end(&script)->halves[TL_SERVER];
    cr_expect_eq(half->payload_bytes, 4 * MSS);
    cr_expect_eq(half->segments_count, 5);
    cr_expect_eq(half->retrans_count, 1);
    cr_expect_eq(half->losses_count, 1);
    cr_expect_eq(half->losses[0].offset_bytes, MSS);
    cr_expect_not(half->losses[0].needless);
    tl_packets_destroy(script.packets);
}

/* As where the snap length cuts the options: what stands in the fields then is nobody's. */
Test(packets, an_echo_tells_nothing_of_a_segment_without_timestamps)
{
    struct script script = script_begin();
    script_shake(&script, 20 * MS, 0);
    for (int i = 0; i < 2; i++) {
        struct tl_segment data = script_segment(&script, SERVER, TL_TCP_ACK, 1000, 1000, MSS);
        data.tsval = 500;
        script_add(&script, &data);
        script.time_ns += 60 * MS;
    }
    struct tl_segment ack = script_segment(&script, CLIENT, TL_TCP_ACK, 1000, 1000 + MSS, 0);
    ack.has_timestamps = true;
    ack.tsecr = 400;
    script_add(&script, &ack);
    const struct tl_packet_half *half = &script_end(&script)->halves[TL_SERVER];
    cr_expect_eq(half->retrans_count, 1);
    cr_expect_eq(half->losses_count, 1);
    cr_expect_not(half->losses[0].needless);
    tl_packets_destroy(script.packets);
}

Test(packets, what_the_receiver_reports_as_duplicate_was_no_loss)
{
    struct script script = script_begin();
    script_shake(&script, 20 * MS, 0);
    transfer(&script, 1000, 3);
    script.time_ns += 20 * MS;
    script_send(&script, SERVER, 1000, 1000, MSS);
    script.time_ns += 20 * MS;
    struct tl_segment ack = script_segment(&script, CLIENT, TL_TCP_ACK, 1000, 1000 + 3 * MSS, 0);
    ack.sack_count = 1;
    ack.sacks[0].begin = 1000;
    ack.sacks[0].end = 1000 + MSS;
    script_add(&script, &ack);
    const struct tl_packet_half *half = &script_end(&script)->halves[TL_SERVER];
    cr_expect_eq(half->retrans_count, 1);
    cr_expect_eq(half->dsack_count, 1);
    cr_expect(half->losses[0].needless);
    tl_packets_destroy(script.packets);
}

/* Near the receiver a lost segment is a gap that is filled a round trip later, an overtaken one is
 * filled at once. */
Test(packets, a_gap_is_a_loss_or_an_overtaking_by_its_time)
{
    struct script script = script_begin();
    script_shake(&script, 0, 30 * MS);
    transfer(&script, 1000, 1);
    script_send(&script, SERVER, 1000 + 2 * MSS, 1000, MSS);
    script.time_ns += 2 * MS;
    script_send(&script, SERVER, 1000 + MSS, 1000, MSS); /* overtaken */
    script_send(&script, SERVER, 1000 + 4 * MSS, 1000, MSS);
    script.time_ns += 32 * MS;
    script_send(&script, SERVER, 1000 + 3 * MSS, 1000, MSS); /* sent again */
    script_send(&script, CLIENT, 1000, 1000 + 5 * MSS, 0);
    const struct tl_packet_half *half = &script_end(&script)->halves[TL_SERVER];
    cr_expect_eq(half->late_count, 1);
    cr_expect_eq(half->retrans_count, 1);
    cr_expect_eq(half->losses_count, 1);
    cr_expect_eq(half->unseen_bytes, 0);
    cr_expect_eq(half->payload_bytes, 5 * MSS);
    tl_packets_destroy(script.packets);
}

/* The end of what was sent together is lost, and seen to be missing only with what is sent next. */
Test(packets, what_is_missing_followed_what_came_before_it)
{
    struct script script = script_begin();
    script_shake(&script, 0, 30 * MS);
    transfer(&script, 1000, 3);
    int64_t before_ns = script.time_ns - MS / 10;
    script_send(&script, CLIENT, 1000, 1000 + 3 * MSS, 0);
    script.time_ns += 45 * MS;
    script_send(&script, SERVER, 1000 + 5 * MSS, 1000, MSS);
    script.time_ns += 32 * MS;
    script_send(&script, SERVER, 1000 + 3 * MSS, 1000, 2 * MSS);
    const struct tl_packet_half *half = &script_end(&script)->halves[TL_SERVER];
    cr_assert_eq(half->losses_count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        cr_expect(half->losses[i].upstream);
        cr_expect_eq(half->losses[i].time_ns, before_ns);
    }
    tl_packets_destroy(script.packets);
}

Test(packets, what_the_capture_missed_is_no_loss)
{
    struct script script = script_begin();
    script_shake(&script, 20 * MS, 0);
    transfer(&script, 1000, 1);
    script_send(&script, SERVER, 1000 + 3 * MSS, 1000, MSS);
    script.time_ns += 20 * MS;
    script_send(&script, CLIENT, 1000, 1000 + 6 * MSS, 0);
    const struct tl_packet_half *half = &script_end(&script)->halves[TL_SERVER];
    cr_expect_eq(half->losses_count, 0);
    cr_expect_eq(half->retrans_count, 0);
    cr_expect_eq(half->unseen_bytes, 4 * MSS);
    tl_packets_destroy(script.packets);
}

Test(packets, copies_of_a_mirror_port_are_no_retransmissions)
{
    struct script script = script_begin();
    script_shake(&script, 20 * MS, 0);
    struct tl_segment segment = script_segment(&script, SERVER, TL_TCP_ACK, 1000, 1000, MSS);
    script_add(&script, &segment);
    segment.time_ns += 3000;
    segment.ttl--;
    script_add(&script, &segment);
    const struct tl_packet_half *half = &script_end(&script)->halves[TL_SERVER];
    cr_expect_eq(half->retrans_count, 0);
    cr_expect_eq(half->payload_bytes, MSS);
    tl_packets_destroy(script.packets);
}

Test(packets, keep_alive_and_window_probes_are_no_data)
{
    struct script script = script_begin();
    script_shake(&script, 20 * MS, 0);
    transfer(&script, 1000, 1);
    script.time_ns += 20 * MS;
    script_send(&script, CLIENT, 1000, 1000 + MSS, 0);
    script.time_ns += 1000 * MS;
    script_send(&script, SERVER, 1000 + MSS - 1, 1000, 0);
    script.window = 0;
    script_send(&script, CLIENT, 1000, 1000 + MSS, 0);
    script.time_ns += 1000 * MS;
    script_send(&script, SERVER, 1000 + MSS - 1, 1000, 1);
    script.window = 1000;
    script_send(&script, CLIENT, 1000, 1000 + MSS, 0);
    const struct tl_packet_half *half = &script_end(&script)->halves[TL_SERVER];
    cr_expect_eq(half->zero_window_count, 1);
    cr_expect_eq(half->retrans_count, 0);
    tl_packets_destroy(script.packets);
}

/* Ten segments fill the window in each round trip of 20 ms; the sender is where the capture is, or
 * 20 ms away. */
static double closed_share(bool at_sender)
{
    struct script script = script_begin();
    script.window = 10 * MSS >> 7;
    script_shake(&script, at_sender ? 20 * MS : 0, at_sender ? 0 : 20 * MS);
    uint32_t seq = 1000, burst = (uint32_t)script.window << 7;
    for (int round = 0; round < 100; round++) {
        for (uint32_t sent = 0; sent < burst; sent += MSS) {
            uint32_t len = burst - sent < MSS ? burst - sent : MSS;
            script_send(&script, SERVER, seq + sent, 1000, len);
        }
        seq += burst;
        script.time_ns += at_sender ? 20 * MS : 0;
        script_send(&script, CLIENT, 1000, seq, 0);
        script.time_ns += at_sender ? 0 : 20 * MS;
    }
    const struct tl_packet_flow *flow = script_end(&script);
    struct tl_packet_ledger ledger;
    tl_packet_ledger(flow, TL_SERVER, &ledger);
    double share = ledger.closed_ratio;
    cr_expect(ledger.known, "%s", ledger.why);
    cr_expect_float_eq(
        ledger.app_ratio + ledger.sndbuf_ratio + ledger.rwnd_ratio + ledger.network_ratio, 1, 1e-9);
    tl_packets_destroy(script.packets);
    return share;
}

Test(packets, a_full_window_is_told_at_either_end)
{
    cr_expect_gt(closed_share(true), 0.95);
    cr_expect_gt(closed_share(false), 0.95);
}

Test(packets, a_pause_with_nothing_in_flight_is_the_programs)
{
    struct script script = script_begin();
    script_shake(&script, 20 * MS, 0);
    for (uint32_t i = 0; i < 20; i++) {
        script_send(&script, SERVER, 1000 + i * MSS, 1000, MSS);
        script.time_ns += 20 * MS;
        script_send(&script, CLIENT, 1000, 1000 + (i + 1) * MSS, 0);
        script.time_ns += 80 * MS;
    }
    const struct tl_packet_flow *flow = script_end(&script);
    struct tl_packet_ledger ledger;
    tl_packet_ledger(flow, TL_SERVER, &ledger);
    cr_expect_float_eq(ledger.idle_ratio, 0.8, 0.03);
    cr_expect_eq(flow->halves[TL_SERVER].pauses_count, 19);
    cr_expect_float_eq(flow->halves[TL_SERVER].rtt_min_ns, 20e6, 1);
    tl_packets_destroy(script.packets);
}

Test(packets, full_segments_that_never_arrive_are_noted)
{
    struct script script = script_begin();
    script_shake(&script, 20 * MS, 0);
    script_send(&script, SERVER, 1000, 1000, 100);
    script.time_ns += 20 * MS;
    script_send(&script, CLIENT, 1000, 1100, 0);
    for (int i = 0; i < 6; i++) {
        script_send(&script, SERVER, 1100, 1000, MSS);
        script.time_ns += 400 * MS << i;
    }
    const struct tl_packet_half *half = &script_end(&script)->halves[TL_SERVER];
    cr_expect_eq(half->stuck_count, 6);
    cr_expect_eq(half->smallest_stuck_packet, 52 + MSS);
    cr_expect_eq(half->largest_acked_packet, 152);
    tl_packets_destroy(script.packets);
}

Test(packets, the_same_ports_again_are_another_connection)
{
    struct script script = script_begin();
    script_shake(&script, 20 * MS, 0);
    transfer(&script, 1000, 2);
    struct tl_segment syn = script_segment(&script, CLIENT, TL_TCP_SYN, 77777, 0, 0);
    script_add(&script, &syn);
    tl_packets_finish(script.packets);
    cr_expect_eq(tl_packets_count(script.packets), 2);
    tl_packets_destroy(script.packets);
}

/* --- captures that lack something --- */

/* A clock that is set back, or files that were merged out of order: said, and no time is negative.
 */
Test(packets, times_that_run_backwards_are_told_and_count_as_none)
{
    struct script script = script_begin();
    script_shake(&script, 20 * MS, 0);
    transfer(&script, 1000, 10);
    script.time_ns -= 500 * MS;
    script_send(&script, CLIENT, 1000, 1000 + 10 * MSS, 0);
    transfer(&script, 1000 + 10 * MSS, 10);
    script.time_ns += 520 * MS;
    script_send(&script, CLIENT, 1000, 1000 + 20 * MSS, 0);
    const struct tl_packet_flow *flow = script_end(&script);
    const struct tl_packet_half *half = &flow->halves[TL_SERVER];
    cr_expect(flow->backwards);
    cr_expect(flow->last_ns >= flow->first_ns);
    cr_expect_eq(half->acked_bytes, 20 * MSS);
    cr_expect_eq(half->retrans_count, 0);
    for (const double *part = (const double[]){half->idle_ns, half->slack_ns, half->rwnd_ns,
                                               half->recovery_ns, half->wait_ns, NAN};
         !isnan(*part); part++)
        cr_expect_geq(*part, 0);
    tl_packets_destroy(script.packets);
}

/* Acknowledgements went another way: nobody is accused. */
Test(packets, one_direction_alone_has_no_ledger_and_no_losses)
{
    struct script script = script_begin();
    transfer(&script, 1000, 200);
    const struct tl_packet_flow *flow = script_end(&script);
    struct tl_packet_ledger ledger;
    tl_packet_ledger(flow, tl_packet_sender(flow), &ledger);
    cr_expect(!ledger.known && ledger.why[0]);
    cr_expect_eq(tl_packet_place(flow, TL_SERVER), TL_PLACE_UNKNOWN);
    cr_expect_eq(flow->halves[TL_SERVER].retrans_count, 0);
    cr_expect_eq(flow->halves[TL_SERVER].payload_bytes, 200 * MSS);
    tl_packets_destroy(script.packets);
}

/* Without the handshake the scale of the window is unknown, and with it whose time it was. */
Test(packets, one_that_began_before_the_capture_knows_no_window)
{
    struct script script = script_begin();
    for (uint32_t i = 0; i < 50; i++) {
        script_send(&script, SERVER, 4000000000u + i * MSS, 7, MSS); /* numbers wrap on the way */
        script.time_ns += 20 * MS;
        script_send(&script, CLIENT, 7, 4000000000u + (i + 1) * MSS, 0);
    }
    const struct tl_packet_flow *flow = script_end(&script);
    struct tl_packet_ledger ledger;
    tl_packet_ledger(flow, TL_SERVER, &ledger);
    cr_expect(!flow->client_known);
    cr_expect(!flow->halves[TL_SERVER].window_scale_known);
    cr_expect(!ledger.known && strstr(ledger.why, "handshake"), "%s", ledger.why);
    cr_expect_eq(flow->halves[TL_SERVER].acked_bytes, 50 * MSS);
    cr_expect_eq(flow->halves[TL_SERVER].unseen_bytes, 0);
    tl_packets_destroy(script.packets);
}

/* More connections than are followed: all are counted, the large one stays followed. */
Test(packets, the_large_connection_outlives_many_small_ones)
{
    struct script script = script_begin();
    script_shake(&script, 20 * MS, 0);
    transfer(&script, 1000, 200);
    for (unsigned i = 0; i < TL_PACKETS_TRACKED_MAX + 5000; i++) {
        script.client_port = (uint16_t)(1024 + i);
        script.ip_id++;
        struct tl_segment syn = script_segment(&script, CLIENT, TL_TCP_SYN, i, 0, 0);
        script_add(&script, &syn);
    }
    script_end(&script); /* asserts that the largest is followed */
    cr_expect_eq(tl_packets_count(script.packets), TL_PACKETS_TRACKED_MAX + 5001);
    tl_packets_destroy(script.packets);
}

Test(packets, an_hour_of_idle_time_fits_into_the_bins)
{
    struct script script = script_begin();
    script_shake(&script, 20 * MS, 0);
    transfer(&script, 1000, 1);
    script.time_ns += 3600000 * MS;
    transfer(&script, 1000 + MSS, 1);
    const struct tl_packet_half *half = &script_end(&script)->halves[TL_SERVER];
    cr_expect_leq(half->bins_count, TL_PACKETS_BINS_MAX);
    cr_expect_geq((double)half->bins_count * (double)half->bin_ns, 3600e9);
    uint64_t sent = 0;
    for (uint32_t i = 0; i < half->bins_count; i++)
        sent += half->bins[i].sent_bytes;
    cr_expect_eq(sent, 2 * MSS);
    tl_packets_destroy(script.packets);
}

/* An acknowledgement was delayed, and now tells of a gap as well: what it takes was not overtaken.
 * What is left of a joined packet that was acknowledged in part was not either. */
Test(packets, what_an_acknowledgement_takes_before_a_new_gap_was_not_late)
{
    struct script script = script_begin();
    script_shake(&script, 20 * MS, 0);
    script_send(&script, SERVER, 1000, 1000, 6 * MSS); /* one packet, by offload */
    script.time_ns += 20 * MS;
    /* The fourth segment is lost; the three before it are acknowledged only now. */
    struct tl_segment ack = script_segment(&script, CLIENT, TL_TCP_ACK, 1000, 1000 + 3 * MSS, 0);
    ack.sack_count = 1;
    ack.sacks[0].begin = 1000 + 4 * MSS;
    ack.sacks[0].end = 1000 + 6 * MSS;
    script_add(&script, &ack);
    script_send(&script, SERVER, 1000 + 3 * MSS, 1000, MSS);
    script.time_ns += 20 * MS;
    script_send(&script, CLIENT, 1000, 1000 + 6 * MSS, 0);
    const struct tl_packet_half *half = &script_end(&script)->halves[TL_SERVER];
    cr_expect_eq(half->retrans_count, 1);
    cr_expect_eq(half->late_count, 0);
    uint64_t delivered_bytes[2] = {0}; /* with the first acknowledgement, and later */
    for (uint32_t i = 0; i < half->bins_count; i++)
        delivered_bytes[half->bins_begin_ns + (i + 1) * half->bin_ns > script.time_ns] +=
            half->bins[i].delivered_bytes;
    cr_expect_eq(delivered_bytes[0], 5 * MSS, "three in order, two behind the gap");
    cr_expect_eq(delivered_bytes[1], MSS, "what filled the gap alone");
    tl_packets_destroy(script.packets);
}

/* A connection that is met in the middle, by data packets of that size. */
static uint32_t mss_from(const uint32_t *sizes, size_t count)
{
    struct tl_packets *packets = tl_packets_create();
    struct tl_packet_brief brief;
    uint32_t seq = 1;
    for (size_t i = 0; i < count; i++) {
        struct tl_segment segment = {.time_ns = 1000000 * (int64_t)(i + 1),
                                     .from_port = 80,
                                     .to_port = 5000,
                                     .seq = seq,
                                     .payload_bytes = sizes[i],
                                     .packet_bytes = (uint16_t)(sizes[i] + 52),
                                     .flags = TL_TCP_ACK};
        cr_assert_eq(tl_packets_add(packets, &segment, tl_packets_hash(&segment)), TL_OK);
        seq += sizes[i];
    }
    tl_packets_finish(packets);
    cr_assert(tl_packets_at(packets, 0, &brief));
    uint32_t mss = brief.flow->halves[TL_SERVER].mss_bytes;
    tl_packets_destroy(packets);
    return mss;
}

Test(packets, segment_size_is_learnt_from_what_offload_joined)
{
    cr_expect_eq(mss_from((const uint32_t[]){6 * 1448, 45 * 1448, 2 * 1448}, 3), 1448);
    cr_expect_eq(mss_from((const uint32_t[]){5000, 6 * 1448}, 2), 1448);
    cr_expect_eq(mss_from((const uint32_t[]){8948, 8948, 700}, 3), 8948);
}

/* Simulators leave the option out of their SYNs, and send what they are told to. */
Test(packets, segment_size_is_learnt_where_no_handshake_tells_it)
{
    struct script script = script_begin();
    for (int from = CLIENT; from <= SERVER; from++) {
        uint8_t flags = from == CLIENT ? TL_TCP_SYN : TL_TCP_SYN | TL_TCP_ACK;
        struct tl_segment syn = script_segment(&script, from, flags, 999, from ? 1000 : 0, 0);
        syn.has_wscale = true;
        script_add(&script, &syn);
        script.time_ns += 10 * MS;
    }
    for (uint32_t i = 0; i < 40; i++)
        script_send(&script, SERVER, 1000 + i * 536, 1000, 536);
    const struct tl_packet_half *half = &script_end(&script)->halves[TL_SERVER];
    cr_expect_eq(half->mss_bytes, 536);
    cr_expect_eq(half->small_count, 0);
    cr_expect_eq(half->segments_count, 40);
    tl_packets_destroy(script.packets);
}

/* A window of 64 KiB in the SYN, 32 KiB from then on: the buffer holds 32, all of it empty. */
Test(packets, the_window_of_a_syn_is_no_buffer)
{
    struct script script = script_begin();
    script.window = 65535;
    script_shake(&script, 0, 20 * MS);
    script.window = 250;
    for (uint32_t i = 0; i < 50; i++) {
        script_send(&script, CLIENT, 1000 + i * MSS, 1000, MSS);
        script.time_ns += 20 * MS;
        script_send(&script, SERVER, 1000, 1000 + (i + 1) * MSS, 0);
    }
    const struct tl_packet_half *half = &script_end(&script)->halves[TL_CLIENT];
    cr_expect_eq(half->window_max_bytes, 250u << 7);
    cr_expect_float_eq(half->window_bytes_ns / half->window_ns, 32000, 1);
    tl_packets_destroy(script.packets);
}

/* A snap length of 64 leaves of a SYN's options behind a VLAN tag the first few only. */
Test(packets, options_that_the_snap_length_cut_are_not_missing)
{
    struct script script = script_begin();
    for (int from = CLIENT; from <= SERVER; from++) {
        struct tl_segment syn = script_segment(
            &script, from, from == CLIENT ? TL_TCP_SYN : TL_TCP_SYN | TL_TCP_ACK, 999, 1000, 0);
        syn.has_mss = syn.sack_permitted = syn.options_cut = true;
        syn.mss_bytes = MSS + 12;
        script_add(&script, &syn);
        script.time_ns += 10 * MS;
    }
    script_send(&script, CLIENT, 1000, 1000, 0);
    transfer(&script, 1000, 2);
    const struct tl_packet_flow *flow = script_end(&script);
    cr_expect(!flow->halves[CLIENT].window_scale_known);
    cr_expect(!flow->halves[SERVER].window_scale_known);
    cr_expect_eq(flow->halves[SERVER].mss_bytes, MSS); /* by what is sent: timestamps take 12 */
    tl_packets_destroy(script.packets);
}

/* What packets tell as facts. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tightlink/probes/packet_flow.h"

static struct tl_facts *facts_of(struct tl_packet_flow *flow)
{
    struct tl_facts *facts = tl_facts_create();
    cr_assert(facts);
    cr_assert_eq(tl_packet_flow_facts(flow, facts), TL_OK);
    return facts;
}

static struct tl_packet_flow *with_syns(bool client_scales, bool server_scales)
{
    struct tl_packet_flow *flow = calloc(1, sizeof *flow);
    cr_assert(flow);
    for (int end = 0; end < 2; end++) {
        flow->halves[end].syn_seen = flow->halves[end].sack_permitted = true;
        flow->halves[end].has_timestamps = true;
    }
    flow->halves[TL_CLIENT].has_wscale = client_scales;
    flow->halves[TL_SERVER].has_wscale = server_scales;
    return flow;
}

static struct tl_fact scaling(const struct tl_facts *facts, enum tl_scope scope)
{
    struct tl_fact fact;
    tl_facts_get(facts, TL_HOST(scope, tcp_window_scaling), &fact);
    return fact;
}

Test(packet_flow, the_end_whose_syn_lacks_scaling_has_it_off)
{
    struct tl_packet_flow *flow = with_syns(true, false);
    struct tl_facts *facts = facts_of(flow);
    cr_expect_eq(scaling(facts, TL_SCOPE_NEAR).state, TL_FACT_KNOWN);
    cr_expect(scaling(facts, TL_SCOPE_NEAR).number != 0);
    cr_expect_eq(scaling(facts, TL_SCOPE_FAR).state, TL_FACT_KNOWN);
    cr_expect(scaling(facts, TL_SCOPE_FAR).number == 0);
    tl_facts_destroy(facts);
    free(flow);
}

/* A server answers what was offered: that it does not scale then says nothing of its settings. */
Test(packet_flow, a_server_that_was_not_asked_is_not_accused)
{
    struct tl_packet_flow *flow = with_syns(false, false);
    struct tl_facts *facts = facts_of(flow);
    cr_expect_eq(scaling(facts, TL_SCOPE_NEAR).state, TL_FACT_KNOWN);
    cr_expect_neq(scaling(facts, TL_SCOPE_FAR).state, TL_FACT_KNOWN);
    tl_facts_destroy(facts);
    free(flow);
}

/* A SYN without any option has passed something that takes them out: nobody's setting. */
Test(packet_flow, options_taken_out_on_the_way_accuse_nobody)
{
    struct tl_packet_flow *flow = with_syns(false, false);
    flow->halves[TL_CLIENT].sack_permitted = flow->halves[TL_CLIENT].has_timestamps = false;
    struct tl_facts *facts = facts_of(flow);
    cr_expect_neq(scaling(facts, TL_SCOPE_NEAR).state, TL_FACT_KNOWN);
    tl_facts_destroy(facts);
    free(flow);
}

/* Three packets were lost before a capturing machine beside the receiver, which knows the way to
 * the sender by so many timestamps, or by the handshake alone. */
static struct tl_fact flat_losses(uint64_t echoes_count)
{
    struct tl_packet_flow *flow = with_syns(true, true);
    struct tl_packet_loss losses[3];
    for (int i = 0; i < 3; i++)
        losses[i] = (struct tl_packet_loss){.time_ns = (i + 1) * INT64_C(1000000000),
                                            .rtt_ns = 20000000,
                                            .flight_bytes = 1448,
                                            .len_bytes = 1448,
                                            .upstream = true};
    flow->halves[TL_CLIENT].losses = losses;
    flow->halves[TL_CLIENT].losses_count = 3;
    flow->halves[TL_CLIENT].echoes_count = echoes_count;
    flow->near_rtt_ns[TL_CLIENT] = 20e6;
    struct tl_facts *facts = facts_of(flow);
    struct tl_fact fact;
    tl_facts_get(facts, TL_FLOW(TL_UPLOAD, loss_flat_ratio), &fact);
    tl_facts_destroy(facts);
    free(flow);
    return fact;
}

Test(packet_flow, delays_that_nothing_times_are_not_flat)
{
    cr_expect_eq(flat_losses(1).state, TL_FACT_KNOWN);
    cr_expect_neq(flat_losses(0).state, TL_FACT_KNOWN);
}

static bool is_scaled(bool window_scaled)
{
    struct tl_packet_flow *flow = calloc(1, sizeof *flow);
    cr_assert(flow);
    struct tl_packet_half *half = &flow->halves[TL_SERVER];
    flow->near_rtt_ns[TL_SERVER] = 0;
    flow->near_rtt_ns[TL_CLIENT] = 40e6;
    half->payload_bytes = half->acked_bytes = 1000000;
    half->rwnd_ns = 5e9; /* nearly all of the time: the window is known beside the sender */
    half->wait_ns = 1e6;
    half->window_scaled = window_scaled;
    struct tl_facts *facts = facts_of(flow);
    struct tl_fact fact;
    tl_facts_get(facts, TL_FLOW(TL_DOWNLOAD, wscale_ok), &fact);
    tl_facts_destroy(facts);
    free(flow);
    return fact.state == TL_FACT_KNOWN && fact.number != 0;
}

/* More on the way than a window without scaling announces shows that both ends scale it. */
Test(packet_flow, what_is_on_the_way_shows_scaling_without_a_handshake)
{
    cr_expect(is_scaled(true));
    cr_expect(!is_scaled(false));
}

/* What connections of a capture that share an end get together: even where they share a link, and
 * each for itself else. */
#include <math.h>

#include "script.h"
#include "tightlink/flow/aggregate.h"

#define STEPS 400 /* of 50 ms */
#define STEP  (50 * MS)
#define EACH  20 /* segments that all connections get in one */

/* One connection of each client port to one server; their data comes from the server. What a step
 * gives the first is shares[step]; the second has the rest of EACH, or goes its own way. */
struct scene {
    struct tl_packets *packets;
    int64_t time_ns;
    uint32_t seqs[2];
    uint8_t servers[2]; /* last byte of the address of each one's server */
};

static void add(struct scene *scene, int which, bool data, uint32_t seq, uint32_t bytes)
{
    struct tl_segment segment = {.time_ns = scene->time_ns,
                                 .flags = TL_TCP_ACK,
                                 .seq = data ? seq : 1000,
                                 .ack = data ? 1000 : seq,
                                 .payload_bytes = bytes,
                                 .window = 60000,
                                 .packet_bytes = (uint16_t)(52 + bytes),
                                 .ttl = 64,
                                 .checksum = (uint16_t)(seq * 31 + bytes)};
    segment.from.bytes[15] = data ? scene->servers[which] : 1;
    segment.to.bytes[15] = data ? 1 : scene->servers[which];
    segment.from_port = data ? 443 : (uint16_t)(40000 + which);
    segment.to_port = data ? (uint16_t)(40000 + which) : 443;
    cr_assert_eq(tl_packets_add(scene->packets, &segment, tl_packets_hash(&segment)), TL_OK);
}

static void give(struct scene *scene, int which, int segments)
{
    for (int i = 0; i < segments; i++, scene->seqs[which] += MSS)
        add(scene, which, true, scene->seqs[which], MSS);
    add(scene, which, false, scene->seqs[which], 0);
}

/* A saw of 30 steps, and another one for who goes his own way. */
static int saw(int step, int period)
{
    return EACH / 4 + (step % period) * EACH / 2 / period;
}

static struct tl_packet_aggregate run(const uint8_t servers[2], bool shared)
{
    struct scene scene = {.packets = tl_packets_create(),
                          .time_ns = 1000 * MS,
                          .seqs = {5000, 9000},
                          .servers = {servers[0], servers[1]}};
    struct tl_packet_brief brief;
    struct tl_packet_aggregate aggregate;
    for (int step = 0; step < STEPS; step++) {
        int first = saw(step, 61);
        give(&scene, 0, first);
        give(&scene, 1, shared ? EACH - first : saw(step, 83));
        scene.time_ns += STEP;
    }
    tl_packets_finish(scene.packets);
    cr_assert(tl_packets_at(scene.packets, 0, &brief));
    tl_packet_aggregate(scene.packets, brief.flow, TL_SERVER, 1000 * MS, 1000 * MS + STEPS * STEP,
                        &aggregate);
    tl_packets_destroy(scene.packets);
    return aggregate;
}

Test(aggregate, one_gets_what_another_loses_behind_one_link)
{
    struct tl_packet_aggregate aggregate = run((const uint8_t[]){2, 2}, true);
    cr_expect_eq(aggregate.others_count, 1);
    cr_expect_float_eq(aggregate.together_bps, EACH * MSS * 8 * 20, 0.02 * EACH * MSS * 8 * 20);
    cr_expect_lt(aggregate.swing_ratio, 0.01);
    cr_expect_lt(aggregate.compensation_ratio, 0.01);
}

Test(aggregate, other_servers_of_one_client_count)
{
    struct tl_packet_aggregate aggregate = run((const uint8_t[]){2, 3}, true);
    cr_expect_eq(aggregate.others_count, 1);
    cr_expect_lt(aggregate.compensation_ratio, 0.01);
}

Test(aggregate, what_goes_its_own_way_adds_up)
{
    struct tl_packet_aggregate aggregate = run((const uint8_t[]){2, 2}, false);
    cr_expect_eq(aggregate.others_count, 1);
    cr_expect_gt(aggregate.swing_ratio, 0.05);
    cr_expect_gt(aggregate.compensation_ratio, 0.5);
}

Test(aggregate, alone_there_is_none)
{
    struct script script = script_begin();
    struct tl_packet_aggregate aggregate;
    script_shake(&script, 20 * MS, 0);
    for (uint32_t i = 0; i < 200; i++) {
        script_send(&script, SERVER, 1000 + i * MSS, 1000, MSS);
        script.time_ns += STEP;
        script_send(&script, CLIENT, 1000, 1000 + (i + 1) * MSS, 0);
    }
    const struct tl_packet_flow *flow = script_end(&script);
    tl_packet_aggregate(script.packets, flow, TL_SERVER, flow->first_ns, flow->last_ns, &aggregate);
    cr_expect_eq(aggregate.others_count, 0);
    cr_expect(isnan(aggregate.swing_ratio));
    tl_packets_destroy(script.packets);
}

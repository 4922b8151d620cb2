/* A program that sends by its own clock, or in turn with the other end; and where neither shows. */
#include "script.h"

/* A question of so many segments, and its answer of a byte, which acknowledges it, 40 ms later; or
 * the acknowledgement alone. The capture stands at the sender, or beside the receiver. */
static struct tl_packet_ledger questions_of(unsigned segments, uint32_t answer_bytes, bool beside)
{
    struct script script = script_begin();
    script_shake(&script, beside ? 40 * MS : 0, beside ? 0 : 40 * MS);
    uint32_t seq = 1000, answered = 1000;
    for (int i = 0; i < 200; i++) {
        for (unsigned k = 0; k < segments; k++, seq += MSS)
            script_send(&script, SERVER, seq, answered, MSS);
        script.time_ns += beside ? 40 * MS : 1000;
        script_send(&script, CLIENT, answered, seq, answer_bytes);
        answered += answer_bytes;
        script.time_ns += beside ? 1000 : 40 * MS;
    }
    struct tl_packet_ledger ledger;
    tl_packet_ledger(script_end(&script), SERVER, &ledger);
    tl_packets_destroy(script.packets);
    return ledger;
}

/* The same with acknowledgements alone may be a window or a buffer of that size. */
Test(program, who_waits_for_an_answer_each_time_has_nothing_to_send)
{
    for (int beside = 0; beside < 2; beside++) {
        struct tl_packet_ledger asks = questions_of(3, 1, beside),
                                sends = questions_of(3, 0, beside);
        cr_expect(asks.known, "%s", asks.why);
        cr_expect_gt(asks.app_ratio, 0.9, "%g", asks.app_ratio);
        cr_expect_neq(sends.wait, TL_WAIT_APP);
    }
}

/* Writes of six segments each 9 ms over a round trip of 40 ms, the last of so many bytes,
 * acknowledged as they come, seen beside the receiver; each write waits so long on the way, in
 * turn, as its echo tells. */
static struct tl_packet_ledger writes_from_afar(uint32_t last_bytes, int64_t jitter_ns, bool stamps)
{
    struct script script = script_begin();
    script_shake(&script, 0, 40 * MS);
    uint32_t seq = 1000;
    int64_t begin_ns = script.time_ns;
    for (int i = 0; i < 400; i++) {
        script.time_ns = begin_ns + i * 9 * MS + i % 3 * jitter_ns;
        for (unsigned k = 0; k < 6; k++) {
            uint32_t len = k < 5 ? MSS : last_bytes;
            for (int from = SERVER; from >= CLIENT; from--) {
                bool data = from == SERVER;
                struct tl_segment segment =
                    script_segment(&script, from, TL_TCP_ACK, data ? seq : 1000,
                                   data ? 1000 : seq + len, data ? len : 0);
                segment.has_timestamps = stamps;
                segment.tsval = (uint32_t)(i + 1000);
                segment.tsecr = data && i > 5 ? (uint32_t)(i + 1000 - 5) : 0;
                script_add(&script, &segment);
            }
            seq += len;
        }
    }
    struct tl_packet_ledger ledger;
    const struct tl_packet_flow *flow = script_end(&script);
    cr_expect_eq(tl_packet_place(flow, SERVER), TL_PLACE_RECEIVER);
    tl_packet_ledger(flow, SERVER, &ledger);
    tl_packets_destroy(script.packets);
    return ledger;
}

Test(program, a_clock_of_its_own_shows_from_afar_where_nothing_waits_on_the_way)
{
    struct tl_packet_ledger ledger = writes_from_afar(MSS / 2, 0, true);
    cr_expect(ledger.known, "%s", ledger.why);
    cr_expect_eq(ledger.wait, TL_WAIT_APP, "%d %g", ledger.wait, ledger.clocked_ratio);
    cr_expect_neq(writes_from_afar(MSS / 2, 3 * MS, true).wait, TL_WAIT_APP);
    cr_expect_neq(writes_from_afar(MSS / 2, 0, false).wait,
                  TL_WAIT_APP);                                      /* nothing times the way */
    cr_expect_neq(writes_from_afar(MSS, 0, true).wait, TL_WAIT_APP); /* as a full buffer's are */
}

/* Which of two SYNs was answered is not known: seen beside the receiver all acknowledgements would
 * be at the sender at once, and nothing ever be in flight. */
Test(program, how_far_the_sender_is_must_be_known)
{
    struct script script = script_begin();
    struct tl_segment syn = script_segment(&script, CLIENT, TL_TCP_SYN, 999, 0, 0);
    script_add(&script, &syn);
    script.time_ns += 1000 * MS;
    script_shake(&script, 0, 40 * MS);
    for (uint32_t i = 0; i < 500; i++) {
        script_send(&script, SERVER, 1000 + i * MSS, 1000, MSS);
        script_send(&script, CLIENT, 1000, 1000 + (i + 1) * MSS, 0);
        script.time_ns += 4 * MS;
    }
    struct tl_packet_ledger ledger;
    tl_packet_ledger(script_end(&script), SERVER, &ledger);
    cr_expect(!ledger.known && strstr(ledger.why, "how far"), "%s", ledger.why);
    tl_packets_destroy(script.packets);
}

/* A connection that others are led by: lines of a few bytes now and then. */
Test(program, of_a_connection_that_moved_next_to_nothing_nothing_is_said)
{
    struct script script = script_begin();
    script_shake(&script, 0, 40 * MS);
    uint32_t seq = 1000;
    for (int i = 0; i < 12; i++, seq += 200) {
        script_send(&script, SERVER, seq, 1000, 200);
        script.time_ns += 40 * MS;
        script_send(&script, CLIENT, 1000, seq + 200, 0);
        script.time_ns += 900 * MS;
    }
    struct tl_packet_ledger ledger;
    tl_packet_ledger(script_end(&script), SERVER, &ledger);
    cr_expect(!ledger.known);
    cr_expect_str_eq(ledger.why, "too little moved to tell");
    cr_expect_gt(ledger.idle_ratio, 0.9);
    tl_packets_destroy(script.packets);
}

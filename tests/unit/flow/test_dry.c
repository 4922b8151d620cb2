/* When what was to be sent had run out: writes that the way shapes, and a window that never does.
 */
#include "script.h"

#define WRITES 200
#define EVERY  (30 * MS)
#define WAY    (20 * MS)    /* to the receiver and back */
#define TRAIN  16           /* segments of one write that a slow link draws out, */
#define LEFT   4            /* of which so many are on the way when the next one leaves, */
#define EACH   (6 * MS / 5) /* and what one takes there */

/* What follows the last acknowledgement of a write: the next one, after a pause, at once, once the
 * other end has sent data, or at once but for each eighth. */
enum next { BY_A_CLOCK, AT_ONCE, WHEN_ASKED, SELDOM_LATE };

/* Writes of a full segment and one of last_bytes, each acknowledged; seen beside the sender. */
static const struct tl_packet_flow *write_on(struct script *script, uint32_t last_bytes,
                                             enum next next)
{
    *script = script_begin();
    script_shake(script, WAY, 0);
    uint32_t seq = 1000, asked = 1000;
    for (int number = 0; number < WRITES; number++) {
        int64_t begin_ns = script->time_ns;
        script_send(script, SERVER, seq, asked, MSS);
        script_send(script, SERVER, seq + MSS, asked, last_bytes);
        seq += MSS + last_bytes;
        script->time_ns += WAY;
        script_send(script, CLIENT, asked, seq, 0);
        if (next == BY_A_CLOCK)
            script->time_ns = begin_ns + EVERY;
        else if (next == AT_ONCE || next == SELDOM_LATE)
            script->time_ns += next == SELDOM_LATE && number % 8 == 0 ? MS : MS / 20;
        else {
            script->time_ns += 5 * MS;
            script_send(script, CLIENT, asked, seq, 100);
            asked += 100;
            script->time_ns += MS;
        }
    }
    return script_end(script);
}

static double dry_share(uint32_t last_bytes, enum next next)
{
    struct script script;
    double share = tl_packet_dry_ratio(&write_on(&script, last_bytes, next)->halves[SERVER]);
    tl_packets_destroy(script.packets);
    return share;
}

Test(packets, what_is_written_by_a_clock_runs_out)
{
    cr_expect_gt(dry_share(MSS / 2, BY_A_CLOCK), 0.95);
}

Test(packets, what_an_acknowledgement_sets_off_had_not_run_out)
{
    cr_expect_eq(dry_share(MSS / 2, AT_ONCE), 0);
}

Test(packets, full_segments_tell_of_no_end)
{
    cr_expect_eq(dry_share(MSS, BY_A_CLOCK), 0);
}

Test(packets, who_waits_to_be_asked_has_not_run_out)
{
    cr_expect_eq(dry_share(MSS / 2, WHEN_ASKED), 0);
}

/* As a send buffer that is full of small writes seems to, where a wake-up came late. */
Test(packets, what_seldom_seems_to_run_out_did_not)
{
    cr_expect_eq(dry_share(MSS / 2, SELDOM_LATE), 0);
}

/* Seen beside the receiver, whose acknowledgement of all but LEFT sets the next write off, which
 * comes a round trip later, behind what its first segment takes on the slow link, and later_ns. */
static double dry_afar(int64_t later_ns)
{
    struct script script = script_begin();
    script_shake(&script, 0, 2 * WAY);
    uint32_t seq = 1000;
    for (int number = 0; number < WRITES; number++) {
        int64_t sets_off_ns = 0;
        for (int sent = 1; sent <= TRAIN; sent++) {
            uint32_t bytes = sent < TRAIN ? MSS : MSS / 2;
            script_send(&script, SERVER, seq, 1000, bytes);
            seq += bytes;
            if (sent % 2 == 0)
                script_send(&script, CLIENT, 1000, seq, 0);
            if (sent == TRAIN - LEFT)
                sets_off_ns = script.time_ns;
            script.time_ns += EACH;
        }
        script.time_ns = sets_off_ns + 2 * WAY + EACH + later_ns;
    }
    double share = tl_packet_dry_ratio(&script_end(&script)->halves[SERVER]);
    tl_packets_destroy(script.packets);
    return share;
}

/* As with a send buffer of 25 kB, which Linux lets hold 64 kB more and wakes its program late for.
 */
Test(packets, what_a_slow_link_draws_out_had_not_run_out_afar)
{
    cr_expect_eq(dry_afar(0), 0);
}

Test(packets, what_comes_later_than_a_slow_link_makes_it_had_run_out)
{
    cr_expect_gt(dry_afar(10 * MS), 0.95);
}

Test(packets, what_runs_out_is_its_programs_time)
{
    struct script script;
    struct tl_packet_ledger ledger;
    tl_packet_ledger(write_on(&script, MSS / 2, BY_A_CLOCK), SERVER, &ledger);
    cr_expect(ledger.known, "%s", ledger.why);
    cr_expect_gt(ledger.app_ratio, 0.9);
    cr_expect_eq(ledger.wait, TL_WAIT_APP);
    tl_packets_destroy(script.packets);
}

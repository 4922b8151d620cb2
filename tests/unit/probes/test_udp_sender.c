/* A sender that falls behind: at its limit, or held up by other programs. */
#include <criterion/criterion.h>

#include "udp_sender.h"

Test(udp_sender, what_it_hardly_missed_passed_at_what_it_sent)
{
    enum udp_step_verdict verdict = UDP_STEP_SENDER_LIMIT;
    cr_expect_eq(udp_sender_tells_bps(100e6, 90e6, 50e6, &verdict), 90e6);
    cr_expect_eq(verdict, UDP_STEP_PASSED);
    verdict = UDP_STEP_SENDER_LIMIT;
    cr_expect_eq(udp_sender_tells_bps(100e6, 84e6, 50e6, &verdict), 100e6, "too little");
    cr_expect_eq(verdict, UDP_STEP_SENDER_LIMIT);
    cr_expect_eq(udp_sender_tells_bps(100e6, 90e6, 95e6, &verdict), 100e6, "nothing new");
    cr_expect_eq(verdict, UDP_STEP_SENDER_LIMIT);
    verdict = UDP_STEP_LOSS;
    cr_expect_eq(udp_sender_tells_bps(100e6, 90e6, 50e6, &verdict), 100e6);
    cr_expect_eq(verdict, UDP_STEP_LOSS, "what is lost is no matter of the sender's pace");
}

Test(udp_sender, a_miss_for_the_first_time_is_tried_again_and_the_same_one_is_a_limit)
{
    struct udp_sender sender = {0};
    udp_sender_take(&sender, 50e6);
    cr_expect(udp_sender_was_held_up(&sender, 100e6, UDP_STEP_SENDER_LIMIT));
    cr_expect_not(udp_sender_was_held_up(&sender, 100e6, UDP_STEP_SENDER_LIMIT));
    cr_expect(udp_sender_was_held_up(&sender, 200e6, UDP_STEP_BURSTS), "once by chance");
    cr_expect_not(udp_sender_was_held_up(&sender, 200e6, UDP_STEP_BURSTS));
}

Test(udp_sender, a_miss_below_what_it_offered_is_no_limit_but_not_without_end)
{
    struct udp_sender sender = {0};
    udp_sender_take(&sender, 200e6);
    for (unsigned i = 0; i < UDP_VOID_STEPS_MAX; i++)
        cr_expect(udp_sender_was_held_up(&sender, 100e6, UDP_STEP_SENDER_LIMIT), "%u", i);
    cr_expect_not(udp_sender_was_held_up(&sender, 100e6, UDP_STEP_SENDER_LIMIT));
}

Test(udp_sender, a_step_that_the_path_ended_is_not_repeated)
{
    struct udp_sender sender = {0};
    cr_expect_not(udp_sender_was_held_up(&sender, 100e6, UDP_STEP_LOSS));
    cr_expect_not(udp_sender_was_held_up(&sender, 100e6, UDP_STEP_PASSED));
    cr_expect_eq(sender.void_steps, 0);
}

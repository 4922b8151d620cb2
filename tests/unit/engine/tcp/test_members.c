/* Two groups among streams: found where a bad member makes them, not where chance does. */
#include <criterion/criterion.h>
#include <math.h>

#include "tightlink/base/random.h"
#include "tightlink/engine/members.h"

static struct tl_members split_of(const double *mbps, const double *lost, size_t count)
{
    struct tl_member members[TL_MEMBERS_MAX];
    struct tl_members split;
    for (size_t i = 0; i < count; i++)
        members[i] = (struct tl_member){mbps[i] * 1e6, mbps[i] * 400, lost ? lost[i] : (double)NAN,
                                        (double)NAN};
    tl_members_split(members, count, &split);
    return split;
}

Test(members, a_lossy_member_makes_two_groups)
{
    const double mbps[] = {11, 2.1, 12, 10.5, 2.4, 11.5, 12.2, 1.9};
    const double lost[] = {1, 30, 0, 2, 28, 1, 0, 33};
    struct tl_members split = split_of(mbps, lost, 8);
    cr_assert(split.bimodal);
    cr_assert_eq(split.slow_count, 3);
    cr_assert(split.slow[1] && split.slow[4] && split.slow[7] && !split.slow[0]);
    cr_assert_float_eq(split.slow_bps, 2.133e6, 1e3);
    cr_assert_gt(split.slow_retrans_ratio, 10 * split.fast_retrans_ratio);
}

Test(members, one_bad_stream_counts_only_with_losses_of_its_own)
{
    const double mbps[] = {11, 12, 10.5, 11.5, 12.2, 11, 10.8, 2};
    const double lost[] = {1, 0, 2, 1, 0, 1, 1, 40}, alike[] = {1, 0, 2, 1, 0, 1, 1, 1};
    cr_assert_eq(split_of(mbps, lost, 8).slow_count, 1);
    cr_assert(!split_of(mbps, alike, 8).bimodal);
    cr_assert(!split_of(mbps, NULL, 8).bimodal);
}

Test(members, a_slow_member_without_losses_needs_a_wide_step)
{
    const double wide[] = {40, 41, 10, 39, 11, 40, 10.5, 41},
                 narrow[] = {20, 21, 10, 19, 11, 22, 9, 20};
    cr_assert_eq(split_of(wide, NULL, 8).slow_count, 3);
    cr_assert(!split_of(narrow, NULL, 8).bimodal);
}

/* Eight streams behind one full queue, two or three over a member that loses 1.3 % and 3.8 %: as
 * they were measured on an emulated path. */
Test(members, who_gets_less_and_loses_more_often_loses_elsewhere)
{
    const struct tl_member two[] = {{3.16e6, 1531, 14, 11}, {26.3e6, 13154, 25, 3},
                                    {20.1e6, 10045, 25, 2}, {8.56e6, 4236, 15, 2},
                                    {2.76e6, 1393, 22, 2},  {9.41e6, 4842, 6, 2},
                                    {1.24e6, 600, 12, 9},   {6.43e6, 3361, 0, 0}};
    const struct tl_member three[] = {
        {6.71e6, 2133, 13, 5}, {1.30e6, 414, 22, 18}, {10.2e6, 3245, 56, 7}, {8.04e6, 2559, 17, 7},
        {5.82e6, 1876, 19, 8}, {1.04e6, 348, 23, 20}, {1.34e6, 440, 22, 19}, {4.23e6, 1378, 20, 8}};
    struct tl_members split;
    tl_members_split(two, 8, &split);
    cr_assert_eq(split.slow_count, 2);
    cr_assert(split.slow[0] && split.slow[6]);
    cr_assert_float_eq(split.slow_loss_event_ratio, 20.0 / 2131, 1e-6);
    cr_assert_float_eq(split.fast_loss_event_ratio, 11.0 / 37031, 1e-6);
    tl_members_split(three, 8, &split);
    cr_assert_eq(split.slow_count, 3);
    cr_assert(split.slow[1] && split.slow[5] && split.slow[6]);
}

/* One queue for all that overflows and hits everyone: the slow ones lose more for a segment, and
 * no more often. Behind losses by chance whoever is hit more often is slower for it. */
Test(members, who_is_slow_for_his_losses_is_no_group)
{
    const double means[] = {1, 2, 4, 8, 16};
    struct tl_random rng;
    int claimed = 0;
    tl_random_seed(&rng, 23);
    for (int round = 0; round < 2000; round++) {
        struct tl_member members[8];
        struct tl_members split;
        double mean = means[round % 5];
        for (int i = 0; i < 8; i++) {
            double events = -1;
            for (double product = 1; product > exp(-mean); events++)
                product *= tl_random_unit(&rng);
            double share = exp(tl_random_unit(&rng)) / sqrt(1 + events);
            members[i] = (struct tl_member){share * 1e7, share * 4000, 2 * events, events};
        }
        tl_members_split(members, 8, &split);
        claimed += split.bimodal && split.slow_bps * 2 < split.fast_bps;
    }
    cr_assert_lt(claimed, 20, "%d of 2000", claimed);
}

/* Streams that share one queue differ by chance: log-normal with factor 1.6. */
Test(members, unequal_streams_of_one_link_are_one_group)
{
    struct tl_random rng;
    int claimed = 0;
    tl_random_seed(&rng, 17);
    for (int round = 0; round < 2000; round++) {
        double mbps[8], lost[8];
        for (int i = 0; i < 8; i++) {
            double normal = -6;
            for (int j = 0; j < 12; j++)
                normal += tl_random_unit(&rng);
            mbps[i] = 10 * exp(0.47 * normal);
            lost[i] = floor(6 * tl_random_unit(&rng)); /* a share that differs by chance, too */
        }
        claimed += split_of(mbps, lost, 8).bimodal;
    }
    cr_assert_lt(claimed, 20, "%d of 2000", claimed);
}

Test(members, few_or_broken_streams_make_no_groups)
{
    const double mbps[] = {10, 1, 10};
    const double broken[] = {(double)NAN, 0, -1, (double)INFINITY};
    cr_assert(!split_of(mbps, NULL, 3).bimodal);
    cr_assert_eq(split_of(broken, NULL, 4).count, 0);
    cr_assert(isnan(split_of(broken, NULL, 0).mean_bps));
}

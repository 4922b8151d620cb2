/* Damaged on the way, or added by somebody: numbers in, counts out. */
#include <criterion/criterion.h>

#include "udp_damage.h"

static struct udp_track track;
static struct udp_damage damage;

static void set_up(void)
{
    damage = (struct udp_damage){.count = 0};
    cr_assert_eq(udp_track_init(&track), TL_OK);
}

static void tear_down(void)
{
    udp_track_finish(&track);
}

TestSuite(udp_damage, .init = set_up, .fini = tear_down);

static void whole(uint64_t sequence)
{
    (void)udp_track_add(&track, sequence, (int64_t)sequence, (struct udp_point){0, 0});
}

static void expect(uint64_t sent, uint64_t damaged, uint64_t added)
{
    udp_damage_close(&damage, &track, sent);
    cr_expect_eq(damage.damaged_count, damaged, "%lu damaged", (unsigned long)damage.damaged_count);
    cr_expect_eq(damage.added_count, added, "%lu added", (unsigned long)damage.added_count);
}

Test(udp_damage, counts_what_came_damaged_alone)
{
    for (uint64_t i = 0; i < 1000; i++)
        if (i % 50 == 7)
            udp_damage_add(&damage, &track, i);
        else
            whole(i);
    expect(1000, 20, 0);
}

Test(udp_damage, the_last_ones_count_where_they_were_sent)
{
    for (uint64_t i = 0; i < 10; i++)
        whole(i);
    udp_damage_add(&damage, &track, 10);
    udp_damage_add(&damage, &track, 11);
    expect(11, 0, 2);
}

Test(udp_damage, a_doubled_one_counts_once)
{
    whole(0);
    udp_damage_add(&damage, &track, 1);
    udp_damage_add(&damage, &track, 1);
    whole(2);
    expect(3, 1, 0);
}

/* Who sees the datagrams before some are lost, and sends each again with a bit changed. */
Test(udp_damage, copies_of_what_came_tell_that_somebody_adds)
{
    for (uint64_t i = 0; i < 1000; i++) {
        udp_damage_add(&damage, &track, i);
        if (i % 100 != 0)
            whole(i);
    }
    expect(1000, 0, 1000);
}

/* And when his come behind them. */
Test(udp_damage, whichever_comes_first)
{
    for (uint64_t i = 0; i < 1000; i++) {
        if (i % 100 != 0)
            whole(i);
        udp_damage_add(&damage, &track, i);
    }
    expect(1000, 0, 1000);
}

/* Damage is still told where a few were added. */
Test(udp_damage, a_few_added_hide_nothing)
{
    for (uint64_t i = 0; i < 1000; i++)
        if (i % 50 == 7)
            udp_damage_add(&damage, &track, i);
        else
            whole(i);
    for (uint64_t i = 0; i < 5; i++)
        udp_damage_add(&damage, &track, i);
    udp_damage_add(&damage, &track, UINT64_MAX / 2);
    expect(1000, 20, 6);
}

Test(udp_damage, a_test_longer_than_the_window)
{
    uint64_t end = 3 * UDP_TRACK_WINDOW;
    for (uint64_t i = 0; i < end; i++) {
        if (i % 5000 == 7)
            udp_damage_add(&damage, &track, i);
        else
            whole(i);
        if (i % 64 == 0)
            udp_damage_settle(&damage, &track);
    }
    expect(end, (end - 8) / 5000 + 1, 0);
}

Test(udp_damage, more_open_ones_than_there_is_room)
{
    for (uint64_t i = 0; i < 10000; i++)
        udp_damage_add(&damage, &track, i * 3);
    for (uint64_t i = 0; i < 30000; i++)
        if (i % 3)
            whole(i);
    expect(30000, 10000, 0);
}

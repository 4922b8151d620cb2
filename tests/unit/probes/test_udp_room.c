/* What the search of the UDP stage leaves for what follows it. */
#include <criterion/criterion.h>

#include "tightlink/base/time.h"
#include "udp_room.h"

#define MS TL_NS_PER_MS

/* Steps of 330 ms until none fits; the time then. */
static int64_t search(struct udp_room *room)
{
    int64_t now_ns = 0;
    for (; udp_room_fits(room, now_ns, 300 * MS, 1000); room->tests--)
        now_ns += 330 * MS;
    udp_room_release(room);
    return now_ns;
}

Test(udp_room, a_search_that_takes_all_its_time_leaves_trains_and_bursts_theirs)
{
    struct udp_room room;
    udp_room_begin(&room, 0, 8400 * MS, 1000000, 15e6);
    int64_t now_ns = search(&room);
    cr_expect_geq(now_ns, 5500 * MS);
    cr_expect(udp_room_fits(&room, now_ns, 610 * MS, 1000));
    cr_expect(udp_room_fits(&room, now_ns + 700 * MS, 400 * MS, 1000));
    cr_expect(udp_room_fits(&room, now_ns + 1200 * MS, 400 * MS, 1000));
}

Test(udp_room, a_long_path_keeps_more_and_a_short_stage_no_more_than_a_third)
{
    struct udp_room room;
    udp_room_begin(&room, 0, 30000 * MS, 1000000, 340e6);
    cr_expect_eq(room.kept_ns, (1800 + 12 * 340) * MS);
    udp_room_begin(&room, 0, 3000 * MS, 1000000, 340e6);
    cr_expect_eq(room.kept_ns, 1000 * MS);
}

Test(udp_room, tests_are_kept_too)
{
    struct udp_room room;
    udp_room_begin(&room, 0, 60000 * MS, 1000000, 0);
    (void)search(&room);
    cr_expect_eq(room.tests, 3);
    cr_expect(udp_room_fits(&room, 0, 600 * MS, 1000));
}

Test(udp_room, bytes_bound_every_test)
{
    struct udp_room room;
    udp_room_begin(&room, 0, 10000 * MS, 5000, 0);
    cr_expect(udp_room_fits(&room, 0, 300 * MS, 5000));
    cr_expect(!udp_room_fits(&room, 0, 300 * MS, 5001));
    room.bytes_left = -10; /* overdrawn */
    cr_expect(!udp_room_fits(&room, 0, 300 * MS, 0));
}

/* Segment sizes by halves: a narrow path, a dead one, and one that came back. */
#include <criterion/criterion.h>

#include "segment_sizes.h"

struct path {
    int takes_bytes; /* what is larger vanishes */
    unsigned tests;
};

static bool takes(void *context, int packet_bytes)
{
    struct path *path = context;
    path->tests++;
    return packet_bytes <= path->takes_bytes;
}

static struct tl_pmtu_way found(int takes_bytes, int full_bytes, bool ipv6)
{
    struct path path = {.takes_bytes = takes_bytes};
    struct tl_pmtu_way way = {0};
    cr_assert(tl_segments_search(full_bytes, ipv6, takes, &path, &way), "%d", takes_bytes);
    cr_expect_leq(path.tests, 8, "%u tests of two seconds each", path.tests);
    cr_expect(way.black_hole);
    cr_expect_eq(way.tried_bytes, full_bytes);
    cr_expect_leq(way.mtu_bytes, takes_bytes);
    cr_expect_gt(way.failed_bytes, takes_bytes);
    return way;
}

Test(segment_sizes, a_hole_is_found_between_usual_sizes)
{
    for (int takes_bytes = 1200; takes_bytes < 1500; takes_bytes += 7)
        found(takes_bytes, 1500, false);
    cr_expect_eq(found(1300, 1500, false).mtu_bytes, 1300);
    cr_expect_eq(found(1492, 1500, false).mtu_bytes, 1492);
    cr_expect_eq(found(1500, 9000, false).mtu_bytes, 1500);
    cr_expect_eq(found(1280, 1500, true).mtu_bytes, 1280);
}

Test(segment_sizes, a_dead_path_is_no_hole)
{
    struct path dead = {.takes_bytes = 0};
    struct tl_pmtu_way way;
    cr_expect_not(tl_segments_search(1500, false, takes, &dead, &way));
    cr_expect_eq(dead.tests, 1);
}

Test(segment_sizes, a_path_that_came_back_is_no_hole)
{
    struct path whole = {.takes_bytes = 1500};
    struct tl_pmtu_way way;
    cr_expect_not(tl_segments_search(1500, false, takes, &whole, &way));
}

Test(segment_sizes, an_interface_of_the_smallest_size_leaves_nothing_to_try)
{
    struct path small = {.takes_bytes = 1280};
    struct tl_pmtu_way way;
    cr_expect_not(tl_segments_search(1280, true, takes, &small, &way));
    cr_expect_eq(small.tests, 0);
}

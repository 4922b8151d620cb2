/* Segment sizes by halves: a narrow path, a dead one, and one that came back. */
#include <criterion/criterion.h>

#include "segment_sizes.h"

struct path {
    int takes_bytes; /* what is larger vanishes */
    unsigned tests;
    int busy_bytes, busy_tests; /* so many tests of that size do not run their time */
};

static enum tl_segments takes(void *context, int packet_bytes)
{
    struct path *path = context;
    path->tests++;
    if (packet_bytes == path->busy_bytes && path->busy_tests > 0) {
        path->busy_tests--;
        return TL_SEGMENTS_UNTOLD;
    }
    return packet_bytes <= path->takes_bytes ? TL_SEGMENTS_PASS : TL_SEGMENTS_VANISH;
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

Test(segment_sizes, a_test_that_was_cut_short_tells_no_size)
{
    static const int sizes[] = {1200, 1300, 1440, 1500};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct path once = {.takes_bytes = 1300, .busy_bytes = sizes[i], .busy_tests = 1};
        struct path twice = {.takes_bytes = 1300, .busy_bytes = sizes[i], .busy_tests = 2};
        struct tl_pmtu_way way;
        cr_expect(tl_segments_search(1500, false, takes, &once, &way), "%d", sizes[i]);
        cr_expect_eq(way.mtu_bytes, 1300, "%d: %d", sizes[i], way.mtu_bytes);
        cr_expect_not(tl_segments_search(1500, false, takes, &twice, &way), "%d", sizes[i]);
    }
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

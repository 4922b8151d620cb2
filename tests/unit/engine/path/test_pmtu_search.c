/* The path MTU search on simulated paths: links of given MTU that report or do not, and that
 * lose packets by chance. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tightlink/base/random.h"
#include "tightlink/engine/pmtu.h"

struct link {
    int mtu_bytes;
    bool reports;
};

struct path {
    int interface_bytes;
    struct link links[4];
    double loss;
    struct tl_random rng;
    unsigned packets;
    unsigned down_from, down_until; /* of packets */
    long bytes;
};

enum fate { LOST, PASSED, REPORTED };

static enum fate travel(struct path *path, int bytes, int *ret_mtu)
{
    unsigned number = path->packets++;
    path->bytes += bytes;
    for (size_t i = 0; i < 4 && path->links[i].mtu_bytes > 0; i++) {
        if (bytes <= path->links[i].mtu_bytes)
            continue;
        *ret_mtu = path->links[i].mtu_bytes;
        return path->links[i].reports ? REPORTED : LOST;
    }
    bool down = number >= path->down_from && number < path->down_until;
    return down || tl_random_unit(&path->rng) < path->loss ? LOST : PASSED;
}

static struct tl_pmtu_search search_path(struct path *path, int max_bytes)
{
    struct tl_pmtu_search search;
    int sizes[TL_PMTU_ROUND_MAX];
    size_t count;
    tl_random_seed(&path->rng, 7);
    tl_pmtu_search_init(&search, max_bytes);
    while ((count = tl_pmtu_search_round(&search, sizes)) > 0) {
        cr_assert_leq(count, TL_PMTU_ROUND_MAX);
        for (int try = 0; try < TL_PMTU_TRIES; try++)
            for (size_t i = 0; i < count; i++) {
                int mtu;
                cr_assert(sizes[i] > 0 && sizes[i] <= max_bytes);
                if (try > 0 && !tl_pmtu_search_wants(&search, sizes[i]))
                    continue;
                if (path->interface_bytes && sizes[i] > path->interface_bytes) {
                    tl_pmtu_search_too_long(&search, sizes[i]);
                    continue;
                }
                enum fate fate = travel(path, sizes[i], &mtu);
                if (fate == PASSED)
                    tl_pmtu_search_passed(&search, sizes[i]);
                else if (fate == REPORTED)
                    tl_pmtu_search_reported(&search, sizes[i], mtu);
            }
        tl_pmtu_search_round_over(&search);
    }
    return search;
}

Test(pmtu_search, a_clean_path_takes_one_round)
{
    struct path path = {.links = {{1500, true}}};
    struct tl_pmtu_search search = search_path(&path, 1500);
    cr_expect_eq(search.passed_bytes, 1500);
    cr_expect_eq(search.failed_bytes, 1501);
    cr_expect_eq(search.rounds, 2, "one round, and one that says it is over");
}

Test(pmtu_search, finds_every_black_hole_to_the_byte)
{
    for (int mtu = 68; mtu < 9000; mtu += mtu < 1600 ? 1 : 37) {
        struct path path = {.links = {{mtu, false}}};
        struct tl_pmtu_search search = search_path(&path, mtu < 1500 ? 1500 : 9000);
        if (mtu < 296 && search.passed_bytes == 0)
            continue; /* no link that carries IPv6, or a datagram worth the name */
        int found = mtu > 1500 && mtu < 1600 ? 1500 : mtu; /* the slack of Ethernet gear */
        cr_expect_eq(search.passed_bytes, found, "%d for %d", search.passed_bytes, mtu);
        cr_expect_eq(search.failed_bytes, found == 1500 && mtu >= 1500 ? 1600 : mtu + 1);
        cr_expect(tl_pmtu_search_is_over(&search));
        cr_expect_eq(search.reported_bytes, 0);
        cr_expect_leq(search.rounds, 7, "%u rounds for %d", search.rounds, mtu);
        cr_expect_lt(path.bytes, 900000, "%ld bytes for %d", path.bytes, mtu);
    }
}

Test(pmtu_search, a_report_is_checked_and_ends_the_search)
{
    struct path path = {.links = {{1500, true}, {1400, true}}};
    struct tl_pmtu_search search = search_path(&path, 1500);
    cr_expect_eq(search.passed_bytes, 1400);
    cr_expect_eq(search.reported_bytes, 1400);
    cr_expect_leq(search.rounds, 3);
}

Test(pmtu_search, a_black_hole_behind_a_link_that_reports_is_one)
{
    struct path path = {.links = {{1400, true}, {1300, false}}};
    struct tl_pmtu_search search = search_path(&path, 1500);
    cr_expect_eq(search.passed_bytes, 1300);
    cr_expect_eq(search.reported_bytes, 1400, "the report stays, the hole is below it");
    cr_expect_eq(search.failed_bytes, 1301);
}

Test(pmtu_search, two_links_report_in_turn)
{
    struct path path = {.links = {{1400, true}, {1280, true}}};
    struct tl_pmtu_search search = search_path(&path, 1500);
    cr_expect_eq(search.passed_bytes, 1280);
    cr_expect_eq(search.reported_bytes, 1280);
}

Test(pmtu_search, jumbo_frames_that_die_at_1500_are_cheap)
{
    struct path path = {.links = {{1500, false}}};
    struct tl_pmtu_search search = search_path(&path, 9000);
    cr_expect_eq(search.passed_bytes, 1500);
    cr_expect_lt(path.bytes, 300000, "%ld bytes", path.bytes);
    cr_expect_leq(search.rounds, 5);
}

Test(pmtu_search, chance_makes_no_black_hole)
{
    unsigned wrong = 0;
    for (int seed = 0; seed < 200; seed++) {
        struct path path = {.links = {{1500, true}}, .loss = 0.05};
        struct tl_pmtu_search search;
        int sizes[TL_PMTU_ROUND_MAX], mtu;
        size_t count;
        tl_random_seed(&path.rng, (uint64_t)seed);
        tl_pmtu_search_init(&search, 1500);
        while ((count = tl_pmtu_search_round(&search, sizes)) > 0) {
            for (int try = 0; try < TL_PMTU_TRIES; try++)
                for (size_t i = 0; i < count; i++)
                    if (travel(&path, sizes[i], &mtu) == PASSED)
                        tl_pmtu_search_passed(&search, sizes[i]);
            tl_pmtu_search_round_over(&search);
        }
        wrong += search.passed_bytes != 1500;
    }
    cr_expect_eq(wrong, 0);
}

/* Down for some packets, whenever: what vanished then vanished for no size. */
Test(pmtu_search, a_line_that_is_down_for_a_while_has_no_black_hole)
{
    for (unsigned from = 1; from < 60; from++) {
        struct path path = {.links = {{1500, true}}, .down_from = from, .down_until = from + 50};
        struct tl_pmtu_search search = search_path(&path, 1500);
        cr_expect_eq(search.passed_bytes, 1500, "%d from %u", search.passed_bytes, from);
        cr_expect_eq(search.failed_bytes, 1501, "%d from %u", search.failed_bytes, from);
    }
}

Test(pmtu_search, lies_are_not_heeded)
{
    struct tl_pmtu_search search;
    int sizes[TL_PMTU_ROUND_MAX];
    tl_pmtu_search_init(&search, 1500);
    cr_assert_gt(tl_pmtu_search_round(&search, sizes), 0);
    tl_pmtu_search_passed(&search, 1200);
    tl_pmtu_search_reported(&search, 1500, 1000); /* less than what passed */
    tl_pmtu_search_reported(&search, 1500, 1500); /* no less than what was sent */
    tl_pmtu_search_reported(&search, 1500, 0);    /* an old router tells nothing */
    cr_expect_eq(search.reported_bytes, 0);
    cr_expect_eq(search.failed_bytes, 1501);
}

Test(pmtu_search, the_interface_says_no_itself)
{
    struct path path = {.interface_bytes = 1420};
    struct tl_pmtu_search search = search_path(&path, 1500);
    cr_expect_eq(search.passed_bytes, 1420);
    cr_expect_eq(search.max_bytes, 1420);
    cr_expect_eq(search.reported_bytes, 0);
}

Test(pmtu_search, nothing_at_all_ends_too)
{
    struct path path = {.loss = 1};
    struct tl_pmtu_search search = search_path(&path, 1500);
    cr_expect_eq(search.passed_bytes, 0);
}

/* The bytes of a day, and the shares that networks have in them. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>

#include "quota.h"
#include "tightlink/base/time.h"

#define NOW   (1000 * TL_NS_PER_S)
#define DAY   (24 * 3600 * TL_NS_PER_S)
#define WHOLE 80000u

static struct quota quota;

static struct in6_addr v4(unsigned network, unsigned host)
{
    struct in6_addr address;
    char text[64];
    snprintf(text, sizeof text, "::ffff:192.%u.%u.%u", network / 256, network % 256, host);
    cr_assert_eq(inet_pton(AF_INET6, text, &address), 1, "%s", text);
    return address;
}

/* Moves bytes in small tests until there are no more; how many. */
static uint64_t use_up(struct in6_addr address, uint64_t each)
{
    uint64_t moved = 0;
    while (!quota_is_spent(&quota, NOW, &address)) {
        uint64_t left = quota_left(&quota, NOW, &address);
        uint64_t bytes = quota_reserve(&quota, left < each ? left : each);
        quota_settle(&quota, &address, bytes, bytes);
        moved += bytes;
    }
    cr_expect_eq(quota_left(&quota, NOW, &address), 0);
    return moved;
}

/* With seeds of its own: of those by chance 9 in 20,000 have two of these networks share both sums,
 * and the later one finds its share used up. */
static void begin(void)
{
    cr_assert_eq(quota_init(&quota, WHOLE), TL_OK);
    for (unsigned row = 0; row < QUOTA_ROWS; row++)
        quota.seeds[row] = row + 1;
}

Test(quota, one_network_leaves_half_of_a_day_to_the_others, .init = begin)
{
    uint64_t moved = 0;
    for (unsigned host = 1; host < 200; host++)
        moved += use_up(v4(1, host), 700);
    cr_expect_eq(moved, WHOLE / 2, "the first half, and no share is left: %lu", moved);
    cr_expect_eq(use_up(v4(2, 1), 700), WHOLE / 8, "a host that has moved nothing yet");
    cr_expect_eq(use_up(v4(2, 2), 700), WHOLE / 8);
    cr_expect_eq(use_up(v4(2, 3), 700), 0, "its neighbourhood has had a quarter");
    cr_expect_eq(use_up(v4(3, 1), 700), WHOLE / 8);
    cr_expect_eq(use_up(v4(4, 1), 700), WHOLE / 8);
    cr_expect_eq(use_up(v4(5, 1), 700), 0, "the day is used up");
}

Test(quota, the_holder_of_a_key_has_what_is_left, .init = begin)
{
    cr_expect_eq(use_up(v4(1, 1), 700), WHOLE / 2);
    cr_expect_eq(quota_left(&quota, NOW, NULL), WHOLE / 2);
    cr_expect_not(quota_is_spent(&quota, NOW, NULL));
    quota_spend(&quota, NULL, WHOLE / 2);
    cr_expect(quota_is_spent(&quota, NOW, NULL));
}

Test(quota, what_small_answers_move_counts_for_their_network, .init = begin)
{
    struct in6_addr one = v4(1, 1), other = v4(2, 1);
    uint64_t moved = 0;
    while (quota_permits(&quota, NOW, &one, 100)) {
        quota_spend(&quota, &one, 100);
        moved += 100;
    }
    cr_expect_eq(moved, WHOLE / 2);
    cr_expect(quota_permits(&quota, NOW, &other, 100));
}

Test(quota, reservations_come_back, .init = begin)
{
    struct in6_addr one = v4(1, 1), other = v4(2, 1);
    uint64_t reserved = quota_reserve(&quota, quota_left(&quota, NOW, &one));
    cr_expect_eq(quota_left(&quota, NOW, &other), WHOLE / 8);
    cr_expect_eq(quota_left(&quota, NOW, &one), WHOLE / 8, "its share is whole: nothing moved yet");
    quota_settle(&quota, &one, reserved, 0);
    cr_expect_eq(quota_left(&quota, NOW, &one), WHOLE / 2);
}

Test(quota, the_next_day_is_a_new_one, .init = begin)
{
    use_up(v4(1, 1), 700);
    struct in6_addr one = v4(1, 1);
    cr_expect_eq(quota_left(&quota, NOW + DAY, &one), WHOLE / 2);
}

Test(quota, small_networks_without_number_do_not_shut_out_another, .init = begin)
{
    /* 2,000 hosts of 1,000 networks, twenty bytes each: sums are shared by some. */
    for (unsigned i = 0; i < 2000; i++) {
        struct in6_addr host = v4(10 + i / 2, 1 + i % 2);
        quota_spend(&quota, &host, 20);
    }
    struct in6_addr fresh = v4(5000, 1);
    cr_expect_geq(quota_left(&quota, NOW, &fresh), WHOLE / 8 - 500);
}

Test(quota, without_one_nothing_is_counted)
{
    struct in6_addr one = v4(1, 1);
    cr_assert_eq(quota_init(&quota, 0), TL_OK);
    quota_spend(&quota, &one, UINT64_C(1) << 60);
    cr_expect_eq(quota_left(&quota, NOW, &one), UINT64_MAX);
    cr_expect_not(quota_is_spent(&quota, NOW, &one));
    cr_expect_eq(quota_reserve(&quota, 100), 0);
}

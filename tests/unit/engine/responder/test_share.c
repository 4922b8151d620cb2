/* Fair shares of a pool. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>

#include "share.h"
#include "tightlink/base/random.h"

static struct in6_addr address(const char *text)
{
    struct in6_addr address;
    cr_assert_eq(inet_pton(AF_INET6, text, &address), 1, "%s", text);
    return address;
}

static struct in6_addr v4(unsigned network, unsigned host)
{
    char text[64];
    snprintf(text, sizeof text, "::ffff:192.%u.%u.%u", network / 256, network % 256, host);
    return address(text);
}

/* Adds while it is admitted, from hosts 1, 2, ...; how many. */
static unsigned fill(struct share_pool *pool, unsigned network, unsigned tries)
{
    unsigned count = 0;
    for (unsigned i = 0; i < tries; i++) {
        struct in6_addr host = v4(network, i % 250 + 1);
        if (share_pool_admits(pool, &host)) {
            share_pool_add(pool, &host);
            count++;
        }
    }
    return count;
}

Test(share, a_host_has_an_eighth_and_a_neighbourhood_a_quarter)
{
    struct share_pool *pool;
    struct in6_addr host = v4(1, 1);
    cr_assert_eq(share_pool_create(64, false, &pool), TL_OK);
    for (unsigned i = 0; i < 8; i++) {
        cr_assert(share_pool_admits(pool, &host), "%u", i);
        share_pool_add(pool, &host);
    }
    cr_expect_not(share_pool_admits(pool, &host));
    cr_expect_eq(fill(pool, 1, 100), 8, "the neighbourhood has 16 in all");
    cr_expect_eq(fill(pool, 2, 100), 16, "another is free to come");
    share_pool_remove(pool, &host);
    cr_expect(share_pool_admits(pool, &host));
    cr_expect_eq(share_pool_count(pool), 31);
    share_pool_destroy(pool);
}

Test(share, a_site_of_ipv6_has_a_half)
{
    struct share_pool *pool;
    char text[64];
    unsigned count = 0;
    cr_assert_eq(share_pool_create(64, false, &pool), TL_OK);
    for (unsigned i = 0; i < 256; i++) {
        snprintf(text, sizeof text, "2001:db8:1:%x00::1", i);
        struct in6_addr host = address(text);
        if (share_pool_admits(pool, &host)) {
            share_pool_add(pool, &host);
            count++;
        }
    }
    cr_expect_eq(count, 32);
    struct in6_addr other = address("2001:db8:2::1");
    cr_expect(share_pool_admits(pool, &other));
    share_pool_destroy(pool);
}

Test(share, a_provider_of_ipv6_has_three_quarters)
{
    struct share_pool *pool;
    char text[64];
    unsigned count = 0;
    cr_assert_eq(share_pool_create(64, false, &pool), TL_OK);
    for (unsigned i = 0; i < 256; i++) {
        snprintf(text, sizeof text, "2001:db8:%x:%x00::1", i % 8, i);
        struct in6_addr host = address(text);
        if (share_pool_admits(pool, &host)) {
            share_pool_add(pool, &host);
            count++;
        }
    }
    cr_expect_eq(count, 48);
    struct in6_addr other = address("2001:db9::1");
    cr_expect(share_pool_admits(pool, &other));
    cr_expect(share_of(&other, SHARE_PROVIDER, 64) == 48);
    share_pool_destroy(pool);
}

/* The first of a flood come in, the last hardly ever; a share is never exceeded. */
Test(share, an_early_pool_drops_at_random_first)
{
    struct share_pool *pool;
    cr_assert_eq(share_pool_create(4096, true, &pool), TL_OK);
    cr_expect_eq(fill(pool, 1, 512), 512, "below half of its share nobody is turned away");
    unsigned more = fill(pool, 1, 600);
    cr_expect_lt(more, 500);
    cr_expect_gt(more, 100);
    (void)fill(pool, 1, 100000);
    cr_expect_leq(share_pool_count(pool), 1024);
    struct in6_addr other = v4(2, 1);
    cr_expect(share_pool_admits(pool, &other));
    share_pool_destroy(pool);
}

/* Whatever comes and goes, counts are those of a list. */
Test(share, counts_stay_right_over_a_hundred_thousand_moves)
{
    enum { MEMBERS = 300, HOSTS = 4000 };
    struct share_pool *pool;
    struct in6_addr members[MEMBERS];
    unsigned count = 0;
    struct tl_random random;
    tl_random_seed(&random, 7);
    cr_assert_eq(share_pool_create(MEMBERS, false, &pool), TL_OK);
    for (unsigned i = 0; i < 100000; i++) {
        struct in6_addr host = v4((unsigned)(tl_random_next(&random) % HOSTS),
                                  (unsigned)(tl_random_next(&random) % 4));
        unsigned near = 0, same = 0;
        for (unsigned k = 0; k < count; k++) {
            near += share_same_neighbours(&members[k], &host);
            same += IN6_ARE_ADDR_EQUAL(&members[k], &host);
        }
        bool admits = count < MEMBERS && near < MEMBERS / 4 && same < MEMBERS / 8;
        cr_assert_eq(share_pool_admits(pool, &host), admits, "move %u", i);
        if (admits && tl_random_next(&random) % 2) {
            share_pool_add(pool, &host);
            members[count++] = host;
        } else if (count > 0) {
            unsigned gone = (unsigned)(tl_random_next(&random) % count);
            share_pool_remove(pool, &members[gone]);
            members[gone] = members[--count];
        }
        cr_assert_eq(share_pool_count(pool), count);
    }
    while (count > 0)
        share_pool_remove(pool, &members[--count]);
    cr_expect_eq(fill(pool, 5, 1000), MEMBERS / 4, "nothing is left behind");
    share_pool_destroy(pool);
}

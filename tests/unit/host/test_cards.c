/* Which real cards carry what an interface sends. */
#include <criterion/criterion.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <string.h>

#include "cards.h"

TestSuite(host_cards);

#define LOWER_UP 0x10000 /* IFF_LOWER_UP of the kernel */
#define UP       (IFF_UP | LOWER_UP)

/* A laptop that docks, and a host of containers. */
static const struct tl_link_row rows[] = {
    {.ifindex = 1, .flags = UP | IFF_LOOPBACK, .type = ARPHRD_LOOPBACK, .name = "lo"},
    {.ifindex = 2, .flags = UP, .type = ARPHRD_ETHER, .name = "wlp3s0"},
    {.ifindex = 3, .flags = IFF_UP, .type = ARPHRD_ETHER, .name = "eno1"}, /* no cable */
    {.ifindex = 4, .flags = UP, .type = ARPHRD_NONE, .name = "tun0", .kind = "tun"},
    {.ifindex = 5,
     .flags = UP,
     .type = ARPHRD_ETHER,
     .name = "wlp3s0.7",
     .kind = "vlan",
     .below = 2},
    {.ifindex = 6, .flags = UP, .type = ARPHRD_ETHER, .name = "br0", .kind = "bridge"},
    {.ifindex = 7,
     .master = 6,
     .flags = UP,
     .type = ARPHRD_ETHER,
     .name = "veth0",
     .kind = "veth",
     .below = 2}, /* the other end, in another namespace, not the card of that number */
    {.ifindex = 8, .flags = UP, .type = ARPHRD_TUNNEL, .name = "gre1", .kind = "gre", .below = 5},
};

static struct tl_link_cards find(const struct tl_link_row *from, size_t count, int ifindex)
{
    struct tl_link_cards cards;

    tl_link_cards_below(from, count, ifindex, &cards);
    return cards;
}

static void expect_card(int ifindex, const char *name)
{
    struct tl_link_cards cards = find(rows, sizeof(rows) / sizeof(rows[0]), ifindex);

    cr_assert_eq(cards.count, name ? 1 : 0, "of %d: %zu", ifindex, cards.count);
    if (name)
        cr_expect_str_eq(cards.cards[0].name, name);
}

Test(host_cards, a_card_is_its_own_and_what_stands_on_it_finds_it)
{
    expect_card(2, "wlp3s0");
    expect_card(5, "wlp3s0");
    expect_card(8, "wlp3s0");
}

Test(host_cards, a_vpn_rides_on_the_one_card_with_a_carrier)
{
    struct tl_link_row docked[sizeof(rows) / sizeof(rows[0])];

    expect_card(4, "wlp3s0");
    memcpy(docked, rows, sizeof(rows));
    docked[2].flags = UP;
    cr_expect_eq(find(docked, sizeof(rows) / sizeof(rows[0]), 4).count, 0,
                 "with two cards nothing tells which");
}

Test(host_cards, loopback_and_a_pair_of_virtual_ends_have_none)
{
    expect_card(1, NULL);
    expect_card(7, NULL);
    expect_card(6, NULL);
    expect_card(99, NULL);
}

Test(host_cards, the_members_of_a_bond_that_have_a_carrier)
{
    const struct tl_link_row bond[] = {
        {.ifindex = 10, .flags = UP, .type = ARPHRD_ETHER, .name = "bond0", .kind = "bond"},
        {.ifindex = 11, .master = 10, .flags = UP, .type = ARPHRD_ETHER, .name = "a"},
        {.ifindex = 12, .master = 10, .flags = IFF_UP, .type = ARPHRD_ETHER, .name = "b"},
        {.ifindex = 13, .master = 10, .flags = UP, .type = ARPHRD_ETHER, .name = "c"},
        {.ifindex = 14,
         .flags = UP,
         .type = ARPHRD_ETHER,
         .name = "bond0.5",
         .kind = "vlan",
         .below = 10},
    };
    struct tl_link_cards cards = find(bond, 5, 14);

    cr_assert_eq(cards.count, 2);
    cr_expect_str_eq(cards.cards[0].name, "a");
    cr_expect_str_eq(cards.cards[1].name, "c");
}

Test(host_cards, a_circle_ends)
{
    const struct tl_link_row circle[] = {
        {.ifindex = 1, .type = ARPHRD_ETHER, .kind = "vlan", .below = 2},
        {.ifindex = 2, .type = ARPHRD_ETHER, .kind = "vlan", .below = 1},
    };

    cr_expect_eq(find(circle, 2, 1).count, 0);
}

Test(host_cards, this_machine_answers)
{
    struct if_nameindex *interfaces = if_nameindex();
    struct tl_netlink route;

    cr_assert_not_null(interfaces);
    tl_netlink_init(&route, NETLINK_ROUTE);
    for (struct if_nameindex *at = interfaces; at->if_index; at++) {
        struct tl_link_cards cards;

        tl_link_cards_find(&route, (int)at->if_index, &cards);
        cr_expect(cards.count <= TL_LINK_CARDS_MAX);
        if (strcmp(at->if_name, "lo") == 0)
            cr_expect_eq(cards.count, 0, "loopback is no card");
        for (size_t i = 0; i < cards.count; i++)
            cr_expect(if_nametoindex(cards.cards[i].name) == (unsigned)cards.cards[i].ifindex);
    }
    tl_netlink_finish(&route);
    if_freenameindex(interfaces);
}

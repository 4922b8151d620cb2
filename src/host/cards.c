/* The real cards below an interface (cards.h). */
#include "cards.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/host/host.h"

/* A VLAN on a bond below a bridge is three; a circle would be the kernel's fault. */
#define DEPTH_MAX 5

/* Not in <net/if.h>: the layer below has a carrier (include/uapi/linux/if.h). */
#define LOWER_UP 0x10000U

bool tl_link_is_one_of(const char *text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, list[i]) == 0)
            return true;
    return false;
}

/* IFLA_LINK names the device below of these; of a veth it names the other end. */
static const char *const stacked_kinds[] = {"vlan", "macvlan", "macvtap", "ipvlan", "macsec"};
static const char *const joining_kinds[] = {"bond", "team", "bridge"};

static bool is_card(const struct tl_link_row *row)
{
    return row->type == ARPHRD_ETHER && row->kind[0] == '\0' && !(row->flags & IFF_LOOPBACK);
}

static bool has_carrier(const struct tl_link_row *row)
{
    return (row->flags & IFF_UP) && (row->flags & LOWER_UP);
}

/* Kinds that wrap each packet into another one. A bare "tun" is what user-space VPNs open. */
static const char *const tunnel_kinds[] = {
    TL_HOST_KIND_TUN, "wireguard", "gre",  "gretap", "ip6gre", "ip6gretap", "ipip",   "sit",
    "ip6tnl",         "vti",       "vti6", "xfrm",   "ppp",    "vxlan",     "geneve", "erspan"};

bool tl_link_is_tunnel_kind(const char *kind)
{
    return IS_ONE_OF(kind, tunnel_kinds);
}

bool tl_link_stands_on_another(const char *kind)
{
    return IS_ONE_OF(kind, stacked_kinds) || IS_ONE_OF(kind, joining_kinds) ||
           tl_link_is_tunnel_kind(kind);
}

struct search {
    const struct tl_link_row *rows;
    size_t count;
    struct tl_link_cards *cards;
};

static const struct tl_link_row *row_of(const struct search *search, int ifindex)
{
    for (size_t i = 0; i < search->count; i++)
        if (search->rows[i].ifindex == ifindex)
            return &search->rows[i];
    return NULL;
}

static void add(struct tl_link_cards *cards, const struct tl_link_row *row)
{
    if (cards->count < TL_LINK_CARDS_MAX)
        cards->cards[cards->count++] = *row;
}

/* What carries a tunnel is the route to its other end, which no attribute tells of WireGuard or of
 * a program's tun device. Where one card alone has a carrier it is that one. */
static void add_only_card(const struct search *search)
{
    const struct tl_link_row *only = NULL;

    for (size_t i = 0; i < search->count; i++) {
        if (!is_card(&search->rows[i]) || !has_carrier(&search->rows[i]))
            continue;
        if (only)
            return;
        only = &search->rows[i];
    }
    if (only)
        add(search->cards, only);
}

static void descend(const struct search *search, int ifindex, unsigned depth)
{
    const struct tl_link_row *row = row_of(search, ifindex);

    if (!row || depth == DEPTH_MAX)
        return;
    if (is_card(row)) {
        add(search->cards, row);
    } else if (IS_ONE_OF(row->kind, stacked_kinds)) {
        descend(search, row->below, depth + 1);
    } else if (IS_ONE_OF(row->kind, joining_kinds)) {
        for (size_t i = 0; i < search->count; i++)
            if (search->rows[i].master == ifindex && has_carrier(&search->rows[i]))
                descend(search, search->rows[i].ifindex, depth + 1);
    } else if (tl_link_is_tunnel_kind(row->kind)) {
        if (row->below && row_of(search, row->below))
            descend(search, row->below, depth + 1);
        else
            add_only_card(search);
    }
}

void tl_link_cards_below(const struct tl_link_row *rows, size_t count, int ifindex,
                         struct tl_link_cards *ret_cards)
{
    const struct search search = {.rows = rows, .count = count, .cards = ret_cards};

    ret_cards->count = 0;
    descend(&search, ifindex, 0);
}

static int number_of(const struct nlattr *attr)
{
    uint64_t number;

    return tl_netlink_number(attr, &number) && number <= INT32_MAX ? (int)number : 0;
}

/* One RTM_NEWLINK; false where it is cut or of another type. */
static bool parse_row(const struct nlmsghdr *msg, struct tl_link_row *ret_row)
{
    const struct nlattr *table[IFLA_MAX + 1], *info[IFLA_INFO_MAX + 1];
    const struct ifinfomsg *head = mnl_nlmsg_get_payload(msg);
    const char *kind = NULL;
    size_t len;

    if (msg->nlmsg_type != RTM_NEWLINK ||
        !tl_netlink_attributes(msg, sizeof(*head), table, IFLA_MAX) ||
        !tl_netlink_text(table[IFLA_IFNAME]))
        return false;
    *ret_row = (struct tl_link_row){.ifindex = head->ifi_index,
                                    .below = number_of(table[IFLA_LINK]),
                                    .master = number_of(table[IFLA_MASTER]),
                                    .flags = head->ifi_flags,
                                    .type = head->ifi_type};
    snprintf(ret_row->name, sizeof(ret_row->name), "%s", tl_netlink_text(table[IFLA_IFNAME]));
    if (tl_netlink_nested(table[IFLA_LINKINFO], info, IFLA_INFO_MAX))
        kind = tl_netlink_text(info[IFLA_INFO_KIND]);
    snprintf(ret_row->kind, sizeof(ret_row->kind), "%s", kind ? kind : "");
    len = table[IFLA_ADDRESS] ? mnl_attr_get_payload_len(table[IFLA_ADDRESS]) : 0;
    ret_row->address_len = len <= sizeof(ret_row->address) ? len : 0;
    if (ret_row->address_len > 0)
        memcpy(ret_row->address, mnl_attr_get_payload(table[IFLA_ADDRESS]), len);
    return true;
}

struct rows {
    struct tl_link_row *rows;
    size_t count, room;
};

static bool take_row(const struct nlmsghdr *msg, void *context)
{
    struct rows *rows = context;

    if (rows->count == rows->room)
        return true; /* what lies behind is not looked through */
    if (!parse_row(msg, &rows->rows[rows->count]))
        return false;
    rows->count++;
    return true;
}

/* ifindex 0: all of them. */
static enum tl_host_why ask(struct tl_netlink *route, int ifindex, struct rows *rows)
{
    _Alignas(struct nlmsghdr) char buf[TL_NETLINK_ASK_SIZE] = {0};
    struct nlmsghdr *msg = mnl_nlmsg_put_header(buf);
    struct ifinfomsg *head;

    msg->nlmsg_type = RTM_GETLINK;
    msg->nlmsg_flags = ifindex ? 0 : NLM_F_DUMP;
    head = mnl_nlmsg_put_extra_header(msg, sizeof(*head));
    head->ifi_family = AF_UNSPEC;
    head->ifi_index = ifindex;
    mnl_attr_put_u32(msg, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    return tl_netlink_ask(route, msg, take_row, rows);
}

void tl_link_cards_find(struct tl_netlink *route, int ifindex, struct tl_link_cards *ret_cards)
{
    struct tl_link_row self = {0};
    struct rows one = {.rows = &self, .room = 1}, all = {.room = TL_LINK_ROWS_MAX};

    ret_cards->count = 0;
    if (ask(route, ifindex, &one) != TL_HOST_WHY_KNOWN)
        return;
    if (is_card(&self)) {
        add(ret_cards, &self);
        return;
    }
    all.rows = calloc(all.room, sizeof(*all.rows));
    if (all.rows && ask(route, 0, &all) == TL_HOST_WHY_KNOWN)
        tl_link_cards_below(all.rows, all.count, ifindex, ret_cards);
    free(all.rows);
}

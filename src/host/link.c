/* What the interface is: name, MTU, state, queue, and of which kind. */
#include "link.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <string.h>

#include "cards.h"

/* RFC 2863 section 3.1.14; the kernel's IF_OPER_* in this order. */
static const char *const states[] = {"unknown", "notpresent", "down", "lowerlayerdown",
                                     "testing", "dormant",    "up"};

/* Drivers of NICs that a hypervisor makes up. Their speed, where they tell one, is a
 * constant or the administrator's wish. */
static const char *const paravirtual_drivers[] = {"virtio_net",   "vmxnet3", "hv_netvsc", "vif",
                                                  "xen_netfront", "ena",     "gve"};

/* Kinds with a wire of their own below; every other kind's speed is only a name.
 * A bond, a vlan and a macvlan pass on the speed of the device below them. */
static const char *const wired_kinds[] = {
    TL_HOST_KIND_ETHERNET, TL_HOST_KIND_WIRELESS, TL_HOST_KIND_VLAN, "bond", "macvlan", "team"};

static void take_number(struct tl_host_settings *settings, enum tl_host_number_id id,
                        const struct nlattr *attr)
{
    uint64_t number;

    settings->numbers[id] = tl_netlink_number(attr, &number) ? tl_host_known((double)number)
                                                             : tl_host_unknown(TL_HOST_WHY_ABSENT);
}

static void take_text(struct tl_host_settings *settings, enum tl_host_text_id id,
                      const struct nlattr *attr)
{
    const char *text = tl_netlink_text(attr);

    if (text)
        tl_host_text_set(&settings->texts[id], text);
    else
        tl_host_text_unknown(&settings->texts[id], TL_HOST_WHY_ABSENT);
}

static void take_state(struct tl_host_settings *settings, const struct nlattr *attr)
{
    uint64_t state;

    if (tl_netlink_number(attr, &state) && state < sizeof(states) / sizeof(states[0]))
        tl_host_text_set(&settings->texts[TL_HOST_TEXT_LINK_STATE], states[state]);
    else
        tl_host_text_unknown(&settings->texts[TL_HOST_TEXT_LINK_STATE], TL_HOST_WHY_ABSENT);
}

static void take_address(struct tl_link_context *context, const struct nlattr *attr)
{
    size_t len = attr ? mnl_attr_get_payload_len(attr) : 0;

    context->address_len = len <= sizeof(context->address) ? len : 0;
    if (context->address_len > 0)
        memcpy(context->address, mnl_attr_get_payload(attr), context->address_len);
}

bool tl_link_parse(const struct nlmsghdr *msg, void *link_context)
{
    const struct nlattr *table[IFLA_MAX + 1], *info[IFLA_INFO_MAX + 1];
    struct tl_link_context *context = link_context;
    struct tl_host_settings *settings = context->settings;
    const struct ifinfomsg *head = mnl_nlmsg_get_payload(msg);

    if (msg->nlmsg_type != RTM_NEWLINK ||
        !tl_netlink_attributes(msg, sizeof(*head), table, IFLA_MAX) ||
        !tl_netlink_text(table[IFLA_IFNAME]))
        return false;
    context->ifindex = head->ifi_index;
    take_address(context, table[IFLA_ADDRESS]);
    context->flags = head->ifi_flags;
    context->type = head->ifi_type;
    context->has_parent = table[IFLA_PARENT_DEV_NAME] != NULL;
    take_text(settings, TL_HOST_TEXT_LINK_NAME, table[IFLA_IFNAME]);
    take_text(settings, TL_HOST_TEXT_LINK_QDISC, table[IFLA_QDISC]);
    take_state(settings, table[IFLA_OPERSTATE]);
    take_number(settings, TL_HOST_LINK_MTU, table[IFLA_MTU]);
    take_number(settings, TL_HOST_LINK_TX_QUEUE, table[IFLA_TXQLEN]);
    take_number(settings, TL_HOST_LINK_CARRIER, table[IFLA_CARRIER]);
    take_number(settings, TL_HOST_LINK_CARRIER_CHANGES, table[IFLA_CARRIER_CHANGES]);
    tl_host_text_unknown(&settings->texts[TL_HOST_TEXT_LINK_KIND], TL_HOST_WHY_ABSENT);
    if (tl_netlink_nested(table[IFLA_LINKINFO], info, IFLA_INFO_MAX))
        take_text(settings, TL_HOST_TEXT_LINK_KIND, info[IFLA_INFO_KIND]);
    return true;
}

/* Names the kind where the kernel has no name for it: hardware, loopback, wireless. */
static void settle_kind(struct tl_host_settings *settings, const struct tl_link_context *link)
{
    struct tl_host_text *kind = &settings->texts[TL_HOST_TEXT_LINK_KIND];
    const struct tl_host_text *driver = &settings->texts[TL_HOST_TEXT_LINK_DRIVER];

    if (kind->why == TL_HOST_WHY_KNOWN)
        return;
    if (link->flags & IFF_LOOPBACK)
        tl_host_text_set(kind, TL_HOST_KIND_LOOPBACK);
    else if (driver->why == TL_HOST_WHY_KNOWN && IS_ONE_OF(driver->text, paravirtual_drivers))
        tl_host_text_set(kind, TL_HOST_KIND_PARAVIRTUAL);
    else if (link->wireless)
        tl_host_text_set(kind, TL_HOST_KIND_WIRELESS);
    else if (link->type == ARPHRD_ETHER && (link->has_parent || driver->why == TL_HOST_WHY_KNOWN))
        tl_host_text_set(kind, TL_HOST_KIND_ETHERNET);
}

/* Older kernels name no kind for these (include/uapi/linux/if_arp.h). */
static bool is_tunnel_type(unsigned type)
{
    return type == ARPHRD_PPP || type == ARPHRD_TUNNEL || type == ARPHRD_TUNNEL6 ||
           type == ARPHRD_SIT || type == ARPHRD_IPGRE;
}

void tl_link_settle(struct tl_host_settings *settings, const struct tl_link_context *link)
{
    const struct tl_host_text *kind = &settings->texts[TL_HOST_TEXT_LINK_KIND];
    struct tl_host_text *card = &settings->texts[TL_HOST_TEXT_LINK_CARD_KIND];
    struct tl_host_value *nominal = &settings->numbers[TL_HOST_LINK_SPEED_NOMINAL];
    struct tl_host_value *tunnel = &settings->numbers[TL_HOST_LINK_TUNNEL];

    bool is_card = kind->why != TL_HOST_WHY_KNOWN; /* hardware has no kind of the kernel's */

    settle_kind(settings, link);
    if (is_card && kind->why == TL_HOST_WHY_KNOWN && !(link->flags & IFF_LOOPBACK)) {
        settings->texts[TL_HOST_TEXT_LINK_CARD_NAME] = settings->texts[TL_HOST_TEXT_LINK_NAME];
        *card = *kind;
        settings->numbers[TL_HOST_LINK_CARDS] = tl_host_known(1);
    }
    if (kind->why != TL_HOST_WHY_KNOWN) {
        *nominal = tl_host_unknown(kind->why);
        *tunnel = is_tunnel_type(link->type) ? tl_host_known(1) : tl_host_unknown(kind->why);
        return;
    }
    *nominal = tl_host_known(
        !IS_ONE_OF(card->why == TL_HOST_WHY_KNOWN ? card->text : kind->text, wired_kinds));
    *tunnel = tl_host_known(tl_link_is_tunnel_kind(kind->text) || is_tunnel_type(link->type));
}

/* What is the card's to say, where another one lies below the interface. */
static void take_of_card(struct tl_host_settings *settings, const struct tl_host_settings *card)
{
    static const struct {
        enum tl_host_number_id first, last;
    } ranges[] = {
        {TL_HOST_LINK_SPEED, TL_HOST_LINK_SPEED_MAX},
        {TL_HOST_LINK_FULL_DUPLEX, TL_HOST_LINK_AUTONEG},
        {TL_HOST_LINK_RX_RING, TL_HOST_LINK_RX_COALESCE_ADAPTIVE},
        {TL_HOST_LINK_PARTNER_SPEED_MAX, TL_HOST_LINK_RX_QUEUES},
        {TL_HOST_LINK_RPS, TL_HOST_WIFI_RX_BITRATE},
        {TL_HOST_LINK_CHANNELS, TL_HOST_LINK_CHANNELS_MAX},
    };

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        for (unsigned id = ranges[i].first; id <= ranges[i].last; id++)
            settings->numbers[id] = card->numbers[id];
    settings->texts[TL_HOST_TEXT_LINK_DRIVER] = card->texts[TL_HOST_TEXT_LINK_DRIVER];
    settings->texts[TL_HOST_TEXT_LINK_CARD_NAME] = card->texts[TL_HOST_TEXT_LINK_NAME];
    settings->texts[TL_HOST_TEXT_LINK_CARD_KIND] = card->texts[TL_HOST_TEXT_LINK_KIND];
}

/* The first card below; the members of a bond are alike, and one connection uses one of them. */
static void read_card(struct tl_host_settings *settings, const struct tl_link_cards *cards)
{
    const struct tl_link_row *row = &cards->cards[0];
    struct tl_host_settings below;
    struct tl_link_context link = {.settings = &below,
                                   .ifindex = row->ifindex,
                                   .address_len = row->address_len,
                                   .flags = row->flags,
                                   .type = row->type,
                                   .has_parent = true};

    tl_host_settings_init(&below);
    memcpy(link.address, row->address, row->address_len);
    tl_host_text_set(&below.texts[TL_HOST_TEXT_LINK_NAME], row->name);
    tl_host_text_unknown(&below.texts[TL_HOST_TEXT_LINK_KIND], TL_HOST_WHY_ABSENT);
    tl_ethtool_read(&below, row->ifindex, row->name);
    link.wireless = tl_wireless_read(&below, row->ifindex);
    tl_link_read_queues(&link, "");
    settle_kind(&below, &link);
    take_of_card(settings, &below);
    settings->numbers[TL_HOST_LINK_CARDS] = tl_host_known((double)cards->count);
}

/* Everything about the link has the same reason. */
static void set_link_unknown(struct tl_host_settings *settings, enum tl_host_why why)
{
    for (unsigned i = 0; i < TL_HOST_NUMBER_COUNT; i++)
        if (strncmp(tl_host_number_field(i)->name, "link_", 5) == 0 ||
            strncmp(tl_host_number_field(i)->name, "wifi_", 5) == 0)
            settings->numbers[i] = tl_host_unknown(why);
    for (unsigned i = 0; i < TL_HOST_TEXT_COUNT; i++)
        if (strncmp(tl_host_text_field(i)->name, "link_", 5) == 0)
            tl_host_text_unknown(&settings->texts[i], why);
}

int tl_host_settings_read_link(struct tl_host_settings *settings, const struct sockaddr *peer)
{
    struct tl_link_context link = {.settings = settings};
    struct tl_route_way way = {0};
    struct tl_link_cards cards = {0};
    struct tl_netlink route;
    enum tl_host_why why;

    tl_netlink_init(&route, NETLINK_ROUTE);
    why = tl_route_ask(&route, peer, settings, &way);
    if (why == TL_HOST_WHY_KNOWN)
        why = tl_netlink_ask_link(&route, way.ifindex, tl_link_parse, &link);
    if (why == TL_HOST_WHY_KNOWN)
        tl_link_cards_find(&route, way.ifindex, &cards);
    tl_netlink_finish(&route);
    if (why != TL_HOST_WHY_KNOWN) {
        set_link_unknown(settings, why);
        return way.ifindex;
    }
    tl_ethtool_read(settings, way.ifindex, settings->texts[TL_HOST_TEXT_LINK_NAME].text);
    link.wireless = tl_wireless_read(settings, way.ifindex);
    tl_link_read_queues(&link, "");
    settings->numbers[TL_HOST_LINK_CARDS] = tl_host_known(0);
    tl_host_text_unknown(&settings->texts[TL_HOST_TEXT_LINK_CARD_NAME], TL_HOST_WHY_NOT_SET);
    if (tl_link_stands_on_another(settings->texts[TL_HOST_TEXT_LINK_KIND].text))
        tl_host_text_unknown(&settings->texts[TL_HOST_TEXT_LINK_CARD_KIND], TL_HOST_WHY_NOT_SET);
    else
        tl_host_text_set(&settings->texts[TL_HOST_TEXT_LINK_CARD_KIND], TL_HOST_KIND_NONE);
    if (cards.count > 0 && cards.cards[0].ifindex != way.ifindex)
        read_card(settings, &cards);
    tl_link_settle(settings, &link);
    return way.ifindex;
}

/* Answers of rtnetlink and ethtool, recorded on Linux 6.18; those of hardware that no
 * test machine has are built here in the same form. */
#include <criterion/criterion.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "counters.h"
#include "link.h"

TestSuite(host_link);

#define MESSAGE_SIZE 16384
static _Alignas(struct nlmsghdr) unsigned char message[MESSAGE_SIZE];

/* The recorded message, in hexadecimal. Its length is what the header says. */
static struct nlmsghdr *load(const char *name)
{
    struct nlmsghdr *msg = (struct nlmsghdr *)message;
    char path[512];
    unsigned byte;
    size_t len = 0;
    FILE *file;

    snprintf(path, sizeof(path), "%s/netlink/%s.hex", HOST_TEST_DATA, name);
    file = fopen(path, "re");
    cr_assert_not_null(file, "%s", path);
    memset(message, 0, sizeof(message));
    while (len < sizeof(message) && fscanf(file, "%2x", &byte) == 1)
        message[len++] = (unsigned char)byte;
    fclose(file);
    cr_assert_eq(msg->nlmsg_len, len, "%s is whole", name);
    return msg;
}

static struct tl_host_settings settings;

static void setup(void)
{
    tl_host_settings_init(&settings);
}

static void expect_number(enum tl_host_number_id id, double number)
{
    const char *name = tl_host_number_field(id)->name;

    cr_expect_eq(settings.numbers[id].why, TL_HOST_WHY_KNOWN, "%s: %s", name,
                 tl_host_why_text(settings.numbers[id].why));
    cr_expect_eq(settings.numbers[id].number, number, "%s is %g", name,
                 settings.numbers[id].number);
}

static void expect_unknown(enum tl_host_number_id id, enum tl_host_why why)
{
    cr_expect_eq(settings.numbers[id].why, why, "%s: %s", tl_host_number_field(id)->name,
                 tl_host_why_text(settings.numbers[id].why));
    cr_expect_eq(settings.numbers[id].number, 0);
}

Test(host_link, a_route_with_metrics, .init = setup)
{
    struct tl_route_context context = {.settings = &settings};

    cr_assert(tl_route_parse(load("route-metrics"), &context));
    cr_expect_gt(context.way.ifindex, 0);
    cr_expect(context.way.has_gateway);
    cr_expect_arr_eq(context.way.gateway, ((unsigned char[]){192, 0, 2, 9}), 4);
    cr_expect_arr_eq(context.way.source, ((unsigned char[]){192, 0, 2, 1}), 4);
    expect_number(TL_HOST_ROUTE_GATEWAY, 1);
    expect_number(TL_HOST_ROUTE_MTU, 1300);
    expect_number(TL_HOST_ROUTE_ADVMSS, 1200);
    expect_number(TL_HOST_ROUTE_WINDOW, 65000);
    expect_number(TL_HOST_ROUTE_INITCWND, 20);
    expect_number(TL_HOST_ROUTE_INITRWND, 30);
    expect_unknown(TL_HOST_ROUTE_CWND_CLAMP, TL_HOST_WHY_NOT_SET);
    cr_expect_str_eq(settings.texts[TL_HOST_TEXT_ROUTE_CC].text, "cubic");
}

Test(host_link, a_route_to_a_neighbour_without_metrics, .init = setup)
{
    struct tl_route_context context = {.settings = &settings};

    cr_assert(tl_route_parse(load("route-direct"), &context));
    cr_expect_not(context.way.has_gateway);
    expect_number(TL_HOST_ROUTE_GATEWAY, 0);
    expect_unknown(TL_HOST_ROUTE_MTU, TL_HOST_WHY_NOT_SET);
    cr_expect_eq(settings.texts[TL_HOST_TEXT_ROUTE_CC].why, TL_HOST_WHY_NOT_SET);
}

Test(host_link, a_route_of_version_6, .init = setup)
{
    static const unsigned char gateway[16] = {0x20, 1, 0xd, 0xb8, [15] = 9};
    struct tl_route_context context = {.settings = NULL};

    cr_assert(tl_route_parse(load("route-v6"), &context));
    cr_expect(context.way.has_gateway);
    cr_expect_arr_eq(context.way.gateway, gateway, 16);
}

Test(host_link, a_veth, .init = setup)
{
    struct tl_link_context context = {.settings = &settings};

    cr_assert(tl_link_parse(load("link-veth"), &context));
    cr_expect_str_eq(settings.texts[TL_HOST_TEXT_LINK_NAME].text, "v0");
    cr_expect_str_eq(settings.texts[TL_HOST_TEXT_LINK_KIND].text, "veth");
    cr_expect_str_eq(settings.texts[TL_HOST_TEXT_LINK_QDISC].text, "noqueue");
    cr_expect_str_eq(settings.texts[TL_HOST_TEXT_LINK_STATE].text, "up");
    expect_number(TL_HOST_LINK_MTU, 1500);
    expect_number(TL_HOST_LINK_CARRIER, 1);
    expect_number(TL_HOST_LINK_TX_QUEUE, 1000);
    cr_expect_not(context.has_parent);
}

Test(host_link, a_tun_without_carrier_and_a_nic_without_kind, .init = setup)
{
    struct tl_link_context context = {.settings = &settings};

    cr_assert(tl_link_parse(load("link-tun"), &context));
    cr_expect_str_eq(settings.texts[TL_HOST_TEXT_LINK_KIND].text, "tun");
    expect_number(TL_HOST_LINK_CARRIER, 0);
    cr_assert(tl_link_parse(load("link-virtio"), &context));
    cr_expect_eq(settings.texts[TL_HOST_TEXT_LINK_KIND].why, TL_HOST_WHY_ABSENT);
    expect_number(TL_HOST_LINK_MTU, 1400);
    cr_expect(context.has_parent);
}

Test(host_link, link_modes_of_a_veth_and_of_virtio, .init = setup)
{
    cr_assert(tl_ethtool_parse_linkmodes(load("linkmodes-veth"), &settings));
    expect_number(TL_HOST_LINK_SPEED, 1e10);
    expect_number(TL_HOST_LINK_FULL_DUPLEX, 1);
    expect_number(TL_HOST_LINK_AUTONEG, 0);
    expect_unknown(TL_HOST_LINK_SPEED_MAX, TL_HOST_WHY_NO_ANSWER);
    cr_assert(tl_ethtool_parse_linkmodes(load("linkmodes-virtio"), &settings));
    expect_unknown(TL_HOST_LINK_SPEED, TL_HOST_WHY_NO_ANSWER);
    expect_unknown(TL_HOST_LINK_FULL_DUPLEX, TL_HOST_WHY_NO_ANSWER);
}

Test(host_link, features_rings_and_coalescing, .init = setup)
{
    cr_assert(tl_ethtool_parse_features(load("features-virtio"), &settings));
    expect_number(TL_HOST_LINK_TSO, 1);
    expect_number(TL_HOST_LINK_GRO, 1);
    expect_number(TL_HOST_LINK_LRO, 0);
    expect_number(TL_HOST_LINK_TX_CHECKSUM, 1);
    cr_assert(tl_ethtool_parse_features(load("features-veth"), &settings));
    expect_number(TL_HOST_LINK_GSO, 1);
    expect_number(TL_HOST_LINK_GRO, 0);
    cr_assert(tl_ethtool_parse_rings(load("rings-virtio"), &settings));
    expect_number(TL_HOST_LINK_RX_RING, 256);
    expect_number(TL_HOST_LINK_TX_RING_MAX, 256);
    cr_assert(tl_ethtool_parse_coalesce(load("coalesce-virtio"), &settings));
    expect_number(TL_HOST_LINK_RX_COALESCE_FRAMES, 1);
    expect_number(TL_HOST_LINK_RX_COALESCE, 0);
    cr_assert(tl_ethtool_parse_coalesce(load("coalesce-tun"), &settings));
    expect_unknown(TL_HOST_LINK_RX_COALESCE, TL_HOST_WHY_NO_ANSWER);
}

Test(host_link, a_weak_wireless_link, .init = setup)
{
    cr_assert(tl_wireless_parse_interface(load("interface-weak"), &settings));
    expect_number(TL_HOST_WIFI_FREQUENCY, 2437);
    expect_number(TL_HOST_WIFI_WIDTH, 20);
    cr_assert(tl_wireless_parse_station(load("station-weak"), &settings));
    expect_number(TL_HOST_WIFI_SIGNAL, -74);
    expect_number(TL_HOST_WIFI_TX_BITRATE, 65e6);
    expect_number(TL_HOST_WIFI_RX_BITRATE, 65e6);
}

Test(host_link, half_duplex_beside_a_port_that_does_not_negotiate, .init = setup)
{
    cr_assert(tl_ethtool_parse_linkmodes(load("linkmodes-half"), &settings));
    expect_number(TL_HOST_LINK_FULL_DUPLEX, 0);
    expect_number(TL_HOST_LINK_PARTNER_AUTONEG, 0);
    expect_number(TL_HOST_LINK_PARTNER_SPEED_MAX, 1e8);
    expect_number(TL_HOST_LINK_SPEED_MAX, 1e9);
    cr_assert(tl_ethtool_parse_pause(load("pause-on"), &settings));
    expect_number(TL_HOST_LINK_PAUSE_RX, 1);
}

/* A dump tells of every interface: only our own root counts. */
Test(host_link, a_queueing_discipline_of_our_interface)
{
    struct tl_host_counters counters = {.ifindex = 2}, other = {.ifindex = 3};

    cr_assert(tl_counters_parse_qdisc(load("qdisc-pfifo"), &counters));
    cr_expect_eq(counters.counts[TL_HOST_COUNTER_QDISC_DROPPED], 17);
    cr_expect_eq(counters.counts[TL_HOST_COUNTER_QDISC_REQUEUES], 3);
    cr_expect_eq(counters.counts[TL_HOST_COUNTER_QDISC_OVERLIMITS], 5);
    cr_assert(tl_counters_parse_qdisc(load("qdisc-pfifo"), &other));
    cr_expect_eq(other.counts[TL_HOST_COUNTER_QDISC_DROPPED], 0);
}

static void put_mode(struct nlmsghdr *msg, const char *name)
{
    struct nlattr *bit = mnl_attr_nest_start(msg, ETHTOOL_A_BITSET_BITS_BIT);

    mnl_attr_put_strz(msg, ETHTOOL_A_BITSET_BIT_NAME, name);
    mnl_attr_nest_end(msg, bit);
}

/* What a gigabit NIC that fell back to 100 Mb/s half duplex answers. */
static struct nlmsghdr *build_linkmodes(void)
{
    struct nlmsghdr *msg = mnl_nlmsg_put_header(message);
    struct nlattr *ours, *bits;

    msg->nlmsg_type = 20;
    mnl_nlmsg_put_extra_header(msg, sizeof(struct genlmsghdr));
    mnl_attr_put_u8(msg, ETHTOOL_A_LINKMODES_AUTONEG, 1);
    mnl_attr_put_u32(msg, ETHTOOL_A_LINKMODES_SPEED, 100);
    mnl_attr_put_u8(msg, ETHTOOL_A_LINKMODES_DUPLEX, 0);
    ours = mnl_attr_nest_start(msg, ETHTOOL_A_LINKMODES_OURS);
    bits = mnl_attr_nest_start(msg, ETHTOOL_A_BITSET_BITS);
    put_mode(msg, "10baseT/Half");
    put_mode(msg, "1000baseT/Full");
    put_mode(msg, "100baseT/Full");
    put_mode(msg, "Autoneg");
    put_mode(msg, "TP");
    mnl_attr_nest_end(msg, bits);
    mnl_attr_nest_end(msg, ours);
    return msg;
}

Test(host_link, a_nic_that_fell_back_to_a_low_speed, .init = setup)
{
    cr_assert(tl_ethtool_parse_linkmodes(build_linkmodes(), &settings));
    expect_number(TL_HOST_LINK_SPEED, 1e8);
    expect_number(TL_HOST_LINK_SPEED_MAX, 1e9);
    expect_number(TL_HOST_LINK_FULL_DUPLEX, 0);
    expect_number(TL_HOST_LINK_AUTONEG, 1);
}

Test(host_link, speeds_of_mode_names)
{
    cr_expect_eq(tl_ethtool_mode_bps("2500baseX/Full"), 2.5e9);
    cr_expect_eq(tl_ethtool_mode_bps("100000baseKR4/Full"), 1e11);
    cr_expect_eq(tl_ethtool_mode_bps("Autoneg"), 0);
    cr_expect_eq(tl_ethtool_mode_bps("10gig"), 0);
    cr_expect_eq(tl_ethtool_mode_bps(""), 0);
    cr_expect_eq(tl_ethtool_mode_bps("99999999999999baseT"), 0);
}

struct parser {
    const char *recording;
    tl_netlink_parse_fn parse;
};

static const struct parser parsers[] = {
    {"route-metrics", tl_route_parse},
    {"link-veth", tl_link_parse},
    {"linkmodes-veth", tl_ethtool_parse_linkmodes},
    {"features-virtio", tl_ethtool_parse_features},
    {"rings-virtio", tl_ethtool_parse_rings},
    {"coalesce-virtio", tl_ethtool_parse_coalesce},
    {"linkmodes-half", tl_ethtool_parse_linkmodes},
    {"pause-on", tl_ethtool_parse_pause},
    {"interface-weak", tl_wireless_parse_interface},
    {"station-weak", tl_wireless_parse_station},
    {"station-weak", tl_counters_parse_station},
    {"qdisc-pfifo", tl_counters_parse_qdisc},
};

/* Runs a parser on len bytes in a heap block of just that size, so that a sanitizer
 * sees any byte read behind it. */
static void parse_exactly(const struct parser *parser, const void *bytes, size_t len)
{
    struct tl_route_context route = {.settings = &settings};
    struct tl_link_context link = {.settings = &settings};
    static struct tl_host_counters counters = {.ifindex = 2};
    struct nlmsghdr *copy = malloc(len);

    cr_assert_not_null(copy);
    memcpy(copy, bytes, len);
    copy->nlmsg_len = (uint32_t)len;
    if (parser->parse == tl_route_parse)
        parser->parse(copy, &route);
    else if (parser->parse == tl_link_parse)
        parser->parse(copy, &link);
    else if (parser->parse == tl_counters_parse_station || parser->parse == tl_counters_parse_qdisc)
        parser->parse(copy, &counters);
    else
        parser->parse(copy, &settings);
    free(copy);
}

Test(host_link, answers_cut_anywhere_do_no_harm, .init = setup)
{
    for (size_t i = 0; i < sizeof(parsers) / sizeof(parsers[0]); i++) {
        struct nlmsghdr *msg = load(parsers[i].recording);

        for (size_t len = sizeof(*msg); len < msg->nlmsg_len; len++)
            parse_exactly(&parsers[i], message, len);
    }
    for (unsigned i = 0; i < TL_HOST_TEXT_COUNT; i++)
        cr_expect_not_null(memchr(settings.texts[i].text, '\0', TL_HOST_TEXT_SIZE));
}

Test(host_link, answers_with_any_byte_changed_do_no_harm, .init = setup)
{
    static const unsigned char values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};

    for (size_t i = 0; i < sizeof(parsers) / sizeof(parsers[0]); i++) {
        uint32_t len = load(parsers[i].recording)->nlmsg_len;

        for (size_t at = sizeof(struct nlmsghdr); at < len; at++)
            for (size_t v = 0; v < sizeof(values); v++) {
                unsigned char kept = message[at];

                message[at] = values[v];
                parse_exactly(&parsers[i], message, len);
                message[at] = kept;
            }
    }
    for (unsigned i = 0; i < TL_HOST_TEXT_COUNT; i++)
        cr_expect_not_null(memchr(settings.texts[i].text, '\0', TL_HOST_TEXT_SIZE));
}

Test(host_link, an_answer_of_another_type_is_refused, .init = setup)
{
    struct tl_route_context route = {.settings = &settings};
    struct tl_link_context link = {.settings = &settings};

    cr_expect_not(tl_route_parse(load("link-veth"), &route));
    cr_expect_not(tl_link_parse(load("route-direct"), &link));
    expect_unknown(TL_HOST_ROUTE_GATEWAY, TL_HOST_WHY_NOT_READ);
}

static bool loopback_is_up(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool up = ioctl(fd, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP);

    close(fd);
    return up;
}

static struct sockaddr_in loopback = {.sin_family = AF_INET};

Test(host_link, the_way_to_this_machine_is_its_loopback, .init = setup)
{
    int ifindex;

    if (!loopback_is_up())
        cr_skip_test("the loopback interface of this namespace is down");
    loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ifindex = tl_host_settings_read(&settings, (const struct sockaddr *)&loopback);
    cr_assert_gt(ifindex, 0);
    cr_expect_eq(ifindex, (int)if_nametoindex("lo"));
    cr_expect_str_eq(settings.texts[TL_HOST_TEXT_LINK_NAME].text, "lo");
    cr_expect_str_eq(settings.texts[TL_HOST_TEXT_LINK_KIND].text, TL_HOST_KIND_LOOPBACK);
    expect_number(TL_HOST_LINK_SPEED_NOMINAL, 1);
    expect_number(TL_HOST_ROUTE_GATEWAY, 0);
    cr_expect_geq(settings.numbers[TL_HOST_LINK_MTU].number, 1280);
    expect_number(TL_HOST_LINK_GSO, 1);
}

static bool says_the_same(const struct tl_host_settings *by_ioctl, unsigned id)
{
    const struct tl_host_value *a = &settings.numbers[id], *b = &by_ioctl->numbers[id];

    if (id == TL_HOST_LINK_SPEED_MAX || id == TL_HOST_LINK_SPEED_NOMINAL)
        return true; /* GSET does not tell the one, neither the other */
    return a->why == b->why && a->number == b->number;
}

Test(host_link, both_ways_of_asking_ethtool_agree_on_every_interface)
{
    struct if_nameindex *interfaces = if_nameindex();
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    cr_assert_not_null(interfaces);
    for (struct if_nameindex *at = interfaces; at->if_index != 0; at++) {
        struct tl_host_settings by_ioctl;

        tl_host_settings_init(&settings);
        tl_host_settings_init(&by_ioctl);
        tl_ethtool_read(&settings, (int)at->if_index, at->if_name);
        tl_ethtool_ioctl_read(&by_ioctl, fd, at->if_name);
        cr_expect_eq(by_ioctl.numbers[TL_HOST_LINK_GSO].why, TL_HOST_WHY_KNOWN);
        for (unsigned id = TL_HOST_LINK_SPEED; id <= TL_HOST_LINK_RX_COALESCE_ADAPTIVE; id++)
            if (tl_host_number_field(id)->source[0] == 'e')
                cr_expect(says_the_same(&by_ioctl, id), "%s: %s is %g (%s) and %g (%s)",
                          at->if_name, tl_host_number_field(id)->name, settings.numbers[id].number,
                          tl_host_why_text(settings.numbers[id].why), by_ioctl.numbers[id].number,
                          tl_host_why_text(by_ioctl.numbers[id].why));
    }
    if_freenameindex(interfaces);
    close(fd);
}

static void expect_kind(const char *kind, bool nominal)
{
    cr_expect_str_eq(settings.texts[TL_HOST_TEXT_LINK_KIND].text, kind);
    expect_number(TL_HOST_LINK_SPEED_NOMINAL, nominal);
}

static void settle(const char *kernel_kind, const char *driver, struct tl_link_context link)
{
    tl_host_settings_init(&settings);
    if (kernel_kind)
        tl_host_text_set(&settings.texts[TL_HOST_TEXT_LINK_KIND], kernel_kind);
    if (driver)
        tl_host_text_set(&settings.texts[TL_HOST_TEXT_LINK_DRIVER], driver);
    tl_link_settle(&settings, &link);
}

/* An interface with another card below it. */
static void settle_on(const char *kernel_kind, const char *card_kind)
{
    struct tl_link_context link = {.settings = &settings, .type = ARPHRD_NONE};

    tl_host_settings_init(&settings);
    tl_host_text_set(&settings.texts[TL_HOST_TEXT_LINK_KIND], kernel_kind);
    tl_host_text_set(&settings.texts[TL_HOST_TEXT_LINK_CARD_KIND], card_kind);
    tl_link_settle(&settings, &link);
    cr_expect_str_eq(settings.texts[TL_HOST_TEXT_LINK_CARD_KIND].text, card_kind);
}

Test(host_link, only_wires_have_speeds_of_their_own)
{
    struct tl_link_context nic = {.type = ARPHRD_ETHER, .has_parent = true};
    struct tl_link_context wifi = {.type = ARPHRD_ETHER, .has_parent = true, .wireless = true};

    settle(NULL, "e1000e", nic);
    expect_kind(TL_HOST_KIND_ETHERNET, false);
    settle(NULL, "iwlwifi", wifi);
    expect_kind(TL_HOST_KIND_WIRELESS, false);
    settle("vlan", "802.1Q VLAN Support", (struct tl_link_context){.type = ARPHRD_ETHER});
    expect_kind(TL_HOST_KIND_VLAN, false);
    settle(NULL, "virtio_net", nic);
    expect_kind(TL_HOST_KIND_PARAVIRTUAL, true);
    settle("veth", "veth", (struct tl_link_context){.type = ARPHRD_ETHER});
    expect_kind(TL_HOST_KIND_VETH, true);
    settle("wireguard", NULL, (struct tl_link_context){.type = ARPHRD_NONE});
    expect_kind("wireguard", true);
    settle_on("wireguard", TL_HOST_KIND_WIRELESS);
    expect_kind("wireguard", false);
    settle_on("bond", TL_HOST_KIND_PARAVIRTUAL);
    expect_kind("bond", true);
    settle(NULL, NULL, (struct tl_link_context){.type = ARPHRD_PPP});
    expect_unknown(TL_HOST_LINK_SPEED_NOMINAL, TL_HOST_WHY_NOT_READ);
}

Test(host_link, a_peer_without_a_route_says_so, .init = setup)
{
    struct sockaddr strange = {.sa_family = AF_UNIX};

    cr_expect_eq(tl_host_settings_read_link(&settings, &strange), 0);
    expect_unknown(TL_HOST_LINK_MTU, TL_HOST_WHY_NO_ROUTE);
    expect_unknown(TL_HOST_ROUTE_MTU, TL_HOST_WHY_NO_ROUTE);
    cr_expect_eq(settings.texts[TL_HOST_TEXT_LINK_NAME].why, TL_HOST_WHY_NO_ROUTE);
}

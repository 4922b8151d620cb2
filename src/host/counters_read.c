/* Where the kernel's network counters are read. */
#include "counters.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "cards.h"
#include "link.h"
#include "proc.h"

/* snmp and netstat come as pairs of lines: names, then numbers. */
struct snmp_pairs {
    struct tl_host_counters *counters;
    char names[8192]; /* the first line of a pair, "" between pairs */
};

/* Where each TL_COUNTER_LINK row is in the kernel's struct; older kernels send a shorter one. */
#define STAT(id, field)                                                                            \
    {                                                                                              \
        TL_HOST_COUNTER_LINK_##id, offsetof(struct rtnl_link_stats64, field)                       \
    }
static const struct {
    enum tl_host_counter_id id;
    size_t offset;
} link_rows[] = {
    STAT(RX_BYTES, rx_bytes),
    STAT(TX_BYTES, tx_bytes),
    STAT(RX_PACKETS, rx_packets),
    STAT(TX_PACKETS, tx_packets),
    STAT(RX_ERRORS, rx_errors),
    STAT(TX_ERRORS, tx_errors),
    STAT(RX_DROPPED, rx_dropped),
    STAT(TX_DROPPED, tx_dropped),
    STAT(RX_MISSED, rx_missed_errors),
    STAT(RX_FIFO, rx_fifo_errors),
    STAT(RX_CRC, rx_crc_errors),
    STAT(RX_FRAME, rx_frame_errors),
    STAT(TX_CARRIER, tx_carrier_errors),
    STAT(COLLISIONS, collisions),
    STAT(RX_OVER, rx_over_errors),
    STAT(TX_ABORTED, tx_aborted_errors),
    STAT(TX_WINDOW, tx_window_errors),
};

static void set_source(struct tl_host_counters *counters, enum tl_counter_source source,
                       enum tl_host_why why)
{
    for (unsigned i = 0; i < TL_HOST_COUNTER_COUNT; i++)
        if (tl_counter_rows[i].source == source)
            counters->why[i] = why;
}

/* One line of softnet_stat: adds its columns to the counters. */
static bool take_softnet(char *line, void *context)
{
    struct tl_host_counters *counters = context;
    const char *at = line;
    uint64_t columns[3];

    for (size_t i = 0; i < 3; i++)
        if (!tl_proc_take_hex(&at, &columns[i]) || columns[i] > UINT32_MAX)
            return true;
    for (unsigned i = 0; i < 3; i++)
        tl_counters_set(counters, TL_HOST_COUNTER_SOFTNET_PROCESSED + i,
                        counters->counts[TL_HOST_COUNTER_SOFTNET_PROCESSED + i] + columns[i]);
    return true;
}

/* Finds "Group:Name"; prefix has the length of "Group:". */
static int find_snmp(const char *line, size_t prefix, const char *name, size_t len)
{
    for (unsigned i = 0; i < TL_HOST_COUNTER_COUNT; i++)
        if (tl_counter_rows[i].source == TL_COUNTER_SNMP &&
            strncmp(tl_counter_rows[i].key, line, prefix) == 0 &&
            strncmp(tl_counter_rows[i].key + prefix, name, len) == 0 &&
            tl_counter_rows[i].key[prefix + len] == '\0')
            return (int)i;
    return -1;
}

/* Both lines side by side. Numbers may be negative (MaxConn is -1). */
static void take_pair(struct snmp_pairs *pairs, const char *numbers, size_t prefix)
{
    const char *name = pairs->names + prefix, *at = numbers + prefix;

    for (;;) {
        size_t len;
        uint64_t count;
        double ignored;
        int id;

        name += strspn(name, " ");
        len = strcspn(name, " ");
        if (len == 0)
            return;
        id = find_snmp(pairs->names, prefix, name, len);
        if (tl_proc_take_u64(&at, &count)) {
            if (id >= 0)
                tl_counters_set(pairs->counters, (unsigned)id, count);
        } else if (!tl_proc_take_decimal(&at, &ignored)) {
            return; /* what follows cannot be matched to its names */
        }
        name += len;
    }
}

static bool take_snmp(char *line, void *context)
{
    struct snmp_pairs *pairs = context;
    const char *colon = strchr(line, ':');
    size_t prefix = colon ? (size_t)(colon - line) + 1 : 0;

    if (prefix > 0 && strncmp(pairs->names, line, prefix) == 0) {
        take_pair(pairs, line, prefix);
        pairs->names[0] = '\0';
    } else {
        size_t len = strnlen(line, sizeof(pairs->names) - 1);

        memcpy(pairs->names, line, len);
        pairs->names[len] = '\0';
    }
    return true;
}

/* "Udp6RcvbufErrors      0" */
static bool take_snmp6(char *line, void *context)
{
    struct tl_host_counters *counters = context;
    size_t len = strcspn(line, " \t");
    const char *at = line + len;
    uint64_t count;

    for (unsigned i = 0; i < TL_HOST_COUNTER_COUNT; i++)
        if (tl_counter_rows[i].source == TL_COUNTER_SNMP6 &&
            strncmp(tl_counter_rows[i].key, line, len) == 0 &&
            tl_counter_rows[i].key[len] == '\0' && tl_proc_take_u64(&at, &count))
            tl_counters_set(counters, i, count);
    return true;
}

bool tl_counters_parse_link(const struct nlmsghdr *msg, void *context)
{
    const struct nlattr *table[IFLA_MAX + 1];
    struct tl_host_counters *counters = context;
    const unsigned char *stats;
    size_t len;

    if (msg->nlmsg_type != RTM_NEWLINK ||
        !tl_netlink_attributes(msg, sizeof(struct ifinfomsg), table, IFLA_MAX) ||
        !table[IFLA_STATS64])
        return false;
    stats = mnl_attr_get_payload(table[IFLA_STATS64]);
    len = mnl_attr_get_payload_len(table[IFLA_STATS64]);
    for (size_t i = 0; i < sizeof(link_rows) / sizeof(link_rows[0]); i++) {
        uint64_t count;

        if (link_rows[i].offset + sizeof(count) > len)
            continue;
        memcpy(&count, stats + link_rows[i].offset, sizeof(count));
        tl_counters_set(counters, link_rows[i].id, count);
    }
    return true;
}

/* What was not known before the source was asked has the source's reason. */
static void settle(struct tl_host_counters *counters, enum tl_counter_source source,
                   enum tl_host_why why)
{
    if (why != TL_HOST_WHY_KNOWN)
        set_source(counters, source, why);
}

/* What a card loses or damages: where it lies below the interface, that one does not know of it. */
static bool is_cards(enum tl_host_counter_id id)
{
    switch (id) {
    case TL_HOST_COUNTER_LINK_RX_BYTES:
    case TL_HOST_COUNTER_LINK_TX_BYTES:
    case TL_HOST_COUNTER_LINK_RX_PACKETS:
    case TL_HOST_COUNTER_LINK_TX_PACKETS:
    case TL_HOST_COUNTER_LINK_RX_DROPPED:
    case TL_HOST_COUNTER_LINK_TX_DROPPED:
        return false;
    default:
        return true;
    }
}

/* A bond counts what its members do, a tunnel nothing of it: the larger is the whole. */
static void read_cards_errors(struct tl_netlink *route, const struct tl_link_cards *cards,
                              struct tl_host_counters *counters)
{
    uint64_t sums[sizeof(link_rows) / sizeof(link_rows[0])] = {0};

    for (size_t card = 0; card < cards->count; card++) {
        struct tl_host_counters of_card;

        tl_counters_begin(&of_card, cards->cards[card].ifindex);
        if (tl_netlink_ask_link(route, of_card.ifindex, tl_counters_parse_link, &of_card) !=
            TL_HOST_WHY_KNOWN)
            continue;
        for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
            sums[i] += of_card.counts[link_rows[i].id];
    }
    for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
        if (is_cards(link_rows[i].id) && sums[i] > counters->counts[link_rows[i].id])
            tl_counters_set(counters, link_rows[i].id, sums[i]);
}

/* The driver's counters of all cards add up; of several the last reason stands. */
static void read_cards_nic(const struct tl_link_cards *cards, struct tl_host_counters *counters)
{
    enum tl_host_why why = tl_counters_read_nic(counters, cards->cards[0].ifindex);

    for (size_t card = 1; card < cards->count; card++)
        if (tl_counters_read_nic(counters, cards->cards[card].ifindex) == TL_HOST_WHY_KNOWN)
            why = TL_HOST_WHY_KNOWN;
    settle(counters, TL_COUNTER_NIC, why);
    settle(counters, TL_COUNTER_STATION,
           tl_counters_read_station(counters, cards->cards[0].ifindex));
}

static void read_link(struct tl_host_counters *counters)
{
    struct tl_link_cards cards;
    struct tl_netlink route;

    tl_netlink_init(&route, NETLINK_ROUTE);
    tl_link_cards_find(&route, counters->ifindex, &cards);
    if (cards.count == 0)
        cards = (struct tl_link_cards){.count = 1, .cards = {{.ifindex = counters->ifindex}}};
    settle(counters, TL_COUNTER_LINK,
           tl_netlink_ask_link(&route, counters->ifindex, tl_counters_parse_link, counters));
    if (cards.cards[0].ifindex != counters->ifindex)
        read_cards_errors(&route, &cards, counters);
    settle(counters, TL_COUNTER_QDISC, tl_counters_read_qdisc(&route, counters));
    tl_netlink_finish(&route);
    read_cards_nic(&cards, counters);
}

/* The thread's own directory: /proc/net would show the namespace of the main thread. */
#define NET_DIR "/proc/thread-self/net/"

static void read_snmp(struct tl_host_counters *counters, const char *root)
{
    struct snmp_pairs pairs = {.counters = counters};
    enum tl_host_why why = tl_proc_each_line(root, NET_DIR "snmp", take_snmp, &pairs);

    pairs.names[0] = '\0';
    if (why == TL_HOST_WHY_KNOWN)
        why = tl_proc_each_line(root, NET_DIR "netstat", take_snmp, &pairs);
    if (why != TL_HOST_WHY_KNOWN)
        set_source(counters, TL_COUNTER_SNMP, why);
}

/* "TCP: inuse 1 orphan 0 tw 0 alloc 1 mem 55" */
static bool take_sockstat(char *line, void *context)
{
    const char *at = strstr(line, " mem ");
    uint64_t pages;

    if (strncmp(line, "TCP:", 4) != 0)
        return true;
    if (at) {
        at += strlen(" mem ");
        if (tl_proc_take_u64(&at, &pages))
            tl_counters_set(context, TL_HOST_COUNTER_TCP_MEMORY_PAGES, pages);
    }
    return false;
}

static void read_gauges(struct tl_host_counters *counters, const char *root)
{
    char text[32];
    const char *at = text;
    uint64_t entries;
    enum tl_host_why why = tl_proc_each_line(root, NET_DIR "sockstat", take_sockstat, counters);

    if (why != TL_HOST_WHY_KNOWN)
        counters->why[TL_HOST_COUNTER_TCP_MEMORY_PAGES] = why;
    why = tl_proc_read(root, tl_counter_rows[TL_HOST_COUNTER_CONNTRACK_ENTRIES].key, text,
                       sizeof(text));
    if (why == TL_HOST_WHY_KNOWN && !tl_proc_take_u64(&at, &entries))
        why = TL_HOST_WHY_MALFORMED;
    if (why == TL_HOST_WHY_KNOWN)
        tl_counters_set(counters, TL_HOST_COUNTER_CONNTRACK_ENTRIES, entries);
    else
        counters->why[TL_HOST_COUNTER_CONNTRACK_ENTRIES] = why;
}

void tl_counters_read_files(struct tl_host_counters *counters, const char *root)
{
    settle(counters, TL_COUNTER_SOFTNET,
           tl_proc_each_line(root, NET_DIR "softnet_stat", take_softnet, counters));
    read_snmp(counters, root);
    settle(counters, TL_COUNTER_SNMP6,
           tl_proc_each_line(root, NET_DIR "snmp6", take_snmp6, counters));
    settle(counters, TL_COUNTER_TRACK, tl_counters_read_tracking(counters, root));
    read_gauges(counters, root);
}

void tl_host_counters_read(struct tl_host_counters *ret_counters, const char *root, int ifindex)
{
    static const enum tl_counter_source of_link[] = {TL_COUNTER_LINK, TL_COUNTER_NIC,
                                                     TL_COUNTER_QDISC, TL_COUNTER_STATION};

    tl_counters_begin(ret_counters, ifindex);
    if (ifindex > 0)
        read_link(ret_counters);
    else
        for (size_t i = 0; i < sizeof(of_link) / sizeof(of_link[0]); i++)
            set_source(ret_counters, of_link[i], TL_HOST_WHY_NOT_READ);
    tl_counters_read_files(ret_counters, root);
}

int tl_host_link_index(const struct sockaddr *peer)
{
    struct tl_route_way way = {0};
    struct tl_netlink route;
    enum tl_host_why why;

    tl_netlink_init(&route, NETLINK_ROUTE);
    why = tl_route_ask(&route, peer, NULL, &way);
    tl_netlink_finish(&route);
    return why == TL_HOST_WHY_KNOWN ? way.ifindex : 0;
}

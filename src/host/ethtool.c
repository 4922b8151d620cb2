/* The interface's speed, offloads, rings and coalescing by the ethtool netlink family
 * (Documentation/networking/ethtool-netlink.rst). Names of bits are asked for instead of
 * bit numbers, so that no table of numbers can grow old. */
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "link.h"

#define MBPS 1e6

double tl_ethtool_mode_bps(const char *name)
{
    double mbps = 0;
    unsigned digits = 0;

    for (; *name >= '0' && *name <= '9' && digits < 9; name++, digits++)
        mbps = mbps * 10 + (*name - '0');
    return digits > 0 && strncmp(name, "base", 4) == 0 ? mbps * MBPS : 0;
}

/* Called with each named bit; with_value tells that the bit itself is set, not only
 * its mask. */
typedef void (*bit_fn)(const char *name, bool with_value, void *context);

struct bit_walk {
    bit_fn fn;
    void *context;
};

static int take_bit(const struct nlattr *attr, void *context)
{
    const struct nlattr *bit[ETHTOOL_A_BITSET_BIT_MAX + 1];
    struct bit_walk *walk = context;
    const char *name;

    if (mnl_attr_get_type(attr) != ETHTOOL_A_BITSET_BITS_BIT ||
        !tl_netlink_nested(attr, bit, ETHTOOL_A_BITSET_BIT_MAX))
        return MNL_CB_OK;
    name = tl_netlink_text(bit[ETHTOOL_A_BITSET_BIT_NAME]);
    if (name)
        walk->fn(name, bit[ETHTOOL_A_BITSET_BIT_VALUE] != NULL, walk->context);
    return MNL_CB_OK;
}

/* False when there is no verbose bitset. */
static bool walk_bits(const struct nlattr *bitset, bit_fn fn, void *context)
{
    const struct nlattr *parts[ETHTOOL_A_BITSET_MAX + 1];
    struct bit_walk walk = {.fn = fn, .context = context};

    if (!tl_netlink_nested(bitset, parts, ETHTOOL_A_BITSET_MAX) || !parts[ETHTOOL_A_BITSET_BITS])
        return false;
    return mnl_attr_parse_nested(parts[ETHTOOL_A_BITSET_BITS], take_bit, &walk) >= 0;
}

static void take_number(struct tl_host_settings *settings, enum tl_host_number_id id,
                        const struct nlattr *attr, double factor)
{
    uint64_t number;

    settings->numbers[id] = tl_netlink_number(attr, &number)
                                ? tl_host_known((double)number * factor)
                                : tl_host_unknown(TL_HOST_WHY_NO_ANSWER);
}

static void take_fastest(const char *name, bool with_value, void *context)
{
    double *fastest = context, bps = tl_ethtool_mode_bps(name);

    if (bps > *fastest)
        *fastest = bps;
}

struct partner {
    double fastest_bps;
    bool named, autoneg;
};

static void take_partner(const char *name, bool with_value, void *context)
{
    struct partner *partner = context;

    partner->named = true;
    partner->autoneg |= strcmp(name, "Autoneg") == 0;
    take_fastest(name, with_value, &partner->fastest_bps);
}

/* The link partner's modes are known only where it negotiates. */
static void take_peer(struct tl_host_value *numbers, const struct nlattr *modes)
{
    struct partner partner = {0};

    if (modes)
        walk_bits(modes, take_partner, &partner);
    numbers[TL_HOST_LINK_PARTNER_SPEED_MAX] = partner.fastest_bps > 0
                                                  ? tl_host_known(partner.fastest_bps)
                                                  : tl_host_unknown(TL_HOST_WHY_NO_ANSWER);
    numbers[TL_HOST_LINK_PARTNER_AUTONEG] =
        partner.named ? tl_host_known(partner.autoneg) : tl_host_unknown(TL_HOST_WHY_NO_ANSWER);
}

bool tl_ethtool_parse_linkmodes(const struct nlmsghdr *msg, void *settings_context)
{
    const struct nlattr *table[ETHTOOL_A_LINKMODES_MAX + 1];
    struct tl_host_settings *settings = settings_context;
    struct tl_host_value *numbers = settings->numbers;
    double fastest = 0;

    if (!tl_netlink_attributes(msg, sizeof(struct genlmsghdr), table, ETHTOOL_A_LINKMODES_MAX))
        return false;
    take_number(settings, TL_HOST_LINK_AUTONEG, table[ETHTOOL_A_LINKMODES_AUTONEG], 1);
    take_number(settings, TL_HOST_LINK_SPEED, table[ETHTOOL_A_LINKMODES_SPEED], MBPS);
    if (numbers[TL_HOST_LINK_SPEED].number == (double)(uint32_t)SPEED_UNKNOWN * MBPS ||
        numbers[TL_HOST_LINK_SPEED].number == 0)
        numbers[TL_HOST_LINK_SPEED] = tl_host_unknown(TL_HOST_WHY_NO_ANSWER);
    take_number(settings, TL_HOST_LINK_FULL_DUPLEX, table[ETHTOOL_A_LINKMODES_DUPLEX], 1);
    if (numbers[TL_HOST_LINK_FULL_DUPLEX].number > DUPLEX_FULL)
        numbers[TL_HOST_LINK_FULL_DUPLEX] = tl_host_unknown(TL_HOST_WHY_NO_ANSWER);
    /* The mask of "ours" are the supported modes, its values the advertised ones. */
    walk_bits(table[ETHTOOL_A_LINKMODES_OURS], take_fastest, &fastest);
    numbers[TL_HOST_LINK_SPEED_MAX] =
        fastest > 0 ? tl_host_known(fastest) : tl_host_unknown(TL_HOST_WHY_NO_ANSWER);
    take_peer(numbers, table[ETHTOOL_A_LINKMODES_PEER]);
    return true;
}

/* Names of net/ethtool/common.c, netdev_features_strings. */
static const struct {
    const char *name;
    enum tl_host_number_id id;
} feature_rows[] = {
    {"tx-tcp-segmentation", TL_HOST_LINK_TSO},
    {"tx-generic-segmentation", TL_HOST_LINK_GSO},
    {"rx-gro", TL_HOST_LINK_GRO},
    {"rx-lro", TL_HOST_LINK_LRO},
    {"tx-checksum-ip-generic", TL_HOST_LINK_TX_CHECKSUM},
    {"tx-checksum-ipv4", TL_HOST_LINK_TX_CHECKSUM},
    {"tx-checksum-ipv6", TL_HOST_LINK_TX_CHECKSUM},
    {"rx-checksum", TL_HOST_LINK_RX_CHECKSUM},
};
#define FEATURE_ROWS (sizeof(feature_rows) / sizeof(feature_rows[0]))

/* "active" is a list without a mask: a bit that is named is on. */
static void take_feature(const char *name, bool with_value, void *context)
{
    struct tl_host_settings *settings = context;

    for (size_t i = 0; i < FEATURE_ROWS; i++)
        if (strcmp(feature_rows[i].name, name) == 0)
            settings->numbers[feature_rows[i].id] = tl_host_known(1);
}

bool tl_ethtool_parse_features(const struct nlmsghdr *msg, void *settings_context)
{
    const struct nlattr *table[ETHTOOL_A_FEATURES_MAX + 1], *parts[ETHTOOL_A_BITSET_MAX + 1];
    struct tl_host_settings *settings = settings_context;

    if (!tl_netlink_attributes(msg, sizeof(struct genlmsghdr), table, ETHTOOL_A_FEATURES_MAX) ||
        !tl_netlink_nested(table[ETHTOOL_A_FEATURES_ACTIVE], parts, ETHTOOL_A_BITSET_MAX) ||
        !parts[ETHTOOL_A_BITSET_NOMASK])
        return false;
    for (size_t i = 0; i < FEATURE_ROWS; i++)
        settings->numbers[feature_rows[i].id] = tl_host_known(0);
    walk_bits(table[ETHTOOL_A_FEATURES_ACTIVE], take_feature, settings);
    return true;
}

bool tl_ethtool_parse_rings(const struct nlmsghdr *msg, void *settings_context)
{
    const struct nlattr *table[ETHTOOL_A_RINGS_MAX + 1];
    struct tl_host_settings *settings = settings_context;

    if (!tl_netlink_attributes(msg, sizeof(struct genlmsghdr), table, ETHTOOL_A_RINGS_MAX))
        return false;
    take_number(settings, TL_HOST_LINK_RX_RING, table[ETHTOOL_A_RINGS_RX], 1);
    take_number(settings, TL_HOST_LINK_RX_RING_MAX, table[ETHTOOL_A_RINGS_RX_MAX], 1);
    take_number(settings, TL_HOST_LINK_TX_RING, table[ETHTOOL_A_RINGS_TX], 1);
    take_number(settings, TL_HOST_LINK_TX_RING_MAX, table[ETHTOOL_A_RINGS_TX_MAX], 1);
    return true;
}

bool tl_ethtool_parse_coalesce(const struct nlmsghdr *msg, void *settings_context)
{
    const struct nlattr *table[ETHTOOL_A_COALESCE_MAX + 1];
    struct tl_host_settings *settings = settings_context;

    if (!tl_netlink_attributes(msg, sizeof(struct genlmsghdr), table, ETHTOOL_A_COALESCE_MAX))
        return false;
    take_number(settings, TL_HOST_LINK_RX_COALESCE, table[ETHTOOL_A_COALESCE_RX_USECS], 1e3);
    take_number(settings, TL_HOST_LINK_RX_COALESCE_FRAMES, table[ETHTOOL_A_COALESCE_RX_MAX_FRAMES],
                1);
    take_number(settings, TL_HOST_LINK_RX_COALESCE_ADAPTIVE,
                table[ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX], 1);
    return true;
}

static bool parse_channels(const struct nlmsghdr *msg, void *settings_context)
{
    const struct nlattr *table[ETHTOOL_A_CHANNELS_MAX + 1];
    struct tl_host_settings *settings = settings_context;

    if (!tl_netlink_attributes(msg, sizeof(struct genlmsghdr), table, ETHTOOL_A_CHANNELS_MAX))
        return false;
    take_number(settings, TL_HOST_LINK_CHANNELS, table[ETHTOOL_A_CHANNELS_COMBINED_COUNT], 1);
    take_number(settings, TL_HOST_LINK_CHANNELS_MAX, table[ETHTOOL_A_CHANNELS_COMBINED_MAX], 1);
    return true;
}

bool tl_ethtool_parse_pause(const struct nlmsghdr *msg, void *settings_context)
{
    const struct nlattr *table[ETHTOOL_A_PAUSE_MAX + 1];
    struct tl_host_settings *settings = settings_context;

    if (!tl_netlink_attributes(msg, sizeof(struct genlmsghdr), table, ETHTOOL_A_PAUSE_MAX))
        return false;
    take_number(settings, TL_HOST_LINK_PAUSE_RX, table[ETHTOOL_A_PAUSE_RX], 1);
    take_number(settings, TL_HOST_LINK_PAUSE_TX, table[ETHTOOL_A_PAUSE_TX], 1);
    return true;
}

/* One question each; header is the attribute that names the interface. */
static const struct {
    uint8_t cmd;
    uint16_t header;
    tl_netlink_parse_fn parse;
    enum tl_host_number_id first, last; /* the rows that the answer fills */
} questions[] = {
    {ETHTOOL_MSG_LINKMODES_GET, ETHTOOL_A_LINKMODES_HEADER, tl_ethtool_parse_linkmodes,
     TL_HOST_LINK_SPEED, TL_HOST_LINK_AUTONEG},
    {ETHTOOL_MSG_FEATURES_GET, ETHTOOL_A_FEATURES_HEADER, tl_ethtool_parse_features,
     TL_HOST_LINK_TSO, TL_HOST_LINK_RX_CHECKSUM},
    {ETHTOOL_MSG_RINGS_GET, ETHTOOL_A_RINGS_HEADER, tl_ethtool_parse_rings, TL_HOST_LINK_RX_RING,
     TL_HOST_LINK_TX_RING_MAX},
    {ETHTOOL_MSG_COALESCE_GET, ETHTOOL_A_COALESCE_HEADER, tl_ethtool_parse_coalesce,
     TL_HOST_LINK_RX_COALESCE, TL_HOST_LINK_RX_COALESCE_ADAPTIVE},
    {ETHTOOL_MSG_CHANNELS_GET, ETHTOOL_A_CHANNELS_HEADER, parse_channels, TL_HOST_LINK_CHANNELS,
     TL_HOST_LINK_CHANNELS_MAX},
    {ETHTOOL_MSG_PAUSE_GET, ETHTOOL_A_PAUSE_HEADER, tl_ethtool_parse_pause, TL_HOST_LINK_PAUSE_RX,
     TL_HOST_LINK_PAUSE_TX},
};

static void ask(struct tl_netlink *generic, uint16_t family, int ifindex, size_t question,
                struct tl_host_settings *settings)
{
    _Alignas(struct nlmsghdr) char buf[TL_NETLINK_ASK_SIZE] = {0};
    struct nlmsghdr *msg = mnl_nlmsg_put_header(buf);
    struct genlmsghdr *head;
    struct nlattr *nest;
    enum tl_host_why why;

    msg->nlmsg_type = family;
    head = mnl_nlmsg_put_extra_header(msg, sizeof(*head));
    head->cmd = questions[question].cmd;
    head->version = ETHTOOL_GENL_VERSION;
    nest = mnl_attr_nest_start(msg, questions[question].header);
    mnl_attr_put_u32(msg, ETHTOOL_A_HEADER_DEV_INDEX, (uint32_t)ifindex);
    mnl_attr_nest_end(msg, nest);
    why = tl_netlink_ask(generic, msg, questions[question].parse, settings);
    if (why == TL_HOST_WHY_KNOWN)
        return;
    for (unsigned id = questions[question].first; id <= questions[question].last; id++)
        if (id != TL_HOST_LINK_SPEED_NOMINAL) /* not ethtool's to say */
            settings->numbers[id] = tl_host_unknown(why);
    if (questions[question].cmd == ETHTOOL_MSG_LINKMODES_GET) {
        settings->numbers[TL_HOST_LINK_PARTNER_SPEED_MAX] = tl_host_unknown(why);
        settings->numbers[TL_HOST_LINK_PARTNER_AUTONEG] = tl_host_unknown(why);
    }
}

void tl_ethtool_read(struct tl_host_settings *settings, int ifindex, const char *name)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct tl_netlink generic;
    enum tl_host_why why;
    uint16_t family;

    tl_ethtool_ioctl_driver(settings, fd, name);
    tl_netlink_init(&generic, NETLINK_GENERIC);
    family = tl_netlink_family(&generic, ETHTOOL_GENL_NAME, &why);
    if (family != 0)
        for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
            ask(&generic, family, ifindex, i, settings);
    else
        tl_ethtool_ioctl_read(settings, fd, name);
    tl_netlink_finish(&generic);
    if (fd >= 0)
        close(fd);
}

/* The wireless link: channel and station of nl80211 (include/uapi/linux/nl80211.h). A station
 * interface has one peer, its access point. All questions are open to any user. */
#include <linux/genetlink.h>
#include <linux/nl80211.h>

#include "counters.h"
#include "link.h"

/* NL80211_RATE_INFO_BITRATE is in 100 kbit/s; the 16 bit one ends at 6.5 Gb/s. */
#define BITRATE_BPS 1e5

bool tl_wireless_parse_interface(const struct nlmsghdr *msg, void *settings_context)
{
    static const double widths_mhz[] = {20, 20, 40, 80, 160, 160, 5, 10, 1, 2, 4, 8, 16, 320};
    const struct nlattr *table[NL80211_ATTR_CHANNEL_WIDTH + 1];
    struct tl_host_value *numbers = ((struct tl_host_settings *)settings_context)->numbers;
    uint64_t number;

    if (!tl_netlink_attributes(msg, sizeof(struct genlmsghdr), table, NL80211_ATTR_CHANNEL_WIDTH))
        return false;
    /* Not associated: no channel. */
    numbers[TL_HOST_WIFI_FREQUENCY] = tl_netlink_number(table[NL80211_ATTR_WIPHY_FREQ], &number)
                                          ? tl_host_known((double)number)
                                          : tl_host_unknown(TL_HOST_WHY_NOT_SET);
    numbers[TL_HOST_WIFI_WIDTH] = tl_netlink_number(table[NL80211_ATTR_CHANNEL_WIDTH], &number) &&
                                          number < sizeof(widths_mhz) / sizeof(widths_mhz[0])
                                      ? tl_host_known(widths_mhz[number])
                                      : tl_host_unknown(TL_HOST_WHY_NOT_SET);
    return true;
}

static bool take_bitrate(const struct nlattr *attr, double *ret_bps)
{
    const struct nlattr *table[NL80211_RATE_INFO_BITRATE32 + 1];
    uint64_t number;

    if (!tl_netlink_nested(attr, table, NL80211_RATE_INFO_BITRATE32))
        return false;
    if (tl_netlink_number(table[NL80211_RATE_INFO_BITRATE32], &number))
        *ret_bps = (double)number * BITRATE_BPS;
    else if (table[NL80211_RATE_INFO_BITRATE] &&
             mnl_attr_validate(table[NL80211_RATE_INFO_BITRATE], MNL_TYPE_U16) >= 0)
        *ret_bps = mnl_attr_get_u16(table[NL80211_RATE_INFO_BITRATE]) * BITRATE_BPS;
    else
        return false;
    return *ret_bps > 0;
}

/* dBm as a signed byte; the average over frames where the driver has one. */
static bool take_signal(const struct nlattr *const *info, double *ret_dbm)
{
    static const unsigned ids[] = {NL80211_STA_INFO_SIGNAL_AVG, NL80211_STA_INFO_SIGNAL};
    uint64_t number;

    for (size_t i = 0; i < 2; i++)
        if (tl_netlink_number(info[ids[i]], &number) && number > 0 && number <= UINT8_MAX) {
            *ret_dbm = (int8_t)number;
            return *ret_dbm < 0;
        }
    return false;
}

static bool station_info(const struct nlmsghdr *msg, const struct nlattr **ret_info)
{
    const struct nlattr *table[NL80211_ATTR_STA_INFO + 1];

    return tl_netlink_attributes(msg, sizeof(struct genlmsghdr), table, NL80211_ATTR_STA_INFO) &&
           tl_netlink_nested(table[NL80211_ATTR_STA_INFO], ret_info, NL80211_STA_INFO_MAX);
}

bool tl_wireless_parse_station(const struct nlmsghdr *msg, void *settings_context)
{
    const struct nlattr *info[NL80211_STA_INFO_MAX + 1];
    struct tl_host_value *numbers = ((struct tl_host_settings *)settings_context)->numbers;
    struct tl_host_value unknown = tl_host_unknown(TL_HOST_WHY_NO_ANSWER);
    double number;

    if (!station_info(msg, info))
        return false;
    numbers[TL_HOST_WIFI_SIGNAL] = take_signal(info, &number) ? tl_host_known(number) : unknown;
    numbers[TL_HOST_WIFI_TX_BITRATE] =
        take_bitrate(info[NL80211_STA_INFO_TX_BITRATE], &number) ? tl_host_known(number) : unknown;
    numbers[TL_HOST_WIFI_RX_BITRATE] =
        take_bitrate(info[NL80211_STA_INFO_RX_BITRATE], &number) ? tl_host_known(number) : unknown;
    return true;
}

bool tl_counters_parse_station(const struct nlmsghdr *msg, void *context)
{
    static const struct {
        unsigned info;
        enum tl_host_counter_id id;
    } rows[] = {
        {NL80211_STA_INFO_TX_PACKETS, TL_HOST_COUNTER_WIFI_TX_PACKETS},
        {NL80211_STA_INFO_TX_RETRIES, TL_HOST_COUNTER_WIFI_TX_RETRIES},
        {NL80211_STA_INFO_TX_FAILED, TL_HOST_COUNTER_WIFI_TX_FAILED},
    };
    const struct nlattr *info[NL80211_STA_INFO_MAX + 1];
    struct tl_host_counters *counters = context;
    uint64_t number;
    double bps;

    if (!station_info(msg, info))
        return false;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (tl_netlink_number(info[rows[i].info], &number))
            tl_counters_set(counters, rows[i].id, number);
    if (take_bitrate(info[NL80211_STA_INFO_TX_BITRATE], &bps))
        tl_counters_set(counters, TL_HOST_COUNTER_WIFI_TX_BITRATE, (uint64_t)bps);
    if (take_bitrate(info[NL80211_STA_INFO_RX_BITRATE], &bps))
        tl_counters_set(counters, TL_HOST_COUNTER_WIFI_RX_BITRATE, (uint64_t)bps);
    return true;
}

static enum tl_host_why ask(struct tl_netlink *generic, uint16_t family, uint8_t cmd,
                            uint16_t flags, int ifindex, tl_netlink_parse_fn parse, void *context)
{
    _Alignas(struct nlmsghdr) char buf[TL_NETLINK_ASK_SIZE] = {0};
    struct nlmsghdr *msg = mnl_nlmsg_put_header(buf);
    struct genlmsghdr *head;

    msg->nlmsg_type = family;
    msg->nlmsg_flags = flags;
    head = mnl_nlmsg_put_extra_header(msg, sizeof(*head));
    head->cmd = cmd;
    mnl_attr_put_u32(msg, NL80211_ATTR_IFINDEX, (uint32_t)ifindex);
    return tl_netlink_ask(generic, msg, parse, context);
}

/* The station is asked for by a dump: its address need not be known. An interface without
 * an access point gives none. */
static enum tl_host_why ask_station(struct tl_netlink *generic, uint16_t family, int ifindex,
                                    tl_netlink_parse_fn parse, void *context)
{
    enum tl_host_why why =
        ask(generic, family, NL80211_CMD_GET_STATION, NLM_F_DUMP, ifindex, parse, context);

    return why == TL_HOST_WHY_MALFORMED ? TL_HOST_WHY_NOT_SET : why;
}

bool tl_wireless_read(struct tl_host_settings *settings, int ifindex)
{
    static const enum tl_host_number_id rows[] = {TL_HOST_WIFI_SIGNAL, TL_HOST_WIFI_FREQUENCY,
                                                  TL_HOST_WIFI_WIDTH, TL_HOST_WIFI_TX_BITRATE,
                                                  TL_HOST_WIFI_RX_BITRATE};
    struct tl_netlink generic;
    enum tl_host_why why = TL_HOST_WHY_ABSENT;
    bool wireless = false;
    uint16_t family;

    tl_netlink_init(&generic, NETLINK_GENERIC);
    family = tl_netlink_family(&generic, NL80211_GENL_NAME, &why);
    if (family != 0)
        wireless = ask(&generic, family, NL80211_CMD_GET_INTERFACE, 0, ifindex,
                       tl_wireless_parse_interface, settings) == TL_HOST_WHY_KNOWN;
    why = TL_HOST_WHY_NOT_SET;
    for (size_t i = 0; !wireless && i < sizeof(rows) / sizeof(rows[0]); i++)
        settings->numbers[rows[i]] = tl_host_unknown(TL_HOST_WHY_ABSENT);
    if (wireless)
        why = ask_station(&generic, family, ifindex, tl_wireless_parse_station, settings);
    if (wireless && why != TL_HOST_WHY_KNOWN) {
        settings->numbers[TL_HOST_WIFI_SIGNAL] = tl_host_unknown(why);
        settings->numbers[TL_HOST_WIFI_TX_BITRATE] = tl_host_unknown(why);
        settings->numbers[TL_HOST_WIFI_RX_BITRATE] = tl_host_unknown(why);
    }
    tl_netlink_finish(&generic);
    return wireless;
}

enum tl_host_why tl_counters_read_station(struct tl_host_counters *counters, int ifindex)
{
    struct tl_netlink generic;
    enum tl_host_why why;
    uint16_t family;

    tl_netlink_init(&generic, NETLINK_GENERIC);
    family = tl_netlink_family(&generic, NL80211_GENL_NAME, &why);
    if (family != 0)
        why = ask_station(&generic, family, ifindex, tl_counters_parse_station, counters);
    tl_netlink_finish(&generic);
    return why;
}

/* The table of the counters, and the parsers of their sources. */
#ifndef TL_HOST_COUNTERS_PRIVATE_H
#define TL_HOST_COUNTERS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "netlink.h"
#include "tightlink/host/counters.h"

/* A row of the table: what is counted, where it is read, and what it is called there. */
enum tl_counter_source {
    TL_COUNTER_LINK,
    TL_COUNTER_SOFTNET,
    TL_COUNTER_SNMP,
    TL_COUNTER_SNMP6,
    TL_COUNTER_NIC,
    TL_COUNTER_QDISC,
    TL_COUNTER_TRACK,
    TL_COUNTER_STATION,
    TL_COUNTER_GAUGE
};
struct tl_counter_row {
    const char *name, *unit, *key;
    enum tl_counter_source source;
};
extern const struct tl_counter_row tl_counter_rows[];

/* names: count times ETH_GSTRING_LEN bytes, as ETHTOOL_GSTRINGS gives them. */
void tl_counters_take_nic(struct tl_host_counters *counters, const char *names,
                          const uint64_t *values, size_t count);

/* RTM_NEWQDISC with TCA_STATS2; NL80211_CMD_NEW_STATION. */
bool tl_counters_parse_qdisc(const struct nlmsghdr *msg, void *counters);
bool tl_counters_parse_station(const struct nlmsghdr *msg, void *counters);

/* The readers behind them: KNOWN, or why nothing was read. */
enum tl_host_why tl_counters_read_nic(struct tl_host_counters *counters, int ifindex);
enum tl_host_why tl_counters_read_qdisc(struct tl_netlink *route,
                                        struct tl_host_counters *counters);
enum tl_host_why tl_counters_read_station(struct tl_host_counters *counters, int ifindex);
enum tl_host_why tl_counters_read_tracking(struct tl_host_counters *counters, const char *root);

/* Everything ABSENT, ready for the parsers. */
void tl_counters_begin(struct tl_host_counters *ret_counters, int ifindex);
void tl_counters_set(struct tl_host_counters *counters, unsigned id, uint64_t count);
/* What comes from files below root. */
void tl_counters_read_files(struct tl_host_counters *counters, const char *root);

/* RTM_NEWLINK with IFLA_STATS64. */
bool tl_counters_parse_link(const struct nlmsghdr *msg, void *counters);

#endif

/* Parsers of the counters' sources, for the tests. */
#ifndef TL_HOST_COUNTERS_PRIVATE_H
#define TL_HOST_COUNTERS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "netlink.h"
#include "tightlink/host/counters.h"

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
const char *tl_counters_key(unsigned id);
/* What comes from files below root. */
void tl_counters_read_files(struct tl_host_counters *counters, const char *root);

/* RTM_NEWLINK with IFLA_STATS64. */
bool tl_counters_parse_link(const struct nlmsghdr *msg, void *counters);

#endif

/* Parsers of the counters' sources, for the tests. */
#ifndef TL_HOST_COUNTERS_PRIVATE_H
#define TL_HOST_COUNTERS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "netlink.h"
#include "tightlink/host/counters.h"

/* One line of softnet_stat: adds its columns to the counters. */
bool tl_counters_take_softnet(char *line, void *counters);

/* snmp and netstat come as pairs of lines: names, then numbers. */
struct tl_snmp_pairs {
    struct tl_host_counters *counters;
    char names[8192]; /* the first line of a pair, "" between pairs */
};
bool tl_counters_take_snmp(char *line, void *snmp_pairs);

/* "Udp6RcvbufErrors      0" */
bool tl_counters_take_snmp6(char *line, void *counters);

/* RTM_NEWLINK with IFLA_STATS64. */
bool tl_counters_parse_link(const struct nlmsghdr *msg, void *counters);

#endif

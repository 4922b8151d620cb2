/* What this machine is, as one plain record: kernel and TCP settings, processors, and
 * the interface and route that lead to one peer.
 *
 * Two tables name everything: TL_HOST_NUMBER_MAP and TL_HOST_TEXT_MAP. The audit fills
 * the record by walking them, the wire encodes the record by walking them (the row's
 * place is its wire number: append only, never reorder), and the client makes facts of
 * them: a row's name is the fact's id after "near." or "far.".
 *
 * Nothing here needs privilege. Nothing here fails: what cannot be read is unknown with
 * its reason. Reads take about a millisecond, block only on the kernel, and may be done
 * from any thread; /proc/sys/net shows the network namespace of the calling thread. */
#ifndef TL_HOST_HOST_H
#define TL_HOST_HOST_H

#include <stdbool.h>
#include <sys/socket.h>

#include "tightlink/host/value.h"

/* Units: "bytes", "count", "bool" (0 or 1), "ratio", "bps", "ns", and "number" (a choice
 * that the kernel numbers; no arithmetic is meant).
 *
 * open: told to anyone who asks a responder in open mode; the others only in key mode.
 * source: a file below /proc/sys is read by the table alone, index being which of its
 * numbers; every other source names where the code beside it asks. */

/* id, name, unit, open, source, index */
#define TL_HOST_NUMBER_MAP(X)                                                                      \
    X(TCP_RMEM_MIN, tcp_rmem_min_bytes, "bytes", true, "/proc/sys/net/ipv4/tcp_rmem", 0)           \
    X(TCP_RMEM_DEFAULT, tcp_rmem_default_bytes, "bytes", true, "/proc/sys/net/ipv4/tcp_rmem", 1)   \
    X(TCP_RMEM_MAX, tcp_rmem_max_bytes, "bytes", true, "/proc/sys/net/ipv4/tcp_rmem", 2)           \
    X(TCP_WMEM_MIN, tcp_wmem_min_bytes, "bytes", true, "/proc/sys/net/ipv4/tcp_wmem", 0)           \
    X(TCP_WMEM_DEFAULT, tcp_wmem_default_bytes, "bytes", true, "/proc/sys/net/ipv4/tcp_wmem", 1)   \
    X(TCP_WMEM_MAX, tcp_wmem_max_bytes, "bytes", true, "/proc/sys/net/ipv4/tcp_wmem", 2)           \
    X(CORE_RMEM_DEFAULT, core_rmem_default_bytes, "bytes", true,                                   \
      "/proc/sys/net/core/rmem_default", 0)                                                        \
    X(CORE_RMEM_MAX, core_rmem_max_bytes, "bytes", true, "/proc/sys/net/core/rmem_max", 0)         \
    X(CORE_WMEM_DEFAULT, core_wmem_default_bytes, "bytes", true,                                   \
      "/proc/sys/net/core/wmem_default", 0)                                                        \
    X(CORE_WMEM_MAX, core_wmem_max_bytes, "bytes", true, "/proc/sys/net/core/wmem_max", 0)         \
    X(NETDEV_MAX_BACKLOG, netdev_max_backlog_count, "count", true,                                 \
      "/proc/sys/net/core/netdev_max_backlog", 0)                                                  \
    X(TCP_WINDOW_SCALING, tcp_window_scaling, "bool", true,                                        \
      "/proc/sys/net/ipv4/tcp_window_scaling", 0)                                                  \
    X(TCP_SACK, tcp_sack, "bool", true, "/proc/sys/net/ipv4/tcp_sack", 0)                          \
    X(TCP_TIMESTAMPS, tcp_timestamps, "number", true, "/proc/sys/net/ipv4/tcp_timestamps", 0)      \
    X(TCP_ECN, tcp_ecn, "number", true, "/proc/sys/net/ipv4/tcp_ecn", 0)                           \
    X(TCP_SLOW_START_AFTER_IDLE, tcp_slow_start_after_idle, "bool", true,                          \
      "/proc/sys/net/ipv4/tcp_slow_start_after_idle", 0)                                           \
    X(TCP_NO_METRICS_SAVE, tcp_no_metrics_save, "bool", true,                                      \
      "/proc/sys/net/ipv4/tcp_no_metrics_save", 0)                                                 \
    X(TCP_MODERATE_RCVBUF, tcp_moderate_rcvbuf, "bool", true,                                      \
      "/proc/sys/net/ipv4/tcp_moderate_rcvbuf", 0)                                                 \
    X(TCP_ADV_WIN_SCALE, tcp_adv_win_scale, "number", true,                                        \
      "/proc/sys/net/ipv4/tcp_adv_win_scale", 0)                                                   \
    X(TCP_NOTSENT_LOWAT, tcp_notsent_lowat_bytes, "bytes", true,                                   \
      "/proc/sys/net/ipv4/tcp_notsent_lowat", 0)                                                   \
    X(TCP_MTU_PROBING, tcp_mtu_probing, "number", true, "/proc/sys/net/ipv4/tcp_mtu_probing", 0)   \
    X(TCP_BASE_MSS, tcp_base_mss_bytes, "bytes", true, "/proc/sys/net/ipv4/tcp_base_mss", 0)       \
    /* cores online; cores that the calling thread may run on */                                   \
    X(CPU_CORES, cpu_cores_count, "count", true, "/sys/devices/system/cpu/online", 0)              \
    X(CPU_ALLOWED, cpu_allowed_count, "count", true, "/proc/thread-self/status", 0)                \
    /* cores' worth of time that the tightest control group above this process grants;             \
     * NOT_SET where no group limits it */                                                         \
    X(CPU_QUOTA, cpu_quota_ratio, "ratio", true, "cgroup cpu.max or cpu.cfs_quota_us", 0)          \
    /* load average divided by the cores online */                                                 \
    X(LOAD_1MIN, load_1min_ratio, "ratio", false, "/proc/loadavg", 0)                              \
    /* share of all core time since boot that a hypervisor took */                                 \
    X(STEAL_SINCE_BOOT, steal_since_boot_ratio, "ratio", false, "/proc/stat", 0)                   \
    /* The interface that leads to the peer. */                                                    \
    X(LINK_MTU, link_mtu_bytes, "bytes", true, "rtnetlink IFLA_MTU", 0)                            \
    X(LINK_SPEED, link_speed_bps, "bps", true, "ethtool LINKMODES_SPEED", 0)                       \
    /* the fastest mode that the interface supports */                                             \
    X(LINK_SPEED_MAX, link_speed_max_bps, "bps", true, "ethtool LINKMODES_OURS", 0)                \
    /* 1: no wire has this speed, a virtual driver only says so */                                 \
    X(LINK_SPEED_NOMINAL, link_speed_nominal, "bool", true, "link kind and driver", 0)             \
    X(LINK_FULL_DUPLEX, link_full_duplex, "bool", true, "ethtool LINKMODES_DUPLEX", 0)             \
    X(LINK_AUTONEG, link_autoneg, "bool", true, "ethtool LINKMODES_AUTONEG", 0)                    \
    X(LINK_CARRIER, link_carrier, "bool", true, "rtnetlink IFLA_CARRIER", 0)                       \
    X(LINK_CARRIER_CHANGES, link_carrier_changes_count, "count", false,                            \
      "rtnetlink IFLA_CARRIER_CHANGES", 0)                                                         \
    X(LINK_TX_QUEUE, link_tx_queue_count, "count", true, "rtnetlink IFLA_TXQLEN", 0)               \
    X(LINK_TSO, link_tso, "bool", true, "ethtool tx-tcp-segmentation", 0)                          \
    X(LINK_GSO, link_gso, "bool", true, "ethtool tx-generic-segmentation", 0)                      \
    X(LINK_GRO, link_gro, "bool", true, "ethtool rx-gro", 0)                                       \
    X(LINK_LRO, link_lro, "bool", true, "ethtool rx-lro", 0)                                       \
    X(LINK_TX_CHECKSUM, link_tx_checksum, "bool", true, "ethtool tx-checksum-*", 0)                \
    X(LINK_RX_CHECKSUM, link_rx_checksum, "bool", true, "ethtool rx-checksum", 0)                  \
    X(LINK_RX_RING, link_rx_ring_count, "count", true, "ethtool RINGS_RX", 0)                      \
    X(LINK_RX_RING_MAX, link_rx_ring_max_count, "count", true, "ethtool RINGS_RX_MAX", 0)          \
    X(LINK_TX_RING, link_tx_ring_count, "count", true, "ethtool RINGS_TX", 0)                      \
    X(LINK_TX_RING_MAX, link_tx_ring_max_count, "count", true, "ethtool RINGS_TX_MAX", 0)          \
    X(LINK_RX_COALESCE, link_rx_coalesce_ns, "ns", true, "ethtool COALESCE_RX_USECS", 0)           \
    X(LINK_RX_COALESCE_FRAMES, link_rx_coalesce_frames_count, "count", true,                       \
      "ethtool COALESCE_RX_MAX_FRAMES", 0)                                                         \
    X(LINK_RX_COALESCE_ADAPTIVE, link_rx_coalesce_adaptive, "bool", true,                          \
      "ethtool COALESCE_USE_ADAPTIVE_RX", 0)                                                       \
    /* The route to the peer; metrics are NOT_SET unless an administrator set them. */             \
    X(ROUTE_GATEWAY, route_gateway, "bool", true, "rtnetlink RTA_GATEWAY", 0)                      \
    X(ROUTE_MTU, route_mtu_bytes, "bytes", true, "rtnetlink RTAX_MTU", 0)                          \
    X(ROUTE_ADVMSS, route_advmss_bytes, "bytes", true, "rtnetlink RTAX_ADVMSS", 0)                 \
    X(ROUTE_WINDOW, route_window_bytes, "bytes", true, "rtnetlink RTAX_WINDOW", 0)                 \
    X(ROUTE_INITCWND, route_initcwnd_count, "count", true, "rtnetlink RTAX_INITCWND", 0)           \
    X(ROUTE_INITRWND, route_initrwnd_count, "count", true, "rtnetlink RTAX_INITRWND", 0)           \
    X(ROUTE_CWND_CLAMP, route_cwnd_clamp_count, "count", true, "rtnetlink RTAX_CWND", 0)           \
    /* Recovery and pacing choices of TCP. */                                                      \
    X(TCP_RECOVERY, tcp_recovery, "number", true, "/proc/sys/net/ipv4/tcp_recovery", 0)            \
    X(TCP_DSACK, tcp_dsack, "bool", true, "/proc/sys/net/ipv4/tcp_dsack", 0)                       \
    X(TCP_REORDERING, tcp_reordering_count, "count", true, "/proc/sys/net/ipv4/tcp_reordering", 0) \
    X(TCP_MAX_REORDERING, tcp_max_reordering_count, "count", true,                                 \
      "/proc/sys/net/ipv4/tcp_max_reordering", 0)                                                  \
    X(TCP_EARLY_RETRANS, tcp_early_retrans, "number", true,                                        \
      "/proc/sys/net/ipv4/tcp_early_retrans", 0)                                                   \
    X(TCP_FRTO, tcp_frto, "number", true, "/proc/sys/net/ipv4/tcp_frto", 0)                        \
    X(TCP_LIMIT_OUTPUT, tcp_limit_output_bytes, "bytes", true,                                     \
      "/proc/sys/net/ipv4/tcp_limit_output_bytes", 0)                                              \
    X(TCP_SHRINK_WINDOW, tcp_shrink_window, "bool", true, "/proc/sys/net/ipv4/tcp_shrink_window",  \
      0)                                                                                           \
    /* Memory of all TCP sockets, in pages: below "low" nobody minds, from "pressure" on the       \
     * kernel saves, at "max" it refuses. Not to be seen in another network namespace. */          \
    X(TCP_MEM_LOW, tcp_mem_low_pages_count, "count", true, "/proc/sys/net/ipv4/tcp_mem", 0)        \
    X(TCP_MEM_PRESSURE, tcp_mem_pressure_pages_count, "count", true, "/proc/sys/net/ipv4/tcp_mem", \
      1)                                                                                           \
    X(TCP_MEM_MAX, tcp_mem_max_pages_count, "count", true, "/proc/sys/net/ipv4/tcp_mem", 2)        \
    X(TCP_MEM_USED, tcp_mem_used_pages_count, "count", true, "/proc/thread-self/net/sockstat", 0)  \
    X(MEMORY_LIMIT, memory_limit_bytes, "bytes", false,                                            \
      "cgroup memory.max or memory.limit_in_bytes", 0)                                             \
    /* Packets and time that one turn of receive processing may take. */                           \
    X(NETDEV_BUDGET, netdev_budget_count, "count", true, "/proc/sys/net/core/netdev_budget", 0)    \
    X(CONNTRACK_COUNT, conntrack_count, "count", false,                                            \
      "/proc/sys/net/netfilter/nf_conntrack_count", 0)                                             \
    X(CONNTRACK_MAX, conntrack_max_count, "count", true,                                           \
      "/proc/sys/net/netfilter/nf_conntrack_max", 0)                                               \
    /* current over highest frequency of the first core online; at rest it may well be low */      \
    X(CPU_FREQUENCY, cpu_frequency_ratio, "ratio", true,                                           \
      "cpufreq scaling_cur_freq, cpuinfo_max_freq", 0)                                             \
    /* share of the last 10 s in which tasks waited (PSI, "some") */                               \
    X(PRESSURE_CPU, pressure_cpu_ratio, "ratio", false, "/proc/pressure/cpu", 0)                   \
    X(PRESSURE_MEMORY, pressure_memory_ratio, "ratio", false, "/proc/pressure/memory", 0)          \
    X(PRESSURE_IO, pressure_io_ratio, "ratio", false, "/proc/pressure/io", 0)                      \
    /* 1: what leaves by the interface is wrapped into other packets (VPN, GRE, PPP …) */        \
    X(LINK_TUNNEL, link_tunnel, "bool", true, "link kind and type", 0)                             \
    /* the fastest mode that the link's other end (a switch port) offers */                        \
    X(LINK_PARTNER_SPEED_MAX, link_partner_speed_max_bps, "bps", true, "ethtool LINKMODES_PEER",   \
      0)                                                                                           \
    X(LINK_PARTNER_AUTONEG, link_partner_autoneg, "bool", true, "ethtool LINKMODES_PEER", 0)       \
    X(LINK_PAUSE_RX, link_pause_rx, "bool", true, "ethtool PAUSE_RX", 0)                           \
    X(LINK_PAUSE_TX, link_pause_tx, "bool", true, "ethtool PAUSE_TX", 0)                           \
    X(LINK_RX_QUEUES, link_rx_queues_count, "count", true, "/sys/class/net/*/queues", 0)           \
    X(LINK_TX_QUEUES, link_tx_queues_count, "count", true, "/sys/class/net/*/queues", 0)           \
    /* 1: receive packet steering spreads some queue's packets over cores */                       \
    X(LINK_RPS, link_rps, "bool", true, "/sys/class/net/*/queues/rx-*/rps_cpus", 0)                \
    /* the interface's interrupts, and cores that took at least 5 % of them since boot */          \
    X(LINK_IRQS, link_irqs_count, "count", true, "/sys/class/net/*/device/msi_irqs", 0)            \
    X(LINK_IRQ_CORES, link_irq_cores_count, "count", true, "/proc/interrupts", 0)                  \
    /* The wireless link. Bit rates at rest are often low; those under load are counters. */       \
    X(WIFI_SIGNAL, wifi_signal_dbm, "number", true, "nl80211 STA_INFO_SIGNAL_AVG", 0)              \
    X(WIFI_FREQUENCY, wifi_frequency_mhz, "number", true, "nl80211 WIPHY_FREQ", 0)                 \
    X(WIFI_WIDTH, wifi_width_mhz, "number", true, "nl80211 CHANNEL_WIDTH", 0)                      \
    X(WIFI_TX_BITRATE, wifi_tx_bitrate_bps, "bps", true, "nl80211 STA_INFO_TX_BITRATE", 0)         \
    X(WIFI_RX_BITRATE, wifi_rx_bitrate_bps, "bps", true, "nl80211 STA_INFO_RX_BITRATE", 0)         \
    /* the other bound of a turn of receive processing, microseconds */                            \
    X(NETDEV_BUDGET_USECS, netdev_budget_usecs, "number", true,                                    \
      "/proc/sys/net/core/netdev_budget_usecs", 0)                                                 \
    /* pairs of a receive and a transmit queue, as `ethtool -l` names them */                      \
    X(LINK_CHANNELS, link_channels_count, "count", true, "ethtool CHANNELS_COMBINED_COUNT", 0)     \
    X(LINK_CHANNELS_MAX, link_channels_max_count, "count", true, "ethtool CHANNELS_COMBINED_MAX",  \
      0)                                                                                           \
    /* real cards below the interface: 1 where it is one, the members of a bond; 0: none seen */   \
    X(LINK_CARDS, link_cards_count, "count", true, "rtnetlink IFLA_LINK, IFLA_MASTER", 0)

/* id, name, open, source */
#define TL_HOST_TEXT_MAP(X)                                                                        \
    X(KERNEL, kernel, false, "/proc/sys/kernel/osrelease")                                         \
    X(CC_CURRENT, cc_current, true, "/proc/sys/net/ipv4/tcp_congestion_control")                   \
    X(CC_AVAILABLE, cc_available, true, "/proc/sys/net/ipv4/tcp_available_congestion_control")     \
    X(CC_ALLOWED, cc_allowed, true, "/proc/sys/net/ipv4/tcp_allowed_congestion_control")           \
    X(DEFAULT_QDISC, default_qdisc, true, "/proc/sys/net/core/default_qdisc")                      \
    X(LINK_NAME, link_name, false, "rtnetlink IFLA_IFNAME")                                        \
    X(LINK_KIND, link_kind, true, "rtnetlink IFLA_INFO_KIND, nl80211")                             \
    X(LINK_DRIVER, link_driver, false, "ethtool DRVINFO")                                          \
    X(LINK_STATE, link_state, true, "rtnetlink IFLA_OPERSTATE")                                    \
    X(LINK_QDISC, link_qdisc, true, "rtnetlink IFLA_QDISC")                                        \
    X(ROUTE_CC, route_cc, true, "rtnetlink RTAX_CC_ALGO")                                          \
    X(CPU_GOVERNOR, cpu_governor, true, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")   \
    /* the far end's address as this host reaches it, and the router that leads there */           \
    X(ROUTE_PEER, route_peer, true, "address of the peer")                                         \
    X(ROUTE_VIA, route_via, false, "rtnetlink RTA_GATEWAY")                                        \
    /* The card by which packets leave the machine in the end, and of which kind it is: the        \
     * interface itself, or what a bond, bridge, VLAN or tunnel stands on. Speed, duplex, rings,   \
     * channels, interrupts, pause and wifi_* are that card's. */                                  \
    X(LINK_CARD_NAME, link_card_name, false, "rtnetlink IFLA_LINK, IFLA_MASTER")                   \
    X(LINK_CARD_KIND, link_card_kind, true, "rtnetlink IFLA_LINK, IFLA_MASTER, nl80211")

enum tl_host_number_id {
#define TL_HOST_NUMBER_ENUM(id, name, unit, open, source, index) TL_HOST_##id,
    TL_HOST_NUMBER_MAP(TL_HOST_NUMBER_ENUM)
#undef TL_HOST_NUMBER_ENUM
        TL_HOST_NUMBER_COUNT
};

enum tl_host_text_id {
#define TL_HOST_TEXT_ENUM(id, name, open, source) TL_HOST_TEXT_##id,
    TL_HOST_TEXT_MAP(TL_HOST_TEXT_ENUM)
#undef TL_HOST_TEXT_ENUM
        TL_HOST_TEXT_COUNT
};

/* One row of a table. All text is static. */
struct tl_host_field {
    const char *name;   /* the fact's id after the scope, "tcp_rmem_max_bytes" */
    const char *unit;   /* "" for a text */
    const char *source; /* where the value comes from, for a person */
    int index;          /* which number of the source */
    bool open;          /* told in open mode */
};

/* Rows in the order of the enums; NULL outside the table. */
const struct tl_host_field *tl_host_number_field(unsigned id);
const struct tl_host_field *tl_host_text_field(unsigned id);

/* The record. Plain data, about 3 KiB, copied freely. */
struct tl_host_settings {
    struct tl_host_value numbers[TL_HOST_NUMBER_COUNT];
    struct tl_host_text texts[TL_HOST_TEXT_COUNT];
};

/* What link_kind may say. "ethernet" is a NIC of real or emulated hardware,
 * "paravirtual" a NIC that a hypervisor invents (virtio_net, vmxnet3 …). A kind that
 * the kernel names and that is not listed here ("wireguard", "gre", "bond", "vlan",
 * "macvlan" …) is passed on as the kernel spells it. */
#define TL_HOST_KIND_LOOPBACK    "loopback"
#define TL_HOST_KIND_ETHERNET    "ethernet"
#define TL_HOST_KIND_PARAVIRTUAL "paravirtual"
#define TL_HOST_KIND_WIRELESS    "wireless"
#define TL_HOST_KIND_VETH        "veth"
#define TL_HOST_KIND_TUN         "tun"
#define TL_HOST_KIND_VLAN        "vlan"
/* Of link_card_kind alone: nothing lies below, as of a veth. */
#define TL_HOST_KIND_NONE "none"

/* Every row unknown, NOT_READ. */
void tl_host_settings_init(struct tl_host_settings *ret_settings);

/* Fills the rows that are about the machine and the calling thread's network namespace
 * (not link_*, wifi_* and route_*). root is put before every path: "" for this machine, a
 * directory of recorded files in tests. */
void tl_host_settings_read_system(struct tl_host_settings *settings, const char *root);

/* Fills link_*, wifi_* and route_* for the way to peer (AF_INET or AF_INET6; the port does not
 * matter). Returns the interface's index, 0 when there is no route. */
int tl_host_settings_read_link(struct tl_host_settings *settings, const struct sockaddr *peer);

/* init, read_system with root "" and, where peer is not NULL, read_link. The index of
 * the interface, 0 where there is none. */
int tl_host_settings_read(struct tl_host_settings *ret_settings, const struct sockaddr *peer);

/* For open mode: rows that are not open become unknown, WITHHELD. */
void tl_host_settings_withhold(struct tl_host_settings *settings);

#endif

/* The kernel's network counters at one instant, and what they grew by between two.
 *
 * They decide whether packets were lost inside a host: in the interface, the receive
 * backlog, or a socket's buffer. All but the backlog's count for the network namespace
 * of the calling thread, for every program in it. A reading takes about 0.3 ms (more where
 * a driver has thousands of statistics of its own) and any thread may take one. */
#ifndef TL_HOST_COUNTERS_H
#define TL_HOST_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "tightlink/host/value.h"

/* id, name, unit, source, key: a row's place in the answer. Append only.
 *   LINK     rtnetlink IFLA_STATS64: field of struct rtnl_link_stats64 (if_link.h)
 *   SOFTNET  /proc/net/softnet_stat: column, summed over the cores (net/core/net-procfs.c)
 *   SNMP     /proc/net/snmp and /proc/net/netstat: "Group:Name" (proc_net(5), RFC 2012/2013)
 *   SNMP6    /proc/net/snmp6: name
 *   NIC      the driver's own statistics (ethtool -S), by the table of nic_stats.c
 *   QDISC    rtnetlink TCA_STATS2 of the interface's root queueing discipline
 *   TRACK    /proc/net/stat/nf_conntrack: column, summed over the cores
 *   STATION  nl80211: the access point that the interface is associated with
 *   GAUGE    a level, not a count: between two readings the higher one counts */
#define TL_HOST_COUNTER_MAP(X)                                                                     \
    X(LINK_RX_BYTES, "link_rx_bytes", "bytes", LINK, "rx_bytes")                                   \
    X(LINK_TX_BYTES, "link_tx_bytes", "bytes", LINK, "tx_bytes")                                   \
    X(LINK_RX_PACKETS, "link_rx_packets_count", "count", LINK, "rx_packets")                       \
    X(LINK_TX_PACKETS, "link_tx_packets_count", "count", LINK, "tx_packets")                       \
    X(LINK_RX_ERRORS, "link_rx_errors_count", "count", LINK, "rx_errors")                          \
    X(LINK_TX_ERRORS, "link_tx_errors_count", "count", LINK, "tx_errors")                          \
    X(LINK_RX_DROPPED, "link_rx_dropped_count", "count", LINK, "rx_dropped")                       \
    X(LINK_TX_DROPPED, "link_tx_dropped_count", "count", LINK, "tx_dropped")                       \
    X(LINK_RX_MISSED, "link_rx_missed_count", "count", LINK, "rx_missed_errors")                   \
    X(LINK_RX_FIFO, "link_rx_fifo_count", "count", LINK, "rx_fifo_errors")                         \
    X(LINK_RX_CRC, "link_rx_crc_count", "count", LINK, "rx_crc_errors")                            \
    X(LINK_RX_FRAME, "link_rx_frame_count", "count", LINK, "rx_frame_errors")                      \
    X(LINK_TX_CARRIER, "link_tx_carrier_count", "count", LINK, "tx_carrier_errors")                \
    X(LINK_COLLISIONS, "link_collisions_count", "count", LINK, "collisions")                       \
    X(SOFTNET_PROCESSED, "softnet_processed_count", "count", SOFTNET, "0")                         \
    X(SOFTNET_DROPPED, "softnet_dropped_count", "count", SOFTNET, "1")                             \
    X(SOFTNET_SQUEEZED, "softnet_squeezed_count", "count", SOFTNET, "2")                           \
    X(TCP_IN_SEGS, "tcp_in_segs_count", "count", SNMP, "Tcp:InSegs")                               \
    X(TCP_OUT_SEGS, "tcp_out_segs_count", "count", SNMP, "Tcp:OutSegs")                            \
    X(TCP_RETRANS_SEGS, "tcp_retrans_segs_count", "count", SNMP, "Tcp:RetransSegs")                \
    X(TCP_IN_ERRORS, "tcp_in_errors_count", "count", SNMP, "Tcp:InErrs")                           \
    X(TCP_IN_CSUM_ERRORS, "tcp_in_csum_errors_count", "count", SNMP, "Tcp:InCsumErrors")           \
    X(UDP_IN_ERRORS, "udp_in_errors_count", "count", SNMP, "Udp:InErrors")                         \
    X(UDP_RCVBUF_ERRORS, "udp_rcvbuf_errors_count", "count", SNMP, "Udp:RcvbufErrors")             \
    X(UDP_SNDBUF_ERRORS, "udp_sndbuf_errors_count", "count", SNMP, "Udp:SndbufErrors")             \
    X(UDP_IN_CSUM_ERRORS, "udp_in_csum_errors_count", "count", SNMP, "Udp:InCsumErrors")           \
    X(UDP6_RCVBUF_ERRORS, "udp6_rcvbuf_errors_count", "count", SNMP6, "Udp6RcvbufErrors")          \
    X(UDP6_IN_CSUM_ERRORS, "udp6_in_csum_errors_count", "count", SNMP6, "Udp6InCsumErrors")        \
    X(IP_IN_DISCARDS, "ip_in_discards_count", "count", SNMP, "Ip:InDiscards")                      \
    X(IP_OUT_DISCARDS, "ip_out_discards_count", "count", SNMP, "Ip:OutDiscards")                   \
    X(IP_REASM_FAILS, "ip_reasm_fails_count", "count", SNMP, "Ip:ReasmFails")                      \
    X(IP_IN_CE_PACKETS, "ip_in_ce_packets_count", "count", SNMP, "IpExt:InCEPkts")                 \
    X(TCP_PRUNE_CALLED, "tcp_prune_called_count", "count", SNMP, "TcpExt:PruneCalled")             \
    X(TCP_RCV_PRUNED, "tcp_rcv_pruned_count", "count", SNMP, "TcpExt:RcvPruned")                   \
    X(TCP_OFO_PRUNED, "tcp_ofo_pruned_count", "count", SNMP, "TcpExt:OfoPruned")                   \
    X(TCP_RCV_COLLAPSED, "tcp_rcv_collapsed_count", "count", SNMP, "TcpExt:TCPRcvCollapsed")       \
    X(TCP_RCVQ_DROP, "tcp_rcvq_drop_count", "count", SNMP, "TcpExt:TCPRcvQDrop")                   \
    X(TCP_BACKLOG_DROP, "tcp_backlog_drop_count", "count", SNMP, "TcpExt:TCPBacklogDrop")          \
    X(TCP_ZERO_WINDOW_DROP, "tcp_zero_window_drop_count", "count", SNMP,                           \
      "TcpExt:TCPZeroWindowDrop")                                                                  \
    X(TCP_TO_ZERO_WINDOW, "tcp_to_zero_window_count", "count", SNMP, "TcpExt:TCPToZeroWindowAdv")  \
    X(TCP_MEMORY_PRESSURES, "tcp_memory_pressures_count", "count", SNMP,                           \
      "TcpExt:TCPMemoryPressures")                                                                 \
    X(TCP_TIMEOUTS, "tcp_timeouts_count", "count", SNMP, "TcpExt:TCPTimeouts")                     \
    X(TCP_DSACK_RECV, "tcp_dsack_recv_count", "count", SNMP, "TcpExt:TCPDSACKRecv")                \
    X(TCP_OFO_QUEUE, "tcp_ofo_queue_count", "count", SNMP, "TcpExt:TCPOFOQueue")                   \
    X(TCP_LISTEN_DROPS, "tcp_listen_drops_count", "count", SNMP, "TcpExt:ListenDrops")             \
    X(LINK_RX_OVER, "link_rx_over_count", "count", LINK, "rx_over_errors")                         \
    X(LINK_TX_ABORTED, "link_tx_aborted_count", "count", LINK, "tx_aborted_errors")                \
    X(LINK_TX_WINDOW, "link_tx_window_count", "count", LINK, "tx_window_errors")                   \
    X(TCP_ABORT_ON_MEMORY, "tcp_abort_on_memory_count", "count", SNMP, "TcpExt:TCPAbortOnMemory")  \
    X(IP_CSUM_ERRORS, "ip_csum_errors_count", "count", SNMP, "IpExt:InCsumErrors")                 \
    X(NIC_RX_NO_BUFFER, "nic_rx_no_buffer_count", "count", NIC, "no room in the receive ring")     \
    X(NIC_RX_CRC, "nic_rx_crc_count", "count", NIC, "frames with a bad check sum or length")       \
    X(NIC_RX_PAUSE, "nic_rx_pause_count", "count", NIC, "pause frames received")                   \
    X(NIC_TX_PAUSE, "nic_tx_pause_count", "count", NIC, "pause frames sent")                       \
    X(NIC_LATE_COLLISIONS, "nic_late_collisions_count", "count", NIC, "late collisions")           \
    X(QDISC_DROPPED, "qdisc_dropped_count", "count", QDISC, "drops")                               \
    X(QDISC_REQUEUES, "qdisc_requeues_count", "count", QDISC, "requeues")                          \
    X(QDISC_OVERLIMITS, "qdisc_overlimits_count", "count", QDISC, "overlimits")                    \
    X(CONNTRACK_DROP, "conntrack_drop_count", "count", TRACK, "drop")                              \
    X(CONNTRACK_EARLY_DROP, "conntrack_early_drop_count", "count", TRACK, "early_drop")            \
    X(CONNTRACK_INSERT_FAILED, "conntrack_insert_failed_count", "count", TRACK, "insert_failed")   \
    X(WIFI_TX_PACKETS, "wifi_tx_packets_count", "count", STATION, "tx packets")                    \
    X(WIFI_TX_RETRIES, "wifi_tx_retries_count", "count", STATION, "tx retries")                    \
    X(WIFI_TX_FAILED, "wifi_tx_failed_count", "count", STATION, "tx failed")                       \
    X(WIFI_TX_BITRATE, "wifi_tx_bitrate_bps", "bps", STATION, "tx bitrate")                        \
    X(WIFI_RX_BITRATE, "wifi_rx_bitrate_bps", "bps", STATION, "rx bitrate")                        \
    X(TCP_MEMORY_PAGES, "tcp_memory_pages_count", "count", GAUGE, "/proc/net/sockstat TCP mem")    \
    X(CONNTRACK_ENTRIES, "conntrack_entries_count", "count", GAUGE,                                \
      "/proc/sys/net/netfilter/nf_conntrack_count")                                                \
    X(NIC_ALLOWANCE_RATE, "nic_allowance_rate_count", "count", NIC,                                \
      "packets beyond the rate that the provider allows")                                          \
    X(NIC_ALLOWANCE_PACKETS, "nic_allowance_packets_count", "count", NIC,                          \
      "packets beyond the packets a second that it allows")                                        \
    X(NIC_ALLOWANCE_CONNECTIONS, "nic_allowance_connections_count", "count", NIC,                  \
      "packets beyond the connections that it tracks")                                             \
    X(TCP_WQUEUE_TOO_BIG, "tcp_wqueue_too_big_count", "count", SNMP, "TcpExt:TCPWqueueTooBig")

enum tl_host_counter_id {
#define TL_HOST_COUNTER_ENUM(id, name, unit, source, key) TL_HOST_COUNTER_##id,
    TL_HOST_COUNTER_MAP(TL_HOST_COUNTER_ENUM)
#undef TL_HOST_COUNTER_ENUM
        TL_HOST_COUNTER_COUNT
};

/* One reading. counts[i] is meant only where why[i] is KNOWN. Plain data. */
struct tl_host_counters {
    int64_t taken_ns; /* CLOCK_MONOTONIC */
    int ifindex;
    enum tl_host_why why[TL_HOST_COUNTER_COUNT];
    uint64_t counts[TL_HOST_COUNTER_COUNT];
};

/* What was counted between two readings. */
struct tl_host_counters_growth {
    int64_t elapsed_ns;
    struct tl_host_value values[TL_HOST_COUNTER_COUNT];
};

/* "tcp_retrans_segs_count"; NULL outside the table. */
const char *tl_host_counter_name(unsigned id);
/* Whether a responder in open mode tells it: what is lost or held up, and our interface's
 * traffic while we load it, but not what else the host does. false outside the table. */
bool tl_host_counter_open(unsigned id);

/* The interface by which traffic to peer leaves, 0 where there is no route. */
int tl_host_link_index(const struct sockaddr *peer);

/* Takes a reading; ifindex 0 leaves the interface's counters (LINK, NIC, QDISC, STATION)
 * NOT_READ. root as in host.h (these do not come from a file and are this machine's always). Never
 * fails; a counter that this kernel does not have is ABSENT. */
void tl_host_counters_read(struct tl_host_counters *ret_counters, const char *root, int ifindex);

/* Pure. A counter that went backwards is RESTARTED (the interface was made anew), but for
 * those of softnet_stat, which have 32 bits and may turn over. Readings of different
 * interfaces say nothing of the link. */
void tl_host_counters_between(const struct tl_host_counters *before,
                              const struct tl_host_counters *after,
                              struct tl_host_counters_growth *ret_growth);

/* Traffic on the interface that was not ours, as a share of all: above 0.05 a run is
 * degraded, above 0.25 it says nothing.
 *   link_bytes       growth of link_rx_bytes or link_tx_bytes
 *   payload_bytes    our payload in that direction
 *   retrans_bytes    of it sent again (0 for what we receive)
 *   mss_bytes        of our connections
 * The most that our payload can take on the wire is subtracted (86 bytes of headers a
 * segment), so that our headers never look like other traffic. 0 where all is ours. For
 * the direction of the payload only: the way back carries nothing but acknowledgements. */
double tl_host_other_traffic_ratio(double link_bytes, double payload_bytes, double retrans_bytes,
                                   double mss_bytes);

#endif

/* The closed table of facts: name, subject, unit, stage, meaning.
 *
 * This table is the contract between the probes, which set facts, and the rules,
 * which read them; doc/facts.md is printed from it. A name never changes its
 * meaning or its unit. */
#include "tightlink/facts/facts.h"

#include <pthread.h>
#include <string.h>

#define HOST(name, unit, stage, meaning)                                                           \
    {                                                                                              \
        name, TL_SUBJECT_HOST, TL_UNIT_##unit, stage, meaning                                      \
    }
#define PATH(name, unit, stage, meaning)                                                           \
    {                                                                                              \
        name, TL_SUBJECT_PATH, TL_UNIT_##unit, stage, meaning                                      \
    }
#define FLOW(name, unit, stage, meaning)                                                           \
    {                                                                                              \
        name, TL_SUBJECT_FLOW, TL_UNIT_##unit, stage, meaning                                      \
    }

/* A fact of each end of a flow. */
#define ENDS(name, unit, stage, meaning)                                                           \
    FLOW("sender_" name, unit, stage, "At the sender: " meaning),                                  \
        FLOW("receiver_" name, unit, stage, "At the receiver: " meaning)

static const struct tl_fact_def table[] = {
    /* hosts: settings, as the audit reads them */
    HOST("os", TEXT, "hosts", "Operating system of the host, for instance linux."),
    HOST("kernel", TEXT, "hosts", "Kernel release."),
    HOST("tcp_rmem_min_bytes", BYTES, "hosts", "Smallest TCP receive buffer (tcp_rmem[0])."),
    HOST("tcp_rmem_default_bytes", BYTES, "hosts", "Initial TCP receive buffer (tcp_rmem[1])."),
    HOST("tcp_rmem_max_bytes", BYTES, "hosts",
         "Largest TCP receive buffer that autotuning may use (tcp_rmem[2])."),
    HOST("tcp_wmem_min_bytes", BYTES, "hosts", "Smallest TCP send buffer (tcp_wmem[0])."),
    HOST("tcp_wmem_default_bytes", BYTES, "hosts", "Initial TCP send buffer (tcp_wmem[1])."),
    HOST("tcp_wmem_max_bytes", BYTES, "hosts",
         "Largest TCP send buffer that autotuning may use (tcp_wmem[2])."),
    HOST("core_rmem_max_bytes", BYTES, "hosts",
         "Largest receive buffer a program may ask for (net.core.rmem_max)."),
    HOST("core_wmem_max_bytes", BYTES, "hosts",
         "Largest send buffer a program may ask for (net.core.wmem_max)."),
    HOST("core_rmem_default_bytes", BYTES, "hosts", "Default receive buffer of other sockets."),
    HOST("core_wmem_default_bytes", BYTES, "hosts", "Default send buffer of other sockets."),
    HOST("netdev_max_backlog_count", COUNT, "hosts", "Packets the kernel queues per core."),
    HOST("tcp_window_scaling", BOOL, "hosts", "TCP window scaling is on (RFC 7323)."),
    HOST("tcp_sack", BOOL, "hosts", "Selective acknowledgement is on (RFC 2018)."),
    HOST("tcp_timestamps", NUMBER, "hosts", "TCP timestamps (RFC 7323): 0 off, 1 or 2 on."),
    HOST("tcp_ecn", NUMBER, "hosts", "ECN: 0 off, 1 asked for, 2 only when the other end asks."),
    HOST("tcp_slow_start_after_idle", BOOL, "hosts", "The window collapses after an idle time."),
    HOST("tcp_no_metrics_save", BOOL, "hosts", "Path metrics are not kept between connections."),
    HOST("tcp_moderate_rcvbuf", BOOL, "hosts", "The receive buffer is tuned by the kernel."),
    HOST("tcp_adv_win_scale", NUMBER, "hosts", "Share of the receive buffer kept for overhead."),
    HOST("tcp_notsent_lowat_bytes", BYTES, "hosts",
         "Unsent bytes below which a socket is writable."),
    HOST("tcp_mtu_probing", NUMBER, "hosts", "Packetization layer path MTU discovery: 0, 1 or 2."),
    HOST("tcp_base_mss_bytes", BYTES, "hosts", "Segment size at which MTU probing starts."),
    HOST("cc_current", TEXT, "hosts", "Default TCP congestion control."),
    HOST("cc_available", TEXT, "hosts", "Congestion controls that the kernel has loaded."),
    HOST("cc_allowed", TEXT, "hosts", "Congestion controls that any user may choose."),
    HOST("default_qdisc", TEXT, "hosts", "Default queueing discipline."),
    HOST("cpu_cores_count", COUNT, "hosts", "Processor cores online."),
    HOST("cpu_allowed_count", COUNT, "hosts", "Processor cores that the program may run on."),
    HOST(
        "cpu_quota_ratio", RATIO, "hosts",
        "Processor time that the program's control group may use, in cores; unknown means no quota "
        "was found."),
    HOST("load_1min_ratio", RATIO, "hosts", "Load average over one minute divided by cores."),
    HOST("steal_since_boot_ratio", RATIO, "hosts",
         "Share of all processor time since boot that a hypervisor took."),

    /* hosts: the interface by which the route to the other end leaves */
    HOST("link_name", TEXT, "hosts", "Interface by which the traffic leaves."),
    HOST("link_kind", TEXT, "hosts",
         "Kind of the interface: physical, wireless, veth, tun or another."),
    HOST("link_driver", TEXT, "hosts", "Driver of the interface."),
    HOST("link_mtu_bytes", BYTES, "hosts", "MTU of the interface."),
    HOST("link_speed_bps", BPS, "hosts", "Speed that the link negotiated, at layer 1."),
    HOST("link_speed_max_bps", BPS, "hosts", "Fastest speed the interface supports."),
    HOST("link_speed_nominal", BOOL, "hosts",
         "The speed is only a name: a virtual interface that is not held to it."),
    HOST("link_full_duplex", BOOL, "hosts", "The link negotiated full duplex."),
    HOST("link_autoneg", BOOL, "hosts", "The link negotiates its speed."),
    HOST("link_carrier", BOOL, "hosts", "The link has a carrier."),
    HOST("link_carrier_changes_count", COUNT, "hosts", "How often the carrier came or went."),
    HOST("link_state", TEXT, "hosts", "Operational state of the interface."),
    HOST("link_tx_queue_count", COUNT, "hosts", "Packets the interface's queue holds."),
    HOST("link_qdisc", TEXT, "hosts", "Queueing discipline of the interface."),
    HOST("link_tso", BOOL, "hosts", "TCP segmentation offload is on."),
    HOST("link_gso", BOOL, "hosts", "Generic segmentation offload is on."),
    HOST("link_gro", BOOL, "hosts", "Generic receive offload is on."),
    HOST("link_lro", BOOL, "hosts", "Large receive offload is on."),
    HOST("link_tx_checksum", BOOL, "hosts", "The interface computes checksums when sending."),
    HOST("link_rx_checksum", BOOL, "hosts", "The interface checks checksums when receiving."),
    HOST("link_rx_ring_count", COUNT, "hosts", "Descriptors in the receive ring."),
    HOST("link_rx_ring_max_count", COUNT, "hosts", "Descriptors the receive ring could have."),
    HOST("link_tx_ring_count", COUNT, "hosts", "Descriptors in the transmit ring."),
    HOST("link_tx_ring_max_count", COUNT, "hosts", "Descriptors the transmit ring could have."),
    HOST("link_rx_coalesce_ns", NS, "hosts", "Longest wait before a receive interrupt."),
    HOST("link_rx_coalesce_frames_count", COUNT, "hosts", "Frames before a receive interrupt."),
    HOST("link_rx_coalesce_adaptive", BOOL, "hosts", "Receive coalescing adapts to the load."),
    HOST("route_gateway", BOOL, "hosts", "The route leads over a router."),
    HOST("route_advmss_bytes", BYTES, "hosts", "MSS that the route makes this host advertise."),
    HOST("route_window_bytes", BYTES, "hosts", "Largest window that the route permits."),
    HOST("route_initcwnd_count", COUNT, "hosts", "Initial congestion window of the route."),
    HOST("route_initrwnd_count", COUNT, "hosts", "Initial receive window of the route."),
    HOST("route_cwnd_clamp_count", COUNT, "hosts", "Largest congestion window of the route."),
    HOST("route_cc", TEXT, "hosts", "Congestion control that the route asks for."),
    HOST("route_mtu_bytes", BYTES, "hosts", "MTU that the route asks for."),

    /* hosts: recovery, memory, receive processing, tracking, tunnels, queues, Wi-Fi */
    HOST("tcp_recovery", NUMBER, "hosts", "Loss recovery (bits): 1 RACK (RFC 8985)."),
    HOST("tcp_dsack", BOOL, "hosts", "Duplicates are reported to the sender (RFC 2883)."),
    HOST("tcp_reordering_count", COUNT, "hosts", "Reordering that TCP expects at first, segments."),
    HOST("tcp_max_reordering_count", COUNT, "hosts", "Most reordering it adapts to, segments."),
    HOST("tcp_early_retrans", NUMBER, "hosts", "Tail loss probe: 0 off, 3 or 4 on (RFC 8985)."),
    HOST("tcp_frto", NUMBER, "hosts", "Spurious timeouts are recognised (RFC 5682): 0 off."),
    HOST("tcp_limit_output_bytes", BYTES, "hosts",
         "Most that one socket keeps in the NIC's queue."),
    HOST("tcp_shrink_window", BOOL, "hosts", "The receive window may be taken back."),
    HOST("tcp_mem_low_pages_count", COUNT, "hosts",
         "Pages of TCP memory below which nobody minds."),
    HOST("tcp_mem_pressure_pages_count", COUNT, "hosts",
         "Pages of TCP memory from which the kernel saves (tcp_mem[1])."),
    HOST("tcp_mem_max_pages_count", COUNT, "hosts",
         "Pages of TCP memory at which the kernel refuses more (tcp_mem[2])."),
    HOST("tcp_mem_used_pages_count", COUNT, "hosts", "Pages of TCP memory in use."),
    HOST("memory_limit_bytes", BYTES, "hosts",
         "Memory that the program's control group may use; unknown without a limit."),
    HOST("netdev_budget_usecs", NUMBER, "hosts",
         "Microseconds of one turn of receive processing (net.core.netdev_budget_usecs)."),
    HOST("link_channels_count", COUNT, "hosts",
         "Pairs of a receive and a transmit queue in use (ethtool -l)."),
    HOST("link_channels_max_count", COUNT, "hosts", "Pairs that the interface could have."),
    HOST("route_peer", TEXT, "hosts", "Address of the other end, as this host reaches it."),
    HOST("route_via", TEXT, "hosts", "Address of the router that leads there."),
    HOST("netdev_budget_count", COUNT, "hosts", "Packets of one turn of receive processing."),
    HOST("conntrack_count", COUNT, "hosts", "Connections that the firewall tracks."),
    HOST("conntrack_max_count", COUNT, "hosts", "Connections that it can track."),
    HOST("cpu_governor", TEXT, "hosts", "What chooses the processor's clock (cpufreq)."),
    HOST("cpu_frequency_ratio", RATIO, "hosts",
         "Clock of the first core at rest over its highest one."),
    HOST("pressure_cpu_ratio", RATIO, "hosts",
         "Share of the last 10 s in which tasks waited for a core (PSI)."),
    HOST("pressure_memory_ratio", RATIO, "hosts", "The same for memory."),
    HOST("pressure_io_ratio", RATIO, "hosts", "The same for disks."),
    HOST("link_tunnel", BOOL, "hosts", "The interface wraps packets into others: VPN, GRE, PPP."),
    HOST("link_partner_speed_max_bps", BPS, "hosts", "Fastest speed that the switch port offers."),
    HOST("link_partner_autoneg", BOOL, "hosts", "The switch port negotiates."),
    HOST("link_pause_rx", BOOL, "hosts", "The interface obeys pause frames (IEEE 802.3, 31B)."),
    HOST("link_pause_tx", BOOL, "hosts", "The interface sends pause frames."),
    HOST("link_rx_queues_count", COUNT, "hosts", "Receive queues of the interface."),
    HOST("link_tx_queues_count", COUNT, "hosts", "Transmit queues of the interface."),
    HOST("link_rps", BOOL, "hosts", "Receive packet steering spreads packets over cores."),
    HOST("link_irqs_count", COUNT, "hosts", "Interrupts that the interface has."),
    HOST("link_irq_cores_count", COUNT, "hosts",
         "Cores that took at least 5 % of its interrupts since boot."),
    HOST("wifi_signal_dbm", NUMBER, "hosts", "Strength of the access point's signal, dBm."),
    HOST("wifi_frequency_mhz", NUMBER, "hosts", "Frequency of the wireless channel, MHz."),
    HOST("wifi_width_mhz", NUMBER, "hosts", "Width of the wireless channel, MHz."),
    HOST("wifi_tx_bitrate_bps", BPS, "hosts", "Wireless bit rate of the last frame sent, at rest."),
    HOST("wifi_rx_bitrate_bps", BPS, "hosts",
         "Wireless bit rate of the last frame received, at rest."),
    HOST("other_rx_bps", BPS, "hosts", "Traffic that came in by the interface before any test."),
    HOST("other_tx_bps", BPS, "hosts", "Traffic that went out by the interface before any test."),

    /* calibrate: what the near host can do without a network */
    HOST("alone_tcp_bps", BPS, "calibrate",
         "Payload rate of one TCP stream over loopback: both ends' work on this host, so at least "
         "what either end's processor can do."),
    HOST("alone_cpu_per_byte_ns", NS, "calibrate",
         "Processor time for each byte of that stream, both ends together."),
    HOST("alone_memory_bps", BPS, "calibrate", "Bits a second copied from memory to memory."),
    HOST("timer_late_ns", NS, "calibrate", "How late sleeps of 1 ms ended, median."),
    HOST("timer_late_max_ns", NS, "calibrate", "The latest of them."),

    /* path: idle measurements before anything is loaded */
    PATH("connect_rtt_ns", NS, "path", "Time of the TCP handshake with the responder."),
    PATH("rtt_idle_ns", NS, "path", "Median round-trip time of small UDP probes, unloaded."),
    PATH("rtt_idle_min_ns", NS, "path", "Smallest round-trip time of those probes."),
    PATH("rtt_idle_p75_ns", NS, "path", "75th percentile of those round-trip times."),
    PATH("rtt_idle_memory_ratio", RATIO, "path",
         "Correlation of the ranks of neighbouring idle round trips, 0 where it is negative: near "
         "0 for jitter, "
         "which comes anew with "
         "each packet; near 1 where a queue stands, which stays for a while."),
    FLOW("idle_data_delay_ns", NS, "path",
         "One-way delay without load in the direction of the data: median over the smallest."),
    FLOW("idle_data_delay_p75_ns", NS, "path", "The same: 75th percentile over the smallest."),
    FLOW("idle_ack_delay_ns", NS, "path",
         "One-way delay without load in the direction of the acknowledgements: median over the "
         "smallest."),
    FLOW("idle_ack_delay_p75_ns", NS, "path", "The same: 75th percentile over the smallest."),
    PATH("rtt_min_ns", NS, "derived",
         "Time on the way without queues: min(rtt_idle_min_ns, rtt_min_ns of each flow) of those "
         "that are known; connect_rtt_ns where none is."),
    PATH("echo_sent_count", COUNT, "path", "UDP echo probes sent at low rate."),
    PATH("echo_loss_ratio", RATIO, "path", "Share of UDP echo probes without an answer."),
    PATH("mtu_bytes", BYTES, "stream", "Path MTU as the kernel's TCP knows it."),

    /* stream: one TCP stream with the hosts' own settings */
    FLOW("goodput_bps", BPS, "stream",
         "Payload rate of one stream in its steady part, counted by the receiver."),
    FLOW("goodput_whole_bps", BPS, "stream", "The same over the whole stream, warm-up included."),
    FLOW("steady_ns", NS, "stream", "Length of the steady part."),
    FLOW("steady_rtts_count", COUNT, "stream", "Length of the steady part in round-trip times."),
    FLOW("warmup_ns", NS, "stream", "Time until the steady part began (slow start)."),
    FLOW("ledger_app_ratio", RATIO, "stream", "Share of time the sender had nothing to send."),
    FLOW("ledger_sndbuf_ratio", RATIO, "stream", "Share of time the send buffer limited."),
    FLOW("ledger_rwnd_ratio", RATIO, "stream", "Share of time the receive window limited."),
    FLOW("ledger_network_ratio", RATIO, "stream", "Share of time the network limited."),
    FLOW("rtt_mean_ns", NS, "stream", "Mean smoothed round-trip time under this load."),
    FLOW("rtt_max_ns", NS, "stream", "Largest smoothed round-trip time under this load."),
    FLOW("rtt_min_ns", NS, "stream", "Smallest round-trip time the sender's TCP saw."),
    FLOW("rtt_at_loss_ns", NS, "stream", "Mean smoothed round-trip time when losses were seen."),
    FLOW("segments_count", COUNT, "stream", "Segments sent in the steady part."),
    FLOW("retrans_count", COUNT, "stream", "Segments sent again in the steady part."),
    FLOW("retrans_ratio", RATIO, "stream",
         "Share of segments sent again, with the 95 % bounds of a Poisson count."),
    FLOW("loss_event_ratio", RATIO, "stream",
         "Loss events (at most one a round trip) per segment: what loss models count."),
    FLOW("dsack_count", COUNT, "stream", "Segments that were sent again without need (DSACK)."),
    FLOW("reord_seen_count", COUNT, "stream", "Reordering events that the sender saw."),
    FLOW("snd_wnd_max_bytes", BYTES, "stream", "Largest receive window that was advertised."),
    FLOW("inflight_mean_bytes", BYTES, "stream", "Mean bytes in flight."),
    FLOW("inflight_max_bytes", BYTES, "stream", "Most bytes in flight."),
    FLOW("window_full_ratio", RATIO, "stream",
         "Share of readings in which bytes in flight filled >= 90 % of the receive window."),
    FLOW("sndbuf_full_ratio", RATIO, "stream",
         "Share of readings in which all of a full send buffer was in flight while congestion "
         "window and receive window had room."),
    FLOW("cwnd_mean_bytes", BYTES, "stream", "Mean congestion window."),
    FLOW("mss_bytes", BYTES, "stream", "Segment size in use, payload bytes."),
    FLOW("wscale_ok", BOOL, "stream", "Window scaling was negotiated."),
    FLOW("sack_ok", BOOL, "stream", "Selective acknowledgement was negotiated."),
    FLOW("timestamps_ok", BOOL, "stream", "TCP timestamps were negotiated."),
    FLOW("cc", TEXT, "stream", "Congestion control in use by the sender's socket."),
    FLOW("received_bytes", BYTES, "stream", "Payload bytes that arrived."),
    FLOW("ends_agree_ratio", RATIO, "stream",
         "Difference of the two ends' byte counts as a share of the larger."),

    /* any stage that loads the path: times in which it carried nothing at all */
    FLOW("interrupted_count", COUNT, "stream",
         "Times in which no stream got a byte, longer than 1.5 s and ten round trips, with bytes "
         "before and after; of all stages that load the path."),
    FLOW("interrupted_ns", NS, "stream", "How long they were together."),
    FLOW("stalled", BOOL, "stream",
         "The transfer stood still from its beginning, although the far end went on answering."),
    FLOW("interrupted_when", TEXT, "stream", "When the last of them began."),

    /* the processors while the one stream ran */
    FLOW("sender_thread_cpu_ratio", RATIO, "stream", "Share of a core the sending thread used."),
    FLOW("sender_core_busy_ratio", RATIO, "stream", "Busy share of the sender's busiest core."),
    FLOW("sender_softirq_ratio", RATIO, "stream", "Interrupt share of that core."),
    FLOW("sender_quota_used_ratio", RATIO, "stream",
         "Processor time used as a share of the control group's quota."),
    FLOW("sender_throttled_ratio", RATIO, "stream", "Share of time the control group was stopped."),
    FLOW("sender_cpu_wait_ratio", RATIO, "stream",
         "Share of time the sending thread was ready but did not get a core."),
    FLOW("sender_steal_ratio", RATIO, "stream", "Time the hypervisor took from the sender."),
    FLOW("receiver_thread_cpu_ratio", RATIO, "stream",
         "Share of a core the receiving thread used."),
    FLOW("receiver_core_busy_ratio", RATIO, "stream", "Busy share of the receiver's busiest core."),
    FLOW("receiver_softirq_ratio", RATIO, "stream", "Interrupt share of that core."),
    FLOW("receiver_quota_used_ratio", RATIO, "stream",
         "Processor time used as a share of the control group's quota."),
    FLOW("receiver_throttled_ratio", RATIO, "stream",
         "Share of time the control group was stopped."),
    FLOW("receiver_cpu_wait_ratio", RATIO, "stream",
         "Share of time the receiving thread was ready but did not get a core."),
    FLOW("receiver_steal_ratio", RATIO, "stream", "Time the hypervisor took from the receiver."),

    /* what each end's kernel counted while the one stream ran (for all programs on it) */
    FLOW(
        "receiver_window_use_ratio", RATIO, "stream",
        "Least share of the window that the receiver offered which was on the way: what arrived in "
        "the shortest round trip. Seen from the receiver alone."),
    FLOW("receiver_queue_ratio", RATIO, "stream",
         "Share of the receive buffer that was data waiting for the program, on average."),
    FLOW("receiver_data_wait_ratio", RATIO, "stream",
         "Share of time the receiving program waited for data."),
    ENDS("link_rx_packets_count", COUNT, "stream", "packets that the interface received."),
    ENDS("link_tx_packets_count", COUNT, "stream", "packets that the interface sent."),
    ENDS("link_rx_dropped_count", COUNT, "stream",
         "packets that the interface received and the kernel did not want."),
    ENDS("link_tx_dropped_count", COUNT, "stream", "packets that the interface did not send."),
    ENDS("frame_errors_count", COUNT, "stream",
         "frames with a bad check sum, length or symbol: the larger of interface and driver."),
    ENDS("ring_dropped_count", COUNT, "stream",
         "packets lost because the NIC's receive ring was full: the largest of missed, fifo and "
         "overrun errors and of what the driver counts."),
    ENDS("collisions_count", COUNT, "stream", "collisions, which only half duplex has."),
    ENDS("late_collisions_count", COUNT, "stream", "collisions after the first 64 bytes."),
    ENDS("pause_rx_count", COUNT, "stream", "pause frames that stopped the NIC."),
    ENDS("pause_tx_count", COUNT, "stream", "pause frames that the NIC sent."),
    ENDS("allowance_rate_count", COUNT, "stream",
         "packets beyond the rate that the provider of the machine allows."),
    ENDS("allowance_packets_count", COUNT, "stream",
         "packets beyond the packets a second that it allows."),
    ENDS("allowance_connections_count", COUNT, "stream",
         "packets beyond the connections that it tracks."),
    ENDS("qdisc_dropped_count", COUNT, "stream", "packets that the queueing discipline dropped."),
    ENDS("qdisc_overlimits_count", COUNT, "stream", "packets that it held back."),
    ENDS("softnet_dropped_count", COUNT, "stream", "packets lost at a full backlog."),
    ENDS("softnet_squeezed_count", COUNT, "stream",
         "turns of receive processing that ended with work left."),
    ENDS("tcp_pruned_count", COUNT, "stream", "segments thrown away for want of socket memory."),
    ENDS("tcp_collapsed_count", COUNT, "stream", "segments copied together to save memory."),
    ENDS("tcp_prune_calls_count", COUNT, "stream", "how often a full receive buffer was pruned."),
    ENDS("tcp_backlog_drop_count", COUNT, "stream",
         "segments dropped because the program held the socket too long."),
    ENDS("tcp_memory_pressure_count", COUNT, "stream", "how often all TCP memory became short."),
    ENDS("tcp_memory_pages_count", COUNT, "stream", "pages of TCP memory, the higher reading."),
    ENDS("tcp_csum_errors_count", COUNT, "stream", "segments with a bad check sum."),
    ENDS("tcp_zero_window_count", COUNT, "stream", "how often a window closed to nothing."),
    ENDS("udp_rcvbuf_errors_count", COUNT, "stream", "datagrams lost at full socket buffers."),
    ENDS("ip_in_discards_count", COUNT, "stream", "packets received and thrown away by IP."),
    ENDS("ip_out_discards_count", COUNT, "stream", "packets that IP did not send."),
    ENDS("conntrack_dropped_count", COUNT, "stream",
         "connections refused because the tracking table was full or busy."),
    ENDS("wifi_retries_ratio", RATIO, "stream", "wireless frames sent again per frame, at most 1."),
    ENDS("wifi_failed_count", COUNT, "stream", "wireless frames given up."),
    ENDS("wifi_bitrate_bps", BPS, "stream",
         "wireless bit rate in the direction of the payload, the higher reading."),
    ENDS("other_traffic_ratio", RATIO, "stream",
         "share of the interface's traffic in this direction that was not ours."),
    ENDS("rx_core_share_ratio", RATIO, "stream",
         "share of all receive processing that one core did."),
    ENDS("rx_core_busy_ratio", RATIO, "stream", "how busy that core was."),
    ENDS("rx_core_softirq_ratio", RATIO, "stream", "interrupts' share of that core's time."),
    ENDS("all_busy_ratio", RATIO, "stream", "busy share of all cores together."),
    ENDS("frequency_ratio", RATIO, "stream",
         "clock of the busiest core at the end over its highest one."),
    ENDS("pressure_memory_ratio", RATIO, "stream", "share of time tasks waited for memory (PSI)."),
    ENDS("pressure_io_ratio", RATIO, "stream", "share of time tasks waited for disks (PSI)."),

    /* streams: several streams at once, with the hosts' own settings */
    FLOW("streams_count", COUNT, "streams", "How many streams ran at once."),
    FLOW("streams_goodput_bps", BPS, "streams", "Sum of the streams' steady payload rates."),
    FLOW("streams_rtt_mean_ns", NS, "streams", "Mean smoothed round-trip time under that load."),
    FLOW("streams_rtt_min_ns", NS, "streams", "Smallest round-trip time that any of them saw."),
    FLOW("streams_retrans_ratio", RATIO, "streams", "Share of segments sent again."),
    FLOW("streams_rwnd_ratio", RATIO, "streams", "Share of time receive windows limited."),
    FLOW("streams_sndbuf_ratio", RATIO, "streams", "Share of time send buffers limited."),
    FLOW("streams_network_ratio", RATIO, "streams", "Share of time the network limited."),
    FLOW(
        "trains_bps", BPS, "streams",
        "Payload rate of the narrowest link by the spacing of packet trains, sent just faster than "
        "what TCP got, so that small token buckets are empty."),
    FLOW("streams_fairness_ratio", RATIO, "streams", "Jain's index of the streams' rates."),
    FLOW("streams_sender_cpu_ratio", RATIO, "streams",
         "Largest of busiest core, sending threads and quota use at the sender."),
    FLOW("streams_receiver_cpu_ratio", RATIO, "streams", "The same at the receiver."),

    /* window: one stream whose socket buffers are set as large as the hosts permit */
    FLOW("window_rcvbuf_bytes", BYTES, "window",
         "Receive buffer that was set (as the kernel took it)."),
    FLOW("window_sndbuf_bytes", BYTES, "window",
         "Send buffer that was set (as the kernel took it)."),
    FLOW("window_goodput_bps", BPS, "window", "Steady payload rate with those buffers."),
    FLOW("window_snd_wnd_max_bytes", BYTES, "window", "Largest receive window then advertised."),
    FLOW("window_rwnd_ratio", RATIO, "window", "Share of time the receive window then limited."),
    FLOW("window_sndbuf_ratio", RATIO, "window", "Share of time the send buffer then limited."),
    FLOW("window_network_ratio", RATIO, "window", "Share of time the network then limited."),
    FLOW("window_retrans_ratio", RATIO, "window", "Share of segments then sent again."),
    FLOW("window_rtt_mean_ns", NS, "window", "Mean smoothed round-trip time then."),

    /* paced: one stream held well below the rate that was seen; loss that stays is not ours */
    FLOW("paced_offered_bps", BPS, "paced", "Rate to which the stream was paced."),
    FLOW("paced_goodput_bps", BPS, "paced", "Payload rate that arrived."),
    FLOW("paced_segments_count", COUNT, "paced", "Segments sent."),
    FLOW("paced_retrans_count", COUNT, "paced", "Segments sent again."),
    FLOW("paced_retrans_ratio", RATIO, "paced",
         "Share of segments sent again, with the 95 % bounds of a Poisson count."),
    FLOW("paced_rtt_mean_ns", NS, "paced", "Mean smoothed round-trip time then."),

    /* udp: datagrams paced at rising rates */
    FLOW("udp_delay_before_loss_ns", NS, "udp",
         "Delay that datagrams gained just below the rate at which they began to be lost: a full "
         "queue adds delay before it drops, a policer adds none."),

    /* stream: what the readings of the one stream tell over time */
    FLOW("slow_start_ns", NS, "stream",
         "Time until slow start ended: the slow start threshold was set or a segment was lost."),
    FLOW("slow_start_bytes", BYTES, "stream", "Payload that was acknowledged by then."),
    FLOW("first_loss_ns", NS, "stream", "Time of the first segment that was sent again."),
    FLOW("rate_at_loss_bps", BPS, "stream",
         "Median payload rate over the round trips before each loss."),
    FLOW(
        "loss_run_mean_count", COUNT, "stream",
        "Segments lost in a run, on average, in the steady part: 1 where every loss stands alone."),
    FLOW("loss_run_excess_ratio", RATIO, "stream",
         "Share of losses that others of the same run explain: 0 where every loss stands alone."),
    FLOW("loss_flat_ratio", RATIO, "stream",
         "Share of loss events before which the round-trip time showed no queue."),
    FLOW("rate_change_ratio", RATIO, "stream",
         "Rate before the one lasting fall of the rate over the rate after it; 1 where it did not "
         "fall for good."),
    FLOW("rate_change_ns", NS, "stream", "When that fall was; unknown without one."),
    FLOW("rate_change_before_bps", BPS, "stream", "Payload rate before that fall, at its best."),
    FLOW("rate_change_after_bps", BPS, "stream", "Payload rate after that fall."),
    FLOW("rate_change_swing_ratio", RATIO, "stream",
         "How much that rate swings between stretches of half a second, standard deviation over "
         "mean."),
    FLOW(
        "rate_change_bytes", BYTES, "stream",
        "Payload that had arrived by then beyond what the rate after it would have carried: what a "
        "boost or a full token bucket let through."),
    FLOW("rate_change_rtt_rise_ns", NS, "stream",
         "Smoothed round-trip time in the second after that fall less that before it."),
    FLOW("rate_change_retrans_ratio", RATIO, "stream",
         "Share of segments sent again around that fall."),
    FLOW("policer_bps", BPS, "stream",
         "Rate of the token bucket that would explain the losses: what arrived between the first "
         "loss of the steady part and its last one."),
    FLOW("policer_fit_ratio", RATIO, "stream",
         "How well a threshold of the rate tells when a loss comes, 0 chance, 1 always, times the "
         "share of losses with a flat round-trip time: near 1 for a policer, below 0.5 for "
         "losses by chance."),
    FLOW("policer_burst_bytes", BYTES, "stream",
         "What passed above that rate before the first loss: the bucket's depth, at least."),
    FLOW("outage_count", COUNT, "stream",
         "Times without any progress, longer than 500 ms and ten round trips."),
    FLOW("outage_longest_ns", NS, "stream", "The longest of them, 0 without one."),
    FLOW("rtt_shift_count", COUNT, "stream",
         "Times the smallest round-trip time changed for good: another way, or another queue."),
    FLOW("rtt_shift_ns", NS, "stream", "The largest such change, 0 without one."),

    /* stream, streams: what the path does by itself. Pieces are half seconds of the steady part;
     * the range of a rate is the 10th to 90th percentile over them */
    FLOW("queue_standing_ratio", RATIO, "stream",
         "Share of the pieces in which a queue stood before the bottleneck throughout, by the "
         "smallest delay of each: then the link was never idle (work conservation)."),
    FLOW("piece_bps", BPS, "stream", "Median rate of the pieces."),
    FLOW("full_bps", BPS, "stream",
         "Median rate of the pieces in which a queue stood: the link's own rate."),
    FLOW("loss_delay_rank_ratio", RATIO, "stream",
         "Where the round-trip time around a loss stands among all of them, mean over losses with "
         "its 95 % bounds: 0.5 for losses whatever the delay is, near 1 for those of a full queue, "
         "whoever filled it."),
    FLOW("loss_load_rank_ratio", RATIO, "stream",
         "Where the data in flight at a loss stands among that of all segments, mean over loss "
         "events with its 95 % bounds: 0.5 for losses whatever the load is, near 1 for those that "
         "load makes. From a capture."),
    FLOW("bucket_fit_ratio", RATIO, "stream",
         "Share of losses at which a token bucket of the rate between them would be empty, times "
         "the share of other times at which it would not be overdrawn; 0 where the round-trip time "
         "tells of losses beforehand (Flach et al. 2016). From a capture."),
    FLOW("packets_count", COUNT, "stream",
         "Packets of the capture that this flow's facts rest on; unknown where there is none."),
    FLOW("clocked_ratio", RATIO, "stream",
         "Share of the sender's trains of packets that an acknowledgement set off, beyond chance: "
         "near 1 where a window or a buffer holds it, near 0 where it sends by its own clock. From "
         "a capture."),
    FLOW("capture_place", TEXT, "stream",
         "Where the capture was taken, by the round trips to either end: at the sender, on the "
         "way, at the receiver."),
    FLOW("ce_ratio", RATIO, "stream",
         "Share of the segments that arrived with a mark of congestion (ECN)."),
    FLOW("streams_queue_standing_ratio", RATIO, "streams",
         "The same as queue_standing_ratio while the streams ran."),
    FLOW("streams_piece_bps", BPS, "streams", "Median rate of all of them in the pieces."),
    FLOW("streams_full_bps", BPS, "streams",
         "Median rate of all of them in the pieces in which a queue stood."),
    FLOW("again_bps", BPS, "streams",
         "Rate of one connection once more, behind the streams, where a queue stood with one and "
         "the streams got another rate: is it as before, the streams made the difference, and else "
         "the path."),
    FLOW("streams_loss_delay_rank_ratio", RATIO, "streams",
         "The same as loss_delay_rank_ratio over the losses of all of them."),

    /* stream, streams: small UDP probes beside the load; growth is the median under load less
     * the smallest of the same probes, so that it needs no common clock */
    FLOW("loaded_echo_count", COUNT, "stream", "UDP probes answered while the stream ran."),
    FLOW("loaded_echo_loss_ratio", RATIO, "stream", "Share of them without an answer."),
    FLOW("loaded_rtt_ns", NS, "stream", "Their median round-trip time."),
    FLOW("loaded_data_delay_ns", NS, "stream",
         "Growth of the one-way delay in the direction of the data."),
    FLOW("loaded_ack_delay_ns", NS, "stream",
         "Growth of the one-way delay in the direction of the acknowledgements."),
    FLOW("streams_loaded_rtt_ns", NS, "streams",
         "Median round-trip time of UDP probes while the streams ran."),
    FLOW("streams_loaded_data_delay_ns", NS, "streams",
         "Growth of the one-way delay in the direction of the data."),
    FLOW("streams_loaded_ack_delay_ns", NS, "streams",
         "Growth of the one-way delay in the direction of the acknowledgements."),
    FLOW("responsiveness_rpm", NUMBER, "streams",
         "Round trips a minute of UDP probes beside the streams, from their mean without the "
         "longest twentieth (draft-ietf-ippm-responsiveness, its probes on other connections)."),
    FLOW("responsiveness_tcp_rpm", NUMBER, "streams",
         "Round trips a minute within the loading TCP connections themselves, from their smoothed "
         "round-trip times (the same draft, its probes on loaded connections)."),

    /* streams: the ladder of their number, and what tells them apart */
    FLOW("streams_2_goodput_bps", BPS, "streams", "Rate of two streams, a second's reading."),
    FLOW("streams_4_goodput_bps", BPS, "streams", "Rate of four streams, a second's reading."),
    FLOW("streams_each_min_bps", BPS, "streams", "Rate of the slowest of the streams."),
    FLOW("streams_each_max_bps", BPS, "streams", "Rate of the fastest of the streams."),
    FLOW("streams_each_spread_ratio", RATIO, "streams",
         "Standard deviation of the streams' rates over their mean."),
    FLOW("streams_window_full_ratio", RATIO, "streams",
         "Share of readings in which a stream filled its receive window."),
    FLOW("streams_rtt_at_loss_ns", NS, "streams",
         "Mean smoothed round-trip time when losses were seen."),
    FLOW("streams_loss_event_ratio", RATIO, "streams", "Loss events per segment."),
    FLOW("streams_segments_count", COUNT, "streams", "Segments sent by all of them."),
    FLOW("streams_retrans_count", COUNT, "streams", "Segments sent again by all of them."),
    FLOW("streams_slow_count", COUNT, "streams",
         "Streams in the slow one of two groups, where their rates or losses fall into two; 0 "
         "where they do not."),
    FLOW("streams_slow_bps", BPS, "streams", "Mean rate of that slow group."),
    FLOW("streams_fast_bps", BPS, "streams", "Mean rate of the fast group."),
    FLOW("streams_slow_retrans_ratio", RATIO, "streams", "Share sent again by the slow group."),
    FLOW("streams_fast_retrans_ratio", RATIO, "streams", "Share sent again by the fast group."),
    FLOW("streams_slow_ports", TEXT, "streams", "Client ports of the slow group."),

    /* microscope: one short stream with another congestion control */
    FLOW("microscope_cc", TEXT, "microscope", "Congestion control of the stream."),
    FLOW("microscope_goodput_bps", BPS, "microscope", "Its steady payload rate."),
    FLOW("microscope_segments_count", COUNT, "microscope", "Segments it sent in its steady part."),
    FLOW("microscope_retrans_count", COUNT, "microscope", "Segments it sent again there."),
    FLOW("microscope_retrans_ratio", RATIO, "microscope",
         "Share of segments sent again, with the 95 % bounds of a Poisson count."),
    FLOW("microscope_loss_event_ratio", RATIO, "microscope", "Loss events per segment."),
    FLOW("microscope_loss_run_mean_count", COUNT, "microscope", "Segments sent again an event."),
    FLOW("microscope_rtt_mean_ns", NS, "microscope", "Its mean smoothed round-trip time."),
    FLOW("microscope_rtt_min_ns", NS, "microscope", "Its shortest round-trip time."),
    FLOW("microscope_rtt_at_loss_ns", NS, "microscope",
         "Its mean smoothed round-trip time when losses were seen."),
    FLOW("microscope_network_ratio", RATIO, "microscope", "Share of time the network limited it."),

    /* window: the sweep of sizes */
    FLOW("window_small_bytes", BYTES, "window",
         "Largest receive window in a short step with about half the stream's, on short paths."),
    FLOW("window_small_goodput_bps", BPS, "window", "Rate with it."),
    FLOW("window_knee_bytes", BYTES, "window",
         "Window from which on a larger one brings no more: window_goodput_bps x path.rtt_min_ns "
         "where no buffer held that stream back."),

    /* paced: a second stream where several streams get more than one */
    FLOW("paced_near_offered_bps", BPS, "paced",
         "Rate to which a second paced stream was held: nine tenths of the best rate seen where "
         "the losses vanished at half the rate, else seven tenths."),
    FLOW("paced_near_cc", TEXT, "paced", "Its congestion control: bbr where the losses stayed."),
    FLOW("paced_near_goodput_bps", BPS, "paced", "Payload rate that arrived of it."),
    FLOW("paced_near_segments_count", COUNT, "paced", "Segments it sent in its steady part."),
    FLOW("paced_near_retrans_count", COUNT, "paced", "Segments it sent again there."),
    FLOW("paced_near_retrans_ratio", RATIO, "paced",
         "Share of its segments sent again, with the 95 % bounds of a Poisson count."),
    FLOW("paced_near_loss_event_ratio", RATIO, "paced", "Its loss events per segment."),
    FLOW("paced_loss_event_ratio", RATIO, "paced", "Loss events per segment at half the rate."),

    /* udp: datagrams in steps of rising rate, in trains and in bursts */
    FLOW("udp_knee_bps", BPS, "udp",
         "Highest payload rate of datagrams that passed with no more loss than at low rates."),
    FLOW("udp_loss_below_knee_ratio", RATIO, "udp",
         "Share of datagrams lost below that rate, with bounds."),
    FLOW("udp_loss_above_knee_ratio", RATIO, "udp", "Share of datagrams lost just above it."),
    FLOW("udp_loss_run_mean_count", COUNT, "udp", "Datagrams lost in a row, on average."),
    FLOW("udp_loss_run_excess_ratio", RATIO, "udp",
         "Share of losses that follow a loss, less the share that chance would give."),
    FLOW("udp_reorder_ratio", RATIO, "udp", "Share of datagrams that came behind a later one."),
    FLOW("udp_duplicate_ratio", RATIO, "udp", "Share of datagrams that came twice."),
    FLOW("udp_corrupt_ratio", RATIO, "udp",
         "Share of datagrams whose content had changed on the way, or that the receiver's "
         "checksum refused."),
    FLOW("udp_dispersion_bps", BPS, "udp",
         "Capacity of the narrowest link by the spacing of packet trains."),
    FLOW("udp_burst8_loss_ratio", RATIO, "udp", "Share lost of bursts of 8 datagrams."),
    FLOW("udp_burst64_loss_ratio", RATIO, "udp", "Share lost of bursts of 64 datagrams."),
    FLOW("udp_rxq_dropped_count", COUNT, "udp",
         "Datagrams that the receiving socket's own buffer had no room for."),
    FLOW("udp_sender_limited", BOOL, "udp",
         "The sender could not offer the rate it should have: no knee of the path's."),
    FLOW("udp_jitter_ns", NS, "udp", "Mean change of one-way delay between datagrams (RFC 3550)."),
    FLOW("udp_other_traffic_ratio", RATIO, "udp",
         "Share of the narrowest link that others use: 1 - udp_knee_bps / udp_dispersion_bps."),

    /* path: transfers with the far end that ran already, of whatever program; the busiest one */
    FLOW("running_count", COUNT, "path",
         "Connections with the far end that moved data before the tests: 1 or none; the busiest is "
         "looked at."),
    FLOW("running_bps", BPS, "path", "Payload rate of that connection, over two seconds."),
    FLOW("running_window_bytes", BYTES, "path", "Its largest receive window."),
    FLOW("running_rcvbuf_bytes", BYTES, "path",
         "Its receive buffer at this end, where it receives here."),
    FLOW("running_sndbuf_bytes", BYTES, "path",
         "Its send buffer at this end, where it sends here."),
    FLOW("running_buffer_fixed", BOOL, "path", "That buffer was the same in every reading."),
    FLOW("running_mss_bytes", BYTES, "path", "Its segment size."),
    FLOW("running_rwnd_ratio", RATIO, "path",
         "Share of time in which the far end's window held it back."),
    FLOW("running_pause_count", COUNT, "path", "Pauses of more than 12 ms between its bursts."),
    FLOW("running_pause_ns", NS, "path", "Median pause."),
    FLOW("running_idle_ratio", RATIO, "path", "Share of time spent in pauses."),
    FLOW("running_burst_bytes", BYTES, "path", "Mean payload between two pauses."),

    /* disk: the directory that was named at this end; measured in a file without a name */
    HOST("disk_directory", TEXT, "disk", "Directory that was tested."),
    HOST("disk_device", TEXT, "disk", "Block device under it, for instance nvme0n1."),
    HOST("disk_filesystem", TEXT, "disk", "Type of its file system, for instance ext4."),
    HOST("disk_in_memory", BOOL, "disk", "The file system lives in memory (tmpfs, ramfs)."),
    HOST("disk_over_network", BOOL, "disk",
         "The file system is another machine's (NFS, SMB and others)."),
    HOST("disk_mounted_sync", BOOL, "disk", "It is mounted so that each write waits (sync)."),
    HOST("disk_free_bytes", BYTES, "disk", "Space that this user may still use there."),
    HOST("disk_read_ahead_bytes", BYTES, "disk", "How far the kernel reads ahead of a program."),
    HOST("disk_scheduler", TEXT, "disk", "Scheduler of the device's queue."),
    HOST("disk_queue_count", COUNT, "disk", "Requests that the device's queue holds."),
    HOST("disk_rotational", BOOL, "disk", "The device says that it has spinning platters."),
    HOST("disk_virtual", BOOL, "disk",
         "The device is another machine's file or a loop device: what is under it is not seen."),
    HOST("disk_write_through", BOOL, "disk",
         "The device has no volatile write cache, or it is off."),
    HOST("disk_throttle_read_bps", BPS, "disk",
         "Read rate to which the program's control group is held; unknown means that no limit was "
         "found."),
    HOST("disk_throttle_write_bps", BPS, "disk", "The same for writing."),
    HOST("disk_direct", BOOL, "disk", "The file system lets programs past its page cache."),
    HOST("disk_threads_count", COUNT, "disk", "Blocks asked for at once in the tests."),
    HOST("disk_write_bps", BPS, "disk",
         "Rate of sequential writing past the page cache, blocks of 1 MiB."),
    HOST("disk_write_p50_ns", NS, "disk", "Median time of one such write."),
    HOST("disk_write_p99_ns", NS, "disk", "Time within which 99 % of them were done."),
    HOST("disk_write_max_ns", NS, "disk", "Longest of them."),
    HOST("disk_write_cpu_ratio", RATIO, "disk", "Processor time that writing took, in cores."),
    HOST("disk_sync_ns", NS, "disk", "Time until the device had made those writes durable."),
    HOST("disk_read_bps", BPS, "disk",
         "Rate of sequential reading past the page cache, blocks of 1 MiB."),
    HOST("disk_read_p50_ns", NS, "disk", "Median time of one such read."),
    HOST("disk_read_p99_ns", NS, "disk", "Time within which 99 % of them were done."),
    HOST("disk_read_max_ns", NS, "disk", "Longest of them."),
    HOST("disk_read_cpu_ratio", RATIO, "disk", "Processor time that reading took, in cores."),
    HOST("disk_read_cached", BOOL, "disk",
         "The page cache or memory may have answered reads in the disk's place."),
    HOST("disk_buffered_write_bps", BPS, "disk",
         "Rate of writing by one thread through the page cache, the time until it was on the disk "
         "included."),
    HOST("disk_buffered_read_bps", BPS, "disk",
         "Rate of reading by one thread through an emptied page cache: as most programs do."),
    HOST("disk_fsync_write_bps", BPS, "disk",
         "Rate of writing by one thread that waits after each block until it is on the disk."),

    /* disk-to-disk: disks and network together, memory in a disk's place where none was named */
    FLOW("file_goodput_bps", BPS, "disk-to-disk",
         "Payload rate of a file's way: every disk that was named, and the network."),
    FLOW("file_memory_bps", BPS, "disk-to-disk", "Rate from memory to memory, same streams."),
    FLOW("file_read_bps", BPS, "disk-to-disk", "Rate from the sender's disk to memory."),
    FLOW("file_write_bps", BPS, "disk-to-disk", "Rate from memory to the receiver's disk."),
    FLOW("file_disk_bps", BPS, "disk-to-disk", "Rate from disk to disk."),
    FLOW("file_streams_count", COUNT, "disk-to-disk", "Streams of those transfers."),
    FLOW("file_sender_wait_ratio", RATIO, "disk-to-disk",
         "Share of time in which the sender waited for its disk, of the transfer with every disk "
         "that was named."),
    FLOW("file_receiver_wait_ratio", RATIO, "disk-to-disk",
         "Share of time in which the receiver waited for its disk."),
    FLOW("file_checked_bytes", BYTES, "disk-to-disk",
         "Bytes whose checksums at both ends were compared."),
    FLOW("file_wrong_count", COUNT, "disk-to-disk",
         "Blocks of 256 KiB that did not arrive as they were sent."),

    /* mtu: which packet sizes get through, and what the way does to headers. A flow fact is of
     * the direction in which its packets go */
    FLOW("path_mtu_bytes", BYTES, "mtu",
         "Largest IP packet that passed; the upper bound is the smallest that did not."),
    FLOW("mtu_tried_bytes", BYTES, "mtu",
         "Largest IP packet that was tried: what the sender's interface takes, at most 9244."),
    FLOW("mtu_black_hole", BOOL, "mtu",
         "Larger packets vanish, smaller ones pass, and no router says why."),
    FLOW("mtu_reported_bytes", BYTES, "mtu", "MTU that a router reported to the sender."),
    FLOW("mtu_reporter", TEXT, "mtu", "Address of the router that reported it."),
    FLOW("mtu_hole_first_hop", NUMBER, "mtu",
         "Last hop that a packet of full size reaches, counted from the sender; 0 = the sender."),
    FLOW("mtu_hole_last_hop", NUMBER, "mtu", "First hop that it does not reach."),
    FLOW("mtu_hole_segment", TEXT, "mtu",
         "Segment in which large packets vanish: lan, path or far-lan."),
    FLOW("mss_sent_bytes", BYTES, "mtu", "MSS that the receiver of the data announced."),
    FLOW("mss_received_bytes", BYTES, "mtu", "MSS that arrived at the sender of the data."),
    FLOW("syn_options_lost", BOOL, "mtu",
         "A SYN of either direction arrived without an option it left with."),
    FLOW("syn_options_lost_names", TEXT, "mtu", "The options that were lost, in words."),
    FLOW("dscp_changed", BOOL, "mtu",
         "Datagrams marked with a traffic class arrived with another one."),
    FLOW("dscp_received", NUMBER, "mtu",
         "DSCP with which datagrams arrived that left with 46 (expedited forwarding)."),
    FLOW("ecn_lost", BOOL, "mtu",
         "Datagrams that left able to carry congestion marks (ECT) arrived without that."),

    /* hops: the routers on the way, from this PC */
    PATH("hops_count", COUNT, "hops",
         "Links on the way to the far end: its routers and itself, from the TTL that arrived."),
    PATH("hops_answered_count", COUNT, "hops", "Routers that answered."),
    PATH("hops_ways_count", COUNT, "hops",
         "Ways that flows of other ports take: more than one where routers share the load."),

    /* stream, streams: hops probed while the path was loaded */
    FLOW("tight_first_hop", NUMBER, "stream",
         "Where a queue grows under load: behind this hop; 0 = this PC."),
    FLOW("tight_last_hop", NUMBER, "stream", "And before this one, both counted from this PC."),
    FLOW("tight_segment", TEXT, "stream", "Segment of that link: lan, path or far-lan."),
    FLOW("loss_segment", TEXT, "via",
         "Segment that loses the packets, by the losses up to each responder on the way: lan, path "
         "or far-lan."),
    FLOW("tight_rtt_rise_ns", NS, "stream", "Round-trip time that the load added there."),

    /* split: whether something on the way answers in the far end's place */
    PATH("app_rtt_min_ns", NS, "split",
         "Smallest round trip of a message that the far program answers over TCP."),
    PATH("tcp_rtt_min_ns", NS, "split", "Smallest TCP handshake round trip, at this end."),
    PATH("far_tcp_rtt_min_ns", NS, "split", "The same at the far end."),
    PATH("far_sees_other_address", BOOL, "split",
         "The far end sees another address than this PC's: translation or a proxy."),
    FLOW("acked_ahead_bytes", BYTES, "stream",
         "Payload that was acknowledged to the sender before the receiver can have had it."),

    /* family: the other address family of the same name */
    PATH("other_family", TEXT, "family", "The other family: IPv4 or IPv6."),
    PATH("other_family_works", BOOL, "family", "A connection over it was made."),
    PATH("other_connect_rtt_ns", NS, "family", "Time of the TCP handshake over it."),
    PATH("other_rtt_idle_ns", NS, "family", "Median round-trip time of small UDP probes over it."),
    FLOW("other_goodput_bps", BPS, "family", "Payload rate of one stream over it."),

    /* derived: formed by derive.c, which says why each formula is that one */
    FLOW("streams_scale_ratio", RATIO, "derived",
         "Several streams' rate over one stream's: streams_goodput_bps / goodput_bps."),
    FLOW(
        "rate_variation_ratio", RATIO, "derived",
        "How much the link's own rate changes within seconds: 90th less 10th percentile of "
        "full_bps over its median, or of streams_full_bps, or what again_bps differs from full_bps "
        "by; the largest."),
    FLOW("link_low_bps", BPS, "derived",
         "What a link whose rate changes carries at its slower times: the smaller 10th percentile "
         "of full_bps and streams_full_bps; unknown where rate_variation_ratio is below 0.3."),
    FLOW("link_high_bps", BPS, "derived",
         "What it carries at its faster times: the larger 90th percentile."),
    ENDS("lan_queue_ratio", RATIO, "derived",
         "share of the queue that grew under load in its own local network: 1 where tight_segment "
         "is that, else 0."),
    FLOW("data_scatter_ns", NS, "derived",
         "What the one-way delay of data scatters by without load, at most: 1.5 x "
         "idle_data_delay_p75_ns; half of loaded_data_delay_ns or streams_loaded_data_delay_ns "
         "where "
         "those lie so far below that something disturbed the idle probes. Under load a link that "
         "keeps the order gives every packet nearly that much."),
    FLOW("ack_scatter_ns", NS, "derived",
         "The same for acknowledgements, from idle_ack_delay_p75_ns and the loaded_ack_delay_ns of "
         "both stages."),
    PATH("rtt_scatter_ns", NS, "derived",
         "What round trips scatter by without load, at most: data_scatter_ns + ack_scatter_ns."),
    FLOW("window_scale_ratio", RATIO, "derived",
         "Rate with large buffers over rate with the hosts' own: window_goodput_bps / "
         "goodput_bps."),
    FLOW("best_goodput_bps", BPS, "derived",
         "Highest payload rate seen: max(goodput_bps, streams_goodput_bps, window_goodput_bps) of "
         "those that are known."),
    FLOW("queue_delay_ns", NS, "derived",
         "Time spent in queues: max(rtt_mean_ns, streams_rtt_mean_ns, window_rtt_mean_ns) of those "
         "that are known, less path.rtt_min_ns."),
    FLOW("queue_delay_at_loss_ns", NS, "derived",
         "Time spent in queues when losses were seen: rtt_at_loss_ns - path.rtt_min_ns."),
    FLOW("usable_window_bytes", BYTES, "derived",
         "Receive window that can really be filled: as many whole segments as the largest one "
         "advertised holds."),
    FLOW("bdp_bytes", BYTES, "derived",
         "Bandwidth-delay product: best_goodput_bps x path.rtt_min_ns."),
    FLOW("sender_cpu_ratio", RATIO, "derived",
         "How near the sender's processor was to its limit with one stream: max(thread_cpu + "
         "cpu_wait, quota_used, and core_busy where softirq is at least 0.5)."),
    FLOW("receiver_cpu_ratio", RATIO, "derived", "The same at the receiver."),
    FLOW("payload_ratio", RATIO, "derived",
         "Share of the link's layer 1 rate that is payload: mss_bytes / (mss_bytes + headers + 38 "
         "bytes of Ethernet framing, preamble and gap); headers are path.mtu_bytes - mss_bytes "
         "where that is possible, else 52 bytes."),
    HOST("link_payload_bps", BPS, "derived",
         "Payload rate that the interface's speed allows: link_speed_bps x payload_ratio; unknown "
         "for a nominal speed."),
};

size_t tl_fact_def_count(void)
{
    return sizeof table / sizeof *table;
}

const struct tl_fact_def *tl_fact_def_at(size_t index)
{
    return index < tl_fact_def_count() ? &table[index] : NULL;
}

/* Positions in the table, ordered by subject and name: rules look up many names. */
static unsigned short by_name[sizeof table / sizeof *table];
static pthread_once_t by_name_once = PTHREAD_ONCE_INIT;

static int compare_defs(const struct tl_fact_def *def, enum tl_subject subject, const char *name)
{
    if (def->subject != subject)
        return def->subject < subject ? -1 : 1;
    return strcmp(def->name, name);
}

/* Insertion sort: once in a process, and the table is short. */
static void sort_names(void)
{
    for (size_t i = 0; i < tl_fact_def_count(); i++) {
        size_t place = i;
        for (; place > 0 &&
               compare_defs(&table[by_name[place - 1]], table[i].subject, table[i].name) > 0;
             place--)
            by_name[place] = by_name[place - 1];
        by_name[place] = (unsigned short)i;
    }
}

const struct tl_fact_def *tl_fact_def_find(enum tl_subject subject, const char *name)
{
    pthread_once(&by_name_once, sort_names);
    size_t low = 0, high = tl_fact_def_count();
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = compare_defs(&table[by_name[middle]], subject, name);
        if (order == 0)
            return &table[by_name[middle]];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

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

    /* path: idle measurements before anything is loaded */
    PATH("connect_rtt_ns", NS, "path", "Time of the TCP handshake with the responder."),
    PATH("rtt_idle_ns", NS, "path", "Median round-trip time of small UDP probes, unloaded."),
    PATH("rtt_idle_min_ns", NS, "path", "Smallest round-trip time of those probes."),
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
    FLOW("syn_options_lost", BOOL, "stream",
         "The SYN arrived without an option it left with (the saved SYN against the one sent)."),
    FLOW("cc", TEXT, "stream", "Congestion control in use by the sender's socket."),
    FLOW("received_bytes", BYTES, "stream", "Payload bytes that arrived."),
    FLOW("ends_agree_ratio", RATIO, "stream",
         "Difference of the two ends' byte counts as a share of the larger."),

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

    /* streams: several streams at once, with the hosts' own settings */
    FLOW("streams_count", COUNT, "streams", "How many streams ran at once."),
    FLOW("streams_goodput_bps", BPS, "streams", "Sum of the streams' steady payload rates."),
    FLOW("streams_rtt_mean_ns", NS, "streams", "Mean smoothed round-trip time under that load."),
    FLOW("streams_retrans_ratio", RATIO, "streams", "Share of segments sent again."),
    FLOW("streams_rwnd_ratio", RATIO, "streams", "Share of time receive windows limited."),
    FLOW("streams_sndbuf_ratio", RATIO, "streams", "Share of time send buffers limited."),
    FLOW("streams_network_ratio", RATIO, "streams", "Share of time the network limited."),
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

    /* derived: formed by derive.c, which says why each formula is that one */
    FLOW("streams_scale_ratio", RATIO, "derived",
         "Several streams' rate over one stream's: streams_goodput_bps / goodput_bps."),
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

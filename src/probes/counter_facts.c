/* From counters to facts: names of their own where several counters mean one thing. */
#include "counter_facts.h"

#include <math.h>

#include "flow_facts.h"

/* One fact from up to five counters. */
static const struct {
    enum tl_fact_name of_sender, of_receiver;
    enum { LARGEST, SUM } how;
    int ids[5], count;
} rows[] = {
#define ENDS(name)     TL_FACT_FLOW_sender_##name, TL_FACT_FLOW_receiver_##name
#define ONE(id)        LARGEST, {TL_HOST_COUNTER_##id}, 1
#define TWO(how, a, b) how, {TL_HOST_COUNTER_##a, TL_HOST_COUNTER_##b}, 2
    {ENDS(link_rx_packets_count), ONE(LINK_RX_PACKETS)},
    {ENDS(link_tx_packets_count), ONE(LINK_TX_PACKETS)},
    {ENDS(link_rx_dropped_count), ONE(LINK_RX_DROPPED)},
    {ENDS(link_tx_dropped_count), ONE(LINK_TX_DROPPED)},
    /* crc errors are part of rx_errors, frame errors may be counted beside them */
    {ENDS(frame_errors_count),
     LARGEST,
     {TL_HOST_COUNTER_LINK_RX_CRC, TL_HOST_COUNTER_LINK_RX_FRAME, TL_HOST_COUNTER_NIC_RX_CRC},
     3},
    /* the same event under the names that drivers choose: never added up */
    {ENDS(ring_dropped_count),
     LARGEST,
     {TL_HOST_COUNTER_LINK_RX_MISSED, TL_HOST_COUNTER_LINK_RX_FIFO, TL_HOST_COUNTER_LINK_RX_OVER,
      TL_HOST_COUNTER_NIC_RX_NO_BUFFER},
     4},
    {ENDS(collisions_count), ONE(LINK_COLLISIONS)},
    {ENDS(late_collisions_count), TWO(LARGEST, LINK_TX_WINDOW, NIC_LATE_COLLISIONS)},
    {ENDS(pause_rx_count), ONE(NIC_RX_PAUSE)},
    {ENDS(pause_tx_count), ONE(NIC_TX_PAUSE)},
    {ENDS(allowance_rate_count), ONE(NIC_ALLOWANCE_RATE)},
    {ENDS(allowance_packets_count), ONE(NIC_ALLOWANCE_PACKETS)},
    {ENDS(allowance_connections_count), ONE(NIC_ALLOWANCE_CONNECTIONS)},
    {ENDS(qdisc_dropped_count), ONE(QDISC_DROPPED)},
    {ENDS(qdisc_overlimits_count), ONE(QDISC_OVERLIMITS)},
    {ENDS(softnet_dropped_count), ONE(SOFTNET_DROPPED)},
    {ENDS(softnet_squeezed_count), ONE(SOFTNET_SQUEEZED)},
    {ENDS(tcp_pruned_count),
     SUM,
     {TL_HOST_COUNTER_TCP_RCV_PRUNED, TL_HOST_COUNTER_TCP_OFO_PRUNED,
      TL_HOST_COUNTER_TCP_RCVQ_DROP},
     3},
    {ENDS(tcp_collapsed_count), ONE(TCP_RCV_COLLAPSED)},
    {ENDS(tcp_prune_calls_count), ONE(TCP_PRUNE_CALLED)},
    {ENDS(tcp_backlog_drop_count), ONE(TCP_BACKLOG_DROP)},
    {ENDS(tcp_memory_pressure_count), ONE(TCP_MEMORY_PRESSURES)},
    {ENDS(tcp_memory_pages_count), ONE(TCP_MEMORY_PAGES)},
    {ENDS(tcp_csum_errors_count), ONE(TCP_IN_CSUM_ERRORS)},
    {ENDS(tcp_zero_window_count), ONE(TCP_TO_ZERO_WINDOW)},
    {ENDS(tcp_wqueue_too_big_count), ONE(TCP_WQUEUE_TOO_BIG)},
    {ENDS(udp_rcvbuf_errors_count), TWO(SUM, UDP_RCVBUF_ERRORS, UDP6_RCVBUF_ERRORS)},
    {ENDS(ip_in_discards_count), ONE(IP_IN_DISCARDS)},
    {ENDS(ip_out_discards_count), ONE(IP_OUT_DISCARDS)},
    {ENDS(conntrack_dropped_count),
     SUM,
     {TL_HOST_COUNTER_CONNTRACK_DROP, TL_HOST_COUNTER_CONNTRACK_EARLY_DROP,
      TL_HOST_COUNTER_CONNTRACK_INSERT_FAILED},
     3},
    {ENDS(wifi_failed_count), ONE(WIFI_TX_FAILED)},
#undef ONE
#undef TWO
#undef ENDS
};

static double known(const struct tl_host_counters_growth *growth, unsigned id)
{
    const struct tl_host_value *value = &growth->values[id];
    return tl_host_is_known(*value) ? value->number : (double)NAN;
}

static void set_row(struct tl_facts *facts, enum tl_direction direction, enum tl_end end,
                    const struct tl_host_counters_growth *growth, size_t row)
{
    double value = NAN;
    for (int i = 0; i < rows[row].count; i++) {
        double next = known(growth, (unsigned)rows[row].ids[i]);
        if (isnan(value))
            value = next;
        else if (!isnan(next))
            value = rows[row].how == SUM ? value + next : fmax(value, next);
    }
    enum tl_fact_name fact = end == TL_SENDER ? rows[row].of_sender : rows[row].of_receiver;
    tl_flow_set(facts, TL_KEY(tl_scope_of(direction), fact), value,
                tl_host_why_text(growth->values[rows[row].ids[0]].why));
}

void tl_counter_facts_set(struct tl_facts *facts, enum tl_direction direction, enum tl_end end,
                          const struct tl_host_counters_growth *growth)
{
    bool sends = end == TL_SENDER;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        set_row(facts, direction, end, growth, i);
    double packets = known(growth, TL_HOST_COUNTER_WIFI_TX_PACKETS);
    double retries = known(growth, TL_HOST_COUNTER_WIFI_TX_RETRIES);
    unsigned bitrate = sends ? TL_HOST_COUNTER_WIFI_TX_BITRATE : TL_HOST_COUNTER_WIFI_RX_BITRATE;
    const char *reason = tl_host_why_text(growth->values[TL_HOST_COUNTER_WIFI_TX_PACKETS].why);
    tl_flow_set(facts, TL_END(direction, end, wifi_retries_ratio),
                packets > 0 ? fmin(retries / packets, 1) : (double)NAN, reason);
    tl_flow_set(facts, TL_END(direction, end, wifi_bitrate_bps), known(growth, bitrate),
                tl_host_why_text(growth->values[bitrate].why));
}

/* TCP_INFO counts what was sent again in segments' payload; only the sender knows it, and what
 * arrives twice is rare. */
double tl_other_traffic(const struct tl_tcp_result *result, bool sends)
{
    const struct tl_tcp_side *side = sends ? &result->sender : &result->receiver;
    const struct tl_flow_stats *sender = &result->steady.sender_whole;
    double link_bytes = known(&side->counters, sends ? TL_HOST_COUNTER_LINK_TX_BYTES
                                                     : TL_HOST_COUNTER_LINK_RX_BYTES);
    double ours = sends ? sender->sent_bytes : (double)result->receiver.bytes;
    double again = sender->retrans_bytes;
    /* Behind a hole that is not mended yet data has arrived that the program has not seen. */
    if (!sends && sender->sent_bytes > ours)
        ours = sender->sent_bytes;
    if (sends && !(ours > 0))
        ours = (double)result->sender.bytes;
    /* Read a little after the last sample: what was sent in between is ours. */
    if (sends && (double)result->sender.bytes > ours)
        ours = (double)result->sender.bytes;
    if (!isfinite(link_bytes) || !(sender->mss_bytes > 0))
        return NAN;
    link_bytes -= (double)result->beside_bytes;
    return tl_host_other_traffic_ratio(link_bytes, ours, isfinite(again) ? again : 0,
                                       sender->mss_bytes);
}

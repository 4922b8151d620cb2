/* From steady state and processor usage to facts. */
#include "flow_facts.h"

#include <math.h>
#include <stdio.h>

#include "received.h"
#include "tightlink/base/stats.h"

void tl_flow_set(struct tl_facts *facts, struct tl_fact_key key, double value, const char *reason)
{
    tl_flow_set_range(facts, key, value, value, value, reason);
}

void tl_flow_set_range(struct tl_facts *facts, struct tl_fact_key key, double value, double low,
                       double high, const char *reason)
{
    if (isfinite(value))
        tl_facts_set_range(facts, key, value, low, high, "");
    else
        tl_facts_set_unknown(facts, key, "%s", reason);
}

void tl_flow_explain_unknown(struct tl_facts *facts, struct tl_fact_key key, const char *reason)
{
    if (!isfinite(tl_facts_number(facts, key, (double)NAN)))
        tl_facts_set_unknown(facts, key, "%s", reason);
}

void tl_flow_set_unanswered(struct tl_facts *facts, enum tl_direction direction)
{
    tl_flow_set(facts, TL_FLOW(direction, goodput_bps), NAN,
                "nothing that was sent was answered: the other end, or the way to it or back, was "
                "gone");
}

void tl_flow_set_text(struct tl_facts *facts, struct tl_fact_key key, const char *value)
{
    if (value[0])
        tl_facts_set_text(facts, key, value, "");
    else
        tl_facts_set_unknown(facts, key, "the sender did not tell it");
}

void tl_flow_set_port(struct tl_facts *facts, struct tl_fact_key key,
                      const struct tl_tcp_result *result)
{
    char text[sizeof "65535"];
    snprintf(text, sizeof text, "%u", result->near_ports[0]);
    if (result->near_ports[0])
        tl_facts_set_text(facts, key, text, "");
    else
        tl_facts_set_unknown(facts, key, "the connection's port is not known");
}

void tl_flow_set_loss(struct tl_facts *facts, enum tl_direction direction, struct tl_flow_loss loss,
                      double lost_count, double segments_count)
{
    static const char reason[] = "the sender's kernel does not count it";
    enum tl_scope scope = tl_scope_of(direction);
    double low, high;
    tl_stats_poisson95(lost_count, &low, &high);
    tl_flow_set(facts, TL_KEY(scope, loss.count), lost_count, reason);
    tl_flow_set_range(facts, TL_KEY(scope, loss.ratio), lost_count / segments_count,
                      low / segments_count, fmin(high / segments_count, 1), reason);
}

static void set_rate(struct tl_facts *facts, enum tl_direction direction,
                     const struct tl_steady *steady)
{
    const struct tl_steady_rate *rate = &steady->rate;
    const char *reason = "the transfer had no steady part";
    double nan = (double)NAN, rtt_ns = steady->sender.rtt_mean_ns;
    double steady_ns = rate->valid ? (double)(rate->end_ns - rate->start_ns) : nan;
    tl_flow_set_range(facts, TL_FLOW(direction, goodput_bps), rate->valid ? rate->goodput_bps : nan,
                      rate->low_bps, rate->high_bps, reason);
    tl_flow_set(facts, TL_FLOW(direction, goodput_whole_bps), rate->whole_bps, "nothing arrived");
    tl_flow_set(facts, TL_FLOW(direction, steady_ns), steady_ns, reason);
    tl_flow_set(facts, TL_FLOW(direction, steady_rtts_count), steady_ns / rtt_ns, reason);
    tl_flow_set(facts, TL_FLOW(direction, warmup_ns), rate->valid ? (double)rate->start_ns : nan,
                reason);
}

static void set_ledger(struct tl_facts *facts, enum tl_direction direction,
                       const struct tl_flow_stats *sender)
{
    const struct tl_ledger *ledger = &sender->ledger;
    const char *reason = sender->readings > 0
                             ? "the sender's kernel does not tell where the time went"
                             : TL_RECEIVED_WHY;
    double nan = (double)NAN;
    bool valid = ledger->valid;
    tl_flow_set(facts, TL_FLOW(direction, ledger_app_ratio),
                valid ? ledger->application_ratio : nan, reason);
    tl_flow_set(facts, TL_FLOW(direction, ledger_sndbuf_ratio), valid ? ledger->sndbuf_ratio : nan,
                reason);
    tl_flow_set(facts, TL_FLOW(direction, ledger_rwnd_ratio), valid ? ledger->rwnd_ratio : nan,
                reason);
    tl_flow_set(facts, TL_FLOW(direction, ledger_network_ratio),
                valid ? ledger->network_ratio : nan, reason);
}

static void set_option(struct tl_facts *facts, struct tl_fact_key key, double options, unsigned bit)
{
    if (isfinite(options))
        tl_facts_set_bool(facts, key, ((unsigned)options & bit) != 0, "TCP_INFO");
    else
        tl_facts_set_unknown(facts, key, "the sender's kernel does not tell it");
}

static void set_tcp(struct tl_facts *facts, enum tl_direction direction,
                    const struct tl_flow_stats *sender)
{
    const char *reason =
        sender->readings > 0 ? "the sender's kernel does not tell it" : TL_RECEIVED_WHY;
    tl_flow_set(facts, TL_FLOW(direction, rtt_mean_ns), sender->rtt_mean_ns, reason);
    tl_flow_set(facts, TL_FLOW(direction, rtt_max_ns), sender->rtt_max_ns, reason);
    tl_flow_set(facts, TL_FLOW(direction, rtt_min_ns), sender->rtt_min_ns, reason);
    tl_flow_set(facts, TL_FLOW(direction, rtt_at_loss_ns), sender->rtt_at_loss_ns,
                "no loss was seen");
    tl_flow_set(facts, TL_FLOW(direction, segments_count), sender->segments_count, reason);
    tl_flow_set(facts, TL_FLOW(direction, loss_event_ratio),
                sender->loss_event_count / sender->segments_count, reason);
    tl_flow_set(facts, TL_FLOW(direction, dsack_count), sender->dsack_count, reason);
    tl_flow_set(facts, TL_FLOW(direction, reord_seen_count), sender->reord_seen_count, reason);
    tl_flow_set(facts, TL_FLOW(direction, snd_wnd_max_bytes), sender->snd_wnd_max_bytes, reason);
    tl_flow_set(facts, TL_FLOW(direction, inflight_mean_bytes), sender->inflight_mean_bytes,
                reason);
    tl_flow_set(facts, TL_FLOW(direction, inflight_max_bytes), sender->inflight_max_bytes, reason);
    tl_flow_set(facts, TL_FLOW(direction, window_full_ratio), sender->window_full_ratio, reason);
    tl_flow_set(facts, TL_FLOW(direction, sndbuf_full_ratio), sender->sndbuf_full_ratio, reason);
    tl_flow_set(facts, TL_FLOW(direction, cwnd_mean_bytes), sender->cwnd_mean_bytes, reason);
    tl_flow_set(facts, TL_FLOW(direction, mss_bytes), sender->mss_bytes, reason);
    tl_flow_set_loss(facts, direction, TL_FLOW_LOSS(retrans), sender->retrans_count,
                     sender->segments_count);
    set_option(facts, TL_FLOW(direction, wscale_ok), sender->options, TL_TCP_OPT_WSCALE);
    set_option(facts, TL_FLOW(direction, sack_ok), sender->options, TL_TCP_OPT_SACK);
    set_option(facts, TL_FLOW(direction, timestamps_ok), sender->options, TL_TCP_OPT_TIMESTAMPS);
    if (isfinite(sender->pmtu_bytes))
        tl_facts_set_number(facts, TL_PATH(mtu_bytes), sender->pmtu_bytes, "TCP_INFO tcpi_pmtu");
}

void tl_flow_set_stream(struct tl_facts *facts, enum tl_direction direction,
                        const struct tl_steady *steady, const char *congestion)
{
    set_rate(facts, direction, steady);
    set_ledger(facts, direction, &steady->sender);
    set_tcp(facts, direction, &steady->sender);
    tl_flow_set_text(facts, TL_FLOW(direction, cc), congestion);
}

void tl_flow_set_compared(struct tl_facts *facts, enum tl_direction direction,
                          const struct tl_flow_compared *names, const struct tl_steady *steady)
{
    static const char reason[] = "the sender's kernel does not tell it";
    const struct tl_steady_rate *rate = &steady->rate;
    const struct tl_flow_stats *sender = &steady->sender;
    const struct tl_ledger *ledger = &sender->ledger;
    enum tl_scope scope = tl_scope_of(direction);
    double nan = (double)NAN;
    tl_flow_set_range(facts, TL_KEY(scope, names->goodput), rate->valid ? rate->goodput_bps : nan,
                      rate->low_bps, rate->high_bps, "the transfer had no steady part");
    tl_flow_set(facts, TL_KEY(scope, names->rtt_mean), sender->rtt_mean_ns, reason);
    tl_flow_set(facts, TL_KEY(scope, names->retrans),
                sender->retrans_count / sender->segments_count, reason);
    tl_flow_set(facts, TL_KEY(scope, names->rwnd), ledger->valid ? ledger->rwnd_ratio : nan,
                reason);
    tl_flow_set(facts, TL_KEY(scope, names->sndbuf), ledger->valid ? ledger->sndbuf_ratio : nan,
                reason);
    tl_flow_set(facts, TL_KEY(scope, names->network), ledger->valid ? ledger->network_ratio : nan,
                reason);
}

static double usage_value(const struct tl_cpu_usage *usage, enum tl_cpu_usage_id id)
{
    const struct tl_host_value *value = &usage->values[id];
    return tl_host_is_known(*value) ? value->number : (double)NAN;
}

void tl_flow_set_cpu(struct tl_facts *facts, enum tl_direction direction, enum tl_end end,
                     const struct tl_cpu_usage *usage, double thread_cpu_ratio,
                     double thread_wait_ratio)
{
    const struct {
        enum tl_cpu_usage_id id;
        struct tl_fact_key key;
    } map[] = {
        {TL_CPU_CORE_BUSY, TL_END(direction, end, core_busy_ratio)},
        {TL_CPU_SOFTIRQ, TL_END(direction, end, softirq_ratio)},
        {TL_CPU_QUOTA_USED, TL_END(direction, end, quota_used_ratio)},
        {TL_CPU_THROTTLED, TL_END(direction, end, throttled_ratio)},
        {TL_CPU_STEAL, TL_END(direction, end, steal_ratio)},
        {TL_CPU_ALL_BUSY, TL_END(direction, end, all_busy_ratio)},
        {TL_CPU_RECEIVE_SHARE, TL_END(direction, end, rx_core_share_ratio)},
        {TL_CPU_RECEIVE_BUSY, TL_END(direction, end, rx_core_busy_ratio)},
        {TL_CPU_RECEIVE_SOFTIRQ, TL_END(direction, end, rx_core_softirq_ratio)},
        {TL_CPU_FREQUENCY, TL_END(direction, end, frequency_ratio)},
        {TL_CPU_FREQUENCY_BASE, TL_END(direction, end, frequency_base_ratio)},
        {TL_CPU_PRESSURE_MEMORY, TL_END(direction, end, pressure_memory_ratio)},
        {TL_CPU_PRESSURE_IO, TL_END(direction, end, pressure_io_ratio)},
    };
    for (size_t i = 0; i < sizeof map / sizeof *map; i++)
        tl_flow_set(facts, map[i].key, usage_value(usage, map[i].id),
                    tl_host_why_text(usage->values[map[i].id].why));
    tl_flow_set(facts, TL_END(direction, end, thread_cpu_ratio), thread_cpu_ratio,
                "it was not read");
    tl_flow_set(facts, TL_END(direction, end, cpu_wait_ratio), thread_wait_ratio,
                "the kernel does not tell it");
}

double tl_cpu_pressure(const struct tl_cpu_usage *usage, double thread_cpu_ratio)
{
    double values[] = {usage_value(usage, TL_CPU_CORE_BUSY), usage_value(usage, TL_CPU_QUOTA_USED),
                       thread_cpu_ratio};
    return tl_stats_max(values, sizeof values / sizeof *values);
}

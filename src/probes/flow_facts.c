/* From steady state and processor usage to facts. */
#include "flow_facts.h"

#include <math.h>
#include <stdio.h>

#include "tightlink/base/stats.h"

#define FACT_ID_SIZE 96

static const char *fact_id(char ret_id[FACT_ID_SIZE], enum tl_direction direction, const char *name)
{
    snprintf(ret_id, FACT_ID_SIZE, "%s.%s", tl_direction_name(direction), name);
    return ret_id;
}

void tl_flow_set(struct tl_facts *facts, enum tl_direction direction, const char *name,
                 double value, const char *reason)
{
    tl_flow_set_range(facts, direction, name, value, value, value, reason);
}

void tl_flow_set_range(struct tl_facts *facts, enum tl_direction direction, const char *name,
                       double value, double low, double high, const char *reason)
{
    char id[FACT_ID_SIZE];
    fact_id(id, direction, name);
    if (isfinite(value))
        tl_facts_set_range(facts, id, value, low, high, "");
    else
        tl_facts_set_unknown(facts, id, "%s", reason);
}

void tl_flow_explain_unknown(struct tl_facts *facts, enum tl_direction direction, const char *name,
                             const char *reason)
{
    char id[FACT_ID_SIZE];
    fact_id(id, direction, name);
    if (!isfinite(tl_facts_number(facts, id, (double)NAN)))
        tl_facts_set_unknown(facts, id, "%s", reason);
}

void tl_flow_set_text(struct tl_facts *facts, enum tl_direction direction, const char *name,
                      const char *value)
{
    char id[FACT_ID_SIZE];
    fact_id(id, direction, name);
    if (value[0])
        tl_facts_set_text(facts, id, value, "");
    else
        tl_facts_set_unknown(facts, id, "the sender did not tell it");
}

void tl_flow_set_loss(struct tl_facts *facts, enum tl_direction direction, const char *prefix,
                      double lost_count, double segments_count)
{
    static const char reason[] = "the sender's kernel does not count it";
    char name[48];
    double low, high;
    tl_stats_poisson95(lost_count, &low, &high);
    snprintf(name, sizeof name, "%s_count", prefix);
    tl_flow_set(facts, direction, name, lost_count, reason);
    snprintf(name, sizeof name, "%s_ratio", prefix);
    tl_flow_set_range(facts, direction, name, lost_count / segments_count, low / segments_count,
                      fmin(high / segments_count, 1), reason);
}

static void set_rate(struct tl_facts *facts, enum tl_direction direction,
                     const struct tl_steady *steady)
{
    const struct tl_steady_rate *rate = &steady->rate;
    const char *reason = "the transfer had no steady part";
    double nan = (double)NAN, rtt_ns = steady->sender.rtt_mean_ns;
    double steady_ns = rate->valid ? (double)(rate->end_ns - rate->start_ns) : nan;
    tl_flow_set_range(facts, direction, "goodput_bps", rate->valid ? rate->goodput_bps : nan,
                      rate->low_bps, rate->high_bps, reason);
    tl_flow_set(facts, direction, "goodput_whole_bps", rate->whole_bps, "nothing arrived");
    tl_flow_set(facts, direction, "steady_ns", steady_ns, reason);
    tl_flow_set(facts, direction, "steady_rtts_count", steady_ns / rtt_ns, reason);
    tl_flow_set(facts, direction, "warmup_ns", rate->valid ? (double)rate->start_ns : nan, reason);
}

static void set_ledger(struct tl_facts *facts, enum tl_direction direction,
                       const struct tl_ledger *ledger)
{
    const char *reason = "the sender's kernel does not tell where the time went";
    double nan = (double)NAN;
    bool valid = ledger->valid;
    tl_flow_set(facts, direction, "ledger_app_ratio", valid ? ledger->application_ratio : nan,
                reason);
    tl_flow_set(facts, direction, "ledger_sndbuf_ratio", valid ? ledger->sndbuf_ratio : nan,
                reason);
    tl_flow_set(facts, direction, "ledger_rwnd_ratio", valid ? ledger->rwnd_ratio : nan, reason);
    tl_flow_set(facts, direction, "ledger_network_ratio", valid ? ledger->network_ratio : nan,
                reason);
}

static void set_option(struct tl_facts *facts, enum tl_direction direction, const char *name,
                       double options, unsigned bit)
{
    char id[FACT_ID_SIZE];
    fact_id(id, direction, name);
    if (isfinite(options))
        tl_facts_set_bool(facts, id, ((unsigned)options & bit) != 0, "TCP_INFO");
    else
        tl_facts_set_unknown(facts, id, "the sender's kernel does not tell it");
}

static void set_tcp(struct tl_facts *facts, enum tl_direction direction,
                    const struct tl_flow_stats *sender)
{
    const char *reason = "the sender's kernel does not tell it";
    tl_flow_set(facts, direction, "rtt_mean_ns", sender->rtt_mean_ns, reason);
    tl_flow_set(facts, direction, "rtt_max_ns", sender->rtt_max_ns, reason);
    tl_flow_set(facts, direction, "rtt_min_ns", sender->rtt_min_ns, reason);
    tl_flow_set(facts, direction, "rtt_at_loss_ns", sender->rtt_at_loss_ns, "no loss was seen");
    tl_flow_set(facts, direction, "segments_count", sender->segments_count, reason);
    tl_flow_set(facts, direction, "loss_event_ratio",
                sender->loss_event_count / sender->segments_count, reason);
    tl_flow_set(facts, direction, "dsack_count", sender->dsack_count, reason);
    tl_flow_set(facts, direction, "reord_seen_count", sender->reord_seen_count, reason);
    tl_flow_set(facts, direction, "snd_wnd_max_bytes", sender->snd_wnd_max_bytes, reason);
    tl_flow_set(facts, direction, "inflight_mean_bytes", sender->inflight_mean_bytes, reason);
    tl_flow_set(facts, direction, "inflight_max_bytes", sender->inflight_max_bytes, reason);
    tl_flow_set(facts, direction, "window_full_ratio", sender->window_full_ratio, reason);
    tl_flow_set(facts, direction, "sndbuf_full_ratio", sender->sndbuf_full_ratio, reason);
    tl_flow_set(facts, direction, "cwnd_mean_bytes", sender->cwnd_mean_bytes, reason);
    tl_flow_set(facts, direction, "mss_bytes", sender->mss_bytes, reason);
    tl_flow_set_loss(facts, direction, "retrans", sender->retrans_count, sender->segments_count);
    set_option(facts, direction, "wscale_ok", sender->options, TL_TCP_OPT_WSCALE);
    set_option(facts, direction, "sack_ok", sender->options, TL_TCP_OPT_SACK);
    set_option(facts, direction, "timestamps_ok", sender->options, TL_TCP_OPT_TIMESTAMPS);
    if (isfinite(sender->pmtu_bytes))
        tl_facts_set_number(facts, "path.mtu_bytes", sender->pmtu_bytes, "TCP_INFO tcpi_pmtu");
}

void tl_flow_set_stream(struct tl_facts *facts, enum tl_direction direction,
                        const struct tl_steady *steady, const char *congestion)
{
    set_rate(facts, direction, steady);
    set_ledger(facts, direction, &steady->sender.ledger);
    set_tcp(facts, direction, &steady->sender);
    tl_flow_set_text(facts, direction, "cc", congestion);
}

static void set_prefixed(struct tl_facts *facts, enum tl_direction direction, const char *prefix,
                         const char *name, double value)
{
    char full[64];
    snprintf(full, sizeof full, "%s_%s", prefix, name);
    tl_flow_set(facts, direction, full, value, "the sender's kernel does not tell it");
}

void tl_flow_set_compared(struct tl_facts *facts, enum tl_direction direction, const char *prefix,
                          const struct tl_steady *steady)
{
    const struct tl_steady_rate *rate = &steady->rate;
    const struct tl_flow_stats *sender = &steady->sender;
    const struct tl_ledger *ledger = &sender->ledger;
    double nan = (double)NAN;
    char full[64];
    snprintf(full, sizeof full, "%s_goodput_bps", prefix);
    tl_flow_set_range(facts, direction, full, rate->valid ? rate->goodput_bps : nan, rate->low_bps,
                      rate->high_bps, "the transfer had no steady part");
    set_prefixed(facts, direction, prefix, "rtt_mean_ns", sender->rtt_mean_ns);
    set_prefixed(facts, direction, prefix, "retrans_ratio",
                 sender->retrans_count / sender->segments_count);
    set_prefixed(facts, direction, prefix, "rwnd_ratio", ledger->valid ? ledger->rwnd_ratio : nan);
    set_prefixed(facts, direction, prefix, "sndbuf_ratio",
                 ledger->valid ? ledger->sndbuf_ratio : nan);
    set_prefixed(facts, direction, prefix, "network_ratio",
                 ledger->valid ? ledger->network_ratio : nan);
}

static double usage_value(const struct tl_cpu_usage *usage, enum tl_cpu_usage_id id)
{
    const struct tl_host_value *value = &usage->values[id];
    return tl_host_is_known(*value) ? value->number : (double)NAN;
}

static void set_cpu(struct tl_facts *facts, enum tl_direction direction, const char *role,
                    const char *name, double value, const char *reason)
{
    char full[64];
    snprintf(full, sizeof full, "%s_%s", role, name);
    tl_flow_set(facts, direction, full, value, reason);
}

void tl_flow_set_cpu(struct tl_facts *facts, enum tl_direction direction, const char *role,
                     const struct tl_cpu_usage *usage, double thread_cpu_ratio,
                     double thread_wait_ratio)
{
    static const struct {
        enum tl_cpu_usage_id id;
        const char *name;
    } map[] = {
        {TL_CPU_CORE_BUSY, "core_busy_ratio"},
        {TL_CPU_SOFTIRQ, "softirq_ratio"},
        {TL_CPU_QUOTA_USED, "quota_used_ratio"},
        {TL_CPU_THROTTLED, "throttled_ratio"},
        {TL_CPU_STEAL, "steal_ratio"},
        {TL_CPU_ALL_BUSY, "all_busy_ratio"},
        {TL_CPU_RECEIVE_SHARE, "rx_core_share_ratio"},
        {TL_CPU_RECEIVE_BUSY, "rx_core_busy_ratio"},
        {TL_CPU_RECEIVE_SOFTIRQ, "rx_core_softirq_ratio"},
        {TL_CPU_FREQUENCY, "frequency_ratio"},
        {TL_CPU_PRESSURE_MEMORY, "pressure_memory_ratio"},
        {TL_CPU_PRESSURE_IO, "pressure_io_ratio"},
    };
    for (size_t i = 0; i < sizeof map / sizeof *map; i++)
        set_cpu(facts, direction, role, map[i].name, usage_value(usage, map[i].id),
                tl_host_why_text(usage->values[map[i].id].why));
    set_cpu(facts, direction, role, "thread_cpu_ratio", thread_cpu_ratio, "it was not read");
    set_cpu(facts, direction, role, "cpu_wait_ratio", thread_wait_ratio,
            "the kernel does not tell it");
}

double tl_cpu_pressure(const struct tl_cpu_usage *usage, double thread_cpu_ratio)
{
    double values[] = {usage_value(usage, TL_CPU_CORE_BUSY), usage_value(usage, TL_CPU_QUOTA_USED),
                       thread_cpu_ratio};
    return tl_stats_max(values, sizeof values / sizeof *values);
}

/* A stream seen from its receiver alone: received.h. */
#include "received.h"

#include <math.h>
#include <string.h>

#include "flow_facts.h"
#include "tightlink/base/stats.h"
#include "tightlink/base/units.h"
#include "tightlink/engine/arrivals.h"

static const char not_told[] = "this kernel does not tell it";
static const char no_window[] =
    "this kernel does not tell the window that it offers (Linux 6.2 does)";

bool tl_received_alone(const struct tl_tcp_result *result)
{
    return result->streams > 0 && result->sender.logs[0].count == 0;
}

/* Mean of the receiver's own estimate in the steady part. With timestamps alone is it a round trip:
 * without them the kernel takes the time in which a whole window arrives
 * (net/ipv4/tcp_input.c, tcp_rcv_rtt_measure). */
static double mean_rtt(const struct tl_tcp_result *result, bool timestamps)
{
    const struct tl_sample_log *log = &result->receiver.logs[0];
    const struct tl_steady_rate *rate = &result->steady.rate;
    double sum = 0, count = 0;
    for (size_t i = 0; timestamps && i < log->count; i++) {
        const struct tl_tcp_sample *sample = &log->samples[i];
        bool inside =
            !rate->valid || (sample->time_ns >= rate->start_ns && sample->time_ns <= rate->end_ns);
        if (inside && tl_sample_get(sample, TL_SF_rcv_rtt_ns) > 0) {
            sum += (double)sample->rcv_rtt_ns;
            count++;
        }
    }
    return count > 0 ? sum / count : (double)NAN;
}

static void set_option(struct tl_facts *facts, struct tl_fact_key key, double options, unsigned bit)
{
    if (isfinite(options))
        tl_facts_set_bool(facts, key, ((unsigned)options & bit) != 0, "TCP_INFO");
}

/* The receiver's estimate holds what the sender waited before it sent: a program that is starved or
 * has nothing to say looks like a queue in it. Probes beside the load hold the way alone; the way's
 * share is the smaller of both. Behind a link that serves flows in turn it says too little. */
static double round_trip(const struct tl_facts *facts, enum tl_direction direction,
                         double received_ns)
{
    double probes_ns = tl_facts_number(facts, TL_FLOW(direction, loaded_rtt_ns), (double)NAN);
    return isfinite(received_ns) ? fmin(received_ns, probes_ns) : received_ns;
}

static void set_loss(struct tl_facts *facts, struct tl_fact_key key,
                     const struct tl_arrivals *arrivals)
{
    double low, high;
    tl_stats_poisson95(arrivals->loss_count, &low, &high);
    tl_flow_set_range(facts, key, arrivals->loss_count / arrivals->segments_count,
                      low / arrivals->segments_count, fmin(high / arrivals->segments_count, 1),
                      not_told);
}

static struct tl_arrivals arrivals_of(const struct tl_tcp_result *result, unsigned stream,
                                      double rtt_ns)
{
    const struct tl_steady_rate *rate = &result->steady.rate;
    struct tl_arrivals arrivals;
    tl_arrivals_read(&result->receiver.logs[stream], rate->valid ? rate->start_ns : 0,
                     rate->valid ? rate->end_ns : INT64_MAX, rtt_ns, &arrivals);
    return arrivals;
}

static void set_losses(struct tl_facts *facts, enum tl_direction direction,
                       const struct tl_tcp_result *result, double rtt_ns)
{
    struct tl_arrivals arrivals = arrivals_of(result, 0, rtt_ns);
    tl_flow_set(facts, TL_FLOW(direction, received_segments_count), arrivals.segments_count,
                not_told);
    tl_flow_set(facts, TL_FLOW(direction, received_loss_count), arrivals.loss_count, not_told);
    set_loss(facts, TL_FLOW(direction, received_loss_ratio), &arrivals);
    tl_flow_set_range(facts, TL_FLOW(direction, received_fall_ratio), arrivals.fall_ratio,
                      arrivals.fall_low, arrivals.fall_high,
                      "too few losses stood clear of others");
}

/* What the sender alone knows of its TCP, besides the facts of its end. */
static const enum tl_fact_name of_sender[] = {
    TL_FACT_FLOW_cc,
    TL_FACT_FLOW_ce_ratio,
    TL_FACT_FLOW_retrans_count,
    TL_FACT_FLOW_retrans_ratio,
    TL_FACT_FLOW_rtt_at_loss_ns,
    TL_FACT_FLOW_loss_flat_ratio,
    TL_FACT_FLOW_loss_run_mean_count,
    TL_FACT_FLOW_streams_loss_event_ratio,
    TL_FACT_FLOW_streams_retrans_count,
    TL_FACT_FLOW_streams_retrans_ratio,
    TL_FACT_FLOW_streams_rtt_at_loss_ns,
    TL_FACT_FLOW_streams_rtt_min_ns,
    TL_FACT_FLOW_streams_sender_cpu_ratio,
};

static bool is_of_sender(enum tl_fact_name name)
{
    bool listed = false;
    for (size_t i = 0; i < sizeof of_sender / sizeof *of_sender; i++)
        listed = listed || of_sender[i] == name;
    return listed || strncmp(tl_fact_def(name)->name, "sender_", strlen("sender_")) == 0;
}

/* Why they are unknown: neither this kernel nor the path is to blame. */
static void explain_sender(struct tl_facts *facts, enum tl_direction direction, const char *stage)
{
    for (int i = 0; i < TL_FACT_COUNT; i++) {
        const struct tl_fact_def *def = tl_fact_def((enum tl_fact_name)i);
        struct tl_fact_key key = TL_KEY(tl_scope_of(direction), (enum tl_fact_name)i);
        struct tl_fact fact;
        if (def->subject != TL_SUBJECT_FLOW || strcmp(def->stage, stage) != 0 ||
            !is_of_sender(key.fact))
            continue;
        tl_facts_get(facts, key, &fact);
        if (fact.state == TL_FACT_UNKNOWN)
            tl_facts_set_unknown(facts, key, TL_RECEIVED_WHY);
    }
}

void tl_received_set_streams(struct tl_facts *facts, enum tl_direction direction,
                             const struct tl_tcp_result *result)
{
    double idle_ns = tl_facts_number(facts, TL_PATH(rtt_idle_ns), (double)NAN);
    double rtt_ns = tl_facts_number(facts, TL_FLOW(direction, streams_loaded_rtt_ns), idle_ns);
    struct tl_arrivals all = arrivals_of(result, 0, rtt_ns);
    for (unsigned i = 1; i < result->streams; i++) {
        struct tl_arrivals one = arrivals_of(result, i, rtt_ns);
        tl_arrivals_add(&all, &one);
    }
    set_loss(facts, TL_FLOW(direction, streams_received_loss_ratio), &all);
    explain_sender(facts, direction, "streams");
}

void tl_received_set(struct tl_facts *facts, enum tl_direction direction,
                     const struct tl_tcp_result *result)
{
    const struct tl_receiver_stats *receiver = &result->steady.receiver;
    const struct tl_steady_rate *rate = &result->steady.rate;
    double handshake_ns = result->data_rtt_ns > 0 ? (double)result->data_rtt_ns : (double)NAN;
    double rtt_min_ns =
        fmin(tl_facts_number(facts, TL_PATH(rtt_idle_min_ns), handshake_ns), handshake_ns);
    bool timestamps =
        isfinite(receiver->options) && ((unsigned)receiver->options & TL_TCP_OPT_TIMESTAMPS) != 0;
    double rtt_ns = round_trip(facts, direction, mean_rtt(result, timestamps));
    double span_ns = rate->valid ? (double)(rate->end_ns - rate->start_ns) : (double)NAN;
    double in_flight_bytes =
        tl_bytes_from_bps_ns(rate->valid ? rate->goodput_bps : NAN, rtt_min_ns);

    tl_flow_set(facts, TL_FLOW(direction, rtt_mean_ns), rtt_ns, TL_RECEIVED_WHY);
    tl_flow_set(facts, TL_FLOW(direction, rtt_min_ns), rtt_min_ns, TL_RECEIVED_WHY);
    tl_flow_set(facts, TL_FLOW(direction, steady_rtts_count),
                span_ns / (isfinite(rtt_ns) ? rtt_ns : rtt_min_ns), TL_RECEIVED_WHY);
    tl_flow_set(facts, TL_FLOW(direction, snd_wnd_max_bytes), receiver->rcv_wnd_max_bytes,
                no_window);
    tl_flow_set(facts, TL_FLOW(direction, receiver_window_use_ratio),
                in_flight_bytes / receiver->rcv_wnd_max_bytes, not_told);
    tl_flow_set(facts, TL_FLOW(direction, mss_bytes), receiver->mss_bytes, not_told);
    set_option(facts, TL_FLOW(direction, wscale_ok), receiver->options, TL_TCP_OPT_WSCALE);
    set_option(facts, TL_FLOW(direction, sack_ok), receiver->options, TL_TCP_OPT_SACK);
    set_option(facts, TL_FLOW(direction, timestamps_ok), receiver->options, TL_TCP_OPT_TIMESTAMPS);
    set_losses(facts, direction, result, isfinite(rtt_ns) ? rtt_ns : rtt_min_ns);
    explain_sender(facts, direction, "stream");
}

void tl_received_set_offered(struct tl_facts *facts, enum tl_direction direction,
                             const struct tl_tcp_result *result)
{
    bool ours = !result->near_sends;
    tl_flow_set(facts, TL_FLOW(direction, receiver_offered_bytes),
                ours ? result->steady.receiver.rcv_wnd_max_bytes : (double)NAN,
                ours ? no_window : "of itself the far end may say what it likes");
}

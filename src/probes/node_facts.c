/* From what perfSONAR nodes tell to facts.
 *
 * The receiver counts: pScheduler tells its rate over the whole test, slow start included, and the
 * sender's rate second by second. The steady rate is the sender's behind slow start, less the share
 * of all that was sent and did not arrive. TCP's own account (windows, what it waited for) no tool
 * of pScheduler's tells. */
#include "node_facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "flow_facts.h"
#include "tightlink/base/stats.h"
#include "tightlink/base/units.h"

/* Slow start has ended once a second reaches this share of the later half's median. */
#define WARM_RATIO 0.8
/* A segment of Ethernet's usual size with timestamps. */
#define SEGMENT_BYTES 1448
#define HEADER_BYTES  52

static const char untold[] = "perfSONAR nodes do not tell it; tightlink responders there would";
static const char no_steady[] = "the node told no seconds behind slow start";

/* The steady part of a test: its seconds from `from` on. */
struct steady {
    int from, count;
    double mean_bps, low_bps, high_bps;
    double begin_ns, span_ns;
    double rtt_min_ns, rtt_mean_ns, rtt_max_ns, cwnd_bytes, retrans_count;
};

static int warm_from(const struct tl_psched_throughput *got)
{
    double later[TL_PSCHED_INTERVALS_MAX];
    int half = got->interval_count / 2, count = 0;
    for (int i = half; i < got->interval_count; i++)
        later[count++] = got->intervals[i].rate_bps;
    double typical = tl_stats_median(later, (size_t)count);
    int from = 1; /* the first second has slow start in it on every path */
    while (from < half && got->intervals[from].rate_bps < WARM_RATIO * typical)
        from++;
    return from;
}

static double arrived_ratio(const struct tl_psched_throughput *got)
{
    double ratio = got->received_bps / got->sent_bps;
    return isfinite(ratio) && ratio < 1 ? ratio : 1;
}

static struct steady steady_of(const struct tl_psched_throughput *got)
{
    struct steady steady = {.from = warm_from(got),
                            .mean_bps = NAN,
                            .span_ns = NAN,
                            .begin_ns = NAN,
                            .rtt_min_ns = NAN,
                            .rtt_mean_ns = NAN,
                            .rtt_max_ns = NAN,
                            .cwnd_bytes = NAN,
                            .retrans_count = NAN};
    double rates[TL_PSCHED_INTERVALS_MAX], rtts[TL_PSCHED_INTERVALS_MAX];
    double windows[TL_PSCHED_INTERVALS_MAX], lost = 0;
    for (int i = steady.from; i < got->interval_count; i++) {
        rates[steady.count] = got->intervals[i].rate_bps * arrived_ratio(got);
        rtts[steady.count] = got->intervals[i].rtt_ns;
        windows[steady.count++] = got->intervals[i].cwnd_bytes;
        lost += got->intervals[i].retrans_count;
    }
    size_t count = (size_t)steady.count;
    if (count < 2)
        return steady;
    double wide = count > 2 ? tl_stats_student_t(0.975, (double)count - 1) *
                                  tl_stats_stddev(rates, count) / sqrt((double)count)
                            : 0;
    steady.mean_bps = tl_stats_mean(rates, count);
    steady.low_bps = fmax(0, steady.mean_bps - wide);
    steady.high_bps = steady.mean_bps + wide;
    steady.begin_ns = got->intervals[steady.from].begin_ns;
    steady.span_ns = got->intervals[got->interval_count - 1].end_ns - steady.begin_ns;
    steady.rtt_mean_ns = tl_stats_mean(rtts, count);
    steady.rtt_min_ns = tl_stats_min(rtts, count);
    steady.rtt_max_ns = tl_stats_max(rtts, count);
    steady.cwnd_bytes = tl_stats_mean(windows, count);
    steady.retrans_count = lost;
    if (!(steady.span_ns > 0))
        steady.span_ns = NAN;
    return steady;
}

/* Segments that the steady part sent, by the size that the path lets through. */
static double segments_of(const struct steady *steady, const struct tl_facts *facts,
                          enum tl_direction direction)
{
    double mtu = tl_facts_number(facts, TL_FLOW(direction, path_mtu_bytes), NAN);
    double payload = isfinite(mtu) ? mtu - HEADER_BYTES : SEGMENT_BYTES;
    return tl_bytes_from_bps_ns(steady->mean_bps, steady->span_ns) / payload;
}

double node_received_bytes(const struct tl_psched_throughput *got, int seconds)
{
    double bps = isfinite(got->received_bps) ? got->received_bps : 0;
    return tl_bytes_from_bps_ns(bps, seconds * 1e9);
}

/* The tool does not tell TCP's own least. Pings went the same way before it: a path does not become
 * shorter under load. */
static void set_rtt_min(const struct steady *steady, enum tl_direction direction,
                        struct tl_facts *facts)
{
    double idle_ns = tl_facts_number(facts, TL_PATH(rtt_idle_min_ns), NAN);
    double least_ns = fmin(idle_ns, steady->rtt_min_ns); /* a NAN gives way */
    if (isfinite(idle_ns))
        tl_facts_set_number(facts, TL_FLOW(direction, rtt_min_ns), least_ns,
                            "pings between the nodes before the load");
}

void node_set_stream(const struct tl_psched_throughput *got, enum tl_direction direction,
                     struct tl_facts *facts)
{
    struct steady steady = steady_of(got);
    double segments = segments_of(&steady, facts, direction);
    double rtt_ns = isfinite(steady.rtt_mean_ns) ? steady.rtt_mean_ns : got->rtt_ns;
    tl_flow_set_range(facts, TL_FLOW(direction, goodput_bps), steady.mean_bps, steady.low_bps,
                      steady.high_bps, no_steady);
    tl_flow_set(facts, TL_FLOW(direction, goodput_whole_bps), got->received_bps,
                "the node did not tell what arrived");
    tl_flow_set(facts, TL_FLOW(direction, steady_ns), steady.span_ns, no_steady);
    tl_flow_set(facts, TL_FLOW(direction, warmup_ns), steady.begin_ns, no_steady);
    tl_flow_set(facts, TL_FLOW(direction, steady_rtts_count), steady.span_ns / rtt_ns, no_steady);
    tl_flow_set(facts, TL_FLOW(direction, rtt_mean_ns), rtt_ns, untold);
    set_rtt_min(&steady, direction, facts);
    tl_flow_set(facts, TL_FLOW(direction, rtt_max_ns), steady.rtt_max_ns, untold);
    tl_flow_set(facts, TL_FLOW(direction, cwnd_mean_bytes), steady.cwnd_bytes, untold);
    tl_flow_set(facts, TL_FLOW(direction, segments_count), segments, no_steady);
    if (isfinite(steady.retrans_count) && segments > 0)
        tl_flow_set_loss(facts, direction, TL_FLOW_LOSS(retrans), steady.retrans_count, segments);
}

void node_set_streams(const struct tl_psched_throughput *got, int streams,
                      enum tl_direction direction, struct tl_facts *facts)
{
    struct steady steady = steady_of(got);
    double segments = segments_of(&steady, facts, direction);
    tl_facts_set_number(facts, TL_FLOW(direction, streams_count), streams, "");
    tl_flow_set_range(facts, TL_FLOW(direction, streams_goodput_bps), steady.mean_bps,
                      steady.low_bps, steady.high_bps, no_steady);
    tl_flow_set(facts, TL_FLOW(direction, streams_rtt_mean_ns),
                isfinite(steady.rtt_mean_ns) ? steady.rtt_mean_ns : got->rtt_ns, untold);
    tl_flow_set(facts, TL_FLOW(direction, streams_segments_count), segments, no_steady);
    if (isfinite(steady.retrans_count) && segments > 0)
        tl_flow_set_loss(facts, direction, TL_FLOW_LOSS(streams_retrans), steady.retrans_count,
                         segments);
}

void node_set_rtt(const struct tl_psched_rtt *got, struct tl_facts *facts)
{
    static const char none[] = "none of the pings was answered";
    double trips[TL_PSCHED_TRIPS_MAX];
    size_t count = (size_t)got->trip_count;
    memcpy(trips, got->trips_ns, sizeof trips);
    tl_flow_set(facts, TL_PATH(rtt_idle_min_ns), tl_stats_min(trips, count), none);
    tl_flow_set(facts, TL_PATH(rtt_idle_ns), tl_stats_median(trips, count), none);
    tl_flow_set(facts, TL_PATH(rtt_idle_p75_ns), tl_stats_quantile(trips, count, 0.75), none);
    tl_flow_set(facts, TL_PATH(echo_sent_count), got->sent_count, none);
    tl_flow_set(facts, TL_PATH(echo_loss_ratio), 1 - got->received_count / got->sent_count, none);
}

void node_set_mtu(double mtu_bytes, enum tl_direction direction, struct tl_facts *facts)
{
    tl_facts_set_number(facts, TL_FLOW(direction, path_mtu_bytes), mtu_bytes,
                        "pScheduler's mtu test");
}

void node_set_hops(const struct tl_psched_trace *got, struct tl_run *run, struct tl_facts *facts)
{
    int answered = 0;
    for (int i = 0; i < got->hop_count && run->hop_count < TL_RUN_HOPS_MAX; i++) {
        const struct tl_psched_hop *from = &got->hops[i];
        struct tl_hop_record *hop = &run->hops[run->hop_count++];
        *hop = (struct tl_hop_record){.hop = i + 1,
                                      .sent_count = 1,
                                      .answered_count = isfinite(from->rtt_ns),
                                      .rtt_min_ns = from->rtt_ns,
                                      .rtt_mean_ns = from->rtt_ns,
                                      .rtt_max_ns = from->rtt_ns,
                                      .loaded_rtt_ns = NAN};
        snprintf(hop->address, sizeof hop->address, "%s", from->address);
        snprintf(hop->name, sizeof hop->name, "%s", from->name);
        snprintf(hop->note, sizeof hop->note, "%s", from->error);
        answered += hop->answered_count;
    }
    tl_facts_set_number(facts, TL_PATH(hops_count), got->hop_count, "pScheduler's trace test");
    tl_facts_set_number(facts, TL_PATH(hops_answered_count), answered, "pScheduler's trace test");
}

void node_explain(struct tl_facts *facts)
{
    for (int i = 0; i < TL_FACT_COUNT; i++) {
        const char *stage = tl_fact_def((enum tl_fact_name)i)->stage;
        if (strcmp(stage, "derived") != 0)
            tl_facts_explain_stage(facts, stage, NULL, untold);
    }
}

/* From the readings of one stream over time, and from the UDP probes beside it, to facts. */
#include <math.h>
#include <stdlib.h>

#include "flow_facts.h"
#include "tightlink/engine/series.h"

static void set_losses(struct tl_facts *facts, enum tl_direction direction,
                       const struct tl_series *series, int64_t from_ns, int64_t to_ns)
{
    static const char few[] = "too few losses to tell";
    struct tl_loss_pattern pattern;
    struct tl_policer_fit fit;
    tl_series_losses(series, from_ns, to_ns, &pattern);
    tl_series_policer(series, from_ns, to_ns, &fit);
    tl_flow_set_range(facts, TL_FLOW(direction, loss_run_mean_count), pattern.run_mean_count,
                      pattern.run_low_count, pattern.run_high_count, few);
    tl_flow_set(facts, TL_FLOW(direction, loss_flat_ratio), pattern.flat_ratio, "nothing was lost");
    tl_flow_set_range(facts, TL_FLOW(direction, loss_delay_rank_ratio), pattern.delay_rank_ratio,
                      pattern.delay_rank_low, pattern.delay_rank_high, few);
    tl_flow_set(facts, TL_FLOW(direction, rate_at_loss_bps), pattern.rate_at_loss_bps, few);
    tl_flow_set(facts, TL_FLOW(direction, policer_bps), fit.rate_bps, few);
    tl_flow_set(facts, TL_FLOW(direction, policer_fit_ratio), fit.fit_ratio, few);
    tl_flow_set(facts, TL_FLOW(direction, policer_burst_bytes), fit.burst_bytes, few);
}

static void set_change(struct tl_facts *facts, enum tl_direction direction,
                       const struct tl_series *series)
{
    struct tl_rate_change change;
    tl_series_rate_change(series, &change);
    const char *reason =
        isnan(change.ratio) ? "the transfer was too short to tell" : "the rate did not fall";
    tl_flow_set(facts, TL_FLOW(direction, rate_change_ratio), change.ratio, reason);
    tl_flow_set(facts, TL_FLOW(direction, rate_change_ns), change.at_ns, reason);
    tl_flow_set(facts, TL_FLOW(direction, rate_change_before_bps), change.before_bps, reason);
    tl_flow_set(facts, TL_FLOW(direction, rate_change_after_bps), change.after_bps, reason);
    tl_flow_set(facts, TL_FLOW(direction, rate_change_swing_ratio), change.after_swing_ratio,
                reason);
    tl_flow_set(facts, TL_FLOW(direction, rate_change_bytes), change.excess_bytes, reason);
    tl_flow_set(facts, TL_FLOW(direction, rate_change_rtt_rise_ns), change.rtt_rise_ns, reason);
}

void tl_flow_set_series(struct tl_facts *facts, enum tl_direction direction,
                        const struct tl_sample_log *sender, const struct tl_steady_rate *rate)
{
    struct tl_series *series = malloc(sizeof *series); /* too large for a thread's stack */
    struct tl_slow_start start;
    if (!series)
        return; /* the facts stay unknown: not measured */
    tl_series_read(sender, series);
    series->scatter_ns = tl_facts_number(facts, TL_PATH(rtt_scatter_ns), 0);
    if (series->count >= 2) {
        tl_series_slow_start(series, &start);
        tl_flow_set(facts, TL_FLOW(direction, slow_start_ns), start.end_ns,
                    "slow start did not end");
        tl_flow_set(facts, TL_FLOW(direction, slow_start_bytes), start.bytes,
                    "slow start did not end");
        tl_flow_set(facts, TL_FLOW(direction, first_loss_ns), start.first_loss_ns,
                    "nothing was lost");
        set_losses(facts, direction, series, rate->valid ? rate->start_ns : 0,
                   rate->valid ? rate->end_ns : INT64_MAX / 2);
        set_change(facts, direction, series);
    }
    free(series);
}

void tl_flow_set_loaded(struct tl_facts *facts, enum tl_direction direction,
                        const struct tl_echo_load *load)
{
    static const char few[] = "too few UDP probes were answered beside the stream";
    bool download = direction == TL_DOWNLOAD;
    tl_flow_set(facts, TL_FLOW(direction, loaded_rtt_ns), load->rtt_median_ns, few);
    tl_flow_set(facts, TL_FLOW(direction, loaded_data_delay_ns),
                download ? load->backward_growth_ns : load->forward_growth_ns, few);
    tl_flow_set(facts, TL_FLOW(direction, loaded_data_delay_p75_ns),
                download ? load->backward_p75_ns : load->forward_p75_ns, few);
    tl_flow_set(facts, TL_FLOW(direction, loaded_ack_delay_ns),
                download ? load->forward_growth_ns : load->backward_growth_ns, few);
}

static void set_percentiles(struct tl_facts *facts, struct tl_fact_key key, const double rates[3],
                            const char *reason)
{
    tl_flow_set_range(facts, key, rates[1], rates[0], rates[2], reason);
}

void tl_flow_set_queue(struct tl_facts *facts, enum tl_direction direction,
                       struct tl_flow_queue names, const struct tl_queue *queue)
{
    static const char brief[] = "the steady part was too short to be cut into pieces";
    enum tl_scope scope = tl_scope_of(direction);
    double standing[3] = {queue->standing_ratio, queue->standing_ratio, queue->standing_ratio};
    set_percentiles(facts, TL_KEY(scope, names.standing), standing, brief);
    set_percentiles(facts, TL_KEY(scope, names.piece), queue->rate_bps, brief);
    set_percentiles(facts, TL_KEY(scope, names.full), queue->full_bps,
                    queue->pieces < TL_QUEUE_PIECES_MIN ? brief : "hardly ever a queue stood");
}

void tl_flow_set_ranks(struct tl_facts *facts, enum tl_direction direction,
                       const struct tl_tcp_result *result)
{
    struct tl_series *series = malloc(sizeof *series);
    const struct tl_steady_rate *rate = &result->steady.rate;
    double events = 0, ranks = 0, streams = 0;
    if (!series)
        return;
    for (unsigned i = 0; i < result->streams; i++) {
        struct tl_loss_pattern pattern;
        tl_series_read(&result->sender.logs[i], series);
        series->scatter_ns = tl_facts_number(facts, TL_PATH(rtt_scatter_ns), 0);
        tl_series_losses(series, rate->valid ? rate->start_ns : 0,
                         rate->valid ? rate->end_ns : INT64_MAX / 2, &pattern);
        if (isnan(pattern.delay_rank_ratio))
            continue;
        events += pattern.event_count;
        ranks += pattern.event_count * pattern.delay_rank_ratio;
        streams++;
    }
    /* A full queue drops of all at once: those are not so many losses by themselves. */
    double mean = ranks / events, bound = TL_SERIES_RANK_BOUND / sqrt(events / streams);
    tl_flow_set_range(facts, TL_FLOW(direction, streams_loss_delay_rank_ratio), mean,
                      fmax(mean - bound, 0), fmin(mean + bound, 1), "too few losses to tell");
    free(series);
}

/* From a connection in a capture to facts. Rates, ledger, losses and queues go through the analysis
 * of our own tests (packet_log.c); the rest is what only packets tell. */
#include "tightlink/probes/packet_flow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow_facts.h"
#include "packet_log.h"
#include "tightlink/base/units.h"

/* A stall that only its own end would end: longer than this, with data in flight. */
#define STALLED_NS  2e9
#define STUCK_TIMES 3 /* a segment was sent so often in vain */
/* A packet that is larger may be too large for a tunnel on the way: IPv6 promises 1280 bytes (RFC
 * 8200, section 5), and IPv4's links of today carry no less; the rest is for what tunnels put
 * before it. */
#define FULL_BYTES 1000
/* To what share the window falls at losses: CUBIC to 0.7 (RFC 9438, section 4.6), Reno to 0.5 (RFC
 * 5681, equation 4). Behind this kernel medians of 0.59 to 0.69 in 4 captures, of 0.25 to 0.56 in
 * 12, and of BBR more than 0.85 in 11 of 16; of small windows they are larger. */
#define BACKOFF_MOST    0.85
#define BACKOFF_BETWEEN 0.6
#define BACKOFF_LEAST   0.2
/* A level that losses follow beyond chance, and a bucket of a bounded depth that explains them, as
 * the rules have it. */
#define LEVEL_TELLS  0.6
#define BUCKET_TELLS 0.5
#define REPLAY_TELLS                                                                               \
    0.4 /* of the lower bound: 0.35 at most for losses that no bucket and no queue of ours makes   \
         */

static const char capture_only[] =
    "a capture shows what was sent; tightlink run with a responder at the other end would test it";
static const char no_host[] = "packets do not tell what the hosts' processors and programs do";

enum tl_direction tl_packet_flow_direction(const struct tl_packet_flow *flow)
{
    return tl_packet_sender(flow) == TL_SERVER ? TL_DOWNLOAD : TL_UPLOAD;
}

/* What is being told of: one direction of a connection. */
struct told {
    const struct tl_packet_flow *flow;
    const struct tl_packet_half *half;
    int sender;
    struct tl_packet_ledger ledger;
    enum tl_direction direction;
    struct tl_facts *facts;
};

static void put(const struct told *told, enum tl_fact_name fact, double value, const char *reason)
{
    tl_flow_set(told->facts, TL_KEY(tl_scope_of(told->direction), fact), value, reason);
}

static void put_bool(const struct told *told, enum tl_fact_name fact, bool value,
                     const char *method)
{
    tl_facts_set_bool(told->facts, TL_KEY(tl_scope_of(told->direction), fact), value, method);
}

/* --- Through the analysis of our own tests ---------------------------------------------------- */

/* The congestion control, where the window falls at losses as one of the two does. */
static const char *congestion_of(const struct tl_packet_half *half)
{
    double backoff = tl_packet_backoff(half);
    if (!(backoff >= BACKOFF_LEAST && backoff <= BACKOFF_MOST))
        return "";
    return backoff > BACKOFF_BETWEEN ? "cubic" : "reno";
}

static enum tl_status tell_stream(const struct told *told)
{
    struct tl_tcp_result *result = calloc(1, sizeof *result);
    struct tl_rate_point *workspace = malloc(TL_STEADY_POINTS_MAX * sizeof *workspace);
    const char *congestion = congestion_of(told->half);
    enum tl_status status = TL_NOMEM;
    if (!result || !workspace)
        goto out;
    result->streams = 1;
    struct tl_sample_log *sender = &result->sender.logs[0], *receiver = &result->receiver.logs[0];
    status = tl_packet_log(told->flow, told->sender, &told->ledger, sender, receiver);
    if (status != TL_OK)
        goto out;
    tl_steady_analyse(sender, receiver, 1, congestion, workspace, &result->steady);
    const struct tl_steady_rate *rate = &result->steady.rate;
    tl_flow_set_stream(told->facts, told->direction, &result->steady, congestion);
    tl_flow_set_series(told->facts, told->direction, sender, rate);
    struct tl_queue queue;
    struct tl_queue_spec spec = {.from_ns = rate->valid ? rate->start_ns : 0,
                                 .to_ns = rate->end_ns,
                                 .rtt_min_ns = told->half->rtt_min_ns};
    tl_queue_find(result, &spec, &queue);
    tl_flow_set_queue(told->facts, told->direction, TL_FLOW_QUEUE(), &queue);
out:
    if (result)
        tl_tcp_result_finish(result);
    free(workspace);
    free(result);
    return status;
}

/* --- What only packets tell ------------------------------------------------------------------- */

static void tell_ledger(const struct told *told)
{
    static const enum tl_fact_name names[] = {
        TL_FACT_FLOW_ledger_app_ratio, TL_FACT_FLOW_ledger_sndbuf_ratio,
        TL_FACT_FLOW_ledger_rwnd_ratio, TL_FACT_FLOW_ledger_network_ratio};
    for (size_t i = 0; i < sizeof names / sizeof *names && !told->ledger.known; i++)
        put(told, names[i], (double)NAN, told->ledger.why);
    put(told, TL_FACT_FLOW_packets_count, (double)told->flow->packets_count, "");
    put(told, TL_FACT_FLOW_clocked_ratio, told->ledger.clocked_ratio,
        "too few trains of packets, or acknowledgements all the time");
    put(told, TL_FACT_FLOW_queue_emptied_ratio, 1 - told->ledger.standing_ratio,
        "shorter than two seconds");
    put(told, TL_FACT_FLOW_ran_dry_ratio, tl_packet_dry_ratio(told->half), "too short to tell");
    /* Exact, where the readings of a log have the most of each step. */
    put(told, TL_FACT_FLOW_inflight_mean_bytes, told->half->flight_bytes_ns / told->half->flight_ns,
        "nothing was in flight");
    tl_flow_set_text(told->facts, TL_FLOW(told->direction, capture_place),
                     tl_packet_place_name(tl_packet_place(told->flow, told->sender)));
}

static void tell_flight(const struct told *told)
{
    static const char few[] = "too short to tell";
    struct tl_packet_flight flight;
    tl_packet_flight(told->half, &flight);
    put(told, TL_FACT_FLOW_flight_swing_ns, flight.swing_ns, few);
    put(told, TL_FACT_FLOW_flight_delay_ns, flight.delay_ns, few);
    put(told, TL_FACT_FLOW_delay_memory_ratio, tl_packet_delay_memory(told->half), few);
}

/* What was lost behind the capturing machine was dropped there: what the way before it took, which
 * timestamps and the sender's own clock make, is no queue before which it stood. */
static void correct_delay(const struct told *told, const struct tl_packet_loss_rank *rank)
{
    struct tl_fact_key key = TL_FLOW(told->direction, rtt_at_loss_ns);
    double least_ns = told->flow->near_rtt_ns[1 - told->sender],
           waited_ns = fmax(rank->far_rtt_ns - least_ns, 0),
           before_ns = tl_facts_number(told->facts, key, (double)NAN);
    bool behind =
        rank->upstream_ratio < 0.5 && tl_packet_place(told->flow, told->sender) == TL_PLACE_MIDDLE;
    if (behind && before_ns > told->half->rtt_min_ns + waited_ns)
        tl_facts_set_number(told->facts, key, told->half->rtt_min_ns + waited_ns,
                            "of the way behind the capture");
}

/* A bucket of any depth, where none of a bounded depth explains the losses. */
static void tell_level(const struct told *told, struct tl_packet_policer *policer)
{
    static const char few[] = "too few losses to tell";
    struct tl_packet_level level;
    tl_packet_level(told->half, &level);
    tl_flow_set_range(told->facts, TL_FLOW(told->direction, loss_level_rank_ratio),
                      level.rank_ratio, level.low_ratio, level.high_ratio, few);
    put(told, TL_FACT_FLOW_level_swing_ns, level.swing_ns, few);
    put(told, TL_FACT_FLOW_level_delay_ns, level.delay_ns, few);
    if (level.low_ratio > LEVEL_TELLS && !(policer->fit_ratio >= BUCKET_TELLS)) {
        policer->rate_bps = level.rate_bps;
        policer->burst_bytes = level.depth_bytes;
    }
}

/* What is sent again after one event may take several round trips: when the losses were sent tells
 * how many events there were, readings of the counters do not. */
static void tell_events(const struct told *told)
{
    double from_ns = tl_facts_number(told->facts, TL_FLOW(told->direction, warmup_ns), (double)NAN),
           steady_ns =
               tl_facts_number(told->facts, TL_FLOW(told->direction, steady_ns), (double)NAN),
           segments =
               tl_facts_number(told->facts, TL_FLOW(told->direction, segments_count), (double)NAN);
    if (isfinite(from_ns) && isfinite(steady_ns) && segments > 0)
        put(told, TL_FACT_FLOW_loss_event_ratio,
            tl_packet_loss_events(told->half, from_ns, from_ns + steady_ns) / segments, "");
}

/* Packet by packet it is what a packet took before the loss, not what the loss made others take. */
static void tell_delay_rank(const struct told *told, bool upstream)
{
    double rank, low, high;
    if (tl_packet_delay_rank(told->half, upstream, &rank, &low, &high))
        tl_flow_set_range(told->facts, TL_FLOW(told->direction, loss_delay_rank_ratio), rank, low,
                          high, "");
}

/* Packet by packet it tells best, where it tells. */
static void tell_replay(const struct told *told, bool upstream, struct tl_packet_policer *policer)
{
    static const char few[] = "too few losses to tell";
    struct tl_packet_replay replay;
    tl_packet_replay(told->half, upstream, &replay);
    tl_flow_set_range(told->facts, TL_FLOW(told->direction, loss_replay_ratio), replay.told_ratio,
                      replay.low_ratio, replay.high_ratio, few);
    tl_flow_set_range(told->facts, TL_FLOW(told->direction, replay_bps), replay.rate_bps,
                      replay.rate_low_bps, replay.rate_high_bps, few);
    put(told, TL_FACT_FLOW_replay_depth_bytes, replay.depth_bytes, few);
    put(told, TL_FACT_FLOW_replay_swing_ns, replay.swing_ns, few);
    put(told, TL_FACT_FLOW_replay_delay_ns, replay.delay_ns, few);
    if (replay.low_ratio >= REPLAY_TELLS) {
        policer->rate_bps = replay.rate_bps;
        policer->burst_bytes = replay.depth_bytes;
    }
}

/* Where packets come by as the way left them, not as they were sent, they tell nothing of it. */
static void tell_dispersion(const struct told *told, bool upstream)
{
    static const char few[] = "too few packets waited for one another",
                      few_losses[] = "too few losses to tell",
                      behind[] = "packets were seen behind the way, not as they were sent";
    bool seen = !upstream && tl_packet_place(told->flow, told->sender) != TL_PLACE_RECEIVER;
    struct tl_packet_dispersion dispersion = tl_packet_no_dispersion();
    if (seen)
        tl_packet_dispersion(told->half, &dispersion);
    tl_flow_set_range(told->facts, TL_FLOW(told->direction, dispersion_bps), dispersion.rate_bps,
                      dispersion.low_bps, dispersion.high_bps, seen ? few : behind);
    put(told, TL_FACT_FLOW_backlog_chance_ratio, dispersion.chance_ratio, few_losses);
    tl_flow_set_range(told->facts, TL_FLOW(told->direction, backlog_bytes),
                      dispersion.backlog_bytes, dispersion.backlog_low_bytes,
                      dispersion.backlog_high_bytes, few_losses);
    put(told, TL_FACT_FLOW_backlog_above_ratio, dispersion.above_ratio, few_losses);
}

static void tell_losses(const struct told *told)
{
    static const char few[] = "too few losses to tell";
    struct tl_packet_policer policer;
    struct tl_packet_loss_rank rank;
    tl_packet_policer(told->half, &policer);
    tl_packet_loss_rank(told->half, &rank);
    correct_delay(told, &rank);
    tell_events(told);
    bool upstream = rank.upstream_ratio >= 0.5;
    tell_delay_rank(told, upstream);
    tl_flow_set_range(told->facts, TL_FLOW(told->direction, loss_load_rank_ratio), rank.rank_ratio,
                      rank.low_ratio, rank.high_ratio, few);
    tl_flow_set_range(told->facts, TL_FLOW(told->direction, loss_train_rank_ratio),
                      rank.train_ratio, rank.train_low_ratio, rank.train_high_ratio, few);
    tl_flow_set_range(told->facts, TL_FLOW(told->direction, loss_next_rank_ratio), rank.next_ratio,
                      rank.next_low_ratio, rank.next_high_ratio, few);
    put(told, TL_FACT_FLOW_loss_upstream_ratio, rank.upstream_ratio, "nothing was lost");
    put(told, TL_FACT_FLOW_loss_period_mean_count, tl_packet_loss_period(told->half), few);
    put(told, TL_FACT_FLOW_bucket_fit_ratio, policer.fit_ratio, few);
    put(told, TL_FACT_FLOW_peak_bps, policer.peak_bps, "shorter than a round trip");
    tell_level(told, &policer);
    tell_replay(told, upstream, &policer);
    tell_dispersion(told, upstream);
    if (isfinite(policer.rate_bps)) {
        put(told, TL_FACT_FLOW_policer_bps, policer.rate_bps, few);
        put(told, TL_FACT_FLOW_policer_burst_bytes, policer.burst_bytes, few);
    }
    if (isfinite(rank.flat_ratio))
        put(told, TL_FACT_FLOW_loss_flat_ratio, rank.flat_ratio, few);
    /* Marked behind the capturing machine: the receiver's echo tells. */
    put(told, TL_FACT_FLOW_ce_ratio,
        fmax((double)told->half->ce_count / fmax((double)told->half->packets_count, 1),
             (double)told->half->ece_count / fmax((double)told->half->window_count, 1)),
        "");
}

/* Without timestamps the handshake alone times the way between sender and capture. What waits there
 * is then not seen: what comes to the receiver, or is lost before it comes by, tells no delay. */
static void hide_delays(const struct told *told)
{
    static const enum tl_fact_name names[] = {
        TL_FACT_FLOW_rtt_at_loss_ns,        TL_FACT_FLOW_loss_flat_ratio,
        TL_FACT_FLOW_loss_delay_rank_ratio, TL_FACT_FLOW_queue_standing_ratio,
        TL_FACT_FLOW_queue_emptied_ratio,   TL_FACT_FLOW_flight_delay_ns,
        TL_FACT_FLOW_delay_memory_ratio};
    struct tl_packet_loss_rank rank;
    tl_packet_loss_rank(told->half, &rank);
    enum tl_packet_place place = tl_packet_place(told->flow, told->sender);
    bool before =
        place == TL_PLACE_RECEIVER || (place == TL_PLACE_MIDDLE && rank.upstream_ratio >= 0.5);
    if (told->half->echoes_count > 0 || !before)
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        put(told, names[i], (double)NAN,
            "without timestamps the way before the capturing machine is not timed");
}

/* The receiver's buffer shows in its window: what the window lacks of its largest lies unread. */
static void tell_receiver(const struct told *told)
{
    const struct tl_packet_half *half = told->half;
    const char *reason = "too few acknowledgements";
    bool enough = half->window_count >= 20 && half->window_max_bytes > 0 && half->window_ns > 0;
    double full = (double)half->window_max_bytes * half->window_ns;
    put(told, TL_FACT_FLOW_receiver_queue_ratio,
        enough ? 1 - half->window_bytes_ns / full : (double)NAN, reason);
    put(told, TL_FACT_FLOW_receiver_data_wait_ratio,
        enough ? half->window_open_ns / half->window_ns : (double)NAN, reason);
    put(told, TL_FACT_FLOW_receiver_tcp_zero_window_count, (double)half->zero_window_count, "");
    double most = (double)(UINT64_C(65535) << half->window_scale);
    put(told, TL_FACT_FLOW_guessed_window_ratio,
        half->window_scale_known ? (double)NAN : (double)half->window_max_bytes / most,
        "the handshake tells its scale");
    double time_ns = (double)(half->last_data_ns - half->first_data_ns);
    put(told, TL_FACT_FLOW_ack_bout_ratio, enough ? half->ack_bout_ns / time_ns : (double)NAN,
        reason);
    bool beside = tl_packet_place(told->flow, told->sender) == TL_PLACE_RECEIVER;
    put(told, TL_FACT_FLOW_receiver_ack_late_ratio,
        beside ? half->ack_late_ns / time_ns : (double)NAN,
        beside ? "it moved at once" : "only a capture at the receiver tells");
}

/* The connection itself is the transfer that runs. */
static void tell_running(const struct told *told)
{
    const struct tl_packet_half *half = told->half;
    double time_ns = (double)(half->last_data_ns - half->first_data_ns);
    const struct tl_packet_half *other = &told->flow->halves[1 - told->sender];
    double pauses = (double)half->pauses_count;
    /* A protocol's pauses end with what the other end answers or, by Nagle's algorithm, with its
     * acknowledgement; others are those of windows and of the program's own clock. */
    bool small = 2 * half->small_count > half->data_packets_count; /* else a tail of each write */
    double asked = fmax(fmin(pauses, (double)other->data_packets_count),
                        small ? (double)half->nagle_count : 0);
    put(told, TL_FACT_FLOW_running_count, 1, "");
    tl_facts_set_bool(told->facts, TL_FLOW(told->direction, running_judged), true, "a capture");
    put(told, TL_FACT_FLOW_running_bps, tl_bps_from_bytes_ns((double)half->payload_bytes, time_ns),
        "");
    put(told, TL_FACT_FLOW_running_window_bytes, (double)half->window_max_bytes, "");
    put(told, TL_FACT_FLOW_running_mss_bytes, half->mss_bytes, "");
    put(told, TL_FACT_FLOW_running_rwnd_ratio, told->ledger.closed_ratio, "");
    put(told, TL_FACT_FLOW_running_pause_count, asked, "");
    put(told, TL_FACT_FLOW_running_pause_ns, tl_packet_classes_quantile(half->pause_classes, 0.5),
        "it did not pause");
    put(told, TL_FACT_FLOW_running_idle_ratio, half->pauses_ns / time_ns, "");
    put(told, TL_FACT_FLOW_running_burst_bytes, (double)half->payload_bytes / (pauses + 1), "");
}

/* The first that is not acknowledged is sent again and again. */
static bool is_stuck(const struct tl_packet_half *half)
{
    return half->stuck_count > STUCK_TIMES && half->stuck_ns > (int64_t)STALLED_NS;
}

/* Full segments are stuck, and nothing of that size was ever acknowledged. That smaller ones pass
 * is told by the handshake, or by their acknowledgements: else everything may be lost. */
static bool vanishes(const struct tl_packet_half *half, const struct tl_packet_half *other)
{
    bool small_pass = other->syn_seen || half->largest_acked_packet > 0;
    return is_stuck(half) && small_pass && half->smallest_stuck_packet > FULL_BYTES &&
           half->largest_acked_packet < half->smallest_stuck_packet;
}

static bool nothing_arrived(const struct tl_packet_half *half)
{
    return half->last_data_ns > half->first_data_ns && half->acked_bytes == 0 &&
           half->retrans_count > 0;
}

/* Where the transfer stands still. Of an end that was not captured no answer can be seen. */
static void tell_stalls(const struct told *told, bool vanish)
{
    const struct tl_packet_half *half = told->half;
    double span_ns = (double)(told->flow->last_ns - told->flow->first_ns);
    if (told->flow->halves[1 - told->sender].packets_count > 0)
        put_bool(told, TL_FACT_FLOW_stalled, vanish || nothing_arrived(half),
                 "data was sent again and again, none was acknowledged");
    put(told, TL_FACT_FLOW_window_shut_ns, (double)half->shut_longest_ns, "");
    put(told, TL_FACT_FLOW_window_shut_ratio, (double)half->shut_longest_ns / span_ns,
        "all packets came at once");
    struct tl_fact rate;
    tl_facts_get(told->facts, TL_KEY(tl_scope_of(told->direction), TL_FACT_FLOW_goodput_bps),
                 &rate);
    if (half->unanswered_ns > 0 && rate.state != TL_FACT_KNOWN)
        tl_flow_set_unanswered(told->facts, told->direction);
}

static void tell_sizes(const struct told *told)
{
    const struct tl_packet_half *half = told->half;
    const struct tl_packet_half *other = &told->flow->halves[1 - told->sender];
    bool vanish = vanishes(half, other);
    tell_stalls(told, vanish);
    if (other->syn_mss_bytes)
        put(told, TL_FACT_FLOW_mss_received_bytes, other->syn_mss_bytes, "");
    if (!vanish && told->flow->too_big_count == 0) {
        if (half->largest_acked_packet)
            put_bool(told, TL_FACT_FLOW_mtu_black_hole, false, "full segments were acknowledged");
        return;
    }
    put_bool(told, TL_FACT_FLOW_mtu_black_hole, vanish && told->flow->too_big_count == 0,
             "by the sizes that were acknowledged and those that never were");
    if (told->flow->router_mtu_bytes)
        put(told, TL_FACT_FLOW_mtu_reported_bytes, told->flow->router_mtu_bytes, "");
}

/* Whether an end offers window scaling, by its SYN: a server answers only what was offered. On the
 * way options are seldom taken out, and then all of them. */
static void tell_scaling(const struct told *told)
{
    static const enum tl_scope scopes[2] = {TL_SCOPE_NEAR, TL_SCOPE_FAR};
    for (int end = TL_CLIENT; end <= TL_SERVER; end++) {
        const struct tl_packet_half *half = &told->flow->halves[end];
        bool asked = end == TL_CLIENT || told->flow->halves[TL_CLIENT].has_wscale;
        bool whole = half->has_timestamps || half->sack_permitted;
        if (half->syn_seen && asked && (half->has_wscale || (whole && !half->syn_cut)))
            tl_facts_set_bool(told->facts, TL_KEY(scopes[end], TL_FACT_HOST_tcp_window_scaling),
                              half->has_wscale, "its SYN in the capture");
    }
}

/* What was on the way shows that both ends scale, where no handshake does. */
static void tell_scaled(const struct told *told)
{
    const struct tl_packet_half *half = told->half;
    if (half->window_scaled && !half->window_scale_known && told->ledger.window_known)
        put_bool(told, TL_FACT_FLOW_wscale_ok, true,
                 "more was on the way than a window without scaling announces");
}

static void tell_path(const struct told *told)
{
    const struct tl_packet_flow *flow = told->flow;
    if (isfinite(flow->handshake_rtt_ns))
        tl_facts_set_number(told->facts, TL_PATH(connect_rtt_ns), flow->handshake_rtt_ns,
                            "the handshake in the capture");
    else
        tl_facts_set_unknown(told->facts, TL_PATH(connect_rtt_ns),
                             "the handshake was not captured");
    if (isfinite(told->half->rtt_min_ns))
        put(told, TL_FACT_FLOW_rtt_min_ns, told->half->rtt_min_ns, "");
}

/* Each stage of the table; its facts stand together, but for a few. */
static void explain(const struct told *told)
{
    const char *before = "";
    for (int i = 0; i < TL_FACT_COUNT; i++) {
        const char *stage = tl_fact_def((enum tl_fact_name)i)->stage;
        bool own = strcmp(stage, "stream") == 0, again = strcmp(stage, before) == 0;
        before = stage;
        if (strcmp(stage, "derived") != 0 && !again)
            tl_facts_explain_stage(told->facts, stage, own ? &told->direction : NULL,
                                   own || strcmp(stage, "hosts") == 0 ? no_host : capture_only);
    }
}

enum tl_status tl_packet_flow_facts(const struct tl_packet_flow *flow, struct tl_facts *facts)
{
    struct told told = {.flow = flow,
                        .sender = tl_packet_sender(flow),
                        .direction = tl_packet_flow_direction(flow),
                        .facts = facts};
    told.half = &flow->halves[told.sender];
    tl_packet_ledger(flow, told.sender, &told.ledger);
    enum tl_status status = tell_stream(&told);
    if (status != TL_OK)
        return status;
    tell_ledger(&told);
    tell_flight(&told);
    tell_losses(&told);
    hide_delays(&told);
    tell_receiver(&told);
    tell_running(&told);
    tell_sizes(&told);
    tell_scaling(&told);
    tell_scaled(&told);
    tell_path(&told);
    explain(&told);
    return tl_facts_status(facts, NULL);
}

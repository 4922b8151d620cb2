/* From intervals of a connection that another program runs to facts of stage "stream".
 *
 * As sender this end has TCP's own ledger, windows and losses. As receiver it sees what arrives,
 * the window that it offers and its own program; what the sender waits for it cannot see. */
#include "tightlink/probes/live_flow.h"

#include <math.h>

#include "flow_facts.h"
#include "tightlink/base/stats.h"
#include "tightlink/base/units.h"

#define RATES_MAX TL_LIVE_INTERVALS
/* A buffer that stayed in fewer intervals may be one that the kernel had not tuned yet. */
#define FIXED_INTERVALS_MIN 3
/* What a full link shows only in so many seconds: a congestion window that grows and halves. */
#define QUEUE_INTERVALS_MIN 5
/* The network had the sender nearly all the time: with a pause the queue may have drained unseen.
 */
#define QUEUE_NETWORK_RATIO 0.9
/* A queue: a fifth of the way, and more than the mean of round trips lies above their least by
 * scatter alone, which is up to four mean deviations (normal ones over some thousand samples). */
#define QUEUE_RTT_RATIO  0.2
#define QUEUE_DEVIATIONS 4

static const char one_end[] = "seen from this end alone: a responder at the other end would tell";
static const char no_room[] = "this kernel does not tell whether the send buffer had room";
static const char no_data[] = "nothing moved while it was watched";

enum tl_direction tl_live_flow_direction(const struct tl_live_flow *flow,
                                         const struct tl_live_interval *joined)
{
    bool waits = tl_live_stood(joined) && flow->socket.write_queue_bytes > joined->received_bytes;
    return waits || joined->sent_bytes > joined->received_bytes ? TL_UPLOAD : TL_DOWNLOAD;
}

static double moved_bytes(const struct tl_live_interval *interval, enum tl_direction direction)
{
    return (double)(direction == TL_UPLOAD ? interval->sent_bytes : interval->received_bytes);
}

/* Mean of the intervals' rates, with the 95 % interval of their scatter. */
static void set_rate(const struct tl_live_flow *flow, size_t count, enum tl_direction direction,
                     struct tl_facts *facts)
{
    struct tl_live_range range = tl_live_range(flow, count);
    double rates[RATES_MAX], span_ns = 0;
    size_t rate_count = 0;

    for (size_t back = range.from; back < range.to; back++) {
        const struct tl_live_interval *interval = tl_live_interval_at(flow, back);
        rates[rate_count++] =
            tl_bps_from_bytes_ns(moved_bytes(interval, direction), (double)interval->span_ns);
        span_ns += (double)interval->span_ns;
    }
    double mean = rate_count > 1 ? tl_stats_mean(rates, rate_count) : NAN, wide = 0;
    if (rate_count > 2)
        wide = tl_stats_student_t(0.975, (double)rate_count - 1) *
               tl_stats_stddev(rates, rate_count) / sqrt((double)rate_count);
    tl_flow_set_range(facts, TL_FLOW(direction, goodput_bps), mean, fmax(0, mean - wide),
                      mean + wide, no_data);
    tl_flow_set(facts, TL_FLOW(direction, goodput_whole_bps), mean, no_data);
    tl_flow_set(facts, TL_FLOW(direction, steady_ns), rate_count > 1 ? span_ns : NAN, no_data);
}

static void set_common(const struct tl_host_socket *socket, const struct tl_live_interval *joined,
                       enum tl_direction direction, struct tl_facts *facts)
{
    tl_facts_set_bool(facts, TL_FLOW(direction, wscale_ok), socket->wscale_ok, "TCP_INFO");
    tl_facts_set_bool(facts, TL_FLOW(direction, sack_ok), socket->sack_ok, "TCP_INFO");
    tl_facts_set_bool(facts, TL_FLOW(direction, timestamps_ok), socket->timestamps_ok, "TCP_INFO");
    tl_flow_set(facts, TL_FLOW(direction, window_shut_ns), (double)joined->shut_ns, no_data);
    tl_flow_set(facts, TL_FLOW(direction, window_shut_ratio), joined->shut_ratio, no_data);
    tl_flow_set(facts, TL_FLOW(direction, received_bytes), moved_bytes(joined, direction), no_data);
    tl_flow_set(facts, TL_FLOW(direction, rtt_min_ns),
                socket->rtt_min_ns ? (double)socket->rtt_min_ns : NAN,
                "this end sent nothing that was answered");
    if (socket->pmtu_bytes)
        tl_facts_set_number(facts, TL_PATH(mtu_bytes), socket->pmtu_bytes, "TCP_INFO tcpi_pmtu");
}

static void set_sender(const struct tl_host_socket *socket, const struct tl_live_interval *joined,
                       struct tl_facts *facts)
{
    const enum tl_direction up = TL_UPLOAD;
    const double *parts = joined->parts_ratio;
    const char *unsplit = isnan(parts[TL_LIVE_RWND]) ? no_data : no_room;

    tl_flow_set(facts, TL_FLOW(up, ledger_app_ratio), parts[TL_LIVE_APP], unsplit);
    tl_flow_set(facts, TL_FLOW(up, program_behind_ratio), joined->behind_ratio, unsplit);
    tl_flow_set(facts, TL_FLOW(up, ledger_sndbuf_ratio), parts[TL_LIVE_SNDBUF], no_data);
    tl_flow_set(facts, TL_FLOW(up, ledger_rwnd_ratio), parts[TL_LIVE_RWND], no_data);
    tl_flow_set(facts, TL_FLOW(up, ledger_network_ratio), parts[TL_LIVE_NETWORK], unsplit);
    tl_flow_set(facts, TL_FLOW(up, rtt_mean_ns), joined->rtt_mean_ns, no_data);
    tl_flow_set(facts, TL_FLOW(up, rtt_max_ns), joined->rtt_max_ns, no_data);
    tl_flow_set(facts, TL_FLOW(up, steady_rtts_count),
                (double)joined->span_ns / joined->rtt_mean_ns, no_data);
    tl_flow_set(facts, TL_FLOW(up, cwnd_mean_bytes), joined->cwnd_mean_bytes, no_data);
    tl_flow_set(facts, TL_FLOW(up, inflight_mean_bytes), joined->inflight_mean_bytes, no_data);
    tl_flow_set(facts, TL_FLOW(up, inflight_max_bytes), (double)joined->inflight_max_bytes,
                no_data);
    tl_flow_set(facts, TL_FLOW(up, snd_wnd_max_bytes), (double)joined->snd_wnd_max_bytes, no_data);
    tl_flow_set(facts, TL_FLOW(up, window_full_ratio), joined->window_full_ratio, no_data);
    tl_flow_set(facts, TL_FLOW(up, sndbuf_full_ratio), joined->sndbuf_full_ratio, no_data);
    tl_flow_set(facts, TL_FLOW(up, mss_bytes), socket->snd_mss_bytes, no_data);
    tl_flow_set(facts, TL_FLOW(up, segments_count), joined->segments_count, no_data);
    tl_flow_set(facts, TL_FLOW(up, dsack_count), joined->dsack_count, no_data);
    tl_flow_set(facts, TL_FLOW(up, reord_seen_count), joined->reord_seen_count, no_data);
    if (joined->segments_count)
        tl_flow_set_loss(facts, up, TL_FLOW_LOSS(retrans), joined->retrans_count,
                         joined->segments_count);
    tl_flow_set_text(facts, TL_FLOW(up, cc), socket->cc);
}

static bool stands(const struct tl_live_interval *interval, double rtt_min_ns)
{
    double rise_ns = interval->rtt_low_ns - rtt_min_ns;

    return interval->parts_ratio[TL_LIVE_NETWORK] >= QUEUE_NETWORK_RATIO &&
           rise_ns > QUEUE_RTT_RATIO * rtt_min_ns &&
           rise_ns > QUEUE_DEVIATIONS * interval->rtt_var_ns;
}

/* Whether a queue stood all the time, and what got through meanwhile: the least and the most of any
 * interval, since intervals of a second hide swings that half seconds would show. */
static void set_queue(const struct tl_live_flow *flow, size_t count, struct tl_facts *facts)
{
    static const char brief[] = "watched for too short a time, or nothing was answered";
    struct tl_live_range range = tl_live_range(flow, count);
    double rates[RATES_MAX], rtt_min_ns = (double)flow->socket.rtt_min_ns;
    size_t known = 0, full = 0;

    for (size_t back = range.from; back < range.to && rtt_min_ns > 0; back++) {
        const struct tl_live_interval *interval = tl_live_interval_at(flow, back);
        if (!interval->span_ns || isnan(interval->rtt_low_ns))
            continue;
        known++;
        if (stands(interval, rtt_min_ns))
            rates[full++] =
                tl_bps_from_bytes_ns((double)interval->sent_bytes, (double)interval->span_ns);
    }
    bool enough = known >= QUEUE_INTERVALS_MIN;
    tl_flow_set(facts, TL_FLOW(TL_UPLOAD, queue_standing_ratio),
                enough ? (double)full / (double)known : NAN, brief);
    if (!enough || full < QUEUE_INTERVALS_MIN)
        return;
    tl_flow_set_range(facts, TL_FLOW(TL_UPLOAD, full_bps), tl_stats_quantile(rates, full, 0.5),
                      tl_stats_quantile(rates, full, 0), tl_stats_quantile(rates, full, 1), brief);
}

/* How much of the offered window was on the way, by Little's law: what arrives in one round trip
 * without a queue. With a queue more is, so this is the least. */
static double window_use(const struct tl_host_socket *socket, const struct tl_live_interval *joined)
{
    double rate_bytes_ns = (double)joined->received_bytes / (double)joined->span_ns;

    if (!socket->rtt_min_ns || !joined->rcv_wnd_max_bytes)
        return NAN;
    return rate_bytes_ns * (double)socket->rtt_min_ns / (double)joined->rcv_wnd_max_bytes;
}

/* The window that this end offers is what its sender may have in flight; a segment's payload is
 * what arrives in one. Its round trips are the receiver's estimate (tcpi_rcv_rtt), which is one
 * only with timestamps: without them the kernel takes the time in which a whole window arrives. */
static void set_receiver(const struct tl_host_socket *socket, const struct tl_live_interval *joined,
                         struct tl_facts *facts)
{
    const enum tl_direction down = TL_DOWNLOAD;
    double rtt_ns = socket->timestamps_ok ? joined->rcv_rtt_ns : NAN;

    tl_flow_set(facts, TL_FLOW(down, rtt_mean_ns), rtt_ns, one_end);
    tl_flow_set(facts, TL_FLOW(down, steady_rtts_count),
                (double)joined->span_ns / (isnan(rtt_ns) ? (double)socket->rtt_min_ns : rtt_ns),
                one_end);
    tl_flow_set(facts, TL_FLOW(down, snd_wnd_max_bytes),
                joined->rcv_wnd_max_bytes ? (double)joined->rcv_wnd_max_bytes : NAN,
                "this kernel does not tell the window that it offers (Linux 6.2 does)");
    tl_flow_set(facts, TL_FLOW(down, mss_bytes), socket->rcv_mss_bytes, no_data);
    tl_flow_set(facts, TL_FLOW(down, receiver_window_use_ratio), window_use(socket, joined),
                "needs the round trip without a queue and the window that is offered");
    tl_flow_set(facts, TL_FLOW(down, receiver_queue_ratio), joined->read_queue_ratio, no_data);
}

static void set_program(const struct tl_flow_watch_program *program, enum tl_direction direction,
                        struct tl_facts *facts)
{
    enum tl_end near = direction == TL_UPLOAD ? TL_SENDER : TL_RECEIVER;

    tl_flow_set(facts, TL_END(direction, near, thread_cpu_ratio),
                program ? program->busiest_thread_ratio : NAN,
                "the program that holds the connection may not be looked at, or was met once only");
}

/* The connection itself is the transfer that runs. Its buffer at this end, and whether it was the
 * same in every reading, as one that a program sets is. */
static void set_running(const struct tl_live_flow *flow, const struct tl_live_interval *joined,
                        enum tl_direction direction, struct tl_facts *facts)
{
    static const char source[] = "the connection that is watched";
    const struct tl_live_buffer *buffer = direction == TL_UPLOAD ? &flow->sndbuf : &flow->rcvbuf;
    struct tl_fact rate;

    tl_facts_get(facts, TL_FLOW(direction, goodput_bps), &rate);
    tl_facts_set_bool(facts, TL_FLOW(direction, running_judged), true, source);
    tl_facts_set_number(facts, TL_FLOW(direction, running_count), 1, source);
    tl_flow_set(facts, TL_FLOW(direction, running_bps),
                rate.state == TL_FACT_KNOWN ? rate.number : NAN, no_data);
    tl_flow_set(facts, TL_FLOW(direction, running_rwnd_ratio), joined->parts_ratio[TL_LIVE_RWND],
                one_end);
    if (!buffer->high_bytes)
        return;
    tl_facts_set_number(facts,
                        direction == TL_UPLOAD ? TL_FLOW(direction, running_sndbuf_bytes)
                                               : TL_FLOW(direction, running_rcvbuf_bytes),
                        buffer->high_bytes, source);
    if (flow->interval_count >= FIXED_INTERVALS_MIN)
        tl_facts_set_bool(facts, TL_FLOW(direction, running_buffer_fixed),
                          buffer->low_bytes == buffer->high_bytes, source);
}

void tl_live_flow_facts(const struct tl_live_flow *flow, size_t count,
                        const struct tl_flow_watch_program *program, struct tl_facts *facts)
{
    struct tl_live_interval joined;

    tl_live_join(flow, count, &joined);
    enum tl_direction direction = tl_live_flow_direction(flow, &joined);
    set_rate(flow, count, direction, facts);
    set_common(&flow->socket, &joined, direction, facts);
    if (direction == TL_UPLOAD) {
        set_sender(&flow->socket, &joined, facts);
        set_queue(flow, count, facts);
    } else {
        set_receiver(&flow->socket, &joined, facts);
    }
    set_program(program, direction, facts);
    set_running(flow, &joined, direction, facts);
    if (joined.unanswered_ns > 0 && moved_bytes(&joined, direction) == 0)
        tl_flow_set_unanswered(facts, direction);
    tl_facts_explain_stage(facts, "stream", &direction, one_end);
}

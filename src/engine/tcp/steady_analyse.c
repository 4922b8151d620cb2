/* Streams added up, and the whole analysis of one test. */
#include <math.h>
#include <string.h>

#include "tightlink/engine/steady.h"

enum fold { FOLD_SUM, FOLD_MEAN, FOLD_MAX, FOLD_MIN };

struct fold_field {
    size_t offset; /* of a double */
    enum fold fold;
};

#define FLOW(member, fold)                                                                         \
    {                                                                                              \
        offsetof(struct tl_flow_stats, member), fold                                               \
    }
static const struct fold_field flow_fields[] = {
    FLOW(elapsed_ns, FOLD_MAX),
    FLOW(rtt_min_ns, FOLD_MIN),
    FLOW(rtt_floor_ns, FOLD_MIN),
    FLOW(rtt_mean_ns, FOLD_MEAN),
    FLOW(rtt_max_ns, FOLD_MAX),
    FLOW(rtt_at_loss_ns, FOLD_MEAN),
    FLOW(sent_bytes, FOLD_SUM),
    FLOW(acked_bytes, FOLD_SUM),
    FLOW(retrans_bytes, FOLD_SUM),
    FLOW(segments_count, FOLD_SUM),
    FLOW(retrans_count, FOLD_SUM),
    FLOW(loss_event_count, FOLD_SUM),
    FLOW(rto_count, FOLD_SUM),
    FLOW(dsack_count, FOLD_SUM),
    FLOW(reord_seen_count, FOLD_SUM),
    FLOW(delivered_ce_count, FOLD_SUM),
    FLOW(inflight_mean_bytes, FOLD_SUM),
    FLOW(inflight_max_bytes, FOLD_SUM),
    FLOW(snd_wnd_max_bytes, FOLD_SUM),
    FLOW(snd_wnd_mean_bytes, FOLD_SUM),
    FLOW(window_full_ratio, FOLD_MEAN),
    FLOW(sndbuf_full_ratio, FOLD_MEAN),
    FLOW(cwnd_mean_bytes, FOLD_SUM),
    FLOW(cwnd_max_bytes, FOLD_SUM),
    FLOW(mss_bytes, FOLD_MAX),
    FLOW(pmtu_bytes, FOLD_MIN),
    FLOW(sndbuf_max_bytes, FOLD_MAX),
    FLOW(delivery_rate_max_bps, FOLD_SUM),
    FLOW(options, FOLD_MIN),
    FLOW(snd_wscale_count, FOLD_MIN),
    FLOW(rcv_wscale_count, FOLD_MIN),
    FLOW(thread_cpu_ratio, FOLD_MAX),
    FLOW(thread_wait_ratio, FOLD_MAX),
    FLOW(room_wait_ratio, FOLD_MEAN),
};

#define RECEIVER(member, fold)                                                                     \
    {                                                                                              \
        offsetof(struct tl_receiver_stats, member), fold                                           \
    }
static const struct fold_field receiver_fields[] = {
    RECEIVER(elapsed_ns, FOLD_MAX),        RECEIVER(received_bytes, FOLD_SUM),
    RECEIVER(rcv_wnd_max_bytes, FOLD_SUM), RECEIVER(rcvbuf_max_bytes, FOLD_MAX),
    RECEIVER(inq_mean_bytes, FOLD_SUM),    RECEIVER(inq_max_bytes, FOLD_SUM),
    RECEIVER(ooo_count, FOLD_SUM),         RECEIVER(drops_count, FOLD_SUM),
    RECEIVER(mss_bytes, FOLD_MAX),         RECEIVER(options, FOLD_MIN),
    RECEIVER(snd_wscale_count, FOLD_MIN),  RECEIVER(rcv_wscale_count, FOLD_MIN),
    RECEIVER(thread_cpu_ratio, FOLD_MAX),  RECEIVER(thread_wait_ratio, FOLD_MAX),
    RECEIVER(data_wait_ratio, FOLD_MIN),
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static double *at(void *record, size_t offset)
{
    return (double *)(void *)((char *)record + offset);
}

static double value_at(const void *record, size_t offset)
{
    return *(const double *)(const void *)((const char *)record + offset);
}

/* One record into the sum. The first one was copied; weights are numbers of readings. */
static void fold_record(const struct fold_field *fields, size_t field_count, void *sum,
                        double sum_weight, const void *record, double weight)
{
    for (size_t i = 0; i < field_count; i++) {
        double *total = at(sum, fields[i].offset);
        double value = value_at(record, fields[i].offset);
        switch (fields[i].fold) {
        case FOLD_SUM:
            *total += value;
            break;
        case FOLD_MAX:
            *total = fmax(*total, value);
            break;
        case FOLD_MIN:
            *total = fmin(*total, value);
            break;
        case FOLD_MEAN:
            if (isnan(*total))
                *total = value;
            else if (!isnan(value))
                *total = (*total * sum_weight + value * weight) / (sum_weight + weight);
            break;
        }
    }
}

static void clear_record(const struct fold_field *fields, size_t field_count, void *record)
{
    for (size_t i = 0; i < field_count; i++)
        *at(record, fields[i].offset) = NAN;
}

static void add_ledger(struct tl_ledger *sum, const struct tl_ledger *ledger)
{
    double elapsed_ns = sum->elapsed_ns + ledger->elapsed_ns;
    double share = ledger->elapsed_ns / elapsed_ns;
    sum->valid = sum->valid && ledger->valid;
    sum->application_ratio += share * (ledger->application_ratio - sum->application_ratio);
    sum->sndbuf_ratio += share * (ledger->sndbuf_ratio - sum->sndbuf_ratio);
    sum->sndbuf_kernel_ratio += share * (ledger->sndbuf_kernel_ratio - sum->sndbuf_kernel_ratio);
    sum->rwnd_ratio += share * (ledger->rwnd_ratio - sum->rwnd_ratio);
    sum->network_ratio += share * (ledger->network_ratio - sum->network_ratio);
    sum->elapsed_ns = elapsed_ns;
}

void tl_flow_stats_sum(const struct tl_flow_stats *stats, size_t count,
                       struct tl_flow_stats *ret_sum)
{
    struct tl_flow_stats sum = {.readings = 0};
    clear_record(flow_fields, COUNT_OF(flow_fields), &sum);
    sum.ledger = (struct tl_ledger){false, NAN, NAN, NAN, NAN, NAN, NAN};
    for (size_t i = 0; i < count; i++) {
        if (stats[i].readings == 0)
            continue;
        if (sum.readings == 0) {
            sum = stats[i];
            continue;
        }
        fold_record(flow_fields, COUNT_OF(flow_fields), &sum, (double)sum.readings, &stats[i],
                    (double)stats[i].readings);
        add_ledger(&sum.ledger, &stats[i].ledger);
        sum.readings += stats[i].readings;
    }
    *ret_sum = sum;
}

void tl_receiver_stats_sum(const struct tl_receiver_stats *stats, size_t count,
                           struct tl_receiver_stats *ret_sum)
{
    struct tl_receiver_stats sum = {.readings = 0};
    clear_record(receiver_fields, COUNT_OF(receiver_fields), &sum);
    for (size_t i = 0; i < count; i++) {
        if (stats[i].readings == 0)
            continue;
        if (sum.readings == 0) {
            sum = stats[i];
            continue;
        }
        fold_record(receiver_fields, COUNT_OF(receiver_fields), &sum, (double)sum.readings,
                    &stats[i], (double)stats[i].readings);
        sum.readings += stats[i].readings;
    }
    *ret_sum = sum;
}

/* --- One test --------------------------------------------------------------------------- */

#define STREAMS_MAX TL_STEADY_STREAMS_MAX

static void sum_senders(const struct tl_sample_log *logs, size_t streams, int64_t from_ns,
                        int64_t to_ns, struct tl_flow_stats *ret_sum)
{
    struct tl_flow_stats stats[STREAMS_MAX] = {{0}};
    for (size_t i = 0; i < streams; i++)
        tl_flow_stats(&logs[i], from_ns, to_ns, &stats[i]);
    tl_flow_stats_sum(stats, streams, ret_sum);
}

/* Jain, Chiu, Hawe 1984: (sum x)^2 / (n sum x^2). */
static double jain_index(const struct tl_receiver_stats *stats, size_t streams)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < streams; i++) {
        sum += stats[i].received_bytes;
        squares += stats[i].received_bytes * stats[i].received_bytes;
    }
    return squares > 0 ? sum * sum / ((double)streams * squares) : NAN;
}

static void sum_receivers(const struct tl_sample_log *logs, size_t streams, int64_t from_ns,
                          int64_t to_ns, struct tl_steady *steady)
{
    struct tl_receiver_stats stats[STREAMS_MAX] = {{0}};
    for (size_t i = 0; i < streams; i++)
        tl_receiver_stats(&logs[i], from_ns, to_ns, &stats[i]);
    tl_receiver_stats_sum(stats, streams, &steady->receiver);
    steady->fairness_ratio = jain_index(stats, streams);
}

static int64_t rtt_of(const struct tl_flow_stats *stats)
{
    /* Beyond a minute no path is that long, and the number is the far end's. */
    return isnan(stats->rtt_mean_ns) ? 0 : (int64_t)fmin(stats->rtt_mean_ns, 60e9);
}

/* The points of a part, as a curve of its own that begins at 0. Returns their number. */
static size_t cut_curve(struct tl_rate_point *points, size_t count, int64_t from_ns, int64_t to_ns,
                        int64_t *ret_begin_ns)
{
    size_t first = 0, kept = 0;
    while (first < count && points[first].time_ns < from_ns)
        first++;
    for (size_t i = first; i < count && points[i].time_ns <= to_ns; i++)
        kept++;
    *ret_begin_ns = kept > 0 ? points[first].time_ns : 0;
    for (size_t i = kept; i-- > 0;) {
        points[first + i].time_ns -= points[first].time_ns;
        points[first + i].bytes -= points[first].bytes;
    }
    memmove(points, points + first, kept * sizeof *points);
    return kept;
}

void tl_steady_analyse(const struct tl_sample_log *senders, const struct tl_sample_log *receivers,
                       size_t streams, const char *congestion,
                       struct tl_rate_point workspace[TL_STEADY_POINTS_MAX],
                       struct tl_steady *ret_steady)
{
    tl_steady_analyse_part(senders, receivers, streams, congestion, 0, INT64_MAX, workspace,
                           ret_steady);
}

void tl_steady_analyse_part(const struct tl_sample_log *senders,
                            const struct tl_sample_log *receivers, size_t streams,
                            const char *congestion, int64_t part_from_ns, int64_t part_to_ns,
                            struct tl_rate_point workspace[TL_STEADY_POINTS_MAX],
                            struct tl_steady *ret_steady)
{
    struct tl_steady steady = {.known = false};
    if (streams > STREAMS_MAX)
        streams = STREAMS_MAX;
    size_t count = tl_steady_curve(receivers, streams, workspace, TL_STEADY_POINTS_MAX);
    int64_t begin_ns;
    count = cut_curve(workspace, count, part_from_ns, part_to_ns, &begin_ns);
    sum_senders(senders, streams, 0, INT64_MAX, &steady.sender_whole);
    tl_steady_rate(workspace, count, rtt_of(&steady.sender_whole), &steady.rate);
    steady.rate.start_ns += begin_ns;
    steady.rate.end_ns += begin_ns;
    steady.rate.silence_at_ns += begin_ns;
    int64_t from_ns = steady.rate.start_ns;
    int64_t to_ns = steady.rate.valid ? steady.rate.end_ns : INT64_MAX;
    sum_senders(senders, streams, from_ns, to_ns, &steady.sender);
    sum_receivers(receivers, streams, from_ns, to_ns, &steady);
    steady.cycles_inside =
        tl_steady_cycles_inside(&steady.sender, &steady.sender_whole, congestion);
    steady.known =
        tl_steady_known(workspace, count, &steady.sender, &steady.sender_whole, congestion);
    *ret_steady = steady;
}

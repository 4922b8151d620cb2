/* Connections that share an end, and with it perhaps a link; see aggregate.h. */
#include "tightlink/flow/aggregate.h"

#include <math.h>
#include <string.h>

#include "tightlink/base/stats.h"
#include "tightlink/base/units.h"

#define STEP_NS     5e8
#define STEP_RTTS   4
#define STEPS_MAX   512
#define COUNTS_FROM 0.02 /* of what all deliver: a smaller one changes nothing */

/* What is delivered in each step of a stretch of time. */
struct course {
    int64_t from_ns;
    double step_ns;
    unsigned count;
    double bytes[STEPS_MAX];
};

static double overlap(double from, double to, double begin, double end)
{
    return fmax(fmin(to, end) - fmax(from, begin), 0);
}

/* A bin lies in one step or across two and more: evenly, for want of anything better. */
static void add_bin(struct course *course, double begin_ns, double end_ns, double bytes)
{
    unsigned step = (unsigned)fmax(floor(begin_ns / course->step_ns), 0);
    for (; step < course->count && step * course->step_ns < end_ns; step++) {
        double step_ns = step * course->step_ns;
        course->bytes[step] += bytes / (end_ns - begin_ns) *
                               overlap(step_ns, step_ns + course->step_ns, begin_ns, end_ns);
    }
}

static void add_half(struct course *course, const struct tl_packet_half *half)
{
    double width_ns = (double)half->bin_ns,
           first_ns = (double)(half->bins_begin_ns - course->from_ns),
           last_ns = course->count * course->step_ns;
    for (uint32_t i = 0; i < half->bins_count; i++) {
        double begin_ns = first_ns + i * width_ns;
        if (begin_ns < last_ns)
            add_bin(course, begin_ns, begin_ns + width_ns, (double)half->bins[i].delivered_bytes);
    }
}

static double mean_of(const struct course *course)
{
    return tl_stats_mean(course->bytes, course->count);
}

static double variance_of(const struct course *course)
{
    double deviation = tl_stats_stddev(course->bytes, course->count);
    return deviation * deviation;
}

/* Those that share one end, summed up. */
struct members {
    struct course all;
    double variances, pair_bytes; /* bytes: of a step, as all means are */
    double mean_bytes[TL_PACKETS_AGGREGATE_MAX];
    unsigned count;
};

static bool has_room(const struct members *members)
{
    return members->count < TL_PACKETS_AGGREGATE_MAX;
}

static void add_member(struct members *members, const struct course *one, bool is_pair)
{
    if (!has_room(members))
        return;
    for (unsigned i = 0; i < members->all.count; i++)
        members->all.bytes[i] += one->bytes[i];
    double mean = mean_of(one);
    members->variances += variance_of(one);
    members->pair_bytes += is_pair ? mean : 0;
    members->mean_bytes[members->count++] = mean;
}

static bool is_same(const struct tl_flow_address *one, const struct tl_flow_address *other)
{
    return memcmp(one, other, sizeof *one) == 0;
}

/* By the end that they share with the flow, which is the first of either. */
struct company {
    struct members to_receiver, from_sender;
};

static void add_other(struct company *company, const struct course *empty,
                      const struct tl_packet_flow *flow, int sender,
                      const struct tl_packet_flow *other)
{
    for (int end = TL_CLIENT; end <= TL_SERVER; end++) {
        bool receives = is_same(&other->addresses[1 - end], &flow->addresses[1 - sender]),
             sends = is_same(&other->addresses[end], &flow->addresses[sender]);
        bool counts = (receives && has_room(&company->to_receiver)) ||
                      (sends && has_room(&company->from_sender));
        if (!counts || other->halves[end].bins_count == 0)
            continue;
        struct course one = *empty;
        add_half(&one, &other->halves[end]);
        if (receives)
            add_member(&company->to_receiver, &one, sends);
        if (sends)
            add_member(&company->from_sender, &one, receives);
    }
}

static void gather(const struct tl_packets *packets, const struct tl_packet_flow *flow, int sender,
                   const struct course *empty, struct company *company)
{
    struct course own = *empty;
    struct tl_packet_brief brief;
    add_half(&own, &flow->halves[sender]);
    add_member(&company->to_receiver, &own, true);
    add_member(&company->from_sender, &own, true);
    for (size_t i = 0; tl_packets_at(packets, i, &brief); i++)
        if (brief.flow && brief.flow != flow)
            add_other(company, empty, flow, sender, brief.flow);
}

/* Nothing is known. */
static struct tl_packet_aggregate no_aggregate(void)
{
    return (struct tl_packet_aggregate){0, (double)NAN, (double)NAN, (double)NAN, (double)NAN};
}

static struct tl_packet_aggregate tell(const struct members *members)
{
    double mean = mean_of(&members->all), variance = variance_of(&members->all);
    struct tl_packet_aggregate told = no_aggregate();
    for (unsigned i = 1; i < members->count; i++)
        told.others_count += members->mean_bytes[i] >= COUNTS_FROM * mean;
    if (told.others_count == 0)
        return told;
    told.together_bps = tl_bps_from_bytes_ns(mean, members->all.step_ns);
    told.pair_bps = tl_bps_from_bytes_ns(members->pair_bytes, members->all.step_ns);
    told.swing_ratio = sqrt(variance) / mean;
    told.compensation_ratio = members->variances > 0 ? variance / members->variances : (double)NAN;
    return told;
}

void tl_packet_aggregate(const struct tl_packets *packets, const struct tl_packet_flow *flow,
                         int sender, int64_t from_ns, int64_t to_ns,
                         struct tl_packet_aggregate *ret_aggregate)
{
    double span_ns = (double)(to_ns - from_ns), rtt_ns = flow->halves[sender].rtt_min_ns;
    double step_ns = fmax(STEP_NS, isfinite(rtt_ns) ? STEP_RTTS * rtt_ns : 0);
    step_ns = fmax(step_ns, span_ns / STEPS_MAX);
    struct course empty = {.from_ns = from_ns, .step_ns = step_ns};
    *ret_aggregate = no_aggregate();
    if (!(span_ns >= TL_PACKETS_AGGREGATE_STEPS * step_ns))
        return;
    empty.count = (unsigned)fmin(span_ns / step_ns, STEPS_MAX);
    struct company company = {{.all = empty}, {.all = empty}};
    gather(packets, flow, sender, &empty, &company);
    struct tl_packet_aggregate to_receiver = tell(&company.to_receiver),
                               from_sender = tell(&company.from_sender);
    bool by_sender =
        from_sender.others_count > 0 && !(from_sender.together_bps <= to_receiver.together_bps);
    *ret_aggregate = by_sender ? from_sender : to_receiver;
}

/* Connections that share an end, and with it perhaps a link; see aggregate.h. */
#include "tightlink/flow/aggregate.h"

#include <math.h>
#include <string.h>

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

static double sum_of(const struct course *course)
{
    double sum = 0;
    for (unsigned i = 0; i < course->count; i++)
        sum += course->bytes[i];
    return sum;
}

static double variance_of(const struct course *course)
{
    double mean = sum_of(course) / course->count, squares = 0;
    for (unsigned i = 0; i < course->count; i++)
        squares += (course->bytes[i] - mean) * (course->bytes[i] - mean);
    return squares / course->count;
}

/* The members, summed up. */
struct members {
    struct course all, one; /* one: the member that is being added */
    double variances, one_bytes[TL_PACKETS_AGGREGATE_MAX], pair_bytes;
    unsigned count;
};

static void add_member(struct members *members, const struct tl_packet_half *half, bool is_pair)
{
    memset(members->one.bytes, 0, sizeof members->one.bytes);
    add_half(&members->one, half);
    for (unsigned i = 0; i < members->all.count; i++)
        members->all.bytes[i] += members->one.bytes[i];
    members->variances += variance_of(&members->one);
    members->pair_bytes += is_pair ? sum_of(&members->one) : 0;
    members->one_bytes[members->count++] = sum_of(&members->one);
}

static bool is_same(const struct tl_flow_address *one, const struct tl_flow_address *other)
{
    return memcmp(one, other, sizeof *one) == 0;
}

/* Of one end's data: who sends it and who receives it. */
static const struct tl_flow_address *end_of(const struct tl_packet_flow *flow, int sender,
                                            bool receiver)
{
    return &flow->addresses[receiver ? 1 - sender : sender];
}

/* What the other sends shares the end that is asked for with the flow, and perhaps both. */
static void add_other(struct members *members, const struct tl_packet_flow *flow, int sender,
                      const struct tl_packet_flow *other, bool by_receiver)
{
    for (int end = TL_CLIENT; end <= TL_SERVER; end++) {
        bool receives = is_same(end_of(other, end, true), end_of(flow, sender, true)),
             sends = is_same(end_of(other, end, false), end_of(flow, sender, false));
        if ((by_receiver ? receives : sends) && other->halves[end].bins_count > 0 &&
            members->count < TL_PACKETS_AGGREGATE_MAX)
            add_member(members, &other->halves[end], receives && sends);
    }
}

/* The flow itself comes first. */
static void gather(const struct tl_packets *packets, const struct tl_packet_flow *flow, int sender,
                   bool by_receiver, struct members *members)
{
    struct tl_packet_brief brief;
    add_member(members, &flow->halves[sender], true);
    for (size_t i = 0; tl_packets_at(packets, i, &brief); i++)
        if (brief.flow && brief.flow != flow)
            add_other(members, flow, sender, brief.flow, by_receiver);
}

/* Nothing is known. */
static struct tl_packet_aggregate no_aggregate(void)
{
    return (struct tl_packet_aggregate){0, (double)NAN, (double)NAN, (double)NAN, (double)NAN};
}

static struct tl_packet_aggregate tell(const struct members *members)
{
    double sum = sum_of(&members->all), time_ns = members->all.count * members->all.step_ns,
           variance = variance_of(&members->all);
    struct tl_packet_aggregate told = no_aggregate();
    for (unsigned i = 1; i < members->count; i++)
        told.others_count += members->one_bytes[i] >= COUNTS_FROM * sum;
    if (told.others_count == 0)
        return told;
    told.together_bps = sum * 8e9 / time_ns;
    told.pair_bps = members->pair_bytes * 8e9 / time_ns;
    told.swing_ratio = sqrt(variance) * members->all.count / sum;
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
    for (int by_receiver = 1; by_receiver >= 0; by_receiver--) {
        struct members members = {.all = empty, .one = empty};
        gather(packets, flow, sender, by_receiver, &members);
        struct tl_packet_aggregate told = tell(&members);
        if (told.others_count > 0 && !(told.together_bps <= ret_aggregate->together_bps))
            *ret_aggregate = told;
    }
}

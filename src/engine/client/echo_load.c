/* Round trips and one-way growth of UDP probes beside a load. */
#include "tightlink/engine/echo_load.h"
#include "tightlink/base/stats.h"

#include <math.h>
#include <stdbool.h>

/* One-way delays further apart than that within a train are a stepped clock. */
#define STEPPED_NS 30e9

/* The values of the answered probes of a window, sorted. */
struct values {
    size_t count;
    double ns[TL_ECHO_MAX];
};

enum which { ROUND_TRIP, FORWARD, BACKWARD };

static double value_of(const struct tl_echo_probe *probe, enum which which)
{
    double forward_ns = (double)(probe->far_ns - probe->near_ns);
    switch (which) {
    case ROUND_TRIP:
        return (double)probe->rtt_ns;
    case FORWARD:
        return forward_ns;
    case BACKWARD:
        return (double)probe->rtt_ns - forward_ns;
    }
    return NAN;
}

static bool is_inside(const struct tl_echo_result *echo, const struct tl_echo_probe *probe,
                      int64_t from_ns, int64_t to_ns)
{
    int64_t sent_ns = echo->start_ns + probe->sent_ns;
    return sent_ns >= from_ns && sent_ns <= to_ns;
}

static void collect(const struct tl_echo_result *echo, enum which which, int64_t from_ns,
                    int64_t to_ns, struct values *values)
{
    values->count = 0;
    for (unsigned i = 0; i < echo->sent_count && i < TL_ECHO_MAX; i++) {
        const struct tl_echo_probe *probe = &echo->probes[i];
        if (probe->rtt_ns >= 0 && is_inside(echo, probe, from_ns, to_ns))
            values->ns[values->count++] = value_of(probe, which);
    }
    tl_stats_sort(values->ns, values->count);
}

static double median(const struct values *values)
{
    return (values->ns[(values->count - 1) / 2] + values->ns[values->count / 2]) / 2;
}

static double trimmed_mean(const struct values *values)
{
    size_t kept = values->count - values->count / 20;
    double sum = 0;
    for (size_t i = 0; i < kept; i++)
        sum += values->ns[i];
    return sum / (double)kept;
}

struct growth {
    double median_ns, p75_ns;
};

static struct growth growth(const struct tl_echo_result *echo, enum which which, int64_t from_ns,
                            int64_t to_ns)
{
    struct values values;
    collect(echo, which, INT64_MIN, INT64_MAX, &values);
    double least = values.ns[0];
    if (values.ns[values.count - 1] - least > STEPPED_NS)
        return (struct growth){NAN, NAN};
    collect(echo, which, from_ns, to_ns, &values);
    return (struct growth){median(&values) - least, values.ns[3 * values.count / 4] - least};
}

void tl_echo_load(const struct tl_echo_result *echo, int64_t from_ns, int64_t to_ns,
                  struct tl_echo_load *ret_load)
{
    struct values values;
    *ret_load = (struct tl_echo_load){NAN, NAN, NAN, NAN, NAN, NAN};
    collect(echo, ROUND_TRIP, from_ns, to_ns, &values);
    if (values.count < TL_ECHO_LOAD_ANSWERS_MIN)
        return;
    ret_load->rtt_median_ns = median(&values);
    ret_load->rtt_mean_ns = trimmed_mean(&values);
    if (echo->one_way_unknown)
        return;
    struct growth forward = growth(echo, FORWARD, from_ns, to_ns);
    struct growth backward = growth(echo, BACKWARD, from_ns, to_ns);
    ret_load->forward_growth_ns = forward.median_ns;
    ret_load->forward_p75_ns = forward.p75_ns;
    ret_load->backward_growth_ns = backward.median_ns;
    ret_load->backward_p75_ns = backward.p75_ns;
}

double tl_rpm(double rtt_ns)
{
    return rtt_ns > 0 ? 60e9 / rtt_ns : NAN;
}

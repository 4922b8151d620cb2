#include "rested.h"

#include <math.h>
#include <stdlib.h>

#include "flow_facts.h"
#include "outcome.h"
#include "pause.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "tightlink/engine/series.h"
#include "transfer.h"

/* Of the stream that follows: slow start on a long path takes some twenty round trips, and what it
 * did not take of the bucket is caught up with behind it. */
#define STREAM_NS   (2500 * TL_NS_PER_MS)
#define STREAM_RTTS 50

#define FAST_SHARE  3 /* a third of that stream may be fast */
#define WHOLE_SHARE 0.9
#define FALL_RATIO  1.3 /* as of tl_series_rate_change() */
/* Several that got a rate of their own have told already that it is no bucket's
 * (rules/path/shaper-boost.json). */
#define SEVERAL_LOW  0.75
#define SEVERAL_HIGH 1.2
#define FULL_RATIO   0.7 /* of the bucket: a full one gathers nothing more */
#define REST_MIN_NS  (200 * TL_NS_PER_MS)
#define REST_MAX_NS  (2000 * TL_NS_PER_MS)

static double number(const struct tl_facts *facts, struct tl_fact_key key)
{
    return tl_facts_number(facts, key, (double)NAN);
}

int64_t tl_rested_plan(const struct tl_facts *facts, enum tl_direction direction,
                       int64_t duration_ns)
{
    double before_bps = number(facts, TL_FLOW(direction, rate_change_before_bps));
    double after_bps = number(facts, TL_FLOW(direction, rate_change_after_bps));
    double bucket_bytes = number(facts, TL_FLOW(direction, rate_change_bytes));
    double several_ratio = number(facts, TL_FLOW(direction, streams_goodput_bps)) / after_bps;
    if (!(before_bps >= FALL_RATIO * after_bps && after_bps > 0 && bucket_bytes > 0) ||
        several_ratio < SEVERAL_LOW || several_ratio > SEVERAL_HIGH)
        return 0;
    double fast_ns = (double)duration_ns / FAST_SHARE;
    double rest_ns = fmin(fast_ns * (before_bps - after_bps) / after_bps,
                          FULL_RATIO * bucket_bytes * 8e9 / after_bps);
    return (int64_t)fmin(fmax(rest_ns, (double)REST_MIN_NS), (double)REST_MAX_NS);
}

/* NAN where the sender told too little. */
static double ahead_of(const struct tl_tcp_result *result, double rate_bps)
{
    struct tl_series *series = malloc(sizeof *series); /* too large for a thread's stack */
    double ahead_bytes = NAN;
    if (series) {
        tl_series_read(&result->sender.logs[0], series);
        ahead_bytes = tl_series_ahead(series, rate_bps);
    }
    free(series);
    return ahead_bytes;
}

/* One that a budget ended may not have spent what the bucket held. */
static bool is_whole(const struct tl_tcp_result *result, const struct tl_tcp_spec *spec)
{
    return (double)result->elapsed_ns >= WHOLE_SHARE * (double)spec->duration_ns;
}

static void set_facts(const struct tl_probe *probe, enum tl_direction direction,
                      const struct tl_tcp_result *result, bool counts, int64_t rested_ns)
{
    static const char reason[] = "the stream behind a rest was cut short";
    double after_bps = number(probe->facts, TL_FLOW(direction, rate_change_after_bps));
    tl_flow_set(probe->facts, TL_FLOW(direction, rested_bytes),
                counts ? tl_bytes_from_bps_ns(after_bps, (double)rested_ns) : (double)NAN, reason);
    tl_flow_set(probe->facts, TL_FLOW(direction, rested_ahead_bytes),
                counts ? ahead_of(result, after_bps) : (double)NAN, reason);
}

enum tl_status tl_rested_measure(const struct tl_probe *probe, enum tl_direction direction,
                                 const struct tl_tcp_spec *like, int64_t bytes,
                                 struct tl_probe_outcome *outcome, struct tl_error *reterr)
{
    struct tl_probe_outcome turn;
    struct tl_tcp_result *result;
    struct tl_tcp_spec spec = tl_transfer_one_more(probe, like, STREAM_NS, STREAM_RTTS, bytes);
    int64_t rest_ns = tl_rested_plan(probe->facts, direction, spec.duration_ns);
    int64_t began_ns = tl_now_ns();
    if (rest_ns == 0)
        return TL_OK;
    tl_probe_pause(probe, rest_ns);
    tl_outcome_begin(&turn, "streams");
    enum tl_status status = tl_transfer_run(probe, &spec, &turn, &result, reterr);
    if (result)
        set_facts(probe, direction, result,
                  status == TL_OK && tl_transfer_counts(&turn) && is_whole(result, &spec),
                  tl_now_ns() - began_ns - result->elapsed_ns);
    turn.record.duration_ns += rest_ns;
    tl_outcome_add(outcome, &turn);
    tl_transfer_free(result);
    return status;
}

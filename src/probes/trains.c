/* Trains of datagrams behind a full path; trains.h tells the idea. */
#include "trains.h"

#include <math.h>

#include "datagram.h"
#include "flow_facts.h"
#include "tightlink/base/stats.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "tightlink/engine/far.h"

#define EXCESS_RATIO 1.1
#define SPAN_NS      (800 * TL_NS_PER_MS)
#define LENGTH_MIN   4
/* Long enough from some 11 Mb/s on. Longer ones are for fast links alone: what cards and kernels
 * gather there, for some 100 us, makes too few bundles of a train that lasts less than this. */
#define LENGTH_MAX 32
#define LASTS_NS   1e6
/* Many trains before long ones: others' packets and a nearly full queue take one or two out of
 * many a long train, and half of the trains only empty the bucket. */
#define LENGTH_GOOD 8
#define COUNT_MAX   24
#define COUNT_MIN   12
/* A shorter train is not told from what cards and kernels gather before they hand it on. */
#define DISPERSION_MIN_NS 300e3
/* Next to all of the time, and next to none of it. */
#define ALL_HELD_RATIO      0.9
#define NONE_STANDING_RATIO 0.2

bool tl_trains_plan(double carried_bps, unsigned datagram_bytes, struct tl_udp_spec *ret_spec)
{
    if (!(carried_bps > 0)) /* fmin() below would take an unknown rate for a high one */
        return false;
    double rate_bps = EXCESS_RATIO * carried_bps;
    double datagrams = tl_bytes_from_bps_ns(rate_bps, (double)SPAN_NS) / datagram_bytes;
    double count = fmax(COUNT_MIN, fmin(floor(datagrams / LENGTH_GOOD), COUNT_MAX));
    double lasting = floor(tl_bytes_from_bps_ns(rate_bps, LASTS_NS) / datagram_bytes);
    double most = fmax(LENGTH_MAX, fmin(lasting, TL_UDP_TRAIN_MAX));
    double length = fmin(floor(datagrams / count), most);
    if (!(length >= LENGTH_MIN))
        return false;
    ret_spec->datagram_bytes = datagram_bytes;
    ret_spec->train_length = (unsigned)length;
    ret_spec->train_gap_ns =
        (int64_t)fmax(length * datagram_bytes * 8e9 / rate_bps, TL_UDP_TRAIN_GAP_MIN_US * 1e3);
    ret_spec->train_count = (unsigned)count;
    int64_t ns = (int64_t)(ret_spec->train_count + 1) * ret_spec->train_gap_ns;
    ret_spec->duration_ns = ns > 100 * TL_NS_PER_MS ? ns : 100 * TL_NS_PER_MS;
    return true;
}

/* The middle gap of a train on a link that serves evenly is about its mean gap; of datagrams that
 * come in bundles it is near 0. Half lies between the two. One that came in many bundles was
 * gathered on its way, by a card or a kernel, and its length is wrong by one of them at most. */
#define EVEN_RATIO   0.5
#define BUNDLES_MANY 8
/* A train that lasts four times the scatter has its rate changed by it by a quarter at most. */
#define SCATTER_RATIO 0.25
/* Or so many lasted alike: scatter would show in them. The range of 32 delays drawn at random has
 * quartiles a quarter of it apart. */
#define ALIKE_RATIO 0.1
#define ALIKE_COUNT 8

/* Long enough to be told from two that came by chance, and with a rate to tell. */
static bool is_good(const struct tl_udp_train *train)
{
    return train->received_count >= LENGTH_MIN && tl_udp_train_tells(train);
}

static bool is_even(const struct tl_udp_train *train)
{
    return train->bundle_count >= BUNDLES_MANY ||
           tl_udp_train_even_ns(train) >= EVEN_RATIO * (double)train->dispersion_ns;
}

/* Sorts what it is given. */
static bool last_long_enough(double *lasts_ns, size_t count, double scatter_ns)
{
    double median_ns = tl_stats_median(lasts_ns, count);
    double apart_ns =
        tl_stats_quantile(lasts_ns, count, 0.75) - tl_stats_quantile(lasts_ns, count, 0.25);
    return scatter_ns <= SCATTER_RATIO * median_ns ||
           (count >= ALIKE_COUNT && apart_ns <= ALIKE_RATIO * median_ns);
}

bool tl_trains_are_even(const struct tl_udp_train *trains, unsigned count, double scatter_ns,
                        const char **ret_reason)
{
    double lasts_ns[TL_UDP_TRAINS_MAX];
    size_t good = 0, even_count = 0;
    for (unsigned i = 0; i < count && good < TL_UDP_TRAINS_MAX; i++) {
        const struct tl_udp_train *train = &trains[i];
        if (!is_good(train))
            continue;
        lasts_ns[good++] = (double)train->dispersion_ns;
        even_count += is_even(train);
    }
    if (good == 0)
        return true;
    bool even = 2 * even_count >= good;
    bool long_enough = last_long_enough(lasts_ns, good, scatter_ns);
    if (!even)
        *ret_reason =
            "datagrams arrive in bundles: a train shows the rate of one grant or aggregate";
    else if (!long_enough)
        *ret_reason = "the delay scatters by more than a train can tell";
    return even && long_enough;
}

double tl_trains_held_ns(const struct tl_udp_train *trains, unsigned count)
{
    double lasts_ns[TL_UDP_TRAINS_MAX];
    size_t good = 0, uneven = 0;
    for (unsigned i = 0; i < count && good < TL_UDP_TRAINS_MAX; i++) {
        const struct tl_udp_train *train = &trains[i];
        if (!is_good(train))
            continue;
        good++;
        if (!is_even(train))
            lasts_ns[uneven++] = (double)train->dispersion_ns;
    }
    if (good == 0)
        return (double)NAN;
    return 2 * uneven >= good ? tl_stats_median(lasts_ns, uneven) : 0;
}

double tl_trains_scatter(const struct tl_facts *facts, enum tl_direction direction)
{
    double memory = tl_facts_number(facts, TL_PATH(rtt_idle_memory_ratio), 0);
    return tl_facts_number(facts, TL_FLOW(direction, data_scatter_ns), 0) * (1 - memory);
}

double tl_trains_rate(const struct tl_udp_result *result, unsigned datagram_bytes,
                      double scatter_ns, const char **ret_reason)
{
    unsigned half = result->train_count / 2;
    bool sender_limited = false;
    if (!tl_trains_are_even(result->trains + half, result->train_count - half, scatter_ns,
                            ret_reason))
        return (double)NAN;
    double bps = tl_udp_train_rate(result->trains + half, result->train_count - half,
                                   datagram_bytes, &sender_limited);
    *ret_reason = "too few trains arrived whole or evenly spaced";
    if (sender_limited) {
        *ret_reason = "trains left no faster than they arrived";
        return (double)NAN;
    }
    if (bps > (result->spec.train_length - 1) * datagram_bytes * 8e9 / DISPERSION_MIN_NS) {
        *ret_reason = "trains passed too fast to be timed";
        return (double)NAN;
    }
    return bps;
}

bool tl_trains_are_wanted(const struct tl_facts *facts, enum tl_direction direction)
{
#define NUMBER(name) tl_facts_number(facts, TL_FLOW(direction, name), (double)NAN)
    double one = NUMBER(ledger_rwnd_ratio) + NUMBER(ledger_sndbuf_ratio);
    double several = NUMBER(streams_rwnd_ratio) + NUMBER(streams_sndbuf_ratio);
    bool hosts_held_all = one >= ALL_HELD_RATIO && several >= ALL_HELD_RATIO &&
                          NUMBER(streams_queue_standing_ratio) <= NONE_STANDING_RATIO;
#undef NUMBER
    return !hosts_held_all;
}

/* NAN: unknown for that reason. */
static void set_facts(const struct tl_probe *probe, enum tl_direction direction, bool again,
                      double bps, double held_ns, const char *reason)
{
    if (again) {
        tl_flow_set(probe->facts, TL_FLOW(direction, trains_again_bps), bps, reason);
        return;
    }
    tl_flow_set(probe->facts, TL_FLOW(direction, trains_bps), bps, reason);
    tl_flow_set(probe->facts, TL_FLOW(direction, grant_ns), held_ns, reason);
}

static void count(const struct tl_udp_result *result, enum tl_direction direction,
                  struct tl_stage_record *record)
{
    if (direction == TL_DOWNLOAD)
        record->received_bytes += (long long)result->receiver.came_bytes;
    else
        record->sent_bytes += (long long)result->sender.sent_bytes;
}

enum tl_status tl_trains_measure(const struct tl_probe *probe, enum tl_direction direction,
                                 bool again, double carried_bps, int64_t bytes,
                                 struct tl_probe_outcome *outcome, struct tl_error *reterr)
{
    struct tl_udp_spec spec = {.direction = tl_direction_to_wire(direction)};
    struct tl_udp_result result;
    struct tl_error error = {0};
    int64_t began_ns = tl_now_ns();
    if (!tl_trains_are_wanted(probe->facts, direction)) {
        set_facts(probe, direction, again, (double)NAN, (double)NAN,
                  "buffers held each connection all the time, and none of them the link");
        return TL_OK;
    }
    if (!tl_trains_plan(carried_bps, tl_datagram_bytes(probe->facts, direction), &spec) ||
        bytes <= 0 || tl_udp_worst_bytes(&spec) > (uint64_t)bytes) {
        set_facts(probe, direction, again, (double)NAN, (double)NAN,
                  "the rate or what is left of the budget is too small for trains");
        return TL_OK;
    }
    enum tl_status status = tl_far_udp_test(probe->far, &spec, NULL, NULL, &result, &error);
    bool told = status == TL_UNSUPPORTED || status == TL_RANGE;
    const char *reason =
        told && error.text[0] ? error.text : "the path or the far end takes no datagrams";
    double bps = (double)NAN, held_ns = (double)NAN;
    if (status == TL_OK && result.valid) {
        bps = tl_trains_rate(&result, spec.datagram_bytes,
                             tl_trains_scatter(probe->facts, direction), &reason);
        held_ns = tl_trains_held_ns(result.trains, result.train_count);
    }
    set_facts(probe, direction, again, bps, held_ns, reason);
    count(&result, direction, &outcome->record);
    outcome->record.duration_ns += tl_now_ns() - began_ns;
    tl_udp_result_finish(&result);
    if (status == TL_UNSUPPORTED || status == TL_TIMEOUT || status == TL_INVALID)
        return TL_OK;
    if (status != TL_OK && reterr)
        *reterr = error;
    return status;
}

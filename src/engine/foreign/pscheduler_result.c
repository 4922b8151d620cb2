/* What each of pScheduler's tests measured. Members that a tool leaves out stay NAN; those that are
 * there have their type and a value that a network can have. */
#include "pscheduler_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pscheduler_text.h"
#include "tightlink/base/utf8.h"

/* Beyond any interface there is, any path, any socket, any packet. */
#define RATE_MAX_BPS 1e13
#define RTT_MAX_NS   60e9
#define CWND_MAX     1e12
#define COUNT_MAX    1e12
#define MTU_MAX      65535
/* What is still in buffers at the end is counted as sent: more than that cannot have arrived. The
 * two ends' clocks of a test begin and end some milliseconds apart. */
#define RECEIVED_PART_MAX 1.1

/* Where the member is there and is not null: a number from 0 to max. */
static enum tl_status take(const struct tl_json_at *object, const char *key, double max,
                           double *value, struct tl_error *reterr)
{
    struct tl_json_at at;
    double number;
    if (!tl_json_find(object, key, &at) || tl_json_type(&at) == TL_JSON_NULL)
        return TL_OK;
    enum tl_status status = tl_json_number(&at, &number, reterr);
    if (status != TL_OK)
        return status;
    if (!(number >= 0 && number <= max))
        return tl_json_error(&at, reterr, TL_RANGE, "%g is not between 0 and %g", number, max);
    *value = number;
    return TL_OK;
}

/* --- Durations -------------------------------------------------------------------------------- */

/* One number with its letter: "1M" of "1M2.5S"; NAN where there is none. */
static double take_part(const char **text, char *ret_letter)
{
    char digits[24];
    size_t len = strspn(*text, "0123456789.");
    if (len == 0 || len >= sizeof digits)
        return NAN;
    memcpy(digits, *text, len);
    digits[len] = '\0';
    char *end;
    double value = strtod(digits, &end); /* digits and dots alone: no locale of ours has others */
    *ret_letter = (*text)[len];
    *text += len + (*ret_letter ? 1 : 0);
    return *end ? NAN : value;
}

double psched_duration_ns(const char *text)
{
    static const struct {
        char letter;
        bool of_day;
        double s;
    } parts[] = {{'D', false, 86400}, {'H', true, 3600}, {'M', true, 60}, {'S', true, 1}};
    double ns = 0;
    bool of_day = false, any = false;
    if (*text++ != 'P')
        return NAN;
    while (*text) {
        if (*text == 'T' && !of_day) {
            of_day = true;
            text++;
            continue;
        }
        char letter;
        double value = take_part(&text, &letter);
        if (isnan(value))
            return NAN; /* nothing was taken, and no letter said */
        size_t i = 0;
        while (i < 4 && (parts[i].letter != letter || parts[i].of_day != of_day))
            i++;
        if (i == 4)
            return NAN;
        ns += value * parts[i].s * 1e9;
        any = true;
    }
    return any ? ns : NAN;
}

/* A duration, where it is there. */
static enum tl_status take_duration(const struct tl_json_at *object, const char *key, double *value,
                                    struct tl_error *reterr)
{
    struct tl_json_at at;
    const char *text;
    if (!tl_json_find(object, key, &at) || tl_json_type(&at) == TL_JSON_NULL)
        return TL_OK;
    enum tl_status status = tl_json_string(&at, &text, reterr);
    if (status != TL_OK)
        return status;
    double ns = psched_duration_ns(text);
    if (!(ns >= 0 && ns <= RTT_MAX_NS))
        return tl_json_error(&at, reterr, TL_RANGE, "\"%.40s\" is no time of a round trip", text);
    *value = ns;
    return TL_OK;
}

static enum tl_status take_text(const struct tl_json_at *object, const char *key, char *ret_text,
                                size_t size, struct tl_error *reterr)
{
    struct tl_json_at at;
    const char *text;
    if (!tl_json_find(object, key, &at) || tl_json_type(&at) == TL_JSON_NULL)
        return TL_OK;
    enum tl_status status = tl_json_string(&at, &text, reterr);
    if (status == TL_OK)
        tl_utf8_clean(text, strlen(text), ret_text, size);
    return status;
}

/* --- Throughput ------------------------------------------------------------------------------- */

/* The mean of the streams' round trips (us) and the sum of their windows. */
static enum tl_status read_streams(const struct tl_json_at *object, double *rtt_ns, double *cwnd,
                                   struct tl_error *reterr)
{
    struct tl_json_at streams;
    double rtts = 0, windows = 0;
    int rtt_count = 0, window_count = 0;
    if (!tl_json_find(object, "streams", &streams) || tl_json_type(&streams) == TL_JSON_NULL)
        return TL_OK;
    enum tl_status status = tl_json_expect(&streams, TL_JSON_ARRAY, reterr);
    size_t count = status == TL_OK ? tl_json_count(&streams) : 0;
    for (size_t i = 0; i < count && status == TL_OK; i++) {
        struct tl_json_at stream = tl_json_item(&streams, i);
        double rtt_us = NAN, window = NAN;
        status = tl_json_expect(&stream, TL_JSON_OBJECT, reterr);
        if (status == TL_OK)
            status = take(&stream, "rtt", RTT_MAX_NS / 1e3, &rtt_us, reterr);
        if (status == TL_OK)
            status = take(&stream, "tcp-window-size", CWND_MAX, &window, reterr);
        if (rtt_us > 0) {
            rtts += rtt_us * 1e3;
            rtt_count++;
        }
        if (window > 0) {
            windows += window;
            window_count++;
        }
    }
    *rtt_ns = rtt_count ? rtts / rtt_count : NAN;
    *cwnd = window_count ? windows : NAN;
    return status;
}

static enum tl_status read_interval(const struct tl_json_at *at,
                                    struct tl_psched_interval *interval, struct tl_error *reterr)
{
    struct tl_json_at summary;
    double begin_s = NAN, end_s = NAN;
    *interval = (struct tl_psched_interval){.rate_bps = NAN, .retrans_count = NAN};
    enum tl_status status = tl_json_get_object(at, "summary", &summary, reterr);
    if (status == TL_OK)
        status = take(&summary, "start", 1e5, &begin_s, reterr);
    if (status == TL_OK)
        status = take(&summary, "end", 1e5, &end_s, reterr);
    if (status == TL_OK)
        status = take(&summary, "throughput-bits", RATE_MAX_BPS, &interval->rate_bps, reterr);
    if (status == TL_OK)
        status = take(&summary, "retransmits", COUNT_MAX, &interval->retrans_count, reterr);
    if (status == TL_OK)
        status = read_streams(at, &interval->rtt_ns, &interval->cwnd_bytes, reterr);
    interval->begin_ns = begin_s * 1e9;
    interval->end_ns = end_s * 1e9;
    return status;
}

static enum tl_status read_intervals(const struct tl_json_at *result,
                                     struct tl_psched_throughput *throughput,
                                     struct tl_error *reterr)
{
    struct tl_json_at intervals;
    if (!tl_json_find(result, "intervals", &intervals) || tl_json_type(&intervals) == TL_JSON_NULL)
        return TL_OK;
    enum tl_status status = tl_json_expect(&intervals, TL_JSON_ARRAY, reterr);
    size_t count = status == TL_OK ? tl_json_count(&intervals) : 0;
    for (size_t i = 0; i < count && i < TL_PSCHED_INTERVALS_MAX && status == TL_OK; i++) {
        struct tl_json_at at = tl_json_item(&intervals, i);
        struct tl_psched_interval interval = {0};
        status = tl_json_expect(&at, TL_JSON_OBJECT, reterr);
        if (status == TL_OK)
            status = read_interval(&at, &interval, reterr);
        /* Without its rate or time it tells nothing; the last one is often a few milliseconds. */
        if (status == TL_OK && isfinite(interval.rate_bps) &&
            interval.end_ns - interval.begin_ns >= 0.5e9)
            throughput->intervals[throughput->interval_count++] = interval;
    }
    return status;
}

static enum tl_status read_throughput(const struct tl_json_at *result,
                                      struct tl_psched_throughput *throughput,
                                      struct tl_error *reterr)
{
    struct tl_json_at outer, summary;
    double window;
    throughput->sent_bps = throughput->received_bps = throughput->retrans_count = NAN;
    throughput->rtt_ns = NAN;
    enum tl_status status = tl_json_get_object(result, "summary", &outer, reterr);
    if (status == TL_OK)
        status = tl_json_get_object(&outer, "summary", &summary, reterr);
    if (status == TL_OK)
        status = take(&summary, "throughput-bits", RATE_MAX_BPS, &throughput->sent_bps, reterr);
    if (status == TL_OK)
        status = take(&summary, "receiver-throughput-bits", RATE_MAX_BPS, &throughput->received_bps,
                      reterr);
    if (status == TL_OK)
        status = take(&summary, "retransmits", COUNT_MAX, &throughput->retrans_count, reterr);
    if (status == TL_OK)
        status = read_streams(&outer, &throughput->rtt_ns, &window, reterr);
    if (status == TL_OK)
        status = read_intervals(result, throughput, reterr);
    if (status == TL_OK && isnan(throughput->received_bps) && isnan(throughput->sent_bps))
        return tl_json_error(&summary, reterr, TL_UNKNOWN, "no rate is told");
    if (status == TL_OK && throughput->received_bps > RECEIVED_PART_MAX * throughput->sent_bps)
        return tl_json_error(&summary, reterr, TL_RANGE,
                             "%g bit/s are said to have arrived of %g that were sent",
                             throughput->received_bps, throughput->sent_bps);
    return status;
}

/* --- The others ------------------------------------------------------------------------------- */

static enum tl_status read_trips(const struct tl_json_at *trips, struct tl_psched_rtt *rtt,
                                 struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    size_t count = tl_json_count(trips);
    for (size_t i = 0; i < count && rtt->trip_count < TL_PSCHED_TRIPS_MAX && status == TL_OK; i++) {
        struct tl_json_at trip = tl_json_item(trips, i);
        double ns = NAN;
        status = tl_json_expect(&trip, TL_JSON_OBJECT, reterr);
        if (status == TL_OK)
            status = take_duration(&trip, "rtt", &ns, reterr);
        if (ns > 0)
            rtt->trips_ns[rtt->trip_count++] = ns;
    }
    return status;
}

static enum tl_status read_rtt(const struct tl_json_at *result, struct tl_psched_rtt *rtt,
                               struct tl_error *reterr)
{
    struct tl_json_at trips;
    rtt->sent_count = rtt->received_count = NAN;
    enum tl_status status = tl_json_get_array(result, "roundtrips", &trips, reterr);
    if (status == TL_OK)
        status = read_trips(&trips, rtt, reterr);
    if (status == TL_OK)
        status = take(result, "sent", 1e6, &rtt->sent_count, reterr);
    if (status == TL_OK)
        status = take(result, "received", 1e6, &rtt->received_count, reterr);
    if (status == TL_OK && rtt->received_count > rtt->sent_count)
        return tl_json_error(result, reterr, TL_RANGE, "%.0f answers to %.0f probes",
                             rtt->received_count, rtt->sent_count);
    return status;
}

static enum tl_status read_hop(const struct tl_json_at *at, struct tl_psched_hop *hop,
                               struct tl_error *reterr)
{
    *hop = (struct tl_psched_hop){.rtt_ns = NAN, .mtu_bytes = NAN};
    enum tl_status status = tl_json_expect(at, TL_JSON_OBJECT, reterr);
    if (status == TL_OK)
        status = take_text(at, "ip", hop->address, sizeof hop->address, reterr);
    if (status == TL_OK)
        status = take_text(at, "hostname", hop->name, sizeof hop->name, reterr);
    if (status == TL_OK)
        status = take_text(at, "error", hop->error, sizeof hop->error, reterr);
    if (status == TL_OK)
        status = take_duration(at, "rtt", &hop->rtt_ns, reterr);
    return status == TL_OK ? take(at, "mtu", MTU_MAX, &hop->mtu_bytes, reterr) : status;
}

/* The first of the paths: the others are the same trace again. */
static enum tl_status read_trace(const struct tl_json_at *result, struct tl_psched_trace *trace,
                                 struct tl_error *reterr)
{
    struct tl_json_at paths, hops;
    enum tl_status status = tl_json_get_array(result, "paths", &paths, reterr);
    if (status == TL_OK && tl_json_count(&paths) == 0)
        return tl_json_error(&paths, reterr, TL_UNKNOWN, "no path is told");
    if (status != TL_OK)
        return status;
    hops = tl_json_item(&paths, 0);
    status = tl_json_expect(&hops, TL_JSON_ARRAY, reterr);
    size_t count = status == TL_OK ? tl_json_count(&hops) : 0;
    for (size_t i = 0; i < count && i < TL_PSCHED_HOPS_MAX && status == TL_OK; i++) {
        struct tl_json_at at = tl_json_item(&hops, i);
        status = read_hop(&at, &trace->hops[trace->hop_count++], reterr);
    }
    return status;
}

static enum tl_status read_mtu(const struct tl_json_at *result, double *ret_mtu,
                               struct tl_error *reterr)
{
    int64_t mtu;
    /* RFC 791: 68 bytes pass every link. */
    enum tl_status status = tl_json_get_integer(result, "mtu", 68, MTU_MAX, &mtu, reterr);
    if (status == TL_OK)
        *ret_mtu = (double)mtu;
    return status;
}

enum tl_status psched_read_result(const struct tl_json_at *result, enum tl_psched_test test,
                                  struct tl_psched_result *ret_result, struct tl_error *reterr)
{
    struct tl_psched_result read = {.test = test};
    enum tl_status status = TL_OK;
    switch (test) {
    case TL_PSCHED_THROUGHPUT:
        status = read_throughput(result, &read.throughput, reterr);
        break;
    case TL_PSCHED_RTT:
        status = read_rtt(result, &read.rtt, reterr);
        break;
    case TL_PSCHED_TRACE:
        status = read_trace(result, &read.trace, reterr);
        break;
    default:
        status = read_mtu(result, &read.mtu_bytes, reterr);
    }
    if (status == TL_OK)
        *ret_result = read;
    return status;
}

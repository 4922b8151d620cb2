/* Parameters and results of iperf3, written and read: iperf3_json.h. */
#include "iperf3_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/json.h"
#include "tightlink/base/json_write.h"
#include "tightlink/base/time.h"
#include "tightlink/base/utf8.h"

#define BYTES_MAX    INT64_C(1000000000000000) /* 1 PB: no test of a minute moves it */
#define JITTER_MAX_S 60.0
/* A server of before 3.16 looks at its clock so often for what it sends: datagrams that are due in
 * between leave together. Below that it would look all the time. */
#define PACING_TIMER_MAX_US 1000
#define PACING_TIMER_MIN_US 100

/* The id of a stream by its index: 1, 3, 4, 5 … */
static int stream_id(unsigned index)
{
    return index == 0 ? 1 : (int)index + 2;
}

static int64_t seconds(int64_t ns)
{
    return (ns + TL_NS_PER_S - 1) / TL_NS_PER_S;
}

void iperf3_write_parameters(const struct tl_tcp_spec *spec, const char *token,
                             struct tl_buf *ret_text)
{
    struct tl_json_writer w;
    bool both = spec->direction == TL_WIRE_BOTH;
    bool sends = both || spec->direction == TL_WIRE_DOWNLOAD;
    tl_json_writer_init(&w, ret_text, true);
    tl_json_begin_object(&w, NULL);
    tl_json_add_bool(&w, "tcp", true);
    tl_json_add_integer(&w, "omit", 0);
    tl_json_add_integer(&w, "time", seconds(spec->duration_ns));
    tl_json_add_integer(&w, "num", 0);
    tl_json_add_integer(&w, "blockcount", 0);
    tl_json_add_integer(&w, "parallel", spec->streams);
    tl_json_add_integer(&w, "len", IPERF3_BLOCK_BYTES);
    if (sends) {
        tl_json_add_bool(&w, both ? "bidirectional" : "reverse", true);
        if (spec->pacing_bps > 0)
            tl_json_add_integer(&w, "fqrate", (int64_t)(spec->pacing_bps / spec->streams));
        if (spec->congestion[0])
            tl_json_add_string(&w, "congestion", spec->congestion);
    }
    if (token[0])
        tl_json_add_string(&w, "authtoken", token);
    tl_json_end(&w);
}

void iperf3_write_udp_parameters(const struct tl_udp_spec *spec, const char *token,
                                 struct tl_buf *ret_text)
{
    struct tl_json_writer w;
    unsigned burst = spec->burst_count > 1 ? spec->burst_count : 1;
    double gap_us = burst * spec->datagram_bytes * 8e6 / (double)spec->rate_bps;
    double timer_us = fmin(fmax(gap_us / 2, PACING_TIMER_MIN_US), PACING_TIMER_MAX_US);
    tl_json_writer_init(&w, ret_text, true);
    tl_json_begin_object(&w, NULL);
    tl_json_add_bool(&w, "udp", true);
    tl_json_add_integer(&w, "omit", 0);
    tl_json_add_integer(&w, "time", seconds(spec->duration_ns));
    tl_json_add_integer(&w, "num", 0);
    tl_json_add_integer(&w, "blockcount", 0);
    tl_json_add_integer(&w, "parallel", 1);
    tl_json_add_integer(&w, "len", spec->datagram_bytes);
    tl_json_add_integer(&w, "bandwidth", (int64_t)spec->rate_bps);
    tl_json_add_integer(&w, "pacing_timer", (int64_t)timer_us);
    tl_json_add_integer(&w, "udp_counters_64bit", 1);
    if (spec->direction == TL_WIRE_DOWNLOAD)
        tl_json_add_bool(&w, "reverse", true);
    if (spec->burst_count > 1)
        tl_json_add_integer(&w, "burst", spec->burst_count);
    if (spec->dscp > 0)
        tl_json_add_integer(&w, "TOS", spec->dscp << 2);
    if (token[0])
        tl_json_add_string(&w, "authtoken", token);
    tl_json_end(&w);
}

/* What stands before the streams, which is no business of the server's. */
static void begin_results(struct tl_json_writer *w)
{
    tl_json_begin_object(w, NULL);
    tl_json_add_integer(w, "cpu_util_total", 0);
    tl_json_add_integer(w, "cpu_util_user", 0);
    tl_json_add_integer(w, "cpu_util_system", 0);
    tl_json_add_integer(w, "sender_has_retransmits", 0);
    tl_json_begin_array(w, "streams");
}

/* The ids go on where those of the streams before end. */
static void add_streams(struct tl_json_writer *w, const struct tl_tcp_result *result,
                        unsigned before)
{
    const struct tl_tcp_side *near = result->near_sends ? &result->sender : &result->receiver;
    for (unsigned i = 0; i < result->streams; i++) {
        tl_json_begin_object(w, NULL);
        tl_json_add_integer(w, "id", stream_id(before + i));
        tl_json_add_integer(w, "bytes", (int64_t)near->streams[i].bytes);
        tl_json_add_integer(w, "retransmits", 0);
        tl_json_add_integer(w, "jitter", 0);
        tl_json_add_integer(w, "errors", 0);
        tl_json_add_integer(w, "packets", 0);
        tl_json_add_integer(w, "start_time", 0);
        tl_json_add_number(w, "end_time", (double)result->elapsed_ns / 1e9);
        tl_json_end(w);
    }
}

void iperf3_write_results(const struct tl_tcp_result *first, const struct tl_tcp_result *second,
                          struct tl_buf *ret_text)
{
    struct tl_json_writer w;
    tl_json_writer_init(&w, ret_text, true);
    begin_results(&w);
    add_streams(&w, first, 0);
    if (second)
        add_streams(&w, second, first->streams);
    tl_json_end(&w);
    tl_json_end(&w);
}

void iperf3_write_udp_results(const struct tl_udp_result *result, struct tl_buf *ret_text)
{
    const struct tl_udp_receiver *receiver = &result->receiver;
    bool sends = result->near_sends;
    double jitter_s = isfinite(receiver->delay.jitter_ns) ? receiver->delay.jitter_ns / 1e9 : 0;
    uint64_t bytes = sends ? result->sender.sent_bytes : receiver->received_bytes;
    uint64_t packets = sends ? result->sender.sent_count : receiver->received_count;
    struct tl_json_writer w;
    tl_json_writer_init(&w, ret_text, true);
    begin_results(&w);
    tl_json_begin_object(&w, NULL);
    tl_json_add_integer(&w, "id", stream_id(0));
    tl_json_add_integer(&w, "bytes", (int64_t)bytes);
    tl_json_add_integer(&w, "retransmits", 0);
    tl_json_add_number(&w, "jitter", jitter_s);
    tl_json_add_integer(&w, "errors", 0);
    tl_json_add_integer(&w, "packets", (int64_t)packets);
    tl_json_add_integer(&w, "start_time", 0);
    tl_json_add_number(&w, "end_time", (double)result->elapsed_ns / 1e9);
    tl_json_end(&w);
    tl_json_end(&w);
    tl_json_end(&w);
}

/* --- Results -------------------------------------------------------------------------------- */

/* Servers to 3.12 print -1, for "not counted", as a number of 64 bits without a sign. */
static char *without_huge(const char *text, size_t len)
{
    static const char huge[] = "18446744073709551615", minus_one[] = "                  -1";
    char *copy = malloc(len + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    for (char *at = copy; (at = strstr(at, huge)); at += sizeof huge - 1)
        memcpy(at, minus_one, sizeof minus_one - 1);
    return copy;
}

/* A stream that was opened; streams where the id is of none. */
static unsigned index_of(int64_t id, unsigned streams)
{
    unsigned index = 0;
    while (index < streams && stream_id(index) != id)
        index++;
    return index;
}

static enum tl_status read_datagrams(const struct tl_json_at *at, struct iperf3_total *total,
                                     struct tl_error *reterr)
{
    struct tl_json_at member;
    double jitter_s = NAN;
    enum tl_status status = TL_OK;
    if (tl_json_find(at, "packets", &member))
        status = tl_json_integer(&member, -1, BYTES_MAX, &total->packets, reterr);
    if (status == TL_OK && tl_json_find(at, "errors", &member))
        status = tl_json_integer(&member, -1, BYTES_MAX, &total->errors, reterr);
    if (status == TL_OK && tl_json_find(at, "jitter", &member))
        status = tl_json_number(&member, &jitter_s, reterr);
    if (jitter_s >= 0 && jitter_s <= JITTER_MAX_S)
        total->jitter_ns = jitter_s * 1e9;
    return status;
}

static enum tl_status read_stream(const struct tl_json_at *at, unsigned streams, bool *seen,
                                  struct iperf3_results *results, struct tl_error *reterr)
{
    int64_t id;
    struct iperf3_total total = {
        .bytes = -1, .retransmits = -1, .packets = -1, .errors = -1, .jitter_ns = NAN};
    struct tl_json_at member;
    enum tl_status status = tl_json_get_integer(at, "id", 0, 1000, &id, reterr);
    if (status == TL_OK)
        status = tl_json_get_integer(at, "bytes", 0, BYTES_MAX, &total.bytes, reterr);
    if (status == TL_OK && tl_json_find(at, "retransmits", &member))
        status = tl_json_integer(&member, -1, BYTES_MAX, &total.retransmits, reterr);
    if (status == TL_OK)
        status = read_datagrams(at, &total, reterr);
    if (status != TL_OK)
        return status;
    unsigned index = index_of(id, streams);
    if (index == streams || seen[index])
        return tl_json_error(at, reterr, TL_PROTOCOL, "no stream of this test has the id %lld",
                             (long long)id);
    seen[index] = true;
    results->count++;
    results->totals[index] = total;
    return TL_OK;
}

static enum tl_status read_document(const struct tl_json *doc, unsigned streams,
                                    struct iperf3_results *results, struct tl_error *reterr)
{
    struct tl_json_at root = tl_json_root(doc), list, member;
    bool seen[TL_STREAMS_MAX] = {false};
    const char *congestion;
    enum tl_status status = tl_json_get_array(&root, "streams", &list, reterr);
    for (size_t i = 0; status == TL_OK && i < tl_json_count(&list); i++) {
        struct tl_json_at item = tl_json_item(&list, i);
        status = read_stream(&item, streams, seen, results, reterr);
    }
    if (status == TL_OK && results->count != streams)
        status =
            tl_json_error(&list, reterr, TL_PROTOCOL, "%u streams of %u", results->count, streams);
    if (status == TL_OK && tl_json_find(&root, "congestion_used", &member) &&
        tl_json_string(&member, &congestion, NULL) == TL_OK)
        tl_utf8_clean(congestion, strlen(congestion), results->congestion,
                      sizeof results->congestion);
    return status;
}

enum tl_status iperf3_read_results(const char *text, size_t len, unsigned streams,
                                   struct iperf3_results *ret_results, struct tl_error *reterr)
{
    static const struct tl_json_limits limits = {
        .bytes_max = IPERF3_RESULTS_MAX, .values_max = 8192, .depth_max = 16};
    struct iperf3_results results = {.count = 0};
    struct tl_error why = {0};
    struct tl_json *doc = NULL;
    char *copy = without_huge(text, len);
    if (!copy)
        return tl_error_set(reterr, TL_NOMEM, "no memory for the results of a test");
    enum tl_status status = tl_json_parse(copy, len, &limits, &doc, &why);
    if (status == TL_OK)
        status = read_document(doc, streams, &results, &why);
    tl_json_destroy(doc);
    free(copy);
    if (status == TL_NOMEM)
        return tl_error_set(reterr, status, "no memory for the results of a test");
    if (status != TL_OK)
        return tl_error_set(reterr, TL_PROTOCOL, "the server's results make no sense: %.300s",
                            why.text);
    *ret_results = results;
    return TL_OK;
}

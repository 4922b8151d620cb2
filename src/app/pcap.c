/* Reading a capture into connections, and the rows about them. Judging: pcap_judge.c. */
#include "tightlink/app/pcap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_run.h"
#include "overheard.h"
#include "tightlink/app/open.h"
#include "tightlink/base/units.h"
#include "tightlink/flow/limits.h"
#include "tightlink/flow/read.h"
#include "tightlink/probes/packet_flow.h"

/* --- Reading -------------------------------------------------------------------------------- */

static void note_counts(struct tl_app_pcap *pcap, const struct tl_capture *capture,
                        const struct tl_read *read)
{
    struct tl_app_pcap_file *file = &pcap->file;
    tl_capture_info(capture, &file->info);
    pcap->first_ns = read->first_ns;
    pcap->last_ns = read->last_ns;
    file->tcp_count = read->counts[TL_DECODED_TCP];
    file->cut_count = read->counts[TL_DECODED_CUT];
    file->strange_link_count = read->counts[TL_DECODED_LINK_TYPE];
    file->left_out_count = tl_packets_left_out(pcap->packets);
}

/* A file that breaks keeps what stood before. */
static enum tl_status read_all(struct tl_app_pcap *pcap, struct tl_capture *capture,
                               struct tl_error *reterr)
{
    struct tl_error broken;
    struct tl_read read;
    if (tl_read_capture(capture, pcap->packets, &read, &broken) != TL_OK)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    snprintf(pcap->file.broken, sizeof pcap->file.broken, "%s", broken.text);
    note_counts(pcap, capture, &read);
    tl_packets_finish(pcap->packets);
    if (tl_packets_count(pcap->packets) > 0)
        return TL_OK;
    if (broken.text[0])
        return tl_error_set(reterr, broken.status, "%s", broken.text);
    if (pcap->file.cut_count)
        return tl_error_set(reterr, TL_SYNTAX,
                            "%llu of its %llu packets end within their headers: capture at least "
                            "96 bytes of each (tcpdump -s 96)",
                            (unsigned long long)pcap->file.cut_count,
                            (unsigned long long)pcap->file.info.packets_count);
    return tl_error_set(reterr, TL_SYNTAX, "of its %llu packets none is TCP",
                        (unsigned long long)pcap->file.info.packets_count);
}

enum tl_status tl_app_pcap_open(const char *path, const struct tl_rules *rules,
                                struct tl_app_pcap **ret_pcap, struct tl_error *reterr)
{
    struct tl_capture *capture = NULL;
    struct tl_app_pcap *pcap = calloc(1, sizeof *pcap);
    if (!pcap)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    const char *slash = strrchr(path, '/');
    snprintf(pcap->name, sizeof pcap->name, "%s", slash && slash[1] ? slash + 1 : path);
    pcap->rules = rules;
    pcap->packets = tl_packets_create();
    enum tl_status status = pcap->packets ? TL_OK : tl_error_set(reterr, TL_NOMEM, "out of memory");
    if (status == TL_OK)
        status = tl_capture_open(path, &capture, reterr);
    if (status == TL_OK)
        status = read_all(pcap, capture, reterr);
    tl_capture_close(capture);
    if (status == TL_OK) {
        *ret_pcap = pcap;
        return TL_OK;
    }
    tl_error_prefix(reterr, "%.200s", path);
    tl_app_pcap_close(pcap);
    return status;
}

void tl_app_pcap_close(struct tl_app_pcap *pcap)
{
    if (!pcap)
        return;
    tl_packets_destroy(pcap->packets);
    free(pcap);
}

const struct tl_app_pcap_file *tl_app_pcap_file(const struct tl_app_pcap *pcap)
{
    return &pcap->file;
}

size_t tl_app_pcap_count(const struct tl_app_pcap *pcap)
{
    return tl_packets_count(pcap->packets);
}

/* --- Rows ----------------------------------------------------------------------------------- */

enum tl_status pcap_find(const struct tl_app_pcap *pcap, size_t number,
                         struct tl_packet_brief *ret_brief, struct tl_error *reterr)
{
    size_t count = tl_packets_count(pcap->packets);
    if (number >= 1 && tl_packets_at(pcap->packets, number - 1, ret_brief))
        return TL_OK;
    return tl_error_set(reterr, TL_RANGE,
                        "there is no flow %zu: the capture has %zu, numbered from 1", number,
                        count);
}

/* What the sender waited for. Where that is not known as a whole, its parts may be. */
static void fill_ledger(const struct tl_packet_flow *flow, int sender, struct tl_app_pcap_row *row)
{
    struct tl_packet_ledger ledger;
    tl_packet_ledger(flow, sender, &ledger);
    row->app_ratio = ledger.known ? ledger.app_ratio : ledger.idle_ratio;
    row->rwnd_ratio = ledger.known ? ledger.rwnd_ratio : ledger.closed_ratio;
    row->sndbuf_ratio = ledger.sndbuf_ratio;
    row->network_ratio = ledger.network_ratio;
    if (isfinite(row->app_ratio))
        row->held_ns = fmax(1 - row->app_ratio, 0) * row->span_ns;
}

static void fill_detail(const struct tl_packet_flow *flow, int sender, struct tl_app_pcap_row *row)
{
    const struct tl_packet_half *half = &flow->halves[sender];
    enum tl_packet_place place = tl_packet_place(flow, sender);
    if (place != TL_PLACE_UNKNOWN)
        snprintf(row->place, sizeof row->place, "%s", tl_packet_place_name(place));
    if (isfinite(half->rtt_min_ns))
        row->rtt_min_ns = half->rtt_min_ns;
    if (half->segments_count)
        row->retrans_ratio = (double)half->retrans_count / (double)half->segments_count;
    fill_ledger(flow, sender, row);
}

static void fill(const struct tl_app_pcap *pcap, size_t number, const struct tl_packet_brief *brief,
                 struct tl_app_pcap_row *row)
{
    int sender =
        brief->payload_bytes[TL_SERVER] > brief->payload_bytes[TL_CLIENT] ? TL_SERVER : TL_CLIENT;
    *row = (struct tl_app_pcap_row){
        .number = number,
        .client_known = brief->client_known,
        .payload_bytes = brief->payload_bytes[sender],
        .packets_count = brief->packets_count[0] + brief->packets_count[1],
        .wire_bytes = brief->wire_bytes,
        .begin_ns = (double)(brief->first_ns - pcap->first_ns),
        .span_ns = (double)(brief->last_ns - brief->first_ns),
        .rtt_min_ns = (double)NAN,
        .retrans_ratio = (double)NAN,
        .app_ratio = (double)NAN,
        .sndbuf_ratio = (double)NAN,
        .rwnd_ratio = (double)NAN,
        .network_ratio = (double)NAN,
        .state = TL_INCONCLUSIVE,
    };
    if (brief->flow)
        sender = tl_packet_sender(brief->flow);
    row->direction = sender == TL_SERVER ? TL_DOWNLOAD : TL_UPLOAD;
    row->rate_bps = tl_bps_from_bytes_ns((double)row->payload_bytes, row->span_ns);
    overheard_format_end(&brief->addresses[TL_CLIENT], brief->ports[TL_CLIENT], row->client,
                         sizeof row->client);
    overheard_format_end(&brief->addresses[TL_SERVER], brief->ports[TL_SERVER], row->server,
                         sizeof row->server);
    if (brief->flow)
        fill_detail(brief->flow, sender, row);
}

enum tl_status tl_app_pcap_row(struct tl_app_pcap *pcap, size_t number,
                               struct tl_app_pcap_row *ret_row, struct tl_error *reterr)
{
    struct tl_packet_brief brief;
    enum tl_status status = pcap_find(pcap, number, &brief, reterr);
    if (status == TL_OK)
        fill(pcap, number, &brief, ret_row);
    return status;
}

enum tl_status tl_app_pcap_judge(struct tl_app_pcap *pcap, size_t number,
                                 struct tl_app_pcap_row *ret_row, struct tl_error *reterr)
{
    struct tl_packet_brief brief;
    struct tl_session_result result = {0};
    enum tl_status status = pcap_find(pcap, number, &brief, reterr);
    if (status != TL_OK)
        return status;
    fill(pcap, number, &brief, ret_row);
    if (!brief.flow || ret_row->payload_bytes == 0)
        return TL_OK;
    status = pcap_judge(pcap, &brief, &result, reterr);
    if (status == TL_OK) {
        const struct tl_verdict *verdict = &result.findings->verdict;
        bool limited = verdict->state == TL_LIMITED;
        ret_row->judged = true;
        ret_row->state = verdict->state;
        ret_row->confidence = verdict->confidence;
        snprintf(ret_row->cause, sizeof ret_row->cause, "%s", limited ? verdict->cause : "");
        snprintf(ret_row->segment, sizeof ret_row->segment, "%s", limited ? verdict->segment : "");
        snprintf(ret_row->sentence, sizeof ret_row->sentence, "%s", verdict->sentence);
        tl_app_result_say(&result, ret_row->says, sizeof ret_row->says);
    }
    tl_app_result_finish(&result);
    return status;
}

enum tl_status tl_app_pcap_list_row(struct tl_app_pcap *pcap, size_t number,
                                    struct tl_app_pcap_row *ret_row, struct tl_error *reterr)
{
    return number <= TL_APP_PCAP_JUDGED_MAX ? tl_app_pcap_judge(pcap, number, ret_row, reterr)
                                            : tl_app_pcap_row(pcap, number, ret_row, reterr);
}

enum tl_status tl_app_pcap_result(struct tl_app_pcap *pcap, size_t number,
                                  struct tl_session_result *ret_result, struct tl_error *reterr)
{
    struct tl_packet_brief brief;
    enum tl_status status = pcap_find(pcap, number, &brief, reterr);
    if (status == TL_OK)
        status = pcap_judge(pcap, &brief, ret_result, reterr);
    if (status != TL_OK)
        return status;
    ret_result->samples = calloc(1, sizeof *ret_result->samples);
    if (!ret_result->samples)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    tl_packet_flow_samples(brief.flow, ret_result->samples);
    return TL_OK;
}

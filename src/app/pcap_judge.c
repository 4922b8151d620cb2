/* A connection of a capture as a run: its facts, judged; and its document with all others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_run.h"
#include "overheard.h"
#include "tightlink/app/open.h"
#include "tightlink/base/units.h"
#include "tightlink/document/document.h"
#include "tightlink/facts/trust.h"
#include "tightlink/flow/limits.h"
#include "tightlink/probes/packet_flow.h"
#include "tightlink/session/record.h"

/* Shares of what was acknowledged and is not in the capture. */
#define UNSEEN_DEGRADED 0.01
#define UNSEEN_INVALID  0.2

/* What the capture lacks is no loss of the path's; and it lowers what can be said. */
static void find_quality(const struct tl_app_pcap *pcap, const struct tl_packet_brief *brief,
                         struct tl_run *run)
{
    const struct tl_packet_flow *flow = brief->flow;
    const struct tl_packet_half *half = &flow->halves[tl_packet_sender(flow)];
    double unseen =
        (double)half->unseen_bytes / fmax((double)(half->payload_bytes + half->unseen_bytes), 1);
    char share[TL_UNIT_TEXT_SIZE];
    if (unseen > UNSEEN_DEGRADED)
        tl_trust_lower_run(
            run, unseen > UNSEEN_INVALID ? TL_QUALITY_INVALID : TL_QUALITY_DEGRADED,
            "the capture missed %s of what was acknowledged: the capturing machine dropped "
            "packets, or they went another way",
            tl_format_ratio(unseen, share));
    if (pcap->file.info.dropped_known && pcap->file.info.dropped_count > 0)
        tl_trust_lower_run(run, TL_QUALITY_DEGRADED,
                           "the capturing system says that it dropped %llu packets",
                           (unsigned long long)pcap->file.info.dropped_count);
    if (pcap->file.broken[0])
        tl_trust_lower_run(run, TL_QUALITY_DEGRADED, "%.200s; what stood before is judged",
                           pcap->file.broken);
    if (flow->backwards)
        tl_trust_lower_run(
            run, TL_QUALITY_DEGRADED,
            "times in the capture run backwards: its clock was set, or files were merged");
    if (!flow->halves[TL_CLIENT].syn_seen)
        tl_trust_lower_run(run, TL_QUALITY_DEGRADED,
                           "the beginning of the connection was not captured");
}

static void begin_run(const struct tl_app_pcap *pcap, const struct tl_packet_brief *brief,
                      struct tl_run *run)
{
    char client[64], server[64];
    overheard_begin(&(struct overheard){.kind = "pcap",
                                        .begin_ns = brief->first_ns,
                                        .span_ns = brief->last_ns - brief->first_ns,
                                        .direction = tl_packet_flow_direction(brief->flow),
                                        .peer = &brief->addresses[TL_SERVER]},
                    run);
    overheard_format_end(&brief->addresses[TL_CLIENT], brief->ports[TL_CLIENT], client,
                         sizeof client);
    overheard_format_end(&brief->addresses[TL_SERVER], brief->ports[TL_SERVER], server,
                         sizeof server);
    snprintf(run->target_name, sizeof run->target_name, "%s", server);
    tl_run_add_segment(run, "near-host", client);
    tl_run_add_segment(run, "far-host", server);
    run->sent_bytes = (long long)brief->payload_bytes[TL_CLIENT];
    run->received_bytes = (long long)brief->payload_bytes[TL_SERVER];
    find_quality(pcap, brief, run);
    struct tl_stage_record *stage = &run->stages[run->stage_count++];
    *stage = (struct tl_stage_record){.state = TL_STAGE_DONE, .duration_ns = run->duration_ns};
    snprintf(stage->id, sizeof stage->id, "stream");
    snprintf(stage->reason, sizeof stage->reason, "from a capture %s",
             tl_packet_place_name(tl_packet_place(brief->flow, tl_packet_sender(brief->flow))));
}

enum tl_status pcap_judge(struct tl_app_pcap *pcap, const struct tl_packet_brief *brief,
                          struct tl_session_result *ret_result, struct tl_error *reterr)
{
    if (!brief->flow)
        return pcap_no_detail(reterr);
    begin_run(pcap, brief, &ret_result->run);
    ret_result->answered = true;
    ret_result->facts = tl_facts_create();
    if (!ret_result->facts || tl_packet_flow_facts(brief->flow, ret_result->facts) != TL_OK)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    return tl_record_judge(pcap->rules, ret_result, reterr);
}

/* --- The document --------------------------------------------------------------------------- */

static void add_row(struct tl_json_writer *w, const struct tl_app_pcap_row *row)
{
    tl_json_begin_object(w, NULL);
    tl_json_add_integer(w, "number", (int64_t)row->number);
    tl_json_add_string(w, "client", row->client);
    tl_json_add_string(w, "server", row->server);
    tl_json_add_bool(w, "handshake_seen", row->client_known);
    tl_json_add_string(w, "direction", tl_direction_name(row->direction));
    tl_json_add_integer(w, "payload_bytes", (int64_t)row->payload_bytes);
    tl_json_add_integer(w, "packets_count", (int64_t)row->packets_count);
    tl_json_add_integer(w, "wire_bytes", (int64_t)row->wire_bytes);
    tl_json_add_integer(w, "begin_ns", (int64_t)row->begin_ns);
    tl_json_add_integer(w, "duration_ns", (int64_t)row->span_ns);
    tl_json_add_number(w, "mean_bps", row->rate_bps);
    tl_json_add_number(w, "rtt_min_ns", row->rtt_min_ns);
    tl_json_add_number(w, "retrans_ratio", row->retrans_ratio);
    tl_json_add_string(w, "captured", row->place[0] ? row->place : NULL);
    if (row->judged) {
        tl_json_begin_object(w, "verdict");
        tl_json_add_string(w, "state", tl_verdict_state_name(row->state));
        tl_json_add_string(w, "cause", row->cause[0] ? row->cause : NULL);
        tl_json_add_string(w, "segment", row->segment[0] ? row->segment : NULL);
        if (row->state == TL_LIMITED)
            tl_json_add_number(w, "confidence", row->confidence);
        tl_json_add_string(w, "sentence", row->says);
        tl_json_end(w);
    }
    tl_json_end(w);
}

struct listing {
    struct tl_app_pcap *pcap;
    size_t max;
    enum tl_status status;
    struct tl_error *reterr;
};

static void add_capture(struct tl_json_writer *w, const struct tl_app_pcap *pcap)
{
    const struct tl_app_pcap_file *file = &pcap->file;
    tl_json_begin_object(w, "capture");
    tl_json_add_string(w, "name", pcap->name);
    tl_json_add_string(w, "format", file->info.format);
    tl_json_add_string(w, "compression", file->info.compression);
    tl_json_add_integer(w, "packets_count", (int64_t)file->info.packets_count);
    tl_json_add_integer(w, "tcp_count", (int64_t)file->tcp_count);
    tl_json_add_integer(w, "cut_count", (int64_t)file->cut_count);
    tl_json_add_integer(w, "duration_ns", pcap->last_ns - pcap->first_ns);
    if (file->info.snap_bytes)
        tl_json_add_integer(w, "snap_bytes", (int64_t)file->info.snap_bytes);
    if (file->info.dropped_known)
        tl_json_add_integer(w, "dropped_count", (int64_t)file->info.dropped_count);
    tl_json_add_string(w, "broken", file->broken[0] ? file->broken : NULL);
    tl_json_add_integer(w, "flows_count", (int64_t)tl_packets_count(pcap->packets));
    tl_json_end(w);
}

static void add_flows(struct tl_json_writer *w, void *context)
{
    struct listing *listing = context;
    size_t count = tl_packets_count(listing->pcap->packets);
    size_t max = listing->max < TL_APP_PCAP_LISTED_MAX ? listing->max : TL_APP_PCAP_LISTED_MAX;
    add_capture(w, listing->pcap);
    tl_json_begin_array(w, "flows");
    for (size_t number = 1; number <= count && number <= max; number++) {
        struct tl_app_pcap_row row;
        listing->status = tl_app_pcap_list_row(listing->pcap, number, &row, listing->reterr);
        if (listing->status != TL_OK)
            break;
        add_row(w, &row);
    }
    tl_json_end(w);
}

enum tl_status tl_app_pcap_document(struct tl_app_pcap *pcap, size_t number, size_t max,
                                    struct tl_buf *out, struct tl_error *reterr)
{
    struct tl_session_result result = {0};
    struct listing listing = {.pcap = pcap, .max = max, .reterr = reterr};
    enum tl_status status = tl_app_pcap_result(pcap, number, &result, reterr);
    if (status == TL_OK)
        status = tl_document_write_with(&result.run, result.facts, result.findings, true, add_flows,
                                        &listing, out);
    tl_app_result_finish(&result);
    return status != TL_OK ? status : listing.status;
}

enum tl_status tl_app_pcap_add_to(struct tl_app_pcap *pcap, const struct tl_session_result *result,
                                  bool pretty, struct tl_buf *out)
{
    struct listing listing = {.pcap = pcap, .max = SIZE_MAX};
    enum tl_status status = tl_document_write_with(&result->run, result->facts, result->findings,
                                                   pretty, add_flows, &listing, out);
    return status != TL_OK ? status : listing.status;
}

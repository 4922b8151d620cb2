/* A connection of a capture as a document, with a row for each other one. */
#include "capture_run.h"
#include "tightlink/app/open.h"
#include "tightlink/document/document.h"

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
        tl_json_add_string(w, "sentence", row->sentence);
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

/* Telemetry: what a run found, as numbers and one record for systems that watch over time.
 *
 * Sinks stand in tightlink.conf as [telemetry NAME] (doc/tickets.md): OTLP over HTTP in JSON
 * (metrics and the verdict as a log record), a file for Prometheus' textfile collector, syslog
 * (RFC 5424 over UDP or TCP), journald. Texts of the record are masked before they come here,
 * unless the sink says unmask = yes: tl_telemetry_unmask().
 *
 * Nothing is kept for a second try: the next run brings newer numbers. */
#ifndef TL_TICKET_TELEMETRY_H
#define TL_TICKET_TELEMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/status.h"
#include "tightlink/ticket/ticket.h"

/* One run. Numbers that are not known are NAN and left out; texts are never NULL. */
struct tl_telemetry_record {
    const char *run_id, *tool_version;
    int64_t time_ns; /* wall clock of the run's start */
    const char *target, *direction;
    const char *state, *cause, *segment, *sentence; /* the verdict's; cause "" without */
    const char *quality;
    double confidence, measured_bps, ceiling_bps, fixed_bps;
    double stream_bps, streams_bps, rtt_ns, loaded_rtt_ns, retrans_ratio;
    bool moved; /* the verdict is another than that of the run before */
};

/* The sinks of a configuration; url is the address or file where a sink has no URL. Borrowed. */
size_t tl_telemetry_sink_count(const struct tl_ticket_config *config);
struct tl_ticket_target_info tl_telemetry_sink_at(const struct tl_ticket_config *config,
                                                  size_t index);

/* Whether this sink takes names and addresses as they are. TL_UNKNOWN: no such sink. */
enum tl_status tl_telemetry_unmask(const struct tl_ticket_config *config, const char *sink,
                                   bool *ret_unmask, struct tl_error *reterr) TL_WARN_UNUSED;

/* Sends a record. Errors as of tl_ticket_send, and TL_IO, TL_DENIED, TL_NOSPACE for files. */
enum tl_status tl_telemetry_send(const struct tl_ticket_config *config, const char *sink,
                                 const struct tl_telemetry_record *record,
                                 struct tl_error *reterr) TL_WARN_UNUSED;

#endif

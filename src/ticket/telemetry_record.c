/* What the telemetry sinks are told of a run: its numbers and texts, with their names. */
#include <string.h>

#include "sinks.h"

#define NS 1e-9

void telemetry_numbers(const struct tl_telemetry_record *record,
                       struct telemetry_number ret_numbers[TELEMETRY_NUMBERS])
{
    const struct telemetry_number numbers[TELEMETRY_NUMBERS] = {
        {"tightlink.measured", "bit/s", "tightlink_measured_bits_per_second",
         "Payload rate that the verdict is about.", record->measured_bps},
        {"tightlink.stream", "bit/s", "tightlink_stream_bits_per_second",
         "Payload rate of one stream.", record->stream_bps},
        {"tightlink.streams", "bit/s", "tightlink_streams_bits_per_second",
         "Payload rate of several streams.", record->streams_bps},
        {"tightlink.ceiling", "bit/s", "tightlink_ceiling_bits_per_second",
         "The most that the cause allows.", record->ceiling_bps},
        {"tightlink.fixed", "bit/s", "tightlink_fixed_bits_per_second",
         "Rate predicted once the cause is fixed.", record->fixed_bps},
        {"tightlink.rtt", "s", "tightlink_rtt_seconds", "Smallest round trip.",
         record->rtt_ns * NS},
        {"tightlink.rtt.loaded", "s", "tightlink_loaded_rtt_seconds",
         "Median round trip under load.", record->loaded_rtt_ns * NS},
        {"tightlink.retransmitted", "1", "tightlink_retransmitted_ratio",
         "Share of segments sent again.", record->retrans_ratio},
        {"tightlink.confidence", "1", "tightlink_confidence_ratio",
         "How sure the verdict is, 0 to 1.", record->confidence},
    };
    memcpy(ret_numbers, numbers, sizeof numbers);
}

void telemetry_texts(const struct tl_telemetry_record *record,
                     struct telemetry_text ret_texts[TELEMETRY_TEXTS])
{
    const struct telemetry_text texts[TELEMETRY_TEXTS] = {
        {"run", record->run_id},          {"target", record->target},
        {"direction", record->direction}, {"state", record->state},
        {"cause", record->cause},         {"segment", record->segment},
        {"quality", record->quality},     {"moved", record->moved ? "true" : "false"},
    };
    memcpy(ret_texts, texts, sizeof texts);
}

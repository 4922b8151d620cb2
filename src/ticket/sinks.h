/* What the telemetry sinks share. Private to src/ticket. */
#ifndef TL_TICKET_SINKS_H
#define TL_TICKET_SINKS_H

#include "private.h"
#include "tightlink/ticket/telemetry.h"

struct telemetry_sink {
    const char *name;
    uint32_t needs, takes; /* sets of KEY() */
    enum tl_status (*send)(const struct ticket_target *target,
                           const struct tl_telemetry_record *record, struct tl_error *reterr);
};
extern const struct telemetry_sink telemetry_otlp, telemetry_prometheus, telemetry_syslog,
    telemetry_journald;
const struct telemetry_sink *telemetry_sink_find(const char *name);

/* The numbers of a record under each system's name for them. */
struct telemetry_number {
    const char *otlp, *otlp_unit, *prometheus, *help;
    double value; /* in that unit: bit/s, seconds, ratio */
};
#define TELEMETRY_NUMBERS 9
void telemetry_numbers(const struct tl_telemetry_record *record,
                       struct telemetry_number ret_numbers[TELEMETRY_NUMBERS]);

/* The texts of a record under plain keys, "target" ... */
struct telemetry_text {
    const char *key, *value;
};
#define TELEMETRY_TEXTS 8
void telemetry_texts(const struct tl_telemetry_record *record,
                     struct telemetry_text ret_texts[TELEMETRY_TEXTS]);

#endif

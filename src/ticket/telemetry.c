/* Which telemetry sinks there are. */
#include "tightlink/ticket/telemetry.h"

#include <string.h>

#include "config.h"
#include "sinks.h"

const struct telemetry_sink *telemetry_sink_find(const char *name)
{
    static const struct telemetry_sink *const sinks[] = {&telemetry_otlp, &telemetry_prometheus,
                                                         &telemetry_syslog, &telemetry_journald};
    for (size_t i = 0; i < sizeof sinks / sizeof *sinks; i++)
        if (strcmp(sinks[i]->name, name) == 0)
            return sinks[i];
    return NULL;
}

static const struct ticket_target *find(const struct tl_ticket_config *config, const char *name,
                                        struct tl_error *reterr)
{
    for (size_t i = 0; i < config->sink_count; i++)
        if (strcmp(config->sinks[i].name, name) == 0)
            return &config->sinks[i];
    (void)tl_error_set(reterr, TL_UNKNOWN,
                       "%.200s has no [telemetry %.60s]: doc/tickets.md has "
                       "examples",
                       config->path, name);
    return NULL;
}

enum tl_status tl_telemetry_unmask(const struct tl_ticket_config *config, const char *sink,
                                   bool *ret_unmask, struct tl_error *reterr)
{
    const struct ticket_target *target = find(config, sink, reterr);
    if (!target)
        return TL_UNKNOWN;
    *ret_unmask = strcmp(target->values[KEY_UNMASK], "yes") == 0;
    return TL_OK;
}

enum tl_status tl_telemetry_send(const struct tl_ticket_config *config, const char *sink,
                                 const struct tl_telemetry_record *record, struct tl_error *reterr)
{
    const struct ticket_target *target = find(config, sink, reterr);
    return target ? target->sink->send(target, record, reterr) : TL_UNKNOWN;
}

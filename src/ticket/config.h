/* The loaded configuration. Private to src/ticket. */
#ifndef TL_TICKET_CONFIG_H
#define TL_TICKET_CONFIG_H

#include <limits.h>

#include "private.h"

#define TELEMETRY_SINKS_MAX 8
#define COMPARE_LISTS_MAX   16

struct tl_ticket_config {
    char path[PATH_MAX];
    size_t count;
    struct ticket_target targets[TL_TICKET_TARGETS_MAX];
    size_t sink_count;
    struct ticket_target sinks[TELEMETRY_SINKS_MAX];
    size_t list_count;
    struct ticket_target lists[COMPARE_LISTS_MAX]; /* KEY_FAR_ENDS alone */
};

/* NULL with a sentence that names the targets there are. */
const struct ticket_target *ticket_config_find(const struct tl_ticket_config *config,
                                               const char *name, struct tl_error *reterr);

#endif

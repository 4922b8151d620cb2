/* Telemetry as the commands use it. Private to src/cli. */
#ifndef TL_CLI_TELEMETRY_H
#define TL_CLI_TELEMETRY_H

#include "cli.h"

/* Sends a run to the sink of tightlink.conf (config_path NULL: the user's own). A failure is a
 * sentence. Returns an exit code. */
int cli_send_telemetry(const struct tl_session_result *result, const char *sink,
                       const char *config_path, bool moved);

#endif

/* run --capture: the packets of a run beside what the run itself measured. Private to src/cli. */
#ifndef TL_CLI_RUN_CAPTURE_H
#define TL_CLI_RUN_CAPTURE_H

#include "cli.h"
#include "tightlink/app/capture.h"
#include "tightlink/app/pcap.h"

struct cli_run_capture {
    struct tl_app_capture helper; /* report_fd -1 where none runs */
    uint16_t port;                /* of the far end */
    struct tl_app_pcap *pcap;     /* what was captured; NULL without */
};

/* Captures the headers of what this PC and the target's host exchange by TCP, to a new file at
 * path. port: of the far end, where the target names none. Without success one sentence on stderr:
 * the run goes on without. */
void cli_run_capture_begin(const char *target, uint16_t port, const char *path,
                           struct cli_run_capture *ret_capture);

/* Ends it and reads it. rules are borrowed and outlive the capture. */
void cli_run_capture_end(struct cli_run_capture *capture, const struct tl_rules *rules);

/* The connections, each judged by its packets alone, and how the verdict of the
 * run's largest stands to that of the run. Nothing where nothing was captured. */
void cli_run_capture_print(const struct cli_run_capture *capture,
                           const struct tl_session_result *result);

/* The file stays. */
void cli_run_capture_finish(struct cli_run_capture *capture);

#endif

/* Probes: one stage of a diagnosis each. A probe measures through the engine and
 * turns what came back into facts; it knows no rules and decides nothing.
 *
 * All functions are called by one thread, the session's worker, and block until
 * the stage is over or cancel_fd becomes readable. What could not be measured is
 * an unknown fact with a reason and a stage that says so, not an error; the status
 * returned says whether the session can go on. */
#ifndef TL_PROBES_PROBES_H
#define TL_PROBES_PROBES_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/status.h"
#include "tightlink/facts/facts.h"
#include "tightlink/facts/run.h"

struct tl_client;

/* Numbers of a running stage, for whoever watches. NAN where unknown. */
struct tl_probe_live {
    double rate_bps;
    double rtt_ns;
    double elapsed_ns;
};

/* What every stage gets. Borrowed pointers. */
struct tl_probe {
    struct tl_client *client;
    struct tl_facts *facts;
    int cancel_fd; /* readable: end now */
    void (*live)(void *context, const struct tl_probe_live *live);
    void (*note)(void *context, const char *sentence); /* queued behind others, and the like */
    void *context;
};

/* What a loading stage may use at most. */
struct tl_probe_limits {
    int64_t duration_ns; /* of the transfer, warm-up included */
    int64_t bytes;
};

/* What came of a stage. record.id is filled too. */
struct tl_probe_outcome {
    struct tl_stage_record record;
    enum tl_quality quality; /* of what was measured in it */
    char quality_reason[256];
};

/* Where the responder is. */
struct tl_probe_target {
    const char *host;
    uint16_t port;
    int family; /* 4, 6 or 0 */
};

/* Resolves, connects and greets: sets path.connect_rtt_ns. *ret_client is the caller's
 * (tl_probe_disconnect). TL_NOHOST, TL_REFUSED, TL_UNREACHABLE, TL_TIMEOUT, TL_PROTOCOL,
 * TL_VERSION, TL_BUSY, TL_CANCELLED with a sentence that says what to do. */
enum tl_status tl_probe_connect(const struct tl_probe_target *target, int cancel_fd,
                                struct tl_facts *facts, struct tl_client **ret_client,
                                struct tl_run *run, struct tl_error *reterr) TL_WARN_UNUSED;
void tl_probe_disconnect(struct tl_client *client);

/* hosts: settings and interface of both ends. Sends some kilobytes. */
enum tl_status tl_probe_hosts(const struct tl_probe *probe, struct tl_probe_outcome *ret_outcome,
                              struct tl_error *reterr) TL_WARN_UNUSED;

/* The near host alone, without a responder and without traffic. host names whose route
 * is looked at; NULL: the default route. TL_NOHOST with a sentence. */
enum tl_status tl_probe_near(const char *host, struct tl_facts *facts,
                             struct tl_error *reterr) TL_WARN_UNUSED;

/* path: idle round-trip time and loss of small UDP probes. About 1 s, some kilobytes. */
enum tl_status tl_probe_path(const struct tl_probe *probe, struct tl_probe_outcome *ret_outcome,
                             struct tl_error *reterr) TL_WARN_UNUSED;

/* A stage that loads the path in one direction. */
typedef enum tl_status tl_probe_load_fn(const struct tl_probe *probe, enum tl_direction direction,
                                        const struct tl_probe_limits *limits,
                                        struct tl_probe_outcome *ret_outcome,
                                        struct tl_error *reterr);

/* stream: one TCP stream with the hosts' own settings. */
tl_probe_load_fn tl_probe_stream;
/* window: one stream whose buffers are set as large as both hosts permit. */
tl_probe_load_fn tl_probe_window;
/* streams: TL_PROBE_STREAMS streams at once, with the hosts' own settings. */
tl_probe_load_fn tl_probe_streams;
/* paced: one stream at TL_PROBE_PACED_RATIO of the rate that `stream` measured. */
tl_probe_load_fn tl_probe_paced;

#define TL_PROBE_STREAMS     8
#define TL_PROBE_PACED_RATIO 0.5

#endif

/* A TCP test between two responders, watched by a client of both. */
#ifndef TL_PROBES_BETWEEN_H
#define TL_PROBES_BETWEEN_H

#include <stdint.h>

#include "tightlink/base/status.h"
#include "tightlink/probes/probes.h"

struct tl_between_spec {
    struct tl_probe_target from, to; /* with keys */
    unsigned streams;                /* 1 and up; 0: 1 */
    int64_t duration_ns;             /* 0: 10 s */
    int64_t max_bytes;               /* 0: no cap but the responders' */
};

/* NAN where it is not known. */
struct tl_between_result {
    unsigned streams;
    double rate_bps, low_bps, high_bps; /* steady payload rate, 95 % interval */
    double whole_bps;                   /* warm-up included */
    double received_bytes, elapsed_ns;
    double rtt_min_ns, rtt_mean_ns;
    double retrans_ratio;
    double app_ratio, sndbuf_ratio, rwnd_ratio, network_ratio; /* the sender's ledger */
    double sender_cpu_ratio, receiver_cpu_ratio;               /* of one core, the moving threads */
    char congestion[16];
};

/* Blocks until the test is over or cancel_fd becomes readable. The errors of
 * connecting and of tl_client_peer_test, each with a sentence that names the end. */
enum tl_status tl_probe_between(const struct tl_between_spec *spec, int cancel_fd,
                                struct tl_between_result *ret_result,
                                struct tl_error *reterr) TL_WARN_UNUSED;

#endif

/* The routers on the way: probes whose TTL ends at each of them, idle and beside a load.
 *
 * One flow (constant addresses and ports), so that routers that spread flows over several ways
 * send all probes the same one (Augustin et al., "Avoiding traceroute anomalies with Paris
 * traceroute", 2006). The probes are datagrams of the responder's UDP port; the last "hop" is the
 * far end's own answer. How many hops there are is known from the TTL that arrives there, also
 * where no router answers. Needs no privilege (IP_RECVERR).
 *
 * Routers answer few probes a second (Linux: one, after a burst of six), so probes are few, and
 * an answer that is missing is no loss: only what the far end does not answer can be that. */
#ifndef TL_ENGINE_HOPS_H
#define TL_ENGINE_HOPS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/status.h"

#define TL_HOPS_MAX       30
#define TL_HOPS_SAMPLES   32 /* round trips kept of each hop */
#define TL_HOPS_FLOWS_MAX 3  /* other flows, to see whether they take other ways */

/* One hop: routers from 1 on, the far end last. */
struct tl_hop {
    struct in6_addr address; /* IPv4 as ::ffff:a.b.c.d; zero: it never answered */
    unsigned sent_count, answered_count;
    double rtt_ns[TL_HOPS_SAMPLES];   /* the first answers */
    int64_t sent_ns[TL_HOPS_SAMPLES]; /* tl_now_ns() of these probes */
    size_t sample_count;
};

struct tl_hops_result {
    int count;                           /* hops with the far end; 0 = not known */
    bool count_known;                    /* from the TTL; else the last one that answered */
    unsigned ways_count;                 /* that flows take; 0 = not known */
    struct tl_hop hops[TL_HOPS_MAX + 1]; /* [1] to [count] */
    uint64_t sent_bytes, received_bytes;
};

struct tl_hops_spec {
    int64_t rtt_ns;      /* of the path; 0 = the handshake's */
    int64_t duration_ns; /* 0: three rounds and the other flows, then it ends; else rounds every
                          * interval until cancelled or over */
    int64_t interval_ns; /* between rounds */
    int cancel_fd;       /* ends it, with what was measured; -1 = none */
    bool beside_test;    /* in another thread while tl_client_tcp_test runs */
};

/* --- Beside a load -------------------------------------------------------------------------- */

/* One hop of a path that was measured idle and loaded. NAN = not known. */
struct tl_hop_load {
    double idle_rtt_ns;   /* smallest, idle */
    double loaded_rtt_ns; /* median under load */
    unsigned loaded_count;
    /* Medians of the loaded rounds that both this hop and the far end answered. A router answers
     * some rounds only, often the first ones, when the queue had hardly begun: what it says is
     * compared with what the far end said at the same time. */
    double both_rtt_ns, both_far_rtt_ns;
    double both_high_rtt_ns; /* 75th percentile of this hop's */
    unsigned both_count;
};

/* The hop's load: samples sent in [from_ns, to_ns] of loaded, the smallest of idle. far is the far
 * end under the same load, and may be the hop itself. */
struct tl_hop_load tl_hop_load(const struct tl_hop *idle, const struct tl_hop *loaded,
                               const struct tl_hop *far, int64_t from_ns, int64_t to_ns);

#endif

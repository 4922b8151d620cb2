/* What a host without a responder answers. */
#ifndef TL_PROBES_REACH_H
#define TL_PROBES_REACH_H

#include "tightlink/probes/probes.h"

/* Some answer at all, of which kind. Times are -1 where there was none. */
struct tl_reach {
    char address[64];    /* the first the name stands for, "" where it stands for none */
    int family;          /* 4 or 6 */
    bool refused;        /* the host refused the port: it is up, and nothing listens there */
    bool open;           /* something took the connection */
    int error;           /* errno of a refusal on the way (EHOSTUNREACH ...), 0 without */
    int64_t port_rtt_ns; /* until the port answered, yes or no */
    int64_t echo_rtt_ns; /* ICMP echo, where this user may send it */
    bool may_echo;
};

/* Resolves, tries the port three times and ICMP echo three times: under 4 s, a few hundred
 * bytes. Sets path.connect_rtt_ns where the port answered. The outcome is of stage "path".
 * TL_NOHOST, TL_CANCELLED. */
enum tl_status tl_probe_reach(const struct tl_probe_target *target, int cancel_fd,
                              struct tl_facts *facts, struct tl_reach *ret_reach,
                              struct tl_probe_outcome *ret_outcome,
                              struct tl_error *reterr) TL_WARN_UNUSED;

/* Whether the host itself answered anything. An error on the way (no route, a neighbour that
 * is not there) is none. */
bool tl_reach_answered(const struct tl_reach *reach);

#endif

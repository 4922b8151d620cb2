/* Tests between two perfSONAR nodes, run by pScheduler (its REST interface, API level 4 and up;
 * written against 5.2.5) and only asked for and read here: no payload passes this machine.
 *
 * A node is asked politely: tests are short and few, an answer is waited for within limits of time,
 * size and number, and what was asked for and is not wanted any more is cancelled there.
 *
 * What a node answers is foreign: it is bounded, type-checked and cleaned before anybody sees it.
 * Redirects are not followed, and of a URL that a node answers with only the task's id is used. */
#ifndef TL_ENGINE_PSCHEDULER_H
#define TL_ENGINE_PSCHEDULER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/status.h"

/* Seconds and streams that nodes of others usually permit (perfSONAR toolkit's limits), and the
 * shortest test that they do not lengthen. */

#define TL_PSCHED_INTERVALS_MAX 64
#define TL_PSCHED_TRIPS_MAX     100
#define TL_PSCHED_HOPS_MAX      30

/* The key that a node's certificate holds, as curl writes it: "sha256//" and base64. */
#define TL_PSCHED_PIN_SIZE 64

struct tl_psched_node {
    const char *host; /* a name or address, without brackets */
    uint16_t port;    /* 0: 443 */
    const char *pin;  /* the key it had before; NULL or "": it is met for the first time */
    bool insecure;    /* take any certificate */
};

/* One node that answers. One thread at a time. */
struct tl_psched;

/* Meets a node: its certificate (trusted by this system, or with the key of `pin`, or new), and
 * whether pScheduler runs there. cancel_fd: readable when the user has had enough; -1 without.
 * TL_NOHOST, TL_UNREACHABLE, TL_TIMEOUT; TL_AUTH: another certificate than before; TL_PROTOCOL: no
 * pScheduler; TL_VERSION; TL_CANCELLED; TL_UNSUPPORTED: built without libcurl. */
enum tl_status tl_psched_open(const struct tl_psched_node *node, int cancel_fd,
                              struct tl_psched **ret_psched,
                              struct tl_error *reterr) TL_WARN_UNUSED;
void tl_psched_close(struct tl_psched *psched); /* takes NULL */
/* The key of a certificate that nobody vouches for; "" where an authority does. */
const char *tl_psched_pin(const struct tl_psched *psched);
/* The node says that its clock is not synchronised: its schedule may be off. */
bool tl_psched_clock_is_loose(const struct tl_psched *psched);

enum tl_psched_test { TL_PSCHED_THROUGHPUT, TL_PSCHED_RTT, TL_PSCHED_TRACE, TL_PSCHED_MTU };
/* "throughput", … as pScheduler calls it. */
const char *tl_psched_test_name(enum tl_psched_test test);

struct tl_psched_spec {
    enum tl_psched_test test;
    const char *source, *dest; /* host names or addresses: characters of names only */
    const char *source_node; /* the node that serves `source`, where it has another name; or NULL */
    int seconds;             /* throughput: 5 to 60 */
    int streams;             /* throughput: 1 to 6 */
    bool reverse;            /* throughput: data from dest to source */
    int64_t wait_ns;         /* how long the node may put it off, at most */
};

/* A task that a node has taken. Plain data. */
struct tl_psched_task {
    enum tl_psched_test test;
    char id[40];         /* UUID, "" where there is none */
    char key[33];        /* ours: without it nobody can cancel it from afar */
    int64_t deadline_ns; /* monotonic: from then on it is given up */
};

/* Throughput as the tool (iperf3 as a rule) counted it. */
struct tl_psched_interval {
    double begin_ns, end_ns;
    double rate_bps;      /* sent */
    double retrans_count; /* NAN where it is not told, like those below */
    double rtt_ns, cwnd_bytes;
};
struct tl_psched_throughput {
    double sent_bps, received_bps, retrans_count, rtt_ns; /* of the whole test; NAN */
    int interval_count;
    struct tl_psched_interval intervals[TL_PSCHED_INTERVALS_MAX];
};
struct tl_psched_rtt {
    double sent_count, received_count;
    int trip_count;
    double trips_ns[TL_PSCHED_TRIPS_MAX];
};
struct tl_psched_hop {
    char address[64], name[128]; /* clean; "" where it did not answer */
    double rtt_ns, mtu_bytes;    /* NAN */
    char error[48];
};
struct tl_psched_trace {
    int hop_count;
    struct tl_psched_hop hops[TL_PSCHED_HOPS_MAX];
};
struct tl_psched_result {
    enum tl_psched_test test;
    union {
        struct tl_psched_throughput throughput;
        struct tl_psched_rtt rtt;
        struct tl_psched_trace trace;
        double mtu_bytes;
    };
};

/* Asks for a test. TL_DENIED: the node's limits; TL_UNSUPPORTED: it has no tool for it; TL_BUSY:
 * what the other node refused, or a failure there; TL_USAGE: a form that it does not take. */
enum tl_status tl_psched_start(struct tl_psched *psched, const struct tl_psched_spec *spec,
                               struct tl_psched_task *ret_task,
                               struct tl_error *reterr) TL_WARN_UNUSED;
/* Waits for its result. TL_BUSY: missed, preempted or not started; TL_INVALID: failed, or a result
 * that cannot be; TL_TIMEOUT: not in time. Whatever it returns, the task is over or cancelled. */
enum tl_status tl_psched_await(struct tl_psched *psched, const struct tl_psched_task *task,
                               struct tl_psched_result *ret_result,
                               struct tl_error *reterr) TL_WARN_UNUSED;
/* Takes a task back; in vain is no error. At most 5 s. */
void tl_psched_cancel(struct tl_psched *psched, const struct tl_psched_task *task);

#endif

/* What one step of the UDP ladder says, and what many of them say together. Pure. Private to
 * the probes. */
#ifndef TL_PROBES_UDP_STEP_H
#define TL_PROBES_UDP_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/engine/client_udp.h"

/* A knee is where loss exceeds that of the steps below by 0.1 %, or queueing delay that of the
 * first step by 90 ms, or where less arrives than was sent while delay grows. */
#define UDP_KNEE_LOSS_RATIO    0.001
#define UDP_KNEE_DELAY_NS      90e6
#define UDP_KNEE_RATE_RATIO    0.985
#define UDP_SENDER_LIMIT_RATIO 0.98
/* Of a receiver that tells totals alone a queue is seen by one word behind the last datagram: what
 * it waited may be one packet's chance, up to a tenth of the step. And what is missing may be what
 * its own socket dropped while its program slept: at this rate the buffer that Linux gives
 * (212992 bytes, 92 of our datagrams) lasts 50 ms, which no idle host sleeps. */
#define UDP_WAIT_RATIO     0.1
#define UDP_UNTOLD_MAX_BPS 20e6

/* The account of the steps that passed. */
struct udp_pool {
    uint64_t sent_count, lost_count, run_count, received_count;
    uint64_t reordered_count, duplicate_count, corrupt_count, local_drop_count;
    bool totals_only;    /* what came late or twice is not known */
    bool unchecked;      /* … nor what was damaged */
    bool meddled;        /* … since somebody adds datagrams to the test */
    double jitter_ns;    /* of the first step; NAN */
    double delay_p90_ns; /* likewise */
};

void udp_pool_begin(struct udp_pool *pool);
void udp_pool_add(struct udp_pool *pool, const struct tl_udp_result *result);
/* Lost over sent with 95 % bounds; of runs where losses cluster. NAN when nothing was sent. */
double udp_pool_loss(const struct udp_pool *pool, double *ret_low, double *ret_high);

enum udp_step_verdict {
    UDP_STEP_PASSED,
    UDP_STEP_LOSS,         /* more is lost than at lower rates */
    UDP_STEP_DELAY,        /* a queue grows */
    UDP_STEP_SENDER_LIMIT, /* the sender, or what the far end grants, did not reach the rate */
    UDP_STEP_BURSTS,       /* the sender sent by bursts, which wait or are lost at any link */
    UDP_STEP_RECEIVER,     /* the receiving socket had no room, or does not tell whether it had:
                            * no limit of the path's */
};

/* Whether of all that was sent nothing came as far as the receiving host: something on the way
 * keeps datagrams out, or those of that size, and none of them tells of losses. */
bool udp_step_none_arrived(const struct tl_udp_result *result);

/* Whether what is missing of a step at that rate is the network's. */
bool udp_step_tells_loss(const struct tl_udp_result *result, double asked_bps);

/* asked_bps: what the step was to offer. */
enum udp_step_verdict udp_step_judge(const struct tl_udp_result *result, double asked_bps,
                                     const struct udp_pool *below);

/* Rate at which datagrams arrived once the first ones were missing, the last piece of time left
 * out: a bucket that was full at first lets more pass before. NAN where that is too short. */
double udp_step_tail_bps(const struct tl_udp_result *result);

#endif

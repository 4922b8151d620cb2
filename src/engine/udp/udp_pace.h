/* When a sender's next datagrams are due, and waiting for that time without keeping a core
 * busy where it is far.
 *
 * The schedule is absolute: datagram k is due at k times its interval, so that lateness of
 * one does not move the others. Who is late catches up, but never faster than UDP_CATCH_UP
 * times the pace and in bursts no longer than asked for (4 up to 1 Gb/s): a probe that makes
 * bursts of its own finds losses that are its own. Lateness above UDP_DEBT_MAX_NS is given up
 * and told (forfeited_ns). */
#ifndef TL_ENGINE_UDP_PACE_H
#define TL_ENGINE_UDP_PACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define UDP_CATCH_UP    1.1
#define UDP_DEBT_MAX_NS INT64_C(50000000)
#define UDP_NAP_MAX_NS  INT64_C(20000000) /* looks for orders and feedback in between */

struct udp_pace {
    double interval_ns;  /* of one datagram */
    unsigned burst;      /* datagrams that leave together */
    unsigned catch_up;   /* and at most, when late */
    int64_t base_ns;     /* due time of datagram 0, on the clock of `now` */
    uint64_t sent_count; /* on the schedule */
    int64_t last_ns;     /* when the last ones left */
    unsigned last_count;
    int64_t forfeited_ns;
    int64_t margin_ns; /* a nap's usual lateness */
};

/* rate_bps > 0. */
void udp_pace_init(struct udp_pace *ret_pace, uint64_t rate_bps, unsigned datagram_bytes,
                   unsigned burst_count, int64_t start_ns);

/* How many datagrams may leave now; 0: none before *ret_due_ns. */
unsigned udp_pace_due(struct udp_pace *pace, int64_t now_ns, int64_t *ret_due_ns);
/* They left at now_ns. */
void udp_pace_sent(struct udp_pace *pace, unsigned count, int64_t now_ns);

/* Sleeps and then spins until due_ns, at most UDP_NAP_MAX_NS at a time; less when *stop.
 * precise_ns: lateness that does not matter. Returns the time. */
int64_t udp_pace_wait(struct udp_pace *pace, int64_t due_ns, int64_t harmless_ns,
                      const atomic_bool *stop);

#endif

/* A hop of our own on loopback: carries a client's control connection and datagrams to a
 * responder and does to the datagrams of tests, by their count, what a path may do. It knows
 * exactly how many it dropped. One client at a time. */
#ifndef TL_TEST_UDP_RELAY_H
#define TL_TEST_UDP_RELAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct relay {
    int port;     /* to dial */
    int far_port; /* of the responder */
    /* Each n-th DATA datagram, 0 = none: */
    unsigned drop_each, twice_each, damage_each, late_each; /* late: behind the next two */
    unsigned drop_run;                                      /* that many in a row each drop_each */
    /* At the n-th DATA datagram, 0 = never: */
    unsigned deaf_at;    /* nothing comes back any more: neither datagrams nor control */
    unsigned hole_at;    /* DATA vanishes, all else goes on */
    unsigned rebind_at;  /* the client's datagrams come from another port */
    unsigned spoof_each; /* puts a DATA datagram of its own behind each n-th, from elsewhere */
    bool udp_deaf;       /* no datagram passes at all, as before a firewall that knows TCP alone */
    /* The n-th answer to a probe comes so much later, 0 = never: */
    unsigned reply_late_at;
    int64_t reply_late_ns;
    /* What became of them. */
    atomic_uint data_count, dropped, doubled, damaged, delayed, spoofed, after_deaf;
    _Atomic int64_t deaf_ns, last_data_ns;
    _Atomic int64_t
        held_ns; /* the longest that it was without a processor: whose times it tells, too */
    atomic_bool stop;
    pthread_t thread;
    int listener, near_udp, far_udp, control, far_control, spoof_udp;
};

void relay_start(struct relay *relay, int far_port);
void relay_stop(struct relay *relay);

#endif

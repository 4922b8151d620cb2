/* A receiver's account of one test: each datagram goes in once, the result comes out at the
 * end. Pure: the caller brings numbers and times. */
#ifndef TL_ENGINE_UDP_ACCOUNT_H
#define TL_ENGINE_UDP_ACCOUNT_H

#include "udp_damage.h"
#include "udp_delay.h"
#include "udp_track.h"

struct udp_account_spec {
    int64_t duration_ns, interval_ns;
    unsigned train_length, train_count; /* 0: no trains */
};

struct udp_piece {
    uint64_t received_count, received_bytes, arrived_bytes;
    uint64_t delay_count;
    int64_t delay_min_ns, delay_max_ns; /* less the first datagram's delay */
    double delay_sum_ns;
};

/* Of the datagrams of one train; first above last: none came. */
struct udp_span {
    int64_t first_ns, last_ns;
};

struct udp_account {
    struct udp_account_spec spec;
    struct udp_track track;
    struct udp_delays delays;
    struct udp_piece *pieces;
    unsigned piece_max, piece_count; /* piece_count: touched */
    struct udp_piece *newest;        /* in use, from that time on; any before the first */
    int64_t newest_from_ns;
    int64_t *train_arrivals;        /* train_count x train_length; -1: did not come */
    struct udp_point *train_firsts; /* of each train's first datagram; sent -1: did not come */
    struct udp_span *train_spans;   /* departures, as the datagrams that came bear them */
    int64_t first_ns, last_ns;      /* arrivals */
    int64_t offset_ns;              /* first arrival less its departure */
    uint64_t bytes, first_bytes;
    struct udp_damage damage;
    uint64_t foreign_count;
    bool clock_stepped;
};

enum tl_status udp_account_init(struct udp_account *ret_account,
                                const struct udp_account_spec *spec) TL_WARN_UNUSED;
void udp_account_finish(struct udp_account *account);

/* A datagram that is whole and of this test. own_time: arrival_ns is its own, not that of
 * the batch that it came in. */
void udp_account_add(struct udp_account *account, uint64_t sequence, int64_t sent_ns,
                     unsigned bytes, int64_t arrival_ns, bool own_time);

/* Nothing more comes of sent_count datagrams. Fills counts, runs and delays of *ret_receiver,
 * not what the socket and the host know. ret_intervals (TL_UDP_INTERVALS_MAX) and ret_trains
 * (train_count) get the receiver's part, in which sent_ns is of the datagrams that came;
 * *ret_interval_count how many there are. */
void udp_account_close(struct udp_account *account, uint64_t sent_count,
                       struct tl_udp_receiver *ret_receiver, struct tl_udp_interval *ret_intervals,
                       unsigned *ret_interval_count, struct tl_udp_train *ret_trains);

#endif

/* Which rate the UDP ladder tries next: doubled until one does not pass, then the gap between
 * the highest that passed and the lowest that did not is halved on the logarithm until it is
 * 3 % wide. Pure. Private to the probes. */
#ifndef TL_PROBES_UDP_SEARCH_H
#define TL_PROBES_UDP_SEARCH_H

#include <stdbool.h>

#define UDP_SEARCH_WIDTH     1.03
#define UDP_SEARCH_DOWN      0.7  /* below a rate that failed, when none is known to pass */
#define UDP_SEARCH_LEAST_BPS 16e3 /* below that nothing passes at all */

struct udp_search {
    double start_bps, max_bps;
    double low_bps;  /* highest that passed; 0 = none yet */
    double next_bps; /* the next lower one that passed; 0 = none */
    double high_bps; /* lowest that did not pass; INFINITY = none yet */
};

void udp_search_begin(struct udp_search *search, double start_bps, double max_bps);

/* 0 when the knee is found, or when there is none to be found. */
double udp_search_next(const struct udp_search *search);

/* What became of a rate. One that passed and fails when tried again (a bucket that was full
 * the first time) says that what passed before it may have been lucky, too: the search goes on
 * below. */
void udp_search_take(struct udp_search *search, double rate_bps, bool passed);

/* Where the search has to end before it went on below: the next lower rate that passed counts,
 * though it was tried once only. */
void udp_search_settle(struct udp_search *search);

/* Some rate passed and some higher one did not. */
bool udp_search_has_knee(const struct udp_search *search);

#endif

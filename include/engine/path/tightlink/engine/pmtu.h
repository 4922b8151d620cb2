/* Path MTU: which packet sizes get through, in both directions, and what the way does to
 * traffic class and ECN. The method is that of RFC 8899 (datagrams of given size with DF set,
 * base 1200, three probes a size, none of the kernel's own path MTU discovery), with the sizes
 * of one round sent together, so that a search takes three or four round trips.
 *
 * The search itself is a pure state machine, so that it can be tried on simulated paths:
 *
 *   init -> round -> (passed | reported | too_long)* -> round_over -> round -> ... -> 0 sizes
 */
#ifndef TL_ENGINE_PMTU_H
#define TL_ENGINE_PMTU_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/status.h"

#define TL_PMTU_BASE_BYTES 1200 /* RFC 8899, 5.1.2 */
#define TL_PMTU_TRIES      3    /* MAX_PROBES there */
#define TL_PMTU_ROUND_MAX  12   /* sizes of one round */
#define TL_PMTU_ROUNDS_MAX 10

/* --- The search --------------------------------------------------------------------------- */

/* Sizes are of whole IP packets. Plain data. */
struct tl_pmtu_search {
    int max_bytes;      /* the sender's interface takes no more */
    int passed_bytes;   /* largest that got through; 0 = none yet */
    int failed_bytes;   /* smallest that did not although tried often enough; max + 1 = none */
    int reported_bytes; /* smallest MTU that a router reported; 0 = none */
    unsigned rounds;
    unsigned confirmed; /* failed_bytes failed in that many rounds, beside something that passed */
    bool base_asked;
    bool passes_now;   /* something arrived in the running round */
    size_t size_count; /* of the running round */
    int sizes[TL_PMTU_ROUND_MAX];
};

void tl_pmtu_search_init(struct tl_pmtu_search *search, int max_bytes);
/* The sizes to probe next, TL_PMTU_TRIES times each; 0 when the search is over. */
size_t tl_pmtu_search_round(struct tl_pmtu_search *search, int ret_sizes[TL_PMTU_ROUND_MAX]);
/* The border between what passes and what does not is known, or there is none. */
bool tl_pmtu_search_is_over(const struct tl_pmtu_search *search);
/* A packet of that size arrived. */
void tl_pmtu_search_passed(struct tl_pmtu_search *search, int bytes);
/* A router says that its next link takes no more than mtu. One that reports less than what is
 * known to pass, or more than was sent, lies and is not heeded. */
void tl_pmtu_search_reported(struct tl_pmtu_search *search, int sent_bytes, int mtu_bytes);
/* The sender's own interface refused that size. */
void tl_pmtu_search_too_long(struct tl_pmtu_search *search, int bytes);
/* Whether another packet of that size could still tell anything in this round. */
bool tl_pmtu_search_wants(const struct tl_pmtu_search *search, int bytes);
/* Everything that will come of this round has come: sizes that did not arrive count as failed. */
void tl_pmtu_search_round_over(struct tl_pmtu_search *search);
/* Nothing can change any more in this round: no need to wait for its end. */
bool tl_pmtu_search_is_settled(const struct tl_pmtu_search *search);

/* --- A path ------------------------------------------------------------------------------- */

/* One direction. Hops are counted from the direction's sender, which is 0. */
struct tl_pmtu_way {
    int mtu_bytes;            /* largest that passed; 0 = nothing passed */
    int failed_bytes;         /* smallest that did not; 0 = everything that was tried passed */
    int tried_bytes;          /* largest that was tried */
    int reported_bytes;       /* by a router; 0 = no report */
    struct in6_addr reporter; /* IPv4 as ::ffff:a.b.c.d; zero = none */
    bool black_hole;          /* of full size: lost without a report, smaller ones pass */
    int hole_first_hop;       /* last hop that a failing size reached; -1 = not looked for */
    int hole_last_hop;        /* first hop that it did not reach although small ones do */
    int hops_count;           /* links to the receiver, from the TTL; 0 = not known */
    bool class_known, ecn_known;
    uint8_t class_received; /* of packets that left with TL_PMTU_CLASS */
    uint8_t ecn_received;   /* ECN bits of packets that left with ECT(0) */
};

#define TL_PMTU_CLASS 0xb8 /* expedited forwarding (RFC 3246), not ECN capable */
#define TL_PMTU_ECT0  0x02 /* RFC 3168 */

struct tl_pmtu_spec {
    int up_max_bytes, down_max_bytes; /* MTU of the sender's interface; 0 = 1500 */
    int64_t rtt_ns;                   /* of the path, 0 = the handshake's */
    int cancel_fd;                    /* beside the client's own; -1 = none */
};

struct tl_pmtu_result {
    struct tl_pmtu_way up, down;         /* up: from this host to the far one */
    uint64_t sent_bytes, received_bytes; /* IP packets, proof left out */
};

#endif

/* Trains of datagrams behind a full path: the rate of its narrowest link. Private. */
#ifndef TL_PROBES_TRAINS_H
#define TL_PROBES_TRAINS_H

#include "tightlink/engine/udp.h"
#include "tightlink/probes/probes.h"

/* What a stage leaves for them: the trains themselves, and the two ends' agreement. */
#define TL_TRAINS_NS (1200 * INT64_C(1000000))

/* Fills the trains' length, gap, count and time, and the size of their datagrams, for a path that
 * carried that much. False, and nothing is filled, where so little passes that no train fits into
 * the time. */
bool tl_trains_plan(double carried_bps, unsigned datagram_bytes, struct tl_udp_spec *ret_spec);

/* Whether trains tell a link's rate at all. They do not where a train is hardly longer than what
 * the delay scatters by anew with each packet (scatter_ns), unless they last alike for all that,
 * nor where datagrams arrive in few bundles:
 * a grant of a radio link or an aggregate of Wi-Fi is sent at a rate of its own, and nothing in
 * between. Many bundles, as a card makes that raises an interrupt for some, take nothing away. True
 * for too few trains: their rate is unknown anyway. *ret_reason, static, else. */
bool tl_trains_are_even(const struct tl_udp_train *trains, unsigned count, double scatter_ns,
                        const char **ret_reason);

/* How long a link that sends in bundles holds a datagram back, at most: a train leaves at once, so
 * that beyond its own service it takes one such wait. The median of the uneven trains where at
 * least half are; else 0. NAN where no train tells. Pure. */
double tl_trains_held_ns(const struct tl_udp_train *trains, unsigned count);

/* The scatter of a direction that comes anew with each packet: a queue that others fill scatters
 * the delay as well, but slowly, and trains pass through it as they are. 0 where it is unknown. */
double tl_trains_scatter(const struct tl_facts *facts, enum tl_direction direction);

/* The rate of the narrowest link from the later half of the trains: the first ones may still meet
 * a bucket with tokens in it. NAN and a static sentence in *ret_reason where it cannot be told. */
double tl_trains_rate(const struct tl_udp_result *result, unsigned datagram_bytes,
                      double scatter_ns, const char **ret_reason);

/* Whether the question that trains answer, whose the rest of the link is, arises at all: not where
 * buffers held one connection and several, and no queue stood before a link. What is not known
 * leaves it open. */
bool tl_trains_are_wanted(const struct tl_facts *facts, enum tl_direction direction);

/* Sends trains at a tenth more than carried_bps, which TCP was seen to get through a full path.
 * A small token bucket that lets short bursts pass is empty then and stays so: its rate is what
 * the later trains show (a large one may have gathered tokens since, and lets them pass), while
 * other traffic leaves each train nearly the whole link (Dovrolis, Ramanathan and Moore, 2004).
 * Sets trains_bps and grant_ns of the direction, or trains_again_bps where trains were sent before,
 * or why they are unknown, and adds its bytes and its time to the outcome. Moves at most bytes.
 * Only TL_CANCELLED, TL_NETWORK and the like end the caller's stage; an unusable result is none. */
enum tl_status tl_trains_measure(const struct tl_probe *probe, enum tl_direction direction,
                                 bool again, double carried_bps, int64_t bytes,
                                 struct tl_probe_outcome *outcome, struct tl_error *reterr);

#endif

/* Which datagrams were damaged on the way, among those whose check did not fit.
 *
 * Such a datagram says little of itself: whoever can send to the socket can make one. What tells
 * damage from an addition is that the path took something away for it: the number that a damaged
 * datagram names never comes whole. So each number counts once, and one that comes whole as well
 * does not count; and where at least as many were added as that, somebody adds datagrams, and
 * nothing is told of damage. Who sees what is lost, and sends in its place, cannot be told from a
 * path that damages. Pure: numbers in, counts out. */
#ifndef TL_ENGINE_UDP_DAMAGE_H
#define TL_ENGINE_UDP_DAMAGE_H

#include "udp_track.h"

#define UDP_CLAIMS_MAX 1024 /* numbers whose fate is open: more than a second of a bad path */

/* All zero: none. */
struct udp_damage {
    uint64_t claims[UDP_CLAIMS_MAX]; /* ascending, each once: fate open */
    unsigned count;
    uint64_t damaged_count; /* numbers that came damaged alone */
    uint64_t added_count;   /* datagrams that no datagram is missing for */
};

/* A datagram came that names this number and does not fit. */
void udp_damage_add(struct udp_damage *damage, const struct udp_track *track, uint64_t sequence);

/* Tells the fate of what will soon be out of the track's window. Call after each batch. */
void udp_damage_settle(struct udp_damage *damage, const struct udp_track *track);

/* Nothing more comes of sent_count numbers; the track is still open. Where somebody adds datagrams,
 * damaged_count becomes 0, and those that it had are added ones. */
void udp_damage_close(struct udp_damage *damage, const struct udp_track *track,
                      uint64_t sent_count);

#endif

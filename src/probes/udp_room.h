/* What the UDP stage has left of its time, its bytes and its tests, and what of that the search for
 * the knee must leave for the trains and bursts behind it: they decide more than the last percent
 * of the knee. Pure. Private to the probes. */
#ifndef TL_PROBES_UDP_ROOM_H
#define TL_PROBES_UDP_ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct udp_room {
    int64_t until_ns; /* monotonic */
    int64_t bytes_left;
    int64_t kept_ns;      /* for what follows the search; 0 once it is over */
    unsigned tests, kept; /* tests that may still be run, and those of what follows */
};

/* rtt_ns 0: not known. */
void udp_room_begin(struct udp_room *room, int64_t now_ns, int64_t duration_ns, int64_t bytes,
                    double rtt_ns);
/* The search is over: what was kept is free. */
void udp_room_release(struct udp_room *room);
/* Whether a test of that length, with that many bytes at worst, may begin now. */
bool udp_room_fits(const struct udp_room *room, int64_t now_ns, int64_t duration_ns,
                   uint64_t worst_bytes);

#endif

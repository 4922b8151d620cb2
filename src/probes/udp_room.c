/* The budgets of the UDP stage. */
#include "udp_room.h"

#include "tightlink/base/time.h"

#define TESTS_MAX 32

/* Trains of 0.6 s and two kinds of bursts of 0.4 s each, at rates above some Mb/s, and for each of
 * these tests its round trips, a drained queue and a grace. */
#define AFTER_NS    (1800 * TL_NS_PER_MS)
#define AFTER_RTTS  12
#define AFTER_TESTS 3
/* Where time is short the search gets most of it all the same. */
#define AFTER_SHARE 3

void udp_room_begin(struct udp_room *room, int64_t now_ns, int64_t duration_ns, int64_t bytes,
                    double rtt_ns)
{
    int64_t wanted_ns = AFTER_NS + (int64_t)(AFTER_RTTS * (rtt_ns > 0 ? rtt_ns : 0));
    int64_t most_ns = duration_ns / AFTER_SHARE;
    *room = (struct udp_room){.until_ns = now_ns + duration_ns,
                              .bytes_left = bytes,
                              .kept_ns = wanted_ns < most_ns ? wanted_ns : most_ns,
                              .tests = TESTS_MAX,
                              .kept = AFTER_TESTS};
}

void udp_room_release(struct udp_room *room)
{
    room->kept_ns = 0;
    room->kept = 0;
}

bool udp_room_fits(const struct udp_room *room, int64_t now_ns, int64_t duration_ns,
                   uint64_t worst_bytes)
{
    return room->tests > room->kept && now_ns + duration_ns <= room->until_ns - room->kept_ns &&
           room->bytes_left > 0 && worst_bytes <= (uint64_t)room->bytes_left;
}

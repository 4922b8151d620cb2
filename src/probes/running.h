/* A look at transfers with the far end that run already, of whatever program: windows, buffers,
 * bursts and pauses. Sends nothing. Private to the probes. */
#ifndef TL_PROBES_RUNNING_H
#define TL_PROBES_RUNNING_H

#include "tightlink/facts/facts.h"
#include "tightlink/host/sockets.h"
#include "tightlink/probes/probes.h"

#define TL_RUNNING_GAPS_MAX 1024

/* One direction of one connection as it is watched. Zeroed before the first reading. */
struct tl_running {
    bool begun, fixed_buffer;
    uint64_t bytes, first_bytes;             /* counter of the kernel: now, at the first reading */
    int64_t first_ns, last_ns, last_move_ns; /* readings; when bytes moved last */
    uint64_t burst_count;
    size_t gap_count;
    double gaps_ns[TL_RUNNING_GAPS_MAX];
    double idle_ns;
    uint32_t buffer_bytes, window_bytes, mss_bytes;
    uint64_t first_rwnd_ns, rwnd_ns;
};

/* Takes a reading. A pause is a time of more than gap_ns in which no byte moved. */
void tl_running_take(struct tl_running *running, const struct tl_host_socket *socket,
                     enum tl_direction direction, int64_t now_ns, int64_t gap_ns);

/* The facts of one direction; NULL: nothing ran there. */
void tl_running_set(const struct tl_running *running, enum tl_direction direction,
                    struct tl_facts *facts);

/* Watches for up to two seconds where there is something to see, else returns at once. */
void tl_running_watch(const struct tl_probe *probe);

#endif

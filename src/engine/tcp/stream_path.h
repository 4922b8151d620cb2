/* Ways to hand payload to the kernel and to take it, and the choice among them. Private to the
 * streams.
 *
 * Measured on Linux 6.18, two cores, loopback, one stream (CPU seconds of the sender per GB,
 * receiver copying): send() 0.046 to 0.12, sendfile() 0.032 to 0.056, splice() 0.018 to 0.022.
 * Calls of 1 MiB in place of 256 KiB spared 15 % of a send() where a core has 1 MiB of second level
 * cache, and nothing where it has 512 KiB.
 * What is cheapest depends on the kernel, the processor, the card and the far end, so a fast stream
 * tries them for some tens of milliseconds of its warm-up and keeps the cheapest. A slow stream
 * stays with send(), as the applications do that it stands for.
 *
 * tl_path_trial_*: pure but for what is passed in; one thread. */
#ifndef TL_ENGINE_STREAM_PATH_H
#define TL_ENGINE_STREAM_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/engine/stream.h"

#define PATH_TRIAL_FROM_NS                                                                         \
    (50 * INT64_C(1000000)) /* since the start: past the handshake's burst                         \
                             */
#define PATH_TRIAL_PATIENCE_NS (450 * INT64_C(1000000)) /* who is not fast then is left alone */
#define PATH_TRIAL_MIN_NS      (1000 * INT64_C(1000000)) /* shorter tests are all warm-up: no trial */
#define PATH_TRIAL_RATE_BPS    2e9                       /* fast … */
#define PATH_TRIAL_CPU         0.25 /* … or busy: share of a core that the thread needs */
#define PATH_SLICE_CPU_NS                                                                          \
    (3 * INT64_C(1000000)) /* a slice ends after so much of the thread's …                       \
                            */
#define PATH_SLICE_WALL_NS (10 * INT64_C(1000000)) /* … or of the clock's time */
#define PATH_ROUNDS        3
#define PATH_GAIN_RATIO    0.95 /* another way must cost at most that much of the first one's */
#define PATH_SLOWER_RATIO  0.8  /* and be no slower than that */

#define PATH_RECV_FROM_NS (300 * INT64_C(1000000)) /* a receiver's trial: behind its sender's */

enum path_trial_state { PATH_WAITING, PATH_TRYING, PATH_DECIDED };

/* What a call is, and the payload of one. A receiver's have no path (AUTO). */
struct path_way {
    enum tl_send_path path;
    uint32_t bytes;
};

#define PATH_WAYS_MAX 5

struct path_trial {
    enum path_trial_state state;
    struct path_way ways[PATH_WAYS_MAX]; /* the first as applications do; never change */
    unsigned count;
    unsigned way; /* to be used now; at the end the choice */
    bool usable[PATH_WAYS_MAX];
    unsigned round;
    int64_t begin_ns; /* since the start: no trial before */
    int64_t from_ns;
    uint64_t from_bytes, from_cpu_ns; /* of the slice */
    struct path_score {
        double bytes, wall_ns, cpu_ns;
    } scores[PATH_WAYS_MAX];
};

/* A sender's. wanted AUTO makes a trial among the usable ones; else it is decided from the start
 * (COPY where the wanted one is not usable). */
void tl_path_trial_init(struct path_trial *trial, enum tl_send_path wanted, bool has_splice,
                        bool has_zerocopy, int64_t duration_ns);

/* A receiver's: reads of `bytes`, a quarter of that, and four times as much where most_bytes
 * permits. */
void tl_path_trial_init_recv(struct path_trial *trial, uint32_t bytes, uint32_t most_bytes,
                             int64_t duration_ns);

/* A look at what the stream has done since its start; sets trial->way. Only while the state
 * is not PATH_DECIDED. */
void tl_path_trial_step(struct path_trial *trial, int64_t now_ns, uint64_t bytes, uint64_t cpu_ns);

/* A path that turned out not to work (the kernel copies; not supported). */
void tl_path_trial_strike(struct path_trial *trial, enum tl_send_path path);

/* What a receiver takes at once to begin with: half of the second level cache, 32 KiB to 256 KiB;
 * and all streams together at most RECV_TOTAL_BYTES. cache_bytes <= 0: not known.
 *
 * Measured on Linux 6.18, two cores with 512 KiB each: with four streams an eighth costs more in
 * calls and wake-ups than it spares in copying. */
#define RECV_TOTAL_BYTES (8 * 1024 * 1024)
uint32_t tl_stream_recv_bytes(long cache_bytes, uint32_t streams);

/* What it may take at most, which is its buffer's size: four times that, within the same bound. */
uint32_t tl_stream_recv_most_bytes(uint32_t bytes, uint32_t streams);

/* How much has to wait in a receiver's socket before its thread is woken (SO_RCVLOWAT). One byte,
 * but for a stream so fast that more comes within WAKE_NS: waking a thread for each segment
 * costs up to a tenth of all processor time there. At most WAKE_BYTES, and an eighth of the
 * receive buffer, so that the window that is offered never depends on it. Pure. */
#define WAKE_BYTES     (128 * 1024)
#define WAKE_MIN_BYTES (32 * 1024) /* less is not worth a call */
#define WAKE_NS        (500 * INT64_C(1000))
int tl_stream_wake_bytes(double rate_bps, int rcvbuf_bytes);

#endif

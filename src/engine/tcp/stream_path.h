/* Ways to hand payload to the kernel, and the choice among them; sizes at the receiver. Private
 * to the streams.
 *
 * Measured on Linux 6.18, two cores, loopback, one stream (CPU seconds of the sender per GB,
 * receiver copying): send() 0.046 to 0.12, sendfile() 0.032 to 0.056, splice() 0.018 to 0.022.
 * What is cheapest depends on the kernel, the card and the far end, so a fast stream tries them for
 * some tens of milliseconds of its warm-up and keeps the cheapest. A slow stream stays with send(),
 * as the applications do that it stands for.
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
#define PATH_TRIAL_UNTIL_NS (500 * INT64_C(1000000))  /* who is not fast by then stays with COPY */
#define PATH_TRIAL_MIN_NS   (1000 * INT64_C(1000000)) /* shorter tests are all warm-up: no trial */
#define PATH_TRIAL_RATE_BPS 2e9                       /* fast … */
#define PATH_TRIAL_CPU      0.25 /* … or busy: share of a core that the thread needs */
#define PATH_SLICE_CPU_NS                                                                          \
    (3 * INT64_C(1000000)) /* a slice ends after so much of the thread's …                       \
                            */
#define PATH_SLICE_WALL_NS (10 * INT64_C(1000000)) /* … or of the clock's time */
#define PATH_ROUNDS        3
#define PATH_GAIN_RATIO    0.95 /* another way must cost at most that much of COPY's */
#define PATH_SLOWER_RATIO  0.8  /* and be no slower than that */

enum path_trial_state { PATH_WAITING, PATH_TRYING, PATH_DECIDED };

struct path_trial {
    enum path_trial_state state;
    enum tl_send_path path; /* to be used now; at the end the choice */
    bool usable[TL_SEND_PATH_COUNT];
    unsigned round;
    int64_t from_ns;
    uint64_t from_bytes, from_cpu_ns; /* of the slice */
    struct path_score {
        double bytes, wall_ns, cpu_ns;
    } scores[TL_SEND_PATH_COUNT];
};

/* wanted AUTO makes a trial among the usable ones; else it is decided from the start (COPY
 * where the wanted one is not usable). */
void tl_path_trial_init(struct path_trial *trial, enum tl_send_path wanted, bool has_splice,
                        bool has_zerocopy, int64_t duration_ns);

/* A look at what the stream has done since its start; sets trial->path. Only while the state
 * is not PATH_DECIDED. */
void tl_path_trial_step(struct path_trial *trial, int64_t now_ns, uint64_t bytes, uint64_t cpu_ns);

/* A path that turned out not to work (the kernel copies; not supported). */
void tl_path_trial_strike(struct path_trial *trial, enum tl_send_path path);

/* Bytes of a receiver's buffer, which is what it takes at once: half of the second level cache,
 * 32 KiB to 256 KiB; and all streams together at most 8 MiB. cache_bytes <= 0: not known.
 *
 * Measured on Linux 6.18, two cores with 512 KiB each: with four streams an eighth costs more in
 * calls and wake-ups than it spares in copying. */
uint32_t tl_stream_recv_bytes(long cache_bytes, uint32_t streams);

/* How much has to wait in a receiver's socket before its thread is woken (SO_RCVLOWAT). One byte,
 * but for a stream so fast that more comes within WAKE_NS: waking a thread for each segment
 * costs up to a tenth of all processor time there. At most WAKE_BYTES, and an eighth of the
 * receive buffer, so that the window that is offered never depends on it. Pure. */
#define WAKE_BYTES     (128 * 1024)
#define WAKE_MIN_BYTES (32 * 1024) /* less is not worth a call */
#define WAKE_NS        (500 * INT64_C(1000))
int tl_stream_wake_bytes(double rate_bps, int rcvbuf_bytes);

#endif

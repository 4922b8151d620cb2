/* The choice of how a sender hands payload over, and of a receiver's buffer and wake-ups. */
#include "stream_path.h"

#define RECV_MIN_BYTES (32 * 1024)
#define RECV_STEP      4             /* between the sizes that are tried */
#define CACHE_BYTES    (1024 * 1024) /* where the machine does not say */

uint32_t tl_stream_recv_bytes(long cache_bytes, uint32_t streams)
{
    uint32_t bytes = RECV_MIN_BYTES;
    long share = (cache_bytes > 0 ? cache_bytes : CACHE_BYTES) / 2;
    while (bytes < TL_STREAM_RECV_BYTES && (long)bytes * 2 <= share &&
           (uint64_t)bytes * 2 * streams <= RECV_TOTAL_BYTES)
        bytes *= 2;
    return bytes;
}

uint32_t tl_stream_recv_most_bytes(uint32_t bytes, uint32_t streams)
{
    uint64_t most = (uint64_t)bytes * RECV_STEP;
    return most * streams <= RECV_TOTAL_BYTES ? (uint32_t)most : bytes;
}

int tl_stream_wake_bytes(double rate_bps, int rcvbuf_bytes)
{
    double soon_bytes = rate_bps / 8 * (double)WAKE_NS / 1e9;
    int bytes = rcvbuf_bytes / 8 < WAKE_BYTES ? rcvbuf_bytes / 8 : WAKE_BYTES;
    if (!(soon_bytes >= bytes)) /* NAN is slow, too */
        bytes = soon_bytes > 0 ? (int)soon_bytes : 0;
    return bytes >= WAKE_MIN_BYTES ? bytes : 1;
}

static void add_way(struct path_trial *trial, enum tl_send_path path, uint32_t bytes, bool usable)
{
    trial->usable[trial->count] = usable;
    trial->ways[trial->count++] = (struct path_way){path, bytes};
}

void tl_path_trial_init(struct path_trial *trial, enum tl_send_path wanted, bool has_splice,
                        bool has_zerocopy, int64_t duration_ns)
{
    *trial = (struct path_trial){.state = PATH_DECIDED, .begin_ns = PATH_TRIAL_FROM_NS};
    add_way(trial, TL_SEND_COPY, TL_STREAM_SEND_BYTES, true);
    add_way(trial, TL_SEND_COPY, TL_STREAM_LARGE_BYTES, true);
    add_way(trial, TL_SEND_SPLICE, TL_STREAM_SPLICE_BYTES, has_splice);
    add_way(trial, TL_SEND_SPLICE, TL_STREAM_LARGE_BYTES, has_splice);
    add_way(trial, TL_SEND_ZEROCOPY, TL_STREAM_SEND_BYTES, has_zerocopy);
    if (wanted == TL_SEND_AUTO) {
        if (duration_ns >= PATH_TRIAL_MIN_NS)
            trial->state = PATH_WAITING;
        return;
    }
    while (trial->way < trial->count && trial->ways[trial->way].path != wanted)
        trial->way++;
    if (trial->way == trial->count || !trial->usable[trial->way])
        trial->way = 0;
}

void tl_path_trial_init_recv(struct path_trial *trial, uint32_t bytes, uint32_t most_bytes,
                             int64_t duration_ns)
{
    *trial = (struct path_trial){.state = PATH_DECIDED, .begin_ns = PATH_RECV_FROM_NS};
    add_way(trial, TL_SEND_AUTO, bytes, true);
    add_way(trial, TL_SEND_AUTO, bytes / RECV_STEP, bytes / RECV_STEP >= RECV_MIN_BYTES);
    add_way(trial, TL_SEND_AUTO, most_bytes, most_bytes > bytes);
    if (duration_ns >= PATH_TRIAL_MIN_NS)
        trial->state = PATH_WAITING;
}

static void begin_slice(struct path_trial *trial, int64_t now_ns, uint64_t bytes, uint64_t cpu_ns)
{
    trial->from_ns = now_ns;
    trial->from_bytes = bytes;
    trial->from_cpu_ns = cpu_ns;
}

/* Worth a trial: fast, or a core busy with it. */
static void wait_for_speed(struct path_trial *trial, int64_t now_ns, uint64_t bytes,
                           uint64_t cpu_ns)
{
    if (now_ns < trial->begin_ns)
        return;
    bool fast = (double)bytes * 8e9 >= PATH_TRIAL_RATE_BPS * (double)now_ns;
    if (fast || (double)cpu_ns >= PATH_TRIAL_CPU * (double)now_ns) {
        trial->state = PATH_TRYING;
        begin_slice(trial, now_ns, bytes, cpu_ns);
    } else if (now_ns >= trial->begin_ns + PATH_TRIAL_PATIENCE_NS) {
        trial->state = PATH_DECIDED;
    }
}

/* The cheapest per byte, unless it is slower. */
static unsigned choose(const struct path_trial *trial)
{
    const struct path_score *first = &trial->scores[0];
    unsigned best = 0;
    double best_cost = PATH_GAIN_RATIO * first->cpu_ns / first->bytes;
    for (unsigned way = 1; way < trial->count; way++) {
        const struct path_score *score = &trial->scores[way];
        if (!trial->usable[way] || score->bytes <= 0 ||
            score->bytes / score->wall_ns < PATH_SLOWER_RATIO * first->bytes / first->wall_ns)
            continue;
        if (score->cpu_ns / score->bytes < best_cost) {
            best = way;
            best_cost = score->cpu_ns / score->bytes;
        }
    }
    return best;
}

/* The next usable way; round after round, as the path's state drifts meanwhile. */
static void next_slice(struct path_trial *trial)
{
    do {
        if (++trial->way == trial->count) {
            trial->way = 0;
            trial->round++;
        }
    } while (!trial->usable[trial->way]);
    if (trial->round < PATH_ROUNDS)
        return;
    trial->state = PATH_DECIDED;
    trial->way = choose(trial);
}

void tl_path_trial_step(struct path_trial *trial, int64_t now_ns, uint64_t bytes, uint64_t cpu_ns)
{
    if (trial->state == PATH_WAITING) {
        wait_for_speed(trial, now_ns, bytes, cpu_ns);
        return;
    }
    int64_t wall_ns = now_ns - trial->from_ns;
    uint64_t used_ns = cpu_ns - trial->from_cpu_ns, moved = bytes - trial->from_bytes;
    if (trial->state != PATH_TRYING || moved == 0 || wall_ns <= 0 ||
        (used_ns < PATH_SLICE_CPU_NS && wall_ns < PATH_SLICE_WALL_NS))
        return;
    struct path_score *score = &trial->scores[trial->way];
    score->bytes += (double)moved;
    score->wall_ns += (double)wall_ns;
    score->cpu_ns += (double)used_ns;
    next_slice(trial);
    begin_slice(trial, now_ns, bytes, cpu_ns);
}

void tl_path_trial_strike(struct path_trial *trial, enum tl_send_path path)
{
    if (path == TL_SEND_COPY)
        return;
    for (unsigned way = 0; way < trial->count; way++)
        if (trial->ways[way].path == path)
            trial->usable[way] = false;
    if (trial->ways[trial->way].path == path)
        trial->way = 0;
}

/* Inside of tl_streams: what its files share. Nobody else includes this.
 *
 * Threads: the owner (create … destroy), one worker a stream, one sampler.
 * The data path takes no lock: workers publish by atomics. Two locks exist, taken
 * in this order: a stream's fd_lock, which the sampler holds while it reads the
 * socket and the worker while it closes it; then the ring's. */
#ifndef TL_ENGINE_STREAM_PRIVATE_H
#define TL_ENGINE_STREAM_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include <sys/types.h>

#include "stream_path.h"
#include "tightlink/base/random.h"
#include "tightlink/engine/stream.h"
#include "transfer_worker.h"

/* Payload is cut from a shared pool of this size at random places, so that no two sends in
 * a row carry the same bytes. It stays in a second level cache: a call of more takes it again. */
#define PAYLOAD_POOL_BYTES (512 * 1024)

struct sample_ring {
    pthread_mutex_t lock;
    struct tl_tcp_sample *samples;
    uint32_t size, first, count;
    uint64_t dropped;
};

struct stream {
    struct tl_streams *set;
    uint32_t index;
    pthread_mutex_t fd_lock;
    int fd;           /* -1 once closed */
    int schedstat_fd; /* of the worker thread, -1 where the kernel has none */
    pthread_t thread;
    bool created; /* thread has to be joined */
    unsigned char *recv_buffer;
    struct transfer_store *store; /* where payload comes from or goes to; NULL: memory */
    uint64_t sampled_wait_ns;     /* in the last sample; under fd_lock */
    struct tl_random rng;
    int rcvbuf_bytes, sndbuf_bytes;
    unsigned dscp;
    /* The worker's own. */
    bool zerocopy_on;          /* SO_ZEROCOPY is set */
    uint32_t zerocopy_pending; /* sends whose pages the kernel still holds */
    int pipe_fds[2];           /* of splice(), -1 = not needed so far */
    uint32_t pipe_bytes;       /* its size, as asked for */
    size_t piped_bytes;        /* in it */
    char congestion[TL_STREAM_CONGESTION_SIZE];
    /* Written by the worker, read by anyone. Times since start, -1 = never. */
    _Atomic uint64_t bytes, cpu_ns, run_delay_ns;
    _Atomic uint64_t wait_ns;       /* waits that are over */
    _Atomic int64_t waits_since_ns; /* CLOCK_MONOTONIC, 0 = does not wait */
    _Atomic int64_t first_byte_ns, last_byte_ns, end_ns;
    atomic_int end, errnum; /* end is stored last */
};

struct tl_streams {
    struct tl_streams_spec spec; /* defaults filled in */
    struct stream streams[TL_STREAMS_MAX];
    uint32_t count;
    int stop_fd; /* readable from the stop on */
    int done_fd; /* readable once alive is 0 */
    atomic_bool stopping;
    atomic_uint alive;        /* workers */
    _Atomic int64_t start_ns; /* CLOCK_MONOTONIC, 0 before start */
    pthread_t sampler;
    bool sampler_created;
    unsigned char *pool; /* senders: PAYLOAD_POOL_BYTES of noise, never written after create */
    atomic_uint way;     /* of trial.ways, in use */
    atomic_bool zerocopy_copied; /* the kernel said so, or has no MSG_ZEROCOPY */
    atomic_bool splice_refused;
    unsigned placed_count;   /* processors that workers keep to, 0 = any */
    struct path_trial trial; /* the first stream's worker's, after start; its ways are everyone's */
    struct sample_ring ring;
};

/* stream_worker.c: the thread of one stream. */
void *tl_stream_worker_main(void *stream);

/* Why its loop ended; RUNNING: it did not. */
struct ending {
    enum tl_stream_end end;
    int errnum;
};

/* For the loops that move payload. Times since start but where it says otherwise. */
struct ending tl_stream_ending_of_errno(int errnum);
struct ending tl_stream_check_orders(const struct stream *stream, int64_t now_ns);
void tl_stream_count_bytes(struct stream *stream, ssize_t bytes, int64_t at_ns);
/* Waits until the socket is ready, a stop, or until_ns (CLOCK_MONOTONIC). Says nothing about
 * which: the caller's loop looks at each. The waiting is counted and can be seen from outside. */
void tl_stream_wait_socket(struct stream *stream, short events, int64_t until_ns);

/* A receiver that is ahead of spec.receive_bps waits a little, and then looks for orders again;
 * false: it is not ahead. */
bool tl_stream_hold_rate(struct stream *stream, int64_t now_ns);

/* Whether the far end has been silent for TL_STREAM_USER_TIMEOUT_NS since *heard_ns: on this stream
 * and on all others of its set. One that is alive but short of processors lets a stream wait for
 * longer than that while it serves others; then *heard_ns moves on to what they heard last. */
bool tl_stream_peer_is_silent(const struct stream *stream, int64_t *heard_ns, int64_t now_ns);

/* stream_receive.c */
struct ending tl_stream_receive_memory(struct stream *stream, int64_t start_ns);

/* transfer_worker.c: the loops of a stream whose payload comes from a disk or goes to one. */
struct ending tl_stream_send_store(struct stream *stream, int64_t start_ns);
struct ending tl_stream_receive_store(struct stream *stream, int64_t start_ns);
/* stream_send.c */
enum tl_status tl_stream_pool_create(struct tl_streams *set) TL_WARN_UNUSED;
/* As send() does, at most left bytes. Worker only, like what follows. */
ssize_t tl_stream_send_some(struct stream *stream, struct path_way way, uint64_t left);
/* What its next call is to be: a sender's, a receiver's. */
struct path_way tl_stream_choose_way(struct stream *stream, int64_t now_ns);
bool tl_stream_give_up_splice(struct stream *stream, int errnum);
void tl_stream_close_pipe(struct stream *stream);
void tl_stream_drain_notices(struct stream *stream);

/* stream_sampler.c */
void *tl_stream_sampler_main(void *streams);
enum tl_status tl_sample_ring_init(struct sample_ring *ring, uint32_t size) TL_WARN_UNUSED;
void tl_sample_ring_finish(struct sample_ring *ring);
size_t tl_sample_ring_drain(struct sample_ring *ring, struct tl_tcp_sample *ret_samples,
                            size_t max);
/* Reads the stream's socket and worker into the ring; the caller holds fd_lock and
 * fd is open. */
void tl_stream_sample(struct stream *stream, bool last);
/* Nanoseconds that the stream's thread waited for a CPU; false where unknown. */
bool tl_stream_run_delay(const struct stream *stream, uint64_t *ret_ns);

#endif

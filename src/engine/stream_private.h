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

#include "tightlink/base/random.h"
#include "tightlink/engine/stream.h"

/* Payload is cut from a shared pool of this size at random places, so that no two
 * send() calls carry the same bytes in the same place. */
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
    uint64_t sampled_wait_ns; /* in the last sample; under fd_lock */
    struct tl_random rng;
    int rcvbuf_bytes, sndbuf_bytes;
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
    struct sample_ring ring;
};

/* stream_worker.c: the thread of one stream. */
void *tl_stream_worker_main(void *stream);

/* stream_sampler.c */
void *tl_stream_sampler_main(void *streams);
enum tl_status tl_sample_ring_init(struct sample_ring *ring, uint32_t size) TL_WARN_UNUSED;
void tl_sample_ring_finish(struct sample_ring *ring);
void tl_sample_ring_push(struct sample_ring *ring, const struct tl_tcp_sample *sample);
size_t tl_sample_ring_drain(struct sample_ring *ring, struct tl_tcp_sample *ret_samples,
                            size_t max);
/* Reads the stream's socket and worker into the ring; the caller holds fd_lock and
 * fd is open. */
void tl_stream_sample(struct stream *stream, bool last);
/* Nanoseconds that the stream's thread waited for a CPU; false where unknown. */
bool tl_stream_run_delay(const struct stream *stream, uint64_t *ret_ns);

#endif

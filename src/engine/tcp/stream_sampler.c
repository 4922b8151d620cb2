/* The sampler thread of a test and the bounded ring that it fills. Reading one
 * socket lives in sampler.c. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "stream_private.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/sampler.h"

enum tl_status tl_sample_ring_init(struct sample_ring *ring, uint32_t size)
{
    /* Large: comes as untouched zero pages, so that only what is used costs memory. */
    ring->samples = calloc(size, sizeof(*ring->samples));
    if (!ring->samples)
        return TL_NOMEM;
    ring->size = size;
    pthread_mutex_init(&ring->lock, NULL);
    return TL_OK;
}

void tl_sample_ring_finish(struct sample_ring *ring)
{
    if (!ring->samples)
        return;
    free(ring->samples);
    ring->samples = NULL;
    pthread_mutex_destroy(&ring->lock);
}

static void push_sample(struct sample_ring *ring, const struct tl_tcp_sample *sample)
{
    pthread_mutex_lock(&ring->lock);
    if (ring->count == ring->size) {
        ring->first = (ring->first + 1) % ring->size;
        ring->count--;
        ring->dropped++;
    }
    ring->samples[(ring->first + ring->count) % ring->size] = *sample;
    ring->count++;
    pthread_mutex_unlock(&ring->lock);
}

size_t tl_sample_ring_drain(struct sample_ring *ring, struct tl_tcp_sample *ret_samples, size_t max)
{
    size_t moved = 0;
    pthread_mutex_lock(&ring->lock);
    for (; moved < max && ring->count > 0; moved++) {
        ret_samples[moved] = ring->samples[ring->first];
        ring->first = (ring->first + 1) % ring->size;
        ring->count--;
    }
    pthread_mutex_unlock(&ring->lock);
    return moved;
}

/* schedstat: "<time on CPU> <time waiting> <timeslices>" in ns
 * (Documentation/scheduler/sched-stats.rst). */
bool tl_stream_run_delay(const struct stream *stream, uint64_t *ret_ns)
{
    char text[96];
    if (stream->schedstat_fd < 0)
        return false;
    ssize_t len = pread(stream->schedstat_fd, text, sizeof(text) - 1, 0);
    if (len <= 0)
        return false;
    text[len] = '\0';
    unsigned long long waited;
    if (sscanf(text, "%*u %llu", &waited) != 1)
        return false;
    *ret_ns = waited;
    return true;
}

/* CPU time of the worker; its own last word once it has ended. */
static uint64_t worker_cpu_ns(const struct stream *stream, bool last)
{
    struct timespec used;
    clockid_t clock;
    if (last || pthread_getcpuclockid(stream->thread, &clock) != 0 ||
        clock_gettime(clock, &used) != 0)
        return atomic_load(&stream->cpu_ns);
    return (uint64_t)used.tv_sec * UINT64_C(1000000000) + (uint64_t)used.tv_nsec;
}

/* Waits that are over, and the one that goes on. The two are read apart, so the sum may
 * be short by one wait that just ended; it is kept from running backwards. */
static void sample_waiting(struct stream *stream, struct tl_tcp_sample *sample)
{
    int64_t since_ns = atomic_load_explicit(&stream->waits_since_ns, memory_order_relaxed);
    uint64_t waited_ns = atomic_load_explicit(&stream->wait_ns, memory_order_relaxed);
    if (since_ns != 0)
        waited_ns += (uint64_t)(tl_now_ns() - since_ns);
    if (waited_ns < stream->sampled_wait_ns)
        waited_ns = stream->sampled_wait_ns;
    stream->sampled_wait_ns = waited_ns;
    tl_sample_set(sample, TL_SF_wait_ns, waited_ns);
    tl_sample_set(sample, TL_SF_waiting, since_ns != 0);
}

void tl_stream_sample(struct stream *stream, bool last)
{
    struct tl_tcp_sample sample = {.stream = stream->index, .last = last};
    uint64_t run_delay_ns;
    /* Time, application bytes and TCP_INFO close together: ratios are made of them. */
    tl_sample_set(&sample, TL_SF_app_bytes,
                  atomic_load_explicit(&stream->bytes, memory_order_relaxed));
    sample.time_ns = tl_now_ns() - atomic_load(&stream->set->start_ns);
    tl_sample_read_socket(stream->fd, &sample);
    sample_waiting(stream, &sample);
    tl_sample_set(&sample, TL_SF_cpu_ns, worker_cpu_ns(stream, last));
    if (tl_stream_run_delay(stream, &run_delay_ns))
        tl_sample_set(&sample, TL_SF_run_delay_ns, run_delay_ns);
    push_sample(&stream->set->ring, &sample);
}

static void sample_all(struct tl_streams *set)
{
    for (uint32_t i = 0; i < set->count; i++) {
        struct stream *stream = &set->streams[i];
        pthread_mutex_lock(&stream->fd_lock);
        if (stream->fd >= 0)
            tl_stream_sample(stream, false);
        pthread_mutex_unlock(&stream->fd_lock);
    }
}

/* Ticks on a fixed grid from the start; a tick that was missed is not made up for. */
static int64_t next_tick_ns(const struct tl_streams *set, int64_t now_ns)
{
    int64_t start_ns = atomic_load(&set->start_ns);
    int64_t interval_ns = set->spec.interval_ns;
    return start_ns + ((now_ns - start_ns) / interval_ns + 1) * interval_ns;
}

void *tl_stream_sampler_main(void *arg)
{
    struct tl_streams *set = arg;
    struct pollfd done = {.fd = set->done_fd, .events = POLLIN};
    for (;;) {
        sample_all(set);
        int64_t now_ns = tl_now_ns();
        int64_t wait_ns = next_tick_ns(set, now_ns) - now_ns;
        struct timespec timeout = {.tv_sec = wait_ns / TL_NS_PER_S,
                                   .tv_nsec = wait_ns % TL_NS_PER_S};
        int ready = ppoll(&done, 1, &timeout, NULL);
        if (ready > 0 || (ready < 0 && errno != EINTR))
            return NULL;
    }
}

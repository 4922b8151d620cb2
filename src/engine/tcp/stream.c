/* tl_streams: the object, its life and its answers. The data path lives in
 * stream_worker.c and stream_send.c, the sampler and its ring in stream_sampler.c. */
#include "tightlink/engine/stream.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "stream_private.h"
#include "tightlink/base/libc.h"
#include "tightlink/base/thread.h"
#include "tightlink/base/time.h"
#include "tightlink/base/wake.h"
#include "tightlink/host/counters.h"
#include "tightlink/host/place.h"

static enum tl_status fill_defaults(struct tl_streams_spec *spec, struct tl_error *reterr)
{
    if (spec->interval_ns == 0)
        spec->interval_ns = TL_STREAM_INTERVAL_NS;
    if (spec->sample_count == 0)
        spec->sample_count = TL_STREAM_SAMPLE_COUNT;
    if (spec->duration_ns <= 0)
        return tl_error_set(reterr, TL_RANGE, "a test needs a duration");
    if (spec->interval_ns < TL_STREAM_INTERVAL_MIN_NS ||
        spec->interval_ns > TL_STREAM_INTERVAL_MAX_NS)
        return tl_error_set(reterr, TL_RANGE, "the sampling interval must be 5 ms to 1 s");
    if (spec->sample_count < TL_STREAM_SAMPLE_COUNT_MIN ||
        spec->sample_count > TL_STREAM_SAMPLE_COUNT_MAX)
        return tl_error_set(reterr, TL_RANGE, "room for samples must be %d to %d",
                            TL_STREAM_SAMPLE_COUNT_MIN, TL_STREAM_SAMPLE_COUNT_MAX);
    return TL_OK;
}

static void init_path(struct tl_streams *set)
{
    if (!set->spec.send) /* nothing is sent: stays AUTO, "not known" */
        return;
    tl_path_trial_init(&set->trial, set->spec.send_path, true, true, set->spec.duration_ns);
    atomic_store(&set->way, set->trial.way);
}

enum tl_status tl_streams_create(const struct tl_streams_spec *spec,
                                 struct tl_streams **ret_streams, struct tl_error *reterr)
{
    struct tl_streams *set = calloc(1, sizeof(*set));
    if (!set)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a test's streams");
    set->spec = *spec;
    set->stop_fd = -1;
    set->done_fd = -1;
    enum tl_status status = fill_defaults(&set->spec, reterr);
    if (status != TL_OK)
        goto out;
    set->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    set->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (set->stop_fd < 0 || set->done_fd < 0) {
        status = tl_error_set(reterr, TL_IO, "eventfd: %s", strerror(errno));
        goto out;
    }
    status = tl_sample_ring_init(&set->ring, set->spec.sample_count);
    if (status == TL_OK && spec->send)
        status = tl_stream_pool_create(set);
    if (status == TL_OK)
        init_path(set);
    if (status != TL_OK)
        (void)tl_error_set(reterr, status, "a test's buffers: %s", tl_status_text(status));
out:
    if (status != TL_OK) {
        tl_streams_destroy(set);
        return status;
    }
    *ret_streams = set;
    return TL_OK;
}

static void destroy_stream(struct stream *stream)
{
    if (stream->fd >= 0)
        close(stream->fd);
    transfer_store_release(stream->store);
    tl_stream_close_pipe(stream);
    free(stream->recv_buffer);
    pthread_mutex_destroy(&stream->fd_lock);
}

void tl_streams_destroy(struct tl_streams *set)
{
    if (!set)
        return;
    if (set->stop_fd >= 0)
        tl_streams_stop(set);
    for (uint32_t i = 0; i < set->count; i++)
        if (set->streams[i].created)
            pthread_join(set->streams[i].thread, NULL);
    /* Ends after the workers, and takes their locks until then. */
    if (set->sampler_created)
        pthread_join(set->sampler, NULL);
    for (uint32_t i = 0; i < set->count; i++)
        destroy_stream(&set->streams[i]);
    if (set->stop_fd >= 0)
        close(set->stop_fd);
    if (set->done_fd >= 0)
        close(set->done_fd);
    tl_sample_ring_finish(&set->ring);
    free(set->pool);
    free(set);
}

/* Of an IPv4-mapped connection on an IPv6 socket IP_TOS is what counts. */
static unsigned dscp_of(int fd)
{
    struct sockaddr_in6 peer = {.sin6_family = AF_UNSPEC};
    socklen_t len = sizeof(peer), value_len = sizeof(int);
    int value = 0;
    (void)getpeername(fd, (struct sockaddr *)&peer, &len);
    bool v6 = peer.sin6_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&peer.sin6_addr);
    (void)getsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_TCLASS : IP_TOS, &value,
                     &value_len);
    return (unsigned)value >> 2 & 63;
}

static int buffer_size(int fd, int option)
{
    int bytes = 0;
    socklen_t len = sizeof(bytes);
    return getsockopt(fd, SOL_SOCKET, option, &bytes, &len) == 0 ? bytes : 0;
}

enum tl_status tl_streams_add(struct tl_streams *set, int fd, struct tl_error *reterr)
{
    static const struct tl_stream_options defaults; /* the user timeout, nothing else */
    if (set->count == TL_STREAMS_MAX)
        return tl_error_set(reterr, TL_LIMIT, "a test has at most %d streams", TL_STREAMS_MAX);
    enum tl_status status = tl_stream_options_apply(fd, &defaults, reterr);
    if (status != TL_OK)
        return status;
    struct stream *stream = &set->streams[set->count];
    memset(stream, 0, sizeof(*stream));
    stream->set = set;
    stream->index = set->count;
    stream->fd = fd;
    stream->schedstat_fd = -1;
    stream->pipe_fds[0] = stream->pipe_fds[1] = -1;
    stream->first_byte_ns = stream->last_byte_ns = stream->end_ns = -1;
    stream->rcvbuf_bytes = buffer_size(fd, SO_RCVBUF);
    stream->sndbuf_bytes = buffer_size(fd, SO_SNDBUF);
    stream->dscp = dscp_of(fd);
    if (tl_stream_congestion(fd, stream->congestion) != TL_OK)
        stream->congestion[0] = '\0';
    tl_random_seed(&stream->rng, (uint64_t)tl_now_ns() + stream->index);
    pthread_mutex_init(&stream->fd_lock, NULL);
    set->count++;
    return TL_OK;
}

/* All streams are known now, and with them what each may have. */
static int create_buffers(struct tl_streams *set)
{
    uint32_t bytes = tl_stream_recv_bytes(sysconf(_SC_LEVEL2_CACHE_SIZE), set->count);
    uint32_t most_bytes = tl_stream_recv_most_bytes(bytes, set->count);
    tl_path_trial_init_recv(&set->trial, bytes, most_bytes, set->spec.duration_ns);
    for (uint32_t i = 0; i < set->count; i++) {
        set->streams[i].recv_buffer = malloc(most_bytes);
        if (!set->streams[i].recv_buffer)
            return ENOMEM;
    }
    return 0;
}

/* Where the card belongs to a NUMA node of several, workers stay there. */
static void choose_place(struct tl_streams *set, cpu_set_t *ret_cpus)
{
    struct sockaddr_in6 peer = {.sin6_family = AF_UNSPEC};
    socklen_t len = sizeof(peer);
    char interface[IF_NAMESIZE] = "";
    bool use[TL_CPU_CORES_MAX];
    struct tl_host_place *place = malloc(sizeof(*place));
    if (!place)
        return;
    if (getpeername(set->streams[0].fd, (struct sockaddr *)&peer, &len) == 0)
        (void)if_indextoname((unsigned)tl_host_link_index((struct sockaddr *)&peer), interface);
    tl_host_place_read("", interface, place);
    set->placed_count = tl_host_place_choose(place, use);
    free(place);
    CPU_ZERO(ret_cpus);
    for (unsigned i = 0; i < TL_CPU_CORES_MAX; i++)
        if (set->placed_count > 0 && use[i])
            CPU_SET(i, ret_cpus);
}

static int create_threads(struct tl_streams *set)
{
    cpu_set_t cpus;
    int errnum = set->spec.send ? 0 : create_buffers(set);
    if (errnum == 0)
        choose_place(set, &cpus);
    for (uint32_t i = 0; i < set->count && errnum == 0; i++) {
        struct stream *stream = &set->streams[i];
        errnum = tl_thread_start(&stream->thread, tl_stream_worker_main, stream);
        stream->created = errnum == 0;
        if (stream->created && set->placed_count > 0 &&
            pthread_setaffinity_np(stream->thread, sizeof cpus, &cpus) != 0)
            set->placed_count = 0;
    }
    if (errnum == 0) {
        errnum = tl_thread_start(&set->sampler, tl_stream_sampler_main, set);
        set->sampler_created = errnum == 0;
    }
    return errnum;
}

enum tl_status tl_streams_start(struct tl_streams *set, struct tl_error *reterr)
{
    if (set->count == 0 || atomic_load(&set->start_ns) != 0)
        return tl_error_set(reterr, TL_RANGE, "a test starts once, with at least one stream");
    atomic_store(&set->start_ns, tl_now_ns());
    atomic_store(&set->alive, set->count);
    int errnum = create_threads(set);
    if (errnum == 0)
        return TL_OK;
    tl_streams_stop(set);
    return tl_error_set(reterr, TL_IO, "starting the threads: %s", strerror(errnum));
}

void tl_streams_stop(struct tl_streams *set)
{
    atomic_store(&set->stopping, true);
    tl_wake(set->stop_fd);
}

int tl_streams_event_fd(const struct tl_streams *set)
{
    return set->done_fd;
}

bool tl_streams_done(const struct tl_streams *set)
{
    return atomic_load(&set->start_ns) != 0 && atomic_load(&set->alive) == 0;
}

uint64_t tl_streams_bytes(const struct tl_streams *set)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < set->count; i++)
        bytes += atomic_load_explicit(&set->streams[i].bytes, memory_order_relaxed);
    return bytes;
}

uint64_t tl_streams_most_bytes(const struct tl_streams *set)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        uint64_t bytes = atomic_load_explicit(&set->streams[i].bytes, memory_order_relaxed);
        most = bytes > most ? bytes : most;
    }
    return most;
}

int64_t tl_streams_elapsed_ns(const struct tl_streams *set)
{
    int64_t start_ns = atomic_load(&set->start_ns);
    return start_ns == 0 ? 0 : tl_now_ns() - start_ns;
}

uint32_t tl_streams_count(const struct tl_streams *set)
{
    return set->count;
}

unsigned tl_streams_placed(const struct tl_streams *set)
{
    return set->placed_count;
}

enum tl_send_path tl_streams_send_path(const struct tl_streams *set, bool *ret_copied)
{
    *ret_copied = atomic_load(&set->zerocopy_copied);
    return set->trial.ways[atomic_load(&set->way)].path;
}

uint32_t tl_streams_call_bytes(const struct tl_streams *set)
{
    return set->trial.ways[atomic_load(&set->way)].bytes;
}

size_t tl_streams_drain(struct tl_streams *set, struct tl_tcp_sample *ret_samples, size_t max)
{
    return tl_sample_ring_drain(&set->ring, ret_samples, max);
}

uint64_t tl_streams_dropped(const struct tl_streams *set)
{
    struct sample_ring *ring = (struct sample_ring *)&set->ring;
    pthread_mutex_lock(&ring->lock);
    uint64_t dropped = ring->dropped;
    pthread_mutex_unlock(&ring->lock);
    return dropped;
}

void tl_streams_result(const struct tl_streams *set, uint32_t index,
                       struct tl_stream_result *ret_result)
{
    const struct stream *stream = &set->streams[index];
    struct tl_stream_result result = {
        .end = (enum tl_stream_end)atomic_load(&stream->end),
        .errnum = atomic_load(&stream->errnum),
        .bytes = atomic_load(&stream->bytes),
        .first_byte_ns = atomic_load(&stream->first_byte_ns),
        .last_byte_ns = atomic_load(&stream->last_byte_ns),
        .end_ns = atomic_load(&stream->end_ns),
        .cpu_ns = atomic_load(&stream->cpu_ns),
        .run_delay_ns = atomic_load(&stream->run_delay_ns),
        .rcvbuf_bytes = stream->rcvbuf_bytes,
        .sndbuf_bytes = stream->sndbuf_bytes,
        .dscp = stream->dscp,
    };
    memcpy(result.congestion, stream->congestion, sizeof(result.congestion));
    *ret_result = result;
}

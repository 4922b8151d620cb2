/* Steps that every worker takes, whatever it moves: waits, counts, ends. */
#include <errno.h>
#include <poll.h>
#include <time.h>

#include "stream_private.h"
#include "tightlink/base/time.h"

#define HOLD_BURST_NS (100 * TL_NS_PER_MS) /* that much of a rate may come at once */
#define HOLD_MAX_NS   (50 * TL_NS_PER_MS)

static const struct ending not_yet = {TL_STREAM_RUNNING, 0};

/* A dead path ends as ETIMEDOUT, or as the ICMP error that was seen last
 * (net/ipv4/tcp_timer.c, tcp_write_err: sk_err_soft). */
struct ending tl_stream_ending_of_errno(int errnum)
{
    switch (errnum) {
    case ECONNRESET:
    case EPIPE:
    case ECONNABORTED:
        return (struct ending){TL_STREAM_END_PEER, errnum};
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
        return (struct ending){TL_STREAM_END_TIMEOUT, errnum};
    default:
        return (struct ending){TL_STREAM_END_ERROR, errnum};
    }
}

void tl_stream_wait_socket(struct stream *stream, short events, int64_t until_ns)
{
    struct pollfd fds[2] = {{.fd = stream->fd, .events = events},
                            {.fd = stream->set->stop_fd, .events = POLLIN}};
    int64_t from_ns = tl_now_ns(), wait_ns = until_ns - from_ns;
    if (wait_ns <= 0)
        return;
    struct timespec timeout = {.tv_sec = wait_ns / TL_NS_PER_S, .tv_nsec = wait_ns % TL_NS_PER_S};
    atomic_store_explicit(&stream->waits_since_ns, from_ns, memory_order_relaxed);
    (void)ppoll(fds, 2, &timeout, NULL);
    atomic_store_explicit(&stream->waits_since_ns, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&stream->wait_ns, (uint64_t)(tl_now_ns() - from_ns),
                              memory_order_relaxed);
}

void tl_stream_count_bytes(struct stream *stream, ssize_t bytes, int64_t at_ns)
{
    uint64_t before = atomic_load_explicit(&stream->bytes, memory_order_relaxed);
    if (before == 0)
        atomic_store_explicit(&stream->first_byte_ns, at_ns, memory_order_relaxed);
    atomic_store_explicit(&stream->last_byte_ns, at_ns, memory_order_relaxed);
    atomic_store_explicit(&stream->bytes, before + (uint64_t)bytes, memory_order_relaxed);
}

/* Ends that do not come from the socket. now_ns since start. */
struct ending tl_stream_check_orders(const struct stream *stream, int64_t now_ns)
{
    if (atomic_load_explicit(&stream->set->stopping, memory_order_relaxed))
        return (struct ending){TL_STREAM_END_STOPPED, 0};
    if (now_ns >= stream->set->spec.duration_ns)
        return (struct ending){TL_STREAM_END_DEADLINE, 0};
    return not_yet;
}

bool tl_stream_hold_rate(struct stream *stream, int64_t now_ns)
{
    double rate_bps = (double)stream->set->spec.receive_bps;
    double bytes = (double)atomic_load_explicit(&stream->bytes, memory_order_relaxed);
    if (rate_bps <= 0)
        return false;
    double ahead_ns = bytes * 8e9 / rate_bps - (double)now_ns - (double)HOLD_BURST_NS;
    if (ahead_ns <= 0)
        return false;
    struct pollfd stop = {.fd = stream->set->stop_fd, .events = POLLIN};
    struct timespec pause = {.tv_nsec = ahead_ns < (double)HOLD_MAX_NS ? (long)ahead_ns
                                                                       : (long)HOLD_MAX_NS};
    (void)ppoll(&stop, 1, &pause, NULL);
    return true;
}

bool tl_stream_peer_is_silent(const struct stream *stream, int64_t *heard_ns, int64_t now_ns)
{
    const struct tl_streams *set = stream->set;
    if (now_ns - *heard_ns < TL_STREAM_USER_TIMEOUT_NS)
        return false;
    for (uint32_t i = 0; i < set->count; i++) {
        int64_t last_ns = atomic_load_explicit(&set->streams[i].last_byte_ns, memory_order_relaxed);
        if (last_ns > *heard_ns)
            *heard_ns = last_ns;
    }
    return now_ns - *heard_ns >= TL_STREAM_USER_TIMEOUT_NS;
}

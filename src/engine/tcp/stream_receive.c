/* The loop of a stream that receives into memory, and how seldom its thread is woken. It runs in
 * the stream's worker thread (stream_worker.c). */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "stream_private.h"
#include "tightlink/base/time.h"

#define LOOK_NS (10 * TL_NS_PER_MS) /* between looks at the rate */
#define LATE_NS (2 * TL_NS_PER_MS)  /* a wait for a large piece lasts no longer */

/* What a receiver remembers. Times since start. */
struct receiving {
    uint64_t left;
    int64_t heard_ns;
    int64_t look_ns; /* of the newest look at the rate */
    uint64_t look_bytes;
    int wake_bytes; /* in force */
};

static void set_wake(struct stream *stream, struct receiving *receiving, int bytes)
{
    if (bytes != receiving->wake_bytes &&
        setsockopt(stream->fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes) == 0)
        receiving->wake_bytes = bytes;
}

static void choose_wake(struct stream *stream, struct receiving *receiving, int64_t now_ns)
{
    uint64_t bytes = atomic_load_explicit(&stream->bytes, memory_order_relaxed);
    int64_t passed_ns = now_ns - receiving->look_ns;
    int rcvbuf_bytes = 0;
    socklen_t len = sizeof rcvbuf_bytes;
    if (passed_ns < LOOK_NS)
        return;
    double rate_bps = (double)(bytes - receiving->look_bytes) * 8e9 / (double)passed_ns;
    receiving->look_ns = now_ns;
    receiving->look_bytes = bytes;
    if (getsockopt(stream->fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf_bytes, &len) == 0)
        set_wake(stream, receiving, tl_stream_wake_bytes(rate_bps, rcvbuf_bytes));
}

/* A piece that does not fill up is taken as it is: what came is counted LATE_NS later at most,
 * and the next waits are for anything at all until the stream is fast again. */
static void wait_payload(struct stream *stream, int64_t start_ns, struct receiving *receiving,
                         int64_t until_ns)
{
    int64_t late_ns = tl_now_ns() - start_ns + LATE_NS;
    bool patient = receiving->wake_bytes <= 1 || until_ns <= late_ns;
    tl_stream_wait_socket(stream, POLLIN, start_ns + (patient ? until_ns : late_ns));
    if (!patient && tl_now_ns() - start_ns >= late_ns)
        set_wake(stream, receiving, 1);
}

static struct ending wait_more(struct stream *stream, int64_t start_ns, struct receiving *receiving,
                               int64_t now_ns)
{
    int64_t duration_ns = stream->set->spec.duration_ns;
    if (tl_stream_peer_is_silent(stream, &receiving->heard_ns, now_ns))
        return (struct ending){TL_STREAM_END_TIMEOUT, ETIMEDOUT};
    int64_t silent_ns = receiving->heard_ns + TL_STREAM_USER_TIMEOUT_NS;
    choose_wake(stream, receiving, now_ns);
    wait_payload(stream, start_ns, receiving, silent_ns < duration_ns ? silent_ns : duration_ns);
    return (struct ending){TL_STREAM_RUNNING, 0};
}

/* One call; a read that was not filled has emptied the socket, so that it waits at once. */
static struct ending receive_piece(struct stream *stream, int64_t start_ns,
                                   struct receiving *receiving, int64_t now_ns)
{
    const struct tl_streams *set = stream->set;
    int flags = MSG_DONTWAIT | (set->spec.discard ? MSG_TRUNC : 0);
    size_t bytes = tl_stream_choose_way(stream, now_ns).bytes;
    size_t len = receiving->left < bytes ? (size_t)receiving->left : bytes;
    ssize_t got = recv(stream->fd, stream->recv_buffer, len, flags);
    if (got > 0) {
        tl_stream_count_bytes(stream, got, now_ns);
        receiving->heard_ns = now_ns;
        receiving->left -= (uint64_t)got;
        if (receiving->left == 0)
            return (struct ending){TL_STREAM_END_CAP, 0};
        if ((size_t)got < len)
            return wait_more(stream, start_ns, receiving, now_ns);
        return (struct ending){TL_STREAM_RUNNING, 0};
    }
    if (got == 0)
        return (struct ending){TL_STREAM_END_PEER, 0};
    if (errno == EAGAIN)
        return wait_more(stream, start_ns, receiving, now_ns);
    if (errno == EINTR)
        return (struct ending){TL_STREAM_RUNNING, 0};
    return tl_stream_ending_of_errno(errno);
}

/* The kernel's timers watch the sender only; a receiver counts silence itself. */
struct ending tl_stream_receive_memory(struct stream *stream, int64_t start_ns)
{
    uint64_t cap = stream->set->spec.bytes_cap;
    struct receiving receiving = {.left = cap > 0 ? cap : UINT64_MAX, .wake_bytes = 1};
    for (;;) {
        int64_t now_ns = tl_now_ns() - start_ns;
        struct ending ending = tl_stream_check_orders(stream, now_ns);
        if (ending.end == TL_STREAM_RUNNING && tl_stream_hold_rate(stream, now_ns)) {
            receiving.heard_ns = now_ns; /* we do not listen */
            continue;
        }
        if (ending.end == TL_STREAM_RUNNING)
            ending = receive_piece(stream, start_ns, &receiving, now_ns);
        if (ending.end != TL_STREAM_RUNNING)
            return ending;
    }
}

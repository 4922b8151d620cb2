/* The loops of a stream whose payload comes from a disk or goes to one (transfer_store.h).
 * They run in the stream's worker thread, as those of stream_worker.c do.
 *
 * A receiver counts what its disk has taken, not what came out of the socket: what waits in
 * buffers has not arrived where the user wants it. */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "stream_private.h"
#include "tightlink/base/time.h"

void tl_streams_give_store(struct tl_streams *set, struct transfer_store *store)
{
    set->streams[set->count - 1].store = store;
}

struct transfer_store *tl_streams_store(const struct tl_streams *set, uint32_t index)
{
    return set->streams[index].store;
}

/* Waits for the disk or, with events, for the socket too; a stop ends every wait. Returns what
 * is to be seen at the socket. */
static short wait_both(struct stream *stream, short events, bool for_disk, int64_t until_ns)
{
    struct pollfd fds[3] = {
        {.fd = stream->fd, .events = events},
        {.fd = stream->set->stop_fd, .events = POLLIN},
        {.fd = transfer_store_event_fd(stream->store), .events = POLLIN},
    };
    int64_t from_ns = tl_now_ns(), wait_ns = until_ns - from_ns;
    if (wait_ns <= 0)
        return 0;
    struct timespec timeout = {.tv_sec = wait_ns / TL_NS_PER_S, .tv_nsec = wait_ns % TL_NS_PER_S};
    if (!for_disk)
        atomic_store_explicit(&stream->waits_since_ns, from_ns, memory_order_relaxed);
    (void)ppoll(fds, 3, &timeout, NULL);
    int64_t waited_ns = tl_now_ns() - from_ns;
    if (for_disk) {
        transfer_store_add_wait(stream->store, waited_ns);
    } else {
        atomic_store_explicit(&stream->waits_since_ns, 0, memory_order_relaxed);
        atomic_fetch_add_explicit(&stream->wait_ns, (uint64_t)waited_ns, memory_order_relaxed);
    }
    if (fds[2].revents)
        transfer_store_calm(stream->store);
    return fds[0].revents;
}

/* Waits for the disk alone. A peer that has gone meanwhile would else not be noticed. */
static struct ending wait_disk(struct stream *stream, int64_t start_ns)
{
    int errnum = transfer_store_errnum(stream->store);
    socklen_t len = sizeof errnum;
    if (errnum != 0)
        return (struct ending){TL_STREAM_END_ERROR, errnum};
    short seen = wait_both(stream, 0, true, start_ns + stream->set->spec.duration_ns);
    if (!(seen & (POLLERR | POLLHUP)))
        return (struct ending){TL_STREAM_RUNNING, 0};
    if (getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &errnum, &len) < 0 || errnum == 0)
        errnum = ECONNRESET;
    return tl_stream_ending_of_errno(errnum);
}

/* --- Sending --------------------------------------------------------------------------------- */

/* One piece of payload to the socket; *left of the byte cap. */
static struct ending send_piece(struct stream *stream, int64_t start_ns, uint64_t *left)
{
    size_t len;
    const unsigned char *piece = transfer_store_peek(stream->store, &len);
    if (!piece)
        return wait_disk(stream, start_ns);
    if (len > *left)
        len = (size_t)*left;
    ssize_t sent = send(stream->fd, piece, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
        tl_stream_count_bytes(stream, sent, tl_now_ns() - start_ns);
        transfer_store_consume(stream->store, (size_t)sent);
        *left -= (uint64_t)sent;
        return (struct ending){*left == 0 ? TL_STREAM_END_CAP : TL_STREAM_RUNNING, 0};
    }
    if (errno == EAGAIN)
        (void)wait_both(stream, POLLOUT, false, start_ns + stream->set->spec.duration_ns);
    else if (errno != EINTR)
        return tl_stream_ending_of_errno(errno);
    return (struct ending){TL_STREAM_RUNNING, 0};
}

struct ending tl_stream_send_store(struct stream *stream, int64_t start_ns)
{
    const struct tl_streams_spec *spec = &stream->set->spec;
    uint64_t left = spec->bytes_cap > 0 ? spec->bytes_cap : UINT64_MAX;
    struct ending ending = {TL_STREAM_END_ERROR, EAGAIN};
    if (transfer_store_start(stream->store) == TL_OK)
        do {
            ending = tl_stream_check_orders(stream, tl_now_ns() - start_ns);
            if (ending.end == TL_STREAM_RUNNING)
                ending = send_piece(stream, start_ns, &left);
        } while (ending.end == TL_STREAM_RUNNING);
    transfer_store_stop(stream->store);
    return ending;
}

/* --- Receiving -------------------------------------------------------------------------------- */

/* What the disk has taken since the last look. */
static void count_taken(struct stream *stream, int64_t start_ns)
{
    uint64_t counted = atomic_load_explicit(&stream->bytes, memory_order_relaxed);
    uint64_t taken = transfer_store_bytes(stream->store);
    if (taken > counted)
        tl_stream_count_bytes(stream, (ssize_t)(taken - counted), tl_now_ns() - start_ns);
}

/* What a receiver remembers. */
struct receiving {
    uint64_t left;
    int64_t heard_ns; /* since start */
};

static struct ending receive_piece(struct stream *stream, int64_t start_ns,
                                   struct receiving *receiving)
{
    size_t len;
    int64_t now_ns = tl_now_ns() - start_ns;
    if (tl_stream_hold_rate(stream, now_ns)) {
        receiving->heard_ns = now_ns; /* we do not listen */
        return (struct ending){TL_STREAM_RUNNING, 0};
    }
    unsigned char *room = transfer_store_room(stream->store, &len);
    if (!room) {
        receiving->heard_ns = now_ns; /* we do not listen */
        return wait_disk(stream, start_ns);
    }
    if (len > receiving->left)
        len = (size_t)receiving->left;
    ssize_t got = recv(stream->fd, room, len, MSG_DONTWAIT);
    if (got > 0) {
        receiving->heard_ns = now_ns;
        receiving->left -= (uint64_t)got;
        transfer_store_fill(stream->store, (size_t)got);
        return (struct ending){receiving->left == 0 ? TL_STREAM_END_CAP : TL_STREAM_RUNNING, 0};
    }
    if (got == 0)
        return (struct ending){TL_STREAM_END_PEER, 0};
    if (errno == EINTR)
        return (struct ending){TL_STREAM_RUNNING, 0};
    if (errno != EAGAIN)
        return tl_stream_ending_of_errno(errno);
    if (tl_stream_peer_is_silent(stream, &receiving->heard_ns, now_ns))
        return (struct ending){TL_STREAM_END_TIMEOUT, ETIMEDOUT};
    int64_t until_ns = receiving->heard_ns + TL_STREAM_USER_TIMEOUT_NS;
    if (until_ns > stream->set->spec.duration_ns)
        until_ns = stream->set->spec.duration_ns;
    (void)wait_both(stream, POLLIN, false, start_ns + until_ns);
    return (struct ending){TL_STREAM_RUNNING, 0};
}

/* Payload has ended: waits until the disk has what came. An order to stop goes first, and what
 * is not on the disk then does not count. */
static struct ending empty_store(struct stream *stream, int64_t start_ns, struct ending ending)
{
    transfer_store_flush(stream->store);
    while (!transfer_store_is_empty(stream->store)) {
        int errnum = transfer_store_errnum(stream->store);
        struct ending order = tl_stream_check_orders(stream, tl_now_ns() - start_ns);
        if (errnum != 0)
            return (struct ending){TL_STREAM_END_ERROR, errnum};
        if (order.end != TL_STREAM_RUNNING)
            return ending;
        struct pollfd fds[2] = {{.fd = stream->set->stop_fd, .events = POLLIN},
                                {.fd = transfer_store_event_fd(stream->store), .events = POLLIN}};
        (void)poll(fds, 2, 100);
        transfer_store_calm(stream->store);
        count_taken(stream, start_ns);
    }
    return ending;
}

struct ending tl_stream_receive_store(struct stream *stream, int64_t start_ns)
{
    uint64_t cap = stream->set->spec.bytes_cap;
    struct receiving receiving = {.left = cap > 0 ? cap : UINT64_MAX};
    struct ending ending = {TL_STREAM_END_ERROR, EAGAIN};
    if (transfer_store_start(stream->store) == TL_OK)
        do {
            ending = tl_stream_check_orders(stream, tl_now_ns() - start_ns);
            if (ending.end == TL_STREAM_RUNNING)
                ending = receive_piece(stream, start_ns, &receiving);
            count_taken(stream, start_ns);
        } while (ending.end == TL_STREAM_RUNNING);
    if (ending.end == TL_STREAM_END_CAP || ending.end == TL_STREAM_END_PEER)
        ending = empty_store(stream, start_ns, ending);
    transfer_store_stop(stream->store);
    count_taken(stream, start_ns);
    return ending;
}

/* The thread of one stream: moves payload until something ends it, takes the last
 * sample and closes the socket. No lock and no allocation while payload moves. Receiving
 * lives in stream_receive.c. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "stream_private.h"
#include "tightlink/base/time.h"
#include "tightlink/base/wake.h"

static struct ending send_until_end(struct stream *stream, int64_t start_ns)
{
    const struct tl_streams_spec *spec = &stream->set->spec;
    uint64_t left = spec->bytes_cap > 0 ? spec->bytes_cap : UINT64_MAX;
    for (;;) {
        int64_t now_ns = tl_now_ns() - start_ns;
        struct ending ending = tl_stream_check_orders(stream, now_ns);
        if (ending.end != TL_STREAM_RUNNING)
            return ending;
        struct path_way way = tl_stream_choose_way(stream, now_ns);
        ssize_t sent = tl_stream_send_some(stream, way, left);
        if (sent > 0) {
            tl_stream_count_bytes(stream, sent, now_ns);
            left -= (uint64_t)sent;
            if (left == 0)
                return (struct ending){TL_STREAM_END_CAP, 0};
        } else if (sent == 0 || errno == EAGAIN) {
            /* Notices in the error queue would end the wait at once. */
            tl_stream_drain_notices(stream);
            tl_stream_wait_socket(stream, POLLOUT, start_ns + spec->duration_ns);
        } else if (errno != EINTR &&
                   !(way.path == TL_SEND_SPLICE && tl_stream_give_up_splice(stream, errno))) {
            return tl_stream_ending_of_errno(errno);
        }
    }
}

/* After the cap: the receiver closes once it has read everything. What it sends, if
 * anything, is of no interest. */
static struct ending close_in_order(struct stream *stream, int64_t start_ns)
{
    const struct tl_streams_spec *spec = &stream->set->spec;
    char scrap[512];
    if (shutdown(stream->fd, SHUT_WR) < 0)
        return tl_stream_ending_of_errno(errno);
    for (;;) {
        struct ending ending = tl_stream_check_orders(stream, tl_now_ns() - start_ns);
        if (ending.end != TL_STREAM_RUNNING)
            return ending;
        ssize_t got = recv(stream->fd, scrap, sizeof(scrap), MSG_DONTWAIT);
        if (got == 0)
            return (struct ending){TL_STREAM_END_CAP, 0};
        if (got < 0 && errno == EAGAIN)
            tl_stream_wait_socket(stream, POLLIN, start_ns + spec->duration_ns);
        else if (got < 0 && errno != EINTR)
            return tl_stream_ending_of_errno(errno);
    }
}

static bool is_orderly(struct ending ending)
{
    return ending.end == TL_STREAM_END_CAP ||
           (ending.end == TL_STREAM_END_PEER && ending.errnum == 0);
}

/* Takes the last sample, then closes. Anything but an orderly end aborts, so that what
 * waits in the send queue does not load the path after the end (P10). */
static void finish_stream(struct stream *stream, struct ending ending)
{
    uint64_t run_delay_ns;
    struct linger abort_now = {.l_onoff = 1, .l_linger = 0};
    pthread_mutex_lock(&stream->fd_lock);
    atomic_store(&stream->cpu_ns, (uint64_t)tl_thread_cpu_ns());
    if (tl_stream_run_delay(stream, &run_delay_ns))
        atomic_store(&stream->run_delay_ns, run_delay_ns);
    tl_stream_sample(stream, true);
    if (!is_orderly(ending))
        (void)setsockopt(stream->fd, SOL_SOCKET, SO_LINGER, &abort_now, sizeof(abort_now));
    close(stream->fd);
    stream->fd = -1;
    if (stream->schedstat_fd >= 0)
        close(stream->schedstat_fd);
    stream->schedstat_fd = -1;
    pthread_mutex_unlock(&stream->fd_lock);
}

void *tl_stream_worker_main(void *arg)
{
    struct stream *stream = arg;
    struct tl_streams *set = stream->set;
    int64_t start_ns = atomic_load(&set->start_ns);
    pthread_mutex_lock(&stream->fd_lock);
    stream->schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    pthread_mutex_unlock(&stream->fd_lock);
    struct ending ending;
    if (set->spec.send) {
        /* splice() has no MSG_DONTWAIT. */
        (void)fcntl(stream->fd, F_SETFL, O_NONBLOCK);
        ending = stream->store ? tl_stream_send_store(stream, start_ns)
                               : send_until_end(stream, start_ns);
        if (ending.end == TL_STREAM_END_CAP)
            ending = close_in_order(stream, start_ns);
    } else {
        ending = stream->store ? tl_stream_receive_store(stream, start_ns)
                               : tl_stream_receive_memory(stream, start_ns);
    }
    atomic_store(&stream->end_ns, tl_now_ns() - start_ns);
    finish_stream(stream, ending);
    atomic_store(&stream->errnum, ending.errnum);
    atomic_store(&stream->end, (int)ending.end);
    if (atomic_fetch_sub(&set->alive, 1) == 1)
        tl_wake(set->done_fd);
    return NULL;
}

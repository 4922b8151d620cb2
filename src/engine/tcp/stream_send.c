/* Handing payload to the kernel: the pool of noise, and one piece of it by each way of
 * sending. Which way is stream_path.c's matter. */
#include <time.h> /* before errqueue.h, which needs it */

#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "stream_private.h"
#include "tightlink/base/time.h"

#define PAGE       4096 /* pieces begin on such: whole pages make the fewest fragments */
#define PIECES_MAX (TL_STREAM_LARGE_BYTES / PAYLOAD_POOL_BYTES + 1)

/* --- The pool ------------------------------------------------------------------------- */

enum tl_status tl_stream_pool_create(struct tl_streams *set)
{
    struct tl_random rng;
    uint64_t seed;
    void *pool;
    enum tl_status status = tl_random_secure(&seed, sizeof(seed));
    if (status != TL_OK)
        return status;
    if (posix_memalign(&pool, PAGE, PAYLOAD_POOL_BYTES) != 0)
        return TL_NOMEM;
    set->pool = pool;
    tl_random_seed(&rng, seed);
    tl_random_fill(&rng, set->pool, PAYLOAD_POOL_BYTES);
    return TL_OK;
}

/* --- Ways of sending ------------------------------------------------------------------- */

/* Payload of one call: from a place of the pool on, another one each time, and round it again. */
static size_t cut(struct stream *stream, size_t len, struct iovec pieces[PIECES_MAX])
{
    size_t place = PAGE * (size_t)(tl_random_next(&stream->rng) % (PAYLOAD_POOL_BYTES / PAGE));
    size_t count = 0;
    for (; len > 0; place = 0) {
        size_t room = PAYLOAD_POOL_BYTES - place, piece = len < room ? len : room;
        pieces[count++] = (struct iovec){stream->set->pool + place, piece};
        len -= piece;
    }
    return count;
}

static ssize_t send_copy(struct stream *stream, size_t len, int flags)
{
    struct iovec pieces[PIECES_MAX];
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = cut(stream, len, pieces)};
    return sendmsg(stream->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL | flags);
}

/* A pipe that holds references to the pool's pages on their way to the socket. */
static bool open_pipe(struct stream *stream)
{
    if (pipe2(stream->pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0) {
        stream->pipe_fds[0] = stream->pipe_fds[1] = -1;
        return false;
    }
    return true;
}

/* Refused where the user's pipes are many: then it stays as it is, with more calls. */
static void size_pipe(struct stream *stream, uint32_t bytes)
{
    if (stream->pipe_bytes < bytes)
        (void)fcntl(stream->pipe_fds[1], F_SETPIPE_SZ, bytes);
    stream->pipe_bytes = bytes;
}

void tl_stream_close_pipe(struct stream *stream)
{
    for (int i = 0; i < 2; i++) {
        if (stream->pipe_fds[i] >= 0)
            close(stream->pipe_fds[i]);
        stream->pipe_fds[i] = -1;
    }
}

/* The pages go by reference, which is right as the pool is never written again; one that is
 * freed lives on in the kernel until it is sent. The socket does not block: the worker has set
 * O_NONBLOCK. SIGPIPE is blocked in it. */
static ssize_t send_splice(struct stream *stream, uint32_t bytes, uint64_t left)
{
    if (stream->pipe_fds[0] < 0 && !open_pipe(stream)) {
        errno = ENOSYS;
        return -1;
    }
    if (stream->piped_bytes == 0) {
        struct iovec pieces[PIECES_MAX];
        size_t count = cut(stream, left < bytes ? (size_t)left : bytes, pieces);
        size_pipe(stream, bytes);
        ssize_t piped = vmsplice(stream->pipe_fds[1], pieces, count, SPLICE_F_NONBLOCK);
        if (piped <= 0) {
            errno = ENOSYS; /* an empty pipe that takes nothing is of no use */
            return -1;
        }
        stream->piped_bytes = (size_t)piped;
    }
    /* What was piped before another way was tried may be more than what is left now. */
    size_t len = left < stream->piped_bytes ? (size_t)left : stream->piped_bytes;
    ssize_t sent = splice(stream->pipe_fds[0], NULL, stream->fd, NULL, len, SPLICE_F_NONBLOCK);
    if (sent > 0)
        stream->piped_bytes -= (size_t)sent;
    return sent;
}

/* Takes the kernel's notices of pages it needs no more (Documentation/networking/
 * msg_zerocopy.rst): a range of sends each, and whether it copied them after all. */
void tl_stream_drain_notices(struct stream *stream)
{
    while (stream->zerocopy_pending > 0) {
        char control[128];
        struct msghdr message = {.msg_control = control, .msg_controllen = sizeof(control)};
        if (recvmsg(stream->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
            return;
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        if (!head || head->cmsg_len < CMSG_LEN(sizeof(struct sock_extended_err)))
            continue;
        struct sock_extended_err notice;
        memcpy(&notice, CMSG_DATA(head), sizeof(notice));
        if (notice.ee_origin != SO_EE_ORIGIN_ZEROCOPY)
            continue;
        uint32_t sends = notice.ee_data - notice.ee_info + 1;
        stream->zerocopy_pending -=
            sends < stream->zerocopy_pending ? sends : stream->zerocopy_pending;
        if (notice.ee_code & SO_EE_CODE_ZEROCOPY_COPIED)
            atomic_store_explicit(&stream->set->zerocopy_copied, true, memory_order_relaxed);
    }
}

/* Without the permission, or where the locked memory is used up, it is a copy. */
static ssize_t send_zerocopy(struct stream *stream, size_t len)
{
    if (!stream->zerocopy_on) {
        int on = 1;
        if (setsockopt(stream->fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on)) < 0) {
            atomic_store_explicit(&stream->set->zerocopy_copied, true, memory_order_relaxed);
            return send_copy(stream, len, 0);
        }
        stream->zerocopy_on = true;
    }
    tl_stream_drain_notices(stream);
    ssize_t sent = send_copy(stream, len, MSG_ZEROCOPY);
    if (sent > 0)
        stream->zerocopy_pending++;
    if (sent < 0 && errno == ENOBUFS)
        return send_copy(stream, len, 0);
    return sent;
}

ssize_t tl_stream_send_some(struct stream *stream, struct path_way way, uint64_t left)
{
    size_t len = left < way.bytes ? (size_t)left : way.bytes;
    switch (way.path) {
    case TL_SEND_SPLICE:
        return send_splice(stream, way.bytes, left);
    case TL_SEND_ZEROCOPY:
        return send_zerocopy(stream, len);
    default:
        return send_copy(stream, len, 0);
    }
}

/* --- Which one -------------------------------------------------------------------------- */

/* The first stream tries for all: they share the way, and its thread pays like the others. */
struct path_way tl_stream_choose_way(struct stream *stream, int64_t now_ns)
{
    struct tl_streams *set = stream->set;
    struct path_trial *trial = &set->trial;
    unsigned way = atomic_load_explicit(&set->way, memory_order_relaxed);
    if (stream->index != 0)
        return trial->ways[way];
    if (atomic_load_explicit(&set->zerocopy_copied, memory_order_relaxed))
        tl_path_trial_strike(trial, TL_SEND_ZEROCOPY);
    if (atomic_load_explicit(&set->splice_refused, memory_order_relaxed))
        tl_path_trial_strike(trial, TL_SEND_SPLICE);
    if (trial->state != PATH_DECIDED)
        tl_path_trial_step(trial, now_ns,
                           atomic_load_explicit(&stream->bytes, memory_order_relaxed),
                           (uint64_t)tl_thread_cpu_ns());
    if (trial->way != way)
        atomic_store_explicit(&set->way, trial->way, memory_order_relaxed);
    return trial->ways[trial->way];
}

/* splice() that is not to be had here: true, and another way is in use. */
bool tl_stream_give_up_splice(struct stream *stream, int errnum)
{
    if (errnum != EINVAL && errnum != ENOSYS && errnum != EPERM)
        return false;
    atomic_store_explicit(&stream->set->splice_refused, true, memory_order_relaxed);
    atomic_store_explicit(&stream->set->way, 0, memory_order_relaxed); /* send() */
    return true;
}

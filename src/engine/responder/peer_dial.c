/* Data connections from one responder to another. */
#include "peer_dial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "address.h"

#define ANSWER_SIZE (TL_WIRE_HEADER_SIZE + 8) /* a DATA_OK */

struct peer_dial {
    struct watch watch;
    struct peer_dials *dials;
    unsigned connection;
    bool greeted;
    uint8_t in[ANSWER_SIZE];
    size_t in_len;
};

struct peer_dials {
    struct loop *loop;
    struct peer_dials_owner owner;
    struct tl_wire_dial asked;
    unsigned count, open_count;
    struct peer_dial *list[TL_WIRE_STREAMS_MAX]; /* NULL: not begun, or the owner's now */
};

void peer_dials_forget(struct peer_dials *dials)
{
    if (!dials)
        return;
    for (unsigned i = 0; i < dials->count; i++)
        if (dials->list[i])
            loop_bury(dials->loop, &dials->list[i]->watch);
    free(dials);
}

static void fail(struct peer_dial *dial, const char *why)
{
    dial->dials->owner.failed(dial->dials->owner.owner, why);
}

/* The connection is the owner's from here on; its watch goes, its descriptor stays. */
static void hand_over(struct peer_dial *dial)
{
    struct peer_dials *dials = dial->dials;
    int fd = loop_release(dials->loop, &dial->watch);
    dials->list[dial->connection] = NULL;
    loop_bury(dials->loop, &dial->watch);
    dials->owner.adopt(dials->owner.owner, dial->connection, fd);
    if (++dials->open_count == dials->count)
        dials->owner.done(dials->owner.owner);
}

static void greet(struct peer_dial *dial)
{
    const struct tl_wire_dial *asked = &dial->dials->asked;
    struct tl_wire_peer_hello hello = {{.version = TL_WIRE_VERSION,
                                        .stream = (uint16_t)dial->connection,
                                        .test_id = asked->peer_test_id,
                                        .token = asked->peer_token}};
    uint8_t frame[TL_WIRE_FRAME_MAX];
    int errnum = 0;
    socklen_t error_len = sizeof errnum;
    (void)getsockopt(dial->watch.fd, SOL_SOCKET, SO_ERROR, &errnum, &error_len);
    size_t len = tl_wire_encode_peer_hello(&hello, frame);
    if (errnum == 0 &&
        send(dial->watch.fd, frame, len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)len)
        errnum = errno;
    if (errnum != 0) {
        fail(dial, strerror(errnum));
        return;
    }
    dial->greeted = true;
    loop_change(dial->dials->loop, &dial->watch, EPOLLIN);
}

/* Reads no byte beyond DATA_OK: what follows is payload. */
static void take_answer(struct peer_dial *dial)
{
    struct tl_wire_frame frame;
    struct tl_wire_data_ok ok;
    ssize_t got =
        recv(dial->watch.fd, dial->in + dial->in_len, sizeof dial->in - dial->in_len, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        fail(dial, "it closed a data connection");
        return;
    }
    dial->in_len += (size_t)got;
    if (tl_wire_peek(dial->in, dial->in_len, &frame, NULL) != TL_OK ||
        (dial->in_len > 2 && frame.frame_len == 0 && dial->in[2] != TL_WIRE_DATA_OK)) {
        fail(dial, "it does not take our data connections: it must name this host with "
                   "--third-party, and have a keyed session");
        return;
    }
    if (frame.frame_len == 0)
        return;
    if (frame.type == TL_WIRE_DATA_OK &&
        tl_wire_decode_data_ok(frame.payload, frame.payload_len, &ok, NULL) == TL_OK &&
        ok.test_id == dial->dials->asked.peer_test_id && ok.stream == dial->connection)
        hand_over(dial);
    else
        fail(dial, "it refused a data connection");
}

static void dial_ready(struct watch *watch, uint32_t events)
{
    struct peer_dial *dial = (struct peer_dial *)watch;
    if (dial->greeted)
        take_answer(dial);
    else
        greet(dial);
}

static enum tl_status open_one(struct peer_dials *dials, unsigned connection, int *ret_fd,
                               struct tl_error *reterr)
{
    struct sockaddr_storage address;
    struct in6_addr peer;
    socklen_t len;
    memcpy(&peer, dials->asked.peer_address, sizeof peer);
    address_plain(&peer, dials->asked.peer_port, &address, &len);
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return tl_error_set(reterr, tl_status_from_errno(errno), "%s", strerror(errno));
    enum tl_status status = dials->owner.prepare(dials->owner.owner, connection, fd, reterr);
    if (status == TL_OK && connect(fd, (struct sockaddr *)&address, len) < 0 &&
        errno != EINPROGRESS)
        status = tl_error_set(reterr, tl_status_from_errno(errno), "%s", strerror(errno));
    if (status != TL_OK) {
        close(fd);
        return status;
    }
    *ret_fd = fd;
    return TL_OK;
}

static enum tl_status begin_one(struct peer_dials *dials, unsigned connection,
                                struct tl_error *reterr)
{
    int fd;
    enum tl_status status = open_one(dials, connection, &fd, reterr);
    if (status != TL_OK)
        return status;
    struct peer_dial *dial = calloc(1, sizeof *dial);
    if (dial) {
        *dial = (struct peer_dial){.watch = {.fd = fd}, .dials = dials, .connection = connection};
        status = loop_add(dials->loop, &dial->watch, EPOLLOUT, dial_ready);
    }
    if (!dial || status != TL_OK) {
        close(fd);
        free(dial);
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    }
    dials->list[connection] = dial;
    return TL_OK;
}

enum tl_status peer_dials_begin(struct loop *loop, const struct tl_wire_dial *asked, unsigned count,
                                const struct peer_dials_owner *owner, struct peer_dials **ret_dials,
                                struct tl_error *reterr)
{
    struct peer_dials *dials = calloc(1, sizeof *dials);
    if (!dials)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    *dials = (struct peer_dials){.loop = loop, .owner = *owner, .asked = *asked, .count = count};
    enum tl_status status = TL_OK;
    for (unsigned i = 0; i < count && status == TL_OK; i++)
        status = begin_one(dials, i, reterr);
    if (status != TL_OK) {
        peer_dials_forget(dials);
        return status;
    }
    *ret_dials = dials;
    return TL_OK;
}

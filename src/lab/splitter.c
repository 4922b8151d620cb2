/* The splitting proxy; see splitter.h. One thread, one epoll, level-triggered.
 *
 * A pair is two sockets with one buffer for each way. A way reads while its buffer
 * is empty and writes until it is empty again, so at most one buffer a way waits
 * here; the rest waits in the kernel's socket buffers, as in a real proxy. */
#include "splitter.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAY_BYTES   262144
#define BACKLOG     128
#define EVENT_BATCH 64

/* A diagnosis opens a few dozen connections. More are refused: the memory is bounded. */
#define PAIRS_MAX 256

struct pair;

/* One socket of a pair, and the bytes on their way from it to the other one. */
struct side {
    struct pair *pair;
    struct side *other;
    int fd;
    uint32_t watched; /* epoll events asked for */
    bool ended;       /* it will send nothing more */
    bool told;        /* the other one has been told so */
    size_t begin, end;
    unsigned char bytes[WAY_BYTES];
};

struct pair {
    struct side near, far;
    bool connecting; /* the far socket is not connected yet */
    bool dead;       /* closed; freed behind the batch of events that may name it */
    struct pair *next_dead;
};

struct relay {
    int epoll_fd;
    int count;
    const struct tl_lab_splitter *splitter;
    struct pair *dead;
};

static int be_transparent(int fd, int family)
{
    int one = 1;
    if (family == AF_INET6)
        return setsockopt(fd, IPPROTO_IPV6, IPV6_TRANSPARENT, &one, sizeof one);
    return setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &one, sizeof one);
}

static int listen_on(int family, uint16_t port)
{
    int one = 1;
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    bool is_v6 = family == AF_INET6;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (is_v6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (be_transparent(fd, family) == 0 &&
        bind(fd, is_v6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4,
             is_v6 ? sizeof v6 : sizeof v4) == 0 &&
        listen(fd, BACKLOG) == 0)
        return fd;
    int errnum = errno;
    close(fd);
    errno = errnum;
    return -1;
}

enum tl_status tl_lab_splitter_init(struct tl_lab_splitter *splitter,
                                    const struct tl_lab_config *config, const char *cc,
                                    struct tl_error *reterr)
{
    static const struct {
        enum tl_lab_family family;
        int af;
    } families[] = {{TL_LAB_IPV4, AF_INET}, {TL_LAB_IPV6, AF_INET6}};
    struct tl_lab_splitter made = TL_LAB_SPLITTER_NONE;
    memcpy(made.cc, cc, sizeof made.cc);
    for (int i = 0; i < 2; i++) {
        if (!(config->family & families[i].family))
            continue;
        made.listen_fd[i] = listen_on(families[i].af, (uint16_t)config->split_port);
        if (made.listen_fd[i] < 0) {
            int errnum = errno;
            tl_lab_splitter_finish(&made);
            return tl_error_set(reterr, tl_status_from_errno(errnum),
                                "cannot start the splitting proxy of the lab: %s; it needs "
                                "CAP_NET_ADMIN in its own network namespace",
                                strerror(errnum));
        }
    }
    *splitter = made;
    return TL_OK;
}

void tl_lab_splitter_finish(struct tl_lab_splitter *splitter)
{
    for (int i = 0; i < 2; i++) {
        if (splitter->listen_fd[i] >= 0)
            close(splitter->listen_fd[i]);
        splitter->listen_fd[i] = -1;
    }
}

static void tune(const struct relay *relay, int fd)
{
    int one = 1;
    const char *cc = relay->splitter->cc;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, (socklen_t)strlen(cc));
}

/* A connection in the name of the near end: from its address and port to where it wanted. */
static int connect_onward(const struct relay *relay, int near_fd)
{
    struct sockaddr_storage from, to;
    socklen_t from_len = sizeof from, to_len = sizeof to;
    int one = 1;
    if (getpeername(near_fd, (struct sockaddr *)&from, &from_len) != 0 ||
        getsockname(near_fd, (struct sockaddr *)&to, &to_len) != 0)
        return -1;
    int fd = socket(from.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    tune(relay, fd);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (be_transparent(fd, from.ss_family) == 0 &&
        bind(fd, (struct sockaddr *)&from, from_len) == 0 &&
        (connect(fd, (struct sockaddr *)&to, to_len) == 0 || errno == EINPROGRESS))
        return fd;
    close(fd);
    return -1;
}

static void side_init(struct side *side, struct pair *pair, struct side *other, int fd)
{
    side->pair = pair;
    side->other = other;
    side->fd = fd;
}

/* What this side waits for: bytes to read while its buffer is empty, room to write
 * while the other one's is not. */
static uint32_t wanted(const struct side *side)
{
    uint32_t events = 0;
    if (side->pair->connecting)
        return side == &side->pair->far ? EPOLLOUT : 0;
    if (!side->ended && side->begin == side->end)
        events |= EPOLLIN;
    if (side->other->begin != side->other->end)
        events |= EPOLLOUT;
    return events;
}

static void watch(struct relay *relay, struct side *side, int operation)
{
    uint32_t events = wanted(side);
    struct epoll_event event = {.events = events, .data.ptr = side};
    if (operation == EPOLL_CTL_MOD && events == side->watched)
        return;
    if (epoll_ctl(relay->epoll_fd, operation, side->fd, &event) == 0)
        side->watched = events;
}

/* Closes both; a reset where something went wrong, as the end itself would send. */
static void close_pair(struct relay *relay, struct pair *pair, bool reset)
{
    struct linger none = {.l_onoff = 1, .l_linger = 0};
    struct side *sides[] = {&pair->near, &pair->far};
    for (int i = 0; i < 2; i++) {
        if (reset)
            setsockopt(sides[i]->fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
        close(sides[i]->fd);
    }
    pair->dead = true;
    pair->next_dead = relay->dead;
    relay->dead = pair;
    relay->count--;
}

static void accept_one(struct relay *relay, int listen_fd)
{
    int near_fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (near_fd < 0)
        return;
    tune(relay, near_fd);
    int far_fd = relay->count < PAIRS_MAX ? connect_onward(relay, near_fd) : -1;
    struct pair *pair = far_fd < 0 ? NULL : malloc(sizeof *pair);
    if (!pair) {
        if (far_fd >= 0)
            close(far_fd);
        close(near_fd);
        return;
    }
    /* The buffers need no zeros, and untouched memory costs nothing. */
    memset(&pair->near, 0, offsetof(struct side, bytes));
    memset(&pair->far, 0, offsetof(struct side, bytes));
    pair->dead = false;
    pair->connecting = true;
    side_init(&pair->near, pair, &pair->far, near_fd);
    side_init(&pair->far, pair, &pair->near, far_fd);
    relay->count++;
    watch(relay, &pair->near, EPOLL_CTL_ADD);
    watch(relay, &pair->far, EPOLL_CTL_ADD);
}

/* Fills an empty buffer; false when the connection broke. */
static bool take_in(struct side *side)
{
    if (side->ended || side->begin != side->end)
        return true;
    ssize_t len = recv(side->fd, side->bytes, sizeof side->bytes, 0);
    if (len < 0)
        return errno == EAGAIN || errno == EINTR;
    side->ended = len == 0;
    side->begin = 0;
    side->end = (size_t)len;
    return true;
}

/* Sends on what this side has brought, and its end; false when the connection broke. */
static bool send_on(struct side *side)
{
    while (side->begin != side->end) {
        ssize_t len =
            send(side->other->fd, side->bytes + side->begin, side->end - side->begin, MSG_NOSIGNAL);
        if (len < 0)
            return errno == EAGAIN || errno == EINTR;
        side->begin += (size_t)len;
    }
    if (side->ended && !side->told) {
        shutdown(side->other->fd, SHUT_WR);
        side->told = true;
    }
    return true;
}

/* True while the pair lives. */
static bool finish_connecting(struct pair *pair)
{
    int errnum = 0;
    socklen_t len = sizeof errnum;
    getsockopt(pair->far.fd, SOL_SOCKET, SO_ERROR, &errnum, &len);
    pair->connecting = false;
    return errnum == 0;
}

static void serve(struct relay *relay, struct side *side, uint32_t events)
{
    struct pair *pair = side->pair;
    bool alive = true;
    if (pair->dead)
        return;
    if (pair->connecting && side == &pair->far)
        alive = finish_connecting(pair);
    if (alive && !pair->connecting && events & EPOLLIN)
        alive = take_in(side) && send_on(side);
    if (alive && !pair->connecting && events & EPOLLOUT)
        alive = send_on(side->other);
    if (events & EPOLLERR || (events & EPOLLHUP && !(events & (EPOLLIN | EPOLLOUT))))
        alive = false;
    if (!alive || (pair->near.told && pair->far.told)) {
        close_pair(relay, pair, !alive);
        return;
    }
    watch(relay, &pair->near, EPOLL_CTL_MOD);
    watch(relay, &pair->far, EPOLL_CTL_MOD);
}

static void free_dead(struct relay *relay)
{
    while (relay->dead) {
        struct pair *pair = relay->dead;
        relay->dead = pair->next_dead;
        free(pair);
    }
}

_Noreturn void tl_lab_splitter_main(const struct tl_lab_splitter *splitter)
{
    struct relay relay = {.splitter = splitter};
    relay.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < 2; i++) {
        /* A listening socket is known by a pointer into the splitter itself. */
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = (void *)&splitter->listen_fd[i]};
        if (splitter->listen_fd[i] >= 0)
            epoll_ctl(relay.epoll_fd, EPOLL_CTL_ADD, splitter->listen_fd[i], &event);
    }
    for (;;) {
        struct epoll_event events[EVENT_BATCH];
        int n = epoll_wait(relay.epoll_fd, events, EVENT_BATCH, -1);
        if (n < 0 && errno != EINTR)
            _exit(1);
        for (int i = 0; i < n; i++) {
            const void *what = events[i].data.ptr;
            if (what == &splitter->listen_fd[0] || what == &splitter->listen_fd[1])
                accept_one(&relay, *(const int *)what);
            else
                serve(&relay, events[i].data.ptr, events[i].events);
        }
        free_dead(&relay);
    }
}

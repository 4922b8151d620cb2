/* Elastic connections of others; see others.h. Level-triggered epoll; a sender that rests is
 * watched for nothing. */
#include "others.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "row.h"
#include "tightlink/base/random.h"
#include "tightlink/base/time.h"

#define EVENT_BATCH 64
#define CHUNK_BYTES 65536

/* They are there first: their slow start is over and the queue is as they keep it. */
#define SETTLE_NS (2 * TL_NS_PER_S)

/* A connection, seen from one of its ends. */
struct end {
    int fd;
    bool sends, connected;
    bool on;
    double on_ns, off_ns;
    int64_t turn_ns; /* when it stops or goes on; INT64_MAX: never */
};

struct crowd {
    int epoll_fd, ready_fd;
    int waiting; /* connections that do not stand yet */
    int64_t settled_ns;
    struct tl_random chance;
    struct end listeners[TL_LAB_DIRECTION_COUNT];
    struct end senders[TL_LAB_DIRECTION_COUNT * TL_LAB_OTHERS_MAX];
    struct end receivers[TL_LAB_DIRECTION_COUNT * TL_LAB_OTHERS_MAX];
    int sender_count, receiver_count;
};

bool tl_lab_others_wanted(const struct tl_lab_config *config)
{
    return config->link[TL_LAB_UP].others > 0 || config->link[TL_LAB_DOWN].others > 0;
}

/* The address of one side of the main link, port 0. */
static socklen_t side_address(const struct tl_lab_config *config, enum tl_lab_host side,
                              struct sockaddr_storage *ret_address)
{
    char text[TL_LAB_ADDRESS_SIZE];
    const struct tl_lab_plan *plan = &tl_lab_plans[config->family & TL_LAB_IPV4 ? 0 : 1];
    struct sockaddr_in *v4 = (struct sockaddr_in *)ret_address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret_address;
    tl_lab_row_address(plan, tl_lab_main_link(config), side, text);
    memset(ret_address, 0, sizeof *ret_address);
    ret_address->ss_family = (sa_family_t)plan->af;
    inet_pton(plan->af, text, plan->af == AF_INET ? (void *)&v4->sin_addr : (void *)&v6->sin6_addr);
    return plan->af == AF_INET ? sizeof *v4 : sizeof *v6;
}

static int tcp_socket(int af)
{
    static const char cc[] = "cubic";
    int fd = socket(af, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0) /* what most hosts have, whatever this one does */
        (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, sizeof cc - 1);
    return fd;
}

/* Listens on the receiving side; *address becomes where to connect to. Returns an errno. */
static int open_listener(struct tl_lab_others_way *way, struct sockaddr_storage *address,
                         socklen_t len)
{
    way->listen_fd = tcp_socket(address->ss_family);
    if (way->listen_fd < 0 || bind(way->listen_fd, (struct sockaddr *)address, len) != 0 ||
        listen(way->listen_fd, TL_LAB_OTHERS_MAX) != 0 ||
        getsockname(way->listen_fd, (struct sockaddr *)address, &len) != 0)
        return errno;
    return 0;
}

static int open_senders(struct tl_lab_others_way *way, int count,
                        const struct sockaddr_storage *address, socklen_t len)
{
    for (int i = 0; i < count; i++) {
        int fd = tcp_socket(address->ss_family);
        if (fd < 0)
            return errno;
        way->send_fd[way->count++] = fd;
        if (connect(fd, (const struct sockaddr *)address, len) != 0 && errno != EINPROGRESS)
            return errno;
    }
    return 0;
}

static enum tl_status open_way(struct tl_lab_others_way *way, enum tl_lab_direction direction,
                               const struct tl_lab_topology *topology,
                               const struct tl_lab_config *config, struct tl_error *reterr)
{
    const struct tl_lab_link_config *link = &config->link[direction];
    enum tl_lab_host from = direction == TL_LAB_UP ? TL_LAB_NEAR : TL_LAB_FAR;
    enum tl_lab_host to = direction == TL_LAB_UP ? TL_LAB_FAR : TL_LAB_NEAR;
    int at = tl_lab_main_link(config);
    struct sockaddr_storage address;
    socklen_t len = side_address(config, to, &address);
    int errnum = 0;
    way->on_ns = (double)link->others_on_ns;
    way->off_ns = (double)link->others_off_ns;
    enum tl_status status =
        tl_lab_ns_enter(&topology->place[tl_lab_row_place_at(config, at, to)], reterr);
    if (status == TL_OK)
        errnum = open_listener(way, &address, len);
    if (status == TL_OK && errnum == 0)
        status = tl_lab_ns_enter(&topology->place[tl_lab_row_place_at(config, at, from)], reterr);
    if (status == TL_OK && errnum == 0)
        errnum = open_senders(way, link->others, &address, len);
    return errnum ? tl_error_set(reterr, tl_status_from_errno(errnum),
                                 "cannot open the connections of others: %s", strerror(errnum))
                  : status;
}

enum tl_status tl_lab_others_init(struct tl_lab_others *others,
                                  const struct tl_lab_topology *topology,
                                  const struct tl_lab_config *config, struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    memset(others, 0, sizeof *others);
    for (int d = 0; d < TL_LAB_DIRECTION_COUNT; d++)
        others->way[d].listen_fd = -1;
    for (int d = 0; d < TL_LAB_DIRECTION_COUNT && status == TL_OK; d++)
        if (config->link[d].others > 0)
            status = open_way(&others->way[d], (enum tl_lab_direction)d, topology, config, reterr);
    if (status != TL_OK)
        tl_lab_others_finish(others);
    return status;
}

void tl_lab_others_finish(struct tl_lab_others *others)
{
    for (int d = 0; d < TL_LAB_DIRECTION_COUNT; d++) {
        struct tl_lab_others_way *way = &others->way[d];
        if (way->listen_fd >= 0)
            close(way->listen_fd);
        for (int i = 0; i < way->count; i++)
            close(way->send_fd[i]);
        way->listen_fd = -1;
        way->count = 0;
    }
}

static void watch(const struct crowd *crowd, struct end *end, int operation, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = end};
    if (epoll_ctl(crowd->epoll_fd, operation, end->fd, &event) != 0)
        _exit(1);
}

static int64_t after_ns(struct crowd *crowd, int64_t now_ns, double mean_ns)
{
    if (mean_ns <= 0)
        return INT64_MAX;
    return now_ns + (int64_t)(-mean_ns * log1p(-tl_random_unit(&crowd->chance)));
}

static void add_way(struct crowd *crowd, const struct tl_lab_others_way *way, int direction)
{
    if (way->listen_fd < 0)
        return;
    crowd->listeners[direction] = (struct end){.fd = way->listen_fd};
    watch(crowd, &crowd->listeners[direction], EPOLL_CTL_ADD, EPOLLIN);
    for (int i = 0; i < way->count; i++) {
        struct end *end = &crowd->senders[crowd->sender_count++];
        *end = (struct end){.fd = way->send_fd[i],
                            .sends = true,
                            .on = true,
                            .on_ns = way->on_ns,
                            .off_ns = way->off_ns,
                            .turn_ns = INT64_MAX};
        crowd->waiting++;
        watch(crowd, end, EPOLL_CTL_ADD, EPOLLOUT);
    }
}

static void take_in(struct crowd *crowd, const struct end *listener)
{
    int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    if (crowd->receiver_count == TL_LAB_DIRECTION_COUNT * TL_LAB_OTHERS_MAX) {
        close(fd);
        return;
    }
    struct end *end = &crowd->receivers[crowd->receiver_count++];
    *end = (struct end){.fd = fd, .connected = true};
    watch(crowd, end, EPOLL_CTL_ADD, EPOLLIN);
}

static void send_some(struct crowd *crowd, struct end *end)
{
    static const unsigned char nothing[CHUNK_BYTES];
    if (!end->connected) {
        int errnum = 0;
        socklen_t size = sizeof errnum;
        if (getsockopt(end->fd, SOL_SOCKET, SO_ERROR, &errnum, &size) != 0 || errnum != 0)
            _exit(1);
        end->connected = true;
        end->turn_ns = after_ns(crowd, tl_now_ns(), end->on_ns);
        crowd->waiting--;
    }
    ssize_t sent = send(end->fd, nothing, sizeof nothing, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR)
        _exit(1); /* a path that was dead for too long; the guard then ends the lab */
}

static void receive_some(const struct end *end)
{
    /* TCP hands nothing over where MSG_TRUNC is set: it only counts (tcp(7)). */
    ssize_t got = recv(end->fd, NULL, (size_t)CHUNK_BYTES * 16, MSG_TRUNC);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        _exit(1);
}

/* Stops those whose time is over and lets those go on who have rested; returns when the next
 * one turns. */
static int64_t turn(struct crowd *crowd, int64_t now_ns)
{
    int64_t next_ns = INT64_MAX;
    for (int i = 0; i < crowd->sender_count; i++) {
        struct end *end = &crowd->senders[i];
        if (end->turn_ns <= now_ns) {
            end->on = !end->on;
            end->turn_ns = after_ns(crowd, now_ns, end->on ? end->on_ns : end->off_ns);
            watch(crowd, end, EPOLL_CTL_MOD, end->on ? EPOLLOUT : 0);
        }
        next_ns = end->turn_ns < next_ns ? end->turn_ns : next_ns;
    }
    return next_ns;
}

static void tell_when_settled(struct crowd *crowd, int64_t now_ns)
{
    if (crowd->ready_fd < 0 || crowd->waiting > 0)
        return;
    if (crowd->settled_ns == 0)
        crowd->settled_ns = now_ns + SETTLE_NS;
    if (now_ns < crowd->settled_ns)
        return;
    if (write(crowd->ready_fd, "r", 1) != 1)
        _exit(1);
    close(crowd->ready_fd);
    crowd->ready_fd = -1;
}

static int timeout_ms(const struct crowd *crowd, int64_t now_ns, int64_t next_ns)
{
    if (crowd->ready_fd >= 0)
        return 20;
    if (next_ns == INT64_MAX)
        return -1;
    return next_ns > now_ns ? (int)((next_ns - now_ns) / TL_NS_PER_MS) + 1 : 0;
}

_Noreturn void tl_lab_others_main(const struct tl_lab_others *others, int ready_fd)
{
    static struct crowd crowd;
    struct epoll_event events[EVENT_BATCH];
    crowd.ready_fd = ready_fd;
    crowd.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (crowd.epoll_fd < 0)
        _exit(1);
    tl_random_seed(&crowd.chance, 1);
    for (int d = 0; d < TL_LAB_DIRECTION_COUNT; d++)
        add_way(&crowd, &others->way[d], d);
    for (;;) {
        int64_t now_ns = tl_now_ns();
        int64_t next_ns = turn(&crowd, now_ns);
        tell_when_settled(&crowd, now_ns);
        int count =
            epoll_wait(crowd.epoll_fd, events, EVENT_BATCH, timeout_ms(&crowd, now_ns, next_ns));
        for (int i = 0; i < count; i++) {
            struct end *end = events[i].data.ptr;
            if (end->sends)
                send_some(&crowd, end);
            else if (end->connected)
                receive_some(end);
            else
                take_in(&crowd, end);
        }
    }
}

/* The responder's loop: sockets, epoll, tick, end. What a stranger, a session and a
 * datagram do is in the files that responder_private.h lists. */
#include "tightlink/engine/responder.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "path_error.h"
#include "responder_private.h"
#include "tightlink/base/time.h"

#define EVENTS_PER_WAKEUP 128
#define LISTEN_BACKLOG    4096 /* cut by net.core.somaxconn */
#define PORT_ATTEMPTS     16   /* for port 0: UDP must get the number that TCP got */

enum tl_status watch_add(struct tl_responder *responder, struct watch *watch, uint32_t events,
                         void (*ready)(struct watch *, uint32_t))
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    if (epoll_ctl(responder->epoll_fd, EPOLL_CTL_ADD, watch->fd, &event) < 0)
        return tl_status_from_errno(errno);
    watch->ready = ready;
    return TL_OK;
}

void watch_change(struct tl_responder *responder, struct watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    (void)epoll_ctl(responder->epoll_fd, EPOLL_CTL_MOD, watch->fd, &event);
}

void watch_bury(struct tl_responder *responder, struct watch *watch)
{
    if (watch->fd >= 0)
        close(watch->fd);
    watch->fd = -1;
    watch->ready = NULL;
    watch->next_dead = responder->dead;
    responder->dead = watch;
}

static void free_dead(struct tl_responder *responder)
{
    while (responder->dead) {
        struct watch *next = responder->dead->next_dead;
        free(responder->dead);
        responder->dead = next;
    }
}

void address_normalise(struct sockaddr_in6 *address)
{
    if (address->sin6_family != AF_INET)
        return;
    struct sockaddr_in v4;
    memcpy(&v4, address, sizeof v4);
    *address = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = v4.sin_port};
    address->sin6_addr.s6_addr[10] = address->sin6_addr.s6_addr[11] = 0xff;
    memcpy(&address->sin6_addr.s6_addr[12], &v4.sin_addr, 4);
}

void address_text(const struct in6_addr *address, char ret_text[INET6_ADDRSTRLEN])
{
    bool v4 = IN6_IS_ADDR_V4MAPPED(address);
    const void *bytes = v4 ? (const void *)&address->s6_addr[12] : (const void *)address;
    if (!inet_ntop(v4 ? AF_INET : AF_INET6, bytes, ret_text, INET6_ADDRSTRLEN))
        ret_text[0] = '\0';
}

void responder_log(struct tl_responder *responder, const char *fmt, ...)
{
    if (!responder->options.log)
        return;
    char line[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    responder->options.log(responder->options.log_context, line);
}

/* An idle responder does not wake up at all. */
static void set_tick(struct tl_responder *responder, bool on)
{
    struct timespec tick = {.tv_nsec = on ? TICK_NS : 0};
    struct itimerspec timer = {.it_value = tick, .it_interval = tick};
    if (timerfd_settime(responder->timer.fd, 0, &timer, NULL) == 0)
        responder->ticking = on;
}

void responder_need_tick(struct tl_responder *responder)
{
    if (!responder->ticking)
        set_tick(responder, true);
}

static void timer_ready(struct watch *watch, uint32_t events)
{
    struct tl_responder *responder =
        (struct tl_responder *)((char *)watch - offsetof(struct tl_responder, timer));
    uint64_t missed;
    (void)!read(watch->fd, &missed, sizeof missed);
    int64_t now_ns = tl_now_ns();
    accept_tick(responder, now_ns);
    /* Backwards: a session that ends takes its own place in the list. */
    for (uint32_t i = responder->session_count; i-- > 0;)
        if (i < responder->session_count)
            session_tick(responder->sessions[i], now_ns);
    if (responder->half_count == 0 && responder->session_count == 0)
        set_tick(responder, false);
}

static void stop_ready(struct watch *watch, uint32_t events)
{
    struct tl_responder *responder =
        (struct tl_responder *)((char *)watch - offsetof(struct tl_responder, stop));
    atomic_store(&responder->stop_asked, true);
}

void tl_responder_stop(struct tl_responder *responder)
{
    atomic_store(&responder->stop_asked, true);
    uint64_t one = 1;
    (void)!write(responder->stop.fd, &one, sizeof one);
}

int tl_responder_port(const struct tl_responder *responder)
{
    return responder->port;
}

enum tl_status tl_responder_run(struct tl_responder *responder, struct tl_error *reterr)
{
    struct epoll_event events[EVENTS_PER_WAKEUP];
    while (!atomic_load(&responder->stop_asked)) {
        int count = epoll_wait(responder->epoll_fd, events, EVENTS_PER_WAKEUP, -1);
        if (count < 0 && errno != EINTR)
            return tl_error_set(reterr, TL_IO, "epoll_wait: %s", strerror(errno));
        for (int i = 0; i < count; i++) {
            struct watch *watch = events[i].data.ptr;
            if (watch->ready)
                watch->ready(watch, events[i].events);
        }
        if (responder->queue_dirty)
            queue_serve(responder);
        free_dead(responder);
    }
    accept_finish(responder);
    sessions_finish(responder);
    free_dead(responder);
    return TL_OK;
}

static enum tl_status bind_error(const struct tl_responder_options *options, int port, int errnum,
                                 struct tl_error *reterr)
{
    const char *where = options->bind_address ? options->bind_address : "every address";
    switch (errnum) {
    case EADDRINUSE:
        return tl_error_set(reterr, TL_BUSY,
                            "port %d is in use on %s: another tightlinkd may be running there "
                            "(see \"ss -lntup\"); end it, or choose another port with --port",
                            port, where);
    case EACCES:
    case EPERM:
        return tl_error_set(reterr, TL_DENIED,
                            "port %d may not be opened: ports below "
                            "net.ipv4.ip_unprivileged_port_start need CAP_NET_BIND_SERVICE; "
                            "choose a higher one with --port",
                            port);
    case EADDRNOTAVAIL:
        return tl_error_set(reterr, TL_UNREACHABLE,
                            "%s is no address of this host; \"ip address\" lists them", where);
    default:
        return tl_error_set(reterr, tl_status_from_errno(errnum), "port %d on %s: %s", port, where,
                            strerror(errnum));
    }
}

/* The address to bind, and its family: both families by one IPv6 socket where this
 * kernel has IPv6. */
static enum tl_status bind_address(const struct tl_responder_options *options,
                                   struct sockaddr_storage *ret_address, socklen_t *ret_len,
                                   struct tl_error *reterr)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT};
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    bool is_v6 = true;
    if (options->bind_address && inet_pton(AF_INET, options->bind_address, &v4.sin_addr) == 1) {
        is_v6 = false;
    } else if (options->bind_address) {
        if (inet_pton(AF_INET6, options->bind_address, &v6.sin6_addr) != 1)
            return tl_error_set(reterr, TL_SYNTAX, "\"%.64s\" is no IPv4 or IPv6 address",
                                options->bind_address);
    } else {
        int probe = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        is_v6 = probe >= 0;
        if (probe >= 0)
            close(probe);
    }
    *ret_len = is_v6 ? sizeof v6 : sizeof v4;
    memcpy(ret_address, is_v6 ? (void *)&v6 : (void *)&v4, *ret_len);
    return TL_OK;
}

static void set_port(struct sockaddr_storage *address, int port)
{
    if (address->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)address)->sin6_port = htons((uint16_t)port);
    else
        ((struct sockaddr_in *)address)->sin_port = htons((uint16_t)port);
}

/* A bound socket, or -1 with errno. */
static int bound_socket(int type, const struct sockaddr_storage *address, socklen_t len, bool dual)
{
    int on = 1, v6only = !dual;
    int fd = socket(address->ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (type == SOCK_STREAM)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    else /* udp_port.c; that the port is ours says the TCP socket */
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    if (address->ss_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof v6only);
    if (bind(fd, (const struct sockaddr *)address, len) == 0)
        return fd;
    int errnum = errno;
    close(fd);
    errno = errnum;
    return -1;
}

/* Answers leave from the address that was asked, unfragmented; the kernel's time of arrival,
 * the class and the TTL of what comes are known, and what routers say of answers. Options of the
 * other family fail, which is right. */
static void set_udp_options(int fd)
{
    int on = 1;
    path_error_enable(fd);
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_IP, IP_RECVTTL, &on, sizeof on);
}

static int socket_port(int fd)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &len) < 0)
        return 0;
    return ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                               : ((struct sockaddr_in *)&address)->sin_port);
}

/* One attempt to get TCP and UDP on the same port; errno on failure. */
static bool open_pair(struct tl_responder *responder, struct sockaddr_storage *address,
                      socklen_t len)
{
    bool dual = !responder->options.bind_address;
    set_port(address, responder->options.port);
    responder->listener.fd = bound_socket(SOCK_STREAM, address, len, dual);
    if (responder->listener.fd < 0)
        return false;
    responder->port = socket_port(responder->listener.fd);
    set_port(address, responder->port);
    responder->udp.fd = bound_socket(SOCK_DGRAM, address, len, dual);
    if (responder->udp.fd >= 0 && listen(responder->listener.fd, LISTEN_BACKLOG) == 0)
        return true;
    int errnum = errno;
    if (responder->udp.fd >= 0)
        close(responder->udp.fd);
    close(responder->listener.fd);
    responder->udp.fd = responder->listener.fd = -1;
    errno = errnum;
    return false;
}

static enum tl_status open_sockets(struct tl_responder *responder, struct tl_error *reterr)
{
    struct sockaddr_storage address = {0};
    socklen_t len = 0;
    enum tl_status status = bind_address(&responder->options, &address, &len, reterr);
    if (status != TL_OK)
        return status;
    int attempts = responder->options.port == 0 ? PORT_ATTEMPTS : 1;
    while (!open_pair(responder, &address, len))
        if (--attempts == 0 || errno != EADDRINUSE)
            return bind_error(&responder->options, responder->options.port, errno, reterr);
    set_udp_options(responder->udp.fd);
    /* What a middlebox made of a client's SYN: SYN_QUERY asks for it. */
    int headers = 1;
    (void)setsockopt(responder->listener.fd, IPPROTO_TCP, TCP_SAVE_SYN, &headers, sizeof headers);
    return TL_OK;
}

static enum tl_status open_watches(struct tl_responder *responder, struct tl_error *reterr)
{
    responder->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    responder->stop.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    responder->timer.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (responder->epoll_fd < 0 || responder->stop.fd < 0 || responder->timer.fd < 0)
        return tl_error_set(reterr, TL_IO, "epoll, eventfd or timerfd: %s", strerror(errno));
    enum tl_status status = watch_add(responder, &responder->listener, EPOLLIN, accept_ready);
    if (status == TL_OK)
        status = watch_add(responder, &responder->udp, EPOLLIN, udp_ready);
    if (status == TL_OK)
        status = watch_add(responder, &responder->stop, EPOLLIN, stop_ready);
    if (status == TL_OK)
        status = watch_add(responder, &responder->timer, EPOLLIN, timer_ready);
    if (status == TL_OK)
        status = host_reader_create(responder);
    if (status != TL_OK)
        return tl_error_set(reterr, status, "the responder's loop: %s", tl_status_text(status));
    return TL_OK;
}

/* As many descriptors as are permitted; what sessions need stays out of strangers' reach. */
static uint32_t raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 256;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 256;
    uint64_t all = limit.rlim_cur < 1 << 20 ? limit.rlim_cur : 1 << 20;
    uint64_t kept = all / 2 < 2560 ? all / 2 : 2560; /* 64 sessions, their streams, our own */
    return (uint32_t)tl_limit_clamp(TL_LIMIT_HALF_OPEN, all - kept);
}

static enum tl_status allocate_tables(struct tl_responder *responder)
{
    uint32_t strangers = raise_descriptors();
    int64_t most = tl_limit_row(TL_LIMIT_HALF_OPEN)->standard;
    responder->half_max = strangers < most ? strangers : (uint32_t)most;
    responder->session_max = (uint32_t)tl_limit_row(TL_LIMIT_SESSIONS)->standard;
    responder->sessions = calloc(2 * responder->session_max, sizeof *responder->sessions);
    responder->samples = calloc(SAMPLE_BATCH, sizeof *responder->samples);
    if (!responder->sessions || !responder->samples)
        return TL_NOMEM;
    return accept_guard_init(&responder->guard,
                             (uint32_t)tl_limit_row(TL_LIMIT_ACCEPT_PREFIXES)->standard,
                             tl_limit_row(TL_LIMIT_ACCEPT_RATE)->standard,
                             tl_limit_row(TL_LIMIT_ACCEPT_BURST)->standard);
}

static void take_options(struct tl_responder *responder, const struct tl_responder_options *options)
{
    struct tl_responder_options *own = &responder->options;
    *own = *options;
    uint64_t seconds = options->max_seconds < UINT64_MAX / 1000 ? options->max_seconds : 1000000;
    uint64_t longest = seconds ? seconds * 1000 : (uint64_t)tl_limit_row(TL_LIMIT_DURATION_MS)->max;
    /* WELCOME counts whole seconds. */
    own->max_seconds = (uint64_t)tl_limit_clamp(TL_LIMIT_DURATION_MS, longest) / 1000;
    own->max_streams = (uint64_t)tl_limit_clamp(TL_LIMIT_STREAMS_GRANTED, options->max_streams);
    own->rate_cap_bps = (uint64_t)tl_limit_clamp(TL_LIMIT_RATE_CAP_BPS, options->rate_cap_bps);
    own->daily_quota_bytes =
        (uint64_t)tl_limit_clamp(TL_LIMIT_DAILY_QUOTA_BYTES, options->daily_quota_bytes);
    snprintf(responder->program, sizeof responder->program, "%s",
             options->program ? options->program : "tightlinkd");
}

enum tl_status tl_responder_create(const struct tl_responder_options *options,
                                   struct tl_responder **ret_responder, struct tl_error *reterr)
{
    struct tl_responder *responder = calloc(1, sizeof *responder);
    if (!responder)
        return tl_error_set(reterr, TL_NOMEM, "no memory for the responder");
    responder->epoll_fd = responder->listener.fd = responder->udp.fd = -1;
    responder->stop.fd = responder->timer.fd = responder->host_done.fd = -1;
    take_options(responder, options);
    tl_cpu_reader_init(&responder->cpu, "");
    enum tl_status status = allocate_tables(responder);
    if (status != TL_OK) {
        (void)tl_error_set(reterr, status, "the responder's tables: %s", tl_status_text(status));
        goto out;
    }
    if (options->keys)
        status = secure_context_create_server(options->keys, &responder->secured, reterr);
    if (status == TL_OK)
        status = open_sockets(responder, reterr);
    if (status == TL_OK)
        status = open_watches(responder, reterr);
out:
    if (status != TL_OK) {
        tl_responder_destroy(responder);
        return status;
    }
    *ret_responder = responder;
    return TL_OK;
}

void tl_responder_destroy(struct tl_responder *responder)
{
    if (!responder)
        return;
    accept_finish(responder);
    if (responder->sessions)
        sessions_finish(responder);
    host_reader_destroy(responder);
    free_dead(responder);
    int fds[] = {responder->epoll_fd, responder->listener.fd, responder->udp.fd, responder->stop.fd,
                 responder->timer.fd};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    accept_guard_finish(&responder->guard);
    secure_context_destroy(responder->secured);
    free(responder->sessions);
    free(responder->samples);
    free(responder);
}

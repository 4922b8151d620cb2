/* The responder as a whole: sockets, create, run, stop. What a stranger, a session and a
 * datagram do is in the files that responder_private.h lists. */
#include "tightlink/engine/responder.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "admission.h"
#include "frames.h"
#include "host_reader.h"
#include "keys.h"
#include "places.h"
#include "responder_private.h"
#include "session.h"
#include "socket_address.h"
#include "status.h"
#include "tightlink/base/wake.h"
#include "turn.h"
#include "udp_echo.h"
#include "udp_port.h"

#define LISTEN_BACKLOG 4096 /* cut by net.core.somaxconn */
#define PORT_ATTEMPTS  16   /* for port 0: UDP must get the number that TCP got */

/* --- The loop ------------------------------------------------------------------------------- */

static bool tick(void *context, int64_t now_ns)
{
    struct tl_responder *responder = context;
    struct sessions *sessions = &responder->sessions;
    bool strangers = admission_tick(responder->admission, now_ns);
    /* Backwards: a session that ends takes its own place in the list. */
    for (uint32_t i = sessions->count; i-- > 0;)
        if (i < sessions->count)
            session_tick(sessions->list[i], now_ns);
    return strangers || sessions->count > 0;
}

static void listener_ready(struct watch *watch, uint32_t events)
{
    struct tl_responder *responder =
        (struct tl_responder *)((char *)watch - offsetof(struct tl_responder, listener));
    admission_accept(responder->admission);
}

static void stop_ready(struct watch *watch, uint32_t events)
{
    struct tl_responder *responder =
        (struct tl_responder *)((char *)watch - offsetof(struct tl_responder, stop));
    uint64_t count;
    (void)!read(watch->fd, &count, sizeof count);
    if (atomic_exchange(&responder->reload_asked, false))
        keys_reload(responder);
}

void tl_responder_stop(struct tl_responder *responder)
{
    atomic_store(&responder->stop_asked, true);
    tl_wake(responder->stop.fd);
}

void tl_responder_reload(struct tl_responder *responder)
{
    atomic_store(&responder->reload_asked, true);
    tl_wake(responder->stop.fd);
}

int tl_responder_port(const struct tl_responder *responder)
{
    return responder->port;
}

/* All at once; the streams' threads need up to 250 ms to end. */
static void finish_sessions(struct tl_responder *responder)
{
    struct sessions *sessions = &responder->sessions;
    for (uint32_t i = sessions->count; i-- > 0;)
        if (i < sessions->count)
            session_error(sessions->list[i], TL_WIRE_E_GOING, "this responder is shut down");
    while (sessions->count > 0)
        session_finish(sessions->list[sessions->count - 1]);
}

enum tl_status tl_responder_run(struct tl_responder *responder, struct tl_error *reterr)
{
    while (!atomic_load(&responder->stop_asked)) {
        enum tl_status status = loop_wait(responder->loop, reterr);
        if (status != TL_OK)
            return status;
        if (responder->queue_dirty)
            turns_serve(responder);
        loop_tidy(responder->loop);
    }
    admission_clear(responder->admission);
    finish_sessions(responder);
    loop_tidy(responder->loop);
    return TL_OK;
}

/* --- Sockets -------------------------------------------------------------------------------- */

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
    socket_address_set_port(address, (uint16_t)responder->options.port);
    responder->listener.fd = bound_socket(SOCK_STREAM, address, len, dual);
    if (responder->listener.fd < 0)
        return false;
    responder->port = socket_port(responder->listener.fd);
    socket_address_set_port(address, (uint16_t)responder->port);
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
    /* What a middlebox made of a client's SYN: SYN_QUERY asks for it. */
    int headers = 1;
    (void)setsockopt(responder->listener.fd, IPPROTO_TCP, TCP_SAVE_SYN, &headers, sizeof headers);
    return TL_OK;
}

static enum tl_status open_watches(struct tl_responder *responder, struct tl_error *reterr)
{
    responder->stop.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (responder->stop.fd < 0)
        return tl_error_set(reterr, TL_IO, "eventfd: %s", strerror(errno));
    struct loop *loop = responder->loop;
    enum tl_status status = loop_add(loop, &responder->listener, EPOLLIN, listener_ready);
    if (status == TL_OK)
        status = loop_add(loop, &responder->udp, EPOLLIN, udp_ready);
    if (status == TL_OK)
        status = loop_add(loop, &responder->stop, EPOLLIN, stop_ready);
    if (status == TL_OK)
        status = status_open(responder);
    if (status == TL_OK)
        status = udp_port_create(responder->udp.fd, &responder->udp_port);
    if (status == TL_OK)
        status = host_reader_create(loop, frames_host_done, &responder->host);
    if (status != TL_OK)
        return tl_error_set(reterr, status, "the responder's loop: %s", tl_status_text(status));
    return TL_OK;
}

/* --- The whole ------------------------------------------------------------------------------ */

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
    responder->session_max = (uint32_t)tl_limit_row(TL_LIMIT_SESSIONS)->standard;
    responder->samples = calloc(SAMPLE_BATCH, sizeof *responder->samples);
    enum tl_status status = responder->samples ? TL_OK : TL_NOMEM;
    if (status == TL_OK)
        status = quota_init(&responder->quota, responder->options.daily_quota_bytes);
    if (status == TL_OK)
        status = sessions_init(&responder->sessions, 2 * responder->session_max);
    if (status == TL_OK)
        status = loop_create(tick, responder, &responder->loop);
    if (status == TL_OK)
        status = admission_create(responder, strangers < most ? strangers : (uint32_t)most,
                                  &responder->admission);
    if (status == TL_OK)
        status = accept_guard_init(&responder->guard,
                                   (uint32_t)tl_limit_row(TL_LIMIT_ACCEPT_PREFIXES)->standard,
                                   tl_limit_row(TL_LIMIT_ACCEPT_RATE)->standard,
                                   tl_limit_row(TL_LIMIT_ACCEPT_BURST)->standard);
    return status;
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
    responder->listener.fd = responder->udp.fd = responder->stop.fd = -1;
    responder->take_frame = frames_take;
    take_options(responder, options);
    tl_cpu_reader_init(&responder->cpu, "");
    enum tl_status status = allocate_tables(responder);
    if (status != TL_OK) {
        (void)tl_error_set(reterr, status, "the responder's tables: %s", tl_status_text(status));
        goto out;
    }
    responder->keys = options->keys;
    places_set(responder);
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
    admission_destroy(responder->admission);
    finish_sessions(responder);
    host_reader_destroy(responder->host);
    udp_port_destroy(responder->udp_port);
    loop_destroy(responder->loop);
    int fds[] = {responder->listener.fd, responder->udp.fd, responder->stop.fd};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    accept_guard_finish(&responder->guard);
    secure_context_destroy(responder->secured);
    sessions_free(&responder->sessions);
    free(responder->samples);
    free(responder);
}

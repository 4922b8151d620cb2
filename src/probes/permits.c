/* Tries what the probes need: socket options, ICMP, kernel files. */
#include "tightlink/probes/permits.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tightlink/base/status.h"
#include "tightlink/base/units.h"
#include "tightlink/host/counters.h"

/* Kernel 5.4 appended tcpi_snd_wnd, at this offset in struct tcp_info (linux/tcp.h). */
#define TCP_INFO_WITH_SND_WND 232

struct list {
    struct tl_permit *permits;
    int count;
};

static void add(struct list *list, const char *what, bool works, const char *fmt, ...)
    TL_PRINTF(4, 5);

static void add(struct list *list, const char *what, bool works, const char *fmt, ...)
{
    if (list->count >= TL_PERMITS_MAX)
        return;
    struct tl_permit *permit = &list->permits[list->count++];
    permit->what = what;
    permit->works = works;
    va_list args;
    va_start(args, fmt);
    vsnprintf(permit->detail, sizeof permit->detail, fmt, args);
    va_end(args);
}

static void try_tcp_info(struct list *list, int fd)
{
    char info[1024];
    socklen_t len = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &len) < 0)
        add(list, "TCP_INFO", false, "%s: no time ledger", strerror(errno));
    else
        add(list, "TCP_INFO", len >= TCP_INFO_WITH_SND_WND, "%u bytes%s", (unsigned)len,
            len >= TCP_INFO_WITH_SND_WND ? "" : ": too old to tell the receive window");
}

static void try_buffer(struct list *list, int fd, int option, const char *what)
{
    int asked = 1 << 30, got = 0;
    socklen_t len = sizeof got;
    char text[TL_UNIT_TEXT_SIZE];
    if (setsockopt(fd, SOL_SOCKET, option, &asked, sizeof asked) < 0 ||
        getsockopt(fd, SOL_SOCKET, option, &got, &len) < 0)
        add(list, what, false, "%s", strerror(errno));
    else /* the kernel keeps twice what was asked for, for its overhead (socket(7)) */
        add(list, what, true, "a program may ask for %s", tl_format_bytes(got / 2.0, text));
}

static void try_congestion(struct list *list, int fd)
{
    static const char *const names[] = {"cubic", "reno", "bbr"};
    char can[64] = "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, names[i], (socklen_t)strlen(names[i])) == 0)
            snprintf(can + strlen(can), sizeof can - strlen(can), "%s%s", *can ? ", " : "",
                     names[i]);
    }
    add(list, "congestion control", *can, "%s%s", *can ? "may choose " : "none may be chosen", can);
}

static void try_datagrams(struct list *list)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int one = 1, probe = IP_PMTUDISC_PROBE;
    bool works = fd >= 0 && setsockopt(fd, IPPROTO_IP, IP_RECVERR, &one, sizeof one) == 0 &&
                 setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &probe, sizeof probe) == 0;
    add(list, "UDP error queue, DF", works, "%s", works ? "ready" : strerror(errno));
    if (fd >= 0)
        close(fd);
}

static void try_icmp(struct list *list)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_ICMP);
    add(list, "ICMP echo", fd >= 0, "%s",
        fd >= 0 ? "permitted"
                : "not permitted to this user (net.ipv4.ping_group_range); UDP is used instead");
    if (fd >= 0)
        close(fd);
}

static void try_ipv6(struct list *list)
{
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    add(list, "IPv6", fd >= 0, "%s", fd >= 0 ? "sockets open" : strerror(errno));
    if (fd >= 0)
        close(fd);
}

static void try_file(struct list *list, const char *what, const char *path, const char *cost)
{
    bool works = access(path, R_OK) == 0;
    add(list, what, works, "%s%s%s", path, works ? "" : " cannot be read: ", works ? "" : cost);
}

/* What the interface of the default route tells about losses inside this host. */
static void try_counters(struct list *list)
{
    static const struct {
        enum tl_host_counter_id id;
        const char *what;
    } rows[] = {
        {TL_HOST_COUNTER_LINK_RX_MISSED, "interface"},
        {TL_HOST_COUNTER_QDISC_DROPPED, "queueing discipline"},
        {TL_HOST_COUNTER_NIC_RX_NO_BUFFER, "driver"},
        {TL_HOST_COUNTER_SOFTNET_DROPPED, "receive backlog"},
        {TL_HOST_COUNTER_TCP_RETRANS_SEGS, "TCP"},
        {TL_HOST_COUNTER_CONNTRACK_DROP, "connection tracking"},
    };
    struct sockaddr_in anywhere = {.sin_family = AF_INET};
    struct tl_host_counters counters;
    char told[120] = "", silent[120] = "";
    anywhere.sin_addr.s_addr = htonl(0xc0000201); /* 192.0.2.1: has the default route (RFC 5737) */
    tl_host_counters_read(&counters, "", tl_host_link_index((const struct sockaddr *)&anywhere));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool known = counters.why[rows[i].id] == TL_HOST_WHY_KNOWN;
        char *into = known ? told : silent;
        snprintf(into + strlen(into), sizeof told - strlen(into), "%s%s", *into ? ", " : "",
                 rows[i].what);
    }
    add(list, "loss counters", *told, "%s%s%s", *told ? told : "none", *silent ? "; silent: " : "",
        silent);
}

int tl_permits_read(struct tl_permit ret_permits[TL_PERMITS_MAX])
{
    struct list list = {.permits = ret_permits};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        add(&list, "TCP", false, "no socket: %s", strerror(errno));
    } else {
        try_tcp_info(&list, fd);
        try_buffer(&list, fd, SO_RCVBUF, "receive buffer");
        try_buffer(&list, fd, SO_SNDBUF, "send buffer");
        try_congestion(&list, fd);
        close(fd);
    }
    try_datagrams(&list);
    try_icmp(&list);
    try_ipv6(&list);
    try_counters(&list);
    try_file(&list, "TCP settings", "/proc/sys/net/ipv4/tcp_rmem", "no advice with numbers");
    try_file(&list, "processor time", "/proc/stat", "a busy processor cannot be seen");
    try_file(&list, "waiting for a core", "/proc/thread-self/schedstat",
             "a starved host cannot be seen");
    try_file(&list, "pressure", "/proc/pressure/cpu", "load is told from other sources");
    return list.count;
}

/* TCP connections over sock_diag (man 7 sock_diag): one dump for each family. */
#include "tightlink/host/sockets.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netlink.h"
#include "proc.h"

/* States of include/net/tcp_states.h in which payload may still move. */
#define TCP_STATE_ESTABLISHED 1
#define TCP_STATE_FIN_WAIT1   4
#define TCP_STATE_FIN_WAIT2   5
#define TCP_STATE_CLOSE_WAIT  8
#define TCP_STATE_LAST_ACK    9
#define MOVING_STATES                                                                              \
    (1 << TCP_STATE_ESTABLISHED | 1 << TCP_STATE_FIN_WAIT1 | 1 << TCP_STATE_FIN_WAIT2 |            \
     1 << TCP_STATE_CLOSE_WAIT | 1 << TCP_STATE_LAST_ACK)
/* Behind tcpi_snd_wnd since Linux 6.2; headers of the build machine may not have it. */
#define RCV_WND_OFFSET (offsetof(struct tcp_info, tcpi_snd_wnd) + sizeof(uint32_t))
/* tcpi_min_rtt before the first sample. */
#define NO_MIN_RTT UINT32_MAX

/* Of an IPv4 address as a mapped IPv6 address (RFC 4291, section 2.5.5.2). */
static const unsigned char mapped_prefix[12] = {[10] = 0xff, [11] = 0xff};

static void map_address(int family, const void *address, unsigned char ret_mapped[16])
{
    if (family == AF_INET6) {
        memcpy(ret_mapped, address, 16);
        return;
    }
    memcpy(ret_mapped, mapped_prefix, sizeof(mapped_prefix));
    memcpy(ret_mapped + sizeof(mapped_prefix), address, 4);
}

static uint64_t ns(uint64_t us)
{
    return us * 1000;
}

static void take_counters(const struct tcp_info *info, struct tl_host_socket *socket)
{
    socket->received_bytes = info->tcpi_bytes_received;
    socket->acked_bytes = info->tcpi_bytes_acked;
    socket->sent_bytes = info->tcpi_bytes_sent;
    socket->retrans_bytes = info->tcpi_bytes_retrans;
    socket->data_segs_in_count = info->tcpi_data_segs_in;
    socket->data_segs_out_count = info->tcpi_data_segs_out;
    socket->retrans_count = info->tcpi_total_retrans;
    socket->reord_seen_count = info->tcpi_reord_seen;
    socket->dsack_count = info->tcpi_dsack_dups;
    socket->out_of_order_count = info->tcpi_rcv_ooopack;
    socket->delivered_count = info->tcpi_delivered;
    socket->delivered_ce_count = info->tcpi_delivered_ce;
    socket->busy_ns = ns(info->tcpi_busy_time);
    socket->rwnd_limited_ns = ns(info->tcpi_rwnd_limited);
    socket->sndbuf_limited_ns = ns(info->tcpi_sndbuf_limited);
}

static void take_state(const struct tcp_info *info, struct tl_host_socket *socket)
{
    socket->notsent_bytes = info->tcpi_notsent_bytes;
    socket->snd_wnd_bytes = info->tcpi_snd_wnd;
    socket->snd_mss_bytes = info->tcpi_snd_mss;
    socket->rcv_mss_bytes = info->tcpi_rcv_mss;
    socket->pmtu_bytes = info->tcpi_pmtu;
    socket->cwnd_count = info->tcpi_snd_cwnd;
    socket->wscale_ok = info->tcpi_options & TCPI_OPT_WSCALE;
    socket->sack_ok = info->tcpi_options & TCPI_OPT_SACK;
    socket->timestamps_ok = info->tcpi_options & TCPI_OPT_TIMESTAMPS;
    socket->rtt_ns = ns(info->tcpi_rtt);
    socket->rtt_var_ns = ns(info->tcpi_rttvar);
    socket->rtt_min_ns = info->tcpi_min_rtt == NO_MIN_RTT ? 0 : ns(info->tcpi_min_rtt);
    socket->rcv_rtt_ns = ns(info->tcpi_rcv_rtt);
    socket->delivery_rate_bps = info->tcpi_delivery_rate * 8;
    socket->app_limited = info->tcpi_delivery_rate_app_limited;
}

/* The attribute may be shorter than our struct (an older kernel) or longer. */
static void take_info(const struct nlattr *attr, struct tl_host_socket *socket)
{
    struct tcp_info info = {0};
    size_t len = attr ? mnl_attr_get_payload_len(attr) : 0;

    if (!attr)
        return;
    memcpy(&info, mnl_attr_get_payload(attr), len < sizeof(info) ? len : sizeof(info));
    socket->rcv_wnd_known = len >= RCV_WND_OFFSET + sizeof(uint32_t);
    if (socket->rcv_wnd_known)
        memcpy(&socket->rcv_wnd_bytes, (const char *)mnl_attr_get_payload(attr) + RCV_WND_OFFSET,
               sizeof(uint32_t));
    take_counters(&info, socket);
    take_state(&info, socket);
}

static void take_memory(const struct nlattr *attr, struct tl_host_socket *socket)
{
    uint32_t memory[SK_MEMINFO_VARS] = {0};
    size_t len = attr ? mnl_attr_get_payload_len(attr) : 0;

    if (!attr)
        return;
    memcpy(memory, mnl_attr_get_payload(attr), len < sizeof(memory) ? len : sizeof(memory));
    socket->rcvbuf_bytes = memory[SK_MEMINFO_RCVBUF];
    socket->sndbuf_bytes = memory[SK_MEMINFO_SNDBUF];
    socket->wmem_queued_bytes = memory[SK_MEMINFO_WMEM_QUEUED];
    socket->drops_count = memory[SK_MEMINFO_DROPS];
}

static void take_rest(const struct nlattr *const *table, struct tl_host_socket *socket)
{
    const char *cc = tl_netlink_text(table[INET_DIAG_CONG]);
    uint64_t number;

    if (cc)
        snprintf(socket->cc, sizeof(socket->cc), "%s", cc);
    socket->mark_known = tl_netlink_number(table[INET_DIAG_MARK], &number);
    if (socket->mark_known)
        socket->mark = (uint32_t)number;
}

struct visit {
    tl_host_socket_fn fn;
    void *context;
    bool enough;
};

/* False for a message that is none of a socket. */
static bool read_socket(const struct nlmsghdr *msg, struct tl_host_socket *ret_socket)
{
    const struct nlattr *table[INET_DIAG_MAX + 1];
    const struct inet_diag_msg *diag = mnl_nlmsg_get_payload(msg);
    struct tl_host_socket socket = {0};

    if (mnl_nlmsg_get_payload_len(msg) < sizeof(*diag) ||
        !tl_netlink_attributes(msg, sizeof(*diag), table, INET_DIAG_MAX))
        return false;
    socket.cookie = (uint64_t)diag->id.idiag_cookie[1] << 32 | diag->id.idiag_cookie[0];
    map_address(diag->idiag_family, diag->id.idiag_src, socket.local);
    map_address(diag->idiag_family, diag->id.idiag_dst, socket.remote);
    socket.local_port = ntohs(diag->id.idiag_sport);
    socket.remote_port = ntohs(diag->id.idiag_dport);
    socket.device_index = diag->id.idiag_if;
    socket.uid = diag->idiag_uid;
    socket.inode = diag->idiag_inode;
    socket.reader_gone = diag->idiag_state != TCP_STATE_ESTABLISHED;
    socket.read_queue_bytes = diag->idiag_rqueue;
    socket.write_queue_bytes = diag->idiag_wqueue;
    take_info(table[INET_DIAG_INFO], &socket);
    take_memory(table[INET_DIAG_SKMEMINFO], &socket);
    take_rest(table, &socket);
    *ret_socket = socket;
    return true;
}

static bool take_socket(const struct nlmsghdr *msg, void *context)
{
    struct visit *visit = context;
    struct tl_host_socket socket;

    if (!visit->enough && read_socket(msg, &socket))
        visit->enough = !visit->fn(&socket, visit->context);
    return true;
}

/* The request without its key: which connections. */
static struct inet_diag_req_v2 *put_request(void *buf, unsigned char family, uint16_t flags)
{
    struct nlmsghdr *msg = mnl_nlmsg_put_header(buf);
    struct inet_diag_req_v2 *request;

    msg->nlmsg_type = SOCK_DIAG_BY_FAMILY;
    msg->nlmsg_flags = flags;
    request = mnl_nlmsg_put_extra_header(msg, sizeof(*request));
    request->sdiag_family = family;
    request->sdiag_protocol = IPPROTO_TCP;
    request->idiag_ext =
        1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_SKMEMINFO - 1) | 1 << (INET_DIAG_CONG - 1);
    request->idiag_states = MOVING_STATES;
    return request;
}

static enum tl_host_why ask_family(struct tl_netlink *diag, unsigned char family,
                                   struct visit *visit)
{
    _Alignas(struct nlmsghdr) char buf[TL_NETLINK_ASK_SIZE] = {0};

    (void)put_request(buf, family, NLM_F_DUMP);
    enum tl_host_why why = tl_netlink_ask(diag, (struct nlmsghdr *)buf, take_socket, visit);
    /* No message at all is an answer here: there is no connection. */
    return why == TL_HOST_WHY_MALFORMED ? TL_HOST_WHY_KNOWN : why;
}

enum tl_host_why tl_host_sockets_each(tl_host_socket_fn fn, void *context)
{
    struct visit visit = {.fn = fn, .context = context};
    struct tl_netlink diag;
    enum tl_host_why why;

    tl_netlink_init(&diag, NETLINK_SOCK_DIAG);
    why = ask_family(&diag, AF_INET, &visit);
    if (why == TL_HOST_WHY_KNOWN && !visit.enough)
        why = ask_family(&diag, AF_INET6, &visit);
    tl_netlink_finish(&diag);
    return why;
}

/* --- One that is known ------------------------------------------------------------------- */

/* By its addresses; an IPv4 connection of an IPv6 socket is found as one of IPv4. */
static void put_key(const struct tl_host_socket *known, struct inet_diag_req_v2 *request)
{
    size_t skip = request->sdiag_family == AF_INET ? sizeof(mapped_prefix) : 0;

    memcpy(request->id.idiag_src, known->local + skip, sizeof(known->local) - skip);
    memcpy(request->id.idiag_dst, known->remote + skip, sizeof(known->remote) - skip);
    request->id.idiag_sport = htons(known->local_port);
    request->id.idiag_dport = htons(known->remote_port);
    request->id.idiag_if = known->device_index;
    request->id.idiag_cookie[0] = (uint32_t)known->cookie;
    request->id.idiag_cookie[1] = (uint32_t)(known->cookie >> 32);
}

/* The kernel gives one by its key whatever its state is; what it keeps of a closed one has no
 * counters. */
static bool take_held(const struct nlmsghdr *msg, void *context)
{
    const struct inet_diag_msg *diag = mnl_nlmsg_get_payload(msg);

    return mnl_nlmsg_get_payload_len(msg) >= sizeof(*diag) &&
           (1 << diag->idiag_state & MOVING_STATES) && diag->idiag_inode &&
           read_socket(msg, context);
}

bool tl_host_socket_again(const struct tl_host_socket *known, struct tl_host_socket *ret_socket)
{
    _Alignas(struct nlmsghdr) char buf[TL_NETLINK_ASK_SIZE] = {0};
    bool mapped = memcmp(known->local, mapped_prefix, sizeof(mapped_prefix)) == 0;
    struct tl_netlink diag;

    put_key(known, put_request(buf, mapped ? AF_INET : AF_INET6, 0));
    tl_netlink_init(&diag, NETLINK_SOCK_DIAG);
    enum tl_host_why why = tl_netlink_ask(&diag, (struct nlmsghdr *)buf, take_held, ret_socket);
    tl_netlink_finish(&diag);
    return why == TL_HOST_WHY_KNOWN;
}

/* --- With one peer ----------------------------------------------------------------------- */

struct wanted {
    unsigned char address[16];
    struct tl_host_socket *sockets;
    size_t max, count;
};

static bool keep_wanted(const struct tl_host_socket *socket, void *context)
{
    struct wanted *wanted = context;

    if (!socket->reader_gone && memcmp(socket->remote, wanted->address, 16) == 0)
        wanted->sockets[wanted->count++] = *socket;
    return wanted->count < wanted->max;
}

enum tl_host_why tl_host_sockets(const struct sockaddr *peer, struct tl_host_socket *ret_sockets,
                                 size_t max, size_t *ret_count)
{
    const struct sockaddr_in *in4 = (const void *)peer;
    const struct sockaddr_in6 *in6 = (const void *)peer;
    struct wanted wanted = {.sockets = ret_sockets, .max = max};
    enum tl_host_why why;

    *ret_count = 0;
    if (peer->sa_family != AF_INET && peer->sa_family != AF_INET6)
        return TL_HOST_WHY_NO_ROUTE;
    map_address(peer->sa_family,
                peer->sa_family == AF_INET ? (const void *)&in4->sin_addr
                                           : (const void *)&in6->sin6_addr,
                wanted.address);
    why = max ? tl_host_sockets_each(keep_wanted, &wanted) : TL_HOST_WHY_KNOWN;
    *ret_count = wanted.count;
    return why;
}

/* --- Those that end ------------------------------------------------------------------------ */

/* Some 2,000 ends between two readings. */
#define ENDS_BUFFER_BYTES (1 << 20)

struct tl_host_socket_ends {
    struct mnl_socket *socket;
};

static bool listen_to(struct tl_host_socket_ends *ends)
{
    static const int groups[] = {SKNLGRP_INET_TCP_DESTROY, SKNLGRP_INET6_TCP_DESTROY};
    int size = ENDS_BUFFER_BYTES;

    if (mnl_socket_bind(ends->socket, 0, MNL_SOCKET_AUTOPID) < 0)
        return false;
    /* A smaller buffer than asked for only drops earlier, which is told. */
    (void)setsockopt(mnl_socket_get_fd(ends->socket), SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        if (setsockopt(mnl_socket_get_fd(ends->socket), SOL_NETLINK, NETLINK_ADD_MEMBERSHIP,
                       &groups[i], sizeof(groups[i])) < 0)
            return false;
    return true;
}

struct tl_host_socket_ends *tl_host_socket_ends_create(enum tl_host_why *ret_why)
{
    struct tl_host_socket_ends *ends = calloc(1, sizeof(*ends));

    *ret_why = TL_HOST_WHY_IO;
    if (!ends)
        return NULL;
    ends->socket = mnl_socket_open2(NETLINK_SOCK_DIAG, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (ends->socket && listen_to(ends)) {
        *ret_why = TL_HOST_WHY_KNOWN;
        return ends;
    }
    *ret_why = tl_proc_why(errno);
    tl_host_socket_ends_destroy(ends);
    return NULL;
}

void tl_host_socket_ends_destroy(struct tl_host_socket_ends *ends)
{
    if (!ends)
        return;
    if (ends->socket)
        mnl_socket_close(ends->socket);
    free(ends);
}

static int take_end(const struct nlmsghdr *msg, void *context)
{
    take_socket(msg, context);
    return MNL_CB_OK;
}

bool tl_host_socket_ends_read(struct tl_host_socket_ends *ends, tl_host_socket_fn fn, void *context)
{
    _Alignas(struct nlmsghdr) char buf[TL_NETLINK_ANSWER_SIZE];
    struct visit visit = {.fn = fn, .context = context};
    bool whole = true;

    for (;;) {
        ssize_t got = mnl_socket_recvfrom(ends->socket, buf, sizeof(buf));
        if (got > 0)
            (void)mnl_cb_run(buf, (size_t)got, 0, 0, take_end, &visit);
        else if (got < 0 && errno == ENOBUFS)
            whole = false;
        else if (got == 0 || errno != EINTR)
            return whole;
    }
}

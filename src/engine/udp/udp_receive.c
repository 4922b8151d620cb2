/* The receiver's thread: takes datagrams in batches with the kernel's time of arrival, keeps
 * the account, says ten times a second that it lives.
 *
 * Since times come from the kernel it need not be quick, only in time for its buffer: at high
 * rates it naps and leaves the wake-ups out, which costs the sender's side less too (on
 * one machine they are the sender's work). Where the CRC covers the heads alone the payload is
 * not copied at all (MSG_TRUNC), but with GRO, whose heads lie apart. */
#include <errno.h>
#include <math.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include "tightlink/base/time.h"
#include "tightlink/host/counters.h"
#include "udp_arrivals.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define BATCH         64
#define GRO_BATCH     2
#define GRO_BYTES     65536
#define HEAD_BYTES    64 /* of a datagram whose payload is of no interest */
#define CONTROL_BYTES 128
#define BUSY_PER_S    20000.0 /* from there on it naps instead of waiting for each */
#define GRACE_LOOK_NS (5 * TL_NS_PER_MS)
#define NAP_MIN_NS    (50 * TL_NS_PER_US)
#define NAP_MAX_NS    (500 * TL_NS_PER_US)
#define STRAY_BYTES   65536 /* beside the test: late words of the one before, and of proofs */
#define STEP_NS       TL_NS_PER_MS /* a clock that moved more than slewing explains */
#define SLEW_RATIO    0.0006       /* adjtimex(2): 500 ppm and the crystal's own */

struct receiver {
    struct udp_flow *flow;
    const struct udp_flow_spec *spec;
    bool gro;
    unsigned batch;
    size_t room; /* of one message */
    uint8_t *buffer;
    struct mmsghdr messages[BATCH];
    struct iovec pieces[BATCH];
    struct sockaddr_storage from[BATCH]; /* unused where the socket is connected */
    uint8_t control[BATCH][CONTROL_BYTES] __attribute__((aligned(8)));
    int64_t clock_ns; /* CLOCK_REALTIME less CLOCK_MONOTONIC at the start */
    struct udp_arrivals arrivals;
    int64_t feedback_ns; /* when the next is due */
    int64_t heard_ns;    /* newest datagram, or the sender's end */
    bool sender_ended;
    uint64_t message_count, datagram_count; /* of what came; apart with GRO */
    struct tl_host_counters after;
    double per_s; /* datagrams a second, lately */
    int64_t rate_ns;
    uint64_t rate_count;
};

static int64_t clock_offset_ns(void)
{
    int64_t before_ns = tl_now_ns(), real_ns = tl_realtime_ns();
    return real_ns - (before_ns + tl_now_ns()) / 2;
}

/* --- Datagrams ------------------------------------------------------------------------------- */

/* Time of arrival on our monotonic clock, and the length of the pieces of a GRO batch. */
static int64_t read_control(const struct receiver *receiver, struct msghdr *msg, int64_t now_ns,
                            unsigned *ret_piece)
{
    int64_t arrival_ns = now_ns;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec at;
            memcpy(&at, CMSG_DATA(c), sizeof at);
            arrival_ns = at.tv_sec * TL_NS_PER_S + at.tv_nsec - receiver->clock_ns;
        } else if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
            int piece;
            memcpy(&piece, CMSG_DATA(c), sizeof piece);
            *ret_piece = piece > 0 ? (unsigned)piece : *ret_piece;
        }
    }
    return arrival_ns;
}

static void take_message(struct receiver *receiver, struct mmsghdr *message, const uint8_t *bytes,
                         int64_t now_ns)
{
    unsigned len = message->msg_len, piece = len;
    int64_t arrival_ns = read_control(receiver, &message->msg_hdr, now_ns, &piece);
    unsigned seen = len < receiver->room ? len : (unsigned)receiver->room;
    receiver->message_count++;
    atomic_fetch_add_explicit(&receiver->flow->came_bytes, len, memory_order_relaxed);
    if (len == 0)
        receiver->flow->account.foreign_count++;
    for (unsigned at = 0; at < len; at += piece) {
        unsigned some = len - at < piece ? len - at : piece;
        unsigned readable = seen > at ? seen - at : 0;
        receiver->datagram_count++;
        udp_arrivals_take(&receiver->arrivals, bytes + at, some, readable < some ? readable : some,
                          arrival_ns, at == 0);
    }
}

/* One batch; returns how many messages it held, -1 when the socket failed. */
static int take_batch(struct receiver *receiver)
{
    struct udp_flow *flow = receiver->flow;
    bool connected = receiver->spec->route.peer_len == 0;
    for (unsigned i = 0; i < receiver->batch; i++) {
        receiver->messages[i].msg_hdr.msg_controllen = CONTROL_BYTES;
        receiver->messages[i].msg_hdr.msg_namelen = connected ? 0 : sizeof receiver->from[i];
    }
    int got = recvmmsg(receiver->spec->fd, receiver->messages, receiver->batch,
                       MSG_DONTWAIT | MSG_TRUNC, NULL);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (got < 0) {
        uint8_t report[512]; /* of a router about our feedback: of no interest, but in the way */
        int errnum = errno;
        bool failed = errnum == ENOTSOCK || errnum == EBADF || errnum == ENOMEM;
        (void)!recv(receiver->spec->fd, report, sizeof report, MSG_ERRQUEUE | MSG_DONTWAIT);
        flow->errnum = failed ? errnum : 0;
        return failed ? -1 : 0;
    }
    int64_t now_ns = tl_now_ns();
    for (int i = 0; i < got; i++) {
        const uint8_t *bytes = receiver->buffer + (size_t)i * receiver->room;
        size_t len = receiver->messages[i].msg_len;
        if (udp_route_is_from(&receiver->spec->route, &receiver->from[i]))
            take_message(receiver, &receiver->messages[i], bytes, now_ns);
        else
            udp_arrivals_take_elsewhere(&receiver->arrivals, bytes,
                                        len < receiver->room ? len : receiver->room);
    }
    if (got > 0) {
        receiver->heard_ns = now_ns;
        udp_damage_settle(&flow->account.damage, &flow->account.track);
        atomic_store_explicit(&flow->live_count, flow->account.track.unique_count,
                              memory_order_relaxed);
        atomic_store_explicit(&flow->live_bytes, flow->account.bytes, memory_order_relaxed);
        atomic_store_explicit(&flow->live_ns, now_ns - flow->start_ns, memory_order_relaxed);
    }
    return got;
}

static void send_feedback(struct receiver *receiver, int64_t now_ns)
{
    if (receiver->spec->dialect == UDP_DIALECT_IPERF3)
        return;
    const struct udp_account *account = &receiver->flow->account;
    uint8_t datagram[TL_WIRE_UDP_FEEDBACK_SIZE];
    struct tl_wire_udp_feedback feedback = {
        .cookie = receiver->spec->pass.cookie,
        .test_id = receiver->spec->test_id,
        .received_count = account->track.unique_count,
        .received_bytes = account->bytes,
        .next_sequence = account->track.next,
        .elapsed_ns = (uint64_t)(now_ns - receiver->flow->start_ns),
    };
    size_t len = tl_wire_encode_udp_feedback(&feedback, datagram);
    udp_seal_turn(&receiver->spec->pass.seal, datagram, len);
    struct udp_route *route = &receiver->flow->spec.route;
    struct iovec iov = {datagram, len};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    if (route->peer_len > 0) {
        msg.msg_name = &route->peer;
        msg.msg_namelen = route->peer_len;
        msg.msg_control = route->control;
        msg.msg_controllen = route->control_len;
    }
    (void)sendmsg(receiver->spec->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* --- Waiting --------------------------------------------------------------------------------- */

static void measure_rate(struct receiver *receiver, int64_t now_ns)
{
    int64_t passed_ns = now_ns - receiver->rate_ns;
    if (passed_ns < 2 * TL_NS_PER_MS)
        return;
    uint64_t count = receiver->flow->account.track.unique_count;
    receiver->per_s = (double)(count - receiver->rate_count) * 1e9 / (double)passed_ns;
    receiver->rate_ns = now_ns;
    receiver->rate_count = count;
}

/* Waits for datagrams: by a nap while they come fast, else until one comes. A nap is a
 * quarter of the time in which they would fill the buffer: skb and page overhead make them
 * about twice as large there. */
static void wait_some(struct receiver *receiver, int64_t now_ns)
{
    measure_rate(receiver, now_ns);
    double fill_ns = receiver->flow->receiver.rcvbuf_bytes / 4.0 /
                     (receiver->spec->datagram_bytes + 1024.0) / receiver->per_s * 1e9;
    double nap_ns = fmin(fill_ns, NAP_MAX_NS);
    if (receiver->per_s > BUSY_PER_S && nap_ns >= NAP_MIN_NS) {
        struct timespec nap = {.tv_nsec = (long)nap_ns};
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
        return;
    }
    struct pollfd fds[2] = {{.fd = receiver->spec->fd, .events = POLLIN},
                            {.fd = receiver->flow->stop_fd, .events = POLLIN}};
    int64_t wait_ns = receiver->feedback_ns - now_ns;
    if (receiver->sender_ended && wait_ns > GRACE_LOOK_NS)
        wait_ns = GRACE_LOOK_NS;
    if (wait_ns <= 0)
        return;
    struct timespec timeout = {.tv_sec = wait_ns / TL_NS_PER_S, .tv_nsec = wait_ns % TL_NS_PER_S};
    (void)ppoll(fds, 2, &timeout, NULL);
    eventfd_t orders;
    if (fds[1].revents) /* what they are is_over() sees */
        (void)eventfd_read(receiver->flow->stop_fd, &orders);
}

/* Whether nothing more is to come. */
static bool is_over(struct receiver *receiver, int64_t now_ns)
{
    struct udp_flow *flow = receiver->flow;
    const struct udp_account *account = &flow->account;
    uint64_t sent = atomic_load_explicit(&flow->sent_count, memory_order_relaxed);
    if (atomic_load_explicit(&flow->stop, memory_order_relaxed) ||
        atomic_load_explicit(&flow->rebound, memory_order_relaxed))
        return true;
    if (atomic_load_explicit(&flow->came_bytes, memory_order_relaxed) >
        receiver->spec->max_bytes + STRAY_BYTES) {
        flow->overfed = true;
        return true;
    }
    if (sent == UINT64_MAX)
        return now_ns - flow->start_ns > receiver->spec->duration_ns + receiver->spec->patience_ns;
    if (!receiver->sender_ended) {
        receiver->sender_ended = true;
        receiver->heard_ns = now_ns;
    }
    return account->track.unique_count >= sent ||
           now_ns - receiver->heard_ns >= receiver->spec->grace_ns;
}

/* Whether it is over by silence alone: no order, no fault, and not all has come. */
static bool is_silent(const struct receiver *receiver)
{
    const struct udp_flow *flow = receiver->flow;
    return !atomic_load(&flow->stop) && !atomic_load(&flow->rebound) && !flow->overfed &&
           receiver->sender_ended;
}

static void receive_until_over(struct receiver *receiver)
{
    for (;;) {
        int got = take_batch(receiver);
        int64_t now_ns = tl_now_ns();
        if (got < 0)
            return;
        if (now_ns >= receiver->feedback_ns) {
            receiver->feedback_ns = now_ns + UDP_FEEDBACK_NS;
            send_feedback(receiver, now_ns);
        }
        if (is_over(receiver, now_ns)) {
            if (!is_silent(receiver) || take_batch(receiver) <= 0)
                return;
            continue; /* it was ourselves who were held up, not the path that was silent */
        }
        if (got < (int)receiver->batch)
            wait_some(receiver, now_ns);
    }
}

/* --- The thread ------------------------------------------------------------------------------ */

static uint64_t growth(const struct tl_host_counters_growth *growth, unsigned id)
{
    struct tl_host_value value = growth->values[id];
    return tl_host_is_known(value) ? (uint64_t)value.number : UINT64_MAX;
}

/* Linux counts UDP over IPv6 apart. */
static uint64_t of_family(const struct receiver *receiver, uint64_t v4, uint64_t v6)
{
    int family = AF_INET;
    socklen_t len = sizeof family;
    (void)getsockopt(receiver->spec->fd, SOL_SOCKET, SO_DOMAIN, &family, &len);
    return family == AF_INET6 ? v6 : v4;
}

/* Splits what is missing by who lost it. The socket's own count has both reasons in it. */
static void attribute(struct receiver *receiver)
{
    struct tl_udp_receiver *sum = &receiver->flow->receiver;
    struct tl_host_counters_growth grown;
    tl_host_counters_read(&receiver->after, "", 0);
    tl_host_counters_between(&receiver->flow->counters_before, &receiver->after, &grown);
    sum->host_rcvbuf_error_count =
        of_family(receiver, growth(&grown, TL_HOST_COUNTER_UDP_RCVBUF_ERRORS),
                  growth(&grown, TL_HOST_COUNTER_UDP6_RCVBUF_ERRORS));
    sum->host_checksum_error_count =
        of_family(receiver, growth(&grown, TL_HOST_COUNTER_UDP_IN_CSUM_ERRORS),
                  growth(&grown, TL_HOST_COUNTER_UDP6_IN_CSUM_ERRORS));
    sum->host_softnet_drop_count = growth(&grown, TL_HOST_COUNTER_SOFTNET_DROPPED);
    uint64_t drops = udp_socket_drops(receiver->spec->fd);
    drops = drops == UINT64_MAX ? 0 : drops - receiver->flow->drops_before;
    if (receiver->gro && receiver->message_count > 0) /* what it drops are whole batches */
        drops = (uint64_t)((double)drops * (double)receiver->datagram_count /
                           (double)receiver->message_count);
    uint64_t bad = sum->host_checksum_error_count;
    sum->checksum_error_count = bad == UINT64_MAX ? 0 : bad < drops ? bad : drops;
    sum->local_drop_count = drops - sum->checksum_error_count;
}

static void close_account(struct receiver *receiver)
{
    struct udp_flow *flow = receiver->flow;
    int rcvbuf_bytes = flow->receiver.rcvbuf_bytes;
    int64_t moved_ns = clock_offset_ns() - receiver->clock_ns;
    double slewed_ns = SLEW_RATIO * (double)(tl_now_ns() - flow->start_ns);
    uint64_t sent = atomic_load(&flow->sent_count);
    flow->account.clock_stepped = fabs((double)moved_ns) > STEP_NS + slewed_ns;
    udp_account_close(&flow->account, sent == UINT64_MAX ? 0 : sent, &flow->receiver,
                      flow->intervals, &flow->interval_count, flow->trains);
    flow->receiver.rcvbuf_bytes = rcvbuf_bytes;
    flow->receiver.came_bytes = atomic_load(&flow->came_bytes);
    flow->receiver.gro = receiver->gro;
    flow->receiver.crc = receiver->spec->dialect == UDP_DIALECT_IPERF3 ? TL_UDP_CRC_NONE
                         : receiver->spec->head_crc                    ? TL_UDP_CRC_HEAD
                                                                       : TL_UDP_CRC_WHOLE;
    attribute(receiver);
}

static bool prepare(struct receiver *receiver)
{
    const struct udp_flow_spec *spec = receiver->spec;
    udp_arrivals_begin(&receiver->arrivals, receiver->flow);
    receiver->gro = udp_socket_gro(spec->fd, spec->gro) && spec->gro;
    if (spec->gro && !receiver->gro)
        snprintf(receiver->flow->note, sizeof receiver->flow->note,
                 "the receiver's kernel has no UDP_GRO");
    receiver->room = receiver->gro    ? GRO_BYTES
                     : spec->head_crc ? HEAD_BYTES
                                      : (size_t)(spec->datagram_bytes + 8) / 8 * 8 + 8;
    receiver->batch = receiver->gro ? GRO_BATCH : BATCH;
    receiver->buffer = malloc(receiver->batch * receiver->room);
    if (!receiver->buffer)
        return false;
    for (unsigned i = 0; i < receiver->batch; i++) {
        receiver->pieces[i] = (struct iovec){receiver->buffer + i * receiver->room, receiver->room};
        receiver->messages[i].msg_hdr = (struct msghdr){
            .msg_iov = &receiver->pieces[i], .msg_iovlen = 1, .msg_control = receiver->control[i]};
        if (spec->route.peer_len > 0)
            receiver->messages[i].msg_hdr.msg_name = &receiver->from[i];
    }
    receiver->clock_ns = clock_offset_ns();
    receiver->feedback_ns = receiver->rate_ns = tl_now_ns();
    return true;
}

void *udp_receive_main(void *arg)
{
    struct udp_flow *flow = arg;
    struct receiver *receiver = calloc(1, sizeof *receiver);
    (void)prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    if (receiver) {
        receiver->flow = flow;
        receiver->spec = &flow->spec;
        if (prepare(receiver)) {
            receive_until_over(receiver);
            close_account(receiver);
        } else {
            flow->errnum = ENOMEM;
        }
        free(receiver->buffer);
        free(receiver);
    } else {
        flow->errnum = ENOMEM;
    }
    udp_flow_ended(flow, &flow->receiver.cpu_ns, &flow->receiver.run_delay_ns);
    return NULL;
}

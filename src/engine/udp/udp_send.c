/* The sender's thread: numbers, stamps and seals datagrams and hands them to the kernel, at
 * a pace, in trains, or as fast as it takes them; reads the receiver's feedback.
 *
 * Payload is noise from a pool that is made once; of a datagram only 16 bytes of its head
 * change, so that its CRC costs those (udp_crc.h). A datagram that the kernel refuses keeps
 * its number for the next try: what has a number was on its way. */
#include <errno.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tightlink/base/random.h"
#include "tightlink/base/time.h"
#include "udp_datagram.h"
#include "udp_flow.h"
#include "udp_iperf3.h"
#include "udp_pace.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

#define POOL_BYTES     (128 * 1024) /* that and the kernel's copies stay in a core's cache */
#define BATCH_MESSAGES 64
#define GSO_BYTES_MAX  65000                /* a GSO send is one IP packet at first */
#define LOOK_NS        (10 * TL_NS_PER_MS)  /* between looks for feedback */
#define HEARD_SLACK_NS (150 * TL_NS_PER_MS) /* looks, naps and a busy host, so that 1 s is 1 s */
#define REFUSALS_MAX   1000                 /* of those that a report explains */
#define LASTING_MIN    16                   /* of others in a row */
#define QUALM_NS       (100 * TL_NS_PER_US) /* after ENOBUFS */

struct sender {
    struct udp_flow *flow;
    const struct udp_flow_spec *spec;
    unsigned slots, slot, gso;
    uint8_t *pool;
    uint32_t *payload_crc; /* of each slot, register 0 */
    uint32_t head_crc;     /* register over the first 24 bytes */
    struct udp_crc_shift shift;
    uint64_t sequence;
    int64_t look_ns;
    int64_t feedback_ns, progress_ns; /* when feedback came; when it told of more */
    uint64_t progress_count;
    unsigned refusals;
    int64_t departure_ns; /* since start, of the newest */
    unsigned departed;    /* how many then */
    double close_ns;      /* departures closer than this are one burst */
    uint64_t burst;
    bool ended;
    struct mmsghdr messages[BATCH_MESSAGES];
    struct iovec pieces[BATCH_MESSAGES];
};

static void end(struct sender *sender, enum udp_sender_end why, int errnum)
{
    sender->flow->sender_end = why;
    sender->flow->errnum = errnum;
    sender->ended = true;
}

/* --- Datagrams ------------------------------------------------------------------------------ */

static bool make_pool(struct sender *sender)
{
    const struct udp_flow_spec *spec = sender->spec;
    unsigned size = spec->datagram_bytes;
    struct tl_random rng;
    uint64_t seed;
    if (tl_random_secure(&seed, sizeof seed) != TL_OK)
        seed = (uint64_t)tl_now_ns();
    tl_random_seed(&rng, seed);
    sender->slots = POOL_BYTES / size / sender->gso * sender->gso;
    if (sender->slots == 0)
        sender->slots = sender->gso;
    sender->pool = malloc((size_t)sender->slots * size);
    sender->payload_crc = calloc(sender->slots, sizeof *sender->payload_crc);
    if (!sender->pool || !sender->payload_crc)
        return false;
    struct tl_wire_udp_data head = {.head_crc = spec->head_crc,
                                    .bytes = (uint16_t)size,
                                    .cookie = spec->pass.cookie,
                                    .test_id = spec->test_id};
    tl_random_fill(&rng, sender->pool, (size_t)sender->slots * size);
    if (spec->dialect == UDP_DIALECT_IPERF3)
        return true;
    for (unsigned i = 0; i < sender->slots; i++) {
        uint8_t *datagram = sender->pool + (size_t)i * size;
        udp_head_begin(datagram, &head);
        if (!spec->head_crc)
            sender->payload_crc[i] =
                udp_crc32c(0, datagram + TL_WIRE_UDP_DATA_HEAD, size - TL_WIRE_UDP_DATA_HEAD);
    }
    sender->head_crc = udp_crc32c(UDP_CRC_BEGIN, sender->pool, UDP_CRC_AT + 4);
    udp_crc_shift_init(&sender->shift, size - TL_WIRE_UDP_DATA_HEAD);
    return true;
}

static void seal(const struct sender *sender, unsigned slot, uint64_t sequence, int64_t sent_ns)
{
    uint8_t *datagram = sender->pool + (size_t)slot * sender->spec->datagram_bytes;
    if (sender->spec->dialect == UDP_DIALECT_IPERF3) {
        udp_iperf3_seal(datagram, sequence, sender->flow->start_ns + sent_ns);
        return;
    }
    udp_put64(datagram + 24, sequence);
    udp_put64(datagram + 32, (uint64_t)sent_ns);
    uint32_t crc = udp_crc32c(sender->head_crc, datagram + 24, 16);
    if (!sender->spec->head_crc)
        crc = udp_crc_shift(&sender->shift, crc) ^ sender->payload_crc[slot];
    udp_put32(datagram + UDP_CRC_AT,
              ~crc ^ udp_seal_mask(&sender->spec->pass.seal, datagram, TL_WIRE_UDP_DATA_HEAD));
}

/* Where it is not connected. */
static void address_message(const struct udp_flow_spec *spec, struct msghdr *msg)
{
    if (spec->route.peer_len == 0)
        return;
    msg->msg_name = (void *)&spec->route.peer;
    msg->msg_namelen = spec->route.peer_len;
    msg->msg_control = (void *)spec->route.control;
    msg->msg_controllen = spec->route.control_len;
}

/* Messages of up to gso datagrams each; returns how many messages hold up to `count`. No slot
 * twice in one call: the kernel copies them when it is called. */
static unsigned lay_out(struct sender *sender, unsigned count, int64_t sent_ns)
{
    unsigned size = sender->spec->datagram_bytes, slot = sender->slot, messages = 0;
    uint64_t sequence = sender->sequence;
    count = count < sender->slots ? count : sender->slots;
    while (count > 0 && messages < BATCH_MESSAGES) {
        unsigned some = count < sender->gso ? count : sender->gso;
        some = some < sender->slots - slot ? some : sender->slots - slot;
        sender->pieces[messages] =
            (struct iovec){sender->pool + (size_t)slot * size, (size_t)some * size};
        sender->messages[messages].msg_hdr =
            (struct msghdr){.msg_iov = &sender->pieces[messages], .msg_iovlen = 1};
        address_message(sender->spec, &sender->messages[messages].msg_hdr);
        for (unsigned i = 0; i < some; i++)
            seal(sender, slot + i, sequence++, sent_ns);
        slot = (slot + some) % sender->slots;
        count -= some;
        messages++;
    }
    return messages;
}

static void account(struct sender *sender, unsigned count, int64_t sent_ns)
{
    struct udp_flow *flow = sender->flow;
    uint64_t bytes = (uint64_t)count * sender->spec->datagram_bytes;
    unsigned piece = (unsigned)(sent_ns / sender->spec->interval_ns);
    if (piece >= TL_UDP_INTERVALS_MAX)
        piece = TL_UDP_INTERVALS_MAX - 1;
    flow->sent_pieces[piece].count += count;
    flow->sent_pieces[piece].bytes += bytes;
    if (piece >= flow->sent_piece_count)
        flow->sent_piece_count = piece + 1;
    bool close = sender->sequence > 0 &&
                 (double)(sent_ns - sender->departure_ns) < sender->close_ns * sender->departed;
    sender->burst = (close ? sender->burst : 0) + count;
    if (sender->burst > flow->sender.largest_burst_count)
        flow->sender.largest_burst_count = sender->burst;
    sender->sequence += count;
    sender->slot = (sender->slot + count) % sender->slots;
    sender->departure_ns = sent_ns;
    sender->departed = count;
    flow->sender.sent_count += count;
    flow->sender.sent_bytes += bytes;
    atomic_store_explicit(&flow->live_count, flow->sender.sent_count, memory_order_relaxed);
    atomic_store_explicit(&flow->live_bytes, flow->sender.sent_bytes, memory_order_relaxed);
    atomic_store_explicit(&flow->live_ns, sent_ns, memory_order_relaxed);
}

/* By routers and hosts, about earlier datagrams. */
static bool may_be_reported(int errnum)
{
    return errnum == ECONNREFUSED || errnum == EHOSTUNREACH || errnum == ENETUNREACH ||
           errnum == EPROTO;
}

/* A refused send: what to do about it. */
static void take_refusal(struct sender *sender, int errnum)
{
    struct udp_flow *flow = sender->flow;
    struct pollfd fds[2] = {{.fd = flow->spec.fd, .events = POLLOUT},
                            {.fd = flow->stop_fd, .events = POLLIN}};
    struct timespec qualm = {.tv_nsec = QUALM_NS};
    switch (errnum) {
    case EAGAIN:
        flow->sender.blocked_count++;
        (void)poll(fds, 2, (int)(LOOK_NS / TL_NS_PER_MS));
        return;
    case ENOBUFS: /* its queue discipline is full */
        flow->sender.local_drop_count++;
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &qualm, NULL);
        return;
    case EINTR:
        return;
    case EINVAL:
    case EIO: /* no checksum offload on the way out, or no GSO after all */
        if (sender->gso > 1) {
            int off = 0;
            (void)setsockopt(flow->spec.fd, IPPROTO_UDP, UDP_SEGMENT, &off, sizeof off);
            sender->gso = 1;
            snprintf(flow->note, sizeof flow->note, "the sender's interface takes no UDP_SEGMENT");
            return;
        }
        break;
    default:
        if (++sender->refusals < (may_be_reported(errnum) ? REFUSALS_MAX : LASTING_MIN))
            return;
        break;
    }
    end(sender, UDP_SENDER_FAILED, errnum);
}

/* What a router is said to have told of an earlier datagram fails one call, whoever forged it: what
 * fails again and again is a failure here. A receiver that gives no feedback is gone by the number
 * of reports alone. */
static void forget_refusals(struct sender *sender)
{
    if (sender->spec->dialect != UDP_DIALECT_IPERF3)
        sender->refusals = 0;
}

/* Sends up to count datagrams stamped now; returns how many the kernel took. */
static unsigned send_some(struct sender *sender, unsigned count, int64_t now_ns)
{
    int64_t sent_ns = now_ns - sender->flow->start_ns;
    unsigned messages = lay_out(sender, count, sent_ns);
    int taken = sendmmsg(sender->spec->fd, sender->messages, messages, MSG_DONTWAIT);
    if (taken <= 0) {
        take_refusal(sender, errno);
        return 0;
    }
    forget_refusals(sender);
    size_t bytes = 0;
    for (int i = 0; i < taken; i++)
        bytes += sender->pieces[i].iov_len;
    unsigned datagrams = (unsigned)(bytes / sender->spec->datagram_bytes);
    account(sender, datagrams, sent_ns);
    return datagrams;
}

/* --- What comes back ------------------------------------------------------------------------ */

static void take_feedback(struct sender *sender, uint8_t *datagram, size_t len,
                          const struct sockaddr_storage *from, int64_t now_ns)
{
    struct tl_wire_udp_feedback feedback;
    udp_seal_turn(&sender->spec->pass.seal, datagram, len);
    if (tl_wire_decode_udp_feedback(datagram, len, &feedback, NULL) != TL_OK ||
        feedback.cookie != sender->spec->pass.cookie || feedback.test_id != sender->spec->test_id)
        return;
    if (!udp_route_is_from(&sender->spec->route, from)) {
        /* Who reads the path may send again what he read. */
        if (sender->spec->pass.seal.on && feedback.received_count <= sender->progress_count)
            return;
        atomic_store(&sender->flow->rebound, true);
        end(sender, UDP_SENDER_STOPPED, 0);
        return;
    }
    udp_flow_heard(sender->flow, now_ns);
    sender->feedback_ns = now_ns;
    if (feedback.received_count > sender->progress_count) {
        sender->progress_count = feedback.received_count;
        sender->progress_ns = now_ns;
    }
}

static void read_feedback(struct sender *sender, int64_t now_ns)
{
    uint8_t datagram[TL_WIRE_UDP_FEEDBACK_SIZE + 1];
    uint8_t report[512];
    int fd = sender->spec->fd;
    for (int i = 0; i < 32; i++) {
        struct sockaddr_storage from = {0};
        socklen_t from_len = sizeof from;
        ssize_t got = recvfrom(fd, datagram, sizeof datagram, MSG_DONTWAIT | MSG_TRUNC,
                               (struct sockaddr *)&from, &from_len);
        if (got < 0 && (errno == EAGAIN || errno == ENOTSOCK || errno == EBADF))
            break;
        if (got < 0) /* a router's word about a datagram of ours, told once */
            continue;
        take_feedback(sender, datagram, (size_t)got, &from, now_ns);
    }
    for (int i = 0; i < 32; i++) /* kept until they are read */
        if (recv(fd, report, sizeof report, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
            break;
}

/* P4: no feedback, no datagrams. */
static void check_feedback(struct sender *sender, int64_t now_ns)
{
    const struct udp_flow_spec *spec = sender->spec;
    read_feedback(sender, now_ns);
    if (sender->ended || spec->dialect == UDP_DIALECT_IPERF3)
        return;
    int64_t heard_ns = atomic_load_explicit(&sender->flow->heard_ns, memory_order_relaxed);
    int64_t patience_ns = TL_UDP_UNHEARD_NS + 2 * spec->rtt_ns + (int64_t)(4 * sender->close_ns);
    bool talks = now_ns - sender->feedback_ns < TL_UDP_UNHEARD_NS / 2;
    if (now_ns - heard_ns >= TL_UDP_UNHEARD_NS - HEARD_SLACK_NS)
        end(sender, UDP_SENDER_UNHEARD, 0);
    else if (talks && now_ns - sender->progress_ns > patience_ns)
        end(sender, UDP_SENDER_BLACKHOLE, 0);
}

static void check_ends(struct sender *sender, int64_t now_ns)
{
    struct udp_flow *flow = sender->flow;
    const struct udp_flow_spec *spec = sender->spec;
    if (atomic_load_explicit(&flow->stop, memory_order_relaxed)) {
        end(sender, UDP_SENDER_STOPPED, 0);
        return;
    }
    if (now_ns >= sender->look_ns) {
        sender->look_ns = now_ns + LOOK_NS;
        check_feedback(sender, now_ns);
        if (sender->ended)
            return;
    }
    if (!sender->ended && now_ns - flow->start_ns >= spec->duration_ns)
        end(sender, UDP_SENDER_TIME, 0);
    if (!sender->ended && flow->sender.sent_bytes + spec->datagram_bytes > spec->max_bytes)
        end(sender, UDP_SENDER_BYTES, 0);
}

static unsigned within_cap(const struct sender *sender, unsigned count)
{
    uint64_t left =
        (sender->spec->max_bytes - sender->flow->sender.sent_bytes) / sender->spec->datagram_bytes;
    return count < left ? count : (unsigned)left;
}

/* --- The three patterns --------------------------------------------------------------------- */

static void send_flat_out(struct sender *sender)
{
    unsigned batch = sender->gso > 1 ? 2 * sender->gso : BATCH_MESSAGES;
    for (;;) {
        int64_t now_ns = tl_now_ns();
        check_ends(sender, now_ns);
        if (sender->ended)
            return;
        (void)send_some(sender, within_cap(sender, batch), now_ns);
    }
}

/* A burst may be longer than what one call takes: the rest follows at once. */
static unsigned send_burst(struct sender *sender, unsigned count, int64_t now_ns)
{
    unsigned sent = 0;
    while (sent < count && !sender->ended) {
        unsigned wanted = within_cap(sender, count - sent);
        unsigned some = wanted > 0 ? send_some(sender, wanted, now_ns) : 0;
        if (some == 0)
            break;
        sent += some;
        now_ns = tl_now_ns();
    }
    return sent;
}

static void send_paced(struct sender *sender)
{
    struct udp_flow *flow = sender->flow;
    struct udp_pace pace;
    udp_pace_init(&pace, sender->spec->rate_bps, sender->spec->datagram_bytes,
                  sender->spec->burst_count, flow->start_ns);
    double burst_ns = pace.interval_ns * pace.burst;
    sender->close_ns = pace.interval_ns / 2;
    int64_t now_ns = tl_now_ns();
    for (;;) {
        check_ends(sender, now_ns);
        if (sender->ended)
            break;
        int64_t due_ns;
        unsigned count = udp_pace_due(&pace, now_ns, &due_ns);
        if (count == 0) {
            now_ns = udp_pace_wait(&pace, due_ns, (int64_t)(burst_ns / 64), &flow->stop);
            continue;
        }
        unsigned sent = send_burst(sender, count, now_ns);
        if (sent > 0)
            udp_pace_sent(&pace, sent, now_ns);
        now_ns = tl_now_ns();
    }
    flow->sender.forfeited_ns = pace.forfeited_ns;
    flow->sender.offered_bps = (double)sender->spec->rate_bps;
    flow->sender.elapsed_ns = sender->departure_ns + (int64_t)(sender->departed * pace.interval_ns);
}

/* Each with a send call and a time of its own, unless GSO was asked for. */
static void send_train(struct sender *sender, unsigned number)
{
    struct udp_sent_train *train = &sender->flow->sent_trains[number];
    unsigned length = sender->spec->train_length, left = length;
    while (left > 0 && !sender->ended) {
        int64_t now_ns = tl_now_ns();
        unsigned sent = send_some(sender, sender->gso > 1 ? left : 1, now_ns);
        if (sent == 0) {
            check_ends(sender, now_ns);
            continue;
        }
        if (train->count == 0)
            train->first_ns = sender->departure_ns;
        train->last_ns = sender->departure_ns;
        train->count += sent;
        left -= sent;
    }
}

static void send_trains(struct sender *sender)
{
    const struct udp_flow_spec *spec = sender->spec;
    struct udp_flow *flow = sender->flow;
    struct udp_pace naps = {.margin_ns = 50 * TL_NS_PER_US};
    for (unsigned i = 0; i < spec->train_count; i++) {
        int64_t due_ns = flow->start_ns + i * spec->train_gap_ns, now_ns = tl_now_ns();
        while (now_ns < due_ns && !sender->ended) {
            now_ns = udp_pace_wait(&naps, due_ns, spec->train_gap_ns / 8, &flow->stop);
            check_ends(sender, now_ns);
        }
        if (!sender->ended)
            check_ends(sender, tl_now_ns());
        if (sender->ended)
            return;
        send_train(sender, i);
    }
    if (!sender->ended)
        end(sender, UDP_SENDER_BYTES, 0);
}

/* --- The thread ------------------------------------------------------------------------------ */

static void open_gso(struct sender *sender)
{
    const struct udp_flow_spec *spec = sender->spec;
    unsigned fit = GSO_BYTES_MAX / spec->datagram_bytes;
    int size = (int)spec->datagram_bytes;
    sender->gso = spec->gso_segments < fit ? spec->gso_segments : fit;
    if (sender->gso < 2) {
        sender->gso = 1;
    } else if (setsockopt(spec->fd, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof size) < 0) {
        sender->gso = 1;
        snprintf(sender->flow->note, sizeof sender->flow->note,
                 "the sender's kernel has no UDP_SEGMENT");
    }
}

static void summarise(const struct sender *sender)
{
    struct tl_udp_sender *sum = &sender->flow->sender;
    sum->gso_segments = sender->gso;
    if (sum->elapsed_ns == 0)
        sum->elapsed_ns = sender->departure_ns;
    if (sum->elapsed_ns > 0 && sender->spec->train_length == 0)
        sum->achieved_bps = (double)sum->sent_bytes * 8e9 / (double)sum->elapsed_ns;
}

void *udp_send_main(void *arg)
{
    struct udp_flow *flow = arg;
    struct sender *sender = calloc(1, sizeof *sender);
    (void)prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    if (sender) {
        sender->flow = flow;
        sender->spec = &flow->spec;
        open_gso(sender);
        bool made = make_pool(sender); /* takes a millisecond */
        flow->start_ns = sender->progress_ns = tl_now_ns();
        if (!made)
            end(sender, UDP_SENDER_FAILED, ENOMEM);
        else if (flow->spec.train_length > 0)
            send_trains(sender);
        else if (flow->spec.rate_bps > 0)
            send_paced(sender);
        else
            send_flat_out(sender);
        summarise(sender);
        free(sender->pool);
        free(sender->payload_crc);
        free(sender);
    } else {
        flow->sender_end = UDP_SENDER_FAILED;
        flow->errnum = ENOMEM;
    }
    udp_flow_ended(flow, &flow->sender.cpu_ns, &flow->sender.run_delay_ns);
    return NULL;
}

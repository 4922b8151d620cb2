/* Datagrams of the responder: proof of a tuple, then probes. One unconnected socket that
 * answers only entries of a live session's table.
 *
 * P4: an answer is never longer than its question; HELLO is answered only with the token
 * of a live session and from the address of its control connection; probes only from a
 * tuple that echoed its challenge. Everything else is met with silence. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "responder_udp.h"
#include "tightlink/base/random.h"
#include "tightlink/base/time.h"

#define DATAGRAMS_PER_WAKEUP 64
#define PROOF_NS             (5 * TL_NS_PER_S) /* after that a tuple will not be proven */

static void read_control(struct msghdr *msg, struct arrival *arrival)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec at;
            memcpy(&at, CMSG_DATA(c), sizeof at);
            arrival->realtime_ns = at.tv_sec * TL_NS_PER_S + at.tv_nsec;
        } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
            memcpy(&arrival->to6, CMSG_DATA(c), sizeof arrival->to6);
            arrival->has_to6 = true;
        } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
            memcpy(&arrival->to4, CMSG_DATA(c), sizeof arrival->to4);
            arrival->has_to4 = true;
        } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
            arrival->traffic_class = *CMSG_DATA(c); /* the one option that is a byte */
        } else if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL) ||
                   (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT)) {
            memcpy(&arrival->ttl, CMSG_DATA(c), sizeof arrival->ttl);
        } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
            memcpy(&arrival->traffic_class, CMSG_DATA(c), sizeof arrival->traffic_class);
        }
    }
}

static bool receive(struct tl_responder *responder, struct arrival *ret_arrival)
{
    union {
        struct cmsghdr align;
        char bytes[256];
    } control;
    struct arrival arrival = {.traffic_class = -1, .ttl = -1};
    struct iovec iov = {responder->datagram, sizeof responder->datagram};
    struct msghdr msg = {.msg_name = &arrival.from,
                         .msg_namelen = sizeof arrival.from,
                         .msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof control};
    ssize_t got = recvmsg(responder->udp.fd, &msg, MSG_DONTWAIT);
    if (got < 0 && errno != EAGAIN) /* what a router told of an earlier answer, told once */
        got = recvmsg(responder->udp.fd, &msg, MSG_DONTWAIT);
    if (got < 0)
        return false;
    arrival.len = (size_t)got;
    arrival.realtime_ns = tl_realtime_ns();
    read_control(&msg, &arrival);
    *ret_arrival = arrival;
    return true;
}

static void add_control(struct msghdr *msg, int level, int type, const void *value, size_t len)
{
    struct cmsghdr *c = (struct cmsghdr *)((char *)msg->msg_control + msg->msg_controllen);
    c->cmsg_level = level;
    c->cmsg_type = type;
    c->cmsg_len = CMSG_LEN(len);
    memcpy(CMSG_DATA(c), value, len);
    msg->msg_controllen += CMSG_SPACE(len);
}

/* With both families on one socket an IPv4 destination comes as IPV6_PKTINFO of a mapped
 * address, and goes out so. */
static void add_source(struct msghdr *msg, const struct arrival *to)
{
    if (to->has_to6) {
        struct in6_pktinfo info = {.ipi6_addr = to->to6.ipi6_addr};
        if (IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr))
            info.ipi6_ifindex = to->to6.ipi6_ifindex;
        add_control(msg, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof info);
    } else if (to->has_to4) {
        struct in_pktinfo info = {.ipi_spec_dst = to->to4.ipi_spec_dst};
        add_control(msg, IPPROTO_IP, IP_PKTINFO, &info, sizeof info);
    }
}

static void add_departure(struct msghdr *msg, const struct sockaddr_in6 *peer,
                          const struct departure *how)
{
    bool v4 = peer->sin6_family == AF_INET || IN6_IS_ADDR_V4MAPPED(&peer->sin6_addr);
    int traffic_class = how->traffic_class, ttl = how->ttl;
    if (traffic_class)
        add_control(msg, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TOS : IPV6_TCLASS, &traffic_class,
                    sizeof traffic_class);
    if (ttl)
        add_control(msg, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TTL : IPV6_HOPLIMIT, &ttl,
                    sizeof ttl);
}

int udp_reply(struct tl_responder *responder, const struct arrival *to, const struct departure *how,
              const uint8_t *bytes, size_t len)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo)) + 2 * CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct sockaddr_in6 peer = to->from;
    struct iovec iov = {(void *)bytes, len};
    struct msghdr msg = {.msg_name = &peer,
                         .msg_namelen = sizeof peer,
                         .msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control};
    if (to->from.sin6_family == AF_INET)
        msg.msg_namelen = sizeof(struct sockaddr_in);
    add_source(&msg, to);
    if (how)
        add_departure(&msg, &peer, how);
    if (msg.msg_controllen == 0)
        msg.msg_control = NULL;
    /* The first error may be what a router told of an earlier answer; then it goes out now. Too
     * large for the path, or no buffer: the answer is lost, as on any path. */
    ssize_t sent = sendmsg(responder->udp.fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN)
        sent = sendmsg(responder->udp.fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent < 0 ? errno : 0;
}

static bool same_tuple(const struct udp_tuple *tuple, const struct sockaddr_in6 *from)
{
    return tuple->used && tuple->from.sin6_port == from->sin6_port &&
           IN6_ARE_ADDR_EQUAL(&tuple->from.sin6_addr, &from->sin6_addr);
}

static struct udp_tuple *find_tuple(struct session *session, const struct sockaddr_in6 *from)
{
    for (size_t i = 0; i < sizeof session->tuples / sizeof *session->tuples; i++)
        if (same_tuple(&session->tuples[i], from))
            return &session->tuples[i];
    return NULL;
}

/* A free place, else one that was not proven in time, else the oldest: several threads of a client
 * prove theirs at the same time, and what is in the middle of its proof is no leftover. */
static struct udp_tuple *new_tuple(struct session *session)
{
    int64_t late_ns = tl_now_ns() - PROOF_NS;
    struct udp_tuple *best = NULL;
    bool best_late = false;
    for (size_t i = 0; i < sizeof session->tuples / sizeof *session->tuples; i++) {
        struct udp_tuple *tuple = &session->tuples[i];
        if (!tuple->used)
            return tuple;
        bool late = !tuple->proven && tuple->since_ns < late_ns;
        if (!best || (late != best_late ? late : tuple->since_ns < best->since_ns)) {
            best = tuple;
            best_late = late;
        }
    }
    return best;
}

/* GCRA, as in responder_guard.c: every answered datagram of a session costs one token. */
static bool take_token(struct session *session)
{
    int64_t now_ns = tl_now_ns();
    int64_t step_ns = TL_NS_PER_S / tl_limit_row(TL_LIMIT_UDP_PROBES_PER_S)->standard;
    int64_t full_ns = session->udp_full_ns > now_ns ? session->udp_full_ns : now_ns;
    if (full_ns + step_ns > now_ns + TL_NS_PER_S / 4)
        return false;
    session->udp_full_ns = full_ns + step_ns;
    return true;
}

static void answer_proof(struct tl_responder *responder, const struct arrival *arrival)
{
    struct tl_wire_udp_prove prove, answer = {0};
    struct sockaddr_in6 from = arrival->from;
    address_normalise(&from);
    if (tl_wire_decode_udp_prove(responder->datagram, arrival->len, &prove, NULL) != TL_OK)
        return;
    struct session *session = session_by_token(responder, &prove.token);
    if (!session || !IN6_ARE_ADDR_EQUAL(&session->peer.sin6_addr, &from.sin6_addr) ||
        !take_token(session))
        return;
    struct udp_tuple *tuple = find_tuple(session, &from);
    if (prove.type == TL_WIRE_UDP_HELLO) {
        if (!tuple) {
            tuple = new_tuple(session);
            *tuple = (struct udp_tuple){.used = true, .from = from, .since_ns = tl_now_ns()};
            if (tl_random_secure(&tuple->challenge, sizeof tuple->challenge) != TL_OK) {
                tuple->used = false;
                return;
            }
        }
        answer.type = TL_WIRE_UDP_CHALLENGE;
    } else if (prove.type == TL_WIRE_UDP_PROVE && tuple &&
               tl_wire_token_equal(&tuple->challenge, &prove.challenge)) {
        tuple->proven = true;
        answer.type = TL_WIRE_UDP_PROVEN;
    } else {
        return;
    }
    answer.challenge = tuple->challenge;
    (void)udp_reply(responder, arrival, NULL, responder->frame,
                    tl_wire_encode_udp_prove(&answer, responder->frame));
}

struct udp_tuple *udp_find_prover(struct tl_responder *responder, const struct sockaddr_in6 *from,
                                  uint64_t cookie, struct session **ret_session)
{
    for (uint32_t i = 0; i < responder->session_count; i++) {
        struct session *session = responder->sessions[i];
        struct udp_tuple *tuple =
            session->state < SESSION_CLOSING ? find_tuple(session, from) : NULL;
        if (tuple && tuple->proven && tl_wire_udp_cookie(&tuple->challenge) == cookie) {
            *ret_session = session;
            return tuple;
        }
    }
    return NULL;
}

/* The probe goes back where it came from, in its own buffer, its padding as it is. */
static void answer_probe(struct tl_responder *responder, const struct arrival *arrival)
{
    struct tl_wire_udp_probe probe;
    bool intact;
    struct sockaddr_in6 from = arrival->from;
    address_normalise(&from);
    if (tl_wire_decode_udp_probe(responder->datagram, arrival->len, &probe, &intact, NULL) != TL_OK)
        return;
    struct session *session;
    struct udp_tuple *tuple = udp_find_prover(responder, &from, probe.cookie, &session);
    if (!tuple)
        return;
    if (!intact) {
        tuple->damaged_count++;
        return;
    }
    if (!take_token(session))
        return;
    size_t len = probe.reply_bytes ? probe.reply_bytes : arrival->len;
    int64_t held_ns = tl_realtime_ns() - arrival->realtime_ns;
    probe.type = TL_WIRE_UDP_REPLY;
    probe.receive_ns = (uint64_t)arrival->realtime_ns;
    probe.held_ns = held_ns < 0 ? 0 : held_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)held_ns;
    probe.received_bytes = (uint16_t)arrival->len;
    probe.damaged_count = tuple->damaged_count;
    tl_wire_seal_udp_probe(&probe, responder->datagram, len);
    (void)udp_reply(responder, arrival, NULL, responder->datagram, len);
}

void udp_ready(struct watch *watch, uint32_t events)
{
    struct tl_responder *responder =
        (struct tl_responder *)((char *)watch - offsetof(struct tl_responder, udp));
    struct arrival arrival;
    if (events & EPOLLERR)
        udp_path_errors(responder);
    for (int i = 0; i < DATAGRAMS_PER_WAKEUP && receive(responder, &arrival); i++) {
        switch (tl_wire_udp_type(responder->datagram, arrival.len)) {
        case TL_WIRE_UDP_HELLO:
        case TL_WIRE_UDP_PROVE:
            answer_proof(responder, &arrival);
            break;
        case TL_WIRE_UDP_PROBE:
            answer_probe(responder, &arrival);
            break;
        case TL_WIRE_UDP_PATH_PROBE:
            udp_answer_path(responder, &arrival);
            break;
        default: /* strangers, and our own kind of answers: silence */
            break;
        }
    }
}

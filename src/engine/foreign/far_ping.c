/* Round trips by what every host answers: far_ping.h. */
#include "far_ping.h"

#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client_parts.h"
#include "socket_address.h"
#include "tightlink/base/random.h"
#include "tightlink/base/time.h"

#define PAYLOAD_BYTES 16
#define CLOSED_PORT   9                     /* discard (RFC 863): nobody has it open any more */
#define DIALS_MAX     64                    /* connections that wait for an answer */
#define WAIT_NS       (2500 * TL_NS_PER_MS) /* behind a bloated queue of two seconds */
/* Answered none of the first so many, ICMP is given up. */
#define ICMP_TRIES 3

struct dial {
    int fd; /* -1: free */
    unsigned probe;
};

struct train {
    const struct far_peer *peer;
    const struct tl_echo_spec *spec;
    struct tl_echo_result *result;
    int icmp_fd; /* -1: by TCP */
    struct dial dials[DIALS_MAX];
};

/* --- Sending ---------------------------------------------------------------------------------- */

static bool is_v6(const struct train *train)
{
    return train->peer->info.peer.ss_family == AF_INET6;
}

static struct sockaddr_storage address_of(const struct train *train, uint16_t port,
                                          socklen_t *ret_len)
{
    struct sockaddr_storage address = train->peer->info.peer;
    socket_address_set_port(&address, port);
    *ret_len = socket_address_len(&address);
    return address;
}

/* A datagram socket for ICMP echo, which net.ipv4.ping_group_range permits or not. */
static int open_icmp(const struct train *train)
{
    socklen_t len;
    struct sockaddr_storage address = address_of(train, 0, &len);
    int fd = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    is_v6(train) ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, len) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void send_icmp(struct train *train, unsigned sequence)
{
    uint8_t packet[8 + PAYLOAD_BYTES] = {is_v6(train) ? ICMP6_ECHO_REQUEST : ICMP_ECHO};
    packet[6] = (uint8_t)(sequence >> 8);
    packet[7] = (uint8_t)sequence;
    (void)!send(train->icmp_fd, packet, sizeof packet, MSG_NOSIGNAL);
}

static void begin_dial(struct train *train, unsigned sequence)
{
    socklen_t len;
    struct sockaddr_storage address = address_of(train, CLOSED_PORT, &len);
    struct dial *dial = train->dials;
    while (dial < train->dials + DIALS_MAX && dial->fd >= 0)
        dial++;
    if (dial == train->dials + DIALS_MAX)
        return; /* no answer for long: another one tells no more */
    dial->probe = sequence;
    dial->fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (dial->fd >= 0)
        (void)!connect(dial->fd, (struct sockaddr *)&address, len);
}

static void send_probe(struct train *train)
{
    struct tl_echo_result *result = train->result;
    unsigned sequence = result->sent_count++;
    result->probes[sequence] =
        (struct tl_echo_probe){.rtt_ns = -1, .sent_ns = tl_now_ns() - result->start_ns};
    if (train->icmp_fd >= 0)
        send_icmp(train, sequence);
    else
        begin_dial(train, sequence);
}

/* --- Answers ---------------------------------------------------------------------------------- */

static void take(struct train *train, unsigned sequence)
{
    struct tl_echo_result *result = train->result;
    struct tl_echo_probe *probe = &result->probes[sequence];
    if (sequence >= result->sent_count)
        return;
    if (probe->rtt_ns >= 0) {
        result->duplicate_count++;
        return;
    }
    probe->rtt_ns = tl_now_ns() - result->start_ns - probe->sent_ns;
    result->answered_count++;
}

static void take_icmp(struct train *train)
{
    uint8_t packet[256];
    ssize_t got = recv(train->icmp_fd, packet, sizeof packet, MSG_DONTWAIT);
    if (got >= 8 && packet[0] == (is_v6(train) ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY))
        take(train, (unsigned)packet[6] << 8 | packet[7]);
}

/* Opened or refused is an answer; whatever else a router said is none. */
static void end_dial(struct train *train, struct dial *dial)
{
    int errnum = 0;
    socklen_t len = sizeof errnum;
    struct linger abort_now = {.l_onoff = 1, .l_linger = 0};
    if (getsockopt(dial->fd, SOL_SOCKET, SO_ERROR, &errnum, &len) == 0 &&
        (errnum == 0 || errnum == ECONNREFUSED))
        take(train, dial->probe);
    (void)setsockopt(dial->fd, SOL_SOCKET, SO_LINGER, &abort_now, sizeof abort_now);
    close(dial->fd);
    dial->fd = -1;
}

static void drop_old(struct train *train)
{
    for (struct dial *dial = train->dials; dial < train->dials + DIALS_MAX; dial++)
        if (dial->fd >= 0 &&
            tl_now_ns() - train->result->start_ns - train->result->probes[dial->probe].sent_ns >
                WAIT_NS) {
            close(dial->fd);
            dial->fd = -1;
        }
}

/* Takes what comes until until_ns. TL_CANCELLED with *ret_ended where it was the train's own. */
static enum tl_status listen_until(struct train *train, int64_t until_ns, bool *ret_ended,
                                   struct tl_error *reterr)
{
    for (;;) {
        struct pollfd fds[DIALS_MAX + 3] = {{.fd = train->peer->cancel_fd, .events = POLLIN},
                                            {.fd = train->spec->cancel_fd, .events = POLLIN},
                                            {.fd = train->icmp_fd, .events = POLLIN}};
        for (int i = 0; i < DIALS_MAX; i++)
            fds[3 + i] = (struct pollfd){.fd = train->dials[i].fd, .events = POLLOUT};
        int64_t wait_ns = until_ns - tl_now_ns();
        struct timespec timeout = {.tv_sec = wait_ns > 0 ? wait_ns / TL_NS_PER_S : 0,
                                   .tv_nsec = wait_ns > 0 ? wait_ns % TL_NS_PER_S : 0};
        if (train->result->answered_count == train->spec->count)
            return TL_OK;
        int ready = ppoll(fds, DIALS_MAX + 3, &timeout, NULL);
        *ret_ended = ready > 0 && fds[1].revents;
        if (ready > 0 && (fds[0].revents || fds[1].revents))
            return tl_error_set(reterr, TL_CANCELLED, "cancelled");
        if (ready > 0 && fds[2].revents)
            take_icmp(train);
        for (int i = 0; ready > 0 && i < DIALS_MAX; i++)
            if (train->dials[i].fd >= 0 && fds[3 + i].revents)
                end_dial(train, &train->dials[i]);
        drop_old(train);
        if (tl_now_ns() >= until_ns)
            return TL_OK;
    }
}

/* --- A train --- */

static int64_t patience_ns(const struct train *train)
{
    int64_t wait_ns = 3 * train->peer->info.connect_rtt_ns;
    if (train->spec->wait_ns > 0)
        return train->spec->wait_ns;
    return wait_ns > TL_NS_PER_S ? wait_ns : TL_NS_PER_S;
}

static enum tl_status run(struct train *train, struct tl_error *reterr)
{
    const struct tl_echo_spec *spec = train->spec;
    struct tl_echo_result *result = train->result;
    struct tl_random rng;
    bool ended = false;
    tl_random_seed(&rng, (uint64_t)tl_now_ns());
    result->start_ns = tl_now_ns();
    enum tl_status status = TL_OK;
    for (unsigned i = 0; i < spec->count && status == TL_OK; i++) {
        int64_t at_ns = result->start_ns + i * spec->interval_ns;
        if (spec->scattered)
            at_ns += (int64_t)(tl_random_unit(&rng) * (double)spec->interval_ns);
        status = listen_until(train, at_ns, &ended, reterr);
        if (status == TL_OK)
            send_probe(train);
    }
    if (status == TL_OK)
        status = listen_until(train, tl_now_ns() + patience_ns(train), &ended, reterr);
    return status == TL_CANCELLED && ended && result->answered_count > 0 ? TL_OK : status;
}

/* Runs spec by ICMP (fd) or, with -1, by TCP; closes fd. */
static enum tl_status run_by(const struct far_peer *peer, int icmp_fd,
                             const struct tl_echo_spec *spec, struct tl_echo_result *result,
                             struct tl_error *reterr)
{
    struct train train = {.peer = peer, .spec = spec, .result = result, .icmp_fd = icmp_fd};
    for (int i = 0; i < DIALS_MAX; i++)
        train.dials[i].fd = -1;
    memset(result, 0, sizeof *result);
    enum tl_status status = run(&train, reterr);
    for (int i = 0; i < DIALS_MAX; i++)
        if (train.dials[i].fd >= 0)
            close(train.dials[i].fd);
    if (icmp_fd >= 0)
        close(icmp_fd);
    result->one_way_unknown = true;
    client_echo_sum(result);
    return status;
}

/* Whether ICMP echo is permitted here and answered there: TL_OK, TL_TIMEOUT, TL_CANCELLED. */
static enum tl_status try_icmp(const struct far_peer *peer, const struct tl_echo_spec *spec,
                               struct tl_echo_result *scratch, struct tl_error *reterr)
{
    struct train train = {.peer = peer};
    struct tl_echo_spec brief = {.count = ICMP_TRIES,
                                 .interval_ns = 10 * TL_NS_PER_MS,
                                 .wait_ns = spec->wait_ns,
                                 .cancel_fd = spec->cancel_fd};
    int fd = open_icmp(&train);
    if (fd < 0)
        return TL_TIMEOUT;
    enum tl_status status = run_by(peer, fd, &brief, scratch, reterr);
    return status == TL_OK && scratch->answered_count == 0 ? TL_TIMEOUT : status;
}

enum tl_status far_ping_train(const struct far_peer *peer, const struct tl_echo_spec *spec,
                              struct tl_echo_result *ret_result, struct tl_error *reterr)
{
    if (spec->count < 1 || spec->count > TL_ECHO_MAX || spec->interval_ns < TL_NS_PER_MS)
        return tl_error_set(reterr, TL_RANGE, "1 to %d probes, 1 ms apart or more", TL_ECHO_MAX);
    struct tl_echo_result *result = calloc(1, sizeof *result);
    if (!result)
        return tl_error_set(reterr, TL_NOMEM, "no memory for probes");
    struct train icmp = {.peer = peer};
    enum tl_status status = try_icmp(peer, spec, result, reterr);
    if (status == TL_OK || status == TL_TIMEOUT)
        status = run_by(peer, status == TL_OK ? open_icmp(&icmp) : -1, spec, result, reterr);
    if (status == TL_OK && result->answered_count == 0)
        status = tl_error_set(reterr, TL_TIMEOUT,
                              "%s answers neither ICMP echo nor connections to a closed port: no "
                              "round trips beside the load",
                              peer->host);
    if (status == TL_OK)
        *ret_result = *result;
    free(result);
    return status;
}

enum tl_status far_ping_once(const struct far_peer *peer, struct tl_error *reterr)
{
    struct tl_echo_spec spec = {.count = 1, .interval_ns = TL_NS_PER_S, .cancel_fd = -1};
    struct tl_echo_result *result = malloc(sizeof *result);
    if (!result)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a probe");
    enum tl_status status = far_ping_train(peer, &spec, result, reterr);
    free(result);
    return status;
}

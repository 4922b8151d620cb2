/* A host without a responder: the port's refusal and ICMP echo. */
#include "tightlink/probes/reach.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "outcome.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"

#define TRIES 3
#define TRY_NS                                                                                     \
    (1000 * TL_NS_PER_MS) /* an answer that takes longer would have a connect time out             \
                           */

struct peer {
    struct sockaddr_storage address;
    socklen_t len;
};

static enum tl_status resolve(const struct tl_probe_target *target, struct peer *ret_peer,
                              struct tl_reach *reach, struct tl_error *reterr)
{
    char port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    hints.ai_family = target->family == 4 ? AF_INET : target->family == 6 ? AF_INET6 : AF_UNSPEC;
    snprintf(port, sizeof port, "%u", target->port);
    int error = getaddrinfo(target->host, port, &hints, &found);
    if (error)
        return tl_error_set(reterr, TL_NOHOST, "%.253s cannot be resolved (%s)", target->host,
                            gai_strerror(error));
    memcpy(&ret_peer->address, found->ai_addr, found->ai_addrlen);
    ret_peer->len = found->ai_addrlen;
    reach->family = found->ai_family == AF_INET6 ? 6 : 4;
    (void)getnameinfo(found->ai_addr, found->ai_addrlen, reach->address, sizeof reach->address,
                      NULL, 0, NI_NUMERICHOST);
    freeaddrinfo(found);
    return TL_OK;
}

/* Waits for events on fd; 0 when there were none in time, -1 when cancelled. */
static int await(int fd, short events, int64_t until_ns, int cancel_fd)
{
    for (;;) {
        struct pollfd fds[] = {{.fd = fd, .events = events}, {.fd = cancel_fd, .events = POLLIN}};
        int64_t left_ns = until_ns - tl_now_ns();
        if (left_ns <= 0)
            return 0;
        int n = poll(fds, 2, (int)(left_ns / TL_NS_PER_MS) + 1);
        if (n < 0 && errno != EINTR)
            return 0;
        if (n > 0 && fds[1].revents)
            return -1;
        if (n > 0 && fds[0].revents)
            return 1;
    }
}

static void keep_least(int64_t *least_ns, int64_t value_ns)
{
    if (*least_ns < 0 || value_ns < *least_ns)
        *least_ns = value_ns;
}

/* One try of the port; false when cancelled. */
static bool try_port(const struct peer *peer, int cancel_fd, struct tl_reach *reach)
{
    int error = 0;
    socklen_t len = sizeof error;
    int fd = socket(peer->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return true;
    int64_t begun_ns = tl_now_ns();
    int answered = 1;
    if (connect(fd, (const struct sockaddr *)&peer->address, peer->len) < 0) {
        error = errno;
        if (error == EINPROGRESS) {
            answered = await(fd, POLLOUT, begun_ns + TRY_NS, cancel_fd);
            if (answered > 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
                error = errno;
        }
    }
    int64_t took_ns = tl_now_ns() - begun_ns;
    close(fd);
    if (answered > 0 && (error == 0 || error == ECONNREFUSED)) {
        reach->open |= error == 0;
        reach->refused |= error == ECONNREFUSED;
        keep_least(&reach->port_rtt_ns, took_ns);
    } else if (answered > 0) {
        reach->error = error;
    }
    return answered >= 0;
}

/* ICMP echo over a datagram socket, which many systems permit to every user
 * (net.ipv4.ping_group_range); the kernel fills in identifier and check sum. */
static bool try_echo(const struct peer *peer, int cancel_fd, int fd, uint16_t number,
                     struct tl_reach *reach)
{
    bool six = peer->address.ss_family == AF_INET6;
    uint8_t request[16] = {six ? ICMP6_ECHO_REQUEST : ICMP_ECHO}, answer[256];
    request[6] = (uint8_t)(number >> 8);
    request[7] = (uint8_t)number;
    int64_t begun_ns = tl_now_ns();
    if (sendto(fd, request, sizeof request, 0, (const struct sockaddr *)&peer->address, peer->len) <
        0)
        return true;
    for (;;) {
        int some = await(fd, POLLIN, begun_ns + TRY_NS, cancel_fd);
        if (some <= 0)
            return some == 0;
        ssize_t got = recv(fd, answer, sizeof answer, MSG_DONTWAIT);
        bool ours = got >= 8 && answer[0] == (six ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY) &&
                    memcmp(answer + 6, request + 6, 2) == 0;
        if (ours) {
            keep_least(&reach->echo_rtt_ns, tl_now_ns() - begun_ns);
            return true;
        }
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            return true;
    }
}

static bool try_echoes(const struct peer *peer, int cancel_fd, struct tl_reach *reach)
{
    struct peer without_port = *peer;
    bool six = peer->address.ss_family == AF_INET6, go_on = true;
    if (six)
        ((struct sockaddr_in6 *)&without_port.address)->sin6_port = 0;
    else
        ((struct sockaddr_in *)&without_port.address)->sin_port = 0;
    int fd = socket(peer->address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC,
                    six ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
    reach->may_echo = fd >= 0;
    for (uint16_t i = 1; fd >= 0 && go_on && i <= TRIES; i++)
        go_on = try_echo(&without_port, cancel_fd, fd, i, reach);
    if (fd >= 0)
        close(fd);
    return go_on;
}

bool tl_reach_answered(const struct tl_reach *reach)
{
    return reach->port_rtt_ns >= 0 || reach->echo_rtt_ns >= 0;
}

static void describe(const struct tl_reach *reach, struct tl_probe_outcome *outcome)
{
    char port[TL_UNIT_TEXT_SIZE], echo[TL_UNIT_TEXT_SIZE];
    if (reach->port_rtt_ns >= 0)
        tl_outcome_state(outcome, TL_STAGE_LIMITED,
                         "no responder; the port %s after %s: the host is up",
                         reach->refused ? "refused" : "took a connection",
                         tl_format_ns((double)reach->port_rtt_ns, port));
    else if (reach->echo_rtt_ns >= 0)
        tl_outcome_state(outcome, TL_STAGE_LIMITED,
                         "no responder; the host answers ICMP echo after %s, but not the port: a "
                         "firewall drops it",
                         tl_format_ns((double)reach->echo_rtt_ns, echo));
    else if (reach->error)
        tl_outcome_state(outcome, TL_STAGE_FAILED, "on the way: %s", strerror(reach->error));
    else
        tl_outcome_state(outcome, TL_STAGE_FAILED, "neither the port nor %s answered",
                         reach->may_echo ? "ICMP echo" : "anything (ICMP echo is not permitted)");
}

enum tl_status tl_probe_reach(const struct tl_probe_target *target, int cancel_fd,
                              struct tl_facts *facts, struct tl_reach *ret_reach,
                              struct tl_probe_outcome *ret_outcome, struct tl_error *reterr)
{
    struct peer peer = {0};
    bool go_on = true;
    *ret_reach = (struct tl_reach){.port_rtt_ns = -1, .echo_rtt_ns = -1};
    tl_outcome_begin(ret_outcome, "path");
    enum tl_status status = resolve(target, &peer, ret_reach, reterr);
    if (status != TL_OK) {
        tl_outcome_state(ret_outcome, TL_STAGE_FAILED, "the name cannot be resolved");
        tl_outcome_end(ret_outcome);
        return status;
    }
    for (int i = 0; go_on && i < TRIES; i++) {
        go_on = try_port(&peer, cancel_fd, ret_reach);
        if (ret_reach->port_rtt_ns < 0) /* a silent port stays silent */
            break;
    }
    if (go_on)
        go_on = try_echoes(&peer, cancel_fd, ret_reach);
    if (ret_reach->port_rtt_ns >= 0)
        tl_facts_set_number(facts, TL_PATH(connect_rtt_ns), (double)ret_reach->port_rtt_ns,
                            ret_reach->refused ? "until the port refused"
                                               : "until the port took a connection");
    describe(ret_reach, ret_outcome);
    tl_outcome_end(ret_outcome);
    return go_on ? TL_OK : tl_error_set(reterr, TL_CANCELLED, TL_RUN_STOPPED);
}

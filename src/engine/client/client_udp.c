/* A UDP socket towards the responder, and the proof of its tuple: what everything that
 * sends datagrams begins with. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client_private.h"
#include "socket_address.h"
#include "tightlink/base/time.h"

#define PROVE_TRIES  5
#define PROVE_MIN_NS (200 * TL_NS_PER_MS)
#define DEAD_NS      (1500 * TL_NS_PER_MS) /* what is unanswered for that long is no lost packet */
#define GONE_NS      (200 * TL_NS_PER_MS)  /* for the end of a connection, beyond its round trip */

enum tl_status client_udp_open(const struct tl_client *client, int *ret_fd, struct tl_error *reterr)
{
    const struct tl_client_info *info = &client->info;
    socklen_t len = socket_address_len(&info->peer);
    struct sockaddr_storage local = info->local;
    socket_address_set_port(&local, 0);
    int fd = socket(info->peer.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&local, len) == 0 &&
        connect(fd, (const struct sockaddr *)&info->peer, len) == 0) {
        *ret_fd = fd;
        return TL_OK;
    }
    int errnum = errno;
    if (fd >= 0)
        close(fd);
    return tl_error_set(reterr, tl_status_from_errno(errnum), "a UDP socket to %s: %s",
                        client->host, strerror(errnum));
}

enum tl_status client_udp_refused(const struct tl_client *client, struct tl_error *reterr)
{
    int64_t wait_ns = client->info.connect_rtt_ns + GONE_NS;
    struct pollfd control = {.fd = client->fd, .events = POLLRDHUP};
    if (client->fd < 0 || poll(&control, 1, (int)(wait_ns / TL_NS_PER_MS)) > 0)
        return client_gone(client, reterr);
    return tl_error_set(reterr, TL_REFUSED, "UDP port %d of %s is closed although TCP answers",
                        client->port, client->host);
}

/* One step of the proof: what is sent until its answer comes. */
struct exchange {
    struct tl_client *client;
    int fd, cancel_fd;
    bool alone; /* with the control connection */
    struct udp_seal seal;
    struct tl_wire_udp_prove step, answer;
};

/* Waits for an answer of the wanted type until until_ns; *ret_came is false without one. */
static enum tl_status await_answer(struct exchange *exchange, uint8_t wanted, int64_t until_ns,
                                   bool *ret_came, struct tl_error *reterr)
{
    uint8_t datagram[TL_WIRE_UDP_HELLO_SIZE + 1];
    *ret_came = false;
    for (;;) {
        ssize_t got = recv(exchange->fd, datagram, sizeof(datagram), MSG_DONTWAIT);
        if (got >= 0 &&
            tl_wire_decode_udp_prove(datagram, (size_t)got, &exchange->answer, NULL) == TL_OK &&
            exchange->answer.type == wanted &&
            udp_seal_fits_prove(&exchange->seal, &exchange->answer, datagram)) {
            *ret_came = true;
            return TL_OK;
        }
        if (got < 0 && errno == ECONNREFUSED)
            return client_udp_refused(exchange->client, reterr);
        int64_t wait_ns = until_ns - tl_now_ns();
        if (wait_ns <= 0)
            return TL_OK;
        if (got >= 0 && client_cancelled(exchange->client))
            return tl_error_set(reterr, TL_CANCELLED, "cancelled");
        if (got >= 0)
            continue;
        struct pollfd fds[3] = {{.fd = exchange->fd, .events = POLLIN},
                                {.fd = exchange->client->cancel_fd, .events = POLLIN},
                                {.fd = exchange->cancel_fd, .events = POLLIN}};
        struct timespec timeout = {.tv_sec = wait_ns / TL_NS_PER_S,
                                   .tv_nsec = wait_ns % TL_NS_PER_S};
        (void)ppoll(fds, 3, &timeout, NULL);
        if (fds[1].revents || fds[2].revents)
            return tl_error_set(reterr, TL_CANCELLED, "cancelled");
    }
}

static enum tl_status run_step(struct exchange *exchange, uint8_t wanted, struct tl_error *reterr)
{
    struct tl_client *client = exchange->client;
    uint8_t bytes[TL_WIRE_UDP_HELLO_SIZE];
    size_t len = udp_seal_encode_prove(&exchange->seal, &exchange->step, bytes);
    int64_t rtt_ns = 2 * client->info.connect_rtt_ns;
    int64_t hello_ns = client->info.hello_rtt_ns + PROVE_MIN_NS / 2; /* a proxy may answer TCP */
    int64_t try_ns = rtt_ns > PROVE_MIN_NS ? rtt_ns : PROVE_MIN_NS;
    if (hello_ns > try_ns && hello_ns < TL_NS_PER_S)
        try_ns = hello_ns;
    for (int i = 0; i < PROVE_TRIES; i++) {
        bool came;
        (void)!send(exchange->fd, bytes, len, MSG_NOSIGNAL); /* a lost one is sent again */
        enum tl_status status = await_answer(exchange, wanted, tl_now_ns() + try_ns, &came, reterr);
        if (status == TL_OK && !came && exchange->alone)
            status = client_keep_alive(client, reterr);
        if (status != TL_OK || came)
            return status;
    }
    return tl_error_set(reterr, TL_TIMEOUT, "UDP port %d of %s does not answer", client->port,
                        client->host);
}

static enum tl_status prove_once(struct exchange *exchange, struct udp_pass *ret_pass,
                                 struct tl_error *reterr)
{
    struct tl_client *client = exchange->client;
    exchange->step = (struct tl_wire_udp_prove){.type = TL_WIRE_UDP_HELLO};
    pthread_mutex_lock(&client->token_lock);
    exchange->step.token = client->udp_token;
    exchange->seal = client->udp_seal;
    pthread_mutex_unlock(&client->token_lock);
    enum tl_status status = run_step(exchange, TL_WIRE_UDP_CHALLENGE, reterr);
    if (status != TL_OK)
        return status;
    exchange->step.type = TL_WIRE_UDP_PROVE;
    exchange->step.challenge = exchange->answer.challenge;
    *ret_pass = (struct udp_pass){tl_wire_udp_cookie(&exchange->answer.challenge), exchange->seal};
    return run_step(exchange, TL_WIRE_UDP_PROVEN, reterr);
}

static enum tl_status prove(struct exchange *exchange, struct udp_pass *ret_pass,
                            struct tl_error *reterr)
{
    enum tl_status status = prove_once(exchange, ret_pass, reterr);
    /* The session may have been dialled anew meanwhile, or our place in its table was needed:
     * a challenge that was given but is not accepted any more. */
    if (status == TL_TIMEOUT && exchange->step.type == TL_WIRE_UDP_PROVE)
        status = prove_once(exchange, ret_pass, reterr);
    return status;
}

static enum tl_status neither(const struct tl_client *client, struct tl_error *reterr)
{
    return tl_error_set(reterr, TL_CLOSED, "neither UDP nor TCP got an answer of %s for a while",
                        client->host);
}

enum tl_status client_udp_judge(const struct tl_client *client, enum tl_status status,
                                struct tl_error *reterr)
{
    bool dead = status == TL_TIMEOUT && client->info.unacked_ns >= DEAD_NS;
    return dead ? neither(client, reterr) : status;
}

/* Whether TCP gets through where UDP does not. TL_TIMEOUT: it does, and did all the time; TL_OK: it
 * does, but waited for a while, and so may UDP have. */
static enum tl_status ask_tcp(struct tl_client *client, struct tl_error *reterr)
{
    int64_t before_ns = client->info.unacked_ns;
    enum tl_status status = tl_client_ping(client, NULL, reterr);
    int64_t dead_ns = before_ns > client->info.unacked_ns ? before_ns : client->info.unacked_ns;
    client->info.unacked_ns = dead_ns;
    if (status != TL_OK && status != TL_TIMEOUT && status != TL_CLOSED)
        return status;
    if (status != TL_OK || dead_ns >= DEAD_NS)
        return neither(client, reterr);
    if (dead_ns > client->info.connect_rtt_ns + PROVE_MIN_NS)
        return TL_OK;
    return tl_error_set(reterr, TL_TIMEOUT,
                        "UDP port %d of %s does not answer although TCP does: a firewall on the "
                        "way drops it",
                        client->port, client->host);
}

enum tl_status client_udp_prove(struct tl_client *client, int fd, bool alone, int cancel_fd,
                                struct udp_pass *ret_pass, struct tl_error *reterr)
{
    struct exchange exchange = {.client = client, .fd = fd, .alone = alone, .cancel_fd = cancel_fd};
    enum tl_status status = prove(&exchange, ret_pass, reterr);
    if (status != TL_TIMEOUT || !alone)
        return status;
    status = ask_tcp(client, reterr);
    return status == TL_OK ? prove(&exchange, ret_pass, reterr) : status;
}

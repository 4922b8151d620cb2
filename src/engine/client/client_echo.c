/* UDP probes: proof of the tuple, then a paced train whose answers give round trips. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "client_private.h"
#include "tightlink/base/random.h"
#include "tightlink/base/stats.h"
#include "tightlink/base/time.h"

#define PROBE_MAX     1400
#define LATE_MAX      256                  /* datagrams at once, behind the time for them */
#define LATE_LEAST_NS (300 * TL_NS_PER_MS) /* what a busy end may add to a round trip */
#define ALIVE_NS      TL_NS_PER_S          /* a session that says nothing for 5 s is ended */

struct echo {
    struct tl_client *client;
    const struct tl_echo_spec *spec;
    struct tl_echo_result *result;
    int fd;
    struct udp_pass pass;
    int64_t start_ns;
    int64_t ping_ns;    /* when the session needs a word again */
    uint32_t newest;    /* sequence that was answered last */
    int64_t longest_ns; /* round trip that was seen; 0: none yet */
    bool ended;         /* the caller of the train wants no more of it */
    uint8_t datagram[PROBE_MAX];
};

/* Waits for a datagram until until_ns; *ret_len is 0 when none came. */
static enum tl_status receive(struct echo *echo, int64_t until_ns, size_t *ret_len,
                              struct tl_error *reterr)
{
    *ret_len = 0;
    for (;;) {
        ssize_t got = recv(echo->fd, echo->datagram, sizeof(echo->datagram), MSG_DONTWAIT);
        if (got >= 0) {
            echo->client->beside_rx_bytes += (uint64_t)got + CLIENT_HEADERS_BYTES;
            *ret_len = (size_t)got;
            return TL_OK;
        }
        if (errno == ECONNREFUSED)
            return client_udp_refused(echo->client, reterr);
        int64_t wait_ns = until_ns - tl_now_ns();
        if (wait_ns <= 0)
            return TL_OK;
        struct pollfd fds[3] = {{.fd = echo->fd, .events = POLLIN},
                                {.fd = echo->client->cancel_fd, .events = POLLIN},
                                {.fd = echo->spec->cancel_fd, .events = POLLIN}};
        struct timespec timeout = {.tv_sec = wait_ns / TL_NS_PER_S,
                                   .tv_nsec = wait_ns % TL_NS_PER_S};
        (void)ppoll(fds, 3, &timeout, NULL);
        echo->ended = fds[2].revents != 0;
        if (fds[1].revents || fds[2].revents)
            return tl_error_set(reterr, TL_CANCELLED, "cancelled");
    }
}

/* --- Probes -------------------------------------------------------------------------------- */

static void send_probe(struct echo *echo, struct tl_random *rng)
{
    struct tl_echo_result *result = echo->result;
    struct tl_echo_probe *probe = &result->probes[result->sent_count];
    size_t len = echo->spec->bytes ? echo->spec->bytes : TL_WIRE_UDP_PROBE_SIZE;
    uint8_t datagram[PROBE_MAX];
    tl_random_fill(rng, datagram, len);
    *probe = (struct tl_echo_probe){.rtt_ns = -1, .far_ns = -1, .near_ns = tl_realtime_ns()};
    int64_t now_ns = tl_now_ns();
    probe->sent_ns = now_ns - echo->start_ns;
    struct tl_wire_udp_probe message = {.type = TL_WIRE_UDP_PROBE,
                                        .cookie = echo->pass.cookie,
                                        .sequence = result->sent_count,
                                        .client_ns = (uint64_t)now_ns};
    tl_wire_seal_udp_probe(&message, datagram, len);
    udp_seal_turn(&echo->pass.seal, datagram, len);
    (void)!send(echo->fd, datagram, len, MSG_NOSIGNAL); /* what does not leave is lost */
    echo->client->beside_tx_bytes += len + CLIENT_HEADERS_BYTES;
    result->sent_count++;
}

static void take_reply(struct echo *echo, size_t len)
{
    struct tl_echo_result *result = echo->result;
    struct tl_wire_udp_probe reply;
    bool intact;
    int64_t now_ns = tl_now_ns() - echo->start_ns;
    udp_seal_turn(&echo->pass.seal, echo->datagram, len);
    if (tl_wire_decode_udp_probe(echo->datagram, len, &reply, &intact, NULL) != TL_OK ||
        reply.type != TL_WIRE_UDP_REPLY)
        return;
    if (!intact) {
        result->damaged_count++;
        return;
    }
    if (reply.cookie != echo->pass.cookie || reply.sequence >= result->sent_count)
        return;
    struct tl_echo_probe *probe = &result->probes[reply.sequence];
    if (probe->rtt_ns >= 0) {
        result->duplicate_count++;
        return;
    }
    int64_t rtt_ns = now_ns - probe->sent_ns;
    int64_t held_ns = reply.held_ns < rtt_ns ? reply.held_ns : 0; /* a lie is not believed */
    probe->rtt_ns = rtt_ns - held_ns;
    echo->longest_ns = rtt_ns > echo->longest_ns ? rtt_ns : echo->longest_ns;
    probe->far_ns = (int64_t)(reply.receive_ns & INT64_MAX);
    result->late_count += reply.sequence < echo->newest;
    if (reply.sequence > echo->newest)
        echo->newest = reply.sequence;
    result->answered_count++;
}

static enum tl_status take_replies(struct echo *echo, int64_t until_ns, struct tl_error *reterr)
{
    unsigned late_count = 0;
    for (;;) {
        size_t got;
        enum tl_status status = receive(echo, until_ns, &got, reterr);
        if (status != TL_OK || got == 0)
            return status;
        take_reply(echo, got);
        /* What waited while we were held up is taken; who sends without end holds nobody. */
        if (tl_now_ns() >= until_ns && ++late_count >= LATE_MAX)
            return client_cancelled(echo->client) ? tl_error_set(reterr, TL_CANCELLED, "cancelled")
                                                  : TL_OK;
    }
}

/* The session has to be heard on its control connection, or the tuple goes with it. */
static enum tl_status keep_alive(struct echo *echo, struct tl_error *reterr)
{
    int64_t now_ns = tl_now_ns();
    if (echo->spec->beside_test || now_ns < echo->ping_ns)
        return TL_OK;
    echo->ping_ns = now_ns + ALIVE_NS;
    return client_keep_alive(echo->client, reterr);
}

/* For answers behind the last probe: three times the longest round trip that was seen, so that one
 * that is lost does not hold up the others; a second, or three round trips, while none was. */
static int64_t patience_ns(const struct echo *echo)
{
    int64_t rtt_ns = 3 * echo->client->info.connect_rtt_ns;
    int64_t least_ns = echo->longest_ns > 0 ? LATE_LEAST_NS : TL_NS_PER_S;
    if (echo->spec->wait_ns > 0)
        return echo->spec->wait_ns;
    rtt_ns = 3 * echo->longest_ns > rtt_ns ? 3 * echo->longest_ns : rtt_ns;
    return rtt_ns > least_ns ? rtt_ns : least_ns;
}

static enum tl_status run_probes(struct echo *echo, struct tl_error *reterr)
{
    const struct tl_echo_spec *spec = echo->spec;
    struct tl_random rng;
    tl_random_seed(&rng, (uint64_t)tl_now_ns());
    echo->start_ns = echo->result->start_ns = tl_now_ns();
    enum tl_status status = TL_OK;
    for (unsigned i = 0; i < spec->count && status == TL_OK; i++) {
        int64_t at_ns = echo->start_ns + i * spec->interval_ns;
        if (spec->scattered)
            at_ns += (int64_t)(tl_random_unit(&rng) * (double)spec->interval_ns);
        status = take_replies(echo, at_ns, reterr);
        if (status == TL_OK)
            send_probe(echo, &rng);
        if (status == TL_OK)
            status = keep_alive(echo, reterr);
    }
    int64_t until_ns = tl_now_ns() + patience_ns(echo);
    while (status == TL_OK && echo->result->answered_count < spec->count &&
           tl_now_ns() < until_ns) {
        size_t got;
        int64_t alive_ns = tl_now_ns() + ALIVE_NS;
        status = receive(echo, alive_ns < until_ns ? alive_ns : until_ns, &got, reterr);
        if (status == TL_OK && got > 0)
            take_reply(echo, got);
        if (status == TL_OK)
            status = keep_alive(echo, reterr);
    }
    bool told_to_end = status == TL_CANCELLED && echo->ended && echo->result->answered_count > 0;
    return told_to_end ? TL_OK : status;
}

void client_echo_sum(struct tl_echo_result *result)
{
    int64_t rtts[TL_ECHO_MAX] = {0};
    size_t count = 0;
    for (unsigned i = 0; i < result->sent_count; i++)
        if (result->probes[i].rtt_ns >= 0)
            rtts[count++] = result->probes[i].rtt_ns;
    tl_stats_sort_ns(rtts, count);
    result->lost_count = result->sent_count - result->answered_count;
    result->min_rtt_ns = count > 0 ? rtts[0] : -1;
    result->median_rtt_ns = count > 0 ? (rtts[(count - 1) / 2] + rtts[count / 2]) / 2 : -1;
}

enum tl_status tl_client_echo(struct tl_client *client, const struct tl_echo_spec *spec,
                              struct tl_echo_result *ret_result, struct tl_error *reterr)
{
    if (spec->count < 1 || spec->count > TL_ECHO_MAX || spec->interval_ns < TL_NS_PER_MS ||
        (spec->bytes != 0 && (spec->bytes < TL_WIRE_UDP_PROBE_SIZE || spec->bytes > PROBE_MAX)))
        return tl_error_set(reterr, TL_RANGE,
                            "an echo has 1 to %d probes of %d to %d bytes, 1 ms apart or more",
                            TL_ECHO_MAX, TL_WIRE_UDP_PROBE_SIZE, PROBE_MAX);
    enum tl_status status = spec->beside_test ? TL_OK : client_wake(client, reterr);
    if (status != TL_OK)
        return status;
    struct echo *echo = calloc(1, sizeof(*echo));
    struct tl_echo_result *result = calloc(1, sizeof(*result));
    status = echo && result ? TL_OK : tl_error_set(reterr, TL_NOMEM, "no memory");
    if (status == TL_OK) {
        *echo = (struct echo){.client = client, .spec = spec, .result = result, .fd = -1};
        status = client_udp_open(client, &echo->fd, reterr);
        if (status == TL_OK)
            status = client_udp_prove(client, echo->fd, !spec->beside_test, spec->cancel_fd,
                                      &echo->pass, reterr);
        if (status == TL_OK)
            status = run_probes(echo, reterr);
        if (echo->fd >= 0)
            close(echo->fd);
    }
    if (status == TL_OK) {
        client_echo_sum(result);
        *ret_result = *result;
        if (!spec->beside_test && result->answered_count > 0)
            client->heard_ns = tl_now_ns(); /* its datagrams are a word as well */
    }
    free(result);
    free(echo);
    return status;
}

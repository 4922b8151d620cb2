/* Asking for a UDP test: the socket and the proof of its tuple, TEST_UDP -> (BUSY …) -> READY.
 *
 * The socket and the proof are kept from test to test: a further test costs two round trips, and
 * all take the same way through whatever hashes flows. */
#include <math.h>
#include <unistd.h>

#include "socket_address.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/limits.h"
#include "udp_client.h"

#define PROOF_NS        (15 * TL_NS_PER_S) /* a NAT forgets a tuple in 30 s or more */
#define INTERVAL_MIN_NS (10 * TL_NS_PER_MS)
#define INTERVAL_MAX_NS (100 * TL_NS_PER_MS)

/* --- The tuple -------------------------------------------------------------------------------- */

void udp_client_forget_tuple(struct tl_client *client)
{
    if (client->udp_fd >= 0)
        close(client->udp_fd);
    client->udp_fd = -1;
    client->udp_proved_ns = 0;
}

enum tl_status udp_client_open_tuple(struct tl_client *client, struct tl_error *reterr)
{
    if (client->udp_fd >= 0)
        return TL_OK;
    struct sockaddr_storage local = client->info.local;
    socket_address_set_port(&local, 0);
    client->udp_proved_ns = 0;
    return udp_socket_open(&local, &client->info.peer, &client->udp_fd, reterr);
}

bool udp_client_is_proved(const struct tl_client *client)
{
    return client->udp_proved_ns > 0 && tl_now_ns() - client->udp_proved_ns < PROOF_NS &&
           tl_wire_token_equal(&client->proved_token, &client->udp_token);
}

enum tl_status udp_client_prove(struct tl_client *client, bool alone, struct tl_error *reterr)
{
    enum tl_status status =
        client_udp_prove(client, client->udp_fd, alone, -1, &client->udp_pass, reterr);
    client->udp_proved_ns = status == TL_OK ? tl_now_ns() : 0;
    client->proved_token = client->udp_token;
    return status;
}

/* --- Asking ----------------------------------------------------------------------------------- */

static int64_t wanted_interval_ns(const struct tl_udp_spec *spec)
{
    int64_t ns = spec->interval_ns ? spec->interval_ns : spec->duration_ns / 20;
    return ns < INTERVAL_MIN_NS ? INTERVAL_MIN_NS : ns > INTERVAL_MAX_NS ? INTERVAL_MAX_NS : ns;
}

int64_t udp_client_grace_ns(const struct udp_run *run)
{
    int64_t ns = 2 * run->client->info.connect_rtt_ns;
    ns = ns > UDP_GRACE_MIN_NS ? ns : UDP_GRACE_MIN_NS;
    return ns < UDP_GRACE_MAX_NS ? ns : UDP_GRACE_MAX_NS;
}

enum tl_status udp_client_ask(struct udp_run *run, struct tl_error *reterr)
{
    const struct tl_udp_spec *spec = run->spec;
    uint8_t frame[TL_WIRE_FRAME_MAX];
    int64_t gap_ns = spec->train_gap_ns ? spec->train_gap_ns : UDP_TRAIN_GAP_NS;
    struct tl_wire_test_udp ask = {
        .direction = spec->direction,
        .gro = spec->gro,
        .head_crc = run->head_crc,
        .datagram_bytes = (uint16_t)run->datagram_bytes,
        .duration_ms = (uint32_t)(spec->duration_ns / TL_NS_PER_MS),
        .max_bytes = spec->max_bytes,
        .rate_bps = spec->rate_bps,
        .burst_count = (uint16_t)spec->burst_count,
        .gso_segments = (uint8_t)spec->gso_segments,
        .dscp = (uint8_t)spec->dscp,
        .interval_us = (uint32_t)(wanted_interval_ns(spec) / TL_NS_PER_US),
        .rcvbuf_bytes = (uint32_t)spec->rcvbuf_bytes,
        .train_length = (uint16_t)spec->train_length,
        .train_count = (uint16_t)spec->train_count,
        .train_gap_us = spec->train_length > 0 ? (uint32_t)(gap_ns / TL_NS_PER_US) : 0,
        .grace_ms = (uint16_t)(udp_client_grace_ns(run) / TL_NS_PER_MS),
    };
    return client_send(run->client, frame, tl_wire_encode_test_udp(&ask, frame), reterr);
}

static void tell_queued(void *test, const struct tl_wire_busy *busy)
{
    const struct udp_run *run = test;
    struct tl_udp_live live = {.queued = true,
                               .place = busy->place,
                               .wait_ns = busy->wait_ms * TL_NS_PER_MS,
                               .rate_bps = NAN};
    if (run->live)
        run->live(run->context, &live);
}

/* Accounts ten times a second, an answer to each ping, the series of the whole test. */
static void expect_frames(const struct udp_run *run)
{
    int64_t last_ns = run->result->granted_ns + UDP_CLIENT_END_NS;
    uint64_t frames = (uint64_t)(last_ns / UDP_FEEDBACK_NS + last_ns / UDP_CLIENT_PING_NS) +
                      2 * (TL_UDP_INTERVALS_MAX + TL_UDP_TRAINS_MAX);
    client_expect(run->client, frames, frames * TL_WIRE_FRAME_MAX);
}

/* The responder may grant less, never more. */
static enum tl_status take_ready(struct udp_run *run, struct tl_error *reterr)
{
    struct tl_udp_result *result = run->result;
    const struct tl_udp_spec *spec = run->spec;
    if (run->ready.streams != 1)
        return tl_error_set(reterr, TL_PROTOCOL, "%s granted another kind of test",
                            run->client->host);
    result->granted_ns = run->ready.duration_ms * TL_NS_PER_MS;
    if (result->granted_ns > spec->duration_ns)
        result->granted_ns = spec->duration_ns;
    if (run->ready.max_bytes < (uint64_t)tl_limit_row(TL_LIMIT_TEST_BYTES)->max)
        result->granted_bytes = client_smaller(spec->max_bytes, run->ready.max_bytes);
    if (spec->train_length == 0)
        result->granted_rate_bps = client_smaller(spec->rate_bps, run->ready.pacing_bps);
    expect_frames(run);
    return TL_OK;
}

enum tl_status udp_client_await_ready(struct udp_run *run, struct tl_error *reterr)
{
    struct client_request request = {.asked_ns = run->asked_ns,
                                     .patience_ns = run->spec->queue_wait_ns,
                                     .queued = tell_queued,
                                     .test = run};
    enum tl_status status =
        client_await_ready(run->client, &request, &run->ready, &run->result->queued_ns, reterr);
    return status == TL_OK ? take_ready(run, reterr) : status;
}

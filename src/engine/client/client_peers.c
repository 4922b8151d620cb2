/* A test between two responders, asked for by a client of both: neither end is near.
 *
 *   receiver: TEST_TCP (upload) -> READY        sender: TEST_TCP (download) -> READY
 *   sender: DIAL -> DIALLED                     (it opens the data connections)
 *   receiver: START -> STARTED, then sender: START -> STARTED
 *   both: SAMPLES, READINGS, TEST_END
 *
 * Each responder's frames fill one side of a single result. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client_tcp.h"
#include "tightlink/base/time.h"

#define DIAL_NS (6 * TL_NS_PER_S) /* the responder's own deadline is 5 s */
#define END_NS  (8 * TL_NS_PER_S) /* for both TEST_ENDs after the granted time */
/* The receiver waits so long for its START; the sender may be busy for less than that. */
#define SENDER_QUEUE_NS (3 * TL_NS_PER_S)

struct pair {
    struct tl_tcp_result *result;
    struct tl_tcp_spec specs[2]; /* as each responder sees it */
    struct tcp_run *sender, *receiver;
    int64_t start_ns, ping_ns;
};

static struct tcp_run *create_run(struct pair *pair, struct tl_client *client,
                                  const struct tl_tcp_spec *spec, struct tl_tcp_side *side)
{
    struct tcp_run *run = calloc(1, sizeof(*run));
    if (!run)
        return NULL;
    run->client = client;
    run->spec = spec;
    run->result = pair->result;
    run->lane_count = 1;
    run->lanes[0] = (struct tcp_lane){.result = pair->result, .far_side = side, .rate.bps = NAN};
    return run;
}

/* Both have a test of as many streams. */
static enum tl_status ask_both(struct pair *pair, struct tl_error *reterr)
{
    enum tl_status status = client_ask(pair->receiver, reterr);
    if (status != TL_OK)
        return status;
    pair->specs[0].streams = pair->receiver->ready.streams;
    status = client_ask(pair->sender, reterr);
    if (status == TL_OK && pair->sender->ready.streams != pair->receiver->ready.streams)
        return tl_error_set(reterr, TL_LIMIT, "%s permits only %u streams: ask for as many",
                            pair->sender->client->host, pair->sender->ready.streams);
    return status;
}

static enum tl_status await_dialled(struct tcp_run *run, struct tl_error *reterr)
{
    int64_t until_ns = tl_now_ns() + DIAL_NS;
    for (;;) {
        struct tl_wire_frame frame;
        struct tl_wire_dialled dialled;
        enum tl_status status =
            client_await(run->client, until_ns, "the data connections", &frame, reterr);
        if (status != TL_OK)
            return status;
        if (frame.type != TL_WIRE_DIALLED)
            continue;
        status = tl_wire_decode_dialled(frame.payload, frame.payload_len, &dialled, reterr);
        if (status != TL_OK || dialled.test_id == run->ready.test_id)
            return status;
    }
}

static enum tl_status dial(struct pair *pair, struct tl_error *reterr)
{
    const struct tl_client *to = pair->receiver->client;
    struct tl_wire_dial dial = {.test_id = pair->sender->ready.test_id,
                                .peer_test_id = pair->receiver->ready.test_id,
                                .peer_port = (uint16_t)to->port};
    uint8_t frame[TL_WIRE_FRAME_MAX];
    if (!client_token(to, SECURE_PEER, dial.peer_test_id, 0, &dial.peer_token))
        return tl_error_set(reterr, TL_NOMEM, "no memory for a token");
    if (to->info.family == 6) {
        memcpy(dial.peer_address, &((const struct sockaddr_in6 *)&to->info.peer)->sin6_addr, 16);
    } else {
        dial.peer_address[10] = dial.peer_address[11] = 0xff;
        memcpy(dial.peer_address + 12, &((const struct sockaddr_in *)&to->info.peer)->sin_addr, 4);
    }
    enum tl_status status =
        client_send(pair->sender->client, frame, tl_wire_encode_dial(&dial, frame), reterr);
    return status == TL_OK ? await_dialled(pair->sender, reterr) : status;
}

static enum tl_status start_both(struct pair *pair, struct tl_error *reterr)
{
    enum tl_status status = client_start_far(pair->receiver, reterr);
    pair->start_ns = tl_now_ns();
    if (status == TL_OK)
        status = client_start_far(pair->sender, reterr);
    return status;
}

/* --- Running ------------------------------------------------------------------------------- */

static enum tl_status keep_time(struct pair *pair, struct tl_error *reterr)
{
    int64_t now_ns = tl_now_ns();
    enum tl_status status = TL_OK;
    if (now_ns >= pair->ping_ns) {
        pair->ping_ns = now_ns + TL_CLIENT_PING_NS;
        status = client_send_ping(pair->sender->client, reterr);
        if (status == TL_OK)
            status = client_send_ping(pair->receiver->client, reterr);
    }
    if (status == TL_OK && now_ns - pair->start_ns > pair->result->granted_ns + END_NS)
        return tl_error_set(reterr, TL_TIMEOUT, "the test between %s and %s did not end",
                            pair->sender->client->host, pair->receiver->client->host);
    return status;
}

static enum tl_status run_until_end(struct pair *pair, struct tl_error *reterr)
{
    pair->ping_ns = pair->start_ns;
    for (;;) {
        enum tl_status status = client_take_frames(pair->sender, reterr);
        if (status == TL_OK)
            status = client_take_frames(pair->receiver, reterr);
        if (status != TL_OK || (pair->sender->ended && pair->receiver->ended))
            return status;
        status = keep_time(pair, reterr);
        if (status == TL_OK)
            status = client_wait(pair->sender->client, pair->receiver->client->fd, pair->ping_ns,
                                 reterr);
        if (status != TL_OK)
            return status;
    }
}

static enum tl_status run_pair(struct pair *pair, struct tl_error *reterr)
{
    enum tl_status status = ask_both(pair, reterr);
    if (status == TL_OK)
        status = dial(pair, reterr);
    if (status == TL_OK)
        status = start_both(pair, reterr);
    return status == TL_OK ? run_until_end(pair, reterr) : status;
}

/* --- The end ------------------------------------------------------------------------------- */

static void complete(struct pair *pair, enum tl_status status)
{
    struct tl_tcp_result *result = pair->result;
    result->end_signed = pair->sender->ended && pair->receiver->ended;
    result->elapsed_ns = pair->start_ns > 0 ? tl_now_ns() - pair->start_ns : 0;
    if (status != TL_OK)
        result->end = status == TL_CANCELLED ? TL_TCP_END_CANCELLED
                      : pair->start_ns == 0  ? TL_TCP_END_NOT_RUN
                      : status == TL_TIMEOUT ? TL_TCP_END_SILENT
                                             : TL_TCP_END_LOST;
    result_analyse(pair->sender);
    result_sum(result);
}

enum tl_status tl_client_peer_test(struct tl_client *sender, struct tl_client *receiver,
                                   const struct tl_tcp_spec *spec, struct tl_tcp_result *ret_result,
                                   struct tl_error *reterr)
{
    struct pair pair = {.result = ret_result};
    pair.specs[0] = pair.specs[1] = *spec;
    pair.specs[0].direction = TL_WIRE_DOWNLOAD;
    pair.specs[0].queue_wait_ns = SENDER_QUEUE_NS;
    pair.specs[1].direction = TL_WIRE_UPLOAD;
    result_init(ret_result, &pair.specs[0]);
    if (spec->file)
        return tl_error_set(reterr, TL_RANGE, "between responders only memory is tested");
    enum tl_status status = client_check_spec(spec, reterr);
    if (status == TL_OK)
        status = client_wake(sender, reterr);
    if (status == TL_OK)
        status = client_wake(receiver, reterr);
    if (status != TL_OK)
        return status;
    pair.sender = create_run(&pair, sender, &pair.specs[0], &ret_result->sender);
    pair.receiver = create_run(&pair, receiver, &pair.specs[1], &ret_result->receiver);
    if (pair.sender && pair.receiver) {
        status = run_pair(&pair, reterr);
        if (status != TL_OK) { /* both ends are stopped, and the connections with them */
            client_abandon(pair.sender);
            client_abandon(pair.receiver);
        }
        complete(&pair, status);
    } else {
        status = tl_error_set(reterr, TL_NOMEM, "no memory for a test");
    }
    free(pair.sender);
    free(pair.receiver);
    return status;
}

/* What every test of the client does: see client_test.h. */
#include "client_test.h"

#include <stdlib.h>

#include "tightlink/base/time.h"

#define QUEUE_PING_NS (250 * TL_NS_PER_MS) /* who waits in silence may lose the place */
#define TAKE_MAX      64                   /* frames, before the caller looks at its clock again */

/* --- Asking ---------------------------------------------------------------------------------- */

static enum tl_status take_busy(const struct client_request *request,
                                const struct tl_wire_frame *frame, struct tl_error *reterr)
{
    struct tl_wire_busy busy;
    enum tl_status status = tl_wire_decode_busy(frame->payload, frame->payload_len, &busy, reterr);
    if (status == TL_OK)
        request->queued(request->test, &busy);
    return status;
}

static enum tl_status not_ready(const struct tl_client *client, bool queued,
                                struct tl_error *reterr)
{
    return tl_error_set(reterr, queued ? TL_BUSY : TL_TIMEOUT,
                        queued ? "%s is busy with other tests: try again later"
                               : "%s did not answer the request for a test",
                        client->host);
}

enum tl_status client_await_ready(struct tl_client *client, const struct client_request *request,
                                  struct tl_wire_ready *ret_ready, int64_t *ret_queued_ns,
                                  struct tl_error *reterr)
{
    int64_t patience_ns = request->patience_ns > 0 ? request->patience_ns : TL_CLIENT_QUEUE_NS;
    int64_t until_ns = request->asked_ns + client->timeout_ns + request->prepare_ns;
    int64_t ping_ns = request->asked_ns + QUEUE_PING_NS;
    bool queued = false;
    for (;;) {
        struct tl_wire_frame frame;
        bool some;
        enum tl_status status = client_next_frame(client, &frame, &some, reterr);
        if (status == TL_OK && some && frame.type == TL_WIRE_BUSY) {
            queued = true;
            until_ns = request->asked_ns + patience_ns + request->prepare_ns;
            status = take_busy(request, &frame, reterr);
        } else if (status == TL_OK && some && frame.type == TL_WIRE_READY) {
            *ret_queued_ns = queued ? tl_now_ns() - request->asked_ns : 0;
            return tl_wire_decode_ready(frame.payload, frame.payload_len, ret_ready, reterr);
        }
        int64_t now_ns = tl_now_ns();
        if (status == TL_OK && now_ns >= until_ns) {
            client_note_silence(client);
            return not_ready(client, queued, reterr);
        }
        if (status == TL_OK && now_ns >= ping_ns) {
            ping_ns = now_ns + QUEUE_PING_NS;
            status = client_send_ping(client, reterr);
        }
        if (status == TL_OK && !some)
            status = client_wait(client, -1, ping_ns < until_ns ? ping_ns : until_ns, reterr);
        if (status != TL_OK)
            return status;
    }
}

uint64_t client_smaller(uint64_t own, uint64_t granted)
{
    if (own == 0 || granted == 0)
        return own + granted;
    return own < granted ? own : granted;
}

bool client_refused(enum tl_status status, const struct tl_wire_ready *ready)
{
    bool refused = status == TL_UNSUPPORTED || status == TL_DENIED || status == TL_LIMIT;
    return refused && ready->test_id == 0;
}

/* --- Running --------------------------------------------------------------------------------- */

enum tl_status client_await_started(const struct client_running *running, struct tl_error *reterr)
{
    int64_t until_ns = tl_now_ns() + running->client->timeout_ns;
    for (;;) {
        struct tl_wire_frame frame;
        enum tl_status status =
            client_await(running->client, until_ns, "the start of the test", &frame, reterr);
        if (status == TL_OK && frame.type == TL_WIRE_STARTED)
            return TL_OK;
        if (status == TL_OK)
            status = running->take(running->test, &frame, reterr);
        if (status != TL_OK || *running->ended)
            return status;
    }
}

enum tl_status client_take_all(const struct client_running *running, struct tl_error *reterr)
{
    bool some = true;
    enum tl_status status = TL_OK;
    for (unsigned i = 0; i < TAKE_MAX && status == TL_OK && some && !*running->ended; i++) {
        struct tl_wire_frame frame;
        status = client_next_frame(running->client, &frame, &some, reterr);
        if (status == TL_OK && some)
            status = running->take(running->test, &frame, reterr);
    }
    return status;
}

enum tl_status client_send_stop(struct tl_client *client, uint32_t test_id, struct tl_error *reterr)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_stop stop = {.test_id = test_id};
    return client_send(client, frame, tl_wire_encode_stop(&stop, frame), reterr);
}

enum tl_status client_fell_silent(const struct tl_client *client, int64_t start_ns,
                                  struct tl_error *reterr)
{
    return tl_error_set(reterr, TL_TIMEOUT,
                        "%s stopped answering %.1f s after the start: the path or the responder "
                        "is dead",
                        client->host, (double)(client->heard_ns - start_ns) / 1e9);
}

enum tl_status client_decode_end(const struct tl_client *client, const struct tl_wire_frame *frame,
                                 uint32_t test_id, struct tl_wire_test_end *ret_end, bool *ret_ours,
                                 struct tl_error *reterr)
{
    struct tl_wire_test_end end;
    *ret_ours = false;
    enum tl_status status =
        tl_wire_decode_test_end(frame->payload, frame->payload_len, &end, reterr);
    if (status != TL_OK || end.test_id != test_id)
        return status;
    if (!tl_wire_token_equal(&end.token, &client->token))
        return tl_error_set(reterr, TL_PROTOCOL, "the end of the test is not signed by %s",
                            client->host);
    *ret_end = end;
    *ret_ours = true;
    return TL_OK;
}

/* --- Readings -------------------------------------------------------------------------------- */

void client_readings_begin(struct tl_client *client, struct client_readings *ret_before)
{
    const struct sockaddr *peer = (const struct sockaddr *)&client->info.peer;
    tl_host_counters_read(&ret_before->counters, "", tl_host_link_index(peer));
    tl_cpu_reading_take(&client->cpu_reader, &ret_before->cpu);
}

/* Processors first: their clock falls as soon as they idle. */
void client_readings_end(struct tl_client *client, const struct client_readings *before,
                         const struct client_readings_place *places, unsigned count)
{
    struct client_readings *after = malloc(sizeof *after);
    if (!after)
        return;
    tl_cpu_reading_take(&client->cpu_reader, &after->cpu);
    for (unsigned i = 0; i < count; i++) {
        tl_cpu_usage_between(&client->cpu_reader, &before->cpu, &after->cpu, places[i].cpu);
        tl_cpu_usage_clock(&client->cpu_reader, places[i].cpu);
    }
    tl_host_counters_read(&after->counters, "", before->counters.ifindex);
    for (unsigned i = 0; i < count; i++)
        tl_host_counters_between(&before->counters, &after->counters, places[i].counters);
    free(after);
}

enum tl_status client_take_readings(const struct tl_wire_frame *frame, uint32_t test_id,
                                    const struct client_readings_place *places, unsigned count,
                                    struct tl_error *reterr)
{
    struct tl_wire_readings head;
    struct tl_wire_cursor cursor;
    enum tl_status status =
        tl_wire_decode_readings(frame->payload, frame->payload_len, &head, &cursor, reterr);
    if (status != TL_OK || head.test_id != test_id)
        return status;
    for (unsigned read = 0; read < TL_WIRE_RECORDS_MAX; read++) {
        struct tl_wire_record record;
        bool more;
        status = tl_wire_record_next(&cursor, &record, &more, reterr);
        if (status != TL_OK || !more)
            return status;
        for (unsigned i = 0; i < count; i++)
            if (!tl_wire_cpu_store(places[i].cpu, &record))
                (void)tl_wire_counters_store(places[i].counters, &record); /* or unknown here */
    }
    return TL_OK;
}

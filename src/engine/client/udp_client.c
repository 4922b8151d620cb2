/* One UDP test, seen from the near end:
 *
 *   udp_client_ask() -> READY -> UDP_START -> STARTED -> datagrams, FEEDBACK, PINGs
 *                    -> UDP_REPORT, UDP_SERIES, READINGS, TEST_END
 *
 * It runs on the caller's thread; datagrams move in the thread of udp_flow.h. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tightlink/base/time.h"
#include "udp_client.h"

/* --- Starting --------------------------------------------------------------------------------- */

/* What may come, twice over for a path that repeats: whoever sends more does not keep to the test.
 */
static uint64_t most_bytes(const struct udp_run *run)
{
    const struct tl_udp_result *result = run->result;
    uint64_t granted = client_smaller(run->spec->max_bytes, run->ready.max_bytes);
    struct tl_udp_spec spec = *run->spec;
    spec.duration_ns = result->granted_ns;
    spec.rate_bps = result->granted_rate_bps;
    uint64_t worst = tl_udp_worst_bytes(&spec);
    return result->near_sends || worst > granted / 2 ? granted : 2 * worst;
}

static enum tl_status create_flow(struct udp_run *run, struct tl_error *reterr)
{
    const struct tl_udp_spec *spec = run->spec;
    const struct tl_udp_result *result = run->result;
    struct udp_flow_spec flow = {
        .send = result->near_sends,
        .fd = dup(run->client->udp_fd),
        .pass = run->client->udp_pass,
        .test_id = run->ready.test_id,
        .duration_ns = result->granted_ns,
        .max_bytes = most_bytes(run),
        .rate_bps = result->granted_rate_bps,
        .datagram_bytes = run->datagram_bytes,
        .burst_count = spec->burst_count,
        .gso_segments = spec->gso_segments,
        .train_length = spec->train_length,
        .train_count = spec->train_count,
        .train_gap_ns = spec->train_gap_ns ? spec->train_gap_ns : UDP_TRAIN_GAP_NS,
        .interval_ns = run->ready.sample_interval_us * TL_NS_PER_US,
        .grace_ns = udp_client_grace_ns(run),
        .patience_ns = UDP_CLIENT_END_NS,
        .rtt_ns = run->client->info.connect_rtt_ns,
        .gro = spec->gro,
        .head_crc = run->head_crc,
        .rcvbuf_bytes = spec->rcvbuf_bytes,
    };
    if (flow.fd < 0)
        return tl_error_set(reterr, tl_status_from_errno(errno), "a UDP socket: %s",
                            strerror(errno));
    udp_socket_dscp(flow.fd, spec->dscp);
    return udp_flow_create(&flow, &run->flow, reterr);
}

static enum tl_status start_near(struct udp_run *run, struct tl_error *reterr)
{
    run->start_ns = run->rate.time_ns = tl_now_ns();
    run->ping_ns = run->live_ns = run->start_ns;
    return udp_flow_start(run->flow, reterr);
}

static enum tl_status send_start(struct udp_run *run, struct tl_error *reterr)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_udp_start start = {run->ready.test_id, run->client->udp_pass.cookie};
    return client_send(run->client, frame, tl_wire_encode_udp_start(&start, frame), reterr);
}

static struct client_running running_of(struct udp_run *run)
{
    return (struct client_running){run->client, udp_client_take, run, &run->ended};
}

static enum tl_status start(struct udp_run *run, bool was_proved, struct tl_error *reterr)
{
    struct client_running running = running_of(run);
    enum tl_status status = TL_OK;
    if (!run->result->near_sends)
        status = start_near(run, reterr);
    if (status == TL_OK)
        status = send_start(run, reterr);
    if (status == TL_OK)
        status = client_await_started(&running, reterr);
    /* The responder has room for few tuples: others of ours may have taken this one's place. */
    if (status == TL_DENIED && was_proved) {
        status = udp_client_prove(run->client, false, reterr);
        if (status == TL_OK && run->client->udp_pass.cookie != run->flow->spec.pass.cookie)
            status = tl_error_set(reterr, TL_INVALID, "the address was proved anew: try again");
        if (status == TL_OK)
            status = send_start(run, reterr);
        if (status == TL_OK)
            status = client_await_started(&running, reterr);
    }
    if (status == TL_OK && run->result->near_sends)
        status = start_near(run, reterr);
    return status;
}

/* --- Running ---------------------------------------------------------------------------------- */

/* Our account as a sender, once. */
static enum tl_status tell_end(struct udp_run *run, struct tl_error *reterr)
{
    struct tl_wire_udp_report report;
    uint8_t frame[TL_WIRE_FRAME_MAX];
    udp_report_from_flow(run->flow, &report);
    run->told_end = true;
    return client_send(run->client, frame, tl_wire_encode_udp_report(&report, frame), reterr);
}

static void tell_live(struct udp_run *run, int64_t now_ns)
{
    bool sends = run->result->near_sends;
    uint64_t count = atomic_load(&run->flow->live_count);
    uint64_t bytes = sends ? run->far_bytes : atomic_load(&run->flow->live_bytes);
    int64_t at_ns = sends ? run->far_ns : now_ns - run->start_ns;
    live_rate_update(&run->rate, at_ns, bytes);
    struct tl_udp_live live = {.elapsed_ns = now_ns - run->start_ns,
                               .sent_count = sends ? count : 0,
                               .received_count = sends ? run->far_count : count,
                               .received_bytes = bytes,
                               .rate_bps = run->rate.bps};
    if (run->live)
        run->live(run->context, &live);
}

static enum tl_status keep_time(struct udp_run *run, int64_t now_ns, struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    udp_flow_heard(run->flow, run->client->heard_ns);
    if (now_ns >= run->ping_ns) {
        run->ping_ns = now_ns + UDP_CLIENT_PING_NS;
        status = client_send_ping(run->client, reterr);
    }
    if (now_ns >= run->live_ns) {
        run->live_ns = now_ns + TL_CLIENT_LIVE_NS;
        tell_live(run, now_ns);
    }
    if (status == TL_OK && run->result->near_sends && !run->told_end &&
        atomic_load(&run->flow->done))
        status = tell_end(run, reterr);
    if (status == TL_OK && (now_ns - run->client->heard_ns > TL_CLIENT_SILENT_NS ||
                            now_ns - run->start_ns > run->result->granted_ns + UDP_CLIENT_END_NS))
        return client_fell_silent(run->client, run->start_ns, reterr);
    return status;
}

static enum tl_status run_until_end(struct udp_run *run, struct tl_error *reterr)
{
    struct client_running running = running_of(run);
    for (;;) {
        enum tl_status status = client_take_all(&running, reterr);
        bool near_done = atomic_load(&run->flow->done);
        if (status != TL_OK || (run->ended && near_done))
            return status;
        if (near_done && run->flow->overfed)
            return tl_error_set(reterr, TL_PROTOCOL, "%s sent more datagrams than were asked for",
                                run->client->host);
        if (run->ended && (run->result->near_sends || !run->far_told)) {
            udp_flow_stop(run->flow); /* STOPPED or FAILED over there: nothing will come */
        }
        int64_t now_ns = tl_now_ns();
        status = keep_time(run, now_ns, reterr);
        int64_t until_ns = run->ping_ns < run->live_ns ? run->ping_ns : run->live_ns;
        if (status == TL_OK)
            status =
                client_wait(run->client, near_done ? -1 : run->flow->done_fd, until_ns, reterr);
        if (status != TL_OK)
            return status;
    }
}

/* --- Ending ----------------------------------------------------------------------------------- */

static void await_near(struct udp_run *run)
{
    struct pollfd done = {.fd = run->flow->done_fd, .events = POLLIN};
    if (!run->flow->started)
        return;
    udp_flow_stop(run->flow);
    while (!atomic_load(&run->flow->done))
        (void)poll(&done, 1, 100);
}

static enum tl_status run_test(struct udp_run *run, struct tl_error *reterr)
{
    struct tl_client *client = run->client;
    enum tl_status status = udp_client_open_tuple(client, reterr);
    bool was_proved = status == TL_OK && udp_client_is_proved(client);
    client_readings_begin(client, &run->before);
    run->asked_ns = tl_now_ns();
    if (status == TL_OK)
        status = udp_client_ask(run, reterr);
    if (status == TL_OK && !was_proved)
        status = udp_client_prove(client, true, reterr);
    if (status == TL_OK)
        status = udp_client_await_ready(run, reterr);
    if (status == TL_OK)
        status = create_flow(run, reterr);
    if (status == TL_OK)
        status = start(run, was_proved, reterr);
    if (status == TL_OK)
        status = run_until_end(run, reterr);
    return status;
}

static enum tl_status conclude(struct udp_run *run, enum tl_status status, struct tl_error *reterr)
{
    struct tl_client *client = run->client;
    if (status != TL_OK && !client_refused(status, &run->ready)) {
        if (run->flow)
            udp_flow_stop(run->flow);
        if (client->fd >= 0)
            (void)!client_send_stop(client, run->ready.test_id, NULL);
        client_hang_up(client); /* a cancelled test owes nobody a word */
        udp_client_forget_tuple(client);
    }
    if (run->flow) {
        await_near(run);
        run->result->elapsed_ns = run->start_ns > 0 ? tl_now_ns() - run->start_ns : 0;
        udp_client_take_near(run);
    }
    udp_result_merge(run->result, run->ready.sample_interval_us * TL_NS_PER_US);
    status = udp_client_judge(run, status, reterr);
    if (!run->result->valid)
        udp_client_forget_tuple(client);
    else
        client->udp_proved_ns = tl_now_ns();
    return status;
}

enum tl_status tl_client_udp_test(struct tl_client *client, const struct tl_udp_spec *spec,
                                  tl_udp_live_fn *live, void *context,
                                  struct tl_udp_result *ret_result, struct tl_error *reterr)
{
    enum tl_status status = udp_result_init(ret_result, spec);
    if (status != TL_OK)
        return tl_error_set(reterr, status, "no memory for a UDP test");
    status = tl_udp_spec_check(spec, reterr);
    if (status == TL_OK)
        status = client_wake(client, reterr);
    if (status != TL_OK)
        return status;
    struct udp_run *run = calloc(1, sizeof *run);
    if (!run)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a UDP test");
    *run = (struct udp_run){
        .client = client,
        .spec = spec,
        .result = ret_result,
        .live = live,
        .context = context,
        .rate.bps = NAN,
        .head_crc =
            spec->crc == TL_UDP_CRC_HEAD ||
            (spec->crc == TL_UDP_CRC_AUTO && spec->rate_bps == 0 && spec->train_length == 0),
        .datagram_bytes = spec->datagram_bytes ? spec->datagram_bytes : TL_UDP_DATAGRAM_BYTES};
    status = run_test(run, reterr);
    status = conclude(run, status, reterr);
    udp_flow_destroy(run->flow);
    free(run);
    return status;
}

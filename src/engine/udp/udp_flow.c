/* One end of a UDP test: memory, thread, orders. */
#include "udp_flow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tightlink/base/thread.h"
#include "tightlink/base/time.h"

static enum tl_status allocate(struct udp_flow *flow)
{
    const struct udp_flow_spec *spec = &flow->spec;
    flow->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    flow->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (flow->done_fd < 0 || flow->stop_fd < 0)
        return TL_IO;
    if (spec->send) {
        flow->sent_pieces = calloc(TL_UDP_INTERVALS_MAX, sizeof *flow->sent_pieces);
        flow->sent_trains = calloc(spec->train_count + 1, sizeof *flow->sent_trains);
        return flow->sent_pieces && flow->sent_trains ? TL_OK : TL_NOMEM;
    }
    flow->intervals = calloc(TL_UDP_INTERVALS_MAX, sizeof *flow->intervals);
    flow->trains = calloc(spec->train_count + 1, sizeof *flow->trains);
    if (!flow->intervals || !flow->trains)
        return TL_NOMEM;
    struct udp_account_spec account = {.duration_ns = spec->duration_ns,
                                       .interval_ns = spec->interval_ns,
                                       .train_length = spec->train_length,
                                       .train_count = spec->train_count};
    enum tl_status status = udp_account_init(&flow->account, &account);
    flow->has_account = status == TL_OK;
    return status;
}

enum tl_status udp_flow_create(const struct udp_flow_spec *spec, struct udp_flow **ret_flow,
                               struct tl_error *reterr)
{
    struct udp_flow *flow = calloc(1, sizeof *flow);
    if (!flow) {
        if (!spec->borrowed)
            close(spec->fd);
        return tl_error_set(reterr, TL_NOMEM, "no memory for a UDP test");
    }
    flow->spec = *spec;
    flow->done_fd = flow->stop_fd = -1;
    atomic_init(&flow->sent_count, UINT64_MAX);
    flow->sender.offered_bps = flow->sender.achieved_bps = NAN;
    enum tl_status status = allocate(flow);
    if (status != TL_OK) {
        udp_flow_destroy(flow);
        return tl_error_set(reterr, status, "a UDP test: %s", tl_status_text(status));
    }
    *ret_flow = flow;
    return TL_OK;
}

static void prepare_receiver(struct udp_flow *flow)
{
    int wanted = flow->spec.rcvbuf_bytes > 0 ? flow->spec.rcvbuf_bytes : UDP_RCVBUF_BYTES;
    flow->receiver.rcvbuf_bytes = udp_socket_rcvbuf(flow->spec.fd, wanted);
    flow->drops_before = udp_socket_drops(flow->spec.fd);
    tl_host_counters_read(&flow->counters_before, "", 0);
}

enum tl_status udp_flow_start(struct udp_flow *flow, struct tl_error *reterr)
{
    if (!flow->spec.send)
        prepare_receiver(flow);
    flow->start_ns = tl_now_ns();
    atomic_store(&flow->heard_ns, flow->start_ns);
    int errnum =
        tl_thread_start(&flow->thread, flow->spec.send ? udp_send_main : udp_receive_main, flow);
    if (errnum != 0)
        return tl_error_set(reterr, tl_status_from_errno(errnum), "a thread for a UDP test: %s",
                            strerror(errnum));
    flow->started = true;
    return TL_OK;
}

void udp_flow_destroy(struct udp_flow *flow)
{
    if (!flow)
        return;
    if (flow->started) {
        udp_flow_stop(flow);
        pthread_join(flow->thread, NULL);
    }
    int fds[] = {flow->spec.borrowed ? -1 : flow->spec.fd, flow->done_fd, flow->stop_fd};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    if (flow->has_account)
        udp_account_finish(&flow->account);
    free(flow->sent_pieces);
    free(flow->sent_trains);
    free(flow->intervals);
    free(flow->trains);
    free(flow);
}

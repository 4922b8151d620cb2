/* The packet size that reaches a stranger: datagrams to a closed port, which it refuses one by one.
 * What it refuses has arrived; what it does not answer tells nothing (path_end.h). */
#include <errno.h>

#include "path_socket.h"
#include "tightlink/base/time.h"

#define TTL          64
#define TRIES        3
#define PATIENCE_NS  (200 * TL_NS_PER_MS) /* beyond the round trip */
#define FULL_DEFAULT 1500

struct run {
    struct path_socket socket;
    struct tl_pmtu_way *way;
    int sizes[2 * TRIES]; /* of each probe, by its sequence */
    uint32_t sent_count;
    int64_t rtt_ns;
};

static void take(struct run *run, const struct path_event *event)
{
    const struct path_error *error = &event->error;
    struct tl_pmtu_way *way = run->way;
    if (event->kind != PATH_ROUTER || !event->matched || event->sequence >= run->sent_count)
        return;
    int bytes = run->sizes[event->sequence];
    if (error->port_closed && bytes > way->mtu_bytes)
        way->mtu_bytes = bytes;
    bool sound = error->too_big && error->mtu_bytes >= 576 && error->mtu_bytes < (uint32_t)bytes;
    if (sound && (way->reported_bytes == 0 || (int)error->mtu_bytes < way->reported_bytes)) {
        way->reported_bytes = (int)error->mtu_bytes;
        way->failed_bytes = way->reported_bytes + 1;
        way->reporter = error->offender;
    }
}

/* Sends that size until it arrived, a router said what does, or it was tried often enough. */
static enum tl_status try_size(struct run *run, int bytes, struct tl_error *reterr)
{
    const int reported = run->way->reported_bytes;
    for (int i = 0; i < TRIES && run->way->mtu_bytes < bytes; i++) {
        struct path_probe probe = {
            .sequence = run->sent_count, .packet_bytes = bytes, .ttl = TTL, .silent = true};
        struct path_event event = {.kind = PATH_ROUTER};
        int64_t until_ns = tl_now_ns() + run->rtt_ns + PATIENCE_NS;
        if (run->sent_count == 2 * TRIES)
            return TL_OK;
        run->sizes[run->sent_count++] = bytes;
        if (path_socket_send(&run->socket, &probe) == EMSGSIZE)
            return TL_OK; /* this end's own interface */
        while (event.kind != PATH_NOTHING && run->way->mtu_bytes < bytes) {
            enum tl_status status = path_socket_wait(&run->socket, until_ns, &event, reterr);
            if (status != TL_OK)
                return status;
            take(run, &event);
            if (run->way->reported_bytes != reported)
                return TL_OK;
        }
    }
    return TL_OK;
}

enum tl_status path_pmtu_stranger(const struct path_end *end, const struct tl_pmtu_spec *spec,
                                  struct tl_pmtu_result *ret_result, struct tl_error *reterr)
{
    struct tl_pmtu_result result = {.up = {.hole_first_hop = -1, .hole_last_hop = -1},
                                    .down = {.hole_first_hop = -1, .hole_last_hop = -1}};
    struct run run = {.way = &result.up,
                      .rtt_ns = spec->rtt_ns > 0 ? spec->rtt_ns : end->handshake_rtt_ns};
    int full_bytes = spec->up_max_bytes > 0 ? spec->up_max_bytes : FULL_DEFAULT;
    if (full_bytes > PATH_PACKET_MAX - 20)
        full_bytes = PATH_PACKET_MAX - 20;
    result.up.tried_bytes = full_bytes;
    enum tl_status status = path_socket_open(end, spec->cancel_fd, true, &run.socket, reterr);
    if (status == TL_OK)
        status = try_size(&run, full_bytes, reterr);
    if (status == TL_OK && result.up.reported_bytes > 0)
        status = try_size(&run, result.up.reported_bytes, reterr);
    path_socket_close(&run.socket);
    result.sent_bytes = run.socket.sent_bytes;
    result.received_bytes = run.socket.received_bytes;
    if (status == TL_OK && result.up.mtu_bytes == 0)
        return tl_error_set(reterr, TL_TIMEOUT,
                            "the far end does not answer datagrams of %d bytes to a closed port: "
                            "whether packets of full size get through, the transfer shows",
                            full_bytes);
    if (status == TL_OK)
        *ret_result = result;
    return status;
}

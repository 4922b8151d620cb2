/* The sockets of a TCP test with a stranger: their options, and the dial. near_half.h */
#include <string.h>

#include "far_socket.h"
#include "near_half.h"

static struct tl_stream_options options_of(const struct tl_tcp_spec *spec)
{
    struct tl_stream_options options = {.maxseg_bytes = spec->maxseg_bytes, .dscp = spec->dscp};
    if (spec->direction == TL_WIRE_DOWNLOAD) {
        options.rcvbuf_bytes = spec->rcvbuf_bytes;
        return options;
    }
    options.sndbuf_bytes = spec->sndbuf_bytes;
    options.notsent_lowat_bytes = spec->notsent_lowat_bytes;
    options.max_pacing_bps = spec->pacing_bps / spec->streams;
    memcpy(options.congestion, spec->congestion, sizeof options.congestion);
    return options;
}

enum tl_status near_half_dial(const struct far_peer *peer, uint16_t port,
                              const struct tl_tcp_spec *spec, unsigned index,
                              struct tl_tcp_result *result, int *ret_fd, struct tl_error *reterr)
{
    struct tl_stream_options options = options_of(spec);
    int64_t rtt_ns;
    enum tl_status status = far_peer_dial(peer, port, &options, ret_fd, &rtt_ns, reterr);
    if (status != TL_OK)
        return status;
    if (result->data_rtt_ns < 0 || rtt_ns < result->data_rtt_ns)
        result->data_rtt_ns = rtt_ns;
    result->near_ports[index] = client_near_port(*ret_fd);
    return TL_OK;
}

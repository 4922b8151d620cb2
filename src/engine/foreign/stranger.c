/* Calls that every stranger's end has: stranger.h. */
#include "stranger.h"

#include "far_path.h"
#include "far_ping.h"

static const struct far_peer *peer_of(const void *end)
{
    return end;
}

const struct tl_client_info *stranger_info(const void *end)
{
    return &peer_of(end)->info;
}

enum tl_status stranger_wake(void *end, struct tl_error *reterr)
{
    return far_ping_once(peer_of(end), reterr);
}

enum tl_status stranger_echo(void *end, const struct tl_echo_spec *spec,
                             struct tl_echo_result *ret_result, struct tl_error *reterr)
{
    return far_ping_train(peer_of(end), spec, ret_result, reterr);
}

enum tl_status stranger_pmtu(void *end, const struct tl_pmtu_spec *spec,
                             struct tl_pmtu_result *ret_result, struct tl_error *reterr)
{
    return far_path_pmtu(peer_of(end), spec, ret_result, reterr);
}

enum tl_status stranger_hops(void *end, const struct tl_hops_spec *spec,
                             struct tl_hops_result *ret_result, struct tl_error *reterr)
{
    return far_path_hops(peer_of(end), spec, ret_result, reterr);
}

enum tl_status stranger_check_spec(const struct tl_tcp_spec *spec, const char *server,
                                   unsigned abilities, unsigned max_streams,
                                   struct tl_error *reterr)
{
    bool upload = spec->direction == TL_WIRE_UPLOAD, far_sends = !upload;
    bool both = spec->direction == TL_WIRE_BOTH;
    bool paces = abilities & STRANGER_PACES, chooses = abilities & STRANGER_CHOOSES_CONGESTION;
    const char *what = spec->file                             ? "move files"
                       : both && !(abilities & STRANGER_BOTH) ? "run both directions in one test"
                       : upload && spec->rcvbuf_bytes > 0    ? "enlarge its receive buffer as asked"
                       : far_sends && spec->sndbuf_bytes > 0 ? "enlarge its send buffer as asked"
                       : far_sends && spec->notsent_lowat_bytes  ? "hold back what it sends"
                       : far_sends && !paces && spec->pacing_bps ? "pace what it sends"
                       : far_sends && !chooses && spec->congestion[0]
                           ? "choose its congestion control"
                           : NULL;
    if (what)
        return tl_error_set(reterr, TL_UNSUPPORTED, "%s cannot %s: " TL_FAR_WOULD, server, what);
    if (spec->streams < 1 || spec->streams > max_streams || spec->duration_ns <= 0)
        return tl_error_set(reterr, TL_RANGE, "1 to %u streams, and some time", max_streams);
    return TL_OK;
}

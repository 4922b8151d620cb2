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

enum tl_status stranger_ping(void *end, int64_t *ret_rtt_ns, struct tl_error *reterr)
{
    return far_ping_once(peer_of(end), ret_rtt_ns, reterr);
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

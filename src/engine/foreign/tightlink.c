/* tightlink's own responder as one kind of far end: client.h does it all. */
#include "far_private.h"

static enum tl_status connect_end(const struct tl_far_options *options, void **ret_end,
                                  struct tl_error *reterr)
{
    struct tl_client *client;
    enum tl_status status = tl_client_connect(&options->reach, &client, reterr);
    if (status == TL_OK)
        *ret_end = client;
    return status;
}

static void close_end(void *end)
{
    tl_client_close(end);
}

static const struct tl_client_info *info(const void *end)
{
    return tl_client_info(end);
}

static enum tl_status wake(void *end, struct tl_error *reterr)
{
    return tl_client_wake(end, reterr);
}

static enum tl_status host(void *end, struct tl_host_settings *ret_settings,
                           struct tl_error *reterr)
{
    return tl_client_host(end, ret_settings, reterr);
}

static enum tl_status echo(void *end, const struct tl_echo_spec *spec,
                           struct tl_echo_result *ret_result, struct tl_error *reterr)
{
    return tl_client_echo(end, spec, ret_result, reterr);
}

static enum tl_status tcp_test(void *end, const struct tl_tcp_spec *spec, tl_tcp_live_fn *live,
                               void *context, struct tl_tcp_result *ret_result,
                               struct tl_error *reterr)
{
    return tl_client_tcp_test(end, spec, live, context, ret_result, reterr);
}

static enum tl_status udp_test(void *end, const struct tl_udp_spec *spec, tl_udp_live_fn *live,
                               void *context, struct tl_udp_result *ret_result,
                               struct tl_error *reterr)
{
    return tl_client_udp_test(end, spec, live, context, ret_result, reterr);
}

static enum tl_status pmtu(void *end, const struct tl_pmtu_spec *spec,
                           struct tl_pmtu_result *ret_result, struct tl_error *reterr)
{
    return tl_client_pmtu(end, spec, ret_result, reterr);
}

static enum tl_status syn(void *end, bool beside, struct tl_syn_result *ret_result,
                          struct tl_error *reterr)
{
    return tl_client_syn(end, beside, ret_result, reterr);
}

static enum tl_status hops(void *end, const struct tl_hops_spec *spec,
                           struct tl_hops_result *ret_result, struct tl_error *reterr)
{
    return tl_client_hops(end, spec, ret_result, reterr);
}

static enum tl_status disk_test(void *end, const struct tl_disk_spec *spec,
                                struct tl_disk_far *ret_disk, struct tl_error *reterr)
{
    return tl_client_disk_test(end, spec, ret_disk, reterr);
}

const struct far_ops far_tightlink_ops = {
    .connect = connect_end,
    .close = close_end,
    .info = info,
    .wake = wake,
    .host = host,
    .echo = echo,
    .tcp_test = tcp_test,
    .udp_test = udp_test,
    .pmtu = pmtu,
    .syn = syn,
    .hops = hops,
    .disk_test = disk_test,
};

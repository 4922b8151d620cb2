/* Reaching the far end. */
#include "connect.h"
#include "tightlink/engine/far.h"

#include <stdio.h>

static enum tl_status reach(const struct tl_probe_target *target, int cancel_fd,
                            struct tl_far **ret_far, int64_t *ret_reached_ns,
                            struct tl_error *reterr)
{
    struct tl_far_options options = {.reach = {.host = target->host,
                                               .port = target->port,
                                               .family = target->family,
                                               .cancel_fd = cancel_fd,
                                               .key = target->key,
                                               .ret_reached_ns = ret_reached_ns,
                                               .program = "tightlink " TL_VERSION_TEXT},
                                     .resource = target->resource ? target->resource : "",
                                     .login = target->login,
                                     .http1 = target->http1,
                                     .proxy = target->proxy};
    return tl_far_connect(target->kind, &options, ret_far, reterr);
}

enum tl_status tl_connect_reach(const struct tl_probe_target *target, int cancel_fd,
                                struct tl_far **ret_far, struct tl_error *reterr)
{
    return reach(target, cancel_fd, ret_far, NULL, reterr);
}

enum tl_status tl_probe_connect(const struct tl_probe_target *target, int cancel_fd,
                                struct tl_facts *facts, struct tl_far **ret_far, struct tl_run *run,
                                struct tl_error *reterr)
{
    enum tl_status status = tl_connect_reach(target, cancel_fd, ret_far, reterr);
    if (status != TL_OK)
        return status;
    const struct tl_client_info *info = tl_far_info(*ret_far);
    snprintf(run->target_address, sizeof run->target_address, "%s", info->address);
    run->target_family = info->family;
    tl_facts_set_number(facts, TL_PATH(connect_rtt_ns), (double)info->connect_rtt_ns,
                        "handshake of the control connection");
    if (info->http_spoken)
        tl_facts_set_text(facts, TL_PATH(http_spoken), info->http_spoken,
                          "each connection of its own");
    if (info->http_offered)
        tl_facts_set_text(facts, TL_PATH(http_offered), info->http_offered, "ALPN, RFC 7301");
    return TL_OK;
}

enum tl_status tl_probe_redial(const struct tl_probe_target *target, int cancel_fd,
                               struct tl_far **ret_far, int64_t *ret_reached_ns,
                               struct tl_error *reterr)
{
    return reach(target, cancel_fd, ret_far, ret_reached_ns, reterr);
}

int64_t tl_connect_rtt_ns(const struct tl_far *far)
{
    const struct tl_client_info *info = tl_far_info(far);
    return info->hello_rtt_ns > info->connect_rtt_ns ? info->hello_rtt_ns : info->connect_rtt_ns;
}

int64_t tl_probe_unacked_ns(const struct tl_far *far)
{
    return tl_far_info(far)->unacked_ns;
}

unsigned tl_probe_far_cannot(const struct tl_far *far)
{
    return tl_far_cannot(far);
}

void tl_probe_wait_turn(struct tl_far *far, int64_t until_ns)
{
    tl_far_set_turn_until(far, until_ns);
}

void tl_probe_disconnect(struct tl_far *far)
{
    tl_far_close(far);
}

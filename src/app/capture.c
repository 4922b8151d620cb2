/* What a capture is taken of. */
#include "tightlink/app/capture.h"

#include <string.h>

#include "live_private.h"
#include "tightlink/base/time.h"
#include "tightlink/flow/segment.h"

/* The ports of a process's connections, each once. */
static enum tl_status add_ports(const struct tl_flow_watch_filter *filter,
                                struct tl_app_capture_plan *plan, struct tl_error *reterr)
{
    struct tl_flow_watch_filter own = *filter;
    struct tl_flow_watch *watch = NULL;
    own.port = 0; /* where the number may be one, it is in the plan already */
    own.pid_or_port = false;
    enum tl_status status = tl_flow_watch_create(&own, tl_now_ns(), &watch, reterr);
    if (status != TL_OK)
        return status;
    const struct tl_live *live = tl_flow_watch_live(watch);
    for (size_t i = 0; i < tl_live_count(live) && status == TL_OK; i++) {
        uint16_t port = tl_live_at(live, i)->socket.local_port;
        size_t at = 0;
        while (at < plan->port_count && plan->ports[at] != port)
            at++;
        if (at == TL_APP_CAPTURE_NAMED_MAX)
            status = tl_error_set(reterr, TL_LIMIT,
                                  "process %d has more than %d connections: name a port or a host",
                                  (int)filter->pid, TL_APP_CAPTURE_NAMED_MAX);
        else if (at == plan->port_count)
            plan->ports[plan->port_count++] = port;
    }
    tl_flow_watch_destroy(watch);
    if (status == TL_OK && plan->port_count == 0)
        status =
            tl_error_set(reterr, TL_UNKNOWN,
                         "process %d has no connection that leaves this machine", (int)filter->pid);
    return status;
}

enum tl_status tl_app_capture_plan(const struct tl_app_live_what *what,
                                   struct tl_app_capture_plan *ret_plan, struct tl_error *reterr)
{
    struct tl_flow_watch_filter filter;
    struct tl_app_capture_plan plan = {0};
    enum tl_status status = live_filter(what, &filter, reterr);
    for (size_t i = 0; status == TL_OK && i < filter.remote_count; i++) {
        struct tl_flow_address address;
        memcpy(address.bytes, filter.remotes[i], sizeof address.bytes);
        tl_flow_address_format(&address, plan.addresses[plan.address_count++]);
    }
    if (status == TL_OK && filter.port)
        plan.ports[plan.port_count++] = filter.port;
    if (status == TL_OK && filter.pid)
        status = add_ports(&filter, &plan, reterr);
    if (status == TL_OK)
        *ret_plan = plan;
    return status;
}

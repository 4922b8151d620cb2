/* Capturing the headers of named connections: what the helper program is asked for. The helper
 * alone has a capability (CAP_NET_RAW); it is given numbers and numeric addresses only. */
#ifndef TL_APP_CAPTURE_H
#define TL_APP_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

#include "tightlink/app/live.h"

#define TL_APP_CAPTURE_NAMED_MAX 16

struct tl_app_capture_plan {
    char addresses[TL_APP_CAPTURE_NAMED_MAX][46];
    size_t address_count; /* 0: any */
    uint16_t ports[TL_APP_CAPTURE_NAMED_MAX];
    size_t port_count; /* 0: any */
};

/* The addresses of a host; a port; or the ports of this machine that the connections of a process
 * have now. TL_NOHOST; TL_UNKNOWN where the process has no connection, or more than fit. */
enum tl_status tl_app_capture_plan(const struct tl_app_live_what *what,
                                   struct tl_app_capture_plan *ret_plan,
                                   struct tl_error *reterr) TL_WARN_UNUSED;

#endif

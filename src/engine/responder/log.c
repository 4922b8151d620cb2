/* Lines to whoever keeps the log. */
#include <stdarg.h>
#include <stdio.h>

#include "responder_private.h"
#include "tightlink/base/time.h"

#define LINE_NS  (TL_NS_PER_S / 2) /* a line of a kind comes back in */
#define LINES_NS (50 * LINE_NS)    /* 50 of them at once */

/* GCRA, as in accept_guard.c. */
bool responder_may_log(struct tl_responder *responder, enum log_kind kind)
{
    int64_t now_ns = tl_now_ns(), *own_ns = &responder->log_full_ns[kind];
    int64_t full_ns = *own_ns > now_ns ? *own_ns : now_ns;
    if (full_ns + LINE_NS > now_ns + LINES_NS)
        return false;
    *own_ns = full_ns + LINE_NS;
    return true;
}

void responder_log(struct tl_responder *responder, const char *fmt, ...)
{
    if (!responder->options.log)
        return;
    char line[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    responder->options.log(responder->options.log_context, line);
}

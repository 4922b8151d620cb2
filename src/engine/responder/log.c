/* One line to whoever keeps the log. */
#include <stdarg.h>
#include <stdio.h>

#include "responder_private.h"

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

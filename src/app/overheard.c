/* A connection that this program did not make, as a run: who and when. */
#include "overheard.h"

#include <stdio.h>

#include "tightlink/session/record.h"

void overheard_begin(const struct overheard *seen, struct tl_run *run)
{
    tl_record_begin(run, seen->kind, seen->begin_ns);
    run->duration_ns = seen->span_ns;
    if (seen->peer) {
        tl_flow_address_format(seen->peer, run->target_address);
        run->target_family = tl_flow_address_is_v4(seen->peer) ? 4 : 6;
    }
    run->download = seen->direction == TL_DOWNLOAD;
    run->upload = seen->direction == TL_UPLOAD;
}

void overheard_format_end(const struct tl_flow_address *address, uint16_t port, char *ret_text,
                          size_t size)
{
    char text[TL_FLOW_ADDRESS_SIZE];
    tl_flow_address_format(address, text);
    snprintf(ret_text, size, tl_flow_address_is_v4(address) ? "%s:%u" : "[%s]:%u", text, port);
}

/* A growing, bounded list of samples; grows on its owner's thread, never on a data path. */
#include <stdlib.h>

#include "tightlink/base/grow.h"
#include "tightlink/engine/sample.h"

enum tl_status tl_sample_log_add(struct tl_sample_log *log, const struct tl_tcp_sample *sample,
                                 size_t max)
{
    if (log->count >= max)
        return TL_LIMIT;
    if (!tl_grow(&log->samples, log->count, &log->cap, 64, sizeof *log->samples))
        return TL_NOMEM;
    log->samples[log->count++] = *sample;
    return TL_OK;
}

void tl_sample_log_finish(struct tl_sample_log *log)
{
    free(log->samples);
    *log = (struct tl_sample_log){0};
}

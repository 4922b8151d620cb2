/* A bucket of tokens as one time (GCRA, ITU-T I.371 annex A). Pure. Private to the responder. */
#ifndef TL_ENGINE_GCRA_H
#define TL_ENGINE_GCRA_H

#include <stdbool.h>
#include <stdint.h>

/* Takes a token; false when there is none. *full_ns: when the bucket will be full again; a token
 * comes back in step_ns, all of them in burst_ns. */
static inline bool gcra_take(int64_t *full_ns, int64_t now_ns, int64_t step_ns, int64_t burst_ns)
{
    int64_t from_ns = *full_ns > now_ns ? *full_ns : now_ns;
    if (from_ns + step_ns > now_ns + burst_ns)
        return false;
    *full_ns = from_ns + step_ns;
    return true;
}

#endif

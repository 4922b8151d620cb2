/* Which kinds of far ends answer. */
#include "tightlink/probes/discover.h"

#include "tightlink/engine/far.h"

enum tl_status tl_probe_discover(const struct tl_probe_target *target, int cancel_fd,
                                 unsigned *ret_kinds, struct tl_error *reterr)
{
    struct tl_far_options options = {.reach = {.host = target->host,
                                               .family = target->family,
                                               .cancel_fd = cancel_fd,
                                               .program = "tightlink " TL_VERSION_TEXT},
                                     .resource = ""};
    unsigned kinds = 0, found;
    for (int i = 0; i < TL_FAR_KIND_COUNT; i++)
        if (i != TL_FAR_TIGHTLINK && tl_far_row((enum tl_far_kind)i)->built)
            kinds |= 1u << i;
    enum tl_status status = tl_far_discover(kinds, &options, &found, reterr);
    if (status != TL_OK)
        return status;
    if (found == 0)
        return tl_error_set(reterr, TL_REFUSED,
                            "no kind of far end that is known answers at %.250s", target->host);
    *ret_kinds = found;
    return TL_OK;
}

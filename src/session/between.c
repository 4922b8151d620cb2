/* The session's door to tests between responders. */
#include "tightlink/session/between.h"

enum tl_status tl_session_between(const struct tl_between_spec *spec, int cancel_fd,
                                  struct tl_between_result *ret_result, struct tl_error *reterr)
{
    return tl_probe_between(spec, cancel_fd, ret_result, reterr);
}

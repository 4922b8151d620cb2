/* Whom tightlinkd becomes when root starts it. */
#ifndef TL_RESPONDER_USER_H
#define TL_RESPONDER_USER_H

#include "sandbox.h"

/* Sets the policy's user: that of the name, else "tightlinkd" where there is one, else "nobody".
 * Not changed where no name was given and we are not root, or only that of a user's own namespace.
 * TL_USAGE with a sentence. */
enum tl_status user_choose(const char *name, struct sandbox_policy *policy,
                           struct tl_error *reterr) TL_WARN_UNUSED;

#endif

/* Users of the system by their names. */
#include "user.h"

#include <pwd.h>
#include <unistd.h>

enum tl_status user_choose(const char *name, struct sandbox_policy *policy, struct tl_error *reterr)
{
    if (geteuid() != 0)
        return name ? tl_error_set(reterr, TL_USAGE, "--user needs root to begin with") : TL_OK;
    const struct passwd *user = getpwnam(name ? name : "tightlinkd");
    if (!user && !name)
        user = getpwnam("nobody");
    if (!user)
        return tl_error_set(reterr, TL_USAGE,
                            "there is no user \"%.40s\" to change to: name one with "
                            "--user",
                            name ? name : "tightlinkd");
    policy->change_user = user->pw_uid != 0;
    policy->uid = user->pw_uid;
    policy->gid = user->pw_gid;
    return TL_OK;
}

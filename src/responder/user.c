/* Users of the system by their names. */
#include "user.h"

#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

/* Root of a namespace of an ordinary user's own: outside of it he is that user, and inside there
 * is often nobody else to become (user_namespaces(7)). */
static bool is_root_in_name_only(void)
{
    unsigned inside, outside = 0;
    FILE *map = fopen("/proc/self/uid_map", "re");
    bool read = map && fscanf(map, "%u %u", &inside, &outside) == 2;
    if (map)
        fclose(map);
    return read && inside == 0 && outside != 0;
}

enum tl_status user_choose(const char *name, struct sandbox_policy *policy, struct tl_error *reterr)
{
    if (geteuid() != 0 || (!name && is_root_in_name_only()))
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

/* Capabilities and user namespaces (capabilities(7), user_namespaces(7)). */
#include "privilege.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int tl_lab_thread_count(void)
{
    char line[256];
    int count = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && count == 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "Threads: %d", &count) != 1)
            count = 0;
    if (file)
        fclose(file);
    return count;
}

bool tl_lab_privileged(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    memset(data, 0, sizeof data);
    if (syscall(SYS_capget, &head, data) != 0)
        return false;
    uint32_t needed = 1U << CAP_SYS_ADMIN | 1U << CAP_NET_ADMIN | 1U << CAP_NET_RAW;
    return (data[0].effective & needed) == needed;
}

/* The value of a /proc/sys file, or -1. */
static long setting(const char *path)
{
    char text[32];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (len <= 0)
        return -1;
    text[len] = '\0';
    return strtol(text, NULL, 10);
}

/* Each distribution forbids in its own way: name the one that is in force. */
static enum tl_status forbidden(const char *step, int errnum, struct tl_error *reterr)
{
    const char *why = "the system forbids them to this user";
    if (setting("/proc/sys/user/max_user_namespaces") == 0)
        why = "user.max_user_namespaces is 0";
    else if (setting("/proc/sys/kernel/unprivileged_userns_clone") == 0)
        why = "kernel.unprivileged_userns_clone is 0";
    else if (setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
        why = "AppArmor restricts them (kernel.apparmor_restrict_unprivileged_userns is 1)";
    return tl_error_set(reterr, TL_DENIED,
                        "an emulated path needs network namespaces: either CAP_SYS_ADMIN, "
                        "CAP_NET_ADMIN and CAP_NET_RAW, or a user namespace of its own; %s (%s: "
                        "%s); run as root or allow user namespaces",
                        why, step, strerror(errnum));
}

int tl_lab_write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    int errnum = write(fd, text, strlen(text)) < 0 ? errno : 0;
    close(fd);
    return errnum;
}

enum tl_status tl_lab_user_namespace(struct tl_error *reterr)
{
    char users[64], groups[64];
    snprintf(users, sizeof users, "0 %u 1", (unsigned)geteuid());
    snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getegid());
    if (unshare(CLONE_NEWUSER) != 0)
        return forbidden("unshare", errno, reterr);
    /* Without "deny" an ordinary user may not map groups (user_namespaces(7)). */
    int errnum = tl_lab_write_text("/proc/self/setgroups", "deny");
    if (errnum == 0)
        errnum = tl_lab_write_text("/proc/self/uid_map", users);
    if (errnum == 0)
        errnum = tl_lab_write_text("/proc/self/gid_map", groups);
    return errnum ? forbidden("mapping the user", errnum, reterr) : TL_OK;
}

/* Debian's nobody and nogroup; also the kernel's overflow ids. */
#define NOBODY 65534

int tl_lab_step_down(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];
    memset(none, 0, sizeof none);
    for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
        (void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
    /* In a user namespace there is no second user to become. */
    if (geteuid() == 0 && setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
        setresuid(NOBODY, NOBODY, NOBODY) == 0)
        (void)prctl(PR_SET_DUMPABLE, 1); /* its own /proc/self is readable to it, as after exec */
    if (syscall(SYS_capset, &head, none) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return errno;
    return 0;
}

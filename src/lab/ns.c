/* Namespaces as such, and what is set in them without rtnetlink. */
#include "ns.h"

#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static enum tl_status denied_or(int errnum, const char *what, struct tl_error *reterr)
{
    if (errnum == EPERM || errnum == EACCES)
        return tl_error_set(reterr, TL_DENIED,
                            "%s is not permitted (%s): the emulated path needs CAP_SYS_ADMIN and "
                            "CAP_NET_ADMIN for its own network namespaces; run as root, or allow "
                            "unprivileged user namespaces (with AppArmor also "
                            "kernel.apparmor_restrict_unprivileged_userns=0)",
                            what, strerror(errnum));
    return tl_error_set(reterr, tl_status_from_errno(errnum), "%s failed: %s", what,
                        strerror(errnum));
}

enum tl_status tl_lab_ns_init(struct tl_lab_ns *ns, const char *name, struct tl_error *reterr)
{
    if (unshare(CLONE_NEWNET) != 0)
        return denied_or(errno, "making a network namespace", reterr);
    struct tl_lab_ns made = {.name = name};
    made.fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (made.fd < 0)
        return denied_or(errno, "opening /proc/thread-self/ns/net", reterr);
    made.netlink = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
    if (!made.netlink || mnl_socket_bind(made.netlink, 0, MNL_SOCKET_AUTOPID) != 0) {
        int errnum = errno;
        tl_lab_ns_finish(&made);
        return denied_or(errnum, "opening rtnetlink", reterr);
    }
    struct tl_lab_link_settings up = {.up = true};
    enum tl_status status = tl_lab_ns_link(&made, "lo", &up, reterr);
    if (status != TL_OK)
        tl_lab_ns_finish(&made);
    else
        *ns = made;
    return status;
}

void tl_lab_ns_finish(struct tl_lab_ns *ns)
{
    if (ns->netlink)
        mnl_socket_close(ns->netlink);
    if (ns->fd >= 0)
        close(ns->fd);
    ns->netlink = NULL;
    ns->fd = -1;
}

enum tl_status tl_lab_ns_enter(const struct tl_lab_ns *ns, struct tl_error *reterr)
{
    if (setns(ns->fd, CLONE_NEWNET) != 0)
        return denied_or(errno, "entering a network namespace", reterr);
    return TL_OK;
}

static int set_feature(int fd, const char *link, uint32_t command, uint32_t data)
{
    struct ethtool_value value = {.cmd = command, .data = data};
    struct ifreq request = {.ifr_data = (char *)&value};
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", link);
    return ioctl(fd, SIOCETHTOOL, &request);
}

enum tl_status tl_lab_ns_offloads_off(const char *link, struct tl_error *reterr)
{
    static const uint32_t commands[] = {ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO, ETHTOOL_SSG,
                                        ETHTOOL_STXCSUM};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return denied_or(errno, "opening a socket", reterr);
    enum tl_status status = TL_OK;
    for (size_t i = 0; i < sizeof commands / sizeof *commands && status == TL_OK; i++)
        if (set_feature(fd, link, commands[i], 0) != 0)
            status = denied_or(errno, "switching the offloads of a veth off", reterr);
    close(fd);
    return status;
}

enum tl_status tl_lab_ns_sysctl(const char *path, const char *value, struct tl_error *reterr)
{
    char file[128];
    snprintf(file, sizeof file, "/proc/sys/net/%s", path);
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    ssize_t len = (ssize_t)strlen(value);
    if (fd >= 0 && write(fd, value, (size_t)len) == len) {
        close(fd);
        return TL_OK;
    }
    int errnum = errno;
    if (fd >= 0)
        close(fd);
    if (errnum == EROFS)
        return tl_error_set(reterr, TL_DENIED,
                            "cannot set %s: /proc/sys is mounted read-only here, as in many "
                            "containers; run outside of it or with a writable /proc/sys",
                            file);
    return tl_error_set(reterr, tl_status_from_errno(errnum), "cannot set %s to \"%s\": %s", file,
                        value, strerror(errnum));
}

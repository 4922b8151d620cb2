/* Inside a namespace, and what is set in them without rtnetlink. */
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

enum tl_status tl_lab_ns_denied(int errnum, const char *what, struct tl_error *reterr)
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
        return tl_lab_ns_denied(errno, "entering a network namespace", reterr);
    return TL_OK;
}

static int switch_off(int fd, const char *link, uint32_t command)
{
    struct ethtool_value value = {.cmd = command};
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
        return tl_lab_ns_denied(errno, "opening a socket", reterr);
    enum tl_status status = TL_OK;
    for (size_t i = 0; i < sizeof commands / sizeof *commands && status == TL_OK; i++)
        if (switch_off(fd, link, commands[i]) != 0)
            status = tl_lab_ns_denied(errno, "switching the offloads of a veth off", reterr);
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

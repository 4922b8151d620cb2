/* The ethtool ioctl: the driver's name, and everything on kernels without the netlink
 * family. All questions asked here are open to any user (net/ethtool/ioctl.c). */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>

#include "link.h"
#include "proc.h"

enum tl_host_why tl_ethtool_ioctl(int fd, const char *name, void *data)
{
    struct ifreq request = {0};

    memcpy(request.ifr_name, name, strnlen(name, sizeof(request.ifr_name) - 1));
    request.ifr_data = data;
    if (ioctl(fd, SIOCETHTOOL, &request) == 0)
        return TL_HOST_WHY_KNOWN;
    return errno == EOPNOTSUPP ? TL_HOST_WHY_NO_ANSWER : tl_proc_why(errno);
}

void tl_ethtool_ioctl_driver(struct tl_host_settings *settings, int fd, const char *name)
{
    struct tl_host_text *driver = &settings->texts[TL_HOST_TEXT_LINK_DRIVER];
    struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
    enum tl_host_why why = tl_ethtool_ioctl(fd, name, &info);

    if (why != TL_HOST_WHY_KNOWN) {
        tl_host_text_unknown(driver, why);
        return;
    }
    info.driver[sizeof(info.driver) - 1] = '\0';
    tl_host_text_set(driver, info.driver);
}

static struct tl_host_value ask_flag(int fd, const char *name, uint32_t cmd, uint32_t mask)
{
    struct ethtool_value value = {.cmd = cmd};
    enum tl_host_why why = tl_ethtool_ioctl(fd, name, &value);

    return why == TL_HOST_WHY_KNOWN ? tl_host_known((value.data & mask) != 0)
                                    : tl_host_unknown(why);
}

static void read_speed(struct tl_host_settings *settings, int fd, const char *name)
{
    /* The old GSET lists few modes, so the fastest one stays unknown; it needs none of the
     * size handshake of GLINKSETTINGS. */
    struct ethtool_cmd cmd = {.cmd = ETHTOOL_GSET};
    enum tl_host_why why = tl_ethtool_ioctl(fd, name, &cmd);
    struct tl_host_value *numbers = settings->numbers;
    uint32_t speed;

    numbers[TL_HOST_LINK_SPEED_MAX] = tl_host_unknown(TL_HOST_WHY_NO_ANSWER);
    numbers[TL_HOST_LINK_SPEED] = tl_host_unknown(why);
    numbers[TL_HOST_LINK_FULL_DUPLEX] = tl_host_unknown(why);
    numbers[TL_HOST_LINK_AUTONEG] = tl_host_unknown(why);
    if (why != TL_HOST_WHY_KNOWN)
        return;
    /* ethtool_cmd_speed of the kernel's header shifts a signed number out of its range. */
    speed = (uint32_t)cmd.speed_hi << 16 | cmd.speed;
    numbers[TL_HOST_LINK_AUTONEG] = tl_host_known(cmd.autoneg == AUTONEG_ENABLE);
    numbers[TL_HOST_LINK_SPEED] = speed == 0 || speed == (uint32_t)SPEED_UNKNOWN
                                      ? tl_host_unknown(TL_HOST_WHY_NO_ANSWER)
                                      : tl_host_known(speed * 1e6);
    numbers[TL_HOST_LINK_FULL_DUPLEX] = cmd.duplex > DUPLEX_FULL
                                            ? tl_host_unknown(TL_HOST_WHY_NO_ANSWER)
                                            : tl_host_known(cmd.duplex == DUPLEX_FULL);
}

static void read_rings(struct tl_host_settings *settings, int fd, const char *name)
{
    struct ethtool_ringparam rings = {.cmd = ETHTOOL_GRINGPARAM};
    enum tl_host_why why = tl_ethtool_ioctl(fd, name, &rings);
    bool known = why == TL_HOST_WHY_KNOWN;
    struct tl_host_value unknown = tl_host_unknown(why), *numbers = settings->numbers;

    numbers[TL_HOST_LINK_RX_RING] = known ? tl_host_known(rings.rx_pending) : unknown;
    numbers[TL_HOST_LINK_RX_RING_MAX] = known ? tl_host_known(rings.rx_max_pending) : unknown;
    numbers[TL_HOST_LINK_TX_RING] = known ? tl_host_known(rings.tx_pending) : unknown;
    numbers[TL_HOST_LINK_TX_RING_MAX] = known ? tl_host_known(rings.tx_max_pending) : unknown;
}

static void read_coalesce(struct tl_host_settings *settings, int fd, const char *name)
{
    struct ethtool_coalesce coalesce = {.cmd = ETHTOOL_GCOALESCE};
    enum tl_host_why why = tl_ethtool_ioctl(fd, name, &coalesce);
    bool known = why == TL_HOST_WHY_KNOWN;
    struct tl_host_value unknown = tl_host_unknown(why), *numbers = settings->numbers;

    numbers[TL_HOST_LINK_RX_COALESCE] =
        known ? tl_host_known(coalesce.rx_coalesce_usecs * 1e3) : unknown;
    numbers[TL_HOST_LINK_RX_COALESCE_FRAMES] =
        known ? tl_host_known(coalesce.rx_max_coalesced_frames) : unknown;
    numbers[TL_HOST_LINK_RX_COALESCE_ADAPTIVE] =
        known ? tl_host_known(coalesce.use_adaptive_rx_coalesce != 0) : unknown;
}

void tl_ethtool_ioctl_read(struct tl_host_settings *settings, int fd, const char *name)
{
    struct tl_host_value *numbers = settings->numbers;

    numbers[TL_HOST_LINK_TSO] = ask_flag(fd, name, ETHTOOL_GTSO, UINT32_MAX);
    numbers[TL_HOST_LINK_GSO] = ask_flag(fd, name, ETHTOOL_GGSO, UINT32_MAX);
    numbers[TL_HOST_LINK_GRO] = ask_flag(fd, name, ETHTOOL_GGRO, UINT32_MAX);
    numbers[TL_HOST_LINK_LRO] = ask_flag(fd, name, ETHTOOL_GFLAGS, ETH_FLAG_LRO);
    numbers[TL_HOST_LINK_TX_CHECKSUM] = ask_flag(fd, name, ETHTOOL_GTXCSUM, UINT32_MAX);
    numbers[TL_HOST_LINK_RX_CHECKSUM] = ask_flag(fd, name, ETHTOOL_GRXCSUM, UINT32_MAX);
    read_speed(settings, fd, name);
    read_rings(settings, fd, name);
    read_coalesce(settings, fd, name);
}

/* The interface and route that lead to a peer: the parsers of each kernel answer, apart
 * from the asking, so that they are tested with recorded answers. */
#ifndef TL_HOST_LINK_H
#define TL_HOST_LINK_H

#include <stdbool.h>
#include <sys/socket.h>

#include "netlink.h"
#include "tightlink/host/host.h"

/* What identifies a way: a change of it during a run is a route change. */
struct tl_route_way {
    int ifindex; /* 0: none */
    bool has_gateway;
    unsigned char gateway[16], source[16];
};

/* One answer to RTM_GETROUTE or RTM_GETLINK (rtnetlink(7)). False, with nothing set,
 * when it is cut or of another type. */
struct tl_route_context {
    struct tl_host_settings *settings; /* may be NULL: the way alone */
    struct tl_route_way way;
};
bool tl_route_parse(const struct nlmsghdr *msg, void *route_context);

struct tl_link_context {
    struct tl_host_settings *settings;
    int ifindex;
    unsigned char address[32];
    size_t address_len;
    unsigned flags;  /* IFF_* */
    unsigned type;   /* ARPHRD_* */
    bool has_parent; /* sits on a bus (PCI, virtio …) */
    bool wireless;   /* nl80211 knows it; not of this answer */
};
bool tl_link_parse(const struct nlmsghdr *msg, void *link_context);

/* After all answers: names the kind where the kernel did not, and from it whether the
 * speed is nominal. */
void tl_link_settle(struct tl_host_settings *settings, const struct tl_link_context *link);

/* Asks which way leads to peer. KNOWN with *ret_way, and settings' route_* filled where
 * settings is not NULL. */
enum tl_host_why tl_route_ask(struct tl_netlink *route, const struct sockaddr *peer,
                              struct tl_host_settings *settings,
                              struct tl_route_way *ret_way) TL_WARN_UNUSED;

/* Fills what ethtool knows of the interface; name is for the ioctl fallback. */
void tl_ethtool_read(struct tl_host_settings *settings, int ifindex, const char *name);

/* Answers of the ethtool netlink family (Documentation/networking/ethtool-netlink.rst),
 * with settings as context. */
bool tl_ethtool_parse_linkmodes(const struct nlmsghdr *msg, void *settings);
bool tl_ethtool_parse_features(const struct nlmsghdr *msg, void *settings);
bool tl_ethtool_parse_rings(const struct nlmsghdr *msg, void *settings);
bool tl_ethtool_parse_coalesce(const struct nlmsghdr *msg, void *settings);
bool tl_ethtool_parse_pause(const struct nlmsghdr *msg, void *settings);
/* "1000baseT/Full" -> 1e9; 0 for a mode without a speed ("Autoneg"). */
double tl_ethtool_mode_bps(const char *name);

/* The wireless link (nl80211): fills wifi_*. True where the interface is wireless. */
bool tl_wireless_read(struct tl_host_settings *settings, int ifindex);
/* NL80211_CMD_NEW_INTERFACE and NL80211_CMD_NEW_STATION. */
bool tl_wireless_parse_interface(const struct nlmsghdr *msg, void *settings);
bool tl_wireless_parse_station(const struct nlmsghdr *msg, void *settings);

/* Queues and interrupts of the interface, from /sys and /proc below root. */
void tl_link_read_queues(const struct tl_link_context *link, const char *root);

/* One question of the ethtool ioctl; data begins with the command and takes the answer. */
enum tl_host_why tl_ethtool_ioctl(int fd, const char *name, void *data);

/* The same by ioctl, for kernels before 5.6 or built without the family; and the driver's
 * name, which only the ioctl tells. fd: any socket of the namespace. */
void tl_ethtool_ioctl_driver(struct tl_host_settings *settings, int fd, const char *name);
void tl_ethtool_ioctl_read(struct tl_host_settings *settings, int fd, const char *name);

#endif

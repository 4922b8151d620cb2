/* Network namespaces without names, and what is set inside of one: links,
 * addresses, routes and rules by rtnetlink, offloads by ethtool, settings by
 * /proc/sys. Used by the guard, which has one thread and may wander. */
#ifndef TL_LAB_NS_H
#define TL_LAB_NS_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/status.h"

struct mnl_socket;

struct tl_lab_ns {
    const char *name; /* for messages: "c", "r1" ... */
    int fd;           /* holds the namespace; close-on-exec */
    struct mnl_socket *netlink;
    unsigned sequence;
};

#define TL_LAB_NS_NONE                                                                             \
    {                                                                                              \
        .name = "", .fd = -1                                                                       \
    }

/* Makes a namespace, with its loopback up, and leaves the calling process in it. */
enum tl_status tl_lab_ns_init(struct tl_lab_ns *ns, const char *name,
                              struct tl_error *reterr) TL_WARN_UNUSED;
void tl_lab_ns_finish(struct tl_lab_ns *ns);

/* The error of a step that may lack its privilege. */
enum tl_status tl_lab_ns_denied(int errnum, const char *what, struct tl_error *reterr);

/* Moves the calling thread into it. */
enum tl_status tl_lab_ns_enter(const struct tl_lab_ns *ns, struct tl_error *reterr) TL_WARN_UNUSED;

/* A veth pair, one end in each namespace. */
enum tl_status tl_lab_ns_veth(struct tl_lab_ns *a, const char *name_a, struct tl_lab_ns *b,
                              const char *name_b, struct tl_error *reterr) TL_WARN_UNUSED;

/* What to set on a link; zeros leave a field as it is. */
struct tl_lab_link_settings {
    int32_t mtu;
    uint32_t tx_queue_packets;
    uint32_t gso_max_segs;
    const unsigned char *mac; /* 6 bytes */
    bool no_arp;              /* and no link-local IPv6 address */
    bool up;
};
enum tl_status tl_lab_ns_link(struct tl_lab_ns *ns, const char *link,
                              const struct tl_lab_link_settings *settings,
                              struct tl_error *reterr) TL_WARN_UNUSED;

/* text is "10.99.1.2" or "fd00:99:1::2". */
enum tl_status tl_lab_ns_address(struct tl_lab_ns *ns, const char *link, const char *text,
                                 unsigned prefix_bits, struct tl_error *reterr) TL_WARN_UNUSED;

/* to: network address, or NULL for the default route of via's family; via: NULL
 * for "on the link"; cc: NULL, or the congestion control as a metric. */
enum tl_status tl_lab_ns_route(struct tl_lab_ns *ns, const char *link, const char *to,
                               unsigned prefix_bits, const char *via, const char *cc,
                               struct tl_error *reterr) TL_WARN_UNUSED;

/* The namespace's own ICMP (or ICMPv6) messages find no route; what it forwards,
 * and neighbour discovery, go on. family is AF_INET or AF_INET6. */
enum tl_status tl_lab_ns_silence(struct tl_lab_ns *ns, int family,
                                 struct tl_error *reterr) TL_WARN_UNUSED;

/* TCP that comes in by a link to or from a port is delivered here, whatever address
 * it is for: what a transparent proxy needs. One call or more a family. */
enum tl_lab_ns_port { TL_LAB_NS_TO_PORT, TL_LAB_NS_FROM_PORT };
enum tl_status tl_lab_ns_divert(struct tl_lab_ns *ns, int family, const char *link, uint16_t port,
                                enum tl_lab_ns_port which, struct tl_error *reterr) TL_WARN_UNUSED;

/* Packets that a link's own queue had no room for, since it was made. Unchanged
 * *ret_count on failure. The calling thread ends up in the namespace. */
enum tl_status tl_lab_ns_tx_dropped(struct tl_lab_ns *ns, const char *link,
                                    uint64_t *ret_count) TL_WARN_UNUSED;

/* Segmentation and checksums are done before a packet reaches the link. Acts in
 * the calling thread's namespace. */
enum tl_status tl_lab_ns_offloads_off(const char *link, struct tl_error *reterr) TL_WARN_UNUSED;

/* Writes /proc/sys/net/<path> in the calling thread's namespace. */
enum tl_status tl_lab_ns_sysctl(const char *path, const char *value,
                                struct tl_error *reterr) TL_WARN_UNUSED;

#endif

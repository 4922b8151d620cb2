/* One side of the emulated link: where whole IP packets come in from a router
 * and go out to it. Two kinds: a TUN device, or a packet socket on a veth whose
 * other end is the router's.
 *
 * Made by the guard in the right namespace, then used by the emulator: one
 * thread receives, another one may send at the same time. */
#ifndef TL_LAB_PORT_H
#define TL_LAB_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "tightlink/base/status.h"

/* Packets handed to tl_lab_port_send at once, at most. */
#define TL_LAB_PORT_BATCH 64

/* Both routers' WAN interfaces have this address (a locally administered one),
 * so that a frame needs no rewriting between them. Packet sockets only. */
extern const unsigned char tl_lab_port_mac[6];

struct tl_lab_port {
    int fd;
    bool is_tun;
    unsigned ifindex;    /* packet socket only, like the rest */
    unsigned char *ring; /* TPACKET_V2 frames, written by the kernel */
    size_t ring_size;
    size_t frame_size;
    unsigned frame_count;
    unsigned next_frame;
};

#define TL_LAB_PORT_NONE                                                                           \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* Whether /dev/net/tun may be opened. */
bool tl_lab_port_tun_opens(void);

/* A TUN device of that name in the calling thread's namespace. It lives as long
 * as the descriptor and its copies. TL_DENIED where /dev/net/tun is closed to us. */
enum tl_status tl_lab_port_tun(struct tl_lab_port *port, const char *link,
                               struct tl_error *reterr) TL_WARN_UNUSED;

/* A packet socket on a link of the calling thread's namespace, for packets of
 * up to mtu bytes. */
enum tl_status tl_lab_port_packet(struct tl_lab_port *port, const char *link, size_t mtu,
                                  struct tl_error *reterr) TL_WARN_UNUSED;

void tl_lab_port_finish(struct tl_lab_port *port);

/* The next IP packet, copied; 0 when none waits. */
size_t tl_lab_port_receive(struct tl_lab_port *port, void *ret_packet, size_t size);

/* Packets that found the ring full since the last call; 0 for a TUN device, whose
 * interface counts for itself. */
unsigned tl_lab_port_overruns(const struct tl_lab_port *port);

/* Sends up to TL_LAB_PORT_BATCH packets in order; returns how many the kernel took. */
unsigned tl_lab_port_send(const struct tl_lab_port *port, const struct iovec *packets,
                          unsigned count);

#endif

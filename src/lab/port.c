/* TUN devices and packet sockets behind one interface; see port.h. */
#include "port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mangle.h"

/* Room for bursts: 64 KiB of TCP at once are 45 packets, and there may be many flows. */
#define RING_BYTES (8U << 20)

const unsigned char tl_lab_port_mac[6] = {0x02, 0x74, 0x6c, 0x00, 0x00, 0x01};

bool tl_lab_port_tun_opens(void)
{
    int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

enum tl_status tl_lab_port_tun(struct tl_lab_port *port, const char *link, struct tl_error *reterr)
{
    int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return tl_error_set(reterr, tl_status_from_errno(errno),
                            "cannot open /dev/net/tun: %s; run as root, or use packet sockets "
                            "(carrier=packet)",
                            strerror(errno));
    /* No offload flags: the kernel cuts and checksums every packet before we see it. */
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", link);
    if (ioctl(fd, TUNSETIFF, &request) != 0) {
        int errnum = errno;
        close(fd);
        return tl_error_set(reterr, tl_status_from_errno(errnum), "cannot make TUN device %s: %s",
                            link, strerror(errnum));
    }
    *port = (struct tl_lab_port){.fd = fd, .is_tun = true};
    return TL_OK;
}

static size_t power_of_two(size_t least)
{
    size_t size = 2048;
    while (size < least)
        size *= 2;
    return size;
}

/* A ring (packet(7), TPACKET_V2) is bounded by its own size, not by rmem_max,
 * which an ordinary user cannot raise. */
static int map_ring(struct tl_lab_port *port, size_t mtu)
{
    int version = TPACKET_V2;
    if (setsockopt(port->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version) != 0)
        return -1;
    port->frame_size = power_of_two(mtu + TPACKET2_HDRLEN + 64);
    struct tpacket_req request = {.tp_frame_size = (unsigned)port->frame_size};
    request.tp_block_size = port->frame_size > 65536 ? (unsigned)port->frame_size : 65536;
    request.tp_block_nr = RING_BYTES / request.tp_block_size;
    request.tp_frame_nr = request.tp_block_nr * (request.tp_block_size / request.tp_frame_size);
    if (setsockopt(port->fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) != 0)
        return -1;
    port->frame_count = request.tp_frame_nr;
    port->ring_size = (size_t)request.tp_block_size * request.tp_block_nr;
    void *ring = mmap(NULL, port->ring_size, PROT_READ | PROT_WRITE, MAP_SHARED, port->fd, 0);
    if (ring == MAP_FAILED)
        return -1;
    port->ring = ring;
    return 0;
}

static int bind_to(struct tl_lab_port *port)
{
    int one = 1;
    struct sockaddr_ll address = {.sll_family = AF_PACKET,
                                  .sll_protocol = htons(ETH_P_ALL),
                                  .sll_ifindex = (int)port->ifindex};
    /* What the other direction sends by this link is not coming in. */
    if (setsockopt(port->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one) != 0)
        return -1;
    return bind(port->fd, (struct sockaddr *)&address, sizeof address);
}

enum tl_status tl_lab_port_packet(struct tl_lab_port *port, const char *link, size_t mtu,
                                  struct tl_error *reterr)
{
    struct tl_lab_port made = TL_LAB_PORT_NONE;
    made.ifindex = if_nametoindex(link);
    made.fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made.fd < 0)
        return tl_error_set(reterr, tl_status_from_errno(errno),
                            "cannot open a packet socket: %s; it needs CAP_NET_RAW in its network "
                            "namespace",
                            strerror(errno));
    if (made.ifindex == 0 || map_ring(&made, mtu) != 0 || bind_to(&made) != 0) {
        int errnum = errno;
        tl_lab_port_finish(&made);
        return tl_error_set(reterr, tl_status_from_errno(errnum),
                            "cannot prepare the packet socket on %s: %s", link, strerror(errnum));
    }
    *port = made;
    return TL_OK;
}

void tl_lab_port_finish(struct tl_lab_port *port)
{
    if (port->ring)
        munmap(port->ring, port->ring_size);
    if (port->fd >= 0)
        close(port->fd);
    *port = (struct tl_lab_port)TL_LAB_PORT_NONE;
}

static size_t receive_frame(struct tl_lab_port *port, void *ret_packet, size_t size)
{
    unsigned char *frame = port->ring + (size_t)port->next_frame * port->frame_size;
    struct tpacket2_hdr *head = (struct tpacket2_hdr *)frame;
    /* The kernel writes the status last; acquire, so that the rest is seen too. */
    if (!(__atomic_load_n(&head->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
        return 0;
    size_t len = head->tp_snaplen < size ? head->tp_snaplen : size;
    memcpy(ret_packet, frame + head->tp_net, len);
    /* A host leaves its checksums to a NIC: here is where the wire begins. */
    if (__atomic_load_n(&head->tp_status, __ATOMIC_RELAXED) & TP_STATUS_CSUMNOTREADY)
        tl_lab_mangle_checksum(ret_packet, len);
    __atomic_store_n(&head->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
    port->next_frame = (port->next_frame + 1) % port->frame_count;
    return len;
}

size_t tl_lab_port_receive(struct tl_lab_port *port, void *ret_packet, size_t size)
{
    if (!port->is_tun)
        return receive_frame(port, ret_packet, size);
    ssize_t len = read(port->fd, ret_packet, size);
    return len > 0 ? (size_t)len : 0;
}

unsigned tl_lab_port_overruns(const struct tl_lab_port *port)
{
    struct tpacket_stats stats = {0};
    socklen_t len = sizeof stats;
    if (port->is_tun || getsockopt(port->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len) != 0)
        return 0;
    return stats.tp_drops;
}

static unsigned send_tun(const struct tl_lab_port *port, const struct iovec *packets,
                         unsigned count)
{
    unsigned sent = 0;
    for (unsigned i = 0; i < count; i++)
        if (write(port->fd, packets[i].iov_base, packets[i].iov_len) >= 0)
            sent++;
    return sent;
}

static unsigned send_frames(const struct tl_lab_port *port, const struct iovec *packets,
                            unsigned count)
{
    struct sockaddr_ll targets[2] = {
        {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP), .sll_halen = 6},
        {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IPV6), .sll_halen = 6}};
    struct mmsghdr messages[TL_LAB_PORT_BATCH];
    memset(messages, 0, sizeof messages);
    for (int i = 0; i < 2; i++) {
        targets[i].sll_ifindex = (int)port->ifindex;
        memcpy(targets[i].sll_addr, tl_lab_port_mac, 6);
    }
    for (unsigned i = 0; i < count; i++) {
        bool v6 = *(const unsigned char *)packets[i].iov_base >> 4 == 6;
        messages[i].msg_hdr.msg_name = &targets[v6];
        messages[i].msg_hdr.msg_namelen = sizeof targets[v6];
        messages[i].msg_hdr.msg_iov = (struct iovec *)&packets[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    unsigned sent = 0;
    for (unsigned at = 0; at < count;) {
        int n = sendmmsg(port->fd, messages + at, count - at, 0);
        /* A failure concerns the first of the rest: leave it out and go on. */
        at += n > 0 ? (unsigned)n : 1;
        sent += n > 0 ? (unsigned)n : 0;
    }
    return sent;
}

unsigned tl_lab_port_send(const struct tl_lab_port *port, const struct iovec *packets,
                          unsigned count)
{
    return port->is_tun ? send_tun(port, packets, count) : send_frames(port, packets, count);
}

/* This machine's TCP connections with a peer, as the kernel tells any user (sock_diag, what ss
 * shows): for a look at transfers that run already, of whatever program. */
#ifndef TL_HOST_SOCKETS_H
#define TL_HOST_SOCKETS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "tightlink/host/value.h"

#define TL_HOST_SOCKETS_MAX 32 /* more than a person's transfers with one host */

/* One established connection. Plain data; 0 where the kernel does not tell. */
struct tl_host_socket {
    uint64_t cookie; /* the kernel's own number of it */
    uint16_t local_port, remote_port;
    uint64_t received_bytes, acked_bytes;  /* payload in, payload out and acknowledged */
    uint32_t rcvbuf_bytes, sndbuf_bytes;   /* SO_RCVBUF, SO_SNDBUF as they are now */
    uint32_t rcv_wnd_bytes, snd_wnd_bytes; /* windows in force; rcv_wnd from Linux 6.2 */
    uint32_t snd_mss_bytes, rcv_mss_bytes;
    uint64_t busy_ns, rwnd_limited_ns; /* of sending, since the connection began */
};

/* The established connections with this address, any port, at most `max`; *ret_count tells how
 * many. KNOWN also when there is none; else the reason. */
enum tl_host_why tl_host_sockets(const struct sockaddr *peer, struct tl_host_socket *ret_sockets,
                                 size_t max, size_t *ret_count);

#endif

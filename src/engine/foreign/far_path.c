/* Datagrams to a stranger's closed port: far_path.h. */
#include "far_path.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "path_end.h"
#include "socket_address.h"
#include "tightlink/base/random.h"
#include "tightlink/base/time.h"

/* The first of traceroute's: hosts have it closed, and more firewalls let it pass than others. */
#define CLOSED_PORT 33434

static enum tl_status open_socket(void *owner, bool prove, int cancel_fd, int *ret_fd,
                                  struct udp_pass *ret_pass, struct tl_error *reterr)
{
    const struct far_peer *peer = owner;
    struct sockaddr_storage address = peer->info.peer;
    struct tl_random rng;
    socket_address_set_port(&address, CLOSED_PORT);
    *ret_fd = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*ret_fd < 0)
        return tl_error_set(reterr, TL_IO, "a socket: %s", strerror(errno));
    if (connect(*ret_fd, (struct sockaddr *)&address, socket_address_len(&address)) < 0)
        return tl_error_set(reterr, tl_status_from_errno(errno), "no way to %s: %s", peer->host,
                            strerror(errno));
    tl_random_seed(&rng, (uint64_t)tl_now_ns());
    *ret_pass = (struct udp_pass){.cookie = tl_random_next(&rng) | 1}; /* 0 is none */
    return TL_OK;
}

static struct path_end end_of(const struct far_peer *peer)
{
    return (struct path_end){.owner = (void *)(uintptr_t)peer, /* only read */
                             .cancel_fd = peer->cancel_fd,
                             .ipv6 = peer->info.peer.ss_family == AF_INET6,
                             .stranger = true,
                             .handshake_rtt_ns = peer->info.connect_rtt_ns,
                             .open = open_socket};
}

enum tl_status far_path_pmtu(const struct far_peer *peer, const struct tl_pmtu_spec *spec,
                             struct tl_pmtu_result *ret_result, struct tl_error *reterr)
{
    struct path_end end = end_of(peer);
    return path_pmtu_stranger(&end, spec, ret_result, reterr);
}

enum tl_status far_path_hops(const struct far_peer *peer, const struct tl_hops_spec *spec,
                             struct tl_hops_result *ret_result, struct tl_error *reterr)
{
    struct path_end end = end_of(peer);
    return path_hops(&end, spec, ret_result, reterr);
}

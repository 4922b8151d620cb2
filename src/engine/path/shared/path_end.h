/* The near end of the way, as the searches of this room need it: the client's connection, of
 * which they know nothing else, or a stranger's closed port. One thread at a time. */
#ifndef TL_ENGINE_PATH_END_H
#define TL_ENGINE_PATH_END_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/engine/hops.h"
#include "tightlink/engine/pmtu.h"
#include "udp_seal.h"

struct path_end {
    void *owner; /* handed to the functions below */
    int cancel_fd;
    bool ipv6;
    /* No responder: what arrives there draws a port unreachable and nothing else, of which a host
     * sends few (Linux: six at once, then one a second). */
    bool stranger;
    int64_t handshake_rtt_ns;
    int hops_count; /* links to it, where they were counted before; 0 = not known */
    /* A UDP socket connected to the far end; with prove its tuple is proved and *ret_pass set.
     * *ret_fd is set as soon as there is a socket, also where the proof fails. */
    enum tl_status (*open)(void *owner, bool prove, int cancel_fd, int *ret_fd,
                           struct udp_pass *ret_pass, struct tl_error *reterr);
    /* Has the control connection say a word, so that the far end keeps the tuple; NULL: somebody
     * else does. */
    enum tl_status (*keep_alive)(void *owner, struct tl_error *reterr);
    /* Datagrams of ours that left, or came, in bytes of IP packets; NULL: nobody counts. */
    void (*count)(void *owner, uint64_t sent_bytes, uint64_t received_bytes);
};

/* What a stranger tells of packet sizes: the largest that reaches it from here, by at most three
 * datagrams of full size and as many of what a router reported. Silence is no finding: hosts and
 * firewalls drop what goes to closed ports. TL_TIMEOUT then. ret_result->down stays empty. */
enum tl_status path_pmtu_stranger(const struct path_end *end, const struct tl_pmtu_spec *spec,
                                  struct tl_pmtu_result *ret_result,
                                  struct tl_error *reterr) TL_WARN_UNUSED;

/* As tl_client_pmtu and tl_client_hops (client_path.h), which call them. */
enum tl_status path_pmtu(const struct path_end *end, const struct tl_pmtu_spec *spec,
                         struct tl_pmtu_result *ret_result, struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status path_hops(const struct path_end *end, const struct tl_hops_spec *spec,
                         struct tl_hops_result *ret_result, struct tl_error *reterr) TL_WARN_UNUSED;

#endif

/* A proxy that ends TCP connections on their way and makes new ones in their stead,
 * as performance-enhancing proxies (RFC 3135) and some firewalls do. Both ends see
 * each other's address: the proxy's sockets bear them (IP_TRANSPARENT, ip(7)). */
#ifndef TL_LAB_SPLITTER_H
#define TL_LAB_SPLITTER_H

#include "tightlink/base/status.h"
#include "tightlink/lab/config.h"

struct tl_lab_splitter {
    int listen_fd[2]; /* IPv4, IPv6; -1 where the lab has not got it */
    char cc[TL_LAB_CC_SIZE];
};

#define TL_LAB_SPLITTER_NONE                                                                       \
    {                                                                                              \
        .listen_fd = { -1, -1 }                                                                    \
    }

/* Listens in the calling thread's namespace, to which tl_lab_ns_divert brings the
 * connections. cc is the congestion control of the proxy's own sockets. */
enum tl_status tl_lab_splitter_init(struct tl_lab_splitter *splitter,
                                    const struct tl_lab_config *config, const char *cc,
                                    struct tl_error *reterr) TL_WARN_UNUSED;
void tl_lab_splitter_finish(struct tl_lab_splitter *splitter);

/* Relays until the process ends; it must be in the namespace of init. */
_Noreturn void tl_lab_splitter_main(const struct tl_lab_splitter *splitter);

#endif

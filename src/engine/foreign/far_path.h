/* The way to a stranger, by datagrams to a port that nobody has open: which size gets there, and
 * the routers in between. Needs no privilege and nothing of the far end but that it refuses them as
 * every host does; one behind a firewall is silent, which is said and means nothing. Private to
 * this room; hops may run in another thread beside a test. */
#ifndef TL_ENGINE_FAR_PATH_H
#define TL_ENGINE_FAR_PATH_H

#include "far_socket.h"

/* As tl_client_pmtu and tl_client_hops; of sizes only those towards the far end. */
enum tl_status far_path_pmtu(const struct far_peer *peer, const struct tl_pmtu_spec *spec,
                             struct tl_pmtu_result *ret_result,
                             struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status far_path_hops(const struct far_peer *peer, const struct tl_hops_spec *spec,
                             struct tl_hops_result *ret_result,
                             struct tl_error *reterr) TL_WARN_UNUSED;

#endif

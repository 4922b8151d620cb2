/* Round trips to a host that runs nothing of ours: what every host answers. ICMP echo where this
 * user may send it and the host answers; else the opening of a TCP connection to a port on which
 * nothing listens, whose refusal is the answer. Never a port on which a test's server listens: an
 * old iperf3 is deaf for a minute after that.
 *
 * Reads the peer only: runs in any thread, beside a test. Private to this room. */
#ifndef TL_ENGINE_FAR_PING_H
#define TL_ENGINE_FAR_PING_H

#include "far_socket.h"

/* As tl_client_echo; one_way_unknown is set. TL_TIMEOUT: the host answers neither. */
enum tl_status far_ping_train(const struct far_peer *peer, const struct tl_echo_spec *spec,
                              struct tl_echo_result *ret_result,
                              struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status far_ping_once(const struct far_peer *peer, struct tl_error *reterr) TL_WARN_UNUSED;

#endif

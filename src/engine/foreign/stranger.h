/* What needs no more of a stranger's end than the host itself. The end of each such kind begins
 * with its struct far_peer, so that one set of calls (far_private.h) serves them all. Private to
 * this room. */
#ifndef TL_ENGINE_STRANGER_H
#define TL_ENGINE_STRANGER_H

#include "far_private.h"

/* Of what a test may ask for, what some strangers can do; the rest none of them can. */
enum { STRANGER_PACES = 1, STRANGER_CHOOSES_CONGESTION = 2, STRANGER_BOTH = 4 };

/* TL_UNSUPPORTED: what the server, such as "an NDT server", cannot do of it, and who would;
 * TL_RANGE: streams or time. */
enum tl_status stranger_check_spec(const struct tl_tcp_spec *spec, const char *server,
                                   unsigned abilities, unsigned max_streams,
                                   struct tl_error *reterr) TL_WARN_UNUSED;
const struct tl_client_info *stranger_info(const void *end);
/* Whether it answers a single probe. */
enum tl_status stranger_wake(void *end, struct tl_error *reterr);
enum tl_status stranger_echo(void *end, const struct tl_echo_spec *spec,
                             struct tl_echo_result *ret_result, struct tl_error *reterr);
enum tl_status stranger_pmtu(void *end, const struct tl_pmtu_spec *spec,
                             struct tl_pmtu_result *ret_result, struct tl_error *reterr);
enum tl_status stranger_hops(void *end, const struct tl_hops_spec *spec,
                             struct tl_hops_result *ret_result, struct tl_error *reterr);

/* What a table of operations takes from here. */
#define STRANGER_OPS                                                                               \
    .info = stranger_info, .wake = stranger_wake, .echo = stranger_echo, .pmtu = stranger_pmtu,    \
    .hops = stranger_hops

#endif

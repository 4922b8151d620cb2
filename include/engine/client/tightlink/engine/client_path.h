/* The way to the far end, measured from the near one: packet sizes (pmtu.h), routers (hops.h),
 * what becomes of a handshake (syn.h). None of it needs privilege. */
#ifndef TL_ENGINE_CLIENT_PATH_H
#define TL_ENGINE_CLIENT_PATH_H

#include "tightlink/engine/client.h"
#include "tightlink/engine/hops.h"
#include "tightlink/engine/pmtu.h"
#include "tightlink/engine/syn.h"

/* Searches both directions at once: some 0.3 s and 20 kB where the interface's MTU gets through,
 * 3 s and 1 MB at worst on usual paths. TL_TIMEOUT: UDP does not get through. */
enum tl_status tl_client_pmtu(struct tl_client *client, const struct tl_pmtu_spec *spec,
                              struct tl_pmtu_result *ret_result,
                              struct tl_error *reterr) TL_WARN_UNUSED;

/* TL_TIMEOUT: UDP does not get through to the far end; routers may answer all the same, and
 * *ret_result has them. A cancelled run with a duration is TL_OK. */
enum tl_status tl_client_hops(struct tl_client *client, const struct tl_hops_spec *spec,
                              struct tl_hops_result *ret_result,
                              struct tl_error *reterr) TL_WARN_UNUSED;

/* Opens a connection with the hosts' own settings, asks, closes. Two round trips, some 500
 * bytes. beside: in another thread than the client's own, which has just heard of the far end and
 * leaves the session as it is. TL_TIMEOUT, TL_CLOSED, TL_DENIED (an older responder), TL_CANCELLED.
 */
enum tl_status tl_client_syn(struct tl_client *client, bool beside,
                             struct tl_syn_result *ret_result,
                             struct tl_error *reterr) TL_WARN_UNUSED;

#endif

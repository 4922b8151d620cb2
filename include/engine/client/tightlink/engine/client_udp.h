/* A UDP test from the near end: udp.h says what it is and what comes of it. */
#ifndef TL_ENGINE_CLIENT_UDP_H
#define TL_ENGINE_CLIENT_UDP_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/engine/client.h"
#include "tightlink/engine/udp.h"

struct tl_udp_live {
    bool queued; /* waiting for our turn; then only these two hold */
    unsigned place;
    int64_t wait_ns;
    int64_t elapsed_ns;
    uint64_t sent_count;     /* at the near sender; the far one's are known at the end: 0 */
    uint64_t received_count; /* as far as is known here */
    uint64_t received_bytes;
    double rate_bps; /* received, over about the last half second; NAN = not known yet */
};

/* Called on the calling thread about every TL_CLIENT_LIVE_NS. Must not block. */
typedef void tl_udp_live_fn(void *context, const struct tl_udp_live *live);

/* Runs one test. *ret_result is filled in every case, also after a failure, with what was
 * measured until then; finish it in every case. TL_OK: it ran, both ends told their totals.
 * TL_TIMEOUT: UDP does not get through although TCP does, or the path died. TL_CANCELLED:
 * the wire is silent within TL_CLIENT_CANCEL_NS. TL_BUSY, TL_LIMIT, TL_DENIED, TL_CLOSED as
 * tl_client_tcp_test. TL_RANGE: the spec, or a datagram that does not fit the interface (it is
 * never fragmented). TL_UNSUPPORTED: the responder knows no UDP tests. live may be NULL.
 *
 * A test of the same client in another thread is not possible; tl_client_echo with
 * beside_test is. */
enum tl_status tl_client_udp_test(struct tl_client *client, const struct tl_udp_spec *spec,
                                  tl_udp_live_fn *live, void *context,
                                  struct tl_udp_result *ret_result,
                                  struct tl_error *reterr) TL_WARN_UNUSED;

#endif

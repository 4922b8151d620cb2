/* What the way does to a TCP handshake: a connection of its own, as the kernels of both ends
 * see it. */
#ifndef TL_ENGINE_SYN_H
#define TL_ENGINE_SYN_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/status.h"
#include "tightlink/engine/wire.h"

struct tl_syn_result {
    struct tl_wire_syn_report far; /* at the far end: our SYN as it came, and the rest */
    /* At this end, from TCP_INFO. 0 = not told. */
    uint32_t advmss_bytes;  /* MSS in our SYN */
    uint32_t snd_mss_bytes; /* payload of the segments that we would send, options taken off */
    uint32_t pmtu_bytes;
    uint32_t snd_wnd_bytes;    /* window that the SYN-ACK offered */
    unsigned negotiated;       /* TL_TCP_OPT_* of sample.h */
    int64_t handshake_rtt_ns;  /* SYN to SYN-ACK */
    int64_t answer_rtt_ns;     /* question to answer over the same connection: the far program's */
    bool far_sees_our_address; /* neither translation nor a proxy in between */
};

/* MSS of the SYN-ACK as it arrived here: what the far end announced, unless our segments are
 * smaller than that and the path MTU allow (RFC 6691: MSS leaves out the options). 0 = not
 * known: Linux also keeps segments below half of the offered window. Pure. */
uint32_t tl_syn_mss_received(const struct tl_syn_result *result, bool ipv6);

#endif

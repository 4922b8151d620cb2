/* The numbers of a running transfer. Private to the probes. */
#ifndef TL_PROBES_LIVE_H
#define TL_PROBES_LIVE_H

#include "tightlink/engine/client.h"
#include "tightlink/engine/client_udp.h"
#include "tightlink/probes/probes.h"

/* Not for a test that is queued. What the sender's kernel does not tell is NAN. */
void tl_live_fill(const struct tl_tcp_live *live, struct tl_probe_live *ret_live);

/* The same of a test of datagrams. */
void tl_live_fill_udp(const struct tl_udp_live *live, struct tl_probe_live *ret_live);

/* A test that is queued: its place, and how long that is about. */
void tl_live_say_queued(const struct tl_probe *probe, unsigned place, int64_t wait_ns);

#endif

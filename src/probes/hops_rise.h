/* Behind which hop the round trip rises under load: from the engine's measurements of each hop to
 * the facts tight_*. Pure; private to the probes. */
#ifndef TL_PROBES_HOPS_RISE_H
#define TL_PROBES_HOPS_RISE_H

#include "tightlink/engine/hops.h"
#include "tightlink/facts/facts.h"

struct tl_hops_rise {
    bool known;         /* a queue grew, and it is known where within these bounds */
    int first_hop;      /* it is behind this one; 0 = this host */
    int last_hop;       /* and before this one */
    double rise_ns;     /* round-trip time that the load added up to the far end; NAN */
    const char *reason; /* why not known, "" */
};

/* Where the round trip rises under load and stays risen up to the last hop. hops[1] to
 * hops[count], the last one being the far end. Pure. A hop that rose while hops behind it did
 * not is slow to answer, not on a full link: it is passed over. echo_rtt_ns: the median that
 * another flow of small packets had to the far end meanwhile, NAN where none is known. Where it did
 * not rise along, each flow has a queue of its own (RFC 8290), and routers' answers tell nothing of
 * that one. */
struct tl_hops_rise tl_hops_rise(const struct tl_hop_load *hops, int count, double echo_rtt_ns);

/* The facts tight_* of a direction from it, count hops being the way. What an earlier transfer told
 * stays where that says more. */
void tl_hops_rise_set(struct tl_facts *facts, enum tl_direction direction,
                      const struct tl_hops_rise *rise, int count);

/* They are not known for that reason, unless an earlier transfer told them. */
void tl_hops_rise_unknown(struct tl_facts *facts, enum tl_direction direction, const char *reason);

#endif

/* One TCP test through the engine, as every loading stage needs it. Private. */
#ifndef TL_PROBES_TRANSFER_H
#define TL_PROBES_TRANSFER_H

#include "tightlink/engine/client.h"
#include "tightlink/engine/echo_load.h"
#include "tightlink/engine/queue.h"
#include "tightlink/probes/probes.h"

/* A specification with direction and limits filled in; the rest is for the stage. */
struct tl_tcp_spec tl_transfer_spec(enum tl_direction direction,
                                    const struct tl_probe_limits *limits);

/* The same with one stream, for so long and so many shortest round trips at least, of that many
 * bytes, and nothing else that ends it before its time. */
struct tl_tcp_spec tl_transfer_one_more(const struct tl_probe *probe,
                                        const struct tl_tcp_spec *like, int64_t least_ns,
                                        unsigned rtts, int64_t bytes);

/* Whether packets of full size vanish, as far as is known, and no transfer got through that way:
 * one that did has segments that fit, and what stands still behind it met something else. */
bool tl_transfer_meets_hole(const struct tl_facts *facts, enum tl_direction direction);

/* Runs the test; fills state, bytes and quality of *outcome (begun by the caller, ended
 * here). *ret_result is the caller's (tl_transfer_free) whenever it is not NULL, also
 * after a failure. */
enum tl_status tl_transfer_run(const struct tl_probe *probe, const struct tl_tcp_spec *spec,
                               struct tl_probe_outcome *outcome, struct tl_tcp_result **ret_result,
                               struct tl_error *reterr) TL_WARN_UNUSED;
/* What stood beside a transfer, or queued before it, in its steady part; in the whole where there
 * is none. */
struct tl_beside {
    struct tl_echo_load load;
    struct tl_queue queue;
};

/* The same with UDP probes beside it. The transfer begins some round trips later. */
enum tl_status tl_transfer_run_loaded(const struct tl_probe *probe, const struct tl_tcp_spec *spec,
                                      struct tl_probe_outcome *outcome,
                                      struct tl_tcp_result **ret_result,
                                      struct tl_beside *ret_beside,
                                      struct tl_error *reterr) TL_WARN_UNUSED;
void tl_transfer_free(struct tl_tcp_result *result);

/* Whether what the test measured may become facts. */
bool tl_transfer_counts(const struct tl_probe_outcome *outcome);

#endif

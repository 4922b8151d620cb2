/* A path between two perfSONAR nodes, measured by them: pScheduler is asked, and what it tells
 * becomes facts of the usual table. "Near" is the source, "far" the destination, "upload" the way
 * from source to destination; neither end is this machine. */
#ifndef TL_PROBES_NODES_H
#define TL_PROBES_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/facts/facts.h"
#include "tightlink/facts/run.h"

#define TL_NODES_SECONDS_MIN 5  /* shorter ones are lengthened there */
#define TL_NODES_SECONDS_MAX 60 /* what nodes permit to others, as a rule */
#define TL_NODES_STREAMS_MAX 6
#define TL_NODES_PIN_SIZE    64

struct tl_nodes_spec {
    const char *node; /* whose pScheduler is asked: that of the source */
    uint16_t port;    /* 0: 443 */
    const char *pin;  /* the key of its certificate that was met before, "" without */
    bool insecure;    /* take any certificate */
    const char *source, *dest;
    bool both;       /* data from dest to source too */
    int seconds;     /* of each test of throughput */
    int streams;     /* of a second test of throughput; 1: there is none */
    bool brief;      /* throughput and round trips alone */
    int64_t wait_ns; /* how long the node may put a test off */
};

/* Called before each step with half a sentence for a person. */
typedef void tl_nodes_tell(void *context, const char *text);

/* Blocks until all is measured or cancel_fd becomes readable; takes its tasks back then. run is
 * zero but for what the caller knows; its segments, hops, stages, bytes and quality are filled, and
 * facts of the stages path, hops, mtu, stream and streams. What failed stands in its stage's
 * record. ret_pin: the key to remember, "" where an authority vouches. Errors of
 * engine/pscheduler.h, where no throughput could be measured at all; TL_CANCELLED. */
enum tl_status tl_probe_nodes(const struct tl_nodes_spec *spec, int cancel_fd, tl_nodes_tell *tell,
                              void *context, struct tl_run *run, struct tl_facts *facts,
                              char ret_pin[TL_NODES_PIN_SIZE],
                              struct tl_error *reterr) TL_WARN_UNUSED;

#endif

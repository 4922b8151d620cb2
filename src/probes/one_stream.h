/* What the one stream says to the stages behind it. Private. */
#ifndef TL_PROBES_ONE_STREAM_H
#define TL_PROBES_ONE_STREAM_H

#include "tightlink/facts/facts.h"

/* The most that it may have got; 0: not known. Pure. */
double tl_one_stream_most_bps(const struct tl_facts *facts, enum tl_direction direction);

#endif

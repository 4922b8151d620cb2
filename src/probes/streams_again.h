/* Whether one stream and trains of datagrams are asked for again behind several streams. Private.
 */
#ifndef TL_PROBES_STREAMS_AGAIN_H
#define TL_PROBES_STREAMS_AGAIN_H

#include <stdbool.h>

#include "tightlink/facts/facts.h"

/* From what one stream, several and the trains behind them got in that direction. Pure. */
bool tl_streams_want_again(const struct tl_facts *facts, enum tl_direction direction);

#endif

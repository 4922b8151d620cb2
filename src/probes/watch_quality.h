/* How an event of the host lowers the quality of what was measured meanwhile. Private; for the
 * test, which cannot make a machine sleep. */
#ifndef TL_PROBES_WATCH_QUALITY_H
#define TL_PROBES_WATCH_QUALITY_H

#include "tightlink/facts/run.h"
#include "tightlink/host/watch.h"

enum tl_quality tl_watch_quality(enum tl_host_event_kind kind);

#endif

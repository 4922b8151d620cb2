/* When losses are one event, and how far a mean of their ranks is chance. Private to src/flow. */
#ifndef TL_FLOW_LOSS_EVENTS_H
#define TL_FLOW_LOSS_EVENTS_H

/* Losses that near the first one, in round trips, are one event. */
#define EVENT_RTTS 1.5
/* Half the 95 % interval of a mean of ranks that are uniform, times the root of their number. */
#define RANK_BOUND (1.96 * 0.2887)

#endif

/* Stores in a set of streams: payload from a disk or to one. For the two ends of a test. */
#ifndef TL_ENGINE_TRANSFER_WORKER_H
#define TL_ENGINE_TRANSFER_WORKER_H

#include <stdint.h>

#include "transfer_store.h"

struct tl_streams;
/* Gives the stream that was added last a store, which is the set's from then on; before start. */
void tl_streams_give_store(struct tl_streams *streams, struct transfer_store *store);
/* NULL where the stream has none. */
struct transfer_store *tl_streams_store(const struct tl_streams *streams, uint32_t index);

#endif

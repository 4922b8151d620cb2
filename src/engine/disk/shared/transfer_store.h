/* The disk end of a stream: where its payload comes from or goes to instead of memory.
 * Private to the engine.
 *
 * A store is a ring of blocks between the stream's worker, which moves payload over the
 * socket, and threads of its own, which read or write the disk: both work at once, and the
 * disk has as many requests as there are threads, as large as those of the disk's own test. They
 * are claimed in the order of the stream and may be finished in any order.
 *
 *      source   disk -> [threads] -> ready … -> worker -> socket
 *      sink     socket -> worker -> … full -> [threads] -> disk
 *
 * Each block has a CRC32C, computed behind the read and before the write, for comparison
 * with the other end. An area of NULL is memory: a source repeats noise, a sink forgets.
 *
 * The threads are detached and hold the store: one that a disk does not let go frees it when
 * it comes back. The worker never blocks here; it polls the event descriptor. */
#ifndef TL_ENGINE_TRANSFER_STORE_H
#define TL_ENGINE_TRANSFER_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "tightlink/engine/disk.h"

#define TRANSFER_BUFFER_BYTES (32 << 20) /* of all streams of a test at one end: half of P6's */
#define TRANSFER_SLOTS_MAX    16         /* of a stream: requests to its disk, or waiting for it */
#define TRANSFER_SUMS_MAX     4096       /* not drained yet: 1 GiB of payload */

struct transfer_store;

/* A block of a stream, as it was at this end. */
struct transfer_sum {
    uint32_t block; /* 0, 1, … */
    uint32_t bytes; /* TL_TRANSFER_BLOCK_BYTES but for the last one */
    uint32_t crc;
};

struct transfer_store_spec {
    struct tl_disk_area *area; /* held, NULL = memory */
    bool source;
    unsigned streams, index; /* of the test; each stream has its share of the area */
    unsigned threads;        /* of the test, 0 = TL_DISK_THREADS; each stream gets its share */
};

/* Allocates; starts no thread. TL_RANGE: the area holds too little for so many streams. */
enum tl_status transfer_store_create(const struct transfer_store_spec *spec,
                                     struct transfer_store **ret_store,
                                     struct tl_error *reterr) TL_WARN_UNUSED;
/* Starts the threads: with the stream, so that nothing is read ahead of the clock. */
enum tl_status transfer_store_start(struct transfer_store *store) TL_WARN_UNUSED;
/* The threads claim nothing more. The worker has taken its last look. */
void transfer_store_stop(struct transfer_store *store);
/* NULL is fine. */
void transfer_store_release(struct transfer_store *store);

/* --- The worker's side --- */

/* Readable when something changed; transfer_store_calm makes it quiet again. */
int transfer_store_event_fd(const struct transfer_store *store);
void transfer_store_calm(struct transfer_store *store);

/* Source: the next bytes to send, NULL = none yet. They stay until they are consumed. */
const unsigned char *transfer_store_peek(struct transfer_store *store, size_t *ret_bytes);
void transfer_store_consume(struct transfer_store *store, size_t bytes);

/* Sink: room for what comes next, NULL = none yet. */
unsigned char *transfer_store_room(struct transfer_store *store, size_t *ret_bytes);
void transfer_store_fill(struct transfer_store *store, size_t bytes);
/* The last block is as long as it is; then true once all is on the disk. */
void transfer_store_flush(struct transfer_store *store);
bool transfer_store_is_empty(struct transfer_store *store);

/* The worker waited that long for the disk. */
void transfer_store_add_wait(struct transfer_store *store, int64_t ns);

/* --- Anybody's --- */

/* Payload that the disk has taken (sink), or given (source). */
uint64_t transfer_store_bytes(const struct transfer_store *store);
int transfer_store_errnum(const struct transfer_store *store);
/* Adds what this store did to *side. */
void transfer_store_add_to(const struct transfer_store *store, struct tl_transfer_side *side);
/* Sums that are new, in the order in which blocks were finished. */
size_t transfer_store_drain(struct transfer_store *store, struct transfer_sum *ret_sums,
                            size_t max);

#endif

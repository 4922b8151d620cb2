/* Reading a capture with two threads: batches of decoded segments go from one to the other. */
#include "tightlink/flow/read.h"

#include <stdlib.h>
#include <string.h>

#include "tightlink/base/thread.h"

/* A few hundred segments make the cost of handing them over vanish. Half of all batches take longer
 * than it takes until a thread that is woken runs. */
#define BATCH_ITEMS 256
#define BATCHES     64

struct item {
    struct tl_segment segment;
    uint32_t hash;
    bool too_big; /* a router's report of that segment, with the MTU below */
    uint16_t mtu_bytes;
};

struct batch {
    struct item items[BATCH_ITEMS];
    unsigned count;
    enum tl_status status; /* TL_OK: more follows; else how the capture ended */
};

struct reader {
    struct tl_capture *capture;
    struct tl_decoder decoder;
    struct tl_read *read;
    struct tl_error broken;
    /* Between the threads. Batches are filled and taken in turns. Who has to wait does so until
     * half of them are his: to be woken for each would cost more than what is in it. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned filled, taken; /* batches so far */
    bool waits;             /* one of the two */
    bool ended;             /* nothing is filled any more */
    bool stop;              /* nobody takes any more */
    struct batch batches[BATCHES];
};

static void note_time(struct tl_read *read, int64_t time_ns)
{
    if (read->first_ns == 0 || time_ns < read->first_ns)
        read->first_ns = time_ns;
    if (time_ns > read->last_ns)
        read->last_ns = time_ns;
}

static void fill(struct reader *reader, struct batch *batch)
{
    struct tl_packet packet;
    batch->count = 0;
    batch->status = TL_OK;
    while (batch->count < BATCH_ITEMS) {
        struct item *item = &batch->items[batch->count];
        batch->status = tl_capture_next(reader->capture, &packet, &reader->broken);
        if (batch->status != TL_OK)
            return;
        note_time(reader->read, packet.time_ns);
        enum tl_decoded decoded = tl_decode(&reader->decoder, &packet, &item->segment);
        item->too_big = decoded == TL_DECODED_TOO_BIG;
        item->mtu_bytes = reader->decoder.too_big.mtu_bytes;
        if (decoded == TL_DECODED_TCP)
            item->hash = tl_packets_hash(&item->segment);
        batch->count += item->too_big || decoded == TL_DECODED_TCP;
    }
}

static enum tl_status take(struct tl_packets *packets, const struct batch *batch)
{
    enum tl_status status = TL_OK;
    for (unsigned i = 0; i < batch->count && status == TL_OK; i++) {
        const struct item *item = &batch->items[i];
        if (item->too_big)
            tl_packets_add_too_big(packets, &item->segment,
                                   &(struct tl_too_big){.mtu_bytes = item->mtu_bytes});
        else
            status = tl_packets_add(packets, &item->segment, item->hash);
    }
    return status;
}

/* --- Two threads ---------------------------------------------------------------------------- */

static void wait_change(struct reader *reader)
{
    reader->waits = true;
    pthread_cond_wait(&reader->changed, &reader->lock);
}

/* The next batch that may be filled; NULL where nobody takes any more. */
static struct batch *wait_free(struct reader *reader)
{
    pthread_mutex_lock(&reader->lock);
    if (reader->filled - reader->taken == BATCHES)
        while (reader->filled - reader->taken > BATCHES / 2 && !reader->stop)
            wait_change(reader);
    bool stop = reader->stop;
    pthread_mutex_unlock(&reader->lock);
    return stop ? NULL : &reader->batches[reader->filled % BATCHES];
}

static const struct batch *wait_filled(struct reader *reader)
{
    pthread_mutex_lock(&reader->lock);
    if (reader->filled == reader->taken)
        while (reader->filled - reader->taken < BATCHES / 2 && !reader->ended)
            wait_change(reader);
    pthread_mutex_unlock(&reader->lock);
    return &reader->batches[reader->taken % BATCHES];
}

/* One more batch for the other, who wakes once half of them are his. */
static void advance(struct reader *reader, unsigned *count, bool ended)
{
    pthread_mutex_lock(&reader->lock);
    ++*count;
    reader->ended |= ended;
    if (reader->waits && (reader->ended || reader->filled - reader->taken == BATCHES / 2)) {
        reader->waits = false;
        pthread_cond_signal(&reader->changed);
    }
    pthread_mutex_unlock(&reader->lock);
}

static void *decode_all(void *context)
{
    struct reader *reader = context;
    enum tl_status status = TL_OK;
    struct batch *batch;
    while (status == TL_OK && (batch = wait_free(reader)) != NULL) {
        fill(reader, batch);
        status = batch->status;
        advance(reader, &reader->filled, status != TL_OK);
    }
    return NULL;
}

static enum tl_status take_all(struct reader *reader, struct tl_packets *packets)
{
    enum tl_status ended = TL_OK, status = TL_OK;
    while (ended == TL_OK && status == TL_OK) {
        const struct batch *batch = wait_filled(reader);
        status = take(packets, batch);
        ended = batch->status;
        advance(reader, &reader->taken, false);
    }
    return status;
}

static enum tl_status run(struct reader *reader, struct tl_packets *packets)
{
    pthread_t thread;
    if (tl_thread_start(&thread, decode_all, reader) != 0) { /* then one does both */
        enum tl_status status = TL_OK;
        struct batch *batch = &reader->batches[0];
        do {
            fill(reader, batch);
            status = take(packets, batch);
        } while (batch->status == TL_OK && status == TL_OK);
        return status;
    }
    enum tl_status status = take_all(reader, packets);
    pthread_mutex_lock(&reader->lock);
    reader->stop = true;
    pthread_cond_signal(&reader->changed);
    pthread_mutex_unlock(&reader->lock);
    pthread_join(thread, NULL);
    return status;
}

enum tl_status tl_read_capture(struct tl_capture *capture, struct tl_packets *packets,
                               struct tl_read *ret_read, struct tl_error *ret_broken)
{
    struct reader *reader = calloc(1, sizeof *reader);
    *ret_broken = (struct tl_error){0};
    *ret_read = (struct tl_read){0};
    if (!reader)
        return TL_NOMEM;
    reader->capture = capture;
    reader->read = ret_read;
    tl_decoder_init(&reader->decoder);
    pthread_mutex_init(&reader->lock, NULL);
    pthread_cond_init(&reader->changed, NULL);
    enum tl_status status = run(reader, packets);
    *ret_broken = reader->broken;
    memcpy(ret_read->counts, reader->decoder.counts, sizeof ret_read->counts);
    pthread_cond_destroy(&reader->changed);
    pthread_mutex_destroy(&reader->lock);
    free(reader);
    return status;
}

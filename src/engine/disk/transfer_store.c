/* The ring between a stream's worker and its disk threads; see transfer_store.h.
 *
 * A slot's state goes round:
 *
 *     source   FREE -> BUSY (a thread reads) -> FULL -> the worker has sent it -> FREE
 *     sink     FREE -> the worker has filled it -> FULL -> BUSY (a thread writes) -> FREE
 *
 * A slot holds what the disk reads or writes at once, which is several blocks of the checksum:
 * turn t of the stream is in slot t % slots. Everything but a slot's bytes is under the lock; it
 * is taken a few times a turn, never while the disk works. */
#include "transfer_store.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "disk_private.h"
#include "tightlink/base/random.h"
#include "tightlink/base/thread.h"
#include "tightlink/base/time.h"
#include "tightlink/base/wake.h"
#include "udp_crc.h"

enum slot_state { SLOT_FREE, SLOT_BUSY, SLOT_FULL };

#define SLOT_BLOCKS 4 /* checksums of a slot, at most */
_Static_assert(SLOT_BLOCKS *TL_TRANSFER_BLOCK_BYTES == TL_DISK_BLOCK_BYTES,
               "the disk gets requests as large as in its own test");

struct slot {
    unsigned char *bytes;
    size_t used; /* sink: filled so far; source: read */
    uint32_t crcs[SLOT_BLOCKS];
    enum slot_state state;
};

struct transfer_store {
    atomic_uint holds;
    struct transfer_store_spec spec;
    uint64_t base_bytes, span_bytes; /* this stream's part of the area */
    unsigned threads, slot_count;
    size_t slot_bytes; /* a multiple of TL_TRANSFER_BLOCK_BYTES */
    int event_fd;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* for the threads */
    bool stopping, flushed;
    struct slot slots[TRANSFER_SLOTS_MAX];
    uint64_t claimed;          /* the next turn that a thread takes */
    uint64_t current;          /* the turn at which the worker is */
    size_t offset;             /* in it: sent (source) */
    uint64_t finished;         /* turns that the threads are done with */
    struct transfer_sum *sums; /* ring */
    size_t sum_first, sum_count;
    _Atomic uint64_t disk_bytes, disk_ns, wait_ns;
    atomic_int errnum;
};

static struct slot *slot_of(struct transfer_store *store, uint64_t turn)
{
    return &store->slots[turn % store->slot_count];
}

static void tell_worker(struct transfer_store *store)
{
    tl_wake(store->event_fd);
}

static uint32_t sum_of(const void *bytes, size_t len)
{
    return ~udp_crc32c(UDP_CRC_BEGIN, bytes, len);
}

static void sum_slot(struct slot *slot)
{
    for (size_t at = 0; at < slot->used; at += TL_TRANSFER_BLOCK_BYTES) {
        size_t left = slot->used - at;
        slot->crcs[at / TL_TRANSFER_BLOCK_BYTES] = sum_of(
            slot->bytes + at, left < TL_TRANSFER_BLOCK_BYTES ? left : TL_TRANSFER_BLOCK_BYTES);
    }
}

/* Under the lock. The oldest goes when nobody drains: its block stays unchecked. */
static void add_sum(struct transfer_store *store, const struct transfer_sum *sum)
{
    if (store->sum_count == TRANSFER_SUMS_MAX) {
        store->sum_first = (store->sum_first + 1) % TRANSFER_SUMS_MAX;
        store->sum_count--;
    }
    store->sums[(store->sum_first + store->sum_count++) % TRANSFER_SUMS_MAX] = *sum;
}

/* Under the lock. */
static void add_sums(struct transfer_store *store, uint64_t turn, const struct slot *slot)
{
    uint64_t first = turn * (store->slot_bytes / TL_TRANSFER_BLOCK_BYTES);
    for (size_t at = 0; at < slot->used; at += TL_TRANSFER_BLOCK_BYTES) {
        size_t left = slot->used - at, i = at / TL_TRANSFER_BLOCK_BYTES;
        size_t bytes = left < TL_TRANSFER_BLOCK_BYTES ? left : TL_TRANSFER_BLOCK_BYTES;
        add_sum(store,
                &(struct transfer_sum){(uint32_t)(first + i), (uint32_t)bytes, slot->crcs[i]});
    }
}

size_t transfer_store_drain(struct transfer_store *store, struct transfer_sum *ret_sums, size_t max)
{
    size_t count = 0;
    pthread_mutex_lock(&store->lock);
    for (; count < max && store->sum_count > 0; count++) {
        ret_sums[count] = store->sums[store->sum_first];
        store->sum_first = (store->sum_first + 1) % TRANSFER_SUMS_MAX;
        store->sum_count--;
    }
    pthread_mutex_unlock(&store->lock);
    return count;
}

/* --- The threads ---------------------------------------------------------------------------- */

/* Waits for a turn to work on; false at the end. */
static bool claim(struct transfer_store *store, uint64_t *ret_turn)
{
    enum slot_state wanted = store->spec.source ? SLOT_FREE : SLOT_FULL;
    pthread_mutex_lock(&store->lock);
    while (!store->stopping && slot_of(store, store->claimed)->state != wanted)
        pthread_cond_wait(&store->changed, &store->lock);
    bool more = !store->stopping;
    if (more) {
        *ret_turn = store->claimed++;
        slot_of(store, *ret_turn)->state = SLOT_BUSY;
    }
    pthread_mutex_unlock(&store->lock);
    return more;
}

static uint64_t place_of(const struct transfer_store *store, uint64_t turn)
{
    return store->base_bytes + turn * store->slot_bytes % store->span_bytes;
}

/* Without O_DIRECT the page cache would answer the second time round: it gives each part back. */
static int read_slot(struct transfer_store *store, struct slot *slot, uint64_t place)
{
    const struct tl_disk_area *area = store->spec.area;
    int errnum = disk_read_block(area->fd, slot->bytes, store->slot_bytes, place);
    if (errnum == 0 && !area->info.direct)
        (void)posix_fadvise(area->fd, (off_t)place, (off_t)store->slot_bytes, POSIX_FADV_DONTNEED);
    return errnum;
}

/* Without O_DIRECT a slot counts once the device has taken it. O_DIRECT wants whole pages: what
 * is behind the last bytes of a stream is noise in a file of our own. */
static int write_slot(struct transfer_store *store, struct slot *slot, uint64_t place)
{
    const struct tl_disk_area *area = store->spec.area;
    size_t bytes = (slot->used + TL_DISK_ALIGN_BYTES - 1) / TL_DISK_ALIGN_BYTES;
    bytes *= TL_DISK_ALIGN_BYTES;
    int errnum = disk_write_block(area->fd, slot->bytes, bytes, place);
    if (errnum == 0 && !area->info.direct)
        (void)sync_file_range(area->fd, (off_t)place, (off_t)bytes,
                              SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                                  SYNC_FILE_RANGE_WAIT_AFTER);
    return errnum;
}

static int work(struct transfer_store *store, uint64_t turn)
{
    struct slot *slot = slot_of(store, turn);
    int64_t from_ns = tl_now_ns();
    int errnum = 0;
    if (store->spec.source) {
        errnum = read_slot(store, slot, place_of(store, turn));
        slot->used = store->slot_bytes;
    }
    int64_t disk_ns = tl_now_ns() - from_ns;
    sum_slot(slot);
    if (!store->spec.source && store->spec.area) {
        from_ns = tl_now_ns();
        errnum = write_slot(store, slot, place_of(store, turn));
        disk_ns = tl_now_ns() - from_ns;
    }
    atomic_fetch_add(&store->disk_ns, (uint64_t)disk_ns);
    return errnum;
}

static void finish(struct transfer_store *store, uint64_t turn, int errnum)
{
    struct slot *slot = slot_of(store, turn);
    pthread_mutex_lock(&store->lock);
    if (errnum != 0) {
        int none = 0;
        atomic_compare_exchange_strong(&store->errnum, &none, errnum);
        store->stopping = true;
        pthread_cond_broadcast(&store->changed);
    } else {
        add_sums(store, turn, slot);
        atomic_fetch_add(&store->disk_bytes, slot->used);
        slot->state = store->spec.source ? SLOT_FULL : SLOT_FREE;
        store->finished++;
    }
    pthread_mutex_unlock(&store->lock);
    tell_worker(store);
}

static void *thread_main(void *context)
{
    struct transfer_store *store = context;
    uint64_t turn;
    while (claim(store, &turn))
        finish(store, turn, work(store, turn));
    transfer_store_release(store);
    return NULL;
}

enum tl_status transfer_store_start(struct transfer_store *store)
{
    int errnum = 0;
    for (unsigned i = 0; i < store->threads && errnum == 0; i++) {
        atomic_fetch_add(&store->holds, 1);
        errnum = tl_thread_start(NULL, thread_main, store);
        if (errnum != 0)
            transfer_store_release(store);
    }
    return errnum == 0 ? TL_OK : TL_IO;
}

void transfer_store_stop(struct transfer_store *store)
{
    pthread_mutex_lock(&store->lock);
    store->stopping = true;
    pthread_cond_broadcast(&store->changed);
    pthread_mutex_unlock(&store->lock);
}

/* --- The worker --- */

int transfer_store_event_fd(const struct transfer_store *store)
{
    return store->event_fd;
}

void transfer_store_calm(struct transfer_store *store)
{
    eventfd_t count;
    (void)eventfd_read(store->event_fd, &count);
}

/* Moves the worker on to the next turn. */
static void leave_slot(struct transfer_store *store, enum slot_state state)
{
    pthread_mutex_lock(&store->lock);
    slot_of(store, store->current)->state = state;
    store->current++;
    store->offset = 0;
    if (state == SLOT_FREE && !store->spec.area) {
        /* Memory: the next turn of this slot is ready as it is. */
        struct slot *slot = slot_of(store, store->current - 1);
        slot->state = SLOT_FULL;
        add_sums(store, store->current - 1, slot);
        atomic_fetch_add(&store->disk_bytes, slot->used);
    }
    pthread_cond_signal(&store->changed);
    pthread_mutex_unlock(&store->lock);
}

const unsigned char *transfer_store_peek(struct transfer_store *store, size_t *ret_bytes)
{
    struct slot *slot = slot_of(store, store->current);
    pthread_mutex_lock(&store->lock);
    bool ready = slot->state == SLOT_FULL;
    pthread_mutex_unlock(&store->lock);
    *ret_bytes = ready ? slot->used - store->offset : 0;
    return ready ? slot->bytes + store->offset : NULL;
}

void transfer_store_consume(struct transfer_store *store, size_t bytes)
{
    store->offset += bytes;
    if (store->offset == slot_of(store, store->current)->used)
        leave_slot(store, SLOT_FREE);
}

unsigned char *transfer_store_room(struct transfer_store *store, size_t *ret_bytes)
{
    struct slot *slot = slot_of(store, store->current);
    pthread_mutex_lock(&store->lock);
    bool ready = slot->state == SLOT_FREE;
    pthread_mutex_unlock(&store->lock);
    if (ready && store->offset == 0)
        slot->used = 0;
    *ret_bytes = ready ? store->slot_bytes - store->offset : 0;
    return ready ? slot->bytes + store->offset : NULL;
}

void transfer_store_fill(struct transfer_store *store, size_t bytes)
{
    store->offset += bytes;
    slot_of(store, store->current)->used = store->offset;
    if (store->offset == store->slot_bytes)
        leave_slot(store, SLOT_FULL);
}

void transfer_store_flush(struct transfer_store *store)
{
    if (!store->flushed && store->offset > 0)
        leave_slot(store, SLOT_FULL);
    store->flushed = true;
}

bool transfer_store_is_empty(struct transfer_store *store)
{
    pthread_mutex_lock(&store->lock);
    bool empty = store->finished == store->current;
    pthread_mutex_unlock(&store->lock);
    return empty;
}

void transfer_store_add_wait(struct transfer_store *store, int64_t ns)
{
    atomic_fetch_add(&store->wait_ns, (uint64_t)ns);
}

uint64_t transfer_store_bytes(const struct transfer_store *store)
{
    return atomic_load(&store->disk_bytes);
}

int transfer_store_errnum(const struct transfer_store *store)
{
    return atomic_load(&store->errnum);
}

void transfer_store_add_to(const struct transfer_store *store, struct tl_transfer_side *side)
{
    int errnum = transfer_store_errnum(store);
    side->disk = side->disk || store->spec.area;
    if (store->spec.area) {
        side->disk_bytes += transfer_store_bytes(store);
        side->disk_ns += atomic_load(&store->disk_ns);
    }
    side->wait_ns += atomic_load(&store->wait_ns);
    if (side->errnum == 0)
        side->errnum = errnum;
}

/* --- Life --- */

static enum tl_status choose_part(struct transfer_store *store, struct tl_error *reterr)
{
    const struct transfer_store_spec *spec = &store->spec;
    if (!spec->area)
        return TL_OK;
    uint64_t bytes = spec->source ? tl_disk_area_written_bytes(spec->area) : spec->area->info.bytes;
    store->span_bytes = bytes / spec->streams / store->slot_bytes * store->slot_bytes;
    store->base_bytes = spec->index * store->span_bytes;
    if (store->span_bytes == 0)
        return tl_error_set(reterr, TL_RANGE,
                            "there is too little in the disk's test area for %u streams",
                            spec->streams);
    return TL_OK;
}

static enum tl_status allocate(struct transfer_store *store)
{
    struct tl_random random;
    uint64_t seed;
    enum tl_status status = tl_random_secure(&seed, sizeof seed);
    if (status != TL_OK)
        return status;
    tl_random_seed(&random, seed);
    store->sums = calloc(TRANSFER_SUMS_MAX, sizeof *store->sums);
    store->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!store->sums || store->event_fd < 0)
        return TL_NOMEM;
    for (unsigned i = 0; i < store->slot_count; i++) {
        struct slot *slot = &store->slots[i];
        slot->bytes = disk_block_alloc(store->slot_bytes);
        if (!slot->bytes)
            return TL_NOMEM;
        if (!store->spec.source || store->spec.area)
            continue;
        tl_random_fill(&random, slot->bytes, store->slot_bytes);
        slot->used = store->slot_bytes;
        sum_slot(slot);
        slot->state = SLOT_FULL;
    }
    return TL_OK;
}

/* As many threads as its share, and twice as many slots, within the memory of all streams. Many
 * streams get smaller slots rather than fewer than four: one to read or write, one on its way. */
static void choose_depth(struct transfer_store *store)
{
    const struct transfer_store_spec *spec = &store->spec;
    unsigned threads = spec->threads > 0 ? spec->threads : TL_DISK_THREADS;
    size_t share_bytes = TRANSFER_BUFFER_BYTES / spec->streams;
    store->threads = (threads + spec->streams - 1) / spec->streams;
    if (!spec->area) /* memory: a source needs none, a sink one for its sums */
        store->threads = spec->source ? 0 : 1;
    store->slot_bytes = spec->area ? TL_DISK_BLOCK_BYTES : TL_TRANSFER_BLOCK_BYTES;
    while (store->slot_bytes > TL_TRANSFER_BLOCK_BYTES && share_bytes / store->slot_bytes < 4)
        store->slot_bytes /= 2;
    size_t most = share_bytes / store->slot_bytes;
    store->slot_count = most < TRANSFER_SLOTS_MAX ? (unsigned)most : TRANSFER_SLOTS_MAX;
    if (store->slot_count < 2)
        store->slot_count = 2;
    if (store->threads > store->slot_count / 2)
        store->threads = store->slot_count / 2;
}

enum tl_status transfer_store_create(const struct transfer_store_spec *spec,
                                     struct transfer_store **ret_store, struct tl_error *reterr)
{
    struct transfer_store *store = calloc(1, sizeof *store);
    if (!store)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    store->spec = *spec;
    store->event_fd = -1;
    atomic_init(&store->holds, 1);
    pthread_mutex_init(&store->lock, NULL);
    pthread_cond_init(&store->changed, NULL);
    if (spec->area) {
        tl_disk_area_hold(spec->area);
        (void)disk_area_set_direct(spec->area, spec->area->info.direct);
    }
    choose_depth(store);
    enum tl_status status = choose_part(store, reterr);
    if (status == TL_OK && (status = allocate(store)) != TL_OK)
        (void)tl_error_set(reterr, status, "a transfer's buffers: %s", tl_status_text(status));
    if (status == TL_OK)
        *ret_store = store;
    else
        transfer_store_release(store);
    return status;
}

void transfer_store_release(struct transfer_store *store)
{
    if (!store || atomic_fetch_sub(&store->holds, 1) != 1)
        return;
    for (unsigned i = 0; i < store->slot_count; i++)
        free(store->slots[i].bytes);
    free(store->sums);
    if (store->event_fd >= 0)
        close(store->event_fd);
    pthread_mutex_destroy(&store->lock);
    pthread_cond_destroy(&store->changed);
    tl_disk_area_release(store->spec.area);
    free(store);
}

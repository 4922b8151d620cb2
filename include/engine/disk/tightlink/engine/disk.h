/* Disks: how fast a directory that a person named can be written and read.
 *
 * Everything happens in an area: one file without a name, made in that directory and gone
 * with the last descriptor, so that a killed program leaves nothing (promise P8). An area
 * holds at most TL_DISK_BYTES_MAX, and all areas of a program on one file system together
 * TL_DISK_FREE_RATIO of its free space; nothing that exists in the directory is ever opened. An
 * area is written, read back, and used as source or destination of a transfer (struct tl_tcp_spec).
 *
 *   tl_disk_area_create -> tl_disk_test (write) -> tl_disk_test (read) … -> tl_disk_area_release
 *
 * Input and output are done in blocks of TL_DISK_BLOCK_BYTES in the order of the file, as many at a
 * time as is asked for: past the page cache by one thread with io_uring where the kernel permits it
 * (the responder's sandbox does not), else by a thread each. A disk that does not
 * answer (a network file system that is gone) leaves a thread in the kernel which nobody
 * can end: then the call returns TL_TIMEOUT, the thread keeps what it holds, and frees it
 * when it comes back. Never prints. */
#ifndef TL_ENGINE_DISK_H
#define TL_ENGINE_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/status.h"
#include "tightlink/engine/wire_disk.h"
#include "tightlink/host/disk.h"

#define TL_DISK_BYTES_MAX   (INT64_C(1) << 30)         /* of an area (P8) */
#define TL_DISK_BYTES_MIN   (INT64_C(4) << 20)         /* less tells nothing */
#define TL_DISK_FREE_RATIO  0.05                       /* of the free space (P8) */
#define TL_DISK_BLOCK_BYTES (1 << 20)                  /* of one read or write */
#define TL_DISK_ALIGN_BYTES 4096                       /* of O_DIRECT's buffers */
#define TL_DISK_THREADS     4                          /* unless told otherwise */
#define TL_DISK_HANG_NS     (10000 * INT64_C(1000000)) /* one operation that takes longer */
#define TL_DISK_NOTE_SIZE   256

/* --- Area ----------------------------------------------------------------------------- */

struct tl_disk_area_spec {
    const char *directory; /* named by the user of this very machine, never by a peer */
    uint64_t bytes;        /* at most; 0 = as many as the limits above permit */
    bool buffered;         /* not even try O_DIRECT */
    bool shared;           /* others come as well: leave half of what may be used to the next */
};

struct tl_disk_area_info {
    char directory[256];          /* where links led to; cut where it is longer */
    uint64_t bytes;               /* size, a multiple of TL_DISK_BLOCK_BYTES */
    uint64_t free_bytes;          /* of the file system, for this user, before */
    bool direct;                  /* O_DIRECT works here */
    char note[TL_DISK_NOTE_SIZE]; /* what was fallen back from, a sentence; "" = nothing */
};

struct tl_disk_area;

/* Makes an area. Each error is a sentence with the directory and what to do. TL_UNKNOWN: no such
 * directory; TL_USAGE: a file or a device, not a directory; TL_DENIED: may not write there, or
 * read-only; TL_NOSPACE: full or over the quota; TL_BUSY: other areas hold what may be used;
 * TL_LIMIT: 5 % of what is free is less than TL_DISK_BYTES_MIN; TL_UNSUPPORTED: no files can be
 * made there; TL_NOMEM, TL_IO. May take as long as the file system takes to answer. */
enum tl_status tl_disk_area_create(const struct tl_disk_area_spec *spec,
                                   struct tl_disk_area **ret_area,
                                   struct tl_error *reterr) TL_WARN_UNUSED;

/* Gives the caller's hold back; the file goes with the last one. NULL is fine. Any thread. */
void tl_disk_area_release(struct tl_disk_area *area);
struct tl_disk_area *tl_disk_area_hold(struct tl_disk_area *area);

/* Valid as long as the area. */
const struct tl_disk_area_info *tl_disk_area_info(const struct tl_disk_area *area);

/* How much of it holds data, from its start: what a read test or a source may read. */
uint64_t tl_disk_area_written_bytes(const struct tl_disk_area *area);

/* --- Test ------------------------------------------------------------------------------- */

struct tl_disk_spec {
    enum tl_disk_operation operation;
    enum tl_disk_mode mode;
    unsigned threads;    /* blocks under way, 1 to TL_DISK_THREADS_MAX; 0 = TL_DISK_THREADS */
    bool no_ring;        /* not by io_uring */
    int64_t duration_ns; /* at most */
    uint64_t max_bytes;  /* moved at most; 0 = by time alone. The area is gone through again from
                          * its start when its end is reached */
    int cancel_fd;       /* readable = end now; -1 = none */
};

/* Plain data. NAN, -1 = not known. */
struct tl_disk_result {
    enum tl_disk_operation operation;
    enum tl_disk_mode mode; /* as it was done */
    enum tl_disk_cache cache;
    enum tl_disk_end end;
    int errnum;
    unsigned threads; /* blocks under way */
    bool ring;        /* by io_uring */
    uint64_t bytes;
    uint64_t operations; /* blocks; of these the times: */
    int64_t p50_ns, p95_ns, p99_ns, max_ns;
    int64_t elapsed_ns;           /* first block begun to last block done; sync_ns is apart */
    int64_t sync_ns;              /* the fdatasync() behind the last block; write only */
    double rate_bps;              /* bits a second over elapsed_ns; buffered writes: and sync_ns */
    double low_bps, high_bps;     /* 95 % interval of the mean over tenths of the time */
    uint64_t cpu_ns;              /* of all threads */
    char note[TL_DISK_NOTE_SIZE]; /* a sentence; "" = nothing to say */
};

struct tl_disk_live {
    int64_t elapsed_ns;
    uint64_t bytes;
    double rate_bps; /* over the last tenth of a second or more; NAN = not known yet */
};
/* Called on the calling thread some ten times a second. Must not block. */
typedef void tl_disk_live_fn(void *context, const struct tl_disk_live *live);

/* Runs one test and blocks until it is over. *ret_result is filled in every case, with what was
 * measured until then. TL_OK: it ran; TL_DISK_END_FULL is TL_OK too when anything was measured.
 * TL_CANCELLED. TL_RANGE: the spec, or a read of an area that holds no data. TL_NOSPACE: full
 * before the first block. TL_TIMEOUT: the disk hangs. TL_IO. One test at a time on an area. live
 * may be NULL. */
enum tl_status tl_disk_test(struct tl_disk_area *area, const struct tl_disk_spec *spec,
                            tl_disk_live_fn *live, void *context, struct tl_disk_result *ret_result,
                            struct tl_error *reterr) TL_WARN_UNUSED;

/* "past the page cache", … never NULL. */
const char *tl_disk_cache_text(enum tl_disk_cache cache);

/* --- In a transfer --------------------------------------------------------------------------- */

/* What the disk side of a transfer did, at one end; all streams together. */
struct tl_transfer_side {
    bool disk;           /* this end used its disk */
    uint64_t disk_bytes; /* read from it or written to it */
    uint64_t disk_ns;    /* threads' time inside reads or writes */
    uint64_t wait_ns;    /* streams' time in which they waited for the disk */
    int errnum;          /* of the disk, 0 */
};

/* End to end: each block of a stream has a CRC32C at both ends, behind the read from the source
 * and before the write to the destination. */
struct tl_transfer_check {
    uint64_t checked_bytes;
    uint64_t wrong_count;       /* blocks that differ: some device on the way, or a host's memory */
    uint64_t first_wrong_bytes; /* offset in its stream */
};

#endif

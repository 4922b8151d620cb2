/* What the disk tests (disk.h) and the messages about them have in common. */
#ifndef TL_ENGINE_WIRE_DISK_H
#define TL_ENGINE_WIRE_DISK_H

#define TL_DISK_THREADS_MAX     16
#define TL_TRANSFER_BLOCK_BYTES (256 * 1024) /* of one checksum */

enum tl_disk_operation { TL_DISK_WRITE, TL_DISK_READ };

enum tl_disk_mode {
    TL_DISK_MODE_DIRECT,   /* past the page cache; buffered with a note where that cannot be */
    TL_DISK_MODE_BUFFERED, /* through the page cache: as most programs do */
    TL_DISK_MODE_SYNC,     /* buffered, fdatasync() after each block (write only) */
};

/* Who may have answered a read but the disk. */
enum tl_disk_cache {
    TL_DISK_CACHE_NONE,     /* O_DIRECT: past the page cache; the device's own may have */
    TL_DISK_CACHE_DROPPED,  /* the pages were given back first (POSIX_FADV_DONTNEED) */
    TL_DISK_CACHE_POSSIBLE, /* they could not be, or the file system lives in memory */
};

/* Why a test ended. */
enum tl_disk_end {
    TL_DISK_END_NOT_RUN,
    TL_DISK_END_TIME,
    TL_DISK_END_BYTES,
    TL_DISK_END_CANCELLED,
    TL_DISK_END_FULL,  /* ENOSPC or EDQUOT; errnum says which */
    TL_DISK_END_ERROR, /* errnum */
    TL_DISK_END_HUNG,  /* an operation took longer than TL_DISK_HANG_NS */
};

#endif

/* The far end's disk: disk.h says what a test of a disk is. */
#ifndef TL_ENGINE_CLIENT_DISK_H
#define TL_ENGINE_CLIENT_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/engine/client.h"
#include "tightlink/engine/disk.h"

/* What the responder measured in the directory which its administrator opened. */
struct tl_disk_far {
    struct tl_disk_result write, read; /* end NOT_RUN where not asked for */
    uint64_t area_bytes, free_bytes;
    bool direct;
    struct tl_host_disk host; /* what is under it */
};

/* A write test and a read test at the far end, threads and duration_ns (each) as asked, clamped
 * there. Waits its turn. TL_DENIED: the responder opens no directory, its sentence says how it
 * would. TL_NOSPACE, TL_IO, TL_TIMEOUT … as tl_disk_test; TL_CLOSED, TL_CANCELLED. live and note
 * of the queue as tl_client_tcp_test. */
enum tl_status tl_client_disk_test(struct tl_client *client, const struct tl_disk_spec *spec,
                                   struct tl_disk_far *ret_far,
                                   struct tl_error *reterr) TL_WARN_UNUSED;

#endif

/* An errand to the disk in the directory which the administrator opened: makes an area, writes it,
 * reads it, on a thread of its own, since a disk may take any time to answer. The thread is
 * detached and shares its record with who sent it: whoever lets go last frees it, so that the loop
 * never waits for a disk. Nothing here knows sessions. */
#ifndef TL_ENGINE_DISK_ERRAND_H
#define TL_ENGINE_DISK_ERRAND_H

#include "loop.h"
#include "tightlink/engine/disk.h"

struct disk_errand;

struct disk_errand_spec {
    const char *directory;
    struct tl_disk_area *area;     /* held from start on; NULL: to be made */
    struct tl_disk_area *replaced; /* let go by the thread, before it makes one: that takes time */
    bool write, read;              /* a test of each, with `test` */
    struct tl_disk_spec test;      /* without operation and cancel_fd */
};

/* Valid during the call that tells it. */
struct disk_answer {
    enum tl_status status;
    struct tl_error error;
    struct tl_disk_area *area;        /* held by the errand */
    struct tl_disk_result write, red; /* of the tests that were asked for */
    struct tl_host_disk host;         /* what is under it, where reading was asked for */
};

/* On the loop's thread, once; it may let the errand go. */
typedef void disk_errand_fn(void *owner, const struct disk_answer *answer);

/* TL_NOMEM, TL_IO: no thread, no descriptor. */
enum tl_status disk_errand_start(struct loop *loop, const struct disk_errand_spec *spec,
                                 disk_errand_fn *done, void *owner,
                                 struct disk_errand **ret_errand) TL_WARN_UNUSED;
/* Nobody is told any more, and what runs is asked to end. NULL is fine. */
void disk_errand_let_go(struct disk_errand *errand);

#endif

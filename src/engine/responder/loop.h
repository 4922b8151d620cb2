/* The responder's one loop: descriptors and whom they belong to, and a tick while anybody wants
 * one. Knows nothing of what it wakes. All of it on one thread. */
#ifndef TL_ENGINE_LOOP_H
#define TL_ENGINE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/status.h"

#define TICK_NS (50 * INT64_C(1000000))

/* A descriptor in the loop, first member of what belongs to it. An object may be buried while
 * events of the same wakeup still point to it: it is freed after the last one. */
struct watch {
    void (*ready)(struct watch *watch, uint32_t events); /* NULL: buried, or not watched */
    int fd;                                              /* owned, -1 = none */
    struct watch *next_dead;
};

/* Every TICK_NS, one later where the process was held up. False: nobody needs the next one, until
 * loop_need_tick(). */
typedef bool loop_tick_fn(void *context, int64_t now_ns);

struct loop;

enum tl_status loop_create(loop_tick_fn *tick, void *context,
                           struct loop **ret_loop) TL_WARN_UNUSED;
/* Frees what is buried. NULL is fine. */
void loop_destroy(struct loop *loop);

/* events as epoll_ctl(2) has them. */
enum tl_status loop_add(struct loop *loop, struct watch *watch, uint32_t events,
                        void (*ready)(struct watch *, uint32_t)) TL_WARN_UNUSED;
void loop_change(struct loop *loop, struct watch *watch, uint32_t events);
/* No more events of it. The descriptor is the caller's; -1 where there was none. */
int loop_release(struct loop *loop, struct watch *watch);
/* No more events of it, and its descriptor is closed, if there is one. */
void loop_close(struct loop *loop, struct watch *watch);
/* Closes the descriptor and frees the object after the current wakeup. */
void loop_bury(struct loop *loop, struct watch *watch);

void loop_need_tick(struct loop *loop);

/* One wakeup: waits, and calls whom it concerns. */
enum tl_status loop_wait(struct loop *loop, struct tl_error *reterr) TL_WARN_UNUSED;
/* Frees what was buried: between two wakeups. */
void loop_tidy(struct loop *loop);

#endif

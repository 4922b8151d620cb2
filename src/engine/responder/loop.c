/* The loop; loop.h says what it is for. */
#include "loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "tightlink/base/time.h"

#define EVENTS_PER_WAKEUP 128
#define LATE_TICKS        4 /* more of them at once: the process was held up */

struct loop {
    struct watch timer; /* first: timer_ready() finds the loop by it */
    int epoll_fd;
    bool ticking, put_off;
    loop_tick_fn *tick;
    void *context;
    struct watch *dead;
};

/* An idle responder does not wake up at all. */
static void set_tick(struct loop *loop, bool on)
{
    struct timespec tick = {.tv_nsec = on ? TICK_NS : 0};
    struct itimerspec timer = {.it_value = tick, .it_interval = tick};
    if (timerfd_settime(loop->timer.fd, 0, &timer, NULL) == 0)
        loop->ticking = on;
}

/* Where this process was held up (stopped, starved, suspended), what came meanwhile has not been
 * read yet: who spoke in time must not be found silent. The kernel tells descriptors in the order
 * in which they became ready, so that all of them have had their turn before the next tick. Never
 * twice in a row: a flood that makes every tick late puts no deadline off for long. */
static bool must_read_first(struct loop *loop, uint64_t ticks)
{
    loop->put_off = !loop->put_off && ticks > LATE_TICKS;
    return loop->put_off;
}

void loop_need_tick(struct loop *loop)
{
    if (!loop->ticking)
        set_tick(loop, true);
}

static void timer_ready(struct watch *watch, uint32_t events)
{
    struct loop *loop = (struct loop *)watch;
    uint64_t ticks = 0; /* since the last one was read */
    (void)!read(watch->fd, &ticks, sizeof ticks);
    if (must_read_first(loop, ticks))
        return;
    if (!loop->tick(loop->context, tl_now_ns()))
        set_tick(loop, false);
}

enum tl_status loop_create(loop_tick_fn *tick, void *context, struct loop **ret_loop)
{
    struct loop *loop = calloc(1, sizeof *loop);
    if (!loop)
        return TL_NOMEM;
    loop->tick = tick;
    loop->context = context;
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->timer.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    enum tl_status status = TL_IO;
    if (loop->epoll_fd >= 0 && loop->timer.fd >= 0)
        status = loop_add(loop, &loop->timer, EPOLLIN, timer_ready);
    if (status != TL_OK) {
        loop_destroy(loop);
        return status;
    }
    *ret_loop = loop;
    return TL_OK;
}

void loop_destroy(struct loop *loop)
{
    if (!loop)
        return;
    loop_tidy(loop);
    if (loop->timer.fd >= 0)
        close(loop->timer.fd);
    if (loop->epoll_fd >= 0)
        close(loop->epoll_fd);
    free(loop);
}

enum tl_status loop_add(struct loop *loop, struct watch *watch, uint32_t events,
                        void (*ready)(struct watch *, uint32_t))
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, watch->fd, &event) < 0)
        return tl_status_from_errno(errno);
    watch->ready = ready;
    return TL_OK;
}

void loop_change(struct loop *loop, struct watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    (void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, watch->fd, &event);
}

int loop_release(struct loop *loop, struct watch *watch)
{
    int fd = watch->fd;
    if (fd >= 0)
        (void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    watch->fd = -1;
    watch->ready = NULL;
    return fd;
}

/* Told to epoll before: close() alone takes a descriptor out of it only when nobody else holds its
 * file, and whoever lists /proc/PID/fd does for a moment (epoll(7), questions and answers). */
void loop_close(struct loop *loop, struct watch *watch)
{
    int fd = loop_release(loop, watch);
    if (fd >= 0)
        close(fd);
}

void loop_bury(struct loop *loop, struct watch *watch)
{
    loop_close(loop, watch);
    watch->next_dead = loop->dead;
    loop->dead = watch;
}

void loop_tidy(struct loop *loop)
{
    while (loop->dead) {
        struct watch *next = loop->dead->next_dead;
        free(loop->dead);
        loop->dead = next;
    }
}

enum tl_status loop_wait(struct loop *loop, struct tl_error *reterr)
{
    struct epoll_event events[EVENTS_PER_WAKEUP];
    int count = epoll_wait(loop->epoll_fd, events, EVENTS_PER_WAKEUP, -1);
    if (count < 0 && errno != EINTR)
        return tl_error_set(reterr, TL_IO, "epoll_wait: %s", strerror(errno));
    for (int i = 0; i < count; i++) {
        struct watch *watch = events[i].data.ptr;
        if (watch->ready)
            watch->ready(watch, events[i].events);
    }
    return TL_OK;
}

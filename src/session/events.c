/* A bounded ring behind a mutex; an eventfd wakes the reader. */
#include "events.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tightlink/base/time.h"
#include "tightlink/base/wake.h"

enum tl_status tl_events_init(struct tl_events *events, struct tl_error *reterr)
{
    events->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (events->fd < 0)
        return tl_error_set(reterr, TL_IO, "eventfd: %s", strerror(errno));
    pthread_mutex_init(&events->lock, NULL);
    events->start_ns = tl_now_ns();
    events->head = events->count = 0;
    return TL_OK;
}

void tl_events_finish(struct tl_events *events)
{
    if (events->fd < 0)
        return;
    close(events->fd);
    events->fd = -1;
    pthread_mutex_destroy(&events->lock);
}

static struct tl_event *at(struct tl_events *events, unsigned index)
{
    return &events->ring[(events->head + index) % TL_EVENTS_MAX];
}

/* Takes the index-th event out, keeping the order of the others. */
static void remove_at(struct tl_events *events, unsigned index)
{
    for (unsigned i = index; i > 0; i--)
        *at(events, i) = *at(events, i - 1);
    events->head = (events->head + 1) % TL_EVENTS_MAX;
    events->count--;
}

/* Makes room for one more; false when the new one has to go instead. */
static bool make_room(struct tl_events *events, enum tl_event_kind arriving)
{
    if (events->count < TL_EVENTS_MAX)
        return true;
    for (unsigned i = 0; i < events->count; i++) {
        if (at(events, i)->kind == TL_EVENT_LIVE) {
            remove_at(events, i);
            return true;
        }
    }
    if (arriving == TL_EVENT_LIVE)
        return false;
    remove_at(events, 0);
    return true;
}

void tl_events_push(struct tl_events *events, const struct tl_event *event)
{
    pthread_mutex_lock(&events->lock);
    if (make_room(events, event->kind)) {
        struct tl_event *slot = at(events, events->count++);
        *slot = *event;
        slot->time_ns = tl_now_ns() - events->start_ns;
    }
    pthread_mutex_unlock(&events->lock);
    tl_wake(events->fd);
}

void tl_events_note(struct tl_events *events, const char *fmt, ...)
{
    struct tl_event event = {.kind = TL_EVENT_NOTE};
    va_list args;
    va_start(args, fmt);
    vsnprintf(event.text, sizeof event.text, fmt, args);
    va_end(args);
    tl_events_push(events, &event);
}

bool tl_events_pop(struct tl_events *events, struct tl_event *ret_event)
{
    uint64_t ignored;
    pthread_mutex_lock(&events->lock);
    bool found = events->count > 0;
    if (found) {
        *ret_event = *at(events, 0);
        remove_at(events, 0);
    } else {
        (void)!read(events->fd, &ignored, sizeof ignored);
    }
    pthread_mutex_unlock(&events->lock);
    return found;
}

/* The event queue of a session: written by its worker, read by its owner. */
#ifndef TL_SESSION_EVENTS_H
#define TL_SESSION_EVENTS_H

#include <pthread.h>
#include <stdbool.h>

#include "tightlink/session/session.h"

/* Room for what a slow screen leaves unread: some seconds of live numbers. */
#define TL_EVENTS_MAX 256

struct tl_events {
    pthread_mutex_t lock;
    int fd; /* eventfd, readable while events wait */
    int64_t start_ns;
    struct tl_event ring[TL_EVENTS_MAX];
    unsigned head, count;
};

enum tl_status tl_events_init(struct tl_events *events, struct tl_error *reterr) TL_WARN_UNUSED;
void tl_events_finish(struct tl_events *events);

/* Copies the event in and stamps it. When the queue is full the oldest live
 * number goes; with none to spare, a live number that arrives is dropped, and any
 * other event takes the place of the oldest. */
void tl_events_push(struct tl_events *events, const struct tl_event *event);
/* A sentence for whoever watches. */
void tl_events_note(struct tl_events *events, const char *fmt, ...) TL_PRINTF(2, 3);
bool tl_events_pop(struct tl_events *events, struct tl_event *ret_event);

#endif

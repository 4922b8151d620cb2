/* The queue keeps order, and loses live numbers before anything else. */
#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>

#include "events.h"

static struct tl_events events;

static void setup(void)
{
    cr_assert(tl_events_init(&events, NULL) == TL_OK);
}

static void teardown(void)
{
    tl_events_finish(&events);
}

TestSuite(events, .init = setup, .fini = teardown);

static void push(enum tl_event_kind kind, int number)
{
    struct tl_event event = {.kind = kind, .worst_bytes = number};
    tl_events_push(&events, &event);
}

static bool readable(void)
{
    struct pollfd fd = {.fd = events.fd, .events = POLLIN};
    return poll(&fd, 1, 0) == 1;
}

Test(events, come_out_in_order_and_wake_the_reader)
{
    struct tl_event event;
    cr_expect(!readable());
    for (int i = 0; i < 5; i++)
        push(TL_EVENT_NOTE, i);
    cr_expect(readable());
    for (int i = 0; i < 5; i++)
        cr_assert(tl_events_pop(&events, &event) && event.worst_bytes == i);
    cr_expect(!tl_events_pop(&events, &event));
    cr_expect(!readable());
}

Test(events, a_full_queue_loses_live_numbers_first)
{
    struct tl_event event;
    for (int i = 0; i < TL_EVENTS_MAX; i++)
        push(i % 2 ? TL_EVENT_LIVE : TL_EVENT_NOTE, i);
    for (int i = 0; i < TL_EVENTS_MAX / 2; i++)
        push(TL_EVENT_NOTE, 1000 + i);
    int notes = 0, last = -1;
    while (tl_events_pop(&events, &event)) {
        cr_assert(event.kind == TL_EVENT_NOTE);
        cr_assert(event.worst_bytes > last);
        last = (int)event.worst_bytes;
        notes++;
    }
    cr_expect_eq(notes, TL_EVENTS_MAX);
}

Test(events, a_live_number_never_pushes_out_a_note)
{
    struct tl_event event;
    for (int i = 0; i < TL_EVENTS_MAX; i++)
        push(TL_EVENT_NOTE, i);
    push(TL_EVENT_LIVE, 1000);
    cr_assert(tl_events_pop(&events, &event));
    cr_expect(event.worst_bytes == 0);
    push(TL_EVENT_DONE, 2000);
    push(TL_EVENT_DONE, 2001);
    while (tl_events_pop(&events, &event))
        ;
    cr_expect(event.worst_bytes == 2001, "the newest event is kept even in a full queue");
}

/* What each event of the host makes of a measurement (doc/architecture.md, "Faults"). */
#include <criterion/criterion.h>

#include "watch_quality.h"

Test(watch, quality_of_each_event)
{
    static const struct {
        enum tl_host_event_kind kind;
        enum tl_quality quality;
    } rows[] = {
        {TL_HOST_EVENT_CLOCK_STEP, TL_QUALITY_VALID}, /* rates rest on the monotonic clock */
        {TL_HOST_EVENT_SUSPEND, TL_QUALITY_INVALID},
        {TL_HOST_EVENT_LINK_DOWN, TL_QUALITY_ABORTED},
        {TL_HOST_EVENT_LINK_GONE, TL_QUALITY_ABORTED},
        {TL_HOST_EVENT_LINK_UP, TL_QUALITY_DEGRADED},
        {TL_HOST_EVENT_ADDRESS_CHANGE, TL_QUALITY_DEGRADED},
        {TL_HOST_EVENT_ROUTE_CHANGE, TL_QUALITY_DEGRADED},
        {TL_HOST_EVENT_OVERFLOW, TL_QUALITY_DEGRADED},
    };
    cr_assert_eq(sizeof rows / sizeof *rows, TL_HOST_EVENT_KINDS, "a new event has a row");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_expect_eq(tl_watch_quality(rows[i].kind), rows[i].quality, "%s",
                     tl_host_event_text(rows[i].kind));
}

/* From the host's events to the quality of a stage. */
#include "tightlink/probes/watch.h"
#include "tightlink/engine/far.h"

#include <stdlib.h>

#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "tightlink/host/watch.h"
#include "watch_quality.h"

#define EVENTS_AT_ONCE 16

struct tl_watch {
    struct tl_host_watch *host;
    int64_t begun_ns;
};

struct tl_watch *tl_watch_create(const struct tl_far *far)
{
    struct tl_watch *watch = calloc(1, sizeof *watch);
    const struct sockaddr *peer = (const struct sockaddr *)&tl_far_info(far)->peer;
    if (watch && tl_host_watch_create(peer, &watch->host, NULL) == TL_OK)
        return watch;
    free(watch);
    return NULL;
}

void tl_watch_destroy(struct tl_watch *watch)
{
    if (!watch)
        return;
    tl_host_watch_destroy(watch->host);
    free(watch);
}

void tl_watch_begin(struct tl_watch *watch)
{
    struct tl_host_event events[EVENTS_AT_ONCE];
    if (!watch)
        return;
    while (tl_host_watch_drain(watch->host, events, EVENTS_AT_ONCE) == EVENTS_AT_ONCE)
        ;
    watch->begun_ns = tl_now_ns();
}

/* What an event does to a rate that was being measured. */
enum tl_quality tl_watch_quality(enum tl_host_event_kind kind)
{
    switch (kind) {
    case TL_HOST_EVENT_SUSPEND:
        return TL_QUALITY_INVALID;
    case TL_HOST_EVENT_LINK_DOWN:
    case TL_HOST_EVENT_LINK_GONE:
        return TL_QUALITY_ABORTED;
    case TL_HOST_EVENT_CLOCK_STEP: /* rates rest on the monotonic clock */
        return TL_QUALITY_VALID;
    default:
        return TL_QUALITY_DEGRADED;
    }
}

void tl_watch_judge(struct tl_watch *watch, struct tl_probe_outcome *outcome)
{
    struct tl_host_event events[EVENTS_AT_ONCE];
    char at[TL_UNIT_TEXT_SIZE];
    size_t count = EVENTS_AT_ONCE;
    while (watch && count == EVENTS_AT_ONCE) {
        count = tl_host_watch_drain(watch->host, events, EVENTS_AT_ONCE);
        for (size_t i = 0; i < count; i++) {
            tl_format_ns((double)(events[i].at_ns - watch->begun_ns), at);
            tl_trust_explain(&outcome->trust, tl_watch_quality(events[i].kind),
                             "%s %s into stage %s", tl_host_event_text(events[i].kind), at,
                             outcome->record.id);
        }
    }
}

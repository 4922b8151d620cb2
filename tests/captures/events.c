/* What happens when: a heap of events; and chance from one seed. */
#include <stdlib.h>

#include "model.h"

static bool before(const struct model_event *a, const struct model_event *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->order < b->order;
}

static void swap(struct model_event *a, struct model_event *b)
{
    struct model_event kept = *a;
    *a = *b;
    *b = kept;
}

void model_at(struct model *model, int64_t time_ns, enum model_event_kind kind,
              const struct model_packet *packet)
{
    if (model->event_count == model->event_room) {
        model->event_room = model->event_room ? 2 * model->event_room : 1024;
        model->events = realloc(model->events, model->event_room * sizeof *model->events);
        if (!model->events)
            abort();
    }
    size_t at = model->event_count++;
    model->events[at] =
        (struct model_event){.time_ns = time_ns, .order = model->event_order++, .kind = kind};
    if (packet)
        model->events[at].packet = *packet;
    for (; at > 0 && before(&model->events[at], &model->events[(at - 1) / 2]); at = (at - 1) / 2)
        swap(&model->events[at], &model->events[(at - 1) / 2]);
}

bool model_next(struct model *model, enum model_event_kind *ret_kind,
                struct model_packet *ret_packet)
{
    struct model_event *events = model->events;
    if (model->event_count == 0)
        return false;
    model->now_ns = events[0].time_ns;
    *ret_kind = events[0].kind;
    *ret_packet = events[0].packet;
    events[0] = events[--model->event_count];
    for (size_t at = 0;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++)
            if (child < model->event_count && before(&events[child], &events[least]))
                least = child;
        if (least == at)
            return true;
        swap(&events[at], &events[least]);
        at = least;
    }
}

double model_chance(struct model *model) /* xorshift64* */
{
    model->random ^= model->random >> 12;
    model->random ^= model->random << 25;
    model->random ^= model->random >> 27;
    return (double)(model->random * UINT64_C(0x2545f4914f6cdd1d) >> 11) / 9007199254740992.0;
}

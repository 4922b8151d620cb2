/* Two light stages at once: the one that the other's row names as its companion runs in a thread,
 * with facts of its own that are taken over when both have ended. */
#include <pthread.h>

#include "session_private.h"
#include "tightlink/base/thread.h"

struct beside {
    pthread_t thread;
    tl_probe_light_fn *measure;
    struct tl_probe probe;
    struct tl_probe_outcome outcome;
    struct tl_error error;
    enum tl_status status;
};

static void *run_beside(void *context)
{
    struct beside *beside = context;
    beside->status = beside->measure(&beside->probe, &beside->outcome, &beside->error);
    return NULL;
}

/* What ended without the far end's attention, by a skip that was meant for the other one, or on a
 * path that was dead meanwhile, is no result: the companion stays to be done, and is run alone. */
static void settle(struct tl_session *session, const struct tl_plan_step *companion,
                   bool interrupted, struct beside *beside)
{
    if (interrupted || session_ends(beside->status))
        return;
    tl_facts_take(session->result.facts, beside->probe.facts);
    session_finish_step(session, companion, &beside->outcome);
}

enum tl_status session_run_pair(struct tl_session *session, const struct tl_plan_step *step,
                                const struct tl_plan_step *companion, struct tl_error *reterr)
{
    struct beside beside = {.measure = tl_stage_at(companion->stage)->light,
                            .probe = session_probe(session)};
    struct tl_probe_outcome outcome = {0};
    beside.probe.beside = true;
    beside.probe.facts = tl_facts_create();
    if (!beside.probe.facts)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    session_announce_step(session, companion);
    bool runs = tl_thread_start(&beside.thread, run_beside, &beside) == 0;
    enum tl_status status = session_measure_step(session, step, &outcome, reterr);
    if (runs)
        pthread_join(beside.thread, NULL);
    status = session_redial(session, status, &outcome); /* a new connection: nobody uses the old */
    session_finish_step(session, step, &outcome);
    if (runs)
        settle(session, companion, outcome.interrupted, &beside);
    tl_facts_destroy(beside.probe.facts);
    return status;
}

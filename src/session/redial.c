/* A path that goes dead in a stage and comes back: the outage is kept as a finding, the connection
 * is made anew, and the stage is measured again.
 *
 * Where the far end refuses, it is the far end that went away and not the path: then the stage's
 * own words stand, as they do where nothing comes back. One that gave no answer and whose host is
 * there at once when it is dialled, or acknowledged all the time, gets the stage once more; the
 * path has nothing to do with it. */
#include <poll.h>
#include <stdio.h>

#include "session_private.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"

/* A path that is not back after that is dead: links that train anew and routing that converges take
 * some seconds. */
#define REDIAL_NS       (12 * TL_NS_PER_S)
#define REDIAL_PAUSE_MS 300
/* Shorter silences are TCP's own timers; or nothing but a program that did not answer, on a path
 * that carries: who accuses the path needs more. */
#define SILENCE_NS (1500 * TL_NS_PER_MS)

/* What a dead path looks like from here: silence, or a far end that has given us up meanwhile. */
static bool may_be_outage(enum tl_status status, const struct tl_probe_outcome *outcome)
{
    if (status == TL_TIMEOUT)
        return true;
    return status == TL_CLOSED && outcome->silent_ns >= SILENCE_NS;
}

/* TL_OK with a new connection. *ret_back_ns: when the path was first seen to carry again, though
 * the far program may have answered later. */
static enum tl_status dial(struct tl_session *session, struct tl_far **ret_far,
                           int64_t *ret_back_ns)
{
    int64_t begun_ns = tl_now_ns();
    enum tl_status status = TL_TIMEOUT;
    while (tl_now_ns() - begun_ns < REDIAL_NS && !session_is_stopped(session)) {
        struct pollfd cancel = {.fd = session->cancel_fd, .events = POLLIN};
        struct tl_error ignored;
        int64_t reached_ns = 0;
        status =
            tl_probe_redial(&session->target, session->cancel_fd, ret_far, &reached_ns, &ignored);
        if (status == TL_OK && reached_ns == 0)
            reached_ns = tl_now_ns();
        if (*ret_back_ns == 0)
            *ret_back_ns = reached_ns;
        bool gone = status != TL_TIMEOUT && status != TL_UNREACHABLE && status != TL_BUSY;
        if (status == TL_OK || gone || poll(&cancel, 1, REDIAL_PAUSE_MS) > 0)
            break;
    }
    return status;
}

static void keep_outage(struct tl_session *session, int64_t since_ns, int64_t until_ns,
                        struct tl_probe_outcome *outcome)
{
    struct tl_facts *facts = session->result.facts;
    const struct tl_session_config *config = &session->config;
    for (int d = TL_DOWNLOAD; d <= TL_UPLOAD; d++) {
        bool asked = d == TL_DOWNLOAD ? config->download : config->upload;
        if (session->has_direction ? d == (int)session->direction : asked)
            tl_outage_note(facts, (enum tl_direction)d, since_ns, until_ns, outcome);
    }
}

void session_keep_gap(struct tl_session *session, struct tl_probe_outcome *outcome)
{
    int64_t since_ns = tl_now_ns() - outcome->silent_ns;
    keep_outage(session, since_ns, since_ns + outcome->interrupted_ns, outcome);
}

/* The stage is run again, and the run says why it was. */
static void keep_stall(struct tl_session *session, int64_t since_ns,
                       struct tl_probe_outcome *outcome)
{
    char length[TL_UNIT_TEXT_SIZE];
    bool known = outcome->silence == TL_SILENCE_OF_PROGRAM;
    session->asked_again = outcome->interrupted = true;
    if (outcome->silent_ns < SILENCE_NS)
        return;
    outcome->trust = (struct tl_trust){0};
    tl_trust_lower(&outcome->trust, TL_QUALITY_DEGRADED,
                   known ? "the far end's program said nothing for %s, while its host answered: it "
                           "was stopped, or got no processor"
                         : "the far end said nothing for %s: whether the path failed or its "
                           "program paused is not known",
                   tl_format_ns((double)(tl_now_ns() - since_ns), length));
    outcome->record.state = TL_STAGE_LIMITED;
    snprintf(outcome->record.reason, sizeof outcome->record.reason, "%s", outcome->trust.reason);
}

enum tl_status session_redial(struct tl_session *session, enum tl_status status,
                              struct tl_probe_outcome *outcome)
{
    struct tl_far *fresh = NULL;
    int64_t back_ns = 0;
    if (outcome->silent_ns == 0) /* it was no transfer, or one that never began */
        outcome->silent_ns = tl_probe_unacked_ns(session->far);
    if (!may_be_outage(status, outcome) || session_is_stopped(session))
        return status;
    int64_t since_ns = tl_now_ns() - outcome->silent_ns;
    bool of_path = outcome->silence == TL_SILENCE_OF_PATH;
    tl_events_note(&session->events, of_path ? "the path is silent: waiting until it comes back"
                                             : "the far end is silent: waiting until it answers");
    if (dial(session, &fresh, &back_ns) != TL_OK)
        return status;
    bool was_dead = of_path && back_ns - since_ns >= SILENCE_NS;
    if (!was_dead && session->asked_again) { /* it is there, and answers no stage */
        tl_probe_disconnect(fresh);
        return status;
    }
    tl_probe_disconnect(session->far);
    session->far = fresh;
    if (was_dead)
        keep_outage(session, since_ns, back_ns, outcome);
    else
        keep_stall(session, since_ns, outcome);
    return TL_OK;
}

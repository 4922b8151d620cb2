/* A path that goes dead in a stage and comes back: the outage is kept as a finding, the connection
 * is made anew, and the stage is measured again.
 *
 * Where the far end refuses, it is the far end that went away and not the path: then the stage's
 * own words stand, as they do where nothing comes back. */
#include <poll.h>
#include <stdio.h>

#include "session_private.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"

/* A path that is not back after that is dead: links that train anew and routing that converges take
 * some seconds. */
#define REDIAL_NS       (12 * TL_NS_PER_S)
#define REDIAL_PAUSE_MS 300
/* Shorter silences are TCP's own timers. */
#define SILENCE_NS (1500 * TL_NS_PER_MS)

/* What a dead path looks like from here: silence, or a far end that has given us up meanwhile. */
static bool may_be_outage(enum tl_status status, const struct tl_probe_outcome *outcome)
{
    if (status == TL_TIMEOUT)
        return true;
    return status == TL_CLOSED && outcome->silent_ns >= SILENCE_NS;
}

/* TL_OK with a new connection. */
static enum tl_status dial(struct tl_session *session, struct tl_far **ret_far)
{
    int64_t begun_ns = tl_now_ns();
    enum tl_status status = TL_TIMEOUT;
    while (tl_now_ns() - begun_ns < REDIAL_NS && !session_is_stopped(session)) {
        struct pollfd cancel = {.fd = session->cancel_fd, .events = POLLIN};
        struct tl_error ignored;
        status = tl_probe_redial(&session->target, session->cancel_fd, ret_far, &ignored);
        bool gone = status != TL_TIMEOUT && status != TL_UNREACHABLE && status != TL_BUSY;
        if (status == TL_OK || gone || poll(&cancel, 1, REDIAL_PAUSE_MS) > 0)
            break;
    }
    return status;
}

static void keep_outage(struct tl_session *session, int64_t since_ns,
                        struct tl_probe_outcome *outcome)
{
    struct tl_facts *facts = session->result.facts;
    const struct tl_session_config *config = &session->config;
    for (int d = TL_DOWNLOAD; d <= TL_UPLOAD; d++) {
        bool asked = d == TL_DOWNLOAD ? config->download : config->upload;
        if (session->has_direction ? d == (int)session->direction : asked)
            tl_outage_note(facts, (enum tl_direction)d, since_ns, tl_now_ns(), outcome);
    }
}

enum tl_status session_redial(struct tl_session *session, enum tl_status status,
                              struct tl_probe_outcome *outcome)
{
    struct tl_far *fresh = NULL;
    if (!may_be_outage(status, outcome) || session_is_stopped(session))
        return status;
    int64_t since_ns = tl_now_ns() - outcome->silent_ns;
    session_note(session, "the path is silent: waiting until it comes back");
    if (dial(session, &fresh) != TL_OK)
        return status;
    tl_probe_disconnect(session->far);
    session->far = fresh;
    keep_outage(session, since_ns, outcome);
    return TL_OK;
}

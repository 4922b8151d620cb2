/* Fair shares of the rate cap: two GCRA, as in accept_guard.c, in bytes, of a session and of all.
 */
#include "light.h"

#include "responder_private.h"
#include "session.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/limits.h"

#define DEBT_MAX_NS TL_NS_PER_S /* a long answer to one of many does not silence it for longer */

static int64_t later(int64_t a_ns, int64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

/* How long so many bytes take at the cap. */
static int64_t cost_ns(const struct tl_responder *responder, size_t bytes)
{
    return (int64_t)((double)bytes * 8e9 / (double)responder->options.rate_cap_bps);
}

bool light_permits(const struct session *session, size_t bytes, bool reserve)
{
    const struct tl_responder *responder = session->responder;
    if (responder->options.rate_cap_bps == 0)
        return true;
    int64_t now_ns = tl_now_ns(), cost = cost_ns(responder, bytes);
    int64_t burst_ns = reserve ? TL_RATE_CAP_BURST_NS / 2 : TL_RATE_CAP_BURST_NS;
    int64_t own_ns = later(session->light_ns, now_ns) + cost * responder->sessions.count;
    int64_t all_ns = later(responder->light_ns, now_ns);
    bool is_idle = all_ns == now_ns;
    return own_ns <= now_ns + burst_ns || all_ns + cost <= now_ns + burst_ns / (is_idle ? 1 : 2);
}

void light_charge(struct session *session, size_t bytes)
{
    struct tl_responder *responder = session->responder;
    if (responder->options.rate_cap_bps == 0)
        return;
    int64_t now_ns = tl_now_ns(), cost = cost_ns(responder, bytes);
    int64_t most_ns = now_ns + TL_RATE_CAP_BURST_NS + DEBT_MAX_NS;
    int64_t own_ns = later(session->light_ns, now_ns) + cost * responder->sessions.count;
    int64_t all_ns = later(responder->light_ns, now_ns) + cost;
    session->light_ns = own_ns < most_ns ? own_ns : most_ns;
    responder->light_ns = all_ns < most_ns ? all_ns : most_ns;
}

void light_begin(struct session *session)
{
    session->light_ns = tl_now_ns() + TL_RATE_CAP_BURST_NS;
}

/* A connection that another program runs, judged by the rules of a diagnosis: this machine's facts
 * and the connection's own. What one end cannot see stays unknown, and the rules then say so. */
#include <stdio.h>
#include <string.h>

#include "live_private.h"
#include "overheard.h"
#include "tightlink/app/open.h"
#include "tightlink/base/grow.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "tightlink/facts/trust.h"
#include "tightlink/probes/live_flow.h"
#include "tightlink/session/record.h"

/* Connections that are judged in one second: some 1 ms each. The others keep their opinion. */
#define OPINIONS_A_SECOND 8
/* Rows that are judged at all: those that stand first. */
#define OPINIONS_MAX 64
/* Judgements in a row, a second apart where few are watched, that make a cause stand. */
#define STANDS_MIN 3

void live_begin_run(const struct tl_live_flow *flow, const struct tl_live_interval *joined,
                    enum tl_direction direction, const char *kind, struct tl_run *run)
{
    struct tl_flow_address peer;

    memcpy(peer.bytes, flow->socket.remote, sizeof peer.bytes);
    overheard_begin(&(struct overheard){.kind = kind,
                                        .begin_ns = tl_realtime_ns() - joined->span_ns,
                                        .span_ns = joined->span_ns,
                                        .direction = direction,
                                        .peer = &peer},
                    run);
    overheard_format_end(&peer, flow->socket.remote_port, run->target_name,
                         sizeof run->target_name);
    run->sent_bytes = (long long)joined->sent_bytes;
    run->received_bytes = (long long)joined->received_bytes;
}

/* Where it stands because nobody answers: what was measured before is of another path. */
static void tell_silence(const struct tl_live_interval *joined, struct tl_run *run)
{
    char time[TL_UNIT_TEXT_SIZE];

    if (joined->unanswered_ns >= OVERHEARD_UNANSWERED_NS)
        tl_trust_lower_run(run, TL_QUALITY_DEGRADED,
                           "for %s in one piece nothing that was sent was answered",
                           tl_format_ns((double)joined->unanswered_ns, time));
}

/* Facts and findings of one connection over its last `count` intervals; the caller finishes the
 * result. */
static enum tl_status judge(struct tl_app_live *live, const struct tl_live_flow *flow, size_t count,
                            struct tl_session_result *ret_result, struct tl_error *reterr)
{
    struct tl_live_interval joined;

    tl_live_join(flow, count, &joined);
    live_begin_run(flow, &joined, tl_live_flow_direction(flow, &joined), "live", &ret_result->run);
    tell_silence(&joined, &ret_result->run);
    ret_result->answered = true;
    ret_result->facts = tl_facts_clone(live->host_facts);
    if (!ret_result->facts)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    tl_live_flow_facts(flow, count, tl_flow_watch_program(live->watch, flow), ret_result->facts);
    return tl_record_judge(live->rules, ret_result, reterr);
}

enum tl_status tl_app_live_result(struct tl_app_live *live, uint64_t cookie,
                                  struct tl_session_result *ret_result, struct tl_error *reterr)
{
    const struct tl_live_flow *flow = tl_live_find(tl_flow_watch_live(live->watch), cookie);

    if (!flow || !tl_live_interval_at(flow, 0))
        return tl_error_set(reterr, TL_UNKNOWN, "that connection has ended");
    return judge(live, flow, TL_LIVE_INTERVALS, ret_result, reterr);
}

/* --- Opinions --------------------------------------------------------------------------------- */

static struct live_opinion *opinion_of(struct tl_app_live *live, uint64_t cookie)
{
    for (size_t i = 0; i < live->opinion_count; i++)
        if (live->opinions[i].cookie == cookie)
            return &live->opinions[i];
    if (!tl_grow(&live->opinions, live->opinion_count, &live->opinion_cap, 32,
                 sizeof *live->opinions))
        return NULL;
    struct live_opinion *opinion = &live->opinions[live->opinion_count++];
    *opinion = (struct live_opinion){.cookie = cookie, .state = TL_INCONCLUSIVE};
    return opinion;
}

/* Those whose connection has no row any more. */
static void forget_gone(struct tl_app_live *live)
{
    size_t kept = 0;

    for (size_t i = 0; i < live->opinion_count; i++)
        for (size_t j = 0; j < live->row_count; j++)
            if (live->rows[j].cookie == live->opinions[i].cookie) {
                live->opinions[kept++] = live->opinions[i];
                break;
            }
    live->opinion_count = kept;
}

void live_opinion_take(struct live_opinion *opinion, const char *cause)
{
    opinion->stands = strcmp(opinion->cause, cause) == 0 ? opinion->stands + 1 : 1;
    snprintf(opinion->cause, sizeof opinion->cause, "%s", cause);
    if (!cause[0] || opinion->stands < STANDS_MIN || strcmp(opinion->settled, cause) == 0)
        return;
    opinion->moved = opinion->settled[0] != '\0';
    memcpy(opinion->was, opinion->settled, sizeof opinion->was);
    memcpy(opinion->settled, opinion->cause, sizeof opinion->settled);
}

static void take_verdict(struct live_opinion *opinion, struct tl_session_result *result)
{
    const struct tl_verdict *verdict = &result->findings->verdict;
    opinion->state = verdict->state;
    opinion->confidence = verdict->confidence;
    tl_app_result_say(result, opinion->says, sizeof opinion->says);
    live_opinion_take(opinion,
                      verdict->state == TL_LIMITED && verdict->cause ? verdict->cause : "");
}

static enum tl_status form(struct tl_app_live *live, struct live_opinion *opinion, int64_t now_ns,
                           struct tl_error *reterr)
{
    const struct tl_live_flow *flow =
        tl_live_find(tl_flow_watch_live(live->watch), opinion->cookie);
    struct tl_session_result result = {0};

    opinion->judged_ns = now_ns;
    enum tl_status status =
        flow ? judge(live, flow, LIVE_JUDGED_INTERVALS, &result, reterr) : TL_OK;
    if (status == TL_OK && result.findings)
        take_verdict(opinion, &result);
    tl_app_result_finish(&result);
    return status;
}

/* The one of the first rows that was not asked about for longest. */
static struct live_opinion *oldest_of(struct tl_app_live *live, size_t rows)
{
    struct live_opinion *oldest = NULL;

    for (size_t i = 0; i < rows; i++) {
        struct live_opinion *opinion = opinion_of(live, live->rows[i].cookie);
        if (opinion && (!oldest || opinion->judged_ns < oldest->judged_ns))
            oldest = opinion;
    }
    return oldest;
}

enum tl_status live_form_opinions(struct tl_app_live *live, int64_t now_ns, struct tl_error *reterr)
{
    size_t rows = live->row_count < OPINIONS_MAX ? live->row_count : OPINIONS_MAX;
    enum tl_status status = TL_OK;

    forget_gone(live);
    /* Each has its place before any is pointed at: a new one may move them all. */
    for (size_t i = 0; i < rows; i++)
        if (!opinion_of(live, live->rows[i].cookie))
            return tl_error_set(reterr, TL_NOMEM, "out of memory");
    for (int turn = 0; turn < OPINIONS_A_SECOND && status == TL_OK; turn++) {
        struct live_opinion *oldest = oldest_of(live, rows);
        if (!oldest || oldest->judged_ns == now_ns)
            break;
        status = form(live, oldest, now_ns, reterr);
    }
    return status;
}

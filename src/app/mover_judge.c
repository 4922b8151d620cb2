/* The connection that moved most, judged: what the kernel tells of it, what its readings show, what
 * the command's processes did, and this machine's settings. */
#include <math.h>

#include "live_private.h"
#include "mover_private.h"
#include "tightlink/base/time.h"
#include "tightlink/probes/live_flow.h"
#include "tightlink/session/audit.h"
#include "tightlink/session/record.h"

/* --- One connection --------------------------------------------------------------------------- */

/* Intervals since it had got up to its rate; all of them where it never did. */
static size_t settled_intervals(const struct tl_live_flow *flow, int64_t settled_ns)
{
    const struct tl_live_interval *interval;
    size_t count = 0;

    if (!settled_ns)
        return TL_LIVE_INTERVALS;
    while ((interval = tl_live_interval_at(flow, count)) &&
           interval->end_ns - interval->span_ns >= settled_ns)
        count++;
    return count ? count : 1;
}

static double moved(const struct tl_live_flow *flow)
{
    return (double)(flow->socket.acked_bytes + flow->socket.received_bytes - flow->first_bytes) +
           (flow->new_here ? (double)flow->first_bytes : 0);
}

static void fill_facts(struct tl_app_mover *mover, const struct tl_live_flow *flow, size_t count,
                       enum tl_direction direction, struct tl_facts *facts)
{
    struct tl_flow_tree_sum processes;
    double rtt_ns = flow->socket.rtt_min_ns ? (double)flow->socket.rtt_min_ns : NAN;

    tl_flow_tree_sum(mover->tree, mover->last_moved_ns, &processes);
    tl_live_flow_facts(flow, count, NULL, facts);
    tl_mover_facts(mover->readings, flow->socket.cookie, &processes, direction, rtt_ns, facts);
}

static enum tl_status keep_best(struct tl_app_mover *mover, const struct tl_live_flow *flow,
                                struct tl_error *reterr)
{
    struct mover_best *best = &mover->best;
    double bytes = moved(flow);
    struct tl_facts *facts = NULL;
    struct tl_live_interval joined;

    if (bytes < MOVER_LEAST_BYTES || bytes <= best->bytes || !tl_live_interval_at(flow, 0))
        return TL_OK;
    int64_t settled_ns = tl_mover_watch_settled_ns(mover->readings, flow->socket.cookie);
    size_t count = settled_intervals(flow, settled_ns);
    tl_live_join(flow, count, &joined);
    best->direction = tl_live_flow_direction(flow, &joined);
    best->run = (struct tl_run){0};
    live_begin_run(flow, &joined, best->direction, "mover", &best->run);
    enum tl_status status = tl_session_audit(best->run.target_address, &facts, reterr);
    if (status != TL_OK)
        return status;
    fill_facts(mover, flow, count, best->direction, facts);
    tl_facts_destroy(best->facts);
    best->facts = facts;
    best->bytes = bytes;
    best->cookie = flow->socket.cookie;
    return TL_OK;
}

/* --- The whole -------------------------------------------------------------------------------- */

/* Those that have ended are judged now: the table forgets them. */
static enum tl_status keep_ended(struct tl_app_mover *mover, struct tl_error *reterr)
{
    const struct tl_live *live = tl_flow_watch_live(mover->watch);
    enum tl_status status = TL_OK;

    for (size_t i = 0; i < tl_live_count(live) && status == TL_OK; i++)
        if (tl_live_at(live, i)->ended)
            status = keep_best(mover, tl_live_at(live, i), reterr);
    return status;
}

enum tl_status mover_close_interval(struct tl_app_mover *mover, int64_t now_ns,
                                    struct tl_error *reterr)
{
    struct tl_live_sum sum;

    tl_flow_watch_close(mover->watch, now_ns, &sum);
    mover->closed_ns = now_ns;
    mover->sent_bytes += sum.sent_bytes;
    mover->received_bytes += sum.received_bytes;
    mover->ended_count += sum.ended_count;
    if (sum.flows_count > mover->connections_count)
        mover->connections_count = sum.flows_count;
    return keep_ended(mover, reterr);
}

static enum tl_status keep_all(struct tl_app_mover *mover, struct tl_error *reterr)
{
    const struct tl_live *live = tl_flow_watch_live(mover->watch);
    enum tl_status status = TL_OK;

    for (size_t i = 0; i < tl_live_count(live) && status == TL_OK; i++)
        status = keep_best(mover, tl_live_at(live, i), reterr);
    return status;
}

/* Whose own window is known: an OpenSSH client carries the data. */
static bool keeps_ssh_window(const struct tl_flow_tree *tree)
{
    return tl_flow_tree_has(tree, "ssh") || tl_flow_tree_has(tree, "scp") ||
           tl_flow_tree_has(tree, "sftp");
}

static void add_command(const struct tl_app_mover *mover, struct tl_session_result *result)
{
    enum tl_direction direction = mover->best.direction;
    struct tl_mover_command command = {
        .program = mover->child.program,
        .bytes = (double)(direction == TL_UPLOAD ? mover->sent_bytes : mover->received_bytes),
        .time_ns = (double)(mover->last_moved_ns - mover->moved_ns),
        .connections_count = (double)mover->connections_count,
        .keeps_ssh_window = keeps_ssh_window(mover->tree),
    };

    tl_mover_command_facts(&command, direction, result->facts);
    result->run.sent_bytes = (long long)mover->sent_bytes;
    result->run.received_bytes = (long long)mover->received_bytes;
}

enum tl_status tl_app_mover_result(struct tl_app_mover *mover, struct tl_session_result *ret_result,
                                   struct tl_error *reterr)
{
    enum tl_status status = mover_close_interval(mover, tl_now_ns(), reterr);

    if (status == TL_OK)
        status = keep_all(mover, reterr);
    if (status != TL_OK)
        return status;
    if (!mover->best.facts)
        return tl_error_set(reterr, TL_UNKNOWN,
                            "no connection of %s moved %d KiB while it was "
                            "watched",
                            mover->child.program, MOVER_LEAST_BYTES / 1024);
    ret_result->answered = true;
    ret_result->run = mover->best.run;
    ret_result->facts = mover->best.facts;
    mover->best.facts = NULL;
    add_command(mover, ret_result);
    return tl_record_judge(mover->rules, ret_result, reterr);
}

/* --- Beside it -------------------------------------------------------------------------------- */

void tl_app_mover_config(const struct tl_session_result *result, struct tl_session_config *config)
{
    config->host = result->run.target_address;
    config->family = result->run.target_family;
    config->download = result->run.download;
    config->upload = result->run.upload;
    config->goal = result->run.goal;
    config->target_kind = "tightlink";
    config->only_force = true;
    config->force |= UINT32_C(1) << tl_session_stage_find("stream") |
                     UINT32_C(1) << tl_session_stage_find("streams");
}

enum tl_status tl_app_mover_add_measured(const struct tl_rules *rules,
                                         struct tl_session_result *result,
                                         const struct tl_session_result *measured,
                                         struct tl_error *reterr)
{
    enum tl_direction direction = result->run.upload ? TL_UPLOAD : TL_DOWNLOAD;

    tl_mover_add_measured(result->facts, direction, measured->facts);
    return tl_record_judge(rules, result, reterr);
}

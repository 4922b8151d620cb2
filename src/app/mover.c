/* Watching the user's command: readings every few milliseconds, and what they sum up to. */
#include "tightlink/app/mover.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mover_private.h"
#include "tightlink/base/time.h"

/* Short enough to see pauses within a round trip of 40 ms. Readings shall take no more than a
 * twentieth of a core; where a look for new connections is dear, since the kernel's table is large,
 * those that are known are read by themselves in between. */
#define STEP_NS      (5 * TL_NS_PER_MS)
#define STEP_COSTS   20
#define STEP_MOST_NS (250 * TL_NS_PER_MS)
/* Processes come and go more slowly than packets. */
#define LOOK_NS (25 * TL_NS_PER_MS)
/* Closed intervals: fine at first, so that a transfer of seconds has many; later a second each, so
 * that those kept span minutes. */
#define INTERVAL_FINE_NS (250 * TL_NS_PER_MS)
#define INTERVAL_NS      TL_NS_PER_S
#define FINE_NS          (20 * TL_NS_PER_S)
/* What the command left behind and moves nothing for so long is a daemon, not a transfer. */
#define REST_NS (2 * TL_NS_PER_S)
/* OpenSSH's key exchange and login take 3 to 8 kB. */
#define LOGIN_BYTES 16384

static bool holds(uint64_t inode, void *context)
{
    return tl_flow_tree_holds(context, inode);
}

static enum tl_status prepare(struct tl_app_mover *mover, struct tl_error *reterr)
{
    struct tl_flow_watch_filter filter = {.holds = holds};

    mover->step_ns = mover->all_every_ns = STEP_NS;
    mover->closed_ns = tl_now_ns();
    mover->tree = tl_flow_tree_create("", getpid());
    mover->readings = tl_mover_watch_create();
    if (!mover->tree || !mover->readings)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    filter.context = mover->tree;
    return tl_flow_watch_create(&filter, mover->closed_ns, &mover->watch, reterr);
}

enum tl_status tl_app_mover_start(const struct tl_app_mover_what *what,
                                  const struct tl_rules *rules, struct tl_app_mover **ret_mover,
                                  bool *ret_missing, struct tl_error *reterr)
{
    struct tl_app_mover *mover = calloc(1, sizeof *mover);

    *ret_missing = false;
    if (!mover)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    mover->rules = rules;
    enum tl_status status = prepare(mover, reterr);
    if (status == TL_OK)
        status = mover_child_start(what, &mover->child, ret_missing, reterr);
    if (status == TL_OK)
        *ret_mover = mover;
    else
        tl_app_mover_destroy(mover);
    return status;
}

void tl_app_mover_destroy(struct tl_app_mover *mover)
{
    if (!mover)
        return;
    tl_flow_watch_destroy(mover->watch);
    tl_flow_tree_destroy(mover->tree);
    tl_mover_watch_destroy(mover->readings);
    tl_facts_destroy(mover->best.facts);
    free(mover);
}

int64_t tl_app_mover_step_ns(const struct tl_app_mover *mover)
{
    return mover->step_ns;
}

/* --- Readings --------------------------------------------------------------------------------- */

static void look(struct tl_app_mover *mover, int64_t now_ns)
{
    struct tl_flow_tree_sum sum;

    if (now_ns - mover->looked_ns < LOOK_NS)
        return;
    mover->looked_ns = now_ns;
    tl_flow_tree_look(mover->tree);
    tl_flow_tree_sum(mover->tree, now_ns, &sum);
    mover->hidden |= sum.hidden;
}

/* What processes do counts from where data moves, and again from where it moves at its rate: logins
 * and key exchanges are over then. */
static void mark(struct tl_app_mover *mover, bool settled, int64_t now_ns)
{
    bool moves = mover->moving_bytes >= MOVER_LEAST_BYTES;

    if ((mover->marked || !moves) && (mover->settled || !settled))
        return;
    mover->marked = true;
    mover->settled |= settled;
    tl_flow_tree_mark(mover->tree, now_ns);
}

static void take_readings(struct tl_app_mover *mover, int64_t now_ns)
{
    const struct tl_live *live = tl_flow_watch_live(mover->watch);
    uint64_t bytes = 0;
    bool settled = false;

    for (size_t i = 0; i < tl_live_count(live); i++) {
        const struct tl_live_flow *flow = tl_live_at(live, i);
        if (flow->last_ns != now_ns)
            continue;
        bytes += flow->socket.acked_bytes + flow->socket.received_bytes;
        tl_mover_watch_take(mover->readings, &flow->socket, now_ns);
        settled |= tl_mover_watch_settled_ns(mover->readings, flow->socket.cookie) != 0;
    }
    if (bytes > mover->moving_bytes) {
        mover->last_moved_ns = now_ns;
        /* A login may have waited for a password: it begins behind it. */
        if (mover->seen_bytes < LOGIN_BYTES)
            mover->moved_ns = now_ns;
        mover->seen_bytes += bytes - mover->moving_bytes;
    }
    mover->moving_bytes = bytes;
    mark(mover, settled, now_ns);
}

static bool is_due(const struct tl_app_mover *mover, int64_t now_ns)
{
    bool fine = now_ns - mover->child.start_ns < FINE_NS;
    return now_ns - mover->closed_ns >= (fine ? INTERVAL_FINE_NS : INTERVAL_NS);
}

/* How long to the next reading that costs as much. */
static int64_t step_of(int64_t cost_ns)
{
    int64_t step_ns = STEP_COSTS * cost_ns;
    return step_ns < STEP_NS ? STEP_NS : step_ns > STEP_MOST_NS ? STEP_MOST_NS : step_ns;
}

static enum tl_status read_connections(struct tl_app_mover *mover, int64_t now_ns,
                                       struct tl_error *reterr)
{
    bool all = now_ns - mover->read_all_ns >= mover->all_every_ns;
    /* What a busy machine makes us wait is no cost of ours. */
    int64_t begin_ns = tl_process_cpu_ns();
    enum tl_status status = TL_OK;

    if (all)
        status = tl_flow_watch_read(mover->watch, now_ns, reterr);
    else
        tl_flow_watch_read_known(mover->watch, now_ns);
    int64_t step_ns = step_of(tl_process_cpu_ns() - begin_ns);
    if (all) {
        mover->read_all_ns = now_ns;
        mover->all_every_ns = step_ns;
    } else {
        mover->step_ns = step_ns;
    }
    return status;
}

enum tl_status tl_app_mover_step(struct tl_app_mover *mover, struct tl_error *reterr)
{
    int64_t now_ns = tl_now_ns();

    mover_child_reap(&mover->child, now_ns);
    look(mover, now_ns);
    enum tl_status status = read_connections(mover, now_ns, reterr);
    if (status != TL_OK)
        return status;
    take_readings(mover, now_ns);
    return is_due(mover, now_ns) ? mover_close_interval(mover, now_ns, reterr) : TL_OK;
}

/* --- What it came to -------------------------------------------------------------------------- */

static bool has_left_behind(const struct tl_app_mover *mover)
{
    struct tl_flow_tree_sum sum;

    tl_flow_tree_look(mover->tree);
    tl_flow_tree_sum(mover->tree, tl_now_ns(), &sum);
    return sum.processes_count > 0;
}

bool tl_app_mover_is_over(const struct tl_app_mover *mover)
{
    if (!mover->child.ended)
        return false;
    /* What goes into the background may have to dial first. */
    int64_t since_ns =
        mover->last_moved_ns > mover->child.end_ns ? mover->last_moved_ns : mover->child.end_ns;
    return tl_now_ns() - since_ns >= REST_NS || !has_left_behind(mover);
}

void tl_app_mover_sum(const struct tl_app_mover *mover, struct tl_app_mover_sum *ret_sum)
{
    const struct mover_child *child = &mover->child;
    bool killed = child->ended && WIFSIGNALED(child->status);

    *ret_sum = (struct tl_app_mover_sum){
        .signal = killed ? WTERMSIG(child->status) : 0,
        .exit_code = killed ? 128 + WTERMSIG(child->status) : WEXITSTATUS(child->status),
        .run_ns = (double)((child->ended ? child->end_ns : tl_now_ns()) - child->start_ns),
        .sent_bytes = (double)mover->sent_bytes,
        .received_bytes = (double)mover->received_bytes,
        .moving_ns = (double)(mover->last_moved_ns - mover->moved_ns),
        .connections_count = mover->connections_count,
        .ended_count = mover->ended_count,
        .hidden = mover->hidden,
        .left_behind = child->ended && has_left_behind(mover),
    };
    memcpy(ret_sum->program, child->program, sizeof ret_sum->program);
}

/* The stage table: what there is to measure, what each stage needs and costs at most,
 * and which probe does it. One row a stage; the order is that of screens and records.
 * Whoever builds a stage fills its row. Private to the session. */
#ifndef TL_SESSION_STAGES_H
#define TL_SESSION_STAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/probes/probes.h"

/* Index into the table. The id of a stage is the `stage` of the facts' table. */
enum tl_plan_stage {
    TL_PLAN_HOSTS,
    TL_PLAN_PATH,
    TL_PLAN_MTU,
    TL_PLAN_HOPS,
    TL_PLAN_STREAM,
    TL_PLAN_WINDOW,
    TL_PLAN_STREAMS,
    TL_PLAN_PACED,
    TL_PLAN_MICROSCOPE,
    TL_PLAN_UDP,
    TL_PLAN_SPLIT,
    TL_PLAN_FAMILY,
    TL_PLAN_BOTH_WAYS,
    TL_PLAN_DISK,
    TL_PLAN_DISK_TO_DISK,
    TL_PLAN_CALIBRATE,
    TL_PLAN_VERIFY,
    TL_PLAN_COUNT
};

/* When a stage is run. A skip by the user goes before all of them. */
enum tl_stage_when {
    TL_WHEN_ALWAYS, /* light ones: before the path is loaded, in every run */
    TL_WHEN_FIRST,  /* what the first judgement rests on */
    TL_WHEN_WANTED, /* when the plan finds it worth its time: its facts could change the verdict */
    TL_WHEN_ASKED,  /* only when the user asks for it */
};

/* What a stage cannot be without. */
#define TL_NEEDS_RESPONDER 1u /* a far end that answers; what it must be able to do is far[] */
#define TL_NEEDS_DISK      2u /* a directory that the user named, here or at the far end */
#define TL_NEEDS_RAW       8u /* CAP_NET_RAW */

struct tl_plan_state;

/* The most that a stage may take, in the state that is known. */
struct tl_stage_cost {
    int64_t time_ns;     /* warm-up included */
    int64_t bytes;       /* both directions together */
    int64_t expected_ns; /* what it will take if all is as it seems; 0: time_ns */
};

/* Pure; reads state->facts. Facts that are unknown cost as much as they may. */
typedef void tl_stage_cost_fn(const struct tl_plan_state *state, enum tl_direction direction,
                              struct tl_stage_cost *ret_cost);

struct tl_stage {
    const char *id;
    enum tl_stage_when when;
    unsigned needs;     /* TL_NEEDS_* */
    unsigned far[2];    /* what the far end must be able to do, by direction: TL_FAR_* */
    bool loads;         /* fills the path: only after consent, and within the budgets */
    bool per_direction; /* else once a run; a load probe then gets the first direction asked for */
    /* Of a light one: another light one that it is run beside, as neither disturbs what the other
     * measures and it reads nothing that the other one brings; 0: none. */
    enum tl_plan_stage companion;
    bool apart; /* a light probe that does without a responder: probe->far may be NULL */
    tl_stage_cost_fn *cost;
    tl_probe_light_fn *light; /* one of these two; the trial, which follows the plan, has neither */
    tl_probe_load_fn *load;
    const char *why; /* what it is good for: for the record and the screen */
};

/* stage < TL_PLAN_COUNT. Static storage. */
const struct tl_stage *tl_stage_at(enum tl_plan_stage stage);
const char *tl_plan_stage_id(enum tl_plan_stage stage);
/* TL_PLAN_COUNT when there is none of that id. */
enum tl_plan_stage tl_stage_find(const char *id);

/* The stages of TL_WHEN_ALWAYS as they follow one another; TL_PLAN_COUNT behind the last. */
const enum tl_plan_stage *tl_stage_light_order(enum tl_far_kind far);
/* What is run beside this one at this kind of far end; TL_PLAN_COUNT: nothing. */
enum tl_plan_stage tl_stage_companion(enum tl_plan_stage stage, enum tl_far_kind far);

/* What the stage lacks in this direction: false and nothing where nothing. */
#define TL_PLAN_LACK_SIZE 200
bool tl_plan_lacks(const struct tl_plan_state *state, enum tl_plan_stage stage,
                   enum tl_direction direction, char ret_why[TL_PLAN_LACK_SIZE]);

/* Whether before the link of one connection a queue stood nearly all the time: that explains what
 * it dropped, and that it dropped packets together. False where it is not known. */
bool tl_plan_queue_stood(const struct tl_plan_state *state, enum tl_direction direction);

/* A path with this RTT wants that long a stream: warm-up and 20 round trips. NAN: 100 ms. */
int64_t tl_plan_stream_ns(double rtt_ns);

/* A trial of a remedy at most: it measures what stays once slow start and its losses are over, as
 * the prediction says it, and ends before where that is known. */
int64_t tl_plan_trial_ns(double rtt_ns);
/* Stage both-ways, its three turns together. */
int64_t tl_plan_both_ways_ns(double rtt_ns);

/* A loading stage that cannot have this long tells nothing that counts. */
#define TL_STAGE_WORTH_NS INT64_C(3000000000)

#endif

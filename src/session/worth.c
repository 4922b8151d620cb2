/* Weighing a stage: overturn, confirm, next rung, note. plan.h tells the idea. */
#include "worth.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* An open cause that nothing speaks for yet is still possible. */
#define PROMISE_LEAST 0.25

/* What one unknown test of the verdict's own cause may take from its evidence or add. */
#define CONFIRM_WORTH 0.5

/* To know what a fix brings; more where a buffer hides everything behind it. */
#define NEXT_RUNG_WORTH     0.3
#define BEHIND_BUFFER_WORTH 0.6

/* A line about what does not limit is worth little, and only when most speaks for it. */
#define NOTE_WORTH 0.15

/* Where all causes are ruled out one of them was ruled out for want of what was not measured: worth
 * less than any cause that is open. */
#define UNEXPLAINED_WORTH 0.4

/* A cause that was found and lacks its ceiling becomes the verdict when it has one: worth more than
 * what may be ruled out. */
#define UNTOLD_WORTH 0.8

/* Beside the most important reason the others count a little. */
#define OTHERS_SHARE 0.1

#define BUFFER_LIMITS_RATIO 0.1
#define NO_BUFFER_SHARE     0.5
#define STUCK_SHARE         2.0

/* Less of their time than this held by buffers, several connections found what the path carries. */
#define UNHELD_RATIO 0.3
/* What a larger buffer has to bring beyond what was seen: less is the scatter between two tests. */
#define MORE_RATIO 1.1
/* The least that a doubt about the network counts where something else held the sender. */
#define NETWORK_LEAST 0.25
/* What a stage could tell of losses counts so much until one has run that most often explains them:
 * several connections where a queue stood, which tell whether the link is full, before a slow
 * stream; datagrams, which tell what drops, before another congestion control that meets it. */
#define EXPLAINED_SHARE 0.25

struct weighing {
    const struct tl_plan_state *state;
    enum tl_plan_stage index;
    enum tl_direction direction;
    struct tl_worth *worth;
    double best, others;
    char causes[96]; /* open causes that the stage could decide */
};

static void add(struct weighing *w, double value, const char *what)
{
    if (!(value > 0))
        return;
    if (value > w->best) {
        w->others += w->best;
        w->best = value;
        snprintf(w->worth->what, sizeof w->worth->what, "%s", what);
    } else {
        w->others += value;
    }
}

static bool brings(enum tl_plan_stage stage, struct tl_fact_key key)
{
    return strcmp(tl_fact_def(key.fact)->stage, tl_plan_stage_id(stage)) == 0;
}

static bool misses(const struct weighing *w, const struct tl_fact_key *keys, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (brings(w->index, keys[i]))
            return true;
    return false;
}

/* Whether one of the finding's missing facts is among those that the verdict waits for. */
static bool decides(const struct tl_verdict *verdict, const struct tl_finding *finding)
{
    for (size_t i = 0; i < verdict->deciding_count; i++)
        for (size_t j = 0; j < finding->missing_count; j++)
            if (tl_fact_key_is(verdict->deciding[i], finding->missing[j]))
                return true;
    return false;
}

/* The share of the finding's tests that speak for its cause. */
static double promise(const struct tl_finding *finding)
{
    size_t speaking = 0, count = finding->evidence_count;
    for (size_t i = 0; i < count; i++)
        speaking += finding->evidence[i].truth != TL_UNKNOWN_TRUTH && finding->evidence[i].is_for;
    double share = count ? (double)speaking / (double)count : 0;
    return PROMISE_LEAST + (1 - PROMISE_LEAST) * share;
}

static bool is_limit(const struct weighing *w, const struct tl_finding *finding)
{
    return finding->direction == w->direction && finding->result == TL_FOUND &&
           finding->severity == TL_LIMITS;
}

/* What is still open in this direction: 1 without a verdict, else the share of verdicts like it
 * that may be wrong, as they were counted. No stage gives back what a disturbance took. */
static double gap(const struct weighing *w)
{
    const struct tl_findings *findings = w->state->findings;
    const struct tl_verdict *verdict = &findings->verdict;
    if (verdict->direction == w->direction)
        return verdict->state == TL_LIMITED ? 1 - fmax(verdict->confidence, verdict->undisturbed)
                                            : 1;
    double confidence = 0;
    for (size_t i = 0; i < findings->finding_count; i++)
        if (is_limit(w, &findings->findings[i]))
            confidence = fmax(confidence, findings->findings[i].confidence);
    return 1 - confidence;
}

static void name_cause(struct weighing *w, const char *cause)
{
    size_t used = strlen(w->causes), need = strlen(cause) + 2;
    if (!strstr(w->causes, cause) && used + need < sizeof w->causes)
        snprintf(w->causes + used, sizeof w->causes - used, "%s%s", used ? ", " : "", cause);
}

static double number(const struct weighing *w, struct tl_fact_key key, double fallback)
{
    return tl_facts_number(w->state->facts, key, fallback);
}

static bool buffer_limits(const struct weighing *w)
{
    return number(w, TL_FLOW(w->direction, ledger_rwnd_ratio), 0) > BUFFER_LIMITS_RATIO ||
           number(w, TL_FLOW(w->direction, ledger_sndbuf_ratio), 0) > BUFFER_LIMITS_RATIO;
}

/* Several connections were run and no buffer held them: a larger one shows no more of the path. */
static bool several_found_the_path(const struct weighing *w)
{
    return number(w, TL_FLOW(w->direction, streams_rwnd_ratio), 1) < UNHELD_RATIO &&
           number(w, TL_FLOW(w->direction, streams_sndbuf_ratio), 1) < UNHELD_RATIO;
}

/* Whether the largest buffer that a program may ask for carries more than the connections of stage
 * streams do, each with a buffer of its own: what they got, or would get at most. */
static bool window_reaches_further(const struct weighing *w)
{
    double one_bps = number(w, TL_FLOW(w->direction, goodput_bps), (double)NAN);
    double several_bps =
        number(w, TL_FLOW(w->direction, streams_goodput_bps), TL_PROBE_STREAMS * one_bps);
    double reach_bps = number(w, TL_FLOW(w->direction, window_reach_bps), (double)NAN);
    return !several_found_the_path(w) && !(reach_bps <= MORE_RATIO * several_bps); /* NAN: may */
}

/* Whether that stage is still to come, if it is wanted. */
static bool can_follow(const struct weighing *w, enum tl_plan_stage stage)
{
    const struct tl_plan_state *state = w->state;
    char lacks[TL_PLAN_LACK_SIZE];
    return !state->done[stage][w->direction] && !state->skipped[stage] &&
           !tl_plan_lacks(state, stage, w->direction, lacks);
}

/* A slow stream tells what the network does, which held a sender no longer than the network did;
 * and tells it behind several connections where these may spare it. */
static double fitness_of_paced(const struct weighing *w)
{
    double network = number(w, TL_FLOW(w->direction, ledger_network_ratio), 1);
    bool waits = tl_plan_queue_stood(w->state, w->direction) && can_follow(w, TL_PLAN_STREAMS);
    return fmax(network, NETWORK_LEAST) * (waits ? EXPLAINED_SHARE : 1);
}

static double fitness_of_microscope(const struct weighing *w)
{
    bool lost = number(w, TL_FLOW(w->direction, first_loss_ns), 0) > 0;
    return lost && can_follow(w, TL_PLAN_UDP) ? EXPLAINED_SHARE : 1;
}

/* Larger buffers show little where no buffer held the stream, or where several connections reach
 * further; but all where the sender's had no room to send again what was lost. */
static double fitness_of_window(const struct weighing *w)
{
    if (number(w, TL_FLOW(w->direction, sender_tcp_wqueue_too_big_count), 0) > 0)
        return STUCK_SHARE;
    return buffer_limits(w) && window_reaches_further(w) ? 1 : NO_BUFFER_SHARE;
}

/* How much of what the stage could show is there to be seen. */
static double fitness(const struct weighing *w)
{
    switch (w->index) {
    case TL_PLAN_WINDOW:
        return fitness_of_window(w);
    case TL_PLAN_PACED:
        return fitness_of_paced(w);
    case TL_PLAN_MICROSCOPE:
        return fitness_of_microscope(w);
    default:
        return 1;
    }
}

static void weigh_open(struct weighing *w, double open)
{
    const struct tl_findings *findings = w->state->findings;
    const struct tl_verdict *verdict = &findings->verdict;
    bool of_verdict = verdict->direction == w->direction && verdict->deciding_count > 0;
    char what[160];
    for (size_t i = 0; i < findings->finding_count; i++) {
        const struct tl_finding *finding = &findings->findings[i];
        if (finding->direction != w->direction || finding->result != TL_CANNOT_TELL ||
            !misses(w, finding->missing, finding->missing_count))
            continue;
        if (finding->severity != TL_LIMITS) {
            snprintf(what, sizeof what, "it would tell whether %s is to be noted", finding->cause);
            add(w, NOTE_WORTH * promise(finding), what);
        } else if (!of_verdict || decides(verdict, finding)) {
            name_cause(w, finding->cause);
            snprintf(what, sizeof what, "it could find or rule out %s", w->causes);
            add(w, fitness(w) * open * promise(finding), what);
        }
    }
}

static bool lacks_of_stage(const struct weighing *w, const struct tl_finding *finding)
{
    for (size_t i = 0; i < finding->evidence_count; i++)
        for (size_t j = 0; j < finding->evidence[i].value_count; j++) {
            const struct tl_evidence_value *value = &finding->evidence[i].values[j];
            if (!value->known && brings(w->index, value->key))
                return true;
        }
    return false;
}

/* Whether a stage that is still to come could settle the finding. */
static bool may_be_settled(const struct weighing *w, const struct tl_finding *finding)
{
    for (size_t i = 0; i < finding->missing_count; i++)
        for (int stage = 0; stage < TL_PLAN_COUNT; stage++)
            if (brings((enum tl_plan_stage)stage, finding->missing[i]) &&
                can_follow(w, (enum tl_plan_stage)stage))
                return true;
    return false;
}

static bool is_inconclusive(const struct weighing *w)
{
    const struct tl_verdict *verdict = &w->state->findings->verdict;
    return verdict->state == TL_INCONCLUSIVE && verdict->direction == w->direction;
}

static bool is_unexplained(const struct weighing *w)
{
    const struct tl_findings *findings = w->state->findings;
    if (!is_inconclusive(w))
        return false;
    for (size_t i = 0; i < findings->finding_count; i++) {
        const struct tl_finding *finding = &findings->findings[i];
        if (finding->direction == w->direction && finding->severity == TL_LIMITS &&
            finding->result == TL_CANNOT_TELL && may_be_settled(w, finding))
            return false;
    }
    return true;
}

/* A cause that is ruled out while a test of it lacks a fact may be found with that fact. */
static void weigh_unexplained(struct weighing *w)
{
    const struct tl_findings *findings = w->state->findings;
    char what[160];
    if (!is_unexplained(w))
        return;
    for (size_t i = 0; i < findings->finding_count; i++) {
        const struct tl_finding *finding = &findings->findings[i];
        if (finding->direction != w->direction || finding->severity != TL_LIMITS ||
            finding->result != TL_RULED_OUT || !lacks_of_stage(w, finding))
            continue;
        name_cause(w, finding->cause);
        snprintf(what, sizeof what, "nothing explains it yet, and it would tell more of %s",
                 w->causes);
        add(w, fitness(w) * UNEXPLAINED_WORTH * promise(finding), what);
    }
}

/* A cause was found, but not what it costs. */
static void weigh_untold(struct weighing *w)
{
    const struct tl_findings *findings = w->state->findings;
    char what[160];
    if (!is_inconclusive(w))
        return;
    for (size_t i = 0; i < findings->finding_count; i++) {
        const struct tl_finding *finding = &findings->findings[i];
        if (finding->direction != w->direction || finding->result != TL_FOUND ||
            isfinite(finding->ceiling_bps) || !lacks_of_stage(w, finding))
            continue;
        snprintf(what, sizeof what, "it could tell what %s costs", finding->cause);
        add(w, UNTOLD_WORTH, what);
    }
}

static const struct tl_finding *verdict_finding(const struct weighing *w)
{
    const struct tl_findings *findings = w->state->findings;
    const struct tl_verdict *verdict = &findings->verdict;
    for (size_t i = 0; verdict->state == TL_LIMITED && i < findings->finding_count; i++) {
        const struct tl_finding *finding = &findings->findings[i];
        if (is_limit(w, finding) && verdict->direction == w->direction && verdict->cause &&
            strcmp(finding->cause, verdict->cause) == 0)
            return finding;
    }
    return NULL;
}

static void weigh_confirmation(struct weighing *w, double open)
{
    const struct tl_finding *finding = verdict_finding(w);
    char what[160];
    for (size_t i = 0; finding && i < finding->evidence_count; i++) {
        const struct tl_evidence *evidence = &finding->evidence[i];
        for (size_t j = 0; evidence->truth == TL_UNKNOWN_TRUTH && j < evidence->value_count; j++) {
            if (evidence->values[j].known || !brings(w->index, evidence->values[j].key))
                continue;
            snprintf(what, sizeof what, "it would make %s surer, or less sure", finding->cause);
            add(w, CONFIRM_WORTH * open, what);
            break;
        }
    }
}

/* A larger buffer is still to be tried, and carries more than several connections do. */
static bool a_window_will_tell(const struct weighing *w)
{
    return buffer_limits(w) && window_reaches_further(w) && can_follow(w, TL_PLAN_WINDOW);
}

/* Whether the path's own rung can come of this stage. What several streams got together is as much
 * as anybody promises of the path: datagrams that got there faster are no bound for a transfer. And
 * where no buffer was in the way a larger one only repeats the one stream; where one was, several
 * connections show less of the path than the larger one does. */
static bool can_complete_the_rung(const struct weighing *w)
{
    if (w->index == TL_PLAN_UDP)
        return !(number(w, TL_FLOW(w->direction, streams_goodput_bps), 0) > 0);
    if (w->index == TL_PLAN_STREAMS)
        return !a_window_will_tell(w);
    return w->index != TL_PLAN_WINDOW || a_window_will_tell(w);
}

/* What a fix would bring is not known, or only from below, and could be: a path that is full hides
 * nothing. */
static void weigh_next_rung(struct weighing *w)
{
    const struct tl_findings *findings = w->state->findings;
    const struct tl_verdict *verdict = &findings->verdict;
    bool known = verdict->direction == w->direction && verdict->state == TL_LIMITED &&
                 isfinite(verdict->fixed_bps) && !verdict->fixed_at_least;
    if (known)
        return;
    enum tl_plan_stage behind = window_reaches_further(w) ? TL_PLAN_WINDOW : TL_PLAN_STREAMS;
    if (w->index == behind && buffer_limits(w))
        add(w, BEHIND_BUFFER_WORTH,
            behind == TL_PLAN_WINDOW
                ? "a buffer limits: a larger one shows what is behind it"
                : "a buffer limits: several connections, a buffer each, show what is behind it");
    for (size_t i = 0; i < findings->rung_count && can_complete_the_rung(w); i++) {
        const struct tl_rung *rung = &findings->ladder[i];
        if (rung->direction == w->direction && rung->essential && !rung->tested &&
            misses(w, rung->missing, rung->missing_count))
            add(w, NEXT_RUNG_WORTH, "it would tell what a fix brings");
    }
}

void tl_worth_of(const struct tl_plan_state *state, enum tl_plan_stage stage,
                 enum tl_direction direction, struct tl_worth *ret_worth)
{
    struct weighing w = {
        .state = state, .index = stage, .direction = direction, .worth = ret_worth};
    *ret_worth = (struct tl_worth){0};
    const struct tl_verdict *verdict = &state->findings->verdict;
    bool met = verdict->state == TL_GOAL_MET; /* the slower direction's, so the other's too */
    if (met || verdict->state == TL_VERDICT_INVALID)
        return;
    double open = gap(&w);
    weigh_open(&w, open);
    weigh_confirmation(&w, open);
    weigh_unexplained(&w);
    weigh_untold(&w);
    weigh_next_rung(&w);
    ret_worth->value = fmin(1, w.best + OTHERS_SHARE * w.others);
}

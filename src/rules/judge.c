/* tl_rules_judge(): both directions, their findings in order, and the verdict of the run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"

/* The findings and the memory behind them. */
struct findings_box {
    struct tl_findings findings; /* first, so that its address is the box's */
    struct tl_arena arena;
};

void tl_findings_destroy(struct tl_findings *findings)
{
    if (!findings)
        return;
    struct findings_box *box = (struct findings_box *)(void *)findings;
    tl_arena_finish(&box->arena);
    free(box);
}

static void read_side(struct tl_side *side)
{
    static const enum tl_fact_name names[TL_SHARE_COUNT] = {
        [TL_SHARE_APP] = TL_FACT_FLOW_ledger_app_ratio,
        [TL_SHARE_SNDBUF] = TL_FACT_FLOW_ledger_sndbuf_ratio,
        [TL_SHARE_RWND] = TL_FACT_FLOW_ledger_rwnd_ratio,
        [TL_SHARE_NETWORK] = TL_FACT_FLOW_ledger_network_ratio,
    };
    /* Who named a disk asks about a file: its rate is the one to explain. */
    tl_facts_get(side->facts, TL_FLOW(side->direction, file_goodput_bps), &side->goodput);
    side->is_file = side->goodput.state == TL_FACT_KNOWN;
    if (!side->is_file)
        tl_facts_get(side->facts, TL_FLOW(side->direction, goodput_bps), &side->goodput);
    for (size_t i = TL_SHARE_APP; i < TL_SHARE_COUNT; i++)
        tl_facts_get(side->facts, TL_KEY(tl_scope_of(side->direction), names[i]), &side->shares[i]);
}

/* A rate that a ladder shows, or that comes after the fix; context is the side. */
static bool told_doubt(const void *context, double bps, double *ret_doubt)
{
    const struct tl_side *side = context;
    const struct tl_verdict *verdict = side->told_by;
    if (tl_told_measured(side->facts, side->direction, bps, ret_doubt))
        return true;
    for (size_t i = 0; i < side->count; i++) {
        if (!side->judged[i].has_rung || side->judged[i].told != bps)
            continue;
        *ret_doubt = tl_judged_doubt(side, &side->judged[i]);
        return true;
    }
    if (!verdict || verdict->direction != side->direction || bps != verdict->fixed_bps)
        return false;
    *ret_doubt = TL_PREDICTION_DOUBT * bps;
    return true;
}

static void set_results(const struct tl_side *side, struct tl_judged *judged)
{
    struct tl_value *results = judged->env->results;
    bool known = judged->has_rung;
    results[TL_NAME_CEILING] = (struct tl_value){.known = known, .number = judged->told};
    results[TL_NAME_CEILING_LOW] = (struct tl_value){.known = known, .number = judged->low};
    results[TL_NAME_CEILING_HIGH] =
        (struct tl_value){.known = known, .number = fmax(judged->high, judged->told)};
    judged->env->told = told_doubt;
    judged->env->told_context = side;
}

static void judge_side(struct tl_arena *arena, const struct tl_rules *rules, struct tl_side *side)
{
    read_side(side);
    side->judged = TL_ARENA_ARRAY(arena, rules->count + 1, struct tl_judged);
    if (!side->judged)
        return;
    for (size_t i = 0; i < rules->count; i++) {
        tl_judge_rule(arena, rules->rules[i], side, &side->judged[i]);
        if (arena->failed)
            return;
        set_results(side, &side->judged[i]);
        side->count++;
    }
    tl_ladder_link(side);
    tl_verdict_choose(arena, side);
}

/* The verdict first, then found by severity and ceiling, open ones, ruled out ones. */
static int compare_judged(const void *left, const void *right)
{
    const struct tl_judged *a = *(struct tl_judged *const *)left;
    const struct tl_judged *b = *(struct tl_judged *const *)right;
    static const int order[] = {
        [TL_FOUND] = 0, [TL_CANNOT_TELL] = 1, [TL_RULED_OUT] = 2, [TL_NOT_APPLICABLE] = 3};
    if (a->is_verdict != b->is_verdict)
        return a->is_verdict ? -1 : 1;
    if (a->result != b->result)
        return order[a->result] - order[b->result];
    if (a->result == TL_FOUND && a->severity != b->severity)
        return (int)a->severity - (int)b->severity;
    if (a->has_rung && b->has_rung && a->bps != b->bps)
        return a->bps < b->bps ? -1 : 1;
    if (a->has_rung != b->has_rung)
        return a->has_rung ? -1 : 1;
    return strcmp(a->rule->id, b->rule->id);
}

static void fill_findings(struct tl_arena *arena, const struct tl_side *side,
                          struct tl_findings *findings)
{
    struct tl_judged **order = TL_ARENA_ARRAY(arena, side->count + 1, struct tl_judged *);
    if (!order)
        return;
    for (size_t i = 0; i < side->count; i++)
        order[i] = &side->judged[i];
    qsort(order, side->count, sizeof(struct tl_judged *), compare_judged);
    for (size_t i = 0; i < side->count && !arena->failed; i++)
        tl_finding_fill(arena, side, order[i], &findings->findings[findings->finding_count++]);
    findings->rung_count += tl_ladder_rungs(arena, side, &findings->ladder[findings->rung_count]);
}

static void fill_ledger(const struct tl_side *side, struct tl_findings *findings)
{
    struct tl_fact steady;
    for (size_t i = TL_SHARE_APP; i < TL_SHARE_COUNT; i++)
        if (side->shares[i].state != TL_FACT_KNOWN)
            return;
    tl_facts_get(side->facts, TL_FLOW(side->direction, steady_ns), &steady);
    findings->ledger[findings->ledger_count++] = (struct tl_ledger_row){
        .direction = side->direction,
        .app_ratio = side->shares[TL_SHARE_APP].number,
        .sndbuf_ratio = side->shares[TL_SHARE_SNDBUF].number,
        .rwnd_ratio = side->shares[TL_SHARE_RWND].number,
        .network_ratio = side->shares[TL_SHARE_NETWORK].number,
        .duration_ns = steady.state == TL_FACT_KNOWN ? steady.number : (double)NAN,
    };
}

/* The rate as a share of the goal, or the rate itself: the smaller needs attention. A direction
 * that was not measured has nothing to say while the other has. */
static double standing(const struct tl_verdict *verdict, const struct tl_question *question)
{
    if (!isfinite(verdict->measured_bps))
        return INFINITY;
    return question->goal_bps > 0 ? verdict->measured_bps / question->goal_bps
                                  : verdict->measured_bps;
}

static const struct tl_verdict *worse(const struct tl_verdict *a, const struct tl_verdict *b,
                                      const struct tl_question *question)
{
    /* A goal that is met needs no attention while the other direction misses it. */
    bool a_met = a->state == TL_GOAL_MET, b_met = b->state == TL_GOAL_MET;
    if (a_met != b_met)
        return a_met ? b : a;
    return standing(b, question) < standing(a, question) ? b : a;
}

static bool allocate(struct tl_arena *arena, const struct tl_rules *rules, size_t sides,
                     struct tl_findings *findings)
{
    size_t room = rules->count * sides + 1;
    findings->findings = TL_ARENA_ARRAY(arena, room, struct tl_finding);
    findings->ladder = TL_ARENA_ARRAY(arena, room, struct tl_rung);
    findings->ledger = TL_ARENA_ARRAY(arena, 2, struct tl_ledger_row);
    return !arena->failed;
}

enum tl_status tl_rules_judge(const struct tl_rules *rules, const struct tl_facts *facts,
                              const struct tl_question *question, struct tl_findings **ret_findings,
                              struct tl_error *reterr)
{
    if (!question->download && !question->upload)
        return tl_error_set(reterr, TL_USAGE, "no direction was asked about");
    struct findings_box *box = calloc(1, sizeof *box);
    struct tl_side sides[2];
    size_t count = 0;
    if (!box)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    for (int d = TL_DOWNLOAD; d <= TL_UPLOAD; d++) {
        if (!(d == TL_DOWNLOAD ? question->download : question->upload))
            continue;
        sides[count++] = (struct tl_side){
            .direction = (enum tl_direction)d, .facts = facts, .question = question};
    }
    bool room = allocate(&box->arena, rules, count, &box->findings);
    for (size_t i = 0; room && i < count && !box->arena.failed; i++)
        judge_side(&box->arena, rules, &sides[i]);
    box->findings.verdict =
        count == 2 ? *worse(&sides[0].verdict, &sides[1].verdict, question) : sides[0].verdict;
    for (size_t i = 0; i < count && !box->arena.failed; i++) {
        sides[i].told_by = &box->findings.verdict;
        fill_findings(&box->arena, &sides[i], &box->findings);
        fill_ledger(&sides[i], &box->findings);
    }
    if (box->arena.failed) {
        tl_findings_destroy(&box->findings);
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    }
    *ret_findings = &box->findings;
    return TL_OK;
}

/* What nobody can say yet: the rules that are open, what would decide them, and the sentence of a
 * verdict that names no cause. */
#include <stdlib.h>
#include <string.h>

#include "judge.h"
#include "tightlink/base/cause_name.h"
#include "tightlink/base/far.h"
#include "tightlink/base/units.h"
#include "tightlink/base/utf8.h"

#define UNSURE_RULES_MAX 2 /* more would not be read */
#define TRIED_STAGES_MAX 2
#define LEFT_CAUSES_MAX  4

/* Nobody can say yet, and nothing that is known speaks against it. */
static bool is_open(const struct tl_side *side, const struct tl_judged *judged,
                    const struct tl_judged *verdict)
{
    bool undecided = judged->result == TL_CANNOT_TELL ||
                     (judged->result == TL_FOUND && judged->own_agrees == TL_UNKNOWN_TRUTH);
    if (!undecided || judged->rule->severity != TL_LIMITS)
        return false;
    if (judged->rule->overrides) /* explains no rate */
        return false;
    if (judged->rate_agrees == TL_FALSE || judged->ledger_agrees == TL_FALSE ||
        judged->own_agrees == TL_FALSE)
        return false;
    return !verdict || !judged->has_rung ||
           judged->bps <= TL_NEAR_FACTOR * tl_judged_level(side, verdict);
}

/* The share of a rule's tests that already speak for its cause. */
static double promise(const struct tl_judged *judged)
{
    size_t speaking = 0;
    for (size_t i = 0; i < judged->rule->test_count; i++) {
        enum tl_truth truth = judged->traces[i].truth;
        speaking += truth == (judged->rule->tests[i].is_for ? TL_TRUE : TL_FALSE);
    }
    return judged->rule->test_count ? (double)speaking / (double)judged->rule->test_count : 0;
}

/* Derived facts have none of their own: what they are computed from has. */
static bool has_stage(const struct tl_fact *fact)
{
    return *fact->stage && strcmp(fact->stage, "derived") != 0;
}

/* Whether something that can still be measured would tell; what was tried in vain tells nobody
 * anything the next time either. */
static bool is_in_reach(const struct tl_facts *facts, const struct tl_judged *judged)
{
    tl_fact_set missing = judged->missing | judged->agrees_missing;
    for (size_t f = 0; f < judged->rule->scope.fact_count; f++) {
        struct tl_fact fact;
        if (!(missing >> f & 1))
            continue;
        tl_facts_get_lacking(facts, tl_judged_fact(judged, f), &fact);
        if (has_stage(&fact) && !fact.tried)
            return true;
    }
    return false;
}

static int compare_promise(const void *left, const void *right)
{
    const struct tl_open_rule *a = left, *b = right;
    double difference = promise(b->judged) - promise(a->judged);
    if (a->in_reach != b->in_reach)
        return a->in_reach ? -1 : 1;
    return difference > 0   ? 1
           : difference < 0 ? -1
                            : strcmp(a->judged->rule->id, b->judged->rule->id);
}

static void add_deciding(struct tl_verdict *verdict, struct tl_fact_key key)
{
    for (size_t i = 0; i < verdict->deciding_count; i++)
        if (tl_fact_key_is(verdict->deciding[i], key))
            return;
    verdict->deciding[verdict->deciding_count++] = key;
}

static void collect_deciding(struct tl_arena *arena, const struct tl_open_rules *open,
                             struct tl_verdict *verdict)
{
    size_t room = 1;
    for (size_t i = 0; i < open->count; i++)
        room += open->rules[i].judged->rule->scope.fact_count;
    verdict->deciding = TL_ARENA_ARRAY(arena, room, struct tl_fact_key);
    for (size_t i = 0; verdict->deciding && i < open->count; i++) {
        const struct tl_judged *judged = open->rules[i].judged;
        tl_fact_set missing = judged->missing | judged->agrees_missing;
        for (size_t f = 0; f < judged->rule->scope.fact_count; f++)
            if (missing >> f & 1)
                add_deciding(verdict, tl_judged_fact(judged, f));
    }
}

struct tl_open_rules tl_open_rules_find(struct tl_arena *arena, struct tl_side *side,
                                        const struct tl_judged *chosen)
{
    struct tl_open_rules open = {.rules =
                                     TL_ARENA_ARRAY(arena, side->count + 1, struct tl_open_rule)};
    for (size_t i = 0; open.rules && i < side->count; i++) {
        const struct tl_judged *judged = &side->judged[i];
        if (is_open(side, judged, chosen))
            open.rules[open.count++] =
                (struct tl_open_rule){judged, is_in_reach(side->facts, judged)};
    }
    if (open.count)
        qsort(open.rules, open.count, sizeof *open.rules, compare_promise);
    collect_deciding(arena, &open, &side->verdict);
    return open;
}

/* Whether a responder in the stranger's place would bring something that the rule lacks. */
static bool awaits_responder(const struct tl_side *side, const struct tl_judged *judged)
{
    tl_fact_set missing = judged->missing | judged->agrees_missing;
    for (size_t f = 0; f < judged->rule->scope.fact_count; f++) {
        struct tl_fact fact;
        if (!(missing >> f & 1))
            continue;
        tl_facts_get_lacking(side->facts, tl_judged_fact(judged, f), &fact);
        if (fact.tried && tl_far_responder_would(fact.reason))
            return true;
    }
    return false;
}

/* "Not ruled out: full line; other traffic; speed limit, drops; and 5 more." False: there are none.
 */
static bool add_left(struct tl_buf *text, const struct tl_side *side,
                     const struct tl_open_rules *open)
{
    const char *causes[LEFT_CAUSES_MAX];
    size_t count = 0, more = 0;
    for (size_t i = 0; i < open->count; i++) {
        const struct tl_judged *judged = open->rules[i].judged;
        size_t s = 0;
        if (!awaits_responder(side, judged))
            continue;
        while (s < count && strcmp(causes[s], judged->rule->cause) != 0)
            s++;
        if (s == count && count < LEFT_CAUSES_MAX)
            causes[count++] = judged->rule->cause;
        else
            more += s == count;
    }
    for (size_t i = 0; i < count; i++)
        tl_buf_addf(text, "%s%s", i == 0 ? " Not ruled out: " : "; ", tl_cause_name(causes[i]));
    if (more)
        tl_buf_addf(text, "; and %zu more", more);
    if (count)
        tl_buf_adds(text, ".");
    return count > 0;
}

/* Stages whose facts would decide: the first fact that each lacks. */
struct stages {
    size_t count;
    struct tl_fact facts[8];
};

enum standing {
    STAGE_OPEN,     /* it can still be run */
    STAGE_IN_VAIN,  /* it was run, or tried */
    STAGE_STRANGER, /* likewise, and a responder in the stranger's place would bring it */
};

static enum standing standing_of(const struct tl_side *side, const struct tl_fact *fact)
{
    bool stranger = side->question->stranger && tl_far_responder_would(fact->reason);
    return !fact->tried ? STAGE_OPEN : stranger ? STAGE_STRANGER : STAGE_IN_VAIN;
}

static void collect_stages(const struct tl_side *side, enum standing standing,
                           struct stages *ret_stages)
{
    const size_t room = sizeof ret_stages->facts / sizeof *ret_stages->facts;
    ret_stages->count = 0;
    for (size_t i = 0; i < side->verdict.deciding_count; i++) {
        struct tl_fact fact;
        tl_facts_get_lacking(side->facts, side->verdict.deciding[i], &fact);
        bool known = !has_stage(&fact) || standing_of(side, &fact) != standing;
        for (size_t s = 0; s < ret_stages->count && !known; s++)
            known = strcmp(ret_stages->facts[s].stage, fact.stage) == 0;
        if (!known && ret_stages->count < room)
            ret_stages->facts[ret_stages->count++] = fact;
    }
}

/* " The streams and paced stages" */
static void add_names(struct tl_buf *text, const struct stages *stages)
{
    for (size_t s = 0; s < stages->count; s++)
        tl_buf_addf(text, "%s%s",
                    s == 0                   ? " The "
                    : s + 1 == stages->count ? " and "
                                             : ", ",
                    stages->facts[s].stage);
    tl_buf_adds(text, stages->count == 1 ? " stage" : " stages");
}

/* "The streams and paced stages would decide." Of those that were tried the reason instead, or who
 * would bring it. */
static void add_stages(struct tl_buf *text, const struct tl_side *side)
{
    struct stages open, tried, stranger;
    collect_stages(side, STAGE_OPEN, &open);
    collect_stages(side, STAGE_IN_VAIN, &tried);
    collect_stages(side, STAGE_STRANGER, &stranger);
    if (open.count) {
        add_names(text, &open);
        tl_buf_adds(text, " would decide.");
    }
    if (stranger.count) {
        add_names(text, &stranger);
        tl_buf_addf(text, "%s lack%s what %s cannot tell: " TL_FAR_WOULD ".",
                    open.count ? " also" : "", stranger.count == 1 ? "s" : "",
                    side->question->stranger);
        return;
    }
    for (size_t s = 0; s < tried.count && s < TRIED_STAGES_MAX; s++) {
        tl_buf_addf(text, " What the %s stage measures would %sdecide, but is not to be had here: ",
                    tried.facts[s].stage, open.count || s ? "also " : "");
        tl_utf8_add_clean(text, tried.facts[s].reason, false);
        tl_buf_adds(text, ".");
    }
}

/* "Cannot tell, and here is what would decide." */
void tl_open_rules_say(struct tl_arena *arena, struct tl_side *side,
                       const struct tl_open_rules *open)
{
    struct tl_buf text = TL_BUF_INIT;
    char rate[TL_UNIT_TEXT_SIZE];
    tl_buf_addf(
        &text, "Cannot tell yet what holds the %s at %s.", tl_direction_name(side->direction),
        tl_format_bps_bounded(side->goodput.number, side->goodput.low, side->goodput.high, rate));
    if (tl_goal_is_missed(side->question->goal_bps, &side->goodput))
        tl_buf_addf(&text, " The goal of %s is missed, whatever the cause.",
                    tl_format_bps(side->question->goal_bps, rate));
    size_t said = 0;
    for (; said < open->count && said < UNSURE_RULES_MAX && open->rules[said].in_reach; said++) {
        const struct tl_judged *judged = open->rules[said].judged;
        tl_buf_addf(&text, " %s", tl_judged_render(arena, judged, &judged->rule->unsure));
    }
    if (!said && !(side->question->stranger && add_left(&text, side, open)))
        tl_buf_adds(&text, " None of the causes that were tested explains it.");
    add_stages(&text, side);
    side->verdict.state = TL_INCONCLUSIVE;
    side->verdict.undecided = true;
    side->verdict.sentence = tl_judged_keep_text(arena, &text);
}

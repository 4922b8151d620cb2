/* What others ask of a judged rule: its sentences, its facts, how sure its numbers are. */
#include <math.h>
#include <string.h>

#include "judge.h"
#include "tightlink/base/utf8.h"

/* The upper bound of the rate below this share of the goal leaves no doubt. */
#define CLEARLY_BELOW 0.95

struct tl_template_words tl_judged_words(const struct tl_judged *judged)
{
    enum tl_direction direction = judged->direction;
    return (struct tl_template_words){
        .place = tl_role_place(judged->rule->role, direction, judged->overheard),
        .sender = tl_role_place(TL_ROLE_SENDER, direction, judged->overheard),
        .receiver = tl_role_place(TL_ROLE_RECEIVER, direction, judged->overheard),
        .direction = tl_direction_name(direction),
        .traces = judged->traces,
    };
}

char *tl_judged_keep_text(struct tl_arena *arena, struct tl_buf *text)
{
    char *copy = tl_arena_strdup(arena, tl_buf_text(text));
    arena->failed |= text->status != TL_OK;
    tl_buf_finish(text);
    return copy;
}

char *tl_judged_render(struct tl_arena *arena, const struct tl_judged *judged,
                       const struct tl_template *template)
{
    struct tl_buf text = TL_BUF_INIT;
    struct tl_template_words words = tl_judged_words(judged);
    (void)tl_template_render(template, judged->env, &words, &text); /* a gap is said in it */
    return tl_judged_keep_text(arena, &text);
}

struct tl_fact_key tl_judged_fact(const struct tl_judged *judged, size_t fact)
{
    return tl_role_fact_key(judged->rule->scope.facts[fact], judged->direction);
}

struct tl_fact_key *tl_judged_facts(struct tl_arena *arena, const struct tl_judged *judged,
                                    tl_fact_set set, size_t *ret_count)
{
    size_t count = 0, room = tl_fact_set_count(set) + 1;
    struct tl_fact_key *keys = TL_ARENA_ARRAY(arena, room, struct tl_fact_key);
    for (size_t i = 0; keys && i < judged->rule->scope.fact_count; i++)
        if (set >> i & 1)
            keys[count++] = tl_judged_fact(judged, i);
    *ret_count = count;
    return keys;
}

char *tl_judged_lacking(struct tl_arena *arena, const struct tl_judged *judged, tl_fact_set set)
{
    struct tl_buf text = TL_BUF_INIT;
    const char *stages[TL_SCOPE_FACTS_MAX], *reason = "no value";
    size_t count = 0;
    for (size_t i = 0; i < judged->rule->scope.fact_count; i++) {
        struct tl_fact fact;
        if (!(set >> i & 1))
            continue;
        tl_facts_get_lacking(judged->env->store, tl_judged_fact(judged, i), &fact);
        bool told = fact.tried || strcmp(fact.stage, "derived") == 0;
        if (told && *fact.reason)
            reason = fact.reason;
        for (size_t s = 0; s < count && !told; s++)
            told = strcmp(stages[s], fact.stage) == 0;
        if (!told)
            stages[count++] = fact.stage;
    }
    for (size_t s = 0; s < count; s++)
        tl_buf_addf(&text, "%s%s", s > 0 ? ", " : count > 1 ? "stages " : "stage ", stages[s]);
    if (count)
        tl_buf_adds(&text, " would tell");
    else
        tl_utf8_add_clean(&text, reason, false);
    return tl_judged_keep_text(arena, &text);
}

double tl_judged_doubt(const struct tl_side *side, const struct tl_judged *judged)
{
    return tl_told_doubt(side->facts, side->told_by, side->direction, judged->told, judged->low,
                         fmax(judged->high, judged->told));
}

double tl_judged_level(const struct tl_side *side, const struct tl_judged *judged)
{
    return judged->has_rung ? judged->bps : side->goodput.number;
}

bool tl_goal_is_missed(double goal_bps, const struct tl_fact *goodput)
{
    return goal_bps > 0 && goodput->state == TL_FACT_KNOWN &&
           fmax(goodput->high, goodput->number) < CLEARLY_BELOW * goal_bps;
}

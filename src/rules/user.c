/* A user's own rules over the built-in ones. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "source.h"

static size_t find(const struct tl_rules *rules, const char *id)
{
    size_t i = 0;
    while (i < rules->count && strcmp(rules->rules[i]->id, id) != 0)
        i++;
    return i;
}

static void refuse(const struct tl_rule *rule, struct tl_buf *report, struct tl_own_rules *own,
                   const char *why)
{
    own->refused++;
    tl_buf_addf(report, "%s: %s\n", rule->file, why);
}

/* Takes one rule of the user's into the set, which has room for it. */
static void take(struct tl_rules *rules, struct tl_rule *rule, struct tl_buf *report,
                 struct tl_own_rules *own)
{
    size_t at = find(rules, rule->id);
    bool known = at < rules->count;
    if (rule->disabled && !known) {
        refuse(rule, report, own, "/id: there is no such rule to disable");
    } else if (rule->disabled) {
        memmove(&rules->rules[at], &rules->rules[at + 1],
                (rules->count - at - 1) * sizeof(struct tl_rule *));
        rules->count--;
        own->disabled++;
    } else if (known) {
        rules->rules[at] = rule;
        own->replaced++;
    } else if (rules->count == TL_RULE_COUNT_MAX) {
        refuse(rule, report, own, "too many rules in all");
    } else {
        rules->rules[rules->count++] = rule;
        own->added++;
    }
}

static enum tl_status merge(struct tl_rules *rules, struct tl_rules *user, struct tl_buf *report,
                            struct tl_own_rules *own)
{
    struct tl_rule **all =
        TL_ARENA_ARRAY(&rules->arena, rules->count + user->count + 1, struct tl_rule *);
    if (!all)
        return TL_NOMEM;
    memcpy(all, rules->rules, rules->count * sizeof *all);
    rules->rules = all;
    rules->capacity = rules->count + user->count + 1;
    for (size_t i = 0; i < user->count; i++) {
        /* Of two files with one id, which the source has reported, the first counts. */
        if (i && strcmp(user->rules[i]->id, user->rules[i - 1]->id) == 0)
            continue;
        take(rules, user->rules[i], report, own);
    }
    tl_source_sort(rules);
    return TL_OK;
}

enum tl_status tl_rules_load_over_builtin(const char *directory, struct tl_buf *report,
                                          struct tl_rules **ret_rules, struct tl_own_rules *ret_own,
                                          struct tl_error *reterr)
{
    struct tl_own_rules own = {0};
    struct tl_rules *rules;
    struct tl_error error;
    struct stat info;
    enum tl_status status = tl_rules_load_builtin(&rules, reterr);
    if (status != TL_OK)
        return status;
    if (stat(directory, &info) == 0) {
        struct tl_source source = {
            .rules = calloc(1, sizeof(struct tl_rules)), .report = report, .may_disable = true};
        rules->own = source.rules;
        status = source.rules ? TL_OK : TL_NOMEM;
        /* A directory that cannot be read whole takes no rule away: none of it counts. */
        if (status == TL_OK && tl_source_directory(&source, directory, &error) != TL_OK) {
            tl_buf_addf(report, "%s\n", error.text);
            own.refused++;
        } else if (status == TL_OK) {
            own.refused = source.errors;
            status =
                source.rules->arena.failed ? TL_NOMEM : merge(rules, source.rules, report, &own);
        }
    }
    if (status != TL_OK) {
        tl_rules_destroy(rules);
        return tl_error_set(reterr, status, "out of memory");
    }
    *ret_rules = rules;
    *ret_own = own;
    return TL_OK;
}

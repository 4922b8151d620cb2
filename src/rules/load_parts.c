/* Loading ceilings and remedies. */
#include <string.h>

#include "load.h"

static void load_ceiling(struct tl_load *load, const struct tl_json_at *at)
{
    static const char *const keys[] = {"when", "bps", "low", "high", "label", "because", NULL};
    struct tl_error error;
    struct tl_rule *rule = load->rule;
    if (rule->ceiling_count == TL_RULE_CEILINGS_MAX) {
        tl_load_fault_at(load, at, TL_LIMIT, "more than %d ceilings", TL_RULE_CEILINGS_MAX);
        return;
    }
    if (tl_json_check_keys(at, keys, &error) != TL_OK) {
        tl_load_fault(load, &error);
        return;
    }
    struct tl_ceiling *ceiling = &rule->ceilings[rule->ceiling_count++];
    ceiling->when = tl_load_logic(load, at, "when", true);
    tl_load_formula(load, at, "bps", true, false, TL_UNIT_BPS, &ceiling->bps);
    tl_load_formula(load, at, "low", false, false, TL_UNIT_BPS, &ceiling->low);
    tl_load_formula(load, at, "high", false, false, TL_UNIT_BPS, &ceiling->high);
    tl_load_template(load, at, "label", true, &ceiling->label);
    (void)tl_load_text(load, at, "because", false, &ceiling->because);
}

void tl_load_ceilings(struct tl_load *load, const struct tl_json_at *root)
{
    struct tl_json_at at;
    if (!tl_json_find(root, "ceiling", &at))
        return;
    if (tl_json_type(&at) != TL_JSON_ARRAY) {
        load_ceiling(load, &at);
        return;
    }
    for (size_t i = 0; i < tl_json_count(&at); i++) {
        struct tl_json_at item = tl_json_item(&at, i);
        load_ceiling(load, &item);
    }
}

/* One of the words of a closed list, "" where the key is absent and not required. */
static void load_word(struct tl_load *load, const struct tl_json_at *object, const char *key,
                      bool required, const char *const *words, const char **ret_word)
{
    const char *text = NULL;
    *ret_word = "";
    if (!tl_load_text(load, object, key, required, &text) || !text)
        return;
    struct tl_buf list = TL_BUF_INIT;
    for (; *words; words++) {
        if (strcmp(*words, text) == 0) {
            *ret_word = *words;
            break;
        }
        tl_buf_addf(&list, " %s", *words);
    }
    if (!*words) {
        struct tl_json_at at = tl_load_member(object, key);
        tl_load_fault_at(load, &at, TL_UNKNOWN, "\"%.40s\" is none of%s", text, tl_buf_text(&list));
    }
    tl_buf_finish(&list);
}

/* "try": what a program can do in its own sockets, and how much of it. */
static void load_trial(struct tl_load *load, const struct tl_json_at *remedy_at,
                       struct tl_remedy_rule *remedy)
{
    static const struct {
        const char *word, *key; /* key of the amount */
        enum tl_unit unit;
    } kinds[TL_TRIAL_KINDS] = {
        [TL_TRIAL_NONE] = {"", NULL, TL_UNIT_TEXT},
        [TL_TRIAL_RCVBUF] = {"rcvbuf", "bytes", TL_UNIT_BYTES},
        [TL_TRIAL_SNDBUF] = {"sndbuf", "bytes", TL_UNIT_BYTES},
        [TL_TRIAL_STREAMS] = {"streams", "count", TL_UNIT_COUNT},
        [TL_TRIAL_CC] = {"cc", "name", TL_UNIT_TEXT},
        [TL_TRIAL_PACING] = {"pacing", "bps", TL_UNIT_BPS},
        [TL_TRIAL_MSS] = {"mss", "bytes", TL_UNIT_BYTES},
        [TL_TRIAL_FAMILY] = {"family", "number", TL_UNIT_NUMBER},
    };
    struct tl_json_at at, set;
    struct tl_error error;
    const char *word = NULL;
    remedy->trial_name = "";
    if (!tl_json_find(remedy_at, "try", &at))
        return;
    if (tl_json_type(&at) != TL_JSON_OBJECT) {
        tl_load_fault_at(load, &at, TL_SYNTAX, "an object with \"set\" is expected");
        return;
    }
    if (!tl_load_text(load, &at, "set", true, &word) || !word)
        return;
    int kind = TL_TRIAL_NONE + 1;
    while (kind < TL_TRIAL_KINDS && strcmp(kinds[kind].word, word) != 0)
        kind++;
    if (kind == TL_TRIAL_KINDS) {
        set = tl_load_member(&at, "set");
        tl_load_fault_at(load, &set, TL_UNKNOWN,
                         "\"%.40s\" is none of rcvbuf sndbuf streams cc pacing mss family", word);
        return;
    }
    const char *const keys[] = {"set", kinds[kind].key, NULL};
    if (tl_json_check_keys(&at, keys, &error) != TL_OK) {
        tl_load_fault(load, &error);
        return;
    }
    remedy->trial = (enum tl_trial_kind)kind;
    if (kinds[kind].unit == TL_UNIT_TEXT)
        (void)tl_load_text(load, &at, kinds[kind].key, true, &remedy->trial_name);
    else
        tl_load_formula(load, &at, kinds[kind].key, true, true, kinds[kind].unit,
                        &remedy->trial_value);
}

static void load_remedy(struct tl_load *load, const struct tl_json_at *at)
{
    static const char *const keys[] = {
        "where", "os",        "needs",         "when",           "do",  "undo",    "persist", "why",
        "risk",  "predicted", "predicted_low", "predicted_high", "try", "because", NULL};
    static const char *const systems[] = {"linux", "macos", "windows", "any", NULL};
    static const char *const needs[] = {"user",     "root",      "network-team",
                                        "provider", "developer", NULL};
    struct tl_error error;
    struct tl_rule *rule = load->rule;
    if (rule->remedy_count == TL_RULE_REMEDIES_MAX) {
        tl_load_fault_at(load, at, TL_LIMIT, "more than %d remedies", TL_RULE_REMEDIES_MAX);
        return;
    }
    if (tl_json_check_keys(at, keys, &error) != TL_OK) {
        tl_load_fault(load, &error);
        return;
    }
    struct tl_remedy_rule *remedy = &rule->remedies[rule->remedy_count++];
    (void)tl_load_role(load, at, "where", &remedy->where);
    load_word(load, at, "os", false, systems, &remedy->os);
    if (strcmp(remedy->os, "any") == 0)
        remedy->os = "";
    load_word(load, at, "needs", true, needs, &remedy->needs);
    remedy->when = tl_load_logic(load, at, "when", true);
    tl_load_template(load, at, "do", true, &remedy->does);
    tl_load_template(load, at, "undo", false, &remedy->undo);
    tl_load_template(load, at, "persist", false, &remedy->persist);
    tl_load_template(load, at, "why", false, &remedy->why);
    tl_load_template(load, at, "risk", false, &remedy->risk);
    tl_load_formula(load, at, "predicted", false, true, TL_UNIT_BPS, &remedy->predicted);
    tl_load_formula(load, at, "predicted_low", false, true, TL_UNIT_BPS, &remedy->predicted_low);
    tl_load_formula(load, at, "predicted_high", false, true, TL_UNIT_BPS, &remedy->predicted_high);
    (void)tl_load_text(load, at, "because", false, &remedy->because);
    load_trial(load, at, remedy);
}

void tl_load_remedies(struct tl_load *load, const struct tl_json_at *root)
{
    struct tl_json_at list;
    if (!tl_json_find(root, "remedies", &list))
        return;
    if (tl_json_type(&list) != TL_JSON_ARRAY) {
        tl_load_fault_at(load, &list, TL_SYNTAX, "a list is expected");
        return;
    }
    for (size_t i = 0; i < tl_json_count(&list); i++) {
        struct tl_json_at item = tl_json_item(&list, i);
        load_remedy(load, &item);
    }
}

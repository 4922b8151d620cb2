/* Loading one rule file: its top level. */
#include "load.h"

#include <string.h>

#define RULE_FORMAT "tightlink.rule/1"

/* cpu.json holds the rules cpu-sender and cpu-receiver; every other rule is named as its file. */
static bool is_file_name_of(const struct tl_load *load, const char *id)
{
    const char *slash = strrchr(load->file, '/'), *name = slash ? slash + 1 : load->file;
    size_t len = strlen(id), end = load->end ? strlen(load->end) : 0;
    if (end && len > end + 1 && id[len - end - 1] == '-' && strcmp(id + len - end, load->end) == 0)
        len -= end + 1;
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): what is equal is as long */
    return strncmp(name, id, len) == 0 && strcmp(name + len, ".json") == 0;
}

static void load_id(struct tl_load *load, const struct tl_json_at *root)
{
    struct tl_rule *rule = load->rule;
    if (!tl_load_text(load, root, "id", true, &rule->id))
        return;
    struct tl_json_at at = tl_load_member(root, "id");
    if (!tl_load_is_id(rule->id, false))
        tl_load_fault_at(load, &at, TL_SYNTAX, "small letters, digits and hyphens, at most %d",
                         TL_LOAD_ID_CHARS_MAX);
    else if (!is_file_name_of(load, rule->id))
        tl_load_fault_at(load, &at, TL_SYNTAX, "the file of rule \"%s\" must be %s.json", rule->id,
                         rule->id);
}

static void load_severity(struct tl_load *load, const struct tl_json_at *root)
{
    const char *severity = NULL;
    if (!tl_load_text(load, root, "severity", true, &severity))
        return;
    for (int i = TL_LIMITS; i <= TL_NOTE; i++) {
        if (strcmp(tl_severity_name((enum tl_severity)i), severity) == 0) {
            load->rule->severity = (enum tl_severity)i;
            return;
        }
    }
    struct tl_json_at at = tl_load_member(root, "severity");
    tl_load_fault_at(load, &at, TL_UNKNOWN, "\"%.40s\" is none of limits contributes note",
                     severity);
}

static void load_format(struct tl_load *load, const struct tl_json_at *root)
{
    const char *format = NULL;
    if (tl_load_text(load, root, "format", true, &format) && strcmp(format, RULE_FORMAT) != 0) {
        struct tl_json_at at = tl_load_member(root, "format");
        tl_load_fault_at(load, &at, TL_VERSION, "\"%.40s\" where this program reads \"%s\"", format,
                         RULE_FORMAT);
    }
}

static void load_head(struct tl_load *load, const struct tl_json_at *root)
{
    struct tl_rule *rule = load->rule;
    load_format(load, root);
    load_id(load, root);
    if (tl_load_text(load, root, "cause", true, &rule->cause) && !tl_cause_find(rule->cause)) {
        struct tl_json_at at = tl_load_member(root, "cause");
        tl_load_fault_at(load, &at, TL_UNKNOWN, "there is no cause \"%.60s\"", rule->cause);
    }
    (void)tl_load_role(load, root, "segment", &rule->role);
    (void)tl_load_text(load, root, "title", true, &rule->title);
    load_severity(load, root);
}

static void load_flag(struct tl_load *load, const struct tl_json_at *root, const char *key,
                      bool *ret_flag)
{
    struct tl_error error;
    struct tl_json_at at;
    if (tl_json_find(root, key, &at) && tl_json_bool(&at, ret_flag, &error) != TL_OK)
        tl_load_fault(load, &error);
}

static void load_flags(struct tl_load *load, const struct tl_json_at *root)
{
    struct tl_rule *rule = load->rule;
    load_flag(load, root, "essential", &rule->essential);
    load_flag(load, root, "overrides", &rule->overrides);
    load_flag(load, root, "extrapolates", &rule->extrapolates);
    load_flag(load, root, "scales_with_rtt", &rule->scales_with_rtt);
}

/* A measured fact that names the segment more closely than the rule can. */
static void load_located_by(struct tl_load *load, const struct tl_json_at *root)
{
    struct tl_json_at at;
    struct tl_rule *rule = load->rule;
    const char *id = NULL;
    if (!tl_json_find(root, "located_by", &at) ||
        !tl_load_text(load, root, "located_by", true, &id))
        return;
    rule->is_located = tl_role_fact_parse(id, &rule->located_by) &&
                       tl_fact_def(rule->located_by.fact)->unit == TL_UNIT_TEXT;
    if (!rule->is_located)
        tl_load_fault_at(load, &at, TL_UNKNOWN, "located_by: \"%.60s\" is no text fact", id);
    if (rule->role != TL_ROLE_PATH && rule->role != TL_ROLE_LAN)
        tl_load_fault_at(load, &at, TL_SYNTAX, "located_by goes with segment path or lan");
}

static void load_ledger(struct tl_load *load, const struct tl_json_at *root)
{
    static const char *const keys[] = {"share", "at_least", "because", NULL};
    struct tl_error error;
    struct tl_json_at at;
    const char *share = NULL;
    struct tl_rule *rule = load->rule;
    if (!tl_json_find(root, "ledger", &at))
        return;
    if (tl_json_check_keys(&at, keys, &error) != TL_OK ||
        tl_json_get_number(&at, "at_least", &rule->ledger_ratio, &error) != TL_OK) {
        tl_load_fault(load, &error);
        return;
    }
    if (rule->ledger_ratio < 0 || rule->ledger_ratio > 1)
        tl_load_fault_at(load, &at, TL_RANGE, "at_least is a ratio, 0 to 1");
    (void)tl_load_text(load, &at, "because", false, &rule->ledger_because);
    if (!tl_load_text(load, &at, "share", true, &share))
        return;
    for (int i = TL_SHARE_APP; i < TL_SHARE_COUNT; i++)
        if (strcmp(tl_share_name((enum tl_share)i), share) == 0)
            rule->ledger = (enum tl_share)i;
    if (rule->ledger == TL_SHARE_NONE)
        tl_load_fault_at(load, &at, TL_UNKNOWN,
                         "share: \"%.40s\" is none of app sndbuf rwnd network", share);
}

/* A formula, or {"is": formula, "because": why its constants are what they are}. */
static void load_name(struct tl_load *load, const char *name, const struct tl_json_at *value)
{
    static const char *const keys[] = {"is", "because", NULL};
    struct tl_error error;
    const char *text = NULL, *because = NULL;
    struct tl_json_at is = *value;
    if (!tl_load_is_name(name)) {
        tl_load_fault_at(load, value, TL_SYNTAX,
                         "a name has small letters, digits and _, and is none of true false "
                         "fixed at_least aim ceiling…");
        return;
    }
    if (tl_json_type(value) == TL_JSON_OBJECT) {
        if (tl_json_check_keys(value, keys, &error) != TL_OK ||
            tl_json_get(value, "is", &is, &error) != TL_OK) {
            tl_load_fault(load, &error);
            return;
        }
        (void)tl_load_text(load, value, "because", false, &because);
    }
    if (tl_json_string(&is, &text, &error) != TL_OK)
        tl_load_fault(load, &error);
    else if (tl_formula_define(load->arena, &load->rule->scope, name, because, text, &error) !=
             TL_OK)
        tl_load_fault_at(load, &is, error.status, "%s", error.text);
}

/* Named formulas, in order: one may use those above it, so there are no cycles. */
static void load_names(struct tl_load *load, const struct tl_json_at *root)
{
    struct tl_error error;
    struct tl_json_at object, value;
    const char *key = NULL;
    if (!tl_json_find(root, "names", &object))
        return;
    if (tl_json_expect(&object, TL_JSON_OBJECT, &error) != TL_OK) {
        tl_load_fault(load, &error);
        return;
    }
    struct tl_json_members members = tl_json_members(&object);
    while (tl_json_next(&members, &key, &value))
        load_name(load, key, &value);
}

static void load_strings(struct tl_load *load, const struct tl_json_at *root, const char *key,
                         size_t max, const char **ret_texts, size_t *ret_count)
{
    struct tl_error error;
    struct tl_json_at list;
    if (!tl_json_find(root, key, &list))
        return;
    if (tl_json_type(&list) != TL_JSON_ARRAY || tl_json_count(&list) > max) {
        tl_load_fault_at(load, &list, TL_LIMIT, "a list of at most %zu texts is expected", max);
        return;
    }
    for (size_t i = 0; i < tl_json_count(&list); i++) {
        struct tl_json_at item = tl_json_item(&list, i);
        const char *text = NULL;
        if (tl_json_string(&item, &text, &error) != TL_OK)
            tl_load_fault(load, &error);
        else if (!tl_load_is_printable(text) || strlen(text) > TL_LOAD_TEXT_CHARS_MAX)
            tl_load_fault_at(load, &item, TL_SYNTAX, "a text of at most %d printable characters",
                             TL_LOAD_TEXT_CHARS_MAX);
        else if ((text = tl_arena_strdup(load->arena, text)))
            ret_texts[(*ret_count)++] = text;
    }
}

static void load_supports(struct tl_load *load, const struct tl_json_at *root)
{
    struct tl_json_at list;
    struct tl_rule *rule = load->rule;
    if (!tl_json_find(root, "supports", &list))
        return;
    if (tl_json_type(&list) != TL_JSON_ARRAY || tl_json_count(&list) > TL_RULE_SUPPORTS_MAX) {
        tl_load_fault_at(load, &list, TL_LIMIT, "a list of at most %d tests is expected",
                         TL_RULE_SUPPORTS_MAX);
        return;
    }
    for (size_t i = 0; i < tl_json_count(&list); i++) {
        struct tl_json_at item = tl_json_item(&list, i);
        size_t test = tl_load_test(load, &item, true);
        if (test != TL_RULE_TESTS_MAX)
            rule->supports[rule->support_count++] = test;
    }
}

static void load_sentences(struct tl_load *load, const struct tl_json_at *root)
{
    static const char *const keys[] = {"found", "ruled_out", "unsure", NULL};
    struct tl_error error;
    struct tl_json_at at;
    if (tl_json_get_object(root, "sentence", &at, &error) != TL_OK ||
        tl_json_check_keys(&at, keys, &error) != TL_OK) {
        tl_load_fault(load, &error);
        return;
    }
    tl_load_template(load, &at, "found", true, &load->rule->found);
    tl_load_template(load, &at, "ruled_out", true, &load->rule->ruled_out);
    tl_load_template(load, &at, "unsure", true, &load->rule->unsure);
}

/* What holds between the parts of a rule. */
static void check_whole(struct tl_load *load, const struct tl_json_at *root)
{
    const struct tl_rule *rule = load->rule;
    if (!rule->when)
        tl_load_fault_at(load, root, TL_UNKNOWN, "the key \"when\" is missing");
    if (rule->severity == TL_LIMITS && !rule->ceiling_count && !rule->agrees)
        tl_load_fault_at(load, root, TL_UNKNOWN,
                         "a cause that limits needs a ceiling, or \"agrees\" to say when it is the "
                         "one that limits");
    for (size_t i = 0; i < rule->yields_count; i++)
        if (!tl_cause_find(rule->yields_to[i]))
            tl_load_fault_at(load, root, TL_UNKNOWN, "yields_to: there is no cause \"%.60s\"",
                             rule->yields_to[i]);
}

/* True for a file that only switches a rule off; then nothing else is read. */
static bool load_disabled(struct tl_load *load, const struct tl_json_at *root)
{
    static const char *const keys[] = {"format", "id", "disabled", NULL};
    struct tl_json_at at;
    struct tl_error error;
    if (!load->may_disable || tl_json_type(root) != TL_JSON_OBJECT ||
        !tl_json_find(root, "disabled", &at))
        return false;
    load_format(load, root);
    load_id(load, root);
    load_flag(load, root, "disabled", &load->rule->disabled);
    if (tl_json_check_keys(root, keys, &error) != TL_OK)
        tl_load_fault(load, &error);
    else if (load->errors == 0 && !load->rule->disabled)
        tl_load_fault_at(load, &at, TL_SYNTAX, "only true; without it the file is a whole rule");
    return true;
}

static void load_root(struct tl_load *load, const struct tl_json_at *root)
{
    static const char *const keys[] = {
        "format",     "id",        "cause",      "segment",      "title",
        "severity",   "essential", "overrides",  "extrapolates", "scales_with_rtt",
        "ledger",     "names",     "conditions", "applies",      "when",
        "not_when",   "supports",  "agrees",     "ceiling",      "no_ceiling",
        "located_by", "yields_to", "sentence",   "change",       "remedies",
        "references", NULL};
    struct tl_error error;
    struct tl_rule *rule = load->rule;
    if (load_disabled(load, root))
        return;
    if (tl_json_check_keys(root, keys, &error) != TL_OK)
        tl_load_fault(load, &error);
    if (tl_json_type(root) != TL_JSON_OBJECT)
        return;
    load_head(load, root);
    load_flags(load, root);
    load_located_by(load, root);
    load_ledger(load, root);
    load_names(load, root);
    tl_load_own_conditions(load, root);
    /* {"is": …} refers to tests above: this order is part of the format. */
    rule->applies = tl_load_logic(load, root, "applies", true);
    rule->when = tl_load_logic(load, root, "when", true);
    rule->not_when = tl_load_logic(load, root, "not_when", false);
    load_supports(load, root);
    rule->agrees = tl_load_logic(load, root, "agrees", true);
    tl_load_ceilings(load, root);
    tl_load_template(load, root, "no_ceiling", false, &rule->no_ceiling);
    load_strings(load, root, "yields_to", TL_RULE_YIELDS_MAX, rule->yields_to, &rule->yields_count);
    load_sentences(load, root);
    tl_load_template(load, root, "change", false, &rule->change);
    tl_load_remedies(load, root);
    load_strings(load, root, "references", TL_RULE_REFERENCES_MAX, rule->references,
                 &rule->reference_count);
    tl_load_check_own(load);
    if (load->errors == 0)
        check_whole(load, root);
}

/* FNV-1a, 64 bits (Fowler, Noll, Vo; IETF draft-eastlake-fnv). */
static uint64_t digest_of(const char *text, size_t len)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return hash;
}

bool tl_load_rule(struct tl_load *load, const char *text, size_t len)
{
    struct tl_json *doc = NULL;
    struct tl_error error;
    if (tl_json_parse(text, len, &tl_load_json_limits, &doc, &error) != TL_OK) {
        tl_load_fault(load, &error);
        return false;
    }
    load->rule->digest = digest_of(text, len);
    load->rule->file = tl_arena_strdup(load->arena, load->file);
    load->rule->tests = TL_ARENA_ARRAY(load->arena, TL_RULE_TESTS_MAX, struct tl_test);
    if (load->rule->file && load->rule->tests) {
        struct tl_json_at root = tl_json_root(doc);
        load->rule->scope.shared = load->shared;
        load_root(load, &root);
        load->rule->scope.shared = NULL; /* what the rule uses of it is in the rule now */
    }
    tl_json_destroy(doc);
    if (load->arena->failed && load->errors == 0) {
        (void)tl_error_set(&error, TL_NOMEM, "out of memory");
        tl_load_fault(load, &error);
    }
    return load->errors == 0;
}

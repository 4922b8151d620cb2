/* Strict loading: every fault is named by file and JSON pointer. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "rule.h"
#include "tightlink/rules/rules.h"

static const char *folder;

static void set_up(void)
{
    folder = folder_make();
}

TestSuite(load, .init = set_up, .fini = folder_remove);

static void expect_fault_of(const char *rule, const char *piece, const char *by, const char *part)
{
    struct tl_rules *rules = NULL;
    struct tl_error error = {.text = ""};
    folder_add_text_changed("sound.json", rule, piece, by);
    cr_expect_neq(tl_rules_load_directory(folder, &rules, &error), TL_OK, "%s passed", by);
    cr_expect_null(rules);
    cr_expect(strncmp(error.text, "sound.json: ", 12) == 0, "no file in \"%s\"", error.text);
    cr_expect(strstr(error.text, part), "\"%s\" lacks \"%s\"", error.text, part);
}

static void expect_fault(const char *piece, const char *by, const char *part)
{
    expect_fault_of(sound_rule, piece, by, part);
}

Test(load, takes_a_sound_rule)
{
    struct tl_rules *rules = NULL;
    struct tl_error error = {.text = ""};
    folder_add("sound.json", sound_rule, strlen(sound_rule));
    cr_assert_eq(tl_rules_load_directory(folder, &rules, &error), TL_OK, "%s", error.text);
    cr_expect_eq(tl_rules_count(rules), 1);
    cr_expect_str_eq(tl_rules_id_at(rules, 0), "sound");
    cr_expect_str_eq(tl_rules_cause_at(rules, 0), "capacity");
    cr_expect_str_eq(tl_rules_title_at(rules, 0), "A sound rule");
    tl_rules_destroy(rules);
}

Test(load, refuses_and_names_the_place)
{
    expect_fault("\"when\"", "\"whem\"", "whem");
    expect_fault("\"title\": \"A sound rule\"", "\"title\": 5", "/title: ");
    expect_fault("\"capacity\"", "\"gremlins\"", "/cause: there is no cause \"gremlins\"");
    expect_fault("\"segment\": \"path\"", "\"segment\": \"moon\"", "/segment: ");
    expect_fault("\"limits\"", "\"explodes\"", "/severity: ");
    expect_fault("rule/1", "rule/2", "/format: ");
    expect_fault("\"sound\"", "\"other\"", "/id: the file of rule");
    expect_fault("\"sound\"", "\"../sound\"", "/id: ");
    expect_fault("flow.goodput_bps\", \">\"", "flow.nope\", \">\"", "/when/all/0/test/0: ");
    expect_fault("\"1Mbps\"", "\"1ms\"", "/when/all/0/test/2: bps is compared with ns");
    expect_fault("\">\"", "\"=>\"", "/when/all/0/test/1: ");
    expect_fault("[\"cubic\", \"reno\"]", "\"cubic\"", "/when/all/1/test/2: ");
    expect_fault("[\"cubic\", \"reno\"]", "[1]", "/when/all/1/test/2/0: ");
    expect_fault("\"two\"", "\"one\"", "/when/all/1: the test \"one\" exists already");
    expect_fault("2 * flow.goodput_bps", "twice + 1Mbps", "/names/twice: ");
    expect_fault("\"bps\": \"twice\"", "\"bps\": \"1s\"", "/ceiling/bps: bps is expected");
    expect_fault("\"label\": \"twice\"", "\"label\": \"{twice|ns}\"", "/ceiling/label: ");
    expect_fault("\"found\": \"f\"", "\"found\": \"\\u001b[2J\"", "control");
    expect_fault(", \"unsure\": \"u\"", "", "/sentence: the key \"unsure\" is missing");
    expect_fault(" \"ceiling\": {\"bps\": \"twice\", \"label\": \"twice\"},\n", "",
                 "needs a ceiling");
    expect_fault("\"twice\":", "\"fixed\":", "/names/fixed: ");
    expect_fault("{\"all\": [", "{\"say\": \"x\", \"all\": [", "stand alone");
    expect_fault("\"names\"", "\"id\": \"again\", \"names\"", "id");
}

Test(load, names_cannot_be_cyclic)
{
    expect_fault("{\"twice\": \"2 * flow.goodput_bps\"}",
                 "{\"twice\": \"other\", \"other\": \"twice\"}",
                 "\"other\" is no function and no name defined above");
}

Test(load, refers_only_to_tests_above)
{
    expect_fault("{\"all\": [", "{\"all\": [{\"is\": \"one\"}, ", "there is no test \"one\"");
}

static const char rule_with_conditions[] =
    "{\"format\": \"tightlink.rule/1\", \"id\": \"sound\", \"cause\": \"capacity\",\n"
    " \"segment\": \"path\", \"title\": \"A sound rule\", \"severity\": \"limits\",\n"
    " \"when\": {\"all\": [{\"is\": \"fast\"}, {\"is\": \"known\"}]},\n"
    " \"not_when\": {\"is\": \"fast-and-lossy\"},\n"
    " \"conditions\": {\n"
    "   \"fast-and-lossy\": {\"all\": [{\"is\": \"fast\"}, {\"id\": \"lossy\", \"test\": "
    "[\"flow.retrans_count\", \">\", 9]}]},\n"
    "   \"fast\": {\"any\": [{\"id\": \"one\", \"test\": [\"flow.goodput_bps\", \">\", "
    "\"1Mbps\"]}]},\n"
    "   \"known\": {\"not\": {\"id\": \"two\", \"test\": [\"flow.cc\", \"in\", [\"bbr\"]]}}},\n"
    " \"ceiling\": {\"bps\": \"flow.goodput_bps\", \"label\": \"l\"},\n"
    " \"sentence\": {\"found\": \"f\", \"ruled_out\": \"r\", \"unsure\": \"u\"}}\n";

Test(load, a_condition_of_its_own_stands_where_it_is_named_first)
{
    struct tl_rules *rules = NULL;
    struct tl_error error = {.text = ""};
    folder_add("sound.json", rule_with_conditions, strlen(rule_with_conditions));
    cr_assert_eq(tl_rules_load_directory(folder, &rules, &error), TL_OK, "%s", error.text);
    const struct tl_rule *rule = rules->rules[0];
    cr_expect_eq(rule->test_count, 3);
    static const char *const tests[] = {"one", "two", "lossy"}; /* as they are named */
    for (int i = 0; i < 3; i++)
        cr_expect_str_eq(rule->tests[i].id, tests[i]);
    cr_expect_eq(rule->group_count, 3);
    cr_expect_eq(rule->not_when->children[0]->kind, TL_LOGIC_ANY, "the same as in when");
    tl_rules_destroy(rules);
}

Test(load, conditions_of_its_own_are_named_and_not_cyclic)
{
    const char *rule = rule_with_conditions;
    expect_fault_of(rule, " \"not_when\": {\"is\": \"fast-and-lossy\"},", "",
                    "/conditions/fast-and-lossy: no part of the rule names it");
    expect_fault_of(rule, "{\"not\": {\"id\": \"two\"",
                    "{\"not\": {\"is\": \"known\"}}, \"k\": {\"not\": {\"id\": \"two\"",
                    "/conditions/known: it is faulty, or made of itself");
    expect_fault_of(rule, "{\"any\": [{\"id\": \"one\"",
                    "{\"id\": \"own\", \"any\": [{\"id\": \"one\"",
                    "/conditions/fast: its id is the key that it stands under");
    expect_fault_of(rule, "{\"is\": \"known\"}]", "{\"is\": \"unknown\"}]",
                    "there is no test \"unknown\"");
    expect_fault("\"names\"", "\"conditions\": 5, \"names\"", "/conditions: ");
    expect_fault_of(rule,
                    "\"known\": {\"not\": ", "\"known\": {\"is\": \"fast\"}, \"k\": {\"not\": ",
                    "/conditions/known: all, any and not stand alone");
}

Test(load, refuses_the_same_id_twice)
{
    struct tl_rules *rules = NULL;
    struct tl_error error = {.text = ""};
    char inner[128];
    folder_add("sound.json", sound_rule, strlen(sound_rule));
    snprintf(inner, sizeof inner, "%s/inner", folder);
    cr_assert_eq(mkdir(inner, 0700), 0);
    folder_add("inner/sound.json", sound_rule, strlen(sound_rule));
    cr_expect_neq(tl_rules_load_directory(folder, &rules, &error), TL_OK);
    cr_expect(strstr(error.text, "stands in"), "%s", error.text);
    snprintf(inner, sizeof inner, "%s/inner/sound.json", folder);
    unlink(inner);
    snprintf(inner, sizeof inner, "%s/inner", folder);
    rmdir(inner);
}

Test(load, check_reports_every_fault)
{
    struct tl_buf report = TL_BUF_INIT;
    struct tl_error error = {.text = ""};
    size_t errors = 0;
    folder_add("sound.json", sound_rule, strlen(sound_rule));
    folder_add("broken.json", "{", 1);
    folder_add_changed("other.json", "\"capacity\"", "\"gremlins\"");
    cr_assert_eq(tl_rules_check_directory(folder, "/nonexistent", &report, &errors, &error), TL_OK,
                 "%s", error.text);
    cr_expect_eq(errors, 4, "%s", tl_buf_text(&report));
    cr_expect(strstr(tl_buf_text(&report), "broken.json: "));
    cr_expect(strstr(tl_buf_text(&report), "other.json: /cause: "));
    cr_expect(strstr(tl_buf_text(&report), "other.json: /id: "));
    cr_expect(strstr(tl_buf_text(&report), "sound.json: no cases"));
    tl_buf_finish(&report);
}

Test(load, check_asks_for_a_case_of_each_result)
{
    static const char cases[] =
        "{\"cases\": [{\"expect\": {\"result\": \"found\"}}, 3, {\"expect\": 4}]}";
    struct tl_buf report = TL_BUF_INIT;
    struct tl_error error = {.text = ""};
    char rule[512], path[600];
    size_t errors = 0;
    folder_add("sound.json", sound_rule, strlen(sound_rule));
    snprintf(rule, sizeof rule, "%s/cases", folder);
    cr_assert_eq(mkdir(rule, 0700), 0);
    snprintf(path, sizeof path, "%s/sound.json", rule);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(cases, file);
    fclose(file);
    /* The folder of the cases lies in that of the rules, where it is no rule: one fault more. */
    cr_assert_eq(tl_rules_check_directory(folder, rule, &report, &errors, &error), TL_OK);
    cr_expect_null(strstr(tl_buf_text(&report), "no case expects found"));
    cr_expect_not_null(strstr(tl_buf_text(&report), "sound.json: no case expects ruled-out"));
    cr_expect_not_null(strstr(tl_buf_text(&report), "sound.json: no case expects cannot-tell"));
    unlink(path);
    rmdir(rule);
    tl_buf_finish(&report);
}

Test(load, an_empty_or_missing_folder_is_an_error)
{
    struct tl_rules *rules = NULL;
    struct tl_error error = {.text = ""};
    cr_expect_eq(tl_rules_load_directory(folder, &rules, &error), TL_UNKNOWN);
    cr_expect_neq(tl_rules_load_directory("/nonexistent/rules", &rules, &error), TL_OK);
    cr_expect(strstr(error.text, "/nonexistent/rules"), "%s", error.text);
}

Test(load, the_built_in_rules_are_sound_and_explained)
{
    struct tl_rules *rules = NULL;
    struct tl_error error = {.text = ""};
    cr_assert_eq(tl_rules_load_builtin(&rules, &error), TL_OK, "%s", error.text);
    cr_expect_geq(tl_rules_count(rules), 16);
    for (size_t i = 0; i < tl_rules_count(rules); i++) {
        struct tl_buf page = TL_BUF_INIT;
        cr_expect_eq(tl_rules_explain(rules, tl_rules_id_at(rules, i), &page), TL_OK);
        cr_expect(strstr(tl_buf_text(&page), tl_rules_title_at(rules, i)));
        cr_expect(strstr(tl_buf_text(&page), "Found when"));
        tl_buf_finish(&page);
    }
    struct tl_buf page = TL_BUF_INIT;
    cr_expect_eq(tl_rules_explain(rules, "nope", &page), TL_UNKNOWN);
    tl_rules_destroy(rules);
}

/* What a report sends its reader to: each cause, with every rule that can find it. */
Test(load, each_cause_has_a_page)
{
    struct tl_rules *rules = NULL;
    struct tl_error error = {.text = ""};
    cr_assert_eq(tl_rules_load_builtin(&rules, &error), TL_OK, "%s", error.text);
    for (size_t i = 0; i < tl_rules_count(rules); i++) {
        struct tl_buf page = TL_BUF_INIT;
        const char *cause = tl_rules_cause_at(rules, i), *id = tl_rules_id_at(rules, i);
        char heading[160];
        snprintf(heading, sizeof heading, "%s: %s\n", id, tl_rules_title_at(rules, i));
        cr_expect_eq(tl_rules_explain(rules, cause, &page), TL_OK, "%s", cause);
        cr_expect(strstr(tl_buf_text(&page), heading), "%s on the page of %s", id, cause);
        tl_buf_finish(&page);
    }
    tl_rules_destroy(rules);
}

/* What rules share: functions with units and examples, names, tests, conditions, and rules for
 * either end. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "folder.h"
#include "rule.h"
#include "tightlink/rules/rules.h"

static const char *folder;

static void set_up(void)
{
    folder = folder_make();
}

TestSuite(shared, .init = set_up, .fini = folder_remove);

#define FUNCTION(takes, gives, is, examples)                                                       \
    "{\"format\": \"tightlink.shared/1\", \"functions\": {\"twofold\": {\"takes\": " takes         \
    ", \"gives\": \"" gives "\", \"is\": " is ", \"because\": \"why\", \"examples\": " examples    \
    "}}}"
#define NAMED(names, tests)                                                                        \
    "{\"format\": \"tightlink.shared/1\", \"names\": {" names "}, \"tests\": {" tests "}}"
#define FASTER                                                                                     \
    "\"faster\": {\"test\": [\"twice_it\", \">\", \"1Mbps\"], \"say\": \"said once\", "            \
    "\"because\": \"why\"}"
#define TWICE_IT "\"twice_it\": {\"is\": \"2 * flow.goodput_bps\", \"because\": \"why\"}"

static void add(const char *name, const char *text)
{
    folder_add(name, text, strlen(text));
}

static struct tl_rules *load(void)
{
    struct tl_rules *rules = NULL;
    struct tl_error error = {.text = ""};
    cr_assert_eq(tl_rules_load_directory(folder, &rules, &error), TL_OK, "%s", error.text);
    return rules;
}

/* Every fault that `rules check` finds. */
static void expect_report(const char *part)
{
    struct tl_buf report = TL_BUF_INIT;
    struct tl_error error = {.text = ""};
    size_t errors = 0;
    cr_assert_eq(tl_rules_check_directory(folder, NULL, &report, &errors, &error), TL_OK, "%s",
                 error.text);
    cr_expect_gt(errors, 0);
    cr_expect(strstr(tl_buf_text(&report), part), "\"%s\" lacks \"%s\"", tl_buf_text(&report),
              part);
    tl_buf_finish(&report);
}

Test(shared, a_function_is_called_with_units_checked)
{
    add("shared.json",
        FUNCTION("{\"rate\": \"bps\"}", "bps", "\"2 * rate\"", "{\"twofold(1Mbps)\": \"2Mbps\"}"));
    folder_add_changed("sound.json", "\"2 * flow.goodput_bps\"", "\"twofold(flow.goodput_bps)\"");
    struct tl_rules *rules = load();
    cr_expect_eq(rules->rules[0]->scope.formulas[0].unit, TL_UNIT_BPS);
    tl_rules_destroy(rules);
    folder_add_changed("sound.json", "\"2 * flow.goodput_bps\"", "\"twofold(flow.rtt_min_ns)\"");
    expect_report(
        "/names/twice: formula \"twofold(flow.rtt_min_ns)\", column 9: twofold() needs bps "
        "as its rate, this is ns");
    folder_add_changed("sound.json", "\"2 * flow.goodput_bps\"", "\"thrice(flow.goodput_bps)\"");
    expect_report("there is no function \"thrice\"");
}

Test(shared, a_function_that_is_wrong_does_not_load)
{
    static const struct {
        const char *text, *part;
    } wrong[] = {
        {FUNCTION("{\"rate\": \"bps\"}", "bps", "\"3 * rate\"", "{\"twofold(1Mbps)\": \"2Mbps\"}"),
         "/functions/twofold/examples/twofold(1Mbps): twofold(1Mbps) is 3e+06"},
        {FUNCTION("{\"rate\": \"bps\"}", "ns", "\"2 * rate\"", "{\"twofold(1Mbps)\": \"2ms\"}"),
         "it gives ns, \"2 * rate\" is bps"},
        {FUNCTION("{\"rate\": \"bps\"}", "bps", "\"2 * speed\"", "{\"twofold(1Mbps)\": 1}"),
         "\"speed\" is no parameter of twofold()"},
        {FUNCTION("{\"rate\": \"bps\"}", "bps", "\"flow.goodput_bps\"", "{\"twofold(1Mbps)\": 1}"),
         "a function reads its parameters, not facts"},
        {FUNCTION("{\"rate\": \"miles\"}", "bps", "\"rate\"", "{\"twofold(1Mbps)\": 1}"),
         "\"miles\" is none of"},
        {FUNCTION("{\"rate\": \"bps\"}", "bps", "\"2 * rate\"", "{}"), "at least one example"},
        {FUNCTION("{\"rate\": \"bps\"}", "bps", "\"twofold(rate)\"", "{\"twofold(1Mbps)\": 1}"),
         "there is no function \"twofold\""},
    };
    folder_add_changed("sound.json", "", "");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        add("shared.json", wrong[i].text);
        expect_report(wrong[i].part);
    }
}

Test(shared, a_text_chooses_among_models)
{
    static const char text[] =
        "{\"format\": \"tightlink.shared/1\", \"functions\": {\"model\": {\"takes\": {\"cc\": "
        "\"text\", "
        "\"p\": \"ratio\"}, \"gives\": \"number\", \"by\": \"cc\", \"is\": {\"reno\": \"1 / p\", "
        "\"cubic\": \"2 / p\"}, \"because\": \"why\", \"examples\": {\"model('reno', 1%)\": 100, "
        "\"model('cubic', 1%)\": 200}}}}";
    add("shared.json", text);
    folder_add_changed("sound.json", "\"2 * flow.goodput_bps\"",
                       "\"model(flow.cc, 1%) * flow.goodput_bps\"");
    struct tl_rules *rules = load();
    static struct tl_formula_env env;
    struct tl_facts *facts = tl_facts_create();
    tl_facts_set_number(facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), 1e6, "");
    tl_facts_set_text(facts, TL_FLOW(TL_DOWNLOAD, cc), "cubic", "");
    tl_formula_env_init(&env, &rules->rules[0]->scope, facts, TL_DOWNLOAD);
    cr_expect_float_eq(env.names[0].number, 2e8, 1);
    tl_facts_set_text(facts, TL_FLOW(TL_DOWNLOAD, cc), "bbr", "");
    tl_formula_env_init(&env, &rules->rules[0]->scope, facts, TL_DOWNLOAD);
    cr_expect_not(env.names[0].known);
    cr_expect_eq(env.names[0].missing, 0, "no fact would help");
    tl_facts_destroy(facts);
    tl_rules_destroy(rules);
}

Test(shared, a_test_by_name_has_its_own_words_where_a_rule_gives_them)
{
    add("shared.json", NAMED(TWICE_IT, FASTER));
    folder_add_changed("sound.json", "{\"id\": \"one\"", "{\"is\": \"faster\"}, {\"id\": \"one\"");
    struct tl_rules *rules = load();
    cr_expect_str_eq(rules->rules[0]->tests[0].id, "faster");
    cr_expect_str_eq(rules->rules[0]->tests[0].say.text, "said once");
    cr_expect_str_eq(rules->rules[0]->tests[0].because, "why");
    tl_rules_destroy(rules);
    folder_add_changed("sound.json", "{\"id\": \"one\"",
                       "{\"is\": \"faster\", \"say\": \"said here\"}, {\"id\": \"one\"");
    rules = load();
    cr_expect_str_eq(rules->rules[0]->tests[0].say.text, "said here");
    tl_rules_destroy(rules);
    folder_add_changed("sound.json", "{\"id\": \"one\"", "{\"is\": \"slower\"}, {\"id\": \"one\"");
    expect_report("there is no test \"slower\" above this place, nor in shared.json");
}

/* A rule's own name hides a shared one from the rule, never from what is shared. */
Test(shared, a_rules_own_name_does_not_change_a_shared_test)
{
    add("shared.json", NAMED(TWICE_IT, FASTER));
    folder_add_changed("sound.json", "\"names\": {", "\"names\": {\"twice_it\": \"9ms\", ");
    expect_report("/tests/faster: no rule uses it");
    folder_add_changed("sound.json", "{\"id\": \"one\"", "{\"is\": \"faster\"}, {\"id\": \"one\"");
    struct tl_rules *rules = load();
    cr_expect_eq(rules->rules[0]->tests[0].left.unit, TL_UNIT_BPS);
    tl_rules_destroy(rules);
}

Test(shared, what_nothing_uses_is_a_fault)
{
    add("shared.json", NAMED(TWICE_IT, FASTER));
    folder_add_changed("sound.json", "", "");
    expect_report("shared.json: /tests/faster: no rule uses it");
}

#define CONDITIONS(text)                                                                           \
    "{\"format\": \"tightlink.shared/1\", \"names\": {" TWICE_IT "}, \"tests\": {" FASTER          \
    "}, \"conditions\": {" text "}}"
#define FAST_OR_NOT                                                                                \
    "\"fast-or-not\": {\"any\": [{\"is\": \"faster\"}, {\"not\": {\"is\": \"faster\"}}], "         \
    "\"because\": \"either\"}"
#define USED_FIRST "{\"is\": \"twice-said\"}, {\"id\": \"one\""

/* The rule asks one condition, which asks another, which asks a test: all three stand in it. */
Test(shared, a_condition_is_taken_in_with_its_tests)
{
    add("shared.json",
        CONDITIONS(FAST_OR_NOT ", \"twice-said\": {\"all\": [{\"is\": \"faster\"}, {\"is\": "
                               "\"fast-or-not\"}], \"because\": \"both\"}"));
    folder_add_changed("sound.json", "{\"id\": \"one\"", "{\"is\": \"twice-said\"}, " USED_FIRST);
    struct tl_rules *rules = load();
    const struct tl_rule *rule = rules->rules[0];
    cr_expect_str_eq(rule->tests[0].id, "faster");
    cr_expect(rule->tests[0].is_for);
    cr_assert_eq(rule->group_count, 2, "each once");
    cr_expect_str_eq(rule->groups[0]->id, "fast-or-not");
    cr_expect_eq(rule->groups[0]->kind, TL_LOGIC_ANY);
    cr_expect_str_eq(rule->groups[1]->id, "twice-said");
    cr_expect_str_eq(rule->groups[1]->because, "both");
    cr_expect_str_eq(rule->when->children[0]->id, "twice-said");
    struct tl_buf page = TL_BUF_INIT;
    cr_assert_eq(tl_rules_explain(rules, "sound", &page), TL_OK);
    cr_expect(strstr(tl_buf_text(&page), "twice-said: all of\n        (both)\n"), "%s",
              tl_buf_text(&page));
    cr_expect(strstr(tl_buf_text(&page), "twice-said, as above\n"), "%s", tl_buf_text(&page));
    tl_buf_finish(&page);
    tl_rules_destroy(rules);
}

Test(shared, a_condition_that_is_wrong_does_not_load)
{
    static const struct {
        const char *conditions, *part;
    } wrong[] = {
        {"\"twice-said\": {\"all\": [{\"is\": \"faster\"}]}", "the key \"because\" is missing"},
        {"\"twice-said\": {\"is\": \"faster\", \"because\": \"why\"}",
         "/conditions/twice-said: all, any and not stand alone"},
        {"\"twice-said\": {\"all\": [{\"is\": \"twice-said\"}], \"because\": \"why\"}",
         "there is no test \"twice-said\" above this place"},
        {"\"twice-said\": {\"all\": [{\"is\": \"fast-or-not\"}], \"because\": "
         "\"why\"}, " FAST_OR_NOT,
         "there is no test \"fast-or-not\" above this place"},
        {"\"twice-said\": {\"all\": [{\"id\": \"x\", \"test\": [\"flow.goodput_bps\", \">\", "
         "\"1bps\"]}"
         "], \"because\": \"why\"}",
         "is made of tests and conditions above it"},
        {"\"twice-said\": {\"all\": [{\"id\": \"x\", \"any\": [{\"is\": \"faster\"}]}], "
         "\"because\": "
         "\"why\"}",
         "have no id"},
    };
    folder_add_changed("sound.json", "{\"id\": \"one\"", USED_FIRST);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct tl_buf text = TL_BUF_INIT;
        tl_buf_addf(&text, CONDITIONS("%s"), wrong[i].conditions);
        add("shared.json", tl_buf_text(&text));
        tl_buf_finish(&text);
        expect_report(wrong[i].part);
    }
    add("shared.json", CONDITIONS(FAST_OR_NOT));
    folder_add_changed("sound.json", "{\"id\": \"one\"",
                       "{\"is\": \"fast-or-not\", \"say\": \"x\"}, {\"id\": \"one\"");
    expect_report("only a test has sentences, \"fast-or-not\" is a condition");
    folder_add_changed("sound.json", "", "");
    expect_report("shared.json: /conditions/fast-or-not: no rule uses it");
}

/* A test of the rule's own with that id would change what the condition means. */
Test(shared, a_rules_own_test_does_not_change_a_shared_condition)
{
    add("shared.json", CONDITIONS(FAST_OR_NOT));
    folder_add_changed("sound.json", "{\"id\": \"one\"",
                       "{\"id\": \"faster\", \"test\": [\"flow.goodput_bps\", \">\", \"1bps\"], "
                       "\"say\": \"x\"}, {\"is\": \"fast-or-not\"}, {\"id\": \"one\"");
    expect_report("the test \"faster\" of shared.json is meant");
}

Test(shared, a_condition_with_an_id_is_referred_to)
{
    folder_add_changed("sound.json", "{\"all\": [", "{\"id\": \"both\", \"all\": [");
    struct tl_rules *rules = load();
    cr_expect_str_eq(rules->rules[0]->groups[0]->id, "both");
    tl_rules_destroy(rules);
}

/* References cannot make a small file a large one: neither by depth nor by width. */
Test(shared, references_do_not_grow_without_bound)
{
    struct tl_buf deep = TL_BUF_INIT, wide = TL_BUF_INIT;
    static const char first[] =
        "{\"all\": [{\"id\": \"g0\", \"any\": [{\"id\": \"zero\", \"test\": "
        "[\"flow.retrans_count\", \">\", 0]}]}, ";
    tl_buf_adds(&deep, first);
    for (int i = 1; i <= 15; i++)
        tl_buf_addf(&deep, "{\"id\": \"g%d\", \"all\": [{\"is\": \"g%d\"}]}, ", i, i - 1);
    folder_add_changed("sound.json", "{\"all\": [", tl_buf_text(&deep));
    expect_report("conditions nested deeper than 10");
    tl_buf_adds(&wide, first);
    for (int i = 1; i <= 3; i++) {
        tl_buf_addf(&wide, "{\"id\": \"g%d\", \"all\": [{\"is\": \"g%d\"}", i, i - 1);
        for (int k = 0; k < 30; k++)
            tl_buf_addf(&wide, ", {\"is\": \"g%d\"}", i - 1);
        tl_buf_adds(&wide, "]}, ");
    }
    folder_add_changed("sound.json", "{\"all\": [", tl_buf_text(&wide));
    expect_report("more than 512 conditions in one");
    tl_buf_finish(&deep);
    tl_buf_finish(&wide);
}

#define EITHER                                                                                     \
    "\"either\": {\"sender\": {\"works\": \"sending\"}, \"receiver\": {\"works\": "                \
    "\"receiving\"}}, "

static void add_either(const char *piece, const char *by)
{
    struct tl_buf text = TL_BUF_INIT;
    const char *found = strstr(sound_rule, "\"id\": \"sound\"");
    tl_buf_add(&text, sound_rule, (size_t)(found - sound_rule));
    tl_buf_adds(&text, EITHER "\"id\": \"sound-<end>\"");
    tl_buf_adds(&text, found + strlen("\"id\": \"sound\""));
    folder_add_text_changed("sound.json", tl_buf_text(&text), piece, by);
    tl_buf_finish(&text);
}

Test(shared, one_file_holds_the_rules_of_both_ends)
{
    add_either("\"A sound rule\"", "\"The <end> is <works>\"");
    struct tl_rules *rules = load();
    cr_assert_eq(rules->count, 2);
    cr_expect_str_eq(rules->rules[0]->id, "sound-receiver");
    cr_expect_str_eq(rules->rules[0]->title, "The receiver is receiving");
    cr_expect_str_eq(rules->rules[1]->title, "The sender is sending");
    tl_rules_destroy(rules);
    add_either("\"2 * flow.goodput_bps\"",
               "{\"sender\": \"flow.sender_link_speed_bps\", \"receiver\": \"flow.goodput_bps\"}");
    expect_report("there is no fact \"flow.sender_link_speed_bps\"");
    add_either("\"A sound rule\"", "{\"sender\": \"Only one\", \"receiver\": \"or the other\"}");
    rules = load();
    cr_expect_str_eq(rules->rules[0]->title, "or the other");
    tl_rules_destroy(rules);
}

Test(shared, a_word_that_no_end_has_is_a_fault)
{
    add_either("\"A sound rule\"", "\"The <end> is <worsk>\"");
    expect_report("sound.json: /title: either: there is no word <worsk> for the sender");
    add_either("{\"works\": \"sending\"}", "5");
    expect_report("/either/sender: ");
}

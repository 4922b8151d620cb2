/* A user's own rules: they replace, add and remove; what is wrong with them stops nothing. */
#include <criterion/criterion.h>
#include <string.h>

#include "folder.h"
#include "tightlink/rules/rules.h"

static const char *folder;
static struct tl_rules *rules;
static struct tl_own_rules own;
static struct tl_buf report;
static size_t builtin;

static void set_up(void)
{
    struct tl_error error = {.text = ""};
    folder = folder_make();
    cr_assert_eq(tl_rules_load_builtin(&rules, &error), TL_OK, "%s", error.text);
    builtin = tl_rules_count(rules);
    tl_rules_destroy(rules);
    rules = NULL;
    report = (struct tl_buf)TL_BUF_INIT;
}

static void tear_down(void)
{
    tl_rules_destroy(rules);
    tl_buf_finish(&report);
    folder_remove();
}

TestSuite(user, .init = set_up, .fini = tear_down);

static void load(void)
{
    struct tl_error error = {.text = ""};
    cr_assert_eq(tl_rules_load_over_builtin(folder, &report, &rules, &own, &error), TL_OK, "%s",
                 error.text);
}

static const char *title_of(const char *id)
{
    for (size_t i = 0; i < tl_rules_count(rules); i++)
        if (strcmp(tl_rules_id_at(rules, i), id) == 0)
            return tl_rules_title_at(rules, i);
    return NULL;
}

static void add_text(const char *name, const char *text)
{
    folder_add(name, text, strlen(text));
}

Test(user, no_directory_holds_no_rules)
{
    struct tl_error error;
    cr_assert_eq(tl_rules_load_over_builtin("/no/such/directory", &report, &rules, &own, &error),
                 TL_OK);
    cr_expect_eq(tl_rules_count(rules), builtin);
    cr_expect_eq(own.replaced + own.added + own.disabled + own.refused, 0);
}

Test(user, a_new_rule_is_added)
{
    folder_add("sound.json", sound_rule, strlen(sound_rule));
    load();
    cr_expect_eq(tl_rules_count(rules), builtin + 1);
    cr_expect_eq(own.added, 1);
    cr_expect_not_null(title_of("sound"));
    cr_expect_eq(report.len, 0, "%s", tl_buf_text(&report));
}

Test(user, a_rule_of_the_same_id_replaces)
{
    folder_add_changed("bufferbloat.json", "\"sound\"", "\"bufferbloat\"");
    load();
    cr_expect_eq(own.replaced, 1, "%s", tl_buf_text(&report));
    cr_expect_eq(tl_rules_count(rules), builtin);
    cr_expect_str_neq(title_of("bufferbloat"), "Delay explodes under load");
}

Test(user, a_rule_can_be_disabled)
{
    add_text("bufferbloat.json",
             "{\"format\": \"tightlink.rule/1\", \"id\": \"bufferbloat\", \"disabled\": true}");
    load();
    cr_expect_eq(own.disabled, 1, "%s", tl_buf_text(&report));
    cr_expect_eq(tl_rules_count(rules), builtin - 1);
    cr_expect_null(title_of("bufferbloat"));
}

Test(user, disabling_takes_its_own_file_and_an_id_that_exists)
{
    static const char *const wrong[] = {
        "{\"format\": \"tightlink.rule/1\", \"id\": \"%s\", \"disabled\": false}",
        "{\"format\": \"tightlink.rule/2\", \"id\": \"%s\", \"disabled\": true}",
        "{\"format\": \"tightlink.rule/1\", \"id\": \"%s\", \"disabled\": true, \"title\": \"t\"}"};
    char text[256];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        strcpy(text, wrong[i]);
        char *hole = strstr(text, "%s");
        memmove(hole + strlen("capacity"), hole + 2, strlen(hole + 2) + 1);
        memcpy(hole, "capacity", strlen("capacity"));
        add_text("capacity.json", text);
        load();
        cr_expect_eq(own.refused, 1, "%s", text);
        cr_expect_eq(tl_rules_count(rules), builtin);
        tl_rules_destroy(rules);
        rules = NULL;
    }
    add_text("capacity.json", "{}");
    add_text("banana.json",
             "{\"format\": \"tightlink.rule/1\", \"id\": \"banana\", \"disabled\": true}");
    load();
    cr_expect_not_null(strstr(tl_buf_text(&report), "banana.json: /id: there is no such rule"));
    cr_expect_eq(tl_rules_count(rules), builtin);
}

Test(user, what_is_wrong_is_left_out_and_the_rest_counts)
{
    static char large[TL_RULE_FILE_BYTES_MAX + 2];
    memset(large, ' ', sizeof large - 1);
    folder_add("large.json", large, sizeof large - 1);
    add_text("cut.json", "{\"format\": \"tightlink.rule/1\", \"id\"");
    folder_add("sound.json", sound_rule, strlen(sound_rule));
    load();
    cr_expect_eq(own.added, 1);
    cr_expect_eq(own.refused, 2);
    cr_expect_eq(tl_rules_count(rules), builtin + 1);
    cr_expect_not_null(strstr(tl_buf_text(&report), "large.json: larger than 262144 bytes"));
    cr_expect_not_null(strstr(tl_buf_text(&report), "cut.json"));
}

Test(user, disabled_is_no_key_of_a_rule_folder)
{
    struct tl_error error = {.text = ""};
    add_text("sound.json",
             "{\"format\": \"tightlink.rule/1\", \"id\": \"sound\", \"disabled\": true}");
    cr_expect_neq(tl_rules_load_directory(folder, &rules, &error), TL_OK);
}

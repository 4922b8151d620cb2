/* tightlink rules list | explain ID | check DIRECTORY [CASES]. */
#include "cause.h"
#include "cli.h"
#include "pager.h"
#include "tightlink/base/nearest.h"
#include "words.h"

#include <errno.h>
#include <string.h>

#include "tightlink/base/cause_name.h"
#include "tightlink/rules/rules.h"

static int list(const struct tl_rules *rules)
{
    cli_page();
    for (size_t i = 0; i < tl_rules_count(rules); i++)
        printf("%-28s %s\n", tl_rules_id_at(rules, i), tl_rules_title_at(rules, i));
    return CLI_EXIT_OK;
}

/* written: an id, or the name that lists have for a cause. */
static int explain(const struct tl_rules *rules, const char *written)
{
    const char *id = tl_cause_id_of(written);
    struct tl_buf page = TL_BUF_INIT;
    int exit_code = CLI_EXIT_OK;
    cli_page();
    if (tl_rules_explain(rules, id, &page) != TL_OK) {
        struct tl_nearest nearest = cli_cause_near(written);
        for (size_t i = 0; i < tl_rules_count(rules); i++) { /* the user's own, too */
            tl_nearest_offer(&nearest, written, tl_rules_id_at(rules, i));
            tl_nearest_offer(&nearest, written, tl_rules_cause_at(rules, i));
        }
        cli_complain("no rule or cause is called \"%.60s\"%s see: tightlink rules list", written,
                     nearest.word ? tl_nearest_text(&nearest) : ";");
        exit_code = CLI_EXIT_USAGE;
    } else if (!cli_write_stdout(tl_buf_text(&page), page.len)) {
        cli_complain("writing the output failed: %s", strerror(errno));
        exit_code = CLI_EXIT_EXPORT;
    }
    tl_buf_finish(&page);
    return exit_code;
}

static int check(const char *directory, const char *cases)
{
    struct tl_buf report = TL_BUF_INIT;
    size_t errors = 0;
    struct tl_error error = {0};
    int exit_code;
    if (tl_rules_check_directory(directory, cases, &report, &errors, &error) != TL_OK) {
        cli_complain("%s", error.text);
        exit_code = CLI_EXIT_USAGE;
    } else {
        cli_put_clean_lines(tl_buf_text(&report), stdout); /* file names are in it */
        exit_code = errors ? CLI_EXIT_USAGE : CLI_EXIT_OK;
    }
    tl_buf_finish(&report);
    return exit_code;
}

static int no_verb(const struct cli_command *command, const char *verb)
{
    struct tl_nearest nearest = {0};
    tl_nearest_offer(&nearest, verb, "list");
    tl_nearest_offer(&nearest, verb, "explain");
    tl_nearest_offer(&nearest, verb, "check");
    return cli_usage(command, "write rules list, rules explain ID or rules check DIRECTORY%s",
                     nearest.distance ? tl_nearest_text(&nearest) : "");
}

int cli_rules(const struct cli_command *command, int argc, char **argv)
{
    struct cli_words words = {command, argc, argv, false, CLI_EXIT_OK};
    if (!cli_take_options(&words, NULL, NULL))
        return words.exit_code;
    const char *verb = words.argc > 0 ? words.argv[0] : "";
    if (strcmp(verb, "check") == 0 && (words.argc == 2 || words.argc == 3))
        return check(words.argv[1], words.argc == 3 ? words.argv[2] : NULL);
    bool wants_list = strcmp(verb, "list") == 0 && words.argc == 1;
    bool wants_page = strcmp(verb, "explain") == 0 && words.argc == 2;
    if (!wants_list && !wants_page)
        return no_verb(command, verb);
    struct tl_error error = {0};
    struct tl_rules *rules;
    if (cli_load_rules(&rules, &error) != TL_OK)
        return cli_fail(&error);
    int exit_code = wants_list ? list(rules) : explain(rules, words.argv[1]);
    tl_rules_destroy(rules);
    return exit_code;
}

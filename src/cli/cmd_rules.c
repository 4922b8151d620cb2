/* tightlink rules list | explain ID | check DIRECTORY [CASES]. */
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/rules/rules.h"

/* More lines than that nobody reads; `rules check` prints them all. */
#define FAULTS_SAID_MAX 8

static void say_faults(const char *directory, const struct tl_buf *report, size_t refused)
{
    const char *line = tl_buf_text(report);
    for (size_t i = 0; i < FAULTS_SAID_MAX && *line; i++) {
        size_t len = strcspn(line, "\n");
        cli_complain("%s/%.*s", directory, (int)len, line);
        line += len + (line[len] == '\n');
    }
    cli_complain("%zu faults in rules of your own: what they are in is left out; see: tightlink "
                 "rules check %s",
                 refused, directory);
}

enum tl_status cli_load_rules(struct tl_rules **ret_rules, struct tl_error *reterr)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    bool given = config && config[0] == '/';
    char directory[PATH_MAX];
    int n = -1;
    if (given || (home && home[0] == '/'))
        n = snprintf(directory, sizeof directory, "%s%s/tightlink/rules", given ? config : home,
                     given ? "" : "/.config");
    if (n < 0 || (size_t)n >= sizeof directory)
        return tl_rules_load_builtin(ret_rules, reterr);
    struct tl_buf report = TL_BUF_INIT;
    struct tl_own_rules own;
    enum tl_status status =
        tl_rules_load_over_builtin(directory, &report, ret_rules, &own, reterr);
    if (status == TL_OK && own.refused)
        say_faults(directory, &report, own.refused);
    if (status == TL_OK && own.replaced + own.added + own.disabled)
        cli_complain("rules of %s are in use: %zu replaced, %zu added, %zu disabled", directory,
                     own.replaced, own.added, own.disabled);
    tl_buf_finish(&report);
    return status;
}

static int list(const struct tl_rules *rules)
{
    for (size_t i = 0; i < tl_rules_count(rules); i++)
        printf("%-28s %s\n", tl_rules_id_at(rules, i), tl_rules_title_at(rules, i));
    return CLI_EXIT_OK;
}

static int explain(const struct tl_rules *rules, const char *id)
{
    struct tl_buf page = TL_BUF_INIT;
    int exit_code = CLI_EXIT_OK;
    if (tl_rules_explain(rules, id, &page) != TL_OK) {
        cli_complain("no rule is called \"%.60s\"; see: tightlink rules list", id);
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
        fputs(tl_buf_text(&report), stdout);
        exit_code = errors ? CLI_EXIT_USAGE : CLI_EXIT_OK;
    }
    tl_buf_finish(&report);
    return exit_code;
}

int cli_rules(const struct cli_command *command, int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    if (strcmp(verb, "--help") == 0) {
        cli_print_help(command, stdout);
        return CLI_EXIT_OK;
    }
    if (strcmp(verb, "check") == 0 && (argc == 3 || argc == 4))
        return check(argv[2], argc == 4 ? argv[3] : NULL);
    bool wants_list = strcmp(verb, "list") == 0 && argc == 2;
    bool wants_page = strcmp(verb, "explain") == 0 && argc == 3;
    if (!wants_list && !wants_page)
        return cli_usage(command, "write rules list, rules explain ID or rules check DIRECTORY");
    struct tl_error error = {0};
    struct tl_rules *rules;
    if (cli_load_rules(&rules, &error) != TL_OK)
        return cli_fail(&error);
    int exit_code = wants_list ? list(rules) : explain(rules, argv[2]);
    tl_rules_destroy(rules);
    return exit_code;
}

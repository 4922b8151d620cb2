/* tightlink why FILE, tightlink why-not CAUSE FILE: the trace of a saved run in words. */
#include "cause.h"
#include "cli.h"
#include "pager.h"
#include "words.h"

#include <errno.h>
#include <string.h>

#include "tightlink/app/open.h"
#include "tightlink/rules/why.h"

static void list_causes(FILE *out)
{
    for (size_t i = 0; i < tl_cause_list_count(); i++)
        fprintf(out, "  %-22s %s\n", tl_cause_list_id(i), tl_cause_list_title(i));
}

/* cause: NULL for why. */
static int print_trace(const char *cause, const char *path)
{
    struct tl_session_result result = {0};
    struct tl_error error = {0};
    struct tl_buf page = TL_BUF_INIT;
    int exit_code = CLI_EXIT_OK;
    cli_page();
    if (!cli_open_run(path, &result)) {
        exit_code = CLI_EXIT_USAGE;
    } else {
        enum tl_status status = cause ? tl_why_not(result.findings, result.facts, cause, &page)
                                      : tl_why(result.findings, result.facts, &page);
        if (status != TL_OK) {
            (void)tl_error_set(&error, status, "%s", tl_status_text(status));
            exit_code = cli_fail(&error);
        } else if (!cli_print_lines(tl_buf_text(&page))) {
            cli_complain("writing the output failed: %s", strerror(errno));
            exit_code = CLI_EXIT_EXPORT;
        }
    }
    tl_buf_finish(&page);
    tl_app_result_finish(&result);
    return exit_code;
}

int cli_why(const struct cli_command *command, int argc, char **argv)
{
    struct cli_words words = {command, argc, argv, false, CLI_EXIT_OK};
    if (!cli_take_options(&words, NULL, NULL))
        return words.exit_code;
    if (words.argc != 1)
        return cli_usage(command, "name one saved run, or - for standard input");
    return print_trace(NULL, words.argv[0]);
}

static int no_cause(const struct cli_command *command, const char *name)
{
    struct tl_nearest nearest = cli_cause_near(name);
    if (nearest.word)
        return cli_usage(command, "no cause is called \"%.60s\"%s", name,
                         tl_nearest_text(&nearest));
    int exit_code = cli_usage(command, "no cause is called \"%.60s\". The causes are:", name);
    list_causes(stderr);
    return exit_code;
}

int cli_why_not(const struct cli_command *command, int argc, char **argv)
{
    struct cli_words words = {command, argc, argv, false, CLI_EXIT_OK};
    if (!cli_take_options(&words, NULL, NULL))
        return words.exit_code;
    const char *cause = words.argc < 1 ? NULL : cli_cause_id(words.argv[0]);
    if (!cause && words.argc == 2 && cli_cause_near(words.argv[1]).word) { /* the run came first */
        char *run = words.argv[0];
        words.argv[0] = words.argv[1];
        words.argv[1] = run;
        cause = cli_cause_id(words.argv[0]);
    }
    if (words.argc < 1) {
        int exit_code = cli_usage(command, "name a cause and a saved run; the causes are:");
        list_causes(stderr);
        return exit_code;
    }
    if (!cause)
        return no_cause(command, words.argv[0]);
    if (words.argc != 2)
        return cli_usage(command, "name one saved run after the cause, or - for standard input");
    return print_trace(cause, words.argv[1]);
}

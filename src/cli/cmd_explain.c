/* tightlink explain FILE: the rules judge a saved run again, without a network. */
#include "cli.h"
#include "pager.h"
#include "words.h"

#include <string.h>

#include "tightlink/app/open.h"

static const struct cli_option explain_options[] = {
    {CLI_FLAG("json", struct cli_run_options, json)},
    {CLI_COLOR("color", struct cli_run_options, color)},
    {.name = NULL},
};

int cli_explain(const struct cli_command *command, int argc, char **argv)
{
    struct cli_run_options options = {0};
    struct cli_words words = {command, argc, argv, false, CLI_EXIT_OK};
    if (!cli_take_options(&words, explain_options, &options))
        return words.exit_code;
    if (words.argc != 1)
        return cli_usage(command, "name one saved run, or - for standard input");
    struct tl_session_result result = {0};
    int exit_code = CLI_EXIT_USAGE;
    cli_page();
    options.saved_name = strcmp(words.argv[0], "-") != 0 ? words.argv[0] : NULL;
    if (cli_open_run(words.argv[0], &result))
        exit_code = cli_deliver(&options, &result);
    tl_app_result_finish(&result);
    return exit_code;
}

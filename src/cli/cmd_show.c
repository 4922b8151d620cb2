/* tightlink show FILE: a saved run on the screen. */
#include "screen.h"

#include "keep.h"
#include "pager.h"
#include "words.h"

#include <string.h>

#include "tightlink/app/open.h"

static const struct cli_option show_options[] = {
    {CLI_COLOR("color", struct cli_run_options, color)},
    {CLI_FLAG("no-mouse", struct cli_run_options, no_mouse)},
    {CLI_FLAG("full", struct cli_run_options, full)},
    {CLI_FLAG("keep", struct cli_run_options, keep_opened)},
    {.name = NULL},
};

int cli_show(const struct cli_command *command, int argc, char **argv)
{
    struct cli_run_options options = {0};
    struct tl_session_result result = {0}, none;
    struct tl_error error = {0};
    struct tl_rules *rules = NULL;
    bool has_result;
    struct cli_words words = {command, argc, argv, false, CLI_EXIT_OK};
    int exit_code;
    if (!cli_take_options(&words, show_options, &options))
        return words.exit_code;
    if (words.argc != 1)
        return cli_usage(command, "name one saved run");
    if (!cli_open_run(words.argv[0], &result)) {
        tl_app_result_finish(&result);
        return CLI_EXIT_USAGE;
    }
    if (options.keep_opened && !cli_import_run(&result)) {
        tl_app_result_finish(&result);
        return CLI_EXIT_EXPORT;
    }
    /* For trying the verdict's remedy on the same path. */
    options.config.port = CLI_DEFAULT_PORT;
    options.saved_name = strcmp(words.argv[0], "-") != 0 ? words.argv[0] : NULL;
    options.brief = cli_wants_screen(&options);
    if (cli_screen_is_possible() && cli_load_rules(&rules, &error) == TL_OK)
        options.config.rules = rules;
    if (cli_screen_is_possible() &&
        cli_drive_screen(&options, &result, &none, &has_result, &error) != TL_OK) {
        exit_code = cli_fail(&error);
    } else {
        if (!options.brief) /* else the screen showed it */
            cli_page();
        exit_code = cli_deliver(&options, &result);
    }
    tl_app_result_finish(&result);
    tl_rules_destroy(rules);
    return exit_code;
}

/* tightlink show FILE: a saved run on the screen; and the screen for the other commands. */
#include "show.h"

#include "keep.h"
#include "pager.h"
#include "words.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/app/open.h"

#if TL_WITH_TUI
#include "tightlink/tui/tui.h"

bool cli_screen_is_possible(void)
{
    return tl_tui_is_possible();
}

enum tl_status cli_drive_screen(const struct cli_run_options *options,
                                const struct tl_session_result *saved,
                                struct tl_session_result *ret_result, bool *ret_has_result,
                                struct tl_error *reterr)
{
    static const enum tl_tui_color colors[] = {[CLI_COLOR_AUTO] = TL_TUI_COLOR_AUTO,
                                               [CLI_COLOR_ALWAYS] = TL_TUI_COLOR_ALWAYS,
                                               [CLI_COLOR_NEVER] = TL_TUI_COLOR_NEVER};
    /* As with NO_COLOR, any text turns it off. */
    const char *no_mouse = getenv("TIGHTLINK_NO_MOUSE");
    char capture[PATH_MAX];
    if (!cli_find_program("tightlink-capture", capture, sizeof capture))
        capture[0] = '\0';
    struct tl_tui_request request = {.config = &options->config,
                                     .keys = options->keys,
                                     .consented = options->yes,
                                     .color = colors[options->color],
                                     .utf8 = cli_locale_is_utf8(),
                                     .mouse = !options->no_mouse && !(no_mouse && *no_mouse),
                                     .keep = !options->no_history,
                                     .start = options->begin,
                                     .saved = saved,
                                     .live = options->live,
                                     .pcap = options->packets,
                                     .capture_program = capture};
    return tl_tui_run(&request, ret_result, ret_has_result, reterr);
}

static const char *cli_why_no_screen(void)
{
    return tl_tui_why_not();
}

const char *cli_terminal_type(void)
{
    return tl_tui_terminal_type();
}
#else
bool cli_screen_is_possible(void)
{
    return false;
}

const char *cli_terminal_type(void)
{
    const char *term = getenv("TERM");
    return term && *term && strcmp(term, "dumb") != 0 ? term : NULL;
}

static const char *cli_why_no_screen(void)
{
    return "";
}

enum tl_status cli_drive_screen(const struct cli_run_options *options,
                                const struct tl_session_result *saved,
                                struct tl_session_result *ret_result, bool *ret_has_result,
                                struct tl_error *reterr)
{
    return tl_error_set(reterr, TL_UNSUPPORTED, "this tightlink was built without the screen");
}
#endif

bool cli_wants_screen(const struct cli_run_options *options)
{
    bool wanted =
        !options->json && !options->json_lines && !options->dry_run && !options->no_screen;
    if (wanted && cli_why_no_screen()[0])
        cli_complain("%s", cli_why_no_screen());
    return wanted && cli_screen_is_possible();
}

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
    options.saved_name = words.argv[0];
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

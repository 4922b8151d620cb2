/* The screen as the commands see it; see screen.h. */
#include "screen.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

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

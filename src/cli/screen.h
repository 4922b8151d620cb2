/* The screen as the commands see it; built without it, it is never possible. Private to src/cli. */
#ifndef TL_CLI_SCREEN_H
#define TL_CLI_SCREEN_H

#include "cli.h"

/* Whether there is a terminal that can show the screen, and the screen itself. */
bool cli_screen_is_possible(void);
/* TERM, or what is known here and like it; NULL where neither is. */
const char *cli_terminal_type(void);

/* Whether the screen is for this command line: not where a program reads the output. */
bool cli_wants_screen(const struct cli_run_options *options);

/* Shows the screen until the user leaves it: the start screen with what the options say, or
 * `saved` where it is not NULL. *ret_has_result: a diagnosis ran, *ret_result is the caller's. */
enum tl_status cli_drive_screen(const struct cli_run_options *options,
                                const struct tl_session_result *saved,
                                struct tl_session_result *ret_result, bool *ret_has_result,
                                struct tl_error *reterr) TL_WARN_UNUSED;

#endif

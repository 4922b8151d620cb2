/* Long output through a pager, and what standard output is. Private to src/cli.
 *
 * As in git: only where standard output is a terminal; TIGHTLINK_PAGER, else PAGER, else less with
 * LESS=FRX where that is not set, so that what fits on the screen is printed as ever. An empty
 * pager or `cat` is none. To be used by one thread, before others are started. */
#ifndef TL_CLI_PAGER_H
#define TL_CLI_PAGER_H

#include <stdbool.h>

/* Takes --paginate and --no-pager out of argv, up to "--". --paginate begins the pager for whatever
 * comes. Returns how many words are left. */
int cli_take_paging(int argc, char **argv);

/* From here to the end standard output, and standard error where it is the same terminal, go
 * through the pager. Does nothing where there is none to begin, or the second time. */
void cli_page(void);

/* Waits until the reader has left the pager. Standard output is written and closed by then.
 * Returns exit_code, or CLI_EXIT_EXPORT with a sentence where the pager could not be run. */
int cli_end_paging(int exit_code);

/* Of standard output, also while a pager stands between: whether a person reads it there, and its
 * columns (80 where it tells none). */
bool cli_stdout_is_terminal(void);
int cli_stdout_columns(void);

#endif

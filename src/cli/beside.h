/* run --compare. Private to src/cli. */
#ifndef TL_CLI_BESIDE_H
#define TL_CLI_BESIDE_H

#include "cli.h"

/* Measures options->compare beside the result, prints a table and a sentence: to standard output,
 * to standard error where that is a document's. */
void cli_compare_others(const struct cli_run_options *options,
                        const struct tl_session_result *result);

#endif

/* run --compare. Private to src/cli. */
#ifndef TL_CLI_BESIDE_H
#define TL_CLI_BESIDE_H

#include "cli.h"
#include "tightlink/app/signals.h"

/* Puts the far ends of [compare NAME] of tightlink.conf into options->compare where that is such a
 * name. False: the configuration is wrong. */
bool cli_compare_list(struct cli_run_options *options, struct tl_error *reterr);

/* Measures options->compare beside the result, prints a table and a sentence: to standard output,
 * to standard error where that is a document's. False where one of the held signals ended it, or
 * the result's own run: what was measured until then is told. */
bool cli_compare_others(const struct cli_run_options *options,
                        const struct tl_app_held_signals *held,
                        const struct tl_session_result *result);

#endif

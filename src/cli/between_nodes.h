/* tightlink between A B --node: what the nodes themselves measure. Private to src/cli. */
#ifndef TL_CLI_BETWEEN_NODES_H
#define TL_CLI_BETWEEN_NODES_H

#include "cli.h"
#include "tightlink/app/nodes.h"

struct cli_between_nodes {
    struct tl_nodes_spec spec; /* node, port and segments are filled from the texts below */
    const char *node;          /* as it was written; NULL: nobody named one */
    struct cli_run_options options;
};

/* Returns the exit code of the command. */
int cli_between_nodes(const struct cli_command *command, struct cli_between_nodes *between);

/* Whether the user agrees to that on the terminal, or did by --yes; else a sentence was said and
 * *ret_exit is set. */
bool cli_nodes_consent(const struct cli_run_options *options, const char *sentence, int *ret_exit);

/* "...: rtt" on stderr: each step of a measurement as it begins. */
void cli_nodes_tell(void *context, const char *text);

#endif

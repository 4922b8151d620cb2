/* tightlink schema: the JSON schema of the findings. */
#include "cli.h"
#include "pager.h"

#include <errno.h>
#include <string.h>

#include "tightlink/document/document.h"

int cli_schema(const struct cli_command *command, int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        cli_print_help(command, stdout);
        return CLI_EXIT_OK;
    }
    if (argc > 1)
        return cli_usage(command, "schema takes no arguments");
    const char *schema = tl_document_schema();
    cli_page();
    if (cli_write_stdout(schema, strlen(schema)))
        return CLI_EXIT_OK;
    cli_complain("writing the schema failed: %s", strerror(errno));
    return CLI_EXIT_EXPORT;
}

/* tightlink schema: the JSON schema of the findings. */
#include "cli.h"
#include "pager.h"
#include "words.h"

#include <errno.h>
#include <string.h>

#include "tightlink/document/document.h"

int cli_schema(const struct cli_command *command, int argc, char **argv)
{
    struct cli_words words = {command, argc, argv, false, CLI_EXIT_OK};
    if (!cli_take_options(&words, NULL, NULL))
        return words.exit_code;
    if (words.argc > 0)
        return cli_usage(command, "schema takes no arguments");
    const char *schema = tl_document_schema();
    cli_page();
    if (cli_write_stdout(schema, strlen(schema)))
        return CLI_EXIT_OK;
    cli_complain("writing the schema failed: %s", strerror(errno));
    return CLI_EXIT_EXPORT;
}

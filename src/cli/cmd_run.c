/* tightlink run HOST: diagnose, print, exit with what the verdict stands for. */
#include "cli.h"

#include <string.h>

#include "tightlink/rules/rules.h"

int cli_run(const struct cli_command *command, int argc, char **argv)
{
    struct cli_run_options options;
    int exit_code;
    if (!cli_parse_run_options(command, argc, argv, &options, &exit_code))
        return exit_code;
    if (options.link_spec)
        return cli_usage(command, "--link is an option of demo");
    if (!options.operand || !*options.operand)
        return cli_usage(command,
                         "which host? Name the far end, where `tightlink serve --open` runs");
    if (strlen(options.operand) > 253)
        return cli_usage(command, "a host name has at most 253 characters");

    struct tl_error error = {0};
    struct tl_rules *rules;
    if (tl_rules_load_builtin(&rules, &error) != TL_OK)
        return cli_fail(&error);
    options.config.host = options.operand;
    options.config.rules = rules;
    struct tl_session_result result;
    if (cli_drive_session(&options, &result, &error) == TL_OK) {
        exit_code = cli_deliver(&options, &result);
        cli_result_finish(&result);
    } else {
        exit_code = cli_fail(&error);
    }
    tl_rules_destroy(rules);
    return exit_code;
}

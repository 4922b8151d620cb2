/* tightlink explain FILE: the rules judge a saved run again, without a network. */
#include "cli.h"
#include "pager.h"

#include <getopt.h>

#include "tightlink/app/open.h"

int cli_explain(const struct cli_command *command, int argc, char **argv)
{
    static const struct option long_options[] = {{"json", no_argument, NULL, 'j'},
                                                 {"color", required_argument, NULL, 'c'},
                                                 {"help", no_argument, NULL, 'h'},
                                                 {NULL, 0, NULL, 0}};
    struct cli_run_options options = {0};
    int option;
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
        if (option == 'h') {
            cli_print_help(command, stdout);
            return CLI_EXIT_OK;
        }
        if (option == ':')
            return cli_usage(command, "%s lacks its value", argv[optind - 1]);
        if (option == '?')
            return cli_no_option(command, argv[optind - 1]);
        if (option == 'c' && !cli_parse_color(optarg, &options.color))
            return cli_usage(command, "--color: write auto, always or never");
        options.json |= option == 'j';
    }
    if (argc - optind != 1)
        return cli_usage(command, "name one saved run, or - for standard input");
    struct tl_session_result result = {0};
    struct tl_error error = {0};
    int exit_code;
    cli_page();
    if (cli_judge_file(argv[optind], &result, &error) == TL_OK) {
        exit_code = cli_deliver(&options, &result);
    } else {
        cli_complain("%s", error.text);
        exit_code = CLI_EXIT_USAGE;
    }
    tl_app_result_finish(&result);
    return exit_code;
}

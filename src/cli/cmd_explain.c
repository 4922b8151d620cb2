/* tightlink explain FILE: the rules judge a saved run again, without a network. */
#include "cli.h"
#include "pager.h"
#include "words.h"

#include "tightlink/app/open.h"

int cli_explain(const struct cli_command *command, int argc, char **argv)
{
    static const struct option long_options[] = {
        {"json", no_argument, NULL, 'j'}, {"color", required_argument, NULL, 'c'}, CLI_OPTIONS_END};
    struct cli_run_options options = {0};
    struct cli_words words = CLI_WORDS(command, argc, argv, long_options, "");
    struct tl_error error = {0};
    int option;
    while ((option = cli_next_option(&words)) > 0) {
        if (option == 'c' && cli_parse_color(optarg, &options.color, &error) != TL_OK)
            cli_refuse_value(&words, error.text);
        options.json |= option == 'j';
    }
    if (option < 0)
        return words.exit_code;
    if (words.argc != 1)
        return cli_usage(command, "name one saved run, or - for standard input");
    struct tl_session_result result = {0};
    int exit_code;
    cli_page();
    if (cli_judge_file(words.argv[0], &result, &error) == TL_OK) {
        exit_code = cli_deliver(&options, &result);
    } else {
        cli_complain("%s", error.text);
        exit_code = CLI_EXIT_USAGE;
    }
    tl_app_result_finish(&result);
    return exit_code;
}

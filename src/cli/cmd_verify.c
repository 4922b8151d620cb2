/* tightlink verify FILE: the remedy of a saved run, tried in our own sockets on its path. */
#include "cli.h"
#include "keep.h"

#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"
#include "tightlink/app/open.h"
#include "tightlink/document/document.h"
#include "tightlink/rules/rules.h"

static enum tl_status read_run(const char *path, struct tl_run *run, struct tl_facts **ret_facts,
                               struct tl_error *reterr)
{
    char *text = NULL;
    size_t len;
    enum tl_status status = cli_read_document(path, &text, &len, reterr);
    if (status == TL_OK) {
        status = tl_document_read(text, len, run, ret_facts, reterr);
        if (status != TL_OK)
            tl_error_prefix(reterr, "%.200s is no saved run", path);
    }
    free(text);
    return status;
}

static bool take_options(const struct cli_command *command, int argc, char **argv,
                         struct cli_run_options *options, int *ret_exit)
{
    static const struct option long_options[] = {{"json", no_argument, NULL, 'j'},
                                                 {"yes", no_argument, NULL, 'y'},
                                                 {"port", required_argument, NULL, 'p'},
                                                 {"help", no_argument, NULL, 'h'},
                                                 {NULL, 0, NULL, 0}};
    struct tl_error error;
    int option;
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
        options->json |= option == 'j';
        options->yes |= option == 'y';
        options->help |= option == 'h';
        if (option == '?' || option == ':') {
            *ret_exit = cli_usage(command, "%s is no option of verify, or lacks its value",
                                  argv[optind - 1]);
            return false;
        }
        if (option == 'p' && cli_parse_port(optarg, &options->config.port, &error) != TL_OK) {
            *ret_exit = cli_usage(command, "--port: %s", error.text);
            return false;
        }
    }
    if (options->help) {
        cli_print_help(command, stdout);
        *ret_exit = CLI_EXIT_OK;
        return false;
    }
    if (argc - optind != 1) {
        *ret_exit = cli_usage(command, "name one saved run");
        return false;
    }
    options->operand = argv[optind];
    return true;
}

int cli_verify(const struct cli_command *command, int argc, char **argv)
{
    struct cli_run_options options = {.config = {.port = CLI_DEFAULT_PORT, .verify = true}};
    struct tl_run *run = calloc(1, sizeof *run);
    struct tl_facts *facts = NULL;
    struct tl_rules *rules = NULL;
    struct tl_session_result result;
    struct tl_error error = {.status = TL_NOMEM};
    int exit_code;
    if (!take_options(command, argc, argv, &options, &exit_code)) {
        free(run);
        return exit_code;
    }
    if (!run || read_run(options.operand, run, &facts, &error) != TL_OK) {
        cli_complain("%s", run ? error.text : tl_status_text(TL_NOMEM));
        exit_code = CLI_EXIT_USAGE;
    } else if (cli_load_rules(&rules, &error) != TL_OK) {
        exit_code = cli_fail(&error);
    } else {
        struct tl_app_target target;
        tl_app_target_of_run(run, NULL, &target);
        tl_app_config_of_run(run, &target, &options.config);
        options.config.rules = rules;
        options.config.prior = facts;
        if (cli_drive_session(&options, &result, &error) == TL_OK) {
            exit_code = cli_deliver(&options, &result);
            (void)cli_keep_run(&result, NULL);
            tl_app_result_finish(&result);
        } else {
            exit_code = cli_fail(&error);
        }
    }
    tl_rules_destroy(rules);
    tl_facts_destroy(facts);
    free(run);
    return exit_code;
}

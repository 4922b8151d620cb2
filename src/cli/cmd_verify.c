/* tightlink verify FILE: the remedy of a saved run, tried in our own sockets on its path. */
#include "cli.h"
#include "keep.h"

#include <stdlib.h>

#include "tightlink/app/open.h"
#include "tightlink/document/document.h"
#include "tightlink/rules/rules.h"
#include "words.h"

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
        else if (tl_app_why_not_again(run))
            status = tl_error_set(reterr, TL_USAGE, "%.200s: %s", path, tl_app_why_not_again(run));
    }
    free(text);
    return status;
}

static const struct cli_option verify_options[] = {
    {CLI_FLAG("json", struct cli_run_options, json)},
    {CLI_FLAG("yes", struct cli_run_options, yes)},
    {CLI_PORT("port", struct cli_run_options, config.port)},
    {.name = NULL},
};

int cli_verify(const struct cli_command *command, int argc, char **argv)
{
    struct cli_run_options options = {.config = {.port = CLI_DEFAULT_PORT, .verify = true}};
    struct cli_words words = {command, argc, argv, false, CLI_EXIT_OK};
    if (!cli_take_options(&words, verify_options, &options))
        return words.exit_code;
    if (words.argc != 1)
        return cli_usage(command, "name one saved run");
    struct tl_run *run = calloc(1, sizeof *run);
    struct tl_facts *facts = NULL;
    struct tl_rules *rules = NULL;
    struct tl_session_result result;
    struct tl_error error = {.status = TL_NOMEM};
    int exit_code;
    if (!run || read_run(words.argv[0], run, &facts, &error) != TL_OK) {
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

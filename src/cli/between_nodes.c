/* A test between two perfSONAR nodes: consent, Ctrl-C, the usual document. */
#include "between_nodes.h"

#include <errno.h>
#include <string.h>

#include "keep.h"
#include "tightlink/app/open.h"
#include "tightlink/app/signals.h"
#include "tightlink/base/name.h"

void cli_nodes_tell(void *context, const char *text)
{
    cli_complain("%s", text);
}

bool cli_nodes_consent(const struct cli_run_options *options, const char *sentence, int *ret_exit)
{
    struct tl_error error = {0};
    if (cli_consent_possible(options, &error) != TL_OK) {
        *ret_exit = cli_fail(&error);
        return false;
    }
    return options->yes || cli_ask(sentence, ret_exit);
}

static bool consent(const struct cli_between_nodes *between, int *ret_exit)
{
    const struct tl_nodes_spec *spec = &between->spec;
    int tests = (spec->both ? 2 : 1) * (spec->streams > 1 ? 2 : 1);
    char text[700];
    snprintf(text, sizeof text,
             "%.200s will send from %.150s to %.150s%s as fast as it can, %d test%s of %d s.",
             spec->node, spec->source, spec->dest, spec->both ? " and back" : "", tests,
             tests == 1 ? "" : "s", spec->seconds);
    return cli_nodes_consent(&between->options, text, ret_exit);
}

/* --- The run ---------------------------------------------------------------------------------- */

static int deliver(struct cli_between_nodes *between, struct tl_session_result *result)
{
    struct cli_run_options *options = &between->options;
    bool kept = false;
    if (!options->no_history)
        (void)cli_keep_run(result, &kept);
    options->kept = kept;
    if (options->save && !cli_save_run(options->save, result))
        return CLI_EXIT_EXPORT;
    return cli_deliver(options, result);
}

static int measure(struct cli_between_nodes *between, int signal_fd, const sigset_t *before)
{
    struct tl_session_result result = {0};
    struct tl_rules *rules = NULL;
    struct tl_error error = {0};
    enum tl_status status = cli_load_rules(&rules, &error);
    if (status == TL_OK)
        status = tl_app_nodes_measure(&between->spec, rules, signal_fd, cli_nodes_tell, NULL,
                                      &result, &error);
    tl_app_signals_close(signal_fd, before);
    int exit_code = status == TL_OK ? deliver(between, &result) : cli_fail(&error);
    tl_app_result_finish(&result);
    tl_rules_destroy(rules);
    return exit_code;
}

static bool are_names(const struct cli_command *command, const struct tl_nodes_spec *spec,
                      int *ret_exit)
{
    const char *const names[] = {spec->source, spec->dest};
    for (int i = 0; i < 2; i++)
        if (!tl_is_command_name(names[i], "", TL_COMMAND_HOST_MAX)) {
            *ret_exit = cli_usage(command, "\"%.80s\" is no name of a host", names[i]);
            return false;
        }
    return true;
}

int cli_between_nodes(const struct cli_command *command, struct cli_between_nodes *between)
{
    struct tl_app_node node;
    struct tl_error error = {0};
    sigset_t before;
    int exit_code = CLI_EXIT_OK;
    if (tl_app_node_parse(between->node, &node, &error) != TL_OK)
        return cli_usage(command, "%s", error.text);
    between->spec.node = node.host;
    between->spec.port = node.port;
    if (!are_names(command, &between->spec, &exit_code) || !consent(between, &exit_code))
        return exit_code;
    int signal_fd = tl_app_signals_open(NULL, 0, &before);
    if (signal_fd < 0) {
        cli_complain("signalfd: %s", strerror(errno));
        return CLI_EXIT_INCONCLUSIVE;
    }
    return measure(between, signal_fd, &before);
}

/* The options of `run` and `demo`. */
#include "cli.h"

#include <getopt.h>
#include <math.h>
#include <string.h>

#include "parse.h"

enum {
    OPT_JSON = 256,
    OPT_JSON_LINES,
    OPT_YES,
    OPT_DIRECTION,
    OPT_GOAL,
    OPT_TIME,
    OPT_DATA,
    OPT_PORT,
    OPT_LINK
};

static const struct option long_options[] = {
    {"json", no_argument, NULL, OPT_JSON},
    {"json-lines", no_argument, NULL, OPT_JSON_LINES},
    {"yes", no_argument, NULL, OPT_YES},
    {"direction", required_argument, NULL, OPT_DIRECTION},
    {"goal", required_argument, NULL, OPT_GOAL},
    {"time-budget", required_argument, NULL, OPT_TIME},
    {"data-budget", required_argument, NULL, OPT_DATA},
    {"port", required_argument, NULL, OPT_PORT},
    {"link", required_argument, NULL, OPT_LINK},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static enum tl_status apply(int option, const char *text, struct cli_run_options *options,
                            struct tl_error *reterr)
{
    struct tl_session_config *config = &options->config;
    switch (option) {
    case OPT_JSON:
        options->json = true;
        return TL_OK;
    case OPT_JSON_LINES:
        options->json_lines = true;
        return TL_OK;
    case OPT_YES:
        options->yes = true;
        return TL_OK;
    case OPT_DIRECTION:
        options->direction_given = true;
        return cli_parse_direction(text, &config->download, &config->upload, reterr);
    case OPT_GOAL:
        return cli_parse_goal(text, &config->goal_bps, &config->goal_rtt_ns, reterr);
    case OPT_TIME:
        return cli_parse_time_budget(text, &config->time_budget_ns, reterr);
    case OPT_DATA:
        return cli_parse_data_budget(text, &config->data_budget_bytes, reterr);
    case OPT_PORT:
        options->port_given = true;
        return cli_parse_port(text, &config->port, reterr);
    case OPT_LINK:
        options->link_spec = text;
        return TL_OK;
    case '4':
    case '6':
        config->family = option - '0';
        return TL_OK;
    default:
        options->help = true;
        return TL_OK;
    }
}

static const char *option_name(int option)
{
    for (const struct option *o = long_options; o->name; o++)
        if (o->val == option)
            return o->name;
    return "";
}

/* getopt's '?' and ':' (unknown, without its value, with a value it does not take). */
static int refuse(const struct cli_command *command, int found, char **argv)
{
    /* optopt: 0 for a long name that is not known, the character of a short one, else val. */
    const char *name = option_name(optopt);
    if (found == ':')
        return cli_usage(command, "--%s lacks its value", name);
    if (name[0])
        return cli_usage(command, "--%s takes no value", name);
    if (optopt)
        return cli_usage(command, "-%c is no option of %s", optopt, command->name);
    return cli_usage(command, "%s is no option of %s", argv[optind - 1], command->name);
}

static bool take_options(const struct cli_command *command, int argc, char **argv,
                         struct cli_run_options *options, int *ret_exit)
{
    struct tl_error error = {0};
    int option;
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, ":46h", long_options, NULL)) != -1) {
        if (option == '?' || option == ':') {
            *ret_exit = refuse(command, option, argv);
            return false;
        }
        if (apply(option, optarg, options, &error) != TL_OK) {
            *ret_exit = cli_usage(command, "--%s: %s", option_name(option), error.text);
            return false;
        }
    }
    return true;
}

bool cli_parse_run_options(const struct cli_command *command, int argc, char **argv,
                           struct cli_run_options *options, int *ret_exit)
{
    *options = (struct cli_run_options){.config = {.port = CLI_DEFAULT_PORT,
                                                   .download = true,
                                                   .goal_bps = (double)NAN,
                                                   .goal_rtt_ns = (double)NAN,
                                                   .target_kind = "tightlink"}};
    if (!take_options(command, argc, argv, options, ret_exit))
        return false;
    if (options->help) {
        cli_print_help(command, stdout);
        *ret_exit = CLI_EXIT_OK;
        return false;
    }
    if (argc - optind > 1) {
        *ret_exit = cli_usage(command, "one name only, not also \"%s\"", argv[optind + 1]);
        return false;
    }
    options->operand = argc > optind ? argv[optind] : NULL;
    return true;
}

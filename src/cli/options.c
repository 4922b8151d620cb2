/* The options of `run` and `demo`. */
#include "cli.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/units.h"

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

/* "900M" or "900M@80ms". */
static enum tl_status parse_goal(const char *text, struct tl_session_config *config,
                                 struct tl_error *reterr)
{
    char rate[64];
    const char *at = strchr(text, '@');
    size_t len = at ? (size_t)(at - text) : strlen(text);
    if (len >= sizeof rate)
        return tl_error_set(reterr, TL_SYNTAX, "the rate is too long");
    memcpy(rate, text, len);
    rate[len] = '\0';
    enum tl_status status = tl_parse_bps(rate, &config->goal_bps, reterr);
    if (status != TL_OK || !at)
        return status;
    int64_t rtt_ns;
    status = tl_parse_ns(at + 1, &rtt_ns, reterr);
    if (status == TL_OK)
        config->goal_rtt_ns = (double)rtt_ns;
    return status;
}

static enum tl_status parse_direction(const char *text, struct cli_run_options *options,
                                      struct tl_error *reterr)
{
    bool both = strcmp(text, "both") == 0;
    options->config.download = both || strcmp(text, "download") == 0;
    options->config.upload = both || strcmp(text, "upload") == 0;
    options->direction_given = true;
    if (!options->config.download && !options->config.upload)
        return tl_error_set(reterr, TL_USAGE,
                            "\"%.40s\" is no direction; write download, upload or both", text);
    return TL_OK;
}

static enum tl_status parse_port(const char *text, uint16_t *ret_port, struct tl_error *reterr)
{
    char *end;
    errno = 0;
    long port = strtol(text, &end, 10);
    if (end == text || *end || errno || port < 1 || port > 65535)
        return tl_error_set(reterr, TL_RANGE, "\"%.40s\" is no port; write 1 to 65535", text);
    *ret_port = (uint16_t)port;
    return TL_OK;
}

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
        return parse_direction(text, options, reterr);
    case OPT_GOAL:
        return parse_goal(text, config, reterr);
    case OPT_TIME:
        return tl_parse_ns(text, &config->time_budget_ns, reterr);
    case OPT_DATA:
        return tl_parse_bytes(text, &config->data_budget_bytes, reterr);
    case OPT_PORT:
        return parse_port(text, &config->port, reterr);
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

bool cli_parse_run_options(const struct cli_command *command, int argc, char **argv,
                           struct cli_run_options *options, int *ret_exit)
{
    *options = (struct cli_run_options){.config = {.port = CLI_DEFAULT_PORT,
                                                   .download = true,
                                                   .goal_bps = (double)NAN,
                                                   .goal_rtt_ns = (double)NAN,
                                                   .target_kind = "tightlink"}};
    struct tl_error error = {0};
    int option;
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, "46h", long_options, NULL)) != -1) {
        if (option == '?') {
            *ret_exit = cli_usage(command, "%s is no option of %s, or lacks its value",
                                  argv[optind - 1], command->name);
            return false;
        }
        if (apply(option, optarg, options, &error) != TL_OK) {
            *ret_exit = cli_usage(command, "--%s: %s", option_name(option), error.text);
            return false;
        }
    }
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

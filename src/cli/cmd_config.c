/* tightlink config: a sample of tightlink.conf, and whether the user's own is right. */
#include "cli.h"
#include "words.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#if TL_WITH_TICKETS
#include "tightlink/ticket/telemetry.h"
#include "tightlink/ticket/ticket.h"
#endif

static const char sample[] =
    "# tightlink.conf: where runs may be sent, whom to compare with. Goes to "
    "~/.config/tightlink/tightlink.conf.\n"
    "# Tokens stand in files of their own (mode 0600), beside this one or with a whole path.\n"
    "# Take the # away from what you use; tightlink config --check reads it.\n"
    "\n"
    "#[ticket helpdesk]\n"
    "#system = rt\n"
    "#url = https://helpdesk.example.net/rt\n"
    "#token_file = helpdesk.token\n"
    "#queue = Network\n"
    "\n"
    "#[ticket tracker]\n"
    "#system = gitlab\n"
    "#url = https://gitlab.example.net\n"
    "#token_file = gitlab.token\n"
    "#project = network/slow\n"
    "#labels = tightlink\n"
    "\n"
    "#[telemetry metrics]\n"
    "#system = otlp\n"
    "#url = https://otel.example.net:4318\n"
    "#token_file = otel.token\n"
    "\n"
    "# Far ends that are known well: tightlink run HOST --compare known\n"
    "#[compare known]\n"
    "#far_ends = mirror.example.net, https://download.example.org/big.iso\n";

#if TL_WITH_TICKETS
static void print_system(struct tl_ticket_target_info system)
{
    printf("  %-20s %-12s ", system.name, system.system);
    cli_put_clean(system.url, stdout);
    putchar('\n');
}

static int check(const char *path)
{
    struct tl_ticket_config *config = NULL;
    struct tl_error error = {0};
    if (path && access(path, R_OK) != 0) { /* one's own need not be there, one that is named must */
        cli_complain("%s: %s", path, strerror(errno));
        return CLI_EXIT_USAGE;
    }
    if (tl_ticket_config_load(path, &config, &error) != TL_OK) {
        cli_complain("%s", error.text);
        return CLI_EXIT_USAGE;
    }
    size_t count = tl_ticket_target_count(config), sinks = tl_telemetry_sink_count(config),
           lists = tl_compare_list_count(config);
    bool there = access(tl_ticket_config_path(config), F_OK) == 0;
    cli_put_clean(tl_ticket_config_path(config), stdout);
    if (there)
        printf(": no fault found; %zu ticket system%s, %zu telemetry system%s, %zu list%s to "
               "compare with\n",
               count, count == 1 ? "" : "s", sinks, sinks == 1 ? "" : "s", lists,
               lists == 1 ? "" : "s");
    else
        puts(" is not there; tightlink config --example prints one to begin with");
    for (size_t i = 0; i < count; i++)
        print_system(tl_ticket_target_at(config, i));
    for (size_t i = 0; i < sinks; i++)
        print_system(tl_telemetry_sink_at(config, i));
    tl_ticket_config_destroy(config);
    return CLI_EXIT_OK;
}
#else
static int check(const char *path)
{
    cli_complain("this tightlink was built without ticket systems (libcurl and inih)");
    return CLI_EXIT_USAGE;
}
#endif

struct request {
    bool example, check;
};

static const struct cli_option options[] = {
    {CLI_FLAG("example", struct request, example)},
    {CLI_FLAG("check", struct request, check)},
    {.name = NULL},
};

int cli_config(const struct cli_command *command, int argc, char **argv)
{
    struct request request = {0};
    struct cli_words words = {command, argc, argv, false, CLI_EXIT_OK};
    if (!cli_take_options(&words, options, &request))
        return words.exit_code;
    if (request.example && request.check)
        return cli_usage(command, "one of --example and --check");
    if ((!request.example && !request.check) || words.argc > request.check)
        return cli_usage(command, "say --example, or --check [FILE]");
    if (request.check)
        return check(words.argv[0]);
    fputs(sample, stdout);
    return CLI_EXIT_OK;
}

/* tightlink demo: an emulated path on this machine, a responder at its far end, a real
 * diagnosis from its near end, and at last what was emulated, to compare. */
#include "cli.h"
#include "demo_far.h"
#include "pager.h"
#include "screen.h"
#include "tightlink/base/nearest.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "tightlink/app/open.h"
#include "tightlink/lab/lab.h"
#include "tightlink/lab/scenario.h"

#define DEFAULT_SCENARIO "satellite-64k"

static int list_scenarios(void)
{
    size_t count;
    const struct tl_lab_scenario *all = tl_lab_scenario_list(&count);
    cli_page();
    for (size_t i = 0; i < count; i++)
        printf("%-16s %-8s %s\n", all[i].name,
               all[i].direction == TL_LAB_DOWN ? "download" : "upload", all[i].about);
    return CLI_EXIT_OK;
}

/* What is emulated: a named scenario or a specification of the user's own. */
static enum tl_status no_demo(const char *name, struct tl_error *reterr)
{
    struct tl_nearest nearest = {0};
    size_t count;
    const struct tl_lab_scenario *all = tl_lab_scenario_list(&count);
    for (size_t i = 0; i < count; i++) {
        /* Of "satellite-64k" the first word alone is remembered, too. */
        char first[64];
        snprintf(first, sizeof first, "%.*s", (int)strcspn(all[i].name, "-"), all[i].name);
        tl_nearest_offer(&nearest, name, all[i].name);
        if (tl_nearest_distance(name, first) <= 1 && !nearest.word)
            nearest = (struct tl_nearest){all[i].name, 1};
    }
    tl_nearest_offer(&nearest, name, "list");
    return tl_error_set(reterr, TL_USAGE, "no demo is called \"%.60s\"%s see: tightlink demo list",
                        name, nearest.word ? tl_nearest_text(&nearest) : ";");
}

static enum tl_status choose_path(const struct cli_run_options *options,
                                  struct tl_lab_config *ret_config,
                                  const struct tl_lab_scenario **ret_scenario,
                                  struct tl_error *reterr)
{
    *ret_scenario = NULL;
    if (options->link_spec && !options->operand) {
        tl_lab_config_init(ret_config);
        return tl_lab_config_parse(options->link_spec, ret_config, reterr);
    }
    const char *name = options->operand ? options->operand : DEFAULT_SCENARIO;
    *ret_scenario = tl_lab_scenario_find(name);
    if (!*ret_scenario)
        return no_demo(name, reterr);
    enum tl_status status = tl_lab_scenario_config(*ret_scenario, ret_config, reterr);
    if (status == TL_OK && options->link_spec)
        status = tl_lab_config_parse(options->link_spec, ret_config, reterr);
    return status;
}

/* Starts tightlinkd at the far end, or on a router (1: r1), and waits until it listens. */
static enum tl_status start_responder(struct tl_lab *lab, int router, struct tl_error *reterr)
{
    char program[PATH_MAX], line[128];
    if (!cli_find_program("tightlinkd", program, sizeof program))
        return tl_error_set(reterr, TL_UNSUPPORTED,
                            "the program tightlinkd is not beside tightlink; install it again");
    int ready[2];
    if (pipe2(ready, O_CLOEXEC) < 0)
        return tl_error_set(reterr, TL_IO, "pipe: no descriptor left");
    /* The responder tells on its standard output when it listens. */
    const char *disk = router ? NULL : tl_lab_disk_directory(lab, TL_LAB_FAR);
    const char *const argv[] = {program, "--open", "--ready-fd", "1", disk ? "--disk" : NULL,
                                disk,    NULL};
    struct tl_lab_stdio stdio = {.in = -1, .out = ready[1], .err = -1};
    pid_t pid;
    enum tl_status status = router ? tl_lab_spawn_router(lab, router, argv, &stdio, &pid, reterr)
                                   : tl_lab_spawn(lab, TL_LAB_FAR, argv, &stdio, &pid, reterr);
    close(ready[1]);
    if (status == TL_OK && read(ready[0], line, sizeof line) <= 0)
        status = tl_error_set(reterr, TL_IO, "the emulated far end did not start");
    close(ready[0]);
    return status;
}

static void print_truth(const struct tl_lab_scenario *scenario,
                        const struct tl_session_result *result)
{
    const struct tl_verdict *verdict = result->findings ? &result->findings->verdict : NULL;
    if (!scenario || !verdict)
        return;
    bool goal = verdict->state == TL_GOAL_MET && strcmp(scenario->cause, "goal-met") == 0;
    bool cause = verdict->cause && verdict->segment &&
                 strcmp(verdict->cause, scenario->cause) == 0 &&
                 strcmp(verdict->segment, scenario->segment) == 0;
    char line[400];
    snprintf(line, sizeof line, "This was an emulated path: %s (%s).", scenario->about,
             scenario->spec);
    cli_print_paragraph("");
    cli_print_paragraph(line);
    snprintf(line, sizeof line, "The truth is %s%s%s; the verdict %s.", scenario->cause,
             scenario->segment[0] ? " at " : "", scenario->segment,
             goal || cause    ? "says the same"
             : verdict->cause ? "differs"
                              : "names no cause");
    cli_print_paragraph(line);
}

/* Its scheme before the address: "iperf3://10.0.0.2". */
static void name_kind(struct cli_run_options *options, enum tl_far_kind kind)
{
    static char target[80];
    const char *host = options->config.host;
    bool v6 = strchr(host, ':') != NULL;
    snprintf(target, sizeof target, "%s://%s%s%s", tl_far_row(kind)->scheme, v6 ? "[" : "", host,
             v6 ? "]" : "");
    options->config.host = target;
}

static enum tl_status start_far_end(struct tl_lab *lab, struct cli_run_options *options,
                                    struct tl_error *reterr)
{
    enum tl_far_kind kind = TL_FAR_TIGHTLINK;
    enum tl_status status = options->far ? cli_demo_far_parse(options->far, &kind, reterr) : TL_OK;
    if (status != TL_OK)
        return status;
    if (kind == TL_FAR_TIGHTLINK)
        return start_responder(lab, 0, reterr);
    name_kind(options, kind);
    return cli_demo_far_start(lab, kind, reterr);
}

/* The far end's address in the family asked for. */
static enum tl_status choose_address(struct tl_lab *lab, struct cli_run_options *options,
                                     struct tl_error *reterr)
{
    int family = options->config.family;
    options->config.host =
        family ? tl_lab_address(lab, TL_LAB_FAR, family == 6 ? TL_LAB_IPV6 : TL_LAB_IPV4)
               : tl_lab_far_address(lab);
    if (!family && tl_lab_address(lab, TL_LAB_FAR, TL_LAB_IPV4))
        options->config.other_host = tl_lab_address(lab, TL_LAB_FAR, TL_LAB_IPV6);
    if (options->config.host)
        return TL_OK;
    return tl_error_set(reterr, TL_USAGE,
                        "this path has no IPv%d; add --link family=%d, or leave -%d out", family,
                        family, family);
}

/* --via r1,r2: responders on these routers of the path. Their names become addresses. */
static enum tl_status start_via(struct tl_lab *lab, struct cli_run_options *options,
                                struct tl_error *reterr)
{
    enum tl_lab_family family = strchr(options->config.host, ':') ? TL_LAB_IPV6 : TL_LAB_IPV4;
    enum tl_status status = TL_OK;
    for (size_t i = 0; i < options->config.via_count && status == TL_OK; i++) {
        char *name = options->via[i], address[TL_LAB_ROUTER_ADDRESS_SIZE];
        bool named = name[0] == 'r' && name[1] >= '1' && name[1] <= '9' && name[2] == '\0';
        int router = named ? name[1] - '0' : 0;
        if (!tl_lab_router_address(lab, router, family, address))
            return tl_error_set(reterr, TL_USAGE,
                                "--via %.60s: in a demo these are routers of the path: r1, r2 ...",
                                name);
        status = start_responder(lab, router, reterr);
        snprintf(name, sizeof options->via[i], "%s", address);
    }
    return status;
}

/* Disks of the path are what the question is about. */
static void take_disks(struct tl_lab *lab, struct cli_run_options *options)
{
    const char *near = tl_lab_disk_directory(lab, TL_LAB_NEAR);
    if (near)
        options->config.directory = near;
    options->config.far_disk |= tl_lab_disk_directory(lab, TL_LAB_FAR) != NULL;
    if (options->config.directory || options->config.far_disk)
        cli_ask_for_disks(&options->config);
}

/* The session's question about the path; context is the lab. */
static bool was_held_up(void *context, char *ret_reason, size_t reason_size)
{
    struct tl_lab_counters counters[TL_LAB_DIRECTION_COUNT];
    char reason[TL_LAB_HELD_UP_SIZE];
    for (int way = 0; way < TL_LAB_DIRECTION_COUNT; way++)
        tl_lab_counters(context, (enum tl_lab_direction)way, &counters[way]);
    if (!tl_lab_held_up(counters, reason))
        return false;
    snprintf(ret_reason, reason_size, "%s", reason);
    return true;
}

static int diagnose(const struct tl_lab_scenario *scenario, const struct tl_lab_config *path,
                    struct cli_run_options *options, struct tl_error *reterr)
{
    struct tl_lab *lab = NULL;
    struct tl_rules *rules = NULL;
    struct tl_session_result result;
    bool has_result = true;
    int exit_code;
    enum tl_status status = tl_lab_create(path, &lab, reterr);
    if (status == TL_OK)
        status = choose_address(lab, options, reterr);
    if (status == TL_OK)
        status = start_far_end(lab, options, reterr);
    if (status == TL_OK)
        status = start_via(lab, options, reterr);
    if (status == TL_OK)
        status = tl_lab_enter_near(lab, reterr);
    if (status == TL_OK)
        status = cli_load_rules(&rules, reterr);
    if (status == TL_OK) {
        options->config.rules = rules;
        options->config.disturbed = was_held_up;
        options->config.disturbed_context = lab;
        take_disks(lab, options);
        tl_lab_mark(lab);
        /* On a terminal as whoever runs it for earnest sees it; the text comes afterwards. */
        options->begin = options->no_history = true;
        status = cli_wants_screen(options)
                     ? cli_drive_screen(options, NULL, &result, &has_result, reterr)
                     : cli_drive_session(options, &result, reterr);
    }
    tl_lab_destroy(lab);
    if (status == TL_OK && !has_result) {
        exit_code = CLI_EXIT_OK; /* left before it had begun */
    } else if (status == TL_OK) {
        options->brief = cli_wants_screen(options);
        exit_code = cli_deliver(options, &result);
        if (!options->json && !options->json_lines)
            print_truth(scenario, &result);
        if (options->save && !cli_save_run(options->save, &result))
            exit_code = CLI_EXIT_EXPORT;
        tl_app_result_finish(&result);
    } else {
        exit_code = cli_fail(reterr);
    }
    tl_rules_destroy(rules);
    return exit_code;
}

/* What a run needs to say how it is made again. Where that has no room in it, a name alone would
 * say another path. */
static void name_path(const struct tl_lab_scenario *scenario, struct cli_run_options *options)
{
    const char *link = options->link_spec;
    bool told = !link || strlen(link) < TL_RUN_LINK_SIZE;
    options->config.target_name = scenario && told ? scenario->name : "emulated path";
    options->config.target_link = told ? link : NULL;
}

int cli_demo(const struct cli_command *command, int argc, char **argv)
{
    struct cli_run_options options;
    struct tl_lab_config path;
    const struct tl_lab_scenario *scenario;
    struct tl_error error = {0};
    int exit_code;
    if (!cli_parse_run_options(command, argc, argv, &options, &exit_code))
        return exit_code;
    if (options.operand && strcmp(options.operand, "list") == 0)
        return list_scenarios();
    if (options.port_given)
        return cli_usage(command, "--port is an option of run: a demo has its own far end");
    if (options.dry_run)
        return cli_usage(command, "--dry-run is an option of run: a demo sends nothing away");
    if (options.repeat_ns || options.alarm || options.telemetry || options.no_history ||
        options.capture)
        return cli_usage(command,
                         "--repeat, --alarm, --telemetry, --no-history and --capture are options "
                         "of run");
    if (choose_path(&options, &path, &scenario, &error) != TL_OK)
        return cli_usage(command, "%s", error.text);
    if (scenario && !options.direction_given) {
        options.config.download = scenario->direction == TL_LAB_DOWN;
        options.config.upload = !options.config.download;
    }
    if (scenario && scenario->goal_bps > 0 && !(options.config.goal.bps > 0))
        options.config.goal.bps = scenario->goal_bps;
    options.yes = true; /* the traffic stays on this machine */
    options.config.target_kind = "demo";
    name_path(scenario, &options);
    return diagnose(scenario, &path, &options, &error);
}

/* The options of `run` and `demo`. */
#include "cli.h"

#include <math.h>
#include <string.h>

#include "words.h"

static enum tl_status add_stages(const char *text, struct tl_session_config *config, uint32_t *set,
                                 struct tl_error *reterr)
{
    uint32_t more;
    enum tl_status status = cli_parse_stages(text, &more, reterr);
    if (status != TL_OK)
        return status;
    *set |= more;
    if (config->skip & config->force)
        return tl_error_set(reterr, TL_USAGE, "a stage cannot be both skipped and asked for");
    return TL_OK;
}

static enum tl_status take_skip(const char *text, void *into, struct tl_error *reterr)
{
    struct cli_run_options *options = into;
    return add_stages(text, &options->config, &options->config.skip, reterr);
}

static enum tl_status take_force(const char *text, void *into, struct tl_error *reterr)
{
    struct cli_run_options *options = into;
    return add_stages(text, &options->config, &options->config.force, reterr);
}

static enum tl_status take_stages(const char *text, void *into, struct tl_error *reterr)
{
    struct cli_run_options *options = into;
    options->config.only_force = true;
    return take_force(text, options, reterr);
}

void cli_ask_for_disks(struct tl_session_config *config)
{
    config->force |= UINT32_C(1) << tl_session_stage_find("disk");
    config->force |= UINT32_C(1) << tl_session_stage_find("disk-to-disk");
}

/* --via HOST,HOST: nearest first. */
static enum tl_status take_via(const char *text, void *into, struct tl_error *reterr)
{
    struct cli_run_options *options = into;
    struct tl_session_config *config = &options->config;
    for (config->via_count = 0;; text++) {
        size_t len = strcspn(text, ",");
        if (len == 0 || len >= sizeof options->via[0])
            return tl_error_set(reterr, TL_USAGE, "write hosts with commas between them");
        if (config->via_count == TL_SESSION_VIA_MAX)
            return tl_error_set(reterr, TL_LIMIT, "at most %d hosts", TL_SESSION_VIA_MAX);
        char *host = options->via[config->via_count];
        memcpy(host, text, len);
        host[len] = '\0';
        config->via[config->via_count++] = host;
        text += len;
        if (!*text)
            return TL_OK;
    }
}

/* The session knows a rate and a round trip that are not asked for as NAN. */
static enum tl_status take_goal(const char *text, void *into, struct tl_error *reterr)
{
    struct cli_run_options *options = into;
    struct tl_run_goal goal;
    enum tl_status status = cli_parse_goals(text, &goal, reterr);
    if (status != TL_OK)
        return status;
    goal.bps = goal.bps > 0 ? goal.bps : (double)NAN;
    goal.rtt_ns = goal.rtt_ns > 0 ? goal.rtt_ns : (double)NAN;
    options->config.goal = goal;
    return TL_OK;
}

static enum tl_status take_direction(const char *text, void *into, struct tl_error *reterr)
{
    struct cli_run_options *options = into;
    options->direction_given = true;
    return cli_parse_direction(text, &options->config.download, &options->config.upload, reterr);
}

/* What each direction has alone is what both at once are compared with. */
static enum tl_status take_at_once(const char *text, void *into, struct tl_error *reterr)
{
    struct cli_run_options *options = into;
    struct tl_session_config *config = &options->config;
    options->direction_given = config->download = config->upload = true;
    config->force |= UINT32_C(1) << tl_session_stage_find("both-ways");
    return TL_OK;
}

static enum tl_status take_data_budget(const char *text, void *into, struct tl_error *reterr)
{
    struct cli_run_options *options = into;
    return cli_parse_data_budget(text, &options->config.data_budget_bytes, reterr);
}

static enum tl_status take_port(const char *text, void *into, struct tl_error *reterr)
{
    struct cli_run_options *options = into;
    options->port_given = true;
    return cli_parse_port(text, &options->config.port, reterr);
}

static enum tl_status take_save(const char *text, void *into, struct tl_error *reterr)
{
    struct cli_run_options *options = into;
    options->save = text;
    if (cli_out_path(text))
        return TL_OK;
    return tl_error_set(reterr, TL_USAGE,
                        "a bundle is a file: name one (--json writes the document to standard "
                        "output)");
}

static enum tl_status take_disk(const char *text, void *into, struct tl_error *reterr)
{
    struct cli_run_options *options = into;
    options->config.directory = text;
    cli_ask_for_disks(&options->config);
    return TL_OK;
}

static enum tl_status take_far_disk(const char *text, void *into, struct tl_error *reterr)
{
    struct cli_run_options *options = into;
    options->config.far_disk = true;
    cli_ask_for_disks(&options->config);
    return TL_OK;
}

static const struct cli_option run_table[] = {
    {CLI_FLAG("json", struct cli_run_options, json)},
    {CLI_FLAG("json-lines", struct cli_run_options, json_lines)},
    {CLI_FLAG("yes", struct cli_run_options, yes)},
    {CLI_READ("direction", take_direction)},
    {CLI_DOES("at-once", take_at_once)},
    {CLI_READ("goal", take_goal)},
    {CLI_TIME("time-budget", struct cli_run_options, config.time_budget_ns)},
    {CLI_READ("data-budget", take_data_budget)},
    {CLI_READ("port", take_port)},
    {CLI_TEXT("link", struct cli_run_options, link_spec)},
    {CLI_TEXT("key", struct cli_run_options, key_file)},
    {CLI_TEXT("key-name", struct cli_run_options, key_name)},
    {CLI_FLAG("dry-run", struct cli_run_options, dry_run)},
    {CLI_FLAG("explain-plan", struct cli_run_options, explain_plan)},
    {CLI_READ("skip", take_skip)},
    {CLI_READ("force", take_force)},
    {CLI_READ("stages", take_stages)},
    {CLI_READ("disk", take_disk)},
    {CLI_FLAG("verify", struct cli_run_options, config.verify)},
    {CLI_READ("via", take_via)},
    {CLI_TEXT("compare", struct cli_run_options, compare)},
    {CLI_TIME("for", struct cli_run_options, config.watch_ns)},
    {CLI_TEXT("out", struct cli_run_options, config.watch_path)},
    {CLI_READ("save", take_save)},
    {CLI_FLAG("capture", struct cli_run_options, capture)},
    {CLI_TEXT("far", struct cli_run_options, far)},
    {CLI_TEXT("user", struct cli_run_options, login.user)},
    {CLI_TEXT("password-file", struct cli_run_options, password_file)},
    {CLI_TEXT("public-key", struct cli_run_options, public_key_file)},
    {CLI_DOES("far-disk", take_far_disk)},
    {CLI_COLOR("color", struct cli_run_options, color)},
    {CLI_FLAG("no-history", struct cli_run_options, no_history)},
    {CLI_TIME("repeat", struct cli_run_options, repeat_ns)},
    {CLI_FLAG("alarm", struct cli_run_options, alarm)},
    {CLI_TEXT("telemetry", struct cli_run_options, telemetry)},
    {CLI_FLAG("no-screen", struct cli_run_options, no_screen)},
    {CLI_FLAG("full", struct cli_run_options, full)},
    {CLI_FLAG("no-mouse", struct cli_run_options, no_mouse)},
    {CLI_FLAG("http1.1", struct cli_run_options, config.http1)},
    {CLI_FLAG("numeric", struct cli_run_options, config.numeric)},
    {CLI_SET("", struct cli_run_options, config.family, int, 4), .letter = '4'},
    {CLI_SET("", struct cli_run_options, config.family, int, 6), .letter = '6'},
    {.name = NULL},
};

bool cli_parse_run_options(const struct cli_command *command, int argc, char **argv,
                           struct cli_run_options *options, int *ret_exit)
{
    *options = (struct cli_run_options){.config = {.port = CLI_DEFAULT_PORT,
                                                   .download = true,
                                                   .goal.bps = (double)NAN,
                                                   .goal.rtt_ns = (double)NAN,
                                                   .target_kind = "tightlink"}};
    struct cli_words words = {command, argc, argv, false, CLI_EXIT_OK};
    bool taken = cli_take_options(&words, run_table, options);
    options->operand = words.argc ? words.argv[0] : NULL;
    *ret_exit = words.exit_code;
    if (taken && words.argc > 1)
        *ret_exit = cli_usage(command, "one name only, not also \"%s\"", words.argv[1]);
    return taken && words.argc <= 1;
}

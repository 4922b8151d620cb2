/* The options of `run` and `demo`. */
#include "cli.h"

#include <math.h>
#include <string.h>

#include "parse.h"
#include "words.h"

enum {
    OPT_JSON = 256,
    OPT_JSON_LINES,
    OPT_YES,
    OPT_DIRECTION,
    OPT_GOAL,
    OPT_TIME,
    OPT_DATA,
    OPT_PORT,
    OPT_LINK,
    OPT_KEY,
    OPT_KEY_NAME,
    OPT_DRY_RUN,
    OPT_EXPLAIN_PLAN,
    OPT_SKIP,
    OPT_FORCE,
    OPT_STAGES,
    OPT_FAR,
    OPT_USER,
    OPT_PASSWORD_FILE,
    OPT_PUBLIC_KEY,
    OPT_FAR_DISK,
    OPT_DISK,
    OPT_VERIFY,
    OPT_FOR,
    OPT_VIA,
    OPT_COMPARE,
    OPT_OUT,
    OPT_SAVE,
    OPT_CAPTURE,
    OPT_COLOR,
    OPT_NO_HISTORY,
    OPT_REPEAT,
    OPT_ALARM,
    OPT_TELEMETRY,
    OPT_NO_SCREEN,
    OPT_NO_MOUSE,
    OPT_FULL,
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
    {"key", required_argument, NULL, OPT_KEY},
    {"key-name", required_argument, NULL, OPT_KEY_NAME},
    {"dry-run", no_argument, NULL, OPT_DRY_RUN},
    {"explain-plan", no_argument, NULL, OPT_EXPLAIN_PLAN},
    {"skip", required_argument, NULL, OPT_SKIP},
    {"force", required_argument, NULL, OPT_FORCE},
    {"stages", required_argument, NULL, OPT_STAGES},
    {"disk", required_argument, NULL, OPT_DISK},
    {"verify", no_argument, NULL, OPT_VERIFY},
    {"via", required_argument, NULL, OPT_VIA},
    {"compare", required_argument, NULL, OPT_COMPARE},
    {"for", required_argument, NULL, OPT_FOR},
    {"out", required_argument, NULL, OPT_OUT},
    {"save", required_argument, NULL, OPT_SAVE},
    {"capture", no_argument, NULL, OPT_CAPTURE},
    {"far", required_argument, NULL, OPT_FAR},
    {"user", required_argument, NULL, OPT_USER},
    {"password-file", required_argument, NULL, OPT_PASSWORD_FILE},
    {"public-key", required_argument, NULL, OPT_PUBLIC_KEY},
    {"far-disk", no_argument, NULL, OPT_FAR_DISK},
    {"color", required_argument, NULL, OPT_COLOR},
    {"no-history", no_argument, NULL, OPT_NO_HISTORY},
    {"repeat", required_argument, NULL, OPT_REPEAT},
    {"alarm", no_argument, NULL, OPT_ALARM},
    {"telemetry", required_argument, NULL, OPT_TELEMETRY},
    {"no-screen", no_argument, NULL, OPT_NO_SCREEN},
    {"full", no_argument, NULL, OPT_FULL},
    {"no-mouse", no_argument, NULL, OPT_NO_MOUSE},
    CLI_OPTIONS_END};

/* --skip, --force and --stages. */
static enum tl_status apply_stages(int option, const char *text, struct tl_session_config *config,
                                   struct tl_error *reterr)
{
    uint32_t set;
    enum tl_status status = cli_parse_stages(text, &set, reterr);
    if (status != TL_OK)
        return status;
    *(option == OPT_SKIP ? &config->skip : &config->force) |= set;
    config->only_force |= option == OPT_STAGES;
    if (config->skip & config->force)
        return tl_error_set(reterr, TL_USAGE, "a stage cannot be both skipped and asked for");
    return TL_OK;
}

void cli_ask_for_disks(struct tl_session_config *config)
{
    config->force |= UINT32_C(1) << tl_session_stage_find("disk");
    config->force |= UINT32_C(1) << tl_session_stage_find("disk-to-disk");
}

enum tl_status cli_parse_color(const char *text, enum cli_color *ret_color, struct tl_error *reterr)
{
    static const char *const words[] = {
        [CLI_COLOR_AUTO] = "auto", [CLI_COLOR_ALWAYS] = "always", [CLI_COLOR_NEVER] = "never"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(text, words[i]) != 0)
            continue;
        *ret_color = (enum cli_color)i;
        return TL_OK;
    }
    return tl_error_set(reterr, TL_USAGE, "write auto, always or never, not \"%.40s\"", text);
}

/* --via HOST,HOST: nearest first. */
static enum tl_status apply_via(const char *text, struct cli_run_options *options,
                                struct tl_error *reterr)
{
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
static enum tl_status apply_goal(const char *text, struct tl_session_config *config,
                                 struct tl_error *reterr)
{
    struct tl_run_goal goal;
    enum tl_status status = cli_parse_goals(text, &goal, reterr);
    if (status != TL_OK)
        return status;
    goal.bps = goal.bps > 0 ? goal.bps : (double)NAN;
    goal.rtt_ns = goal.rtt_ns > 0 ? goal.rtt_ns : (double)NAN;
    config->goal = goal;
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
        options->direction_given = true;
        return cli_parse_direction(text, &config->download, &config->upload, reterr);
    case OPT_GOAL:
        return apply_goal(text, config, reterr);
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
    case OPT_KEY:
        options->key_file = text;
        return TL_OK;
    case OPT_KEY_NAME:
        options->key_name = text;
        return TL_OK;
    case OPT_DRY_RUN:
        options->dry_run = true;
        return TL_OK;
    case OPT_EXPLAIN_PLAN:
        options->explain_plan = true;
        return TL_OK;
    case OPT_SKIP:
    case OPT_FORCE:
    case OPT_STAGES:
        return apply_stages(option, text, config, reterr);
    case OPT_VIA:
        return apply_via(text, options, reterr);
    case OPT_COMPARE:
        options->compare = text;
        return TL_OK;
    case OPT_FOR:
        return cli_parse_time_budget(text, &config->watch_ns, reterr);
    case OPT_SAVE:
        options->save = text;
        return cli_out_path(text) ? TL_OK
                                  : tl_error_set(reterr, TL_USAGE,
                                                 "a bundle is a file: name one (--json writes the "
                                                 "document to standard output)");
    case OPT_CAPTURE:
        options->capture = true;
        return TL_OK;
    case OPT_OUT:
        config->watch_path = text;
        return TL_OK;
    case OPT_COLOR:
        return cli_parse_color(text, &options->color, reterr);
    case OPT_REPEAT:
        return cli_parse_time_budget(text, &options->repeat_ns, reterr);
    case OPT_ALARM:
        options->alarm = true;
        return TL_OK;
    case OPT_TELEMETRY:
        options->telemetry = text;
        return TL_OK;
    case OPT_NO_HISTORY:
        options->no_history = true;
        return TL_OK;
    case OPT_NO_SCREEN:
        options->no_screen = true;
        return TL_OK;
    case OPT_FULL:
        options->full = true;
        return TL_OK;
    case OPT_NO_MOUSE:
        options->no_mouse = true;
        return TL_OK;
    case OPT_VERIFY:
        config->verify = true;
        return TL_OK;
    case OPT_DISK:
        config->directory = text;
        cli_ask_for_disks(config);
        return TL_OK;
    case OPT_USER:
        options->login.user = text;
        return TL_OK;
    case OPT_PASSWORD_FILE:
        options->password_file = text;
        return TL_OK;
    case OPT_PUBLIC_KEY:
        options->public_key_file = text;
        return TL_OK;
    case OPT_FAR:
        options->far = text;
        return TL_OK;
    case OPT_FAR_DISK:
        config->far_disk = true;
        cli_ask_for_disks(config);
        return TL_OK;
    default: /* '4' or '6' */
        config->family = option - '0';
        return TL_OK;
    }
}

bool cli_parse_run_options(const struct cli_command *command, int argc, char **argv,
                           struct cli_run_options *options, int *ret_exit)
{
    *options = (struct cli_run_options){.config = {.port = CLI_DEFAULT_PORT,
                                                   .download = true,
                                                   .goal.bps = (double)NAN,
                                                   .goal.rtt_ns = (double)NAN,
                                                   .target_kind = "tightlink"}};
    struct cli_words words = CLI_WORDS(command, argc, argv, long_options, "46");
    struct tl_error error = {0};
    int option;
    while ((option = cli_next_option(&words)) > 0)
        if (apply(option, optarg, options, &error) != TL_OK)
            cli_refuse_value(&words, error.text);
    options->operand = words.argc ? words.argv[0] : NULL;
    *ret_exit = words.exit_code;
    if (option == 0 && words.argc > 1)
        *ret_exit = cli_usage(command, "one name only, not also \"%s\"", words.argv[1]);
    return option == 0 && words.argc <= 1;
}

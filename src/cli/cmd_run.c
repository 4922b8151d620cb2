/* tightlink run HOST: diagnose, print, exit with what the verdict stands for. The same with the
 * screen between: tightlink, tightlink HOST. */
#include "beside.h"
#include "cli.h"
#include "keep.h"
#include "login.h"
#include "run_capture.h"
#include "screen.h"
#include "telemetry.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tightlink/app/open.h"
#include "tightlink/app/signals.h"
#include "tightlink/base/key.h"
#include "tightlink/base/time.h"
#include "tightlink/rules/rules.h"

/* --key and --key-name; *ret_keys stays NULL without. */
static enum tl_status load_key(struct cli_run_options *options, struct tl_keys **ret_keys,
                               struct tl_error *reterr)
{
    if (!options->key_file)
        return options->key_name
                   ? tl_error_set(reterr, TL_USAGE, "--key-name needs --key FILE beside it")
                   : TL_OK;
    enum tl_status status = tl_keys_load(options->key_file, ret_keys, reterr);
    if (status != TL_OK)
        return status;
    const char *name = options->key_name;
    options->config.key =
        name ? tl_keys_find(*ret_keys, name, strlen(name)) : tl_keys_at(*ret_keys, 0);
    if (!options->config.key)
        return tl_error_set(reterr, TL_AUTH, "%s has no key of the name %s", options->key_file,
                            name);
    return TL_OK;
}

/* The screen lets the user choose among those of $XDG_CONFIG_HOME/tightlink/keys, where it is; a
 * far end in open mode needs none. */
static void offer_keys(struct tl_keys **ret_keys)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    bool given = config && config[0] == '/';
    char path[PATH_MAX];
    struct tl_error error = {0};
    if (!given && !(home && home[0] == '/'))
        return;
    int n = snprintf(path, sizeof path, "%s%s/tightlink/keys", given ? config : home,
                     given ? "" : "/.config");
    if (n < 0 || (size_t)n >= sizeof path || access(path, F_OK) < 0)
        return;
    if (tl_keys_load(path, ret_keys, &error) != TL_OK)
        cli_complain("%s", error.text);
}

/* A new file in the state directory of the XDG base directory specification; NULL where there
 * is no place, and then the summary is all that is kept. */
static const char *state_file(const char *kind, const char *ending, char ret_path[PATH_MAX])
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char directory[PATH_MAX - 64];
    bool given = state && state[0] == '/';
    if (!given && !(home && home[0] == '/'))
        return NULL;
    int n = snprintf(directory, sizeof directory, "%s%s/tightlink", given ? state : home,
                     given ? "" : "/.local/state");
    if (n < 0 || (size_t)n >= sizeof directory)
        return NULL;
    for (char *slash = directory + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(directory, 0700);
        *slash = '/';
    }
    if (mkdir(directory, 0700) < 0 && errno != EEXIST)
        return NULL;
    char now[TL_TIME_TEXT_SIZE];
    tl_time_format_utc(tl_realtime_ns(), now);
    n = snprintf(ret_path, PATH_MAX, "%s/%s-%s.%s", directory, kind, now, ending);
    return n > 0 && n < PATH_MAX ? ret_path : NULL;
}

/* Told now, not after a minute of measuring. What else may be wrong with it the stage tells. */
static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* To whom else the options name; the exit code of the whole. */
static int pass_on(const struct cli_run_options *options, const struct tl_session_result *result,
                   bool moved, int exit_code)
{
    int sent = CLI_EXIT_OK;
    if (options->telemetry && result->findings && result->answered)
        sent = cli_send_telemetry(result, options->telemetry, NULL, moved);
    if (exit_code == CLI_EXIT_OK && options->alarm && moved)
        return CLI_EXIT_MISSED;
    return exit_code == CLI_EXIT_OK ? sent : exit_code;
}

/* Into the history first: then nothing is lost where the terminal has gone. */
static int keep_and_tell(struct cli_run_options *options, const struct tl_session_result *result)
{
    bool moved = !options->no_history && cli_keep_run(result, &options->kept);
    int exit_code = pass_on(options, result, moved, cli_deliver(options, result));
    if (options->save && !cli_save_run(options->save, result))
        exit_code = CLI_EXIT_EXPORT;
    return exit_code;
}

struct capturing {
    const struct cli_run_options *options;
    struct cli_run_capture *capture;
};

/* --capture, where the run is kept. It looks up the name: not before somebody agreed. */
static void begin_capture(void *context)
{
    const struct cli_run_options *options = ((struct capturing *)context)->options;
    struct cli_run_capture *capture = ((struct capturing *)context)->capture;
    char path[PATH_MAX];
    int n = options->save ? snprintf(path, sizeof path, "%s.pcap", options->save) : 0;
    if (n >= PATH_MAX || (!options->save && !state_file("capture", "pcap", path)))
        cli_complain("this run goes without a capture: there is no place to keep it");
    else
        cli_run_capture_begin(options->operand, options->config.port, path, capture);
}

/* The diagnosis itself, once all that it needs is loaded. held: for --compare; else NULL. */
static int diagnose(struct cli_run_options *options, bool screen,
                    const struct tl_app_held_signals *held)
{
    struct tl_session_result result;
    struct tl_error error = {0};
    struct cli_run_capture capture = {.helper = {.report_fd = -1}};
    struct capturing capturing = {options, &capture};
    bool has_result = true;
    char samples[PATH_MAX];
    if (options->config.watch_ns > 0 && !options->config.watch_path)
        options->config.watch_path = state_file("watch", "samples", samples);
    struct cli_run_options asking = *options;
    asking.agreed = options->capture ? begin_capture : NULL;
    asking.agreed_context = &capturing;
    enum tl_status status = screen ? cli_drive_screen(&asking, NULL, &result, &has_result, &error)
                                   : cli_drive_session(&asking, &result, &error);
    int exit_code = status == TL_OK ? CLI_EXIT_OK : cli_fail(&error);
    has_result &= status == TL_OK;
    cli_run_capture_end(&capture, options->config.rules);
    options->pcap = capture.pcap;
    options->brief = screen;
    if (has_result && result.not_begun && !options->json && !options->json_lines) {
        exit_code = cli_fail(&result.error);
        tl_app_result_finish(&result);
        has_result = false;
    }
    if (has_result)
        exit_code = keep_and_tell(options, &result);
    if (has_result && !options->json && !options->json_lines)
        cli_run_capture_print(&capture, &result);
    options->pcap = NULL;
    cli_run_capture_finish(&capture);
    if (has_result) {
        if (options->compare && !cli_compare_others(options, held, &result))
            exit_code = CLI_EXIT_INTERRUPTED;
        tl_app_result_finish(&result);
    }
    return exit_code;
}

/* One diagnosis after another, each begun repeat_ns after the one before, until a signal ends it.
 * The exit code is that of the last, or 1 where --alarm saw a verdict move. */
static int repeat(struct cli_run_options *options)
{
    struct tl_app_held_signals held;
    bool moved = false;
    int exit_code;
    tl_app_signals_hold(&held);
    for (;;) {
        int64_t next_ns = tl_boottime_ns() + options->repeat_ns;
        exit_code = diagnose(options, false, &held);
        moved |= exit_code == CLI_EXIT_MISSED;
        if (exit_code == CLI_EXIT_INTERRUPTED || exit_code == CLI_EXIT_USAGE || fflush(stdout) != 0)
            break;
        if (tl_app_signals_come(&held, next_ns)) {
            exit_code = CLI_EXIT_INTERRUPTED;
            break;
        }
    }
    (void)tl_app_signals_release(&held);
    return options->alarm && moved ? CLI_EXIT_MISSED : exit_code;
}

/* Whenever somebody ends it, what was measured is told. */
static int compare(struct cli_run_options *options, bool screen)
{
    struct tl_app_held_signals held;
    tl_app_signals_hold(&held);
    int exit_code = diagnose(options, screen, &held);
    return tl_app_signals_release(&held) ? CLI_EXIT_INTERRUPTED : exit_code;
}

static int load_and_diagnose(const struct cli_command *command, struct cli_run_options *options,
                             bool screen)
{
    struct tl_error error = {0};
    struct tl_rules *rules;
    struct tl_keys *keys = NULL;
    struct cli_login login;
    if (screen && !options->key_file)
        offer_keys(&keys);
    if (load_key(options, &keys, &error) != TL_OK ||
        cli_login_load(options, &login, &error) != TL_OK) {
        tl_keys_destroy(keys);
        if (error.status == TL_USAGE)
            return cli_usage(command, "%s", error.text);
        (void)cli_fail(&error);
        return CLI_EXIT_AUTH;
    }
    if (cli_load_rules(&rules, &error) != TL_OK) {
        tl_keys_destroy(keys);
        return cli_fail(&error);
    }
    options->config.rules = rules;
    options->keys = keys;
    int exit_code = options->repeat_ns ? repeat(options)
                    : options->compare ? compare(options, screen)
                                       : diagnose(options, screen, NULL);
    tl_rules_destroy(rules);
    tl_keys_destroy(keys);
    cli_login_finish(&login);
    return exit_code;
}

static int run(const struct cli_command *command, struct cli_run_options *options, bool screen)
{
    if (options->link_spec)
        return cli_usage(command, "--link is an option of demo");
    if (!screen && (!options->operand || !*options->operand))
        return cli_usage(command,
                         "which host? Name the far end, where `tightlink serve --open` runs");
    if (options->operand && strlen(options->operand) > 253)
        return cli_usage(command, "a host name has at most 253 characters");
    options->config.host = options->operand;
    if (options->capture && screen)
        return cli_usage(command, "--capture goes without the screen: tightlink run HOST --capture "
                                  "(on the screen ^W, then c on a transfer)");
    if (options->repeat_ns && !options->yes)
        return cli_usage(command, "--repeat needs --yes: nobody is there to be asked each time");
    if (options->alarm && options->no_history)
        return cli_usage(command,
                         "--alarm compares with the history, which --no-history leaves out");
    struct tl_error error = {0};
    if (options->compare && !cli_compare_list(options, &error))
        return cli_fail(&error);
    if (options->dry_run)
        return cli_dry_run(options);
    if (options->config.directory && !is_directory(options->config.directory))
        return cli_usage(command, "--disk: %s is no directory: name the one in which to test",
                         options->config.directory);
    return load_and_diagnose(command, options, screen);
}

int cli_run(const struct cli_command *command, int argc, char **argv)
{
    struct cli_run_options options;
    int exit_code;
    if (!cli_parse_run_options(command, argc, argv, &options, &exit_code))
        return exit_code;
    return run(command, &options, false);
}

bool cli_screen(const struct cli_command *command, int argc, char **argv, int *ret_exit)
{
    struct cli_run_options options;
    if (argc < 2 && !cli_screen_is_possible())
        return false;
    if (cli_parse_run_options(command, argc, argv, &options, ret_exit))
        *ret_exit = run(command, &options, cli_wants_screen(&options));
    return true;
}

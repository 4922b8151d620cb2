/* tightlink live: the transfers that run now, and why they are not faster. Sends nothing. */
#include "cli.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "keep.h"
#include "live_table.h"
#include "screen.h"
#include "telemetry.h"
#include "tightlink/app/live.h"
#include "tightlink/app/open.h"
#include "tightlink/app/signals.h"
#include "tightlink/base/cause_name.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "words.h"

/* Where nobody watches the terminal: long enough for a verdict. */
#define DEFAULT_NS (12 * TL_NS_PER_S)
#define ROWS_MAX   40

struct watching {
    struct cli_run_options options; /* of the report at the end */
    struct tl_app_live_what what;
    int64_t for_ns;               /* 0: until it is interrupted */
    bool redraws;                 /* stdout is a terminal that can */
    bool screen;                  /* the full one */
    bool moved;                   /* a cause did, while it was watched */
    const struct tl_rules *rules; /* borrowed */
    struct tl_app_live *live;
    int64_t start_ns;
};

static size_t columns(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 60 ? size.ws_col : 80;
}

static size_t lines(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row >= 10 ? size.ws_row - 6U
                                                                             : ROWS_MAX;
}

/* A line on stderr for each cause that moved: what watches over nights waits for. */
static void tell_moves(struct watching *watching, const struct tl_app_live_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!rows[i].moved)
            continue;
        watching->moved = true;
        cli_complain("%s with %s: now %s, before %s",
                     rows[i].program[0] ? rows[i].program : "a connection", rows[i].peer,
                     tl_cause_name(rows[i].cause), tl_cause_name(rows[i].was));
    }
}

/* False when stdout took it not, or its reader has gone: nobody looks any more. */
static bool print_second(struct watching *watching)
{
    struct tl_buf out = TL_BUF_INIT;
    size_t count;
    const struct tl_app_live_row *rows = tl_app_live_rows(watching->live, &count);
    const struct tl_app_live_sum *sum = tl_app_live_sum(watching->live);

    tell_moves(watching, rows, count);
    if (watching->options.json_lines) {
        cli_live_json(rows, count, sum, tl_now_ns() - watching->start_ns, &out);
    } else if (watching->redraws) {
        tl_buf_adds(&out, "\033[H\033[J");
        cli_live_table(rows, count, lines(), sum, columns(), &out);
        tl_buf_adds(&out, "Ctrl-C ends it and prints the verdict of the first one\n");
    }
    errno = 0;
    bool written =
        out.status == TL_OK && cli_write_stdout(tl_buf_text(&out), out.len) && errno != EPIPE;
    tl_buf_finish(&out);
    return written;
}

/* On a grid, so that what a step takes does not add up; steps that were missed are left out. */
static int64_t next_step(int64_t last_ns)
{
    int64_t next_ns = last_ns + tl_app_live_step_ns(), now_ns = tl_now_ns();
    return next_ns > now_ns ? next_ns : now_ns + tl_app_live_step_ns();
}

static int wait_ms(int64_t until_ns)
{
    int64_t left_ns = until_ns - tl_now_ns();
    return left_ns > 0 ? (int)((left_ns + TL_NS_PER_MS - 1) / TL_NS_PER_MS) : 0;
}

/* Until the time is over, a signal comes, or stdout is closed. */
static enum tl_status watch(struct watching *watching, bool *ret_interrupted,
                            struct tl_error *reterr)
{
    sigset_t before;
    int fd = tl_app_signals_open(NULL, 0, &before);
    struct pollfd signals = {.fd = fd, .events = POLLIN};
    enum tl_status status = TL_OK;
    bool second = false, going = fd >= 0;

    if (fd < 0)
        return tl_error_set(reterr, TL_IO, "signalfd: %s", strerror(errno));
    int64_t next_ns = watching->start_ns = tl_now_ns();
    while (going && status == TL_OK) {
        next_ns = next_step(next_ns);
        *ret_interrupted = poll(&signals, 1, wait_ms(next_ns)) > 0;
        if (*ret_interrupted)
            break;
        status = tl_app_live_step(watching->live, &second, reterr);
        if (second && status == TL_OK)
            going = print_second(watching);
        if (watching->for_ns && tl_now_ns() - watching->start_ns >= watching->for_ns)
            break;
    }
    tl_app_signals_close(fd, &before);
    return status;
}

/* The history, the report, whom else the options name. */
static int deliver(struct watching *watching, const struct tl_session_result *result)
{
    struct cli_run_options *options = &watching->options;
    int sent = CLI_EXIT_OK;
    if (!options->no_history)
        (void)cli_keep_run(result, &options->kept);
    int exit_code = cli_deliver(options, result);
    if (options->telemetry && result->findings)
        sent = cli_send_telemetry(result, options->telemetry, NULL, watching->moved);
    if (exit_code == CLI_EXIT_OK && options->alarm && watching->moved)
        return CLI_EXIT_MISSED;
    return exit_code == CLI_EXIT_OK ? sent : exit_code;
}

static int report_none(const struct watching *watching)
{
    int pid = watching->what.pid;
    if (pid && tl_app_live_is_elsewhere(pid))
        cli_complain("process %d lives in another network namespace, as in a container, and its "
                     "connections are not seen from here; as root: nsenter --target %d --net "
                     "tightlink live %d",
                     pid, pid, pid);
    else if (pid || watching->what.port || watching->what.host)
        cli_complain("no connection of that kind moved anything while it was watched: start the "
                     "transfer and watch again, or name no process, port or host to see them all");
    else
        cli_complain("no connection%s moved anything while it was watched: start the transfer and "
                     "watch again%s",
                     watching->what.loopback ? "" : " that leaves this machine",
                     watching->what.loopback ? "" : "; --all shows those within it, too");
    return CLI_EXIT_INCONCLUSIVE;
}

/* The connection that is held up most, in full. */
static int report_first(struct watching *watching)
{
    size_t count;
    const struct tl_app_live_row *rows = tl_app_live_rows(watching->live, &count);
    struct tl_session_result result = {0};
    struct tl_error error = {0};

    if (count == 0 && watching->screen)
        return CLI_EXIT_OK; /* whoever looked has seen it */
    if (count == 0)
        return report_none(watching);
    if (!watching->options.json && !watching->options.json_lines) {
        struct tl_buf out = TL_BUF_INIT;
        cli_live_table(rows, count, ROWS_MAX, tl_app_live_sum(watching->live), columns(), &out);
        tl_buf_addf(&out, "\nThe first of them, %s with %s:\n\n",
                    rows[0].program[0] ? rows[0].program : "a connection", rows[0].peer);
        bool written = cli_write_stdout(tl_buf_text(&out), out.len);
        tl_buf_finish(&out);
        if (!written)
            return CLI_EXIT_EXPORT;
    }
    int exit_code;
    if (tl_app_live_result(watching->live, rows[0].cookie, &result, &error) == TL_OK) {
        exit_code = deliver(watching, &result);
    } else {
        exit_code = cli_fail(&error);
    }
    tl_app_result_finish(&result);
    return exit_code;
}

/* The screen, and what it leaves in the terminal: the verdict of a diagnosis that was begun from
 * there, else of the transfer that is held up most. */
static int show(const struct cli_command *command, struct watching *watching)
{
    static char word[] = "run";
    char *words[] = {word, NULL};
    struct cli_run_options options;
    struct tl_session_result result;
    struct tl_error error = {0};
    bool has_result = false;
    int exit_code;
    if (!cli_parse_run_options(command, 1, words, &options, &exit_code))
        return exit_code;
    options.color = watching->options.color;
    options.no_mouse = watching->options.no_mouse;
    options.no_history = watching->options.no_history;
    options.config.rules = watching->rules;
    options.live = watching->live;
    if (cli_drive_screen(&options, NULL, &result, &has_result, &error) != TL_OK)
        return cli_fail(&error);
    watching->options.brief = options.brief = true;
    if (!has_result)
        return report_first(watching);
    exit_code = cli_deliver(&options, &result);
    tl_app_result_finish(&result);
    return exit_code;
}

static int run(const struct cli_command *command, struct watching *watching)
{
    struct tl_rules *rules = NULL;
    struct tl_buf notices = TL_BUF_INIT;
    struct tl_error error = {0};
    bool interrupted = false;
    int exit_code;
    enum tl_status status = tl_app_load_rules(&rules, &notices, &error);

    if (notices.len)
        cli_complain("%s", tl_buf_text(&notices));
    tl_buf_finish(&notices);
    watching->rules = rules;
    if (status == TL_OK)
        status = tl_app_live_create(&watching->what, rules, &watching->live, &error);
    if (status == TL_OK && !watching->screen)
        status = watch(watching, &interrupted, &error);
    /* Whoever ends it has seen enough, unless nothing was seen. */
    if (status != TL_OK)
        exit_code = cli_fail(&error);
    else
        exit_code = watching->screen ? show(command, watching) : report_first(watching);
    tl_app_live_destroy(watching->live);
    tl_rules_destroy(rules);
    return exit_code;
}

static enum tl_status take_time(const char *text, void *options, struct tl_error *reterr)
{
    struct watching *watching = options;
    enum tl_status status = tl_parse_ns(text, &watching->for_ns, reterr);
    if (status == TL_OK && watching->for_ns < TL_NS_PER_S)
        return tl_error_set(reterr, TL_USAGE, "a second at least, for instance 30s");
    return status;
}

static const struct cli_option options[] = {
    {CLI_FLAG("all", struct watching, what.loopback)},
    {CLI_READ("for", take_time)},
    {CLI_FLAG("json", struct watching, options.json)},
    {CLI_FLAG("json-lines", struct watching, options.json_lines)},
    {CLI_FLAG("alarm", struct watching, options.alarm)},
    {CLI_TEXT("telemetry", struct watching, options.telemetry)},
    {CLI_FLAG("no-history", struct watching, options.no_history)},
    {CLI_FLAG("no-screen", struct watching, options.no_screen)},
    {CLI_FLAG("no-mouse", struct watching, options.no_mouse)},
    {CLI_COLOR("color", struct watching, options.color)},
    {CLI_FLAG("yes", struct watching, options.yes)},
    {.name = NULL},
};

int cli_live(const struct cli_command *command, int argc, char **argv)
{
    struct watching watching = {0};
    struct tl_error error = {0};
    const char *term = getenv("TERM");
    struct cli_words words = {command, argc, argv, false, CLI_EXIT_OK};
    if (!cli_take_options(&words, options, &watching))
        return words.exit_code;
    if (words.argc > 1)
        return cli_usage(command, "name one process, port or host");
    if (words.argc && tl_app_live_parse(words.argv[0], &watching.what, &error) != TL_OK)
        return cli_usage(command, "%s", error.text);
    if (!cli_may_look_up(watching.what.host, watching.options.yes, &words.exit_code))
        return words.exit_code;
    watching.redraws =
        isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0 && !watching.options.json;
    watching.screen = !watching.for_ns && cli_wants_screen(&watching.options);
    if (!watching.for_ns && !isatty(STDOUT_FILENO))
        watching.for_ns = DEFAULT_NS;
    return run(command, &watching);
}

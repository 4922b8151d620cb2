/* tightlink mover -- COMMAND: the user's own command on his terminal, watched, and its verdict.
 * What the command prints stays its own: our words go to standard error. */
#include "cli.h"
#include "keep.h"
#include "words.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tightlink/app/mover.h"
#include "tightlink/app/open.h"
#include "tightlink/app/signals.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "tightlink/present/report.h"

/* As env(1) and a shell have it. */
#define EXIT_MISSING    127
#define EXIT_NOT_TO_RUN 126
/* Fewer connections are logins and look-ups. */
#define SHORT_LEAST 10

struct moving {
    struct cli_run_options options;
    char **argv;
    bool measure, no_history;
    struct tl_rules *rules;
    struct tl_app_mover *mover;
};

/* --- While it runs ---------------------------------------------------------------------------- */

/* The terminal sends its signals to the command as well; what somebody sent to us alone is passed
 * on. A second one, once the command has ended, ends what it left behind being watched. */
static bool take_signals(const struct moving *moving, int fd)
{
    struct signalfd_siginfo info;
    bool enough = false;

    while (read(fd, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        enough |= tl_app_mover_has_ended(moving->mover);
        if (info.ssi_code <= 0)
            tl_app_mover_signal(moving->mover, (int)info.ssi_signo);
    }
    return enough;
}

static enum tl_status watch(const struct moving *moving, int fd, struct tl_error *reterr)
{
    struct pollfd signals = {.fd = fd, .events = POLLIN};
    enum tl_status status = TL_OK;
    bool told = false, enough = false;

    while (status == TL_OK && !enough && !tl_app_mover_is_over(moving->mover)) {
        int64_t step_ns = tl_app_mover_step_ns(moving->mover);
        if (poll(&signals, 1, (int)(step_ns / TL_NS_PER_MS)) > 0)
            enough = take_signals(moving, fd);
        status = tl_app_mover_step(moving->mover, reterr);
        if (!told && tl_app_mover_has_ended(moving->mover) &&
            !tl_app_mover_is_over(moving->mover)) {
            told = true;
            cli_complain("the command has ended and left processes behind: they are watched as "
                         "long as they move data, Ctrl-C ends that");
        }
    }
    return status;
}

/* --- Afterwards ------------------------------------------------------------------------------- */

static int terminal_width(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 60)
        return size.ws_col > 120 ? 120 : size.ws_col;
    return 80;
}

static struct tl_text_style style_of_stderr(enum cli_color color)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    bool terminal = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    return (struct tl_text_style){
        .width = terminal_width(),
        .color = color == CLI_COLOR_ALWAYS ||
                 (color == CLI_COLOR_AUTO && terminal && !(no_color && *no_color)),
        .utf8 = cli_locale_is_utf8(),
    };
}

/* "scp moved 210 MB in 19 s (88.2 Mb/s), over one connection." */
static void tell_sum(const struct tl_app_mover_sum *sum)
{
    char amount[TL_UNIT_TEXT_SIZE], time[TL_UNIT_TEXT_SIZE], rate[TL_UNIT_TEXT_SIZE];
    double bytes = sum->sent_bytes > sum->received_bytes ? sum->sent_bytes : sum->received_bytes;

    if (sum->signal)
        cli_complain("%s was ended by signal %d (%s)", sum->program, sum->signal,
                     strsignal(sum->signal));
    if (bytes <= 0)
        return;
    cli_complain("%s moved %s in %s (%s) over %zu connection%s", sum->program,
                 tl_format_traffic(bytes, amount), tl_format_ns(sum->moving_ns, time),
                 sum->moving_ns > 0 ? tl_format_bps(bytes * 8e9 / sum->moving_ns, rate)
                                    : "too short for a rate",
                 sum->connections_count, sum->connections_count == 1 ? "" : "s at once");
}

/* Why nothing was seen, and what would help. */
static void tell_nothing(const struct tl_app_mover_sum *sum, const struct tl_error *error)
{
    char time[TL_UNIT_TEXT_SIZE];

    if (sum->hidden)
        cli_complain("%s runs processes of another user, whose connections only root may tell "
                     "apart: run tightlink mover as root, or tightlink live beside it",
                     sum->program);
    else if (sum->left_behind)
        cli_complain("%s has ended, and what it left behind in the background moves nothing now: "
                     "tightlink live watches that later",
                     sum->program);
    else if (sum->ended_count >= SHORT_LEAST)
        cli_complain("none of %zu connections of %s moved 64 KiB: too little each to be judged. "
                     "Many files go faster over one connection (rsync, tar through ssh, several "
                     "URLs to one curl)",
                     sum->ended_count, sum->program);
    else if (sum->run_ns < (double)TL_NS_PER_S)
        cli_complain("%s ended after %s: too short to be judged", sum->program,
                     tl_format_ns(sum->run_ns, time));
    else
        cli_complain("%s; where another program carries its data (an ssh connection that is "
                     "shared, a daemon), watch that: tightlink live",
                     error->text);
}

/* The headline and what helps; all of it lies in the history. */
static enum tl_status brief(const struct moving *moving, const struct tl_session_result *result,
                            const struct tl_text_style *style, struct tl_buf *out)
{
    struct tl_page page;

    tl_page_init(&page, style->width, style->utf8);
    tl_report_brief(&result->run, result->facts, result->findings, &page);
    tl_page_addf(&page, TL_SAID_DIM,
                 moving->options.kept ? "All of it: tightlink explain %.26s"
                                      : "All of it: --full prints it, --save FILE keeps it",
                 result->run.id);
    tl_page_end_line(&page, TL_LINE_TEXT);
    enum tl_status status = tl_page_print(&page, style->color, out);
    tl_page_finish(&page);
    return status;
}

static bool print(const struct moving *moving, const struct tl_session_result *result)
{
    struct tl_text_style style = style_of_stderr(moving->options.color);
    struct tl_buf out = TL_BUF_INIT;
    enum tl_status status = moving->options.full ? tl_report_text(&result->run, result->facts,
                                                                  result->findings, &style, &out)
                                                 : brief(moving, result, &style, &out);

    fputc('\n', stderr);
    bool written = status == TL_OK && fwrite(tl_buf_text(&out), 1, out.len, stderr) == out.len;
    tl_buf_finish(&out);
    return written;
}

/* --measure: the same path from memory to memory, and the disk where one was named. */
static enum tl_status measure(struct moving *moving, struct tl_session_result *result)
{
    struct cli_run_options options = moving->options;
    struct tl_session_result measured;
    struct tl_error error = {0};

    /* What ends the command must end this too (tl_app_signals_close). */
    signal(SIGINT, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    options.json = options.json_lines = false;
    options.yes = true;
    options.config.rules = moving->rules;
    tl_app_mover_config(result, &options.config);
    enum tl_status status = cli_drive_session(&options, &measured, &error);
    if (status != TL_OK) {
        (void)cli_fail(&error);
        return status;
    }
    if (measured.status != TL_OK)
        cli_complain("--measure: %s", measured.error.text);
    status = measured.facts ? tl_app_mover_add_measured(moving->rules, result, &measured, &error)
                            : TL_OK;
    if (status != TL_OK)
        (void)cli_fail(&error);
    tl_app_result_finish(&measured);
    return status;
}

/* The exit code is the command's own; only where its output was asked for and failed, ours. */
static int deliver(struct moving *moving, struct tl_session_result *result, int exit_code)
{
    bool kept = false;

    if (moving->measure && measure(moving, result) == TL_NOMEM)
        return CLI_EXIT_INCONCLUSIVE;
    if (!moving->no_history)
        (void)cli_keep_run(result, &kept);
    moving->options.kept = kept;
    if (moving->options.save && !cli_save_run(moving->options.save, result))
        return CLI_EXIT_EXPORT;
    if (moving->options.json || moving->options.json_lines)
        return cli_deliver(&moving->options, result) == CLI_EXIT_EXPORT ? CLI_EXIT_EXPORT
                                                                        : exit_code;
    return print(moving, result) ? exit_code : CLI_EXIT_EXPORT;
}

static int report(struct moving *moving)
{
    struct tl_session_result result = {0};
    struct tl_app_mover_sum sum;
    struct tl_error error = {0};
    int exit_code;

    enum tl_status status = tl_app_mover_result(moving->mover, &result, &error);
    tl_app_mover_sum(moving->mover, &sum);
    tell_sum(&sum);
    exit_code = sum.exit_code;
    if (status == TL_OK)
        exit_code = deliver(moving, &result, exit_code);
    else if (status == TL_UNKNOWN)
        tell_nothing(&sum, &error);
    else
        (void)cli_fail(&error);
    tl_app_result_finish(&result);
    return exit_code;
}

/* --- The command ------------------------------------------------------------------------------ */

static int start_and_watch(struct moving *moving, int fd, const sigset_t *before)
{
    struct tl_app_mover_what what = {
        .argv = moving->argv,
        .mask = before,
        .output_to_stderr = moving->options.json || moving->options.json_lines,
    };
    struct tl_error error = {0};
    bool missing = false;
    enum tl_status status =
        tl_app_mover_start(&what, moving->rules, &moving->mover, &missing, &error);

    if (status != TL_OK) {
        int exit_code = cli_fail(&error);
        tl_app_signals_close(fd, before);
        return status != TL_USAGE ? exit_code : missing ? EXIT_MISSING : EXIT_NOT_TO_RUN;
    }
    status = watch(moving, fd, &error);
    tl_app_signals_close(fd, before);
    /* A kernel that tells no more ends the watching, not the command. */
    if (status != TL_OK)
        (void)cli_fail(&error);
    return report(moving);
}

static int run(struct moving *moving)
{
    static const int more[] = {SIGCHLD, SIGQUIT};
    struct tl_error error = {0};
    sigset_t before;

    if (cli_load_rules(&moving->rules, &error) != TL_OK)
        return cli_fail(&error);
    signal(SIGCHLD, SIG_DFL); /* else nothing would be left to wait for */
    int fd = tl_app_signals_open(more, sizeof more / sizeof *more, &before);
    int exit_code = CLI_EXIT_INCONCLUSIVE;
    if (fd < 0)
        cli_complain("signalfd: %s", strerror(errno));
    else
        exit_code = start_and_watch(moving, fd, &before);
    tl_app_mover_destroy(moving->mover);
    tl_rules_destroy(moving->rules);
    return exit_code;
}

static enum tl_status take_disk(const char *directory, void *options, struct tl_error *reterr)
{
    struct moving *moving = options;
    struct stat status;

    if (stat(directory, &status) != 0 || !S_ISDIR(status.st_mode))
        return tl_error_set(reterr, TL_USAGE, "%s is no directory", directory);
    moving->options.config.directory = directory;
    moving->options.config.force |= UINT32_C(1) << tl_session_stage_find("disk");
    moving->measure = true;
    return TL_OK;
}

static const struct cli_option options[] = {
    {CLI_FLAG("json", struct moving, options.json)},
    {CLI_FLAG("json-lines", struct moving, options.json_lines)},
    {CLI_FLAG("measure", struct moving, measure)},
    {CLI_READ("disk", take_disk)},
    {CLI_PORT("port", struct moving, options.config.port)},
    {CLI_TEXT("save", struct moving, options.save)},
    {CLI_FLAG("no-history", struct moving, no_history)},
    {CLI_FLAG("full", struct moving, options.full)},
    {CLI_COLOR("color", struct moving, options.color)},
    {.name = NULL},
};

int cli_mover(const struct cli_command *command, int argc, char **argv)
{
    struct moving moving = {.options = {.config = {.port = CLI_DEFAULT_PORT}}};
    /* The first word that is no option begins the command. */
    struct cli_words words = {command, argc, argv, true, CLI_EXIT_OK};

    if (!cli_take_options(&words, options, &moving))
        return words.exit_code;
    if (!words.argc)
        return cli_usage(command, "which command? For instance: tightlink mover -- scp big host:");
    moving.argv = words.argv;
    return run(&moving);
}

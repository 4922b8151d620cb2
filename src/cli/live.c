/* Drives a session from the command line: events to stderr (progress, on a terminal
 * only) or to stdout (--json-lines), the question before the path is loaded, signals. */
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "tightlink/app/signals.h"
#include "tightlink/base/json_write.h"
#include "tightlink/base/units.h"

struct live {
    const struct cli_run_options *options;
    struct tl_session *session;
    int signal_fd;
    bool progress;    /* stderr is a terminal */
    bool rewrites;    /* and it can rewrite a line */
    bool line_open;   /* a progress line without its newline is on the terminal */
    bool interrupted; /* a signal asked us to stop */
    bool agreed;      /* to the first question, before which nothing is sent */
    bool done;
};

static void clear_line(struct live *live)
{
    if (live->line_open)
        fputs("\r\033[K", stderr);
    live->line_open = false;
}

static const char *stage_title(const struct tl_event *event, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "%s%s%s", event->stage, event->has_direction ? ", " : "",
             event->has_direction ? tl_direction_name(event->direction) : "");
    return ret_text;
}

static void show_live(struct live *live, const struct tl_event *event)
{
    char rate[TL_UNIT_TEXT_SIZE], elapsed[TL_UNIT_TEXT_SIZE], title[64];
    if (!live->rewrites)
        return;
    fprintf(stderr, "\r\033[K  %s: %s  %s", stage_title(event, title, sizeof title),
            tl_format_ns(event->elapsed_ns, elapsed),
            isfinite(event->rate_bps) ? tl_format_bps(event->rate_bps, rate) : "");
    fflush(stderr);
    live->line_open = true;
}

static void show_progress(struct live *live, const struct tl_event *event)
{
    char title[64], took[TL_UNIT_TEXT_SIZE];
    if (event->kind == TL_EVENT_LIVE) {
        show_live(live, event);
        return;
    }
    clear_line(live);
    switch (event->kind) {
    case TL_EVENT_STAGE_START:
        if (!live->rewrites)
            break;
        fprintf(stderr, "  %s ...", stage_title(event, title, sizeof title));
        fflush(stderr);
        live->line_open = true;
        break;
    case TL_EVENT_STAGE_END:
        fprintf(stderr, "  %-18s %-12s %s%s", stage_title(event, title, sizeof title),
                tl_stage_state_name(event->record.state),
                tl_format_ns((double)event->record.duration_ns, took),
                event->record.reason[0] ? "  " : "");
        cli_put_clean(event->record.reason, stderr);
        fputc('\n', stderr);
        break;
    case TL_EVENT_NOTE:
        fputs("  ", stderr);
        cli_put_clean(event->text, stderr);
        fputc('\n', stderr);
        break;
    default:
        break;
    }
}

static void take_signal(struct live *live)
{
    struct signalfd_siginfo info;
    if (read(live->signal_fd, &info, sizeof info) != sizeof info)
        return;
    clear_line(live);
    if (!live->interrupted)
        cli_complain("stopping; what was measured is kept");
    live->interrupted = true;
    tl_session_stop(live->session);
}

/* Writes an event to stdout. A reader that does not read must not keep a signal from us:
 * once there was one, what does not fit is left out; the document at the end has it all. */
static void emit(struct live *live, const char *text, size_t len)
{
    while (len) {
        struct pollfd fds[] = {{.fd = STDOUT_FILENO, .events = POLLOUT},
                               {.fd = live->signal_fd, .events = POLLIN}};
        int n = poll(fds, 2, live->interrupted ? 0 : -1);
        if (n > 0 && fds[1].revents & POLLIN)
            take_signal(live);
        if (n <= 0 || !fds[0].revents) {
            if (live->interrupted)
                return;
            continue;
        }
        /* So much a pipe that is ready takes without blocking (pipe(7)). */
        ssize_t written = write(STDOUT_FILENO, text, len < PIPE_BUF ? len : PIPE_BUF);
        if (written < 0 && errno != EINTR && errno != EAGAIN)
            return; /* told when the document fails too */
        if (written > 0) {
            text += written;
            len -= (size_t)written;
        }
    }
}

static const char *const event_names[] = {"stage-start", "stage-end", "live",    "note",  "consent",
                                          "done",        "plan",      "reading", "paused"};

static const char *text_or_null(const char *text)
{
    return text[0] ? text : NULL;
}

/* One event as one line of JSON. Numbers that are not known are left out. */
static void print_json_line(struct live *live, const struct tl_event *event)
{
    struct tl_buf buf = TL_BUF_INIT;
    struct tl_json_writer json;
    tl_json_writer_init(&json, &buf, true);
    tl_json_begin_object(&json, NULL);
    tl_json_add_string(&json, "event", event_names[event->kind]);
    tl_json_add_integer(&json, "time_ns", event->time_ns);
    tl_json_add_string(&json, "stage", text_or_null(event->stage));
    if (event->has_direction)
        tl_json_add_string(&json, "direction", tl_direction_name(event->direction));
    if (event->kind == TL_EVENT_STAGE_END) {
        tl_json_add_string(&json, "state", tl_stage_state_name(event->record.state));
        tl_json_add_string(&json, "reason", text_or_null(event->record.reason));
        tl_json_add_integer(&json, "duration_ns", event->record.duration_ns);
    }
    if (event->kind == TL_EVENT_LIVE) {
        tl_json_add_number(&json, "rate_bps", event->rate_bps);
        tl_json_add_number(&json, "rtt_ns", event->rtt_ns);
        tl_json_add_number(&json, "elapsed_ns", event->elapsed_ns);
    }
    if (event->kind == TL_EVENT_CONSENT)
        tl_json_add_integer(&json, "worst_bytes", event->worst_bytes);
    tl_json_add_string(&json, "text", text_or_null(event->text));
    tl_json_end(&json);
    if (buf.status == TL_OK)
        emit(live, buf.data, buf.len);
    tl_buf_finish(&buf);
}

/* Asks on the terminal; the answer may be a signal. */
static bool ask(struct live *live, const struct tl_event *event)
{
    char answer[16];
    fprintf(stderr, "%s Go on? [y/N] ", event->text);
    fflush(stderr);
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = live->signal_fd, .events = POLLIN}};
    while (poll(fds, 2, -1) < 0 && errno == EINTR)
        ;
    if (fds[1].revents) {
        fputc('\n', stderr);
        live->interrupted = true;
        return false;
    }
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

static void answer_consent(struct live *live, const struct tl_event *event)
{
    bool given = live->options->yes;
    if (!given) {
        clear_line(live);
        given = ask(live, event);
    }
    if (given && !live->interrupted && live->options->agreed && !live->agreed)
        live->options->agreed(live->options->agreed_context);
    live->agreed |= given;
    if (live->interrupted) /* a signal is no answer */
        tl_session_stop(live->session);
    else
        tl_session_consent(live->session, given);
}

static void take_events(struct live *live)
{
    struct tl_event event;
    while (tl_session_next_event(live->session, &event)) {
        if (live->options->json_lines)
            print_json_line(live, &event);
        if (event.kind == TL_EVENT_CONSENT)
            answer_consent(live, &event);
        else if (event.kind == TL_EVENT_DONE)
            live->done = true;
        else if (live->progress)
            show_progress(live, &event);
    }
}

/* To the session's end, or until nothing can be waited for any more: then the errno. */
static int follow(struct live *live)
{
    struct pollfd fds[] = {{.fd = tl_session_event_fd(live->session), .events = POLLIN},
                           {.fd = live->signal_fd, .events = POLLIN}};
    while (!live->done) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return errno;
        if (fds[1].revents & POLLIN)
            take_signal(live);
        take_events(live);
    }
    return 0;
}

enum tl_status cli_consent_possible(const struct cli_run_options *options, struct tl_error *reterr)
{
    if (options->yes || (isatty(STDIN_FILENO) && isatty(STDERR_FILENO)))
        return TL_OK;
    return tl_error_set(
        reterr, TL_USAGE,
        "the test loads the path and no terminal is here to ask; add --yes to agree");
}

/* Without memory the run is what counts. */
static void take_samples(struct tl_session *session, struct tl_session_result *result)
{
    result->samples = calloc(1, sizeof *result->samples);
    if (result->samples)
        tl_session_take_samples(session, result->samples);
}

enum tl_status cli_drive_session(const struct cli_run_options *options,
                                 struct tl_session_result *ret_result, struct tl_error *reterr)
{
    enum tl_status status = cli_consent_possible(options, reterr);
    if (status != TL_OK)
        return status;
    sigset_t before;
    const char *term = getenv("TERM");
    struct live live = {.options = options,
                        .progress = !options->json_lines && isatty(STDERR_FILENO),
                        .rewrites = term && strcmp(term, "dumb") != 0,
                        .signal_fd = tl_app_signals_open(NULL, 0, &before)};
    if (live.signal_fd < 0)
        return tl_error_set(reterr, TL_IO, "signalfd: %s", strerror(errno));
    status = tl_session_create(&options->config, &live.session, reterr);
    if (status == TL_OK)
        status = tl_session_start(live.session, reterr);
    if (status == TL_OK) {
        int errnum = follow(&live);
        clear_line(&live);
        if (errnum) /* the worker may wait for an answer that nobody would give */
            tl_session_stop(live.session);
        tl_session_finish(live.session, ret_result);
        take_samples(live.session, ret_result);
        if (errnum)
            ret_result->status =
                tl_error_set(&ret_result->error, TL_IO, "poll: %s", strerror(errnum));
        if (live.interrupted)
            ret_result->status = TL_CANCELLED;
    }
    tl_session_destroy(live.session);
    tl_app_signals_close(live.signal_fd, &before);
    return status;
}

/* tightlink capture: the headers of a transfer into a file, by the helper that may (src/capture).
 */
#include "cli.h"
#include "words.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "tightlink/app/capture.h"
#include "tightlink/app/files.h"
#include "tightlink/app/signals.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"

#define SECONDS_DEFAULT 60
#define BYTES_DEFAULT   (INT64_C(64) * 1000 * 1000)
#define HELPER          "tightlink-capture"

struct capturing {
    struct tl_app_live_what what;
    struct tl_app_capture_order order;
    char path[PATH_MAX];
    bool yes;
};

static enum tl_status take_time(const char *text, void *options, struct tl_error *reterr)
{
    struct capturing *capturing = options;
    return tl_parse_ns(text, &capturing->order.for_ns, reterr);
}

static enum tl_status take_size(const char *text, void *options, struct tl_error *reterr)
{
    struct capturing *capturing = options;
    return tl_parse_bytes(text, &capturing->order.max_bytes, reterr);
}

static enum tl_status take_path(const char *text, void *options, struct tl_error *reterr)
{
    struct capturing *capturing = options;
    if (!cli_out_path(text))
        return tl_error_set(reterr, TL_USAGE, "a capture is a file: name one");
    if (strlen(text) >= sizeof capturing->path)
        return tl_error_set(reterr, TL_USAGE, "the name of the file is too long");
    strcpy(capturing->path, text);
    return TL_OK;
}

static const struct cli_option options[] = {
    {CLI_READ("for", take_time)},
    {CLI_READ("max", take_size)},
    {CLI_READ("out", take_path), .letter = 'o'},
    {CLI_FLAG("yes", struct capturing, yes)},
    {.name = NULL},
};

/* Until the helper has something to say, or a signal ends it: a terminal sends Ctrl-C to it as
 * well, `kill` to this process alone. */
static bool is_asked_to_stop(int signals_fd, const struct tl_app_capture *running)
{
    struct pollfd ready[] = {{.fd = signals_fd, .events = POLLIN},
                             {.fd = running->report_fd, .events = POLLIN}};
    while (poll(ready, 2, -1) < 0 && errno == EINTR)
        continue;
    return ready[0].revents != 0;
}

/* A signal ends the helper, and not the command: its counts are still to come. */
static enum tl_status run_helper(const struct tl_app_capture_order *order, const char *path,
                                 struct tl_app_capture_count *ret_count, struct tl_error *reterr)
{
    struct tl_app_capture running;
    char span[TL_UNIT_TEXT_SIZE];
    sigset_t before;
    int signals_fd = tl_app_signals_open(NULL, 0, &before);
    if (signals_fd < 0)
        return tl_error_set(reterr, TL_IO, "signalfd: %s", strerror(errno));
    enum tl_status status = tl_app_capture_start(order, path, &running, reterr);
    if (status == TL_OK) {
        fprintf(stderr, "headers go to %s for %s; Ctrl-C ends it\n", path,
                tl_format_ns((double)order->for_ns, span));
        bool stop = is_asked_to_stop(signals_fd, &running);
        status = tl_app_capture_end(&running, stop, ret_count, reterr);
    }
    tl_app_signals_close(signals_fd, &before);
    return status;
}

static int capture(struct capturing *capturing)
{
    struct tl_app_capture_count count;
    struct tl_error error = {0};
    char helper[PATH_MAX];
    if (!cli_find_program(HELPER, helper, sizeof helper)) {
        cli_complain("the program " HELPER
                     " is not beside tightlink: it was built without libpcap");
        return CLI_EXIT_UNREACHABLE;
    }
    capturing->order.program = helper;
    enum tl_status status = run_helper(&capturing->order, capturing->path, &count, &error);
    if (status != TL_OK) {
        cli_complain("%s", error.text);
        return status == TL_DENIED ? CLI_EXIT_AUTH : CLI_EXIT_EXPORT;
    }
    fprintf(stderr, "%lld packets%s", count.packets_count,
            count.full ? ", until the agreed size was reached" : "");
    if (count.dropped_count)
        fprintf(stderr, "; %lld more were dropped by this machine and are not losses of the path",
                count.dropped_count);
    fprintf(stderr, "\n");
    printf("tightlink pcap %s\n", capturing->path);
    return CLI_EXIT_OK;
}

int cli_capture(const struct cli_command *command, int argc, char **argv)
{
    struct capturing capturing = {
        .order = {.for_ns = SECONDS_DEFAULT * TL_NS_PER_S, .max_bytes = BYTES_DEFAULT}};
    struct tl_error err = {0};
    struct cli_words words = {command, argc, argv, false, CLI_EXIT_OK};
    if (!cli_take_options(&words, options, &capturing))
        return words.exit_code;
    if (words.argc != 1)
        return cli_usage(command, "name one process, port or host");
    if (capturing.order.for_ns < TL_NS_PER_S || capturing.order.max_bytes < 1000)
        return cli_usage(command, "a second and 1000 bytes are the least");
    enum tl_status status = tl_app_live_parse(words.argv[0], &capturing.what, &err);
    if (status != TL_OK)
        return cli_usage(command, "%s", err.text);
    if (!cli_may_look_up(capturing.what.host, capturing.yes, &words.exit_code))
        return words.exit_code;
    capturing.what.loopback = true;
    status = tl_app_capture_plan(&capturing.what, &capturing.order.plan, &err);
    if (status != TL_OK) {
        cli_complain("%s", err.text);
        return status == TL_NOHOST ? CLI_EXIT_UNREACHABLE : CLI_EXIT_USAGE;
    }
    if (!capturing.path[0])
        tl_app_capture_name(capturing.path, sizeof capturing.path);
    if (tl_app_is_taken(capturing.path))
        return cli_refuse_taken(capturing.path);
    return capture(&capturing);
}

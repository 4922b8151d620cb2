/* tightlink capture: the headers of a transfer into a file, by the helper that may (src/capture).
 */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tightlink/app/capture.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"

#define SECONDS_DEFAULT 60
#define BYTES_DEFAULT   (INT64_C(64) * 1000 * 1000)
#define HELPER          "tightlink-capture"
#define HELPER_REFUSED  5 /* src/capture/main.c */
#define WORD_SIZE       48
#define WORDS_MAX       (2 * (2 * TL_APP_CAPTURE_NAMED_MAX + 2) + 1) /* pairs and the program */

struct capturing {
    struct tl_app_live_what what;
    struct tl_app_capture_plan plan;
    char path[PATH_MAX];
    int64_t for_ns, max_bytes;
};

enum { OPTION_FOR = 256, OPTION_MAX };

static const struct option long_options[] = {
    {"for", required_argument, NULL, OPTION_FOR},
    {"max", required_argument, NULL, OPTION_MAX},
    {"out", required_argument, NULL, 'o'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static enum tl_status take_option(int option, struct capturing *capturing, struct tl_error *reterr)
{
    switch (option) {
    case OPTION_FOR:
        return tl_parse_ns(optarg, &capturing->for_ns, reterr);
    case OPTION_MAX:
        return tl_parse_bytes(optarg, &capturing->max_bytes, reterr);
    case 'o':
        if (strlen(optarg) >= sizeof capturing->path)
            return tl_error_set(reterr, TL_USAGE, "the name of the file is too long");
        strcpy(capturing->path, optarg);
        return TL_OK;
    default:
        return tl_error_set(reterr, TL_USAGE, "no such option, or one without its value");
    }
}

static void name_file(char *ret_path, size_t size)
{
    time_t now = time(NULL);
    struct tm local;
    char stamp[32] = "";
    if (localtime_r(&now, &local))
        strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
    snprintf(ret_path, size, "capture-%s.pcap", stamp);
}

/* The helper's command line. */
struct line {
    char texts[WORDS_MAX][WORD_SIZE];
    char *words[WORDS_MAX + 1]; /* NULL behind the last */
    int count;
};

static void add_pair(struct line *line, const char *key, const char *value)
{
    for (int i = 0; i < 2; i++, line->count++) {
        snprintf(line->texts[line->count], WORD_SIZE, "%s", i == 0 ? key : value);
        line->words[line->count] = line->texts[line->count];
    }
}

static void add_number(struct line *line, const char *key, int64_t number)
{
    char text[WORD_SIZE];
    snprintf(text, sizeof text, "%" PRId64, number);
    add_pair(line, key, text);
}

static void fill_line(const struct capturing *capturing, char *path, struct line *line)
{
    const struct tl_app_capture_plan *plan = &capturing->plan;
    *line = (struct line){.words = {path}, .count = 1};
    add_number(line, "--seconds", (capturing->for_ns + TL_NS_PER_S - 1) / TL_NS_PER_S);
    add_number(line, "--bytes", capturing->max_bytes);
    for (size_t i = 0; i < plan->address_count; i++)
        add_pair(line, "--address", plan->addresses[i]);
    for (size_t i = 0; i < plan->port_count; i++)
        add_number(line, "--port", plan->ports[i]);
}

/* Starts it with the file as its standard output and waits; Ctrl-C reaches it as well. Its exit
 * code; -1 where it could not be started. */
static int run_helper(const struct capturing *capturing, char *path, int fd)
{
    struct line line;
    int wstatus;
    fill_line(capturing, path, &line);
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    (void)sigaction(SIGINT, &ignore, &before);
    pid_t pid = fork();
    if (pid == 0) {
        (void)sigaction(SIGINT, &before, NULL);
        if (dup2(fd, STDOUT_FILENO) >= 0)
            execv(path, line.words);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &wstatus, 0) < 0)
        if (errno != EINTR)
            pid = -1;
    (void)sigaction(SIGINT, &before, NULL);
    return pid > 0 && WIFEXITED(wstatus) ? WEXITSTATUS(wstatus) : -1;
}

static int capture(const struct capturing *capturing)
{
    char helper[PATH_MAX], span[TL_UNIT_TEXT_SIZE];
    if (!cli_find_program(HELPER, helper, sizeof helper)) {
        cli_complain("the program " HELPER
                     " is not beside tightlink: it was built without libpcap");
        return CLI_EXIT_UNREACHABLE;
    }
    int fd = open(capturing->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        cli_complain("%.200s: %s", capturing->path, strerror(errno));
        return CLI_EXIT_EXPORT;
    }
    fprintf(stderr, "headers go to %s for %s; Ctrl-C ends it\n", capturing->path,
            tl_format_ns((double)capturing->for_ns, span));
    int code = run_helper(capturing, helper, fd);
    close(fd);
    if (code == 0) {
        printf("tightlink pcap %s\n", capturing->path);
        return CLI_EXIT_OK;
    }
    (void)unlink(capturing->path);
    if (code == HELPER_REFUSED)
        cli_complain("capturing is not permitted here. This permits it, headers only, to those who "
                     "may run the helper: sudo setcap cap_net_raw=ep %s",
                     helper);
    else
        cli_complain("the capture was broken off");
    return code == HELPER_REFUSED ? CLI_EXIT_AUTH : CLI_EXIT_EXPORT;
}

int cli_capture(const struct cli_command *command, int argc, char **argv)
{
    struct capturing capturing = {.for_ns = SECONDS_DEFAULT * TL_NS_PER_S,
                                  .max_bytes = BYTES_DEFAULT};
    struct tl_error err = {0};
    int option;
    while ((option = getopt_long(argc, argv, ":o:h", long_options, NULL)) != -1) {
        if (option == 'h') {
            cli_print_help(command, stdout);
            return CLI_EXIT_OK;
        }
        if (take_option(option, &capturing, &err) != TL_OK)
            return cli_usage(command, "%s", err.text);
    }
    if (optind + 1 != argc)
        return cli_usage(command, "name one process, port or host");
    if (capturing.for_ns < TL_NS_PER_S || capturing.max_bytes < 1000)
        return cli_usage(command, "a second and 1000 bytes are the least");
    enum tl_status status = tl_app_live_parse(argv[optind], &capturing.what, &err);
    if (status != TL_OK)
        return cli_usage(command, "%s", err.text);
    capturing.what.loopback = true;
    status = tl_app_capture_plan(&capturing.what, &capturing.plan, &err);
    if (status != TL_OK) {
        cli_complain("%s", err.text);
        return status == TL_NOHOST ? CLI_EXIT_UNREACHABLE : CLI_EXIT_USAGE;
    }
    if (!capturing.path[0])
        name_file(capturing.path, sizeof capturing.path);
    return capture(&capturing);
}

/* main of tightlinkd: options, signals, log lines to stderr. What it serves is in
 * engine/responder.h.
 *
 * Exit: 0 ended by a signal, 2 the command line is wrong, 3 the port cannot be had,
 * 1 anything else. */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "key_reader.h"
#include "sandbox.h"
#include "status_socket.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "tightlink/engine/disk.h"
#include "tightlink/engine/limits.h"
#include "tightlink/engine/responder.h"
#include "tightlink/engine/wire.h"
#include "unknown.h"
#include "user.h"

#ifndef TL_VERSION_TEXT
#error "the build defines TL_VERSION_TEXT"
#endif

#define PROGRAM "tightlinkd " TL_VERSION_TEXT

enum { PEERS_MAX = 16 };

enum { EXIT_USAGE = 2, EXIT_BIND = 3 };

static struct tl_responder *responder; /* for the signal handler */

static const char help[] =
    "Usage: tightlinkd --key FILE | --open [OPTION]...\n"
    "The far end of tightlink: answers tests on one TCP and UDP port.\n"
    "\n"
    "      --key FILE           serve who holds one of the keys in this file (mode 0600; a key\n"
    "                           is made with `tightlink key NAME`), over TLS 1.3, and tell them\n"
    "                           the whole host audit\n"
    "      --open               serve without a key. Anyone who reaches the port may load this\n"
    "                           host's network for up to --max-seconds at a time, and read its\n"
    "                           TCP and NIC settings (not its name, kernel or drivers)\n"
    "      --port N             port, TCP and UDP (default 5411; 0: any free one)\n"
    "      --bind ADDRESS       listen on this IPv4 or IPv6 address only\n"
    "      --max-seconds N      longest test, 1 to 60 (default 60)\n"
    "      --max-streams N      most streams a test, 1 to 128 (default 32)\n"
    "      --rate-cap RATE      highest rate of a test, for instance 500M\n"
    "      --daily-quota BYTES  bytes that all tests of 24 hours may move, for instance 50GB; of\n"
    "                           the second half hosts and networks have shares, but for keys\n"
    "      --places CLASS=N[,CLASS=N]...\n"
    "                           most sessions at once of clients without a key (open), with one\n"
    "                           (keyed), with an administrator's (admin); default: of 64 open 48\n"
    "                           beside keys, keyed 60 beside an administrator's\n"
    "      --third-party ADDRESS[,ADDRESS]...\n"
    "                           other responders: a client with a key may have tests made\n"
    "                           between them and this one\n"
    "      --user NAME          started as root: become this user (default: tightlinkd where "
    "there\n"
    "                           is one, else nobody)\n"
    "      --partial-sandbox    start, too, where this kernel lacks Landlock or seccomp\n"
    "      --no-sandbox         keep root, and what seccomp, Landlock and the dropping of\n"
    "                           capabilities take away (for debuggers)\n"
    "      --check              try each protection and say which are on; serve nobody\n"
    "      --status             say what the tightlinkd on --port serves now (root, or its user)\n"
    "      --disk DIR           let clients test the disk under DIR: with files without a name, "
    "up\n"
    "                           to 1 GiB and 5 % of the free space; they see its speed and kind\n"
    "      --ready-fd N         write one line to this descriptor when listening\n"
    "      --help, --version\n"
    "\n"
    "SIGHUP reads the keys again: sessions live on, one whose key is gone begins no other test.\n"
    "\n"
    "Exit: 0 ended by SIGTERM or SIGINT, 1 a protection is off (--check) or cannot be had, 2 "
    "usage,\n"
    "3 the port cannot be had, or nobody serves there (--status).\n";

enum option_id {
    OPTION_OPEN = 256,
    OPTION_KEY,
    OPTION_PORT,
    OPTION_BIND,
    OPTION_MAX_SECONDS,
    OPTION_MAX_STREAMS,
    OPTION_RATE_CAP,
    OPTION_DAILY_QUOTA,
    OPTION_PLACES,
    OPTION_THIRD_PARTY,
    OPTION_USER,
    OPTION_PARTIAL_SANDBOX,
    OPTION_NO_SANDBOX,
    OPTION_CHECK,
    OPTION_STATUS,
    OPTION_DISK,
    OPTION_READY_FD,
    OPTION_HELP,
    OPTION_VERSION
};

static const struct option long_options[] = {
    {"open", no_argument, NULL, OPTION_OPEN},
    {"key", required_argument, NULL, OPTION_KEY},
    {"port", required_argument, NULL, OPTION_PORT},
    {"bind", required_argument, NULL, OPTION_BIND},
    {"max-seconds", required_argument, NULL, OPTION_MAX_SECONDS},
    {"max-streams", required_argument, NULL, OPTION_MAX_STREAMS},
    {"rate-cap", required_argument, NULL, OPTION_RATE_CAP},
    {"daily-quota", required_argument, NULL, OPTION_DAILY_QUOTA},
    {"places", required_argument, NULL, OPTION_PLACES},
    {"third-party", required_argument, NULL, OPTION_THIRD_PARTY},
    {"user", required_argument, NULL, OPTION_USER},
    {"partial-sandbox", no_argument, NULL, OPTION_PARTIAL_SANDBOX},
    {"no-sandbox", no_argument, NULL, OPTION_NO_SANDBOX},
    {"check", no_argument, NULL, OPTION_CHECK},
    {"status", no_argument, NULL, OPTION_STATUS},
    {"disk", required_argument, NULL, OPTION_DISK},
    {"ready-fd", required_argument, NULL, OPTION_READY_FD},
    {"help", no_argument, NULL, OPTION_HELP},
    {"version", no_argument, NULL, OPTION_VERSION},
    {NULL, 0, NULL, 0},
};

struct settings {
    struct tl_responder_options options;
    const char *key_file; /* NULL: none */
    struct in6_addr peers[PEERS_MAX];
    int ready_fd;     /* -1: none */
    const char *user; /* NULL: the standard one */
    bool no_sandbox, partial_sandbox, check, status;
    struct sandbox_policy policy;
    struct key_reader key_reader;
    char key_folder[PATH_MAX];
};

static void log_line(void *context, const char *line)
{
    char now[TL_TIME_TEXT_SIZE];
    tl_time_format_utc(tl_realtime_ns(), now);
    fprintf(stderr, "%s %s\n", now, line);
}

static int usage_error(const char *sentence)
{
    complain(sentence, "Try: tightlinkd --help\n");
    return EXIT_USAGE;
}

/* A whole number in [min, max]. */
static enum tl_status parse_number(const char *option, const char *text, long min, long max,
                                   long *ret_number, struct tl_error *reterr)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < min || number > max)
        return tl_error_set(reterr, TL_USAGE, "--%s takes a number from %ld to %ld, not \"%.40s\"",
                            option, min, max, text);
    *ret_number = number;
    return TL_OK;
}

static enum tl_status parse_rate_cap(const char *text, struct settings *settings,
                                     struct tl_error *reterr)
{
    double bps;
    enum tl_status status = tl_parse_bps(text, &bps, reterr);
    const struct tl_limit_row *row = tl_limit_row(TL_LIMIT_RATE_CAP_BPS);
    if (status == TL_OK && (bps < (double)row->min || bps > (double)row->max))
        status = tl_error_set(reterr, TL_RANGE, "a rate cap is 8 kb/s to 1 Tb/s");
    if (status != TL_OK)
        tl_error_prefix(reterr, "--rate-cap");
    else
        settings->options.rate_cap_bps = (uint64_t)bps;
    return status;
}

static enum tl_status parse_quota(const char *text, struct settings *settings,
                                  struct tl_error *reterr)
{
    int64_t bytes;
    enum tl_status status = tl_parse_bytes(text, &bytes, reterr);
    if (status == TL_OK && bytes < 1)
        status = tl_error_set(reterr, TL_RANGE, "a quota is at least one byte");
    if (status != TL_OK)
        tl_error_prefix(reterr, "--daily-quota");
    else
        settings->options.daily_quota_bytes = (uint64_t)bytes;
    return status;
}

/* Numeric addresses: a name could lead elsewhere tomorrow. */
static enum tl_status parse_peers(const char *text, struct settings *settings,
                                  struct tl_error *reterr)
{
    while (*text) {
        char address[INET6_ADDRSTRLEN];
        size_t len = strcspn(text, ",");
        struct in6_addr *peer = &settings->peers[settings->options.peer_count];
        struct in_addr v4;
        if (settings->options.peer_count == PEERS_MAX)
            return tl_error_set(reterr, TL_USAGE, "--third-party takes up to %d addresses",
                                PEERS_MAX);
        snprintf(address, sizeof address, "%.*s", (int)(len < 64 ? len : 64), text);
        *peer = (struct in6_addr){{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}}};
        if (inet_pton(AF_INET, address, &v4) == 1)
            memcpy(&peer->s6_addr[12], &v4, sizeof v4);
        else if (inet_pton(AF_INET6, address, peer) != 1)
            return tl_error_set(reterr, TL_USAGE,
                                "--third-party takes IPv4 and IPv6 addresses, not \"%.40s\"",
                                address);
        settings->options.peer_count++;
        text += len + (text[len] == ',');
    }
    return TL_OK;
}

/* "open=16,admin=4" */
static enum tl_status parse_places(const char *text, uint32_t places[TL_SESSION_CLASSES],
                                   struct tl_error *reterr)
{
    static const char *const classes[TL_SESSION_CLASSES] = {"open=", "keyed=", "admin="};
    long most = tl_limit_row(TL_LIMIT_SESSIONS)->standard;
    for (const char *at = text; *at;) {
        unsigned class = 0;
        while (class < TL_SESSION_CLASSES &&
               strncmp(at, classes[class], strlen(classes[class])) != 0)
            class ++;
        const char *digits = class < TL_SESSION_CLASSES ? at + strlen(classes[class]) : at;
        char *end = NULL;
        long number = *digits >= '0' && *digits <= '9' ? strtol(digits, &end, 10) : 0;
        if (!end || number < 1 || number > most || (*end != ',' && *end != '\0'))
            return tl_error_set(reterr, TL_USAGE,
                                "--places takes open=, keyed= and admin= with numbers from 1 to "
                                "%ld, as in open=16,admin=4, not \"%.40s\"",
                                most, text);
        places[class] = (uint32_t)number;
        at = end + (*end == ',');
    }
    return TL_OK;
}

/* What has no value. */
static bool take_flag(int id, struct settings *settings)
{
    bool *flag = id == OPTION_OPEN              ? &settings->options.open
                 : id == OPTION_PARTIAL_SANDBOX ? &settings->partial_sandbox
                 : id == OPTION_NO_SANDBOX      ? &settings->no_sandbox
                 : id == OPTION_CHECK           ? &settings->check
                 : id == OPTION_STATUS          ? &settings->status
                                                : NULL;
    if (flag)
        *flag = true;
    return flag != NULL;
}

static enum tl_status take_option(int id, const char *text, struct settings *settings,
                                  struct tl_error *reterr)
{
    struct tl_responder_options *options = &settings->options;
    long number = 0;
    enum tl_status status = TL_OK;
    switch (id) {
    case OPTION_KEY:
        settings->key_file = text;
        break;
    case OPTION_PORT:
        status = parse_number("port", text, 0, 65535, &number, reterr);
        options->port = (int)number;
        break;
    case OPTION_BIND:
        options->bind_address = text;
        break;
    case OPTION_MAX_SECONDS:
        status = parse_number("max-seconds", text, 1, 60, &number, reterr);
        options->max_seconds = (uint64_t)number;
        break;
    case OPTION_MAX_STREAMS:
        status = parse_number("max-streams", text, 1, tl_limit_row(TL_LIMIT_STREAMS_GRANTED)->max,
                              &number, reterr);
        options->max_streams = (uint64_t)number;
        break;
    case OPTION_RATE_CAP:
        return parse_rate_cap(text, settings, reterr);
    case OPTION_DAILY_QUOTA:
        return parse_quota(text, settings, reterr);
    case OPTION_PLACES:
        return parse_places(text, options->class_places, reterr);
    case OPTION_THIRD_PARTY:
        return parse_peers(text, settings, reterr);
    case OPTION_USER:
        settings->user = text;
        break;
    case OPTION_DISK:
        options->disk_directory = text;
        break;
    case OPTION_READY_FD:
        status = parse_number("ready-fd", text, 0, 65535, &number, reterr);
        settings->ready_fd = (int)number;
        break;
    }
    return status;
}

static void on_signal(int number)
{
    tl_responder_stop(responder);
}

static void on_hangup(int number)
{
    tl_responder_reload(responder);
}

static void catch_signals(void)
{
    struct sigaction end = {.sa_handler = on_signal}, hangup = {.sa_handler = on_hangup};
    sigaction(SIGHUP, &hangup, NULL);
    sigaction(SIGTERM, &end, NULL);
    sigaction(SIGINT, &end, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static void tell_ready(const struct settings *settings)
{
    int port = tl_responder_port(responder);
    const struct tl_responder_options *options = &settings->options;
    const char *where = options->bind_address;
    char whom[96] = "anyone (--open)";
    if (options->keys)
        snprintf(whom, sizeof whom, "the holders of %zu key%s%s", tl_keys_count(options->keys),
                 tl_keys_count(options->keys) == 1 ? "" : "s",
                 options->open ? ", and anyone (--open)" : "");
    fprintf(stderr, "%s serves %s on port %d of %s, TCP and UDP. Tests last up to %llu s.\n",
            PROGRAM, whom, port, where ? where : "every address",
            (unsigned long long)(settings->options.max_seconds
                                     ? settings->options.max_seconds
                                     : (uint64_t)tl_limit_row(TL_LIMIT_DURATION_MS)->max / 1000));
    if (settings->ready_fd < 0)
        return;
    dprintf(settings->ready_fd, "listening on port %d\n", port);
    if (settings->ready_fd > STDERR_FILENO)
        close(settings->ready_fd);
}

/* A directory in which no test could be made is said now, not to the first client. */
static enum tl_status try_disk(const char *directory, struct tl_error *reterr)
{
    struct tl_disk_area *area = NULL;
    struct tl_disk_area_spec spec = {.directory = directory};
    enum tl_status status = tl_disk_area_create(&spec, &area, reterr);
    if (status == TL_OK && tl_disk_area_info(area)->note[0])
        fprintf(stderr, "tightlinkd: --disk: %s\n", tl_disk_area_info(area)->note);
    tl_disk_area_release(area);
    return status;
}

typedef enum tl_status hold_fn(const struct sandbox_policy *policy, struct tl_error *reterr);

/* A cage with a hole is none, unless the administrator knows of it. */
static enum tl_status hold(hold_fn *what, const struct settings *settings, struct tl_error *reterr)
{
    enum tl_status status = settings->no_sandbox ? TL_OK : what(&settings->policy, reterr);
    if (status == TL_OK)
        return TL_OK;
    if (status == TL_UNSUPPORTED && settings->partial_sandbox) {
        fprintf(stderr, "tightlinkd: the sandbox is not whole: %s\n", reterr->text);
        return TL_OK;
    }
    tl_error_prefix(reterr, "the sandbox cannot be had");
    size_t len = strlen(reterr->text);
    snprintf(reterr->text + len, sizeof reterr->text - len, "; to serve all the same: %s",
             status == TL_UNSUPPORTED ? "--partial-sandbox" : "--no-sandbox, or --user root");
    return status;
}

/* Keys, and who reads them again; before the user is changed and any thread exists. */
static enum tl_status prepare_keys(struct settings *settings, struct tl_keys **ret_keys,
                                   struct tl_error *reterr)
{
    const char *file = settings->key_file, *slash = file ? strrchr(file, '/') : NULL;
    int len = slash > file ? (int)(slash - file) : 1;
    if (!file)
        return TL_OK;
    snprintf(settings->key_folder, sizeof settings->key_folder, "%.*s", len, slash ? file : ".");
    bool reader = settings->policy.change_user && sandbox_is_built();
    enum tl_status status = tl_keys_load(file, ret_keys, reterr);
    if (status == TL_OK && !settings->no_sandbox)
        status =
            key_reader_start(&settings->key_reader, file, settings->key_folder, reader, reterr);
    else
        settings->key_reader = (struct key_reader){.fd = -1, .path = file};
    if (settings->key_reader.fd < 0)
        settings->policy.key_directory = settings->key_folder;
    settings->options.keys = *ret_keys;
    settings->options.load_keys = key_reader_load;
    settings->options.load_context = &settings->key_reader;
    return status;
}

static int fail(const struct tl_error *error, int exit_code)
{
    complain(error->text, "");
    return exit_code;
}

/* Everything up to the loop, in the order in which rights are given up. */
static int open_all(struct settings *settings, struct tl_error *reterr)
{
    struct tl_responder_options *options = &settings->options;
    options->status_uid = getuid();
    options->status_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (settings->check)
        options->port = 0;
    if (hold(sandbox_hold_files, settings, reterr) != TL_OK)
        return EXIT_FAILURE;
    if (options->disk_directory && try_disk(options->disk_directory, reterr) != TL_OK) {
        tl_error_prefix(reterr, "--disk");
        return EXIT_USAGE;
    }
    if (tl_responder_create(options, &responder, reterr) != TL_OK)
        return reterr->status == TL_SYNTAX ? EXIT_USAGE : EXIT_BIND;
    if (!status_socket_listen(options->status_fd, tl_responder_port(responder)))
        fputs("tightlinkd: --status will not work: its local name is taken\n", stderr);
    catch_signals();
    return hold(sandbox_hold_calls, settings, reterr) == TL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run(struct settings *settings)
{
    struct tl_error error = {0};
    int exit_code = open_all(settings, &error);
    if (exit_code != EXIT_SUCCESS)
        return fail(&error, exit_code);
    if (settings->check)
        return check_protections(settings->policy.dials, settings->options.keys, stdout)
                   ? EXIT_SUCCESS
                   : EXIT_FAILURE;
    tell_ready(settings);
    return tl_responder_run(responder, &error) == TL_OK ? EXIT_SUCCESS : fail(&error, EXIT_FAILURE);
}

static int serve(struct settings *settings)
{
    struct tl_error error = {0};
    struct tl_keys *keys = NULL;
    settings->options.peers = settings->peers;
    settings->policy.write_directory = settings->options.disk_directory;
    settings->policy.dials = settings->options.peer_count > 0;
    if (!settings->no_sandbox && user_choose(settings->user, &settings->policy, &error) != TL_OK)
        return usage_error(error.text);
    int exit_code = EXIT_USAGE;
    if (prepare_keys(settings, &keys, &error) == TL_OK)
        exit_code = run(settings);
    else
        (void)usage_error(error.text);
    tl_responder_destroy(responder);
    tl_keys_destroy(keys);
    return exit_code;
}

int main(int argc, char **argv)
{
    struct settings settings = {
        .options = {.port = TL_WIRE_PORT, .program = PROGRAM, .log = log_line}, .ready_fd = -1};
    struct tl_error error;
    opterr = 0;
    for (int id; (id = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        if (id == '?')
            return usage_error(unknown_option(long_options, argv[optind - 1]));
        if (id == OPTION_HELP || id == OPTION_VERSION) {
            fputs(id == OPTION_HELP ? help : PROGRAM "\n", stdout);
            return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
        }
        if (!take_flag(id, &settings) && take_option(id, optarg, &settings, &error) != TL_OK)
            return usage_error(error.text);
    }
    if (optind < argc)
        return usage_error("it takes options only");
    if (settings.status)
        return status_socket_print(settings.options.port, &error) == TL_OK
                   ? EXIT_SUCCESS
                   : fail(&error, EXIT_BIND);
    if (!settings.options.open && !settings.key_file)
        return usage_error("give --key FILE (`tightlink key NAME` makes one), or say --open to "
                           "serve without: anyone who reaches the port may then load this "
                           "host's network");
    if (settings.options.peer_count > 0 && !settings.key_file)
        return usage_error("--third-party needs --key FILE: only who holds a key may ask for such "
                           "tests");
    return serve(&settings);
}

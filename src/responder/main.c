/* main of tightlinkd: signals, log lines to stderr, the order in which rights are given up. What it
 * serves is in engine/responder.h.
 *
 * Exit: 0 ended by a signal, 2 the command line is wrong, 3 the port cannot be had,
 * 1 anything else. */
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
#include "settings.h"
#include "status_socket.h"
#include "tightlink/base/time.h"
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

enum { EXIT_BIND = 3 };

static struct tl_responder *responder; /* for the signal handler */

static void log_line(void *context, const char *line)
{
    char now[TL_TIME_TEXT_SIZE];
    tl_time_format_utc(tl_realtime_ns(), now);
    fprintf(stderr, "%s %s\n", now, line);
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
    int exit_code = settings_read(argc, argv, &settings);
    if (exit_code != SETTINGS_GOOD)
        return exit_code;
    if (!settings.status)
        return serve(&settings);
    return status_socket_print(settings.options.port, &error) == TL_OK ? EXIT_SUCCESS
                                                                       : fail(&error, EXIT_BIND);
}

/* The command line of tightlinkd: help, options, and what is wrong with them. */
#include "settings.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/units.h"
#include "tightlink/engine/limits.h"
#include "unknown.h"

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
    "3 the port cannot be had, or nobody serves there (--status).";

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

/* What is taken as it stands. */
static bool take_word(int id, const char *text, struct settings *settings)
{
    const char **word = id == OPTION_KEY    ? &settings->key_file
                        : id == OPTION_BIND ? &settings->options.bind_address
                        : id == OPTION_USER ? &settings->user
                        : id == OPTION_DISK ? &settings->options.disk_directory
                                            : NULL;
    if (word)
        *word = text;
    return word != NULL;
}

static enum tl_status take_option(int id, const char *text, struct settings *settings,
                                  struct tl_error *reterr)
{
    struct tl_responder_options *options = &settings->options;
    long number = 0;
    enum tl_status status = TL_OK;
    switch (id) {
    case OPTION_PORT:
        status = parse_number("port", text, 0, 65535, &number, reterr);
        options->port = (int)number;
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
    case OPTION_READY_FD:
        status = parse_number("ready-fd", text, 0, 65535, &number, reterr);
        settings->ready_fd = (int)number;
        break;
    }
    return status;
}

/* Whether what was asked for goes together. */
static const char *fault_of(const struct settings *settings)
{
    if (settings->status)
        return NULL;
    if (!settings->options.open && !settings->key_file)
        return "give --key FILE (`tightlink key NAME` makes one), or say --open to serve without: "
               "anyone who reaches the port may then load this host's network";
    if (settings->options.peer_count > 0 && !settings->key_file)
        return "--third-party needs --key FILE: only who holds a key may ask for such tests";
    return NULL;
}

static int print(const char *text)
{
    if (puts(text) != EOF && fflush(stdout) == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, "tightlinkd: writing the output failed: %s\n", strerror(errno));
    return EXIT_FAILURE;
}

int settings_read(int argc, char **argv, struct settings *settings)
{
    struct tl_error error;
    opterr = 0;
    for (int id; (id = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        if (id == '?')
            return usage_error(unknown_option(long_options, argv[optind - 1]));
        if (id == OPTION_HELP || id == OPTION_VERSION)
            return print(id == OPTION_HELP ? help : settings->options.program);
        if (!take_flag(id, settings) && !take_word(id, optarg, settings) &&
            take_option(id, optarg, settings, &error) != TL_OK)
            return usage_error(error.text);
    }
    const char *fault = optind < argc ? "it takes options only" : fault_of(settings);
    return fault ? usage_error(fault) : SETTINGS_GOOD;
}

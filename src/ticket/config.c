/* tightlink.conf: which ticket systems, systems that watch and lists of far ends there are (inih).
 * Every key is known, or the file is refused with its place; a token in it is refused too. */
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "sinks.h"

#define FILE_MAX     (64 << 10)
#define NAME_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."

static const char *const key_names[KEY_COUNT] = {
    [KEY_SYSTEM] = "system",
    [KEY_URL] = "url",
    [KEY_TOKEN_FILE] = "token_file",
    [KEY_APP_TOKEN_FILE] = "app_token_file",
    [KEY_USER] = "user",
    [KEY_QUEUE] = "queue",
    [KEY_REQUESTOR] = "requestor",
    [KEY_PROJECT] = "project",
    [KEY_ISSUE_TYPE] = "issue_type",
    [KEY_GROUP] = "group",
    [KEY_CUSTOMER] = "customer",
    [KEY_REPOSITORY] = "repository",
    [KEY_LABELS] = "labels",
    [KEY_TRACKER] = "tracker",
    [KEY_TABLE] = "table",
    [KEY_CA_FILE] = "ca_file",
    [KEY_ALLOW_HTTP] = "allow_http",
    [KEY_FILE] = "file",
    [KEY_ADDRESS] = "address",
    [KEY_TRANSPORT] = "transport",
    [KEY_UNMASK] = "unmask",
    [KEY_FAR_ENDS] = "far_ends",
};

static const struct ticket_system *const systems[] = {
    &ticket_rt,         &ticket_redmine, &ticket_webhook, &ticket_github,     &ticket_gitlab,
    &ticket_jira_cloud, &ticket_jira_dc, &ticket_zammad,  &ticket_servicenow, &ticket_glpi,
};

static const struct ticket_system *find_system(const char *name)
{
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
        if (strcmp(systems[i]->name, name) == 0)
            return systems[i];
    return NULL;
}

/* --- Reading --- */

struct reader {
    struct tl_ticket_config *config;
    enum tl_status status;
    struct tl_error error; /* the first */
};

static int refuse(struct reader *reader, enum tl_status status, const char *section,
                  const char *name, const char *why)
{
    if (reader->status == TL_OK)
        reader->status = tl_error_set(&reader->error, status, "%.200s, [%.80s] %.60s: %s",
                                      reader->config->path, section, name, why);
    return 0;
}

/* The one of that name, new where it is met first. NULL: there are too many. */
static struct ticket_target *place(struct ticket_target *targets, size_t *count, size_t max,
                                   const char *name)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(targets[i].name, name) == 0)
            return &targets[i];
    if (*count == max)
        return NULL;
    struct ticket_target *target = &targets[(*count)++];
    snprintf(target->name, sizeof target->name, "%s", name);
    return target;
}

/* What a section begins with, and then its name. */
static const char *const kinds[] = {"ticket ", "telemetry ", "compare "};
enum kind { KIND_TICKET, KIND_TELEMETRY, KIND_COMPARE, KIND_COUNT };

static enum kind kind_of(const char *section)
{
    enum kind kind = KIND_TICKET;
    while (kind < KIND_COUNT && strncmp(section, kinds[kind], strlen(kinds[kind])) != 0)
        kind++;
    return kind;
}

/* What a section is about. NULL: there are too many of its kind. */
static struct ticket_target *target_of(struct tl_ticket_config *config, enum kind kind,
                                       const char *name)
{
    switch (kind) {
    case KIND_TICKET:
        return place(config->targets, &config->count, TL_TICKET_TARGETS_MAX, name);
    case KIND_TELEMETRY:
        return place(config->sinks, &config->sink_count, TELEMETRY_SINKS_MAX, name);
    default:
        return place(config->lists, &config->list_count, COMPARE_LISTS_MAX, name);
    }
}

/* With the keys that there are. */
static int refuse_key(struct reader *reader, const char *section, const char *name)
{
    struct tl_buf why = TL_BUF_INIT;
    tl_buf_adds(&why, "there is no such key; there are ");
    for (int key = 0; key < KEY_COUNT; key++)
        tl_buf_addf(&why, "%s%s", key ? ", " : "", key_names[key]);
    int taken = refuse(reader, TL_UNKNOWN, section, name, tl_buf_text(&why));
    tl_buf_finish(&why);
    return taken;
}

static int set_value(struct reader *reader, struct ticket_target *target, const char *section,
                     const char *name, const char *value)
{
    int key = 0;
    while (key < KEY_COUNT && strcmp(key_names[key], name) != 0)
        key++;
    if (strcmp(name, "token") == 0 || strcmp(name, "password") == 0 || strcmp(name, "secret") == 0)
        return refuse(reader, TL_DENIED, section, name,
                      "a secret does not belong here: write it into a file of its own with mode "
                      "0600 and name that with token_file");
    if (key == KEY_COUNT)
        return refuse_key(reader, section, name);
    if (target->values[key][0])
        return refuse(reader, TL_SYNTAX, section, name, "stands there twice");
    if (strlen(value) >= TICKET_VALUE_SIZE)
        return refuse(reader, TL_LIMIT, section, name, "is too long");
    for (const char *c = value; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return refuse(reader, TL_SYNTAX, section, name, "has a control character");
    snprintf(target->values[key], TICKET_VALUE_SIZE, "%s", value);
    return 1;
}

static int take(void *context, const char *section, const char *name, const char *value)
{
    struct reader *reader = context;
    enum kind kind = kind_of(section);
    if (kind == KIND_COUNT)
        return refuse(reader, TL_UNKNOWN, section, name,
                      "sections are [ticket NAME], [telemetry NAME] and [compare NAME]");
    const char *word = section + strlen(kinds[kind]);
    if (!*word || strlen(word) >= TL_TICKET_NAME_SIZE || strspn(word, NAME_LETTERS) != strlen(word))
        return refuse(reader, TL_SYNTAX, section, name, "a name is letters, digits, dots, dashes");
    struct ticket_target *target = target_of(reader->config, kind, word);
    if (!target)
        return refuse(reader, TL_LIMIT, section, name, "there are too many of that kind");
    return set_value(reader, target, section, name, value);
}

/* --- Checking --- */

/* A relative file lies beside the configuration. */
static void place_file(const struct tl_ticket_config *config, char value[TICKET_VALUE_SIZE])
{
    char joined[TICKET_VALUE_SIZE];
    const char *slash = strrchr(config->path, '/');
    if (!value[0] || value[0] == '/' || !slash)
        return;
    int n = snprintf(joined, sizeof joined, "%.*s/%s", (int)(slash - config->path), config->path,
                     value);
    if (n > 0 && (size_t)n < sizeof joined)
        memcpy(value, joined, sizeof joined);
}

static enum tl_status wrong(const struct tl_ticket_config *config,
                            const struct ticket_target *target, const char *key, const char *why,
                            struct tl_error *reterr)
{
    return tl_error_set(reterr, TL_SYNTAX, "%.200s, [%s %s] %s %s", config->path,
                        target->system ? "ticket"
                        : target->sink ? "telemetry"
                                       : "compare",
                        target->name, key, why);
}

static enum tl_status check_keys(const struct tl_ticket_config *config,
                                 const struct ticket_target *target, uint32_t needs, uint32_t takes,
                                 struct tl_error *reterr)
{
    takes |= needs | KEY(SYSTEM);
    if (takes & KEY(URL))
        takes |= KEY(CA_FILE) | KEY(ALLOW_HTTP);
    for (int key = 0; key < KEY_COUNT; key++) {
        bool given = target->values[key][0];
        if (!given && (needs >> key & 1))
            return wrong(config, target, key_names[key], "is missing", reterr);
        if (given && !(takes >> key & 1))
            return wrong(config, target, key_names[key], "is no key of this system", reterr);
    }
    return TL_OK;
}

/* yes, no, or not given. */
static enum tl_status check_yes(const struct tl_ticket_config *config,
                                const struct ticket_target *target, enum ticket_key key,
                                struct tl_error *reterr)
{
    const char *value = target->values[key];
    if (!*value || strcmp(value, "yes") == 0 || strcmp(value, "no") == 0)
        return TL_OK;
    return wrong(config, target, key_names[key], "is yes or no", reterr);
}

static enum tl_status check_values(struct tl_ticket_config *config, struct ticket_target *target,
                                   struct tl_error *reterr)
{
    char *url = target->values[KEY_URL];
    size_t len = strlen(url);
    bool given =
        len > 0; /* nothing but slashes is an address that is wrong, not one that is none */
    while (len && url[len - 1] == '/')
        url[--len] = '\0';
    if (given && ((strncmp(url, "https://", 8) != 0 && strncmp(url, "http://", 7) != 0) ||
                  strchr(url, '@') || strpbrk(url, " \t?#")))
        return wrong(
            config, target, "url",
            "is no address like https://helpdesk.example.net/rt (without name and password)",
            reterr);
    const char *transport = target->values[KEY_TRANSPORT];
    if (*transport && strcmp(transport, "udp") != 0 && strcmp(transport, "tcp") != 0)
        return wrong(config, target, "transport", "is udp or tcp", reterr);
    enum tl_status status = check_yes(config, target, KEY_ALLOW_HTTP, reterr);
    if (status == TL_OK)
        status = check_yes(config, target, KEY_UNMASK, reterr);
    target->allow_http = strcmp(target->values[KEY_ALLOW_HTTP], "yes") == 0;
    place_file(config, target->values[KEY_TOKEN_FILE]);
    place_file(config, target->values[KEY_APP_TOKEN_FILE]);
    place_file(config, target->values[KEY_CA_FILE]);
    place_file(config, target->values[KEY_FILE]);
    return status;
}

/* With those that there are. */
static enum tl_status no_system(const struct tl_ticket_config *config, const char *kind,
                                const struct ticket_target *target, const char *known,
                                struct tl_error *reterr)
{
    const char *given = target->values[KEY_SYSTEM];
    return tl_error_set(reterr, TL_SYNTAX, "%.200s, [%s %s] %s%.40s; there are %s", config->path,
                        kind, target->name, *given ? "there is no system " : "system is missing",
                        given, known);
}

static enum tl_status no_ticket_system(const struct tl_ticket_config *config,
                                       const struct ticket_target *target, struct tl_error *reterr)
{
    struct tl_buf known = TL_BUF_INIT;
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
        tl_buf_addf(&known, "%s%s", i ? ", " : "", systems[i]->name);
    enum tl_status status = no_system(config, "ticket", target, tl_buf_text(&known), reterr);
    tl_buf_finish(&known);
    return status;
}

static enum tl_status check_target(struct tl_ticket_config *config, struct ticket_target *target,
                                   struct tl_error *reterr)
{
    target->system = find_system(target->values[KEY_SYSTEM]);
    if (!target->system)
        return no_ticket_system(config, target, reterr);
    enum tl_status status =
        check_keys(config, target, target->system->needs, target->system->takes, reterr);
    return status == TL_OK ? check_values(config, target, reterr) : status;
}

static enum tl_status check_sink(struct tl_ticket_config *config, struct ticket_target *target,
                                 struct tl_error *reterr)
{
    target->sink = telemetry_sink_find(target->values[KEY_SYSTEM]);
    if (!target->sink)
        return no_system(config, "telemetry", target, "otlp, prometheus, syslog, journald", reterr);
    enum tl_status status =
        check_keys(config, target, target->sink->needs, target->sink->takes | KEY(UNMASK), reterr);
    return status == TL_OK ? check_values(config, target, reterr) : status;
}

static enum tl_status check_list(const struct tl_ticket_config *config,
                                 const struct ticket_target *list, struct tl_error *reterr)
{
    if (list->values[KEY_SYSTEM][0])
        return wrong(config, list, "system", "is no key of a list; far_ends = HOST,HOST is",
                     reterr);
    return check_keys(config, list, KEY(FAR_ENDS), 0, reterr);
}

/* --- Loading --- */

static enum tl_status default_path(char ret_path[PATH_MAX], struct tl_error *reterr)
{
    const char *given = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    bool usable = given && given[0] == '/';
    if (!usable && !(home && home[0] == '/'))
        return tl_error_set(reterr, TL_UNKNOWN,
                            "no place for tightlink.conf: neither XDG_CONFIG_HOME nor HOME is set");
    int n = snprintf(ret_path, PATH_MAX, "%s%s/tightlink/tightlink.conf", usable ? given : home,
                     usable ? "" : "/.config");
    return n > 0 && n < PATH_MAX ? TL_OK : tl_error_set(reterr, TL_LIMIT, "the path is too long");
}

static enum tl_status read_file(struct tl_ticket_config *config, struct tl_error *reterr)
{
    struct reader reader = {.config = config};
    struct stat info;
    int fd = open(config->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!file) {
        int errnum = errno;
        if (fd >= 0)
            close(fd);
        return errnum == ENOENT ? TL_OK
                                : tl_error_set(reterr, tl_status_from_errno(errnum), "%.300s: %s",
                                               config->path, strerror(errnum));
    }
    int line = 0;
    if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode)) /* a pipe, or a device without end */
        reader.status =
            tl_error_set(&reader.error, TL_DENIED, "%.300s is no regular file", config->path);
    else if (info.st_size > FILE_MAX)
        reader.status = tl_error_set(&reader.error, TL_LIMIT, "%.300s is too long", config->path);
    else
        line = ini_parse_file(file, take, &reader);
    fclose(file);
    if (reader.status == TL_OK && line)
        reader.status =
            tl_error_set(&reader.error, TL_SYNTAX,
                         "%.300s line %d is neither [SECTION] nor key = value", config->path, line);
    if (reader.status != TL_OK)
        return tl_error_set(reterr, reader.status, "%s", reader.error.text);
    return TL_OK;
}

enum tl_status tl_ticket_config_load(const char *path, struct tl_ticket_config **ret_config,
                                     struct tl_error *reterr)
{
    struct tl_ticket_config *config = calloc(1, sizeof *config);
    if (!config)
        return tl_error_set(reterr, TL_NOMEM, "no memory for the configuration");
    enum tl_status status = TL_OK;
    if (!path)
        status = default_path(config->path, reterr);
    else if (strlen(path) < sizeof config->path)
        snprintf(config->path, sizeof config->path, "%s", path);
    else
        status = tl_error_set(reterr, TL_LIMIT, "the path is too long");
    if (status == TL_OK)
        status = read_file(config, reterr);
    for (size_t i = 0; i < config->count && status == TL_OK; i++)
        status = check_target(config, &config->targets[i], reterr);
    for (size_t i = 0; i < config->sink_count && status == TL_OK; i++)
        status = check_sink(config, &config->sinks[i], reterr);
    for (size_t i = 0; i < config->list_count && status == TL_OK; i++)
        status = check_list(config, &config->lists[i], reterr);
    if (status == TL_OK)
        *ret_config = config;
    else
        tl_ticket_config_destroy(config);
    return status;
}

void tl_ticket_config_destroy(struct tl_ticket_config *config)
{
    free(config);
}

const char *tl_ticket_config_path(const struct tl_ticket_config *config)
{
    return config->path;
}

size_t tl_ticket_target_count(const struct tl_ticket_config *config)
{
    return config->count;
}

struct tl_ticket_target_info tl_ticket_target_at(const struct tl_ticket_config *config,
                                                 size_t index)
{
    const struct ticket_target *target = &config->targets[index];
    return (struct tl_ticket_target_info){target->name, target->system->name,
                                          target->values[KEY_URL]};
}

size_t tl_telemetry_sink_count(const struct tl_ticket_config *config)
{
    return config->sink_count;
}

struct tl_ticket_target_info tl_telemetry_sink_at(const struct tl_ticket_config *config,
                                                  size_t index)
{
    const struct ticket_target *sink = &config->sinks[index];
    enum ticket_key where = sink->values[KEY_URL][0]    ? KEY_URL
                            : sink->values[KEY_FILE][0] ? KEY_FILE
                                                        : KEY_ADDRESS;
    return (struct tl_ticket_target_info){sink->name, sink->sink->name, sink->values[where]};
}

size_t tl_compare_list_count(const struct tl_ticket_config *config)
{
    return config->list_count;
}

const char *tl_compare_list_find(const struct tl_ticket_config *config, const char *name)
{
    for (size_t i = 0; i < config->list_count; i++)
        if (strcmp(config->lists[i].name, name) == 0)
            return config->lists[i].values[KEY_FAR_ENDS];
    return NULL;
}

const struct ticket_target *ticket_config_find(const struct tl_ticket_config *config,
                                               const char *name, struct tl_error *reterr)
{
    struct tl_buf known = TL_BUF_INIT;
    for (size_t i = 0; i < config->count; i++) {
        if (strcmp(config->targets[i].name, name) == 0) {
            tl_buf_finish(&known);
            return &config->targets[i];
        }
        tl_buf_addf(&known, "%s%s", i ? ", " : "; there are ", config->targets[i].name);
    }
    (void)tl_error_set(reterr, TL_UNKNOWN, "%.200s has no [ticket %.60s]%s", config->path, name,
                       config->count ? tl_buf_text(&known) : ": doc/tickets.md has examples");
    tl_buf_finish(&known);
    return NULL;
}

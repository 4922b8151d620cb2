/* The closed list of settings, and reading and writing one of them below /proc/sys. */
#include "setting.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "route.h"

/* A socket's buffer, in bytes: a 32nd of the memory, so that a few connections that fill theirs do
 * not fill it. */
#define BUFFER(name, numbers, high)                                                                \
    {                                                                                              \
        name, numbers, 4096, high, true, .unit_bytes = 1, .part = 32                               \
    }

/* On or off, and the few that are a choice: they take no memory. */
#define CHOICE(name, numbers, low, high)                                                           \
    {                                                                                              \
        name, numbers, low, high, false, .part = 0                                                 \
    }

/* Bounds: what the kernel takes (Documentation/networking/ip-sysctl.rst and
 * Documentation/admin-guide/sysctl/net.rst), less what no remedy needs. Switches can only be
 * switched on, limits only raised; what they may take of this machine's memory, and how far above
 * what is set now they may come, has a limit each: a rule or a file that is wrong or hostile makes
 * nothing worse than a little more memory. */
#define BUFFER_MAX (1LL << 30)
static const struct tl_setting_def settings[] = {
    BUFFER("net.ipv4.tcp_rmem", 3, BUFFER_MAX),
    BUFFER("net.ipv4.tcp_wmem", 3, BUFFER_MAX),
    BUFFER("net.core.rmem_max", 1, BUFFER_MAX),
    BUFFER("net.core.wmem_max", 1, BUFFER_MAX),
    BUFFER("net.core.rmem_default", 1, 64LL << 20),
    BUFFER("net.core.wmem_default", 1, 64LL << 20),
    /* In pages; the kernel's own start is a tenth of the memory (tcp_init_mem()). */
    {"net.ipv4.tcp_mem", 3, 1, 1LL << 31, true, .unit_bytes = 4096, .part = 4, .times = 2},
    /* Packets, for each processor; one of 1,500 bytes takes 2,304 with its skb. */
    {"net.core.netdev_max_backlog", 1, 1, 1000000, true, .unit_bytes = 2304, .part = 8, .times = 4,
     .free = 4000},
    {"net.core.netdev_budget", 1, 1, 100000, true, .times = 2, .free = 600},
    {"net.core.netdev_budget_usecs", 1, 1, 1000000, true, .times = 2, .free = 16000},
    {"net.ipv4.tcp_max_reordering", 1, 3, 100000, true, .times = 4, .free = 1000},
    /* An entry takes some 320 bytes (struct nf_conn and its extensions). */
    {"net.netfilter.nf_conntrack_max", 1, 1024, 1LL << 24, true, .unit_bytes = 320, .part = 8,
     .times = 2},
    CHOICE("net.ipv4.tcp_window_scaling", 1, 1, 1),
    CHOICE("net.ipv4.tcp_sack", 1, 1, 1),
    CHOICE("net.ipv4.tcp_moderate_rcvbuf", 1, 1, 1),
    CHOICE("net.ipv4.tcp_recovery", 1, 1, 1),
    CHOICE("net.ipv4.tcp_mtu_probing", 1, 1, 2),
    CHOICE("net.ipv4.tcp_slow_start_after_idle", 1, 0, 0),
    CHOICE("net.ipv4.tcp_congestion_control", 0, 0, 0),
    CHOICE(TL_SETTING_ROUTE, 0, 0, 0),
};

const struct tl_setting_def *tl_setting_find(const char *key, size_t len)
{
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (strlen(settings[i].key) == len && strncmp(settings[i].key, key, len) == 0)
            return &settings[i];
    return NULL;
}

static bool is_route(const char *key)
{
    return strcmp(key, TL_SETTING_ROUTE) == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

static enum tl_status normalise_word(const char *text, size_t len, bool bounds,
                                     char ret_value[TL_FIX_VALUE_SIZE], struct tl_error *reterr)
{
    while (len && is_blank(text[len - 1]))
        len--;
    bool plain = len > 0 && len < 16;
    for (size_t i = 0; i < len && plain; i++)
        plain = (text[i] >= 'a' && text[i] <= 'z') || text[i] == '_' || text[i] == '-' ||
                (text[i] >= '0' && text[i] <= '9');
    if (!plain || (bounds && !tl_route_knows_congestion(text, len)))
        return tl_error_set(reterr, TL_RANGE, "no congestion control that is known here");
    memcpy(ret_value, text, len);
    ret_value[len] = '\0';
    return TL_OK;
}

/* One whole number at *text; false where there is none. */
static bool take_number(const char **text, const char *end, long long *ret_number)
{
    const char *at = *text;
    long long number = 0;
    while (at < end && *at >= '0' && *at <= '9' && number < (1LL << 50))
        number = number * 10 + (*at++ - '0');
    if (at == *text || (at < end && !is_blank(*at)))
        return false;
    while (at < end && is_blank(*at))
        at++;
    *text = at;
    *ret_number = number;
    return true;
}

enum tl_status tl_setting_normalise(const struct tl_setting_def *def, const char *text, size_t len,
                                    bool bounds, char ret_value[TL_FIX_VALUE_SIZE],
                                    struct tl_error *reterr)
{
    char value[TL_FIX_VALUE_SIZE] = "";
    const char *end = text + len;
    long long last = 0;
    size_t used = 0;
    if (is_route(def->key))
        return tl_route_normalise(text, len, bounds, ret_value, reterr);
    if (def->numbers == 0)
        return normalise_word(text, len, bounds, ret_value, reterr);
    for (unsigned i = 0; i < def->numbers; i++) {
        long long number;
        if (!take_number(&text, end, &number))
            return tl_error_set(reterr, TL_RANGE, "%s takes %u whole numbers", def->key,
                                def->numbers);
        if (bounds && (number < def->low || number > def->high || number < last))
            return tl_error_set(reterr, TL_RANGE, "%s: %lld is out of the bounds kept here",
                                def->key, number);
        last = number;
        used += (size_t)snprintf(value + used, sizeof value - used, "%s%lld", i ? " " : "", number);
    }
    if (text != end)
        return tl_error_set(reterr, TL_RANGE, "%s takes %u whole numbers", def->key, def->numbers);
    memcpy(ret_value, value, sizeof value);
    return TL_OK;
}

bool tl_setting_lowers(const struct tl_setting_def *def, const char *before, const char *after)
{
    const char *before_end = before + strlen(before), *after_end = after + strlen(after);
    for (unsigned i = 0; i < def->numbers; i++) {
        long long was, will;
        if (!take_number(&before, before_end, &was) || !take_number(&after, after_end, &will) ||
            will < was)
            return true;
    }
    return false;
}

static bool is_buffer(const struct tl_setting_def *def)
{
    return def->numbers == 3 && def->high == BUFFER_MAX;
}

void tl_setting_keep_start(const struct tl_setting_def *def, const char *before,
                           char after[TL_FIX_VALUE_SIZE])
{
    const char *last_before = strrchr(before, ' '), *last_after = strrchr(after, ' ');
    char value[TL_FIX_VALUE_SIZE];
    if (!is_buffer(def) || !last_before || !last_after)
        return;
    int len =
        snprintf(value, sizeof value, "%.*s%s", (int)(last_before - before), before, last_after);
    if (len > 0 && (size_t)len < sizeof value)
        memcpy(after, value, sizeof value);
}

bool tl_setting_exceeds_memory(const struct tl_setting_def *def, const char *after,
                               long long memory_bytes)
{
    const char *last = strrchr(after, ' ');
    if (def->part == 0 || memory_bytes <= 0)
        return false;
    return atoll(last ? last + 1 : after) > memory_bytes / def->part / def->unit_bytes;
}

bool tl_setting_leaps(const struct tl_setting_def *def, const char *before, const char *after)
{
    const char *before_end = before + strlen(before), *after_end = after + strlen(after);
    for (unsigned i = 0; def->times > 0 && i < def->numbers; i++) {
        long long was, will;
        if (!take_number(&before, before_end, &was) || !take_number(&after, after_end, &will) ||
            (will > def->free && will > was * def->times))
            return true;
    }
    return false;
}

/* Keys come from the list alone, so this path cannot leave the root. */
static void path_of(const char *root, const char *key, char ret_path[TL_FIX_PATH_SIZE])
{
    int n = snprintf(ret_path, TL_FIX_PATH_SIZE, "%s/%s", root, key);
    for (int i = (int)strlen(root) + 1; i < n && i < TL_FIX_PATH_SIZE; i++)
        if (ret_path[i] == '.')
            ret_path[i] = '/';
}

enum tl_status tl_setting_get(const char *root, const char *key, const char *like,
                              char ret_value[TL_FIX_VALUE_SIZE], struct tl_error *reterr)
{
    if (is_route(key))
        return tl_route_get(like, ret_value, reterr);
    char path[TL_FIX_PATH_SIZE], text[256];
    path_of(root, key, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);
    int errnum = errno;
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return tl_error_set(reterr, tl_status_from_errno(errnum), "%s cannot be read: %s", key,
                            strerror(errnum));
    return tl_setting_normalise(tl_setting_find(key, strlen(key)), text, (size_t)n, false,
                                ret_value, reterr);
}

enum tl_status tl_setting_set(const char *root, const char *key, const char *value,
                              struct tl_error *reterr)
{
    if (is_route(key))
        return tl_route_set(value, reterr);
    char path[TL_FIX_PATH_SIZE];
    path_of(root, key, path);
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);
    /* One write: the kernel takes a value whole or not at all. */
    ssize_t n = fd < 0 ? -1 : write(fd, value, strlen(value));
    int errnum = errno;
    if (fd >= 0)
        close(fd);
    if (n != (ssize_t)strlen(value))
        return tl_error_set(reterr, tl_status_from_errno(errnum), "%s does not take \"%s\": %s",
                            key, value, n < 0 ? strerror(errnum) : "not all of it was written");
    return TL_OK;
}

/* Reads a lab's specification text: KEY=VALUE pairs, see tl_lab_config_parse.
 * One function a kind of value, one table row a key. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/units.h"
#include "tightlink/lab/config.h"

/* Longest pair. The longest sensible one is an outage with fractions. */
#define PAIR_SIZE 128

typedef enum tl_status value_reader(const char *text, void *ret_value, struct tl_error *reterr);

static bool is_zero(const char *text)
{
    return strcmp(text, "0") == 0;
}

static enum tl_status read_rate(const char *text, void *ret_value, struct tl_error *reterr)
{
    double bps = 0;
    enum tl_status status = is_zero(text) ? TL_OK : tl_parse_bps(text, &bps, reterr);
    if (status == TL_OK)
        *(double *)ret_value = bps;
    return status;
}

static enum tl_status read_span(const char *text, void *ret_value, struct tl_error *reterr)
{
    int64_t ns = 0;
    enum tl_status status = is_zero(text) ? TL_OK : tl_parse_ns(text, &ns, reterr);
    if (status == TL_OK)
        *(int64_t *)ret_value = ns;
    return status;
}

static enum tl_status read_size(const char *text, void *ret_value, struct tl_error *reterr)
{
    int64_t bytes = 0;
    enum tl_status status = is_zero(text) ? TL_OK : tl_parse_bytes(text, &bytes, reterr);
    if (status == TL_OK)
        *(int64_t *)ret_value = bytes;
    return status;
}

static enum tl_status read_length(const char *text, void *ret_value, struct tl_error *reterr)
{
    int64_t bytes = 0;
    enum tl_status status = read_size(text, &bytes, reterr);
    if (status != TL_OK)
        return status;
    if (bytes > 65535)
        return tl_error_set(reterr, TL_RANGE, "\"%s\" is longer than any IP packet", text);
    *(int32_t *)ret_value = (int32_t)bytes;
    return TL_OK;
}

static enum tl_status read_ratio(const char *text, void *ret_value, struct tl_error *reterr)
{
    char *end;
    errno = 0;
    double ratio = strtod(text, &end);
    if (end == text || errno != 0 || !isfinite(ratio))
        return tl_error_set(reterr, TL_SYNTAX, "\"%s\" is no share such as 0.001 or 0.1%%", text);
    if (strcmp(end, "%") == 0) {
        ratio /= 100;
        end++;
    }
    if (*end != '\0')
        return tl_error_set(reterr, TL_SYNTAX, "\"%s\" is no share such as 0.001 or 0.1%%", text);
    if (ratio < 0 || ratio > 1)
        return tl_error_set(reterr, TL_RANGE, "\"%s\" is not between 0 and 1", text);
    *(double *)ret_value = ratio;
    return TL_OK;
}

static enum tl_status read_switch(const char *text, void *ret_value, struct tl_error *reterr)
{
    bool on = strcmp(text, "on") == 0 || strcmp(text, "1") == 0;
    if (!on && strcmp(text, "off") != 0 && strcmp(text, "0") != 0)
        return tl_error_set(reterr, TL_SYNTAX, "\"%s\" is neither on nor off", text);
    *(bool *)ret_value = on;
    return TL_OK;
}

static enum tl_status read_icmp(const char *text, void *ret_value, struct tl_error *reterr)
{
    bool on = false;
    enum tl_status status = read_switch(text, &on, reterr);
    if (status == TL_OK)
        *(bool *)ret_value = !on;
    return status;
}

static enum tl_status read_seed(const char *text, void *ret_value, struct tl_error *reterr)
{
    char *end;
    errno = 0;
    unsigned long long seed = strtoull(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || *text == '-')
        return tl_error_set(reterr, TL_SYNTAX, "\"%s\" is no whole number", text);
    *(uint64_t *)ret_value = seed;
    return TL_OK;
}

static enum tl_status read_cc(const char *text, void *ret_value, struct tl_error *reterr)
{
    if (strlen(text) >= TL_LAB_CC_SIZE)
        return tl_error_set(reterr, TL_RANGE, "\"%s\" is no name of a congestion control", text);
    memcpy(ret_value, text, strlen(text) + 1);
    return TL_OK;
}

static enum tl_status read_family(const char *text, void *ret_value, struct tl_error *reterr)
{
    static const struct {
        const char *name;
        enum tl_lab_family family;
    } names[] = {{"4", TL_LAB_IPV4}, {"6", TL_LAB_IPV6}, {"both", TL_LAB_BOTH}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i].name) == 0) {
            *(enum tl_lab_family *)ret_value = names[i].family;
            return TL_OK;
        }
    return tl_error_set(reterr, TL_SYNTAX, "\"%s\" is neither 4, 6 nor both", text);
}

static enum tl_status read_carrier(const char *text, void *ret_value, struct tl_error *reterr)
{
    static const char *const names[] = {[TL_LAB_CARRIER_AUTO] = "auto",
                                        [TL_LAB_CARRIER_TUN] = "tun",
                                        [TL_LAB_CARRIER_PACKET] = "packet"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0) {
            *(enum tl_lab_carrier *)ret_value = (enum tl_lab_carrier)i;
            return TL_OK;
        }
    return tl_error_set(reterr, TL_SYNTAX, "\"%s\" is neither auto, tun nor packet", text);
}

/* Cuts "first/second" (or another separator) in two; false when it has only one part. */
static bool cut(const char *text, char separator, char ret_first[PAIR_SIZE],
                const char **ret_second)
{
    const char *at = strchr(text, separator);
    if (!at || at == text || at[1] == '\0')
        return false;
    snprintf(ret_first, PAIR_SIZE, "%.*s", (int)(at - text), text);
    *ret_second = at + 1;
    return true;
}

/* Reads "first/second" with a reader for each; nothing is stored unless both are good. */
static enum tl_status read_two(const char *text, const char *shape, value_reader *first_reader,
                               void *ret_first, value_reader *second_reader, void *ret_second,
                               struct tl_error *reterr)
{
    char first[PAIR_SIZE];
    const char *second;
    if (!cut(text, '/', first, &second))
        return tl_error_set(reterr, TL_SYNTAX, "\"%s\" must be %s", text, shape);
    enum tl_status status = first_reader(first, ret_first, reterr);
    return status == TL_OK ? second_reader(second, ret_second, reterr) : status;
}

static enum tl_status read_policer(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_link_config *link = ret_value;
    return read_two(text, "RATE/BURST, such as 40M/150kB", read_rate, &link->policer_bps, read_size,
                    &link->policer_burst_bytes, reterr);
}

static enum tl_status read_shaper(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_link_config *link = ret_value;
    return read_two(text, "RATE/BURST, such as 30M/5MB", read_rate, &link->shaper_bps, read_size,
                    &link->shaper_burst_bytes, reterr);
}

static enum tl_status read_burst_loss(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_link_config *link = ret_value;
    return read_two(text, "ENTER/LEAVE, such as 0.01%/30%", read_ratio, &link->burst_enter_ratio,
                    read_ratio, &link->burst_leave_ratio, reterr);
}

static enum tl_status read_reorder(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_link_config *link = ret_value;
    return read_two(text, "RATIO/EXTRA-DELAY, such as 3%/5ms", read_ratio, &link->reorder_ratio,
                    read_span, &link->reorder_extra_ns, reterr);
}

static enum tl_status read_outage(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_link_config *link = ret_value;
    char from[PAIR_SIZE];
    const char *to;
    struct tl_lab_window window;
    if (!cut(text, '-', from, &to))
        return tl_error_set(reterr, TL_SYNTAX, "\"%s\" must be FROM-TO, such as 6s-9s", text);
    if (link->outage_count >= TL_LAB_OUTAGE_MAX)
        return tl_error_set(reterr, TL_RANGE, "at most %d outages", TL_LAB_OUTAGE_MAX);
    enum tl_status status = read_span(from, &window.from_ns, reterr);
    if (status == TL_OK)
        status = read_span(to, &window.to_ns, reterr);
    if (status == TL_OK)
        link->outage[link->outage_count++] = window;
    return status;
}

enum scope { SCOPE_LINK, SCOPE_HOST, SCOPE_LAB };

/* offset is that of the value's field in the structure of its scope. */
struct key {
    const char *name;
    enum scope scope;
    value_reader *read;
    size_t offset;
};

#define LINK(field) offsetof(struct tl_lab_link_config, field)
#define HOST(field) offsetof(struct tl_lab_host_config, field)
#define LAB(field)  offsetof(struct tl_lab_config, field)

static const struct key keys[] = {
    {"rate", SCOPE_LINK, read_rate, LINK(rate_bps)},
    {"delay", SCOPE_LINK, read_span, LINK(delay_ns)},
    {"jitter", SCOPE_LINK, read_span, LINK(jitter_ns)},
    {"queue", SCOPE_LINK, read_size, LINK(queue_bytes)},
    {"policer", SCOPE_LINK, read_policer, 0},
    {"shaper", SCOPE_LINK, read_shaper, 0},
    {"loss", SCOPE_LINK, read_ratio, LINK(loss_ratio)},
    {"burst-loss", SCOPE_LINK, read_burst_loss, 0},
    {"reorder", SCOPE_LINK, read_reorder, 0},
    {"duplicate", SCOPE_LINK, read_ratio, LINK(duplicate_ratio)},
    {"corrupt", SCOPE_LINK, read_ratio, LINK(corrupt_ratio)},
    {"maxlen", SCOPE_LINK, read_length, LINK(maxlen_bytes)},
    {"outage", SCOPE_LINK, read_outage, 0},
    {"seed", SCOPE_LINK, read_seed, LINK(seed)},
    {"rmem", SCOPE_HOST, read_size, HOST(rmem_max_bytes)},
    {"wmem", SCOPE_HOST, read_size, HOST(wmem_max_bytes)},
    {"wscale", SCOPE_HOST, read_switch, HOST(window_scaling)},
    {"sack", SCOPE_HOST, read_switch, HOST(sack)},
    {"cc", SCOPE_HOST, read_cc, HOST(cc)},
    {"mtu", SCOPE_HOST, read_length, HOST(mtu)},
    {"lan-mtu", SCOPE_HOST, read_length, HOST(lan_mtu)},
    {"cpu", SCOPE_HOST, read_ratio, HOST(cpu_ratio)},
    {"cpu-period", SCOPE_HOST, read_span, HOST(cpu_period_ns)},
    {"wan-mtu", SCOPE_LAB, read_length, LAB(wan_mtu)},
    {"icmp", SCOPE_LAB, read_icmp, LAB(icmp_off)},
    {"family", SCOPE_LAB, read_family, LAB(family)},
    {"plain", SCOPE_LAB, read_switch, LAB(plain)},
    {"carrier", SCOPE_LAB, read_carrier, LAB(carrier)},
};

static const struct {
    const char *name;
    enum scope scope;
    int index;
} prefixes[] = {
    {"up.", SCOPE_LINK, TL_LAB_UP},
    {"down.", SCOPE_LINK, TL_LAB_DOWN},
    {"near.", SCOPE_HOST, TL_LAB_NEAR},
    {"far.", SCOPE_HOST, TL_LAB_FAR},
};

static const struct key *find_key(const char *name)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

/* Stores one value in element `only` of its scope, or in both when only < 0. */
static enum tl_status store(const struct key *key, int only, const char *value,
                            struct tl_lab_config *config, struct tl_error *reterr)
{
    if (key->scope == SCOPE_LAB)
        return key->read(value, (char *)config + key->offset, reterr);
    for (int i = 0; i < 2; i++) {
        char *base = key->scope == SCOPE_LINK ? (char *)&config->link[i] : (char *)&config->host[i];
        if (only >= 0 && only != i)
            continue;
        enum tl_status status = key->read(value, base + key->offset, reterr);
        if (status != TL_OK)
            return status;
    }
    return TL_OK;
}

static enum tl_status parse_pair(const char *pair, struct tl_lab_config *config,
                                 struct tl_error *reterr)
{
    char full_name[PAIR_SIZE];
    const char *value;
    if (!cut(pair, '=', full_name, &value))
        return tl_error_set(reterr, TL_SYNTAX, "\"%s\" must be KEY=VALUE", pair);

    const char *name = full_name;
    int only = -1;
    enum scope scope = SCOPE_LAB;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t len = strlen(prefixes[i].name);
        if (strncmp(full_name, prefixes[i].name, len) == 0) {
            name = full_name + len;
            only = prefixes[i].index;
            scope = prefixes[i].scope;
        }
    }
    const struct key *key = find_key(name);
    if (!key)
        return tl_error_set(reterr, TL_UNKNOWN,
                            "\"%s\" is no key of a lab; links have rate, delay, queue, loss ..., "
                            "hosts rmem, wmem, cc ...",
                            full_name);
    if (only >= 0 && key->scope != scope)
        return tl_error_set(reterr, TL_UNKNOWN, "\"%s\": %s is set %s", full_name, name,
                            key->scope == SCOPE_LINK   ? "per direction (up., down.)"
                            : key->scope == SCOPE_HOST ? "per host (near., far.)"
                                                       : "for the whole lab");
    enum tl_status status = store(key, only, value, config, reterr);
    if (status != TL_OK)
        tl_error_prefix(reterr, "%s", full_name);
    return status;
}

enum tl_status tl_lab_config_parse(const char *spec, struct tl_lab_config *config,
                                   struct tl_error *reterr)
{
    static const char blanks[] = " \t\n";
    struct tl_lab_config work = *config;
    for (const char *p = spec + strspn(spec, blanks); *p; p += strspn(p, blanks)) {
        char pair[PAIR_SIZE];
        size_t len = strcspn(p, blanks);
        if (len >= sizeof pair)
            return tl_error_set(reterr, TL_RANGE, "\"%.40s...\" is too long for one setting", p);
        memcpy(pair, p, len);
        pair[len] = '\0';
        enum tl_status status = parse_pair(pair, &work, reterr);
        if (status != TL_OK)
            return status;
        p += len;
    }
    enum tl_status status = tl_lab_config_check(&work, reterr);
    if (status == TL_OK)
        *config = work;
    return status;
}

/* Reads a lab's specification text: KEY=VALUE pairs, see tl_lab_config_parse.
 * One table row a key; the readers of single values are in parse_value.c. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse_value.h"
#include "tightlink/lab/config.h"

/* Longest pair. The longest sensible one is an outage with fractions. */
#define PAIR_SIZE 128

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
static enum tl_status read_two(const char *text, const char *shape,
                               tl_lab_value_reader *first_reader, void *ret_first,
                               tl_lab_value_reader *second_reader, void *ret_second,
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
    return read_two(text, "RATE/BURST, such as 40M/150kB", tl_lab_read_rate, &link->policer_bps,
                    tl_lab_read_size, &link->policer_burst_bytes, reterr);
}

static enum tl_status read_shaper(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_link_config *link = ret_value;
    return read_two(text, "RATE/BURST, such as 30M/5MB", tl_lab_read_rate, &link->shaper_bps,
                    tl_lab_read_size, &link->shaper_burst_bytes, reterr);
}

static enum tl_status read_burst_loss(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_link_config *link = ret_value;
    return read_two(text, "ENTER/LEAVE, such as 0.01%/30%", tl_lab_read_ratio,
                    &link->burst_enter_ratio, tl_lab_read_ratio, &link->burst_leave_ratio, reterr);
}

static enum tl_status read_reorder(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_link_config *link = ret_value;
    return read_two(text, "RATIO/EXTRA-DELAY, such as 3%/5ms", tl_lab_read_ratio,
                    &link->reorder_ratio, tl_lab_read_span, &link->reorder_extra_ns, reterr);
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
    enum tl_status status = tl_lab_read_span(from, &window.from_ns, reterr);
    if (status == TL_OK)
        status = tl_lab_read_span(to, &window.to_ns, reterr);
    if (status == TL_OK)
        link->outage[link->outage_count++] = window;
    return status;
}

/* "5s:+30ms" */
static enum tl_status read_delay_step(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_link_config *link = ret_value;
    char at[PAIR_SIZE];
    const char *extra;
    struct tl_lab_delay_step step;
    if (!cut(text, ':', at, &extra) || (*extra != '+' && *extra != '-'))
        return tl_error_set(reterr, TL_SYNTAX, "\"%s\" must be TIME:+DELAY, such as 5s:+30ms",
                            text);
    if (link->delay_step_count >= TL_LAB_DELAY_STEP_MAX)
        return tl_error_set(reterr, TL_RANGE, "at most %d steps of the delay",
                            TL_LAB_DELAY_STEP_MAX);
    enum tl_status status = tl_lab_read_span(at, &step.at_ns, reterr);
    if (status == TL_OK)
        status = tl_lab_read_span(extra + 1, &step.extra_ns, reterr);
    if (status != TL_OK)
        return status;
    if (*extra == '-')
        step.extra_ns = -step.extra_ns;
    link->delay_step[link->delay_step_count++] = step;
    return TL_OK;
}

static enum tl_status read_flow_policer(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_link_config *link = ret_value;
    return read_two(text, "RATE/BURST, such as 20M/50kB", tl_lab_read_rate, &link->flow_policer_bps,
                    tl_lab_read_size, &link->flow_policer_burst_bytes, reterr);
}

static enum tl_status read_flow_shaper(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_link_config *link = ret_value;
    return read_two(text, "RATE/BURST, such as 20M/50kB", tl_lab_read_rate, &link->flow_shaper_bps,
                    tl_lab_read_size, &link->flow_shaper_burst_bytes, reterr);
}

static enum tl_status read_cross_burst(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_link_config *link = ret_value;
    return read_two(text, "ON/OFF, such as 300ms/200ms", tl_lab_read_span, &link->cross_on_ns,
                    tl_lab_read_span, &link->cross_off_ns, reterr);
}

/* "odd:5%", "even:5%" or "1/4:5%" */
static enum tl_status read_port_loss(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_link_config *link = ret_value;
    char class[PAIR_SIZE];
    const char *ratio;
    int32_t count = 0;
    enum tl_lab_member member = TL_LAB_MEMBER_HASH;
    if (!cut(text, ':', class, &ratio))
        return tl_error_set(reterr, TL_SYNTAX,
                            "\"%s\" must be MEMBER:RATIO, such as odd:5%% or 1/4:5%%", text);
    enum tl_status status = TL_OK;
    if (strcmp(class, "odd") == 0)
        member = TL_LAB_MEMBER_ODD;
    else if (strcmp(class, "even") == 0)
        member = TL_LAB_MEMBER_EVEN;
    else if (strncmp(class, "1/", 2) == 0)
        status = tl_lab_read_count(class + 2, &count, reterr);
    else
        return tl_error_set(reterr, TL_SYNTAX, "\"%s\" is neither odd, even nor such as 1/4",
                            class);
    if (status == TL_OK)
        status = tl_lab_read_ratio(ratio, &link->member_loss_ratio, reterr);
    if (status != TL_OK)
        return status;
    link->member = member;
    link->member_count = count;
    return TL_OK;
}

static enum tl_status read_strip(const char *text, void *ret_value, struct tl_error *reterr)
{
    static const struct {
        const char *name;
        uint32_t bit;
    } names[] = {{"wscale", TL_LAB_STRIP_WSCALE},
                 {"sack", TL_LAB_STRIP_SACK},
                 {"timestamps", TL_LAB_STRIP_TIMESTAMPS},
                 {"mss", TL_LAB_STRIP_MSS}};
    uint32_t strip = 0;
    for (const char *p = text; *p;) {
        size_t len = strcspn(p, ",");
        uint32_t bit = 0;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strlen(names[i].name) == len && strncmp(names[i].name, p, len) == 0)
                bit = names[i].bit;
        if (!bit)
            return tl_error_set(reterr, TL_SYNTAX,
                                "\"%s\" must name wscale, sack, timestamps or mss, with commas "
                                "between",
                                text);
        strip |= bit;
        p += len;
        p += *p == ',';
    }
    ((struct tl_lab_link_config *)ret_value)->strip = strip;
    return TL_OK;
}

static enum tl_status read_dscp(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_link_config *link = ret_value;
    enum tl_status status = tl_lab_read_count(text, &link->dscp, reterr);
    if (status == TL_OK)
        link->dscp_set = true;
    return status;
}

static enum tl_status read_icmp(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_config *config = ret_value;
    bool on = false;
    config->silent = strcmp(text, "silent") == 0;
    enum tl_status status = config->silent ? TL_OK : tl_lab_read_switch(text, &on, reterr);
    if (status != TL_OK)
        return tl_error_set(reterr, TL_SYNTAX, "\"%s\" is neither on, off nor silent", text);
    config->icmp_off = !on;
    return TL_OK;
}

static enum tl_status read_link_at(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_config *config = ret_value;
    int32_t number = 0;
    if (strcmp(text, "lan") == 0)
        number = 1;
    else if (strcmp(text, "wan") == 0)
        number = 2;
    else if (strcmp(text, "far-lan") != 0) {
        enum tl_status status = tl_lab_read_count(text, &number, reterr);
        if (status != TL_OK || number < 1 || number > TL_LAB_LINKS_MAX)
            return tl_error_set(reterr, TL_SYNTAX,
                                "\"%s\" is neither lan, wan, far-lan nor a number from 1 to %d",
                                text, TL_LAB_LINKS_MAX);
    }
    config->link_at = number ? number - 1 : TL_LAB_LINK_LAST;
    return TL_OK;
}

/* One part of a disk's setting: "read:RATE" or "write:RATE". */
static enum tl_status read_disk_rate(const char *part, struct tl_lab_host_config *host,
                                     struct tl_error *reterr)
{
    if (strncmp(part, "read:", 5) == 0)
        return tl_lab_read_rate(part + 5, &host->disk_read_bps, reterr);
    if (strncmp(part, "write:", 6) == 0)
        return tl_lab_read_rate(part + 6, &host->disk_write_bps, reterr);
    return tl_error_set(reterr, TL_SYNTAX,
                        "\"%s\" must be on, read:RATE or write:RATE, such as write:20MB/s", part);
}

static enum tl_status read_disk(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_host_config *host = ret_value;
    char part[PAIR_SIZE];
    enum tl_status status = TL_OK;
    host->disk = strcmp(text, "off") != 0;
    if (!host->disk || strcmp(text, "on") == 0)
        return TL_OK;
    while (text && status == TL_OK) {
        const char *comma = strchr(text, ',');
        int len = comma ? (int)(comma - text) : (int)strlen(text);
        snprintf(part, sizeof part, "%.*s", len, text);
        status = read_disk_rate(part, host, reterr);
        text = comma ? comma + 1 : NULL;
    }
    return status;
}

enum scope { SCOPE_LINK, SCOPE_HOST, SCOPE_LAB };

/* offset is that of the value's field in the structure of its scope. */
struct key {
    const char *name;
    enum scope scope;
    tl_lab_value_reader *read;
    size_t offset;
};

#define LINK(field) offsetof(struct tl_lab_link_config, field)
#define HOST(field) offsetof(struct tl_lab_host_config, field)
#define LAB(field)  offsetof(struct tl_lab_config, field)

static const struct key keys[] = {
    {"rate", SCOPE_LINK, tl_lab_read_rate, LINK(rate_bps)},
    {"delay", SCOPE_LINK, tl_lab_read_span, LINK(delay_ns)},
    {"jitter", SCOPE_LINK, tl_lab_read_span, LINK(jitter_ns)},
    {"queue", SCOPE_LINK, tl_lab_read_size, LINK(queue_bytes)},
    {"policer", SCOPE_LINK, read_policer, 0},
    {"shaper", SCOPE_LINK, read_shaper, 0},
    {"loss", SCOPE_LINK, tl_lab_read_ratio, LINK(loss_ratio)},
    {"burst-loss", SCOPE_LINK, read_burst_loss, 0},
    {"reorder", SCOPE_LINK, read_reorder, 0},
    {"duplicate", SCOPE_LINK, tl_lab_read_ratio, LINK(duplicate_ratio)},
    {"corrupt", SCOPE_LINK, tl_lab_read_ratio, LINK(corrupt_ratio)},
    {"maxlen", SCOPE_LINK, tl_lab_read_length, LINK(maxlen_bytes)},
    {"outage", SCOPE_LINK, read_outage, 0},
    {"delay-step", SCOPE_LINK, read_delay_step, 0},
    {"flow-policer", SCOPE_LINK, read_flow_policer, 0},
    {"flow-shaper", SCOPE_LINK, read_flow_shaper, 0},
    {"port-loss", SCOPE_LINK, read_port_loss, 0},
    {"cross", SCOPE_LINK, tl_lab_read_rate, LINK(cross_bps)},
    {"cross-burst", SCOPE_LINK, read_cross_burst, 0},
    {"cross-flows", SCOPE_LINK, tl_lab_read_count, LINK(cross_flows)},
    {"mss", SCOPE_LINK, tl_lab_read_length, LINK(mss_max_bytes)},
    {"strip", SCOPE_LINK, read_strip, 0},
    {"dscp", SCOPE_LINK, read_dscp, 0},
    {"collision", SCOPE_LINK, tl_lab_read_ratio, LINK(collision_ratio)},
    {"seed", SCOPE_LINK, tl_lab_read_seed, LINK(seed)},
    {"rmem", SCOPE_HOST, tl_lab_read_size, HOST(rmem_max_bytes)},
    {"wmem", SCOPE_HOST, tl_lab_read_size, HOST(wmem_max_bytes)},
    {"wscale", SCOPE_HOST, tl_lab_read_switch, HOST(window_scaling)},
    {"sack", SCOPE_HOST, tl_lab_read_switch, HOST(sack)},
    {"timestamps", SCOPE_HOST, tl_lab_read_switch, HOST(timestamps)},
    {"autotune", SCOPE_HOST, tl_lab_read_switch, HOST(autotune)},
    {"offloads", SCOPE_HOST, tl_lab_read_switch, HOST(offloads)},
    {"unprivileged", SCOPE_HOST, tl_lab_read_switch, HOST(unprivileged)},
    {"cc", SCOPE_HOST, tl_lab_read_cc, HOST(cc)},
    {"mtu", SCOPE_HOST, tl_lab_read_length, HOST(mtu)},
    {"lan-mtu", SCOPE_HOST, tl_lab_read_length, HOST(lan_mtu)},
    {"disk", SCOPE_HOST, read_disk, 0},
    {"cpu", SCOPE_HOST, tl_lab_read_ratio, HOST(cpu_ratio)},
    {"cpu-period", SCOPE_HOST, tl_lab_read_span, HOST(cpu_period_ns)},
    {"wan-mtu", SCOPE_LAB, tl_lab_read_length, LAB(wan_mtu)},
    {"icmp", SCOPE_LAB, read_icmp, 0},
    {"icmp-interval", SCOPE_LAB, tl_lab_read_span, LAB(icmp_interval_ns)},
    {"routers", SCOPE_LAB, tl_lab_read_count, LAB(routers)},
    {"link-at", SCOPE_LAB, read_link_at, 0},
    {"split", SCOPE_LAB, tl_lab_read_switch, LAB(split)},
    {"split-port", SCOPE_LAB, tl_lab_read_count, LAB(split_port)},
    {"family", SCOPE_LAB, tl_lab_read_family, LAB(family)},
    {"plain", SCOPE_LAB, tl_lab_read_switch, LAB(plain)},
    {"carrier", SCOPE_LAB, tl_lab_read_carrier, LAB(carrier)},
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

/* A pair's name taken apart: [LINK.][DIRECTION or HOST.]KEY */
struct name {
    const struct key *key;
    int link;         /* LINK_*, or an index of beside */
    enum scope scope; /* of the direction or host, LAB without one */
    int only;         /* direction or host, -1: both */
    const char *full; /* for messages */
};

#define LINK_MAIN (-1)
#define LINK_V6   (-2)

/* A link's prefix; false when there is none. A number is checked with the rest. */
static bool read_link_prefix(const char **name, const struct tl_lab_config *config, int *ret_link)
{
    const struct {
        const char *text;
        int link;
    } words[] = {{"v6.", LINK_V6}, {"lan.", 0}, {"wan.", 1}, {"far-lan.", config->routers}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t len = strlen(words[i].text);
        if (strncmp(*name, words[i].text, len) == 0) {
            *name += len;
            *ret_link = words[i].link;
            return true;
        }
    }
    if (strncmp(*name, "link", 4) == 0 && (*name)[4] >= '1' &&
        (*name)[4] <= '0' + TL_LAB_LINKS_MAX && (*name)[5] == '.') {
        *ret_link = (*name)[4] - '1';
        *name += 6;
        return true;
    }
    return false;
}

static enum tl_status read_name(const char *full, const struct tl_lab_config *config,
                                struct name *ret_name, struct tl_error *reterr)
{
    const char *name = full;
    struct name out = {.link = LINK_MAIN, .scope = SCOPE_LAB, .only = -1, .full = full};
    bool of_a_link = read_link_prefix(&name, config, &out.link);
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t len = strlen(prefixes[i].name);
        if (strncmp(name, prefixes[i].name, len) == 0) {
            name += len;
            out.only = prefixes[i].index;
            out.scope = prefixes[i].scope;
            break;
        }
    }
    out.key = find_key(name);
    if (!out.key)
        return tl_error_set(reterr, TL_UNKNOWN,
                            "\"%s\" is no key of a lab; links have rate, delay, queue, loss ..., "
                            "hosts rmem, wmem, cc ...",
                            full);
    if ((out.only >= 0 && out.key->scope != out.scope) ||
        (of_a_link && out.key->scope != SCOPE_LINK))
        return tl_error_set(reterr, TL_UNKNOWN, "\"%s\": %s is set %s", full, name,
                            out.key->scope == SCOPE_LINK   ? "per direction (up., down.)"
                            : out.key->scope == SCOPE_HOST ? "per host (near., far.)"
                                                           : "for the whole lab");
    *ret_name = out;
    return TL_OK;
}

/* Where the element of a name's scope lies, for each direction or host. */
static void *element(const struct name *name, struct tl_lab_config *config, int i)
{
    if (name->key->scope == SCOPE_HOST)
        return &config->host[i];
    return name->link == LINK_MAIN ? &config->link[i]
           : name->link == LINK_V6 ? &config->v6[i]
                                   : &config->beside[name->link][i];
}

static enum tl_status store(const struct name *name, const char *value,
                            struct tl_lab_config *config, struct tl_error *reterr)
{
    const struct key *key = name->key;
    if (key->scope == SCOPE_LAB)
        return key->read(value, (char *)config + key->offset, reterr);
    for (int i = 0; i < 2; i++) {
        if (name->only >= 0 && name->only != i)
            continue;
        enum tl_status status =
            key->read(value, (char *)element(name, config, i) + key->offset, reterr);
        if (status != TL_OK)
            return status;
    }
    return TL_OK;
}

/* What a link differs in can only be read once the main link is known: those
 * pairs are for a second pass. */
enum pass { PASS_MAIN, PASS_OTHER_LINKS };

static enum tl_status parse_pair(const char *pair, enum pass pass, struct tl_lab_config *config,
                                 struct tl_error *reterr)
{
    char full_name[PAIR_SIZE];
    const char *value;
    struct name name = {.link = LINK_MAIN};
    if (!cut(pair, '=', full_name, &value))
        return tl_error_set(reterr, TL_SYNTAX, "\"%s\" must be KEY=VALUE", pair);
    enum tl_status status = read_name(full_name, config, &name, reterr);
    if (status != TL_OK)
        return status;
    if ((pass == PASS_OTHER_LINKS) != (name.link != LINK_MAIN))
        return TL_OK;
    if (name.link == LINK_V6 && !config->v6_apart) {
        memcpy(config->v6, config->link, sizeof config->v6);
        config->v6_apart = true;
    }
    status = store(&name, value, config, reterr);
    if (status != TL_OK)
        tl_error_prefix(reterr, "%s", full_name);
    return status;
}

static enum tl_status parse_pairs(const char *spec, enum pass pass, struct tl_lab_config *config,
                                  struct tl_error *reterr)
{
    static const char blanks[] = " \t\n";
    for (const char *p = spec + strspn(spec, blanks); *p; p += strspn(p, blanks)) {
        char pair[PAIR_SIZE];
        size_t len = strcspn(p, blanks);
        if (len >= sizeof pair)
            return tl_error_set(reterr, TL_RANGE, "\"%.40s...\" is too long for one setting", p);
        memcpy(pair, p, len);
        pair[len] = '\0';
        enum tl_status status = parse_pair(pair, pass, config, reterr);
        if (status != TL_OK)
            return status;
        p += len;
    }
    return TL_OK;
}

enum tl_status tl_lab_config_parse(const char *spec, struct tl_lab_config *config,
                                   struct tl_error *reterr)
{
    struct tl_lab_config work = *config;
    enum tl_status status = parse_pairs(spec, PASS_MAIN, &work, reterr);
    if (status == TL_OK)
        status = parse_pairs(spec, PASS_OTHER_LINKS, &work, reterr);
    if (status == TL_OK)
        status = tl_lab_config_check(&work, reterr);
    if (status == TL_OK)
        *config = work;
    return status;
}

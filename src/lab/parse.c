/* Reads a lab's specification text: KEY=VALUE pairs, see tl_lab_config_parse.
 * One table row a key; the readers of values are in parse_value.c and parse_compound.c. */
#include <stddef.h>
#include <string.h>

#include "check.h"
#include "parse_value.h"
#include "tightlink/lab/config.h"

enum scope { SCOPE_LINK, SCOPE_HOST, SCOPE_LAB };

/* offset is that of the value's field in the structure of its scope. "first/second" has two. */
struct key {
    const char *name;
    enum scope scope;
    tl_lab_value_reader *read;
    size_t offset;
    const char *shape; /* NULL: one value */
    tl_lab_value_reader *read_second;
    size_t second_offset;
};

#define LINK(field) offsetof(struct tl_lab_link_config, field)
#define HOST(field) offsetof(struct tl_lab_host_config, field)
#define LAB(field)  offsetof(struct tl_lab_config, field)
#define ONE         NULL, NULL, 0

static const struct key keys[] = {
    {"rate", SCOPE_LINK, tl_lab_read_rate, LINK(rate_bps), ONE},
    {"delay", SCOPE_LINK, tl_lab_read_span, LINK(delay_ns), ONE},
    {"jitter", SCOPE_LINK, tl_lab_read_span, LINK(jitter_ns), ONE},
    {"scatter", SCOPE_LINK, tl_lab_read_span, LINK(scatter_ns), ONE},
    {"wander", SCOPE_LINK, tl_lab_read_span, LINK(wander_ns), "MOST/TIME, such as 3ms/30ms",
     tl_lab_read_span, LINK(wander_time_ns)},
    {"grants", SCOPE_LINK, tl_lab_read_grants, 0, ONE},
    {"trace", SCOPE_LINK, tl_lab_read_trace, 0, ONE},
    {"radio", SCOPE_LINK, tl_lab_read_radio, 0, ONE},
    {"fades", SCOPE_LINK, tl_lab_read_span, LINK(fade_every_ns), "EVERY/LENGTH, such as 12s/300ms",
     tl_lab_read_span, LINK(fade_length_ns)},
    {"handovers", SCOPE_LINK, tl_lab_read_span, LINK(handover_every_ns),
     "EVERY/LENGTH, such as 25s/120ms", tl_lab_read_span, LINK(handover_length_ns)},
    {"leo", SCOPE_LINK, tl_lab_read_leo, 0, ONE},
    {"wifi", SCOPE_LINK, tl_lab_read_wifi, 0, ONE},
    {"aqm", SCOPE_LINK, tl_lab_read_aqm, 0, ONE},
    {"queue", SCOPE_LINK, tl_lab_read_size, LINK(queue_bytes), ONE},
    {"policer", SCOPE_LINK, tl_lab_read_rate, LINK(policer_bps), "RATE/BURST, such as 40M/150kB",
     tl_lab_read_size, LINK(policer_burst_bytes)},
    {"shaper", SCOPE_LINK, tl_lab_read_rate, LINK(shaper_bps), "RATE/BURST, such as 30M/5MB",
     tl_lab_read_size, LINK(shaper_burst_bytes)},
    {"loss", SCOPE_LINK, tl_lab_read_ratio, LINK(loss_ratio), ONE},
    {"burst-loss", SCOPE_LINK, tl_lab_read_ratio, LINK(burst_enter_ratio),
     "ENTER/LEAVE, such as 0.01%/30%", tl_lab_read_ratio, LINK(burst_leave_ratio)},
    {"reorder", SCOPE_LINK, tl_lab_read_ratio, LINK(reorder_ratio),
     "RATIO/EXTRA-DELAY, such as 3%/5ms", tl_lab_read_span, LINK(reorder_extra_ns)},
    {"duplicate", SCOPE_LINK, tl_lab_read_ratio, LINK(duplicate_ratio), ONE},
    {"corrupt", SCOPE_LINK, tl_lab_read_ratio, LINK(corrupt_ratio), ONE},
    {"maxlen", SCOPE_LINK, tl_lab_read_length, LINK(maxlen_bytes), ONE},
    {"outage", SCOPE_LINK, tl_lab_read_outage, 0, ONE},
    {"dropout", SCOPE_LINK, tl_lab_read_span, LINK(dropout_every_ns),
     "EVERY/LENGTH, such as 8s/1.6s", tl_lab_read_span, LINK(dropout_length_ns)},
    {"delay-step", SCOPE_LINK, tl_lab_read_delay_step, 0, ONE},
    {"flow-policer", SCOPE_LINK, tl_lab_read_rate, LINK(flow_policer_bps),
     "RATE/BURST, such as 20M/50kB", tl_lab_read_size, LINK(flow_policer_burst_bytes)},
    {"flow-shaper", SCOPE_LINK, tl_lab_read_rate, LINK(flow_shaper_bps),
     "RATE/BURST, such as 20M/50kB", tl_lab_read_size, LINK(flow_shaper_burst_bytes)},
    {"port-loss", SCOPE_LINK, tl_lab_read_port_loss, 0, ONE},
    {"cross", SCOPE_LINK, tl_lab_read_rate, LINK(cross_bps), ONE},
    {"cross-burst", SCOPE_LINK, tl_lab_read_span, LINK(cross_on_ns), "ON/OFF, such as 300ms/200ms",
     tl_lab_read_span, LINK(cross_off_ns)},
    {"cross-flows", SCOPE_LINK, tl_lab_read_count, LINK(cross_flows), ONE},
    {"others", SCOPE_LINK, tl_lab_read_count, LINK(others), ONE},
    {"others-burst", SCOPE_LINK, tl_lab_read_span, LINK(others_on_ns), "ON/OFF, such as 2s/1s",
     tl_lab_read_span, LINK(others_off_ns)},
    {"mss", SCOPE_LINK, tl_lab_read_length, LINK(mss_max_bytes), ONE},
    {"clamp", SCOPE_LINK, tl_lab_read_length, LINK(clamp_bytes), ONE},
    {"strip", SCOPE_LINK, tl_lab_read_strip, 0, ONE},
    {"dscp", SCOPE_LINK, tl_lab_read_dscp, 0, ONE},
    {"collision", SCOPE_LINK, tl_lab_read_ratio, LINK(collision_ratio), ONE},
    {"half-duplex", SCOPE_LINK, tl_lab_read_switch, LINK(half_duplex), ONE},
    {"seed", SCOPE_LINK, tl_lab_read_seed, LINK(seed), ONE},
    {"rmem", SCOPE_HOST, tl_lab_read_size, HOST(rmem_max_bytes), ONE},
    {"wmem", SCOPE_HOST, tl_lab_read_size, HOST(wmem_max_bytes), ONE},
    {"wscale", SCOPE_HOST, tl_lab_read_switch, HOST(window_scaling), ONE},
    {"sack", SCOPE_HOST, tl_lab_read_switch, HOST(sack), ONE},
    {"timestamps", SCOPE_HOST, tl_lab_read_switch, HOST(timestamps), ONE},
    {"autotune", SCOPE_HOST, tl_lab_read_switch, HOST(autotune), ONE},
    {"offloads", SCOPE_HOST, tl_lab_read_switch, HOST(offloads), ONE},
    {"stock", SCOPE_HOST, tl_lab_read_stock, 0, ONE},
    {"ecn", SCOPE_HOST, tl_lab_read_switch, HOST(ecn), ONE},
    {"unprivileged", SCOPE_HOST, tl_lab_read_switch, HOST(unprivileged), ONE},
    {"cc", SCOPE_HOST, tl_lab_read_cc, HOST(cc), ONE},
    {"mtu", SCOPE_HOST, tl_lab_read_length, HOST(mtu), ONE},
    {"lan-mtu", SCOPE_HOST, tl_lab_read_length, HOST(lan_mtu), ONE},
    {"disk", SCOPE_HOST, tl_lab_read_disk, 0, ONE},
    {"cpu", SCOPE_HOST, tl_lab_read_ratio, HOST(cpu_ratio), ONE},
    {"cpu-period", SCOPE_HOST, tl_lab_read_span, HOST(cpu_period_ns), ONE},
    {"wan-mtu", SCOPE_LAB, tl_lab_read_length, LAB(wan_mtu), ONE},
    {"pppoe", SCOPE_LAB, tl_lab_read_pppoe, 0, ONE},
    {"icmp", SCOPE_LAB, tl_lab_read_icmp, 0, ONE},
    {"icmp-interval", SCOPE_LAB, tl_lab_read_span, LAB(icmp_interval_ns), ONE},
    {"routers", SCOPE_LAB, tl_lab_read_count, LAB(routers), ONE},
    {"link-at", SCOPE_LAB, tl_lab_read_link_at, 0, ONE},
    {"split", SCOPE_LAB, tl_lab_read_switch, LAB(split), ONE},
    {"split-port", SCOPE_LAB, tl_lab_read_count, LAB(split_port), ONE},
    {"family", SCOPE_LAB, tl_lab_read_family, LAB(family), ONE},
    {"plain", SCOPE_LAB, tl_lab_read_switch, LAB(plain), ONE},
    {"carrier", SCOPE_LAB, tl_lab_read_carrier, LAB(carrier), ONE},
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

static enum tl_status read_value(const struct key *key, const char *text, void *scope,
                                 struct tl_error *reterr)
{
    char *first = (char *)scope + key->offset, *second = (char *)scope + key->second_offset;
    return key->shape ? tl_lab_read_two(text, key->shape, key->read, first, key->read_second,
                                        second, reterr)
                      : key->read(text, first, reterr);
}

static enum tl_status store(const struct name *name, const char *value,
                            struct tl_lab_config *config, struct tl_error *reterr)
{
    const struct key *key = name->key;
    if (key->scope == SCOPE_LAB)
        return read_value(key, value, config, reterr);
    for (int i = 0; i < 2; i++) {
        if (name->only >= 0 && name->only != i)
            continue;
        enum tl_status status = read_value(key, value, element(name, config, i), reterr);
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
    char full_name[TL_LAB_PAIR_SIZE];
    const char *value;
    struct name name = {.link = LINK_MAIN};
    if (!tl_lab_cut(pair, '=', full_name, &value))
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
        char pair[TL_LAB_PAIR_SIZE];
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
        status = tl_lab_check_routers(&work, reterr);
    if (status == TL_OK)
        status = parse_pairs(spec, PASS_OTHER_LINKS, &work, reterr);
    if (status == TL_OK)
        status = tl_lab_config_check(&work, reterr);
    if (status == TL_OK)
        *config = work;
    return status;
}

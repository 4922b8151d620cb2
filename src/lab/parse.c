/* Reads a lab's specification text: KEY=VALUE pairs, see tl_lab_config_parse.
 * One table row a key; the readers of values are in parse_value.c and parse_compound.c. */
#include <stddef.h>
#include <string.h>

#include "parse_value.h"
#include "tightlink/lab/config.h"

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
    {"scatter", SCOPE_LINK, tl_lab_read_span, LINK(scatter_ns)},
    {"wander", SCOPE_LINK, tl_lab_read_wander, 0},
    {"grants", SCOPE_LINK, tl_lab_read_grants, 0},
    {"trace", SCOPE_LINK, tl_lab_read_trace, 0},
    {"radio", SCOPE_LINK, tl_lab_read_radio, 0},
    {"fades", SCOPE_LINK, tl_lab_read_fades, 0},
    {"handovers", SCOPE_LINK, tl_lab_read_handovers, 0},
    {"leo", SCOPE_LINK, tl_lab_read_leo, 0},
    {"wifi", SCOPE_LINK, tl_lab_read_wifi, 0},
    {"aqm", SCOPE_LINK, tl_lab_read_aqm, 0},
    {"queue", SCOPE_LINK, tl_lab_read_size, LINK(queue_bytes)},
    {"policer", SCOPE_LINK, tl_lab_read_policer, 0},
    {"shaper", SCOPE_LINK, tl_lab_read_shaper, 0},
    {"loss", SCOPE_LINK, tl_lab_read_ratio, LINK(loss_ratio)},
    {"burst-loss", SCOPE_LINK, tl_lab_read_burst_loss, 0},
    {"reorder", SCOPE_LINK, tl_lab_read_reorder, 0},
    {"duplicate", SCOPE_LINK, tl_lab_read_ratio, LINK(duplicate_ratio)},
    {"corrupt", SCOPE_LINK, tl_lab_read_ratio, LINK(corrupt_ratio)},
    {"maxlen", SCOPE_LINK, tl_lab_read_length, LINK(maxlen_bytes)},
    {"outage", SCOPE_LINK, tl_lab_read_outage, 0},
    {"dropout", SCOPE_LINK, tl_lab_read_dropout, 0},
    {"delay-step", SCOPE_LINK, tl_lab_read_delay_step, 0},
    {"flow-policer", SCOPE_LINK, tl_lab_read_flow_policer, 0},
    {"flow-shaper", SCOPE_LINK, tl_lab_read_flow_shaper, 0},
    {"port-loss", SCOPE_LINK, tl_lab_read_port_loss, 0},
    {"cross", SCOPE_LINK, tl_lab_read_rate, LINK(cross_bps)},
    {"cross-burst", SCOPE_LINK, tl_lab_read_cross_burst, 0},
    {"cross-flows", SCOPE_LINK, tl_lab_read_count, LINK(cross_flows)},
    {"others", SCOPE_LINK, tl_lab_read_count, LINK(others)},
    {"others-burst", SCOPE_LINK, tl_lab_read_others_burst, 0},
    {"mss", SCOPE_LINK, tl_lab_read_length, LINK(mss_max_bytes)},
    {"clamp", SCOPE_LINK, tl_lab_read_length, LINK(clamp_bytes)},
    {"strip", SCOPE_LINK, tl_lab_read_strip, 0},
    {"dscp", SCOPE_LINK, tl_lab_read_dscp, 0},
    {"collision", SCOPE_LINK, tl_lab_read_ratio, LINK(collision_ratio)},
    {"seed", SCOPE_LINK, tl_lab_read_seed, LINK(seed)},
    {"rmem", SCOPE_HOST, tl_lab_read_size, HOST(rmem_max_bytes)},
    {"wmem", SCOPE_HOST, tl_lab_read_size, HOST(wmem_max_bytes)},
    {"wscale", SCOPE_HOST, tl_lab_read_switch, HOST(window_scaling)},
    {"sack", SCOPE_HOST, tl_lab_read_switch, HOST(sack)},
    {"timestamps", SCOPE_HOST, tl_lab_read_switch, HOST(timestamps)},
    {"autotune", SCOPE_HOST, tl_lab_read_switch, HOST(autotune)},
    {"offloads", SCOPE_HOST, tl_lab_read_switch, HOST(offloads)},
    {"stock", SCOPE_HOST, tl_lab_read_stock, 0},
    {"ecn", SCOPE_HOST, tl_lab_read_switch, HOST(ecn)},
    {"unprivileged", SCOPE_HOST, tl_lab_read_switch, HOST(unprivileged)},
    {"cc", SCOPE_HOST, tl_lab_read_cc, HOST(cc)},
    {"mtu", SCOPE_HOST, tl_lab_read_length, HOST(mtu)},
    {"lan-mtu", SCOPE_HOST, tl_lab_read_length, HOST(lan_mtu)},
    {"disk", SCOPE_HOST, tl_lab_read_disk, 0},
    {"cpu", SCOPE_HOST, tl_lab_read_ratio, HOST(cpu_ratio)},
    {"cpu-period", SCOPE_HOST, tl_lab_read_span, HOST(cpu_period_ns)},
    {"wan-mtu", SCOPE_LAB, tl_lab_read_length, LAB(wan_mtu)},
    {"pppoe", SCOPE_LAB, tl_lab_read_pppoe, 0},
    {"icmp", SCOPE_LAB, tl_lab_read_icmp, 0},
    {"icmp-interval", SCOPE_LAB, tl_lab_read_span, LAB(icmp_interval_ns)},
    {"routers", SCOPE_LAB, tl_lab_read_count, LAB(routers)},
    {"link-at", SCOPE_LAB, tl_lab_read_link_at, 0},
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
        status = parse_pairs(spec, PASS_OTHER_LINKS, &work, reterr);
    if (status == TL_OK)
        status = tl_lab_config_check(&work, reterr);
    if (status == TL_OK)
        *config = work;
    return status;
}

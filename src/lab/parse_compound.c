/* Values of a lab's specification that have several parts, or fill several fields; see
 * parse_value.h. */
#include <stdio.h>
#include <string.h>

#include "parse_value.h"
#include "tightlink/base/time.h"
#include "tightlink/lab/config.h"

bool tl_lab_cut(const char *text, char separator, char ret_first[TL_LAB_PAIR_SIZE],
                const char **ret_second)
{
    const char *at = strchr(text, separator);
    if (!at || at == text || at[1] == '\0')
        return false;
    snprintf(ret_first, TL_LAB_PAIR_SIZE, "%.*s", (int)(at - text), text);
    *ret_second = at + 1;
    return true;
}

enum tl_status tl_lab_read_two(const char *text, const char *shape,
                               tl_lab_value_reader *first_reader, void *ret_first,
                               tl_lab_value_reader *second_reader, void *ret_second,
                               struct tl_error *reterr)
{
    char first[TL_LAB_PAIR_SIZE];
    const char *second;
    if (!tl_lab_cut(text, '/', first, &second))
        return tl_error_set(reterr, TL_SYNTAX, "\"%s\" must be %s", text, shape);
    enum tl_status status = first_reader(first, ret_first, reterr);
    return status == TL_OK ? second_reader(second, ret_second, reterr) : status;
}

enum tl_status tl_lab_read_outage(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_link_config *link = ret_value;
    char from[TL_LAB_PAIR_SIZE];
    const char *to;
    struct tl_lab_window window;
    if (!tl_lab_cut(text, '-', from, &to))
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

enum tl_status tl_lab_read_delay_step(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_link_config *link = ret_value;
    char at[TL_LAB_PAIR_SIZE];
    const char *extra;
    struct tl_lab_delay_step step;
    if (!tl_lab_cut(text, ':', at, &extra) || (*extra != '+' && *extra != '-'))
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

/* One time, or two with a hyphen between. */
enum tl_status tl_lab_read_grants(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_link_config *link = ret_value;
    char least[TL_LAB_PAIR_SIZE];
    const char *most;
    if (!tl_lab_cut(text, '-', least, &most)) {
        snprintf(least, sizeof least, "%s", text);
        most = text;
    }
    enum tl_status status = tl_lab_read_span(least, &link->grant_least_ns, reterr);
    return status == TL_OK ? tl_lab_read_span(most, &link->grant_most_ns, reterr) : status;
}

/* "LOW-HIGH" */
static enum tl_status read_rates(const char *text, struct tl_lab_link_config *link,
                                 struct tl_error *reterr)
{
    char low[TL_LAB_PAIR_SIZE];
    const char *high;
    if (!tl_lab_cut(text, '-', low, &high))
        return tl_error_set(reterr, TL_SYNTAX, "\"%s\" must be LOW-HIGH, such as 4M-40M", text);
    enum tl_status status = tl_lab_read_rate(low, &link->low_bps, reterr);
    return status == TL_OK ? tl_lab_read_rate(high, &link->high_bps, reterr) : status;
}

/* What a telephone in a moving car sees; fades= and handovers= behind it say otherwise. */
#define FADE_EVERY_NS      (12 * TL_NS_PER_S)
#define FADE_LENGTH_NS     (300 * TL_NS_PER_MS)
#define HANDOVER_EVERY_NS  (25 * TL_NS_PER_S)
#define HANDOVER_LENGTH_NS (120 * TL_NS_PER_MS)

enum tl_status tl_lab_read_radio(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_link_config *link = ret_value;
    link->service = TL_LAB_SERVICE_RADIO;
    link->fade_every_ns = FADE_EVERY_NS;
    link->fade_length_ns = FADE_LENGTH_NS;
    link->handover_every_ns = HANDOVER_EVERY_NS;
    link->handover_length_ns = HANDOVER_LENGTH_NS;
    return read_rates(text, link, reterr);
}

enum tl_status tl_lab_read_leo(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_link_config *link = ret_value;
    link->service = TL_LAB_SERVICE_LEO;
    return read_rates(text, link, reterr);
}

/* "200M/3/30%": rate on the air, other stations, failed attempts */
enum tl_status tl_lab_read_wifi(const char *text, void *ret_value, struct tl_error *reterr)
{
    static const char shape[] = "RATE/OTHER-STATIONS/FAILED, such as 200M/3/30%";
    struct tl_lab_link_config *link = ret_value;
    char air[TL_LAB_PAIR_SIZE];
    const char *rest;
    if (!tl_lab_cut(text, '/', air, &rest))
        return tl_error_set(reterr, TL_SYNTAX, "\"%s\" must be %s", text, shape);
    link->service = TL_LAB_SERVICE_WIFI;
    enum tl_status status = tl_lab_read_rate(air, &link->air_bps, reterr);
    return status == TL_OK ? tl_lab_read_two(rest, shape, tl_lab_read_count, &link->air_others,
                                             tl_lab_read_ratio, &link->air_fail_ratio, reterr)
                           : status;
}

enum tl_status tl_lab_read_aqm(const char *text, void *ret_value, struct tl_error *reterr)
{
    static const struct {
        const char *name;
        enum tl_lab_aqm aqm;
    } names[] = {{"off", TL_LAB_AQM_NONE},
                 {"codel", TL_LAB_AQM_CODEL},
                 {"fq-codel", TL_LAB_AQM_FQ_CODEL},
                 {"pie", TL_LAB_AQM_PIE},
                 {"red", TL_LAB_AQM_RED}};
    struct tl_lab_link_config *link = ret_value;
    size_t len = strcspn(text, ",");
    bool ecn = strcmp(text + len, ",ecn") == 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].name) == len && strncmp(names[i].name, text, len) == 0 &&
            (ecn || text[len] == '\0')) {
            link->aqm = names[i].aqm;
            link->aqm_ecn = ecn;
            return TL_OK;
        }
    return tl_error_set(reterr, TL_SYNTAX,
                        "\"%s\" is neither codel, fq-codel, pie, red nor off, with or without "
                        ",ecn",
                        text);
}

enum tl_status tl_lab_read_port_loss(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_link_config *link = ret_value;
    char class[TL_LAB_PAIR_SIZE];
    const char *ratio;
    int32_t count = 0;
    enum tl_lab_member member = TL_LAB_MEMBER_HASH;
    if (!tl_lab_cut(text, ':', class, &ratio))
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

enum tl_status tl_lab_read_strip(const char *text, void *ret_value, struct tl_error *reterr)
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

enum tl_status tl_lab_read_dscp(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_link_config *link = ret_value;
    enum tl_status status = tl_lab_read_count(text, &link->dscp, reterr);
    if (status == TL_OK)
        link->dscp_set = true;
    return status;
}

enum tl_status tl_lab_read_icmp(const char *text, void *ret_value, struct tl_error *reterr)
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

/* RFC 2516: six bytes of PPPoE and two of PPP in an Ethernet frame. */
#define PPPOE_MTU 1492

/* A line of many homes: what does not fit is told by nobody, so its router lowers the MSS. */
enum tl_status tl_lab_read_pppoe(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_config *config = ret_value;
    bool on;
    enum tl_status status = tl_lab_read_switch(text, &on, reterr);
    if (status != TL_OK || !on)
        return status;
    config->wan_mtu = PPPOE_MTU;
    config->silent = config->icmp_off = true;
    for (int d = 0; d < TL_LAB_DIRECTION_COUNT; d++)
        config->link[d].clamp_bytes = PPPOE_MTU;
    return TL_OK;
}

enum tl_status tl_lab_read_link_at(const char *text, void *ret_value, struct tl_error *reterr)
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

enum tl_status tl_lab_read_disk(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_host_config *host = ret_value;
    char part[TL_LAB_PAIR_SIZE];
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

/* The kernel's defaults, which most machines keep (tcp(7)). */
#define STOCK_RMEM_BYTES (INT64_C(6) << 20)
#define STOCK_WMEM_BYTES (INT64_C(4) << 20)

/* A smaller buffer is what the path is about: it stays, whether given before or behind. */
enum tl_status tl_lab_read_stock(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_host_config *host = ret_value;
    bool on;
    enum tl_status status = tl_lab_read_switch(text, &on, reterr);
    if (status != TL_OK || !on)
        return status;
    host->unprivileged = true;
    if (host->rmem_max_bytes > STOCK_RMEM_BYTES)
        host->rmem_max_bytes = STOCK_RMEM_BYTES;
    if (host->wmem_max_bytes > STOCK_WMEM_BYTES)
        host->wmem_max_bytes = STOCK_WMEM_BYTES;
    return TL_OK;
}

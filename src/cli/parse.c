/* Values of options; see parse.h. */
#include "parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tightlink/base/buf.h"
#include "tightlink/base/nearest.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "tightlink/session/session.h"

enum tl_status cli_parse_goal(const char *text, double *ret_bps, double *ret_rtt_ns,
                              struct tl_error *reterr)
{
    char rate[64];
    const char *at = strchr(text, '@');
    size_t len = at ? (size_t)(at - text) : strlen(text);
    double bps;
    int64_t rtt_ns = 0;
    if (len >= sizeof rate)
        return tl_error_set(reterr, TL_SYNTAX,
                            "\"%.40s...\" is not a rate; write for instance 900M", text);
    memcpy(rate, text, len);
    rate[len] = '\0';
    enum tl_status status = tl_parse_bps(rate, &bps, reterr);
    if (status == TL_OK && at && !at[1])
        status = tl_error_set(reterr, TL_SYNTAX,
                              "\"%s\" lacks the round-trip time behind @; write for instance "
                              "%s@80ms",
                              text, rate);
    else if (status == TL_OK && at)
        status = tl_parse_ns(at + 1, &rtt_ns, reterr);
    if (status != TL_OK)
        return status;
    *ret_bps = bps;
    if (at)
        *ret_rtt_ns = (double)rtt_ns;
    return TL_OK;
}

/* "1TB in 3h" */
static enum tl_status parse_volume(const char *text, const char *in, struct tl_run_goal *goal,
                                   struct tl_error *reterr)
{
    char amount[64];
    int64_t bytes, ns;
    size_t len = (size_t)(in - text);
    if (len >= sizeof amount)
        return tl_error_set(reterr, TL_SYNTAX, "\"%.40s...\" is not an amount of data", text);
    memcpy(amount, text, len);
    amount[len] = '\0';
    enum tl_status status = tl_parse_bytes(amount, &bytes, reterr);
    if (status == TL_OK)
        status = tl_parse_ns(in + strlen(" in "), &ns, reterr);
    if (status != TL_OK)
        return status;
    goal->bytes = (double)bytes;
    goal->time_ns = (double)ns;
    goal->bps = goal->bytes * 8e9 / goal->time_ns;
    if (goal->bps < 1 || goal->bps > 1e15)
        return tl_error_set(reterr, TL_RANGE, "\"%.60s\" is a rate out of range", text);
    return TL_OK;
}

/* "1e-7" or "0.01%" */
static enum tl_status parse_loss(const char *text, double *ret_ratio, struct tl_error *reterr)
{
    char *end = NULL;
    double ratio = isdigit((unsigned char)*text) || *text == '.' ? strtod(text, &end) : -1;
    if (end && *end == '%') {
        ratio /= 100;
        end++;
    }
    if (!end || *end || !(ratio > 0 && ratio < 1))
        return tl_error_set(reterr, TL_SYNTAX,
                            "\"%.40s\" is no share of loss; write for instance 1e-7 or 0.01%%",
                            text);
    *ret_ratio = ratio;
    return TL_OK;
}

/* One line of a service table, "loss<1e-7". */
static enum tl_status parse_line(const char *line, struct tl_run_goal *goal,
                                 struct tl_error *reterr)
{
    static const struct {
        const char *name;
        char direction;
    } kinds[] = {{"loss", '<'}, {"rtt", '<'}, {"mtu", '>'}, {"rate", '>'}};
    size_t len = strcspn(line, "<>"), kind = 0;
    while (kind < 4 &&
           (strlen(kinds[kind].name) != len || strncmp(line, kinds[kind].name, len) != 0))
        kind++;
    if (kind == 4 || line[len] != kinds[kind].direction)
        return tl_error_set(reterr, TL_SYNTAX,
                            "\"%.40s\" is no line of a goal; write loss<1e-7, rtt<100ms, "
                            "mtu>=9000 or rate>=900M, with commas between them",
                            line);
    const char *value = line + len + 1;
    value += *value == '=';
    int64_t whole = 0;
    enum tl_status status;
    switch (kind) {
    case 0:
        return parse_loss(value, &goal->loss_ratio, reterr);
    case 1:
        status = tl_parse_ns(value, &whole, reterr);
        goal->rtt_max_ns = (double)whole;
        return status;
    case 2:
        status = tl_parse_bytes(value, &whole, reterr);
        if (status == TL_OK && (whole < 68 || whole > 65535))
            status =
                tl_error_set(reterr, TL_RANGE, "\"%.40s\": an MTU has 68 to 65535 bytes", value);
        goal->mtu_bytes = (double)whole;
        return status;
    default:
        return tl_parse_bps(value, &goal->bps, reterr);
    }
}

static enum tl_status parse_table(const char *text, struct tl_run_goal *goal,
                                  struct tl_error *reterr)
{
    char line[64];
    for (;;) {
        while (*text == ' ')
            text++;
        size_t len = strcspn(text, ",");
        if (len >= sizeof line)
            return tl_error_set(reterr, TL_SYNTAX, "\"%.40s...\" is no line of a goal", text);
        memcpy(line, text, len);
        line[len] = '\0';
        enum tl_status status = parse_line(line, goal, reterr);
        if (status != TL_OK || !text[len])
            return status;
        text += len + 1;
    }
}

enum tl_status cli_parse_goals(const char *text, struct tl_run_goal *ret_goal,
                               struct tl_error *reterr)
{
    struct tl_run_goal goal = {0};
    const char *in = strstr(text, " in ");
    enum tl_status status;
    if (strpbrk(text, "<>"))
        status = parse_table(text, &goal, reterr);
    else if (in)
        status = parse_volume(text, in, &goal, reterr);
    else
        status = cli_parse_goal(text, &goal.bps, &goal.rtt_ns, reterr);
    if (status == TL_OK)
        *ret_goal = goal;
    return status;
}

enum tl_status cli_parse_direction(const char *text, bool *ret_download, bool *ret_upload,
                                   struct tl_error *reterr)
{
    bool both = strcmp(text, "both") == 0;
    bool download = both || strcmp(text, "download") == 0;
    bool upload = both || strcmp(text, "upload") == 0;
    if (!download && !upload)
        return tl_error_set(reterr, TL_USAGE,
                            "\"%.40s\" is no direction; write download, upload or both", text);
    *ret_download = download;
    *ret_upload = upload;
    return TL_OK;
}

enum tl_status cli_parse_port(const char *text, uint16_t *ret_port, struct tl_error *reterr)
{
    char *end;
    errno = 0;
    long port = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : -1;
    if (port < 1 || port > 65535 || errno || *end)
        return tl_error_set(reterr, TL_RANGE, "\"%.40s\" is no port; write 1 to 65535", text);
    *ret_port = (uint16_t)port;
    return TL_OK;
}

enum tl_status cli_parse_time_budget(const char *text, int64_t *ret_ns, struct tl_error *reterr)
{
    int64_t ns;
    enum tl_status status = tl_parse_ns(text, &ns, reterr);
    if (status != TL_OK)
        return status;
    if (ns < CLI_TIME_BUDGET_MIN_NS)
        return tl_error_set(reterr, TL_RANGE,
                            "%.40s is too short to measure anything; give 3s or more", text);
    *ret_ns = ns;
    return TL_OK;
}

enum tl_status cli_parse_data_budget(const char *text, int64_t *ret_bytes, struct tl_error *reterr)
{
    int64_t bytes;
    enum tl_status status = tl_parse_bytes(text, &bytes, reterr);
    if (status != TL_OK)
        return status;
    if (bytes < CLI_DATA_BUDGET_MIN_BYTES)
        return tl_error_set(reterr, TL_RANGE,
                            "%.40s is too little to measure anything; give 100kB or more", text);
    *ret_bytes = bytes;
    return TL_OK;
}

/* "2026-11-01" here, "2026-11-01T12:00:00Z" there. */
static bool parse_date(const char *text, int64_t *ret_ns)
{
    struct tm tm = {.tm_isdst = -1};
    const char *end = strptime(text, "%Y-%m-%d", &tm);
    bool utc = false;
    if (end && *end == 'T') {
        end = strptime(end + 1, "%H:%M:%S", &tm);
        utc = end && *end == 'Z';
        end = utc ? end + 1 : NULL;
    }
    if (!end || *end || tm.tm_year < 70)
        return false;
    *ret_ns = (int64_t)(utc ? timegm(&tm) : mktime(&tm)) * TL_NS_PER_S;
    return true;
}

enum tl_status cli_parse_when(const char *text, int64_t now_ns, int64_t *ret_ns,
                              struct tl_error *reterr)
{
    char *end;
    int64_t ago_ns;
    double days = strtod(text, &end);
    if (parse_date(text, ret_ns))
        return TL_OK;
    if (end > text && strcmp(end, "d") == 0 && days > 0 && days < 36500) {
        *ret_ns = now_ns - (int64_t)(days * 86400e9);
        return TL_OK;
    }
    if (tl_parse_ns(text, &ago_ns, NULL) == TL_OK) {
        *ret_ns = now_ns - ago_ns;
        return TL_OK;
    }
    return tl_error_set(reterr, TL_SYNTAX,
                        "\"%.40s\" is no moment; write for instance 30d, 12h or 2026-11-01", text);
}

enum tl_status cli_parse_count(const char *text, size_t *ret_count, struct tl_error *reterr)
{
    size_t len = strlen(text);
    if (len == 0 || len > 9 || strspn(text, "0123456789") != len)
        return tl_error_set(reterr, TL_SYNTAX, "\"%.40s\" is no number; write for instance 100",
                            text);
    *ret_count = (size_t)strtoul(text, NULL, 10);
    return TL_OK;
}

static enum tl_status refuse_stage(const char *name, size_t len, struct tl_error *reterr)
{
    struct tl_buf known = TL_BUF_INIT;
    struct tl_nearest nearest = {0};
    char typed[41];
    snprintf(typed, sizeof typed, "%.*s", (int)(len < 40 ? len : 40), name);
    for (size_t i = 0; i < tl_session_stage_count(); i++) {
        tl_buf_addf(&known, "%s%s", i ? ", " : "; there are ", tl_session_stage_at(i));
        tl_nearest_offer(&nearest, typed, tl_session_stage_at(i));
    }
    enum tl_status status =
        tl_error_set(reterr, TL_USAGE, "no stage is called \"%s\"%s", typed,
                     nearest.word ? tl_nearest_text(&nearest) : tl_buf_text(&known));
    tl_buf_finish(&known);
    return status;
}

enum tl_status cli_parse_stages(const char *text, uint32_t *ret_set, struct tl_error *reterr)
{
    uint32_t set = 0;
    char name[32];
    for (;;) {
        size_t len = strcspn(text, ",");
        if (len == 0 || len >= sizeof name)
            return refuse_stage(text, len, reterr);
        memcpy(name, text, len);
        name[len] = '\0';
        size_t index = tl_session_stage_find(name);
        if (index == tl_session_stage_count())
            return refuse_stage(text, len, reterr);
        set |= UINT32_C(1) << index;
        if (!text[len])
            break;
        text += len + 1;
    }
    *ret_set = set;
    return TL_OK;
}

enum tl_status cli_parse_color(const char *text, enum cli_color *ret_color, struct tl_error *reterr)
{
    static const char *const words[] = {
        [CLI_COLOR_AUTO] = "auto", [CLI_COLOR_ALWAYS] = "always", [CLI_COLOR_NEVER] = "never"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(text, words[i]) != 0)
            continue;
        *ret_color = (enum cli_color)i;
        return TL_OK;
    }
    return tl_error_set(reterr, TL_USAGE, "write auto, always or never, not \"%.40s\"", text);
}

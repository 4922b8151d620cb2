/* Text to numbers and numbers to text, each with its unit. */
#include "tightlink/base/units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/time.h"

double tl_bps_from_bytes_ns(double bytes, double ns)
{
    return ns > 0 ? bytes * 8.0 * 1e9 / ns : (double)NAN;
}

double tl_bytes_from_bps_ns(double bps, double ns)
{
    return bps * ns / 8e9;
}

double tl_round_known(double value, double uncertainty)
{
    if (!isfinite(value) || value == 0 || !(uncertainty > 0) || !isfinite(uncertainty))
        return value;
    double of_value = floor(log10(fabs(value))) - 1, of_doubt = floor(log10(2 * uncertainty));
    double unit = pow(10, of_value < of_doubt ? of_value : of_doubt);
    return round(value / unit) * unit;
}

/* Three significant digits without an exponent: 1.32, 99.9, 526, 1234. */
static const char *format_scaled(double value, const char *unit, char ret_text[TL_UNIT_TEXT_SIZE])
{
    double size = fabs(value);
    int digits = size >= 99.95 || size == 0 ? 0 : size >= 9.995 ? 1 : 2;
    char number[TL_UNIT_TEXT_SIZE - 8];
    snprintf(number, sizeof number, "%.*f", digits, value);
    /* "512.00 KiB" reads worse than "512 KiB": drop a fraction of zeros. */
    char *dot = strchr(number, '.');
    if (dot && strspn(dot + 1, "0") == strlen(dot + 1))
        *dot = '\0';
    snprintf(ret_text, TL_UNIT_TEXT_SIZE, "%s %.7s", number, unit);
    return ret_text;
}

static const char *format_steps(double value, double step, const char *const *units, int count,
                                char ret_text[TL_UNIT_TEXT_SIZE])
{
    if (!isfinite(value)) {
        snprintf(ret_text, TL_UNIT_TEXT_SIZE, "unknown");
        return ret_text;
    }
    int i = 0;
    while (i + 1 < count && fabs(value) >= step * 0.9995) {
        value /= step;
        i++;
    }
    return format_scaled(value, units[i], ret_text);
}

const char *tl_format_bps(double bps, char ret_text[TL_UNIT_TEXT_SIZE])
{
    static const char *const units[] = {"b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"};
    return format_steps(bps, 1000, units, 5, ret_text);
}

/* "4.10 Mb/s" becomes "4.1 Mb/s". */
static void drop_zeros(char *text)
{
    char *end = strchr(text, ' '), *kept = end;
    if (!end || !memchr(text, '.', (size_t)(end - text)))
        return;
    while (kept[-1] == '0')
        kept--;
    kept -= kept[-1] == '.';
    memmove(kept, end, strlen(end) + 1);
}

const char *tl_format_bps_known(double bps, double uncertainty_bps,
                                char ret_text[TL_UNIT_TEXT_SIZE])
{
    (void)tl_format_bps(tl_round_known(bps, uncertainty_bps), ret_text);
    if (uncertainty_bps > 0)
        drop_zeros(ret_text);
    return ret_text;
}

const char *tl_format_bps_bounded(double bps, double low_bps, double high_bps,
                                  char ret_text[TL_UNIT_TEXT_SIZE])
{
    return tl_format_bps_known(bps, (high_bps - low_bps) / 2, ret_text);
}

const char *tl_format_bytes(double bytes, char ret_text[TL_UNIT_TEXT_SIZE])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    return format_steps(bytes, 1024, units, 5, ret_text);
}

const char *tl_format_traffic(double bytes, char ret_text[TL_UNIT_TEXT_SIZE])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    return format_steps(bytes, 1000, units, 5, ret_text);
}

const char *tl_format_ns(double ns, char ret_text[TL_UNIT_TEXT_SIZE])
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    if (isfinite(ns) && ns >= 120.0 * (double)TL_NS_PER_S) {
        double minutes = ns / (60.0 * (double)TL_NS_PER_S);
        return minutes < 120 ? format_scaled(minutes, "min", ret_text)
                             : format_scaled(minutes / 60, "h", ret_text);
    }
    return format_steps(ns, 1000, units, 4, ret_text);
}

const char *tl_format_ns_known(double ns, double uncertainty_ns, char ret_text[TL_UNIT_TEXT_SIZE])
{
    (void)tl_format_ns(tl_round_known(ns, uncertainty_ns), ret_text);
    if (uncertainty_ns > 0)
        drop_zeros(ret_text);
    return ret_text;
}

const char *tl_format_ratio(double ratio, char ret_text[TL_UNIT_TEXT_SIZE])
{
    double percent = ratio * 100;
    if (!isfinite(percent))
        snprintf(ret_text, TL_UNIT_TEXT_SIZE, "unknown");
    else if (percent == 0 || percent >= 9.95)
        snprintf(ret_text, TL_UNIT_TEXT_SIZE, "%.0f %%", percent);
    else
        snprintf(ret_text, TL_UNIT_TEXT_SIZE, percent >= 0.995 ? "%.1f %%" : "%.2g %%", percent);
    return ret_text;
}

size_t tl_word_length(const char *text)
{
    static const char *const units[] = {"b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s", "B",  "KiB", "MiB",
                                        "GiB", "TiB",  "kB",   "MB",   "GB",   "TB", "ns",  "us",
                                        "ms",  "s",    "min",  "h",    "days", "%"};
    size_t len = strcspn(text, " ");
    if (len == 0 || text[len] != ' ' || !isdigit((unsigned char)text[len - 1]))
        return len;
    const char *unit = text + len + 1;
    size_t more = strcspn(unit, " \n"), letters = more;
    while (letters && strchr(".,;:)", unit[letters - 1]))
        letters--;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i]) == letters && strncmp(units[i], unit, letters) == 0)
            return len + 1 + more;
    return len;
}

/* Reads a finite number and leaves *rest at the first letter of its unit. */
static enum tl_status parse_number(const char *text, const char *what, double *ret_value,
                                   const char **ret_rest, struct tl_error *reterr)
{
    const char *p = text;
    while (isspace((unsigned char)*p))
        p++;
    char *end;
    errno = 0;
    /* strtod also takes "inf", "nan" and hexadecimal: not numbers a person means here. */
    if (!isdigit((unsigned char)*p) && *p != '.' && *p != '-' && *p != '+')
        return tl_error_set(reterr, TL_SYNTAX, "\"%.60s\" is not %s", text, what);
    double value = strtod(p, &end);
    if (end == p || memchr(p, 'x', (size_t)(end - p)) || memchr(p, 'X', (size_t)(end - p)))
        return tl_error_set(reterr, TL_SYNTAX, "\"%.60s\" is not %s", text, what);
    if (errno == ERANGE || !isfinite(value) || value <= 0)
        return tl_error_set(reterr, TL_RANGE, "\"%.60s\" is out of range for %s", text, what);
    while (isspace((unsigned char)*end))
        end++;
    *ret_value = value;
    *ret_rest = end;
    return TL_OK;
}

struct unit {
    const char *name;
    double factor;
};

/* Looks the unit up; names are exact but for the case of their first letter. */
static enum tl_status apply_unit(const char *text, const char *rest, const struct unit *units,
                                 const char *what, double *value, struct tl_error *reterr)
{
    char name[16];
    size_t len = strlen(rest);
    while (len && isspace((unsigned char)rest[len - 1]))
        len--;
    if (len < sizeof name) {
        memcpy(name, rest, len);
        name[len] = '\0';
        for (const struct unit *u = units; u->name; u++) {
            if ((len == 0 && !*u->name) ||
                (len && tolower((unsigned char)name[0]) == tolower((unsigned char)u->name[0]) &&
                 strcmp(name + 1, u->name + 1) == 0)) {
                *value *= u->factor;
                return TL_OK;
            }
        }
    }
    return tl_error_set(reterr, TL_SYNTAX, "\"%.60s\" is not %s", text, what);
}

static enum tl_status parse(const char *text, const char *what, const struct unit *units,
                            double *ret_value, struct tl_error *reterr)
{
    const char *rest;
    enum tl_status status = parse_number(text, what, ret_value, &rest, reterr);
    return status == TL_OK ? apply_unit(text, rest, units, what, ret_value, reterr) : status;
}

enum tl_status tl_parse_bps(const char *text, double *ret_bps, struct tl_error *reterr)
{
    static const char what[] = "a rate; write for instance 900M, 1.5 Gb/s or 11 MB/s";
    static const struct unit units[] = {
        {"", 1},         {"b/s", 1},         {"bit/s", 1},    {"bps", 1},      {"k", 1e3},
        {"kb/s", 1e3},   {"kbit", 1e3},      {"kbit/s", 1e3}, {"kbps", 1e3},   {"kB/s", 8e3},
        {"M", 1e6},      {"Mb/s", 1e6},      {"Mbit", 1e6},   {"Mbit/s", 1e6}, {"Mbps", 1e6},
        {"MB/s", 8e6},   {"MiB/s", 8388608}, {"G", 1e9},      {"Gb/s", 1e9},   {"Gbit", 1e9},
        {"Gbit/s", 1e9}, {"Gbps", 1e9},      {"GB/s", 8e9},   {"T", 1e12},     {"Tb/s", 1e12},
        {NULL, 0},
    };
    double value;
    enum tl_status status = parse(text, what, units, &value, reterr);
    if (status != TL_OK)
        return status;
    if (value > 1e15)
        return tl_error_set(reterr, TL_RANGE, "\"%.60s\" is above 1 Pb/s", text);
    *ret_bps = value;
    return TL_OK;
}

enum tl_status tl_parse_ns(const char *text, int64_t *ret_ns, struct tl_error *reterr)
{
    static const char what[] = "a time; write for instance 80ms, 1.5 s or 16h";
    static const struct unit units[] = {
        {"", 1e9},     {"ns", 1},   {"us", 1e3},   {"ms", 1e6}, {"s", 1e9},
        {"min", 60e9}, {"m", 60e9}, {"h", 3600e9}, {NULL, 0},
    };
    double value;
    enum tl_status status = parse(text, what, units, &value, reterr);
    if (status != TL_OK)
        return status;
    if (value < 1 || value > 366.0 * 86400e9)
        return tl_error_set(reterr, TL_RANGE, "\"%.60s\" is not between 1 ns and one year", text);
    *ret_ns = (int64_t)value;
    return TL_OK;
}

enum tl_status tl_parse_bytes(const char *text, int64_t *ret_bytes, struct tl_error *reterr)
{
    static const char what[] = "an amount of data; write for instance 200MB, 1.5 GB or 64KiB";
    static const struct unit units[] = {
        {"", 1},
        {"B", 1},
        {"k", 1e3},
        {"kB", 1e3},
        {"KiB", 1024},
        {"M", 1e6},
        {"MB", 1e6},
        {"MiB", 1048576},
        {"G", 1e9},
        {"GB", 1e9},
        {"GiB", 1073741824},
        {"T", 1e12},
        {"TB", 1e12},
        {"TiB", 1099511627776.0},
        {NULL, 0},
    };
    double value;
    enum tl_status status = parse(text, what, units, &value, reterr);
    if (status != TL_OK)
        return status;
    if (value < 1 || value > 1e18)
        return tl_error_set(reterr, TL_RANGE, "\"%.60s\" is not between 1 B and 1 EB", text);
    *ret_bytes = (int64_t)value;
    return TL_OK;
}

/* Single values of a lab's specification; see parse_value.h. */
#include "parse_value.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/units.h"
#include "tightlink/lab/config.h"

static bool is_zero(const char *text)
{
    return strcmp(text, "0") == 0;
}

enum tl_status tl_lab_read_rate(const char *text, void *ret_value, struct tl_error *reterr)
{
    double bps = 0;
    enum tl_status status = is_zero(text) ? TL_OK : tl_parse_bps(text, &bps, reterr);
    if (status == TL_OK)
        *(double *)ret_value = bps;
    return status;
}

enum tl_status tl_lab_read_span(const char *text, void *ret_value, struct tl_error *reterr)
{
    int64_t ns = 0;
    enum tl_status status = is_zero(text) ? TL_OK : tl_parse_ns(text, &ns, reterr);
    if (status == TL_OK)
        *(int64_t *)ret_value = ns;
    return status;
}

enum tl_status tl_lab_read_size(const char *text, void *ret_value, struct tl_error *reterr)
{
    int64_t bytes = 0;
    enum tl_status status = is_zero(text) ? TL_OK : tl_parse_bytes(text, &bytes, reterr);
    if (status == TL_OK)
        *(int64_t *)ret_value = bytes;
    return status;
}

enum tl_status tl_lab_read_length(const char *text, void *ret_value, struct tl_error *reterr)
{
    int64_t bytes = 0;
    enum tl_status status = tl_lab_read_size(text, &bytes, reterr);
    if (status != TL_OK)
        return status;
    if (bytes > 65535)
        return tl_error_set(reterr, TL_RANGE, "\"%s\" is longer than any IP packet", text);
    *(int32_t *)ret_value = (int32_t)bytes;
    return TL_OK;
}

enum tl_status tl_lab_read_ratio(const char *text, void *ret_value, struct tl_error *reterr)
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

enum tl_status tl_lab_read_switch(const char *text, void *ret_value, struct tl_error *reterr)
{
    bool on = strcmp(text, "on") == 0 || strcmp(text, "1") == 0;
    if (!on && strcmp(text, "off") != 0 && strcmp(text, "0") != 0)
        return tl_error_set(reterr, TL_SYNTAX, "\"%s\" is neither on nor off", text);
    *(bool *)ret_value = on;
    return TL_OK;
}

enum tl_status tl_lab_read_count(const char *text, void *ret_value, struct tl_error *reterr)
{
    char *end;
    errno = 0;
    long count = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || count < 0 || count > INT32_MAX)
        return tl_error_set(reterr, TL_SYNTAX, "\"%s\" is no whole number", text);
    *(int32_t *)ret_value = (int32_t)count;
    return TL_OK;
}

enum tl_status tl_lab_read_seed(const char *text, void *ret_value, struct tl_error *reterr)
{
    char *end;
    errno = 0;
    unsigned long long seed = strtoull(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || *text == '-')
        return tl_error_set(reterr, TL_SYNTAX, "\"%s\" is no whole number", text);
    *(uint64_t *)ret_value = seed;
    return TL_OK;
}

enum tl_status tl_lab_read_cc(const char *text, void *ret_value, struct tl_error *reterr)
{
    if (strlen(text) >= TL_LAB_CC_SIZE)
        return tl_error_set(reterr, TL_RANGE, "\"%s\" is no name of a congestion control", text);
    memcpy(ret_value, text, strlen(text) + 1);
    return TL_OK;
}

enum tl_status tl_lab_read_family(const char *text, void *ret_value, struct tl_error *reterr)
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

enum tl_status tl_lab_read_carrier(const char *text, void *ret_value, struct tl_error *reterr)
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

enum tl_status tl_lab_read_trace(const char *text, void *ret_value, struct tl_error *reterr)
{
    struct tl_lab_link_config *link = ret_value;
    if (strlen(text) >= sizeof link->trace)
        return tl_error_set(reterr, TL_RANGE, "a trace's name has at most %d characters",
                            TL_LAB_TRACE_SIZE - 1);
    memcpy(link->trace, text, strlen(text) + 1);
    link->service = TL_LAB_SERVICE_TRACE;
    return TL_OK;
}

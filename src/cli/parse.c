/* Values of options; see parse.h. */
#include "parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/units.h"

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

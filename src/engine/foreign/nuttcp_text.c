/* The lines of nuttcp's control connection: nuttcp_text.h. */
#include "nuttcp_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MEBIBYTE  1048576.0
#define BYTES_MAX 1e15 /* 1 PB: no test of a minute moves it */

/* Decimal digits of at most four places. */
static bool read_number(const char **text, unsigned *ret_number)
{
    unsigned number = 0, digits = 0;
    for (; **text >= '0' && **text <= '9' && digits < 4; digits++, (*text)++)
        number = 10 * number + (unsigned)(**text - '0');
    *ret_number = number;
    return digits > 0 && !(**text >= '0' && **text <= '9');
}

bool nuttcp_read_hello(const char *line, struct nuttcp_version *ret_version)
{
    static const char hello[] = "HELO nuttcp v";
    struct nuttcp_version version;
    if (strncmp(line, hello, sizeof hello - 1) != 0)
        return false;
    const char *at = line + sizeof hello - 1;
    if (!read_number(&at, &version.major) || *at++ != '.' || !read_number(&at, &version.minor) ||
        *at++ != '.' || !read_number(&at, &version.patch))
        return false;
    *ret_version = version;
    return true;
}

static unsigned whole(const struct nuttcp_version *version)
{
    return 1000000 * version->major + 1000 * version->minor + version->patch;
}

uint16_t nuttcp_data_port(const struct nuttcp_version *version)
{
    return whole(version) >= 6002008 ? 5101 : 5001;
}

bool nuttcp_waits_for_its_queue(const struct nuttcp_version *version)
{
    return whole(version) >= 7002002;
}

/* Spelling and spaces are the server's scanf(). */
void nuttcp_write_test(const struct tl_tcp_spec *spec, uint16_t port, double seconds,
                       struct tl_buf *ret_line)
{
    bool upload = spec->direction == TL_WIRE_UPLOAD;
    unsigned long rate = 4294967295UL; /* unlimited */
    if (!upload && spec->pacing_bps > 0)
        rate = (unsigned long)(spec->pacing_bps / spec->streams / 1000 + 1);
    tl_buf_addf(ret_line,
                "buflen = 65536, nbuf = 2147483647, win = 0, nstream = %u, rate = %lu, port = %u, "
                "trans = %d, braindead = 0, timeout = %f, udp = 0, vers = 6.1.2, interval = "
                "0.000000, reverse = %d, format = 0, traceroute = 0, irate = 0, thirdparty = "
                "_NULL_ , multicast = 0 , datamss = 0 , tos = 0 , nbuf_bytes = 0 , rate_pps = 0 , "
                "nodelay = 0\n",
                spec->streams, rate, port, upload, seconds, !upload);
}

bool nuttcp_read_total(const char *line, uint64_t *ret_bytes)
{
    char *end;
    const char *at = strstr(line, "nuttcp-");
    if (!at || (strncmp(at, "nuttcp-r: ", 10) != 0 && strncmp(at, "nuttcp-t: ", 10) != 0))
        return false;
    double mebibytes = strtod(at + 10, &end);
    if (end == at + 10 || strncmp(end, " MB in ", 7) != 0 || !strstr(end, " real seconds") ||
        !isfinite(mebibytes) || mebibytes < 0 || mebibytes * MEBIBYTE > BYTES_MAX)
        return false;
    *ret_bytes = (uint64_t)(mebibytes * MEBIBYTE);
    return true;
}

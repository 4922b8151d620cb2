/* The table of far ends, and the parser of what a user writes for one. */
#include "tightlink/base/far.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define ALL_OF_IT                                                                                  \
    (TL_FAR_DOWNLOADS | TL_FAR_UPLOADS | TL_FAR_STREAMS | TL_FAR_BOTH | TL_FAR_RCVBUF |            \
     TL_FAR_SNDBUF | TL_FAR_CONGESTION | TL_FAR_PACING | TL_FAR_SENDER | TL_FAR_RECEIVER |         \
     TL_FAR_TOTALS | TL_FAR_ECHO | TL_FAR_ONE_WAY | TL_FAR_UDP | TL_FAR_MTU | TL_FAR_SYN |         \
     TL_FAR_HOPS | TL_FAR_HOST | TL_FAR_DISK | TL_FAR_FAMILY | TL_FAR_MANY | TL_FAR_APART)

/* clang-format off */
static const struct tl_far_row rows[TL_FAR_KIND_COUNT] = {
    [TL_FAR_TIGHTLINK] = {
        .id = "tightlink", .scheme = "tightlink", .what = "a tightlink responder", .port = 5411,
        .built = true, .can = ALL_OF_IT},
    [TL_FAR_IPERF3] = {
        .id = "iperf3", .scheme = "iperf3", .what = "an iperf3 server", .port = 5201,
        .built = true,
        .can = TL_FAR_DOWNLOADS | TL_FAR_UPLOADS | TL_FAR_STREAMS | TL_FAR_BOTH |
               TL_FAR_CONGESTION | TL_FAR_PACING | TL_FAR_TOTALS | TL_FAR_ECHO | TL_FAR_UDP |
               TL_FAR_MTU | TL_FAR_HOPS | TL_FAR_APART},
    [TL_FAR_NUTTCP] = {
        .id = "nuttcp", .scheme = "nuttcp", .what = "a nuttcp server", .port = 5000,
        .built = true,
        .can = TL_FAR_DOWNLOADS | TL_FAR_UPLOADS | TL_FAR_STREAMS | TL_FAR_PACING |
               TL_FAR_TOTALS | TL_FAR_ECHO | TL_FAR_MTU | TL_FAR_HOPS},
    [TL_FAR_NDT7] = {
        .id = "ndt7", .scheme = "ndt7", .what = "an NDT server", .port = 443, .resource = true,
        .directory = "ndt7://locate.measurementlab.net/v2/nearest/ndt/ndt7",
        .built = true,
        .can = TL_FAR_DOWNLOADS | TL_FAR_UPLOADS | TL_FAR_STREAMS | TL_FAR_SENDER | TL_FAR_ECHO |
               TL_FAR_MTU | TL_FAR_HOPS | TL_FAR_MANY | TL_FAR_APART},
    [TL_FAR_HTTPS] = {
        .id = "http", .scheme = "https", .what = "a web server", .port = 443, .resource = true,
        .built = true,
        .can = TL_FAR_DOWNLOADS | TL_FAR_UPLOADS | TL_FAR_STREAMS | TL_FAR_ECHO | TL_FAR_MTU |
               TL_FAR_HOPS | TL_FAR_FAMILY | TL_FAR_MANY | TL_FAR_APART},
    [TL_FAR_HTTP] = {
        .id = "http", .scheme = "http", .what = "a web server", .port = 80, .resource = true,
        .built = true,
        .can = TL_FAR_DOWNLOADS | TL_FAR_UPLOADS | TL_FAR_STREAMS | TL_FAR_ECHO | TL_FAR_MTU |
               TL_FAR_HOPS | TL_FAR_FAMILY | TL_FAR_MANY | TL_FAR_APART},
};
/* clang-format on */

/* What a kind of far end cannot: the object of "cannot". */
static const struct {
    unsigned ability;
    const char *text;
} lacks[] = {
    {TL_FAR_DOWNLOADS, "send to this PC"},
    {TL_FAR_UPLOADS, "receive from this PC"},
    {TL_FAR_STREAMS, "run several connections in one test"},
    {TL_FAR_BOTH, "run both directions in one test"},
    {TL_FAR_RCVBUF, "enlarge its receive buffer as asked"},
    {TL_FAR_SNDBUF, "enlarge its send buffer as asked"},
    {TL_FAR_CONGESTION, "choose its congestion control"},
    {TL_FAR_PACING, "pace what it sends"},
    {TL_FAR_SENDER, "tell what its TCP waits for as sender"},
    {TL_FAR_RECEIVER, "tell what arrives there when"},
    {TL_FAR_TOTALS, "tell how much arrived"},
    {TL_FAR_ECHO, "answer small probes"},
    {TL_FAR_ONE_WAY, "tell in which direction delay grows"},
    {TL_FAR_UDP, "tell what became of datagrams"},
    {TL_FAR_MTU, "tell which packet sizes arrive"},
    {TL_FAR_SYN, "tell how the handshake arrived"},
    {TL_FAR_HOPS, "answer probes behind the last router"},
    {TL_FAR_HOST, "tell its host's settings"},
    {TL_FAR_DISK, "test its disk"},
    {TL_FAR_FAMILY, "be measured over the other address family"},
    {TL_FAR_MANY, "serve two clients at once"},
    {TL_FAR_APART, "read several connections at once"},
};

const struct tl_far_row *tl_far_row(enum tl_far_kind kind)
{
    return &rows[kind];
}

enum tl_far_kind tl_far_kind_of_scheme(const char *scheme, size_t len)
{
    int kind = 0;
    while (kind < TL_FAR_KIND_COUNT &&
           (strlen(rows[kind].scheme) != len || strncmp(rows[kind].scheme, scheme, len) != 0))
        kind++;
    return (enum tl_far_kind)kind;
}

enum tl_far_kind tl_far_kind_of_id(const char *id)
{
    int kind = 0;
    while (kind < TL_FAR_KIND_COUNT && strcmp(rows[kind].id, id) != 0)
        kind++;
    return (enum tl_far_kind)kind;
}

const char *tl_far_lack_text(unsigned abilities)
{
    for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++)
        if (abilities & lacks[i].ability)
            return lacks[i].text;
    return NULL;
}

bool tl_far_responder_would(const char *reason)
{
    return strstr(reason, TL_FAR_WOULD) != NULL;
}

/* --- What a user writes --------------------------------------------------------------------- */

static enum tl_status copy(const char *from, size_t len, char *ret_text, size_t size,
                           const char *what, struct tl_error *reterr)
{
    if (len >= size)
        return tl_error_set(reterr, TL_USAGE, "%s of a target has at most %zu characters", what,
                            size - 1);
    memcpy(ret_text, from, len);
    ret_text[len] = '\0';
    return TL_OK;
}

static enum tl_status parse_port(const char *text, size_t len, uint16_t *ret_port,
                                 struct tl_error *reterr)
{
    unsigned port = 0;
    for (size_t i = 0; i < len && port <= UINT16_MAX; i++)
        port = isdigit((unsigned char)text[i]) ? 10 * port + (unsigned)(text[i] - '0') : 65536;
    if (len == 0 || port == 0 || port > UINT16_MAX)
        return tl_error_set(reterr, TL_USAGE, "\"%.*s\" is no port; write 1 to 65535",
                            (int)(len < 40 ? len : 40), text);
    *ret_port = (uint16_t)port;
    return TL_OK;
}

/* host, host:port, [address]:port */
static enum tl_status parse_authority(const char *text, size_t len, struct tl_target *target,
                                      struct tl_error *reterr)
{
    const char *end = text + len, *host = text, *host_end, *colon;
    if (memchr(text, '@', len))
        return tl_error_set(reterr, TL_USAGE,
                            "a target has no user and no password in it: they come from files");
    if (len > 0 && *text == '[') {
        host_end = memchr(text, ']', len);
        if (!host_end)
            return tl_error_set(reterr, TL_USAGE, "\"%.80s\" lacks its ]", text);
        host = text + 1;
        colon = host_end + 1;
    } else {
        colon = memchr(text, ':', len);
        colon = colon ? colon : end;
        host_end = colon;
    }
    if (host == host_end)
        return tl_error_set(reterr, TL_USAGE, "the target names no host");
    if (colon < end && *colon != ':')
        return tl_error_set(reterr, TL_USAGE, "behind ] stands a port or nothing, not \"%.40s\"",
                            colon);
    enum tl_status status = copy(host, (size_t)(host_end - host), target->host, sizeof target->host,
                                 "the host", reterr);
    if (status == TL_OK && colon < end)
        status = parse_port(colon + 1, (size_t)(end - colon - 1), &target->port, reterr);
    return status;
}

/* "iperf3, nuttcp or https": what may be written, without those that are not built. */
static void list_schemes(char *ret_text, size_t size)
{
    ret_text[0] = '\0';
    for (int i = 0; i < TL_FAR_KIND_COUNT; i++)
        if (rows[i].built)
            snprintf(ret_text + strlen(ret_text), size - strlen(ret_text), "%s%s://",
                     ret_text[0] ? ", " : "", rows[i].scheme);
}

enum tl_status tl_target_parse(const char *text, struct tl_target *ret_target,
                               struct tl_error *reterr)
{
    struct tl_target target = {.kind = TL_FAR_KIND_COUNT};
    const char *scheme_end = strstr(text, "://");
    enum tl_status status;
    if (!scheme_end) { /* a name or an address, colons and all */
        status = copy(text, strlen(text), target.host, sizeof target.host, "the host", reterr);
    } else {
        char known[120];
        const char *rest = scheme_end + 3;
        size_t len = strcspn(rest, "/?#");
        target.kind = tl_far_kind_of_scheme(text, (size_t)(scheme_end - text));
        list_schemes(known, sizeof known);
        if (target.kind == TL_FAR_KIND_COUNT || !rows[target.kind].built)
            return tl_error_set(reterr, TL_USAGE, "\"%.*s://\" is no kind of far end; there are %s",
                                (int)(scheme_end - text > 40 ? 40 : scheme_end - text), text,
                                known);
        if (!rows[target.kind].resource && strcmp(rest + len, "/") != 0 && rest[len])
            return tl_error_set(
                reterr, TL_USAGE, "%s has no path: write %s://HOST or %s://HOST:PORT",
                rows[target.kind].what, rows[target.kind].scheme, rows[target.kind].scheme);
        if (rows[target.kind].directory && *rest == '\0') {
            status = tl_target_parse(rows[target.kind].directory, ret_target, reterr);
            ret_target->nearest = status == TL_OK;
            return status;
        }
        status = parse_authority(rest, len, &target, reterr);
        if (status == TL_OK && rows[target.kind].resource)
            status = copy(rest + len, strcspn(rest + len, "#"), target.resource,
                          sizeof target.resource, "the path", reterr);
    }
    if (status == TL_OK)
        *ret_target = target;
    return status;
}

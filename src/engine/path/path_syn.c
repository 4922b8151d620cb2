/* A SYN as it came in. */
#include "path_syn.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "tightlink/base/libc.h"
#include "tightlink/engine/sampler.h"
#include "tightlink/engine/syn.h"

#ifndef TCP_SAVED_SYN
#define TCP_SAVED_SYN 28 /* linux/tcp.h; glibc 2.36 has it */
#endif

#define TCP_HEADER_SIZE   20
#define EXTENSIONS_MAX    8
#define HALF_WINDOW_SLACK 64
#define SYN_BYTES_MAX     512 /* IPv6 with extensions; the kernel refuses a longer one */

static unsigned get16(const uint8_t *at)
{
    return (unsigned)at[0] << 8 | at[1];
}

/* Where TCP begins, 0 when it does not. */
static size_t skip_v4(const uint8_t *bytes, size_t len, struct tl_wire_syn_report *report)
{
    size_t header = (size_t)(bytes[0] & 15) * 4;
    if (len < 20 || header < 20 || header > len || bytes[9] != IPPROTO_TCP)
        return 0;
    report->traffic_class = bytes[1];
    report->ttl = bytes[8];
    return header;
}

static size_t skip_v6(const uint8_t *bytes, size_t len, struct tl_wire_syn_report *report)
{
    size_t at = 40;
    if (len < at)
        return 0;
    uint8_t next = bytes[6];
    for (int i = 0; i < EXTENSIONS_MAX && next != IPPROTO_TCP; i++) {
        bool known = next == IPPROTO_HOPOPTS || next == IPPROTO_ROUTING || next == IPPROTO_DSTOPTS;
        if (!known || len - at < 8)
            return 0;
        next = bytes[at];
        at += ((size_t)bytes[at + 1] + 1) * 8;
        if (at > len)
            return 0;
    }
    report->traffic_class = (uint8_t)(bytes[0] << 4 | bytes[1] >> 4);
    report->ttl = bytes[7];
    return next == IPPROTO_TCP ? at : 0;
}

/* RFC 9293, 3.2. False where a length leads outside. */
static bool read_options(const uint8_t *at, const uint8_t *end, struct tl_wire_syn_report *report)
{
    while (at < end && *at != TCPOPT_EOL) {
        if (*at == TCPOPT_NOP) {
            at++;
            continue;
        }
        if (end - at < 2 || at[1] < 2 || at[1] > end - at)
            return false;
        if (at[0] == TCPOPT_MAXSEG && at[1] == TCPOLEN_MAXSEG) {
            report->options |= TL_WIRE_SYN_MSS;
            report->mss_bytes = (uint16_t)get16(at + 2);
        } else if (at[0] == TCPOPT_WINDOW && at[1] == TCPOLEN_WINDOW) {
            report->options |= TL_WIRE_SYN_WSCALE;
            report->wscale = at[2];
        } else if (at[0] == TCPOPT_SACK_PERMITTED) {
            report->options |= TL_WIRE_SYN_SACK;
        } else if (at[0] == TCPOPT_TIMESTAMP) {
            report->options |= TL_WIRE_SYN_TIMESTAMPS;
        } else if (at[0] == 34) { /* RFC 7413 */
            report->options |= TL_WIRE_SYN_FASTOPEN;
        } else if (at[0] == 30) { /* RFC 8684 */
            report->options |= TL_WIRE_SYN_MPTCP;
        } else {
            report->options |= TL_WIRE_SYN_OTHER;
        }
        at += at[1];
    }
    return true;
}

bool path_syn_parse(const uint8_t *bytes, size_t len, struct tl_wire_syn_report *report)
{
    struct tl_wire_syn_report read = *report;
    size_t at = 0;
    if (len > 0 && bytes[0] >> 4 == 4)
        at = skip_v4(bytes, len, &read);
    else if (len > 0 && bytes[0] >> 4 == 6)
        at = skip_v6(bytes, len, &read);
    if (at == 0 || len - at < TCP_HEADER_SIZE)
        return false;
    const uint8_t *tcp = bytes + at;
    size_t header = (size_t)(tcp[12] >> 4) * 4;
    if (header < TCP_HEADER_SIZE || header > len - at)
        return false;
    read.saved = true;
    read.tcp_flags = tcp[13];
    read.window = (uint16_t)get16(tcp + 14);
    if (!read_options(tcp + TCP_HEADER_SIZE, tcp + header, &read))
        return false;
    *report = read;
    return true;
}

static void read_peer(int fd, struct tl_wire_syn_report *report)
{
    struct sockaddr_storage peer;
    socklen_t len = sizeof peer;
    if (getpeername(fd, (struct sockaddr *)&peer, &len) < 0)
        return;
    if (peer.ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&peer;
        memcpy(report->address, &v6->sin6_addr, sizeof report->address);
        report->port = ntohs(v6->sin6_port);
    } else if (peer.ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)&peer;
        report->address[10] = report->address[11] = 0xff;
        memcpy(report->address + 12, &v4->sin_addr, 4);
        report->port = ntohs(v4->sin_port);
    }
}

static uint16_t fit16(uint64_t value)
{
    return (uint16_t)(value > UINT16_MAX ? UINT16_MAX : value);
}

uint32_t path_syn_advmss(const struct tl_tcp_sample *sample)
{
    uint64_t bytes = tl_sample_get(sample, TL_SF_advmss_bytes);
    bool stamps = tl_sample_get(sample, TL_SF_options) & TL_TCP_OPT_TIMESTAMPS;
    return bytes ? (uint32_t)(bytes + (stamps ? TCPOLEN_TSTAMP_APPA : 0)) : 0;
}

void path_syn_read(int fd, struct tl_wire_syn_report *ret_report)
{
    struct tl_wire_syn_report report = {0};
    struct tl_tcp_sample sample = {0};
    uint8_t bytes[SYN_BYTES_MAX];
    socklen_t len = sizeof bytes;
    if (getsockopt(fd, IPPROTO_TCP, TCP_SAVED_SYN, bytes, &len) == 0)
        (void)path_syn_parse(bytes, len, &report);
    tl_sample_read_socket(fd, &sample);
    report.advmss_bytes = fit16(path_syn_advmss(&sample));
    report.snd_mss_bytes = fit16(tl_sample_get(&sample, TL_SF_snd_mss_bytes));
    report.pmtu_bytes = fit16(tl_sample_get(&sample, TL_SF_pmtu_bytes));
    report.negotiated = (uint8_t)tl_sample_get(&sample, TL_SF_options);
    report.rtt_ns = tl_sample_get(&sample, TL_SF_rtt_ns) & INT64_MAX;
    read_peer(fd, &report);
    *ret_report = report;
}

uint32_t tl_syn_mss_received(const struct tl_syn_result *result, bool ipv6)
{
    uint32_t options = result->negotiated & TL_TCP_OPT_TIMESTAMPS ? 12 : 0;
    uint32_t headers = ipv6 ? 60 : 40;
    uint32_t announced = result->far.advmss_bytes;
    if (announced == 0 || result->snd_mss_bytes == 0 || result->pmtu_bytes <= headers)
        return 0;
    uint32_t possible = result->pmtu_bytes - headers;
    uint32_t used = result->snd_mss_bytes + options;
    if (used >= announced || used >= possible)
        return announced; /* as announced, or it makes no difference */
    /* tcp_bound_to_half_wnd(): a small window hides what the MSS would be. */
    return used + HALF_WINDOW_SLACK >= result->snd_wnd_bytes / 2 ? 0 : used;
}

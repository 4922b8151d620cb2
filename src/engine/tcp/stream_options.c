/* Socket options of a data stream, set before it connects. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "tightlink/engine/stream.h"

static enum tl_status set_int(int fd, int level, int option, int value, const char *name,
                              struct tl_error *reterr)
{
    if (setsockopt(fd, level, option, &value, sizeof(value)) == 0)
        return TL_OK;
    return tl_error_set(reterr, TL_IO, "the kernel refused %s = %d: %s", name, value,
                        strerror(errno));
}

static enum tl_status set_congestion(int fd, const char *name, struct tl_error *reterr)
{
    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)) == 0)
        return TL_OK;
    if (errno == ENOENT)
        return tl_error_set(reterr, TL_UNSUPPORTED,
                            "this host has no congestion control \"%s\"; load its kernel module "
                            "(tcp_%s) or choose one of net.ipv4.tcp_available_congestion_control",
                            name, name);
    if (errno == EPERM)
        return tl_error_set(reterr, TL_DENIED,
                            "congestion control \"%s\" is not in "
                            "net.ipv4.tcp_allowed_congestion_control of this host",
                            name);
    return tl_error_set(reterr, TL_IO, "congestion control \"%s\": %s", name, strerror(errno));
}

/* SO_MAX_PACING_RATE counts bytes a second, in a long (since Linux 4.20 64 bits). */
static enum tl_status set_pacing(int fd, uint64_t bps, struct tl_error *reterr)
{
    unsigned long bytes_per_s = (unsigned long)(bps / 8);
    if (setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &bytes_per_s, sizeof(bytes_per_s)) == 0)
        return TL_OK;
    return tl_error_set(reterr, TL_IO, "the kernel refused a pacing rate: %s", strerror(errno));
}

/* Both families' options on both kinds of socket: a dual-stack one may carry either, and one
 * of the two fails where the socket has a single family. */
static enum tl_status set_dscp(int fd, unsigned dscp, struct tl_error *reterr)
{
    int value = (int)(dscp << 2);
    bool v6 = setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &value, sizeof(value)) == 0;
    bool v4 = setsockopt(fd, IPPROTO_IP, IP_TOS, &value, sizeof(value)) == 0;
    if (v4 || v6)
        return TL_OK;
    return tl_error_set(reterr, TL_IO, "the kernel refused DSCP %u: %s", dscp, strerror(errno));
}

/* The window of an open connection may grow as far as its new buffer allows; see the header.
 * The value is the buffer as the kernel gave it, which no window exceeds. */
static void open_window_clamp(int fd)
{
    int bytes = 0;
    socklen_t len = sizeof(bytes);
    if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &len) == 0)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &bytes, sizeof(bytes));
}

static enum tl_status check_options(const struct tl_stream_options *options,
                                    struct tl_error *reterr)
{
    if (options->rcvbuf_bytes < 0 || options->sndbuf_bytes < 0 || options->maxseg_bytes < 0 ||
        options->notsent_lowat_bytes < 0)
        return tl_error_set(reterr, TL_RANGE, "a socket buffer or segment size is negative");
    if (options->dscp > 63)
        return tl_error_set(reterr, TL_RANGE, "DSCP %u is not 0 to 63", options->dscp);
    if (strnlen(options->congestion, sizeof(options->congestion)) == sizeof(options->congestion))
        return tl_error_set(reterr, TL_RANGE, "the name of the congestion control is too long");
    return TL_OK;
}

enum tl_status tl_stream_options_apply(int fd, const struct tl_stream_options *options,
                                       struct tl_error *reterr)
{
    enum tl_status status = check_options(options, reterr);
    if (status == TL_OK)
        status = set_int(fd, IPPROTO_TCP, TCP_USER_TIMEOUT,
                         (int)(TL_STREAM_USER_TIMEOUT_NS / 1000000), "TCP_USER_TIMEOUT", reterr);
    if (status == TL_OK && options->rcvbuf_bytes > 0)
        status = set_int(fd, SOL_SOCKET, SO_RCVBUF, options->rcvbuf_bytes, "SO_RCVBUF", reterr);
    if (status == TL_OK && options->sndbuf_bytes > 0)
        status = set_int(fd, SOL_SOCKET, SO_SNDBUF, options->sndbuf_bytes, "SO_SNDBUF", reterr);
    if (status == TL_OK && options->maxseg_bytes > 0)
        status = set_int(fd, IPPROTO_TCP, TCP_MAXSEG, options->maxseg_bytes, "TCP_MAXSEG", reterr);
    if (status == TL_OK && options->rcvbuf_bytes > 0 && options->accepted)
        open_window_clamp(fd);
    if (status == TL_OK && options->notsent_lowat_bytes > 0)
        status = set_int(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, options->notsent_lowat_bytes,
                         "TCP_NOTSENT_LOWAT", reterr);
    if (status == TL_OK && options->dscp > 0)
        status = set_dscp(fd, options->dscp, reterr);
    if (status == TL_OK && options->max_pacing_bps > 0)
        status = set_pacing(fd, options->max_pacing_bps, reterr);
    if (status == TL_OK && options->congestion[0] != '\0')
        status = set_congestion(fd, options->congestion, reterr);
    return status;
}

enum tl_status tl_stream_congestion(int fd, char ret_name[TL_STREAM_CONGESTION_SIZE])
{
    char name[TL_STREAM_CONGESTION_SIZE + 1] = "";
    socklen_t len = TL_STREAM_CONGESTION_SIZE;
    if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len) < 0)
        return TL_IO;
    memcpy(ret_name, name, TL_STREAM_CONGESTION_SIZE);
    ret_name[TL_STREAM_CONGESTION_SIZE - 1] = '\0';
    return TL_OK;
}

/* A connection that is opened only to be looked at from both ends. */
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "client_private.h"
#include "path_syn.h"
#include "socket_address.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/client_path.h"
#include "tightlink/engine/sampler.h"

#define REPORT_MAX 512 /* an answer, or an error with its sentence */

static enum tl_status failed(const struct tl_client *client, int errnum, struct tl_error *reterr)
{
    return tl_error_set(reterr, tl_status_from_errno(errnum),
                        "a connection to %s to look at its handshake: %s", client->host,
                        strerror(errnum));
}

/* Waits for events on fd; TL_TIMEOUT at until_ns. */
static enum tl_status wait_for(const struct tl_client *client, int fd, short events,
                               int64_t until_ns, struct tl_error *reterr)
{
    for (;;) {
        struct pollfd fds[2] = {{.fd = fd, .events = events},
                                {.fd = client->cancel_fd, .events = POLLIN}};
        int64_t wait_ns = until_ns - tl_now_ns();
        if (wait_ns <= 0)
            return failed(client, ETIMEDOUT, reterr);
        (void)poll(fds, 2, (int)(wait_ns / TL_NS_PER_MS) + 1);
        if (fds[1].revents)
            return tl_error_set(reterr, TL_CANCELLED, "cancelled");
        if (fds[0].revents)
            return TL_OK;
    }
}

static enum tl_status dial(const struct tl_client *client, int64_t until_ns, int *ret_fd,
                           struct tl_error *reterr)
{
    const struct sockaddr *peer = (const struct sockaddr *)&client->info.peer;
    struct sockaddr_storage local = client->info.local;
    socklen_t len = socket_address_len(&client->info.peer);
    int on = 1, errnum = 0;
    socket_address_set_port(&local, 0);
    int fd = socket(peer->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    *ret_fd = fd;
    if (fd < 0)
        return failed(client, errno, reterr);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&local, len) < 0 ||
        (connect(fd, peer, len) < 0 && errno != EINPROGRESS))
        return failed(client, errno, reterr);
    enum tl_status status = wait_for(client, fd, POLLOUT, until_ns, reterr);
    len = sizeof errnum;
    if (status == TL_OK && getsockopt(fd, SOL_SOCKET, SO_ERROR, &errnum, &len) < 0)
        errnum = errno;
    return status == TL_OK && errnum ? failed(client, errnum, reterr) : status;
}

static enum tl_status take_report(const struct tl_client *client, const struct tl_wire_frame *frame,
                                  struct tl_wire_syn_report *ret_report, struct tl_error *reterr)
{
    if (frame->type == TL_WIRE_SYN_REPORT)
        return tl_wire_decode_syn_report(frame->payload, frame->payload_len, ret_report, reterr);
    return tl_error_set(reterr, TL_DENIED, "%s does not tell how a handshake arrived",
                        client->host);
}

static enum tl_status ask(struct tl_client *client, int fd, int64_t until_ns,
                          struct tl_wire_syn_report *ret_report, struct tl_error *reterr)
{
    uint8_t frame[TL_WIRE_FRAME_MAX], in[REPORT_MAX];
    struct tl_wire_syn_query query = {.version = TL_WIRE_VERSION};
    if (!client_token(client, SECURE_SYN, 0, 0, &query.token))
        return tl_error_set(reterr, TL_NOMEM, "no memory for a token");
    size_t len = tl_wire_encode_syn_query(&query, frame), in_len = 0;
    if (send(fd, frame, len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)len)
        return failed(client, errno, reterr);
    for (;;) {
        struct tl_wire_frame answer;
        enum tl_status status = wait_for(client, fd, POLLIN, until_ns, reterr);
        if (status != TL_OK)
            return status;
        ssize_t got = recv(fd, in + in_len, sizeof in - in_len, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (got <= 0)
            return tl_error_set(reterr, TL_CLOSED, "%s closed a connection without an answer",
                                client->host);
        in_len += (size_t)got;
        status = tl_wire_peek(in, in_len, &answer, reterr);
        if (status != TL_OK || answer.frame_len > 0)
            return status == TL_OK ? take_report(client, &answer, ret_report, reterr) : status;
    }
}

/* Whether the far end sees the address that this end has. */
static bool same_address(const struct tl_client *client, const uint8_t address[16])
{
    uint8_t ours[16] = {[10] = 0xff, [11] = 0xff};
    const struct sockaddr_storage *local = &client->info.local;
    if (local->ss_family == AF_INET6)
        memcpy(ours, &((const struct sockaddr_in6 *)local)->sin6_addr, sizeof ours);
    else
        memcpy(ours + 12, &((const struct sockaddr_in *)local)->sin_addr, 4);
    return memcmp(ours, address, sizeof ours) == 0;
}

enum tl_status tl_client_syn(struct tl_client *client, bool beside,
                             struct tl_syn_result *ret_result, struct tl_error *reterr)
{
    struct tl_syn_result result = {0};
    struct tl_tcp_sample sample = {0};
    int fd = -1;
    enum tl_status status = beside ? TL_OK : client_wake(client, reterr);
    if (status != TL_OK)
        return status;
    int64_t begun_ns = tl_now_ns(), until_ns = begun_ns + client->timeout_ns;
    status = dial(client, until_ns, &fd, reterr);
    if (status == TL_OK) {
        tl_sample_read_socket(fd, &sample);
        int64_t took_ns = tl_now_ns() - begun_ns;
        int64_t rtt_ns = (int64_t)tl_sample_get(&sample, TL_SF_rtt_ns);
        result.handshake_rtt_ns = rtt_ns > 0 && rtt_ns < took_ns ? rtt_ns : took_ns;
        result.advmss_bytes = path_syn_advmss(&sample);
        result.snd_mss_bytes = (uint32_t)tl_sample_get(&sample, TL_SF_snd_mss_bytes);
        result.pmtu_bytes = (uint32_t)tl_sample_get(&sample, TL_SF_pmtu_bytes);
        result.snd_wnd_bytes = (uint32_t)tl_sample_get(&sample, TL_SF_snd_wnd_bytes);
        result.negotiated = (unsigned)tl_sample_get(&sample, TL_SF_options);
        begun_ns = tl_now_ns();
        status = ask(client, fd, until_ns, &result.far, reterr);
    }
    if (fd >= 0)
        close(fd);
    if (status != TL_OK)
        return status;
    result.answer_rtt_ns = tl_now_ns() - begun_ns;
    result.far_sees_our_address = same_address(client, result.far.address);
    *ret_result = result;
    return TL_OK;
}

/* Dialling: TCP connect, HELLO and WELCOME, and a good guess at who else listens there. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "client_private.h"
#include "tightlink/base/random.h"
#include "tightlink/base/time.h"
#include "tightlink/base/utf8.h"
#include "tightlink/engine/sampler.h"

#define POKE_NS  TL_NS_PER_S           /* a line-based server gets that long to complain */
#define STALE_NS (1500 * TL_NS_PER_MS) /* after that silence a connection is tried before use */

/* The control connection has to live where large packets vanish, in either direction: it says so
 * in its SYN. The least that every host takes (RFC 9293, 3.7.1); a few small frames a second
 * lose nothing by it. */
#define CONTROL_MSS 536
/* Readings of both ends come over it, some 10 kB a second and stream. A host whose TCP buffers are
 * held small for measurement's sake, or by mistake, must not starve them: they would arrive a
 * minute late over a satellite, and look like a dead far end. */
#define CONTROL_BUFFER_BYTES (128 << 10)

/* --- TCP ------------------------------------------------------------------------------- */

static enum tl_status explain_connect(const struct tl_client *client, int errnum,
                                      struct tl_error *reterr)
{
    const char *host = client->host;
    int port = client->port;
    switch (errnum) {
    case ECONNREFUSED:
        return tl_error_set(reterr, TL_REFUSED,
                            "nothing listens on port %d of %s: start `tightlink serve --open` "
                            "there",
                            port, host);
    case ETIMEDOUT:
        return tl_error_set(reterr, TL_TIMEOUT,
                            "%s does not answer on port %d: the host is off, or a firewall drops "
                            "TCP to that port",
                            host, port);
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EADDRNOTAVAIL:
        return tl_error_set(reterr, TL_UNREACHABLE, "no way to %s: %s", host, strerror(errnum));
    case EACCES:
    case EPERM:
        return tl_error_set(reterr, TL_DENIED,
                            "this host forbids the connection to %s port %d (local firewall)", host,
                            port);
    default:
        return tl_error_set(reterr, tl_status_from_errno(errnum), "connecting to %s port %d: %s",
                            host, port, strerror(errnum));
    }
}

/* Waits until a non-blocking connect is through. */
static enum tl_status await_connect(const struct tl_client *client, int fd, struct tl_error *reterr)
{
    int64_t until_ns = tl_now_ns() + client->timeout_ns;
    for (;;) {
        struct pollfd fds[2] = {{.fd = fd, .events = POLLOUT},
                                {.fd = client->cancel_fd, .events = POLLIN}};
        int64_t wait_ns = until_ns - tl_now_ns();
        if (wait_ns <= 0)
            return explain_connect(client, ETIMEDOUT, reterr);
        (void)poll(fds, 2, (int)(wait_ns / TL_NS_PER_MS) + 1);
        if (fds[1].revents)
            return tl_error_set(reterr, TL_CANCELLED, "cancelled while connecting to %s",
                                client->host);
        if (!fds[0].revents)
            continue;
        int errnum = 0;
        socklen_t len = sizeof(errnum);
        if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &errnum, &len) < 0)
            errnum = errno;
        return errnum == 0 ? TL_OK : explain_connect(client, errnum, reterr);
    }
}

/* Where the host's own default is larger it stays, and grows by itself. */
static void widen(int fd)
{
    int have = 0, wanted = CONTROL_BUFFER_BYTES;
    socklen_t len = sizeof(have);
    if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &have, &len) == 0 && have < wanted)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &wanted, sizeof(wanted));
}

static enum tl_status connect_tcp(struct tl_client *client, const struct sockaddr *address,
                                  socklen_t len, struct tl_error *reterr)
{
    /* Beside an upload a ping waits in the queue that it fills, and may be dropped there: silence
     * is judged by what comes back. */
    int on = 1, timeout_ms = (int)(2 * TL_CLIENT_SILENT_NS / TL_NS_PER_MS), mss = CONTROL_MSS;
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return explain_connect(client, errno, reterr);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof(mss));
    widen(fd);
    enum tl_status status = TL_OK;
    if (connect(fd, address, len) < 0)
        status = errno == EINPROGRESS ? await_connect(client, fd, reterr)
                                      : explain_connect(client, errno, reterr);
    if (status == TL_OK)
        client->fd = fd;
    else
        close(fd);
    return status;
}

/* --- Strangers --------------------------------------------------------------------------- */

/* What speaks first, or answers nonsense, in this way. */
static const char *known_speaker(const uint8_t *bytes, size_t len)
{
    static const struct {
        const char *start;
        const char *name;
    } speakers[] = {
        {"HTTP/", "HTTP"}, {"<!DOCTYPE", "HTTP"},  {"<html", "HTTP"},         {"<HTML", "HTTP"},
        {"SSH-", "SSH"},   {"220", "SMTP or FTP"}, {"\x15\x03", "TLS"},       {"+OK", "POP3"},
        {"* OK", "IMAP"},  {"RFB ", "VNC"},        {"HELO nuttcp", "nuttcp"}, {"KO", "nuttcp"},
    };
    for (size_t i = 0; i < sizeof(speakers) / sizeof(speakers[0]); i++) {
        size_t start = strlen(speakers[i].start);
        if (len >= start && memcmp(bytes, speakers[i].start, start) == 0)
            return speakers[i].name;
    }
    /* iperf3's server takes any 37 bytes for its cookie and sends one state byte:
     * 9 (asks for parameters), or -1 (busy). */
    if (len >= 1 && len < TL_WIRE_HEADER_SIZE && (bytes[0] == 9 || bytes[0] == 0xff))
        return "iperf3";
    return NULL;
}

static enum tl_status explain_stranger(const struct tl_client *client, struct tl_error *reterr)
{
    const char *name = known_speaker(client->in, client->in_len);
    if (name)
        return tl_error_set(reterr, TL_PROTOCOL,
                            "%s port %d answers, but with %s, not tightlink: start `tightlink "
                            "serve --open` there on a free port and give it with --port",
                            client->host, client->port, name);
    return tl_error_set(reterr, TL_PROTOCOL,
                        "%s port %d answers, but not with tightlink: is the port right, and "
                        "does `tightlink serve --open` run there?",
                        client->host, client->port);
}

/* A line-based server waits for the end of the line that it takes our HELLO for. */
static void poke(struct tl_client *client)
{
    struct pollfd input = {.fd = client->fd, .events = POLLIN};
    if (send(client->fd, "\r\n\r\n", 4, MSG_NOSIGNAL | MSG_DONTWAIT) != 4 ||
        poll(&input, 1, (int)(POKE_NS / TL_NS_PER_MS)) <= 0)
        return;
    ssize_t got = recv(client->fd, client->in + client->in_len, sizeof(client->in) - client->in_len,
                       MSG_DONTWAIT);
    if (got > 0)
        client->in_len += (size_t)got;
}

/* No WELCOME came. Keeps a status that says more than "stranger" would. */
static enum tl_status explain_silence(struct tl_client *client, enum tl_status status,
                                      struct tl_error *reterr)
{
    if (status == TL_PROTOCOL && client->stale)
        return status; /* the responder itself told us of an error */
    if (status == TL_PROTOCOL)
        return explain_stranger(client, reterr);
    if (status == TL_TIMEOUT && !client->stale && !client->secure && client->in_len == 0)
        poke(client);
    if ((status == TL_TIMEOUT || status == TL_CLOSED) && !client->stale && client->in_len > 0)
        return explain_stranger(client, reterr);
    if (status == TL_CLOSED && !client->stale)
        return tl_error_set(reterr, TL_PROTOCOL,
                            "%s port %d closed the connection without a word: that is no "
                            "tightlink, or it does not want this address",
                            client->host, client->port);
    if (status == TL_TIMEOUT && !client->stale)
        return tl_error_set(reterr, TL_TIMEOUT,
                            "%s port %d takes the connection but says nothing: that is no "
                            "tightlink, or it hangs",
                            client->host, client->port);
    return status;
}

/* --- Key mode ------------------------------------------------------------------------------ */

/* Proves the key to the responder and lets it prove its own. */
static enum tl_status prove_key(struct tl_client *client, struct tl_error *reterr)
{
    int64_t until_ns = tl_now_ns() + client->timeout_ns;
    client->secure = secure_create(client->secured, client->fd);
    if (!client->secure)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a TLS connection");
    while (secure_handshake(client->secure) < 0) {
        if (errno != EAGAIN)
            return client_closed(client, errno, reterr);
        if (tl_now_ns() >= until_ns)
            return tl_error_set(reterr, TL_TIMEOUT,
                                "%s port %d takes the connection but does not answer in TLS: is "
                                "it a tightlink with a key?",
                                client->host, client->port);
        enum tl_status status = client_wait(client, -1, until_ns, reterr);
        if (status != TL_OK)
            return status;
    }
    return TL_OK;
}

/* --- HELLO --------------------------------------------------------------------------------- */

static enum tl_status say_hello(struct tl_client *client, struct tl_wire_welcome *ret_welcome,
                                struct tl_error *reterr)
{
    uint8_t bytes[TL_WIRE_FRAME_MAX];
    struct tl_wire_frame frame;
    struct tl_wire_hello hello = {.version = TL_WIRE_VERSION};
    memcpy(hello.program, client->program, sizeof(hello.program));
    enum tl_status status = tl_random_secure(&hello.nonce, sizeof(hello.nonce));
    if (status != TL_OK)
        return tl_error_set(reterr, status, "no random numbers from the kernel");
    status = client_send(client, bytes, tl_wire_encode_hello(&hello, bytes), reterr);
    if (status == TL_OK)
        status =
            client_await(client, tl_now_ns() + client->timeout_ns, "its WELCOME", &frame, reterr);
    if (status != TL_OK)
        return explain_silence(client, status, reterr);
    if (frame.type != TL_WIRE_WELCOME)
        return explain_stranger(client, reterr);
    status = tl_wire_decode_welcome(frame.payload, frame.payload_len, ret_welcome, reterr);
    if (status == TL_OK && !tl_wire_token_equal(&ret_welcome->nonce, &hello.nonce))
        status = explain_stranger(client, reterr);
    return status;
}

static void fill_address(struct tl_client_info *info)
{
    if (info->peer.ss_family == AF_INET6) {
        const struct sockaddr_in6 *peer = (const struct sockaddr_in6 *)&info->peer;
        (void)inet_ntop(AF_INET6, &peer->sin6_addr, info->address, sizeof(info->address));
        info->family = 6;
    } else {
        const struct sockaddr_in *peer = (const struct sockaddr_in *)&info->peer;
        (void)inet_ntop(AF_INET, &peer->sin_addr, info->address, sizeof(info->address));
        info->family = 4;
    }
}

/* The handshake's RTT as the kernel took it: a SYN sent again does not count in. */
static int64_t handshake_rtt_ns(int fd, int64_t took_ns)
{
    struct tl_tcp_sample sample = {0};
    tl_sample_read_socket(fd, &sample);
    uint64_t rtt_ns = tl_sample_get(&sample, TL_SF_rtt_ns);
    return rtt_ns > 0 && rtt_ns < (uint64_t)took_ns ? (int64_t)rtt_ns : took_ns;
}

static enum tl_status take_token(struct tl_client *client, const struct tl_wire_token *token,
                                 struct tl_error *reterr)
{
    struct tl_wire_token udp_token;
    struct udp_seal udp_seal;
    client->token = *token;
    if (!client_token(client, SECURE_UDP, 0, 0, &udp_token) ||
        !secure_seal(client->secure, &udp_seal))
        return tl_error_set(reterr, TL_NOMEM, "no memory for a token");
    pthread_mutex_lock(&client->token_lock);
    client->udp_token = udp_token;
    client->udp_seal = udp_seal;
    pthread_mutex_unlock(&client->token_lock);
    return TL_OK;
}

static void fill_info(struct tl_client *client, const struct tl_wire_welcome *welcome)
{
    struct tl_client_info *info = &client->info;
    socklen_t len = sizeof(info->local);
    (void)getsockname(client->fd, (struct sockaddr *)&info->local, &len);
    fill_address(info);
    tl_utf8_clean(welcome->program, strnlen(welcome->program, sizeof(welcome->program)),
                  info->program, sizeof(info->program));
    info->keyed = client->secure != NULL;
    info->max_duration_ns = welcome->max_seconds * TL_NS_PER_S;
    info->max_streams = welcome->max_streams;
    info->rate_cap_bps = (double)welcome->rate_cap_bps;
    info->quota_left_bytes = welcome->quota_left_bytes;
}

enum tl_status client_dial(struct tl_client *client, const struct sockaddr *address, socklen_t len,
                           struct tl_error *reterr)
{
    struct tl_wire_welcome welcome;
    client_hang_up(client);
    client->stale = false;
    client_expect(client, 0, 0);
    int64_t start_ns = tl_now_ns();
    enum tl_status status = connect_tcp(client, address, len, reterr);
    if (status != TL_OK)
        return status;
    int64_t connected_ns = tl_now_ns();
    if (client->ret_reached_ns)
        *client->ret_reached_ns = connected_ns;
    int64_t rtt_ns = handshake_rtt_ns(client->fd, connected_ns - start_ns);
    memcpy(&client->info.peer, address, len);
    if (client->secured)
        status = prove_key(client, reterr);
    if (status == TL_OK)
        status = say_hello(client, &welcome, reterr);
    if (status == TL_OK)
        status = take_token(client, &welcome.token, reterr);
    if (status != TL_OK) {
        client_hang_up(client);
        return status;
    }
    client->info.connect_rtt_ns = rtt_ns;
    client->hops_count = 0; /* perhaps by another way than before */
    client->info.hello_rtt_ns = tl_now_ns() - connected_ns;
    fill_info(client, &welcome);
    return TL_OK;
}

static socklen_t address_length(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                          : sizeof(struct sockaddr_in);
}

enum tl_status client_wake(struct tl_client *client, struct tl_error *reterr)
{
    if (client_cancelled(client))
        return tl_error_set(reterr, TL_CANCELLED, "cancelled");
    client_expect(client, 0, 0);
    if (client->fd >= 0 && !client->stale) {
        if (tl_now_ns() - client->heard_ns < STALE_NS)
            return TL_OK;
        enum tl_status status = tl_client_ping(client, NULL, NULL);
        if (status == TL_OK || status == TL_CANCELLED)
            return status;
    }
    struct sockaddr_storage peer = client->info.peer;
    enum tl_status status =
        client_dial(client, (struct sockaddr *)&peer, address_length(&peer), reterr);
    /* Something listened there when the session began. */
    return status == TL_REFUSED ? client_gone(client, reterr) : status;
}

/* Opening the data connections of a granted test, all at once: on a path of 600 ms one
 * after the other would take longer than the responder waits.
 *
 *   connect -> CONNECTING -- writable --> DATA_HELLO sent, ANSWERING -- DATA_OK --> OPEN
 *
 * Exactly the answer's bytes are read: what follows is payload, for the stream's worker. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client_tcp.h"
#include "socket_address.h"
#include "tightlink/base/time.h"
#include "tightlink/base/utf8.h"
#include "tightlink/engine/sampler.h"

enum dial_state { DIAL_CONNECTING, DIAL_ANSWERING, DIAL_OPEN };

struct dial {
    int fd;
    enum dial_state state;
    int64_t begun_ns;
    size_t in_len;
    uint8_t in[TL_WIRE_FRAME_MAX];
};

static const struct tcp_lane *lane_of(const struct tcp_run *run, unsigned connection)
{
    return &run->lanes[connection / run->ready.streams];
}

static struct tl_stream_options near_options(const struct tcp_run *run, unsigned connection)
{
    const struct tl_tcp_spec *spec = run->spec;
    struct tl_stream_options options = {.maxseg_bytes = spec->maxseg_bytes, .dscp = spec->dscp};
    if (lane_of(run, connection)->result->near_sends) {
        options.sndbuf_bytes = spec->sndbuf_bytes;
        options.notsent_lowat_bytes = spec->notsent_lowat_bytes;
        options.max_pacing_bps =
            client_smaller(spec->pacing_bps, run->ready.pacing_bps) / run->ready.streams;
        memcpy(options.congestion, spec->congestion, sizeof(options.congestion));
    } else {
        options.rcvbuf_bytes = spec->rcvbuf_bytes;
    }
    return options;
}

/* From the address of the control connection: a responder takes data from no other. */
static enum tl_status bind_local(const struct tl_client *client, int fd, struct tl_error *reterr)
{
    struct sockaddr_storage local = client->info.local;
    int on = 1;
    socket_address_set_port(&local, 0);
    (void)setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
    if (bind(fd, (struct sockaddr *)&local, socket_address_len(&local)) == 0)
        return TL_OK;
    return tl_error_set(reterr, TL_UNREACHABLE, "our address is gone: %s", strerror(errno));
}

static enum tl_status begin_dial(struct tcp_run *run, struct dial *dial, unsigned connection,
                                 struct tl_error *reterr)
{
    struct tl_client *client = run->client;
    struct tl_stream_options options = near_options(run, connection);
    const struct sockaddr *peer = (const struct sockaddr *)&client->info.peer;
    socklen_t len =
        peer->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    dial->fd = socket(peer->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (dial->fd < 0)
        return tl_error_set(reterr, TL_IO, "a data socket: %s", strerror(errno));
    enum tl_status status = tl_stream_options_apply(dial->fd, &options, reterr);
    if (status == TL_OK)
        status = bind_local(client, dial->fd, reterr);
    if (status != TL_OK)
        return status;
    dial->begun_ns = tl_now_ns();
    if (connect(dial->fd, peer, len) < 0 && errno != EINPROGRESS)
        return tl_error_set(reterr, tl_status_from_errno(errno), "a data connection to %s: %s",
                            client->host, strerror(errno));
    return TL_OK;
}

static void note_rtt(struct tcp_run *run, const struct dial *dial)
{
    struct tl_tcp_sample sample = {0};
    tl_sample_read_socket(dial->fd, &sample);
    int64_t rtt_ns = tl_now_ns() - dial->begun_ns;
    int64_t kernel_ns = (int64_t)tl_sample_get(&sample, TL_SF_rtt_ns);
    if (kernel_ns > 0 && kernel_ns < rtt_ns)
        rtt_ns = kernel_ns;
    if (run->result->data_rtt_ns < 0 || rtt_ns < run->result->data_rtt_ns)
        run->result->data_rtt_ns = rtt_ns;
}

static enum tl_status say_data_hello(struct tcp_run *run, struct dial *dial, unsigned stream,
                                     struct tl_error *reterr)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    int errnum = 0;
    socklen_t error_len = sizeof(errnum);
    (void)getsockopt(dial->fd, SOL_SOCKET, SO_ERROR, &errnum, &error_len);
    if (errnum != 0)
        return tl_error_set(reterr, tl_status_from_errno(errnum), "a data connection to %s: %s",
                            run->client->host, strerror(errnum));
    note_rtt(run, dial);
    struct tl_wire_data_hello hello = {
        .version = TL_WIRE_VERSION, .stream = (uint16_t)stream, .test_id = run->ready.test_id};
    if (!client_token(run->client, SECURE_DATA, hello.test_id, hello.stream, &hello.token))
        return tl_error_set(reterr, TL_NOMEM, "no memory for the token of a data connection");
    size_t len = tl_wire_encode_data_hello(&hello, frame);
    if (send(dial->fd, frame, len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)len)
        return tl_error_set(reterr, TL_CLOSED, "%s closed a data connection", run->client->host);
    dial->state = DIAL_ANSWERING;
    return TL_OK;
}

static enum tl_status judge_answer(struct tcp_run *run, struct dial *dial, unsigned stream,
                                   const struct tl_wire_frame *frame, struct tl_error *reterr)
{
    struct tl_wire_data_ok ok;
    if (frame->type == TL_WIRE_ERROR) {
        struct tl_wire_error error;
        char text[2 * TL_WIRE_ERROR_SIZE];
        enum tl_status status =
            tl_wire_decode_error(frame->payload, frame->payload_len, &error, reterr);
        if (status != TL_OK)
            return status;
        tl_utf8_clean(error.text, strnlen(error.text, sizeof(error.text)), text, sizeof(text));
        const char *why = error.code == TL_WIRE_E_TOKEN
                              ? " (does a translator on the way give each connection another "
                                "address?)"
                              : "";
        return tl_error_set(reterr, TL_DENIED, "%s refused a data connection: %s%s",
                            run->client->host, text, why);
    }
    if (frame->type != TL_WIRE_DATA_OK)
        return tl_error_set(reterr, TL_PROTOCOL, "%s answered a data connection with %s",
                            run->client->host, tl_wire_type_name(frame->type));
    enum tl_status status = tl_wire_decode_data_ok(frame->payload, frame->payload_len, &ok, reterr);
    if (status != TL_OK)
        return status;
    if (ok.test_id != run->ready.test_id || ok.stream != stream)
        return tl_error_set(reterr, TL_PROTOCOL, "%s confused two data connections",
                            run->client->host);
    dial->state = DIAL_OPEN;
    return TL_OK;
}

/* Bytes of the answer that are still missing: its head first, then what that says. */
static size_t missing_bytes(const struct dial *dial)
{
    if (dial->in_len < TL_WIRE_HEADER_SIZE)
        return TL_WIRE_HEADER_SIZE - dial->in_len;
    size_t whole = TL_WIRE_HEADER_SIZE + ((size_t)dial->in[0] << 8 | dial->in[1]);
    return whole - dial->in_len;
}

static enum tl_status read_answer(struct tcp_run *run, struct dial *dial, unsigned stream,
                                  struct tl_error *reterr)
{
    for (;;) {
        struct tl_wire_frame frame;
        enum tl_status status = tl_wire_peek(dial->in, dial->in_len, &frame, reterr);
        if (status != TL_OK)
            return status;
        if (frame.frame_len > 0)
            return judge_answer(run, dial, stream, &frame, reterr);
        ssize_t got = recv(dial->fd, dial->in + dial->in_len, missing_bytes(dial), MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return TL_OK;
        if (got <= 0)
            return tl_error_set(reterr, TL_CLOSED, "%s closed a data connection",
                                run->client->host);
        dial->in_len += (size_t)got;
    }
}

static enum tl_status advance(struct tcp_run *run, struct dial *dial, unsigned stream,
                              struct tl_error *reterr)
{
    return dial->state == DIAL_CONNECTING ? say_data_hello(run, dial, stream, reterr)
                                          : read_answer(run, dial, stream, reterr);
}

/* One wait for all. *ret_open counts the open ones before it. */
static enum tl_status poll_dials(struct tcp_run *run, struct dial *dials, int64_t until_ns,
                                 unsigned *ret_open, struct tl_error *reterr)
{
    struct pollfd fds[TL_WIRE_STREAMS_MAX + 1];
    unsigned streams = run->connections;
    int64_t wait_ns = until_ns - tl_now_ns();
    *ret_open = 0;
    for (unsigned i = 0; i < streams; i++) {
        bool open = dials[i].state == DIAL_OPEN;
        fds[i] = (struct pollfd){.fd = open ? -1 : dials[i].fd,
                                 .events = dials[i].state == DIAL_CONNECTING ? POLLOUT : POLLIN};
        *ret_open += open;
    }
    if (*ret_open == streams)
        return TL_OK;
    if (wait_ns <= 0)
        return tl_error_set(reterr, TL_TIMEOUT,
                            "%u of %u data connections to %s port %d did not open: a firewall or "
                            "a limit of connections on the way?",
                            streams - *ret_open, streams, run->client->host, run->client->port);
    fds[streams] = (struct pollfd){.fd = run->client->cancel_fd, .events = POLLIN};
    (void)poll(fds, streams + 1, (int)(wait_ns / TL_NS_PER_MS) + 1);
    if (fds[streams].revents)
        return tl_error_set(reterr, TL_CANCELLED, "cancelled");
    enum tl_status status = TL_OK;
    for (unsigned i = 0; i < streams && status == TL_OK; i++)
        if (fds[i].revents)
            status = advance(run, &dials[i], i, reterr);
    return status;
}

uint16_t client_near_port(int fd)
{
    struct sockaddr_storage local = {.ss_family = AF_UNSPEC};
    socklen_t len = sizeof local;
    if (getsockname(fd, (struct sockaddr *)&local, &len) < 0)
        return 0;
    return local.ss_family == AF_INET6  ? ntohs(((struct sockaddr_in6 *)&local)->sin6_port)
           : local.ss_family == AF_INET ? ntohs(((struct sockaddr_in *)&local)->sin_port)
                                        : 0;
}

static enum tl_status open_all(struct tcp_run *run, struct dial *dials, struct tl_error *reterr)
{
    int64_t until_ns = tl_now_ns() + run->client->timeout_ns;
    unsigned open = 0;
    enum tl_status status = TL_OK;
    for (unsigned i = 0; i < run->connections && status == TL_OK; i++)
        status = begin_dial(run, &dials[i], i, reterr);
    while (status == TL_OK && open < run->connections)
        status = poll_dials(run, dials, until_ns, &open, reterr);
    for (unsigned i = 0; i < run->connections && status == TL_OK; i++) {
        const struct tcp_lane *lane = lane_of(run, i);
        lane->result->near_ports[i - lane->first] = client_near_port(dials[i].fd);
        status = tl_streams_add(lane->near, dials[i].fd, reterr);
        if (status == TL_OK)
            dials[i].fd = -1; /* the streams own it now */
        if (status == TL_OK && run->spec->file)
            status = client_file_give_store(run, i, reterr);
    }
    return status;
}

enum tl_status client_open_data(struct tcp_run *run, struct tl_error *reterr)
{
    struct dial *dials = calloc(run->connections, sizeof(*dials));
    if (!dials)
        return tl_error_set(reterr, TL_NOMEM, "no memory for data connections");
    for (unsigned i = 0; i < run->connections; i++)
        dials[i].fd = -1;
    enum tl_status status = open_all(run, dials, reterr);
    for (unsigned i = 0; i < run->connections; i++)
        if (dials[i].fd >= 0)
            close(dials[i].fd);
    free(dials);
    return status;
}

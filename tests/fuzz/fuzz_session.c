/* The responder's sessions: a client that has said HELLO and goes on with any frames in any order,
 * opens the data connections of what is granted, and leaves in the middle. The responder runs in a
 * thread of this process, over loopback. What must hold: it says frames alone, answers a PING
 * behind whatever came before or has hung up, and greets the next. */
#include "fuzz.h"

#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tightlink/base/time.h"
#include "tightlink/engine/responder.h"
#include "tightlink/engine/udp_wire.h"
#include "tightlink/engine/wire.h"

unsigned long fuzz_accepted;

/* Where the machine has other work an answer takes long; none is a fault all the same. */
enum { STREAMS_MAX = 4, ANSWER_MS = 60000 };
#define GREETED_NS (2 * TL_NS_PER_S) /* the responder waits for 3 s */

#define REST_NS (30 * TL_NS_PER_S)

static int port;
static unsigned descriptors_at_rest;

static unsigned descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;
    MUST(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static void *serve(void *responder)
{
    MUST(tl_responder_run(responder, NULL) == TL_OK);
    return NULL;
}

static void start(void)
{
    struct tl_responder *responder;
    struct tl_responder_options options = {
        .bind_address = "127.0.0.1", .max_seconds = 1, .max_streams = STREAMS_MAX};
    struct tl_error error = {0};
    pthread_t thread;
    MUST(tl_responder_create(&options, &responder, &error) == TL_OK);
    MUST(pthread_create(&thread, NULL, serve, responder) == 0);
    /* libFuzzer looks at its own time by signals, which end a poll(); what hangs ends by ANSWER_MS.
     */
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    MUST(pthread_sigmask(SIG_BLOCK, &alarms, NULL) == 0);
    port = tl_responder_port(responder);
    descriptors_at_rest = descriptors();
}

/* The responder hears of a client that has gone, and ends its test, some time after we have gone
 * on: what it held until then would be taken for growth, or hide some. */
void fuzz_rest(void)
{
    for (int64_t until_ns = tl_now_ns() + REST_NS; tl_now_ns() < until_ns;) {
        if (descriptors() <= descriptors_at_rest)
            return;
        (void)poll(NULL, 0, 10);
    }
    MUST(!"a session has not ended");
}

/* From another network each time: shares by network are not what is tried here. */
static int dial(uint32_t from)
{
    struct linger none = {1, 0};
    int on = 1;
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr = {htonl(from)}};
    struct sockaddr_in far = {.sin_family = AF_INET,
                              .sin_port = htons((uint16_t)port),
                              .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    MUST(fd >= 0);
    MUST(setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none) == 0);
    MUST(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0);
    MUST(bind(fd, (struct sockaddr *)&own, sizeof own) == 0);
    MUST(connect(fd, (struct sockaddr *)&far, sizeof far) == 0);
    return fd;
}

struct client {
    int fd;
    uint32_t from;
    struct tl_wire_token token;
    uint8_t in[2 * TL_WIRE_FRAME_MAX];
    size_t len;
    int streams[STREAMS_MAX];
    unsigned stream_count;
    bool open;
};

static void join(struct client *client, const struct tl_wire_ready *ready)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    while (client->stream_count < ready->streams && client->stream_count < STREAMS_MAX) {
        struct tl_wire_data_hello hello = {.version = TL_WIRE_VERSION,
                                           .stream = (uint16_t)client->stream_count,
                                           .test_id = ready->test_id,
                                           .token = client->token};
        int fd = dial(client->from);
        size_t len = tl_wire_encode_data_hello(&hello, frame);
        (void)!send(fd, frame, len, MSG_NOSIGNAL);
        client->streams[client->stream_count++] = fd;
    }
}

static void take_frame(struct client *client, const struct tl_wire_frame *frame)
{
    struct tl_wire_welcome welcome;
    struct tl_wire_ready ready;
    fuzz_accepted++;
    if (frame->type == TL_WIRE_WELCOME) {
        MUST(tl_wire_decode_welcome(frame->payload, frame->payload_len, &welcome, NULL) == TL_OK);
        client->token = welcome.token;
    } else if (frame->type == TL_WIRE_READY) {
        MUST(tl_wire_decode_ready(frame->payload, frame->payload_len, &ready, NULL) == TL_OK);
        MUST(ready.duration_ms <= 1000 && ready.streams <= STREAMS_MAX);
        join(client, &ready);
    }
}

/* Until a frame of that type, or the end. */
static void listen_to(struct client *client, unsigned wanted)
{
    struct tl_wire_frame frame;
    for (unsigned type = 0; client->open && type != wanted;) {
        struct pollfd ready = {client->fd, POLLIN, 0};
        MUST(poll(&ready, 1, ANSWER_MS) == 1);
        ssize_t got =
            recv(client->fd, client->in + client->len, sizeof client->in - client->len, 0);
        client->open = got > 0;
        client->len += got > 0 ? (size_t)got : 0;
        for (;;) {
            MUST(tl_wire_peek(client->in, client->len, &frame, NULL) == TL_OK);
            if (frame.frame_len == 0)
                break;
            type = type == wanted ? type : frame.type;
            take_frame(client, &frame);
            client->len -= frame.frame_len;
            memmove(client->in, client->in + frame.frame_len, client->len);
        }
    }
}

/* False where it was we who were held up so long between dialling and speaking that the responder
 * has rightly hung up. */
static bool greet(struct client *client)
{
    struct tl_wire_hello hello = {.version = TL_WIRE_VERSION, .program = "fuzz"};
    uint8_t frame[TL_WIRE_FRAME_MAX];
    size_t len = tl_wire_encode_hello(&hello, frame);
    unsigned long before = fuzz_accepted;
    int64_t begun_ns = tl_now_ns();
    client->fd = dial(client->from);
    bool said = send(client->fd, frame, len, MSG_NOSIGNAL) == (ssize_t)len;
    bool late = tl_now_ns() - begun_ns > GREETED_NS;
    client->open = said;
    client->len = 0;
    listen_to(client, TL_WIRE_WELCOME);
    bool greeted = client->open && fuzz_accepted > before;
    MUST(greeted || late);
    if (!greeted)
        close(client->fd);
    return greeted;
}

static void ping(struct client *client)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_ping ping = {9};
    size_t len = tl_wire_encode_ping(&ping, frame);
    if (send(client->fd, frame, len, MSG_NOSIGNAL) == (ssize_t)len)
        listen_to(client, TL_WIRE_PONG);
}

/* One frame's length of the input, or what is left of it. */
static size_t next_piece(const uint8_t *data, size_t size)
{
    size_t whole = size < 2 ? size : TL_WIRE_HEADER_SIZE + ((size_t)data[0] << 8 | data[1]);
    return whole < size ? whole : size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint32_t turn;
    if (!port)
        start();
    if (size < 2)
        return 0;
    turn = (turn + 0x100) & 0xffff00;
    struct client client = {.from = 0x7f000001 + turn};
    while (!greet(&client))
        continue;
    for (size_t at = 1, piece; at < size && client.open; at += piece) {
        piece = next_piece(data + at, size - at);
        client.open = send(client.fd, data + at, piece, MSG_NOSIGNAL) == (ssize_t)piece;
        if (at + piece < size)
            ping(&client);
    }
    while (client.stream_count > 0)
        close(client.streams[--client.stream_count]);
    close(client.fd);
    return 0;
}

/* What a client says after HELLO, in one order that goes well and some that do not. */
const unsigned fuzz_seed_count = 6;

static size_t put_test(uint8_t *out, enum tl_wire_direction direction, unsigned streams)
{
    struct tl_wire_test_tcp test = {.direction = (uint8_t)direction,
                                    .streams = (uint16_t)streams,
                                    .duration_ms = 100,
                                    .max_bytes = 100000,
                                    .sample_interval_us = 10000};
    return tl_wire_encode_test_tcp(&test, out);
}

static size_t put_begin(uint8_t *out, enum tl_wire_type type)
{
    static const uint8_t id[4] = {0, 0, 0, 1};
    out[0] = 0;
    out[1] = sizeof id;
    out[2] = (uint8_t)type;
    out[3] = 0;
    memcpy(out + 4, id, sizeof id);
    return 4 + sizeof id;
}

static size_t put_empty(uint8_t *out, enum tl_wire_type type)
{
    const uint8_t head[4] = {0, 0, (uint8_t)type, 0};
    memcpy(out, head, sizeof head);
    return sizeof head;
}

size_t fuzz_seed(unsigned number, uint8_t *bytes)
{
    size_t at = 1;
    struct tl_wire_ping ping = {7};
    struct tl_wire_test_udp udp = {.datagram_bytes = 1200, .duration_ms = 100, .rate_bps = 1000000};
    struct tl_wire_udp_start start_udp = {1, 1};
    struct tl_wire_test_disk disk = {.max_bytes = 1 << 20, .duration_ms = 100};
    bytes[0] = 0;
    at += put_empty(bytes + at, number == 0 ? TL_WIRE_HOST_QUERY : TL_WIRE_PONG);
    if (number == 5)
        at += tl_wire_encode_test_disk(&disk, bytes + at);
    if (number == 4) {
        at += tl_wire_encode_test_udp(&udp, bytes + at);
        at += tl_wire_encode_udp_start(&start_udp, bytes + at);
    }
    if (number >= 1 && number <= 3) {
        at += put_test(bytes + at, (enum tl_wire_direction)(number - 1), number);
        at += tl_wire_encode_ping(&ping, bytes + at);
        at += put_begin(bytes + at, TL_WIRE_START);
        at += tl_wire_encode_ping(&ping, bytes + at);
        at += put_begin(bytes + at, TL_WIRE_STOP);
    }
    at += tl_wire_encode_ping(&ping, bytes + at);
    return at + put_empty(bytes + at, TL_WIRE_BYE);
}

/* The client against a far end that says anything: it greets well, then answers each frame of the
 * client with the next frame of the input, and hangs up behind the last. The first byte chooses
 * what the client asks for. What must hold: the call ends soon, and what it says it measured is no
 * nonsense. */
#include "fuzz.h"

#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client_private.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/client_disk.h"
#include "tightlink/engine/wire.h"

unsigned long fuzz_accepted;

enum { HOST, DOWNLOAD, UPLOAD, BOTH, DISK, PING, CALLS };
enum { PEERS = 16, TEST_ID = 1 };

/* A far end of this process says nothing for so long on purpose alone. Before that, what must be
 * answered (the greeting, seeds, which have to be accepted) waits for as long as a busy machine may
 * hold its thread up. */
#define SILENT_NS  (300 * TL_NS_PER_MS)
#define HELD_UP_NS (20 * TL_NS_PER_S)
#define CALL_NS    (HELD_UP_NS + 10 * TL_NS_PER_S)

static const struct tl_wire_token token = {{0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5,
                                            0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5}};

/* --- The far end ------------------------------------------------------------------------------ */

/* On an address of loopback of this process's own: other tests try ports that were just free. */
static int listener, port;
static char address[INET_ADDRSTRLEN];
static struct {
    pthread_mutex_t lock;
    const uint8_t *bytes;
    size_t len;
} input = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct peer {
    int fd; /* -1: none */
    bool greeted, is_data;
    uint8_t in[2 * TL_WIRE_FRAME_MAX];
    size_t len;
};

static void say(int fd, const uint8_t *bytes, size_t len)
{
    (void)!send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The next frame of the input, as long as its head says, or the end. */
static void say_next(int fd)
{
    pthread_mutex_lock(&input.lock);
    size_t len = input.len, whole = len;
    if (len >= 2)
        whole = TL_WIRE_HEADER_SIZE + ((size_t)input.bytes[0] << 8 | input.bytes[1]);
    len = whole < len ? whole : len;
    if (len > 0)
        say(fd, input.bytes, len);
    input.bytes += len;
    input.len -= len;
    if (input.len == 0)
        (void)shutdown(fd, SHUT_WR);
    pthread_mutex_unlock(&input.lock);
}

static void answer(struct peer *peer, const struct tl_wire_frame *frame)
{
    static const uint8_t payload[32768];
    uint8_t out[TL_WIRE_FRAME_MAX];
    struct tl_wire_hello hello;
    struct tl_wire_data_hello data;
    if (frame->type == TL_WIRE_DATA_HELLO) {
        MUST(tl_wire_decode_data_hello(frame->payload, frame->payload_len, &data, NULL) == TL_OK);
        struct tl_wire_data_ok ok = {.test_id = data.test_id, .stream = data.stream};
        say(peer->fd, out, tl_wire_encode_data_ok(&ok, out));
        say(peer->fd, payload, sizeof payload);
        peer->is_data = true;
    } else if (frame->type == TL_WIRE_HELLO) {
        MUST(tl_wire_decode_hello(frame->payload, frame->payload_len, &hello, NULL) == TL_OK);
        struct tl_wire_welcome welcome = {.version = TL_WIRE_VERSION,
                                          .token = token,
                                          .nonce = hello.nonce,
                                          .max_seconds = 1,
                                          .max_streams = 4,
                                          .quota_left_bytes = UINT64_MAX,
                                          .program = "fuzz"};
        say(peer->fd, out, tl_wire_encode_welcome(&welcome, out));
    } else if (frame->type == TL_WIRE_PING) {
        struct tl_wire_ping ping;
        MUST(tl_wire_decode_ping(frame->payload, frame->payload_len, &ping, NULL) == TL_OK);
        struct tl_wire_pong pong = {ping.cookie, (uint64_t)tl_now_ns()};
        say(peer->fd, out, tl_wire_encode_pong(&pong, out));
        say_next(peer->fd);
    } else if (frame->type != TL_WIRE_BYE) {
        say_next(peer->fd);
        if (frame->type == TL_WIRE_HOST_QUERY) /* which wants two: the records and their end */
            say_next(peer->fd);
    }
}

static void hang_up(struct peer *peer)
{
    close(peer->fd);
    peer->fd = -1;
}

/* What our own client says that is no frame: it was not greeted in time, and ends the line that
 * another kind of server may have taken its HELLO for. */
static bool is_end_of_line(const struct peer *peer)
{
    static const char end[] = {'\r', '\n', '\r', '\n'};
    return peer->len == sizeof end && memcmp(peer->in, end, sizeof end) == 0;
}

static void take(struct peer *peer)
{
    struct tl_wire_frame frame;
    ssize_t got = recv(peer->fd, peer->in + peer->len, sizeof peer->in - peer->len, MSG_DONTWAIT);
    if (got <= 0) {
        hang_up(peer);
        return;
    }
    peer->len = peer->is_data ? 0 : peer->len + (size_t)got;
    for (;;) {
        if (peer->is_data)
            return;
        if (tl_wire_peek(peer->in, peer->len, &frame, NULL) != TL_OK) {
            MUST(is_end_of_line(peer)); /* of our own client */
            hang_up(peer);
            return;
        }
        if (frame.frame_len == 0)
            return;
        answer(peer, &frame);
        peer->len -= frame.frame_len;
        memmove(peer->in, peer->in + frame.frame_len, peer->len);
    }
}

static void accept_one(struct peer *peers)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), on = 1;
    for (unsigned i = 0; i < PEERS && fd >= 0; i++) {
        if (peers[i].fd >= 0)
            continue;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        peers[i] = (struct peer){.fd = fd};
        return;
    }
    if (fd >= 0)
        close(fd);
}

static void *serve(void *arg)
{
    static struct peer peers[PEERS];
    for (unsigned i = 0; i < PEERS; i++)
        peers[i].fd = -1;
    for (;;) {
        struct pollfd fds[PEERS + 1] = {{listener, POLLIN, 0}};
        for (unsigned i = 0; i < PEERS; i++)
            fds[i + 1] = (struct pollfd){peers[i].fd, POLLIN, 0};
        (void)poll(fds, PEERS + 1, -1);
        for (unsigned i = 0; i < PEERS; i++)
            if (peers[i].fd >= 0 && fds[i + 1].revents)
                take(&peers[i]);
        if (fds[0].revents)
            accept_one(peers);
    }
    return NULL;
}

static void start(void)
{
    uint32_t apart = 0x7f400000 | ((uint32_t)getpid() & 0x3fffff);
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr = {htonl(apart)}};
    socklen_t len = sizeof own;
    pthread_t thread;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    MUST(bind(listener, (struct sockaddr *)&own, len) == 0 && listen(listener, 64) == 0);
    MUST(getsockname(listener, (struct sockaddr *)&own, &len) == 0);
    port = ntohs(own.sin_port);
    MUST(inet_ntop(AF_INET, &own.sin_addr, address, sizeof address));
    MUST(pthread_create(&thread, NULL, serve, NULL) == 0);
}

/* --- The client ------------------------------------------------------------------------------- */

static void one_test(struct tl_client *client, enum tl_wire_direction direction)
{
    static struct tl_tcp_result result;
    struct tl_tcp_spec spec = {.direction = direction,
                               .streams = 2,
                               .duration_ns = 100 * TL_NS_PER_MS,
                               .max_bytes = 1 << 20,
                               .queue_wait_ns = 100 * TL_NS_PER_MS};
    struct tl_error error = {0};
    memset(&result, 0, sizeof result);
    enum tl_status status = tl_client_tcp_test(client, &spec, NULL, NULL, &result, &error);
    MUST(status == TL_OK || error.text[0]);
    MUST(result.sender.bytes <= UINT64_C(1) << 62 && result.streams <= TL_STREAMS_MAX);
    MUST(isnan(result.ends_agree_ratio) ||
         (result.ends_agree_ratio >= 0 && result.ends_agree_ratio <= 1));
    MUST(!result.end_signed || status == TL_OK || error.text[0]);
    fuzz_accepted += status == TL_OK || result.end_signed;
    tl_tcp_result_finish(&result);
}

static void one_call(struct tl_client *client, unsigned call)
{
    static struct tl_host_settings settings;
    static struct tl_disk_far far;
    struct tl_disk_spec disk = {.max_bytes = 1 << 20, .duration_ns = 100 * TL_NS_PER_MS};
    struct tl_error error = {0};
    int64_t rtt_ns = 0;
    if (call == HOST)
        fuzz_accepted += tl_client_host(client, &settings, &error) == TL_OK;
    else if (call == DISK)
        fuzz_accepted += tl_client_disk_test(client, &disk, &far, &error) == TL_OK;
    else if (call == PING)
        fuzz_accepted += tl_client_ping(client, &rtt_ns, &error) == TL_OK && rtt_ns >= 0;
    else
        one_test(client, call == DOWNLOAD ? TL_WIRE_DOWNLOAD
                         : call == UPLOAD ? TL_WIRE_UPLOAD
                                          : TL_WIRE_BOTH);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned seeds = 0; /* the driver's first inputs */
    struct tl_client *client;
    struct tl_error error = {0};
    if (!port)
        start();
    if (size < 2)
        return 0;
    pthread_mutex_lock(&input.lock);
    input.bytes = data + 1;
    input.len = size - 1;
    pthread_mutex_unlock(&input.lock);
    struct tl_client_options options = {
        .host = address, .port = port, .timeout_ns = HELD_UP_NS, .cancel_fd = -1};
    MUST(tl_client_connect(&options, &client, &error) == TL_OK);
    if (seeds++ >= fuzz_seed_count)
        client->timeout_ns = client->disk_ns = SILENT_NS;
    int64_t begin_ns = tl_now_ns();
    one_call(client, data[0] % CALLS);
    tl_client_close(client);
    MUST(tl_now_ns() - begin_ns < CALL_NS);
    pthread_mutex_lock(&input.lock);
    input.len = 0; /* data is the caller's */
    pthread_mutex_unlock(&input.lock);
    return 0;
}

/* --- Seeds ------------------------------------------------------------------------------------ */

const unsigned fuzz_seed_count = CALLS;

/* What a far end says in a test, in answer to TEST_TCP, START, and the pings behind it. */
static size_t put_test(uint8_t *out, unsigned connections)
{
    struct tl_wire_ready ready = {.test_id = TEST_ID,
                                  .streams = 2,
                                  .duration_ms = 100,
                                  .max_bytes = 1 << 20,
                                  .sample_interval_us = 50000,
                                  .congestion = "cubic"};
    struct tl_wire_started started = {.test_id = TEST_ID, .responder_ns = 1};
    struct tl_wire_test_end end = {.token = token,
                                   .test_id = TEST_ID,
                                   .count = (uint8_t)connections,
                                   .streams = (uint16_t)connections,
                                   .duration_ns = 100000000};
    for (unsigned i = 0; i < connections; i++)
        end.totals[i].bytes = 32768;
    size_t at = tl_wire_encode_ready(&ready, out);
    at += tl_wire_encode_started(&started, out + at);
    return at + tl_wire_encode_test_end(&end, out + at);
}

static size_t put_host(uint8_t *out)
{
    static struct tl_host_settings settings;
    struct tl_wire_writer writer;
    struct tl_wire_record record;
    struct tl_wire_host_end end = {.records = 1};
    tl_wire_host_begin(&writer, out);
    tl_wire_host_record(&settings, 0, &record);
    (void)tl_wire_record_add(&writer, &record);
    size_t at = tl_wire_writer_end(&writer);
    return at + tl_wire_encode_host_end(&end, out + at);
}

size_t fuzz_seed(unsigned number, uint8_t *bytes)
{
    struct tl_wire_disk_result disk = {
        .token = token, .area_bytes = 1 << 20, .free_bytes = 1 << 30};
    struct tl_wire_pong pong = {0, 1};
    bytes[0] = (uint8_t)number;
    if (number == HOST)
        return 1 + put_host(bytes + 1);
    if (number == DISK)
        return 1 + tl_wire_encode_disk_result(&disk, bytes + 1);
    if (number == PING)
        return 1 + tl_wire_encode_pong(&pong, bytes + 1);
    return 1 + put_test(bytes + 1, number == BOTH ? 4 : 2);
}

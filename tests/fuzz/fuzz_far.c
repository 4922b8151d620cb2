/* What other programs' servers say: replies of a web server, the control connections of iperf3 and
 * nuttcp, read from a socket as their clients do, the bodies of a pScheduler, the measurements
 * and the WebSocket of an NDT server, and HTTP/2 of a web server, whose TLS is taken away, and the
 * list of NDT servers. The first byte chooses. */
#include "fuzz.h"

#include <math.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http2.h"
#include "iperf3_control.h"
#include "iperf3_json.h"
#include "ndt7_frames.h"
#include "ndt7_locate.h"
#include "nuttcp_text.h"
#include "pscheduler_text.h"
#include "tightlink/base/far.h"
#include "tightlink/base/time.h"

unsigned long fuzz_accepted;

enum { HTTP, IPERF3, NUTTCP, PSCHEDULER, NDT7_TEXT, NDT7_FRAMES, HTTP2, KINDS };

/* A far end that says these bytes, then no more. */
static int speaker(const uint8_t *bytes, size_t len)
{
    int ends[2];
    MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    MUST(send(ends[1], bytes, len, MSG_NOSIGNAL) == (ssize_t)len);
    MUST(shutdown(ends[1], SHUT_WR) == 0);
    /* What is asked stays unread in a buffer of its own: to close now would be a reset. */
    static int last = -1;
    if (last >= 0)
        close(last);
    last = ends[1];
    return ends[0];
}

static void printable(const char *text)
{
    for (; *text; text++)
        MUST((unsigned char)*text >= ' ' && *text != 0x7f);
}

static void one_http(const struct far_peer *peer, int fd)
{
    struct http_connection connection = {.fd = fd};
    struct http_server server = {.host = "192.0.2.1", .port = 80, .resource = "/", .length = -1};
    struct http_reply reply;
    struct tl_error error = {0};
    if (http_ask(peer, &server, &connection, "0-0", &reply, &error) != TL_OK) {
        MUST(error.text[0]);
    } else {
        MUST(reply.status >= 100 && reply.status <= 999 && reply.length >= -1);
        printable(reply.reason);
        printable(reply.program);
        fuzz_accepted++;
        if (reply.location[0] && http_redirect(&server, reply.location, &error) == TL_OK) {
            MUST(server.host[0] && server.resource[0] == '/' && server.port);
            for (const char *at = server.resource; *at; at++)
                MUST((unsigned char)*at > ' ' && *at != 0x7f);
            for (const char *at = server.host; *at; at++)
                MUST((unsigned char)*at > ' ' && *at != 0x7f && *at != '/' && *at != '@');
        }
    }
    http_close(&connection);
}

static void one_iperf3(const struct far_peer *peer, int fd)
{
    static struct iperf3_results results;
    struct iperf3_control control = {.peer = peer, .fd = fd};
    struct tl_error error = {0};
    int64_t until_ns = tl_now_ns() + TL_NS_PER_S;
    char *text = NULL;
    size_t len = 0;
    memset(&results, 0x5a, sizeof results);
    if (iperf3_expect(&control, IPERF3_EXCHANGE_RESULTS, until_ns, &error) == TL_OK &&
        iperf3_receive_json(&control, until_ns, &text, &len, &error) == TL_OK &&
        iperf3_read_results(text, len, 2, &results, &error) == TL_OK) {
        MUST(results.count >= 2 && results.count <= TL_STREAMS_MAX);
        for (unsigned i = 0; i < results.count; i++)
            MUST(results.totals[i].bytes >= -1 && results.totals[i].retransmits >= -1);
        MUST(memchr(results.congestion, 0, sizeof results.congestion));
        printable(results.congestion);
        fuzz_accepted++;
    } else {
        MUST(error.text[0]);
    }
    free(text);
    close(fd);
}

static void one_nuttcp(const struct far_peer *peer, int fd)
{
    char line[NUTTCP_LINE_SIZE];
    struct nuttcp_version version = {0};
    uint64_t bytes;
    int64_t until_ns = tl_now_ns() + TL_NS_PER_S;
    while (far_receive_line(peer, fd, line, sizeof line, until_ns, NULL) == TL_OK) {
        if (nuttcp_read_hello(line, &version)) {
            MUST(version.major <= 9999 && version.minor <= 9999 && version.patch <= 9999);
            MUST(nuttcp_data_port(&version) >= 5001);
            fuzz_accepted++;
        }
        if (nuttcp_read_total(line, &bytes)) {
            MUST(bytes <= UINT64_C(1000000000000000));
            fuzz_accepted++;
        }
    }
    close(fd);
}

static bool is_within(double value, double max)
{
    return isnan(value) || (value >= 0 && value <= max);
}

static void check_throughput(const struct tl_psched_throughput *got)
{
    MUST(is_within(got->sent_bps, 1e13) && is_within(got->received_bps, 1e13));
    MUST(got->interval_count >= 0 && got->interval_count <= TL_PSCHED_INTERVALS_MAX);
    for (int i = 0; i < got->interval_count; i++) {
        MUST(got->intervals[i].end_ns > got->intervals[i].begin_ns);
        MUST(is_within(got->intervals[i].rtt_ns, 60e9));
    }
}

static void check_trace(const struct tl_psched_trace *got)
{
    MUST(got->hop_count >= 0 && got->hop_count <= TL_PSCHED_HOPS_MAX);
    for (int i = 0; i < got->hop_count; i++) {
        printable(got->hops[i].address);
        printable(got->hops[i].name);
        printable(got->hops[i].error);
        MUST(is_within(got->hops[i].rtt_ns, 60e9) && is_within(got->hops[i].mtu_bytes, 65535));
    }
}

/* Each test's result may be in it. */
static void one_pscheduler(const uint8_t *bytes, size_t len)
{
    struct tl_buf body = TL_BUF_INIT;
    char id[40];
    tl_buf_add(&body, bytes, len);
    for (int test = TL_PSCHED_THROUGHPUT; test <= TL_PSCHED_MTU; test++) {
        struct psched_run run;
        struct tl_error error = {0};
        if (psched_read_run(&body, (enum tl_psched_test)test, &run, &error) != TL_OK) {
            MUST(error.text[0]);
            continue;
        }
        fuzz_accepted++;
        MUST(run.state != PSCHED_OVER || (run.status != TL_OK && run.error.text[0]));
        printable(run.error.text);
        if (run.state == PSCHED_FINISHED && test == TL_PSCHED_THROUGHPUT)
            check_throughput(&run.result.throughput);
        if (run.state == PSCHED_FINISHED && test == TL_PSCHED_TRACE)
            check_trace(&run.result.trace);
        if (run.state == PSCHED_FINISHED && test == TL_PSCHED_RTT)
            MUST(run.result.rtt.trip_count <= TL_PSCHED_TRIPS_MAX);
    }
    if (psched_read_task_id(&body, id, NULL) == TL_OK)
        MUST(strlen(id) == 36);
    tl_buf_finish(&body);
}

/* --- An NDT server ---------------------------------------------------------------------------- */

static void one_ndt7_text(const char *text, size_t len)
{
    struct ndt7_measurement measurement;
    struct tl_error error = {0};
    if (ndt7_read_measurement(text, len, &measurement, &error) != TL_OK) {
        MUST(error.text[0]);
        return;
    }
    MUST(len <= NDT7_TEXT_MAX);
    MUST(!measurement.has_sample ||
         (measurement.sample.time_ns >= 0 && measurement.sample.time_ns <= 60 * TL_NS_PER_S));
    fuzz_accepted++;
}

/* A list of servers is a text as well. */
static void one_ndt7_places(const char *text, size_t len)
{
    static struct ndt7_place places[NDT7_PLACES_MAX];
    struct tl_error error = {0};
    unsigned count = 0;
    if (ndt7_read_places(text, len, places, &count, &error) != TL_OK) {
        MUST(error.text[0]);
        return;
    }
    MUST(count > 0 && count <= NDT7_PLACES_MAX);
    for (unsigned i = 0; i < count; i++) {
        MUST(places[i].host[0] && places[i].port);
        MUST(http_is_one_word(places[i].download) && http_is_one_word(places[i].upload));
    }
    fuzz_accepted++;
}

/* What the server says, over and over, so that its messages grow beyond what one may hold; after
 * SAID_MAX bytes it hangs up. */
#define SAID_MAX (3 * NDT7_TEXT_MAX)
static const uint8_t *said;
static size_t said_len, said_bytes, payload_bytes;
static bool has_room; /* for what this end says */

int __wrap_SSL_read(SSL *ssl, void *into, int len);
int __wrap_SSL_read(SSL *ssl, void *into, int len)
{
    uint8_t *bytes = into;
    int count = 0;
    (void)ssl;
    for (; said_len > 0 && count < len && said_bytes < SAID_MAX; count++, said_bytes++)
        bytes[count] = said[said_bytes % said_len];
    return count;
}

int __wrap_SSL_write(SSL *ssl, const void *from, int len);
int __wrap_SSL_write(SSL *ssl, const void *from, int len)
{
    (void)ssl, (void)from;
    return has_room ? len : -1;
}

int __wrap_SSL_get_error(const SSL *ssl, int code);
int __wrap_SSL_get_error(const SSL *ssl, int code)
{
    (void)ssl;
    return code < 0 ? SSL_ERROR_WANT_WRITE : SSL_ERROR_ZERO_RETURN;
}

long __wrap_SSL_ctrl(SSL *ssl, int command, long value, void *pointer);
long __wrap_SSL_ctrl(SSL *ssl, int command, long value, void *pointer)
{
    (void)ssl, (void)command, (void)pointer;
    return value;
}

static void take_payload(void *context, size_t bytes)
{
    (void)context;
    payload_bytes += bytes;
}

static void take_text(void *context, const char *text, size_t len)
{
    (void)context;
    MUST(len <= NDT7_TEXT_MAX);
    one_ndt7_text(text, len);
}

/* The second byte: which end sends. An end comes, in order or not, within what was said. */
static void one_ndt7_frames(const uint8_t *bytes, size_t len)
{
    static char no_tls;
    struct http_connection connection = {.fd = -1, .ssl = (SSL *)&no_tls};
    const struct ndt7_listener listener = {take_payload, take_text, NULL};
    struct ndt7_frames *frames = NULL;
    enum ndt7_turn turn = NDT7_MORE;
    bool sends = len > 0 && bytes[0] % 2;
    if (len == 0)
        return;
    said = bytes + 1;
    said_len = len - 1;
    said_bytes = payload_bytes = 0;
    has_room = !sends;
    MUST(ndt7_frames_create(&connection, sends, &listener, &frames, NULL) == TL_OK);
    for (unsigned i = 0; i < 64 && (turn == NDT7_MORE || turn == NDT7_WAIT); i++)
        turn = ndt7_frames_step(frames);
    MUST(turn == NDT7_CLOSED || turn == NDT7_BAD);
    MUST(turn != NDT7_BAD || ndt7_frames_fault(frames)[0]);
    MUST(payload_bytes <= said_bytes);
    fuzz_accepted += turn == NDT7_CLOSED && ndt7_frames_closed_in_order(frames);
    ndt7_frames_destroy(frames);
}

/* --- HTTP/2 ----------------------------------------------------------------------------------- */

void __wrap_SSL_get0_alpn_selected(const SSL *ssl, const unsigned char **ret_chosen,
                                   unsigned *ret_len);
void __wrap_SSL_get0_alpn_selected(const SSL *ssl, const unsigned char **ret_chosen,
                                   unsigned *ret_len)
{
    (void)ssl;
    *ret_chosen = (const unsigned char *)"h2";
    *ret_len = 2;
}

static void take_reply(void *context, const struct http_reply *reply)
{
    (void)context;
    MUST(reply->status >= 200 && reply->length >= -1);
    printable(reply->program);
    fuzz_accepted++;
}

static void take_end(void *context, uint64_t bytes)
{
    struct tl_error error = {0};
    (void)bytes;
    if (http2_get(*(struct http2 **)context, "", &error) != TL_OK)
        MUST(error.text[0]);
}

/* The second byte: whether this end posts, and has room to. An end comes within what was said. */
static void one_http2(const struct far_peer *peer, const uint8_t *bytes, size_t len)
{
    static char no_tls;
    static uint8_t noise[HTTP2_NOISE_BYTES];
    struct http_connection connection = {.fd = -1, .ssl = (SSL *)&no_tls};
    const struct http_server server = {.tls = true,
                                       .http2 = true,
                                       .host = "192.0.2.1",
                                       .port = 443,
                                       .resource = "/",
                                       .length = -1};
    struct http2 *http2 = NULL;
    const struct http2_listener listener = {take_payload, take_reply, take_end, &http2};
    enum http2_turn turn = HTTP2_MORE;
    bool posts = len > 0 && bytes[0] % 2;
    if (len == 0)
        return;
    said = bytes + 1;
    said_len = len - 1;
    said_bytes = payload_bytes = 0;
    has_room = bytes[0] % 4 != 3;
    MUST(http2_create(peer, &server, &connection, noise, &listener, &http2, NULL) == TL_OK);
    MUST((posts ? http2_post(http2, "/", 1u << 20, NULL) : http2_get(http2, "", NULL)) == TL_OK);
    for (unsigned i = 0; i < 64 && (turn == HTTP2_MORE || turn == HTTP2_WAIT); i++)
        turn = http2_step(http2);
    MUST(turn == HTTP2_OVER || turn == HTTP2_BAD);
    MUST(http2_fault(http2)[0]);
    MUST(payload_bytes <= said_bytes + (posts ? 1u << 20 : 0));
    http2_destroy(http2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct far_peer peer = {
        .host = "192.0.2.1", .port = 80, .cancel_fd = -1, .timeout_ns = TL_NS_PER_S};
    if (size == 0 || size > FUZZ_INPUT_MAX)
        return 0;
    if (data[0] % KINDS == PSCHEDULER) {
        one_pscheduler(data + 1, size - 1);
        return 0;
    }
    if (data[0] % KINDS == NDT7_TEXT) {
        one_ndt7_text((const char *)data + 1, size - 1);
        one_ndt7_places((const char *)data + 1, size - 1);
        return 0;
    }
    if (data[0] % KINDS == NDT7_FRAMES) {
        one_ndt7_frames(data + 1, size - 1);
        return 0;
    }
    if (data[0] % KINDS == HTTP2) {
        one_http2(&peer, data + 1, size - 1);
        return 0;
    }
    int fd = speaker(data + 1, size - 1);
    if (data[0] % KINDS == HTTP)
        one_http(&peer, fd);
    else if (data[0] % KINDS == IPERF3)
        one_iperf3(&peer, fd);
    else
        one_nuttcp(&peer, fd);
    return 0;
}

static const char results[] =
    "{\"cpu_util_total\":1.5,\"cpu_util_user\":0.5,\"cpu_util_system\":1,"
    "\"sender_has_retransmits\":1,\"congestion_used\":\"cubic\",\"streams\":[{\"id\":1,"
    "\"bytes\":1048576,\"retransmits\":3,\"jitter\":0,\"errors\":0,\"packets\":0,"
    "\"start_time\":0,\"end_time\":1.0},{\"id\":3,\"bytes\":5,\"retransmits\":-1,\"jitter\":0,"
    "\"errors\":0,\"packets\":0,\"start_time\":0,\"end_time\":1.0}]}";

static const char *const texts[] = {
    "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-0/1048576\r\nServer: example/1\r\n\r\n",
    "HTTP/1.0 200 OK\r\nContent-Length: 77\r\nContent-Type: text/html\r\n\r\nx",
    "HTTP/1.1 302 Found\r\nLocation: http://mirror.example.net:8080/a/b?c=d#e\r\n\r\n",
    "HTTP/1.1 301 Moved\nLocation: /other place\n\n",
    "HELO nuttcp v8.2.2\nKO\nnuttcp-r: 0.4766 MB in 1.01 real seconds = 470.87 KB/sec\n",
    "nuttcp-t: 1125.2500 MB in 10.02 real seconds = 114992.52 KB/sec = 942.0187 Mbps\n",
    "{\"state\":\"finished\",\"href\":\"https://a/tasks/0b5e8a1e-0000-4000-8000-1234567890ab\","
    "\"result-merged\":{\"succeeded\":true,\"mtu\":1500,\"intervals\":[{\"summary\":{\"start\":0,"
    "\"end\":1.0,\"throughput-bits\":9.4e7,\"retransmits\":2},\"streams\":[{\"rtt\":20100,"
    "\"tcp-window-size\":250000}]}],\"summary\":{\"summary\":{\"throughput-bits\":9.4e7,"
    "\"receiver-throughput-bits\":9.3e7,\"retransmits\":2},\"streams\":[{\"rtt\":20100}]},"
    "\"sent\":2,\"received\":1,\"roundtrips\":[{\"seq\":1,\"rtt\":\"PT0.0201S\"},{\"seq\":2}],"
    "\"paths\":[[{\"ip\":\"192.0.2.1\",\"rtt\":\"PT1M0.4S\",\"mtu\":1500},{\"error\":\"!H\"}]]}}",
    "{\"state\":\"failed\",\"errors\":\"no\\u001b[31m\",\"clock-survey\":[{\"synchronized\":false}]"
    "}",
    "{\"AppInfo\":{\"ElapsedTime\":100000,\"NumBytes\":1048576},\"BBRInfo\":{\"BW\":12500000},"
    "\"TCPInfo\":{\"ElapsedTime\":100000,\"RTT\":20100,\"MinRTT\":20000,\"BusyTime\":99000,"
    "\"RWndLimited\":0,\"TotalRetrans\":3,\"SndCwnd\":200,\"SndMSS\":1448}}",
    "{\"results\":[{\"urls\":{\"wss:///ndt/v7/download\":\"wss://a.example:443/ndt/v7/download"
    "?access_token=x\",\"wss:///ndt/v7/upload\":\"wss://a.example:443/ndt/v7/upload?b=c\"}}]}",
};
#define TEXTS (sizeof texts / sizeof *texts)
static const char frames[] =
    "\0\x82\5noise\x89\2hi\x01\2{}\x80\0\x02\3abc\x8a\0\x80\1d\x88\2\x03\xe8";
/* SETTINGS, an answer, a body, PING, WINDOW_UPDATE, GOAWAY. */
static const char http2_frames[] =
    "\0\0\0\0\4\0\0\0\0\0\0\0\1\1\4\0\0\0\1\x88\0\0\5\0\1\0\0\0\1noise"
    "\0\0\x08\6\0\0\0\0\0pingpong\0\0\4\x08\0\0\0\0\0\0\0\x10\0"
    "\0\0\x08\7\0\0\0\0\0\0\0\0\1\0\0\0\0";
const unsigned fuzz_seed_count = TEXTS + 3;

size_t fuzz_seed(unsigned number, uint8_t *bytes)
{
    size_t at = 0;
    if (number < TEXTS) {
        bytes[0] = number < 4           ? HTTP
                   : number < 6         ? NUTTCP
                   : number < TEXTS - 2 ? PSCHEDULER
                                        : NDT7_TEXT;
        memcpy(bytes + 1, texts[number], strlen(texts[number]));
        return 1 + strlen(texts[number]);
    }
    if (number > TEXTS) {
        bool ndt7 = number == TEXTS + 1;
        size_t len = ndt7 ? sizeof frames - 1 : sizeof http2_frames - 1;
        bytes[at++] = ndt7 ? NDT7_FRAMES : HTTP2;
        memcpy(bytes + at, ndt7 ? frames : http2_frames, len);
        return at + len;
    }
    bytes[at++] = IPERF3;
    bytes[at++] = IPERF3_EXCHANGE_RESULTS;
    for (int shift = 24; shift >= 0; shift -= 8)
        bytes[at++] = (uint8_t)(strlen(results) >> shift);
    memcpy(bytes + at, results, strlen(results));
    return at + strlen(results);
}

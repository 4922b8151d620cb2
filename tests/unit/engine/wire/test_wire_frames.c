/* Every message and datagram against tests/data/wire-frames.txt: bytes that version 1 has sent
 * since its first day, and what becomes of each when it is damaged.
 *
 * A line is a name, the bytes, and a letter for each of four changes of each byte behind the
 * frame's header (lowest bit, highest bit, all ones, zero; a byte that stays as it is has none):
 * "." decoded, P not well formed, R out of range, V another version, ? damaged on the way.
 * Datagrams get a new CRC after the change. Then a letter for each length, from none to one byte
 * too many. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/engine/udp_wire.h"
#include "tightlink/engine/wire.h"
#include "tightlink/engine/wire_disk.h"
#include "wire_pack.h"

#define LINE_MAX_BYTES 65536

/* Decodes into a scratch struct; datagrams begin at their own first byte. */
typedef enum tl_status decode_fn(const uint8_t *bytes, size_t len);

#define TOKEN(first)                                                                               \
    {                                                                                              \
        {                                                                                          \
            first, first + 1, first + 2, first + 3, first + 4, first + 5, first + 6, first + 7,    \
                first + 8, first + 9, first + 10, first + 11, first + 12, first + 13, first + 14,  \
                first + 15                                                                         \
        }                                                                                          \
    }
#define ADDRESS                                                                                    \
    {                                                                                              \
        0x20, 0x01, 0x0d, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12                              \
    }

#define DECODER(name)                                                                              \
    static enum tl_status decode_##name(const uint8_t *bytes, size_t len)                          \
    {                                                                                              \
        static struct tl_wire_##name msg;                                                          \
        return tl_wire_decode_##name(bytes, len, &msg, NULL);                                      \
    }
#define DECODER_OF_MAP(name, NAME) DECODER(name)
TL_WIRE_MESSAGE_MAP(DECODER_OF_MAP)
TL_WIRE_UDP_MESSAGE_MAP(DECODER_OF_MAP)
DECODER(udp_prove)
DECODER(udp_path_probe)
DECODER(udp_path_answer)
DECODER(udp_path_report)
DECODER(udp_feedback)

static enum tl_status decode_udp_probe(const uint8_t *bytes, size_t len)
{
    struct tl_wire_udp_probe msg;
    bool intact = false;
    enum tl_status status = tl_wire_decode_udp_probe(bytes, len, &msg, &intact, NULL);
    return status == TL_OK && !intact ? TL_CLOSED : status;
}

static char letter(enum tl_status status)
{
    return status == TL_OK         ? '.'
           : status == TL_PROTOCOL ? 'P'
           : status == TL_RANGE    ? 'R'
           : status == TL_VERSION  ? 'V'
                                   : '?';
}

static void renew_crc(uint8_t *datagram, size_t len)
{
    struct wire_out out = {datagram + WIRE_UDP_CRC_AT};
    put_uint(&out, wire_udp_crc(datagram, len), 4);
}

/* The line that the file should have. crc: a datagram with one. */
static void describe(const char *name, const uint8_t *bytes, size_t len, size_t header, bool crc,
                     decode_fn *decode, char *line)
{
    static const uint8_t set[4] = {0, 0, 0xff, 0};
    int n = sprintf(line, "%s ", name);
    for (size_t i = 0; i < len; i++)
        n += sprintf(line + n, "%02x", bytes[i]);
    line[n++] = ' ';
    for (size_t i = header; i < len; i++) {
        for (int change = 0; change < 4; change++) {
            uint8_t copy[TL_WIRE_FRAME_MAX];
            memcpy(copy, bytes, len);
            copy[i] = change == 0 ? bytes[i] ^ 1 : change == 1 ? bytes[i] ^ 0x80 : set[change];
            if (copy[i] == bytes[i])
                continue;
            if (crc)
                renew_crc(copy, len);
            line[n++] = letter(decode(copy + header, len - header));
        }
    }
    line[n++] = ' ';
    uint8_t copy[TL_WIRE_FRAME_MAX] = {0};
    memcpy(copy, bytes, len);
    for (size_t length = 0; length <= len - header + 1; length++)
        line[n++] = letter(decode(copy + header, length));
    line[n] = '\0';
}

static char *document;

static void read_file(void)
{
    FILE *file = fopen(TL_DATA_DIR "/wire-frames.txt", "r");
    document = calloc(1, 1 << 20);
    cr_assert(file && document, "no " TL_DATA_DIR "/wire-frames.txt");
    document[0] = '\n';
    cr_assert_gt(fread(document + 1, 1, (1 << 20) - 2, file), 1000u);
    fclose(file);
}

static void free_file(void)
{
    free(document);
}

static void expect(const char *name, const uint8_t *bytes, size_t len, size_t header, bool crc,
                   decode_fn *decode)
{
    static char line[LINE_MAX_BYTES];
    line[0] = '\n';
    describe(name, bytes, len, header, crc, decode, line + 1);
    strcat(line, "\n");
    bool there = strstr(document, line) != NULL;
    if (!there) /* longer than what a message may be */
        fprintf(stderr, "tests/data/wire-frames.txt should have:%s", line);
    cr_expect(there, "%s is not as it was", name);
}

TestSuite(wire_frames, .init = read_file, .fini = free_file);

#define FRAME(name, ...)                                                                           \
    do {                                                                                           \
        struct tl_wire_##name msg = {__VA_ARGS__};                                                 \
        uint8_t frame[TL_WIRE_FRAME_MAX];                                                          \
        expect(#name, frame, tl_wire_encode_##name(&msg, frame), TL_WIRE_HEADER_SIZE, false,       \
               decode_##name);                                                                     \
    } while (0)

Test(wire_frames, of_a_session_are_as_they_were)
{
    FRAME(hello, .version = 1, .nonce = TOKEN(0x10), .program = "tightlink 0.1.0");
    FRAME(welcome, .version = 1, .flags = TL_WIRE_WELCOME_KEYED, .token = TOKEN(0x90),
          .nonce = TOKEN(0x10), .max_seconds = 60, .max_streams = 32, .rate_cap_bps = 1000000000,
          .quota_left_bytes = UINT64_MAX - 5, .program = "tightlinkd 0.1.0");
    FRAME(error, .code = TL_WIRE_E_QUOTA, .text = "come again tomorrow, für heute");
    FRAME(ping, .cookie = 0x0102030405060708);
    FRAME(pong, .cookie = 0x0102030405060708, .answered_ns = 0x1112131415161718);
    FRAME(host_end, .records = 258);
    FRAME(data_hello, .version = 1, .stream = 5, .test_id = 0x01020304, .token = TOKEN(0x90));
    FRAME(peer_hello,
          .hello = {.version = 1, .stream = 6, .test_id = 0x01020305, .token = TOKEN(0x91)});
    FRAME(data_ok, .test_id = 0x01020304, .stream = 5);
    FRAME(dial, .test_id = 3, .peer_test_id = 0x01020304, .peer_token = TOKEN(0x70),
          .peer_address = ADDRESS, .peer_port = 5411);
    FRAME(dialled, .test_id = 3);
    FRAME(syn_query, .version = 1, .token = TOKEN(0x90));
    FRAME(syn_report, .saved = true, .traffic_class = 2, .ttl = 57, .tcp_flags = 0xc2,
          .options = 0x7f, .wscale = 9, .mss_bytes = 1460, .window = 64240, .advmss_bytes = 1448,
          .snd_mss_bytes = 1436, .pmtu_bytes = 1500, .negotiated = 7, .rtt_ns = 42000000,
          .address = ADDRESS, .port = 40000);
}

Test(wire_frames, of_a_test_are_as_they_were)
{
    FRAME(test_tcp, .direction = TL_WIRE_UPLOAD, .discard = true, .streams = 4,
          .duration_ms = 10000, .max_bytes = 0x0102030405060708, .rcvbuf_bytes = 524288,
          .sndbuf_bytes = 262144, .pacing_bps = 100000000, .sample_interval_us = 50000, .dscp = 46,
          .send_path = TL_SEND_SPLICE, .notsent_lowat_bytes = 131072, .congestion = "cubic");
    FRAME(ready, .test_id = 7, .streams = 4, .duration_ms = 10000, .max_bytes = 1000000000,
          .pacing_bps = 100000000, .sample_interval_us = 50000, .congestion = "reno");
    FRAME(busy, .place = 2, .wait_ms = 12345);
    FRAME(start, .test_id = 0x01020304);
    FRAME(started, .test_id = 0x01020304, .responder_ns = 0x1112131415161718);
    FRAME(stop, .test_id = 0x01020305);
    FRAME(test_end, .token = TOKEN(0x90), .test_id = 7, .reason = TL_WIRE_END_STOPPED, .count = 2,
          .first = 1, .streams = 4, .send_path = TL_SEND_COPY, .discarded = true,
          .duration_ns = 10000000000, .samples_dropped = 3,
          .totals = {{123456789, 9999999999, 1111111111, 2222}, {5, 6, 7, 8}});
}

Test(wire_frames, of_disks_are_as_they_were)
{
    struct tl_wire_disk_times times = {.end = TL_DISK_END_BYTES,
                                       .mode = TL_DISK_MODE_BUFFERED,
                                       .cache = TL_DISK_CACHE_DROPPED,
                                       .fault = TL_WIRE_DISK_QUOTA,
                                       .threads = 4,
                                       .bytes = 1 << 30,
                                       .operations = 1024,
                                       .p50_ns = 1000000,
                                       .p95_ns = 2000000,
                                       .p99_ns = 3000000,
                                       .max_ns = 4000000,
                                       .elapsed_ns = 5000000000,
                                       .sync_ns = -1,
                                       .cpu_ns = 600000000,
                                       .rate_bps = 1.5e9,
                                       .low_bps = 1.25e9,
                                       .high_bps = 1.75e9};
    FRAME(test_disk, .threads = 4, .duration_ms = 3000, .max_bytes = 1 << 30);
    FRAME(disk_result, .token = TOKEN(0x90), .direct = 1, .area_bytes = 1 << 30,
          .free_bytes = 0x0102030405060708, .write = times, .read = times);
    FRAME(test_file, .flags = TL_WIRE_FILE_DISK, .threads = 4,
          .tcp = {.direction = TL_WIRE_DOWNLOAD, .streams = 2, .duration_ms = 9000});
    FRAME(sums, .test_id = 7, .stream = 1, .count = 2,
          .sums = {{1, 262144, 0x01020304}, {2, 1000, 0x11121314}});
    FRAME(file_end, .test_id = 7, .disk = 1, .fault = TL_WIRE_DISK_FULL, .disk_bytes = 1 << 20,
          .disk_ns = 1234567890, .wait_ns = 987654321);
}

Test(wire_frames, of_udp_tests_are_as_they_were)
{
    struct tl_udp_fields fields = {.present = 0x805, .values = {[0] = 300, [2] = 7, [11] = 1}};
    FRAME(test_udp, .direction = TL_WIRE_UPLOAD, .gro = true, .head_crc = true,
          .datagram_bytes = 1448, .duration_ms = 5000, .max_bytes = 1 << 20, .rate_bps = 50000000,
          .burst_count = 2, .gso_segments = 4, .dscp = 46, .interval_us = 100000,
          .rcvbuf_bytes = 212992, .train_length = 20, .train_count = 10, .train_gap_us = 10000,
          .grace_ms = 250);
    FRAME(udp_start, .test_id = 0x01020304, .cookie = 0x1112131415161718);
    FRAME(udp_report, .test_id = 7, .role = TL_UDP_ROLE_SENDER, .is_final = true, .fields = fields);
    FRAME(udp_series, .test_id = 7, .kind = TL_UDP_SERIES_TRAINS, .count = 2,
          .records = {{.present = 1, .values = {5}}, {.present = 3, .values = {6, 200}}});
}

#define DATAGRAM(name, len) expect(#name, datagram, len, 0, true, decode_##name)

Test(wire_frames, of_datagrams_are_as_they_were)
{
    uint8_t datagram[64] = {0};
    struct tl_wire_udp_prove prove = {
        .type = TL_WIRE_UDP_PROVE, .token = TOKEN(0x90), .challenge = TOKEN(0xa0)};
    expect("udp_prove", datagram, tl_wire_encode_udp_prove(&prove, datagram), 0, false,
           decode_udp_prove);
    struct tl_wire_udp_probe probe = {.type = TL_WIRE_UDP_PROBE,
                                      .reply_bytes = 50,
                                      .cookie = 0x0102030405060708,
                                      .sequence = 9,
                                      .client_ns = 0x1112131415161718};
    memset(datagram, 0xee, sizeof datagram);
    tl_wire_seal_udp_probe(&probe, datagram, 52);
    DATAGRAM(udp_probe, 52);
    probe.type = TL_WIRE_UDP_REPLY;
    probe.received_bytes = 52;
    probe.receive_ns = 0x2122232425262728;
    probe.held_ns = 0x31323334;
    probe.damaged_count = 0x41424344;
    tl_wire_seal_udp_probe(&probe, datagram, 52);
    expect("udp_reply", datagram, 52, 0, true, decode_udp_probe);
    struct tl_wire_udp_feedback feedback = {.cookie = 0x0102030405060708,
                                            .test_id = 7,
                                            .received_count = 1000,
                                            .received_bytes = 1448000,
                                            .next_sequence = 1010,
                                            .elapsed_ns = 100000000};
    size_t len = tl_wire_encode_udp_feedback(&feedback, datagram);
    DATAGRAM(udp_feedback, len);
}

Test(wire_frames, of_path_datagrams_are_as_they_were)
{
    uint8_t datagram[64];
    memset(datagram, 0xee, sizeof datagram);
    struct tl_wire_udp_path_probe probe = {.cookie = 0x0102030405060708,
                                           .sequence = 9,
                                           .client_ns = 0x1112131415161718,
                                           .answer_bytes = 1472,
                                           .answer_class = 0xb8,
                                           .answer_ttl = 5,
                                           .silent = true};
    tl_wire_seal_udp_path_probe(&probe, datagram, 52);
    DATAGRAM(udp_path_probe, 52);
    struct tl_wire_udp_path_answer answer = {.cookie = 0x0102030405060708,
                                             .sequence = 9,
                                             .client_ns = 0x1112131415161718,
                                             .receive_ns = 0x2122232425262728,
                                             .held_ns = 0x31323334,
                                             .probe_bytes = 1472,
                                             .answer_bytes = 52,
                                             .class_known = true,
                                             .ttl_known = true,
                                             .probe_class = 0xb8,
                                             .probe_ttl = 57};
    tl_wire_seal_udp_path_answer(&answer, datagram, 52);
    DATAGRAM(udp_path_answer, 52);
    struct tl_wire_udp_path_report report = {.cookie = 0x0102030405060708,
                                             .sequence = 9,
                                             .kind = TL_WIRE_UDP_REPORT_ROUTER,
                                             .mtu_bytes = 1400,
                                             .icmp_type = 3,
                                             .icmp_code = 4,
                                             .delay_ns = 0x31323334,
                                             .address = ADDRESS};
    tl_wire_seal_udp_path_report(&report, datagram);
    DATAGRAM(udp_path_report, 64);
}

/* Every decoder of the wire, in both directions, fed as sockets feed them.
 *
 * The first byte chooses: a byte stream of frames, or a datagram. What must hold beside
 * "no sanitizer speaks": a message that was accepted is encoded again to the very bytes it
 * came from (one message has one spelling), and what was refused left its output alone.
 *
 * libFuzzer: clang -fsanitize=fuzzer,address,undefined with this file and the layers'
 * libraries, without driver.c. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "tightlink/engine/sample.h"
#include "tightlink/engine/wire.h"
#include "tightlink/host/counters.h"
#include "tightlink/host/cpu.h"
#include "tightlink/host/disk.h"
#include "tightlink/host/host.h"

unsigned long fuzz_accepted;

#define CASE(name, NAME)                                                                           \
    case TL_WIRE_##NAME: {                                                                         \
        struct tl_wire_##name msg, before;                                                         \
        memset(&msg, 0x5a, sizeof msg);                                                            \
        memcpy(&before, &msg, sizeof msg);                                                         \
        if (tl_wire_decode_##name(payload, len, &msg, &error) != TL_OK) {                          \
            MUST(memcmp(&msg, &before, sizeof msg) == 0);                                          \
            MUST(error.text[0]);                                                                   \
            return;                                                                                \
        }                                                                                          \
        MUST(tl_wire_encode_##name(&msg, again) == len + TL_WIRE_HEADER_SIZE);                     \
        MUST(memcmp(again + TL_WIRE_HEADER_SIZE, payload, len) == 0);                              \
        fuzz_accepted++;                                                                           \
        return;                                                                                    \
    }

static void one_message(unsigned type, const uint8_t *payload, size_t len)
{
    static uint8_t again[TL_WIRE_FRAME_MAX];
    struct tl_error error = {0};
    switch (type) {
        TL_WIRE_MESSAGE_MAP(CASE)
    case TL_WIRE_HOST_QUERY: /* no payload, no decoder */
    case TL_WIRE_BYE:
        fuzz_accepted++;
        return;
    default:
        return;
    }
}

static void records(struct tl_wire_cursor cursor)
{
    static struct tl_host_settings settings;
    static struct tl_cpu_usage usage;
    static struct tl_host_disk disk;
    static struct tl_host_counters_growth growth;
    struct tl_wire_record record;
    bool more = true;
    while (tl_wire_record_next(&cursor, &record, &more, NULL) == TL_OK && more) {
        fuzz_accepted++;
        MUST(memchr(record.name, 0, sizeof record.name));
        MUST(memchr(record.text, 0, sizeof record.text));
        (void)tl_wire_host_store(&settings, &record);
        (void)tl_wire_cpu_store(&usage, &record);
        (void)tl_wire_disk_store(&disk, &record);
        (void)tl_wire_counters_store(&growth, &record);
    }
}

static void samples(const uint8_t *payload, size_t len)
{
    static struct tl_tcp_sample read[TL_WIRE_SAMPLES_MAX];
    struct tl_wire_samples head;
    if (tl_wire_decode_samples(payload, len, &head, read, NULL) != TL_OK)
        return;
    fuzz_accepted++;
    for (unsigned i = 0; i < head.count; i++) {
        uint64_t bytes;
        MUST(read[i].stream == head.stream && read[i].time_ns >= 0);
        (void)tl_sample_in_flight(&read[i], &bytes);
    }
}

/* An exact copy of the payload, so that a sanitizer sees one byte too many. */
static void one_frame(const struct tl_wire_frame *frame)
{
    uint8_t *payload = malloc(frame->payload_len ? frame->payload_len : 1);
    MUST(payload);
    memcpy(payload, frame->payload, frame->payload_len);
    size_t len = frame->payload_len;
    struct tl_wire_readings head;
    struct tl_wire_cursor cursor = {payload, payload + len};
    if (frame->type == TL_WIRE_HOST)
        records(cursor);
    else if (frame->type == TL_WIRE_SAMPLES)
        samples(payload, len);
    else if (frame->type != TL_WIRE_READINGS)
        one_message(frame->type, payload, len);
    else if (tl_wire_decode_readings(payload, len, &head, &cursor, NULL) == TL_OK)
        records(cursor);
    free(payload);
}

static void stream(const uint8_t *bytes, size_t len)
{
    while (len > 0) {
        struct tl_wire_frame frame;
        if (tl_wire_peek(bytes, len, &frame, NULL) != TL_OK || frame.frame_len == 0)
            return;
        MUST(frame.frame_len <= len && frame.frame_len <= TL_WIRE_FRAME_MAX);
        one_frame(&frame);
        bytes += frame.frame_len;
        len -= frame.frame_len;
    }
}

static void datagram(const uint8_t *bytes, size_t len)
{
    struct tl_wire_udp_prove prove;
    struct tl_wire_udp_probe probe;
    bool intact;
    if (tl_wire_decode_udp_prove(bytes, len, &prove, NULL) == TL_OK) {
        uint8_t again[TL_WIRE_UDP_HELLO_SIZE];
        MUST(tl_wire_encode_udp_prove(&prove, again) == len && memcmp(again, bytes, len) == 0);
        fuzz_accepted++;
    }
    if (tl_wire_decode_udp_probe(bytes, len, &probe, &intact, NULL) == TL_OK && intact) {
        MUST(probe.reply_bytes <= len);
        fuzz_accepted++;
    }
}

static void path_datagram(const uint8_t *bytes, size_t len)
{
    struct tl_wire_udp_path_probe probe;
    struct tl_wire_udp_path_answer answer;
    struct tl_wire_udp_path_report report;
    uint64_t cookie, sent_ns;
    uint32_t sequence;
    if (tl_wire_decode_udp_path_probe(bytes, len, &probe, NULL) == TL_OK) {
        MUST(probe.answer_bytes <= TL_WIRE_UDP_DATAGRAM_MAX);
        fuzz_accepted++;
    }
    if (tl_wire_decode_udp_path_answer(bytes, len, &answer, NULL) == TL_OK) {
        MUST(answer.answer_bytes == len);
        fuzz_accepted++;
    }
    if (tl_wire_decode_udp_path_report(bytes, len, &report, NULL) == TL_OK) {
        uint8_t again[TL_WIRE_UDP_REPORT_SIZE];
        tl_wire_seal_udp_path_report(&report, again);
        MUST(memcmp(again, bytes, len) == 0);
        fuzz_accepted++;
    }
    (void)tl_wire_udp_path_quote(bytes, len, &cookie, &sequence, &sent_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    uint8_t *copy = malloc(size - 1 ? size - 1 : 1);
    MUST(copy);
    memcpy(copy, data + 1, size - 1);
    if (data[0] & 1) {
        datagram(copy, size - 1);
        path_datagram(copy, size - 1);
    } else {
        stream(copy, size - 1);
    }
    free(copy);
    return 0;
}

/* --- Seeds: one good example of everything ---------------------------------------- */

static size_t seed_message(unsigned number, uint8_t *frame)
{
    const struct tl_wire_token token = {"0123456789abcde"};
    struct tl_wire_test_end end = {.token = token, .test_id = 1, .count = 3, .streams = 3};
    switch (number) {
    case 0:
        return tl_wire_encode_hello(
            &(struct tl_wire_hello){TL_WIRE_VERSION, token, "tightlink 0.1.0"}, frame);
    case 1:
        return tl_wire_encode_welcome(
            &(struct tl_wire_welcome){TL_WIRE_VERSION, 0, token, token, 60, 32, 0, 1, "far"},
            frame);
    case 2:
        return tl_wire_encode_error(&(struct tl_wire_error){3, "no"}, frame);
    case 3:
        return tl_wire_encode_test_tcp(&(struct tl_wire_test_tcp){TL_WIRE_BOTH, true, 4, 9000, 1, 2,
                                                                  3, 4, 5, 10, 2, 8192, "cubic"},
                                       frame);
    case 4:
        return tl_wire_encode_ready(&(struct tl_wire_ready){1, 4, 9000, 1000, 0, 50000, "reno"},
                                    frame);
    case 5:
        return tl_wire_encode_busy(&(struct tl_wire_busy){2, 9000}, frame);
    case 6:
        return tl_wire_encode_data_hello(&(struct tl_wire_data_hello){TL_WIRE_VERSION, 3, 1, token},
                                         frame);
    case 7:
        return tl_wire_encode_data_ok(&(struct tl_wire_data_ok){1, 3}, frame);
    case 8:
        return tl_wire_encode_start(&(struct tl_wire_start){1}, frame);
    case 9:
        return tl_wire_encode_started(&(struct tl_wire_started){1, 77}, frame);
    case 10:
        return tl_wire_encode_stop(&(struct tl_wire_stop){1}, frame);
    case 11:
        return tl_wire_encode_test_end(&end, frame);
    case 12:
        return tl_wire_encode_ping(&(struct tl_wire_ping){1}, frame);
    case 13:
        return tl_wire_encode_pong(&(struct tl_wire_pong){1, 2}, frame);
    case 14:
        return tl_wire_encode_host_end(&(struct tl_wire_host_end){9}, frame);
    default:
        return tl_wire_encode_empty(TL_WIRE_HOST_QUERY, frame);
    }
}

static size_t seed_records(struct tl_wire_writer *writer)
{
    static struct tl_host_settings settings;
    tl_host_settings_init(&settings);
    for (unsigned i = 0; i < TL_HOST_NUMBER_COUNT; i += 2)
        settings.numbers[i] = tl_host_known(i);
    tl_host_text_set(&settings.texts[0], "6.1.0");
    for (unsigned i = 0; i < tl_wire_host_record_count(); i += 3) {
        struct tl_wire_record record;
        tl_wire_host_record(&settings, i, &record);
        (void)tl_wire_record_add(writer, &record);
    }
    return tl_wire_writer_end(writer);
}

static size_t seed_samples(struct tl_wire_writer *writer)
{
    static struct tl_tcp_sample sample;
    for (unsigned i = 0; i < TL_SAMPLE_FIELD_COUNT; i++)
        if (i % 5)
            tl_sample_set(&sample, (enum tl_sample_field)i, (uint64_t)i << i % 60);
    sample.time_ns = 5;
    (void)tl_wire_sample_add(writer, &sample);
    (void)tl_wire_sample_add(writer, &sample);
    return tl_wire_writer_end(writer);
}

static size_t seed_path(unsigned number, uint8_t *bytes)
{
    memset(bytes, 0x33, 100);
    if (number == 0)
        tl_wire_seal_udp_path_probe(&(struct tl_wire_udp_path_probe){1, 2, 3, 1472, 0xb8, 4, false},
                                    bytes, 100);
    else if (number == 1)
        tl_wire_seal_udp_path_answer(
            &(struct tl_wire_udp_path_answer){1, 2, 3, 4, 5, 60, 100, true, true, 0, 62}, bytes,
            100);
    else
        tl_wire_seal_udp_path_report(
            &(struct tl_wire_udp_path_report){1, 2, TL_WIRE_UDP_REPORT_ROUTER, 1400, 3, 4, 5, {1}},
            bytes);
    return number == 2 ? TL_WIRE_UDP_REPORT_SIZE : 100;
}

static size_t seed_syn(unsigned number, uint8_t *frame)
{
    if (number == 0)
        return tl_wire_encode_syn_query(
            &(struct tl_wire_syn_query){TL_WIRE_VERSION, {"0123456789abcde"}}, frame);
    return tl_wire_encode_syn_report(
        &(struct tl_wire_syn_report){.saved = true, .mss_bytes = 1460, .options = 15}, frame);
}

static size_t seed_disk(unsigned number, uint8_t *frame)
{
    const struct tl_wire_disk_times times = {.end = 1,
                                             .threads = 4,
                                             .bytes = 1 << 20,
                                             .operations = 1,
                                             .p50_ns = 1,
                                             .sync_ns = -1,
                                             .rate_bps = 2e8,
                                             .low_bps = 1e8,
                                             .high_bps = 3e8};
    static struct tl_wire_sums sums = {
        .test_id = 1, .stream = 2, .count = 2, .sums = {{0, 262144, 7}, {1, 9, 8}}};
    switch (number) {
    case 0:
        return tl_wire_encode_test_disk(&(struct tl_wire_test_disk){4, 3000, 1 << 30}, frame);
    case 1:
        return tl_wire_encode_disk_result(
            &(struct tl_wire_disk_result){{"0123456789abcde"}, 1, 1 << 30, 1 << 30, times, times},
            frame);
    case 2:
        return tl_wire_encode_test_file(
            &(struct tl_wire_test_file){
                TL_WIRE_FILE_DISK,
                4,
                {TL_WIRE_UPLOAD, false, 4, 9000, 1, 2, 3, 4, 5, 10, 2, 8192, "cubic"}},
            frame);
    case 3:
        return tl_wire_encode_sums(&sums, frame);
    default:
        return tl_wire_encode_file_end(&(struct tl_wire_file_end){1, 1, 0, 2, 3, 4}, frame);
    }
}

static size_t seed_datagram(unsigned number, uint8_t *bytes)
{
    if (number == 0)
        return tl_wire_encode_udp_prove(
            &(struct tl_wire_udp_prove){TL_WIRE_UDP_PROVE, {"token"}, {"challenge"}, 5}, bytes);
    struct tl_wire_udp_probe probe = {.type = number == 1 ? TL_WIRE_UDP_PROBE : TL_WIRE_UDP_REPLY,
                                      .sequence = 9};
    memset(bytes, 0x77, 100);
    tl_wire_seal_udp_probe(&probe, bytes, 100);
    return 100;
}

static size_t seed_peer(unsigned number, uint8_t *frame)
{
    if (number == 0)
        return tl_wire_encode_dial(
            &(struct tl_wire_dial){.test_id = 1, .peer_test_id = 2, .peer_port = 5411}, frame);
    return tl_wire_encode_peer_hello(
        &(struct tl_wire_peer_hello){{.version = TL_WIRE_VERSION, .test_id = 1}}, frame);
}

const unsigned fuzz_seed_count = 34;

size_t fuzz_seed(unsigned number, uint8_t *bytes)
{
    struct tl_wire_writer writer;
    uint8_t *frame = bytes + 1;
    bytes[0] = number >= 19 && number < 25;
    if (number >= 32)
        return 1 + seed_peer(number - 32, frame);
    if (number >= 27)
        return 1 + seed_disk(number - 27, frame);
    if (number >= 25)
        return 1 + seed_syn(number - 25, frame);
    if (number >= 22)
        return 1 + seed_path(number - 22, frame);
    if (number < 16)
        return 1 + seed_message(number, frame);
    if (number >= 19)
        return 1 + seed_datagram(number - 19, frame);
    if (number == 16)
        tl_wire_host_begin(&writer, frame);
    else if (number == 17)
        tl_wire_readings_begin(&writer, &(struct tl_wire_readings){1, TL_WIRE_AFTER, 5}, frame);
    else
        tl_wire_samples_begin(&writer, &(struct tl_wire_samples){1, 3, 0}, frame);
    return 1 + (number == 18 ? seed_samples(&writer) : seed_records(&writer));
}

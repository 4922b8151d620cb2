/* Capture files: what is read, and where a broken one is said to break. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "build.h"

#define SECOND INT64_C(1000000000)

static void three_records(struct tl_buf *file)
{
    build_pcap_begin(file, 1);
    build_pcap_record(file, 5 * SECOND + 7, "abcd", 4, 60);
    build_pcap_record(file, 6 * SECOND, "", 0, 9);
    build_pcap_record(file, 7 * SECOND, "xy", 2, 2);
}

static void expect_three(struct tl_capture *capture)
{
    struct tl_packet packet;
    struct tl_error error = {0};
    cr_assert(eq(int, tl_capture_next(capture, &packet, &error), TL_OK));
    cr_expect(eq(i64, packet.time_ns, 5 * SECOND + 7));
    cr_expect(eq(u32, packet.captured_bytes, 4));
    cr_expect(eq(u32, packet.length_bytes, 60));
    cr_expect(eq(int, memcmp(packet.data, "abcd", 4), 0));
    cr_assert(eq(int, tl_capture_next(capture, &packet, &error), TL_OK));
    cr_expect(eq(u32, packet.captured_bytes, 0));
    cr_assert(eq(int, tl_capture_next(capture, &packet, &error), TL_OK));
    cr_expect(eq(u64, packet.number, 3));
    cr_expect(eq(int, tl_capture_next(capture, &packet, &error), TL_CLOSED));
    tl_capture_close(capture);
}

Test(capture, reads_pcap_in_nanoseconds)
{
    struct tl_buf file = TL_BUF_INIT;
    three_records(&file);
    expect_three(build_open(file.data, file.len, NULL));
    tl_buf_finish(&file);
}

Test(capture, reads_gzip_with_several_members)
{
    struct tl_buf file = TL_BUF_INIT;
    three_records(&file);
    uint8_t packed[1024];
    size_t used = 0;
    for (size_t part = 0; part < 2; part++) {
        size_t half = file.len / 2;
        z_stream stream = {0};
        cr_assert(eq(int, deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, 0), Z_OK));
        stream.next_in = (Bytef *)file.data + part * half;
        stream.avail_in = (unsigned)(part ? file.len - half : half);
        stream.next_out = packed + used;
        stream.avail_out = (unsigned)(sizeof packed - used);
        cr_assert(eq(int, deflate(&stream, Z_FINISH), Z_STREAM_END));
        used = sizeof packed - stream.avail_out;
        deflateEnd(&stream);
    }
    expect_three(build_open(packed, used, NULL));
    tl_buf_finish(&file);
}

Test(capture, reads_zstd_and_says_where_it_is_cut)
{
    struct tl_buf file = TL_BUF_INIT;
    three_records(&file);
    uint8_t packed[1024];
    size_t used = ZSTD_compress(packed, sizeof packed, file.data, file.len, 3);
    expect_three(build_open(packed, used, NULL));
    struct tl_error error = {0};
    struct tl_packet packet;
    struct tl_capture *capture = build_open(packed, used - 5, &error);
    enum tl_status status = error.status;
    while (capture && (status = tl_capture_next(capture, &packet, &error)) == TL_OK)
        ;
    cr_expect(eq(int, status, TL_SYNTAX));
    cr_expect(ne(ptr, strstr(error.text, "ends in the middle"), NULL), "%s", error.text);
    tl_capture_close(capture);
    tl_buf_finish(&file);
}

/* The same file as a machine of the other byte order writes it, in microseconds. */
Test(capture, reads_the_other_byte_order)
{
    struct tl_buf file = TL_BUF_INIT;
    build_bytes(&file, "a1 b2 c3 d4 0 2 0 4 0 0 0 0 0 0 0 0 0 0 ff ff 0 0 0 65");
    build_bytes(&file, "0 0 0 1 0 0 0 2 0 0 0 1 0 0 0 3 77");
    struct tl_packet packet;
    struct tl_capture *capture = build_open(file.data, file.len, NULL);
    cr_assert(ne(ptr, capture, NULL));
    cr_assert(eq(int, tl_capture_next(capture, &packet, NULL), TL_OK));
    cr_expect(eq(i64, packet.time_ns, SECOND + 2000));
    cr_expect(eq(u16, packet.link_type, 101));
    tl_capture_close(capture);
    tl_buf_finish(&file);
}

Test(capture, keeps_what_stood_before_a_cut_record)
{
    struct tl_buf file = TL_BUF_INIT;
    three_records(&file);
    struct tl_packet packet;
    struct tl_error error = {0};
    struct tl_capture *capture = build_open(file.data, file.len - 1, &error);
    cr_assert(eq(int, tl_capture_next(capture, &packet, &error), TL_OK));
    cr_assert(eq(int, tl_capture_next(capture, &packet, &error), TL_OK));
    cr_expect(eq(int, tl_capture_next(capture, &packet, &error), TL_SYNTAX));
    cr_expect(ne(ptr, strstr(error.text, "byte 60"), NULL), "%s", error.text);
    tl_capture_close(capture);
    tl_buf_finish(&file);
}

Test(capture, refuses_a_record_of_impossible_length)
{
    struct tl_buf file = TL_BUF_INIT;
    build_pcap_begin(&file, 1);
    build_bytes(&file, "0 0 0 0 0 0 0 0 ff ff ff ff ff ff ff ff");
    struct tl_packet packet;
    struct tl_error error = {0};
    struct tl_capture *capture = build_open(file.data, file.len, &error);
    cr_assert(ne(ptr, capture, NULL));
    cr_expect(eq(int, tl_capture_next(capture, &packet, &error), TL_SYNTAX));
    cr_expect(ne(ptr, strstr(error.text, "byte 24"), NULL), "%s", error.text);
    tl_capture_close(capture);
    tl_buf_finish(&file);
}

Test(capture, refuses_what_is_no_capture)
{
    struct tl_error error = {0};
    cr_expect(eq(ptr, build_open("hello world", 11, &error), NULL));
    cr_expect(eq(int, error.status, TL_SYNTAX));
    cr_expect(eq(ptr, build_open("", 0, &error), NULL));
    cr_expect(eq(ptr, build_open("\x1f\x8b\x08", 3, &error), NULL));
}

static void add_enhanced(struct tl_buf *file, uint32_t interface, uint64_t ticks)
{
    uint32_t body[6] = {interface, (uint32_t)(ticks >> 32), (uint32_t)ticks, 4, 70, 0x64636261};
    build_pcapng_block(file, 6, body, sizeof body);
}

/* One machine, two cards: their packets come in turns, each with its own link layer. */
Test(capture, reads_interleaved_interfaces)
{
    struct tl_buf file = TL_BUF_INIT;
    const uint32_t raw[2] = {101, 96}; /* link type and snap length; times in us */
    build_pcapng_begin(&file, 1);
    build_pcapng_block(&file, 1, raw, sizeof raw);
    for (uint64_t i = 1; i <= 6; i++)
        add_enhanced(&file, (uint32_t)(i % 2), i % 2 ? i : i * 1000); /* us there, ns here */
    struct tl_packet packet;
    struct tl_capture *capture = build_open(file.data, file.len, NULL);
    cr_assert(ne(ptr, capture, NULL));
    for (int i = 1; i <= 6; i++) {
        cr_assert(eq(int, tl_capture_next(capture, &packet, NULL), TL_OK));
        cr_expect(eq(i64, packet.time_ns, i * 1000));
        cr_expect(eq(u16, packet.interface, i % 2));
        cr_expect(eq(u16, packet.link_type, i % 2 ? 101 : 1));
    }
    cr_expect(eq(int, tl_capture_next(capture, &packet, NULL), TL_CLOSED));
    tl_capture_close(capture);
    tl_buf_finish(&file);
}

Test(capture, reads_pcapng_with_resolution_statistics_and_sections)
{
    struct tl_buf file = TL_BUF_INIT;
    build_pcapng_begin(&file, 1);
    add_enhanced(&file, 0, 1234567890123);
    add_enhanced(&file, 7, 0); /* an interface that nobody described */
    build_pcapng_block(&file, 4, "name resolution", 15);
    struct tl_buf statistics = TL_BUF_INIT;
    uint32_t head[3] = {0};
    uint16_t option[2] = {5, 8};
    uint64_t dropped = 42;
    tl_buf_add(&statistics, head, sizeof head);
    tl_buf_add(&statistics, option, sizeof option);
    tl_buf_add(&statistics, &dropped, sizeof dropped);
    build_pcapng_block(&file, 5, statistics.data, statistics.len);
    build_pcapng_begin(&file, 101);
    add_enhanced(&file, 0, 5);
    struct tl_packet packet;
    struct tl_capture_info info;
    struct tl_capture *capture = build_open(file.data, file.len, NULL);
    cr_assert(ne(ptr, capture, NULL));
    cr_assert(eq(int, tl_capture_next(capture, &packet, NULL), TL_OK));
    cr_expect(eq(i64, packet.time_ns, 1234567890123));
    cr_expect(eq(u32, packet.length_bytes, 70));
    cr_assert(eq(int, tl_capture_next(capture, &packet, NULL), TL_OK));
    cr_expect(eq(u16, packet.link_type, 101));
    cr_expect(eq(u16, packet.interface, 1));
    cr_expect(eq(int, tl_capture_next(capture, &packet, NULL), TL_CLOSED));
    tl_capture_info(capture, &info);
    cr_expect(eq(u64, info.dropped_count, 42));
    cr_expect(eq(uint, info.skipped_count, 1));
    cr_expect(eq(u64, info.snap_bytes, 96));
    tl_capture_close(capture);
    tl_buf_finish(&statistics);
    tl_buf_finish(&file);
}

Test(capture, refuses_a_pcapng_block_whose_lengths_differ)
{
    struct tl_buf file = TL_BUF_INIT;
    build_pcapng_begin(&file, 1);
    add_enhanced(&file, 0, 1);
    file.data[file.len - 4] ^= 4;
    struct tl_packet packet;
    struct tl_error error = {0};
    struct tl_capture *capture = build_open(file.data, file.len, NULL);
    cr_expect(eq(int, tl_capture_next(capture, &packet, &error), TL_SYNTAX));
    cr_expect(ne(ptr, strstr(error.text, "byte 60"), NULL), "%s", error.text);
    tl_capture_close(capture);
    tl_buf_finish(&file);
}

/* Longer than the window, so that records straddle its end. */
Test(capture, reads_on_over_the_end_of_its_window)
{
    struct tl_buf file = TL_BUF_INIT;
    static char bytes[1400];
    build_pcap_begin(&file, 1);
    for (int i = 0; i < 1000; i++) {
        memset(bytes, i, sizeof bytes);
        build_pcap_record(&file, i, bytes, sizeof bytes - (size_t)i, sizeof bytes);
    }
    struct tl_packet packet;
    struct tl_capture *capture = build_open(file.data, file.len, NULL);
    for (int i = 0; i < 1000; i++) {
        cr_assert(eq(int, tl_capture_next(capture, &packet, NULL), TL_OK));
        cr_assert(eq(i64, packet.time_ns, i));
        cr_assert(eq(int, packet.data[packet.captured_bytes - 1], i & 0xff));
    }
    cr_expect(eq(int, tl_capture_next(capture, &packet, NULL), TL_CLOSED));
    tl_capture_close(capture);
    tl_buf_finish(&file);
}

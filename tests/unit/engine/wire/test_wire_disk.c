/* Messages about disks: they come back as they went, at no other length, and what no disk can
 * do is refused. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tightlink/engine/disk.h"
#include "tightlink/engine/wire.h"
#include "tightlink/host/disk.h"

static uint8_t frame[TL_WIRE_FRAME_MAX];
#define PAYLOAD (frame + TL_WIRE_HEADER_SIZE)

static const struct tl_wire_disk_times times = {.end = TL_DISK_END_BYTES,
                                                .threads = 4,
                                                .bytes = 1 << 20,
                                                .operations = 1,
                                                .p50_ns = 5,
                                                .sync_ns = -1,
                                                .rate_bps = 2e8,
                                                .low_bps = 1e8,
                                                .high_bps = 3e8};

static size_t encode_result(void)
{
    struct tl_wire_disk_result message = {
        .token = {"token"}, .direct = 1, .area_bytes = 2, .free_bytes = 3, .write = times};
    message.read = times;
    return tl_wire_encode_disk_result(&message, frame) - TL_WIRE_HEADER_SIZE;
}

Test(wire_disk, a_result_comes_back)
{
    struct tl_wire_disk_result back;
    size_t len = encode_result();
    cr_assert_eq(tl_wire_decode_disk_result(PAYLOAD, len, &back, NULL), TL_OK);
    cr_expect_eq(back.free_bytes, 3);
    cr_expect_eq(memcmp(&back.read, &times, sizeof times), 0);
    cr_expect_eq(tl_wire_decode_disk_result(PAYLOAD, len - 1, &back, NULL), TL_PROTOCOL);
    cr_expect_eq(tl_wire_decode_disk_result(PAYLOAD, len + 1, &back, NULL), TL_PROTOCOL);
}

/* Byte at in the first of the two. */
static enum tl_status damage(size_t at, const void *bytes, size_t len)
{
    struct tl_wire_disk_result back;
    struct tl_error error = {0};
    size_t payload_len = encode_result();
    memcpy(PAYLOAD + at, bytes, len);
    enum tl_status status = tl_wire_decode_disk_result(PAYLOAD, payload_len, &back, &error);
    cr_expect(status == TL_OK || error.text[0]);
    return status;
}

Test(wire_disk, a_result_that_no_disk_can_have_is_refused)
{
    const uint8_t nan[8] = {0x7f, 0xf8}, minus[8] = {0x80}, huge[8] = {0x7f, 0xe0};
    const uint8_t long_ns[8] = {0x7f};
    cr_expect_eq(damage(40, "\7", 1), TL_RANGE, "an end");
    cr_expect_eq(damage(41, "\3", 1), TL_RANGE, "a mode");
    cr_expect_eq(damage(42, "\3", 1), TL_RANGE, "a cache");
    cr_expect_eq(damage(43, "\4", 1), TL_RANGE, "a fault");
    cr_expect_eq(damage(44, "\x11", 1), TL_RANGE, "threads");
    cr_expect_eq(damage(45, "\1", 1), TL_PROTOCOL, "a reserved byte");
    cr_expect_eq(damage(64, long_ns, 8), TL_RANGE, "a time of centuries");
    cr_expect_eq(damage(120, nan, 8), TL_RANGE, "no number");
    cr_expect_eq(damage(120, huge, 8), TL_RANGE, "a rate beyond belief");
    cr_expect_eq(damage(128, minus, 8), TL_RANGE, "minus zero has another spelling");
    cr_expect_eq(damage(16, "\2", 1), TL_RANGE, "neither yes nor no");
}

Test(wire_disk, a_file_test_is_a_tcp_test_with_a_disk)
{
    struct tl_wire_test_file back, message = {.flags = TL_WIRE_FILE_DISK,
                                              .threads = 7,
                                              .tcp = {.direction = TL_WIRE_UPLOAD,
                                                      .streams = 3,
                                                      .duration_ms = 5000,
                                                      .congestion = "reno"}};
    size_t len = tl_wire_encode_test_file(&message, frame) - TL_WIRE_HEADER_SIZE;
    cr_assert_eq(tl_wire_decode_test_file(PAYLOAD, len, &back, NULL), TL_OK);
    cr_expect_eq(back.threads, 7);
    cr_expect_eq(back.tcp.streams, 3);
    cr_expect_str_eq(back.tcp.congestion, "reno");
    for (size_t cut = 0; cut < len; cut++)
        cr_expect_neq(tl_wire_decode_test_file(PAYLOAD, cut, &back, NULL), TL_OK);
    PAYLOAD[0] = 2;
    cr_expect_eq(tl_wire_decode_test_file(PAYLOAD, len, &back, NULL), TL_RANGE);
}

Test(wire_disk, sums_are_bounded)
{
    struct tl_wire_sums back, message = {.test_id = 1, .stream = 2, .count = TL_WIRE_SUMS_MAX};
    for (unsigned i = 0; i < TL_WIRE_SUMS_MAX; i++)
        message.sums[i] = (struct tl_wire_sum){i, 1 + i, ~i};
    size_t len = tl_wire_encode_sums(&message, frame) - TL_WIRE_HEADER_SIZE;
    cr_assert_eq(tl_wire_decode_sums(PAYLOAD, len, &back, NULL), TL_OK);
    cr_expect_eq(memcmp(&back, &message, sizeof back), 0);
    cr_expect_eq(tl_wire_decode_sums(PAYLOAD, len - 12, &back, NULL), TL_PROTOCOL);
    memset(PAYLOAD + 12, 0, 4); /* a block of no bytes */
    cr_expect_eq(tl_wire_decode_sums(PAYLOAD, len, &back, NULL), TL_RANGE);
    message.sums[0].bytes = TL_TRANSFER_BLOCK_BYTES + 1;
    len = tl_wire_encode_sums(&message, frame) - TL_WIRE_HEADER_SIZE;
    cr_expect_eq(tl_wire_decode_sums(PAYLOAD, len, &back, NULL), TL_RANGE);
}

Test(wire_disk, ask_and_end_come_back)
{
    struct tl_wire_test_disk ask, asked = {4, 3000, 1 << 20};
    size_t len = tl_wire_encode_test_disk(&asked, frame) - TL_WIRE_HEADER_SIZE;
    cr_assert_eq(tl_wire_decode_test_disk(PAYLOAD, len, &ask, NULL), TL_OK);
    cr_expect_eq(ask.duration_ms, 3000);
    PAYLOAD[2] = 1;
    cr_expect_eq(tl_wire_decode_test_disk(PAYLOAD, len, &ask, NULL), TL_PROTOCOL);
    struct tl_wire_file_end end, ended = {1, 1, TL_WIRE_DISK_QUOTA, 2, 3, 4};
    len = tl_wire_encode_file_end(&ended, frame) - TL_WIRE_HEADER_SIZE;
    cr_assert_eq(tl_wire_decode_file_end(PAYLOAD, len, &end, NULL), TL_OK);
    cr_expect_eq(end.fault, TL_WIRE_DISK_QUOTA);
    PAYLOAD[5] = 9;
    cr_expect_eq(tl_wire_decode_file_end(PAYLOAD, len, &end, NULL), TL_RANGE);
}

Test(wire_disk, what_is_under_the_directory_travels_whole)
{
    struct tl_host_disk disk, back;
    tl_host_disk_init(&disk);
    tl_host_disk_init(&back);
    disk.numbers[TL_HOST_DISK_ROTATIONAL] = tl_host_known(1);
    disk.numbers[TL_HOST_DISK_THROTTLE_READ] = tl_host_unknown(TL_HOST_WHY_NOT_SET);
    tl_host_text_set(&disk.texts[TL_HOST_DISK_SCHEDULER], "mq-deadline");
    for (unsigned i = 0; i < tl_wire_disk_record_count(); i++) {
        struct tl_wire_record record;
        tl_wire_disk_record(&disk, i, &record);
        cr_expect(tl_wire_disk_store(&back, &record), "%s", record.name);
    }
    cr_expect_eq(memcmp(&disk, &back, sizeof disk), 0);
    struct tl_wire_record odd = {.kind = TL_WIRE_RECORD_NUMBER, .name = "disk.rotational"};
    odd.number = 2;
    cr_expect_not(tl_wire_disk_store(&back, &odd), "neither yes nor no");
    odd.number = -1;
    memcpy(odd.name, "disk.queue_count", 17);
    cr_expect_not(tl_wire_disk_store(&back, &odd));
    memcpy(odd.name, "rotational", 11);
    cr_expect_not(tl_wire_disk_store(&back, &odd));
}

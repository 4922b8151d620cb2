/* Everything of a UDP test that comes from the other end: its messages, what becomes of the
 * numbers in them, its datagrams, and what a receiver's account makes of any sequence of
 * numbers and times. The first byte chooses. */
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data_datagram.h"
#include "tightlink/engine/udp_wire.h"
#include "udp_account.h"
#include "udp_report.h"

unsigned long fuzz_accepted;

/* What was accepted is written again byte for byte, unless it has fields that we do not know. */
#define AGAIN(name)                                                                                \
    static void again_##name(const uint8_t *payload, size_t len, const struct tl_wire_##name *msg) \
    {                                                                                              \
        uint8_t frame[TL_WIRE_FRAME_MAX];                                                          \
        size_t written = tl_wire_encode_##name(msg, frame);                                        \
        MUST(written <= TL_WIRE_FRAME_MAX);                                                        \
        static struct tl_wire_##name read;                                                         \
        MUST(tl_wire_decode_##name(frame + TL_WIRE_HEADER_SIZE, written - TL_WIRE_HEADER_SIZE,     \
                                   &read, NULL) == TL_OK);                                         \
        fuzz_accepted++;                                                                           \
    }
AGAIN(test_udp)
AGAIN(udp_start)
AGAIN(udp_report)
AGAIN(udp_series)
#undef AGAIN

static void numbers(const struct tl_wire_udp_report *report)
{
    struct tl_udp_sender sender;
    struct tl_udp_receiver receiver;
    if (report->role == TL_UDP_ROLE_SENDER) {
        udp_sender_from_fields(&report->fields, &sender);
        MUST(sender.elapsed_ns >= 0 && sender.sent_count < UINT64_C(1) << 60);
    } else {
        udp_receiver_from_fields(&report->fields, &receiver);
        MUST(receiver.span_ns >= 0 && receiver.rcvbuf_bytes >= 0);
        MUST(isnan(receiver.received_bps) || receiver.received_bps >= 0);
        MUST(isnan(receiver.delay.median_ns) || receiver.delay.median_ns >= 0);
    }
}

static void records(const struct tl_wire_udp_series *series)
{
    static struct tl_udp_interval intervals[TL_UDP_INTERVALS_MAX];
    struct tl_udp_train trains[7];
    unsigned count = 0;
    for (unsigned i = 0; i < series->count; i++) {
        (void)udp_interval_merge(&series->records[i], i & 1, 1000000, intervals,
                                 TL_UDP_INTERVALS_MAX, &count);
        (void)udp_train_merge(&series->records[i], i & 1, trains, 7);
    }
    MUST(count <= TL_UDP_INTERVALS_MAX);
}

static void message(unsigned type, const uint8_t *payload, size_t len)
{
    static struct tl_wire_test_udp test;
    static struct tl_wire_udp_start start;
    static struct tl_wire_udp_report report;
    static struct tl_wire_udp_series series;
    if (type == 0 && tl_wire_decode_test_udp(payload, len, &test, NULL) == TL_OK)
        again_test_udp(payload, len, &test);
    if (type == 1 && tl_wire_decode_udp_start(payload, len, &start, NULL) == TL_OK)
        again_udp_start(payload, len, &start);
    if (type == 2 && tl_wire_decode_udp_report(payload, len, &report, NULL) == TL_OK) {
        again_udp_report(payload, len, &report);
        numbers(&report);
    }
    if (type == 3 && tl_wire_decode_udp_series(payload, len, &series, NULL) == TL_OK) {
        again_udp_series(payload, len, &series);
        records(&series);
    }
}

static void datagram(const uint8_t *bytes, size_t len)
{
    struct tl_wire_udp_feedback feedback;
    uint64_t sequence, sent_ns;
    struct udp_seal seal = {.on = len % 2 == 1, .key = {1, 2}};
    /* As a receiver does: its length and its type first. */
    if (len >= TL_WIRE_UDP_DATA_HEAD && len <= TL_UDP_DATAGRAM_MAX &&
        tl_wire_udp_type(bytes, len) == TL_WIRE_UDP_DATA)
        fuzz_accepted += udp_head_read(bytes, (unsigned)len, &seal, &sequence, &sent_ns);
    if (tl_wire_decode_udp_feedback(bytes, len, &feedback, NULL) == TL_OK) {
        uint8_t again[TL_WIRE_UDP_FEEDBACK_SIZE];
        MUST(tl_wire_encode_udp_feedback(&feedback, again) == len);
        MUST(memcmp(again, bytes, len) == 0);
        fuzz_accepted++;
    }
}

/* Four bytes an arrival: how the number, the departure and the arrival move on. Inputs are
 * small, so that one object serves for all of them (making one costs more than using it). */
static void arrivals(const uint8_t *bytes, size_t len)
{
    static struct udp_track track;
    static bool made;
    uint64_t sequence = 0, received = 0;
    int64_t arrival_ns = 0;
    if (!made)
        MUST(udp_track_init(&track) == TL_OK);
    made = true;
    uint64_t *bits = track.bits;
    struct udp_gap *gaps = track.gaps;
    struct udp_point *losses = track.losses;
    track = (struct udp_track){.bits = bits, .gaps = gaps, .losses = losses, .loss_stride = 1};
    for (size_t i = 0; i + 4 <= len; i += 4) {
        uint64_t step = bytes[i + 1];
        sequence = bytes[i] & 1 ? sequence - step : sequence + (step << (bytes[i] >> 1) % 32);
        sequence &= (UINT64_C(1) << 48) - 1;
        arrival_ns += bytes[i + 2] * 1000;
        struct udp_point point = {arrival_ns, bytes[i + 3]};
        received += udp_track_add(&track, sequence, arrival_ns, point) != UDP_DUPLICATE;
    }
    uint64_t next = track.next;
    udp_track_close(&track, next + 3);
    uint64_t runs = 0;
    for (unsigned i = 0; i < TL_UDP_RUN_CLASSES; i++)
        runs += track.runs.classes[i];
    MUST(track.unique_count == received && received <= next);
    MUST(runs == track.runs.run_count && track.runs.run_count >= 1);
    MUST(track.losses_seen <= track.runs.run_count + track.reordered_count + 1);
    for (uint64_t i = 0; i < UDP_TRACK_WINDOW / 64; i++)
        if (track.bits[i]) /* all closed */
            abort();
    fuzz_accepted++;
}

/* A whole test as its receiver counts it. Two bytes say what test it is; then six a datagram: its
 * number, when it says that it left (now and then anything at all), when it came, how long it is.
 */
static void account(const uint8_t *bytes, size_t len)
{
    static struct tl_udp_interval intervals[TL_UDP_INTERVALS_MAX];
    static struct tl_udp_receiver receiver;
    static struct tl_udp_train trains[4];
    struct udp_account account;
    unsigned count = 0;
    uint64_t sum = 0, sequence = 0;
    int64_t arrival_ns = 0;
    if (len < 2)
        return;
    struct udp_account_spec spec = {.duration_ns = INT64_C(1000000) << bytes[0] % 16,
                                    .interval_ns = 1000000 * (1 + bytes[1] % 100)};
    if (bytes[0] & 0x80) {
        spec.train_length = 2 + bytes[1] % 7;
        spec.train_count = 4;
    }
    MUST(udp_account_init(&account, &spec) == TL_OK);
    for (size_t i = 2; i + 6 <= len; i += 6) {
        const uint8_t *at = bytes + i;
        sequence = at[0] & 1 ? sequence - at[1] : sequence + ((uint64_t)at[1] << (at[0] >> 1) % 32);
        sequence &= (UINT64_C(1) << 48) - 1;
        arrival_ns += at[2] * 10000;
        uint64_t sent_ns = (uint64_t)arrival_ns + at[3] * UINT64_C(1000);
        if (at[4] >= 0xf0)
            sent_ns = (uint64_t)at[3] << (at[4] & 7) * 8;
        sent_ns %= (uint64_t)spec.duration_ns + 1000000000; /* a receiver takes no other */
        udp_account_add(&account, sequence, (int64_t)sent_ns, 48 + at[5], arrival_ns, at[4] & 1);
    }
    udp_account_close(&account, account.track.next + 3, &receiver, intervals, &count, trains);
    MUST(count <= TL_UDP_INTERVALS_MAX && receiver.span_ns >= 0);
    MUST(isnan(receiver.received_bps) || receiver.received_bps >= 0);
    for (unsigned i = 0; i < count; i++)
        sum += intervals[i].received_count;
    MUST(sum == account.track.unique_count);
    for (unsigned i = 0; spec.train_count && i < 4; i++)
        MUST(trains[i].received_count <= spec.train_length);
    udp_account_finish(&account);
    fuzz_accepted++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    uint8_t *copy = malloc(size - 1 ? size - 1 : 1);
    MUST(copy);
    memcpy(copy, data + 1, size - 1);
    unsigned kind = data[0] % 8;
    if (kind < 4)
        message(kind, copy, size - 1);
    else if (kind < 6)
        datagram(copy, size - 1);
    else if (kind == 6)
        arrivals(copy, size - 1);
    else
        account(copy, size - 1);
    free(copy);
    return 0;
}

/* --- Seeds ---------------------------------------------------------------------------------- */

static size_t seed_message(unsigned number, uint8_t *frame)
{
    static struct tl_wire_udp_report report;
    static struct tl_wire_udp_series series;
    struct tl_wire_test_udp test = {.datagram_bytes = 1448, .duration_ms = 300, .rate_bps = 1};
    report = (struct tl_wire_udp_report){.test_id = 1, .role = TL_UDP_ROLE_RECEIVER};
    for (unsigned i = 0; i < TL_UR_COUNT; i++)
        tl_udp_field_set(&report.fields, i, (uint64_t)i << i % 50);
    series = (struct tl_wire_udp_series){.test_id = 1, .count = 3};
    for (unsigned i = 0; i < 3; i++)
        for (unsigned k = 0; k < TL_UI_COUNT; k++)
            tl_udp_field_set(&series.records[i], k, i + k);
    switch (number) {
    case 0:
        return tl_wire_encode_test_udp(&test, frame);
    case 1:
        return tl_wire_encode_udp_start(&(struct tl_wire_udp_start){1, 2}, frame);
    case 2:
        return tl_wire_encode_udp_report(&report, frame);
    default:
        return tl_wire_encode_udp_series(&series, frame);
    }
}

const unsigned fuzz_seed_count = 9;

size_t fuzz_seed(unsigned number, uint8_t *bytes)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    bytes[0] = (uint8_t)number;
    if (number < 4) {
        size_t len = seed_message(number, frame) - TL_WIRE_HEADER_SIZE;
        memcpy(bytes + 1, frame + TL_WIRE_HEADER_SIZE, len);
        return 1 + len;
    }
    if (number == 4) {
        memset(bytes + 1, 0x55, 100);
        seal_data(&(struct tl_wire_udp_data){.bytes = 100, .sequence = 3}, bytes + 1);
        return 101;
    }
    if (number == 5)
        return 1 +
               tl_wire_encode_udp_feedback(&(struct tl_wire_udp_feedback){.cookie = 1}, bytes + 1);
    if (number > 6) { /* a rate test, and trains: all arrive but one, a millisecond apart */
        bytes[0] = 7;
        bytes[1] = number == 7 ? 7 : 0x87;
        bytes[2] = 9;
        for (unsigned i = 3; i < 603; i += 6)
            memcpy(bytes + i, (uint8_t[]){0, i == 303 ? 2 : 1, 100, 10, 1, 200}, 6);
        return 603;
    }
    for (unsigned i = 0; i < 400; i += 4) {
        bytes[1 + i] = i == 200 ? 1 : i == 300 ? 40 : 0;
        bytes[2 + i] = 1;
        bytes[3 + i] = 10;
        bytes[4 + i] = (uint8_t)i;
    }
    return 401;
}

/* Records, samples and datagrams: what varies in length. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tightlink/engine/sample.h"
#include "tightlink/engine/wire.h"
#include "tightlink/host/counters.h"
#include "tightlink/host/cpu.h"
#include "tightlink/host/host.h"

static const struct tl_wire_record number = {
    .kind = TL_WIRE_RECORD_NUMBER, .name = "tcp_rmem_max_bytes", .number = 6291456};
static const struct tl_wire_record text = {
    .kind = TL_WIRE_RECORD_TEXT, .name = "cc_current", .text = "cubic"};
static const struct tl_wire_record unknown = {
    .kind = TL_WIRE_RECORD_UNKNOWN, .name = "link_speed_bps", .why = 7};

static size_t three_records(uint8_t frame[TL_WIRE_FRAME_MAX])
{
    struct tl_wire_writer writer;
    tl_wire_host_begin(&writer, frame);
    cr_assert(tl_wire_record_add(&writer, &number));
    cr_assert(tl_wire_record_add(&writer, &text));
    cr_assert(tl_wire_record_add(&writer, &unknown));
    return tl_wire_writer_end(&writer);
}

/* How many records can be read before the end or a refusal; *ret_status says which. */
static int count_records(const uint8_t *payload, size_t len, enum tl_status *ret_status)
{
    uint8_t *copy = malloc(len ? len : 1);
    memcpy(copy, payload, len);
    struct tl_wire_cursor cursor = {copy, copy + len};
    struct tl_wire_record record;
    bool more = true;
    int count = 0;
    while ((*ret_status = tl_wire_record_next(&cursor, &record, &more, NULL)) == TL_OK && more)
        count++;
    free(copy);
    return count;
}

Test(wire_record, records_come_back)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    size_t len = three_records(frame);
    struct tl_wire_frame seen;
    cr_assert_eq(tl_wire_peek(frame, len, &seen, NULL), TL_OK);
    cr_assert_eq(seen.type, TL_WIRE_HOST);
    struct tl_wire_cursor cursor = {seen.payload, seen.payload + seen.payload_len};
    struct tl_wire_record record;
    bool more;
    cr_assert_eq(tl_wire_record_next(&cursor, &record, &more, NULL), TL_OK);
    cr_expect(more && record.number == 6291456 && strcmp(record.name, number.name) == 0);
    cr_assert_eq(tl_wire_record_next(&cursor, &record, &more, NULL), TL_OK);
    cr_expect_str_eq(record.text, "cubic");
    cr_assert_eq(tl_wire_record_next(&cursor, &record, &more, NULL), TL_OK);
    cr_expect(record.kind == TL_WIRE_RECORD_UNKNOWN && record.why == 7);
    cr_assert_eq(tl_wire_record_next(&cursor, &record, &more, NULL), TL_OK);
    cr_expect(!more);
}

Test(wire_record, a_cut_frame_is_refused_or_ends_between_records)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    size_t len = three_records(frame) - TL_WIRE_HEADER_SIZE;
    size_t first = 4 + strlen(number.name) + 8, second = first + 4 + strlen(text.name) + 5;
    for (size_t cut = 0; cut < len; cut++) {
        enum tl_status status;
        count_records(frame + TL_WIRE_HEADER_SIZE, cut, &status);
        bool between = cut == 0 || cut == first || cut == second;
        cr_expect_eq(status == TL_OK, between, "cut at %zu", cut);
    }
}

Test(wire_record, bad_names_and_values_are_refused)
{
    struct tl_wire_record bad[] = {number, number, number, text, text, unknown, unknown};
    strcpy(bad[0].name, "../etc");
    bad[1].name[0] = '\0';
    bad[2].number = NAN;
    strcpy(bad[3].text, "\x1b[2J");
    strcpy(bad[4].name, "Name");
    bad[5].why = 0;
    bad[6].kind = (enum tl_wire_record_kind)9;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint8_t frame[TL_WIRE_FRAME_MAX];
        struct tl_wire_writer writer;
        tl_wire_host_begin(&writer, frame);
        cr_assert(tl_wire_record_add(&writer, &bad[i]));
        size_t len = tl_wire_writer_end(&writer) - TL_WIRE_HEADER_SIZE;
        enum tl_status status;
        cr_expect_eq(count_records(frame + TL_WIRE_HEADER_SIZE, len, &status), 0);
        cr_expect_neq(status, TL_OK, "bad record %zu passed", i);
    }
}

Test(wire_record, a_full_frame_takes_no_more)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_writer writer;
    tl_wire_host_begin(&writer, frame);
    int count = 0;
    while (tl_wire_record_add(&writer, &number))
        cr_assert(++count < 1000);
    size_t len = tl_wire_writer_end(&writer);
    cr_expect(len <= TL_WIRE_FRAME_MAX && len > TL_WIRE_FRAME_MAX - 40);
    enum tl_status status;
    cr_expect_eq(count_records(frame + TL_WIRE_HEADER_SIZE, len - TL_WIRE_HEADER_SIZE, &status),
                 count);
    cr_expect_eq(status, TL_OK);
}

Test(wire_record, host_settings_travel_with_their_reasons)
{
    struct tl_host_settings sent, back;
    tl_host_settings_init(&sent);
    tl_host_settings_init(&back);
    sent.numbers[TL_HOST_TCP_RMEM_MAX] = tl_host_known(6291456);
    sent.numbers[TL_HOST_LINK_SPEED] = tl_host_unknown(TL_HOST_WHY_NO_ANSWER);
    tl_host_text_set(&sent.texts[TL_HOST_TEXT_CC_CURRENT], "cubic");
    tl_host_text_unknown(&sent.texts[TL_HOST_TEXT_KERNEL], TL_HOST_WHY_WITHHELD);
    for (unsigned i = 0; i < tl_wire_host_record_count(); i++) {
        struct tl_wire_record record;
        tl_wire_host_record(&sent, i, &record);
        cr_expect(tl_wire_host_store(&back, &record), "%s is not known", record.name);
    }
    cr_expect_eq(back.numbers[TL_HOST_TCP_RMEM_MAX].number, 6291456);
    cr_expect_eq(back.numbers[TL_HOST_LINK_SPEED].why, TL_HOST_WHY_NO_ANSWER);
    cr_expect_eq(back.numbers[TL_HOST_TCP_SACK].why, TL_HOST_WHY_NOT_READ);
    cr_expect_str_eq(back.texts[TL_HOST_TEXT_CC_CURRENT].text, "cubic");
    cr_expect_eq(back.texts[TL_HOST_TEXT_KERNEL].why, TL_HOST_WHY_WITHHELD);
}

Test(wire_record, processor_time_travels_with_its_reasons)
{
    struct tl_cpu_usage sent = {.elapsed_ns = 5000000000}, back = {0};
    sent.values[TL_CPU_CORE_BUSY] = tl_host_known(0.5);
    sent.values[TL_CPU_THROTTLED] = tl_host_unknown(TL_HOST_WHY_NOT_SET);
    struct tl_wire_record record;
    for (unsigned i = 0; i < tl_wire_cpu_record_count(); i++) {
        tl_wire_cpu_record(&sent, i, &record);
        cr_expect(tl_wire_cpu_store(&back, &record), "%s is not known", record.name);
    }
    cr_expect(back.elapsed_ns == sent.elapsed_ns && back.values[TL_CPU_CORE_BUSY].number == 0.5);
    cr_expect_eq(back.values[TL_CPU_THROTTLED].why, TL_HOST_WHY_NOT_SET);
    record.number = 1e300; /* of cpu.elapsed_ns */
    cr_expect(!tl_wire_cpu_store(&back, &record));
    record.number = -1;
    cr_expect(!tl_wire_cpu_store(&back, &record));
    strcpy(record.name, "core_busy_ratio");
    cr_expect(!tl_wire_cpu_store(&back, &record));
    strcpy(record.name, "cpu.core_busy_ratio");
    record.kind = TL_WIRE_RECORD_TEXT;
    cr_expect(!tl_wire_cpu_store(&back, &record));
    cr_expect(back.elapsed_ns == sent.elapsed_ns && back.values[TL_CPU_CORE_BUSY].number == 0.5);
}

Test(wire_record, counters_travel_and_closed_ones_do_not)
{
    static struct tl_host_counters_growth sent, back;
    struct tl_wire_record record;
    for (unsigned i = 0; i < TL_HOST_COUNTER_COUNT; i++)
        sent.values[i] = tl_host_known(i + 1);
    sent.values[TL_HOST_COUNTER_NIC_RX_PAUSE] = tl_host_unknown(TL_HOST_WHY_NO_ANSWER);
    for (unsigned i = 0; i < tl_wire_counters_record_count(); i++) {
        tl_wire_counters_record(&sent, i, true, &record);
        cr_expect(strlen(record.name) < TL_WIRE_RECORD_NAME_SIZE - 1);
        cr_expect(tl_wire_counters_store(&back, &record), "%s is not known", record.name);
    }
    cr_expect_eq(back.values[TL_HOST_COUNTER_SOFTNET_DROPPED].number,
                 TL_HOST_COUNTER_SOFTNET_DROPPED + 1);
    cr_expect_eq(back.values[TL_HOST_COUNTER_NIC_RX_PAUSE].why, TL_HOST_WHY_NO_ANSWER);
    cr_expect_eq(back.values[TL_HOST_COUNTER_TCP_LISTEN_DROPS].why, TL_HOST_WHY_WITHHELD);
    tl_wire_counters_record(&sent, TL_HOST_COUNTER_TCP_LISTEN_DROPS, false, &record);
    cr_expect(record.kind == TL_WIRE_RECORD_NUMBER);
    record.number = -1;
    cr_expect(!tl_wire_counters_store(&back, &record), "a count is not negative");
    record.kind = TL_WIRE_RECORD_TEXT;
    cr_expect(!tl_wire_counters_store(&back, &record));
    strcpy(record.name, "net.no_such_count");
    cr_expect(!tl_wire_counters_store(&back, &record));
}

Test(wire_record, host_records_that_do_not_fit_change_nothing)
{
    struct tl_host_settings settings;
    tl_host_settings_init(&settings);
    struct tl_wire_record record = number;
    strcpy(record.name, "cc_current"); /* a number where a text belongs */
    cr_expect(!tl_wire_host_store(&settings, &record));
    strcpy(record.name, "of_a_later_version");
    cr_expect(!tl_wire_host_store(&settings, &record));
    record = unknown;
    record.why = 200; /* a reason of a later version */
    cr_expect(tl_wire_host_store(&settings, &record));
    cr_expect_eq(settings.numbers[TL_HOST_LINK_SPEED].why, TL_HOST_WHY_NOT_READ);
}

Test(wire_record, readings_have_a_head)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_writer writer;
    struct tl_wire_readings head = {.test_id = 9, .phase = TL_WIRE_AFTER, .taken_ns = 77}, back;
    tl_wire_readings_begin(&writer, &head, frame);
    cr_assert(tl_wire_record_add(&writer, &number));
    size_t len = tl_wire_writer_end(&writer) - TL_WIRE_HEADER_SIZE;
    const uint8_t *payload = frame + TL_WIRE_HEADER_SIZE;
    struct tl_wire_cursor cursor;
    cr_assert_eq(tl_wire_decode_readings(payload, len, &back, &cursor, NULL), TL_OK);
    cr_expect(back.test_id == 9 && back.phase == TL_WIRE_AFTER && back.taken_ns == 77);
    enum tl_status status;
    cr_expect_eq(count_records(cursor.at, (size_t)(cursor.end - cursor.at), &status), 1);
    for (size_t cut = 0; cut < 16; cut++)
        cr_expect_neq(tl_wire_decode_readings(payload, cut, &back, &cursor, NULL), TL_OK);
    frame[TL_WIRE_HEADER_SIZE + 4] = 2;
    cr_expect_eq(tl_wire_decode_readings(payload, len, &back, &cursor, NULL), TL_RANGE);
    frame[TL_WIRE_HEADER_SIZE + 4] = 1;
    frame[TL_WIRE_HEADER_SIZE + 7] = 1;
    cr_expect_eq(tl_wire_decode_readings(payload, len, &back, &cursor, NULL), TL_PROTOCOL);
    memset(frame + TL_WIRE_HEADER_SIZE, 0, 8);
    cr_expect_eq(tl_wire_decode_readings(payload, len, &back, &cursor, NULL), TL_RANGE);
}

static struct tl_tcp_sample full_sample(uint64_t value)
{
    struct tl_tcp_sample sample = {.time_ns = 123456789, .stream = 3, .last = true};
    for (int i = 0; i < TL_SAMPLE_FIELD_COUNT; i++)
        if (i != TL_SF_fackets_count) /* absent is not 0 */
            tl_sample_set(&sample, (enum tl_sample_field)i, value + (uint64_t)i);
    return sample;
}

static size_t samples_frame(uint8_t frame[TL_WIRE_FRAME_MAX], uint64_t value, int *ret_count)
{
    struct tl_wire_writer writer;
    struct tl_wire_samples head = {.test_id = 9, .stream = 3};
    struct tl_tcp_sample sample = full_sample(value);
    tl_wire_samples_begin(&writer, &head, frame);
    for (*ret_count = 0; tl_wire_sample_add(&writer, &sample); ++*ret_count)
        ;
    return tl_wire_writer_end(&writer);
}

Test(wire_record, samples_come_back_whole_at_every_size_of_number)
{
    static const uint64_t values[] = {0, 1, 100, 20000, UINT64_C(1) << 40, UINT64_MAX - 200};
    for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
        uint8_t frame[TL_WIRE_FRAME_MAX];
        int count;
        size_t len = samples_frame(frame, values[v], &count);
        cr_expect(count >= 4 && count <= TL_WIRE_SAMPLES_MAX, "%d samples a frame", count);
        struct tl_wire_samples head;
        struct tl_tcp_sample back[TL_WIRE_SAMPLES_MAX], sent = full_sample(values[v]);
        struct tl_error error = {0};
        cr_assert_eq(tl_wire_decode_samples(frame + TL_WIRE_HEADER_SIZE, len - TL_WIRE_HEADER_SIZE,
                                            &head, back, &error),
                     TL_OK, "%s", error.text);
        cr_expect(head.count == count && head.test_id == 9 && head.stream == 3);
        for (int i = 0; i < count; i++) {
            cr_expect(back[i].time_ns == sent.time_ns && back[i].last && back[i].stream == 3);
            cr_expect(!tl_sample_has(&back[i], TL_SF_fackets_count));
            for (int f = 0; f < TL_SAMPLE_FIELD_COUNT; f++)
                cr_expect_eq(tl_sample_get(&back[i], f), tl_sample_get(&sent, f), "field %d", f);
        }
    }
}

Test(wire_record, cut_samples_are_refused)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    int count;
    size_t len = samples_frame(frame, 20000, &count) - TL_WIRE_HEADER_SIZE;
    struct tl_wire_samples head;
    struct tl_tcp_sample back[TL_WIRE_SAMPLES_MAX];
    for (size_t cut = 0; cut < len; cut++) {
        uint8_t *copy = malloc(cut ? cut : 1);
        memcpy(copy, frame + TL_WIRE_HEADER_SIZE, cut);
        cr_expect_neq(tl_wire_decode_samples(copy, cut, &head, back, NULL), TL_OK);
        free(copy);
    }
}

Test(wire_record, bad_samples_are_refused)
{
    /* head 8, time 8, flags, count of fields, presence: offsets in the payload */
    static const struct {
        size_t at;
        uint8_t value;
    } bad[] = {{3, 0}, {4, 1}, {5, 128},  {6, 0},  {6, 33},
               {6, 1}, {7, 1}, {8, 0x80}, {16, 2}, {17, 255}};
    struct tl_wire_samples head;
    struct tl_tcp_sample back[TL_WIRE_SAMPLES_MAX];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint8_t frame[TL_WIRE_FRAME_MAX];
        int count;
        size_t len = samples_frame(frame, 5, &count) - TL_WIRE_HEADER_SIZE;
        frame[TL_WIRE_HEADER_SIZE + bad[i].at] = bad[i].value;
        cr_expect_neq(tl_wire_decode_samples(frame + TL_WIRE_HEADER_SIZE, len, &head, back, NULL),
                      TL_OK, "bad value %zu passed", i);
    }
}

Test(wire_record, a_number_has_one_spelling_and_later_fields_are_skipped)
{
    /* One sample with 128 fields, of which the last is present, as of a later version. */
    uint8_t payload[8 + 8 + 2 + 16 + 11] = {0, 0, 0, 9, 0, 3, 1, 0};
    payload[17] = 128;
    payload[18 + 15] = 0x80;
    payload[34] = 5;
    struct tl_wire_samples head;
    struct tl_tcp_sample back[TL_WIRE_SAMPLES_MAX];
    cr_expect_eq(tl_wire_decode_samples(payload, 35, &head, back, NULL), TL_OK);
    cr_expect_eq(back[0].present[0] | back[0].present[1], 0);
    payload[34] = 0x85; /* 5 with a zero group behind it */
    cr_expect_eq(tl_wire_decode_samples(payload, 36, &head, back, NULL), TL_PROTOCOL);
    memset(payload + 34, 0xff, 9); /* 2^64 and more */
    payload[43] = 2;
    cr_expect_eq(tl_wire_decode_samples(payload, 44, &head, back, NULL), TL_PROTOCOL);
    payload[43] = 1; /* 2^64 - 1 */
    cr_expect_eq(tl_wire_decode_samples(payload, 44, &head, back, NULL), TL_OK);
}

Test(wire_udp, proofs_come_back_at_one_length_only)
{
    struct tl_wire_udp_prove msg = {.type = TL_WIRE_UDP_PROVE,
                                    .token = {"token"},
                                    .challenge = {"challenge"}},
                             back;
    uint8_t datagram[TL_WIRE_UDP_HELLO_SIZE + 1] = {0};
    size_t len = tl_wire_encode_udp_prove(&msg, datagram);
    cr_assert_eq(len, 64);
    cr_assert_eq(tl_wire_decode_udp_prove(datagram, len, &back, NULL), TL_OK);
    cr_expect_eq(memcmp(&msg, &back, sizeof msg), 0);
    for (size_t cut = 0; cut <= len + 1; cut++)
        if (cut != len)
            cr_expect_neq(tl_wire_decode_udp_prove(datagram, cut, &back, NULL), TL_OK);
    static const size_t reserved[] = {0, 5, 7, 48, 63};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        tl_wire_encode_udp_prove(&msg, datagram);
        datagram[reserved[i]] ^= 0x40;
        cr_expect_neq(tl_wire_decode_udp_prove(datagram, len, &back, NULL), TL_OK, "byte %zu",
                      reserved[i]);
    }
    static const uint8_t no_proof[] = {0, TL_WIRE_UDP_PROBE, TL_WIRE_UDP_REPLY, 7, 255};
    for (size_t i = 0; i < sizeof no_proof; i++) {
        tl_wire_encode_udp_prove(&msg, datagram);
        datagram[4] = no_proof[i];
        cr_expect_neq(tl_wire_decode_udp_prove(datagram, len, &back, NULL), TL_OK);
    }
}

Test(wire_udp, probes_come_back_and_damage_is_seen_in_every_bit)
{
    struct tl_wire_udp_probe msg = {.type = TL_WIRE_UDP_REPLY,
                                    .cookie = 0x1122334455667788,
                                    .sequence = 42,
                                    .client_ns = 5,
                                    .receive_ns = 6,
                                    .held_ns = 7,
                                    .received_bytes = 1400,
                                    .damaged_count = 8},
                             back;
    uint8_t datagram[200];
    memset(datagram, 0x5a, sizeof datagram);
    tl_wire_seal_udp_probe(&msg, datagram, sizeof datagram);
    bool intact = false;
    cr_assert_eq(tl_wire_decode_udp_probe(datagram, sizeof datagram, &back, &intact, NULL), TL_OK);
    cr_expect(intact && back.cookie == msg.cookie && back.sequence == 42 && back.client_ns == 5);
    cr_expect(back.receive_ns == 6 && back.held_ns == 7 && back.received_bytes == 1400 &&
              back.damaged_count == 8 && back.reply_bytes == 0);
    for (size_t bit = 8 * 5; bit < 8 * sizeof datagram; bit++) {
        datagram[bit / 8] ^= (uint8_t)(1u << bit % 8);
        cr_assert_eq(tl_wire_decode_udp_probe(datagram, sizeof datagram, &back, &intact, NULL),
                     TL_OK);
        cr_expect(!intact, "bit %zu", bit);
        datagram[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t cut = 0; cut < TL_WIRE_UDP_PROBE_SIZE; cut++)
        cr_expect_neq(tl_wire_decode_udp_probe(datagram, cut, &back, &intact, NULL), TL_OK);
}

Test(wire_udp, a_probe_cannot_ask_for_more_than_it_brings)
{
    static const uint16_t asked[] = {0, 48, 199, 200, 201, 47, 1, 65535};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        struct tl_wire_udp_probe msg = {.type = TL_WIRE_UDP_PROBE, .reply_bytes = asked[i]}, back;
        uint8_t datagram[200] = {0};
        bool intact;
        tl_wire_seal_udp_probe(&msg, datagram, sizeof datagram);
        enum tl_status status =
            tl_wire_decode_udp_probe(datagram, sizeof datagram, &back, &intact, NULL);
        cr_expect_eq(status, i < 4 ? TL_OK : TL_RANGE, "%u", asked[i]);
    }
}

Test(wire_udp, the_checksum_is_crc32c)
{
    /* The check value of "123456789" is e3069283; here through the datagram it protects:
     * computed once with an independent implementation over 48 bytes with a zero field. */
    struct tl_wire_udp_probe msg = {.type = TL_WIRE_UDP_PROBE, .sequence = 1};
    uint8_t datagram[TL_WIRE_UDP_PROBE_SIZE];
    tl_wire_seal_udp_probe(&msg, datagram, sizeof datagram);
    static const uint8_t expected[4] = {0x3a, 0x07, 0xeb, 0x51};
    cr_expect_eq(memcmp(datagram + 20, expected, 4), 0, "%02x%02x%02x%02x", datagram[20],
                 datagram[21], datagram[22], datagram[23]);
}

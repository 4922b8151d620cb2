/* doc/wire.md against the code: its worked example byte for byte, its tables row by row. A
 * failure prints what the document should say. */
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../udp/data_datagram.h"
#include "tightlink/engine/limits.h"
#include "tightlink/engine/sample.h"
#include "tightlink/engine/stream.h"
#include "tightlink/engine/udp_wire.h"
#include "tightlink/engine/wire.h"
#include "tightlink/host/cpu.h"
#include "tightlink/host/host.h"
#include "wire_layout.h"

static char *read_document(void)
{
    FILE *file = fopen(TL_DOC_DIR "/wire.md", "r");
    cr_assert(file, "no " TL_DOC_DIR "/wire.md");
    char *text = calloc(1, 1 << 20);
    cr_assert(text && fread(text, 1, (1 << 20) - 1, file) > 1000);
    fclose(file);
    return text;
}

static const struct tl_wire_token token = {{0x9a, 0x31, 0x5c, 0x07, 0xe2, 0x44, 0x80, 0x1f, 0x6b,
                                            0xd0, 0x13, 0xc8, 0x75, 0xae, 0x29, 0xf6}};
static const struct tl_wire_token nonce = {{0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
                                            0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f}};

/* Looks for the block "```hex NAME" and compares. */
static void expect_block(const char *document, const char *name, const uint8_t *bytes, size_t len)
{
    char block[4 * TL_WIRE_FRAME_MAX];
    int n = snprintf(block, sizeof block, "```hex %s\n", name);
    for (size_t i = 0; i < len; i++)
        n += snprintf(block + n, sizeof block - (size_t)n, "%02x%c", bytes[i],
                      i + 1 == len || i % 16 == 15 ? '\n' : ' ');
    snprintf(block + n, sizeof block - (size_t)n, "```\n");
    cr_expect(strstr(document, block), "doc/wire.md should have:\n%s", block);
}

#define BLOCK(name, ...)                                                                           \
    do {                                                                                           \
        struct tl_wire_##name msg = {__VA_ARGS__};                                                 \
        uint8_t frame[TL_WIRE_FRAME_MAX];                                                          \
        expect_block(document, #name, frame, tl_wire_encode_##name(&msg, frame));                  \
    } while (0)

static void expect_probe_block(const char *document)
{
    struct tl_wire_udp_probe probe = {.type = TL_WIRE_UDP_PROBE,
                                      .cookie = tl_wire_udp_cookie(&nonce),
                                      .sequence = 1,
                                      .client_ns = 1000000};
    uint8_t datagram[TL_WIRE_UDP_PROBE_SIZE];
    tl_wire_seal_udp_probe(&probe, datagram, sizeof datagram);
    expect_block(document, "udp_probe", datagram, sizeof datagram);
}

static void expect_samples_block(const char *document)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_writer writer;
    struct tl_tcp_sample sample = {.time_ns = 50000000};
    tl_sample_set(&sample, TL_SF_app_bytes, 300);
    tl_sample_set(&sample, TL_SF_state, 1);
    tl_wire_samples_begin(&writer, &(struct tl_wire_samples){.test_id = 1}, frame);
    cr_assert(tl_wire_sample_add(&writer, &sample));
    expect_block(document, "samples", frame, tl_wire_writer_end(&writer));
}

static void expect_readings_block(const char *document)
{
    uint8_t frame[TL_WIRE_FRAME_MAX];
    struct tl_wire_writer writer;
    struct tl_wire_readings head = {.test_id = 1, .phase = TL_WIRE_AFTER, .taken_ns = 7000000000};
    struct tl_wire_record record = {
        .kind = TL_WIRE_RECORD_NUMBER, .name = "cpu.core_busy_ratio", .number = 0.5};
    tl_wire_readings_begin(&writer, &head, frame);
    cr_assert(tl_wire_record_add(&writer, &record));
    expect_block(document, "readings", frame, tl_wire_writer_end(&writer));
}

Test(wire_doc, the_worked_example_is_what_the_encoders_write)
{
    char *document = read_document();
    BLOCK(hello, .version = 1, .nonce = nonce, .program = "example 1");
    BLOCK(welcome, .version = 1, .token = token, .nonce = nonce, .max_seconds = 60,
          .max_streams = 32, .quota_left_bytes = UINT64_MAX, .program = "tightlinkd 0.1.0");
    BLOCK(test_tcp, .direction = TL_WIRE_DOWNLOAD, .streams = 1, .duration_ms = 5000,
          .sample_interval_us = 50000, .congestion = "cubic");
    BLOCK(ready, .test_id = 1, .streams = 1, .duration_ms = 5000, .sample_interval_us = 50000,
          .max_bytes = UINT64_C(1) << 44, .congestion = "cubic");
    BLOCK(data_hello, .version = 1, .test_id = 1, .token = token);
    BLOCK(data_ok, .test_id = 1);
    BLOCK(start, .test_id = 1);
    BLOCK(started, .test_id = 1, .responder_ns = 2000000000);
    BLOCK(test_end, .token = token, .test_id = 1, .reason = TL_WIRE_END_TIME, .count = 1,
          .streams = 1, .send_path = TL_SEND_COPY, .duration_ns = 5000100000,
          .totals = {{62500000, 4999900000, 800000000, 2000000}});
    BLOCK(error, .code = TL_WIRE_E_QUOTA, .text = "no bytes left");
    BLOCK(test_udp, .direction = TL_WIRE_DOWNLOAD, .datagram_bytes = 1448, .duration_ms = 1000,
          .rate_bps = 10000000, .interval_us = 50000, .grace_ms = 100);
    BLOCK(udp_start, .test_id = 1, .cookie = tl_wire_udp_cookie(&nonce));
    BLOCK(udp_report, .test_id = 1, .role = TL_UDP_ROLE_SENDER, .is_final = true,
          .fields = {.present = 3, .values = {863, 1249624}});
    BLOCK(udp_series, .test_id = 1, .kind = TL_UDP_SERIES_INTERVALS, .count = 1,
          .records = {{.present = 3, .values = {2, 43}}});
    expect_samples_block(document);
    expect_readings_block(document);
    expect_probe_block(document);
    free(document);
}

static void TL_PRINTF(2, 3) expect_row(const char *document, const char *fmt, ...)
{
    char row[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(row, sizeof row, fmt, args);
    va_end(args);
    cr_expect(strstr(document, row), "doc/wire.md should have: %s", row);
}

Test(wire_doc, its_tables_are_those_of_the_code)
{
    char *document = read_document();
    for (int i = 0; i < TL_LIMIT_COUNT; i++) {
        const struct tl_limit_row *row = tl_limit_row((enum tl_limit)i);
        expect_row(document, "\n| %s | %s | %lld | %lld | %lld |\n", row->id, row->name,
                   (long long)row->min, (long long)row->max, (long long)row->standard);
    }
    for (int i = 0; i < TL_SAMPLE_FIELD_COUNT; i++)
        expect_row(document, "\n| %d | %s | %s | %s |\n", i, tl_sample_fields[i].name,
                   tl_sample_fields[i].unit, tl_sample_fields[i].meaning);
    for (unsigned i = 0; i < TL_HOST_NUMBER_COUNT; i++) {
        const struct tl_host_field *field = tl_host_number_field(i);
        expect_row(document, "\n| %s | %s | %s |\n", field->name, field->unit,
                   field->open ? "yes" : "no");
    }
    for (unsigned i = 0; i < TL_HOST_TEXT_COUNT; i++) {
        const struct tl_host_field *field = tl_host_text_field(i);
        expect_row(document, "\n| %s | text | %s |\n", field->name, field->open ? "yes" : "no");
    }
    for (unsigned i = 0; i < TL_CPU_USAGE_COUNT; i++)
        expect_row(document, "\n| cpu.%s | %s |\n", tl_cpu_usage_name(i), tl_cpu_usage_unit(i));
    for (unsigned i = 1; i < TL_HOST_WHY_COUNT; i++)
        expect_row(document, "\n| %u | %s |\n", i, tl_host_why_text((enum tl_host_why)i));
    free(document);
}

/* One row; a part's size is that of its layout, a list and a rest have none. */
static int describe_field(const struct wire_field *field, size_t at, char *row, size_t room)
{
    size_t size = field->kind == WIRE_KIND_PART ? wire_layout_size(field->part) : field->size;
    char text[32] = "", sizes[32] = "";
    if (field->kind == WIRE_KIND_TYPE)
        snprintf(text, sizeof text, "%u", (unsigned)field->low);
    else if (field->kind == WIRE_KIND_CONST)
        snprintf(text, sizeof text, "`%s`", field->text);
    if (field->kind == WIRE_KIND_REST)
        snprintf(sizes, sizeof sizes, "0 to %u", field->width - 1u);
    else if (size)
        snprintf(sizes, sizeof sizes, "%zu", size);
    return snprintf(row, room, "| %zu |%s%s | %s |\n", at, sizes[0] ? " " : "", sizes,
                    text[0] ? text : field->text);
}

static void describe_layout(const struct wire_layout *layout, char *table, size_t room)
{
    int n = snprintf(table, room, "| at | size | meaning |\n|---|---|---|\n");
    size_t at = 0;
    for (size_t i = 0; i < layout->count; i++) {
        const struct wire_field *field = &layout->fields[i];
        n += describe_field(field, at, table + n, room - (size_t)n);
        at += field->kind == WIRE_KIND_PART ? wire_layout_size(field->part) : field->size;
    }
}

/* The table behind its heading, to the last row; some say more about what follows the last field.
 */
static bool has_table(const char *document, const char *heading, const char *table)
{
    const char *section = strstr(document, heading);
    const char *begin = section ? strstr(section, "| at | size | meaning |") : NULL;
    return begin && strncmp(begin, table, strlen(table)) == 0;
}

Test(wire_doc, its_layouts_are_those_of_the_code)
{
    char *document = read_document();
    for (size_t i = 0; i < wire_documented_count; i++) {
        const struct wire_documented *row = &wire_documented[i];
        char heading[64], table[8192];
        snprintf(heading, sizeof heading, row->heading ? "\n%s" : "\n### %s",
                 row->heading ? row->heading : row->layout->name);
        describe_layout(row->layout, table, sizeof table);
        bool there = has_table(document, heading, table);
        if (!there)
            fprintf(stderr, "doc/wire.md should have under \"%s\":\n%s\n", heading + 1, table);
        cr_expect(there, "%s", heading + 1);
    }
    free(document);
}

/* DATA is packed by hand: its bytes are those that its table makes. */
Test(wire_doc, data_is_laid_out_as_its_table_says)
{
    const struct tl_wire_udp_data msg = {.head_crc = true,
                                         .bytes = 64,
                                         .cookie = 0x0102030405060708,
                                         .test_id = 0x11121314,
                                         .sequence = 0x2122232425262728,
                                         .sent_ns = 0x3132333435363738};
    uint8_t sealed[64] = {0}, made[64] = {0};
    struct wire_out out = {made};
    seal_data(&msg, sealed);
    memset(sealed + WIRE_UDP_CRC_AT, 0, 4);
    wire_put(&wire_layout_udp_data, &msg, &out);
    cr_expect_eq(out.at - made, TL_WIRE_UDP_DATA_HEAD);
    cr_expect_arr_eq(made, sealed, sizeof made);
}

Test(wire_doc, its_numbers_of_udp_tests_are_those_of_the_code)
{
    char *document = read_document();
#define ROW(name, unit, meaning)                                                                   \
    expect_row(document, "\n| %d | " #name " | " unit " | " meaning " |\n", number++);
    int number = 0;
    TL_UDP_SENDER_FIELDS(ROW)
    number = 0;
    TL_UDP_RECEIVER_FIELDS(ROW)
    number = 0;
    TL_UDP_INTERVAL_FIELDS(ROW)
    number = 0;
    TL_UDP_TRAIN_FIELDS(ROW)
#undef ROW
    free(document);
}

Test(wire_doc, names_every_type_and_error_with_its_number)
{
    char *document = read_document();
    for (unsigned type = 0; type < 256; type++)
        if (tl_wire_type_name(type)[0] != '?')
            expect_row(document, "\n| %u | %s |", type, tl_wire_type_name(type));
    for (unsigned code = 0; code < 256; code++)
        if (tl_wire_error_name(code)[0] != '?')
            expect_row(document, "\n| %u | %s | %s |", code, tl_wire_error_name(code),
                       tl_wire_error_is_final(code) ? "ends" : "goes on");
    free(document);
}

/* Records and samples: what only the responder sends.
 * Frames are filled through a writer, so that one message may take several.
 * Layouts: doc/wire.md. */
#include "tightlink/engine/wire.h"

#include <assert.h>
#include <math.h>

#include "tightlink/engine/sample.h"
#include "wire_layout.h"

static const char name_characters[] = "abcdefghijklmnopqrstuvwxyz0123456789_.-";

static void begin(struct tl_wire_writer *writer, uint8_t *frame, enum tl_wire_type type)
{
    *writer = (struct tl_wire_writer){.frame = frame, .len = TL_WIRE_HEADER_SIZE};
    frame[2] = (uint8_t)type;
}

size_t tl_wire_writer_end(struct tl_wire_writer *writer)
{
    return wire_seal_frame(writer->frame, writer->frame[2], writer->frame + writer->len);
}

/* Takes over a record or sample that was built outside the frame, if there is room. */
static bool append(struct tl_wire_writer *writer, const uint8_t *bytes, size_t len)
{
    if (TL_WIRE_FRAME_MAX - writer->len < len)
        return false;
    memcpy(writer->frame + writer->len, bytes, len);
    writer->len += len;
    return true;
}

void tl_wire_host_begin(struct tl_wire_writer *writer, uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    begin(writer, ret_frame, TL_WIRE_HOST);
}

#define MSG tl_wire_readings
static const struct wire_field readings_fields[] = {
    UINT(test_id, 4, 1, UINT32_MAX, "test id"),
    UINT(phase, 1, 0, TL_WIRE_AFTER,
         "phase: 0 before the test, 1 after it. Version 1 sends 1 alone: what happened during the "
         "test"),
    ZERO(3),
    ANY(taken_ns, 8, "responder's CLOCK_MONOTONIC, ns"),
};
WIRE_LAYOUT(readings, TL_WIRE_READINGS, "READINGS", NULL)
#undef MSG

/* The head of a message whose entries follow. */
static void put_head(struct tl_wire_writer *writer, const struct wire_layout *layout,
                     const void *head)
{
    struct wire_out out = {writer->frame + writer->len};
    wire_put(layout, head, &out);
    writer->len += wire_layout_size(layout);
}

void tl_wire_readings_begin(struct tl_wire_writer *writer, const struct tl_wire_readings *head,
                            uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    begin(writer, ret_frame, TL_WIRE_READINGS);
    put_head(writer, &wire_layout_readings, head);
}

enum tl_status tl_wire_decode_readings(const uint8_t *payload, size_t len,
                                       struct tl_wire_readings *ret_head,
                                       struct tl_wire_cursor *ret_cursor, struct tl_error *reterr)
{
    struct wire_in in = {payload, payload + len, false};
    struct tl_wire_readings head = {0};
    enum tl_status status = wire_get_head(&wire_layout_readings, &in, &head, reterr);
    if (status != TL_OK)
        return status;
    *ret_head = head;
    *ret_cursor = (struct tl_wire_cursor){in.at, in.end};
    return TL_OK;
}

/* Record: u8 kind, u8 length of the name, u16 length of the value, name, value. */
bool tl_wire_record_add(struct tl_wire_writer *writer, const struct tl_wire_record *record)
{
    uint8_t bytes[4 + TL_WIRE_RECORD_NAME_SIZE + TL_WIRE_RECORD_TEXT_SIZE];
    size_t name_len = strnlen(record->name, TL_WIRE_RECORD_NAME_SIZE - 1);
    size_t text_len = strnlen(record->text, TL_WIRE_RECORD_TEXT_SIZE - 1);
    size_t value_len = record->kind == TL_WIRE_RECORD_NUMBER ? 8
                       : record->kind == TL_WIRE_RECORD_TEXT ? text_len
                                                             : 1;
    struct wire_out out = {bytes};
    put_uint(&out, record->kind, 1);
    put_uint(&out, name_len, 1);
    put_uint(&out, value_len, 2);
    put_bytes(&out, record->name, name_len);
    if (record->kind == TL_WIRE_RECORD_NUMBER) {
        uint64_t bits;
        memcpy(&bits, &record->number, sizeof bits);
        put_uint(&out, bits, 8);
    } else if (record->kind == TL_WIRE_RECORD_TEXT) {
        put_bytes(&out, record->text, text_len);
    } else {
        put_uint(&out, record->why, 1);
    }
    return append(writer, bytes, (size_t)(out.at - bytes));
}

static bool is_name(const uint8_t *bytes, size_t len)
{
    if (len == 0 || len >= TL_WIRE_RECORD_NAME_SIZE)
        return false;
    for (size_t i = 0; i < len; i++)
        if (bytes[i] == 0 || !strchr(name_characters, bytes[i]))
            return false;
    return true;
}

static bool get_value(struct wire_in *in, size_t len, struct tl_wire_record *record)
{
    switch (record->kind) {
    case TL_WIRE_RECORD_NUMBER: {
        uint64_t bits = get_uint(in, 8);
        memcpy(&record->number, &bits, sizeof bits);
        return len == 8 && isfinite(record->number);
    }
    case TL_WIRE_RECORD_UNKNOWN:
        record->why = (uint8_t)get_uint(in, 1);
        return len == 1 && record->why != 0; /* 0 says that it is known */
    case TL_WIRE_RECORD_TEXT: {
        const uint8_t *text = len < TL_WIRE_RECORD_TEXT_SIZE ? get_bytes(in, len) : NULL;
        for (size_t i = 0; text && i < len; i++)
            if (text[i] < 0x20 || text[i] > 0x7e)
                return false;
        if (text)
            memcpy(record->text, text, len);
        return text != NULL;
    }
    default:
        return false;
    }
}

enum tl_status tl_wire_record_next(struct tl_wire_cursor *cursor, struct tl_wire_record *ret_record,
                                   bool *ret_more, struct tl_error *reterr)
{
    if (cursor->at == cursor->end) {
        *ret_more = false;
        return TL_OK;
    }
    struct wire_in in = {cursor->at, cursor->end, false};
    struct tl_wire_record record = {0};
    record.kind = (enum tl_wire_record_kind)get_uint(&in, 1);
    size_t name_len = (size_t)get_uint(&in, 1);
    size_t value_len = (size_t)get_uint(&in, 2);
    const uint8_t *name = get_bytes(&in, name_len);
    if (!name || !is_name(name, name_len))
        return tl_error_set(reterr, TL_PROTOCOL, "a record has no proper name");
    memcpy(record.name, name, name_len);
    if (!get_value(&in, value_len, &record) || in.bad)
        return tl_error_set(reterr, TL_RANGE, "the record %s has no proper value", record.name);
    cursor->at = in.at;
    *ret_record = record;
    *ret_more = true;
    return TL_OK;
}

#define SAMPLES_HEAD 8
#define SAMPLE_LAST  1u
/* time, flags, count of fields, presence bits, at most ten bytes a field */
#define SAMPLE_MAX (8 + 1 + 1 + TL_SAMPLE_PRESENT_WORDS * 8 + TL_SAMPLE_FIELD_COUNT * 10)

static_assert(TL_SAMPLE_FIELD_COUNT <= TL_SAMPLE_PRESENT_WORDS * 64, "one bit a field");
static_assert(SAMPLE_MAX <= TL_WIRE_PAYLOAD_MAX - SAMPLES_HEAD, "a sample fits into a frame");

#define MSG tl_wire_samples
static const struct wire_field samples_fields[] = {
    UINT(test_id, 4, 1, UINT32_MAX, "test id"),
    UINT(stream, 2, 0, TL_WIRE_STREAMS_MAX - 1, "stream"),
    UINT(count, 1, 1, TL_WIRE_SAMPLES_MAX, "number of samples, 1 to 32"),
    ZERO(1),
};
WIRE_LAYOUT(samples, TL_WIRE_SAMPLES, "SAMPLES", NULL)
#undef MSG

void tl_wire_samples_begin(struct tl_wire_writer *writer, const struct tl_wire_samples *head,
                           uint8_t ret_frame[TL_WIRE_FRAME_MAX])
{
    begin(writer, ret_frame, TL_WIRE_SAMPLES);
    struct tl_wire_samples begun = *head;
    begun.count = 0;
    writer->count_at = writer->len + 6;
    put_head(writer, &wire_layout_samples, &begun);
}

bool tl_wire_sample_add(struct tl_wire_writer *writer, const struct tl_tcp_sample *sample)
{
    if (writer->frame[writer->count_at] >= TL_WIRE_SAMPLES_MAX)
        return false;
    uint8_t bytes[SAMPLE_MAX];
    struct wire_out out = {bytes};
    put_uint(&out, (uint64_t)sample->time_ns, 8);
    put_uint(&out, sample->last ? SAMPLE_LAST : 0, 1);
    put_uint(&out, TL_SAMPLE_FIELD_COUNT, 1);
    uint8_t *present = out.at;
    put_zero(&out, (TL_SAMPLE_FIELD_COUNT + 7) / 8);
    for (unsigned i = 0; i < TL_SAMPLE_FIELD_COUNT; i++) {
        if (!tl_sample_has(sample, (enum tl_sample_field)i))
            continue;
        present[i / 8] |= (uint8_t)(1u << i % 8);
        put_varint(&out, tl_sample_get(sample, (enum tl_sample_field)i));
    }
    if (!append(writer, bytes, (size_t)(out.at - bytes)))
        return false;
    writer->frame[writer->count_at]++;
    return true;
}

static void get_sample(struct wire_in *in, struct tl_tcp_sample *sample)
{
    uint64_t time_ns = get_uint(in, 8);
    unsigned flags = (unsigned)get_uint(in, 1);
    unsigned fields = (unsigned)get_uint(in, 1);
    const uint8_t *present = get_bytes(in, (fields + 7) / 8);
    in->bad |= time_ns > INT64_MAX || (flags & ~SAMPLE_LAST) != 0;
    /* Bits past the last field are reserved. */
    in->bad |= present && fields % 8 && present[fields / 8] >> fields % 8;
    sample->time_ns = (int64_t)time_ns;
    sample->last = flags & SAMPLE_LAST;
    for (unsigned i = 0; i < fields && !in->bad; i++) {
        if (!(present[i / 8] >> i % 8 & 1))
            continue;
        uint64_t value = get_varint(in);
        if (!in->bad && i < TL_SAMPLE_FIELD_COUNT) /* later versions append fields */
            tl_sample_set(sample, (enum tl_sample_field)i, value);
    }
}

enum tl_status tl_wire_decode_samples(const uint8_t *payload, size_t len,
                                      struct tl_wire_samples *ret_head,
                                      struct tl_tcp_sample *ret_samples, struct tl_error *reterr)
{
    struct wire_in in = {payload, payload + len, false};
    struct tl_wire_samples head = {0};
    enum tl_status status = wire_get_head(&wire_layout_samples, &in, &head, reterr);
    if (status != TL_OK)
        return status;
    /* Twice: outputs stay untouched when the last sample is bad. */
    struct wire_in first = in;
    for (unsigned i = 0; i < head.count && !in.bad; i++) {
        struct tl_tcp_sample unused = {0};
        get_sample(&in, &unused);
    }
    status = wire_close(&in, "SAMPLES", reterr);
    if (status != TL_OK)
        return status;
    for (unsigned i = 0; i < head.count; i++) {
        ret_samples[i] = (struct tl_tcp_sample){.stream = head.stream};
        get_sample(&first, &ret_samples[i]);
    }
    *ret_head = head;
    return TL_OK;
}

/* The append-only JSON writer. */
#include "tightlink/base/json_write.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_tree.h"
#include "tightlink/base/utf8.h"

void tl_json_writer_init(struct tl_json_writer *writer, struct tl_buf *out, bool compact)
{
    *writer = (struct tl_json_writer){.out = out, .compact = compact};
}

/* \u1b2c, above U+FFFF as a pair of surrogates (RFC 8259, section 7). */
static void add_code(struct tl_buf *out, uint32_t character)
{
    uint32_t rest = character - 0x10000;
    if (character < 0x10000)
        tl_buf_addf(out, "\\u%04x", character);
    else
        tl_buf_addf(out, "\\u%04x\\u%04x", 0xd800 + (rest >> 10), 0xdc00 + (rest & 0x3ff));
}

/* A document is read on terminals, too: what those would obey stands as a code (promise P12). */
static void add_escaped(struct tl_buf *out, const char *text)
{
    size_t len = strlen(text);
    tl_buf_add(out, "\"", 1);
    while (len) {
        uint32_t character = 0xfffd;
        size_t used = tl_utf8_decode(text, len, &character);
        char bytes[4];
        if (character == '"' || character == '\\')
            tl_buf_addf(out, "\\%c", (int)character);
        else if (character == '\n')
            tl_buf_adds(out, "\\n");
        else if (!tl_utf8_is_printable(character))
            add_code(out, character);
        else
            tl_buf_add(out, bytes, tl_utf8_encode(character, bytes));
        text += used ? used : 1;
        len -= used ? used : 1;
    }
    tl_buf_add(out, "\"", 1);
}

static void new_line(struct tl_json_writer *writer)
{
    if (writer->compact)
        return;
    tl_buf_add(writer->out, "\n", 1);
    for (unsigned i = 0; i < writer->depth; i++)
        tl_buf_add(writer->out, " ", 1);
}

/* All that stands before a value: comma, line, indentation, key. */
static void begin_value(struct tl_json_writer *writer, const char *key)
{
    if (writer->depth == 0) {
        assert(!key);
        return;
    }
    unsigned level = writer->depth - 1;
    assert((key == NULL) == writer->is_array[level]);
    if (writer->has_items[level])
        tl_buf_add(writer->out, ",", 1);
    writer->has_items[level] = true;
    new_line(writer);
    if (key) {
        add_escaped(writer->out, key);
        tl_buf_adds(writer->out, writer->compact ? ":" : ": ");
    }
}

static void begin_level(struct tl_json_writer *writer, const char *key, bool is_array)
{
    assert(writer->depth < TL_JSON_WRITE_DEPTH_MAX);
    begin_value(writer, key);
    tl_buf_add(writer->out, is_array ? "[" : "{", 1);
    writer->is_array[writer->depth] = is_array;
    writer->has_items[writer->depth] = false;
    writer->depth++;
}

void tl_json_begin_object(struct tl_json_writer *writer, const char *key)
{
    begin_level(writer, key, false);
}

void tl_json_begin_array(struct tl_json_writer *writer, const char *key)
{
    begin_level(writer, key, true);
}

void tl_json_end(struct tl_json_writer *writer)
{
    assert(writer->depth > 0);
    writer->depth--;
    if (writer->has_items[writer->depth])
        new_line(writer);
    tl_buf_add(writer->out, writer->is_array[writer->depth] ? "]" : "}", 1);
    if (writer->depth == 0)
        tl_buf_add(writer->out, "\n", 1);
}

void tl_json_add_null(struct tl_json_writer *writer, const char *key)
{
    begin_value(writer, key);
    tl_buf_adds(writer->out, "null");
}

void tl_json_add_bool(struct tl_json_writer *writer, const char *key, bool value)
{
    begin_value(writer, key);
    tl_buf_adds(writer->out, value ? "true" : "false");
}

void tl_json_add_integer(struct tl_json_writer *writer, const char *key, int64_t value)
{
    begin_value(writer, key);
    tl_buf_addf(writer->out, "%lld", (long long)value);
}

/* The shortest of %.15g, %.16g and %.17g that reads back the same; 17 always does. */
static void format_double(double value, char *ret_text, size_t size)
{
    locale_t users = uselocale(tl_json_locale());
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(ret_text, size, "%.*g", digits, value);
        if (strtod(ret_text, NULL) == value)
            break;
    }
    uselocale(users);
}

void tl_json_add_number(struct tl_json_writer *writer, const char *key, double value)
{
    if (!isfinite(value)) {
        if (!key)
            tl_json_add_null(writer, key);
        return;
    }
    char text[40];
    format_double(value, text, sizeof text);
    begin_value(writer, key);
    /* "-0" would be read as the integer 0. */
    tl_buf_adds(writer->out, value == 0 && signbit(value) ? "-0.0" : text);
}

void tl_json_add_string(struct tl_json_writer *writer, const char *key, const char *text)
{
    if (!text) {
        if (!key)
            tl_json_add_null(writer, key);
        return;
    }
    begin_value(writer, key);
    add_escaped(writer->out, text);
}

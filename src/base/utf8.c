/* Strict UTF-8 and the sanitiser of promise P12. What is printable comes from the
 * table below and not from iswprint(), whose answer changes with the locale. */
#include "tightlink/base/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

size_t tl_utf8_decode(const char *text, size_t len, uint32_t *ret_char)
{
    const unsigned char *p = (const unsigned char *)text;
    if (len == 0)
        return 0;
    size_t need = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (need == 0 || p[0] > 0xf4 || need > len)
        return 0;
    static const unsigned char lead_mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t character = p[0] & lead_mask[need];
    for (size_t i = 1; i < need; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        character = character << 6 | (p[i] & 0x3f);
    }
    /* Longer than needed, a surrogate, or beyond Unicode (RFC 3629, section 3). */
    if ((need == 3 && character < 0x800) || (need == 4 && character < 0x10000) ||
        (character >= 0xd800 && character <= 0xdfff) || character > 0x10ffff)
        return 0;
    if (ret_char)
        *ret_char = character;
    return need;
}

size_t tl_utf8_encode(uint32_t c, char ret_bytes[4])
{
    assert(c <= 0x10ffff && !(c >= 0xd800 && c <= 0xdfff));
    unsigned char *out = (unsigned char *)ret_bytes;
    size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = len - 1; i > 0; i--) {
        out[i] = (unsigned char)(0x80 | (c & 0x3f));
        c >>= 6;
    }
    out[0] = (unsigned char)(lead[len] | c);
    return len;
}

/* Ranges of Unicode 15 that would change, hide or forge what a person sees, sorted. */
static const struct {
    uint32_t first, last;
} hidden[] = {
    {0x0000, 0x001f},    /* C0 */
    {0x007f, 0x009f},    /* DEL and C1 */
    {0x00ad, 0x00ad},    /* soft hyphen */
    {0x034f, 0x034f},    /* combining grapheme joiner */
    {0x061c, 0x061c},    /* Arabic letter mark (bidi) */
    {0x115f, 0x1160},    /* Hangul fillers */
    {0x17b4, 0x17b5},    /* Khmer inherent vowels */
    {0x180b, 0x180f},    /* Mongolian separators */
    {0x200b, 0x200f},    /* zero-width, bidi marks */
    {0x2028, 0x202e},    /* line and paragraph separator, bidi embeddings */
    {0x2060, 0x206f},    /* word joiner, invisible operators, bidi isolates */
    {0x2800, 0x2800},    /* blank braille pattern */
    {0x3164, 0x3164},    /* Hangul filler */
    {0xe000, 0xf8ff},    /* private use */
    {0xfdd0, 0xfdef},    /* non-characters */
    {0xfe00, 0xfe0f},    /* variation selectors */
    {0xfeff, 0xfeff},    /* zero-width no-break space */
    {0xffa0, 0xffa0},    /* halfwidth Hangul filler */
    {0xfff0, 0xfffb},    /* interlinear annotation */
    {0x1bca0, 0x1bca3},  /* shorthand format controls */
    {0x1d173, 0x1d17a},  /* musical format controls */
    {0xe0000, 0xe0fff},  /* tags and variation selectors */
    {0xf0000, 0x10ffff}, /* private use */
};

bool tl_utf8_is_printable(uint32_t character)
{
    if (character >= ' ' && character <= '~') /* nearly all */
        return true;
    if ((character & 0xfffe) == 0xfffe) /* the last two of every plane */
        return false;
    size_t low = 0, high = sizeof hidden / sizeof *hidden;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (character > hidden[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low == sizeof hidden / sizeof *hidden || character < hidden[low].first;
}

/* Longest piece of clean_one: "\u{10ffff}" and a NUL. */
#define PIECE_SIZE 12

/* Writes the clean form of the first character of text to piece, sets *ret_used to
 * the bytes of text it stands for. */
static size_t clean_one(const char *text, size_t len, char piece[PIECE_SIZE], size_t *ret_used)
{
    uint32_t character;
    size_t used = tl_utf8_decode(text, len, &character);
    *ret_used = used ? used : 1;
    if (used && tl_utf8_is_printable(character)) {
        memcpy(piece, text, used);
        return used;
    }
    int n = used ? snprintf(piece, PIECE_SIZE, "\\u{%x}", character)
                 : snprintf(piece, PIECE_SIZE, "\\x{%x}", (unsigned char)*text);
    return (size_t)n;
}

size_t tl_utf8_clean(const char *text, size_t len, char *ret_text, size_t size)
{
    size_t out = 0;
    while (len) {
        char piece[PIECE_SIZE];
        size_t used, n = clean_one(text, len, piece, &used);
        if (out + n + 1 > size)
            break;
        memcpy(ret_text + out, piece, n);
        out += n;
        text += used;
        len -= used;
    }
    ret_text[out] = '\0';
    return out;
}

size_t tl_utf8_clean_name(const char *name, char ret_text[TL_UTF8_NAME_SIZE])
{
    return tl_utf8_clean(name, strlen(name), ret_text, TL_UTF8_NAME_SIZE);
}

/* Plain spellings of the typographic characters that our own sentences may use. */
static const char *ascii_spelling(uint32_t character)
{
    static const struct {
        uint32_t character;
        const char *ascii;
    } spellings[] = {
        {0x00a0, " "},  {0x00b1, "+-"}, {0x00b5, "u"},   {0x00d7, "x"},   {0x2010, "-"},
        {0x2011, "-"},  {0x2012, "-"},  {0x2013, "-"},   {0x2014, "-"},   {0x2018, "'"},
        {0x2019, "'"},  {0x201c, "\""}, {0x201d, "\""},  {0x2026, "..."}, {0x202f, " "},
        {0x2190, "<-"}, {0x2192, "->"}, {0x2248, "~"},   {0x2264, "<="},  {0x2265, ">="},
        {0x2212, "-"},  {0x03bc, "u"},  {0x2194, "<->"},
    };
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (spellings[i].character == character)
            return spellings[i].ascii;
    return NULL;
}

static void add_clean_ascii(struct tl_buf *buf, const char *piece, size_t n)
{
    uint32_t character = 0;
    tl_utf8_decode(piece, n, &character);
    const char *plain = ascii_spelling(character);
    if (plain)
        tl_buf_adds(buf, plain);
    else
        tl_buf_addf(buf, "\\u{%x}", character);
}

/* Of printable ASCII at the front. */
static size_t plain_len(const char *text)
{
    size_t len = 0;
    while (text[len] >= ' ' && text[len] <= '~')
        len++;
    return len;
}

void tl_utf8_add_clean(struct tl_buf *buf, const char *text, bool ascii)
{
    size_t len = strlen(text);
    while (len) {
        char piece[PIECE_SIZE];
        size_t used = plain_len(text);
        size_t n = used ? 0 : clean_one(text, len, piece, &used);
        if (n == 0)
            tl_buf_add(buf, text, used);
        else if (ascii && ((unsigned char)piece[0] & 0x80))
            add_clean_ascii(buf, piece, n);
        else
            tl_buf_add(buf, piece, n);
        text += used;
        len -= used;
    }
}

/* Columns and bytes of the first character. */
static size_t width_one(const char *text, size_t len, size_t *ret_used)
{
    if (*text >= ' ' && *text <= '~') { /* nearly every character, and one column in any locale */
        *ret_used = 1;
        return 1;
    }
    uint32_t character;
    size_t used = tl_utf8_decode(text, len, &character);
    *ret_used = used ? used : 1;
    int width = used ? wcwidth((wchar_t)character) : 1;
    return width < 0 ? 1 : (size_t)width;
}

size_t tl_utf8_width(const char *text)
{
    size_t len = strlen(text), columns = 0;
    while (len) {
        size_t used;
        columns += width_one(text, len, &used);
        text += used;
        len -= used;
    }
    return columns;
}

size_t tl_utf8_fit(const char *text, size_t columns)
{
    size_t len = strlen(text), bytes = 0;
    while (bytes < len) {
        size_t used, width = width_one(text + bytes, len - bytes, &used);
        if (width > columns)
            break;
        columns -= width;
        bytes += used;
    }
    return bytes;
}

/* Where the last characters begin that fit into columns. */
static const char *last_fit(const char *text, size_t columns)
{
    while (tl_utf8_width(text) > columns) {
        size_t len = tl_utf8_decode(text, strlen(text), NULL);
        text += len ? len : 1;
    }
    return text;
}

void tl_utf8_add_short(struct tl_buf *buf, const char *text, size_t columns, bool ascii)
{
    const char *gap = ascii ? "..." : "…";
    size_t gone = tl_utf8_width(gap);
    struct tl_buf clean = TL_BUF_INIT;
    tl_utf8_add_clean(&clean, text, ascii);
    const char *whole = tl_buf_text(&clean);
    if (tl_utf8_width(whole) <= columns) {
        tl_buf_adds(buf, whole);
    } else if (columns < gone + 2) { /* no room for two ends */
        tl_buf_add(buf, whole, tl_utf8_fit(whole, columns));
    } else {
        size_t end = (columns - gone) / 2;
        tl_buf_add(buf, whole, tl_utf8_fit(whole, columns - gone - end));
        tl_buf_adds(buf, gap);
        tl_buf_adds(buf, last_fit(whole, end));
    }
    if (clean.status != TL_OK)
        buf->status = clean.status;
    tl_buf_finish(&clean);
}

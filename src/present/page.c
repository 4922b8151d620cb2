/* Lines of spans. */
#include "tightlink/present/page.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/grow.h"
#include "tightlink/base/units.h"
#include "tightlink/base/utf8.h"

void tl_page_init(struct tl_page *page, int width, bool utf8)
{
    *page = (struct tl_page){.width = width, .utf8 = utf8};
}

void tl_page_finish(struct tl_page *page)
{
    tl_buf_finish(&page->text);
    free(page->spans);
    free(page->lines);
    tl_page_init(page, page->width, page->utf8);
}

/* --- lines --- */

/* Room for one more of size bytes; false without memory. */
static bool make_room(struct tl_page *page, void *items, size_t count, size_t *cap, size_t size)
{
    if (page->status == TL_OK && !tl_grow(items, count, cap, 64, size))
        page->status = TL_NOMEM;
    return page->status == TL_OK;
}

static struct tl_line *open_line(struct tl_page *page)
{
    if (page->open)
        return &page->lines[page->line_count];
    if (!make_room(page, &page->lines, page->line_count, &page->line_cap, sizeof *page->lines))
        return NULL;
    page->lines[page->line_count] = (struct tl_line){.first = page->span_count};
    page->open = true;
    page->column = 0;
    return &page->lines[page->line_count];
}

/* Adds clean text, joined to the span before it where that means the same. */
static void add_clean(struct tl_page *page, enum tl_meaning meaning, const char *text, size_t len)
{
    struct tl_line *line = len ? open_line(page) : NULL;
    if (!line)
        return;
    bool joins = line->count && page->spans[page->span_count - 1].meaning == meaning;
    if (!joins) {
        if (!make_room(page, &page->spans, page->span_count, &page->span_cap, sizeof *page->spans))
            return;
        page->spans[page->span_count++] =
            (struct tl_span){.at = page->text.len, .meaning = meaning};
        line->count++;
    }
    tl_buf_add(&page->text, text, len);
    if (page->text.status != TL_OK) {
        page->status = page->text.status;
        return;
    }
    page->spans[page->span_count - 1].len += len;
}

static void keep_status(struct tl_page *page, enum tl_status status)
{
    if (status != TL_OK)
        page->status = status;
}

void tl_page_add(struct tl_page *page, enum tl_meaning meaning, const char *text)
{
    struct tl_buf clean = TL_BUF_INIT;
    tl_utf8_add_clean(&clean, text, !page->utf8);
    add_clean(page, meaning, tl_buf_text(&clean), clean.len);
    page->column += tl_utf8_width(tl_buf_text(&clean));
    keep_status(page, clean.status);
    tl_buf_finish(&clean);
}

void tl_page_addf(struct tl_page *page, enum tl_meaning meaning, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tl_page_add(page, meaning, text);
}

void tl_page_space(struct tl_page *page, size_t count)
{
    static const char spaces[] = "                                ";
    while (count) {
        size_t n = count < sizeof spaces - 1 ? count : sizeof spaces - 1;
        add_clean(page, TL_SAID_PLAIN, spaces, n);
        page->column += n;
        count -= n;
    }
}

void tl_page_end_line(struct tl_page *page, enum tl_line_kind kind)
{
    struct tl_line *line = open_line(page);
    if (!line)
        return;
    while (line->count) {
        struct tl_span *last = &page->spans[page->span_count - 1];
        while (last->len && page->text.data[last->at + last->len - 1] == ' ')
            last->len--;
        if (last->len)
            break;
        page->span_count--;
        line->count--;
    }
    line->kind = kind;
    page->line_count++;
    page->open = false;
    page->column = 0;
}

/* --- columns --- */

size_t tl_page_add_cut(struct tl_page *page, const char *text, size_t columns)
{
    static const char more[] = "...";
    struct tl_buf clean = TL_BUF_INIT;
    tl_utf8_add_clean(&clean, text, !page->utf8);
    keep_status(page, clean.status);
    size_t width = tl_utf8_width(tl_buf_text(&clean));
    if (width > columns) {
        size_t dots = columns < sizeof more - 1 ? columns : sizeof more - 1;
        size_t bytes = tl_utf8_fit(clean.data, columns - dots);
        while (bytes && clean.data[bytes - 1] == ' ')
            bytes--;
        clean.len = bytes;
        tl_buf_add(&clean, more, dots);
        width = tl_utf8_width(tl_buf_text(&clean));
    }
    add_clean(page, TL_SAID_PLAIN, tl_buf_text(&clean), clean.len);
    page->column += width;
    tl_buf_finish(&clean);
    return width;
}

void tl_page_cell(struct tl_page *page, const char *text, size_t columns)
{
    size_t used = tl_page_add_cut(page, text, columns);
    tl_page_space(page, columns - used);
}

void tl_page_cell_right(struct tl_page *page, const char *text, size_t columns)
{
    size_t width = tl_utf8_width(text);
    tl_page_space(page, width < columns ? columns - width : 0);
    (void)tl_page_add_cut(page, text, columns);
}

/* --- breaking --- */

struct wrapping {
    struct tl_page *page;
    enum tl_meaning meaning;
    size_t indent;
    enum tl_line_kind kind; /* of the line that is being written */
    enum tl_line_kind more;
};

/* Adds one word where the line has room, breaking a word that is longer than a
 * line. */
static void add_word(struct wrapping *wrapping, const char *word, size_t len, bool first)
{
    struct tl_page *page = wrapping->page;
    size_t width = (size_t)page->width;
    while (len) {
        char piece[1024];
        size_t n = len < sizeof piece - 1 ? len : sizeof piece - 1;
        memcpy(piece, word, n);
        piece[n] = '\0';
        size_t columns = tl_utf8_width(piece), gap = first ? 0 : 1;
        if (page->column + gap + columns > width && page->column > wrapping->indent) {
            tl_page_end_line(page, wrapping->kind);
            wrapping->kind = wrapping->more;
            tl_page_space(page, wrapping->indent);
            page->column = wrapping->indent; /* also where nothing could be written */
            first = true;
            continue;
        }
        size_t room = page->column + gap < width ? width - page->column - gap : 0;
        if (columns > room) {
            n = tl_utf8_fit(piece, room);
            n = n ? n : tl_utf8_decode(piece, n + strlen(piece), NULL);
            n = n ? n : 1;
            piece[n] = '\0';
            columns = tl_utf8_width(piece);
        }
        if (gap)
            add_clean(page, wrapping->meaning, " ", 1);
        add_clean(page, wrapping->meaning, word, n);
        page->column += gap + columns;
        word += n;
        len -= n;
        first = true;
    }
}

void tl_page_paragraph(struct tl_page *page, enum tl_meaning meaning, size_t indent,
                       enum tl_line_kind kind, enum tl_line_kind more, const char *text)
{
    struct wrapping wrapping = {page, meaning, indent, kind, more};
    struct tl_buf clean = TL_BUF_INIT;
    tl_utf8_add_clean(&clean, text, !page->utf8);
    keep_status(page, clean.status);
    bool first = true;
    for (const char *p = tl_buf_text(&clean); *p && page->status == TL_OK;) {
        size_t len = tl_word_length(p);
        if (len) {
            add_word(&wrapping, p, len, first);
            first = false;
        }
        p += len;
        p += strspn(p, " ");
    }
    tl_page_end_line(page, wrapping.kind);
    tl_buf_finish(&clean);
}

void tl_page_add_lines(struct tl_page *page, const char *text)
{
    while (*text && page->status == TL_OK) {
        size_t len = strcspn(text, "\n"), indent = strspn(text, " ");
        struct tl_buf line = TL_BUF_INIT;
        tl_buf_add(&line, text, len);
        bool left = indent == 0 && len;
        enum tl_meaning meaning = left ? TL_SAID_STRONG : TL_SAID_PLAIN;
        if (tl_utf8_width(tl_buf_text(&line)) <= (size_t)page->width) { /* columns stay columns */
            tl_page_add(page, meaning, tl_buf_text(&line));
            tl_page_end_line(page, left ? TL_LINE_HEADING : TL_LINE_TEXT);
        } else {
            indent = indent > (size_t)page->width / 2 ? 0 : indent;
            tl_page_space(page, indent);
            tl_page_paragraph(page, meaning, left ? 2 : indent, TL_LINE_TEXT, TL_LINE_TEXT,
                              tl_buf_text(&line) + strspn(tl_buf_text(&line), " "));
        }
        keep_status(page, line.status);
        tl_buf_finish(&line);
        text += len + (text[len] == '\n');
    }
}

/* --- bars --- */

static double clamp01(double share)
{
    return share > 0 ? fmin(share, 1) : 0; /* NAN is 0 too */
}

void tl_page_bar(struct tl_page *page, enum tl_meaning meaning, double share, double high,
                 size_t columns)
{
    /* Eighths of a block, from one eighth to seven. */
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    double cells = clamp01(share) * (double)columns;
    size_t full = (size_t)(page->utf8 ? floor(cells) : round(cells));
    size_t eighths = page->utf8 ? (size_t)((cells - floor(cells)) * 8) : 0;
    if (full == 0 && eighths == 0 && share > 0) { /* something is not nothing */
        full = page->utf8 ? 0 : 1;
        eighths = page->utf8;
    }
    struct tl_buf bar = TL_BUF_INIT;
    for (size_t i = 0; i < full; i++)
        tl_buf_adds(&bar, page->utf8 ? "█" : "#");
    tl_buf_adds(&bar, parts[eighths]);
    size_t used = full + (eighths ? 1 : 0);
    for (size_t end = (size_t)round(clamp01(high) * (double)columns); used < end; used++)
        tl_buf_adds(&bar, page->utf8 ? "░" : "-");
    tl_page_add(page, meaning, tl_buf_text(&bar));
    keep_status(page, bar.status);
    tl_buf_finish(&bar);
}

/* --- reading --- */

const char *tl_span_text(const struct tl_page *page, const struct tl_span *span)
{
    return page->text.data + span->at;
}

bool tl_line_is_empty(const struct tl_page *page, size_t line)
{
    return page->lines[line].count == 0;
}

enum tl_status tl_page_print(const struct tl_page *page, bool color, struct tl_buf *out)
{
    static const char *const codes[] = {[TL_SAID_PLAIN] = "",
                                        [TL_SAID_STRONG] = "1",
                                        [TL_SAID_BAD] = "1;31",
                                        [TL_SAID_GOOD] = "1;32",
                                        [TL_SAID_DIM] = "2"};
    for (size_t l = 0; l < page->line_count; l++) {
        for (size_t s = 0; s < page->lines[l].count; s++) {
            const struct tl_span *span = &page->spans[page->lines[l].first + s];
            bool inked = color && span->meaning != TL_SAID_PLAIN;
            if (inked)
                tl_buf_addf(out, "\033[%sm", codes[span->meaning]);
            tl_buf_add(out, tl_span_text(page, span), span->len);
            if (inked)
                tl_buf_adds(out, "\033[0m");
        }
        tl_buf_adds(out, "\n");
    }
    return page->status != TL_OK ? page->status : out->status;
}

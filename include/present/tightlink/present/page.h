/* A page: lines of spans, each a text with a meaning. What is to be shown is built here once and
 * written by one sink a medium: a terminal's scrollback (tl_page_print), the screen's grid (tui).
 * No colour and no control character is in it; every text passes the sanitiser on its way in
 * (promise P12), and in ASCII style nothing but ASCII gets in.
 *
 * Running out of memory is kept in status; all that follows does nothing. One thread. */
#ifndef TL_PRESENT_PAGE_H
#define TL_PRESENT_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "tightlink/base/buf.h"

/* What a span is for its reader; a medium chooses how that looks. Never the only carrier of what
 * is said. */
enum tl_meaning { TL_SAID_PLAIN, TL_SAID_STRONG, TL_SAID_BAD, TL_SAID_GOOD, TL_SAID_DIM };

/* What a line is, for who leaves lines out or looks for one. */
enum tl_line_kind {
    TL_LINE_TEXT,
    TL_LINE_HEADING,
    TL_LINE_RULE,          /* across, before what follows */
    TL_LINE_UNTESTED,      /* the first line of a rung that was not tested */
    TL_LINE_UNTESTED_MORE, /* the further ones */
    TL_LINE_ENTRY          /* goes on under its text, not at the left, where it does not fit */
};

struct tl_span {
    size_t at, len; /* in page.text */
    enum tl_meaning meaning;
};
struct tl_line {
    size_t first, count; /* in page.spans */
    enum tl_line_kind kind;
};

/* Read-only but for the functions below. */
struct tl_page {
    int width; /* columns to break lines at */
    bool utf8; /* else ASCII only */
    enum tl_status status;
    struct tl_buf text;
    struct tl_span *spans;
    struct tl_line *lines; /* lines[line_count] is the one that is being written, where open */
    size_t span_count, span_cap, line_count, line_cap;
    size_t column; /* of the line that is being written */
    bool open;
};

/* An empty page; the caller finishes it. */
void tl_page_init(struct tl_page *page, int width, bool utf8);
void tl_page_finish(struct tl_page *page);

/* Adds text to the line that is being written; line breaks in it count as control characters. */
void tl_page_add(struct tl_page *page, enum tl_meaning meaning, const char *text);
void tl_page_addf(struct tl_page *page, enum tl_meaning meaning, const char *fmt, ...)
    TL_PRINTF(3, 4);
/* count spaces */
void tl_page_space(struct tl_page *page, size_t count);
/* Ends the line, without the spaces at its end. An unwritten line is an empty one. */
void tl_page_end_line(struct tl_page *page, enum tl_line_kind kind);

/* Adds text cut to columns with "..."; returns the columns used. */
size_t tl_page_add_cut(struct tl_page *page, const char *text, size_t columns);
/* The same filled with spaces up to columns, after it or before it. */
void tl_page_cell(struct tl_page *page, const char *text, size_t columns);
void tl_page_cell_right(struct tl_page *page, const char *text, size_t columns);

/* Adds text from the line's column on, broken at spaces into lines of `kind`, further ones (of
 * kind `more`) indented. A word longer than a line is broken too. Ends the last line. */
void tl_page_paragraph(struct tl_page *page, enum tl_meaning meaning, size_t indent,
                       enum tl_line_kind kind, enum tl_line_kind more, const char *text);

/* Adds lines of text: one that is too long is broken at spaces and goes on under its beginning; one
 * that begins at the left is a heading. */
void tl_page_add_lines(struct tl_page *page, const char *text);

/* A bar of share (0 to 1, cut) of columns. With high > share the rest up to high is drawn lightly:
 * an upper bound. Never longer than columns. */
void tl_page_bar(struct tl_page *page, enum tl_meaning meaning, double share, double high,
                 size_t columns);

/* The text of a span, not NUL-terminated. */
const char *tl_span_text(const struct tl_page *page, const struct tl_span *span);
/* Whether the line has nothing in it. */
bool tl_line_is_empty(const struct tl_page *page, size_t line);

/* The sink for terminals and files: lines with their line breaks; color: as ANSI colours.
 * TL_NOMEM, also of the page itself. */
enum tl_status tl_page_print(const struct tl_page *page, bool color,
                             struct tl_buf *out) TL_WARN_UNUSED;

#endif

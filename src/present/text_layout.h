/* Lines, columns, colour and bars of the text report; private to src/present.
 *
 * Every text that is not a literal of this program goes through text_clean() or a
 * function that calls it: control characters never reach the terminal (P12), and in
 * ASCII style nothing but ASCII does. */
#ifndef TL_PRESENT_TEXT_LAYOUT_H
#define TL_PRESENT_TEXT_LAYOUT_H

#include "tightlink/base/buf.h"
#include "tightlink/present/report.h"

enum text_ink { TEXT_PLAIN, TEXT_BOLD, TEXT_BAD, TEXT_GOOD, TEXT_DIM };

/* The same parts, the same words, for three kinds of reader. In Markdown and HTML widths count
 * for nothing, a heading ends with text_newline(), and text_bar() and text_rule() are not for
 * them. */
enum text_form { TEXT_FORM_PLAIN, TEXT_FORM_MARKDOWN, TEXT_FORM_HTML };

struct text {
    struct tl_buf *out;
    struct tl_text_style style; /* width already within its bounds */
    enum text_form form;
    bool in_heading;
};

/* Adds text in an ink; without colour the ink is nothing. */
void text_ink(struct text *t, enum text_ink ink, const char *text);

/* Adds foreign text, cleaned and escaped for the form; as plain text also cut to at most columns
 * with "...". Returns the columns used. */
size_t text_clean(struct text *t, const char *text, size_t columns);

/* The same, filled with spaces up to columns. */
void text_cell(struct text *t, const char *text, size_t columns);
void text_cell_right(struct text *t, const char *text, size_t columns);

void text_newline(struct text *t);
void text_rule(struct text *t);                         /* a line across */
void text_heading(struct text *t, const char *heading); /* "Heading" in bold, after an empty line */

/* Adds text from column `at` on, broken at spaces, each further line indented to `indent`.
 * `at` says how many columns of the line are already used. Ends with a newline. */
void text_wrap(struct text *t, size_t at, size_t indent, const char *text);

/* The same as a line of a list: `indent` spaces before it, further lines indented by `more`. */
void text_item(struct text *t, size_t indent, size_t more, const char *text);

/* One row of a table, for Markdown and HTML only; the first is its head. */
void text_table_begin(struct text *t, const char *const *cells, size_t count);
void text_table_row(struct text *t, const char *const *cells, size_t count);
void text_table_end(struct text *t);

/* "  label     text…" wrapped under itself; label and text may be foreign. */
void text_entry(struct text *t, const char *label, size_t label_columns, const char *text);

/* "  label     command" on one line however long it is, to be copied whole; further lines of
 * the command stand under its first. */
void text_command(struct text *t, const char *label, size_t label_columns, const char *command);

/* Bytes of the first line of text when it is broken at a space to fit columns; all of it where
 * it fits or has no space in reach. *ret_rest is the text after the break, "" at the end. */
size_t text_break(const char *text, size_t columns, const char **ret_rest);

/* A bar of share (0 to 1, cut) of columns. With high > share the rest up to high is
 * drawn lightly: an upper bound. Never longer than columns. */
void text_bar(struct text *t, double share, double high, size_t columns, enum text_ink ink);

/* "->" or its typographic form. */
const char *text_arrow(const struct text *t);

#endif

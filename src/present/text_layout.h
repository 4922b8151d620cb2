/* How the parts of a report speak to a medium; private to src/present.
 *
 * A part says what it has to say by these functions, once. A sink writes it: sink_columns.c into
 * the lines of a page (terminal, screen, mail), sink_markdown.c and sink_html.c as text that
 * flows. What differs between media is in the sinks; a part asks at most whether there are columns
 * or tables. Foreign text needs no care of its own: sinks clean and escape it (P12). */
#ifndef TL_PRESENT_TEXT_LAYOUT_H
#define TL_PRESENT_TEXT_LAYOUT_H

#include "tightlink/base/buf.h"
#include "tightlink/present/page.h"
#include "tightlink/present/report.h"

struct text;
struct text_source;

struct text_sink {
    bool columns;  /* lines of a width, in which parts lay out cells and bars themselves */
    bool pictures; /* ladder and ledger are drawn */
    void (*add)(struct text *t, enum tl_meaning meaning, const char *text);
    void (*heading)(struct text *t, const char *heading);
    void (*end_line)(struct text *t);
    void (*paragraph)(struct text *t, size_t indent, const char *text);
    void (*item)(struct text *t, size_t more, const char *text);
    void (*entry)(struct text *t, const char *label, size_t label_columns, const char *text);
    void (*command)(struct text *t, const char *label, size_t label_columns, const char *command);
    /* Only where there are no columns; the first row is the head. */
    void (*table_row)(struct text *t, const char *const *cells, size_t count, bool is_head);
    void (*table_end)(struct text *t);
};
extern const struct text_sink text_columns, text_markdown, text_html;

struct text {
    const struct text_sink *sink;
    struct tl_page *page; /* of the sink with columns; NULL in others */
    struct tl_buf *out;   /* of the others; NULL in the one with columns */
    bool in_heading;
};

/* Adds to the line that is being written. */
void text_add(struct text *t, enum tl_meaning meaning, const char *text);
/* Ends it; a heading too. */
void text_newline(struct text *t);
/* A heading, after an empty line; of one that is begun, more may be added until text_newline(). */
void text_heading(struct text *t, const char *heading);
void text_heading_begin(struct text *t, const char *heading);
/* A paragraph from where the line stands; further lines are indented. */
void text_wrap(struct text *t, size_t indent, const char *text);
/* A line of a list, indented; further lines are by `more`. */
void text_item(struct text *t, size_t more, const char *text);
/* "  label     text…" wrapped under itself. */
void text_entry(struct text *t, const char *label, size_t label_columns, const char *text);
/* "  label     command" on one line however long it is, to be copied whole; further lines of the
 * command stand under its first. */
void text_command(struct text *t, const char *label, size_t label_columns, const char *command);

void text_table_begin(struct text *t, const char *const *cells, size_t count);
void text_table_row(struct text *t, const char *const *cells, size_t count);
void text_table_end(struct text *t);

/* What was made without memory makes the whole fail: every buffer's status comes here. */
void text_keep_status(struct text *t, enum tl_status status);

/* "->" or its typographic form. */
const char *text_arrow(const struct text *t);

/* Bytes of the first line of text when it is broken at a space to fit columns; all of it where
 * it fits or has no space in reach. *ret_rest is the text after the break, "" at the end. */
size_t text_break(const char *text, size_t columns, const char **ret_rest);

#endif

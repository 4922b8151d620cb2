/* Lines, columns, colour and bars. */
#include "text_layout.h"

#include "escape.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/base/utf8.h"

/* Longest command line that is shown; rule files keep theirs far below. */
#define TEXT_COMMAND_MAX 2048

void text_ink(struct text *t, enum text_ink ink, const char *text)
{
    static const char *const codes[] = {[TEXT_PLAIN] = "",
                                        [TEXT_BOLD] = "1",
                                        [TEXT_BAD] = "1;31",
                                        [TEXT_GOOD] = "1;32",
                                        [TEXT_DIM] = "2"};
    if (t->style.color && ink != TEXT_PLAIN)
        tl_buf_addf(t->out, "\033[%sm%s\033[0m", codes[ink], text);
    else
        tl_buf_adds(t->out, text);
}

static void add_escaped(struct text *t, const char *text)
{
    if (t->form == TEXT_FORM_HTML)
        escape_html(t->out, text);
    else
        escape_markdown(t->out, text);
}

size_t text_clean(struct text *t, const char *text, size_t columns)
{
    if (t->form != TEXT_FORM_PLAIN) {
        add_escaped(t, text);
        return columns;
    }
    static const char more[] = "...";
    struct tl_buf clean = TL_BUF_INIT;
    tl_utf8_add_clean(&clean, text, !t->style.utf8);
    if (clean.status != TL_OK)
        t->out->status = clean.status;
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
    tl_buf_adds(t->out, tl_buf_text(&clean));
    tl_buf_finish(&clean);
    return width;
}

static void spaces(struct text *t, size_t count)
{
    while (count--)
        tl_buf_add(t->out, " ", 1);
}

void text_cell(struct text *t, const char *text, size_t columns)
{
    size_t used = text_clean(t, text, columns);
    spaces(t, t->form == TEXT_FORM_PLAIN ? columns - used : 1);
}

void text_cell_right(struct text *t, const char *text, size_t columns)
{
    size_t width = tl_utf8_width(text);
    spaces(t, width < columns ? columns - width : 0);
    text_clean(t, text, columns);
}

/* Ends a line without spaces before its end. */
void text_newline(struct text *t)
{
    if (t->in_heading && t->form != TEXT_FORM_PLAIN)
        tl_buf_adds(t->out, t->form == TEXT_FORM_HTML ? "</h3>" : "\n");
    t->in_heading = false;
    while (t->out->len && t->out->data[t->out->len - 1] == ' ')
        t->out->len--;
    tl_buf_add(t->out, "\n", 1);
}

void text_rule(struct text *t)
{
    for (int i = 0; i < t->style.width; i++)
        tl_buf_adds(t->out, t->style.utf8 ? "─" : "-");
    text_newline(t);
}

void text_heading(struct text *t, const char *heading)
{
    text_newline(t);
    if (t->form == TEXT_FORM_PLAIN) {
        text_ink(t, TEXT_BOLD, heading);
    } else {
        tl_buf_adds(t->out, t->form == TEXT_FORM_HTML ? "<h3>" : "### ");
        add_escaped(t, heading);
    }
    t->in_heading = true;
}

/* Adds one word (no spaces in it) where the line has room, breaking a word that is
 * longer than a line. Returns the column after it. */
static size_t add_word(struct text *t, const char *word, size_t len, size_t column, size_t indent,
                       bool first)
{
    size_t width = (size_t)t->style.width;
    while (len) {
        char piece[1024];
        size_t n = len < sizeof piece - 1 ? len : sizeof piece - 1;
        memcpy(piece, word, n);
        piece[n] = '\0';
        size_t columns = tl_utf8_width(piece), gap = first ? 0 : 1;
        if (column + gap + columns > width && column > indent) {
            text_newline(t);
            spaces(t, indent);
            column = indent;
            first = true;
            continue;
        }
        if (columns > width - column - gap) {
            n = tl_utf8_fit(piece, width - column - gap);
            n = n ? n : 1;
            piece[n] = '\0';
            columns = tl_utf8_width(piece);
        }
        spaces(t, gap);
        tl_buf_add(t->out, word, n);
        column += gap + columns;
        word += n;
        len -= n;
        first = true;
    }
    return column;
}

/* A paragraph of its own. */
static void add_paragraph(struct text *t, const char *text)
{
    tl_buf_adds(t->out, t->form == TEXT_FORM_HTML ? "<p>" : "\n");
    add_escaped(t, text);
    tl_buf_adds(t->out, t->form == TEXT_FORM_HTML ? "</p>\n" : "\n");
}

void text_wrap(struct text *t, size_t at, size_t indent, const char *text)
{
    if (t->form != TEXT_FORM_PLAIN) {
        add_paragraph(t, text);
        return;
    }
    struct tl_buf clean = TL_BUF_INIT;
    tl_utf8_add_clean(&clean, text, !t->style.utf8);
    if (clean.status != TL_OK)
        t->out->status = clean.status;
    size_t column = at;
    bool first = true;
    for (const char *p = tl_buf_text(&clean); *p;) {
        size_t len = strcspn(p, " ");
        if (len) {
            column = add_word(t, p, len, column, indent, first);
            first = false;
        }
        p += len;
        p += strspn(p, " ");
    }
    text_newline(t);
    tl_buf_finish(&clean);
}

void text_item(struct text *t, size_t indent, size_t more, const char *text)
{
    if (t->form == TEXT_FORM_MARKDOWN) {
        tl_buf_adds(t->out, "- ");
        add_escaped(t, text);
        text_newline(t);
        return;
    }
    if (t->form == TEXT_FORM_PLAIN)
        spaces(t, indent);
    text_wrap(t, indent, more, text);
}

static void add_label(struct text *t, const char *label)
{
    tl_buf_adds(t->out, t->form == TEXT_FORM_HTML ? "<div class=\"entry\"><b>" : "- ");
    if (*label && t->form == TEXT_FORM_MARKDOWN)
        tl_buf_adds(t->out, "**");
    add_escaped(t, label);
    if (t->form == TEXT_FORM_HTML)
        tl_buf_adds(t->out, "</b>");
    else if (*label)
        tl_buf_adds(t->out, ":** ");
}

static void add_entry(struct text *t, const char *label, const char *text)
{
    add_label(t, label);
    if (t->form == TEXT_FORM_HTML)
        tl_buf_adds(t->out, "<span>");
    add_escaped(t, text);
    tl_buf_adds(t->out, t->form == TEXT_FORM_HTML ? "</span></div>\n" : "\n");
}

/* A command stands alone, to be copied whole. */
static void add_command(struct text *t, const char *label, const char *command)
{
    add_label(t, label);
    if (t->form == TEXT_FORM_HTML) {
        tl_buf_adds(t->out, "<pre>");
        while (*command) {
            char line[TEXT_COMMAND_MAX];
            size_t len = strcspn(command, "\n");
            snprintf(line, sizeof line, "%.*s", (int)(len < sizeof line ? len : sizeof line - 1),
                     command);
            escape_html(t->out, line);
            tl_buf_adds(t->out, "\n");
            command += len + (command[len] == '\n');
        }
        tl_buf_adds(t->out, "</pre></div>\n");
        return;
    }
    tl_buf_adds(t->out, "\n\n");
    escape_markdown_block(t->out, command);
    tl_buf_adds(t->out, "\n");
}

static void add_row(struct text *t, const char *const *cells, size_t count, const char *tag)
{
    tl_buf_adds(t->out, t->form == TEXT_FORM_HTML ? "<tr>" : "|");
    for (size_t i = 0; i < count; i++) {
        if (t->form == TEXT_FORM_HTML)
            tl_buf_addf(t->out, "<%s>", tag);
        else
            tl_buf_adds(t->out, " ");
        add_escaped(t, cells[i]);
        if (t->form == TEXT_FORM_HTML)
            tl_buf_addf(t->out, "</%s>", tag);
        else
            tl_buf_adds(t->out, " |");
    }
    tl_buf_adds(t->out, t->form == TEXT_FORM_HTML ? "</tr>\n" : "\n");
}

void text_table_begin(struct text *t, const char *const *cells, size_t count)
{
    tl_buf_adds(t->out, t->form == TEXT_FORM_HTML ? "<table>\n" : "\n");
    add_row(t, cells, count, "th");
    if (t->form == TEXT_FORM_HTML)
        return;
    tl_buf_adds(t->out, "|");
    for (size_t i = 0; i < count; i++)
        tl_buf_adds(t->out, "---|");
    tl_buf_adds(t->out, "\n");
}

void text_table_row(struct text *t, const char *const *cells, size_t count)
{
    add_row(t, cells, count, "td");
}

void text_table_end(struct text *t)
{
    tl_buf_adds(t->out, t->form == TEXT_FORM_HTML ? "</table>\n" : "\n");
}

void text_entry(struct text *t, const char *label, size_t label_columns, const char *text)
{
    if (t->form != TEXT_FORM_PLAIN) {
        add_entry(t, label, text);
        return;
    }
    spaces(t, 2);
    text_cell(t, label, label_columns);
    spaces(t, 1);
    text_wrap(t, label_columns + 3, label_columns + 3, text);
}

void text_command(struct text *t, const char *label, size_t label_columns, const char *command)
{
    if (t->form != TEXT_FORM_PLAIN) {
        add_command(t, label, command);
        return;
    }
    do {
        size_t len = strcspn(command, "\n");
        char line[TEXT_COMMAND_MAX];
        snprintf(line, sizeof line, "%.*s", (int)(len < sizeof line ? len : sizeof line - 1),
                 command);
        spaces(t, 2);
        text_cell(t, label, label_columns);
        spaces(t, 1);
        text_clean(t, line, SIZE_MAX);
        text_newline(t);
        label = "";
        command += len + (command[len] == '\n');
    } while (*command);
}

size_t text_break(const char *text, size_t columns, const char **ret_rest)
{
    size_t len = strlen(text), fit = tl_utf8_fit(text, columns), cut = fit;
    while (fit < len && cut > 0 && text[cut] != ' ')
        cut--;
    if (fit == len || cut == 0) {
        *ret_rest = text + len;
        return len;
    }
    *ret_rest = text + cut + strspn(text + cut, " ");
    return cut;
}

static double clamp01(double share)
{
    return share > 0 ? fmin(share, 1) : 0; /* NAN is 0 too */
}

void text_bar(struct text *t, double share, double high, size_t columns, enum text_ink ink)
{
    /* Eighths of a block, from one eighth to seven. */
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    double cells = clamp01(share) * (double)columns;
    size_t full = (size_t)(t->style.utf8 ? floor(cells) : round(cells));
    size_t eighths = t->style.utf8 ? (size_t)((cells - floor(cells)) * 8) : 0;
    if (full == 0 && eighths == 0 && share > 0) { /* something is not nothing */
        full = t->style.utf8 ? 0 : 1;
        eighths = t->style.utf8;
    }
    struct tl_buf bar = TL_BUF_INIT;
    for (size_t i = 0; i < full; i++)
        tl_buf_adds(&bar, t->style.utf8 ? "█" : "#");
    tl_buf_adds(&bar, parts[eighths]);
    size_t used = full + (eighths ? 1 : 0);
    for (size_t end = (size_t)round(clamp01(high) * (double)columns); used < end; used++)
        tl_buf_adds(&bar, t->style.utf8 ? "░" : "-");
    if (bar.len)
        text_ink(t, ink, tl_buf_text(&bar));
    if (bar.status != TL_OK)
        t->out->status = bar.status;
    tl_buf_finish(&bar);
}

const char *text_arrow(const struct text *t)
{
    return t->style.utf8 ? "→" : "->";
}

/* From the parts of a report to the sink. */
#include "text_layout.h"

#include <string.h>

#include "tightlink/base/utf8.h"

void text_add(struct text *t, enum tl_meaning meaning, const char *text)
{
    t->sink->add(t, meaning, text);
}

void text_newline(struct text *t)
{
    t->sink->end_line(t);
    t->in_heading = false;
}

void text_heading_begin(struct text *t, const char *heading)
{
    text_newline(t);
    t->sink->heading(t, heading);
    t->in_heading = true;
}

void text_heading(struct text *t, const char *heading)
{
    text_heading_begin(t, heading);
    text_newline(t);
}

void text_wrap(struct text *t, size_t indent, const char *text)
{
    t->sink->paragraph(t, indent, text);
}

void text_item(struct text *t, size_t more, const char *text)
{
    t->sink->item(t, more, text);
}

void text_entry(struct text *t, const char *label, size_t label_columns, const char *text)
{
    t->sink->entry(t, label, label_columns, text);
}

void text_command(struct text *t, const char *label, size_t label_columns, const char *command)
{
    t->sink->command(t, label, label_columns, command);
}

void text_table_begin(struct text *t, const char *const *cells, size_t count)
{
    t->sink->table_row(t, cells, count, true);
}

void text_table_row(struct text *t, const char *const *cells, size_t count)
{
    t->sink->table_row(t, cells, count, false);
}

void text_table_end(struct text *t)
{
    t->sink->table_end(t);
}

void text_keep_status(struct text *t, enum tl_status status)
{
    if (status != TL_OK)
        *(t->page ? &t->page->status : &t->out->status) = status;
}

const char *text_arrow(const struct text *t)
{
    return t->page && !t->page->utf8 ? "->" : "→";
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

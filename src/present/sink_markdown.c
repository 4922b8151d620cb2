/* The sink for Markdown: CommonMark with the tables of its GitHub dialect. */
#include "escape.h"
#include "text_layout.h"

static void add(struct text *t, enum tl_meaning meaning, const char *text)
{
    escape_markdown(t->out, text);
}

static void heading(struct text *t, const char *heading)
{
    tl_buf_adds(t->out, "### ");
    escape_markdown(t->out, heading);
}

/* A heading ends with an empty line. */
static void end_line(struct text *t)
{
    if (t->in_heading)
        tl_buf_adds(t->out, "\n");
    while (t->out->len && t->out->data[t->out->len - 1] == ' ')
        t->out->len--;
    tl_buf_adds(t->out, "\n");
}

static void paragraph(struct text *t, size_t indent, const char *text)
{
    tl_buf_adds(t->out, "\n");
    escape_markdown(t->out, text);
    tl_buf_adds(t->out, "\n");
}

static void item(struct text *t, size_t more, const char *text)
{
    tl_buf_adds(t->out, "- ");
    escape_markdown(t->out, text);
    end_line(t);
}

static void add_label(struct text *t, const char *label)
{
    tl_buf_adds(t->out, *label ? "- **" : "- ");
    escape_markdown(t->out, label);
    if (*label)
        tl_buf_adds(t->out, ":** ");
}

static void entry(struct text *t, const char *label, size_t label_columns, const char *text)
{
    add_label(t, label);
    escape_markdown(t->out, text);
    tl_buf_adds(t->out, "\n");
}

/* A command stands alone, to be copied whole. */
static void command(struct text *t, const char *label, size_t label_columns, const char *command)
{
    add_label(t, label);
    tl_buf_adds(t->out, "\n\n");
    escape_markdown_block(t->out, command);
    tl_buf_adds(t->out, "\n");
}

static void table_row(struct text *t, const char *const *cells, size_t count, bool is_head)
{
    tl_buf_adds(t->out, is_head ? "\n|" : "|");
    for (size_t i = 0; i < count; i++) {
        tl_buf_adds(t->out, " ");
        escape_markdown(t->out, cells[i]);
        tl_buf_adds(t->out, " |");
    }
    tl_buf_adds(t->out, "\n");
    for (size_t i = 0; is_head && i < count; i++)
        tl_buf_adds(t->out, i ? "---|" : "|---|");
    if (is_head)
        tl_buf_adds(t->out, "\n");
}

static void table_end(struct text *t)
{
    tl_buf_adds(t->out, "\n");
}

const struct text_sink text_markdown = {.add = add,
                                        .heading = heading,
                                        .end_line = end_line,
                                        .paragraph = paragraph,
                                        .item = item,
                                        .entry = entry,
                                        .command = command,
                                        .table_row = table_row,
                                        .table_end = table_end};

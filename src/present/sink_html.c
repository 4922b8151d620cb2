/* The sink for the page: elements that its style sheet knows. */
#include <stdio.h>
#include <string.h>

#include "escape.h"
#include "text_layout.h"

/* Longest command line that is shown; rule files keep theirs far below. */
#define COMMAND_MAX 2048

static void add(struct text *t, enum tl_meaning meaning, const char *text)
{
    escape_html(t->out, text);
}

static void heading(struct text *t, const char *heading)
{
    tl_buf_adds(t->out, "<h3>");
    escape_html(t->out, heading);
}

static void end_line(struct text *t)
{
    if (t->in_heading)
        tl_buf_adds(t->out, "</h3>");
    while (t->out->len && t->out->data[t->out->len - 1] == ' ')
        t->out->len--;
    tl_buf_adds(t->out, "\n");
}

static void paragraph(struct text *t, size_t indent, const char *text)
{
    tl_buf_adds(t->out, "<p>");
    escape_html(t->out, text);
    tl_buf_adds(t->out, "</p>\n");
}

static void item(struct text *t, size_t more, const char *text)
{
    paragraph(t, 0, text);
}

static void add_label(struct text *t, const char *label)
{
    tl_buf_adds(t->out, "<div class=\"entry\"><b>");
    escape_html(t->out, label);
    tl_buf_adds(t->out, "</b>");
}

static void entry(struct text *t, const char *label, size_t label_columns, const char *text)
{
    add_label(t, label);
    tl_buf_adds(t->out, "<span>");
    escape_html(t->out, text);
    tl_buf_adds(t->out, "</span></div>\n");
}

/* A command stands alone, to be copied whole. */
static void command(struct text *t, const char *label, size_t label_columns, const char *command)
{
    add_label(t, label);
    tl_buf_adds(t->out, "<pre>");
    while (*command) {
        char line[COMMAND_MAX];
        size_t len = strcspn(command, "\n");
        snprintf(line, sizeof line, "%.*s", (int)(len < sizeof line ? len : sizeof line - 1),
                 command);
        escape_html(t->out, line);
        tl_buf_adds(t->out, "\n");
        command += len + (command[len] == '\n');
    }
    tl_buf_adds(t->out, "</pre></div>\n");
}

static void table_row(struct text *t, const char *const *cells, size_t count, bool is_head)
{
    const char *tag = is_head ? "th" : "td";
    tl_buf_adds(t->out, is_head ? "<table>\n<tr>" : "<tr>");
    for (size_t i = 0; i < count; i++) {
        tl_buf_addf(t->out, "<%s>", tag);
        escape_html(t->out, cells[i]);
        tl_buf_addf(t->out, "</%s>", tag);
    }
    tl_buf_adds(t->out, "</tr>\n");
}

static void table_end(struct text *t)
{
    tl_buf_adds(t->out, "</table>\n");
}

const struct text_sink text_html = {.pictures = true,
                                    .add = add,
                                    .heading = heading,
                                    .end_line = end_line,
                                    .paragraph = paragraph,
                                    .item = item,
                                    .entry = entry,
                                    .command = command,
                                    .table_row = table_row,
                                    .table_end = table_end};

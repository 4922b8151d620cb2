/* The sink with columns: lines of a page. */
#include <stdio.h>
#include <string.h>

#include "text_layout.h"
#include "tightlink/base/utf8.h"

/* Longest command line that is shown; rule files keep theirs far below. */
#define COMMAND_MAX 2048

static void add(struct text *t, enum tl_meaning meaning, const char *text)
{
    tl_page_add(t->page, meaning, text);
}

/* Whole: behind a long name stands who is to act. */
static void heading(struct text *t, const char *heading)
{
    size_t columns = (size_t)t->page->width;
    while (tl_utf8_fit(heading, columns) < strlen(heading)) {
        const char *rest;
        size_t len = text_break(heading, columns, &rest);
        if (!*rest) { /* no space in reach */
            len = tl_utf8_fit(heading, columns);
            rest = heading + len;
        }
        tl_page_addf(t->page, TL_SAID_STRONG, "%.*s", (int)len, heading);
        tl_page_end_line(t->page, TL_LINE_HEADING);
        heading = rest;
    }
    tl_page_add(t->page, TL_SAID_STRONG, heading);
}

static void end_line(struct text *t)
{
    tl_page_end_line(t->page, t->in_heading ? TL_LINE_HEADING : TL_LINE_TEXT);
}

static void paragraph(struct text *t, size_t indent, const char *text)
{
    tl_page_paragraph(t->page, TL_SAID_PLAIN, indent, TL_LINE_TEXT, TL_LINE_TEXT, text);
}

static void item(struct text *t, size_t more, const char *text)
{
    tl_page_space(t->page, 2);
    paragraph(t, more, text);
}

static void entry(struct text *t, const char *label, size_t label_columns, const char *text)
{
    tl_page_space(t->page, 2);
    tl_page_cell(t->page, label, label_columns);
    tl_page_space(t->page, 1);
    tl_page_paragraph(t->page, TL_SAID_PLAIN, label_columns + 3, TL_LINE_ENTRY, TL_LINE_ENTRY,
                      text);
}

static void command(struct text *t, const char *label, size_t label_columns, const char *command)
{
    do {
        size_t len = strcspn(command, "\n");
        char line[COMMAND_MAX];
        snprintf(line, sizeof line, "%.*s", (int)(len < sizeof line ? len : sizeof line - 1),
                 command);
        tl_page_space(t->page, 2);
        tl_page_cell(t->page, label, label_columns);
        tl_page_space(t->page, 1);
        tl_page_add(t->page, TL_SAID_PLAIN, line);
        tl_page_end_line(t->page, TL_LINE_ENTRY);
        label = "";
        command += len + (command[len] == '\n');
    } while (*command);
}

const struct text_sink text_columns = {.columns = true,
                                       .add = add,
                                       .heading = heading,
                                       .end_line = end_line,
                                       .paragraph = paragraph,
                                       .item = item,
                                       .entry = entry,
                                       .command = command};

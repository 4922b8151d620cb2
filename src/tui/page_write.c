/* Headings, entries and commands of a page. */
#include "page_write.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/base/units.h"

void page_add_words(struct tl_page *page, enum tl_meaning meaning, int indent, const char *text)
{
    tl_page_paragraph(page, meaning, (size_t)indent, TL_LINE_TEXT, TL_LINE_TEXT, text);
}

void page_add_heading(struct tl_page *page, const char *heading)
{
    if (page->line_count)
        tl_page_end_line(page, TL_LINE_TEXT);
    tl_page_add(page, TL_SAID_STRONG, heading);
    tl_page_end_line(page, TL_LINE_HEADING);
}

static void add_label(struct tl_page *page, const char *label)
{
    tl_page_space(page, 2);
    if (*label)
        tl_page_cell(page, label, PAGE_LABEL - 1);
}

void page_add_entry(struct tl_page *page, const char *label, const char *text)
{
    if (!text || !*text)
        return;
    add_label(page, label);
    page_add_words(page, TL_SAID_PLAIN, *label ? PAGE_LABEL + 1 : 2, text);
}

void page_add_command(struct tl_page *page, const char *label, const char *command)
{
    if (!command || !*command)
        return;
    add_label(page, label);
    while (*command) {
        size_t len = strcspn(command, "\n");
        char line[2048];
        snprintf(line, sizeof line, "%.*s", (int)(len < sizeof line ? len : sizeof line - 1),
                 command);
        tl_page_add(page, TL_SAID_STRONG, line);
        tl_page_end_line(page, TL_LINE_ENTRY);
        command += len + (command[len] == '\n');
        if (*command)
            tl_page_space(page, PAGE_LABEL + 1);
    }
}

void page_add_number(struct tl_page *page, const char *label, double value,
                     const char *(*format)(double, char *))
{
    char text[TL_UNIT_TEXT_SIZE];
    page_add_entry(page, label, isnan(value) ? "not known" : format(value, text));
}

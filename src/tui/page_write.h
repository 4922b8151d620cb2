/* Headings, entries and commands of a page, in lines that fit its width; private to page_*.c.
 * Every text is cleaned here. */
#ifndef TL_TUI_PAGE_WRITE_H
#define TL_TUI_PAGE_WRITE_H

#include <stdbool.h>

#include "tightlink/base/buf.h"

#define PAGE_LABEL 12

struct page {
    struct tl_buf *out;
    int width;
    bool utf8;
};

/* Words from column `at` on, further lines indented. A word longer than the line stays whole:
 * tui_lines() goes on with it in the next row. */
void page_add_words(struct page *page, int at, int indent, const char *text);
void page_add_heading(struct page *page, const char *heading);
/* "  label      text", wrapped under itself; without a label from the left. Nothing for "". */
void page_add_entry(struct page *page, const char *label, const char *text);
/* The same for a command, which stays on one line however long. */
void page_add_command(struct page *page, const char *label, const char *command);
void page_add_number(struct page *page, const char *label, double value,
                     const char *(*format)(double, char *));
/* Lines that were broken for 78 columns, broken again where the terminal has less. */
void page_add_reflowed(struct page *page, const char *text);

#endif

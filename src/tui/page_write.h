/* Headings, entries and commands of a page that the screen builds; private to page_*.c. */
#ifndef TL_TUI_PAGE_WRITE_H
#define TL_TUI_PAGE_WRITE_H

#include "tightlink/present/page.h"

#define PAGE_LABEL 12

/* Words from where the line stands, further lines indented. */
void page_add_words(struct tl_page *page, enum tl_meaning meaning, int indent, const char *text);
void page_add_heading(struct tl_page *page, const char *heading);
/* "  label      text", wrapped under itself; without a label from the left. Nothing for "". */
void page_add_entry(struct tl_page *page, const char *label, const char *text);
/* The same for a command, which stays on one line however long. */
void page_add_command(struct tl_page *page, const char *label, const char *command);
void page_add_number(struct tl_page *page, const char *label, double value,
                     const char *(*format)(double, char *));

#endif

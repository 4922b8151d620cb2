/* Writing lines of a page. */
#include "page_write.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/base/units.h"
#include "tightlink/base/utf8.h"

#define LABEL PAGE_LABEL

void page_add_words(struct page *page, int at, int indent, const char *text)
{
    struct tl_buf clean = TL_BUF_INIT;
    tl_utf8_add_clean(&clean, text, !page->utf8);
    const char *word = tl_buf_text(&clean);
    bool first = true;
    while (*word) {
        size_t len = strcspn(word, " ");
        char piece[512];
        snprintf(piece, sizeof piece, "%.*s", (int)(len < sizeof piece ? len : sizeof piece - 1),
                 word);
        int width = (int)tl_utf8_width(piece);
        if (!first && at + 1 + width > page->width) {
            tl_buf_addf(page->out, "\n%*s", indent, "");
            at = indent;
        } else if (!first) {
            tl_buf_adds(page->out, " ");
            at++;
        }
        tl_buf_adds(page->out, piece);
        at += width;
        first = false;
        word += strlen(piece);
        while (*word == ' ')
            word++;
    }
    tl_buf_adds(page->out, "\n");
    tl_buf_finish(&clean);
}

void page_add_heading(struct page *page, const char *heading)
{
    tl_buf_addf(page->out, "%s\033[1m%s\033[0m\n", page->out->len ? "\n" : "", heading);
}

void page_add_entry(struct page *page, const char *label, const char *text)
{
    if (!text || !*text)
        return;
    if (*label) {
        tl_buf_addf(page->out, "  %-*s", LABEL - 1, label);
        page_add_words(page, LABEL + 1, LABEL + 1, text);
    } else {
        tl_buf_adds(page->out, "  ");
        page_add_words(page, 2, 2, text);
    }
}

void page_add_command(struct page *page, const char *label, const char *command)
{
    if (!command || !*command)
        return;
    tl_buf_addf(page->out, "  %-*s\033[1m", LABEL - 1, label);
    for (const char *line = command; *line;) {
        size_t len = strcspn(line, "\n");
        char text[2048];
        size_t room = len < sizeof text ? len : sizeof text - 1;
        memcpy(text, line, room);
        text[room] = '\0';
        if (line != command)
            tl_buf_addf(page->out, "\n%*s", LABEL + 1, "");
        tl_utf8_add_clean(page->out, text, !page->utf8);
        line += len + (line[len] == '\n');
    }
    tl_buf_adds(page->out, "\033[0m\n");
}

void page_add_number(struct page *page, const char *label, double value,
                     const char *(*format)(double, char *))
{
    char text[TL_UNIT_TEXT_SIZE];
    page_add_entry(page, label, isnan(value) ? "not known" : format(value, text));
}

void page_add_reflowed(struct page *page, const char *text)
{
    while (*text) {
        size_t len = strcspn(text, "\n");
        int indent = (int)strspn(text, " ");
        char line[1024];
        snprintf(line, sizeof line, "%.*s", (int)(len < sizeof line ? len : sizeof line - 1), text);
        if (indent == 0 && line[0])
            tl_buf_addf(page->out, "\033[1m");
        if ((int)tl_utf8_width(line) <= page->width || indent > page->width / 2) {
            tl_utf8_add_clean(page->out, line, !page->utf8);
            tl_buf_adds(page->out, "\n");
        } else {
            tl_buf_addf(page->out, "%*s", indent, "");
            page_add_words(page, indent, indent + 2, line + indent);
        }
        if (indent == 0 && line[0])
            tl_buf_adds(page->out, "\033[0m");
        text += len + (text[len] == '\n');
    }
}

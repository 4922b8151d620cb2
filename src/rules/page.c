/* Wrapping for pages that people read. */
#include "page.h"

#include <string.h>

#define PAGE_COLUMNS 78

void tl_page_wrap(struct tl_buf *out, unsigned indent, const char *text)
{
    size_t column = 0;
    while (*text) {
        size_t word = strcspn(text, " ");
        if (column == 0 || column + 1 + word > PAGE_COLUMNS) {
            tl_buf_addf(out, "%s%*s", column ? "\n" : "", (int)indent, "");
            column = indent;
        } else {
            tl_buf_adds(out, " ");
            column++;
        }
        tl_buf_add(out, text, word);
        column += word;
        text += word;
        text += strspn(text, " ");
    }
    tl_buf_adds(out, "\n");
}

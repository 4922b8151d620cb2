/* Foreign text inside Markdown and HTML. */
#include "escape.h"

#include <ctype.h>
#include <string.h>

#include "tightlink/base/utf8.h"

/* Cleans text and adds what piece makes of it. */
static void add_cleaned(struct tl_buf *out, const char *text,
                        void (*add)(struct tl_buf *out, const char *clean))
{
    struct tl_buf clean = TL_BUF_INIT;
    tl_utf8_add_clean(&clean, text ? text : "", false);
    add(out, tl_buf_text(&clean));
    if (clean.status != TL_OK)
        out->status = clean.status;
    tl_buf_finish(&clean);
}

static void add_html(struct tl_buf *out, const char *clean)
{
    for (; *clean; clean++) {
        switch (*clean) {
        case '&':
            tl_buf_adds(out, "&amp;");
            break;
        case '<':
            tl_buf_adds(out, "&lt;");
            break;
        case '>':
            tl_buf_adds(out, "&gt;");
            break;
        case '"':
            tl_buf_adds(out, "&quot;");
            break;
        case '\'':
            tl_buf_adds(out, "&#39;");
            break;
        default:
            tl_buf_add(out, clean, 1);
        }
    }
}

void escape_html(struct tl_buf *out, const char *text)
{
    add_cleaned(out, text, add_html);
}

/* Whether a line that begins so would be a list, a heading's underline or a rule. */
static bool begins_a_block(const char *clean, size_t at)
{
    if (at == 0)
        return strchr("-+=", clean[0]) && (clean[1] == ' ' || clean[1] == clean[0] || !clean[1]);
    size_t digits = strspn(clean, "0123456789");
    return at == digits && digits > 0 && (clean[at] == '.' || clean[at] == ')') &&
           (clean[at + 1] == ' ' || !clean[at + 1]);
}

static void add_markdown(struct tl_buf *out, const char *clean)
{
    for (size_t at = 0; clean[at]; at++) {
        bool link = (clean[at] == ':' && strncmp(clean + at, "://", 3) == 0) ||
                    (clean[at] == '.' && at >= 3 && tolower((unsigned char)clean[at - 1]) == 'w' &&
                     tolower((unsigned char)clean[at - 2]) == 'w') ||
                    (clean[at] == '@' && at > 0);
        if (strchr("\\`*_[]<>|#~&!", clean[at]) || link || begins_a_block(clean, at))
            tl_buf_adds(out, "\\");
        tl_buf_add(out, clean + at, 1);
    }
}

void escape_markdown(struct tl_buf *out, const char *text)
{
    add_cleaned(out, text, add_markdown);
}

static size_t longest_run(const char *text, char c)
{
    size_t longest = 0, run = 0;
    for (; *text; text++) {
        run = *text == c ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

static void add_plain(struct tl_buf *out, const char *clean)
{
    tl_buf_adds(out, clean);
}

void escape_markdown_block(struct tl_buf *out, const char *text)
{
    size_t fence = longest_run(text, '`') + 1;
    fence = fence < 3 ? 3 : fence;
    for (size_t i = 0; i < fence; i++)
        tl_buf_adds(out, "`");
    tl_buf_adds(out, "sh\n");
    while (*text) {
        size_t len = strcspn(text, "\n");
        struct tl_buf line = TL_BUF_INIT;
        tl_buf_add(&line, text, len);
        add_cleaned(out, tl_buf_text(&line), add_plain);
        if (line.status != TL_OK)
            out->status = line.status;
        tl_buf_finish(&line);
        tl_buf_adds(out, "\n");
        text += len + (text[len] == '\n');
    }
    for (size_t i = 0; i < fence; i++)
        tl_buf_adds(out, "`");
    tl_buf_adds(out, "\n");
}

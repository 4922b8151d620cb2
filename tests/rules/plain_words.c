/* Words of the trade, and ids: what no plain view may say. */
#include "plain_words.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/base/buf.h"

/* "--stages udp" is to be typed, not to be read. */
static bool is_typed(const char *text, const char *at)
{
    static const char *const before[] = {"--", "--stages"};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        size_t len = strlen(before[i]);
        if ((size_t)(at - text) >= len && strncmp(at - len, before[i], len) == 0)
            return true;
    }
    return false;
}

/* What stands in no plain view: words of the trade, and ids of facts, stages and segments. */
const char *plain_words_break(const char *text)
{
    static const char *const banned[] = {
        "rung",      "mended",  "mends",     "far end",  "goodput",    "cwnd",         "rwnd",
        "segment",   "stage",   "near-host", "far-host", "far-lan",    "network-team", "ledger",
        "ceiling",   " RTT",    "BDP",       " udp ",    "microscope", "near.",        "path.",
        "download.", "upload.", "(stage",    "_count",   "_ratio"};
    static char word[32];
    for (size_t i = 0; i < sizeof banned / sizeof *banned; i++) {
        const char *at = text;
        size_t len = strlen(banned[i]);
        bool id = banned[i][len - 1] == '.'; /* "download." may end a sentence, an id goes on */
        while ((at = strcasestr(at, banned[i])) &&
               ((id && !islower((unsigned char)at[len])) || is_typed(text, at)))
            at += len;
        if (!at)
            continue;
        snprintf(word, sizeof word, "%s", banned[i]);
        return word;
    }
    return NULL;
}

char *plain_words_alone(const char *text)
{
    struct tl_buf words = TL_BUF_INIT;
    bool in_tag = false;
    for (; *text; text++) {
        in_tag = in_tag ? *text != '>' : *text == '<';
        bool keep = !in_tag && (isalnum((unsigned char)*text) || strchr("-:.,", *text));
        if (keep)
            tl_buf_add(&words, text, 1);
        else if (*text != '\\' && words.len && words.data[words.len - 1] != ' ')
            tl_buf_add(&words, " ", 1);
    }
    return tl_buf_steal(&words);
}

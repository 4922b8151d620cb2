/* What somebody may have meant. */
#include "tightlink/base/nearest.h"

#include <stdio.h>
#include <string.h>

/* Longer words are no slip of a command, an option, a cause or a demo. */
#define WORD_MAX   40
#define SHORT_WORD 4
#define SLIPS_MAX  2

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: Levenshtein's table with exchanged neighbours. */
size_t tl_nearest_distance(const char *a, const char *b)
{
    size_t rows[3][WORD_MAX + 1], la = strlen(a), lb = strlen(b);
    if (la > WORD_MAX || lb > WORD_MAX)
        return WORD_MAX;
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= lb; j++)
        above[j] = j;
    for (size_t i = 1; i <= la; i++) {
        row[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            size_t change = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(change, least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        size_t *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[lb];
}

void tl_nearest_offer(struct tl_nearest *nearest, const char *typed, const char *word)
{
    size_t most = strlen(typed) <= SHORT_WORD ? 1 : SLIPS_MAX;
    size_t distance = tl_nearest_distance(typed, word);
    if (distance > most || (nearest->word && nearest->distance <= distance))
        return;
    *nearest = (struct tl_nearest){word, distance};
}

const char *tl_nearest_text(const struct tl_nearest *nearest)
{
    static char text[WORD_MAX + 40];
    if (!nearest->word)
        return "";
    snprintf(text, sizeof text, "; did you mean %s?", nearest->word);
    return text;
}

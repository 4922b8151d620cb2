/* What somebody may have meant who mistyped a word. Private to src/cli. */
#ifndef TL_CLI_NEAREST_H
#define TL_CLI_NEAREST_H

#include <stddef.h>

/* Letters left out, put in, changed, or two changed about, to make one word of the other. */
size_t cli_distance(const char *a, const char *b);

/* The best of the words that were offered so far. Zero-initialised is none. */
struct cli_nearest {
    const char *word; /* NULL: none is near */
    size_t distance;
};
/* Offers a word for what was typed. One is near within two slips, within one for short words. */
void cli_nearest_offer(struct cli_nearest *nearest, const char *typed, const char *word);

/* "; did you mean WORD?", or "" where none is near. Static until the next call. */
const char *cli_nearest_text(const struct cli_nearest *nearest);

#endif

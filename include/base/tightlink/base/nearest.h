/* What somebody may have meant who mistyped a word. */
#ifndef TL_BASE_NEAREST_H
#define TL_BASE_NEAREST_H

#include <stddef.h>

/* Letters left out, put in, changed, or two changed about, to make one word of the other. */
size_t tl_nearest_distance(const char *a, const char *b);

/* The best of the words that were offered so far. Zero-initialised is none. */
struct tl_nearest {
    const char *word; /* NULL: none is near */
    size_t distance;
};
/* Offers a word for what was typed. One is near within two slips, within one for short words. */
void tl_nearest_offer(struct tl_nearest *nearest, const char *typed, const char *word);

/* "; did you mean WORD?", or "" where none is near. Static until the next call. */
const char *tl_nearest_text(const struct tl_nearest *nearest);

#endif

/* The words that no plain view and no first line of any verdict may have. */
#ifndef TL_TESTS_PLAIN_WORDS_H
#define TL_TESTS_PLAIN_WORDS_H

/* The first of them that stands in a text; NULL: none does. Static storage, until the next call. */
const char *plain_words_break(const char *text);

/* A text of any format without tags, escapes, tables and columns; for the caller to free. */
char *plain_words_alone(const char *text);

#endif

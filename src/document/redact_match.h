/* Values that must not leave, known by their form; private to src/document. */
#ifndef TL_DOCUMENT_REDACT_MATCH_H
#define TL_DOCUMENT_REDACT_MATCH_H

#include "tightlink/document/redact.h"

struct redact_match {
    size_t len; /* bytes of the text */
    bool keep;  /* it has such a form and yet tells nothing: leave it as it is */
    enum tl_mask_kind kind;
    char value[TL_REDACT_VALUE_SIZE]; /* in the one spelling that stands for all of it */
};

/* Whether a value begins at text[at]; what stands before it decides too. */
bool redact_match_at(const char *text, size_t at, struct redact_match *ret_match);

/* The same for a text that is one value as a whole: an address or a hardware address. */
bool redact_match_address(const char *text, struct redact_match *ret_match);

/* Part of a word: a letter, a digit, '_' or any byte beyond ASCII. */
bool redact_is_word(char c);

/* Whether a text is one of some words, in capitals or not. */
bool redact_is_among(const char *text, size_t len, const char *const *words, size_t count);

/* A name with a dot in it that people need to read and that is none of a host (redact_known.c). */
bool redact_is_no_host(const char *name, size_t len);

/* The one spelling of a name: small letters, no dot at its end. */
void redact_spell_name(const char *name, size_t len, char ret_value[TL_REDACT_VALUE_SIZE]);

#endif

/* How a redactor is made; private to src/document/redact*.c. */
#ifndef TL_DOCUMENT_REDACT_PRIVATE_H
#define TL_DOCUMENT_REDACT_PRIVATE_H

#include "redact_match.h"
#include "tightlink/document/redact.h"

/* Fields of a run that name something, each with a short form: hops, segments, directories. */
#define REDACT_LEARNED_MAX 512

struct redact_value {
    enum tl_mask_kind kind;
    char *value, *mask; /* owned */
    size_t count;
};

struct redact_word {
    enum tl_mask_kind kind;
    char *word; /* owned; as it stands in texts */
    char value[TL_REDACT_VALUE_SIZE];
};

struct tl_redactor {
    uint8_t key[TL_REDACT_KEY_SIZE];
    enum tl_status status;
    struct redact_value *values; /* owned, in the order in which they were met */
    size_t count, capacity;
    size_t unseen_count; /* of the last values: what an export was counted in has not got them */
    struct redact_word learned[REDACT_LEARNED_MAX];
    size_t learned_count;
};

#endif

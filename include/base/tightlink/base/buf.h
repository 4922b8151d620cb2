/* A growing text buffer that remembers its first failure, so that a writer
 * checks once at the end instead of after each piece. */
#ifndef TL_BASE_BUF_H
#define TL_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "tightlink/base/status.h"

struct tl_buf {
    char *data; /* NUL-terminated once anything was added; owned */
    size_t len;
    size_t cap;
    /* TL_NOMEM after a failed allocation, TL_LIMIT after tl_buf_add_within(); later adds do nothing
     */
    enum tl_status status;
};

#define TL_BUF_INIT                                                                                \
    {                                                                                              \
        0                                                                                          \
    }

void tl_buf_finish(struct tl_buf *buf);
void tl_buf_add(struct tl_buf *buf, const void *data, size_t len);
/* The same, where the buffer then holds at most max bytes; else nothing, and TL_LIMIT. True where
 * it was added: for callbacks that take what a stranger sends. */
bool tl_buf_add_within(struct tl_buf *buf, const void *data, size_t len, size_t max);
void tl_buf_adds(struct tl_buf *buf, const char *text);
void tl_buf_addf(struct tl_buf *buf, const char *fmt, ...) TL_PRINTF(2, 3);

/* The text, "" while empty. Valid until the next add. */
const char *tl_buf_text(const struct tl_buf *buf);

/* Hands the text over (free() it) and empties the buffer; NULL after a failure. */
char *tl_buf_steal(struct tl_buf *buf);

#endif

/* A growing text buffer that remembers its first failure, so that a writer
 * checks once at the end instead of after each piece. */
#ifndef TL_BASE_BUF_H
#define TL_BASE_BUF_H

#include <stddef.h>

#include "tightlink/base/status.h"

struct tl_buf {
    char *data; /* NUL-terminated once anything was added; owned */
    size_t len;
    size_t cap;
    enum tl_status status; /* TL_NOMEM after a failed allocation; later adds do nothing */
};

#define TL_BUF_INIT                                                                                \
    {                                                                                              \
        0                                                                                          \
    }

void tl_buf_finish(struct tl_buf *buf);
void tl_buf_add(struct tl_buf *buf, const void *data, size_t len);
void tl_buf_adds(struct tl_buf *buf, const char *text);
void tl_buf_addf(struct tl_buf *buf, const char *fmt, ...) TL_PRINTF(2, 3);

/* The text, "" while empty. Valid until the next add. */
const char *tl_buf_text(const struct tl_buf *buf);

/* Hands the text over (free() it) and empties the buffer; NULL after a failure. */
char *tl_buf_steal(struct tl_buf *buf);

#endif

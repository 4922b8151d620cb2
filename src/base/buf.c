/* The growing buffer. */
#include "tightlink/base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for extra more bytes and the NUL; false after a failure. */
static int reserve(struct tl_buf *buf, size_t extra)
{
    if (buf->status != TL_OK)
        return 0;
    if (buf->len + extra + 1 <= buf->cap)
        return 1;
    size_t cap = buf->cap ? buf->cap : 256;
    while (cap < buf->len + extra + 1)
        cap *= 2;
    char *data = realloc(buf->data, cap);
    if (!data) {
        buf->status = TL_NOMEM;
        return 0;
    }
    buf->data = data;
    buf->cap = cap;
    return 1;
}

void tl_buf_finish(struct tl_buf *buf)
{
    free(buf->data);
    *buf = (struct tl_buf)TL_BUF_INIT;
}

void tl_buf_add(struct tl_buf *buf, const void *data, size_t len)
{
    if (!reserve(buf, len))
        return;
    memcpy(buf->data + buf->len, data, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
}

bool tl_buf_add_within(struct tl_buf *buf, const void *data, size_t len, size_t max)
{
    if (buf->status == TL_OK && (buf->len > max || len > max - buf->len))
        buf->status = TL_LIMIT;
    tl_buf_add(buf, data, len);
    return buf->status == TL_OK;
}

void tl_buf_adds(struct tl_buf *buf, const char *text)
{
    tl_buf_add(buf, text, strlen(text));
}

void tl_buf_addf(struct tl_buf *buf, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    if (n >= 0 && reserve(buf, (size_t)n)) {
        vsnprintf(buf->data + buf->len, (size_t)n + 1, fmt, again);
        buf->len += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

const char *tl_buf_text(const struct tl_buf *buf)
{
    return buf->len ? buf->data : "";
}

char *tl_buf_steal(struct tl_buf *buf)
{
    if (buf->status == TL_OK && !buf->data)
        (void)reserve(buf, 0);
    if (buf->status != TL_OK) {
        tl_buf_finish(buf);
        return NULL;
    }
    buf->data[buf->len] = '\0';
    char *text = buf->data;
    *buf = (struct tl_buf)TL_BUF_INIT;
    return text;
}

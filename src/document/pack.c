/* Packing and unpacking by libzstd itself: libarchive 3.6.2 frees a zstd filter twice where there
 * is no memory for it. */
#include "tightlink/document/pack.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "tightlink/document/document.h"

#define LEVEL 3 /* zstd's own default */

static enum tl_status no_memory(struct tl_error *reterr)
{
    return tl_error_set(reterr, TL_NOMEM, "%s", tl_status_text(TL_NOMEM));
}

bool tl_is_packed(const void *data, size_t len)
{
    static const unsigned char magic[] = {0x28, 0xb5, 0x2f, 0xfd}; /* RFC 8878, section 3.1.1 */
    return len >= sizeof magic && memcmp(data, magic, sizeof magic) == 0;
}

enum tl_status tl_pack(const char *bytes, size_t len, struct tl_buf *out, struct tl_error *reterr)
{
    size_t most = ZSTD_compressBound(len);
    char *frame = malloc(most);
    ZSTD_CCtx *context = frame ? ZSTD_createCCtx() : NULL;
    bool done = context != NULL;
    if (done) {
        /* Neither is refused by any version. */
        (void)ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
        (void)ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
        size_t packed = ZSTD_compress2(context, frame, most, bytes, len);
        done = !ZSTD_isError(packed);
        if (done)
            tl_buf_add(out, frame, packed);
    }
    ZSTD_freeCCtx(context);
    free(frame);
    return done && out->status == TL_OK ? TL_OK : no_memory(reterr);
}

static enum tl_status damaged(struct tl_error *reterr, const char *why)
{
    return tl_error_set(reterr, TL_SYNTAX, "the kept document is damaged: %s", why);
}

/* One frame, whole, and nothing behind it. */
static enum tl_status read_frame(ZSTD_DStream *stream, const void *data, size_t len,
                                 struct tl_buf *text, struct tl_error *reterr)
{
    char piece[16384];
    ZSTD_inBuffer in = {data, len, 0};
    size_t left = 1;
    while (left) {
        ZSTD_outBuffer out = {piece, sizeof piece, 0};
        size_t before = in.pos;
        left = ZSTD_decompressStream(stream, &out, &in);
        if (ZSTD_isError(left))
            return ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation
                       ? no_memory(reterr)
                       : damaged(reterr, ZSTD_getErrorName(left));
        if (!tl_buf_add_within(text, piece, out.pos, TL_DOCUMENT_BYTES_MAX))
            return text->status == TL_LIMIT
                       ? tl_error_set(reterr, TL_LIMIT, "the kept document is larger than %zu MiB",
                                      TL_DOCUMENT_BYTES_MAX >> 20)
                       : no_memory(reterr);
        if (left && out.pos == 0 && in.pos == before)
            return damaged(reterr, "it ends too early");
    }
    return in.pos == len ? TL_OK : damaged(reterr, "something follows it");
}

static enum tl_status unpack_frame(const void *data, size_t len, struct tl_buf *text,
                                   struct tl_error *reterr)
{
    ZSTD_DStream *stream = ZSTD_createDStream();
    enum tl_status status =
        stream ? read_frame(stream, data, len, text, reterr) : no_memory(reterr);
    ZSTD_freeDStream(stream);
    return status;
}

enum tl_status tl_unpack(const void *data, size_t len, char **ret_text, size_t *ret_len,
                         struct tl_error *reterr)
{
    struct tl_buf text = TL_BUF_INIT;
    enum tl_status status = TL_OK;
    if (tl_is_packed(data, len))
        status = unpack_frame(data, len, &text, reterr);
    else if (len)
        tl_buf_add(&text, data, len);
    size_t unpacked = text.len;
    char *owned = status == TL_OK ? tl_buf_steal(&text) : NULL;
    tl_buf_finish(&text);
    if (status == TL_OK && !owned)
        return no_memory(reterr);
    if (status == TL_OK) {
        *ret_len = unpacked;
        *ret_text = owned;
    }
    return status;
}

/* Bytes packed as one zstd frame (RFC 8878): a document as it lies in the history, an eighth of its
 * text; a bundle. */
#ifndef TL_DOCUMENT_PACK_H
#define TL_DOCUMENT_PACK_H

#include "tightlink/base/buf.h"
#include "tightlink/base/status.h"

/* Adds to out; the same bytes give the same frame. TL_NOMEM. */
enum tl_status tl_pack(const char *bytes, size_t len, struct tl_buf *out,
                       struct tl_error *reterr) TL_WARN_UNUSED;

/* It begins as a frame does; no JSON text does. */
bool tl_is_packed(const void *data, size_t len);

/* A document that was packed, or plain text as it is; *ret_text is NUL-terminated, the caller frees
 * it. TL_SYNTAX: damaged; TL_LIMIT: more than TL_DOCUMENT_BYTES_MAX come out; TL_NOMEM. */
enum tl_status tl_unpack(const void *data, size_t len, char **ret_text, size_t *ret_len,
                         struct tl_error *reterr) TL_WARN_UNUSED;

#endif

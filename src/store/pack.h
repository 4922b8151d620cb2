/* A document as it lies in the history: one zstd frame, an eighth of its text. Private to
 * src/store. */
#ifndef TL_STORE_PACK_H
#define TL_STORE_PACK_H

#include "tightlink/base/buf.h"
#include "tightlink/base/status.h"

/* TL_NOMEM, TL_IO. */
enum tl_status tl_pack(const char *text, size_t len, struct tl_buf *out,
                       struct tl_error *reterr) TL_WARN_UNUSED;

/* What was packed, or plain text as it is; *ret_text is NUL-terminated, the caller frees it.
 * TL_SYNTAX: damaged; TL_LIMIT: more than TL_DOCUMENT_BYTES_MAX come out; TL_NOMEM. */
enum tl_status tl_unpack(const void *data, size_t len, char **ret_text, size_t *ret_len,
                         struct tl_error *reterr) TL_WARN_UNUSED;

#endif

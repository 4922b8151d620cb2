/* Files with secrets: read carefully, for what they are used for see base/key.h and the tickets'
 * tokens. Reading one forbids the dumping of this process for the rest of its life
 * (PR_SET_DUMPABLE). The caller clears what it got. */
#ifndef TL_BASE_SECRET_H
#define TL_BASE_SECRET_H

#include <stddef.h>

#include "tightlink/base/status.h"

/* Reads the whole file and terminates it with NUL. It must be a regular file of this user or of
 * root, that nobody else may read or write, of less than size bytes, without NUL. what is for
 * sentences: "key file". TL_UNKNOWN (no such file), TL_DENIED (with the chmod), TL_LIMIT,
 * TL_SYNTAX, TL_IO. */
enum tl_status tl_secret_file_read(const char *path, const char *what, char *ret_text, size_t size,
                                   size_t *ret_len, struct tl_error *reterr) TL_WARN_UNUSED;

#endif

/* Files that the user names, read and written whole. Each function says what went wrong with the
 * file's name and what to do; none prints. Any thread. */
#ifndef TL_APP_FILES_H
#define TL_APP_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "tightlink/base/status.h"

/* Reads a file ("-": standard input) of at most limit bytes. *ret_text is NUL-terminated and the
 * caller's. TL_USAGE: it cannot be read; TL_LIMIT: it is longer; TL_NOMEM. */
enum tl_status tl_app_read_file(const char *path, size_t limit, char **ret_text, size_t *ret_len,
                                struct tl_error *reterr) TL_WARN_UNUSED;

/* Writes a file whole or not at all, over what is there: a reader finds the whole file or the one
 * before, never a part. What is no regular file (/dev/null, a pipe) is written as it is. mode is
 * that of a new file, less the umask. False with errno. */
bool tl_app_replace_file(const char *path, const char *text, size_t len, unsigned mode);

/* A name like path where there is no file yet: "report-2.html" for "report.html". False where none
 * of a hundred is free or it does not fit. */
bool tl_app_free_name(const char *path, char *ret_name, size_t size);
/* A file is there that would be lost; a device or a pipe takes what is written. */
bool tl_app_is_taken(const char *path);
/* The name itself, or where that is taken a free one beside it: what was measured is not lost, and
 * neither is the file that is there. False where none is free or it does not fit. */
bool tl_app_untaken(const char *path, char *ret_name, size_t size);

/* Writes a new file for its owner alone (0600), on disk when this returns; what is there stays
 * (EEXIST), links are not followed. 0 or errno, and then there is no file. */
int tl_app_create_file(const char *path, const char *text, size_t len) TL_WARN_UNUSED;

#endif

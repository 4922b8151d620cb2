/* Pre-shared keys: who may use a responder in key mode, and as whom.
 *
 * A key file is text, one key a line: a name, blanks, 64 hexadecimal digits. Empty lines
 * and lines that begin with # are skipped. Both ends hold the same line; a responder's
 * file may have many. The file must be a regular one that belongs to the user (or root)
 * and that nobody else may read or write.
 *
 * Secrets stay out of core dumps: loading forbids the dumping of this process for the rest
 * of its life (PR_SET_DUMPABLE), and the memory is cleared when the keys are destroyed.
 * They are never printed; error sentences name the line, not its content. */
#ifndef TL_BASE_KEY_H
#define TL_BASE_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/status.h"

#define TL_KEY_NAME_SIZE   65 /* [A-Za-z0-9._-], 1 to 64 characters, with its NUL */
#define TL_KEY_SECRET_SIZE 32 /* bytes: as much as the hash of the TLS suites in use */
#define TL_KEYS_MAX        1000
#define TL_KEY_LINE_SIZE   (TL_KEY_NAME_SIZE + 1 + 2 * TL_KEY_SECRET_SIZE + 1) /* "NAME HEX\n", NUL \
                                                                                */

#define TL_KEYS_FILE_MAX (TL_KEYS_MAX * (TL_KEY_LINE_SIZE + 64)) /* with room for comments */

struct tl_key {
    char name[TL_KEY_NAME_SIZE];
    uint8_t secret[TL_KEY_SECRET_SIZE];
};

/* The keys of one file, in its order. Never changed after loading: any thread may read. */
struct tl_keys;

/* TL_IO, TL_UNKNOWN (no such file), TL_DENIED (others may read it, or it is not ours: the
 * sentence has the chmod), TL_SYNTAX (which line), TL_LIMIT, TL_NOMEM. At least one key. */
enum tl_status tl_keys_load(const char *path, struct tl_keys **ret_keys,
                            struct tl_error *reterr) TL_WARN_UNUSED;
/* The same of a text that was read already, up to its NUL; path is for sentences. The text is cut
 * into lines; the caller clears it. */
enum tl_status tl_keys_parse(const char *path, char *text, struct tl_keys **ret_keys,
                             struct tl_error *reterr) TL_WARN_UNUSED;
void tl_keys_destroy(struct tl_keys *keys); /* takes NULL */

size_t tl_keys_count(const struct tl_keys *keys);
/* index < tl_keys_count(). */
const struct tl_key *tl_keys_at(const struct tl_keys *keys, size_t index);
/* The key of a name of len bytes (not terminated, from outside), NULL without. */
const struct tl_key *tl_keys_find(const struct tl_keys *keys, const void *name, size_t len);

/* A new line of a key file with a secret from the kernel; the caller clears it after use.
 * TL_SYNTAX: the name. */
enum tl_status tl_key_line_make(const char *name, char ret_line[TL_KEY_LINE_SIZE],
                                struct tl_error *reterr) TL_WARN_UNUSED;

#endif

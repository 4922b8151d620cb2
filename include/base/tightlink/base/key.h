/* Pre-shared keys: who may use a responder in key mode, and as whom.
 *
 * A key file is text, one key a line: a name, blanks, 64 hexadecimal digits, and what a responder
 * holds the key to, which its client's line may have as well:
 *   from=NETWORK[,NETWORK]...   it opens from these addresses alone: 192.0.2.0/24, 2001:db8::/32
 *   class=admin                 an administrator's: it finds a place where others find none
 * Empty lines and lines that begin with # are skipped. Both ends hold the same line; a responder's
 * file may have many. The file must be a regular one that belongs to the user (or root)
 * and that nobody else may read or write.
 *
 * Secrets stay out of core dumps: loading forbids the dumping of this process for the rest
 * of its life (PR_SET_DUMPABLE), and the memory is cleared when the keys are destroyed.
 * They are never printed; error sentences name the line, not its content. */
#ifndef TL_BASE_KEY_H
#define TL_BASE_KEY_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/status.h"

#define TL_KEY_NAME_SIZE   65 /* [A-Za-z0-9._-], 1 to 64 characters, with its NUL */
#define TL_KEY_SECRET_SIZE 32 /* bytes: as much as the hash of the TLS suites in use */
#define TL_KEYS_MAX        1000
#define TL_KEY_LINE_SIZE                                                                           \
    (TL_KEY_NAME_SIZE + 1 + 2 * TL_KEY_SECRET_SIZE + 1) /* "NAME HEX\n", NUL                       \
                                                         */

#define TL_KEYS_FILE_MAX                                                                           \
    (TL_KEYS_MAX * (TL_KEY_LINE_SIZE + 256)) /* with room for comments and networks */
#define TL_KEY_NETWORKS_MAX 8

/* The first bits of an address; IPv4 as ::ffff:a.b.c.d, its bits counted from there on. */
struct tl_key_network {
    struct in6_addr address;
    uint8_t bits;
};

struct tl_key {
    char name[TL_KEY_NAME_SIZE];
    uint8_t secret[TL_KEY_SECRET_SIZE];
    bool admin;
    uint8_t network_count; /* 0: from anywhere */
    struct tl_key_network networks[TL_KEY_NETWORKS_MAX];
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

/* Whether the key opens from this address, IPv4 as ::ffff:a.b.c.d. */
bool tl_key_opens_from(const struct tl_key *key, const struct in6_addr *address);

/* A new line of a key file with a secret from the kernel; the caller clears it after use.
 * TL_SYNTAX: the name. */
enum tl_status tl_key_line_make(const char *name, char ret_line[TL_KEY_LINE_SIZE],
                                struct tl_error *reterr) TL_WARN_UNUSED;

#endif

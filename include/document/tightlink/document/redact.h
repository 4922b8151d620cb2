/* The one redactor: what may tell who and where becomes a mask before a text leaves (P14).
 *
 * Masked: addresses (IPv4, IPv6), hardware addresses, host names, names of wireless networks,
 * users and paths of files, wherever they stand, inside sentences and commands too. Kept: what
 * names nobody (loopback and unspecified addresses, "localhost"), settings of the kernel, the
 * system's own paths (/proc, /sys, /etc/sysctl.d ...) and the ids of facts.
 *
 * Two ways to find a value: by its form anywhere in a text, and by its name where a field of the
 * run has named it before (a host called "nas", a network called "attic"); see _learn.
 *
 * A mask is "host-3fa9c1": the kind, and the begin of HMAC-SHA256 (RFC 2104, FIPS 180-4) of kind
 * and value under a key of 256 random bits. The same value has the same mask within one
 * redactor, and nobody without the key can try values against a mask. A new export takes a new
 * key, so two exports cannot be joined by their masks; a later comment on the same ticket takes
 * the key of the first.
 *
 * Threads: a redactor belongs to one thread at a time. */
#ifndef TL_DOCUMENT_REDACT_H
#define TL_DOCUMENT_REDACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/buf.h"
#include "tightlink/facts/run.h"

enum tl_mask_kind {
    TL_MASK_IP4,
    TL_MASK_IP6,
    TL_MASK_MAC,
    TL_MASK_HOST, /* names of hosts, and URLs */
    TL_MASK_SSID,
    TL_MASK_USER, /* user names, and user@host */
    TL_MASK_PATH,
    TL_MASK_KIND_COUNT
};
/* "ip4", "host" ...: how masks begin. */
const char *tl_mask_kind_name(enum tl_mask_kind kind);
/* "IPv4 address", "host name" ...: for people. */
const char *tl_mask_kind_text(enum tl_mask_kind kind);

/* Whether a name has the form of a mask, "host-3fa9c1": in a run that came masked, whoever masked
 * it. A host that calls itself so is taken for one, too. */
bool tl_is_mask(const char *name);

#define TL_REDACT_KEY_SIZE 32
/* A run names a few dozen things; a text with more different ones than this is refused. */
#define TL_REDACT_VALUES_MAX 4096
/* Longest value; a longer one is masked by its begin, of this many bytes, and nothing of the
 * rest leaves. */
#define TL_REDACT_VALUE_SIZE 512

struct tl_redactor;

/* key: TL_REDACT_KEY_SIZE bytes, copied; NULL: a new one from the kernel. TL_NOMEM, TL_IO. */
enum tl_status tl_redactor_create(const uint8_t *key, struct tl_redactor **ret_redactor,
                                  struct tl_error *reterr) TL_WARN_UNUSED;
void tl_redactor_destroy(struct tl_redactor *redactor); /* takes NULL; clears the key */

/* From here on value is masked wherever it stands as a word, in any case. "" and values that
 * tell nothing, or that are words of our own sentences ("path"), are not learned. */
void tl_redactor_learn(struct tl_redactor *redactor, enum tl_mask_kind kind, const char *value);
/* All that the fields of a run name: the far end, hops, segments, directories. Copies made
 * for an export (document/export.h) do this themselves. */
void tl_redactor_learn_run(struct tl_redactor *redactor, const struct tl_run *run,
                           const struct tl_facts *facts);
/* This machine's name, the user's name and home directory. */
void tl_redactor_learn_here(struct tl_redactor *redactor);

/* Adds text with masks. May be called with any text, as often as wanted. */
void tl_redact_text(struct tl_redactor *redactor, const char *text, struct tl_buf *out);
/* The same for a field that is a name as a whole: all of it becomes one mask of that kind, or of
 * the kind of address that it is. */
void tl_redact_name(struct tl_redactor *redactor, enum tl_mask_kind kind, const char *name,
                    struct tl_buf *out);

/* TL_OK, or the first failure of the above: TL_NOMEM, TL_LIMIT (TL_REDACT_VALUES_MAX). Then
 * nothing that it made may leave. */
enum tl_status tl_redactor_status(const struct tl_redactor *redactor);

/* What was masked so far, in the order in which it was met. */
struct tl_mask {
    enum tl_mask_kind kind;
    const char *value; /* what must not leave; borrowed */
    const char *mask;  /* what left in its place; borrowed */
    size_t count;      /* how often */
};
size_t tl_redactor_count(const struct tl_redactor *redactor);
/* Counts anew, by the masks that stand in what was made of the masked texts: a report has not all
 * that its run has. The values that it has not are no longer counted or given until something is
 * masked again; tl_redactor_save() keeps them all the same. */
void tl_redactor_count_in(struct tl_redactor *redactor, const char *text, size_t len);
/* index < tl_redactor_count(). */
struct tl_mask tl_redactor_at(const struct tl_redactor *redactor, size_t index);

/* Writes key and masks with their values as JSON to a new file DIRECTORY/masks-RUN-EXPORT.json
 * that only the user may read (0600), makes the directory (0700) where it is missing, and gives
 * the path. For the user's own eyes: it never leaves. ret_path has size bytes. TL_IO, TL_DENIED,
 * TL_NOSPACE, TL_NOMEM. */
enum tl_status tl_redactor_save(const struct tl_redactor *redactor, const char *directory,
                                const char *run_id, char *ret_path, size_t size,
                                struct tl_error *reterr) TL_WARN_UNUSED;
/* The key of such a file, for a later export with the same masks. TL_IO, TL_SYNTAX ... */
enum tl_status tl_redactor_load_key(const char *path, uint8_t ret_key[TL_REDACT_KEY_SIZE],
                                    struct tl_error *reterr) TL_WARN_UNUSED;
/* The key of this site, for masks that are the same in every export from here: of
 * DIRECTORY/site.json, which is made (0600) where it is missing. Whoever has two such exports can
 * tell that they speak of the same host; nobody without the file can tell of which. Statuses of
 * the two above. */
enum tl_status tl_redactor_site_key(const char *directory, uint8_t ret_key[TL_REDACT_KEY_SIZE],
                                    struct tl_error *reterr) TL_WARN_UNUSED;
/* Where such files belong: $XDG_STATE_HOME/tightlink/masks (~/.local/state without). False
 * where there is no such place. */
bool tl_redactor_directory(char *ret_path, size_t size);

#endif

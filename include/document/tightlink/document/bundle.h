/* A run in one file, "RUN.tightlink": a tar archive (POSIX pax) compressed with zstd, which every
 * system can open without this program. In it:
 *
 *   manifest.json   format "tightlink.bundle/1", versions of tool and rules; always first
 *   findings.json   the document of findings.schema.json, with all facts
 *   samples.jsonl   the readings of the run's transfers, one JSON object a line
 *
 * Within format 1 entries and keys are only ever added: what a reader does not know it skips.
 *
 * Reading: a bundle may come from anybody. It is read in memory and nothing is written to disk;
 * names of entries choose between the three above and are no paths; links, folders, devices, two
 * entries of one name, more of them or larger ones than below are refused. */
#ifndef TL_DOCUMENT_BUNDLE_H
#define TL_DOCUMENT_BUNDLE_H

#include "tightlink/facts/samples.h"

#define TL_BUNDLE_BYTES_MAX    ((size_t)8 << 20)  /* of the file */
#define TL_BUNDLE_UNPACKED_MAX ((size_t)32 << 20) /* of all entries */
#define TL_BUNDLE_ENTRIES_MAX  32
#define TL_BUNDLE_VERSION_SIZE 80

struct tl_bundle {
    char *document; /* findings.json; NUL-terminated; owned */
    size_t document_len;
    struct tl_samples samples; /* owned; empty where there are none */
    char tool_version[TL_BUNDLE_VERSION_SIZE];
    char rules_version[TL_BUNDLE_VERSION_SIZE]; /* "" where it is not told */
};
void tl_bundle_finish(struct tl_bundle *bundle);

/* Whether bytes begin as a bundle does (zstd, RFC 8878, section 3.1.1). */
bool tl_bundle_is(const void *data, size_t len);

/* Adds the file of a bundle, the same bytes for the same content. TL_NOMEM, TL_IO. */
enum tl_status tl_bundle_write(const struct tl_bundle *bundle, struct tl_buf *out,
                               struct tl_error *reterr) TL_WARN_UNUSED;

/* *ret_bundle is untouched on failure. TL_VERSION for another format, TL_LIMIT, TL_SYNTAX,
 * TL_NOMEM. The document is not looked into (tl_document_read). */
enum tl_status tl_bundle_read(const void *data, size_t len, struct tl_bundle *ret_bundle,
                              struct tl_error *reterr) TL_WARN_UNUSED;

#endif

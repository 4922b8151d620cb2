/* Bundles: writing and reading the archive, with libarchive. */
#include "tightlink/document/bundle.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/json.h"
#include "tightlink/base/json_write.h"
#include "tightlink/document/document.h"
#include "tightlink/document/pack.h"

#define FORMAT       "tightlink.bundle/1"
#define FORMAT_BEGIN "tightlink.bundle/"

/* What this program reads of a bundle. */
enum { MANIFEST, FINDINGS, SAMPLES, PART_COUNT };
static const struct {
    const char *name;
    size_t bytes_max;
} parts[PART_COUNT] = {[MANIFEST] = {"manifest.json", 64 << 10},
                       [FINDINGS] = {"findings.json", TL_DOCUMENT_BYTES_MAX},
                       [SAMPLES] = {"samples.jsonl", (size_t)8 << 20}};

void tl_bundle_finish(struct tl_bundle *bundle)
{
    free(bundle->document);
    tl_samples_finish(&bundle->samples);
    *bundle = (struct tl_bundle){0};
}

bool tl_bundle_is(const void *data, size_t len)
{
    return tl_is_packed(data, len);
}

/* --- writing --- */

static void write_manifest(const struct tl_bundle *bundle, struct tl_buf *out)
{
    struct tl_json_writer w;
    tl_json_writer_init(&w, out, false);
    tl_json_begin_object(&w, NULL);
    tl_json_add_string(&w, "format", FORMAT);
    tl_json_add_string(&w, "tool_version", bundle->tool_version);
    if (bundle->rules_version[0])
        tl_json_add_string(&w, "rules_version", bundle->rules_version);
    tl_json_add_integer(&w, "readings_count", (int64_t)bundle->samples.count);
    tl_json_add_bool(&w, "readings_cut", bundle->samples.cut);
    tl_json_end(&w);
}

static la_ssize_t take_bytes(struct archive *archive, void *context, const void *bytes, size_t len)
{
    struct tl_buf *out = context;
    tl_buf_add(out, bytes, len);
    if (out->status == TL_OK)
        return (la_ssize_t)len;
    archive_set_error(archive, -1, "out of memory");
    return -1;
}

static bool add_entry(struct archive *archive, const char *name, const char *bytes, size_t len)
{
    struct archive_entry *entry = archive_entry_new();
    if (!entry)
        return false;
    archive_entry_set_pathname(entry, name);
    archive_entry_set_size(entry, (la_int64_t)len);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0600);
    archive_entry_set_mtime(entry, 0, 0); /* the same content gives the same bytes */
    bool done = archive_write_header(archive, entry) == ARCHIVE_OK &&
                archive_write_data(archive, bytes, len) == (la_ssize_t)len;
    archive_entry_free(entry);
    return done;
}

static bool add_entries(struct archive *archive, const struct tl_bundle *bundle,
                        const struct tl_buf *manifest, const struct tl_buf *samples)
{
    return add_entry(archive, parts[MANIFEST].name, tl_buf_text(manifest), manifest->len) &&
           add_entry(archive, parts[FINDINGS].name, bundle->document, bundle->document_len) &&
           (!samples->len ||
            add_entry(archive, parts[SAMPLES].name, tl_buf_text(samples), samples->len));
}

enum tl_status tl_bundle_write(const struct tl_bundle *bundle, struct tl_buf *out,
                               struct tl_error *reterr)
{
    struct tl_buf manifest = TL_BUF_INIT, samples = TL_BUF_INIT, tar = TL_BUF_INIT;
    struct archive *archive = archive_write_new();
    write_manifest(bundle, &manifest);
    tl_samples_write(&bundle->samples, &samples);
    bool done = archive && manifest.status == TL_OK && samples.status == TL_OK &&
                archive_write_set_format_pax_restricted(archive) == ARCHIVE_OK &&
                archive_write_set_bytes_in_last_block(archive, 1) == ARCHIVE_OK &&
                archive_write_open(archive, &tar, NULL, take_bytes, NULL) == ARCHIVE_OK &&
                add_entries(archive, bundle, &manifest, &samples) &&
                archive_write_close(archive) == ARCHIVE_OK;
    enum tl_status status;
    if (done)
        status = tl_pack(tl_buf_text(&tar), tar.len, out, reterr);
    else if (!archive || !archive_error_string(archive))
        status = tl_error_set(reterr, TL_NOMEM, "%s", tl_status_text(TL_NOMEM));
    else
        status = tl_error_set(reterr, tar.status == TL_OK ? TL_IO : tar.status,
                              "the bundle cannot be packed: %s", archive_error_string(archive));
    archive_write_free(archive);
    tl_buf_finish(&tar);
    tl_buf_finish(&manifest);
    tl_buf_finish(&samples);
    return status;
}

/* --- reading --- */

struct reader {
    struct archive *archive;
    struct tl_buf texts[PART_COUNT];
    bool has[PART_COUNT];
    size_t entries, unpacked;
};

static enum tl_status damaged(struct reader *reader, struct tl_error *reterr)
{
    const char *why = archive_error_string(reader->archive);
    return tl_error_set(reterr, TL_SYNTAX, "the archive is damaged or no bundle: %.200s",
                        why ? why : "it ends too early");
}

static int find_part(const char *name)
{
    for (int i = 0; name && i < PART_COUNT; i++)
        if (strcmp(parts[i].name, name) == 0)
            return i;
    return -1;
}

/* Takes the entry's bytes, as many as its header says and no more. */
static enum tl_status read_part(struct reader *reader, int part, size_t size,
                                struct tl_error *reterr)
{
    struct tl_buf *text = &reader->texts[part];
    char piece[16384];
    la_ssize_t n = 0;
    if (reader->has[part])
        return tl_error_set(reterr, TL_SYNTAX, "the archive has two entries of the name %s",
                            parts[part].name);
    if (size > parts[part].bytes_max)
        return tl_error_set(reterr, TL_LIMIT, "%s is larger than %zu KiB", parts[part].name,
                            parts[part].bytes_max >> 10);
    reader->has[part] = true;
    while (text->len < size && (n = archive_read_data(reader->archive, piece, sizeof piece)) > 0)
        tl_buf_add(text, piece, (size_t)n);
    if (n < 0 || text->len != size)
        return damaged(reader, reterr);
    return text->status == TL_OK
               ? TL_OK
               : tl_error_set(reterr, text->status, "%s", tl_status_text(text->status));
}

/* One entry: counted, bounded, and read where its name is one that we know. */
static enum tl_status read_entry(struct reader *reader, struct archive_entry *entry,
                                 struct tl_error *reterr)
{
    la_int64_t size = archive_entry_size(entry);
    int part = find_part(archive_entry_pathname(entry));
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry))
        return tl_error_set(reterr, TL_SYNTAX,
                            "the archive holds a link, a folder or a device: a bundle has plain "
                            "files only");
    if (++reader->entries > TL_BUNDLE_ENTRIES_MAX)
        return tl_error_set(reterr, TL_LIMIT, "the archive has more than %d entries",
                            TL_BUNDLE_ENTRIES_MAX);
    if (!archive_entry_size_is_set(entry) || size < 0 ||
        (size_t)size > TL_BUNDLE_UNPACKED_MAX - reader->unpacked)
        return tl_error_set(reterr, TL_LIMIT, "the archive unpacks to more than %zu MiB",
                            TL_BUNDLE_UNPACKED_MAX >> 20);
    reader->unpacked += (size_t)size;
    if (reader->entries == 1 && part != MANIFEST)
        return tl_error_set(reterr, TL_SYNTAX,
                            "the archive does not begin with %s: it is no bundle of tightlink",
                            parts[MANIFEST].name);
    if (part >= 0)
        return read_part(reader, part, (size_t)size, reterr);
    return archive_read_data_skip(reader->archive) == ARCHIVE_OK ? TL_OK : damaged(reader, reterr);
}

/* A version that may be absent; cut, because it is only shown. */
static enum tl_status read_version(const struct tl_json_at *root, const char *key,
                                   char ret_text[TL_BUNDLE_VERSION_SIZE], struct tl_error *reterr)
{
    struct tl_json_at at;
    const char *text;
    if (!tl_json_find(root, key, &at))
        return TL_OK;
    enum tl_status status = tl_json_string(&at, &text, reterr);
    if (status == TL_OK)
        snprintf(ret_text, TL_BUNDLE_VERSION_SIZE, "%s", text);
    return status;
}

static enum tl_status read_manifest(const struct tl_buf *text, struct tl_bundle *bundle,
                                    struct tl_error *reterr)
{
    static const struct tl_json_limits limits = {64 << 10, 1000, 8};
    struct tl_json *doc;
    const char *format;
    enum tl_status status = tl_json_parse(tl_buf_text(text), text->len, &limits, &doc, reterr);
    if (status == TL_OK) {
        struct tl_json_at root = tl_json_root(doc);
        status = tl_json_get_string(&root, "format", &format, reterr);
        if (status == TL_OK && strncmp(format, FORMAT_BEGIN, strlen(FORMAT_BEGIN)) != 0)
            status = tl_error_set(reterr, TL_SYNTAX, "this is no bundle of tightlink");
        else if (status == TL_OK && strcmp(format, FORMAT) != 0)
            status = tl_error_set(reterr, TL_VERSION,
                                  "the bundle is in another format than this tightlink reads "
                                  "(" FORMAT "): was it written by a newer one?");
        if (status == TL_OK)
            status = read_version(&root, "tool_version", bundle->tool_version, reterr);
        if (status == TL_OK)
            status = read_version(&root, "rules_version", bundle->rules_version, reterr);
        tl_json_destroy(doc);
    }
    if (status != TL_OK && status != TL_VERSION)
        tl_error_prefix(reterr, "%s", parts[MANIFEST].name);
    return status;
}

static enum tl_status read_entries(struct reader *reader, struct tl_bundle *bundle,
                                   struct tl_error *reterr)
{
    struct archive_entry *entry;
    enum tl_status status = TL_OK;
    int result = ARCHIVE_EOF;
    while (status == TL_OK &&
           (result = archive_read_next_header(reader->archive, &entry)) == ARCHIVE_OK) {
        status = read_entry(reader, entry, reterr);
        if (status == TL_OK && reader->entries == 1) /* the format decides what may follow */
            status = read_manifest(&reader->texts[MANIFEST], bundle, reterr);
    }
    if (status == TL_OK && result != ARCHIVE_EOF)
        return damaged(reader, reterr);
    if (status == TL_OK && !reader->has[FINDINGS])
        return tl_error_set(reterr, TL_SYNTAX, "the archive has no %s", parts[FINDINGS].name);
    return status;
}

static enum tl_status take_texts(struct reader *reader, struct tl_bundle *bundle,
                                 struct tl_error *reterr)
{
    const struct tl_buf *samples = &reader->texts[SAMPLES];
    enum tl_status status =
        tl_samples_read(tl_buf_text(samples), samples->len, &bundle->samples, reterr);
    if (status != TL_OK) {
        tl_error_prefix(reterr, "%s", parts[SAMPLES].name);
        return status;
    }
    bundle->document_len = reader->texts[FINDINGS].len;
    bundle->document = reader->texts[FINDINGS].len ? tl_buf_steal(&reader->texts[FINDINGS]) : NULL;
    if (!bundle->document)
        return tl_error_set(reterr, TL_SYNTAX, "%s is empty", parts[FINDINGS].name);
    return TL_OK;
}

enum tl_status tl_bundle_read(const void *data, size_t len, struct tl_bundle *ret_bundle,
                              struct tl_error *reterr)
{
    struct reader reader = {.archive = archive_read_new()};
    struct tl_bundle bundle = {0};
    enum tl_status status;
    if (!reader.archive)
        return tl_error_set(reterr, TL_NOMEM, "%s", tl_status_text(TL_NOMEM));
    if (len > TL_BUNDLE_BYTES_MAX)
        status = tl_error_set(reterr, TL_LIMIT, "larger than %zu MiB: this is no bundle",
                              TL_BUNDLE_BYTES_MAX >> 20);
    else if (!tl_bundle_is(data, len))
        status = tl_error_set(reterr, TL_SYNTAX, "this is no bundle of tightlink");
    else if (archive_read_support_filter_zstd(reader.archive) != ARCHIVE_OK ||
             archive_read_support_format_tar(reader.archive) != ARCHIVE_OK ||
             archive_read_open_memory(reader.archive, data, len) != ARCHIVE_OK)
        status = damaged(&reader, reterr);
    else
        status = read_entries(&reader, &bundle, reterr);
    if (status == TL_OK)
        status = take_texts(&reader, &bundle, reterr);
    archive_read_free(reader.archive);
    for (int i = 0; i < PART_COUNT; i++)
        tl_buf_finish(&reader.texts[i]);
    if (status == TL_OK)
        *ret_bundle = bundle;
    else
        tl_bundle_finish(&bundle);
    return status;
}

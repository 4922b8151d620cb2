/* Packing through libarchive's raw format: a single entry, nothing but the filter's bytes. */
#include "pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdbool.h>
#include <string.h>

#include "tightlink/document/document.h"

/* RFC 8878, section 3.1.1. No JSON text begins like this. */
static const unsigned char zstd_magic[] = {0x28, 0xb5, 0x2f, 0xfd};

static la_ssize_t take_bytes(struct archive *archive, void *context, const void *bytes, size_t len)
{
    struct tl_buf *out = context;
    tl_buf_add(out, bytes, len);
    if (out->status == TL_OK)
        return (la_ssize_t)len;
    archive_set_error(archive, -1, "out of memory");
    return -1;
}

static bool write_entry(struct archive *archive, const char *text, size_t len)
{
    struct archive_entry *entry = archive_entry_new();
    if (!entry)
        return false;
    archive_entry_set_filetype(entry, AE_IFREG);
    bool done = archive_write_header(archive, entry) == ARCHIVE_OK &&
                archive_write_data(archive, text, len) == (la_ssize_t)len;
    archive_entry_free(entry);
    return done;
}

enum tl_status tl_pack(const char *text, size_t len, struct tl_buf *out, struct tl_error *reterr)
{
    struct archive *archive = archive_write_new();
    bool done = archive && archive_write_add_filter_zstd(archive) == ARCHIVE_OK &&
                archive_write_set_format_raw(archive) == ARCHIVE_OK &&
                archive_write_set_bytes_in_last_block(archive, 1) == ARCHIVE_OK &&
                archive_write_open(archive, out, NULL, take_bytes, NULL) == ARCHIVE_OK &&
                write_entry(archive, text, len) && archive_write_close(archive) == ARCHIVE_OK;
    enum tl_status status = TL_OK;
    if (!done && (!archive || !archive_error_string(archive)))
        status = tl_error_set(reterr, TL_NOMEM, "%s", tl_status_text(TL_NOMEM));
    else if (!done)
        status = tl_error_set(reterr, out->status == TL_OK ? TL_IO : out->status,
                              "the document cannot be packed: %s", archive_error_string(archive));
    archive_write_free(archive);
    return status;
}

static enum tl_status read_text(struct archive *archive, struct tl_buf *text,
                                struct tl_error *reterr)
{
    char piece[16384];
    la_ssize_t n;
    while ((n = archive_read_data(archive, piece, sizeof piece)) > 0) {
        if (text->len + (size_t)n > TL_DOCUMENT_BYTES_MAX)
            return tl_error_set(reterr, TL_LIMIT, "the kept document is larger than %zu MiB",
                                TL_DOCUMENT_BYTES_MAX >> 20);
        tl_buf_add(text, piece, (size_t)n);
    }
    if (n < 0)
        return tl_error_set(reterr, TL_SYNTAX, "the kept document is damaged: %s",
                            archive_error_string(archive));
    return text->status == TL_OK
               ? TL_OK
               : tl_error_set(reterr, text->status, "%s", tl_status_text(text->status));
}

static enum tl_status unpack_frame(const void *data, size_t len, struct tl_buf *text,
                                   struct tl_error *reterr)
{
    struct archive *archive = archive_read_new();
    struct archive_entry *entry;
    enum tl_status status;
    if (!archive)
        return tl_error_set(reterr, TL_NOMEM, "%s", tl_status_text(TL_NOMEM));
    if (archive_read_support_filter_zstd(archive) == ARCHIVE_OK &&
        archive_read_support_format_raw(archive) == ARCHIVE_OK &&
        archive_read_open_memory(archive, data, len) == ARCHIVE_OK &&
        archive_read_next_header(archive, &entry) == ARCHIVE_OK)
        status = read_text(archive, text, reterr);
    else
        status = tl_error_set(reterr, TL_SYNTAX, "the kept document is damaged: %s",
                              archive_error_string(archive));
    archive_read_free(archive);
    return status;
}

enum tl_status tl_unpack(const void *data, size_t len, char **ret_text, size_t *ret_len,
                         struct tl_error *reterr)
{
    struct tl_buf text = TL_BUF_INIT;
    enum tl_status status = TL_OK;
    if (len >= sizeof zstd_magic && memcmp(data, zstd_magic, sizeof zstd_magic) == 0)
        status = unpack_frame(data, len, &text, reterr);
    else if (len)
        tl_buf_add(&text, data, len);
    size_t unpacked = text.len;
    char *owned = status == TL_OK ? tl_buf_steal(&text) : NULL;
    tl_buf_finish(&text);
    if (status == TL_OK && !owned)
        return tl_error_set(reterr, TL_NOMEM, "%s", tl_status_text(TL_NOMEM));
    if (status == TL_OK) {
        *ret_len = unpacked;
        *ret_text = owned;
    }
    return status;
}

/* Bundles come back whole, old ones open, hostile ones do not. The archives here are made with
 * libarchive, as anybody could make them. */
#include <archive.h>
#include <archive_entry.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/document/bundle.h"
#include "tightlink/document/document.h"
#include "tightlink/facts/run.h"

#define MANIFEST "{\"format\":\"tightlink.bundle/1\",\"tool_version\":\"0.1.0\"}"

/* --- making archives --- */

struct part {
    const char *name, *text;
    unsigned type;    /* 0: a plain file */
    const char *link; /* hard link to it */
    size_t zeros;     /* this many bytes of nothing instead of text */
};

static struct tl_buf made;

static la_ssize_t take(struct archive *archive, void *context, const void *bytes, size_t len)
{
    (void)archive, (void)context;
    tl_buf_add(&made, bytes, len);
    return (la_ssize_t)len;
}

static void add(struct archive *archive, const struct part *part)
{
    struct archive_entry *entry = archive_entry_new();
    size_t len = part->zeros ? part->zeros : part->text ? strlen(part->text) : 0;
    archive_entry_set_pathname(entry, part->name);
    archive_entry_set_filetype(entry, part->type ? part->type : AE_IFREG);
    archive_entry_set_perm(entry, 0600);
    archive_entry_set_size(entry, (la_int64_t)len);
    if (part->link)
        archive_entry_set_hardlink(entry, part->link);
    if (part->type == AE_IFLNK)
        archive_entry_set_symlink(entry, "/etc/passwd");
    cr_assert(archive_write_header(archive, entry) == ARCHIVE_OK);
    static const char nothing[65536];
    for (size_t done = 0; part->zeros && done < len; done += sizeof nothing)
        archive_write_data(archive, nothing,
                           len - done < sizeof nothing ? len - done : sizeof nothing);
    if (!part->zeros && len)
        archive_write_data(archive, part->text, len);
    archive_entry_free(entry);
}

static void make(const struct part *parts, size_t count)
{
    struct archive *archive = archive_write_new();
    tl_buf_finish(&made);
    made = (struct tl_buf)TL_BUF_INIT;
    archive_write_add_filter_zstd(archive);
    archive_write_set_format_pax_restricted(archive);
    archive_write_set_bytes_in_last_block(archive, 1);
    cr_assert(archive_write_open(archive, NULL, NULL, take, NULL) == ARCHIVE_OK);
    for (size_t i = 0; i < count; i++)
        add(archive, &parts[i]);
    archive_write_close(archive);
    archive_write_free(archive);
}

static enum tl_status read_made(struct tl_error *ret_error)
{
    struct tl_bundle bundle = {0};
    enum tl_status status = tl_bundle_read(made.data, made.len, &bundle, ret_error);
    cr_expect((status == TL_OK) == (bundle.document != NULL));
    cr_expect(status == TL_OK || ret_error->text[0]);
    tl_bundle_finish(&bundle);
    return status;
}

/* --- whole ones --- */

Test(bundle, a_bundle_comes_back_as_it_was_and_has_the_same_bytes_again)
{
    char document[] = "{\"format\":\"tightlink.findings/1\"}";
    struct tl_bundle bundle = {.document = document,
                               .document_len = strlen(document),
                               .tool_version = "0.1.0",
                               .rules_version = "3 rules, 00"};
    struct tl_bundle again = {0};
    struct tl_buf out = TL_BUF_INIT, second = TL_BUF_INIT;
    struct tl_error error = {0};
    tl_samples_add(&bundle.samples, &(struct tl_reading){.stage = "stream", .rate_bps = 5});
    cr_assert(tl_bundle_write(&bundle, &out, &error) == TL_OK, "%s", error.text);
    cr_expect(tl_bundle_is(out.data, out.len) && !tl_bundle_is("{\"a\"", 4) &&
              !tl_bundle_is("", 0));
    cr_assert(tl_bundle_read(out.data, out.len, &again, &error) == TL_OK, "%s", error.text);
    cr_expect_str_eq(again.document, document);
    cr_expect(again.document_len == strlen(document) && again.samples.count == 1);
    cr_expect_str_eq(again.tool_version, "0.1.0");
    cr_expect_str_eq(again.rules_version, "3 rules, 00");
    cr_assert(tl_bundle_write(&again, &second, &error) == TL_OK);
    cr_expect(second.len == out.len && memcmp(second.data, out.data, out.len) == 0);
    tl_samples_finish(&bundle.samples);
    tl_bundle_finish(&again);
    tl_buf_finish(&out);
    tl_buf_finish(&second);
}

/* --- kept files --- */

static enum tl_status read_kept(const char *name, struct tl_bundle *bundle, struct tl_error *error)
{
    char path[512], bytes[65536];
    snprintf(path, sizeof path, BUNDLE_DIRECTORY "/%s", name);
    FILE *file = fopen(path, "rb");
    cr_assert(file != NULL, "%s", path);
    size_t len = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return tl_bundle_read(bytes, len, bundle, error);
}

/* Files of earlier and of later programs within format 1: all that this one knows is read. */
Test(bundle, kept_files_of_format_1_open)
{
    static const char *const names[] = {"format-1.tightlink", "format-1-newer.tightlink"};
    for (size_t i = 0; i < 2; i++) {
        struct tl_bundle bundle = {0};
        struct tl_error error = {0};
        struct tl_run *run = calloc(1, sizeof *run);
        struct tl_facts *facts = NULL;
        cr_assert(read_kept(names[i], &bundle, &error) == TL_OK, "%s: %s", names[i], error.text);
        cr_assert(tl_document_read(bundle.document, bundle.document_len, run, &facts, &error) ==
                      TL_OK,
                  "%s: %s", names[i], error.text);
        cr_expect_str_eq(run->target_name, "srv-b.example.net");
        cr_expect(tl_facts_number(facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), 0) == 96.1e6);
        cr_expect(run->strange_facts == (int)i, "what is newer is counted");
        cr_expect(bundle.samples.count == 20 && bundle.samples.items[19].elapsed_ns == 5e9);
        tl_facts_destroy(facts);
        free(run);
        tl_bundle_finish(&bundle);
    }
}

Test(bundle, a_file_of_format_2_is_refused_with_a_sentence)
{
    struct tl_bundle bundle = {0};
    struct tl_error error = {0};
    cr_expect(read_kept("format-2.tightlink", &bundle, &error) == TL_VERSION);
    cr_expect(strstr(error.text, "was it written by a newer one?"), "%s", error.text);
}

/* --- hostile ones --- */

#define FINDINGS                                                                                   \
    {                                                                                              \
        .name = "findings.json", .text = "{}"                                                      \
    }
#define FIRST                                                                                      \
    {                                                                                              \
        .name = "manifest.json", .text = MANIFEST                                                  \
    }

Test(bundle, names_of_entries_are_no_paths)
{
    const struct part parts[] = {FIRST,
                                 {.name = "../../etc/passwd", .text = "x"},
                                 {.name = "/findings.json", .text = "no"},
                                 {.name = "a/findings.json", .text = "no"},
                                 FINDINGS};
    struct tl_bundle bundle = {0};
    make(parts, 5);
    cr_assert(tl_bundle_read(made.data, made.len, &bundle, NULL) == TL_OK);
    cr_expect_str_eq(bundle.document, "{}");
    tl_bundle_finish(&bundle);
    tl_buf_finish(&made);
}

Test(bundle, hostile_archives_are_refused_with_a_sentence)
{
    static const struct {
        const char *what;
        struct part parts[3];
        size_t count;
        enum tl_status status;
    } cases[] = {
        {"empty", {{0}}, 0, TL_SYNTAX},
        {"no findings", {FIRST}, 1, TL_SYNTAX},
        {"no manifest", {FINDINGS}, 1, TL_SYNTAX},
        {"manifest last", {FINDINGS, FIRST}, 2, TL_SYNTAX},
        {"twice", {FIRST, FINDINGS, FINDINGS}, 3, TL_SYNTAX},
        {"a link", {FIRST, {.name = "findings.json", .type = AE_IFLNK}}, 2, TL_SYNTAX},
        {"a hard link", {FIRST, {.name = "x", .link = "/etc/passwd"}, FINDINGS}, 3, TL_SYNTAX},
        {"a folder", {FIRST, {.name = "d/", .type = AE_IFDIR}, FINDINGS}, 3, TL_SYNTAX},
        {"a pipe", {FIRST, {.name = "p", .type = AE_IFIFO}, FINDINGS}, 3, TL_SYNTAX},
        {"empty findings", {FIRST, {.name = "findings.json", .text = ""}}, 2, TL_SYNTAX},
        {"bad samples", {FIRST, FINDINGS, {.name = "samples.jsonl", .text = "x"}}, 3, TL_SYNTAX},
        {"another format",
         {{.name = "manifest.json", .text = "{\"format\":\"zip/1\"}"}, FINDINGS},
         2,
         TL_SYNTAX},
        {"no format", {{.name = "manifest.json", .text = "{}"}, FINDINGS}, 2, TL_UNKNOWN},
        {"a version that is a number",
         {{.name = "manifest.json",
           .text = "{\"format\":\"tightlink.bundle/1\",\"tool_version\":1}"},
          FINDINGS},
         2,
         TL_SYNTAX},
        {"large findings", {FIRST, {.name = "findings.json", .zeros = (8 << 20) + 1}}, 2, TL_LIMIT},
        {"a bomb", {FIRST, {.name = "later.bin", .zeros = 40 << 20}, FINDINGS}, 3, TL_LIMIT},
        {"a large manifest",
         {{.name = "manifest.json", .zeros = 100 << 10}, FINDINGS},
         2,
         TL_LIMIT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tl_error error = {0};
        make(cases[i].parts, cases[i].count);
        enum tl_status status = read_made(&error);
        cr_expect(status == cases[i].status, "%s: %s, %s", cases[i].what, tl_status_name(status),
                  error.text);
    }
    tl_buf_finish(&made);
}

Test(bundle, more_entries_than_a_bundle_has_are_refused)
{
    static struct part parts[TL_BUNDLE_ENTRIES_MAX + 1] = {FIRST, FINDINGS};
    struct tl_error error = {0};
    for (size_t i = 2; i <= TL_BUNDLE_ENTRIES_MAX; i++)
        parts[i] = (struct part){.name = "later.txt", .text = "x"};
    make(parts, TL_BUNDLE_ENTRIES_MAX + 1);
    cr_expect(read_made(&error) == TL_LIMIT, "%s", error.text);
    make(parts, TL_BUNDLE_ENTRIES_MAX);
    cr_expect(read_made(&error) == TL_OK);
    tl_buf_finish(&made);
}

Test(bundle, a_bundle_that_ends_too_early_is_refused_at_every_length)
{
    const struct part parts[] = {FIRST, FINDINGS};
    struct tl_error error = {0};
    make(parts, 2);
    size_t whole = made.len;
    for (size_t len = 0; len < whole / 2; len++) {
        made.len = len;
        cr_expect(read_made(&error) != TL_OK, "%zu bytes", len);
    }
    tl_buf_finish(&made);
}

Test(bundle, what_is_too_large_or_something_else_is_refused_unread)
{
    struct tl_bundle bundle = {0};
    struct tl_error error = {0};
    cr_expect(tl_bundle_read("PK\3\4", TL_BUNDLE_BYTES_MAX + 1, &bundle, &error) == TL_LIMIT);
    cr_expect(tl_bundle_read("PK\3\4", 4, &bundle, &error) == TL_SYNTAX);
}

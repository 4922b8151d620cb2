/* Fuzz target: the reader of bundles, and with it libarchive's zstd and tar and the reader of
 * readings. What is taken can be written, and read again. */
#include <stdio.h>
#include <string.h>

#include "fuzz.h"
#include "tightlink/document/bundle.h"

unsigned long fuzz_accepted;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tl_bundle bundle = {0}, again = {0};
    struct tl_buf out = TL_BUF_INIT;
    struct tl_error error = {0};
    if (tl_bundle_read(data, size, &bundle, &error) != TL_OK) {
        MUST(error.text[0] && !bundle.document && !bundle.samples.items);
        return 0;
    }
    MUST(bundle.document && bundle.document_len);
    MUST(tl_bundle_write(&bundle, &out, &error) == TL_OK);
    MUST(tl_bundle_read(out.data, out.len, &again, &error) == TL_OK);
    MUST(again.document_len == bundle.document_len &&
         memcmp(again.document, bundle.document, bundle.document_len) == 0);
    MUST(again.samples.count == bundle.samples.count);
    tl_bundle_finish(&bundle);
    tl_bundle_finish(&again);
    tl_buf_finish(&out);
    fuzz_accepted++;
    return 0;
}

/* The corpus: small ones, and one as it is kept in tests/data/bundle. */
const unsigned fuzz_seed_count = 3;

static size_t take(uint8_t *bytes, const void *data, size_t len)
{
    MUST(len <= FUZZ_INPUT_MAX);
    memcpy(bytes, data, len);
    return len;
}

static size_t seed_of_file(uint8_t *bytes)
{
    static uint8_t kept[FUZZ_INPUT_MAX + 1];
    static size_t len;
    if (!len) {
        FILE *file = fopen(BUNDLE_FILE, "rb");
        MUST(file);
        len = fread(kept, 1, sizeof kept, file);
        fclose(file);
    }
    return take(bytes, kept, len);
}

size_t fuzz_seed(unsigned number, uint8_t *bytes)
{
    char document[] = "{\"format\":\"tightlink.findings/1\"}";
    struct tl_bundle bundle = {
        .document = document, .document_len = strlen(document), .tool_version = "0.1.0"};
    struct tl_buf out = TL_BUF_INIT;
    if (number == 2)
        return seed_of_file(bytes);
    for (unsigned i = 0; i < number; i++)
        tl_samples_add(&bundle.samples, &(struct tl_reading){.stage = "stream", .rate_bps = 9e7});
    MUST(tl_bundle_write(&bundle, &out, NULL) == TL_OK);
    size_t len = take(bytes, out.data, out.len);
    tl_samples_finish(&bundle.samples);
    tl_buf_finish(&out);
    return len;
}

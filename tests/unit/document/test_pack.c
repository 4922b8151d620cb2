/* Documents are packed, come back byte for byte, and damage is told. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/document/document.h"
#include "tightlink/document/pack.h"

static struct tl_buf make_document(void)
{
    struct tl_buf document = TL_BUF_INIT;
    for (int i = 0; i < 2000; i++)
        tl_buf_addf(&document, "{\"at_s\": %d, \"goodput_bps\": %d}\n", i, i * 7919 % 100003);
    return document;
}

static struct tl_buf packed_of(const char *text, size_t len)
{
    struct tl_buf packed = TL_BUF_INIT;
    struct tl_error error = {0};
    cr_assert(tl_pack(text, len, &packed, &error) == TL_OK, "%s", error.text);
    return packed;
}

static void expect_unpacked(const void *data, size_t len, const char *text, size_t text_len)
{
    char *got = NULL;
    size_t got_len = 0;
    struct tl_error error = {0};
    cr_assert(tl_unpack(data, len, &got, &got_len, &error) == TL_OK, "%s", error.text);
    cr_expect(got_len == text_len && memcmp(got, text, text_len) == 0 && got[text_len] == '\0');
    free(got);
}

static void expect_refused(const void *data, size_t len, enum tl_status status)
{
    char *got = NULL;
    size_t got_len = 7;
    struct tl_error error = {0};
    cr_expect(tl_unpack(data, len, &got, &got_len, &error) == status, "%s", error.text);
    cr_expect(!got && got_len == 7 && error.text[0]);
}

Test(pack, a_document_comes_back)
{
    struct tl_buf document = make_document();
    struct tl_buf packed = packed_of(document.data, document.len);
    cr_expect(packed.len < document.len / 2, "%zu of %zu bytes", packed.len, document.len);
    expect_unpacked(packed.data, packed.len, document.data, document.len);
    tl_buf_finish(&packed);
    tl_buf_finish(&document);
}

Test(pack, plain_text_stays_as_it_is)
{
    expect_unpacked("{}", 2, "{}", 2);
    expect_unpacked(NULL, 0, "", 0);
}

Test(pack, what_is_cut_or_changed_is_refused)
{
    struct tl_buf document = make_document();
    struct tl_buf packed = packed_of(document.data, document.len);
    expect_refused(packed.data, packed.len / 2, TL_SYNTAX);
    memset(packed.data + packed.len / 2, 0xff, packed.len / 4);
    expect_refused(packed.data, packed.len, TL_SYNTAX);
    tl_buf_finish(&packed);
    tl_buf_finish(&document);
}

Test(pack, what_grows_without_bound_is_refused)
{
    size_t len = TL_DOCUMENT_BYTES_MAX + 1;
    char *zeros = calloc(1, len);
    cr_assert(zeros != NULL);
    struct tl_buf packed = packed_of(zeros, len);
    cr_expect(packed.len < len / 1000);
    expect_refused(packed.data, packed.len, TL_LIMIT);
    tl_buf_finish(&packed);
    free(zeros);
}

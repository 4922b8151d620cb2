/* The table of far ends, and what users write for one. */
#include <criterion/criterion.h>
#include <string.h>

#include "tightlink/base/far.h"

Test(far, a_plain_host_leaves_the_kind_open)
{
    struct tl_target target;
    cr_assert_eq(tl_target_parse("srv-b.example", &target, NULL), TL_OK);
    cr_assert_eq(target.kind, TL_FAR_KIND_COUNT);
    cr_assert_str_eq(target.host, "srv-b.example");
    cr_assert_eq(target.port, 0);
    cr_assert_eq(tl_target_parse("2001:db8::1", &target, NULL), TL_OK);
    cr_assert_str_eq(target.host, "2001:db8::1");
}

Test(far, a_scheme_forces_the_kind)
{
    struct tl_target target;
    cr_assert_eq(tl_target_parse("tightlink://srv-b:5412", &target, NULL), TL_OK);
    cr_assert_eq(target.kind, TL_FAR_TIGHTLINK);
    cr_assert_str_eq(target.host, "srv-b");
    cr_assert_eq(target.port, 5412);
    cr_assert_eq(tl_target_parse("tightlink://[2001:db8::1]:5412/", &target, NULL), TL_OK);
    cr_assert_str_eq(target.host, "2001:db8::1");
    cr_assert_eq(target.port, 5412);
}

Test(far, a_kind_with_a_directory_needs_no_host)
{
    struct tl_target target;
    cr_assert_eq(tl_target_parse("ndt7://", &target, NULL), TL_OK);
    cr_assert_eq(target.kind, TL_FAR_NDT7);
    cr_assert_str_eq(target.host, "locate.measurementlab.net");
    cr_assert_str_eq(target.resource, "/v2/nearest/ndt/ndt7");
    cr_assert(target.nearest);
    cr_assert_eq(tl_target_parse("ndt7://srv-b", &target, NULL), TL_OK);
    cr_assert(!target.nearest);
}

Test(far, what_cannot_be_understood_is_refused_with_what_to_write)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"gopher://srv-b", "\"gopher://\" is no kind of far end; there are tightlink://"},
        {"tightlink://srv-b:0", "is no port"},
        {"tightlink://srv-b:65536", "is no port"},
        {"tightlink://srv-b:", "is no port"},
        {"tightlink://", "names no host"},
        {"tightlink://[2001:db8::1", "lacks its ]"},
        {"tightlink://[::1]x", "behind ] stands"},
        {"tightlink://user:secret@srv-b", "no password in it"},
        {"tightlink://srv-b/file", "has no path"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tl_target target = {.port = 7};
        struct tl_error error = {0};
        cr_assert_eq(tl_target_parse(rows[i].text, &target, &error), TL_USAGE, "%s", rows[i].text);
        cr_assert(strstr(error.text, rows[i].says), "%s: %s", rows[i].text, error.text);
        cr_assert_eq(target.port, 7, "%s: an output was touched", rows[i].text);
    }
}

Test(far, every_kind_is_found_by_its_scheme_and_every_ability_has_words)
{
    for (int i = 0; i < TL_FAR_KIND_COUNT; i++) {
        const struct tl_far_row *row = tl_far_row((enum tl_far_kind)i);
        cr_assert_eq((int)tl_far_kind_of_scheme(row->scheme, strlen(row->scheme)), i);
        cr_assert_neq(row->port, 0);
        cr_assert(!row->built || row->can, "%s is built and can nothing", row->id);
    }
    unsigned all = tl_far_row(TL_FAR_TIGHTLINK)->can;
    for (unsigned bit = 1; bit; bit <<= 1)
        cr_assert_eq(tl_far_lack_text(bit) != NULL, (all & bit) != 0, "%#x", bit);
}

/* What leaves: every text of a run, in every format, without what must not leave. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixtures.h"
#include "tightlink/present/formats.h"
#include "tightlink/present/report.h"

static void write_masked(const char *name, enum tl_export_format format, struct tl_buf *out)
{
    struct fixture fixture;
    struct tl_redactor *redactor = NULL;
    struct tl_export *export = NULL;
    cr_assert(fixture_make(name, &fixture));
    cr_assert(tl_redactor_create(NULL, &redactor, NULL) == TL_OK);
    cr_assert(tl_export_create(redactor, &fixture.run, fixture.facts, &fixture.findings, &export,
                               NULL) == TL_OK);
    cr_expect(tl_export_write(export, format, out) == TL_OK);
    tl_export_destroy(export);
    tl_redactor_destroy(redactor);
    fixture_finish(&fixture);
}

Test(export, the_far_end_leaves_as_a_mask_in_every_format)
{
    for (size_t i = 0; fixture_names[i]; i++) {
        for (int format = 0; format < TL_EXPORT_FORMAT_COUNT; format++) {
            struct tl_buf out = TL_BUF_INIT;
            write_masked(fixture_names[i], (enum tl_export_format)format, &out);
            cr_expect(
                !strstr(tl_buf_text(&out), "srv-b") && !strstr(tl_buf_text(&out), "203.0.113"),
                "%s as %s", fixture_names[i], tl_export_format_name((enum tl_export_format)format));
            tl_buf_finish(&out);
        }
    }
}

Test(export, what_needs_no_mask_is_said_as_it_is)
{
    struct tl_buf out = TL_BUF_INIT;
    write_masked("limited", TL_EXPORT_TEXT, &out);
    cr_expect(strstr(out.data, "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 16777216\""));
    cr_expect(
        strstr(out.data, "This PC limits the download: 96.1 Mb/s instead of about 930 Mb/s."));
    cr_expect(strstr(out.data, "/etc/sysctl.d/60-tcp-buffers.conf"));
    tl_buf_finish(&out);
    write_masked("limited", TL_EXPORT_JSON, &out);
    cr_expect(strstr(out.data, "\"masked\"") && strstr(out.data, "download.goodput_bps"));
    tl_buf_finish(&out);
}

/* Demos are called like causes: the word stays wherever it stands. */
Test(export, the_name_of_a_demo_is_no_secret)
{
    struct fixture fixture;
    struct tl_redactor *redactor = NULL;
    struct tl_export *export = NULL;
    struct tl_buf out = TL_BUF_INIT;
    cr_assert(fixture_make("limited", &fixture));
    cr_assert(tl_redactor_create(NULL, &redactor, NULL) == TL_OK);
    snprintf(fixture.run.target_kind, sizeof fixture.run.target_kind, "demo");
    snprintf(fixture.run.target_name, sizeof fixture.run.target_name, "receive-window");
    cr_assert(tl_export_create(redactor, &fixture.run, fixture.facts, &fixture.findings, &export,
                               NULL) == TL_OK);
    cr_expect(tl_export_write(export, TL_EXPORT_TEXT, &out) == TL_OK);
    cr_expect(strstr(out.data, "rules explain receive-window"), "%s", out.data);
    tl_buf_finish(&out);
    tl_export_destroy(export);
    tl_redactor_destroy(redactor);
    fixture_finish(&fixture);
}

/* Who holds a report in hand sees first which run it is, of when. */
Test(export, date_and_run_id_stand_at_the_top_of_every_report)
{
    static const enum tl_export_format formats[] = {TL_EXPORT_TEXT, TL_EXPORT_MARKDOWN,
                                                    TL_EXPORT_HTML};
    for (size_t n = 0; fixture_names[n]; n++) {
        for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
            struct tl_buf out = TL_BUF_INIT;
            write_masked(fixture_names[n], formats[i], &out);
            const char *text = tl_buf_text(&out);
            text = formats[i] == TL_EXPORT_HTML ? strstr(text, "<header") : text;
            const char *origin = strstr(text, "Run 01J9ZK5V8Q2M4N6P8R0T2W4Y6Z, 2026-11-20 20:41");
            cr_expect(origin && origin - text < 300, "%s as %s: %.600s", fixture_names[n],
                      tl_export_format_name(formats[i]), text);
            tl_buf_finish(&out);
        }
    }
}

/* Nobody can type a mask. */
Test(export, a_command_for_a_masked_host_says_what_to_put_there)
{
    static const enum tl_export_format formats[] = {TL_EXPORT_TEXT, TL_EXPORT_MARKDOWN,
                                                    TL_EXPORT_HTML};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct tl_buf out = TL_BUF_INIT;
        write_masked("inconclusive", formats[i], &out);
        const char *text = tl_buf_text(&out);
        cr_expect(strstr(text, "tightlink run SERVER "), "%s", text);
        cr_expect(strstr(text, "For SERVER write the name that is masked here as host"));
        cr_expect(!strstr(text, "tightlink run host"));
        tl_buf_finish(&out);
    }
}

Test(export, without_a_redactor_all_is_as_it_was)
{
    struct fixture fixture;
    struct tl_export *export = NULL;
    struct tl_buf direct = TL_BUF_INIT, out = TL_BUF_INIT;
    cr_assert(fixture_make("limited", &fixture));
    cr_assert(tl_export_create(NULL, &fixture.run, fixture.facts, &fixture.findings, &export,
                               NULL) == TL_OK);
    cr_assert(tl_document_write(&fixture.run, fixture.facts, &fixture.findings, true, &direct) ==
              TL_OK);
    cr_assert(tl_export_write(export, TL_EXPORT_JSON, &out) == TL_OK);
    cr_expect_str_eq(out.data, direct.data);
    tl_buf_finish(&out);
    cr_assert(tl_export_title(export, &out) == TL_OK);
    cr_expect_str_eq(out.data, "srv-b.example.net: This PC limits the download: 96.1 Mb/s instead "
                               "of about 930 Mb/s.");
    tl_buf_finish(&out);
    tl_buf_finish(&direct);
    tl_export_destroy(export);
    fixture_finish(&fixture);
}

Test(export, formats_are_found_by_their_names_only)
{
    enum tl_export_format format;
    for (int i = 0; i < TL_EXPORT_FORMAT_COUNT; i++)
        cr_expect(tl_export_format_find(tl_export_format_name((enum tl_export_format)i), &format) &&
                  (int)format == i);
    cr_expect(!tl_export_format_find("pdf", &format) && !tl_export_format_find("", &format));
}

/* What is wrong, in words that everybody has: where a cause has more than one sentence. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "fixtures.h"
#include "tightlink/present/report.h"

/* What was only watched cannot tell whether others use the line, too. */
Test(plain_causes, a_full_line_that_was_only_watched_may_be_shared)
{
    static const char *const kinds[] = {"live", "pcap"};
    for (size_t i = 0; i < 2; i++) {
        struct fixture fixture;
        struct tl_buf out = TL_BUF_INIT;
        struct tl_text_style style = {80, false, false};
        cr_assert(fixture_make("capacity", &fixture));
        snprintf(fixture.run.target_kind, sizeof fixture.run.target_kind, "%s", kinds[i]);
        cr_assert(tl_report_text(&fixture.run, fixture.facts, &fixture.findings, &style, &out) ==
                  TL_OK);
        cr_expect(strstr(tl_buf_text(&out), "or with others' beside it"), "%s", tl_buf_text(&out));
        cr_expect(!strstr(tl_buf_text(&out), "only a faster line"), "%s", kinds[i]);
        fixture_finish(&fixture);
        tl_buf_finish(&out);
    }
}

/* A managed queue far away cuts one connection before it has filled the line: several help. */
Test(plain_causes, a_full_line_of_which_one_connection_gets_a_part)
{
    struct fixture fixture;
    struct tl_buf out = TL_BUF_INIT;
    struct tl_text_style style = {80, false, false};
    cr_assert(fixture_make("capacity", &fixture));
    fixture.findings.verdict.ceiling_bps = 1.3 * fixture.findings.verdict.measured_bps;
    cr_assert(tl_report_text(&fixture.run, fixture.facts, &fixture.findings, &style, &out) ==
              TL_OK);
    cr_expect(strstr(tl_buf_text(&out), "gets only a part of it"), "%s", tl_buf_text(&out));
    cr_expect(!strstr(tl_buf_text(&out), "only a faster line"), "%s", tl_buf_text(&out));
    fixture_finish(&fixture);
    tl_buf_finish(&out);
}

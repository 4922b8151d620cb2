/* What is wrong, in words that everybody has: where a cause has more than one sentence. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixtures.h"
#include "tightlink/present/report.h"

/* The text of a full line; finishes the fixture. The caller frees it. */
static char *text_of(struct fixture *fixture)
{
    struct tl_buf out = TL_BUF_INIT;
    struct tl_text_style style = {80, false, false};
    cr_assert(tl_report_text(&fixture->run, fixture->facts, &fixture->findings, &style, &out) ==
              TL_OK);
    fixture_finish(fixture);
    return tl_buf_steal(&out);
}

/* What was only watched cannot tell whether others use the line, too. */
Test(plain_causes, a_full_line_that_was_only_watched_may_be_shared)
{
    static const char *const kinds[] = {"live", "pcap"};
    for (size_t i = 0; i < 2; i++) {
        struct fixture fixture;
        cr_assert(fixture_make("capacity", &fixture));
        snprintf(fixture.run.target_kind, sizeof fixture.run.target_kind, "%s", kinds[i]);
        char *text = text_of(&fixture);
        cr_expect(strstr(text, "or with others' beside it"), "%s", text);
        cr_expect(!strstr(text, "only a faster line"), "%s", kinds[i]);
        free(text);
    }
}

/* A managed queue far away cuts one connection before it has filled the line: several help. */
Test(plain_causes, a_full_line_of_which_one_connection_gets_a_part)
{
    struct fixture fixture;
    cr_assert(fixture_make("capacity", &fixture));
    fixture.findings.verdict.ceiling_bps = 1.3 * fixture.findings.verdict.measured_bps;
    char *text = text_of(&fixture);
    cr_expect(strstr(text, "gets only a part of it"), "%s", text);
    cr_expect(!strstr(text, "only a faster line"), "%s", text);
    free(text);
}

/* Two runs side by side: what is noise and what is not. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "documents.h"
#include "tightlink/base/json.h"
#include "tightlink/base/time.h"
#include "tightlink/store/compare.h"

#define NOON (INT64_C(1700000000) * TL_NS_PER_S)

static struct tl_comparison compare(struct made_run a, struct made_run b)
{
    struct tl_buf first = make_document(&a), second = make_document(&b);
    struct tl_comparison comparison;
    struct tl_error error = {0};
    cr_assert(tl_compare_documents(first.data, first.len, second.data, second.len, &comparison,
                                   &error) == TL_OK,
              "%s", error.text);
    tl_buf_finish(&first);
    tl_buf_finish(&second);
    return comparison;
}

static const struct tl_compare_row *row(const struct tl_comparison *comparison, const char *id)
{
    for (size_t i = 0; i < comparison->row_count; i++)
        if (strcmp(comparison->rows[i].id, id) == 0)
            return &comparison->rows[i];
    cr_assert_fail("no row %s", id);
    return NULL;
}

#define RUN(rate, width)                                                                           \
    (struct made_run)                                                                              \
    {                                                                                              \
        .started_ns = NOON, .stream_bps = rate, .half_width = width, .hit = -1                     \
    }

Test(compare, a_change_within_the_bounds_is_noise_and_one_beyond_is_not)
{
    struct tl_comparison far = compare(RUN(1e8, 0.02), RUN(9e8, 0.02));
    const struct tl_compare_row *rate = row(&far, "download.goodput_bps");
    cr_expect_float_eq(rate->change_ratio, 8, 1e-9);
    cr_expect(rate->beyond == TL_BEYOND_YES && rate->low_ratio > 7 && rate->high_ratio < 9);
    cr_expect_str_eq(rate->method, "bounds");
    struct tl_comparison near = compare(RUN(1e8, 0.05), RUN(1.05e8, 0.05));
    cr_expect(row(&near, "download.goodput_bps")->beyond == TL_BEYOND_NO);
    struct tl_comparison small = compare(RUN(1e8, 0.001), RUN(1.02e8, 0.001));
    cr_expect(row(&small, "download.goodput_bps")->beyond == TL_BEYOND_NO,
              "below what a rate is measured to");
    struct tl_comparison blind = compare(RUN(1e8, 0), RUN(9e8, 0));
    cr_expect(row(&blind, "download.goodput_bps")->beyond == TL_BEYOND_CANNOT_TELL);
}

Test(compare, a_way_by_a_proxy_is_another_target)
{
    struct made_run straight = RUN(1e8, 0.02), round = RUN(9e8, 0.02);
    round.proxy = "proxy.example.net";
    struct tl_comparison both = compare(straight, round);
    cr_expect_not(both.same_target);
    cr_expect_str_eq(both.a.target, "srv-b.example.net");
    cr_expect_str_eq(both.b.target, "srv-b.example.net by way of proxy.example.net");
    cr_expect(compare(round, round).same_target);
}

Test(compare, readings_are_resampled_where_a_document_has_them)
{
    struct tl_buf documents[2] = {TL_BUF_INIT, TL_BUF_INIT};
    struct tl_comparison comparison;
    for (int d = 0; d < 2; d++) {
        struct made_run made = RUN(d ? 1.5e8 : 1e8, 0);
        struct tl_buf plain = make_document(&made);
        tl_buf_adds(&documents[d], "{\"samples\":{\"download\":{\"rate_bps\":[");
        for (int i = 0; i < 40; i++)
            tl_buf_addf(&documents[d], "%s%d", i ? "," : "",
                        (d ? 150000000 : 100000000) + (i * 37 % 11 - 5) * 1000000);
        tl_buf_adds(&documents[d], "]}},");
        tl_buf_adds(&documents[d], plain.data + 1);
        tl_buf_finish(&plain);
    }
    cr_assert(tl_compare_documents(documents[0].data, documents[0].len, documents[1].data,
                                   documents[1].len, &comparison, NULL) == TL_OK);
    const struct tl_compare_row *rate = row(&comparison, "download.goodput_bps");
    cr_expect_str_eq(rate->method, "readings");
    cr_expect(rate->low_ratio > 0.45 && rate->low_ratio < 0.5 && rate->high_ratio > 0.5 &&
                  rate->high_ratio < 0.55,
              "%g %g", rate->low_ratio, rate->high_ratio);
    cr_expect(rate->beyond == TL_BEYOND_YES);
    tl_buf_finish(&documents[0]);
    tl_buf_finish(&documents[1]);
}

Test(compare, a_prediction_is_scored_when_its_cause_is_gone)
{
    struct made_run before = RUN(9.6e7, 0.02), after = RUN(9.0e8, 0.02), slow = RUN(5e8, 0.02);
    after.cause = slow.cause = "capacity";
    struct tl_comparison comparison = compare(before, after);
    cr_expect(comparison.verdict_moved && comparison.predicted && comparison.hit);
    cr_expect(strstr(comparison.sentence, "a hit") != NULL, "%s", comparison.sentence);
    comparison = compare(before, slow);
    cr_expect(comparison.predicted && !comparison.hit);
    comparison = compare(before, before);
    cr_expect(!comparison.verdict_moved && !comparison.predicted);
    slow.target = "elsewhere";
    comparison = compare(before, slow);
    cr_expect(!comparison.same_target && !comparison.predicted);
}

Test(compare, settings_that_differ_are_listed_and_readings_of_the_moment_are_not)
{
    struct made_run made = RUN(1e8, 0.02);
    struct tl_buf a = make_document(&made);
    struct tl_buf b = TL_BUF_INIT;
    const char *start = strstr(a.data, "\"facts\":{");
    cr_assert(start);
    static const char facts[] =
        "\"near.tcp_rmem_max_bytes\":{\"state\":\"known\",\"value\":%d,\"unit\":\"bytes\","
        "\"stage\":"
        "\"hosts\"},\"far.cc_current\":{\"state\":\"known\",\"value\":\"%s\",\"unit\":\"text\","
        "\"stage\":\"hosts\"},\"near.load_1min_ratio\":{\"state\":\"known\",\"value\":0.%d,"
        "\"unit\":\"ratio\",\"stage\":\"hosts\"}}}";
    struct tl_buf first = TL_BUF_INIT;
    tl_buf_add(&first, a.data, (size_t)(start - a.data) + 9);
    tl_buf_add(&b, a.data, (size_t)(start - a.data) + 9);
    tl_buf_addf(&first, facts, 524288, "cubic", 1);
    tl_buf_addf(&b, facts, 16777216, "bbr", 2);
    struct tl_comparison comparison;
    struct tl_error error = {0};
    cr_assert(tl_compare_documents(first.data, first.len, b.data, b.len, &comparison, &error) ==
                  TL_OK,
              "%s", error.text);
    cr_assert(comparison.setting_count == 2 && comparison.setting_total == 2);
    cr_expect_str_eq(comparison.settings[0].id, "near.tcp_rmem_max_bytes");
    cr_expect(comparison.settings[0].a == 524288 && comparison.settings[0].b == 16777216);
    cr_expect_str_eq(comparison.settings[1].b_text, "bbr");
    struct tl_buf text = TL_BUF_INIT;
    tl_compare_text(&comparison, 80, &text);
    cr_expect(strstr(tl_buf_text(&text), "512 KiB -> 16 MiB") != NULL, "%s", tl_buf_text(&text));
    text.len = 0;
    comparison.settings[0].b = 524289;
    tl_compare_text(&comparison, 80, &text);
    cr_expect(strstr(tl_buf_text(&text), "524288 -> 524289") != NULL, "%s", tl_buf_text(&text));
    tl_buf_finish(&text);
    tl_buf_finish(&first);
    tl_buf_finish(&a);
    tl_buf_finish(&b);
}

/* 96.13 known to 2 % is 96, in the table, the heads and the sentence; as the verdict says it. */
Test(compare, no_number_is_more_exact_than_it_is_known)
{
    struct tl_comparison comparison = compare(RUN(9.613e7, 0.02), RUN(9.123e8, 0.02));
    struct tl_buf text = TL_BUF_INIT;
    tl_compare_text(&comparison, 80, &text);
    const char *said = tl_buf_text(&text);
    cr_expect(!strstr(said, "96.1") && !strstr(said, "912"), "%s", said);
    cr_expect(strstr(said, "from 96 Mb/s to 910 Mb/s (+850 %), beyond noise"), "%s", said);
    cr_expect(strstr(said, "      96 Mb/s    910 Mb/s   +850 %"), "%s", said);
    cr_expect(strstr(said, "+820 to +880 %"), "%s", said);
    tl_buf_finish(&text);
}

Test(compare, what_stayed_the_same_is_said_so)
{
    struct tl_comparison comparison = compare(RUN(7.21e7, 0.05), RUN(7.19e7, 0.05));
    struct tl_buf text = TL_BUF_INIT;
    tl_compare_text(&comparison, 80, &text);
    cr_expect(strstr(tl_buf_text(&text), "One stream got 72 Mb/s in both; the verdict is still"),
              "%s", tl_buf_text(&text));
    cr_expect(!strstr(tl_buf_text(&text), "-0 %"), "%s", tl_buf_text(&text));
    tl_buf_finish(&text);
}

/* A size has no bounds that noise could hide a change in. */
Test(compare, what_is_equal_did_not_change_whether_or_not_its_bounds_are_known)
{
    struct tl_comparison same = compare(RUN(7e7, 0), RUN(7e7, 0));
    struct tl_comparison other = compare(RUN(7e7, 0), RUN(8e7, 0));
    cr_expect(row(&same, "download.goodput_bps")->beyond == TL_BEYOND_NO);
    cr_expect(row(&other, "download.goodput_bps")->beyond == TL_BEYOND_CANNOT_TELL);
}

/* In the time of the place, as the list of runs has it. */
Test(compare, dates_are_of_this_place)
{
    setenv("TZ", "XXX-2", 1);
    tzset();
    struct tl_comparison comparison = compare(RUN(1e8, 0), RUN(1e8, 0));
    struct tl_buf text = TL_BUF_INIT;
    tl_compare_text(&comparison, 80, &text); /* 22:13 UTC */
    cr_expect(strstr(tl_buf_text(&text), "2023-11-15 00:13"), "%s", tl_buf_text(&text));
    tl_buf_finish(&text);
}

Test(compare, what_is_no_run_is_named)
{
    struct made_run made = RUN(1e8, 0);
    struct tl_buf good = make_document(&made);
    struct tl_comparison comparison;
    struct tl_error error = {0};
    cr_expect(tl_compare_documents(good.data, good.len, "{}", 2, &comparison, &error) != TL_OK);
    cr_expect(strncmp(error.text, "the second run", 14) == 0, "%s", error.text);
    tl_buf_finish(&good);
}

Test(compare, lines_fit_80_columns_and_json_parses)
{
    struct tl_comparison comparison = compare(RUN(1e8, 0.02), RUN(9e8, 0.02));
    struct tl_buf out = TL_BUF_INIT;
    tl_compare_text(&comparison, 80, &out);
    size_t column = 0;
    const char *last = strrchr(tl_buf_text(&out), '\n');
    for (const char *c = tl_buf_text(&out); c < last; c++) {
        column = *c == '\n' ? 0 : column + 1;
        if (column > 80 && strstr(c, "\n\n")) /* the sentence at the end is not wrapped here */
            cr_assert_fail("too wide: %.60s", c - 60);
    }
    tl_buf_finish(&out);
    struct tl_json_writer writer;
    struct tl_json *doc = NULL;
    static const struct tl_json_limits limits = {1 << 20, 10000, 16};
    tl_json_writer_init(&writer, &out, true);
    tl_compare_json(&comparison, &writer);
    cr_assert(out.status == TL_OK &&
              tl_json_parse(out.data, out.len, &limits, &doc, NULL) == TL_OK);
    tl_json_destroy(doc);
    tl_buf_finish(&out);
}

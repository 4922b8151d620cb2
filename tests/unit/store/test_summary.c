/* Times of documents, and documents that are cut or wrong. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "documents.h"
#include "summary.h"
#include "tightlink/store/history.h"

Test(summary, times_are_read_as_rfc_3339_says)
{
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {{"1970-01-01T00:00:00Z", 0},
                {"2023-11-14T22:13:20.000Z", INT64_C(1700000000000000000)},
                {"2023-11-14T22:13:20.25Z", INT64_C(1700000000250000000)},
                {"2023-11-15T00:13:20+02:00", INT64_C(1700000000000000000)},
                {"2023-11-14T16:43:20-05:30", INT64_C(1700000000000000000)}};
    static const char *const bad[] = {"",
                                      "2023",
                                      "2023-11-14",
                                      "2023-11-14T22:13:20",
                                      "2023-13-14T22:13:20Z",
                                      "2023-11-14T25:13:20Z",
                                      "2023-11-14T22:13:20Zx",
                                      "2023-11-14T22:13:20+99:00"};
    int64_t ns;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        cr_expect(tl_history_time(good[i].text, &ns) == TL_OK && ns == good[i].ns, "%s: %lld",
                  good[i].text, (long long)ns);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect(tl_history_time(bad[i], &ns) == TL_SYNTAX, "%s", bad[i]);
}

Test(summary, every_cut_document_is_refused)
{
    struct tl_buf document =
        make_document(&(struct made_run){.started_ns = INT64_C(1700000000000000000), .hit = 1});
    size_t whole = document.len - 1; /* without its newline it is whole still */
    for (size_t len = 0; len < whole; len += 1 + whole / 400) {
        struct tl_json *doc = NULL;
        struct tl_summary summary;
        enum tl_status status = tl_summary_parse(document.data, len, &doc, NULL);
        if (status == TL_OK)
            status = tl_summary_read(doc, &summary, NULL);
        cr_expect(status != TL_OK, "%zu", len);
        tl_json_destroy(doc);
    }
    tl_buf_finish(&document);
}

static double predicted_of(const char *text, size_t len)
{
    struct tl_json *doc = NULL;
    struct tl_summary summary;
    cr_assert(tl_summary_parse(text, len, &doc, NULL) == TL_OK);
    cr_assert(tl_summary_read(doc, &summary, NULL) == TL_OK);
    tl_json_destroy(doc);
    return summary.fixed_bps;
}

/* What the verdict promises the history may score, and nothing else. */
Test(summary, a_rate_that_is_not_promised_is_no_prediction)
{
    struct tl_buf document =
        make_document(&(struct made_run){.started_ns = INT64_C(1700000000000000000), .hit = -1});
    cr_expect(predicted_of(document.data, document.len) == 930e6);
    char *at = strstr(document.data, "\"fixed_promised\":");
    cr_assert(at);
    at = strstr(at, "true");
    memmove(at + 5, at + 4, strlen(at + 4) - 1); /* the line break at the end goes */
    memcpy(at, "false", 5);
    cr_expect(isnan(predicted_of(document.data, document.len)));
    tl_buf_finish(&document);
}

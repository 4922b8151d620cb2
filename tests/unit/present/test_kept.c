/* What a row of the history says of its run. */
#include <criterion/criterion.h>
#include <math.h>

#include "tightlink/present/report.h"

static const struct tl_report_kept window = {.cause = "receive-window",
                                             .segment = "near-host",
                                             .sentence = "its TCP receive buffer lets only 512 KiB",
                                             .target = "srv-b",
                                             .proxy = "",
                                             .kind = "tightlink",
                                             .direction = TL_DOWNLOAD,
                                             .confidence = 0.93,
                                             .measured_bps = 96.13e6,
                                             .doubt_bps = 0.3e6,
                                             .fixed_bps = 930e6};

static void expect_says(const struct tl_report_kept *kept, const char *expected)
{
    struct tl_buf out = TL_BUF_INIT;
    tl_report_kept(kept, &out);
    cr_expect_str_eq(tl_buf_text(&out), expected);
    tl_buf_finish(&out);
}

Test(kept, it_begins_as_the_report_does_in_plain_words)
{
    struct tl_report_kept kept = window;
    expect_says(&kept, "This PC limits the download: 96.1 Mb/s instead of about 930 Mb/s. This PC "
                       "accepts too little data at once for such a distance.");
    kept.segment = "far-host";
    kept.direction = TL_UPLOAD;
    kept.confidence = 0.6;
    kept.fixed_bps = (double)NAN; /* not known, or a least */
    expect_says(&kept, "srv-b probably limits the upload to 96.1 Mb/s. srv-b accepts too little "
                       "data at once for such a distance.");
}

Test(kept, the_proxy_that_was_measured_is_named)
{
    struct tl_report_kept kept = window;
    kept.segment = "far-host";
    kept.proxy = "proxy.example.net";
    kept.fixed_bps = (double)NAN;
    expect_says(&kept, "The proxy proxy.example.net limits the download to 96.1 Mb/s. The proxy "
                       "proxy.example.net accepts too little data at once for such a distance.");
}

Test(kept, without_a_cause_or_a_rate_it_says_what_was_kept)
{
    struct tl_report_kept kept = window;
    kept.cause = kept.segment = "";
    kept.sentence = "The goal is met.";
    expect_says(&kept, "The goal is met.");
    kept.cause = "receive-window";
    kept.segment = "near-host";
    kept.measured_bps = kept.fixed_bps = (double)NAN;
    expect_says(&kept,
                "The goal is met. This PC accepts too little data at once for such a distance.");
}

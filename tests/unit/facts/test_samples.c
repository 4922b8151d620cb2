/* Readings in a file come back as they were; hostile ones do not come in. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tightlink/facts/samples.h"

static const struct tl_reading reading = {.stage = "stream",
                                          .has_direction = true,
                                          .direction = TL_UPLOAD,
                                          .elapsed_ns = 1.5e9,
                                          .rate_bps = 96.1e6,
                                          .rtt_ns = NAN,
                                          .bytes = 18e6};

Test(samples, readings_come_back_as_they_were)
{
    struct tl_samples samples = {0}, again = {0};
    struct tl_buf out = TL_BUF_INIT, second = TL_BUF_INIT;
    struct tl_error error = {0};
    tl_samples_add(&samples, &reading);
    tl_samples_add(&samples, &(struct tl_reading){.stage = "hosts"});
    tl_samples_write(&samples, &out);
    cr_assert(tl_samples_read(out.data, out.len, &again, &error) == TL_OK, "%s", error.text);
    cr_expect(again.count == 2 && again.items[0].rate_bps == 96.1e6 &&
              isnan(again.items[0].rtt_ns));
    cr_expect(again.items[0].direction == TL_UPLOAD && !again.items[1].has_direction);
    tl_samples_write(&again, &second);
    cr_expect_str_eq(second.data, out.data);
    tl_samples_finish(&samples);
    tl_samples_finish(&again);
    tl_buf_finish(&out);
    tl_buf_finish(&second);
}

Test(samples, what_a_stream_waits_for_is_named_from_half_of_its_time)
{
    double ratio = -1;
    struct tl_reading full = {.app_ratio = NAN, .sndbuf_ratio = 0.1, .rwnd_ratio = 0.5};
    cr_expect_str_eq(tl_reading_waits_for(&full, &ratio), "the receive window is full");
    cr_expect_eq(ratio, 0.5);
    full.rwnd_ratio = 0.49;
    cr_expect_null(tl_reading_waits_for(&full, &ratio));
    full.sndbuf_ratio = 0.9;
    cr_expect_str_eq(tl_reading_waits_for(&full, &ratio), "the send buffer is full");
    full.app_ratio = 0.8;
    cr_expect_str_eq(tl_reading_waits_for(&full, &ratio),
                     "the sending program has nothing to send");
    cr_expect_eq(ratio, 0.8);
}

Test(samples, more_than_a_run_has_are_cut_and_said_so)
{
    struct tl_samples samples = {0};
    for (int i = 0; i <= TL_SAMPLES_MAX; i++)
        tl_samples_add(&samples, &reading);
    cr_expect(samples.count == TL_SAMPLES_MAX && samples.cut);
    tl_samples_finish(&samples);
}

Test(samples, hostile_lines_are_refused_with_their_number)
{
    static const struct {
        const char *text;
        enum tl_status status;
    } cases[] = {{"{\"stage\":\"stream\"}\nnonsense\n", TL_SYNTAX},
                 {"{\"stage\":5}\n", TL_SYNTAX},
                 {"{}\n", TL_UNKNOWN},
                 {"{\"stage\":\"a stage with a name that is far too long\"}", TL_LIMIT},
                 {"{\"stage\":\"x\",\"direction\":\"sideways\"}", TL_UNKNOWN},
                 {"{\"stage\":\"x\",\"rate_bps\":-1}", TL_RANGE},
                 {"{\"stage\":\"x\",\"rate_bps\":\"fast\"}", TL_SYNTAX}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tl_samples samples = {0};
        struct tl_error error = {0};
        cr_expect(tl_samples_read(cases[i].text, strlen(cases[i].text), &samples, &error) ==
                      cases[i].status,
                  "%s: %s", cases[i].text, error.text);
        cr_expect(strncmp(error.text, "line ", 5) == 0 && !samples.items);
    }
}

Test(samples, keys_of_newer_versions_are_skipped_and_no_line_is_no_reading)
{
    struct tl_samples samples = {0};
    static const char text[] = "\n{\"stage\":\"x\",\"later\":{\"a\":1}}\n\n";
    cr_expect(tl_samples_read(text, sizeof text - 1, &samples, NULL) == TL_OK);
    cr_expect(samples.count == 1 && isnan(samples.items[0].rate_bps));
    tl_samples_finish(&samples);
}

/* A kept run has its readings, whoever wrote them. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixtures.h"
#include "tightlink/document/kept.h"

static void add(struct tl_samples *samples, const char *stage, int count)
{
    for (int i = 0; i < count; i++) {
        struct tl_reading reading = {.has_direction = true,
                                     .elapsed_ns = 1e8 * i,
                                     .rate_bps = i == 1 ? (double)NAN : 1e6 * i,
                                     .rtt_ns = 42e6,
                                     .bytes = 12500.0 * i,
                                     .retrans_count = i / 2,
                                     .cwnd_bytes = 14600,
                                     .snd_wnd_bytes = 65536,
                                     .rwnd_ratio = 0.91};
        snprintf(reading.stage, sizeof reading.stage, "%s", stage);
        tl_samples_add(samples, &reading);
    }
}

static struct tl_buf keep(const struct tl_samples *samples, bool pretty)
{
    struct fixture fixture;
    struct tl_buf out = TL_BUF_INIT;
    cr_assert(fixture_make("limited", &fixture));
    cr_assert(tl_kept_write(&fixture.run, fixture.facts, &fixture.findings, samples, pretty,
                            &out) == TL_OK);
    fixture_finish(&fixture);
    return out;
}

Test(kept, readings_come_back_with_the_run)
{
    for (int pretty = 0; pretty < 2; pretty++) {
        struct tl_samples samples = {0}, again;
        struct tl_run *run = calloc(1, sizeof *run);
        struct tl_facts *facts;
        struct tl_error error = {0};
        add(&samples, "stream", 60);
        add(&samples, "streams", 3);
        struct tl_buf out = keep(&samples, pretty);
        cr_assert(run && tl_document_read(out.data, out.len, run, &facts, &error) == TL_OK, "%s",
                  error.text);
        tl_kept_read_samples(out.data, out.len, &again);
        cr_assert(again.count == 63, "%zu", again.count);
        cr_expect_str_eq(again.items[60].stage, "streams");
        cr_expect(again.items[59].elapsed_ns == 59e8 && again.items[59].rate_bps == 59e6);
        cr_expect(isnan(again.items[1].rate_bps) && isnan(again.items[58].rwnd_ratio));
        cr_expect(again.items[59].rwnd_ratio == 0.91 && again.items[59].cwnd_bytes == 14600);
        tl_samples_finish(&samples);
        tl_samples_finish(&again);
        tl_facts_destroy(facts);
        free(run);
        tl_buf_finish(&out);
    }
}

Test(kept, of_a_long_transfer_begin_and_end_stay)
{
    struct tl_samples samples = {0}, again;
    add(&samples, "stream", 9001);
    struct tl_buf out = keep(&samples, false);
    tl_kept_read_samples(out.data, out.len, &again);
    cr_expect(again.count <= TL_KEPT_READINGS_MAX && again.count > TL_KEPT_READINGS_MAX / 2);
    cr_expect(again.items[0].elapsed_ns < 64e8 &&
              again.items[again.count - 1].elapsed_ns == 9000e8);
    cr_expect(out.len < 400000, "%zu", out.len);
    tl_samples_finish(&samples);
    tl_samples_finish(&again);
    tl_buf_finish(&out);
}

Test(kept, without_readings_it_is_the_document_alone)
{
    struct tl_samples none = {0}, again;
    struct tl_buf out = keep(&none, false);
    cr_expect(strstr(tl_buf_text(&out), "\"samples\":{") == NULL);
    tl_kept_read_samples(out.data, out.len, &again);
    cr_expect(again.count == 0);
    tl_buf_finish(&out);
}

Test(kept, what_is_wrong_in_readings_is_left_out)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{\"samples\":3}",
        "{\"samples\":{\"readings\":{\"a\":1}}}",
        "{\"samples\":{\"readings\":[1,[],{}]}}",
        "{\"samples\":{\"readings\":[{\"stage\":\"a-name-that-is-longer-than-any-stage\","
        "\"elapsed_ns\":[1],\"rate_bps\":[1],\"rtt_ns\":[1],\"retrans_count\":[1]}]}}",
        "{\"samples\":{\"readings\":[{\"stage\":\"stream\",\"direction\":\"sideways\","
        "\"elapsed_ns\":[1],\"rate_bps\":[1],\"rtt_ns\":[1],\"retrans_count\":[1]}]}}",
        "{\"samples\":{\"readings\":[{\"stage\":\"stream\",\"elapsed_ns\":[1],\"rate_bps\":[1,2],"
        "\"rtt_ns\":[1],\"retrans_count\":[1]}]}}",
        "{\"samples\":{\"readings\":[{\"stage\":\"stream\",\"elapsed_ns\":[\"x\"],"
        "\"rate_bps\":[1],\"rtt_ns\":[1],\"retrans_count\":[1]}]}}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct tl_samples samples;
        tl_kept_read_samples(texts[i], strlen(texts[i]), &samples);
        cr_expect(samples.count == 0, "%s", texts[i]);
        tl_samples_finish(&samples);
    }
}

/* pScheduler's JSON: what is asked, and what an answer is taken for. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pscheduler_text.h"

#define RUN(state, result)                                                                         \
    "{\"state\":\"" state "\",\"href\":\"https://x/tasks/t/runs/"                                  \
    "0b5e8a1e-0000-4000-8000-1234567890ab\",\"result-merged\":" result "}"

static enum tl_status read_run(const char *text, enum tl_psched_test test, struct psched_run *run,
                               struct tl_error *error)
{
    struct tl_buf body = TL_BUF_INIT;
    tl_buf_adds(&body, text);
    enum tl_status status = psched_read_run(&body, test, run, error);
    tl_buf_finish(&body);
    return status;
}

Test(pscheduler_text, durations_are_iso_8601)
{
    static const struct {
        const char *text;
        double ns;
    } rows[] = {{"PT0.0201S", 20.1e6}, {"PT1M2.5S", 62.5e9}, {"P1DT1H", 90000e9}, {"PT0S", 0}};
    static const char *const bad[] = {"",     "P",   "20",    "PT",       "PTS",   "PT1",
                                      "PT1X", "P1S", "PT-1S", "PT1.2.3S", "PT1S ", "P1M"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_assert_float_eq(psched_duration_ns(rows[i].text), rows[i].ns, 1, "%s", rows[i].text);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert(isnan(psched_duration_ns(bad[i])), "%s", bad[i]);
}

Test(pscheduler_text, a_task_is_one_line_with_schedule_and_key)
{
    struct tl_buf out = TL_BUF_INIT;
    const struct tl_psched_spec spec = {.test = TL_PSCHED_THROUGHPUT,
                                        .source = "a",
                                        .dest = "b",
                                        .seconds = 10,
                                        .streams = 1,
                                        .wait_ns = INT64_C(300000000000)};
    psched_write_task(&spec, "00ff", &out);
    cr_assert_str_eq(
        tl_buf_text(&out),
        "{\"schema\":1,\"test\":{\"type\":\"throughput\",\"spec\":{\"schema\":2,"
        "\"source\":\"a\",\"dest\":\"b\",\"duration\":\"PT10S\"}},"
        "\"tools\":[\"iperf3\"],\"schedule\":{\"slip\":\"PT300S\"},\"_key\":\"00ff\"}\n");
    tl_buf_finish(&out);
}

Test(pscheduler_text, a_run_waits_until_its_parts_are_joined)
{
    struct psched_run run;
    struct tl_error error;
    static const char *const waiting[] = {RUN("pending", "null"), RUN("on-deck", "null"),
                                          RUN("cleanup", "null"), RUN("overdue", "null"),
                                          RUN("finished", "null")};
    for (size_t i = 0; i < sizeof waiting / sizeof *waiting; i++) {
        cr_assert_eq(read_run(waiting[i], TL_PSCHED_MTU, &run, &error), TL_OK, "%s", waiting[i]);
        cr_assert_eq(run.state, PSCHED_WAITS, "%s", waiting[i]);
        cr_assert_str_eq(run.id, "0b5e8a1e-0000-4000-8000-1234567890ab");
    }
    cr_assert_eq(read_run(RUN("finished", "{\"mtu\":9000}"), TL_PSCHED_MTU, &run, &error), TL_OK);
    cr_assert_eq(run.state, PSCHED_FINISHED);
    cr_assert_float_eq(run.result.mtu_bytes, 9000, 0);
}

Test(pscheduler_text, what_cannot_be_is_no_result)
{
    static const char *const bad[] = {"{\"mtu\":-1}",
                                      "{\"mtu\":1e9}",
                                      "{\"mtu\":\"9000\"}",
                                      "{}",
                                      "[]",
                                      "7",
                                      "{\"succeeded\":1,\"mtu\":1500}"};
    struct psched_run run;
    struct tl_error error;
    char text[400];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, RUN("finished", "%s"), bad[i]);
        cr_assert_eq(read_run(text, TL_PSCHED_MTU, &run, &error), TL_INVALID, "%s", bad[i]);
        cr_assert_eq(error.status, TL_INVALID);
    }
}

Test(pscheduler_text, a_result_that_says_it_failed_is_an_end)
{
    struct psched_run run;
    struct tl_error error;
    cr_assert_eq(read_run(RUN("finished", "{\"succeeded\":false}"), TL_PSCHED_RTT, &run, &error),
                 TL_OK);
    cr_assert_eq(run.state, PSCHED_OVER);
    cr_assert_eq(run.status, TL_INVALID);
}

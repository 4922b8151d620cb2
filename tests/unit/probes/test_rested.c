/* How long to rest before one stream more, where the rate of the first had fallen. */
#include <criterion/criterion.h>
#include <math.h>

#include "rested.h"

#define MS 1000000

/* NAN: not known. */
struct seen {
    double before_bps, after_bps, bucket_bytes, several_bps;
};

static void set(struct tl_facts *facts, struct tl_fact_key key, double value)
{
    if (isnan(value))
        tl_facts_set_unknown(facts, key, "not measured");
    else
        tl_facts_set_number(facts, key, value, "");
}

static int64_t rest_ms(const struct seen *seen, int64_t duration_ms)
{
    struct tl_facts *facts = tl_facts_create();
    set(facts, TL_FLOW(TL_UPLOAD, rate_change_before_bps), seen->before_bps);
    set(facts, TL_FLOW(TL_UPLOAD, rate_change_after_bps), seen->after_bps);
    set(facts, TL_FLOW(TL_UPLOAD, rate_change_bytes), seen->bucket_bytes);
    set(facts, TL_FLOW(TL_UPLOAD, streams_goodput_bps), seen->several_bps);
    int64_t rest_ns = tl_rested_plan(facts, TL_UPLOAD, duration_ms * MS);
    cr_expect_eq(tl_rested_plan(facts, TL_DOWNLOAD, duration_ms * MS), 0, "nothing is known of it");
    tl_facts_destroy(facts);
    return rest_ns / MS;
}

Test(rested, what_gathers_meanwhile_lasts_for_a_third_of_the_stream)
{
    struct seen seen = {150e6, 100e6, 40e6, 100e6};
    /* 12.5 MB in a second, 50 Mb/s above the rate: for the first of the three seconds. */
    cr_expect_eq(rest_ms(&seen, 3000), 500);
    seen.before_bps = 200e6;
    cr_expect_eq(rest_ms(&seen, 3000), 1000);
}

Test(rested, the_bucket_does_not_fill_meanwhile)
{
    struct seen seen = {400e6, 100e6, 10e6, 100e6}; /* full behind 0.8 s */
    cr_expect_eq(rest_ms(&seen, 3000), 560);
}

Test(rested, a_rest_is_neither_a_moment_nor_a_wait)
{
    struct seen small = {130e6, 100e6, 1e6, 100e6}, large = {900e6, 50e6, 900e6, 50e6};
    cr_expect_eq(rest_ms(&small, 3000), 200);
    cr_expect_eq(rest_ms(&large, 3000), 2000);
}

Test(rested, nothing_is_asked_where_the_rate_did_not_fall)
{
    struct seen hardly = {129e6, 100e6, 40e6, 100e6}, unknown = {NAN, NAN, NAN, 100e6},
                no_bucket = {150e6, 100e6, NAN, 100e6};
    cr_expect_eq(rest_ms(&hardly, 3000), 0);
    cr_expect_eq(rest_ms(&unknown, 3000), 0);
    cr_expect_eq(rest_ms(&no_bucket, 3000), 0);
}

Test(rested, nor_where_several_streams_got_another_rate)
{
    struct seen more = {150e6, 100e6, 40e6, 121e6}, less = {150e6, 100e6, 40e6, 74e6},
                alike = {150e6, 100e6, 40e6, 119e6}, unknown = {150e6, 100e6, 40e6, NAN};
    cr_expect_eq(rest_ms(&more, 3000), 0);
    cr_expect_eq(rest_ms(&less, 3000), 0);
    cr_expect_eq(rest_ms(&alike, 3000), 500);
    cr_expect_eq(rest_ms(&unknown, 3000), 500, "they may have been cut short");
}

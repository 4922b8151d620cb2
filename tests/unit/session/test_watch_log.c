/* A long watch in bounded memory: thinning, percentiles, the graph, outages. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "watch_log.h"

#define MS INT64_C(1000000)
#define S  (1000 * MS)

static struct tl_watch_log log_;
static struct tl_watch_record record;
static char path[64];

static void setup(void)
{
    snprintf(path, sizeof path, "/tmp/tl-watch-%d.samples", (int)getpid());
    unlink(path);
    cr_assert(tl_watch_log_init(&log_, path, 5 * S, 0, 1500 * MS, &record, NULL) == TL_OK);
}

static void teardown(void)
{
    tl_watch_log_finish(&log_, 0);
    unlink(path);
}

TestSuite(watch_log, .init = setup, .fini = teardown);

static void seconds(int count, double first_bps, double step_bps)
{
    for (int i = 0; i < count; i++) {
        struct tl_watch_sample sample = {.offset_ns = i * S,
                                         .rate_bps = first_bps + i * step_bps,
                                         .rtt_ns = 20e6,
                                         .retrans_count = 1};
        tl_watch_log_add(&log_, &sample);
    }
}

Test(watch_log, a_full_file_is_thinned_and_keeps_its_sum)
{
    struct tl_watch_header header;
    struct tl_watch_sample sample;
    struct stat status;
    log_.records_max = 8;
    seconds(20, 0, 1e6);
    tl_watch_log_finish(&log_, 20 * S);
    int fd = open(path, O_RDONLY);
    cr_assert(fd >= 0 && read(fd, &header, sizeof header) == sizeof header);
    cr_expect(memcmp(header.magic, "TLWATCH1", 8) == 0);
    cr_expect_eq(header.step_ns, 4 * S);
    cr_expect(header.records < 8 && header.records == 5);
    double sum = 0;
    for (uint64_t i = 0; i < header.records; i++) {
        cr_assert(read(fd, &sample, sizeof sample) == sizeof sample);
        cr_expect_eq(sample.offset_ns, (int64_t)i * 4 * S);
        cr_expect_eq(sample.retrans_count, 4);
        sum += sample.rate_bps;
    }
    cr_expect_float_eq(sum / 5, 9.5e6, 1);
    cr_expect(fstat(fd, &status) == 0 && status.st_size == 64 + 5 * 32);
    close(fd);
}

Test(watch_log, percentiles_are_within_a_bin)
{
    seconds(1000, 1e6, 1e5); /* 1 to 101 Mb/s, evenly */
    tl_watch_log_finish(&log_, 1000 * S);
    cr_expect_float_eq(record.p50_bps, 51e6, 0.04 * 51e6);
    cr_expect_float_eq(record.p5_bps, 6e6, 0.04 * 6e6);
    cr_expect_float_eq(record.p95_bps, 96e6, 0.04 * 96e6);
    cr_expect_float_eq(record.least_bps, 1e6, 1);
    cr_expect_eq(record.seconds_count, 1000);
}

Test(watch_log, the_graph_covers_the_whole_time)
{
    seconds(1000, 5e6, 0);
    tl_watch_log_finish(&log_, 1000 * S);
    cr_expect(record.graph_count <= TL_WATCH_GRAPH_MAX && record.graph_count >= 30);
    double covered_ns = record.graph_count * record.graph_step_ns;
    cr_expect(covered_ns <= 1000e9 && covered_ns >= 1000e9 - record.graph_step_ns);
    for (int i = 0; i < record.graph_count; i++)
        cr_expect_float_eq(record.graph_bps[i], 5e6, 1);
}

Test(watch_log, beginnings_do_not_count)
{
    struct tl_watch_sample sample = {.rate_bps = 1e3, .flags = TL_WATCH_BEGINNING};
    tl_watch_log_add(&log_, &sample);
    seconds(3, 1e8, 0);
    tl_watch_log_finish(&log_, 4 * S);
    cr_expect_eq(record.seconds_count, 3);
    cr_expect_float_eq(record.least_bps, 1e8, 1);
}

Test(watch_log, outages_begin_with_the_last_byte_and_end_with_the_next)
{
    cr_expect(!tl_watch_log_progress(&log_, 1 * S, true));
    cr_expect(!tl_watch_log_progress(&log_, 2 * S, false));
    cr_expect(tl_watch_log_progress(&log_, 3 * S, false));
    cr_expect(!tl_watch_log_progress(&log_, 4 * S, false));
    cr_expect(tl_watch_log_progress(&log_, 5 * S, true));
    cr_expect_eq(record.outage_count, 1);
    cr_expect_eq(record.outages[0].length_ns, 4 * S);
    cr_expect(tl_watch_log_progress(&log_, 9 * S, false));
    tl_watch_log_finish(&log_, 10 * S);
    cr_expect_eq(record.outage_count, 2);
    cr_expect(record.outages[1].open && record.outages[1].length_ns == 5 * S);
    cr_expect_eq(record.outage_ns, 9 * S);
}

Test(watch_log, more_outages_than_fit_are_counted)
{
    for (int64_t i = 0; i < 2 * TL_WATCH_OUTAGES_MAX; i++) {
        tl_watch_log_progress(&log_, 10 * i * S, true);
        tl_watch_log_progress(&log_, (10 * i + 5) * S, false);
    }
    tl_watch_log_finish(&log_, 2000 * S);
    cr_expect_eq(record.outage_count, 2 * TL_WATCH_OUTAGES_MAX);
}

Test(watch_log, an_existing_file_is_left_alone)
{
    struct tl_watch_log other;
    struct tl_watch_record ignored;
    struct tl_error error;
    cr_expect(tl_watch_log_init(&other, path, 0, 0, 0, &ignored, &error) == TL_IO);
    cr_expect(strstr(error.text, path) != NULL);
}

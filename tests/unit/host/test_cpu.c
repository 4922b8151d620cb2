/* Processor time between two readings: recorded files, made readings, this machine. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cgroup.h"
#include "stat.h"
#include "tightlink/base/time.h"
#include "tightlink/host/cpu.h"

TestSuite(host_cpu);

static const char *case_root(const char *name)
{
    static char root[512];

    snprintf(root, sizeof(root), "%s/%s", HOST_TEST_DATA, name);
    return root;
}

Test(host_cpu, a_line_of_stat)
{
    struct tl_stat_core core;
    int number;

    cr_assert(tl_stat_parse_line("cpu1 1757 3 1183 99229 422 5 80 8 11 0", &number, &core));
    cr_expect_eq(number, 1);
    cr_expect_eq(core.total, 1757 + 3 + 1183 + 99229 + 422 + 5 + 80 + 8);
    cr_expect_eq(core.idle, 99229 + 422);
    cr_expect_eq(core.softirq, 85);
    cr_expect_eq(core.steal, 8);
    cr_assert(tl_stat_parse_line("cpu  1 1 1 1 1 1 1 1", &number, &core));
    cr_expect_eq(number, TL_STAT_ALL_CORES);
}

Test(host_cpu, lines_of_stat_that_are_none)
{
    static const char *const lines[] = {"",
                                        "cpu",
                                        "cpu1",
                                        "cpu1 1 2 3 4 5 6 7",
                                        "cpux 1 2 3 4 5 6 7 8",
                                        "intr 1 2 3 4 5 6 7 8 9",
                                        "cpu1 1 2 3 4 5 6 7 -8",
                                        "cpu99999999999 1 1 1 1 1 1 1 1",
                                        "cpu0 18446744073709551615 1 1 1 1 1 1 1",
                                        "cpu0 99999999999999999999 1 1 1 1 1 1 1"};
    struct tl_stat_core core;
    int number;

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        cr_expect_not(tl_stat_parse_line(lines[i], &number, &core), "'%s' was taken", lines[i]);
}

Test(host_cpu, a_reading_of_a_recorded_machine)
{
    struct tl_cpu_reader reader;
    struct tl_cpu_reading reading;

    tl_cpu_reader_init(&reader, case_root("debian12"));
    tl_cpu_reading_take(&reader, &reading);
    cr_expect_eq(reading.cores_why, TL_HOST_WHY_KNOWN);
    cr_expect_eq(reading.cores_end, 4);
    cr_expect_eq(reading.cores[3].total, 250000);
    cr_expect_eq(reading.pressure_why, TL_HOST_WHY_KNOWN);
    cr_expect_eq(reading.pressure_ns, 4330642000u);
    cr_expect_eq(reading.group_why, TL_HOST_WHY_KNOWN);
    cr_expect_eq(reading.group_periods_count, 120, "the slice above has the quota");
    cr_expect_eq(reading.group_throttled_count, 30);
    cr_expect_eq(reading.group_throttled_ns, 2500000000u);
    cr_expect_float_eq(reader.quota.number, 0.15, 1e-9);
}

Test(host_cpu, version_1_counts_throttling_in_nanoseconds)
{
    struct tl_cpu_reader reader;
    struct tl_cpu_reading reading;

    tl_cpu_reader_init(&reader, case_root("namespace"));
    tl_cpu_reading_take(&reader, &reading);
    cr_expect_eq(reading.group_why, TL_HOST_WHY_KNOWN);
    cr_expect_eq(reading.group_throttled_ns, 7650000000u);
    cr_expect_eq(reading.cores_why, TL_HOST_WHY_ABSENT);
    cr_expect_eq(reading.pressure_why, TL_HOST_WHY_ABSENT);
}

Test(host_cpu, hostile_files_give_reasons)
{
    struct tl_cpu_reader reader;
    struct tl_cpu_reading reading;
    struct tl_cpu_thread_reading thread;

    tl_cpu_reader_init(&reader, case_root("hostile"));
    tl_cpu_reading_take(&reader, &reading);
    cr_expect_eq(reading.cores_why, TL_HOST_WHY_MALFORMED);
    cr_expect_eq(reading.pressure_why, TL_HOST_WHY_MALFORMED);
    cr_expect_eq(reading.group_why, TL_HOST_WHY_ABSENT);
    tl_cpu_thread_reading_take(case_root("hostile"), 0, &thread);
    cr_expect_eq(thread.why, TL_HOST_WHY_MALFORMED);
}

Test(host_cpu, a_recorded_thread)
{
    struct tl_cpu_thread_reading thread;

    tl_cpu_thread_reading_take(case_root("debian12"), 0, &thread);
    cr_expect_eq(thread.why, TL_HOST_WHY_KNOWN);
    cr_expect_eq(thread.running_ns, 479123000u);
    cr_expect_eq(thread.waiting_ns, 284863000u);
    tl_cpu_thread_reading_take(case_root("debian12"), 77, &thread);
    cr_expect_eq(thread.why, TL_HOST_WHY_ABSENT);
}

/* One second; core 0 idle for 20 of 100 ticks, core 1 for 95. */
static void make_readings(struct tl_cpu_reading *before, struct tl_cpu_reading *after)
{
    memset(before, 0, sizeof(*before));
    before->taken_ns = 5 * TL_NS_PER_S;
    before->cores_end = 2;
    before->cores[0].total = 1000;
    before->cores[1].total = 1000;
    before->group_periods_count = 10;
    *after = *before;
    after->taken_ns += TL_NS_PER_S;
    after->cores[0].total += 100;
    after->cores[0].idle += 20;
    after->cores[0].softirq += 30;
    after->cores[0].steal += 5;
    after->cores[1].total += 100;
    after->cores[1].idle += 95;
    after->process_ns += 120 * TL_NS_PER_MS;
    after->pressure_ns += 250 * (uint64_t)TL_NS_PER_MS;
    after->group_periods_count += 10;
    after->group_throttled_count += 8;
    after->group_throttled_ns += 700 * (uint64_t)TL_NS_PER_MS;
}

static const struct tl_cpu_reader limited = {.root = "",
                                             .quota = {.why = TL_HOST_WHY_KNOWN, .number = 0.15}};
static const struct tl_cpu_reader unlimited = {.root = "", .quota = {.why = TL_HOST_WHY_NOT_SET}};

static void expect_usage(const struct tl_cpu_usage *usage, enum tl_cpu_usage_id id, double number)
{
    cr_expect_eq(usage->values[id].why, TL_HOST_WHY_KNOWN, "%s: %s", tl_cpu_usage_name(id),
                 tl_host_why_text(usage->values[id].why));
    cr_expect_float_eq(usage->values[id].number, number, 1e-9, "%s is %g", tl_cpu_usage_name(id),
                       usage->values[id].number);
}

Test(host_cpu, the_busiest_core_rules)
{
    static struct tl_cpu_reading before, after;
    struct tl_cpu_usage usage;

    make_readings(&before, &after);
    tl_cpu_usage_between(&limited, &before, &after, &usage);
    cr_expect_eq(usage.elapsed_ns, TL_NS_PER_S);
    expect_usage(&usage, TL_CPU_CORE_BUSY, 0.80);
    expect_usage(&usage, TL_CPU_CORE_NUMBER, 0);
    expect_usage(&usage, TL_CPU_SOFTIRQ, 0.30);
    expect_usage(&usage, TL_CPU_STEAL, 0.05);
    expect_usage(&usage, TL_CPU_ALL_BUSY, 0.425);
    expect_usage(&usage, TL_CPU_PROCESS, 0.12);
    expect_usage(&usage, TL_CPU_PRESSURE, 0.25);
}

Test(host_cpu, a_quota_limits_while_the_cores_idle)
{
    static struct tl_cpu_reading before, after;
    struct tl_cpu_usage usage;

    make_readings(&before, &after);
    tl_cpu_usage_between(&limited, &before, &after, &usage);
    expect_usage(&usage, TL_CPU_QUOTA_USED, 0.8);
    expect_usage(&usage, TL_CPU_THROTTLED, 0.7);
    expect_usage(&usage, TL_CPU_THROTTLED_PERIODS, 0.8);
    tl_cpu_usage_between(&unlimited, &before, &after, &usage);
    cr_expect_eq(usage.values[TL_CPU_QUOTA_USED].why, TL_HOST_WHY_NOT_SET);
    cr_expect_eq(usage.values[TL_CPU_THROTTLED].why, TL_HOST_WHY_NOT_SET);
}

Test(host_cpu, too_short_is_unknown_not_idle)
{
    static struct tl_cpu_reading before, after;
    struct tl_cpu_usage usage;

    make_readings(&before, &after);
    after.cores[0].total = before.cores[0].total + 9;
    after.cores[1].total = before.cores[1].total + 9;
    tl_cpu_usage_between(&limited, &before, &after, &usage);
    cr_expect_eq(usage.values[TL_CPU_CORE_BUSY].why, TL_HOST_WHY_TOO_SHORT);
    tl_cpu_usage_between(&limited, &before, &before, &usage);
    for (unsigned i = 0; i < TL_CPU_USAGE_COUNT; i++)
        cr_expect_eq(usage.values[i].why, TL_HOST_WHY_TOO_SHORT, "%s", tl_cpu_usage_name(i));
}

Test(host_cpu, a_core_that_came_late_and_counters_that_step_back_do_no_harm)
{
    static struct tl_cpu_reading before, after;
    struct tl_cpu_usage usage;

    make_readings(&before, &after);
    before.cores[0].total = 0; /* was offline */
    before.cores[1].idle = 2000;
    after.cores[1].idle = 1990; /* idle stepped back */
    before.pressure_ns = after.pressure_ns + 1;
    tl_cpu_usage_between(&limited, &before, &after, &usage);
    expect_usage(&usage, TL_CPU_CORE_NUMBER, 1);
    expect_usage(&usage, TL_CPU_CORE_BUSY, 1);
    cr_expect_eq(usage.values[TL_CPU_PRESSURE].why, TL_HOST_WHY_RESTARTED);
}

Test(host_cpu, a_busy_loop_shows_on_this_machine)
{
    static struct tl_cpu_reading before, after;
    struct tl_cpu_thread_reading thread_before, thread_after;
    struct tl_cpu_usage usage;
    struct tl_cpu_reader reader;

    tl_cpu_reader_init(&reader, "");
    tl_cpu_reading_take(&reader, &before);
    tl_cpu_thread_reading_take("", gettid(), &thread_before);
    for (int64_t end = tl_thread_cpu_ns() + 250 * TL_NS_PER_MS; tl_thread_cpu_ns() < end;)
        ;
    tl_cpu_thread_reading_take("", 0, &thread_after);
    tl_cpu_reading_take(&reader, &after);
    tl_cpu_usage_between(&reader, &before, &after, &usage);
    cr_assert_eq(usage.values[TL_CPU_CORE_BUSY].why, TL_HOST_WHY_KNOWN);
    cr_expect_geq(usage.values[TL_CPU_CORE_BUSY].number, 0.4);
    cr_expect_float_eq(usage.values[TL_CPU_PROCESS].number * (double)usage.elapsed_ns, 250e6, 50e6);
    cr_assert_eq(thread_after.why, TL_HOST_WHY_KNOWN);
    cr_expect_float_eq((double)(thread_after.running_ns - thread_before.running_ns), 250e6, 20e6);
}

/* Two cores: one does nearly all receive processing and is busy with it; its counter turns
 * over. */
Test(host_cpu, the_core_that_does_the_receive_processing)
{
    static struct tl_cpu_reading before, after;
    struct tl_cpu_reader reader = {.root = ""};
    struct tl_cpu_usage usage;

    after.taken_ns = TL_NS_PER_S;
    before.cores_end = after.cores_end = 2;
    for (unsigned i = 0; i < 2; i++)
        before.cores[i].total = before.cores[i].idle = 1000;
    after.cores[0].total = after.cores[1].total = 1100;
    after.cores[0].idle = 1080;
    after.cores[1].idle = 1002;
    after.cores[1].softirq = 90;
    before.receive_count[1] = UINT32_MAX - 10;
    after.receive_count[0] = 50;
    after.receive_count[1] = 938;
    after.memory_ns = TL_NS_PER_S / 4;
    tl_cpu_usage_between(&reader, &before, &after, &usage);
    cr_expect_float_eq(usage.values[TL_CPU_RECEIVE_SHARE].number, 949.0 / 999, 1e-6);
    cr_expect_float_eq(usage.values[TL_CPU_RECEIVE_BUSY].number, 0.98, 1e-6);
    cr_expect_float_eq(usage.values[TL_CPU_RECEIVE_SOFTIRQ].number, 0.9, 1e-6);
    cr_expect_float_eq(usage.values[TL_CPU_PRESSURE_MEMORY].number, 0.25, 1e-6);
    cr_expect_eq(usage.values[TL_CPU_FREQUENCY].why, TL_HOST_WHY_NOT_READ);
    after.receive_count[1] = before.receive_count[1];
    tl_cpu_usage_between(&reader, &before, &after, &usage);
    cr_expect_eq(usage.values[TL_CPU_RECEIVE_SHARE].why, TL_HOST_WHY_TOO_SHORT);
}

Test(host_cpu, the_clock_of_a_core_against_its_highest)
{
    struct tl_cpu_reader reader = {.root = case_root("debian12")};
    struct tl_cpu_usage usage = {.values[TL_CPU_CORE_NUMBER] = tl_host_known(0)};

    tl_cpu_usage_clock(&reader, &usage);
    cr_expect_eq(usage.values[TL_CPU_FREQUENCY].number, 0.25);
    cr_expect_eq(usage.values[TL_CPU_FREQUENCY_BASE].why, TL_HOST_WHY_ABSENT,
                 "this driver tells no base clock");
    usage.values[TL_CPU_CORE_NUMBER] = tl_host_known(7);
    tl_cpu_usage_clock(&reader, &usage);
    cr_expect_eq(usage.values[TL_CPU_FREQUENCY].why, TL_HOST_WHY_ABSENT);
}

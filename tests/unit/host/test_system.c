/* The settings of the machine, from recorded files and against this machine's own. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tightlink/host/host.h"

TestSuite(host_system);

static struct tl_host_settings read_case(const char *name)
{
    struct tl_host_settings settings;
    char root[512];

    snprintf(root, sizeof(root), "%s/%s", HOST_TEST_DATA, name);
    tl_host_settings_init(&settings);
    tl_host_settings_read_system(&settings, root);
    return settings;
}

static void expect_number(const struct tl_host_settings *settings, enum tl_host_number_id id,
                          double number)
{
    const char *name = tl_host_number_field(id)->name;

    cr_expect_eq(settings->numbers[id].why, TL_HOST_WHY_KNOWN, "%s: %s", name,
                 tl_host_why_text(settings->numbers[id].why));
    cr_expect_float_eq(settings->numbers[id].number, number, 1e-9, "%s is %g, not %g", name,
                       settings->numbers[id].number, number);
}

static void expect_unknown(const struct tl_host_settings *settings, enum tl_host_number_id id,
                           enum tl_host_why why)
{
    const char *name = tl_host_number_field(id)->name;

    cr_expect_eq(settings->numbers[id].why, why, "%s: %s", name,
                 tl_host_why_text(settings->numbers[id].why));
    cr_expect_eq(settings->numbers[id].number, 0);
}

static void expect_text(const struct tl_host_settings *settings, enum tl_host_text_id id,
                        const char *text)
{
    cr_expect_eq(settings->texts[id].why, TL_HOST_WHY_KNOWN);
    cr_expect_str_eq(settings->texts[id].text, text);
}

Test(host_system, a_recorded_machine_is_read_in_full)
{
    struct tl_host_settings settings = read_case("debian12");

    expect_number(&settings, TL_HOST_TCP_RMEM_MIN, 4096);
    expect_number(&settings, TL_HOST_TCP_RMEM_DEFAULT, 131072);
    expect_number(&settings, TL_HOST_TCP_RMEM_MAX, 6291456);
    expect_number(&settings, TL_HOST_TCP_WMEM_MAX, 4194304);
    expect_number(&settings, TL_HOST_CORE_WMEM_DEFAULT, 212993);
    expect_number(&settings, TL_HOST_CORE_WMEM_MAX, 212994);
    expect_number(&settings, TL_HOST_NETDEV_MAX_BACKLOG, 1000);
    expect_number(&settings, TL_HOST_TCP_ADV_WIN_SCALE, -2);
    expect_number(&settings, TL_HOST_TCP_NOTSENT_LOWAT, 4294967295.0);
    expect_number(&settings, TL_HOST_TCP_ECN, 2);
    expect_text(&settings, TL_HOST_TEXT_KERNEL, "6.1.0-13-amd64");
    expect_text(&settings, TL_HOST_TEXT_CC_CURRENT, "cubic");
    expect_text(&settings, TL_HOST_TEXT_CC_AVAILABLE, "reno cubic");
    expect_text(&settings, TL_HOST_TEXT_DEFAULT_QDISC, "fq_codel");
}

Test(host_system, processors_of_a_recorded_machine)
{
    struct tl_host_settings settings = read_case("debian12");

    expect_number(&settings, TL_HOST_CPU_CORES, 4);
    expect_number(&settings, TL_HOST_CPU_ALLOWED, 3);
    expect_number(&settings, TL_HOST_LOAD_1MIN, 3.0 / 4);
    expect_number(&settings, TL_HOST_STEAL_SINCE_BOOT, 1900.0 / 1000000);
}

Test(host_system, memory_tracking_pressure_and_clock_of_a_recorded_machine)
{
    struct tl_host_settings settings = read_case("debian12");

    expect_number(&settings, TL_HOST_TCP_MEM_PRESSURE, 30266);
    expect_number(&settings, TL_HOST_TCP_MEM_MAX, 45396);
    expect_number(&settings, TL_HOST_TCP_MEM_USED, 55);
    expect_number(&settings, TL_HOST_MEMORY_LIMIT, 536870912);
    expect_number(&settings, TL_HOST_CONNTRACK_COUNT, 65530);
    expect_number(&settings, TL_HOST_CONNTRACK_MAX, 65536);
    expect_number(&settings, TL_HOST_PRESSURE_CPU, 0.0153);
    expect_number(&settings, TL_HOST_PRESSURE_MEMORY, 0.125);
    expect_number(&settings, TL_HOST_CPU_FREQUENCY, 0.25);
    expect_text(&settings, TL_HOST_TEXT_CPU_GOVERNOR, "powersave");
}

Test(host_system, pressure_and_memory_that_make_no_sense_are_unknown)
{
    struct tl_host_settings settings = read_case("hostile");

    expect_unknown(&settings, TL_HOST_PRESSURE_MEMORY, TL_HOST_WHY_MALFORMED);
    expect_unknown(&settings, TL_HOST_PRESSURE_IO, TL_HOST_WHY_MALFORMED);
    expect_unknown(&settings, TL_HOST_TCP_MEM_USED, TL_HOST_WHY_MALFORMED);
    expect_unknown(&settings, TL_HOST_CONNTRACK_COUNT, TL_HOST_WHY_MALFORMED);
    expect_unknown(&settings, TL_HOST_CPU_FREQUENCY, TL_HOST_WHY_ABSENT);
}

Test(host_system, the_tightest_quota_of_version_2_is_the_one_of_the_slice_above)
{
    struct tl_host_settings settings = read_case("debian12");

    expect_number(&settings, TL_HOST_CPU_QUOTA, 0.15);
}

Test(host_system, a_container_of_version_1_that_mounts_its_own_branch)
{
    struct tl_host_settings settings = read_case("namespace");

    expect_number(&settings, TL_HOST_CPU_QUOTA, 0.15);
}

Test(host_system, keys_that_a_namespace_lacks_are_absent_not_zero)
{
    struct tl_host_settings settings = read_case("namespace");

    expect_unknown(&settings, TL_HOST_NETDEV_MAX_BACKLOG, TL_HOST_WHY_ABSENT);
    expect_unknown(&settings, TL_HOST_CPU_CORES, TL_HOST_WHY_ABSENT);
    cr_expect_eq(settings.texts[TL_HOST_TEXT_DEFAULT_QDISC].why, TL_HOST_WHY_ABSENT);
    cr_expect_str_empty(settings.texts[TL_HOST_TEXT_DEFAULT_QDISC].text);
    expect_number(&settings, TL_HOST_CORE_RMEM_MAX, 212992);
}

Test(host_system, hostile_numbers_are_unknown)
{
    struct tl_host_settings settings = read_case("hostile");

    expect_number(&settings, TL_HOST_TCP_RMEM_DEFAULT, 131072);
    expect_unknown(&settings, TL_HOST_TCP_RMEM_MAX, TL_HOST_WHY_MALFORMED);
    expect_number(&settings, TL_HOST_TCP_WMEM_DEFAULT, 16384);
    expect_unknown(&settings, TL_HOST_TCP_WMEM_MAX, TL_HOST_WHY_MALFORMED);
    expect_unknown(&settings, TL_HOST_TCP_SACK, TL_HOST_WHY_MALFORMED);
    expect_unknown(&settings, TL_HOST_TCP_TIMESTAMPS, TL_HOST_WHY_MALFORMED);
    expect_unknown(&settings, TL_HOST_TCP_WINDOW_SCALING, TL_HOST_WHY_MALFORMED);
    expect_unknown(&settings, TL_HOST_TCP_BASE_MSS, TL_HOST_WHY_TOO_LONG);
    expect_unknown(&settings, TL_HOST_TCP_ECN, TL_HOST_WHY_MALFORMED);
    expect_unknown(&settings, TL_HOST_CORE_RMEM_MAX, TL_HOST_WHY_IO);
    expect_unknown(&settings, TL_HOST_CPU_CORES, TL_HOST_WHY_MALFORMED);
    expect_unknown(&settings, TL_HOST_CPU_ALLOWED, TL_HOST_WHY_MALFORMED);
    expect_unknown(&settings, TL_HOST_LOAD_1MIN, TL_HOST_WHY_MALFORMED);
    expect_unknown(&settings, TL_HOST_STEAL_SINCE_BOOT, TL_HOST_WHY_MALFORMED);
    expect_unknown(&settings, TL_HOST_CPU_QUOTA, TL_HOST_WHY_MALFORMED);
}

Test(host_system, hostile_texts_are_unknown)
{
    struct tl_host_settings settings = read_case("hostile");

    cr_expect_eq(settings.texts[TL_HOST_TEXT_CC_CURRENT].why, TL_HOST_WHY_MALFORMED);
    cr_expect_eq(settings.texts[TL_HOST_TEXT_CC_AVAILABLE].why, TL_HOST_WHY_TOO_LONG);
    cr_expect_eq(settings.texts[TL_HOST_TEXT_KERNEL].why, TL_HOST_WHY_MALFORMED);
    cr_expect_str_empty(settings.texts[TL_HOST_TEXT_CC_CURRENT].text);
}

Test(host_system, a_root_that_is_not_there_leaves_everything_absent)
{
    struct tl_host_settings settings = read_case("no-such-case");

    expect_unknown(&settings, TL_HOST_TCP_RMEM_MAX, TL_HOST_WHY_ABSENT);
    expect_unknown(&settings, TL_HOST_CPU_QUOTA, TL_HOST_WHY_ABSENT);
    expect_unknown(&settings, TL_HOST_LOAD_1MIN, TL_HOST_WHY_ABSENT);
}

/* What cat(1) would show, by another way than the audit's. */
static bool read_plainly(const char *path, char *ret_text, int size)
{
    FILE *file = fopen(path, "re");
    bool done = file && fgets(ret_text, size, file);

    if (file)
        fclose(file);
    if (done)
        ret_text[strcspn(ret_text, "\n")] = '\0';
    return done;
}

static double nth_number(const char *text, int index)
{
    char *end = NULL;
    double number = 0;

    for (int i = 0; i <= index; i++, text = end)
        number = strtod(text, &end);
    return number;
}

Test(host_system, the_audit_of_this_machine_agrees_with_its_files)
{
    struct tl_host_settings settings;
    char text[4096];
    unsigned agreed = 0;

    tl_host_settings_init(&settings);
    tl_host_settings_read_system(&settings, "");
    for (unsigned i = 0; i < TL_HOST_NUMBER_COUNT; i++) {
        const struct tl_host_field *field = tl_host_number_field(i);

        if (strncmp(field->source, "/proc/sys/", 10) != 0)
            continue;
        if (read_plainly(field->source, text, sizeof(text))) {
            expect_number(&settings, i, nth_number(text, field->index));
            agreed++;
        } else {
            expect_unknown(&settings, i, TL_HOST_WHY_ABSENT);
        }
    }
    cr_expect_geq(agreed, 18, "only %u settings could be compared", agreed);
    for (unsigned i = 0; i < TL_HOST_TEXT_COUNT; i++) {
        const struct tl_host_field *field = tl_host_text_field(i);

        if (strncmp(field->source, "/proc/sys/", 10) == 0 &&
            read_plainly(field->source, text, sizeof(text)))
            expect_text(&settings, i, text);
    }
    expect_number(&settings, TL_HOST_CPU_CORES, (double)sysconf(_SC_NPROCESSORS_ONLN));
}

/* Readings of processor time and what lies between two of them. */
#include "tightlink/host/cpu.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cgroup.h"
#include "proc.h"
#include "stat.h"
#include "tightlink/base/time.h"

/* Ten ticks: below that one tick more or less moves a share by over 10 %. */
#define TICKS_MIN 10

_Static_assert(sizeof(((struct tl_cpu_reader *)0)->group_stat_path) == TL_PROC_PATH_SIZE,
               "a group's path fits the reader");

void tl_cpu_reader_init(struct tl_cpu_reader *ret_reader, const char *root)
{
    struct tl_cgroup_cpu group;

    tl_cgroup_cpu_find(root, &group);
    ret_reader->root = root;
    ret_reader->quota = group.quota;
    memcpy(ret_reader->group_stat_path, group.stat_path, sizeof(group.stat_path));
}

static bool take_core(char *line, void *context)
{
    struct tl_cpu_reading *reading = context;
    struct tl_stat_core core;
    int number;

    if (strncmp(line, "cpu", 3) != 0)
        return false;
    if (!tl_stat_parse_line(line, &number, &core) || number < 0 || number >= TL_CPU_CORES_MAX)
        return true;
    reading->cores[number].total = core.total;
    reading->cores[number].idle = core.idle;
    reading->cores[number].softirq = core.softirq;
    reading->cores[number].steal = core.steal;
    if (reading->cores_end <= (unsigned)number)
        reading->cores_end = (unsigned)number + 1;
    return true;
}

static void read_cores(const char *root, struct tl_cpu_reading *reading)
{
    reading->cores_why = tl_proc_each_line(root, "/proc/stat", take_core, reading);
    if (reading->cores_why == TL_HOST_WHY_KNOWN && reading->cores_end == 0)
        reading->cores_why = TL_HOST_WHY_MALFORMED;
}

struct pressure {
    enum tl_host_why why;
    uint64_t ns;
};

/* "some avg10=0.00 avg60=0.08 avg300=0.07 total=4330642" in us */
static bool take_pressure(char *line, void *context)
{
    struct pressure *pressure = context;
    const char *at = strstr(line, "total=");
    uint64_t total_us;

    if (strncmp(line, "some ", 5) != 0)
        return true;
    if (!at)
        return false;
    at += strlen("total=");
    if (!tl_proc_take_u64(&at, &total_us))
        return false;
    pressure->ns = total_us * (uint64_t)TL_NS_PER_US;
    pressure->why = TL_HOST_WHY_KNOWN;
    return false;
}

static struct pressure read_pressure(const char *root, const char *path)
{
    struct pressure pressure = {.why = TL_HOST_WHY_MALFORMED};
    enum tl_host_why why = tl_proc_each_line(root, path, take_pressure, &pressure);

    if (why != TL_HOST_WHY_KNOWN)
        pressure.why = why;
    return pressure;
}

static void read_pressures(const char *root, struct tl_cpu_reading *reading)
{
    struct pressure cpu = read_pressure(root, "/proc/pressure/cpu");
    struct pressure memory = read_pressure(root, "/proc/pressure/memory");
    struct pressure io = read_pressure(root, "/proc/pressure/io");

    reading->pressure_why = cpu.why;
    reading->pressure_ns = cpu.ns;
    reading->memory_why = memory.why;
    reading->memory_ns = memory.ns;
    reading->io_why = io.why;
    reading->io_ns = io.ns;
}

/* "      NET_RX:        915       1588", a number a core that is possible, in order */
static bool take_receive(char *line, void *context)
{
    struct tl_cpu_reading *reading = context;
    const char *at = line + strspn(line, " ");
    uint64_t count;

    if (strncmp(at, "NET_RX:", 7) != 0)
        return true;
    at += 7;
    reading->receive_why = TL_HOST_WHY_MALFORMED;
    for (unsigned i = 0; i < TL_CPU_CORES_MAX && tl_proc_take_u64(&at, &count); i++) {
        reading->receive_count[i] = (uint32_t)count;
        reading->receive_why = TL_HOST_WHY_KNOWN;
    }
    return false;
}

static void read_receive(const char *root, struct tl_cpu_reading *reading)
{
    enum tl_host_why why;

    reading->receive_why = TL_HOST_WHY_ABSENT;
    why = tl_proc_each_line(root, "/proc/softirqs", take_receive, reading);
    if (why != TL_HOST_WHY_KNOWN)
        reading->receive_why = why;
}

static void read_group(const struct tl_cpu_reader *reader, struct tl_cpu_reading *reading)
{
    struct tl_cgroup_stat stat;

    tl_cgroup_stat_read(reader->root, reader->group_stat_path, &stat);
    reading->group_why = stat.why;
    reading->group_periods_count = stat.periods_count;
    reading->group_throttled_count = stat.throttled_count;
    reading->group_throttled_ns = stat.throttled_ns;
}

void tl_cpu_reading_take(const struct tl_cpu_reader *reader, struct tl_cpu_reading *ret_reading)
{
    memset(ret_reading, 0, sizeof(*ret_reading));
    ret_reading->taken_ns = tl_now_ns();
    ret_reading->process_ns = tl_process_cpu_ns();
    read_cores(reader->root, ret_reading);
    read_group(reader, ret_reading);
    read_pressures(reader->root, ret_reading);
    read_receive(reader->root, ret_reading);
}

static const struct {
    const char *name, *unit;
} usage_rows[] = {
#define TL_CPU_USAGE_ROW(id, name, unit) {name, unit},
    TL_CPU_USAGE_MAP(TL_CPU_USAGE_ROW)
#undef TL_CPU_USAGE_ROW
};

const char *tl_cpu_usage_name(unsigned id)
{
    return id < TL_CPU_USAGE_COUNT ? usage_rows[id].name : NULL;
}

const char *tl_cpu_usage_unit(unsigned id)
{
    return id < TL_CPU_USAGE_COUNT ? usage_rows[id].unit : NULL;
}

/* Ticks between two readings. Idle time was seen to step back (proc(5), "iowait"), which
 * counts as none. */
static double ticks_between(uint64_t before, uint64_t after)
{
    return after > before ? (double)(after - before) : 0;
}

struct core_ticks {
    double total, busy, softirq, steal;
};

static struct core_ticks core_between(const struct tl_cpu_reading *before,
                                      const struct tl_cpu_reading *after, unsigned i)
{
    struct core_ticks ticks = {0};

    if (before->cores[i].total == 0 || after->cores[i].total == 0)
        return ticks;
    ticks.total = ticks_between(before->cores[i].total, after->cores[i].total);
    ticks.busy = ticks.total - ticks_between(before->cores[i].idle, after->cores[i].idle);
    ticks.busy = ticks.busy > 0 ? ticks.busy : 0;
    ticks.softirq = ticks_between(before->cores[i].softirq, after->cores[i].softirq);
    ticks.steal = ticks_between(before->cores[i].steal, after->cores[i].steal);
    return ticks;
}

static void set_cores_unknown(struct tl_cpu_usage *usage, enum tl_host_why why)
{
    static const enum tl_cpu_usage_id ids[] = {TL_CPU_CORE_BUSY, TL_CPU_CORE_NUMBER, TL_CPU_SOFTIRQ,
                                               TL_CPU_STEAL, TL_CPU_ALL_BUSY};

    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        usage->values[ids[i]] = tl_host_unknown(why);
}

static struct tl_host_value share(double part, double whole)
{
    return tl_host_known(part < whole ? part / whole : 1);
}

static void cores_usage(const struct tl_cpu_reading *before, const struct tl_cpu_reading *after,
                        struct tl_cpu_usage *usage)
{
    struct core_ticks busiest = {0}, all = {0};
    unsigned number = 0;

    for (unsigned i = 0; i < before->cores_end && i < after->cores_end; i++) {
        struct core_ticks ticks = core_between(before, after, i);

        all.total += ticks.total;
        all.busy += ticks.busy;
        if (ticks.total < TICKS_MIN)
            continue;
        if (busiest.total > 0 && ticks.busy / ticks.total <= busiest.busy / busiest.total)
            continue;
        busiest = ticks;
        number = i;
    }
    if (before->cores_why != TL_HOST_WHY_KNOWN || after->cores_why != TL_HOST_WHY_KNOWN) {
        set_cores_unknown(usage, before->cores_why != TL_HOST_WHY_KNOWN ? before->cores_why
                                                                        : after->cores_why);
        return;
    }
    if (!(busiest.total > 0)) {
        set_cores_unknown(usage, TL_HOST_WHY_TOO_SHORT);
        return;
    }
    usage->values[TL_CPU_CORE_BUSY] = share(busiest.busy, busiest.total);
    usage->values[TL_CPU_CORE_NUMBER] = tl_host_known(number);
    usage->values[TL_CPU_SOFTIRQ] = share(busiest.softirq, busiest.total);
    usage->values[TL_CPU_STEAL] = share(busiest.steal, busiest.total);
    usage->values[TL_CPU_ALL_BUSY] = share(all.busy, all.total);
}

/* Fewer turns say nothing about how the work is spread. */
#define RECEIVE_TURNS_MIN 100

/* The core with most of the receive processing. */
static void receive_usage(const struct tl_cpu_reading *before, const struct tl_cpu_reading *after,
                          struct tl_cpu_usage *usage)
{
    enum tl_host_why why =
        before->receive_why != TL_HOST_WHY_KNOWN ? before->receive_why : after->receive_why;
    double all = 0, most = 0;
    unsigned number = 0;
    struct core_ticks ticks;

    for (unsigned i = 0; i < TL_CPU_CORES_MAX; i++) {
        double turns = (uint32_t)(after->receive_count[i] - before->receive_count[i]);

        all += turns;
        if (turns > most) {
            most = turns;
            number = i;
        }
    }
    if (why == TL_HOST_WHY_KNOWN && all < RECEIVE_TURNS_MIN)
        why = TL_HOST_WHY_TOO_SHORT;
    usage->values[TL_CPU_RECEIVE_SHARE] =
        why == TL_HOST_WHY_KNOWN ? share(most, all) : tl_host_unknown(why);
    if (why == TL_HOST_WHY_KNOWN && before->cores_why != TL_HOST_WHY_KNOWN)
        why = before->cores_why;
    ticks = core_between(before, after, number);
    if (why == TL_HOST_WHY_KNOWN && ticks.total < TICKS_MIN)
        why = TL_HOST_WHY_TOO_SHORT;
    usage->values[TL_CPU_RECEIVE_BUSY] =
        why == TL_HOST_WHY_KNOWN ? share(ticks.busy, ticks.total) : tl_host_unknown(why);
    usage->values[TL_CPU_RECEIVE_SOFTIRQ] =
        why == TL_HOST_WHY_KNOWN ? share(ticks.softirq, ticks.total) : tl_host_unknown(why);
}

/* A counter's growth over whole, capped at 1; whole > 0. */
static struct tl_host_value growth_share(enum tl_host_why before_why, uint64_t before,
                                         enum tl_host_why after_why, uint64_t after, double whole)
{
    if (before_why != TL_HOST_WHY_KNOWN)
        return tl_host_unknown(before_why);
    if (after_why != TL_HOST_WHY_KNOWN)
        return tl_host_unknown(after_why);
    if (after < before)
        return tl_host_unknown(TL_HOST_WHY_RESTARTED);
    return share((double)(after - before), whole);
}

static void group_usage(const struct tl_cpu_reader *reader, const struct tl_cpu_reading *before,
                        const struct tl_cpu_reading *after, struct tl_cpu_usage *usage)
{
    double periods = ticks_between(before->group_periods_count, after->group_periods_count);
    struct tl_host_value process = usage->values[TL_CPU_PROCESS];

    if (!tl_host_is_known(reader->quota)) {
        usage->values[TL_CPU_QUOTA_USED] = reader->quota;
        usage->values[TL_CPU_THROTTLED] = reader->quota;
        usage->values[TL_CPU_THROTTLED_PERIODS] = reader->quota;
        return;
    }
    usage->values[TL_CPU_QUOTA_USED] = share(process.number, reader->quota.number);
    usage->values[TL_CPU_THROTTLED] =
        growth_share(before->group_why, before->group_throttled_ns, after->group_why,
                     after->group_throttled_ns, (double)usage->elapsed_ns);
    usage->values[TL_CPU_THROTTLED_PERIODS] =
        periods > 0 ? growth_share(before->group_why, before->group_throttled_count,
                                   after->group_why, after->group_throttled_count, periods)
                    : tl_host_unknown(TL_HOST_WHY_TOO_SHORT);
}

void tl_cpu_usage_between(const struct tl_cpu_reader *reader, const struct tl_cpu_reading *before,
                          const struct tl_cpu_reading *after, struct tl_cpu_usage *ret_usage)
{
    double elapsed_ns = (double)(after->taken_ns - before->taken_ns);

    ret_usage->elapsed_ns = after->taken_ns - before->taken_ns;
    for (unsigned i = 0; i < TL_CPU_USAGE_COUNT; i++)
        ret_usage->values[i] = tl_host_unknown(TL_HOST_WHY_TOO_SHORT);
    if (!(elapsed_ns > 0))
        return;
    ret_usage->values[TL_CPU_PROCESS] =
        tl_host_known(fmax(0, (double)(after->process_ns - before->process_ns)) / elapsed_ns);
    ret_usage->values[TL_CPU_PRESSURE] =
        growth_share(before->pressure_why, before->pressure_ns, after->pressure_why,
                     after->pressure_ns, elapsed_ns);
    ret_usage->values[TL_CPU_PRESSURE_MEMORY] = growth_share(
        before->memory_why, before->memory_ns, after->memory_why, after->memory_ns, elapsed_ns);
    ret_usage->values[TL_CPU_PRESSURE_IO] =
        growth_share(before->io_why, before->io_ns, after->io_why, after->io_ns, elapsed_ns);
    ret_usage->values[TL_CPU_FREQUENCY] = tl_host_unknown(TL_HOST_WHY_NOT_READ);
    ret_usage->values[TL_CPU_FREQUENCY_BASE] = tl_host_unknown(TL_HOST_WHY_NOT_READ);
    receive_usage(before, after, ret_usage);
    cores_usage(before, after, ret_usage);
    group_usage(reader, before, after, ret_usage);
}

static enum tl_host_why read_clock(const char *root, unsigned core, const char *name,
                                   double *ret_khz)
{
    char path[96], text[32];
    const char *at = text;
    enum tl_host_why why;

    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/%s", core, name);
    why = tl_proc_read(root, path, text, sizeof(text));
    if (why == TL_HOST_WHY_KNOWN && (!tl_proc_take_decimal(&at, ret_khz) || !(*ret_khz > 0)))
        why = TL_HOST_WHY_MALFORMED;
    return why;
}

/* The highest clock is the turbo of one core; the base clock is what all of them can hold. Told by
 * intel_pstate in kHz, by ACPI's CPPC in MHz (Documentation/admin-guide/acpi/cppc_sysfs.rst). */
static enum tl_host_why read_base(const char *root, unsigned core, double *ret_khz)
{
    enum tl_host_why why = read_clock(root, core, "cpufreq/base_frequency", ret_khz);

    if (why == TL_HOST_WHY_KNOWN)
        return why;
    why = read_clock(root, core, "acpi_cppc/nominal_freq", ret_khz);
    *ret_khz *= 1e3;
    return why;
}

void tl_cpu_usage_clock(const struct tl_cpu_reader *reader, struct tl_cpu_usage *usage)
{
    const struct tl_host_value *core = &usage->values[TL_CPU_CORE_NUMBER];
    double now_khz = 0, most_khz = 1, base_khz = 1;
    enum tl_host_why why = core->why;

    if (why == TL_HOST_WHY_KNOWN)
        why =
            read_clock(reader->root, (unsigned)core->number, "cpufreq/scaling_cur_freq", &now_khz);
    if (why == TL_HOST_WHY_KNOWN)
        why =
            read_clock(reader->root, (unsigned)core->number, "cpufreq/cpuinfo_max_freq", &most_khz);
    /* Above 1 where the highest one does not count the turbo. */
    usage->values[TL_CPU_FREQUENCY] = why == TL_HOST_WHY_KNOWN
                                          ? tl_host_known(fmin(now_khz / most_khz, 1))
                                          : tl_host_unknown(why);
    if (why == TL_HOST_WHY_KNOWN)
        why = read_base(reader->root, (unsigned)core->number, &base_khz);
    usage->values[TL_CPU_FREQUENCY_BASE] =
        why == TL_HOST_WHY_KNOWN ? tl_host_known(now_khz / base_khz) : tl_host_unknown(why);
}

void tl_cpu_thread_reading_take(const char *root, pid_t tid,
                                struct tl_cpu_thread_reading *ret_reading)
{
    char path[64] = "/proc/thread-self/schedstat", text[128];
    const char *at = text;

    if (tid != 0)
        snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", (int)tid);
    memset(ret_reading, 0, sizeof(*ret_reading));
    ret_reading->taken_ns = tl_now_ns();
    ret_reading->why = tl_proc_read(root, path, text, sizeof(text));
    if (ret_reading->why == TL_HOST_WHY_KNOWN &&
        (!tl_proc_take_u64(&at, &ret_reading->running_ns) ||
         !tl_proc_take_u64(&at, &ret_reading->waiting_ns)))
        ret_reading->why = TL_HOST_WHY_MALFORMED;
}

/* The settings of the machine and of the calling thread's network namespace. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup.h"
#include "proc.h"
#include "stat.h"
#include "tightlink/host/host.h"

#define SYSCTL_PREFIX "/proc/sys/"

static bool is_sysctl(const struct tl_host_field *field)
{
    return strncmp(field->source, SYSCTL_PREFIX, strlen(SYSCTL_PREFIX)) == 0;
}

/* The number at the row's index in the row's file. */
static struct tl_host_value read_sysctl(const char *root, const struct tl_host_field *field)
{
    char text[128];
    const char *at = text;
    double number = 0;
    enum tl_host_why why = tl_proc_read(root, field->source, text, sizeof(text));

    if (why != TL_HOST_WHY_KNOWN)
        return tl_host_unknown(why);
    for (int i = 0; i <= field->index; i++)
        if (!tl_proc_take_decimal(&at, &number))
            return tl_host_unknown(TL_HOST_WHY_MALFORMED);
    return tl_host_known(number);
}

static void read_text(const char *root, const struct tl_host_field *field,
                      struct tl_host_text *ret_text)
{
    char text[2 * TL_HOST_TEXT_SIZE];
    enum tl_host_why why = tl_proc_read(root, field->source, text, sizeof(text));

    if (why != TL_HOST_WHY_KNOWN)
        tl_host_text_unknown(ret_text, why);
    else
        tl_host_text_set(ret_text, text);
}

/* Takes "3" or "0-3"; adds its cores. The kernel knows at most 8192. */
static bool take_range(const char **at, double *cores)
{
    char *end;
    unsigned long first, last;

    if (**at < '0' || **at > '9')
        return false;
    first = last = strtoul(*at, &end, 10);
    if (*end == '-') {
        if (end[1] < '0' || end[1] > '9')
            return false;
        last = strtoul(end + 1, &end, 10);
    }
    if (last < first || last > UINT16_MAX)
        return false;
    *cores += (double)(last - first) + 1;
    *at = end;
    return true;
}

/* Cores of a list such as "0-3,8,10-11". */
static struct tl_host_value count_cores(const char *at)
{
    double cores = 0;

    while (take_range(&at, &cores)) {
        if (*at == '\0')
            return tl_host_known(cores);
        if (*at++ != ',')
            break;
    }
    return tl_host_unknown(TL_HOST_WHY_MALFORMED);
}

static struct tl_host_value read_cores(const char *root)
{
    char text[512];
    enum tl_host_why why =
        tl_proc_read(root, tl_host_number_field(TL_HOST_CPU_CORES)->source, text, sizeof(text));

    return why == TL_HOST_WHY_KNOWN ? count_cores(text) : tl_host_unknown(why);
}

#define ALLOWED_LIST "Cpus_allowed_list:\t"

static bool take_allowed(char *line, void *context)
{
    struct tl_host_value *value = context;

    if (strncmp(line, ALLOWED_LIST, strlen(ALLOWED_LIST)) != 0)
        return true;
    *value = count_cores(line + strlen(ALLOWED_LIST));
    return false;
}

static struct tl_host_value read_allowed_cores(const char *root)
{
    struct tl_host_value value = tl_host_unknown(TL_HOST_WHY_ABSENT);
    enum tl_host_why why = tl_proc_each_line(
        root, tl_host_number_field(TL_HOST_CPU_ALLOWED)->source, take_allowed, &value);

    return why == TL_HOST_WHY_KNOWN ? value : tl_host_unknown(why);
}

static struct tl_host_value read_load(const char *root, struct tl_host_value cores)
{
    char text[128];
    const char *at = text;
    double load;
    enum tl_host_why why =
        tl_proc_read(root, tl_host_number_field(TL_HOST_LOAD_1MIN)->source, text, sizeof(text));

    if (why != TL_HOST_WHY_KNOWN)
        return tl_host_unknown(why);
    if (!tl_host_is_known(cores))
        return cores;
    if (!tl_proc_take_decimal(&at, &load) || load < 0)
        return tl_host_unknown(TL_HOST_WHY_MALFORMED);
    return tl_host_known(load / cores.number);
}

static bool take_steal(char *line, void *context)
{
    struct tl_host_value *value = context;
    struct tl_stat_core core;
    int number;

    *value = tl_host_unknown(TL_HOST_WHY_MALFORMED);
    if (tl_stat_parse_line(line, &number, &core) && number == TL_STAT_ALL_CORES && core.total > 0)
        *value = tl_host_known((double)core.steal / (double)core.total);
    return false; /* the sum of all cores is the first line */
}

static struct tl_host_value read_steal(const char *root)
{
    struct tl_host_value value = tl_host_unknown(TL_HOST_WHY_MALFORMED);
    enum tl_host_why why = tl_proc_each_line(
        root, tl_host_number_field(TL_HOST_STEAL_SINCE_BOOT)->source, take_steal, &value);

    return why == TL_HOST_WHY_KNOWN ? value : tl_host_unknown(why);
}

#define FREQUENCY_DIR "/sys/devices/system/cpu/cpu0/cpufreq/"

static struct tl_host_value read_one(const char *root, const char *path)
{
    char text[64];
    const char *at = text;
    double number;
    enum tl_host_why why = tl_proc_read(root, path, text, sizeof(text));

    if (why != TL_HOST_WHY_KNOWN)
        return tl_host_unknown(why);
    return tl_proc_take_decimal(&at, &number) && number > 0
               ? tl_host_known(number)
               : tl_host_unknown(TL_HOST_WHY_MALFORMED);
}

static struct tl_host_value read_frequency(const char *root)
{
    struct tl_host_value now = read_one(root, FREQUENCY_DIR "scaling_cur_freq");
    struct tl_host_value most = read_one(root, FREQUENCY_DIR "cpuinfo_max_freq");

    if (!tl_host_is_known(now))
        return now;
    return tl_host_is_known(most) ? tl_host_known(now.number / most.number) : most;
}

/* "some avg10=0.17 avg60=26.86 …" in per cent */
static struct tl_host_value read_pressure(const char *root, enum tl_host_number_id id)
{
    char text[256];
    double percent;
    enum tl_host_why why = tl_proc_read(root, tl_host_number_field(id)->source, text, sizeof(text));
    const char *at = why == TL_HOST_WHY_KNOWN ? strstr(text, "some avg10=") : NULL;

    if (why != TL_HOST_WHY_KNOWN)
        return tl_host_unknown(why);
    if (!at)
        return tl_host_unknown(TL_HOST_WHY_MALFORMED);
    at += strlen("some avg10=");
    return tl_proc_take_decimal(&at, &percent) && percent >= 0 && percent <= 100
               ? tl_host_known(percent / 100)
               : tl_host_unknown(TL_HOST_WHY_MALFORMED);
}

static bool take_tcp_memory(char *line, void *context)
{
    struct tl_host_value *value = context;
    const char *at = strstr(line, " mem ");
    uint64_t pages;

    if (strncmp(line, "TCP:", 4) != 0)
        return true;
    *value = tl_host_unknown(TL_HOST_WHY_MALFORMED);
    if (at) {
        at += strlen(" mem ");
        if (tl_proc_take_u64(&at, &pages))
            *value = tl_host_known((double)pages);
    }
    return false;
}

static struct tl_host_value read_tcp_memory(const char *root)
{
    struct tl_host_value value = tl_host_unknown(TL_HOST_WHY_ABSENT);
    enum tl_host_why why = tl_proc_each_line(
        root, tl_host_number_field(TL_HOST_TCP_MEM_USED)->source, take_tcp_memory, &value);

    return why == TL_HOST_WHY_KNOWN ? value : tl_host_unknown(why);
}

static void read_machine(struct tl_host_settings *settings, const char *root)
{
    struct tl_host_value *numbers = settings->numbers;

    numbers[TL_HOST_CPU_FREQUENCY] = read_frequency(root);
    numbers[TL_HOST_PRESSURE_CPU] = read_pressure(root, TL_HOST_PRESSURE_CPU);
    numbers[TL_HOST_PRESSURE_MEMORY] = read_pressure(root, TL_HOST_PRESSURE_MEMORY);
    numbers[TL_HOST_PRESSURE_IO] = read_pressure(root, TL_HOST_PRESSURE_IO);
    numbers[TL_HOST_TCP_MEM_USED] = read_tcp_memory(root);
    numbers[TL_HOST_MEMORY_LIMIT] = tl_cgroup_memory_limit(root);
    read_text(root, tl_host_text_field(TL_HOST_TEXT_CPU_GOVERNOR),
              &settings->texts[TL_HOST_TEXT_CPU_GOVERNOR]);
}

void tl_host_settings_read_system(struct tl_host_settings *settings, const char *root)
{
    struct tl_cgroup_cpu group;

    for (unsigned i = 0; i < TL_HOST_NUMBER_COUNT; i++)
        if (is_sysctl(tl_host_number_field(i)))
            settings->numbers[i] = read_sysctl(root, tl_host_number_field(i));
    for (unsigned i = 0; i < TL_HOST_TEXT_COUNT; i++)
        if (is_sysctl(tl_host_text_field(i)))
            read_text(root, tl_host_text_field(i), &settings->texts[i]);

    tl_cgroup_cpu_find(root, &group);
    settings->numbers[TL_HOST_CPU_QUOTA] = group.quota;
    settings->numbers[TL_HOST_CPU_CORES] = read_cores(root);
    settings->numbers[TL_HOST_CPU_ALLOWED] = read_allowed_cores(root);
    settings->numbers[TL_HOST_LOAD_1MIN] = read_load(root, settings->numbers[TL_HOST_CPU_CORES]);
    settings->numbers[TL_HOST_STEAL_SINCE_BOOT] = read_steal(root);
    read_machine(settings, root);
}

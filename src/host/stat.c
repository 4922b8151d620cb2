/* One core's line of /proc/stat. */
#include "stat.h"

#include <string.h>

#include "proc.h"

enum column { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, COLUMNS };

static bool take_core_number(const char **at, int *ret_number)
{
    int number = 0;

    if (**at == ' ') {
        *ret_number = TL_STAT_ALL_CORES;
        return true;
    }
    if (**at < '0' || **at > '9')
        return false;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        number = number * 10 + (**at - '0');
        if (number > UINT16_MAX)
            return false;
    }
    *ret_number = number;
    return true;
}

bool tl_stat_parse_line(const char *line, int *ret_number, struct tl_stat_core *ret_core)
{
    const char *at = line;
    uint64_t ticks[COLUMNS], total = 0;
    int number;

    if (strncmp(at, "cpu", 3) != 0)
        return false;
    at += 3;
    if (!take_core_number(&at, &number))
        return false;
    for (unsigned i = 0; i < COLUMNS; i++) {
        if (!tl_proc_take_u64(&at, &ticks[i]) || __builtin_add_overflow(total, ticks[i], &total))
            return false;
    }
    *ret_number = number;
    ret_core->total = total;
    ret_core->idle = ticks[IDLE] + ticks[IOWAIT];
    ret_core->softirq = ticks[IRQ] + ticks[SOFTIRQ];
    ret_core->steal = ticks[STEAL];
    return true;
}

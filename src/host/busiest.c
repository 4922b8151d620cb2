/* Which program of this machine works most, from two readings of every process's processor time
 * (proc(5), /proc/PID/stat). What another program waits or works for is not seen here. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc.h"
#include "tightlink/base/grow.h"
#include "tightlink/base/time.h"
#include "tightlink/host/process.h"

/* A machine with more has its others left out. */
#define ROWS_MAX 8192

struct row {
    pid_t pid;
    uint64_t start_ticks, cpu_ticks;
    char name[32];
};

struct tl_host_busy_reading {
    int64_t taken_ns;
    size_t count, room;
    struct row *rows;
};

/* "4711 (a name) S 1 ...": the name may hold blanks and brackets; behind the last one the state is
 * field 3, times are 14 and 15, the start is 22. */
static bool parse_row(char *text, struct row *ret_row)
{
    char *open = strchr(text, '('), *close = strrchr(text, ')');
    unsigned long long user, system, start;

    if (!open || !close || close < open)
        return false;
    *close = '\0';
    if (sscanf(
            close + 1,
            " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %llu",
            &user, &system, &start) != 3)
        return false;
    ret_row->cpu_ticks = user + system;
    ret_row->start_ticks = start;
    snprintf(ret_row->name, sizeof(ret_row->name), "%s", open + 1);
    for (char *at = ret_row->name; *at; at++)
        if (*at < 0x20 || *at > 0x7e)
            *at = '?';
    return true;
}

static void take_process(const char *root, pid_t pid, struct tl_host_busy_reading *reading)
{
    char path[64], text[1024];

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (tl_proc_read(root, path, text, sizeof(text)) != TL_HOST_WHY_KNOWN ||
        reading->count == ROWS_MAX ||
        !tl_grow(&reading->rows, reading->count, &reading->room, 256, sizeof *reading->rows))
        return;
    struct row *row = &reading->rows[reading->count];
    row->pid = pid;
    reading->count += parse_row(text, row);
}

struct tl_host_busy_reading *tl_host_busy_take(const char *root)
{
    struct tl_host_busy_reading *reading = calloc(1, sizeof(*reading));
    char path[TL_PROC_PATH_SIZE];
    struct dirent *entry;
    DIR *processes;

    snprintf(path, sizeof(path), "%s/proc", root);
    processes = reading ? opendir(path) : NULL;
    if (!processes) {
        free(reading);
        return NULL;
    }
    reading->taken_ns = tl_now_ns();
    while ((entry = readdir(processes)))
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            take_process(root, (pid_t)atol(entry->d_name), reading);
    closedir(processes);
    return reading;
}

void tl_host_busy_destroy(struct tl_host_busy_reading *reading)
{
    if (reading)
        free(reading->rows);
    free(reading);
}

/* The same process in the other reading, not a successor of its number. */
static const struct row *same(const struct tl_host_busy_reading *reading, const struct row *row)
{
    for (size_t i = 0; i < reading->count; i++)
        if (reading->rows[i].pid == row->pid && reading->rows[i].start_ticks == row->start_ticks)
            return &reading->rows[i];
    return NULL;
}

bool tl_host_busy_between(const struct tl_host_busy_reading *before,
                          const struct tl_host_busy_reading *after, pid_t self,
                          struct tl_host_busy *ret_busy)
{
    const struct row *busiest = NULL;
    uint64_t most = 0;

    if (!before || !after || after->taken_ns <= before->taken_ns)
        return false;
    for (size_t i = 0; i < after->count; i++) {
        const struct row *row = &after->rows[i];
        const struct row *earlier = row->pid == self ? NULL : same(before, row);
        if (!earlier || row->cpu_ticks <= earlier->cpu_ticks + most)
            continue;
        most = row->cpu_ticks - earlier->cpu_ticks;
        busiest = row;
    }
    *ret_busy = (struct tl_host_busy){.pid = busiest ? busiest->pid : 0};
    if (!busiest)
        return true;
    snprintf(ret_busy->name, sizeof(ret_busy->name), "%s", busiest->name);
    ret_busy->cores_ratio = (double)most * 1e9 / (double)sysconf(_SC_CLK_TCK) /
                            (double)(after->taken_ns - before->taken_ns);
    return true;
}

/* One process: its name, group, processor time and storage traffic (proc(5)). */
#include "tightlink/host/process.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proc.h"

#define NS_PER_S UINT64_C(1000000000)
/* Of a container's id people read the first twelve digits (docker ps). */
#define CONTAINER_DIGITS 12

/* Fields of /proc/PID/stat behind the name, counted as proc(5) does. */
#define STAT_PARENT 4
#define STAT_UTIME  14
#define STAT_STIME  15
#define STAT_START  22

struct stat_line {
    char state;
    pid_t parent;
    uint64_t utime_ticks, stime_ticks, start_ticks;
};

/* The name may hold blanks and brackets: what follows its last bracket is plain. */
static bool parse_stat(const char *text, struct stat_line *ret_stat)
{
    const char *at = strrchr(text, ')');
    int field = 2;

    if (!at)
        return false;
    ret_stat->state = at[1] == ' ' ? at[2] : '\0';
    for (at++; *at; at++) {
        if (*at != ' ')
            continue;
        uint64_t number = strtoull(at + 1, NULL, 10);
        field++;
        if (field == STAT_PARENT)
            ret_stat->parent = (pid_t)number;
        else if (field == STAT_UTIME)
            ret_stat->utime_ticks = number;
        else if (field == STAT_STIME)
            ret_stat->stime_ticks = number;
        else if (field == STAT_START)
            ret_stat->start_ticks = number;
    }
    return field >= STAT_START;
}

static uint64_t cpu_ns(const struct stat_line *stat)
{
    long ticks = sysconf(_SC_CLK_TCK);
    return (stat->utime_ticks + stat->stime_ticks) *
           (NS_PER_S / (uint64_t)(ticks > 0 ? ticks : 100));
}

static bool read_stat(const char *root, const char *path, struct stat_line *ret_stat)
{
    char text[1024];
    *ret_stat = (struct stat_line){0};
    return tl_proc_read(root, path, text, sizeof(text)) == TL_HOST_WHY_KNOWN &&
           parse_stat(text, ret_stat);
}

/* schedstat: "<time on CPU> <time waiting> <timeslices>" in ns
 * (Documentation/scheduler/sched-stats.rst). */
static void take_wait(const char *root, pid_t pid, struct tl_host_thread *thread)
{
    char path[64], text[96];
    unsigned long long wait_ns;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)pid, (int)thread->tid);
    if (tl_proc_read(root, path, text, sizeof(text)) != TL_HOST_WHY_KNOWN ||
        sscanf(text, "%*u %llu", &wait_ns) != 1)
        return;
    thread->wait_known = true;
    thread->wait_ns = wait_ns;
}

/* Of /proc/PID/task/TID/syscall: waits that only the clock ends, without a descriptor to wake it.
 * select() has their number first, poll() behind the list of them. */
static bool is_sleep(long call, unsigned long first, unsigned long second)
{
    switch (call) {
    case SYS_clock_nanosleep:
#ifdef SYS_nanosleep
    case SYS_nanosleep:
#endif
        return true;
#ifdef SYS_select
    case SYS_select:
#endif
    case SYS_pselect6:
        return first == 0;
#ifdef SYS_poll
    case SYS_poll:
#endif
    case SYS_ppoll:
        return second == 0;
    default:
        return false;
    }
}

static void take_sleep(const char *root, pid_t pid, struct tl_host_thread *thread)
{
    char path[64], text[256];
    unsigned long first, second;
    long call;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)thread->tid);
    thread->sleeps = tl_proc_read(root, path, text, sizeof(text)) == TL_HOST_WHY_KNOWN &&
                     sscanf(text, "%ld %lx %lx", &call, &first, &second) == 3 &&
                     is_sleep(call, first, second);
}

static void take_threads(const char *root, struct tl_host_process *process)
{
    char path[TL_PROC_PATH_SIZE];
    struct dirent *entry;

    snprintf(path, sizeof(path), "%s/proc/%d/task", root, (int)process->pid);
    DIR *tasks = opendir(path);
    while (tasks && process->thread_count < TL_HOST_PROCESS_THREADS_MAX &&
           (entry = readdir(tasks))) {
        struct tl_host_thread *thread = &process->threads[process->thread_count];
        struct stat_line stat;
        thread->tid = (pid_t)atol(entry->d_name);
        snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)process->pid, (int)thread->tid);
        if (thread->tid <= 0 || !read_stat(root, path, &stat))
            continue;
        thread->cpu_ns = cpu_ns(&stat);
        thread->state = stat.state;
        take_wait(root, process->pid, thread);
        take_sleep(root, process->pid, thread);
        process->thread_count++;
    }
    if (tasks)
        closedir(tasks);
}

static void take_name(const char *root, struct tl_host_process *process)
{
    char path[64], text[64];

    snprintf(path, sizeof(path), "/proc/%d/comm", (int)process->pid);
    if (tl_proc_read(root, path, text, sizeof(text)) != TL_HOST_WHY_KNOWN)
        return;
    for (char *at = text; *at; at++)
        if (!isprint((unsigned char)*at))
            *at = '?';
    snprintf(process->name, sizeof(process->name), "%s", text);
}

/* --- Container or service -------------------------------------------------------------------- */

static size_t hex_digits(const char *text)
{
    return strspn(text, "0123456789abcdef");
}

/* "docker-3f2a….scope", "libpod-…", "cri-containerd-…" or a bare id below /docker/: an engine
 * names its group by the container's id of 64 digits. */
static bool take_container(const char *component, char *ret_group, size_t size)
{
    const char *id = component;

    while (*id && hex_digits(id) < 32)
        id++;
    if (!*id)
        return false;
    snprintf(ret_group, size, "container %.*s", CONTAINER_DIGITS, id);
    return true;
}

static bool ends_with(const char *text, size_t len, const char *end)
{
    size_t end_len = strlen(end);
    return len > end_len && memcmp(text + len - end_len, end, end_len) == 0;
}

/* One line "HIERARCHY:CONTROLLERS:PATH"; the innermost container, else the innermost service. */
static bool take_group(char *line, void *context)
{
    struct tl_host_process *process = context;
    char *path = strchr(line, ':'), *rest = NULL;

    path = path ? strchr(path + 1, ':') : NULL;
    for (char *part = path ? strtok_r(path + 1, "/", &rest) : NULL; part;
         part = strtok_r(NULL, "/", &rest)) {
        size_t len = strnlen(part, sizeof(process->group) - 1);
        if (take_container(part, process->group, sizeof(process->group)))
            return false;
        if (ends_with(part, len, ".service") && strncmp(part, "user@", 5) != 0)
            snprintf(process->group, sizeof(process->group), "%s", part);
    }
    return true;
}

/* --- Storage --- */

static bool take_io(char *line, void *context)
{
    struct tl_host_process *process = context;
    unsigned long long number;

    process->io_known = true;
    if (sscanf(line, "read_bytes: %llu", &number) == 1)
        process->disk_read_bytes = number;
    else if (sscanf(line, "write_bytes: %llu", &number) == 1)
        process->disk_write_bytes = number;
    return true;
}

pid_t tl_host_process_parent(const char *root, pid_t pid)
{
    struct stat_line stat;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    return read_stat(root, path, &stat) ? stat.parent : 0;
}

void tl_host_process_read(const char *root, pid_t pid, struct tl_host_process *ret_process)
{
    struct stat_line stat;
    char path[64];

    *ret_process = (struct tl_host_process){.pid = pid};
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    ret_process->known = read_stat(root, path, &stat);
    if (!ret_process->known)
        return;
    ret_process->start_ticks = stat.start_ticks;
    ret_process->cpu_ns = cpu_ns(&stat);
    take_name(root, ret_process);
    take_threads(root, ret_process);
    snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
    (void)!tl_proc_each_line(root, path, take_group, ret_process);
    snprintf(path, sizeof(path), "/proc/%d/io", (int)pid);
    (void)!tl_proc_each_line(root, path, take_io, ret_process);
}

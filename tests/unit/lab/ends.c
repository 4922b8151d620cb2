/* Nothing of a lab outlives it: each of its processes is killed in turn, and
 * then no process, namespace, device or control group of it may remain.
 *
 * A lab is made by a process of its own (the holder), so that the caller can be
 * killed too. It tells the tester everything by which traces are recognised.
 * Devices live in the namespaces, and the kernel ends a namespace when no
 * process and no descriptor refers to it: that is what is looked for in /proc. */
#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "tightlink/base/time.h"

#define NAMESPACES_MAX 64
#define EXIT_MS        5000

enum victim { CALLER, GUARD, EMULATOR, STARTED, NOBODY };

/* What the holder tells, and what the tester found out itself. */
struct traces {
    pid_t holder, guard, emulator, started;
    char cgroups[2][600];
    int namespace_count;
    ino_t namespaces[NAMESPACES_MAX]; /* held by the guard, without the first one */
};

static int pidfd_open(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

static bool gone(int pidfd)
{
    struct pollfd in = {.fd = pidfd, .events = POLLIN};
    return poll(&in, 1, EXIT_MS) > 0;
}

/* The inode of a link such as /proc/1/fd/3 -> net:[4026531840]; 0 for others. */
static ino_t network_namespace(const char *path)
{
    char target[64];
    unsigned long inode = 0;
    ssize_t len = readlink(path, target, sizeof target - 1);
    if (len <= 0)
        return 0;
    target[len] = '\0';
    return sscanf(target, "net:[%lu]", &inode) == 1 ? (ino_t)inode : 0;
}

typedef void visitor(ino_t inode, pid_t pid, void *context);

static void visit_directory(const char *directory, pid_t pid, visitor *visit, void *context)
{
    DIR *dir = opendir(directory);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        char path[600];
        snprintf(path, sizeof path, "%.300s/%.255s", directory, entry->d_name);
        ino_t inode = network_namespace(path);
        if (inode)
            visit(inode, pid, context);
    }
    if (dir)
        closedir(dir);
}

static void visit_process(pid_t pid, visitor *visit, void *context)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    visit_directory(path, pid, visit, context);
    snprintf(path, sizeof path, "/proc/%d/ns/net", (int)pid);
    ino_t inode = network_namespace(path);
    if (inode)
        visit(inode, pid, context);
}

static void note_namespace(ino_t inode, pid_t pid, void *context)
{
    struct traces *traces = context;
    struct stat first;
    if (stat("/proc/self/ns/net", &first) == 0 && first.st_ino == inode)
        return;
    for (int i = 0; i < traces->namespace_count; i++)
        if (traces->namespaces[i] == inode)
            return;
    CHECK(traces->namespace_count < NAMESPACES_MAX, "process %d", (int)pid);
    traces->namespaces[traces->namespace_count++] = inode;
}

static void no_such_namespace(ino_t inode, pid_t pid, void *context)
{
    const struct traces *traces = context;
    for (int i = 0; i < traces->namespace_count; i++)
        CHECK(traces->namespaces[i] != inode, "process %d still refers to net:[%lu]", (int)pid,
              (unsigned long)inode);
}

static void check_namespaces_gone(struct traces *traces)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (atoi(entry->d_name) > 0)
            visit_process(atoi(entry->d_name), no_such_namespace, traces);
    if (dir)
        closedir(dir);
}

/* Own control group in the cpu hierarchy, as /proc tells ("/x" -> "x"). */
static void note_cgroup(pid_t pid, char ret_path[600])
{
    char path[64], line[600];
    snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
    FILE *file = fopen(path, "r");
    *ret_path = '\0';
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *name = strstr(line, "tightlink-lab-");
        if (name)
            snprintf(ret_path, 600, "%s", strrchr(line, ':') + 1);
    }
    if (file)
        fclose(file);
}

/* No directory of that name below any mounted hierarchy. */
static void check_cgroup_gone(const char *path)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu",
                                         "/sys/fs/cgroup/blkio", "/sys/fs/cgroup/cpu,cpuacct",
                                         "/sys/fs/cgroup/unified"};
    for (size_t i = 0; *path && i < sizeof mounts / sizeof *mounts; i++) {
        char full[700];
        snprintf(full, sizeof full, "%s%s", mounts[i], path);
        CHECK(access(full, F_OK) != 0 && errno == ENOENT, "%s remains", full);
    }
}

/* How many loop devices lie on a lab's memory. */
static int count_lab_disks(void)
{
    int count = 0;
    for (int i = 0; i < 256; i++) {
        char path[64], name[256] = "";
        snprintf(path, sizeof path, "/sys/block/loop%d/loop/backing_file", i);
        FILE *file = fopen(path, "r");
        count += file && fgets(name, sizeof name, file) && strstr(name, "tightlink-lab-disk");
        if (file)
            fclose(file);
    }
    return count;
}

/* The kernel lets a loop device go a moment after its last user. */
static void check_disks_gone(int before)
{
    struct timespec moment = {.tv_nsec = 20000000};
    for (int i = 0; i < 150 && count_lab_disks() > before; i++)
        nanosleep(&moment, NULL);
    CHECK(count_lab_disks() <= before, "%d loop devices before, %d after", before,
          count_lab_disks());
}

/* Makes the lab, tells, then waits: a byte asks for an end by destroy, the end
 * of the pipe for one without. */
static _Noreturn void hold(const char *spec, int tell, int obey)
{
    struct traces traces = {.holder = getpid()};
    struct tl_error err = {0};
    struct tl_lab *lab = make_bare_lab(spec);
    const char *const argv[] = {"sleep", "1000", NULL};
    struct tl_lab_pids pids = tl_lab_pids(lab);
    traces.guard = pids.guard;
    traces.emulator = pids.emulator;
    CHECK(tl_lab_spawn(lab, TL_LAB_FAR, argv, NULL, &traces.started, &err) == TL_OK, "%s",
          err.text);
    CHECK(tl_lab_enter_near(lab, &err) == TL_OK, "%s", err.text);
    note_cgroup(getpid(), traces.cgroups[0]);
    note_cgroup(traces.started, traces.cgroups[1]);
    CHECK(write(tell, &traces, sizeof traces) == (ssize_t)sizeof traces, "tell");
    char byte;
    if (read(obey, &byte, 1) == 1)
        tl_lab_destroy(lab);
    _exit(0);
}

struct held {
    struct traces traces;
    int obey;
    int fds[NOBODY]; /* pidfds by victim */
};

static struct held start_holder(const char *spec)
{
    struct held held = {0};
    int tell[2], obey[2];
    CHECK(pipe(tell) == 0 && pipe(obey) == 0, "pipe");
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(tell[0]);
        close(obey[1]);
        hold(spec, tell[1], obey[0]);
    }
    close(tell[1]);
    close(obey[0]);
    held.obey = obey[1];
    if (read(tell[0], &held.traces, sizeof held.traces) != (ssize_t)sizeof held.traces) {
        int wstatus = 0;
        waitpid(pid, &wstatus, 0);
        exit(WIFEXITED(wstatus) ? WEXITSTATUS(wstatus) : 1); /* skipped or failed: it said why */
    }
    close(tell[0]);
    const pid_t pids[] = {[CALLER] = held.traces.holder,
                          [GUARD] = held.traces.guard,
                          [EMULATOR] = held.traces.emulator,
                          [STARTED] = held.traces.started};
    for (int v = 0; v < NOBODY; v++)
        CHECK((held.fds[v] = pidfd_open(pids[v])) >= 0, "process %d", (int)pids[v]);
    visit_process(held.traces.guard, note_namespace, &held.traces);
    visit_process(held.traces.holder, note_namespace, &held.traces);
    return held;
}

static int own_links(void)
{
    struct if_nameindex *all = if_nameindex();
    int count = 0;
    while (all && all[count].if_index != 0)
        count++;
    if_freenameindex(all);
    return count;
}

static void end_by(const char *spec, enum victim victim, int namespaces, bool with_cgroups)
{
    int links = own_links(), disks = count_lab_disks();
    struct held held = start_holder(spec);
    CHECK(held.traces.namespace_count == namespaces, "%d", held.traces.namespace_count);
    CHECK((*held.traces.cgroups[0] != '\0') == with_cgroups, "%s", held.traces.cgroups[0]);
    CHECK((*held.traces.cgroups[1] != '\0') == with_cgroups, "%s", held.traces.cgroups[1]);

    if (victim != NOBODY)
        syscall(SYS_pidfd_send_signal, held.fds[victim], SIGKILL, NULL, 0);
    if (victim == GUARD || victim == EMULATOR) {
        /* The others end while the caller lives and does nothing. */
        CHECK(gone(held.fds[GUARD]) && gone(held.fds[EMULATOR]) && gone(held.fds[STARTED]),
              "a process remains");
        check_cgroup_gone(held.traces.cgroups[0]);
        check_cgroup_gone(held.traces.cgroups[1]);
    }
    if (victim == STARTED || victim == NOBODY)
        CHECK(write(held.obey, "d", 1) == 1, "obey");
    close(held.obey);
    for (int v = 0; v < NOBODY; v++)
        CHECK(gone(held.fds[v]), "process %d of 4 remains", v);
    waitpid(held.traces.holder, NULL, 0);
    check_cgroup_gone(held.traces.cgroups[0]);
    check_cgroup_gone(held.traces.cgroups[1]);
    check_namespaces_gone(&held.traces);
    check_disks_gone(disks);
    CHECK(own_links() == links, "%d links before, %d after", links, own_links());
}

#define TUN    "carrier=tun delay=1ms"
#define PACKET "carrier=packet delay=1ms"
#define CPU    "plain=on cpu=50%"
#define DISK   "plain=on disk=write:20MB/s"
#define LONG   "routers=5 lan.delay=1ms far-lan.delay=1ms delay=1ms split=on"

/* spec, how many namespaces it has, whether it has control groups */
#define END_CASES(X)                                                                               \
    X(tun, TUN, 4, false)                                                                          \
    X(packet, PACKET, 5, false)                                                                    \
    X(cpu, CPU, 2, true)                                                                           \
    X(disk, DISK, 2, true)                                                                         \
    X(tun_and_cpu, TUN " cpu=50%", 4, true)                                                        \
    X(long_way_with_proxy, LONG, 8, false)

#define DEFINE(name, spec, namespaces, with_cgroups)                                               \
    static void name##_ends_with_caller(void)                                                      \
    {                                                                                              \
        end_by(spec, CALLER, namespaces, with_cgroups);                                            \
    }                                                                                              \
    static void name##_ends_with_guard(void)                                                       \
    {                                                                                              \
        end_by(spec, GUARD, namespaces, with_cgroups);                                             \
    }                                                                                              \
    static void name##_ends_with_emulator(void)                                                    \
    {                                                                                              \
        end_by(spec, EMULATOR, namespaces, with_cgroups);                                          \
    }                                                                                              \
    static void name##_ends_after_started(void)                                                    \
    {                                                                                              \
        end_by(spec, STARTED, namespaces, with_cgroups);                                           \
    }                                                                                              \
    static void name##_ends_by_destroy(void)                                                       \
    {                                                                                              \
        end_by(spec, NOBODY, namespaces, with_cgroups);                                            \
    }
END_CASES(DEFINE)

static void as_nobody_ends_with_caller(void)
{
    end_by(PACKET, CALLER, 5, false);
}

static void as_nobody_ends_with_guard(void)
{
    end_by(PACKET, GUARD, 5, false);
}

#define LIST(name, spec, namespaces, with_cgroups)                                                 \
    {#name " ends with caller", name##_ends_with_caller, with_cgroups ? NEEDS_ROOT : 0},           \
        {#name " ends with guard", name##_ends_with_guard, with_cgroups ? NEEDS_ROOT : 0},         \
        {#name " ends with emulator", name##_ends_with_emulator, with_cgroups ? NEEDS_ROOT : 0},   \
        {#name " ends after started", name##_ends_after_started, with_cgroups ? NEEDS_ROOT : 0},   \
        {#name " ends by destroy", name##_ends_by_destroy, with_cgroups ? NEEDS_ROOT : 0},

static const struct test_case cases[] = {
    END_CASES(LIST){"as nobody ends with caller", as_nobody_ends_with_caller, AS_NOBODY},
    {"as nobody ends with guard", as_nobody_ends_with_guard, AS_NOBODY},
};

int main(int argc, char **argv)
{
    return run_cases(cases, sizeof cases / sizeof *cases, argc > 1 ? argv[1] : NULL);
}

/* CPU shares and disk rates by control groups; see cgroup.h, cgroups(7),
 * Documentation/admin-guide/cgroup-v1/blkio-controller.rst. */
#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "privilege.h"
#include "tightlink/base/time.h"

/* Processes ended in one group at removal; a lab starts a handful. */
#define MEMBERS_MAX 256

/* How long a killed process may take to go. */
#define MEMBER_EXIT_MS 2000
/* Half a second, at most, for a group whose last member is ending. */
#define REMOVE_TRIES 50
#define REMOVE_NS    (10 * TL_NS_PER_MS)

static const char *const controllers[TL_LAB_CONTROLLER_COUNT] = {"cpu", "blkio"};

/* Where a controller is mounted and where in it this process is. */
struct place {
    int version; /* 0: not found */
    char mount[TL_LAB_CGROUP_PATH];
    char own[TL_LAB_CGROUP_PATH]; /* "" for the root, else "/a/b" */
};

static bool has_word(const char *list, const char *word, const char *separators)
{
    size_t len = strlen(word);
    for (const char *p = list; *p; p += strspn(p, separators)) {
        size_t n = strcspn(p, separators);
        if (n == len && strncmp(p, word, n) == 0)
            return true;
        p += n;
    }
    return false;
}

/* /proc/self/mountinfo, proc(5): "id parent dev root MOUNT opts ... - TYPE source SUPER".
 * Fills the mount of version 1's controller, or of version 2. */
static void find_mounts(const char *controller, char ret_v1[TL_LAB_CGROUP_PATH],
                        char ret_v2[TL_LAB_CGROUP_PATH])
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    char line[4096], mount[TL_LAB_CGROUP_PATH], type[32], super[512];
    *ret_v1 = *ret_v2 = '\0';
    while (file && fgets(line, sizeof line, file)) {
        const char *tail = strstr(line, " - ");
        if (!tail || sscanf(line, "%*s %*s %*s %*s %511s", mount) != 1 ||
            sscanf(tail, " - %31s %*s %511s", type, super) != 2)
            continue;
        if (strcmp(type, "cgroup") == 0 && has_word(super, controller, ",\n"))
            snprintf(ret_v1, TL_LAB_CGROUP_PATH, "%s", mount);
        else if (strcmp(type, "cgroup2") == 0)
            snprintf(ret_v2, TL_LAB_CGROUP_PATH, "%s", mount);
    }
    if (file)
        fclose(file);
}

/* /proc/self/cgroup: "id:controllers:path"; version 2 has no controllers. */
static void find_own(const char *controller, bool version_2, char ret_own[TL_LAB_CGROUP_PATH])
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[1024];
    *ret_own = '\0';
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *list = strchr(line, ':');
        char *path = list ? strchr(list + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        bool ours = version_2 ? list[1] == '\0' : has_word(list + 1, controller, ",");
        if (ours && strcmp(path, "/") != 0)
            snprintf(ret_own, TL_LAB_CGROUP_PATH, "%.511s", path);
    }
    if (file)
        fclose(file);
}

static struct place find_place(const char *controller)
{
    struct place place = {0};
    char v1[TL_LAB_CGROUP_PATH], v2[TL_LAB_CGROUP_PATH];
    find_mounts(controller, v1, v2);
    place.version = *v1 ? 1 : *v2 ? 2 : 0;
    snprintf(place.mount, sizeof place.mount, "%s", *v1 ? v1 : v2);
    if (place.version)
        find_own(controller, place.version == 2, place.own);
    return place;
}

/* Writes into a file of a group's directory; 0 or an errno. */
static int write_file(const char *directory, const char *name, const char *text)
{
    char path[TL_LAB_CGROUP_PATH + 64];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return tl_lab_write_text(path, text);
}

static bool hands_cpu_down(const char *directory)
{
    char path[TL_LAB_CGROUP_PATH + 64], text[256];
    snprintf(path, sizeof path, "%s/cgroup.subtree_control", directory);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (len < 0)
        return false;
    text[len] = '\0';
    return has_word(text, "cpu", " \n");
}

/* The directory in which a group can be made; cuts place->own to it. */
static bool find_parent(struct place *place, char ret_parent[TL_LAB_CGROUP_PATH])
{
    for (;;) {
        int n = snprintf(ret_parent, TL_LAB_CGROUP_PATH, "%.300s%.200s", place->mount, place->own);
        if (n >= TL_LAB_CGROUP_PATH)
            return false;
        if (place->version == 1 || hands_cpu_down(ret_parent))
            return access(ret_parent, W_OK) == 0;
        char *last = strrchr(place->own, '/');
        if (!last)
            return false;
        *last = '\0';
    }
}

static int set_share(const char *directory, int version, const struct tl_lab_host_config *host)
{
    char text[64];
    long long period_us = (long long)(host->cpu_period_ns / TL_NS_PER_US);
    long long quota_us = (long long)(host->cpu_ratio * (double)period_us);
    if (version == 2) {
        snprintf(text, sizeof text, "%lld %lld", quota_us, period_us);
        return write_file(directory, "cpu.max", text);
    }
    snprintf(text, sizeof text, "%lld", period_us);
    int errnum = write_file(directory, "cpu.cfs_period_us", text);
    snprintf(text, sizeof text, "%lld", quota_us);
    return errnum ? errnum : write_file(directory, "cpu.cfs_quota_us", text);
}

static enum tl_status refused(int errnum, const char *directory, struct tl_error *reterr)
{
    return tl_error_set(reterr, tl_status_from_errno(errnum),
                        "cannot make a control group in %.200s: %s; limiting a host's processor "
                        "or disk needs write access there: run as root",
                        directory, strerror(errnum));
}

/* A rate of a device in bytes a second; 0 is none. */
static int set_rate(const char *directory, const char *file, const struct tl_lab_disk *disk,
                    double bps)
{
    char text[64];
    snprintf(text, sizeof text, "%u:%u %.0f", disk->major, disk->minor, bps / 8);
    return bps > 0 ? write_file(directory, file, text) : 0;
}

static int set_disk(const char *directory, const struct tl_lab_host_config *host,
                    const struct tl_lab_disk *disk)
{
    int errnum = set_rate(directory, "blkio.throttle.read_bps_device", disk, host->disk_read_bps);
    return errnum
               ? errnum
               : set_rate(directory, "blkio.throttle.write_bps_device", disk, host->disk_write_bps);
}

/* What one make works on. */
struct making {
    struct tl_lab_cgroups *cgroups;
    const struct tl_lab_config *config;
    const struct tl_lab_disks *disks;
    enum tl_lab_controller controller;
};

static bool is_wanted(const struct making *making, int host)
{
    const struct tl_lab_host_config *wanted = &making->config->host[host];
    if (making->controller == TL_LAB_CPU)
        return wanted->cpu_ratio > 0;
    return wanted->disk_read_bps > 0 || wanted->disk_write_bps > 0;
}

static enum tl_status make_one(const struct making *making, const char *parent, int version,
                               int which, struct tl_error *reterr)
{
    char *path = making->cgroups->sets[making->controller].path[which];
    const struct tl_lab_host_config *host = &making->config->host[which];
    int n = snprintf(path, TL_LAB_CGROUP_PATH, "%.440s/tightlink-lab-%d-%s", parent, (int)getpid(),
                     which == TL_LAB_NEAR ? "near" : "far");
    if (n >= TL_LAB_CGROUP_PATH || mkdir(path, 0755) != 0) {
        int errnum = n >= TL_LAB_CGROUP_PATH ? ENAMETOOLONG : errno;
        *path = '\0';
        return refused(errnum, parent, reterr);
    }
    int errnum = making->controller == TL_LAB_CPU
                     ? set_share(path, version, host)
                     : set_disk(path, host, &making->disks->disk[which]);
    return errnum ? refused(errnum, path, reterr) : TL_OK;
}

static enum tl_status no_group(const struct making *making, bool is_mounted,
                               struct tl_error *reterr)
{
    bool cpu = making->controller == TL_LAB_CPU;
    if (!is_mounted)
        return tl_error_set(reterr, TL_UNSUPPORTED,
                            "limiting a host's %s needs control groups%s, and none with a %s "
                            "controller is mounted",
                            cpu ? "processor" : "disk", cpu ? "" : " of version 1",
                            controllers[making->controller]);
    return tl_error_set(reterr, TL_DENIED,
                        "no control group with a %s controller may be made by this user; limiting "
                        "a host's %s needs that: run as root%s",
                        controllers[making->controller], cpu ? "processor" : "disk",
                        cpu ? ", or with systemd-run --user --scope -p Delegate=yes" : "");
}

/* The groups of one controller, where any host wants one. */
static enum tl_status make_set(const struct making *making, struct tl_error *reterr)
{
    struct tl_lab_cgroup_set *set = &making->cgroups->sets[making->controller];
    char parent[TL_LAB_CGROUP_PATH];
    if (!is_wanted(making, TL_LAB_NEAR) && !is_wanted(making, TL_LAB_FAR))
        return TL_OK;
    struct place place = find_place(controllers[making->controller]);
    if (place.version == 0 || (place.version == 2 && making->controller == TL_LAB_BLKIO))
        return no_group(making, false, reterr);
    snprintf(set->home, sizeof set->home, "%.300s%.200s", place.mount, place.own);
    if (!find_parent(&place, parent))
        return no_group(making, true, reterr);
    enum tl_status status = TL_OK;
    for (int h = 0; h < TL_LAB_HOST_COUNT && status == TL_OK; h++)
        if (is_wanted(making, h))
            status = make_one(making, parent, place.version, h, reterr);
    return status;
}

enum tl_status tl_lab_cgroups_make(struct tl_lab_cgroups *cgroups,
                                   const struct tl_lab_config *config,
                                   const struct tl_lab_disks *disks, pid_t caller,
                                   struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    memset(cgroups, 0, sizeof *cgroups);
    cgroups->caller = caller;
    for (int c = 0; c < TL_LAB_CONTROLLER_COUNT && status == TL_OK; c++) {
        struct making making = {cgroups, config, disks, (enum tl_lab_controller)c};
        status = make_set(&making, reterr);
    }
    if (status != TL_OK)
        tl_lab_cgroups_remove(cgroups);
    return status;
}

static int move(pid_t pid, const char *directory)
{
    char text[32];
    snprintf(text, sizeof text, "%d", (int)pid);
    return write_file(directory, "cgroup.procs", text);
}

enum tl_status tl_lab_cgroups_join(const struct tl_lab_cgroups *cgroups, enum tl_lab_host host,
                                   struct tl_error *reterr)
{
    for (int c = 0; c < TL_LAB_CONTROLLER_COUNT; c++) {
        const char *path = cgroups->sets[c].path[host];
        int errnum = *path ? move(getpid(), path) : 0;
        if (errnum)
            return refused(errnum, path, reterr);
    }
    return TL_OK;
}

enum tl_status tl_lab_cgroups_leave(const struct tl_lab_cgroups *cgroups, struct tl_error *reterr)
{
    for (int c = 0; c < TL_LAB_CONTROLLER_COUNT; c++) {
        const struct tl_lab_cgroup_set *set = &cgroups->sets[c];
        int errnum = *set->path[TL_LAB_NEAR] ? move(cgroups->caller, set->home) : 0;
        if (errnum)
            return refused(errnum, set->home, reterr);
    }
    return TL_OK;
}

/* Kills one member and waits until it has gone. It holds a descriptor of the
 * process, so that its number cannot meanwhile mean another one. */
static void end_member(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return;
    syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
    struct pollfd gone = {.fd = fd, .events = POLLIN};
    poll(&gone, 1, MEMBER_EXIT_MS);
    close(fd);
}

/* The near group holds the caller and what it started: that goes home with it.
 * The far group holds processes of the lab: they end. */
static void empty_group(const struct tl_lab_cgroup_set *set, enum tl_lab_host host)
{
    char path[TL_LAB_CGROUP_PATH + 64];
    snprintf(path, sizeof path, "%s/cgroup.procs", set->path[host]);
    FILE *file = fopen(path, "re");
    int pids[MEMBERS_MAX];
    int count = 0;
    while (file && count < MEMBERS_MAX && fscanf(file, "%d", &pids[count]) == 1)
        count++;
    if (file)
        fclose(file);
    for (int i = 0; i < count; i++) {
        if (host == TL_LAB_NEAR)
            (void)move(pids[i], set->home);
        else
            end_member(pids[i]);
    }
}

static void remove_set(const struct tl_lab_cgroup_set *set)
{
    for (int h = 0; h < TL_LAB_HOST_COUNT; h++) {
        const char *path = set->path[h];
        if (!*path || access(path, F_OK) != 0)
            continue;
        /* A process that was starting another one may leave that behind, and one that is ending is
         * no member any more but holds the group for a moment: look again. */
        for (int tries = 0; tries < REMOVE_TRIES && rmdir(path) != 0 && errno == EBUSY; tries++) {
            empty_group(set, (enum tl_lab_host)h);
            nanosleep(&(struct timespec){.tv_nsec = REMOVE_NS}, NULL);
        }
    }
}

void tl_lab_cgroups_remove(const struct tl_lab_cgroups *cgroups)
{
    for (int c = 0; c < TL_LAB_CONTROLLER_COUNT; c++)
        remove_set(&cgroups->sets[c]);
}

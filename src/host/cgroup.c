/* The control group that limits this process's processor time.
 *
 * /proc/self/mountinfo tells where the hierarchies are mounted, /proc/self/cgroup which
 * group of each this process is in (proc(5), cgroups(7)). From that group up to the
 * mount point every level may have a quota:
 *   version 1: cpu.cfs_quota_us (-1: none) of cpu.cfs_period_us
 *   version 2: cpu.max, "15000 100000" or "max 100000" (not in the root group) */
#include "cgroup.h"

#include <stdio.h>
#include <string.h>

/* Deeper nesting is cut; Kubernetes needs about five levels. */
#define LEVELS_MAX 32

enum hierarchy_version { V1, V2, VERSIONS };

struct hierarchy {
    char mount_root[TL_PROC_PATH_SIZE];  /* which group the mount point shows */
    char mount_point[TL_PROC_PATH_SIZE]; /* "" when not mounted */
    char group[TL_PROC_PATH_SIZE];       /* of this process, "" when unknown */
};

struct search {
    const char *controller; /* "cpu", "memory", "blkio" */
    struct hierarchy hierarchies[VERSIONS];
};

/* True when the list, "cpu,cpuacct" or "rw,cpu", has the word. */
static bool list_has(const char *list, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = list; at; at = strchr(at, ',')) {
        if (*at == ',')
            at++;
        if (strncmp(at, word, len) == 0 && (at[len] == ',' || at[len] == '\0'))
            return true;
    }
    return false;
}

/* mountinfo writes blank, tab, newline and backslash as \ooo. In place. */
static void unescape(char *text)
{
    char *to = text;

    for (char *from = text; *from; to++) {
        if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
            from[2] <= '7' && from[3] >= '0' && from[3] <= '7') {
            *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

static bool copy_path(char ret_path[TL_PROC_PATH_SIZE], const char *path)
{
    int len = snprintf(ret_path, TL_PROC_PATH_SIZE, "%s", path);

    if (len >= 0 && len < TL_PROC_PATH_SIZE)
        return true;
    ret_path[0] = '\0';
    return false;
}

/* "36 35 98:0 /root /point opts … - type source superopts" */
static bool take_mount(char *line, void *context)
{
    struct search *search = context;
    struct hierarchy *hierarchies = search->hierarchies;
    char *fields[5], *save = NULL, *word, *type, *options;
    enum hierarchy_version version;

    for (size_t i = 0; i < 5; i++)
        if (!(fields[i] = strtok_r(i == 0 ? line : NULL, " ", &save)))
            return true;
    while ((word = strtok_r(NULL, " ", &save)) && strcmp(word, "-") != 0)
        ;
    type = strtok_r(NULL, " ", &save);
    (void)strtok_r(NULL, " ", &save);
    options = strtok_r(NULL, " ", &save);
    if (!type || !options)
        return true;
    if (strcmp(type, "cgroup") == 0 && list_has(options, search->controller))
        version = V1;
    else if (strcmp(type, "cgroup2") == 0)
        version = V2;
    else
        return true;
    if (hierarchies[version].mount_point[0])
        return true;
    unescape(fields[3]);
    unescape(fields[4]);
    if (!copy_path(hierarchies[version].mount_root, fields[3]) ||
        !copy_path(hierarchies[version].mount_point, fields[4]))
        hierarchies[version].mount_point[0] = '\0';
    return true;
}

/* "4:cpu,cpuacct:/group" of version 1, "0::/group" of version 2 */
static bool take_group(char *line, void *context)
{
    struct search *search = context;
    struct hierarchy *hierarchies = search->hierarchies;
    char *list = strchr(line, ':');
    char *path = list ? strchr(list + 1, ':') : NULL;

    if (!path)
        return true;
    *list++ = '\0';
    *path++ = '\0';
    if (*list == '\0' && strcmp(line, "0") == 0)
        copy_path(hierarchies[V2].group, path);
    else if (list_has(list, search->controller))
        copy_path(hierarchies[V1].group, path);
    return true;
}

/* The part of the group's path below the mount point: a container may mount only its
 * own branch. A group outside the branch is seen as the mount point itself. */
static const char *below_mount(const struct hierarchy *hierarchy)
{
    const char *root = hierarchy->mount_root, *group = hierarchy->group;
    size_t len = strlen(root);

    if (strcmp(root, "/") == 0)
        len = 0;
    if (strncmp(group, root, len) != 0 || (group[len] != '/' && group[len] != '\0') ||
        strstr(group, ".."))
        return "";
    group += len;
    return strcmp(group, "/") == 0 ? "" : group;
}

/* Joins a directory and a file; false when it does not fit. */
static bool join(char ret_path[TL_PROC_PATH_SIZE], const char *dir, const char *file)
{
    int len = snprintf(ret_path, TL_PROC_PATH_SIZE, "%s/%s", dir, file);

    return len >= 0 && len < TL_PROC_PATH_SIZE;
}

static enum tl_host_why read_in(const char *root, const char *dir, const char *file, char *ret_text,
                                size_t size)
{
    char path[TL_PROC_PATH_SIZE];

    if (!join(path, dir, file))
        return TL_HOST_WHY_TOO_LONG;
    return tl_proc_read(root, path, ret_text, size);
}

static struct tl_host_value quota_from(double quota_us, double period_us)
{
    if (quota_us < 0)
        return tl_host_unknown(TL_HOST_WHY_NOT_SET);
    if (!(quota_us > 0) || !(period_us > 0))
        return tl_host_unknown(TL_HOST_WHY_MALFORMED);
    return tl_host_known(quota_us / period_us);
}

static struct tl_host_value read_quota_v1(const char *root, const char *dir)
{
    char quota_text[64], period_text[64];
    const char *quota_at = quota_text, *period_at = period_text;
    double quota_us, period_us;
    enum tl_host_why why = read_in(root, dir, "cpu.cfs_quota_us", quota_text, sizeof(quota_text));

    if (why == TL_HOST_WHY_KNOWN)
        why = read_in(root, dir, "cpu.cfs_period_us", period_text, sizeof(period_text));
    if (why != TL_HOST_WHY_KNOWN)
        return tl_host_unknown(why);
    if (!tl_proc_take_decimal(&quota_at, &quota_us) ||
        !tl_proc_take_decimal(&period_at, &period_us))
        return tl_host_unknown(TL_HOST_WHY_MALFORMED);
    return quota_from(quota_us, period_us);
}

static struct tl_host_value read_quota_v2(const char *root, const char *dir)
{
    char text[64];
    const char *at = text;
    double quota_us, period_us;
    enum tl_host_why why = read_in(root, dir, "cpu.max", text, sizeof(text));

    if (why != TL_HOST_WHY_KNOWN)
        return tl_host_unknown(why);
    if (strncmp(text, "max", 3) == 0)
        return tl_host_unknown(TL_HOST_WHY_NOT_SET);
    if (!tl_proc_take_decimal(&at, &quota_us) || !tl_proc_take_decimal(&at, &period_us))
        return tl_host_unknown(TL_HOST_WHY_MALFORMED);
    return quota_from(quota_us, period_us);
}

/* Notes a level whose quota is smaller than what was found below it. A level without
 * the file (the root group of version 2) sets no limit. */
static void consider_cpu(const char *root, enum hierarchy_version version, const char *dir,
                         void *result)
{
    struct tl_cgroup_cpu *group = result;
    struct tl_host_value quota =
        version == V1 ? read_quota_v1(root, dir) : read_quota_v2(root, dir);
    char stat_path[TL_PROC_PATH_SIZE];

    if (quota.why == TL_HOST_WHY_ABSENT)
        quota.why = TL_HOST_WHY_NOT_SET;
    if (!join(stat_path, dir, "cpu.stat"))
        return;
    if (!group->stat_path[0])
        memcpy(group->stat_path, stat_path, sizeof(stat_path));
    if (!tl_host_is_known(quota)) {
        /* A limit that may be there but cannot be read outweighs "not set". */
        if (!tl_host_is_known(group->quota) && group->quota.why != TL_HOST_WHY_DENIED &&
            group->quota.why != TL_HOST_WHY_MALFORMED)
            group->quota = quota;
    } else if (!tl_host_is_known(group->quota) || quota.number < group->quota.number) {
        group->quota = quota;
        memcpy(group->stat_path, stat_path, sizeof(stat_path));
    }
}

/* Calls consider for each level from the process's group up to the mount point. */
typedef void (*level_fn)(const char *root, enum hierarchy_version version, const char *dir,
                         void *result);
static void walk_up(const char *root, enum hierarchy_version version,
                    const struct hierarchy *hierarchy, level_fn consider, void *result)
{
    char dir[TL_PROC_PATH_SIZE];
    size_t mount_len = strlen(hierarchy->mount_point);
    int len;

    if (!hierarchy->mount_point[0] || !hierarchy->group[0])
        return;
    len = snprintf(dir, sizeof(dir), "%s%s", hierarchy->mount_point, below_mount(hierarchy));
    if (len < 0 || (size_t)len >= sizeof(dir))
        return;
    for (unsigned level = 0; level < LEVELS_MAX; level++) {
        char *slash;

        consider(root, version, dir, result);
        slash = strrchr(dir, '/');
        if (!slash || (size_t)(slash - dir) < mount_len)
            return;
        *slash = '\0';
    }
}

/* Finds the process's groups of a controller and walks up from them. */
static enum tl_host_why walk(const char *root, const char *controller, level_fn consider,
                             void *result)
{
    struct search search = {.controller = controller};
    enum tl_host_why why = tl_proc_each_line(root, "/proc/self/mountinfo", take_mount, &search);

    if (why == TL_HOST_WHY_KNOWN)
        why = tl_proc_each_line(root, "/proc/self/cgroup", take_group, &search);
    if (why == TL_HOST_WHY_KNOWN)
        for (unsigned version = V1; version < VERSIONS; version++)
            walk_up(root, (enum hierarchy_version)version, &search.hierarchies[version], consider,
                    result);
    return why;
}

void tl_cgroup_cpu_find(const char *root, struct tl_cgroup_cpu *ret_group)
{
    enum tl_host_why why;

    memset(ret_group, 0, sizeof(*ret_group));
    ret_group->quota = tl_host_unknown(TL_HOST_WHY_ABSENT);
    why = walk(root, "cpu", consider_cpu, ret_group);
    if (why != TL_HOST_WHY_KNOWN)
        ret_group->quota = tl_host_unknown(why);
}

/* "max" (version 2) or a number above every memory (version 1: 2^63 less a page): none. */
static void consider_memory(const char *root, enum hierarchy_version version, const char *dir,
                            void *result)
{
    struct tl_host_value *limit = result;
    char text[64];
    const char *at = text;
    uint64_t bytes;
    enum tl_host_why why = read_in(
        root, dir, version == V1 ? "memory.limit_in_bytes" : "memory.max", text, sizeof(text));

    if (why == TL_HOST_WHY_DENIED && !tl_host_is_known(*limit))
        *limit = tl_host_unknown(why);
    if (why != TL_HOST_WHY_KNOWN || !tl_proc_take_u64(&at, &bytes) || bytes >= UINT64_C(1) << 62)
        return;
    if (!tl_host_is_known(*limit) || (double)bytes < limit->number)
        *limit = tl_host_known((double)bytes);
}

struct tl_host_value tl_cgroup_memory_limit(const char *root)
{
    struct tl_host_value limit = tl_host_unknown(TL_HOST_WHY_NOT_SET);
    enum tl_host_why why = walk(root, "memory", consider_memory, &limit);

    return why == TL_HOST_WHY_KNOWN ? limit : tl_host_unknown(why);
}

/* What is called for each level from outside of this file. */
struct visit {
    tl_cgroup_level_fn *level;
    void *context;
};

static void consider_visit(const char *root, enum hierarchy_version version, const char *dir,
                           void *result)
{
    struct visit *visit = result;

    visit->level(visit->context, version == V1 ? 1 : 2, dir);
}

enum tl_host_why tl_cgroup_each_level(const char *root, const char *controller,
                                      tl_cgroup_level_fn *level, void *context)
{
    struct visit visit = {level, context};

    return walk(root, controller, consider_visit, &visit);
}

static bool take_stat(char *line, void *context)
{
    struct tl_cgroup_stat *stat = context;
    char *blank = strchr(line, ' ');
    const char *at = blank;
    uint64_t number;

    if (!blank || !tl_proc_take_u64(&at, &number))
        return true;
    *blank = '\0';
    if (strcmp(line, "nr_periods") == 0)
        stat->periods_count = number;
    else if (strcmp(line, "nr_throttled") == 0)
        stat->throttled_count = number;
    else if (strcmp(line, "throttled_time") == 0)
        stat->throttled_ns = number;
    else if (strcmp(line, "throttled_usec") == 0)
        stat->throttled_ns = number * 1000;
    else
        return true;
    stat->why = TL_HOST_WHY_KNOWN;
    return true;
}

void tl_cgroup_stat_read(const char *root, const char *stat_path, struct tl_cgroup_stat *ret_stat)
{
    enum tl_host_why why = TL_HOST_WHY_ABSENT;

    *ret_stat = (struct tl_cgroup_stat){.why = TL_HOST_WHY_ABSENT};
    if (stat_path[0])
        why = tl_proc_each_line(root, stat_path, take_stat, ret_stat);
    if (why != TL_HOST_WHY_KNOWN)
        *ret_stat = (struct tl_cgroup_stat){.why = why};
}

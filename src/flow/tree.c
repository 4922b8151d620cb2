/* A command's processes, looked at from outside: /proc of each, its threads, sockets and files. */
#include "tightlink/flow/tree.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tightlink/host/cpu.h"
#include "tightlink/host/process.h"

#define PATH_SIZE      512
#define FILES_EACH_MAX 32
#define NAMES_MAX      16

struct thread {
    pid_t tid;
    /* Processor time, and what it waited for it, at the mark, or when it was met, and now. */
    uint64_t from_ns, to_ns, wait_from_ns, wait_to_ns;
    bool wait_known;
};

struct member {
    pid_t pid;
    uint64_t start_ticks;
    char name[64];
    bool here; /* met in the last look; what one that is gone did still counts */
    struct thread threads[TL_HOST_PROCESS_THREADS_MAX];
    size_t thread_count;
    uint32_t looks, waits, sleeps; /* since the mark */
};

/* A set of numbers, open addressing; 0 is none. */
struct set {
    uint64_t *slots;
    size_t size, count; /* size: a power of two, twice what it may hold */
};

struct tl_flow_tree {
    char root[64];
    pid_t ancestor;
    struct member members[TL_FLOW_TREE_PROCESSES_MAX];
    size_t count;
    struct set sockets, files;
    char names[NAMES_MAX][64]; /* of all that were ever met */
    size_t name_count;
    struct tl_cpu_reader cpu;
    struct tl_cpu_reading cpu_mark;
    int64_t mark_ns;
    uint32_t looks; /* since the mark */
    bool hidden;
};

/* --- A set of numbers ------------------------------------------------------------------------ */

static bool set_create(struct set *set, size_t most)
{
    set->size = 2 * most;
    set->slots = calloc(set->size, sizeof(*set->slots));
    return set->slots != NULL;
}

static size_t slot_of(const struct set *set, uint64_t number)
{
    size_t slot = (size_t)(number * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (set->size - 1);
    while (set->slots[slot] && set->slots[slot] != number)
        slot = (slot + 1) & (set->size - 1);
    return slot;
}

static void set_add(struct set *set, uint64_t number)
{
    size_t slot = slot_of(set, number);
    if (!number || set->slots[slot] || 2 * set->count == set->size)
        return;
    set->slots[slot] = number;
    set->count++;
}

/* FNV-1a: two files that share one number count as one. */
static uint64_t number_of(const char *text)
{
    uint64_t number = UINT64_C(14695981039346656037);
    for (; *text; text++)
        number = (number ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return number;
}

/* --- Create, destroy -------------------------------------------------------------------------- */

struct tl_flow_tree *tl_flow_tree_create(const char *root, pid_t ancestor)
{
    struct tl_flow_tree *tree = calloc(1, sizeof(*tree));

    if (!tree)
        return NULL;
    snprintf(tree->root, sizeof(tree->root), "%s", root);
    tree->ancestor = ancestor;
    tl_cpu_reader_init(&tree->cpu, tree->root);
    tl_cpu_reading_take(&tree->cpu, &tree->cpu_mark);
    if (set_create(&tree->sockets, TL_FLOW_TREE_SOCKETS_MAX) &&
        set_create(&tree->files, TL_FLOW_TREE_FILES_MAX))
        return tree;
    tl_flow_tree_destroy(tree);
    return NULL;
}

void tl_flow_tree_destroy(struct tl_flow_tree *tree)
{
    if (!tree)
        return;
    free(tree->sockets.slots);
    free(tree->files.slots);
    free(tree);
}

/* --- One process ------------------------------------------------------------------------------ */

static bool is_of_the_system(const char *path)
{
    static const char *const folders[] = {"/usr/", "/etc/", "/lib", "/dev/", "/proc/", "/sys/"};
    static const char memory[] = "/dev/shm/"; /* files like any others */

    if (strncmp(path, memory, strlen(memory)) == 0)
        return false;
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
        if (strncmp(path, folders[i], strlen(folders[i])) == 0)
            return true;
    return false;
}

static void take_files(struct tl_flow_tree *tree, pid_t pid)
{
    struct tl_host_process_file files[FILES_EACH_MAX];
    size_t count = tl_host_process_files(tree->root, pid, files, FILES_EACH_MAX);

    for (size_t i = 0; i < count; i++)
        if (!is_of_the_system(files[i].path))
            set_add(&tree->files, number_of(files[i].path));
}

/* False where its descriptors may not be read: another user's, or one with more privilege. One
 * that has ended meanwhile has none. */
static bool take_sockets(struct tl_flow_tree *tree, pid_t pid)
{
    char path[PATH_SIZE], target[64];
    struct dirent *entry;

    snprintf(path, sizeof(path), "%s/proc/%d/fd", tree->root, (int)pid);
    DIR *folder = opendir(path);
    if (!folder)
        return errno != EACCES && errno != EPERM;
    while ((entry = readdir(folder))) {
        unsigned long long inode;
        ssize_t len = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
        if (len <= 0)
            continue;
        target[len] = '\0';
        if (sscanf(target, "socket:[%llu]", &inode) == 1)
            set_add(&tree->sockets, inode);
    }
    closedir(folder);
    return true;
}

static void take_thread(struct member *member, const struct tl_host_thread *seen)
{
    for (size_t i = 0; i < member->thread_count; i++)
        if (member->threads[i].tid == seen->tid) {
            member->threads[i].to_ns = seen->cpu_ns;
            member->threads[i].wait_to_ns = seen->wait_ns;
            return;
        }
    if (member->thread_count == TL_HOST_PROCESS_THREADS_MAX)
        return;
    member->threads[member->thread_count++] = (struct thread){.tid = seen->tid,
                                                              .from_ns = seen->cpu_ns,
                                                              .to_ns = seen->cpu_ns,
                                                              .wait_from_ns = seen->wait_ns,
                                                              .wait_to_ns = seen->wait_ns,
                                                              .wait_known = seen->wait_known};
}

static void keep_name(struct tl_flow_tree *tree, const char *name)
{
    if (tree->name_count == NAMES_MAX || tl_flow_tree_has(tree, name))
        return;
    snprintf(tree->names[tree->name_count++], sizeof(tree->names[0]), "%s", name);
}

/* The place of one that is gone, of those the one that did least; NULL where all are there. */
static struct member *free_place(struct tl_flow_tree *tree)
{
    struct member *least = NULL;

    if (tree->count < TL_FLOW_TREE_PROCESSES_MAX)
        return &tree->members[tree->count++];
    for (size_t i = 0; i < tree->count; i++)
        if (!tree->members[i].here && (!least || tree->members[i].looks < least->looks))
            least = &tree->members[i];
    return least;
}

/* The same process again, or a new place: its number may be another one's by now. */
static struct member *place_of(struct tl_flow_tree *tree, const struct tl_host_process *process)
{
    struct member *member;

    for (size_t i = 0; i < tree->count; i++)
        if (tree->members[i].pid == process->pid &&
            tree->members[i].start_ticks == process->start_ticks)
            return &tree->members[i];
    member = free_place(tree);
    if (!member)
        return NULL;
    *member = (struct member){.pid = process->pid, .start_ticks = process->start_ticks};
    return member;
}

static void look_at(struct tl_flow_tree *tree, pid_t pid)
{
    struct tl_host_process process;
    bool waits = false, runs = false, sleeps = false;

    tl_host_process_read(tree->root, pid, &process);
    struct member *member = process.known ? place_of(tree, &process) : NULL;
    if (!member || member->here)
        return;
    member->here = true;
    memcpy(member->name, process.name, sizeof(member->name)); /* exec changes it */
    keep_name(tree, process.name);
    for (size_t i = 0; i < process.thread_count; i++) {
        take_thread(member, &process.threads[i]);
        waits |= process.threads[i].state == 'D';
        runs |= process.threads[i].state == 'R';
        /* Others may be a runtime's own timers. */
        sleeps |= process.threads[i].sleeps && process.threads[i].tid == pid;
    }
    member->looks++;
    member->waits += waits && !runs;
    member->sleeps += sleeps && !runs;
    if (take_sockets(tree, pid))
        take_files(tree, pid);
    else
        tree->hidden = true;
}

/* --- All of them ------------------------------------------------------------------------------ */

/* Those that a thread has started, from its file of them; into ret_pids, at most max. */
static size_t read_children(const char *root, pid_t pid, const char *tid, pid_t *ret_pids,
                            size_t max)
{
    char path[PATH_SIZE], text[4096];
    size_t count = 0;

    snprintf(path, sizeof(path), "%s/proc/%d/task/%.20s/children", root, (int)pid, tid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    size_t len = fread(text, 1, sizeof(text) - 1, file);
    text[len] = '\0';
    fclose(file);
    for (char *at = text, *end; count < max; at = end) {
        long number = strtol(at, &end, 10);
        if (end == at)
            break;
        ret_pids[count++] = (pid_t)number;
    }
    return count;
}

static size_t children_of(const struct tl_flow_tree *tree, pid_t pid, pid_t *ret_pids, size_t max)
{
    char path[PATH_SIZE];
    struct dirent *entry;
    size_t count = 0;

    snprintf(path, sizeof(path), "%s/proc/%d/task", tree->root, (int)pid);
    DIR *tasks = opendir(path);
    while (tasks && count < max && (entry = readdir(tasks)))
        if (entry->d_name[0] != '.')
            count += read_children(tree->root, pid, entry->d_name, ret_pids + count, max - count);
    if (tasks)
        closedir(tasks);
    return count;
}

void tl_flow_tree_look(struct tl_flow_tree *tree)
{
    pid_t pids[TL_FLOW_TREE_PROCESSES_MAX];
    size_t count = children_of(tree, tree->ancestor, pids, TL_FLOW_TREE_PROCESSES_MAX);

    tree->hidden = false;
    for (size_t i = 0; i < tree->count; i++)
        tree->members[i].here = false;
    /* The list grows while it is read: each one's children come behind it. */
    for (size_t i = 0; i < count; i++) {
        look_at(tree, pids[i]);
        count += children_of(tree, pids[i], pids + count, TL_FLOW_TREE_PROCESSES_MAX - count);
    }
    tree->looks++;
}

bool tl_flow_tree_holds(const struct tl_flow_tree *tree, uint64_t inode)
{
    return inode && tree->sockets.slots[slot_of(&tree->sockets, inode)] == inode;
}

bool tl_flow_tree_has(const struct tl_flow_tree *tree, const char *name)
{
    for (size_t i = 0; i < tree->name_count; i++)
        if (strcmp(tree->names[i], name) == 0)
            return true;
    return false;
}

void tl_flow_tree_mark(struct tl_flow_tree *tree, int64_t now_ns)
{
    tree->mark_ns = now_ns;
    tl_cpu_reading_take(&tree->cpu, &tree->cpu_mark);
    tree->looks = 0;
    memset(tree->files.slots, 0, tree->files.size * sizeof(*tree->files.slots));
    tree->files.count = 0;
    for (size_t i = 0; i < tree->count; i++) {
        struct member *member = &tree->members[i];
        member->looks = member->waits = member->sleeps = 0;
        for (size_t t = 0; t < member->thread_count; t++) {
            member->threads[t].from_ns = member->threads[t].to_ns;
            member->threads[t].wait_from_ns = member->threads[t].wait_to_ns;
        }
    }
}

/* The thread that had least time to spare: at work, or ready to work. */
static void take_busiest(const struct member *member, double span_ns, struct tl_flow_tree_sum *sum)
{
    for (size_t i = 0; i < member->thread_count; i++) {
        const struct thread *thread = &member->threads[i];
        double ran = fmin(1, (double)(thread->to_ns - thread->from_ns) / span_ns);
        double waited = (double)(thread->wait_to_ns - thread->wait_from_ns) / span_ns;
        double most = sum->thread_cpu_ratio + fmax(0, sum->cpu_wait_ratio); /* passes over NAN */
        if (!isnan(sum->thread_cpu_ratio) && ran + waited <= most)
            continue;
        sum->thread_cpu_ratio = ran;
        sum->cpu_wait_ratio = thread->wait_known ? fmin(1 - ran, waited) : NAN;
        memcpy(sum->busiest, member->name, sizeof(sum->busiest));
    }
}

/* They are in the group of their ancestor, this process, unless they left it. */
static double stopped_ratio(const struct tl_flow_tree *tree)
{
    struct tl_cpu_reading now;
    struct tl_cpu_usage usage;

    tl_cpu_reading_take(&tree->cpu, &now);
    tl_cpu_usage_between(&tree->cpu, &tree->cpu_mark, &now, &usage);
    const struct tl_host_value *stopped = &usage.values[TL_CPU_THROTTLED];
    return tl_host_is_known(*stopped) ? stopped->number : (double)NAN;
}

void tl_flow_tree_sum(const struct tl_flow_tree *tree, int64_t until_ns,
                      struct tl_flow_tree_sum *ret_sum)
{
    double span_ns = (double)(until_ns - tree->mark_ns);

    *ret_sum = (struct tl_flow_tree_sum){.hidden = tree->hidden,
                                         .thread_cpu_ratio = NAN,
                                         .cpu_wait_ratio = NAN,
                                         .disk_wait_ratio = NAN,
                                         .stopped_ratio = stopped_ratio(tree),
                                         .files_count = tree->files.count};
    for (size_t i = 0; i < tree->count; i++) {
        const struct member *member = &tree->members[i];
        ret_sum->processes_count += member->here;
        if (member->looks < 2 || span_ns <= 0)
            continue;
        double waits = (double)member->waits / tree->looks;
        take_busiest(member, span_ns, ret_sum);
        ret_sum->sleep_ratio = fmax(ret_sum->sleep_ratio, (double)member->sleeps / tree->looks);
        if (isnan(ret_sum->disk_wait_ratio) || waits > ret_sum->disk_wait_ratio) {
            ret_sum->disk_wait_ratio = waits;
            memcpy(ret_sum->waiting, member->name, sizeof(ret_sum->waiting));
        }
    }
}

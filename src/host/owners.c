/* Which processes hold which socket, and whose children they are: the links "socket:[INODE]" of
 * /proc/PID/fd and the parents in /proc/PID/stat, as sorted lists. */
#include "tightlink/host/process.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "proc.h"
#include "tightlink/base/grow.h"

/* Sockets of one machine that are kept; a server with more shows the rest without a name. */
#define OWNERS_MAX (1u << 20)
/* Generations between a command and the program that it started to transfer. */
#define GENERATIONS_MAX 32

struct owner {
    uint64_t inode;
    pid_t pid;
};

struct child {
    pid_t pid, parent;
};

struct list {
    struct owner *owners;
    size_t count, cap;
    struct child *children;
    size_t child_count, child_cap;
};

struct tl_host_owners {
    char root[TL_PROC_PATH_SIZE / 2];
    struct list list;
};

static void finish(struct list *list)
{
    free(list->owners);
    free(list->children);
}

struct tl_host_owners *tl_host_owners_create(const char *root)
{
    struct tl_host_owners *owners = calloc(1, sizeof(*owners));
    if (owners)
        snprintf(owners->root, sizeof(owners->root), "%s", root);
    return owners;
}

void tl_host_owners_destroy(struct tl_host_owners *owners)
{
    if (!owners)
        return;
    finish(&owners->list);
    free(owners);
}

static enum tl_status add(struct list *list, uint64_t inode, pid_t pid)
{
    if (list->count == OWNERS_MAX)
        return TL_OK;
    if (!tl_grow(&list->owners, list->count, &list->cap, 256, sizeof *list->owners))
        return TL_NOMEM;
    list->owners[list->count++] = (struct owner){.inode = inode, .pid = pid};
    return TL_OK;
}

static enum tl_status add_child(const char *root, pid_t pid, struct list *list)
{
    if (!tl_grow(&list->children, list->child_count, &list->child_cap, 256, sizeof *list->children))
        return TL_NOMEM;
    list->children[list->child_count++] =
        (struct child){.pid = pid, .parent = tl_host_process_parent(root, pid)};
    return TL_OK;
}

/* A process that ends meanwhile, or is another user's, has no links to read. */
static enum tl_status add_process(const char *root, pid_t pid, struct list *list)
{
    char path[TL_PROC_PATH_SIZE], target[64];
    enum tl_status status = TL_OK;
    struct dirent *entry;

    snprintf(path, sizeof(path), "%s/proc/%d/fd", root, (int)pid);
    DIR *folder = opendir(path);
    while (folder && status == TL_OK && (entry = readdir(folder))) {
        unsigned long long inode;
        ssize_t len = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
        if (len <= 0)
            continue;
        target[len] = '\0';
        if (sscanf(target, "socket:[%llu]", &inode) == 1)
            status = add(list, inode, pid);
    }
    if (folder)
        closedir(folder);
    return status;
}

/* Of one socket that several hold, the process that was first stands first. */
static int by_inode(const void *a, const void *b)
{
    const struct owner *left = a, *right = b;
    if (left->inode != right->inode)
        return left->inode < right->inode ? -1 : 1;
    return (left->pid > right->pid) - (left->pid < right->pid);
}

static int by_pid(const void *a, const void *b)
{
    const struct child *left = a, *right = b;
    return (left->pid > right->pid) - (left->pid < right->pid);
}

static void sort(struct list *list)
{
    if (list->count)
        qsort(list->owners, list->count, sizeof(*list->owners), by_inode);
    if (list->child_count)
        qsort(list->children, list->child_count, sizeof(*list->children), by_pid);
}

enum tl_status tl_host_owners_scan(struct tl_host_owners *owners)
{
    char path[TL_PROC_PATH_SIZE];
    enum tl_status status = TL_OK;
    struct list list = {0};
    struct dirent *entry;

    snprintf(path, sizeof(path), "%s/proc", owners->root);
    DIR *proc = opendir(path);
    if (!proc)
        return TL_IO;
    while (status == TL_OK && (entry = readdir(proc))) {
        long pid = strtol(entry->d_name, NULL, 10);
        if (pid <= 0)
            continue;
        status = add_process(owners->root, (pid_t)pid, &list);
        if (status == TL_OK)
            status = add_child(owners->root, (pid_t)pid, &list);
    }
    closedir(proc);
    if (status != TL_OK) {
        finish(&list);
        return status;
    }
    sort(&list);
    finish(&owners->list);
    owners->list = list;
    return TL_OK;
}

/* Index of the first of its holders, or where they would stand. */
static size_t first_of(const struct tl_host_owners *owners, uint64_t inode)
{
    size_t low = 0, high = owners->list.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (owners->list.owners[middle].inode < inode)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

pid_t tl_host_owners_find(const struct tl_host_owners *owners, uint64_t inode)
{
    size_t first = first_of(owners, inode);

    return inode && first < owners->list.count && owners->list.owners[first].inode == inode
               ? owners->list.owners[first].pid
               : 0;
}

/* 0: not known. */
static pid_t parent_of(const struct list *list, pid_t pid)
{
    struct child key = {.pid = pid};
    const struct child *found =
        list->child_count ? bsearch(&key, list->children, list->child_count, sizeof(key), by_pid)
                          : NULL;
    return found ? found->parent : 0;
}

static bool descends(const struct list *list, pid_t pid, pid_t ancestor)
{
    for (int i = 0; i < GENERATIONS_MAX && pid > 0; i++, pid = parent_of(list, pid))
        if (pid == ancestor)
            return true;
    return false;
}

bool tl_host_owners_has(const struct tl_host_owners *owners, uint64_t inode, pid_t pid)
{
    for (size_t i = first_of(owners, inode);
         inode && i < owners->list.count && owners->list.owners[i].inode == inode; i++)
        if (descends(&owners->list, owners->list.owners[i].pid, pid))
            return true;
    return false;
}

/* Which process holds which socket: the links "socket:[INODE]" of /proc/PID/fd, as a sorted list.
 */
#include "tightlink/host/process.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc.h"

/* Sockets of one machine that are kept; a server with more shows the rest without a name. */
#define OWNERS_MAX (1u << 20)

struct owner {
    uint64_t inode;
    pid_t pid;
};

struct list {
    struct owner *owners;
    size_t count, cap;
};

struct tl_host_owners {
    char root[TL_PROC_PATH_SIZE / 2];
    struct list list;
};

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
    free(owners->list.owners);
    free(owners);
}

static enum tl_status add(struct list *list, uint64_t inode, pid_t pid)
{
    if (list->count == OWNERS_MAX)
        return TL_OK;
    if (list->count == list->cap) {
        size_t cap = list->cap ? 2 * list->cap : 256;
        struct owner *grown = realloc(list->owners, cap * sizeof(*grown));
        if (!grown)
            return TL_NOMEM;
        list->owners = grown;
        list->cap = cap;
    }
    list->owners[list->count++] = (struct owner){.inode = inode, .pid = pid};
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
        if (pid > 0)
            status = add_process(owners->root, (pid_t)pid, &list);
    }
    closedir(proc);
    if (status != TL_OK) {
        free(list.owners);
        return status;
    }
    if (list.count)
        qsort(list.owners, list.count, sizeof(*list.owners), by_inode);
    free(owners->list.owners);
    owners->list = list;
    return TL_OK;
}

pid_t tl_host_owners_find(const struct tl_host_owners *owners, uint64_t inode)
{
    size_t low = 0, high = owners->list.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (owners->list.owners[middle].inode < inode)
            low = middle + 1;
        else
            high = middle;
    }
    return inode && low < owners->list.count && owners->list.owners[low].inode == inode
               ? owners->list.owners[low].pid
               : 0;
}

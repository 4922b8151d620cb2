/* The regular files that a process has open, and how far it is in each (proc(5), fdinfo). */
#include "tightlink/host/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc.h"
#include "tightlink/base/libc.h"

static bool take_position(char *line, void *context)
{
    struct tl_host_process_file *file = context;
    unsigned long long number;

    if (sscanf(line, "pos: %llu", &number) == 1)
        file->position_bytes = number;
    else if (sscanf(line, "flags: %llo", &number) == 1)
        file->writes = (number & O_ACCMODE) != O_RDONLY;
    return true;
}

/* Answers of a network file system that is gone are not waited for: what the kernel has suffices.
 */
static bool is_regular(const char *link, struct tl_host_process_file *file)
{
    struct statx status;

    if (statx(AT_FDCWD, link, AT_STATX_DONT_SYNC, STATX_TYPE, &status) != 0 ||
        !S_ISREG(status.stx_mode))
        return false;
    file->major = status.stx_dev_major;
    file->minor = status.stx_dev_minor;
    return true;
}

/* The end of a long path tells more than its begin. */
static void set_path(struct tl_host_process_file *file, const char *target, size_t len)
{
    size_t room = sizeof(file->path) - 1;

    if (len > room)
        snprintf(file->path, sizeof(file->path), "...%.*s", (int)(room - 3),
                 target + len - (room - 3));
    else
        snprintf(file->path, sizeof(file->path), "%.*s", (int)len, target);
}

static bool read_file(const char *root, pid_t pid, const char *fd,
                      struct tl_host_process_file *ret_file)
{
    char link[TL_PROC_PATH_SIZE], target[4096], info[64];
    ssize_t len;

    snprintf(link, sizeof(link), "%s/proc/%d/fd/%s", root, (int)pid, fd);
    len = readlink(link, target, sizeof(target));
    *ret_file = (struct tl_host_process_file){.fd = atoi(fd)};
    if (len <= 0 || target[0] != '/' || !is_regular(link, ret_file))
        return false;
    set_path(ret_file, target, (size_t)len);
    snprintf(info, sizeof(info), "/proc/%d/fdinfo/%s", (int)pid, fd);
    (void)!tl_proc_each_line(root, info, take_position, ret_file);
    return true;
}

static int by_descriptor(const void *a, const void *b)
{
    const struct tl_host_process_file *left = a, *right = b;
    return (left->fd > right->fd) - (left->fd < right->fd);
}

size_t tl_host_process_files(const char *root, pid_t pid, struct tl_host_process_file *ret_files,
                             size_t max)
{
    char path[TL_PROC_PATH_SIZE];
    struct dirent *entry;
    size_t count = 0;

    snprintf(path, sizeof(path), "%s/proc/%d/fd", root, (int)pid);
    DIR *folder = opendir(path);
    while (folder && count < max && (entry = readdir(folder)))
        if (entry->d_name[0] != '.' && strlen(entry->d_name) < 16 &&
            read_file(root, pid, entry->d_name, &ret_files[count]))
            count++;
    if (folder)
        closedir(folder);
    qsort(ret_files, count, sizeof(*ret_files), by_descriptor);
    return count;
}

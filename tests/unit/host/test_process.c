/* This process as /proc shows it: its sockets, name, processor time and open files. */
#include "tightlink/host/process.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t inode_of(int fd)
{
    struct stat status;
    cr_assert_eq(fstat(fd, &status), 0);
    return status.st_ino;
}

Test(process, a_socket_has_the_process_that_opened_it)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct tl_host_owners *owners = tl_host_owners_create("");
    cr_assert_eq(tl_host_owners_scan(owners), TL_OK);
    cr_expect_eq(tl_host_owners_find(owners, inode_of(fd)), getpid());
    cr_expect_eq(tl_host_owners_find(owners, 0), 0);
    tl_host_owners_destroy(owners);
    close(fd);
}

Test(process, a_socket_that_came_later_is_found_by_the_next_scan)
{
    struct tl_host_owners *owners = tl_host_owners_create("");
    cr_assert_eq(tl_host_owners_scan(owners), TL_OK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_expect_eq(tl_host_owners_find(owners, inode_of(fd)), 0);
    cr_assert_eq(tl_host_owners_scan(owners), TL_OK);
    cr_expect_eq(tl_host_owners_find(owners, inode_of(fd)), getpid());
    tl_host_owners_destroy(owners);
    close(fd);
}

/* A recorded process of that number, child of that parent, with one socket or none. */
static void record(const char *root, int pid, int parent, const char *socket)
{
    char path[256], stat_line[128];
    snprintf(path, sizeof path, "%s/proc/%d", root, pid);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/proc/%d/fd", root, pid);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/proc/%d/fd/3", root, pid);
    if (socket)
        cr_assert_eq(symlink(socket, path), 0);
    snprintf(path, sizeof path, "%s/proc/%d/stat", root, pid);
    snprintf(stat_line, sizeof stat_line,
             "%d (a) S %d 1 1 0 -1 4194560 1 2 3 4 150 50 0 0 20 0 1 0 4242 9 9\n", pid, parent);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(stat_line, file);
    fclose(file);
}

static void forget(const char *root, int pid)
{
    static const char *const parts[] = {"/fd/3", "/fd", "/stat", ""};
    char path[256];
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/proc/%d%s", root, pid, parts[i]);
        remove(path);
    }
}

Test(process, a_command_has_what_the_programs_hold_that_it_started)
{
    char root[64] = "/tmp/tl-owners-XXXXXX", proc[128];
    cr_assert_not_null(mkdtemp(root));
    snprintf(proc, sizeof proc, "%s/proc", root);
    mkdir(proc, 0700);
    record(root, 20, 1, NULL);            /* a copy */
    record(root, 21, 20, NULL);           /* what it runs by a shell */
    record(root, 22, 21, "socket:[700]"); /* that holds the connection */
    record(root, 23, 22, "socket:[700]"); /* with its own child */
    record(root, 24, 1, "socket:[701]");
    struct tl_host_owners *owners = tl_host_owners_create(root);
    cr_assert_eq(tl_host_owners_scan(owners), TL_OK);
    cr_expect_eq(tl_host_owners_find(owners, 700), 22, "who was there first");
    for (int pid = 20; pid <= 23; pid++)
        cr_expect(tl_host_owners_has(owners, 700, pid), "%d", pid);
    cr_expect_not(tl_host_owners_has(owners, 700, 24));
    cr_expect_not(tl_host_owners_has(owners, 701, 20));
    cr_expect(tl_host_owners_has(owners, 701, 24));
    cr_expect_not(tl_host_owners_has(owners, 0, 20));
    tl_host_owners_destroy(owners);
    for (int pid = 20; pid <= 24; pid++)
        forget(root, pid);
    rmdir(proc);
    rmdir(root);
}

Test(process, without_proc_the_old_map_stays)
{
    struct tl_host_owners *owners = tl_host_owners_create("/nowhere");
    cr_expect_eq(tl_host_owners_scan(owners), TL_IO);
    cr_expect_eq(tl_host_owners_find(owners, 1), 0);
    tl_host_owners_destroy(owners);
}

Test(process, processor_time_grows_with_work)
{
    struct tl_host_process before, after;
    tl_host_process_read("", getpid(), &before);
    cr_assert(before.known);
    cr_expect(before.name[0]);
    cr_expect_gt(before.start_ticks, 0);
    do
        tl_host_process_read("", getpid(), &after);
    while (after.cpu_ns == before.cpu_ns); /* reading it is work: it ends */
    cr_expect_gt(after.cpu_ns, before.cpu_ns);
    cr_assert_geq(after.thread_count, 1);
    cr_expect_eq(after.threads[0].tid, getpid(), "the first thread has the process' number");
    cr_expect_geq(after.cpu_ns, after.threads[0].cpu_ns);
}

Test(process, one_that_does_not_exist_is_not_known)
{
    struct tl_host_process process;
    tl_host_process_read("", 999999999, &process);
    cr_expect_not(process.known);
    cr_expect_eq(process.cpu_ns, 0);
}

/* A recorded /proc of one process, written into a directory of its own. */
struct made {
    char root[64], folder[128];
};

static void write_text(const struct made *made, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", made->folder, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

static void make(struct made *made, const char *cgroup)
{
    char path[128];
    strcpy(made->root, "/tmp/tl-process-XXXXXX");
    cr_assert_not_null(mkdtemp(made->root));
    snprintf(path, sizeof path, "%s/proc", made->root);
    mkdir(path, 0700);
    snprintf(made->folder, sizeof made->folder, "%s/proc/7", made->root);
    mkdir(made->folder, 0700);
    write_text(made, "stat",
               "7 (a) b) c) S 1 7 7 0 -1 4194560 1 2 3 4 150 50 0 0 20 0 1 0 4242 9 9\n");
    write_text(made, "comm", "a) b) c\n");
    write_text(made, "io", "rchar: 9\nread_bytes: 4096\nwrite_bytes: 8192\n");
    write_text(made, "cgroup", cgroup);
}

static void remove_made(const struct made *made)
{
    const char *names[] = {"stat", "comm", "io", "cgroup"};
    char path[256];
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", made->folder, names[i]);
        unlink(path);
    }
    rmdir(made->folder);
    snprintf(path, sizeof path, "%s/proc", made->root);
    rmdir(path);
    rmdir(made->root);
}

Test(process, a_name_with_brackets_moves_no_field)
{
    struct tl_host_process process;
    struct made made;
    make(&made, "0::/\n");
    tl_host_process_read(made.root, 7, &process);
    cr_expect(process.known);
    cr_expect_eq(process.start_ticks, 4242);
    cr_expect_eq(process.cpu_ns, 200 * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK)));
    cr_expect_eq(process.disk_read_bytes, 4096);
    cr_expect_eq(process.disk_write_bytes, 8192);
    cr_expect_str_eq(process.group, "");
    remove_made(&made);
}

Test(process, containers_and_services_are_named)
{
    static const struct {
        const char *cgroup, *group;
    } rows[] = {
        {"0::/system.slice/docker-"
         "3f2a9c0011223344556677889900aabbccddeeff00112233445566778899aabb.scope\n",
         "container 3f2a9c001122"},
        {"0::/system.slice/nginx.service\n", "nginx.service"},
        {"0::/user.slice/user-1000.slice/user@1000.service/app.slice\n", ""},
        {"12:cpu:/docker/3f2a9c0011223344556677889900aabbccddeeff00112233445566778899aabb\n"
         "0::/\n",
         "container 3f2a9c001122"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tl_host_process process;
        struct made made;
        make(&made, rows[i].cgroup);
        tl_host_process_read(made.root, 7, &process);
        cr_expect_str_eq(process.group, rows[i].group);
        remove_made(&made);
    }
}

Test(process, an_open_file_has_its_position)
{
    struct tl_host_process_file files[64];
    char name[] = "/tmp/tl-process-file-XXXXXX";
    int fd = mkstemp(name);
    cr_assert_eq(write(fd, "12345", 5), 5);
    size_t count = tl_host_process_files("", getpid(), files, 64), i;
    for (i = 0; i < count && files[i].fd != fd; i++)
        ;
    cr_assert_lt(i, count, "descriptor %d is not among %zu files", fd, count);
    cr_expect_eq(files[i].position_bytes, 5);
    cr_expect(files[i].writes);
    cr_expect_str_eq(files[i].path, name);
    unlink(name);
    close(fd);
}

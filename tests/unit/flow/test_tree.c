/* A command's processes as they really are: children of this process. */
#include "tightlink/flow/tree.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tightlink/base/time.h"

/* A grandchild of ours that holds a socket and waits until it is killed. */
struct family {
    pid_t child;
    int fds[2]; /* of the grandchild's socket, and the end through which it tells */
    uint64_t inode;
};

static void be_the_grandchild(int tell)
{
    struct stat status;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    fstat(fd, &status);
    uint64_t inode = status.st_ino;
    (void)!write(tell, &inode, sizeof inode);
    pause();
    _exit(0);
}

static struct family make_family(void)
{
    struct family family;
    cr_assert_eq(pipe(family.fds), 0);
    family.child = fork();
    if (family.child == 0) {
        setpgid(0, 0);
        if (fork() == 0)
            be_the_grandchild(family.fds[1]);
        pause();
        _exit(0);
    }
    cr_assert_eq(read(family.fds[0], &family.inode, sizeof family.inode),
                 (ssize_t)sizeof family.inode);
    return family;
}

static void end_family(const struct family *family)
{
    kill(-family->child, SIGKILL);
    waitpid(family->child, NULL, 0);
    close(family->fds[0]);
    close(family->fds[1]);
}

Test(tree, follows_grandchildren_and_their_sockets_and_not_its_own)
{
    struct family family = make_family();
    struct tl_flow_tree_sum sum;
    struct stat own;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct tl_flow_tree *tree = tl_flow_tree_create("", getpid());
    cr_assert(tree);
    cr_assert_eq(fstat(fd, &own), 0);
    tl_flow_tree_look(tree);
    if (!tl_flow_tree_holds(tree, family.inode) && access("/proc/self/task", R_OK) != 0)
        cr_skip_test("skipped: no /proc here");
    cr_expect(tl_flow_tree_holds(tree, family.inode));
    cr_expect_not(tl_flow_tree_holds(tree, own.st_ino));
    cr_expect_not(tl_flow_tree_holds(tree, 0));
    tl_flow_tree_sum(tree, tl_now_ns(), &sum);
    cr_expect_eq(sum.processes_count, 2);
    end_family(&family);
    tl_flow_tree_look(tree);
    tl_flow_tree_sum(tree, tl_now_ns(), &sum);
    cr_expect_eq(sum.processes_count, 0);
    cr_expect(tl_flow_tree_holds(tree, family.inode), "a socket that it held stays its own");
    tl_flow_tree_destroy(tree);
    close(fd);
}

Test(tree, a_thread_that_works_is_the_busiest_one)
{
    struct tl_flow_tree_sum sum;
    pid_t child = fork();
    if (child == 0)
        for (volatile unsigned long i = 0;; i++)
            ;
    struct tl_flow_tree *tree = tl_flow_tree_create("", getpid());
    cr_assert(tree);
    tl_flow_tree_look(tree);
    tl_flow_tree_mark(tree, tl_now_ns());
    /* It works until it has used a fifth of a second of a core, however busy the others are. */
    int64_t from_ns = tl_now_ns();
    do {
        usleep(20000);
        tl_flow_tree_look(tree);
        tl_flow_tree_sum(tree, tl_now_ns(), &sum);
    } while (tl_now_ns() - from_ns < 20 * TL_NS_PER_S &&
             !(sum.thread_cpu_ratio * (double)(tl_now_ns() - from_ns) > 2e8));
    cr_expect_gt(sum.thread_cpu_ratio, 0);
    cr_expect_neq(sum.busiest[0], '\0');
    cr_expect(tl_flow_tree_has(tree, sum.busiest));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    tl_flow_tree_destroy(tree);
}

/* A child that holds both files open until it is killed. */
static pid_t hold(const char *ours, const char *of_the_system)
{
    int tell[2];
    char byte = 0;
    cr_assert_eq(pipe(tell), 0);
    pid_t child = fork();
    if (child == 0) {
        byte = open(ours, O_RDONLY) >= 0 && open(of_the_system, O_RDONLY) >= 0;
        (void)!write(tell[1], &byte, 1);
        pause();
        _exit(0);
    }
    cr_assert_eq(read(tell[0], &byte, 1), 1);
    cr_assert_eq(byte, 1);
    close(tell[0]);
    close(tell[1]);
    return child;
}

Test(tree, files_that_lie_in_memory_are_the_users_own)
{
    struct tl_flow_tree_sum before, after;
    char path[] = "/dev/shm/tightlink-tree-XXXXXX";
    if (access("/dev/shm", W_OK) != 0)
        cr_skip_test("skipped: no /dev/shm here");
    struct family family = make_family(); /* what children of ours have open anyway */
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    struct tl_flow_tree *tree = tl_flow_tree_create("", getpid());
    cr_assert(tree);
    close(fd);
    tl_flow_tree_look(tree);
    tl_flow_tree_sum(tree, tl_now_ns(), &before);
    pid_t child = hold(path, "/proc/self/status");
    tl_flow_tree_look(tree);
    tl_flow_tree_sum(tree, tl_now_ns(), &after);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    end_family(&family);
    unlink(path);
    tl_flow_tree_destroy(tree);
    if (after.processes_count == before.processes_count)
        cr_skip_test("skipped: no /proc here");
    cr_expect_eq(after.files_count, before.files_count + 1);
}

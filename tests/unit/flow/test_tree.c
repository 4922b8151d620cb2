/* A command's processes as they really are: children of this process. */
#include "tightlink/flow/tree.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <math.h>
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
    if (!isnan(sum.cpu_wait_ratio))
        cr_expect_gt(sum.thread_cpu_ratio + sum.cpu_wait_ratio, 0.5, "it runs or waits for a core");
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

/* A child that lets time pass; or one that waits for a pipe. */
static pid_t rest(bool by_the_clock, const int pipe_ends[2])
{
    char byte = 0;
    pid_t child = fork();
    if (child != 0)
        return child;
    close(pipe_ends[1]);
    if (by_the_clock)
        sleep(100);
    (void)!read(pipe_ends[0], &byte, 1);
    _exit(0);
}

static double looked_at(bool by_the_clock)
{
    struct tl_flow_tree_sum sum;
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    pid_t child = rest(by_the_clock, ends);
    struct tl_flow_tree *tree = tl_flow_tree_create("", getpid());
    cr_assert(tree);
    /* Until it has got there, and then as often again. */
    for (int look = 0; look < 400; look++) {
        tl_flow_tree_look(tree);
        tl_flow_tree_sum(tree, tl_now_ns(), &sum);
        if (sum.sleep_ratio > 0.5)
            break;
        usleep(500);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    tl_flow_tree_destroy(tree);
    close(ends[0]);
    close(ends[1]);
    return sum.sleep_ratio;
}

Test(tree, a_program_that_lets_time_pass_is_told_from_one_that_waits_for_another)
{
    char text[16] = "";
    FILE *file = fopen("/proc/self/syscall", "re");
    if (!file || !fgets(text, sizeof text, file))
        cr_skip_test("skipped: this kernel does not tell what a thread waits in");
    fclose(file);
    cr_expect_gt(looked_at(true), 0.5);
    cr_expect_float_eq(looked_at(false), 0, 1e-9);
}

static void write_file(const char *root, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "we");
    cr_assert(file);
    fputs(text, file);
    fclose(file);
}

Test(tree, one_that_ended_while_it_was_looked_at_is_nobody_elses)
{
    static const char *const folders[] = {"proc", "proc/10", "proc/10/task", "proc/10/task/10",
                                          "proc/11"};
    static const char *const files[] = {"proc/10/task/10/children", "proc/11/stat"};
    char root[] = "/tmp/tightlink-tree-XXXXXX", path[256];
    struct tl_flow_tree_sum sum;
    cr_assert(mkdtemp(root));
    for (size_t i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        cr_assert_eq(mkdir(path, 0700), 0);
    }
    write_file(root, files[0], "11 ");
    write_file(root, files[1], "11 (curl) S 10 1 1 0 -1 0 1 2 3 4 1 1 0 0 20 0 1 0 4242 9 9\n");
    struct tl_flow_tree *tree = tl_flow_tree_create(root, 10);
    cr_assert(tree);
    tl_flow_tree_look(tree);
    tl_flow_tree_sum(tree, tl_now_ns(), &sum);
    cr_expect_eq(sum.processes_count, 1);
    cr_expect_not(sum.hidden, "its descriptors are gone, not kept from us");
    tl_flow_tree_destroy(tree);
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", root, files[i]);
        remove(path);
    }
    for (size_t i = 5; i-- > 0;) {
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        remove(path);
    }
    remove(root);
}

/* The cage holds: each case locks a child in and lets it try. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox.h"

enum { HELD = 0, ESCAPED = 1, NO_SANDBOX = 2, BROKEN = 3, TRIED = 4 };

static int lock_in(const struct sandbox_policy *policy)
{
    struct tl_error error;
    if (!sandbox_is_built()) /* under sanitizers */
        return NO_SANDBOX;
    if (sandbox_hold_files(policy, &error) != TL_OK || sandbox_hold_calls(policy, &error) != TL_OK)
        return NO_SANDBOX;
    return HELD;
}

/* Runs a trial in a locked child; what it returns is the child's exit. */
static int locked(const struct sandbox_policy *policy, int (*trial)(const char *),
                  const char *argument)
{
    pid_t child = fork();
    if (child == 0) {
        int result = lock_in(policy);
        _exit(result == HELD ? trial(argument) : result);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status), "ended by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

static void expect_held(const struct sandbox_policy *policy, int (*trial)(const char *),
                        const char *argument)
{
    int result = locked(policy, trial, argument);
    if (result == NO_SANDBOX)
        cr_skip("skipped: no Landlock or no seccomp here");
    cr_expect_eq(result, HELD, "%s", result == ESCAPED ? "escaped" : "broken");
}

static const struct sandbox_policy strict = {0};

static int connects(const char *argument)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno == EPERM ? HELD : BROKEN;
    return connect(fd, (struct sockaddr *)&to, sizeof to) < 0 && errno == EPERM ? HELD : ESCAPED;
}

/* A test's datagram socket is told its peer. */
static int names_a_datagram_peer(const char *argument)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0 ? HELD : BROKEN;
}

Test(sandbox, datagram_sockets_may_have_a_peer)
{
    expect_held(&strict, names_a_datagram_peer, NULL);
}

Test(sandbox, no_connection_is_opened)
{
    expect_held(&strict, connects, NULL);
    static const struct sandbox_policy dialling = {.dials = true};
    int result = locked(&dialling, connects, NULL);
    cr_expect(result == NO_SANDBOX || result == ESCAPED, "dialling should be permitted");
}

static int executes(const char *argument)
{
    char *argv[] = {(char *)"/bin/true", NULL};
    execv("/bin/true", argv);
    return errno == EPERM || errno == EACCES ? HELD : ESCAPED;
}

Test(sandbox, no_program_is_run)
{
    expect_held(&strict, executes, NULL);
}

/* Two locks on one door: each has to hold alone. */
Test(sandbox, the_filter_alone_runs_no_program)
{
    pid_t child = fork();
    if (child == 0) {
        char *argv[] = {(char *)"/bin/true", NULL};
        if (!sandbox_is_built() || sandbox_hold_calls(&strict, NULL) != TL_OK)
            _exit(NO_SANDBOX);
        execv("/bin/true", argv);
        _exit(errno == EPERM ? TRIED : ESCAPED);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_SANDBOX)
        cr_skip("skipped: no seccomp here");
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == TRIED, "a program was run");
}

static int writes(const char *path)
{
    static const int ways[] = {O_WRONLY,           O_RDWR,
                               O_WRONLY | O_CREAT, O_RDONLY | O_CREAT,
                               O_RDONLY | O_TRUNC, O_RDWR | O_TMPFILE};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (open(i == 5 ? "/tmp" : path, ways[i], 0600) >= 0)
            return ESCAPED;
    return unlink(path) == 0 || mkdir("/tmp/tl-sandbox-dir", 0700) == 0 ? ESCAPED : HELD;
}

Test(sandbox, no_file_is_written_made_or_removed)
{
    char path[] = "/tmp/tl-sandbox-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, "whole", 5), 5);
    close(fd);
    expect_held(&strict, writes, path);
    struct stat info;
    cr_expect_eq(stat(path, &info), 0);
    cr_expect_eq(info.st_size, 5);
    unlink(path);
}

static int writes_in(const char *directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/file", directory);
    int inside = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (inside < 0 || write(inside, "x", 1) != 1 || unlink(path) != 0)
        return BROKEN;
    return open("/tmp/tl-sandbox-outside", O_RDWR | O_CREAT, 0600) >= 0 ? ESCAPED : HELD;
}

Test(sandbox, a_directory_of_the_administrator_is_the_only_place)
{
    char directory[] = "/tmp/tl-sandbox-XXXXXX";
    cr_assert_not_null(mkdtemp(directory));
    struct sandbox_policy policy = {.write_directory = directory};
    expect_held(&policy, writes_in, directory);
    cr_expect_eq(rmdir(directory), 0);
}

static int reads(const char *argument)
{
    char text[64];
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, text, sizeof text) > 0 ? HELD : BROKEN;
}

Test(sandbox, what_an_audit_reads_stays_readable)
{
    expect_held(&strict, reads, NULL);
}

static int has_capabilities(const char *argument)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    unsigned long long effective = ~0ULL;
    while (file && fgets(line, sizeof line, file))
        (void)sscanf(line, "CapEff: %llx", &effective);
    return (effective & ~(1ULL << 10)) == 0 ? HELD : ESCAPED; /* 10: CAP_NET_BIND_SERVICE */
}

Test(sandbox, capabilities_are_gone)
{
    expect_held(&strict, has_capabilities, NULL);
}

/* By clone(), by unshare(), and by clone3(), which a filter cannot look into. */
static int makes_a_namespace(const char *argument)
{
    static const unsigned long flags[] = {CLONE_NEWUSER, CLONE_NEWUSER | CLONE_NEWNET, CLONE_NEWNS};
    struct {
        unsigned long long flags, unused[10];
    } asked = {.flags = CLONE_NEWUSER};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        long child = syscall(SYS_clone, flags[i] | SIGCHLD, NULL, NULL, NULL, NULL);
        if (child == 0)
            _exit(0);
        if (child > 0 || unshare((int)flags[i]) == 0)
            return ESCAPED;
    }
    long child = syscall(SYS_clone3, &asked, sizeof asked);
    if (child == 0)
        _exit(0);
    return child < 0 && errno == ENOSYS ? HELD : ESCAPED;
}

Test(sandbox, no_namespace_is_made)
{
    expect_held(&strict, makes_a_namespace, NULL);
}

static int is_another_user(const char *argument)
{
    return getuid() == 65534 && geteuid() == 65534 && getegid() == 65534 &&
                   getgroups(0, NULL) == 0 && setuid(0) < 0
               ? HELD
               : ESCAPED;
}

Test(sandbox, root_becomes_somebody_else_for_good)
{
    static const struct sandbox_policy nobody = {.change_user = true, .uid = 65534, .gid = 65534};
    if (geteuid() != 0)
        cr_skip("skipped: only root can change");
    expect_held(&nobody, is_another_user, NULL);
}

/* A thread that was there before the filter is held by it, too. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *wait_and_connect(void *arg)
{
    pthread_mutex_lock(&gate);
    *(int *)arg = connects(NULL);
    pthread_mutex_unlock(&gate);
    return NULL;
}

Test(sandbox, every_thread_is_held)
{
    pid_t child = fork();
    if (child == 0) {
        struct tl_error error;
        pthread_t thread;
        int result = BROKEN;
        pthread_mutex_lock(&gate);
        if (pthread_create(&thread, NULL, wait_and_connect, &result) != 0)
            _exit(BROKEN);
        if (!sandbox_is_built() || sandbox_hold_calls(&strict, &error) != TL_OK)
            _exit(NO_SANDBOX);
        pthread_mutex_unlock(&gate);
        pthread_join(thread, NULL);
        _exit(result);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    if (WEXITSTATUS(status) == NO_SANDBOX)
        cr_skip("skipped: no seccomp here");
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == HELD);
}
